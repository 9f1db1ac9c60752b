package delivery

import (
	"context"
	"errors"

	"fiolat/esmodel"
	"fiolat/esmodel/claim"
	"fiolat/esmodel/client"
	"fiolat/esmodel/sliced"
	"fiolat/pipeline"
	"fiolat/pipeline/replay"
)

// ErrMerged says that the run is already complete in the generation to be made.
var ErrMerged = errors.New("the run is merged already")

// SliceSink passes the documents of one slice of a merge to a writer: those of its hosts, and an extract of
// each quantum. It claims the slice; another process finishes the run. It is a pipeline.Sink; call Done or
// Fail, and then Close of the writer.
type SliceSink struct {
	Sink
	w     *BulkWriter
	slice replay.Slice
	merge sliced.Merge
	held  bool
}

// NewSliceSink returns a SliceSink over a writer, which it does not own.
func NewSliceSink(w *BulkWriter, slice replay.Slice) *SliceSink {
	prefix := w.cfg.Prefix
	sink := Sink{o: SinkOptions{Prefix: prefix, RowsOnly: true}, w: w, prefix: prefix}
	return &SliceSink{Sink: sink, w: w, slice: slice}
}

// Begin claims the slice, after making sure that the document of the run does not say "complete".
func (s *SliceSink) Begin(ctx context.Context, run *pipeline.Run) error {
	if err := esmodel.CheckNames(run); err != nil {
		return err
	}
	s.run, s.enc, s.merge = run, esmodel.NewEncoder(s.prefix, run), sliced.Merge{Prefix: s.prefix, Run: run}
	if err := s.w.Open(ctx, run); err != nil {
		return err
	}
	seq, err := s.announce(ctx)
	if err != nil {
		return err
	}
	k := claim.New(s.w.c, s.prefix, run.ID, "", run.Kind.String()+", slice "+s.slice.String(), func([]byte) []byte {
		return s.merge.StateDoc(sliced.State{Slice: s.slice.String()})
	}).ForDocument(s.merge.StateAt(s.slice))
	k.Within(seq)
	err = s.w.take(ctx, k)
	s.held = err == nil
	return err
}

// announce stores the document of the run as running, and returns its sequence number.
func (s *SliceSink) announce(ctx context.Context) (int64, error) {
	doc, err := s.enc.AppendRun(nil, esmodel.StatusRunning, nil, nil)
	if err != nil {
		return 0, err
	}
	index, id := s.runAt()
	for tries := 0; ; tries++ {
		found, seq, err := sliced.Source(ctx, s.w.c, index, id)
		if err != nil {
			return 0, err
		}
		if m, e := esmodel.ReadDocHeader(found); e == nil && m.Run.Generation == s.run.Generation {
			return seq, nil
		}
		k := claim.New(s.w.c, s.prefix, s.run.ID, "", s.run.Kind.String(), func(found []byte) []byte {
			return esmodel.Keep(doc, found, s.run.Named)
		})
		k.TakeOver = s.w.cfg.TakeOver
		if err = k.Take(ctx); err == nil {
			err = k.ReleaseRetrying(ctx, k.Doc)
		}
		k.End()
		if err != nil && (!errors.As(err, new(*claim.Error)) || tries == 3) {
			return 0, err
		}
	}
}

// Quantum adds the documents of the hosts.
func (s *SliceSink) Quantum(ctx context.Context, q *pipeline.Quantum) error {
	hosts := pipeline.Quantum{Offset: q.Offset}
	for i := range q.Rows {
		if q.Rows[i].Dims.Host != "" {
			hosts.Rows = append(hosts.Rows, q.Rows[i])
		}
	}
	return s.Late(ctx, &hosts)
}

// Extract adds the extract of a quantum.
func (s *SliceSink) Extract(ctx context.Context, e *pipeline.Extract) error {
	doc, err := s.merge.ExtractDoc(e)
	if err != nil {
		return err
	}
	index, id := s.merge.ExtractAt(e)
	return s.w.Add(ctx, index, []byte(id), doc)
}

// Done marks the slice as complete, once all of its documents are stored. leaves counts the leaves read, by
// part.
func (s *SliceSink) Done(ctx context.Context, leaves []int64) error {
	if err := s.w.Flush(ctx); err != nil {
		return err
	}
	r := s.w.Report()
	if r.Total().Incomplete() {
		return &IncompleteError{Report: r}
	}
	state := sliced.State{Slice: s.slice.String(), Complete: true, Leaves: leaves, Made: map[string]int64{},
		Indices: r.names()}
	for index, c := range r.Indices {
		if kind, _ := esmodel.KindOf(s.prefix, index); kind == esmodel.KindPercentiles {
			state.Made[index] = c.Made
		}
	}
	return s.release(ctx, state)
}

// Fail releases the slice as not complete.
func (s *SliceSink) Fail(ctx context.Context) {
	if s.held {
		late, cancel := client.WithGracePeriod(ctx, client.DrainTime)
		defer cancel()
		_ = s.release(late, sliced.State{Slice: s.slice.String()}) // on failure the claim is taken over
	}
}

func (s *SliceSink) release(ctx context.Context, state sliced.State) error {
	index, id := s.merge.StateAt(s.slice)
	err := s.w.Release(ctx, index, id, s.merge.StateDoc(state), false)
	s.held = s.held && err != nil
	return err
}

func (w *BulkWriter) count(made map[string]int64) error {
	for index, of := range made {
		n, err := w.numberOf(index)
		if err != nil {
			return err
		}
		w.mu.Lock()
		w.counts[n].Made += of
		w.counts[n].Indexed += of
		w.mu.Unlock()
	}
	return nil
}
