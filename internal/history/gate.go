package history

import (
	"math"
	"slices"
	"time"

	"fiolat/fio"
)

// gateAlpha is the p-value below which a change is certain enough for the gate, over all metrics together, as a share
// of that of a listed change. It gives less than one false change a year for ten metrics with a correlation of 0.5.
const gateAlpha = 0.4

// nearby is the number of runs by which a change point may move, as later runs come, and still be the same change.
const nearby = 10

// Reported is a change point that was reported: its first run, whose start is nil if unknown, and its size as a share.
type Reported struct {
	Run    string     `json:"run"`
	Start  *time.Time `json:"start,omitempty"`
	Metric string     `json:"metric"`
	Change float64    `json:"change"`
}

// NewReported returns a change of a result as a reported one.
func NewReported(r *Result, c Change) Reported {
	return Reported{c.Run, r.Runs[c.Index].Start, r.Metric, c.Change}
}

// Gate finds the change points for which a gate is to fire: those of at least the size least, a share, that lead to a
// level at which the metric has not been before. Unlike Analyse, it takes successive runs to be correlated, and has
// one rate of false changes over all metrics. See Analyse for metrics.
func Gate(s *Series, metrics []fio.Metric, least float64) (out []Result) {
	all := s.metrics(metrics)
	for _, m := range all {
		out = append(out, gate(s, m, least, gateAlpha/float64(len(all))))
	}
	return out
}

func gate(s *Series, m fio.Metric, least, share float64) Result {
	r := strictly(s, m, share, true)
	smallest, found := math.Log1p(least), r.Changes
	r.Changes = nil
	for i, c := range found {
		seen := slices.ContainsFunc(found[:i], func(earlier Change) bool {
			d := math.Log(c.After / earlier.Before)
			if m.Name == Histogram {
				d = c.After - earlier.Before
			}
			return math.Abs(d) < smallest
		})
		if !seen && math.Abs(math.Log1p(c.Change)) >= smallest {
			r.Changes = append(r.Changes, c)
		}
	}
	return r
}

// News returns the changes that are none of the reported ones of their series. A change is the same as a reported one
// of the same or another metric if both are for the worse or both for the better, or one is of a histogram, no more
// than ten runs lie between them, and no other change of the metric is nearer.
func (r *Result) News(reported []Reported) (news []Change) {
	told := map[int]bool{}
	for _, old := range reported {
		m, err := Metrics.Parse(old.Metric)
		if err != nil {
			continue // of an edited state
		}
		at := r.position(old)
		best, least := -1, nearby+1
		for i, c := range r.Changes {
			d := max(c.Index-at, at-c.Index)
			if at >= 0 && d < least && alike(r.of, c.Change, m, old.Change) {
				best, least = i, d
			}
		}
		told[best] = true
	}
	for i, c := range r.Changes {
		if !told[i] {
			news = append(news, c)
		}
	}
	return news
}

// position returns the index of the run of a reported change, or where it would be, or -1 if that is unknown.
func (r *Result) position(old Reported) int {
	i := slices.IndexFunc(r.Runs, func(p Point) bool { return p.ID == old.Run })
	if i < 0 && old.Start != nil {
		i = slices.IndexFunc(r.Runs, func(p Point) bool { return p.Start != nil && !p.Start.Before(*old.Start) })
	}
	return i
}

// alike says whether two changes are both for the worse or both for the better. A histogram's has no direction.
func alike(a fio.Metric, x float64, b fio.Metric, y float64) bool {
	if a.Name == Histogram || b.Name == Histogram {
		return true
	}
	return (x > 0) == (y > 0) == ((a.Name == "iops") == (b.Name == "iops"))
}

// Without returns the series without its last n runs.
func (s *Series) Without(n int) *Series {
	short := *s
	short.Runs = s.Runs[:max(0, len(s.Runs)-n)]
	return &short
}
