package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"fiolat/esmodel"
	"fiolat/esmodel/claim"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/sliced"
	"fiolat/fio"
	"fiolat/internal/diagnose"
	"fiolat/pipeline"
	"fiolat/pipeline/replay"
)

// oneSlice merges one slice, unless that was done before, and finishes the run if it is the last.
func (m *merger) oneSlice(ctx context.Context, runs []*esmodel.StoredRun) error {
	of := *m.run.Run
	of.Generation = m.run.Generation(m.replay)
	whole := sliced.Merge{Prefix: m.es.Prefix, Run: &of}
	merged := func(r *esmodel.StoredRun) bool {
		return r.Run.Part == "" && r.Status == esmodel.StatusComplete && r.Claim == nil &&
			r.Run.Generation == of.Generation
	}
	if slices.ContainsFunc(runs, merged) {
		return m.finished(ctx, &whole)
	}
	states, err := whole.States(ctx, m.client, m.slice.Of)
	if err != nil {
		return err
	}
	if s := states[m.slice.N-1]; s == nil || !s.Complete {
		if err = m.part(ctx); err != nil {
			return err
		}
		if states, err = whole.States(ctx, m.client, m.slice.Of); err != nil {
			return err
		}
	}
	var waits, touched []string
	made, leaves := map[string]int64{}, []int64(nil)
	for i, s := range states {
		if s == nil || !s.Complete {
			waits = append(waits, replay.Slice{N: i + 1, Of: m.slice.Of}.String())
			continue
		}
		touched = append(touched, s.Indices...)
		for index, n := range s.Made {
			made[index] += n
		}
		leaves = slices.Concat(leaves, make([]int64, max(len(s.Leaves)-len(leaves), 0)))
		for part, n := range s.Leaves {
			leaves[part] += n
		}
	}
	name := fio.RunName(of.ID, of.Name)
	if len(waits) > 0 {
		m.u.Say("info", "slice %v of run %s is merged; the run is complete after %s", m.slice, name,
			strings.Join(waits, ", "))
		return nil
	}
	extracts := whole.Extracts(m.client, slices.Compact(slices.Sorted(slices.Values(touched))))
	finish := func(ctx context.Context, o replay.Options, sink pipeline.Sink) (*pipeline.Summary, error) {
		return m.run.FinishSlices(ctx, o, leaves, extracts, sink)
	}
	err = m.whole(ctx, made, finish)
	var other *claim.Error
	switch {
	case errors.As(err, &other) && !other.Lost:
		m.u.Say("info", "slice %v of run %s is merged; the run is finished by %v", m.slice, name, other.Owner)
		return nil
	case err != nil && !errors.Is(err, delivery.ErrMerged):
		return err
	}
	return m.finished(ctx, &whole)
}

// finished deletes what the slices stored for each other.
func (m *merger) finished(ctx context.Context, of *sliced.Merge) error {
	m.u.Say("info", "run %s is merged", fio.RunName(of.Run.ID, of.Run.Name))
	return of.Drop(ctx, m.client)
}

// part merges one slice.
func (m *merger) part(ctx context.Context) (err error) {
	w, err := delivery.NewBulkWriter(m.client, delivery.BulkConfig{Prefix: m.es.Prefix,
		TakeOver: m.es.TakeOver})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close(ctx, err == nil)) }()
	sink := delivery.NewSliceSink(w, m.slice)
	leaves, err := m.run.ProcessSlice(ctx, m.replay, m.slice,
		pipeline.Tee{sink, &diagnose.Extracts{Each: sink.Extract}})
	if err == nil {
		err = sink.Done(ctx, leaves)
	}
	if err != nil {
		sink.Fail(ctx)
	}
	return err
}
