package esmodel

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

	"fiolat/internal/errs"
	"fiolat/internal/tempfile"
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
	// TakeOver takes the claims on runs from whoever has them, without waiting.
	TakeOver bool
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
	return fmt.Sprintf("%s:%d: %s; what fiolat writes is an action line, then its document", errs.Printable(e.File),
		e.Line, errs.Printable(e.Msg))
}

// BusyError is a file that a running fiolat writes to, or loads.
type BusyError struct{ File string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("%s: another fiolat is at work on this file; try again when it has ended",
		errs.Printable(e.File))
}

// TornError says that files end in the middle of a document. The rest was loaded.
type TornError struct{ At []string }

func (e *TornError) Error() string {
	return fmt.Sprintf("%s: cut off in the middle of a document; all others were sent; run the ingest again for this "+
		"one", errs.Printable(strings.Join(e.At, ", ")))
}

// Load sends the documents of files again: spooled ones, refused ones, those of an
// output directory. A directory stands for the *.ndjson files in it.
//
// Documents of runs are held back until all others are acknowledged. One that says
// "complete" is checked first: as many documents of its generation must be there as
// it counts. Then the run's other generations go, as at the end of an ingest, but only
// if the files hold documents of this one: a run's document alone, edited perhaps, removes
// nothing. All files are read before anything is sent, and the runs that their documents
// belong to are claimed; a run of which the files hold no document of its own stays complete
// only if it still is. If documents are missing, because not all files were given, it is stored as partial.
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
	l := &loader{c: c, w: w, prefix: o.Prefix, takeOver: o.TakeOver, runs: map[string]runLine{}, held: map[runKey]map[string]bool{}}
	err = w.Open(ctx, nil)
	for _, f := range files {
		if err == nil {
			err = l.file(f, l.look)
		}
	}
	if err == nil {
		err = l.claim(ctx)
	}
	l.report.Torn = nil // they are met again
	for _, f := range files {
		if err == nil {
			err = l.file(f, func(index, id string, doc []byte) error { return l.w.Add(ctx, index, []byte(id), doc) })
		}
		if err == nil {
			l.report.Loaded = append(l.report.Loaded, f)
		}
	}
	if err == nil {
		err = l.finish(ctx)
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), DrainTime)
	defer cancel()
	// While a request may be under way the runs are ours; leave a second for giving them back.
	sending, stop := context.WithTimeout(drain, DrainTime-time.Second)
	defer stop()
	err = errors.Join(err, w.Close(sending, false))
	err = errors.Join(err, l.giveBack(drain))
	l.report.Report = w.Report()
	for index, n := range l.report.Indices {
		n.Spooled, n.Lost = n.Spooled+n.Lost, 0
		l.report.Indices[index] = n
	}
	if l.report.Total().Incomplete() && (err == nil || errors.As(err, new(*UnavailableError))) {
		err = &IncompleteError{Report: l.report.Report, Err: err, Loading: true}
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
	c        *Client
	w        *BulkWriter
	prefix   string
	takeOver bool
	report   LoadReport
	runs     map[string]runLine         // by _id; the last one wins
	held     map[runKey]map[string]bool // the generations of whose documents there are some in the files
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

// look takes down which runs a document belongs to.
func (l *loader) look(_, _ string, doc []byte) error {
	m, err := meaningOf(doc)
	if err != nil || m.Run.ID == "" || m.Fio.Kind == "" || m.Fio.Kind == probeKind {
		return err // it belongs to no document of a run
	}
	if l.held[m.key()] == nil {
		l.held[m.key()] = map[string]bool{}
	}
	l.held[m.key()][m.Run.Generation] = true
	return nil
}

// claim claims all runs that the files hold documents of, in order of their ids.
func (l *loader) claim(ctx context.Context) error {
	for id, r := range l.runs {
		m, err := meaningOf(r.doc)
		if err != nil || m.Run.ID == "" || m.key().id() != id {
			return fmt.Errorf("the document %s of a run is none of fiolat's: %w", errs.Printable(id),
				errors.Join(errNoRun, err))
		}
		if l.held[m.key()] == nil {
			l.held[m.key()] = map[string]bool{}
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(l.held), func(a, b runKey) int { return cmp.Compare(a.id(), b.id()) }) {
		k := l.c.newClaim(l.prefix, key.run, key.part, key.kind, key.partial)
		k.takeOver, k.onLost = l.takeOver, l.w.fail
		l.w.mu.Lock()
		l.w.claims = append(l.w.claims[:len(l.w.claims):len(l.w.claims)], k)
		l.w.mu.Unlock()
		if err := k.take(ctx); err != nil {
			return err
		}
	}
	return nil
}

// giveBack releases the claims that are left after an error: a run of which something was
// sent, acknowledged or not, is partial from now on.
func (l *loader) giveBack(ctx context.Context) error {
	var errs []error
	for _, k := range l.w.claimed() {
		if held, _ := k.fresh(); held {
			doc := k.doc
			if k.found == nil || l.w.Report().Requests == 0 {
				doc = k.found
			}
			errs = append(errs, k.give(ctx, doc))
		}
	}
	return errors.Join(errs...)
}

// file reads a file and hands on its documents, those of runs apart.
func (l *loader) file(name string, each func(index, id string, doc []byte) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if errors.Is(tempfile.Lock(f), tempfile.ErrLocked) {
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
		index, id := a.Index.Index, a.Index.ID
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
			l.runs[id] = runLine{index, bytes.Clone(bytes.TrimSpace(doc))}
			continue
		}
		if err := each(index, id, bytes.TrimSpace(doc)); err != nil {
			return err
		}
	}
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
	for _, k := range l.w.claimed() {
		err := error(nil)
		if r, ok := l.runs[k.id]; ok {
			err = l.run(ctx, k, r)
		} else {
			err = l.leave(ctx, k)
		}
		if err != nil {
			return err
		}
	}
	return l.c.refresh(ctx, l.prefix, l.w.Report().Names())
}

// run stores the document of a run, after making it true.
func (l *loader) run(ctx context.Context, k *claim, r runLine) error {
	doc, err := readCounted(r.doc)
	if err != nil {
		return err
	}
	var missing error
	if doc.Run.Status == StatusComplete {
		g, made := doc.counted()
		if !l.held[runKey{g.run, g.part, g.kind}][g.generation] {
			others, err := l.c.count(ctx, patterns(l.prefix), g.query(false))
			if err == nil && others > 0 {
				err = fault(g.run, g.part, "load the folder that the ingest wrote, or ingest it again",
					"its document is of other settings than the %d documents in Elasticsearch, and the files hold none of them: nothing is removed", others)
			}
			if err != nil {
				return err
			}
		}
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
	if err := l.w.Release(ctx, r.index, k.id, r.doc, true); err != nil {
		return err
	}
	if missing == nil && doc.Run.Status == StatusComplete {
		l.report.Complete = append(l.report.Complete, doc.Run.ID)
	}
	return missing
}

// leave gives back a run of which the files hold documents, but not its own. It is what it
// was before only if that is still true.
func (l *loader) leave(ctx context.Context, k *claim) error {
	if k.found == nil {
		return k.give(ctx, nil)
	}
	doc, err := readCounted(k.found)
	if err != nil {
		return err
	}
	if doc.Run.Status != StatusComplete {
		return k.give(ctx, k.found)
	}
	g, made := doc.counted()
	if err = l.c.refresh(ctx, l.prefix, l.w.Report().Names()); err != nil {
		return err
	}
	whole, err := l.c.whole(ctx, l.prefix, g, made)
	if err != nil && !errors.As(err, new(*MismatchError)) {
		return err
	}
	if err == nil && whole {
		return k.give(ctx, k.found)
	}
	return k.give(ctx, k.doc)
}

// countedDoc is what of a run's document is about the number of its documents.
type countedDoc struct {
	Run struct {
		ID, Generation, Part string
		Status               Status
	} `json:"run"`
	Fio     struct{ Kind string }
	Account struct {
		Documents Documents `json:"documents"`
	} `json:"account"`
}

func readCounted(source []byte) (d countedDoc, err error) {
	if err = json.Unmarshal(source, &d); err != nil {
		err = fmt.Errorf("the document of a run cannot be read: %w", err)
	}
	return d, err
}

// counted are the documents that should be there.
func (d *countedDoc) counted() (generation, map[Kind]int64) {
	return generation{d.Run.ID, d.Run.Part, d.Fio.Kind, d.Run.Generation},
		map[Kind]int64{KindHistogram: d.Account.Documents.Histogram, KindPercentiles: d.Account.Documents.Percentiles}
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
