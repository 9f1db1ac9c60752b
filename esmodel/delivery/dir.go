package delivery

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fiolat/esmodel"
	"fiolat/fio"
	"fiolat/internal/tempfile"
	"fiolat/pipeline"
)

// Formats are the file formats of a DirWriter. Files of Bulk are ready for _bulk and for "fiolat load":
// INDEX.RUN[.PART].ndjson, an action line before each document. Those of NDJSON are for other programs, a file for each
// kind of document: KIND.RUN[.PART].ndjson.
const (
	Bulk   = "bulk"
	NDJSON = "ndjson"
)

// DirWriter writes the documents of a run to files.
//
// The files appear when all of them are complete, the run's own document last. They replace those of an earlier
// attempt; files of other generations of the same run and part are removed. A writer that dies leaves hidden
// temporary files, which the next one in that directory removes. It takes 64 KiB of memory for each file, of Bulk up
// to three for each month of the run, and one more.
type DirWriter struct {
	Format       string // Bulk unless set
	path, prefix string
	root         *os.Root
	tail         string // of the names of the run's files
	files        map[string]*outFile
	report       Report
	done         bool
}

type outFile struct {
	f *tempfile.File
	w *bufio.Writer
}

// NewDirWriter returns a writer into a directory. It touches nothing before Open.
func NewDirWriter(dir, prefix string) (*DirWriter, error) {
	prefix = cmp.Or(prefix, esmodel.DefaultPrefix)
	if err := esmodel.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	if dir == "" {
		return nil, &fio.UsageError{Msg: "no directory for the documents", Hint: "pass --output DIR"}
	}
	return &DirWriter{
		path:   dir,
		prefix: prefix,
		files:  map[string]*outFile{},
		report: Report{Indices: map[string]Counts{}},
	}, nil
}

// Open creates the directory, and removes temporary files that earlier writers left.
func (d *DirWriter) Open(_ context.Context, run *pipeline.Run) error {
	root, err := openDir(d.path)
	if err != nil {
		return d.fault(err)
	}
	longest := 0
	for _, kind := range esmodel.Kinds {
		longest = max(longest, len(d.base(esmodel.Index(d.prefix, kind, run.Start))))
	}
	room := maxName - tempfile.Extra - longest - len(esmodel.FileExt)
	d.root, d.tail = root, shortened(fileSuffix(run), room)+esmodel.FileExt
	tempfile.Clear(root, func(name string) bool {
		base, _, _ := strings.Cut(name, ".")
		return strings.HasSuffix(name, esmodel.FileExt) && (d.isOurs(base) || strings.HasPrefix(name, d.prefix+"-"))
	})
	return nil
}

// base returns the beginning of the name of the file for the documents in an index.
func (d *DirWriter) base(index string) string {
	if kind, ok := esmodel.KindOf(d.prefix, index); ok && d.Format == NDJSON {
		return string(kind)
	}
	return index
}

// isOurs reports whether base returns it.
func (d *DirWriter) isOurs(base string) bool {
	if d.Format == NDJSON {
		return slices.Contains(esmodel.Kinds, esmodel.Kind(base))
	}
	_, ours := esmodel.KindOf(d.prefix, base)
	return ours
}

// Make writes a document.
func (d *DirWriter) Make(ctx context.Context, index string, id []byte, doc Appender) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if d.done || d.root == nil {
		return errClosed
	}
	base := d.base(index)
	o := d.files[base]
	if o == nil {
		f, err := tempfile.Create(d.root, base+d.tail)
		if err != nil {
			return d.fault(err)
		}
		o = &outFile{f: f, w: bufio.NewWriterSize(f, 64<<10)}
		d.files[base] = o
	}
	b := batch{raw: o.w.AvailableBuffer()}
	size, err := 0, error(nil)
	if d.Format == NDJSON {
		b.raw, err = doc(b.raw)
		b.raw = append(b.raw, '\n')
		size = len(b.raw)
	} else {
		size, err = b.add(0, index, id, doc)
	}
	if err != nil {
		return err
	}
	n := d.report.Indices[index]
	n.Made++
	n.Bytes += int64(size)
	d.report.Indices[index] = n
	if _, err = o.w.Write(b.raw); err != nil {
		return d.fault(err)
	}
	return nil
}

// fault returns an error about the directory, because the names of temporary files say nothing.
func (d *DirWriter) fault(err error) error { return outputError(d.path, err) }

// Close publishes the files if the run is complete, and otherwise removes them: files of an earlier, complete
// attempt are worth more than an incomplete new one.
func (d *DirWriter) Close(_ context.Context, complete bool) error {
	if d.done || d.root == nil {
		return nil
	}
	d.done = true
	defer d.root.Close()
	var err error
	if complete {
		err = d.publish()
	}
	for _, o := range d.files {
		if o.f != nil {
			err = errors.Join(err, o.f.Discard())
		}
	}
	for index, n := range d.report.Indices {
		n.Lost = n.Made - n.Written
		d.report.Indices[index] = n
	}
	return err
}

func (d *DirWriter) publish() error {
	own := d.base(esmodel.Index(d.prefix, esmodel.KindRun, 0))
	order := slices.SortedFunc(maps.Keys(d.files), func(a, b string) int {
		if (a == own) != (b == own) { // the run's document says that the rest is there
			if a == own {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	var files []*tempfile.File
	for _, base := range order { // all must be on disk before the first is published
		o := d.files[base]
		if err := errors.Join(o.w.Flush(), o.f.Sync()); err != nil {
			return d.fault(err)
		}
		files = append(files, o.f)
	}
	if err := tempfile.PublishAll(files); err != nil {
		return d.fault(err)
	}
	for index, n := range d.report.Indices {
		n.Written = n.Made
		d.report.Indices[index] = n
	}
	for _, base := range order {
		d.files[base].f = nil
		d.report.Files = append(d.report.Files, filepath.Join(d.path, base+d.tail))
	}
	all, err := names(d.root)
	if err != nil {
		return d.fault(err)
	}
	for _, name := range all {
		base, ok := strings.CutSuffix(name, d.tail)
		if ok && d.isOurs(base) && d.files[base] == nil {
			if err := d.root.Remove(name); err != nil {
				return d.fault(err)
			}
			d.report.Warnings = append(d.report.Warnings, "removed "+name+" of another generation of this run")
		}
	}
	return nil
}

// Release writes the document of the run, if it is counted.
func (d *DirWriter) Release(ctx context.Context, index, id string, doc []byte, counted bool) error {
	if !counted {
		return nil
	}
	return d.Make(ctx, index, []byte(id), prebuilt(doc))
}

// Report returns the account so far; before Close nothing is Written.
func (d *DirWriter) Report() Report { return d.report.clone() }

// CountWriter counts documents and bytes and stores nothing (--dry-run).
type CountWriter struct {
	report Report
	doc    []byte // scratch
}

// NewCountWriter returns a CountWriter.
func NewCountWriter() *CountWriter { return &CountWriter{report: Report{Indices: map[string]Counts{}}} }

// Make counts a document as it would be sent, with its action line.
func (c *CountWriter) Make(ctx context.Context, index string, id []byte, doc Appender) (err error) {
	if c.doc, err = doc(c.doc[:0]); err != nil {
		return err
	}
	n := c.report.Indices[index]
	n.Made++
	n.Bytes += int64(len(`{"index":{"_index":"","_id":""}}`) + len(index) + len(id) + len(c.doc) + 2)
	c.report.Indices[index] = n
	return context.Cause(ctx)
}

// Release counts the document of the run, if it is counted at all.
func (c *CountWriter) Release(ctx context.Context, index, id string, doc []byte, counted bool) error {
	if !counted {
		return nil
	}
	return c.Make(ctx, index, []byte(id), prebuilt(doc))
}

// Report returns the account so far.
func (c *CountWriter) Report() Report { return c.report.clone() }

// Open does nothing.
func (c *CountWriter) Open(context.Context, *pipeline.Run) error { return nil }

// Close does nothing.
func (c *CountWriter) Close(context.Context, bool) error { return nil }
