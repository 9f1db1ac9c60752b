// Package stored reads runs back from Elasticsearch or from files, and lists, labels, annotates and deletes
// them.
package stored

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
	"fiolat/pipeline/replay"

	"golang.org/x/sync/errgroup"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// Open reads back a run from Elasticsearch, one kind of latency, all parts together, in the generation that is
// complete now. If the run is missing, incomplete or inconsistent, the error is an *fio.ParseError. If it is
// ingested again while it is read, Process returns an error, never wrong numbers.
func Open(ctx context.Context, c *client.Client, prefix, runID string, kind fio.Kind) (*replay.Replay, error) {
	runs, err := Runs(ctx, c, prefix, runID, kind)
	if err != nil {
		return nil, err
	}
	parts, err := leafHolders(runID, runs)
	if err != nil {
		return nil, err
	}
	run, err := Replay(c, prefix, parts)
	if err == nil && slices.ContainsFunc(runs, func(r *esmodel.StoredRun) bool {
		return len(r.Run.Parts) > 0 && r.Status == esmodel.StatusPartial
	}) {
		run.Warnings = append(run.Warnings, fmt.Sprintf("run %s: %s", fio.Printable(runID), MergeAgain))
	}
	return run, err
}

// MergeAgain is said of a merged run that is partial.
const MergeAgain = "what is stored of it across hosts is not of its parts as they are now; merge it again"

// Runs returns the documents of a run, of a kind of latency, or of all if none is given: the run's own, if
// there is one, and that of each part.
func Runs(
	ctx context.Context,
	c *client.Client,
	prefix, runID string,
	kind ...fio.Kind,
) (runs []*esmodel.StoredRun, err error) {
	filter := []any{client.Term("run.id", runID)}
	for _, k := range kind {
		filter = append(filter, client.Term("fio.kind", k.String()))
	}
	return storedRuns(ctx, c, prefix, filter...)
}

// refresh makes documents that were stored meanwhile visible to searches.
func refresh(ctx context.Context, c *client.Client, prefix string) error {
	in, err := indices.Readable(ctx, c, prefix)
	if err == nil {
		err = indices.Refresh(ctx, c, in, nil)
	}
	return err
}

func storedRuns(
	ctx context.Context,
	c *client.Client,
	prefix string,
	filter ...any,
) (runs []*esmodel.StoredRun, err error) {
	if err = refresh(ctx, c, prefix); err != nil {
		return nil, err
	}
	_, err = client.Search(
		ctx,
		c,
		client.SearchRequest{
			Index:    esmodel.Index(prefix, esmodel.KindRun, 0),
			Query:    map[string]any{"bool": map[string]any{"filter": filter}},
			PageSize: 100,
		},
		func(h client.Hit) error {
			run, e := esmodel.ReadRun(h.Source)
			runs = append(runs, run)
			return e
		},
	)
	return runs, err
}

// Replay reads back parts of a run, or a run that has no parts, from Elasticsearch.
func Replay(c *client.Client, prefix string, parts []*esmodel.StoredRun) (*replay.Replay, error) {
	b := esmodel.NewLeafDecoder(parts)
	return replay.New(b.Parts, leaves(c, prefix, b))
}

// Part reads back one part of a run, or a run that has no parts, from Elasticsearch.
func Part(c *client.Client, prefix string, part *esmodel.StoredRun) *replay.Replay {
	return replay.Part(&part.Stored, leaves(c, prefix, esmodel.NewLeafDecoder([]*esmodel.StoredRun{part})))
}

func leaves(c *client.Client, prefix string, b *esmodel.LeafDecoder) replay.Leaves {
	var generations []string
	for _, p := range b.Parts {
		generations = append(generations, p.Run.Generation)
	}
	run := b.Parts[0].Run
	return func(ctx context.Context, each func(replay.Leaf) error) error {
		in, err := indices.Readable(ctx, c, prefix)
		if err != nil {
			return err
		}
		in.Without = slices.DeleteFunc(in.Without, func(index string) bool {
			return slices.ContainsFunc(b.Parts, func(p *replay.Stored) bool {
				return indices.Between(prefix, index, p.Run.Start, p.Run.Start+p.End)
			})
		})
		filter := []any{
			client.Term("run.id", run.ID),
			client.Term("scope", esmodel.LeafScope),
			client.Term("fio.kind", run.Kind.String()),
			map[string]any{"terms": map[string]any{"run.generation": generations}},
		}
		// Whole documents, because filtering their fields takes Elasticsearch longer than sending them.
		return scanLeaves(ctx, b, c, client.ScanRequest{
			Op: "read histograms", Indices: in.Of(esmodel.KindHistogram),
			Query: map[string]any{"bool": map[string]any{"filter": filter}},
			Size:  client.PageSize / readers,
		}, each)
	}
}

// readers is the number of concurrent searches that read histograms, sortMemory the bytes of histograms that
// each holds in memory to sort them.
const (
	readers    = 4
	sortMemory = 8 << 20
)

// packedLeaf is a replay.Leaf that takes little memory and is fast to write and read.
type packedLeaf struct {
	Part    int
	Start   int64
	Dims    fio.Dims
	Hist    []byte // 2 bytes of index and 8 of weight for each bucket that is not empty
	Members []int
}

func pack(l *replay.Leaf) packedLeaf {
	p := packedLeaf{Part: l.Part, Start: l.Start, Dims: l.Dims, Members: l.Members}
	index, count := l.Hist.Sparse(nil, nil)
	p.Hist = make([]byte, 0, 10*len(index))
	for i, bucket := range index {
		p.Hist = binary.LittleEndian.AppendUint16(p.Hist, bucket)
		p.Hist = binary.LittleEndian.AppendUint64(p.Hist, math.Float64bits(count[i]))
	}
	return p
}

func (p *packedLeaf) unpack() replay.Leaf {
	n := len(p.Hist) / 10
	hist := fiohist.Sparse{Index: make([]uint16, 0, n), Count: make([]float64, 0, n)}
	for b := p.Hist; len(b) > 0; b = b[10:] {
		hist.Add(binary.LittleEndian.Uint16(b), math.Float64frombits(binary.LittleEndian.Uint64(b[2:])))
	}
	return replay.Leaf{Part: p.Part, Start: p.Start, Dims: p.Dims, Hist: hist.Hist(), Members: p.Members}
}

func (p *packedLeaf) start() int64 { return p.Start }

// size is the approximate memory in bytes.
func (p *packedLeaf) size() int { return 250 + cap(p.Hist) + 8*cap(p.Members) }

// scanLeaves yields the leaves that a search finds in order of time, those of the same time in the order of the
// index. Several searches read them, each a slice of the index in its order, and they are sorted here: to read
// a document Elasticsearch decompresses its block of some 240 kB, but does so only once for the documents of a
// page that lie side by side.
func scanLeaves(
	ctx context.Context,
	b *esmodel.LeafDecoder,
	c *client.Client,
	r client.ScanRequest,
	each func(replay.Leaf) error,
) (err error) {
	at, err := c.OpenScan(ctx, r)
	if err != nil {
		return err
	}
	defer c.CloseScan(ctx, r, at)
	var sorters [readers]sorter[packedLeaf]
	g, reading := errgroup.WithContext(ctx)
	for i := range sorters {
		s := &sorters[i]
		s.Key, s.Size, s.Limit = (*packedLeaf).start, (*packedLeaf).size, sortMemory
		defer func() { err = errors.Join(err, s.Close()) }()
		r, at := r, at
		r.Fields = map[string]any{"slice": map[string]int{"id": i, "max": readers}}
		g.Go(func() error {
			return client.Pages(reading, c, r, &at, func(page []client.Found[esmodel.LeafDoc]) error {
				for _, h := range page {
					leaf, e := b.Leaf(&h.Source)
					if e != nil {
						return fmt.Errorf("%s/%s: %w", h.Index, h.ID, e)
					}
					e = s.Add(pack(&leaf))
					if e != nil {
						return e
					}
				}
				return nil
			})
		})
	}
	if err = g.Wait(); err != nil {
		return err
	}
	var sources []sortSource[packedLeaf]
	for i := range sorters {
		sources = append(sources, sorters[i].Sources()...)
	}
	return mergeAll(ctx, sources, (*packedLeaf).start, func(p packedLeaf) error { return each(p.unpack()) })
}

// leafHolders returns those of a run's documents that have leaves: the run's own, or those of all its parts.
// All must be complete.
func leafHolders(runID string, runs []*esmodel.StoredRun) ([]*esmodel.StoredRun, error) {
	parts := partsOf(runs)
	if len(parts) == 0 {
		parts = runs
	}
	if len(parts) == 0 {
		return nil, esmodel.Fault(runID, "", "see fiolat runs", "there is no such run")
	}
	for _, r := range runs {
		if len(parts) != len(runs) && r.Run.Part == "" && len(r.Run.Parts) == 0 {
			return nil, esmodel.Fault(
				runID,
				"",
				"delete it, and ingest it whole or in parts",
				"it was ingested as a whole and in parts",
			)
		}
	}
	for _, p := range parts {
		if len(p.Run.Parts) > 0 {
			return nil, esmodel.Fault(runID, "", "ingest them again", "its parts are gone")
		}
		if p.Status != esmodel.StatusComplete {
			return nil, p.Incomplete()
		}
	}
	return parts, nil
}

func partsOf(runs []*esmodel.StoredRun) (parts []*esmodel.StoredRun) {
	for _, r := range runs {
		if r.Run.Part != "" {
			parts = append(parts, r)
		}
	}
	return parts
}

type dirHead struct {
	path, index string
	doc         []byte
	Run         esmodel.DocRun
	Fio         struct{ Kind string }
}

// dirHeads returns the first document of each file that an ingest has written into a directory; runID "" is any
// run.
func dirHeads(dir, runID string) (out []dirHead, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if !strings.HasSuffix(path, esmodel.FileExt) {
			continue
		}
		f, e := esmodel.OpenDocs(path)
		if e != nil {
			return nil, e
		}
		err = f.Next()
		_ = f.Close() // it was only read
		if errors.Is(err, io.EOF) {
			continue
		}
		if err != nil {
			return nil, err
		}
		h := dirHead{path: path, index: f.Index, doc: f.Doc}
		if err = json.Unmarshal(f.Doc, &h); err != nil {
			return nil, &esmodel.LineError{File: path, Line: 2, Msg: err.Error()}
		}
		if runID == "" || h.Run.ID == runID || h.Run.ID == fio.Printable(runID) {
			out = append(out, h)
		}
	}
	return out, nil
}

// RunsDir returns the documents of runs in a directory, of all kinds of latency; runID "" is any run.
func RunsDir(dir, runID string) (runs []*esmodel.StoredRun, err error) {
	heads, err := dirHeads(dir, runID)
	for _, h := range heads {
		if !strings.HasSuffix(h.index, "-"+string(esmodel.KindRun)) {
			continue
		}
		run, bad := esmodel.ReadRun(h.doc)
		if bad != nil {
			return nil, fmt.Errorf("%s: %w", fio.Printable(h.path), bad)
		}
		runs = append(runs, run)
	}
	if err == nil && len(runs) == 0 {
		err = noRun(dir, runID)
	}
	return runs, err
}

func noRun(dir, runID string) error {
	what := "no document of a run"
	if runID != "" {
		what += fmt.Sprintf(" %q", runID)
	}
	return &fio.ParseError{File: dir, Msg: what, Hint: "pass a directory written by fiolat ingest --output"}
}

// OpenDir reads back a run from the files that an ingest has written into a directory, one kind of latency;
// runID "" is the only run there. Process reads the files again.
func OpenDir(dir, runID string, kind fio.Kind) (*replay.Replay, error) {
	heads, err := dirHeads(dir, runID)
	if err != nil {
		return nil, err
	}
	var runs []*esmodel.StoredRun
	ids := map[string]bool{}
	leaves := map[pipeline.Part][]string{} // by generation, in order of time
	for _, f := range heads {
		if f.Fio.Kind != kind.String() {
			continue
		}
		switch {
		case strings.HasSuffix(f.index, "-"+string(esmodel.KindRun)):
			run, e := esmodel.ReadRun(f.doc)
			if e != nil {
				return nil, fmt.Errorf("%s: %w", fio.Printable(f.path), e)
			}
			runs = append(runs, run)
			ids[run.Run.ID] = true
		case strings.Contains(f.index, "-"+string(esmodel.KindHistogram)+"-"):
			key := pipeline.Part{Name: f.Run.ID + "\x00" + f.Run.Part, Generation: f.Run.Generation}
			leaves[key] = append(leaves[key], f.path) // sorted by month
		}
	}
	if len(ids) > 1 {
		return nil, &fio.UsageError{
			Msg:  fmt.Sprintf("%s holds the runs %q", dir, slices.Sorted(maps.Keys(ids))),
			Hint: "say which",
		}
	}
	if len(runs) == 0 {
		return nil, noRun(dir, runID)
	}
	parts, err := leafHolders(runs[0].Run.ID, runs)
	if err != nil {
		return nil, err
	}
	b := esmodel.NewLeafDecoder(parts)
	var files [][]string
	for _, p := range b.Parts {
		files = append(files, leaves[pipeline.Part{Name: p.Run.ID + "\x00" + p.Run.Part, Generation: p.Run.Generation}])
	}
	return replay.New(b.Parts, func(ctx context.Context, each func(replay.Leaf) error) error {
		return mergeFiles(ctx, b, files, each)
	})
}

// mergeFiles yields the leaves of all parts in order of time. It reads the files of a part one after the other.
func mergeFiles(
	ctx context.Context,
	b *esmodel.LeafDecoder,
	files [][]string,
	each func(replay.Leaf) error,
) (err error) {
	var sources []sortSource[replay.Leaf]
	for _, paths := range files {
		s := &stream{decoder: b, paths: paths}
		defer func() { err = errors.Join(err, s.close()) }()
		sources = append(sources, s.next)
	}
	return mergeAll(ctx, sources, func(l *replay.Leaf) int64 { return l.Start }, each)
}

// stream yields the leaves of one part, from its files one after the other.
type stream struct {
	decoder *esmodel.LeafDecoder
	paths   []string
	file    *esmodel.DocFile
	start   int64 // of the previous leaf
}

// next returns the next leaf; more is false at the end.
func (s *stream) next() (leaf replay.Leaf, more bool, err error) {
	for {
		if s.file == nil {
			if len(s.paths) == 0 {
				return leaf, false, nil
			}
			if s.file, err = esmodel.OpenDocs(s.paths[0]); err != nil {
				return leaf, false, err
			}
			s.paths = s.paths[1:]
		}
		if err = s.file.Next(); err == nil {
			var doc esmodel.LeafDoc
			if err = jsonv2.Unmarshal(s.file.Doc, &doc); err != nil {
				err = fmt.Errorf("the document of a histogram cannot be read: %w", err)
			} else {
				leaf, err = s.decoder.Leaf(&doc)
			}
			if err != nil {
				err = &esmodel.LineError{File: s.file.Path, Line: s.file.Line, Msg: err.Error()}
			} else if leaf.Start < s.start {
				err = &esmodel.LineError{File: s.file.Path, Line: s.file.Line,
					Msg: "its documents are not in order of time"}
			}
			s.start = leaf.Start
			return leaf, err == nil, err
		}
		if !errors.Is(err, io.EOF) {
			return leaf, false, err
		}
		if err = s.close(); err != nil {
			return leaf, false, err
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
