package compare

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"fiolat/analysis/figures"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/pipeline"
)

// maxIntervals is the most intervals that a Series keeps, which bounds time and memory. When there are more, neighbours
// are added up in pairs.
const maxIntervals = 512

// directions are those compared: first the sum of all, then each.
var directions = fio.RowDirections()

// Series collects a run for Compare: the histogram of every interval by direction. It is a pipeline.Sink. The leaves
// may be split in any way.
type Series struct {
	pipeline.Discard
	// Name identifies the run in results.
	Name string
	// Of restricts the series to a host or a job, and to the intervals in which it ran.
	Of fio.Dims
	// ID is the run's id, Workload a description of its jobs, if known. Options are the values of those job options
	// that change how a request is served, of several jobs joined.
	ID, Workload string
	Options      map[string]string
	Sameness     fiojson.Sameness
	// FiguresOnly says that only the sums of the run are left, as one interval.
	FiguresOnly bool
	// rows are the figures of a run without histograms, by direction; it has no steps.
	rows map[string]*figures.Row

	geometry fiohist.Geometry
	// start is when the run began, in ns since 1970, valid if startKnown.
	start      int64
	startKnown bool
	interval   int64
	fold       int64 // intervals of the run in one element of steps
	seen       int64 // intervals of the run so far
	timeless   bool  // pipeline.Run.Timeless
	undirected bool  // the run has no rows by direction: all are taken to run at the same time
	steps      []interval

	sums [1 + fio.Directions]fiohist.Hist // of an interval; these and room are reused
	room fiohist.Sparse
}

// interval is one step of a series.
type interval struct {
	// hists are parallel to directions. The first, for the sum, stays empty.
	hists [1 + fio.Directions]fiohist.Sparse
	// covered is parallel to directions: for how many seconds jobs with the direction ran.
	covered [1 + fio.Directions]float64
}

func (q *interval) empty() bool {
	return !slices.ContainsFunc(q.hists[:], func(h fiohist.Sparse) bool { return len(h.Index) > 0 })
}

// coarser returns a copy of h with 2^shift neighbouring buckets added up.
func coarser(h *fiohist.Sparse, shift int) (out fiohist.Sparse) {
	if shift == 0 {
		return h.Clone()
	}
	for k, i := range h.Index {
		if last := len(out.Index) - 1; last >= 0 && out.Index[last] == i>>shift {
			out.Count[last] += h.Count[k]
		} else {
			out.Add(i>>shift, h.Count[k])
		}
	}
	return out
}

// sparseOf returns h in its sparse form, without spare capacity.
func sparseOf(h *fiohist.Hist) fiohist.Sparse {
	var room fiohist.Sparse
	room.Set(h)
	return room.Clone()
}

var _ pipeline.Sink = (*Series)(nil)

// OfJSON returns the series of a run of which there is only fio's JSON, or of each of its hosts or jobs: the figures
// of the whole run, with fio's own percentiles where it has no histograms.
func OfJSON(t *ingest.JSONRun, kind fio.Kind, by []string, percentiles []float64, pick *pipeline.Pick) (*Parts, error) {
	wanted := slices.Concat(percentiles, family)
	rows, _, err := figures.FromJSON(t, kind, by, wanted, pick)
	if err = cmp.Or(t.Failure(), err); err != nil {
		return nil, err
	}
	run := &pipeline.Run{Metas: t.Metas, Kind: kind, Percentiles: wanted}
	out := &Parts{Name: t.Root}
	for i := range rows {
		r := &rows[i]
		of := fio.Dims{Host: r.Host, Job: r.Job}
		k := slices.IndexFunc(out.Series, func(s *Series) bool { return s.Of == of })
		if k < 0 {
			k = len(out.Series)
			start := t.Start()
			out.Series = append(out.Series, &Series{Name: t.Root, Of: of, ID: t.ID, rows: map[string]*figures.Row{},
				Workload: strings.Join(run.Workloads(), ", "),
				Sameness: fiojson.SamenessOf(t.Metas),
				Options:  figures.Options(t.Metas, nil, fio.All, r.Host, r.Job),
				start:    start.UnixNano(), startKnown: !start.IsZero(), timeless: true})
		}
		out.Series[k].rows[r.Direction] = r
	}
	return out, nil
}

// Lacks reports whether runs of fio's JSON lack what others have: a part, or the IOPS or percentiles of a direction.
func (p *Parts) Lacks(o *Parts) bool {
	return slices.ContainsFunc(o.Series, func(other *Series) bool {
		k := slices.IndexFunc(p.Series, func(s *Series) bool { return s.Of == other.Of })
		for d, name := range directions {
			if !other.has(d) {
				continue
			}
			if k < 0 {
				return true
			}
			if r := p.Series[k].rows[name]; r == nil || r.IOPS == nil || len(r.Percentiles) == 0 {
				return true
			}
		}
		return false
	})
}

// Began reports whether the run began after a time, or its start is unknown.
func (s *Series) Began(after time.Time) bool { return !s.startKnown || s.start > after.UnixNano() }

// Begin implements pipeline.Sink. It forgets another run.
func (s *Series) Begin(_ context.Context, run *pipeline.Run) error {
	s.geometry, s.interval, s.fold = run.Geometry, run.Interval, 1
	s.ID, s.Workload = run.ID, strings.Join(run.Workloads(), ", ")
	s.Sameness = fiojson.SamenessOf(run.Metas)
	s.Options = figures.Options(run.Metas, run.Logs, fio.All, s.Of.Host, s.Of.Job)
	s.timeless = run.Timeless()
	s.undirected = !slices.Contains(run.Settings.By, fio.ByDirection)
	s.start, s.startKnown = run.Start, run.StartKnown
	s.Name, s.steps, s.seen = cmp.Or(s.Name, run.ID), nil, 0
	return nil
}

// perDirection returns a figure of each direction's row, of those whose IOPS are known, parallel to directions.
func (s *Series) perDirection(rows []pipeline.Row, figure func(*pipeline.Row) float64) (
	out [1 + fio.Directions]float64) {
	for i := range rows {
		r := &rows[i]
		of := r.Dims
		of.Direction = ""
		if of == s.Of && r.IOPSKnown {
			out[max(0, slices.Index(directions, r.Dims.Direction))] = figure(r)
		}
	}
	for d := range out {
		if s.undirected {
			out[d] = out[0]
		}
	}
	return out
}

// Interval adds an interval.
func (s *Series) Interval(_ context.Context, q *pipeline.Interval) error {
	covered := s.perDirection(q.Rows, func(r *pipeline.Row) float64 { return float64(r.Covered) / 1e9 })
	mine := func(l pipeline.Leaf) bool {
		return (s.Of.Host == "" || l.Dims.Host == s.Of.Host) && (s.Of.Job == "" || l.Dims.Job == s.Of.Job)
	}
	if s.Of != (fio.Dims{}) && covered[0] == 0 && !slices.ContainsFunc(q.Leaves, mine) {
		return nil
	}
	if int(s.seen/s.fold) == len(s.steps) {
		if len(s.steps) == maxIntervals {
			s.halve()
		}
		s.steps = append(s.steps, interval{})
	}
	to := &s.steps[s.seen/s.fold]
	s.seen++
	for i := 1; i < len(s.sums); i++ {
		s.sums[i].Reset()
	}
	for _, l := range q.Leaves {
		if d := slices.Index(directions, l.Dims.Direction); d > 0 && mine(l) { // syncs are not compared
			s.sums[d].AddHist(l.Hist)
		}
	}
	for i := 1; i < len(s.sums); i++ {
		// Added last, so that floating-point rounding does not depend on how the leaves are split.
		s.sums[i].AddAll(to.hists[i].Index, to.hists[i].Count, 0)
		s.room.Set(&s.sums[i])
		to.hists[i] = s.room.Clone()
	}
	for d := range covered {
		to.covered[d] += covered[d]
	}
	return nil
}

// End corrects the time covered where one of several logs lacks its last window: its IOPS in the time after that are
// not 0, but unknown.
func (s *Series) End(_ context.Context, sum *pipeline.Summary) error {
	less := s.perDirection(sum.Total, func(r *pipeline.Row) float64 {
		return r.Stats.Samples / (r.IOPS * float64(r.Covered) / 1e9)
	})
	for d, factor := range less {
		for k := range s.steps {
			if factor > 0 {
				s.steps[k].covered[d] *= factor
			}
		}
	}
	return nil
}

// halve adds up neighbours in pairs.
func (s *Series) halve() {
	for i := range s.steps[:len(s.steps)/2] {
		a, b := &s.steps[2*i], &s.steps[2*i+1]
		var sum interval
		for d := range sum.hists {
			sum.covered[d] = a.covered[d] + b.covered[d]
			var h fiohist.Hist
			h.AddAll(a.hists[d].Index, a.hists[d].Count, 0)
			h.AddAll(b.hists[d].Index, b.hists[d].Count, 0)
			sum.hists[d] = sparseOf(&h)
		}
		s.steps[i] = sum
	}
	s.steps = slices.Clip(s.steps[:len(s.steps)/2])
	s.fold *= 2
}

// Noise returns the uncertainty of the run's own values from the noise within the run, not between runs. By direction
// and metric it is a factor, 1 or more, by which the value may be too small or too large with 95 % confidence. Values
// without a known uncertainty are missing, such as rows of runs with too few intervals.
func (s *Series) Noise(percentiles []float64) map[string]map[string]float64 {
	group := &Group{Runs: []*Series{s}}
	wanted := slices.Clone(family)
	for _, p := range percentiles {
		if p > 0 && p < 100 && !slices.Contains(wanted, p) {
			wanted = append(wanted, p)
		}
	}
	dirs := directionsOf(group)
	if len(dirs) == 0 {
		return nil
	}
	m := measure(group, s.geometry, dirs, wanted, 0, groupResamples)
	t := fiohist.StudentQuantile(1-Confidence, m.freedom)
	out := map[string]map[string]float64{}
	for row, name := range rowNames(dirs, wanted) {
		if factor := math.Exp(t * math.Sqrt(m.within[0][row])); factor >= 1 && factor <= math.MaxFloat64 &&
			!m.atLeast[0][row] {
			if out[name[0]] == nil {
				out[name[0]] = map[string]float64{}
			}
			out[name[0]][name[1]] = factor
		}
	}
	if len(dirs) == 1 && len(out) == 1 { // the sum of one direction is that direction
		out[directions[0]] = out[directions[dirs[0]]]
	}
	return out
}

// Parts is a pipeline.Sink that makes a Series of each host or job of a run, or one of the whole.
type Parts struct {
	pipeline.Discard
	Name   string // of the run
	By     string // fio.ByHost or fio.ByJob; anything else is the whole
	Series []*Series
}

// Begin implements pipeline.Sink. It forgets another run.
func (p *Parts) Begin(ctx context.Context, run *pipeline.Run) error {
	var parts []fio.Dims
	p.Series = nil
	if p.By != fio.ByHost && p.By != fio.ByJob {
		parts = []fio.Dims{{}}
	}
	for _, l := range run.Logs {
		var of fio.Dims
		switch p.By {
		case fio.ByHost:
			of.Host = l.Host
		case fio.ByJob:
			of.Job = l.Job
		}
		if of != (fio.Dims{}) && !slices.Contains(parts, of) {
			parts = append(parts, of)
		}
	}
	for _, of := range parts {
		s := &Series{Name: p.Name, Of: of}
		if err := s.Begin(ctx, run); err != nil {
			return err
		}
		p.Series = append(p.Series, s)
	}
	return nil
}

// Interval implements pipeline.Sink.
func (p *Parts) Interval(ctx context.Context, q *pipeline.Interval) error {
	for _, s := range p.Series {
		if err := s.Interval(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// End implements pipeline.Sink.
func (p *Parts) End(ctx context.Context, sum *pipeline.Summary) error {
	for _, s := range p.Series {
		if err := s.End(ctx, sum); err != nil {
			return err
		}
	}
	return nil
}
