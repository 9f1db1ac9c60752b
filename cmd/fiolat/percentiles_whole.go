package main

import (
	"context"
	"maps"
	"slices"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// wholeRow passes a run on as if all of it were one interval.
type wholeRow struct {
	pipeline.Discard
	Next pipeline.Sink
	SLA  []fio.SLARule // rules by which Next judges it
	run  *pipeline.Run
	of   map[string]*pipeline.Leaf // by direction
}

// Begin keeps the run.
func (o *wholeRow) Begin(_ context.Context, run *pipeline.Run) error {
	o.run, o.of = run, map[string]*pipeline.Leaf{}
	return nil
}

// Interval adds up the leaves that rules are judged on.
func (o *wholeRow) Interval(_ context.Context, q *pipeline.Interval) error {
	if len(o.SLA) == 0 {
		return nil
	}
	for i := range q.Leaves {
		l := &q.Leaves[i]
		sum := o.of[l.Dims.Direction]
		if sum == nil {
			sum = &pipeline.Leaf{
				Dims:   fio.Dims{Direction: l.Dims.Direction},
				Hist:   new(fiohist.Hist),
				Limits: l.Limits,
			}
			o.of[l.Dims.Direction] = sum
		}
		sum.Hist.AddHist(l.Hist)
		sum.Limits.Known = sum.Limits.Known && l.Limits.Known
		sum.Limits = sum.Limits.Widen(l.Limits)
	}
	return nil
}

// End passes the one interval on.
func (o *wholeRow) End(ctx context.Context, s *pipeline.Summary) error {
	run := *o.run
	run.Settings.SLA = o.SLA
	end := int64(0)
	for _, l := range run.Logs {
		end = max(end, l.End)
	}
	if !run.Pick.Empty() {
		run.FirstInterval, end = run.Window.Clip(run.FirstInterval, end)
	}
	if end <= run.FirstInterval {
		end = s.End
	}
	run.Interval = end - run.FirstInterval
	q := pipeline.Interval{Offset: run.FirstInterval, Rows: s.Total, Ran: s.Ran, Whole: true}
	for _, direction := range slices.Sorted(maps.Keys(o.of)) {
		q.Leaves = append(q.Leaves, *o.of[direction])
	}
	if err := o.Next.Begin(ctx, &run); err != nil {
		return err
	}
	if err := o.Next.Interval(ctx, &q); err != nil {
		return err
	}
	return o.Next.End(ctx, s)
}
