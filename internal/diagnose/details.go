package diagnose

import (
	"cmp"
	"slices"

	"fiolat/fio/fiohist"
)

// details fills in the fields of stragglers that need histograms of their quanta. It needs a second pass over the
// run, once these quanta are known.
type details struct {
	geometry   fiohist.Geometry
	stragglers []Straggler
	windows    []*detail
}

// detail is a value and its time window. Stragglers at several percentiles share one.
type detail struct {
	subject Straggler
	own     fiohist.Hist
	others  fiohist.Hist
	pooled  fiohist.Hist
	all     limits // of pooled
	rest    limits // of others
}

// limits are the smallest and the largest latency of several leaves.
type limits struct {
	fiohist.Limits
	unknown bool // those of some leaf are unknown
}

func (l *limits) widen(o fiohist.Limits) {
	l.Limits, l.unknown = l.Widen(o), l.unknown || !o.Known
}

func (l *limits) known() fiohist.Limits {
	if l.unknown {
		return fiohist.Limits{}
	}
	return l.Limits
}

func newDetails(geometry fiohist.Geometry, of []Straggler) *details {
	d := &details{geometry: geometry, stragglers: of}
	for i := range of {
		if d.window(&of[i]) == nil {
			d.windows = append(d.windows, &detail{subject: of[i]})
		}
	}
	return d
}

func (d *details) window(s *Straggler) *detail {
	for _, w := range d.windows {
		if w.subject.Dimension == s.Dimension && w.subject.Value == s.Value && w.subject.Direction == s.Direction &&
			w.subject.since == s.since && w.subject.until == s.until {
			return w
		}
	}
	return nil
}

// Add adds the leaves of the quantum that starts at offset.
func (d *details) Add(offset int64, leaves []leaf) {
	for _, w := range d.windows {
		dimension := slices.Index(dimensions, w.subject.Dimension)
		for i := range leaves {
			l := &leaves[i]
			if l.Direction != w.subject.Direction {
				continue
			}
			mine := l.By[dimension] == w.subject.Value
			w.all.widen(l.Limits)
			if !mine {
				w.rest.widen(l.Limits)
			}
			if offset < w.subject.since || offset >= w.subject.until {
				continue
			}
			w.pooled.AddHist(l.Hist)
			if mine {
				w.own.AddHist(l.Hist)
			} else {
				w.others.AddHist(l.Hist)
			}
		}
	}
}

// Stragglers returns the given stragglers, complete and worst first.
func (d *details) Stragglers() []Straggler {
	for i := range d.stragglers {
		s := &d.stragglers[i]
		w := d.window(s)
		at := []float64{s.Percentile}
		pooled := w.pooled.Stats(d.geometry, at, w.all.known())
		if pooled.Empty() {
			continue
		}
		s.Pooled = &pooled.Percentiles[0]
		if others := w.others.Stats(d.geometry, at, w.rest.known()); !others.Empty() {
			s.Without = &others.Percentiles[0]
		}
		var all, mine fiohist.Ranks
		all.Read(&w.pooled, d.geometry)
		mine.Read(&w.own, d.geometry)
		bucket, _ := all.Percentile(s.Percentile)
		own, ownAbove, allAbove := mine.Samples(), mine.Above(bucket), all.Above(bucket)
		if allAbove <= 0 || own <= 0 {
			continue
		}
		s.Share, s.Expected = ownAbove/allAbove, own/all.Samples()
		lift := s.Share / s.Expected
		s.LiftLow, s.LiftHigh = s.LiftLow*lift/s.Lift, s.LiftHigh*lift/s.Lift
		s.Lift = lift
	}
	worstFirst(d.stragglers)
	return d.stragglers
}

// worstFirst sorts by the factor by which stragglers raise the percentile of all I/Os, or by lift if it is unknown.
func worstFirst(s []Straggler) {
	severity := func(s *Straggler) float64 {
		if s.Pooled == nil || s.Without == nil || *s.Without <= 0 {
			return s.Lift
		}
		return *s.Pooled / *s.Without
	}
	slices.SortStableFunc(s, func(a, b Straggler) int {
		return cmp.Or(cmp.Compare(severity(&b), severity(&a)), cmp.Compare(a.P, b.P),
			cmp.Compare(a.Percentile, b.Percentile), cmp.Compare(a.Direction, b.Direction),
			cmp.Compare(a.Dimension, b.Dimension), cmp.Compare(a.Value, b.Value))
	})
}
