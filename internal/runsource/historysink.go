package runsource

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/compare"
	"fiolat/internal/history"
	"fiolat/pipeline"
	"fiolat/pipeline/replay"
)

// StoredHistory returns a stored run for history. If it has no histogram of the whole run, because it is
// of an older fiolat or its parts were not merged, it is read from the documents of its quanta with open.
func StoredHistory(ctx context.Context, f *stored.Figures,
	open func(ctx context.Context, runID string) (*replay.Replay, error), workers int) (history.Run, error) {
	run := history.Run{ID: f.Run.ID, Name: f.Run.Name, Start: f.Start, Labels: f.Labels, RolledUp: f.RollUp.MS > 0,
		Workload: strings.Join(f.Fio.Workload, "; "), Directions: map[string]*history.Direction{}}
	if f.Histograms == nil || f.Run.Part != "" {
		back, err := open(ctx, f.Run.ID)
		w := &HistorySink{}
		if err == nil {
			_, err = back.Process(ctx, replay.Options{Workers: workers}, w)
		}
		if err != nil {
			return run, err
		}
		of, err := w.History()
		run.Directions = of.Directions
		return run, err
	}
	for direction, w := range f.Histograms {
		iops, _ := f.Summary[direction]["iops"].(float64)
		d, err := newDirection(w, f.Geometry, iops)
		if err != nil {
			return run, fmt.Errorf("run %s, %s: %w", fio.Printable(f.Run.ID), direction, err)
		}
		run.Directions[direction] = d
	}
	return run, nil
}

// newDirection makes the figures of a direction from what a document holds of it.
func newDirection(w *esmodel.RunHistogram, g fiohist.Geometry, iops float64) (*history.Direction, error) {
	h, bounds, err := w.Hist(g)
	d := &history.Direction{Geometry: g, Hist: h, Bounds: bounds, IOPS: iops, Limits: map[string][2]float64{}}
	for name, l := range w.Limits {
		d.Limits[strings.ReplaceAll(name, "_", ".")] = [2]float64{l.Low, l.High}
	}
	return d, err
}

// HistorySink is a pipeline.Sink that keeps the sums of a run and their noise.
type HistorySink struct {
	pipeline.Discard
	run   *pipeline.Run
	noise compare.Series
	sum   *pipeline.Summary
}

// Begin keeps the run.
func (w *HistorySink) Begin(ctx context.Context, run *pipeline.Run) error {
	w.run = run
	return w.noise.Begin(ctx, run)
}

// Quantum adds a quantum to the noise.
func (w *HistorySink) Quantum(ctx context.Context, q *pipeline.Quantum) error {
	return w.noise.Quantum(ctx, q)
}

// End keeps the sums.
func (w *HistorySink) End(_ context.Context, sum *pipeline.Summary) error {
	w.sum = sum
	return nil
}

// History returns the run with the numbers that its document would have.
func (w *HistorySink) History() (run history.Run, err error) {
	run = history.Run{ID: w.run.ID, Name: w.run.Name, Labels: w.run.Labels,
		Workload: strings.Join(w.run.Workloads(), "; "), Directions: map[string]*history.Direction{}}
	if w.run.StartKnown {
		run.Start = time.Unix(0, w.run.Start).UTC()
	}
	noise := w.noise.Noise(w.run.Percentiles)
	for i := range w.sum.Total {
		row := &w.sum.Total[i]
		if !slices.Contains([]string{"run", "direction"}, row.Scope) {
			continue
		}
		d := row.Dims.Direction
		found := esmodel.NewRunHistogram(row, w.run.Geometry, noise[d])
		if run.Directions[d], err = newDirection(found, w.run.Geometry, row.IOPS); err != nil {
			return run, err
		}
	}
	return run, nil
}
