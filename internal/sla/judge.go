package sla

import (
	"math"

	"fiolat/internal/fiohist"
)

// Status is the state of a rule.
type Status string

// Statuses, from best to worst.
const (
	OK      Status = "ok"
	Unknown Status = "unknown" // too few I/Os to tell, or none
	Broken  Status = "broken"
)

// Verdict is the verdict on a rule in one quantum.
type Verdict struct {
	Rule   *Rule
	Status Status
	// Value is the metric over the window, in ns or completions per second; Known is
	// false if it has no value.
	Value float64
	Known bool
	// Stalled means that nothing completed while the job ran. Value is then the time
	// since the last completion, a lower bound of the latency.
	Stalled bool
	// Window is the length in ns of the window that was evaluated, at least a quantum.
	Window int64
	// Share is the fraction of the quantum's I/Os within the threshold, 0 to 1, with
	// linear interpolation inside a bucket; -1 without I/O, and for iops.
	Share float64
}

// Quantum is one quantum of a scope.
type Quantum struct {
	Start, Length int64 // ns
	Hist          *fiohist.Hist
	Limits        fiohist.Limits // of the scope, as in fiohist.Stats
	// Running is true if jobs of the scope ran during the quantum. IOPS is the number of
	// completions per second of that time. With Partial, that is too short to judge a rate by.
	Running, Partial bool
	IOPS             float64
}

// Judge evaluates the rules of one scope. It keeps the histograms of as many quanta as
// the longest Over covers.
type Judge struct {
	rules   []*Rule
	g       fiohist.Geometry
	past    []past // oldest first, including the current quantum
	last    int64  // end of the last quantum with a completion, or the start of the first
	started bool
	intact  []int   // by rule: quanta since it was last broken, to which windows are limited
	rate    float64 // completions per ns: moving average in which the last quantum with I/O has the weight 1/2
}

// past is a quantum that was judged.
type past struct {
	fiohist.Sparse
	length int64
}

// NewJudge returns a Judge for histograms with geometry g.
func NewJudge(g fiohist.Geometry, rules []*Rule) *Judge {
	return &Judge{rules: rules, g: g, intact: make([]int, len(rules))}
}

// stallProof is the number of missing completions that makes an empty quantum a stall.
// The probability of none by chance is exp(-5), 0.7 %.
const stallProof = 5

// Judge evaluates the next quantum and returns a verdict for each rule, in order.
func (j *Judge) Judge(q *Quantum) []Verdict {
	if !j.started {
		j.started, j.last = true, q.Start
	}
	j.remember(q)
	samples := q.Hist.Sum()
	end := q.Start + q.Length
	out := make([]Verdict, 0, len(j.rules))
	for i, r := range j.rules {
		v := Verdict{Rule: r, Status: Unknown, Window: q.Length, Share: -1}
		switch {
		case r.Metric == "iops":
			v.Known, v.Value = q.Running, q.IOPS
			switch {
			case !q.Running || q.Partial:
			case r.Met(q.IOPS):
				v.Status = OK
			default:
				v.Status = Broken
			}
		case samples > 0:
			v.Share = r.Share(j.g, q.Hist)
			j.widen(r, j.intact[i]+1, q.Limits, &v)
		case q.Running && !r.Above:
			v.Value, v.Known, v.Stalled = float64(end-j.last), true, true
			if !r.Met(v.Value) && j.rate*v.Value >= stallProof {
				v.Status = Broken
			}
		}
		if j.intact[i]++; v.Status == Broken {
			j.intact[i] = 0
		}
		out = append(out, v)
	}
	if samples > 0 {
		// A stall rarely starts at the edge of a quantum: the few I/Os of the quantum in
		// which it starts are not the usual rate.
		rate := samples / float64(q.Length)
		if j.rate > 0 {
			rate = (j.rate + rate) / 2
		}
		j.last, j.rate = end, rate
	}
	return out
}

// Silent returns the verdict on each rule, in order, if no data has arrived for silence
// ns: broken if a latency of that length breaks the rule and enough completions are
// missing, otherwise unknown. Window is the time, in multiples of the quantum length,
// after which an empty window breaks the rule.
func (j *Judge) Silent(silence, length int64) []Verdict {
	out := make([]Verdict, 0, len(j.rules))
	for _, r := range j.rules {
		v := Verdict{Rule: r, Status: Unknown, Value: float64(silence), Known: true, Stalled: true,
			Window: length, Share: -1}
		if r.Metric != "iops" && !r.Above && !r.Met(v.Value) && j.rate*v.Value >= stallProof {
			v.Status = Broken
			for r.Met(float64(v.Window)) {
				v.Window += length
			}
		}
		out = append(out, v)
	}
	return out
}

// remember adds the quantum to the past and drops what no window reaches.
func (j *Judge) remember(q *Quantum) {
	s := past{length: q.Length}
	s.Set(q.Hist)
	j.past = append(j.past, s)
	over, held := int64(0), int64(0)
	for _, r := range j.rules {
		over = max(over, int64(r.Over))
	}
	for i := len(j.past) - 1; i >= 0; i-- {
		if held += j.past[i].length; held > over && i < len(j.past)-1 {
			j.past = append(j.past[:0:0], j.past[i+1:]...)
			return
		}
	}
}

// widen doubles the window backwards, over so many quanta at the most, until the verdict is certain or the window
// reaches the rule's maximum. Without a certain verdict the value is that of the quantum.
func (j *Judge) widen(r *Rule, quanta int, limits fiohist.Limits, v *Verdict) {
	most, length := 0, int64(0)
	for i := len(j.past) - 1; i >= max(len(j.past)-quanta, 0); i-- {
		if length += j.past[i].length; length > int64(r.Over) && most > 0 {
			break
		}
		most++
	}
	var sum fiohist.Hist
	length = 0
	for taken, want := 0, 1; ; want = min(2*want, most) {
		for ; taken < want; taken++ {
			s := &j.past[len(j.past)-1-taken]
			sum.AddAll(s.Index, s.Count, 0, 1)
			length += s.length
		}
		status, value := j.evaluate(r, &sum, limits)
		if status != Unknown || !v.Known {
			v.Status, v.Value, v.Known, v.Window = status, value, true, length
		}
		if status != Unknown || want == most {
			return
		}
	}
}

// evaluate applies a rule to a non-empty histogram.
func (j *Judge) evaluate(r *Rule, h *fiohist.Hist, limits fiohist.Limits) (Status, float64) {
	var wanted []float64
	if r.Metric == "p" {
		wanted = []float64{r.Percentile}
	}
	s := h.Stats(j.g, wanted, limits)
	var value, lower, upper float64
	switch r.Metric {
	case "p":
		value, lower, upper = s.Percentiles[0], s.Lower[0], s.Upper[0]
	case "mean":
		value = s.Mean
		spread := 1.96 * s.StdDev / math.Sqrt(s.Samples)
		lower, upper = value-spread, value+spread
		if s.Samples < 2 {
			lower, upper = fiohist.NoLimit, fiohist.NoLimit
		}
	case "max":
		value = s.Max
		top := 0
		h.Each(func(i int, _ float64) { top = i })
		lower, upper = min(float64(j.g.Lower(top)), value), value
		if top == j.g.Last() {
			upper = fiohist.NoLimit
		}
	}
	known := func(v float64) bool { return v != fiohist.NoLimit }
	best, worst := lower, upper // with respect to the rule
	if r.Above {
		best, worst = upper, lower
	}
	switch {
	case known(worst) && r.Met(worst):
		return OK, value
	case known(best) && !r.Met(best):
		return Broken, value
	}
	return Unknown, value
}

// Share is the fraction of the I/Os of h, with geometry g, within the threshold, 0 to 1,
// with linear interpolation inside a bucket; -1 without I/O, and for iops. I/Os in the
// last bucket, which has no upper edge, count as above the threshold.
func (r *Rule) Share(g fiohist.Geometry, h *fiohist.Hist) float64 {
	if r.Metric == "iops" || h.Empty() {
		return -1
	}
	below, samples := 0.0, 0.0
	h.Each(func(i int, w float64) {
		samples += w
		lo, hi := float64(g.Lower(i)), float64(g.Upper(i))
		switch {
		case i == g.Last():
		case hi <= r.Threshold:
			below += w
		case lo < r.Threshold:
			below += w * (r.Threshold - lo) / (hi - lo)
		}
	})
	if r.Above {
		return max(1-below/samples, 0)
	}
	return min(below/samples, 1)
}
