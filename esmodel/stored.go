package esmodel

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/fiolog"
	"fiolat/internal/errs"
	"fiolat/internal/fiohist"
	"fiolat/pipeline"
)

// StoredRun is the document of a run, or of one part of it, read back.
type StoredRun struct {
	pipeline.Stored
	Status Status
	// Claim is who is at work on it, or died at it; nil if nobody is.
	Claim *Owner
}

// OpenStored reads back the run that has that id from Elasticsearch, one kind of
// latency, all parts together: the generation that is complete there now. A run that is not there, is
// not complete or does not fit together is an *ingest.ParseError. Whoever reads it
// while it is ingested again is told so by Process, and gets no wrong number.
func OpenStored(ctx context.Context, c *Client, prefix, runID string, kind fiolog.Kind) (*pipeline.Replay, error) {
	runs, err := StoredRuns(ctx, c, prefix, runID, kind)
	if err != nil {
		return nil, err
	}
	parts, err := leafHolders(runID, runs)
	if err != nil {
		return nil, err
	}
	return ReplayStored(c, prefix, parts)
}

// StoredRuns are the documents of the run that has that id, of one kind of latency:
// the run's own, if there is one, and that of each part.
func StoredRuns(ctx context.Context, c *Client, prefix, runID string, kind fiolog.Kind) (runs []*StoredRun, err error) {
	return storedRuns(ctx, c, prefix, termQuery("run.id", runID), termQuery("fio.kind", kind.String()))
}

func storedRuns(ctx context.Context, c *Client, prefix string, filter ...any) (runs []*StoredRun, err error) {
	if err = c.refresh(ctx, prefix, nil); err != nil {
		return nil, err
	}
	_, err = Search(ctx, c, SearchRequest{Index: Index(prefix, KindRun, 0), Query: map[string]any{"bool": map[string]any{"filter": filter}}, PageSize: 100}, func(h Hit) error {
		run, e := readRun(h.Source)
		runs = append(runs, run)
		return e
	})
	return runs, err
}

// StoredKinds are the kinds of latency of which there is a document of the run that has
// that id, in the order of the kinds.
func StoredKinds(ctx context.Context, c *Client, prefix, runID string) (out []fiolog.Kind, err error) {
	runs, err := storedRuns(ctx, c, prefix, termQuery("run.id", runID))
	if err != nil {
		return nil, err
	}
	for k := range fiolog.Kind(fiolog.Kinds) {
		if slices.ContainsFunc(runs, func(r *StoredRun) bool { return r.Run.Kind == k }) {
			out = append(out, k)
		}
	}
	return out, nil
}

// ReplayStored reads back parts of a run, or one that is all one, from Elasticsearch.
func ReplayStored(c *Client, prefix string, parts []*StoredRun) (*pipeline.Replay, error) {
	b := newBook(parts)
	var generations []string
	for _, p := range b.parts {
		generations = append(generations, p.Run.Generation)
	}
	run := b.parts[0].Run
	return pipeline.NewReplay(b.parts, func(ctx context.Context, each func(pipeline.StoredLeaf) error) error {
		// Whole documents: leaving out what is not needed takes Elasticsearch longer
		// than sending it.
		return scanLeaves(ctx, b, c, scanRequest{
			op: "read histograms", indices: Pattern(prefix, KindHistogram),
			query: map[string]any{"bool": map[string]any{"filter": []any{
				termQuery("run.id", run.ID), termQuery("scope", leafScope), termQuery("fio.kind", run.Kind.String()),
				map[string]any{"terms": map[string]any{"run.generation": generations}},
			}}},
			sort: []any{map[string]any{"@timestamp": "asc"}},
			size: pageSize / readers,
		}, each)
	})
}

// readers is how many searches read histograms side by side: what takes long is that
// Elasticsearch unpacks documents, in one thread for each search. See docs/benchmarks.md.
const readers = 4

// scanLeaves hands out the leaves that a search finds in the order of its sort, which is by
// time. There are several searches of it, each of a slice of the documents, which is a
// stretch of an index; so what has the same time comes in the same order as from one.
func scanLeaves(ctx context.Context, b *book, c *Client, r scanRequest, each func(pipeline.StoredLeaf) error) error {
	at, err := c.open(ctx, r)
	if err != nil {
		return err
	}
	defer c.close(ctx, r, at)
	ctx, cancel := context.WithCancel(ctx)
	g, reading := errgroup.WithContext(ctx)
	pages := make([]chan []pipeline.StoredLeaf, readers)
	for i := range pages {
		pages[i] = make(chan []pipeline.StoredLeaf)
		r, at := r, at
		r.fields = map[string]any{"slice": map[string]int{"id": i, "max": readers}}
		hand := func(page []Hit) error {
			leaves, e := leavesOf(b, page)
			if e != nil {
				return e
			}
			select {
			case pages[i] <- leaves:
				return nil
			case <-reading.Done():
				return context.Cause(reading)
			}
		}
		g.Go(func() (err error) {
			if err = c.pages(reading, r, &at, hand); err == nil { // else nobody must take this for the end
				close(pages[i])
			}
			return err
		})
	}
	err = inOrder(reading, pages, each)
	cancel()
	_ = g.Wait() // what a reader says is the cause that inOrder ended with
	return err
}

// inOrder hands out leaves that come in several streams, each in order of time.
func inOrder(ctx context.Context, pages []chan []pipeline.StoredLeaf, each func(pipeline.StoredLeaf) error) error {
	heads := make([][]pipeline.StoredLeaf, len(pages))
	for {
		next := -1
		for i, page := range pages {
			if len(heads[i]) == 0 {
				select {
				case heads[i] = <-page: // nothing at its end
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			if len(heads[i]) > 0 && (next < 0 || heads[i][0].Start < heads[next][0].Start) {
				next = i
			}
		}
		if next < 0 {
			return nil
		}
		if err := each(heads[next][0]); err != nil {
			return err
		}
		heads[next] = heads[next][1:]
	}
}

// leavesOf reads the leaves of a page.
func leavesOf(b *book, page []Hit) (leaves []pipeline.StoredLeaf, err error) {
	leaves = make([]pipeline.StoredLeaf, len(page))
	for i, h := range page {
		if leaves[i], err = b.leaf(h.Source); err != nil {
			return nil, fmt.Errorf("%s/%s: %w", h.Index, h.ID, err)
		}
	}
	return leaves, nil
}

func termQuery(field, value string) map[string]any {
	return map[string]any{"term": map[string]any{field: map[string]any{"value": value}}}
}

// fault is what is wrong with a run that was stored.
func fault(runID, part, hint, format string, args ...any) error {
	what := fmt.Sprintf("run %q", runID)
	if part != "" {
		what += fmt.Sprintf(", part %q", part)
	}
	return &errs.ParseError{File: what, Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// leafHolders are those of a run's documents that have leaves: the run's own, or
// those of all its parts. All must be complete.
func leafHolders(runID string, runs []*StoredRun) ([]*StoredRun, error) {
	parts := Parts(runs)
	if len(parts) == 0 {
		parts = runs
	}
	if len(parts) == 0 {
		return nil, fault(runID, "", "see fiolat runs", "there is no such run")
	}
	for _, r := range runs {
		if len(parts) != len(runs) && r.Run.Part == "" && len(r.Run.Parts) == 0 {
			return nil, fault(runID, "", "delete it, and ingest it whole or in parts", "it was ingested as a whole and in parts")
		}
	}
	for _, p := range parts {
		if len(p.Run.Parts) > 0 {
			return nil, fault(runID, "", "ingest them again", "its parts are gone")
		}
		if p.Status != StatusComplete {
			return nil, p.Incomplete()
		}
	}
	return parts, nil
}

// Parts are those of a run's documents that are of its parts.
func Parts(runs []*StoredRun) (parts []*StoredRun) {
	for _, r := range runs {
		if r.Run.Part != "" {
			parts = append(parts, r)
		}
	}
	return parts
}

// Incomplete is the error of a run that is not complete.
func (r *StoredRun) Incomplete() error {
	why, hint := "its ingest is not through, or was killed", "wait for it, or run it again"
	if r.Claim != nil {
		why = "claimed by " + r.Claim.String() + ": " + why
	} else if r.Status == StatusPartial {
		why, hint = "not all of its documents arrived", "run its ingest again, or fiolat load what was spooled"
	}
	return fault(r.Run.ID, r.Run.Part, hint, "%s (%s)", why, r.Status)
}

// readRun reads the document of a run.
func readRun(source []byte) (*StoredRun, error) {
	var doc runDoc
	if err := json.Unmarshal(source, &doc); err != nil {
		return nil, fmt.Errorf("the document of a run cannot be read: %w", err)
	}
	if doc.Run.ID == "" {
		return nil, errors.New("the document of a run has no run.id")
	}
	run := &pipeline.Run{
		ID: doc.Run.ID, Name: doc.Run.Name, Part: doc.Run.Part, Labels: doc.Labels, Generation: doc.Run.Generation,
		Start: int64(doc.Run.Start), StartKnown: true, StartHow: doc.Run.StartHow,
		FirstQuantum: nanos(doc.Interval.OffsetMS), Interval: nanos(doc.Interval.MS), Parts: doc.Parts,
		Geometry: fiohist.Geometry{Groups: doc.Latency.Buckets.Groups, Coarseness: doc.Latency.Buckets.Coarseness, Unit: doc.Latency.Buckets.UnitNS},
	}
	if doc.Run.Status != StatusComplete && len(doc.Settings) == 0 {
		// Only claimed, by who deletes or loads what is left of it.
		out := &StoredRun{Stored: pipeline.Stored{Run: run}, Status: StatusPartial}
		if doc.Claim != nil {
			out.Claim = &doc.Claim.Owner
		}
		for k := range fiolog.Kind(fiolog.Kinds) {
			if k.String() == doc.Fio.Kind {
				run.Kind = k
			}
		}
		return out, nil
	}
	out := &StoredRun{Stored: pipeline.Stored{Run: run}, Status: doc.Run.Status}
	if doc.Claim != nil {
		out.Claim = &doc.Claim.Owner
	}
	if known, err := fiohist.GeometryOf(run.Geometry.Columns()); err != nil || known != run.Geometry || run.Interval < 1 {
		return nil, fault(run.ID, run.Part, "", "its grid cannot be: %+v, %d ns", run.Geometry, run.Interval)
	}
	if err := readSettings(run, doc.Settings); err != nil {
		return nil, fault(run.ID, run.Part, "", "its settings cannot be read: %v", err)
	}
	if doc.Run.End != nil {
		out.End = int64(*doc.Run.End) - run.Start
	}
	if doc.Account != nil {
		out.Leaves = doc.Account.Documents.Histogram
		if doc.Account.Account != nil {
			out.Account = *doc.Account.Account
		}
	}
	for _, f := range doc.Files {
		l := &pipeline.Log{
			Log:  &ingest.Log{Source: &ingest.Source{Path: f.Name, Base: f.Name, Size: f.Size}, Host: f.Host, Job: f.Job, LogName: f.Log},
			Hash: f.Hash, Interval: time.Duration(nanos(f.IntervalMS)), Start: nanos(f.StartMS), Empty: f.Empty,
		}
		l.Repaired[0] = f.Repaired
		switch {
		case f.EndMS != nil:
			l.End = nanos(*f.EndMS)
		case out.Status == StatusComplete:
			return nil, fault(run.ID, run.Part, "ingest it again", "an older fiolat has stored it, without what it takes to read it back")
		}
		for i := range l.Dirs {
			d := f.Directions[fiolog.Direction(i).String()]
			l.Dirs[i] = pipeline.LogDirection{Some: d.IOs, None: d.None}
			for _, h := range d.Holes {
				l.Dirs[i].Holes = append(l.Dirs[i].Holes, pipeline.Span{From: nanos(h[0]), To: nanos(h[1])})
			}
			if d.Min != nil && d.Max != nil {
				l.Dirs[i].Limits = fiohist.Limits{Min: *d.Min, Max: *d.Max, Known: true}
			}
		}
		run.Logs = append(run.Logs, l)
	}
	run.Metas = []*fiojson.Document{readJobs(&doc)}
	run.Told = &pipeline.Told{Versions: doc.Fio.Version, Workloads: doc.Fio.Workload, Measures: doc.Fio.Measure, Options: doc.Fio.Options}
	return out, nil
}

// nanos is a number of ms in ns; exact for 50 days, and for whole ms always.
func nanos(ms number) int64 { return int64(math.Round(float64(ms) * 1e6)) }

// readSettings reads back what settings wrote.
func readSettings(run *pipeline.Run, m map[string]any) error {
	var doc struct {
		Interval, Grid, Align, Repair, Start, Kind, Percentiles string
		RecordTime                                              string `json:"record_time"`
		By, SLA                                                 []string
		Coarseness                                              int
		LogHistMsec                                             int64 `json:"log_hist_msec"`
		Restore                                                 bool
		SkipBad                                                 bool `json:"skip_bad"`
		Offsets                                                 map[string]string
	}
	if err := json.Unmarshal(encode(m), &doc); err != nil {
		return err
	}
	run.Settings = pipeline.Settings{
		Interval: time.Duration(run.Interval), Grid: doc.Grid, Align: doc.Align, RecordTime: doc.RecordTime, By: doc.By,
		Coarseness: doc.Coarseness, LogHistMsec: doc.LogHistMsec, Repair: doc.Repair, Restore: doc.Restore, SkipBad: doc.SkipBad,
		Start: doc.Start, Offsets: map[string]time.Duration{}, SLA: doc.SLA,
	}
	for k := range fiolog.Kind(fiolog.Kinds) {
		if k.String() == doc.Kind {
			run.Kind, run.Settings.Kind = k, k
		}
	}
	if run.Kind.String() != doc.Kind {
		return fmt.Errorf("kind %q", doc.Kind)
	}
	for _, f := range strings.Split(doc.Percentiles, ",") {
		p, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return err
		}
		run.Percentiles = append(run.Percentiles, p)
	}
	run.Settings.Percentiles = run.Percentiles
	for host, v := range doc.Offsets {
		d, err := time.ParseDuration(v)
		if err != nil {
			return err
		}
		run.Settings.Offsets[host] = d
	}
	return nil
}

// readJobs reads back what jobs wrote.
func readJobs(doc *runDoc) *fiojson.Document {
	m := new(fiojson.Document)
	for _, j := range doc.Jobs {
		e := fiojson.Entry{JobName: j.Name, Host: j.Host, GroupID: j.Group, RuntimeMS: j.RuntimeMS, Error: j.Error,
			Options: j.Options}
		if j.Start != nil {
			e.StartMS = int64(*j.Start) / 1e6
		}
		m.Entries = append(m.Entries, e)
	}
	return m
}

// book finds the part that a leaf belongs to.
type book struct {
	parts []*pipeline.Stored
	index map[pipeline.Part]int
}

func newBook(runs []*StoredRun) *book {
	b := &book{index: map[pipeline.Part]int{}}
	for _, r := range runs {
		b.parts = append(b.parts, &r.Stored)
	}
	// The order that a Replay gives them.
	slices.SortStableFunc(b.parts, func(x, y *pipeline.Stored) int { return cmp.Compare(x.Run.Part, y.Run.Part) })
	for i, p := range b.parts {
		b.index[pipeline.Part{Name: p.Run.Part, Generation: p.Run.Generation}] = i
	}
	return b
}

// storedID says what a document belongs to.
type storedID struct{ ID, Generation, Part string }

// leafDoc is what is read of the document of a leaf.
type leafDoc struct {
	Timestamp stamp `json:"@timestamp"`
	Run       storedID
	Host      struct{ Name string }
	Fio       struct{ Job, Log, Direction string }

	Latency struct {
		Buckets struct {
			gridField
			Logs, Index []int
			Count       []float64
		}
	}
}

// leaf reads the document of a leaf.
func (b *book) leaf(source []byte) (out pipeline.StoredLeaf, err error) {
	var doc leafDoc
	if err := json.Unmarshal(source, &doc); err != nil {
		return out, fmt.Errorf("the document of a histogram cannot be read: %w", err)
	}
	part, ok := b.index[pipeline.Part{Name: doc.Run.Part, Generation: doc.Run.Generation}]
	if !ok {
		return out, fmt.Errorf("it is of part %q, generation %q, which the run does not have", doc.Run.Part, doc.Run.Generation)
	}
	run := b.parts[part].Run
	k := &doc.Latency.Buckets
	out = pipeline.StoredLeaf{
		Part: part, Start: int64(doc.Timestamp), Hist: new(fiohist.Hist),
		Dims: pipeline.Dims{Host: doc.Host.Name, Job: doc.Fio.Job, Log: doc.Fio.Log, Direction: doc.Fio.Direction},
	}
	if (fiohist.Geometry{Groups: k.Groups, Coarseness: k.Coarseness, Unit: k.UnitNS}) != run.Geometry {
		return out, fmt.Errorf("its grid is %+v, the run's %+v", k.gridField, run.Geometry)
	}
	if len(k.Index) != len(k.Count) || len(k.Logs)%2 != 0 {
		return out, fmt.Errorf("%d buckets have %d counts", len(k.Index), len(k.Count))
	}
	for i, n := range k.Index {
		if n < 0 || n > run.Geometry.Last() || i > 0 && n <= k.Index[i-1] || !(k.Count[i] >= 0) {
			return out, fmt.Errorf("bucket %d cannot hold %v", n, k.Count[i])
		}
		out.Hist.Add(n, k.Count[i])
	}
	for i := 0; i < len(k.Logs); i += 2 {
		if k.Logs[i] < 0 || k.Logs[i+1] >= len(run.Logs) {
			return out, fmt.Errorf("it is of logs %d to %d of %d", k.Logs[i], k.Logs[i+1], len(run.Logs))
		}
		for l := k.Logs[i]; l <= k.Logs[i+1]; l++ {
			out.Members = append(out.Members, l)
		}
	}
	return out, nil
}

// dirHead is the first document of a file.
type dirHead struct {
	path, index string
	doc         []byte
	Run         storedID
	Fio         struct{ Kind string }
}

// dirHeads are those of the files in a directory that an ingest has written into it;
// runID "" is any run.
func dirHeads(dir, runID string) (out []dirHead, err error) {
	paths, err := filepath.Glob(filepath.Join(globEscape(dir), "*"+ndjson))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		f, e := openDocs(path)
		if e != nil {
			return nil, e
		}
		err = f.next()
		_ = f.Close() // it was only read
		if errors.Is(err, io.EOF) {
			continue
		}
		if err != nil {
			return nil, err
		}
		h := dirHead{path: path, index: f.index, doc: f.doc}
		if err = json.Unmarshal(f.doc, &h); err != nil {
			return nil, &LineError{File: path, Line: 2, Msg: err.Error()}
		}
		if runID == "" || h.Run.ID == runID {
			out = append(out, h)
		}
	}
	return out, nil
}

// StoredKindsDir are the kinds of latency of which there is a document of that run in a
// directory, in the order of the kinds; "" is any run.
func StoredKindsDir(dir, runID string) (out []fiolog.Kind, err error) {
	heads, err := dirHeads(dir, runID)
	for k := range fiolog.Kind(fiolog.Kinds) {
		if slices.ContainsFunc(heads, func(h dirHead) bool {
			return h.Fio.Kind == k.String() && strings.HasSuffix(h.index, "-"+string(KindRun))
		}) {
			out = append(out, k)
		}
	}
	return out, err
}

// OpenStoredDir reads back a run from the documents that an ingest has written into
// a directory, one kind of latency; "" is the only run there. The files are read
// again by Process.
func OpenStoredDir(dir, runID string, kind fiolog.Kind) (*pipeline.Replay, error) {
	heads, err := dirHeads(dir, runID)
	if err != nil {
		return nil, err
	}
	var runs []*StoredRun
	ids := map[string]bool{}
	leaves := map[pipeline.Part][]string{} // by generation, in order of time
	for _, f := range heads {
		if f.Fio.Kind != kind.String() {
			continue
		}
		switch {
		case strings.HasSuffix(f.index, "-"+string(KindRun)):
			run, e := readRun(f.doc)
			if e != nil {
				return nil, fmt.Errorf("%s: %w", errs.Printable(f.path), e)
			}
			runs = append(runs, run)
			ids[run.Run.ID] = true
		case strings.Contains(f.index, "-"+string(KindHistogram)+"-"):
			key := pipeline.Part{Name: f.Run.ID + "\x00" + f.Run.Part, Generation: f.Run.Generation}
			leaves[key] = append(leaves[key], f.path) // sorted by month
		}
	}
	if len(ids) > 1 {
		return nil, &UsageError{Msg: fmt.Sprintf("%s holds the runs %q", dir, slices.Sorted(maps.Keys(ids))), Hint: "say which"}
	}
	if len(runs) == 0 {
		return nil, &errs.ParseError{File: dir, Msg: "no document of a run" + map[bool]string{true: fmt.Sprintf(" %q",
			runID)}[runID != ""],
			Hint: "it takes the *.ndjson files that fiolat ingest --output wrote"}
	}
	parts, err := leafHolders(runs[0].Run.ID, runs)
	if err != nil {
		return nil, err
	}
	b := newBook(parts)
	var files [][]string
	for _, p := range b.parts {
		files = append(files, leaves[pipeline.Part{Name: p.Run.ID + "\x00" + p.Run.Part, Generation: p.Run.Generation}])
	}
	return pipeline.NewReplay(b.parts, func(ctx context.Context, each func(pipeline.StoredLeaf) error) error {
		return mergeFiles(ctx, b, files, each)
	})
}

func globEscape(dir string) string {
	return strings.NewReplacer("\\", "\\\\", "*", "\\*", "?", "\\?", "[", "\\[").Replace(dir)
}

// mergeFiles reads the files of all parts at the same time, each part's one after
// the other, and hands out their leaves in order of time.
func mergeFiles(ctx context.Context, b *book, files [][]string, each func(pipeline.StoredLeaf) error) (err error) {
	var open streams
	defer func() {
		for _, s := range open {
			err = errors.Join(err, s.close())
		}
	}()
	for _, paths := range files {
		s := &stream{book: b, paths: paths}
		more, err := s.next()
		if err != nil {
			return errors.Join(err, s.close())
		}
		if more {
			open = append(open, s)
		}
	}
	heap.Init(&open)
	for len(open) > 0 {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		s := open[0]
		if err := each(s.leaf); err != nil {
			return err
		}
		more, err := s.next()
		if err != nil {
			return err
		}
		if more {
			heap.Fix(&open, 0)
		} else {
			heap.Pop(&open)
		}
	}
	return nil
}

// stream is the leaves of one part, from its files one after the other.
type stream struct {
	book  *book
	paths []string
	file  *docs
	leaf  pipeline.StoredLeaf
}

// next reads the next leaf; false at the end.
func (s *stream) next() (bool, error) {
	for {
		if s.file == nil {
			if len(s.paths) == 0 {
				return false, nil
			}
			var err error
			if s.file, err = openDocs(s.paths[0]); err != nil {
				return false, err
			}
			s.paths = s.paths[1:]
		}
		err := s.file.next()
		if err == nil {
			before := s.leaf.Start
			if s.leaf, err = s.book.leaf(s.file.doc); err != nil {
				return false, &LineError{File: s.file.path, Line: s.file.line, Msg: err.Error()}
			}
			if s.leaf.Start < before {
				return false, &LineError{File: s.file.path, Line: s.file.line, Msg: "its documents are not in order of time"}
			}
			return true, nil
		}
		if !errors.Is(err, io.EOF) {
			return false, err
		}
		if err := s.close(); err != nil {
			return false, err
		}
	}
}

func (s *stream) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// streams is a heap by the time of the next leaf.
type streams []*stream

func (s streams) Len() int      { return len(s) }
func (s streams) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s streams) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(s[i].leaf.Start, s[j].leaf.Start), cmp.Compare(s[i].leaf.Part, s[j].leaf.Part)) < 0
}
func (s *streams) Push(x any) { *s = append(*s, x.(*stream)) }
func (s *streams) Pop() any {
	last := len(*s) - 1
	x := (*s)[last]
	*s = (*s)[:last]
	return x
}

// docs reads a file of documents, each behind its action line.
type docs struct {
	*os.File
	path  string
	lines *bufio.Scanner
	line  int64
	index string // of the document
	doc   []byte // until the next one
}

func openDocs(path string) (*docs, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	d := &docs{File: f, path: path, lines: bufio.NewScanner(f)}
	d.lines.Buffer(make([]byte, 64<<10), maxLine)
	return d, nil
}

// next reads the next document; io.EOF at the end.
func (d *docs) next() error {
	var action struct {
		Index struct {
			Index string `json:"_index"`
		}
	}
	for n := range 2 {
		if !d.lines.Scan() {
			err := d.lines.Err()
			if err == nil && n == 0 {
				return io.EOF
			}
			if err == nil {
				err = errors.New("an action line without its document: its writer died")
			}
			return &LineError{File: d.path, Line: d.line + 1, Msg: err.Error()}
		}
		d.line++
		if n == 0 {
			if err := json.Unmarshal(d.lines.Bytes(), &action); err != nil || action.Index.Index == "" {
				return &LineError{File: d.path, Line: d.line, Msg: "no action line"}
			}
		}
	}
	d.index, d.doc = action.Index.Index, bytes.TrimSpace(d.lines.Bytes())
	return nil
}
