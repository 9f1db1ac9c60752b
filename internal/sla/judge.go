package sla

import (
	"math"

	"fiolat/internal/fiohist"
)

// Status is what is known of a promise.
type Status string

// Statuses, from best to worst.
const (
	OK      Status = "ok"
	Unknown Status = "unknown" // the I/Os are too few to tell, or there is none
	Broken  Status = "broken"
)

// Verdict is the verdict on a rule in one quantum.
type Verdict struct {
	Rule   *Rule
	Status Status
	// Value is that of the metric in the window: ns, or completions per second. Known
	// is false where there is none.
	Value float64
	Known bool
	// Stalled says that nothing completed while the job ran, and that Value is the time
	// since the last completion: a latency is at least that.
	Stalled bool
	// Window is the length in ns on which the verdict rests: a quantum's, or more.
	Window int64
	// Share is the part of the quantum's I/Os whose latency keeps the threshold, from 0
	// to 1, linear inside the bucket that holds it; -1 without I/O, or for iops.
	Share float64
}

// Quantum is what a Judge is told of a quantum of its scope.
type Quantum struct {
	Start, Length int64 // ns
	Hist          *fiohist.Hist
	Limits        fiohist.Limits // of the scope, as in fiohist.Stats
	// Running says that the jobs of the scope ran in the quantum, IOPS how many I/Os
	// per second completed meanwhile.
	Running bool
	IOPS    float64
}

// Judge judges one scope by the rules that apply to it. It remembers as many quanta
// as the longest Over holds, sparse.
type Judge struct {
	rules []*Rule
	g     fiohist.Geometry
	past  []sparse // the latest last; the one that is judged included
	last  int64    // end of the last quantum in which something completed; else the start
	begun bool
	rate  float64 // completions per ns of running time, of late
}

// sparse is a histogram in little memory.
type sparse struct {
	index  []uint16
	count  []float64
	length int64
}

// NewJudge makes a Judge of histograms on grid g.
func NewJudge(g fiohist.Geometry, rules []*Rule) *Judge { return &Judge{rules: rules, g: g} }

// stallProof is how many completions must be missing for an empty quantum to be a
// stall and not a matter of chance: exp(-5) is 0.7 %.
const stallProof = 5

// Judge takes the next quantum and gives a verdict for each rule, in their order.
func (j *Judge) Judge(q *Quantum) []Verdict {
	if !j.begun {
		j.begun, j.last = true, q.Start
	}
	j.remember(q)
	samples := q.Hist.Sum()
	end := q.Start + q.Length
	out := make([]Verdict, 0, len(j.rules))
	for _, r := range j.rules {
		v := Verdict{Rule: r, Status: Unknown, Window: q.Length, Share: -1}
		switch {
		case r.Metric == "iops":
			if q.Running {
				v.Known, v.Value, v.Status = true, q.IOPS, Broken
				if r.kept(q.IOPS) {
					v.Status = OK
				}
			}
		case samples > 0:
			v.Share = r.Share(j.g, q.Hist)
			j.widen(r, q.Limits, &v)
		case q.Running && !r.Above:
			v.Value, v.Known, v.Stalled = float64(end-j.last), true, true
			if !r.kept(v.Value) && j.rate*v.Value >= stallProof {
				v.Status = Broken
			}
		}
		out = append(out, v)
	}
	if samples > 0 {
		j.last = end
		j.rate = samples / float64(q.Length)
	}
	return out
}

// Silent gives the verdict on each rule, in their order, if nothing has been heard for
// so long, in ns: broken where a latency is at least that and enough completions are
// missing, else unknown. Window is how long it is, in quanta of a length, until an empty
// one is broken.
func (j *Judge) Silent(long, length int64) []Verdict {
	out := make([]Verdict, 0, len(j.rules))
	for _, r := range j.rules {
		v := Verdict{Rule: r, Status: Unknown, Window: length, Share: -1, Value: float64(long), Known: true, Stalled: true}
		if r.Metric != "iops" && !r.Above && !r.kept(v.Value) && j.rate*v.Value >= stallProof {
			v.Status = Broken
			for r.kept(float64(v.Window)) {
				v.Window += length
			}
		}
		out = append(out, v)
	}
	return out
}

// remember adds the quantum to the past and forgets what no window reaches.
func (j *Judge) remember(q *Quantum) {
	s := sparse{length: q.Length}
	q.Hist.Each(func(i int, w float64) {
		s.index, s.count = append(s.index, uint16(i)), append(s.count, w)
	})
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

// widen doubles the window backwards until the verdict is certain, or the window as
// long as the rule lets it be; it holds at least the quantum itself. Where nothing is
// certain the value is that of the quantum.
func (j *Judge) widen(r *Rule, limits fiohist.Limits, v *Verdict) {
	most, length := 0, int64(0)
	for i := len(j.past) - 1; i >= 0; i-- {
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
			sum.AddAll(s.index, s.count, 0, 1)
			length += s.length
		}
		status, value := j.weigh(r, &sum, limits)
		if status != Unknown || !v.Known {
			v.Status, v.Value, v.Known, v.Window = status, value, true, length
		}
		if status != Unknown || want == most {
			return
		}
	}
}

// weigh judges a histogram that is not empty.
func (j *Judge) weigh(r *Rule, h *fiohist.Hist, limits fiohist.Limits) (Status, float64) {
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
	best, worst := lower, upper // for the promise
	if r.Above {
		best, worst = upper, lower
	}
	switch {
	case known(worst) && r.kept(worst):
		return OK, value
	case known(best) && !r.kept(best):
		return Broken, value
	}
	return Unknown, value
}

// Share is the part of the I/Os of h, on grid g, whose latency keeps the threshold, from
// 0 to 1, linear inside the bucket that holds it; -1 without I/O, or for iops. What lies
// in the last bucket, of which nobody knows how long it took, is taken to be above.
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
