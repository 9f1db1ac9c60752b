package replay

import (
	"context"
	"fmt"

	"fiolat/fio"
	"fiolat/pipeline"
)

// Slice is the N-th of so many consecutive ranges of a run's quanta, counted from 1.
type Slice struct{ N, Of int }

func (s Slice) String() string { return fmt.Sprintf("%d/%d", s.N, s.Of) }

// Extracts passes the Extracts of all quanta of a run to each, in order. An error of each ends it
// and is returned as it is.
type Extracts func(ctx context.Context, each func(*pipeline.Extract) error) error

// ProcessSlice passes the quanta of a slice to the sink, and returns how many leaves of each part were in them. It does
// not call End: FinishSlices has the results of the whole run.
func (r *Replay) ProcessSlice(ctx context.Context, o Options, s Slice, sink pipeline.Sink) (leaves []int64, err error) {
	p, err := r.player(o, sink)
	if err != nil {
		return nil, err
	}
	g, run := p.merge.Grid, p.merge.Run
	at := func(n int) int64 { return g.First + (p.end-g.First)*int64(n)/int64(s.Of) }
	from, to := at(s.N-1), at(s.N)
	p.merge.Skip(from)
	p.end = to
	if err = p.merge.Begin(ctx); err != nil {
		return nil, err
	}
	if from < to {
		in := pipeline.Span{From: run.Start + g.Start(from), To: run.Start + g.Start(to)}
		err = r.leaves(ctx, in, func(leaf Leaf) error { return p.add(ctx, leaf) })
	}
	if err == nil {
		err = p.flush(ctx, to)
	}
	return p.seen, err
}

// FinishSlices is Process for a run all of whose slices were processed; leaves is how many leaves of each part these
// had together. Rows of hosts are left out.
func (r *Replay) FinishSlices(ctx context.Context, o Options, leaves []int64, extracts Extracts, sink pipeline.Sink) (
	*pipeline.Summary, error) {
	sink = pipeline.WithRules(r.Run.Settings.SLA, sink)
	o.AcrossHosts, o.NoTails = true, true
	p, err := r.player(o, sink)
	if err != nil {
		return nil, err
	}
	lacking := func() error {
		return &fio.ParseError{File: fmt.Sprintf("run %q", r.Run.ID), Msg: fmt.Sprintf("no slice result for the "+
			"quantum at %v ms", float64(p.merge.Grid.Start(p.merge.Done))/1e6),
			Hint: "merge it again, without --slice"}
	}
	if err = p.merge.Begin(ctx); err != nil {
		return nil, err
	}
	err = extracts(ctx, func(e *pipeline.Extract) error {
		if p.merge.Done >= p.end || e.Offset != p.merge.Grid.Start(p.merge.Done) {
			return lacking()
		}
		return p.merge.EmitExtract(ctx, e)
	})
	if err == nil && p.merge.Done < p.end {
		err = lacking()
	}
	if err != nil {
		return nil, err
	}
	copy(p.seen, leaves)
	return p.finish(ctx)
}
