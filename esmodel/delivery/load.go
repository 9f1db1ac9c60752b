package delivery

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
	"fiolat/fio"
	"fiolat/internal/tempfile"
	"fiolat/pipeline"
)

// LoadOptions say how files are sent again.
type LoadOptions struct {
	// Prefix is the prefix of the indices; documents for others are a usage error.
	Prefix string
	// Bulk may set sizes; its SpoolDir is ignored.
	Bulk BulkConfig
}

// LoadReport is the account of a Load. Documents that could not be sent count as Spooled: they are still in
// their files.
type LoadReport struct {
	Report
	Loaded []string `json:"loaded"` // files read to the end
	// Torn are FILE:LINE of last documents that are cut off because their writer died.
	Torn []string `json:"torn,omitempty"`
	// Complete are the runs whose documents are now all there.
	Complete []string `json:"complete,omitempty"`
	// Removed are the spool and refused files of which every document has arrived.
	Removed []string `json:"removed,omitempty"`
}

// busyError is a file that a running fiolat writes or loads.
type busyError struct{ File string }

func (e *busyError) Error() string {
	return fmt.Sprintf("%s: another fiolat is at work on this file; try again when it has ended",
		fio.Printable(e.File))
}

// tornError says that files end in the middle of a document. All other documents were loaded.
type tornError struct{ At []string }

func (e *tornError) Error() string {
	return fmt.Sprintf(
		"%s: the last document is cut off; all others were sent; run the ingest again to restore it",
		fio.Printable(strings.Join(e.At, ", ")),
	)
}

// Load sends the documents of files again: spooled ones, refused ones, those of an output directory. A
// directory stands for the *.ndjson files in it.
//
// All files are read before anything is sent, and the runs that their documents belong to are marked.
// Documents of runs are held in memory, a few KiB and the names of the logs each, until all others are
// acknowledged. One with status complete is stored as partial if Elasticsearch does not hold as many documents
// of its generation as it counts, because not all files were given. Otherwise the run's other generations are
// deleted, as at the end of an ingest, but only if the files hold documents of this one: the document of a run
// alone, perhaps edited, deletes nothing. A run of which the files hold no document of its own stays complete
// only if it still is.
//
// Files of a spool and of refused documents are removed once every document of all files was acknowledged;
// those of an output directory stay.
func Load(ctx context.Context, c *client.Client, paths []string, o LoadOptions) (*LoadReport, error) {
	o.Prefix = cmp.Or(o.Prefix, esmodel.DefaultPrefix)
	files, err := loadFiles(paths)
	if err != nil {
		return &LoadReport{}, err
	}
	cfg := o.Bulk
	cfg.Prefix, cfg.SpoolDir = o.Prefix, "" // refused documents stay in the files
	w, err := NewBulkWriter(c, cfg)
	if err != nil {
		return &LoadReport{}, err
	}
	l := &loader{
		c:           c,
		w:           w,
		prefix:      o.Prefix,
		read:        map[string]fs.FileInfo{},
		runs:        map[string]runLine{},
		generations: map[esmodel.RunKey]map[string]kindCounts{},
	}
	w.named = true // the files do not say whether the names were given
	err = w.Open(ctx, nil)
	for _, f := range files {
		if err == nil {
			err = l.file(f, l.noteGeneration)
		}
	}
	if err == nil {
		err = l.mark(ctx)
	}
	l.report.Torn = nil // the second pass finds them again
	for _, f := range files {
		if err == nil {
			err = l.file(f, func(index, id string, doc []byte) error { return l.add(ctx, index, id, doc) })
		}
		if err == nil {
			l.report.Loaded = append(l.report.Loaded, f)
		}
	}
	if err == nil {
		err = l.finish(ctx)
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), client.DrainTime)
	defer cancel()
	// Leave a second to remove the marks.
	sending, stop := context.WithTimeout(drain, client.DrainTime-time.Second)
	defer stop()
	err = errors.Join(err, w.Close(sending, false))
	err = errors.Join(err, l.abandon(drain))
	l.report.Report = w.Report()
	for index, n := range l.report.Indices {
		n.Spooled, n.Lost = n.Spooled+n.Lost, 0
		l.report.Indices[index] = n
	}
	if l.report.Total().Incomplete() && (err == nil || errors.As(err, new(*client.UnavailableError))) {
		err = &IncompleteError{Report: l.report.Report, Err: err, Loading: true}
	}
	if err == nil && len(l.report.Torn) > 0 {
		err = &tornError{At: l.report.Torn}
	}
	if err == nil {
		err = l.remove()
	}
	return &l.report, err
}

// remove removes the loaded files of a spool and of refused documents.
func (l *loader) remove() error {
	for _, name := range l.report.Loaded {
		base := filepath.Base(name)
		if !strings.HasPrefix(base, l.prefix+"-spool.") && !strings.HasPrefix(base, l.prefix+"-refused.") {
			continue
		}
		// Another load may have removed it, and another ingest have made a new one.
		now, err := os.Stat(name)
		if err == nil && !os.SameFile(now, l.read[name]) {
			continue
		}
		if err == nil {
			err = os.Remove(name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return outputError(name, err)
		}
		l.report.Removed = append(l.report.Removed, name)
	}
	return nil
}

// loadFiles returns the files that paths stand for, in order.
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
			if e.Type().IsRegular() && strings.HasSuffix(e.Name(), esmodel.FileExt) &&
				!strings.HasPrefix(e.Name(), ".") {
				out = append(out, filepath.Join(p, e.Name()))
				found = true
			}
		}
		if !found {
			return nil, &fio.UsageError{
				Msg:  fmt.Sprintf("%s: no *.ndjson files in this directory", p),
				Hint: "name the directory that an ingest --format bulk, the default, wrote to",
			}
		}
	}
	if len(out) == 0 {
		return nil, &fio.UsageError{
			Msg:  "no files to load",
			Hint: "name the spool, the refused file or the output directory of an ingest",
		}
	}
	return out, nil
}

type loader struct {
	c           *client.Client
	w           *BulkWriter
	prefix      string
	report      LoadReport
	read        map[string]fs.FileInfo                   // by name, as given
	runs        map[string]runLine                       // by _id; the last one wins
	generations map[esmodel.RunKey]map[string]kindCounts // documents in the files by run.generation
}

type kindCounts map[esmodel.Kind]int64

type runLine struct {
	index string
	doc   []byte
}

// actionLine is the line before a document. For a refused document it holds the reason.
type actionLine struct {
	Index *struct {
		Index string `json:"_index"`
		ID    string `json:"_id"`
	} `json:"index"`
	Error json.RawMessage `json:"_error"`
}

// noteGeneration records which run a document belongs to.
func (l *loader) noteGeneration(index, _ string, doc []byte) error {
	m, err := esmodel.ReadDocHeader(doc)
	if err != nil || m.Run.ID == "" || m.Fio.Kind == "" || m.Fio.Kind == esmodel.ProbeKind {
		return err // it belongs to no document of a run
	}
	of := l.generations[m.Key()]
	if of == nil {
		of = map[string]kindCounts{}
		l.generations[m.Key()] = of
	}
	if of[m.Run.Generation] == nil {
		of[m.Run.Generation] = kindCounts{}
	}
	kind, _ := esmodel.KindOf(l.prefix, index)
	of[m.Run.Generation][kind]++
	// Before format 11 histograms had a second array, of fractions, and whole counts.
	if kind == esmodel.KindHistogram && bytes.Contains(doc, []byte(`"index":[`)) {
		return esmodel.CheckFormat(m.Run.ID, m.Run.Part, 0)
	}
	return nil
}

// outdated returns an error if a run is complete in another generation than one of the files, of which they do not
// hold all documents: it was ingested again after they were written.
func (l *loader) outdated(key esmodel.RunKey, found []byte) error {
	there, err := esmodel.ReadDocHeader(found)
	if err != nil || there.Run.Status != esmodel.StatusComplete {
		return nil // there is none, or load may finish it
	}
	own, err := esmodel.ReadDocHeader(l.runs[key.ID()].doc)
	_, made := indices.Counted(own)
	for generation, has := range l.generations[key] {
		whole := err == nil && own.Run.Generation == generation &&
			has[esmodel.KindHistogram] == made[esmodel.KindHistogram] &&
			has[esmodel.KindPercentiles] == made[esmodel.KindPercentiles]
		if generation != "" && generation != there.Run.Generation && !whole {
			return esmodel.Fault(key.Run, key.Part,
				"load all files of the run together; those spooled before it was ingested again are of no use",
				"it is complete with other settings or logs than the files, which hold only some of the documents of "+
					"theirs: nothing was sent")
		}
	}
	return nil
}

// mark marks all runs of which the files hold documents, in order of their ids.
func (l *loader) mark(ctx context.Context) error {
	for id, r := range l.runs {
		m, err := esmodel.ReadDocHeader(r.doc)
		if err != nil || m.Run.ID == "" || m.Key().ID() != id {
			return fmt.Errorf("run document %s was not written by fiolat: %w", fio.Printable(id),
				errors.Join(errNoRun, err))
		}
		if err = esmodel.CheckFormat(m.Run.ID, m.Run.Part, m.Run.Format); err != nil {
			return err
		}
		if l.generations[m.Key()] == nil {
			l.generations[m.Key()] = map[string]kindCounts{}
		}
	}
	keys := slices.SortedFunc(maps.Keys(l.generations), func(a, b esmodel.RunKey) int {
		return cmp.Compare(a.ID(), b.ID())
	})
	for _, key := range keys {
		found, err := l.c.Source(ctx, esmodel.Index(l.prefix, esmodel.KindRun, 0), key.ID())
		if err == nil {
			err = l.outdated(key, found)
		}
		if err != nil {
			return err
		}
	}
	for _, key := range keys {
		k := indices.NewMark(l.c, l.prefix, key, func(found []byte) []byte {
			if r, ok := l.runs[key.ID()]; ok && found == nil {
				found = r.doc
			}
			return key.PartialDoc(found)
		})
		k.Refuse = func(found []byte) error { return l.outdated(key, found) } // by now
		l.w.marks = append(l.w.marks, k)
	}
	for _, key := range keys {
		l.w.markMergedStale(key)
	}
	return l.w.retryBegin(ctx)
}

// add sends a document.
func (l *loader) add(ctx context.Context, index, id string, doc []byte) error {
	return l.w.Add(ctx, index, []byte(id), doc)
}

// abandon removes the marks that remain after an error. A run of which anything was sent, acknowledged or not, is
// partial from now on; if another process has it by now, what was sent is deleted.
func (l *loader) abandon(ctx context.Context) error {
	var errs []error
	for _, k := range l.w.marks {
		if k.Taken() && !k.Removed() {
			doc := k.Doc
			if l.w.Report().Requests == 0 {
				doc = k.Found
			}
			err := l.settle(ctx, k, doc)
			errs = append(errs, err)
			if errors.As(err, new(*indices.MarkError)) {
				errs = append(errs, l.withdraw(ctx, k))
			}
		}
	}
	return errors.Join(errs...)
}

// withdraw deletes what was sent of the run that a mark was on.
func (l *loader) withdraw(ctx context.Context, k *indices.Mark) error {
	var errs []error
	for key, generations := range l.generations { //nolint:shuffled // one of them has the id
		if key.ID() != k.ID {
			continue
		}
		for _, g := range slices.Sorted(maps.Keys(generations)) {
			errs = append(errs, l.w.withdraw(ctx, indices.Generation{RunKey: key, Generation: g}, false))
		}
	}
	return errors.Join(errs...)
}

func (l *loader) settle(ctx context.Context, k *indices.Mark, doc []byte) error {
	return k.Retry(ctx, "unmark", func() error {
		return k.Remove(ctx, false, func([]byte) []byte { return doc })
	})
}

// file reads a file and calls each with its documents, except those of runs, which it holds.
func (l *loader) file(name string, each func(index, id string, doc []byte) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if errors.Is(tempfile.Lock(f), tempfile.ErrLocked) {
		return &busyError{File: name}
	}
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if before, again := l.read[name]; again && !os.SameFile(before, now) {
		return &fio.ParseError{File: name, Msg: "was replaced while it was read", Hint: "load it again"}
	}
	l.read[name] = now
	in := &esmodel.Lines{R: bufio.NewReaderSize(f, 1<<20), File: name}
	for {
		action, terminated, err := in.Next()
		if errors.Is(err, io.EOF) {
			if in.N == 0 {
				return &fio.ParseError{File: name, Msg: "it is empty: what was to be in it is lost",
					Hint: "delete it, and run the ingest again"}
			}
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
		err = dec.Decode(&a)
		if err != nil || a.Index == nil || a.Index.Index == "" || a.Index.ID == "" ||
			dec.InputOffset() < int64(len(bytes.TrimSpace(action))) {
			if !terminated {
				l.torn(in)
				break
			}
			return in.Fault(`this is not an action line {"index":{"_index":...,"_id":...}}`)
		}
		kind, ours := esmodel.KindOf(l.prefix, a.Index.Index)
		if !ours {
			return &fio.UsageError{
				Msg:  fmt.Sprintf("%s:%d: index %q does not have the prefix %q", name, in.N, a.Index.Index, l.prefix),
				Hint: "pass the --index-prefix of the ingest",
			}
		}
		index, id := a.Index.Index, a.Index.ID
		doc, terminated, err := in.Next()
		if errors.Is(err, io.EOF) {
			l.torn(in)
			break
		}
		if err != nil {
			return err
		}
		if trimmed := bytes.TrimSpace(doc); len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(trimmed) {
			if !terminated {
				l.torn(in)
				break
			}
			return in.Fault("this is not a document")
		}
		if kind == esmodel.KindRun {
			l.runs[id] = runLine{index, bytes.Clone(bytes.TrimSpace(doc))}
			continue
		}
		if err := each(index, id, bytes.TrimSpace(doc)); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) torn(in *esmodel.Lines) {
	l.report.Torn = append(l.report.Torn, fmt.Sprintf("%s:%d", in.File, in.N))
}

// finish stores the documents of runs when all others are there.
func (l *loader) finish(ctx context.Context) error {
	if err := l.w.Flush(ctx); err != nil {
		return err
	}
	if l.w.Report().Total().Incomplete() {
		return nil // the caller reports it; documents of runs stay in their files
	}
	all := slices.Clone(l.w.marks)
	slices.SortStableFunc(all, func(a, b *indices.Mark) int { // a merged run wants its parts complete and unmarked
		return cmp.Compare(len(l.partsIn(a)), len(l.partsIn(b)))
	})
	var lost []error // runs that other processes have by now
	for _, k := range all {
		err := error(nil)
		if r, ok := l.runs[k.ID]; ok {
			err = l.run(ctx, k, r)
		} else {
			err = l.settleWithoutDoc(ctx, k)
		}
		if errors.As(err, new(*indices.MarkError)) {
			lost = append(lost, err)
		} else if err != nil {
			return err
		}
	}
	in, err := indices.Readable(ctx, l.c, l.prefix)
	if err == nil {
		err = indices.Refresh(ctx, l.c, in, l.w.Report().names())
	}
	return errors.Join(append(lost, err)...)
}

// partsIn returns the parts of the merged run that a mark is on; nil if it is not on a merged run.
func (l *loader) partsIn(k *indices.Mark) []pipeline.Part {
	if r, ok := l.runs[k.ID]; ok {
		return esmodel.PartsOf(r.doc)
	}
	return esmodel.PartsOf(k.Found)
}

// run stores the document of a run, after correcting its status if necessary.
func (l *loader) run(ctx context.Context, k *indices.Mark, r runLine) error {
	doc, err := esmodel.ReadDocHeader(r.doc)
	if err != nil {
		return err
	}
	var missing error
	if doc.Run.Status == esmodel.StatusComplete {
		g, made := indices.Counted(doc)
		in, err := indices.ScopeOf(ctx, l.c, l.prefix, g, k.Found)
		if err != nil {
			return err
		}
		if l.generations[g.RunKey][g.Generation] == nil {
			others, err := indices.Count(ctx, l.c, in.Names(), g.Query(false))
			if err == nil && others > 0 {
				err = esmodel.Fault(
					g.Run,
					g.Part,
					"load the folder that the ingest wrote, or ingest it again",
					"its document has different settings from the %d documents in Elasticsearch, and the files "+
						"contain none for these settings: nothing was removed",
					others,
				)
			}
			if err != nil {
				return err
			}
		}
		deleted, err := indices.Commit(ctx, l.c, in, g, made, l.w.Report().names(), nil, k.Holds)
		l.w.noteDeleted(deleted)
		if err == nil {
			err = l.w.sameParts(ctx, g.Run, g.Kind, esmodel.PartsOf(r.doc))
		}
		var mismatch *indices.MismatchError
		if errors.As(err, &mismatch) {
			missing = fmt.Errorf("%w (load all files of the run together)", err)
		} else if errors.As(err, new(*fio.ParseError)) {
			missing = err
		}
		if missing != nil {
			if r.doc, err = esmodel.WithStatus(r.doc, esmodel.StatusPartial); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	before := l.w.Report().Total().Indexed
	if err := l.w.Release(ctx, r.index, k.ID, r.doc, true); err != nil {
		return err
	}
	stored := l.w.Report().Total().Indexed > before
	if missing == nil && stored && doc.Run.Status == esmodel.StatusComplete {
		l.report.Complete = append(l.report.Complete, doc.Run.ID)
	}
	return missing
}

// settleWithoutDoc unmarks a run of which the files hold documents, but not its own. It stays complete only if it still
// is.
func (l *loader) settleWithoutDoc(ctx context.Context, k *indices.Mark) error {
	if k.Found == nil { // what was loaded belongs to a run, though nobody knows whether it is all of it
		doc, err := esmodel.ReadDocHeader(k.Doc)
		if err != nil {
			return err
		}
		l.w.mu.Lock()
		l.w.report.Warnings = append(l.w.report.Warnings, fmt.Sprintf("run %s is stored as partial: its own document is "+
			"in none of the files, and says whether these are all; load its fio-run file, too, or run the ingest again",
			fio.Printable(doc.Run.ID)))
		l.w.mu.Unlock()
		return l.settle(ctx, k, k.Doc)
	}
	doc, err := esmodel.ReadDocHeader(k.Found)
	if err != nil {
		return err
	}
	if doc.Run.Status != esmodel.StatusComplete {
		return l.settle(ctx, k, k.Found)
	}
	g, made := indices.Counted(doc)
	in, err := indices.ScopeOf(ctx, l.c, l.prefix, g, k.Found)
	if err == nil {
		err = indices.Refresh(ctx, l.c, in, l.w.Report().names())
	}
	if err != nil {
		return err
	}
	whole, err := indices.Verify(ctx, l.c, in, g, made)
	if err == nil {
		err = l.w.sameParts(ctx, g.Run, g.Kind, esmodel.PartsOf(k.Found))
	}
	if err != nil && !errors.As(err, new(*indices.MismatchError)) && !errors.As(err, new(*fio.ParseError)) {
		return err
	}
	if err == nil && whole {
		return l.settle(ctx, k, k.Found)
	}
	return l.settle(ctx, k, k.Doc)
}

var errNoRun = errors.New("its id does not match its run")
