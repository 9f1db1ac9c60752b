package esmodel

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fiolat/ingest"
)

// maxLine is the longest line that Load reads; Elasticsearch takes no request of
// more than 100 MB.
const maxLine = 100 << 20

// LoadOptions say how files are sent again.
type LoadOptions struct {
	// Prefix is that of the indices; documents for others are refused as usage.
	Prefix string
	// RefusedDir is where documents go that Elasticsearch refuses; "" only counts
	// them, they lie in the files that were loaded.
	RefusedDir string
	// Bulk may set sizes; its directories are ignored.
	Bulk BulkConfig
}

// LoadReport is the account of a Load. What could not be sent counts as Spooled: it
// still lies in its file.
type LoadReport struct {
	Report
	Loaded []string `json:"loaded"` // files read to the end
	// Torn are FILE:LINE of last documents that are cut off: their writer died.
	Torn []string `json:"torn,omitempty"`
	// Complete are the runs whose documents are now all there.
	Complete []string `json:"complete,omitempty"`
	// Removed are the spool and refused files of which every document has arrived.
	Removed []string `json:"removed,omitempty"`
}

// LineError is a line of a file that is not what it should be.
type LineError struct {
	File string
	Line int64
	Msg  string
}

func (e *LineError) Error() string {
	return fmt.Sprintf("%s:%d: %s; what fiolat writes is an action line, then its document", ingest.Printable(e.File), e.Line, ingest.Printable(e.Msg))
}

// BusyError is a file that a running fiolat writes to, or loads.
type BusyError struct{ File string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("%s: another fiolat is at work on this file; try again when it has ended", ingest.Printable(e.File))
}

// TornError says that files end in the middle of a document. The rest was loaded.
type TornError struct{ At []string }

func (e *TornError) Error() string {
	return fmt.Sprintf("%s: cut off in the middle of a document; all others were sent; run the ingest again for this one", ingest.Printable(strings.Join(e.At, ", ")))
}

// Load sends the documents of files again: spooled ones, refused ones, those of an
// output directory. A directory stands for the *.ndjson files in it.
//
// Documents of runs are held back until all others are acknowledged. One that says
// "complete" is checked first: as many documents of its generation must be there as
// it counts. Then the run's other generations go, as at the end of an ingest. If
// documents are missing, because not all files were given, it is stored as partial.
// Files of a spool, and of what was refused, are removed when every document of all
// files was acknowledged, and not before; those of an output directory stay.
// Documents of runs are held in memory, a few KiB and the names of the logs each.
func Load(ctx context.Context, c *Client, paths []string, o LoadOptions) (*LoadReport, error) {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	files, err := loadFiles(paths)
	if err != nil {
		return &LoadReport{}, err
	}
	cfg := o.Bulk
	cfg.Prefix, cfg.SpoolDir, cfg.RefusedDir = o.Prefix, "", o.RefusedDir
	w, err := NewBulkWriter(c, cfg)
	if err != nil {
		return &LoadReport{}, err
	}
	l := &loader{c: c, w: w, prefix: o.Prefix, runs: map[string]runLine{}}
	err = w.Open(ctx, nil)
	for _, f := range files {
		if err == nil {
			err = l.file(ctx, f)
		}
	}
	if err == nil {
		err = l.finish(ctx)
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), DrainTime)
	defer cancel()
	err = errors.Join(err, w.Close(drain, false))
	l.report.Report = w.Report()
	for index, n := range l.report.Indices {
		n.Spooled, n.Lost = n.Spooled+n.Lost, 0
		l.report.Indices[index] = n
	}
	if err == nil && l.report.Total().Incomplete() {
		err = &IncompleteError{Report: l.report.Report}
	}
	if err == nil && len(l.report.Torn) > 0 {
		err = &TornError{At: l.report.Torn}
	}
	if err == nil {
		err = l.remove()
	}
	return &l.report, err
}

// remove removes the files that only wait to be loaded.
func (l *loader) remove() error {
	for _, name := range l.report.Loaded {
		base := filepath.Base(name)
		if !strings.HasPrefix(base, l.prefix+"-spool.") && !strings.HasPrefix(base, l.prefix+"-refused.") {
			continue
		}
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return outputError(name, err)
		}
		l.report.Removed = append(l.report.Removed, name)
	}
	return nil
}

// loadFiles are the files that paths stand for, in order.
func loadFiles(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		st, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if !st.IsDir() {
			out = append(out, p)
			continue
		}
		entries, err := os.ReadDir(p) // sorted
		if err != nil {
			return nil, err
		}
		found := false
		for _, e := range entries {
			if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ndjson) && !strings.HasPrefix(e.Name(), ".") {
				out = append(out, filepath.Join(p, e.Name()))
				found = true
			}
		}
		if !found {
			return nil, &UsageError{Msg: fmt.Sprintf("%s: no *.ndjson files in this directory", p), Hint: "name the directory that an ingest wrote to"}
		}
	}
	if len(out) == 0 {
		return nil, &UsageError{Msg: "no files to load", Hint: "name the spool, the refused file or the output directory of an ingest"}
	}
	return out, nil
}

type loader struct {
	c      *Client
	w      *BulkWriter
	prefix string
	report LoadReport
	runs   map[string]runLine // by _id; the last one wins
	order  []string
}

type runLine struct {
	index string
	doc   []byte
}

// actionLine is the line before a document. Refused documents carry the reason.
type actionLine struct {
	Index *struct {
		Index string `json:"_index"`
		ID    string `json:"_id"`
	} `json:"index"`
	Error json.RawMessage `json:"_error"`
}

// file reads a file and adds its documents.
func (l *loader) file(ctx context.Context, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if errors.Is(lockFile(f), errLocked) {
		return &BusyError{File: name}
	}
	in := &lines{r: bufio.NewReaderSize(f, 1<<20), file: name}
	for {
		action, whole, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(action)) == 0 {
			continue
		}
		var a actionLine
		dec := json.NewDecoder(bytes.NewReader(action))
		dec.DisallowUnknownFields()
		if err = dec.Decode(&a); err != nil || a.Index == nil || a.Index.Index == "" || a.Index.ID == "" || dec.InputOffset() < int64(len(bytes.TrimSpace(action))) {
			if !whole {
				l.torn(in)
				break
			}
			return in.fault(`this is not an action line {"index":{"_index":...,"_id":...}}`)
		}
		kind, ours := KindOf(l.prefix, a.Index.Index)
		if !ours {
			return &UsageError{Msg: fmt.Sprintf("%s:%d: index %q is none of prefix %q", name, in.n, a.Index.Index, l.prefix), Hint: "pass the --index-prefix of the ingest"}
		}
		index, id := a.Index.Index, []byte(a.Index.ID)
		doc, whole, err := in.next()
		if errors.Is(err, io.EOF) {
			l.torn(in)
			break
		}
		if err != nil {
			return err
		}
		if trimmed := bytes.TrimSpace(doc); len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(trimmed) {
			if !whole {
				l.torn(in)
				break
			}
			return in.fault("this is not a document")
		}
		if kind == KindRun {
			if _, seen := l.runs[string(id)]; !seen {
				l.order = append(l.order, string(id))
			}
			l.runs[string(id)] = runLine{index, bytes.Clone(doc)}
			continue
		}
		if err := l.w.Add(ctx, index, id, bytes.TrimSpace(doc)); err != nil {
			return err
		}
	}
	l.report.Loaded = append(l.report.Loaded, name)
	return nil
}

func (l *loader) torn(in *lines) {
	l.report.Torn = append(l.report.Torn, fmt.Sprintf("%s:%d", in.file, in.n))
}

// finish stores the documents of runs when all others are there.
func (l *loader) finish(ctx context.Context) error {
	if err := l.w.Flush(ctx); err != nil {
		return err
	}
	if l.w.Report().Total().Incomplete() {
		return nil // the caller says so; the documents of runs still lie in their files
	}
	for _, id := range l.order {
		if err := l.run(ctx, id, l.runs[id]); err != nil {
			return err
		}
	}
	return l.c.refresh(ctx, l.prefix, l.w.Report().Names())
}

// run stores the document of a run, after making it true.
func (l *loader) run(ctx context.Context, id string, r runLine) error {
	var doc struct {
		Run struct {
			ID, Generation, Part string
			Status               Status
		} `json:"run"`
		Fio     struct{ Kind string }
		Account struct {
			Documents Documents `json:"documents"`
		} `json:"account"`
	}
	if err := json.Unmarshal(r.doc, &doc); err != nil || doc.Run.ID == "" || RunDocID(doc.Run.ID, doc.Run.Part, doc.Fio.Kind) != id {
		return fmt.Errorf("the document %s of a run is none of fiolat's: %w", ingest.Printable(id), errors.Join(errNoRun, err))
	}
	var missing error
	if doc.Run.Status == StatusComplete {
		g := generation{doc.Run.ID, doc.Run.Part, doc.Fio.Kind, doc.Run.Generation}
		made := map[Kind]int64{KindHistogram: doc.Account.Documents.Histogram, KindPercentiles: doc.Account.Documents.Percentiles}
		deleted, err := l.c.conclude(ctx, l.prefix, g, made, l.w.Report().Names(), l.w.hold)
		l.w.noteDeleted(deleted)
		var mismatch *MismatchError
		if errors.As(err, &mismatch) {
			missing = fmt.Errorf("%w (load all files of the run together)", err)
			if r.doc, err = withStatus(r.doc, StatusPartial); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	if err := l.w.Add(ctx, r.index, []byte(id), bytes.TrimSpace(r.doc)); err != nil {
		return err
	}
	if err := l.w.Flush(ctx); err != nil {
		return err
	}
	if missing == nil && doc.Run.Status == StatusComplete {
		l.report.Complete = append(l.report.Complete, doc.Run.ID)
	}
	return missing
}

var errNoRun = errors.New("its id is not that of the run it names")

// withStatus is the document of a run with another status.
func withStatus(doc []byte, status Status) ([]byte, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(doc, &m); err != nil {
		return nil, err
	}
	var run map[string]json.RawMessage
	if err := json.Unmarshal(m["run"], &run); err != nil {
		return nil, err
	}
	run["status"] = encode(status)
	m["run"] = encode(run)
	return encode(m), nil
}

// lines reads lines of bounded length; what next returns is good until the next call.
type lines struct {
	r    *bufio.Reader
	file string
	n    int64
	buf  []byte
}

// next is the next line without its newline; whole says that it had one.
func (l *lines) next() (line []byte, whole bool, err error) {
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		l.buf = append(l.buf, part...)
		switch {
		case err == nil:
			l.n++
			return l.buf[:len(l.buf)-1], true, nil
		case errors.Is(err, bufio.ErrBufferFull):
			if len(l.buf) > maxLine {
				l.n++
				return nil, false, l.fault(fmt.Sprintf("this line is longer than %d MiB", maxLine>>20))
			}
		case errors.Is(err, io.EOF):
			if len(l.buf) == 0 {
				return nil, false, io.EOF
			}
			l.n++
			return l.buf, false, nil
		default:
			return nil, false, fmt.Errorf("%s: %w", l.file, err)
		}
	}
}

func (l *lines) fault(msg string) error { return &LineError{File: l.file, Line: l.n, Msg: msg} }
