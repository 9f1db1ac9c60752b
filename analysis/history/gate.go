package history

import (
	"cmp"
	"math"
	"slices"
	"time"

	"fiolat/fio"
)

// Settled is the number of runs that Gate needs before it judges one.
const Settled = 15

// The constants of Gate.
const (
	// A run is compared with the runs from window to gap before it, but at least the first ones.
	window, gap = 90, 14
	// A run counts in spreads, as at most clip. The cumulative sums leave out slack each, and are an alarm above limit.
	slack, limit, clip = 1, 8.5, 3
	// The spread is the last runs' spread where it is wider times as large as before, and grows by the correlation of
	// neighbours above related.
	lastRuns, wider, related = 20, 1.5, 0.4
	// narrowest is the least spread, of logarithms.
	narrowest = 0.01
	// So many runs in a row that are each further than farSpreads and farShare off are an alarm, too.
	farRuns, farSpreads, farShare = 3, 3.5, 0.08
)

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

// Gate finds the changes for which a gate is to fire: those of at least the size least, a share, to a level at which
// the metric has not been before. Two cumulative sums tell that the level has changed (Page, "Continuous inspection
// schemes", Biometrika 41, 1954), and the change points of Analyse tell when. A series of up to Settled runs has none.
// See Analyse for metrics.
func Gate(s *Series, metrics []fio.Metric, least float64) (out []Result) {
	for _, m := range s.metrics(metrics) {
		out = append(out, gate(s, m, least))
	}
	return out
}

func gate(s *Series, m fio.Metric, least float64) Result {
	a, smallest := newAnalysis(s, m), math.Log1p(least)
	alarms := a.alarms(smallest)
	if len(alarms) == 0 {
		return a.Result
	}
	points := a.points()
	var starts []int
	for _, alarm := range alarms {
		starts = append(starts, a.start(alarm, points))
	}
	found := slices.Concat(points, starts)
	slices.Sort(found)
	found = slices.Compact(found)
	a.levels.fill(a.Runs, a.known, found)
	var alarmed []Change
	for i, c := range a.changes(found) {
		if !slices.Contains(starts, found[i]) || math.Abs(math.Log1p(c.Change)) < smallest {
			continue
		}
		seen := slices.ContainsFunc(alarmed, func(earlier Change) bool {
			d := math.Log(c.After / earlier.Before)
			if m.Name == fio.Histogram {
				d = c.After - earlier.Before
			}
			return math.Abs(d) < smallest
		})
		alarmed = append(alarmed, c)
		if !seen {
			a.Changes = append(a.Changes, c)
		}
	}
	return a.Result
}

// alarm says that the level has changed by the run at, probably from the run from on, upwards if sign is 1, or
// downwards if it is -1. The same change goes on until the run last.
type alarm struct {
	from, at, last int
	sign           float64
}

// alarms finds the runs at which the level has changed by at least smallest, of logarithms.
func (a *analysis) alarms(smallest float64) (out []alarm) {
	up, down := alarm{sign: 1}, alarm{sign: -1}
	sums := map[*alarm]float64{}
	row := map[*alarm]int{} // runs that are far off, without one between them that is not
	var all []float64
	for i := Settled; i < len(a.known); i++ {
		d, spread, before := a.levels.off(max(0, i-window), max(i-gap+1, Settled), i)
		all = append(all, d)
		r := correlation(before, clip*spread)
		last := all[max(0, len(all)-lastRuns-1):]
		if now := stepSpread(last) / math.Sqrt(1-r); now > wider*spread && len(last) > lastRuns/2 {
			spread = now
		}
		spread = max(spread*(1+max(r-related, 0)), narrowest)
		for _, side := range []*alarm{&up, &down} {
			z := side.sign * d / spread
			if sums[side] == 0 {
				side.from = i
			}
			sums[side] = max(0, sums[side]+max(min(z, clip), -clip)-slack)
			row[side]++
			if z <= farSpreads || side.sign*d <= math.Log1p(farShare) {
				row[side] = 0
			}
			if sums[side] <= limit && row[side] < farRuns {
				continue
			}
			side.at, side.last = i, i
			sums[side], row[side] = 0, 0
			n := len(out) - 1
			if n >= 0 && out[n].sign == side.sign && i-out[n].last < window/2 &&
				math.Abs(a.levels.step(out[n].from, side.from, i+1).change) < max(smallest, 2*spread) {
				out[n].last = i // the level has not changed again
				continue
			}
			out = append(out, *side)
		}
	}
	return out
}

// correlation is the correlation of neighbouring runs, from 0 to 0.9, corrected for their number; what is further off
// than most counts as most.
func correlation(x []float64, most float64) float64 {
	z := make([]float64, len(x))
	for i, v := range x {
		z[i] = max(min(v, most), -most)
	}
	middle, squares := mean(z)
	products := 0.0
	for i := range len(z) - 1 {
		products += (z[i] - middle) * (z[i+1] - middle)
	}
	if !(squares > 0) {
		return 0
	}
	r := products / squares
	return min(max(r+(1+4*r)/float64(len(z)), 0), 0.9)
}

// start returns the change point nearest to the start of an alarm, or that start if none is near.
func (a *analysis) start(of alarm, points []int) int {
	at, distance := of.from, nearby+1
	for i, p := range points {
		from, to := neighbours(points, i, len(a.known))
		d := max(p-of.from, of.from-p)
		if d < distance && p <= of.at && of.sign*a.levels.step(from, p, to).change > 0 {
			at, distance = p, d
		}
	}
	return at
}

// News returns the changes that are none of the reported ones of their series, and those that were reported as of
// another run. A change is the same as a reported one of the same or another metric if both are for the worse or both
// for the better, or one is of a histogram, no more than ten runs lie between them, and no other change of the metric
// is nearer.
func (r *Result) News(reported []Reported) (news, moved []Change) {
	told, exact := map[int]bool{}, map[int]bool{}
	for _, old := range reported {
		m, err := Metrics.Parse(old.Metric)
		if err != nil {
			continue // of an edited state
		}
		at := r.position(old)
		best, least := -1, nearby+1
		for i, c := range r.Changes {
			d := max(c.Index-at, at-c.Index)
			if at >= 0 && d < least && sameDirection(r.of, c.Change, m, old.Change) {
				best, least = i, d
			}
		}
		told[best] = told[best] || old.Metric == r.Metric
		exact[best] = exact[best] || old.Metric != r.Metric || least == 0
	}
	for i, c := range r.Changes {
		switch same, known := told[i]; {
		case !known:
			news = append(news, c)
		case same && !exact[i]:
			moved = append(moved, c)
		}
	}
	return news, moved
}

// Add adds changes at runs where the result has none.
func (r *Result) Add(changes []Change) {
	for _, c := range changes {
		if !slices.ContainsFunc(r.Changes, func(o Change) bool { return o.Index == c.Index }) {
			r.Changes = append(r.Changes, c)
		}
	}
	slices.SortFunc(r.Changes, func(a, b Change) int { return cmp.Compare(a.Index, b.Index) })
}

// position returns the index of the run of a reported change, or where it would be, or -1 if that is unknown.
func (r *Result) position(old Reported) int {
	i := slices.IndexFunc(r.Runs, func(p Point) bool { return p.ID == old.Run })
	if i < 0 && old.Start != nil {
		i = slices.IndexFunc(r.Runs, func(p Point) bool { return p.Start != nil && !p.Start.Before(*old.Start) })
	}
	return i
}

// sameDirection says whether two changes are both for the worse or both for the better. A histogram's has none.
func sameDirection(a fio.Metric, x float64, b fio.Metric, y float64) bool {
	if a.Name == fio.Histogram || b.Name == fio.Histogram {
		return true
	}
	return (x > 0) == (y > 0) == (a.Figure().Better == b.Figure().Better)
}

// Without returns the series without its last n runs.
func (s *Series) Without(n int) *Series {
	short := *s
	short.Runs = s.Runs[:max(0, len(s.Runs)-n)]
	return &short
}
