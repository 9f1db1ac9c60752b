package fiojson

import (
	"fmt"
	"math"
	"slices"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiolog"
)

// OfSyncs returns the document with the syncs of each job as its only I/Os: in the first direction, of the kind
// fio.Sync.
func (m *Document) OfSyncs() *Document {
	out := *m
	out.Entries = slices.Clone(m.Entries)
	for i := range out.Entries {
		e := &out.Entries[i]
		syncs := DirTotals{TotalIOs: e.Sync.N, RuntimeMS: e.LongestMS}
		syncs.Kind[fio.Sync] = e.Sync
		e.Dirs, e.Mixed = [fio.Directions]DirTotals{syncs}, DirTotals{}
	}
	return &out
}

// OfMixed returns the document with the totals of all directions together (unified_rw_reporting=mixed) in the first
// direction.
func (m *Document) OfMixed() *Document {
	out := *m
	out.Mixed, out.Entries = true, slices.Clone(m.Entries)
	for i := range out.Entries {
		e := &out.Entries[i]
		e.Dirs, e.Mixed = [fio.Directions]DirTotals{e.Mixed}, DirTotals{}
	}
	return &out
}

// HasSyncs reports whether a job of the document synced.
func (m *Document) HasSyncs() bool {
	return slices.ContainsFunc(m.Entries, func(e Entry) bool { return e.Sync.N > 0 })
}

// SyncOptions returns the options by which a job syncs, such as "fdatasync=1". fio counts the syncs of the first
// three, but not those at the end of a job (end_fsync, fsync_on_close).
func (m *Document) SyncOptions(e *Entry) (counted, uncounted []string) {
	for i, name := range []string{"fsync", "fdatasync", "sync_file_range", "end_fsync", "fsync_on_close"} {
		v, ok := m.Option(e, name)
		switch {
		case !ok || v == "0":
		case i < 3:
			counted = append(counted, name+"="+v)
		default:
			uncounted = append(uncounted, name+"="+v)
		}
	}
	return counted, uncounted
}

// Sum adds up the totals of several jobs.
type Sum struct {
	N      uint64
	NS     float64 // the sum of their latencies
	Hist   fiohist.Hist
	Limits fiohist.Limits
	// Geometry is the geometry of the first job's histogram.
	Geometry fiohist.Geometry
	// NoBins means that some totals had no histogram, so that there are no percentiles.
	NoBins bool
}

// Add adds the totals of a job of the document. The error says why its histogram could not be read again.
func (s *Sum) Add(m *Document, t *Totals) error {
	if t.N == 0 {
		return nil
	}
	limits := fiohist.Limits{Min: t.Min, Max: t.Max, Known: true}
	if s.Geometry.Unit > 0 { // N also counts I/Os without latencies
		limits = limits.Widen(s.Limits)
	} else {
		s.Geometry = m.Geometry()
	}
	s.Limits = limits
	s.N += t.N
	s.NS += t.Mean * float64(t.N)
	s.NoBins = s.NoBins || t.Bins.Len() == 0
	for b, err := range t.Bins.All() {
		if err != nil {
			return err
		}
		s.Hist.Add(s.Geometry.Index(b.NS), float64(b.Count))
	}
	return nil
}

// Stats returns the statistics of all. If a histogram is missing there are no percentiles, and the standard deviation
// is -1.
func (s *Sum) Stats(percentiles []float64) fiohist.Stats {
	stats := fiohist.Stats{StdDev: -1}
	if !s.NoBins {
		stats = s.Hist.Stats(s.Geometry, percentiles, s.Limits)
	}
	stats.Samples = float64(s.N)
	if s.N > 0 {
		stats.Min, stats.Max, stats.Mean = float64(s.Limits.Min), float64(s.Limits.Max), s.NS/float64(s.N)
	}
	return stats
}

// Figures are totals in the form of fiolat's documents.
type Figures struct {
	Samples uint64  `json:"samples"`
	Min     *int64  `json:"min,omitempty"` // ns; nil: not known
	Max     *int64  `json:"max,omitempty"`
	Mean    float64 `json:"mean"`
	// Values are the middles of the buckets that are not empty, in ns and ascending; Counts are parallel to them.
	Values []int64  `json:"values,omitempty"`
	Counts []uint64 `json:"counts,omitempty"`
}

// figures returns the totals in that form. The error says why their histogram could not be read again.
func (t *Totals) figures() (f Figures, err error) {
	f = Figures{Samples: t.N, Mean: t.Mean}
	if t.Max != math.MaxInt64 {
		f.Min, f.Max = &t.Min, &t.Max
	}
	for b, err := range t.Bins.All() {
		if err != nil {
			return f, err
		}
		f.Values, f.Counts = append(f.Values, b.NS), append(f.Counts, b.Count)
	}
	return f, nil
}

// totals returns the totals that f was made of.
func (f *Figures) totals() (Totals, error) {
	t := Totals{N: f.Samples, Max: math.MaxInt64, Mean: f.Mean}
	if f.Min != nil && f.Max != nil {
		t.Min, t.Max = *f.Min, *f.Max
	}
	bins := make([]Bin, len(f.Values))
	if len(f.Values) != len(f.Counts) {
		return t, fmt.Errorf("%d buckets have %d counts", len(f.Values), len(f.Counts))
	}
	for i, ns := range f.Values {
		if ns < 0 || i > 0 && ns <= f.Values[i-1] || f.Counts[i] > fiolog.MaxCount {
			return t, fmt.Errorf("the bucket of %d ns cannot hold %d", ns, f.Counts[i])
		}
		bins[i] = Bin{ns, f.Counts[i]}
	}
	t.Bins = NewBins(bins)
	return t, nil
}

// Syncs are the syncs of a job in the form of fiolat's documents.
type Syncs struct {
	// RuntimeMS is how long the job ran.
	RuntimeMS int64 `json:"runtime_ms"`
	Figures
}

// Priority are the I/Os of one priority in one direction of a job, in the form of fiolat's documents.
type Priority struct {
	Direction string `json:"direction"`
	Kind      string `json:"kind"` // of the latencies: clat or lat
	Class     int    `json:"class"`
	Level     int    `json:"level"`
	Hint      int    `json:"hint,omitempty"`
	Figures
}

// Apart is what fio's JSON counts apart from the totals of a job's directions, in the form of fiolat's documents.
type Apart struct {
	Syncs      *Syncs     `json:"sync,omitempty"`
	Priorities []Priority `json:"priorities,omitempty"` // where there are two or more in a direction
}

// Apart returns that of the job. The error says why a histogram could not be read again.
func (e *Entry) Apart() (out Apart, err error) {
	if e.Sync.N > 0 {
		f, err := e.Sync.figures()
		if err != nil {
			return out, err
		}
		out.Syncs = &Syncs{e.LongestMS, f}
	}
	for d := range e.Dirs {
		for i := range e.Dirs[d].Prios {
			p := &e.Dirs[d].Prios[i]
			f, err := p.Totals.figures()
			if err != nil {
				return out, err
			}
			out.Priorities = append(out.Priorities, Priority{Direction: fio.Direction(d).String(),
				Kind: p.Kind.String(), Class: p.Class, Level: p.Level, Hint: p.Hint, Figures: f})
		}
	}
	return out, nil
}

// Restore sets what Apart returned.
func (e *Entry) Restore(a *Apart) (err error) {
	if a.Syncs != nil {
		e.LongestMS = a.Syncs.RuntimeMS
		if e.Sync, err = a.Syncs.totals(); err != nil {
			return fmt.Errorf("syncs: %w", err)
		}
	}
	for i := range a.Priorities {
		p := &a.Priorities[i]
		d, ok := fio.ParseDirection(p.Direction)
		k, known := fio.ParseKind(p.Kind)
		if !ok || !known {
			return fmt.Errorf("priorities: unknown kind %q or direction %q", p.Kind, p.Direction)
		}
		t, err := p.totals()
		if err != nil {
			return fmt.Errorf("priorities: %w", err)
		}
		e.Dirs[d].Prios = append(e.Dirs[d].Prios, Prio{p.Class, p.Level, p.Hint, k, t})
	}
	return nil
}
