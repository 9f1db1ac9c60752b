package probe

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"fiolat/fio/fiohist"
)

// Grid is the geometry of all histograms of probes, that of fio 3.
var Grid = fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}

const (
	// enough is the number of samples from which a usual time is computed.
	enough = 10
	// An operation is slow, and very slow, at so many times its usual time.
	slow, verySlow = 2, 5
)

// Windows are the periods before a report for which it has statistics.
var Windows = [3]time.Duration{time.Minute, 10 * time.Minute, 4 * time.Hour}

// Window holds the statistics of the samples of such a period, in ns. Percentiles are exact: the sample of rank
// n p / 100, rounded up. AtLeast of the samples were still running.
type Window struct {
	Samples, AtLeast                 int
	Mean, Median, P90, P95, P99, Max float64
}

// series holds the samples of one operation on one target in bounded memory. The usual time comes from a histogram of
// all samples that ended. The most recent samples, as many as the longest of Windows covers, are kept individually.
type series struct {
	all    fiohist.Hist
	count  int64
	median float64 // of all, if fresh
	fresh  bool

	ring    []entry
	next, n int
}

type entry struct {
	known int64 // time at which it became known, ns since 1970
	took  int64 // ns; negative while still running
}

func newSeries(cfg *Config) *series {
	longest := int64(Windows[len(Windows)-1])
	return &series{ring: make([]entry, longest/int64(cfg.Every)*9/8+16)}
}

// add adds a sample that started at a time in ns since 1970 or, if atLeast, was still
// running then.
func (s *series) add(at, took int64, atLeast bool) {
	e := entry{at, -took}
	if !atLeast {
		e = entry{at + took, took}
		s.learn(took)
	}
	s.ring[s.next] = e
	s.next = (s.next + 1) % len(s.ring)
	s.n = min(s.n+1, len(s.ring))
}

// learn adds a sample to the usual time.
func (s *series) learn(took int64) {
	s.all.Add(Grid.Index(took), 1)
	s.count++
	s.fresh = false
}

// expected returns the usual time in ns, the median of the samples that ended, or 0 if there are too few.
func (s *series) expected() float64 {
	if s.count < enough {
		return 0
	}
	if !s.fresh {
		s.median, s.fresh = s.all.Stats(Grid, []float64{50}, fiohist.Limits{}).Percentiles[0], true
	}
	return s.median
}

// last returns the statistics of the samples that became known in the period d before
// now, and scratch for reuse.
func (s *series) last(now int64, d time.Duration, scratch []int64) (Window, []int64) {
	var w Window
	took, sum := scratch[:0], 0.0
	for i := 1; i <= s.n; i++ {
		e := s.ring[(s.next-i+len(s.ring))%len(s.ring)]
		if e.known <= now-int64(d) {
			break
		}
		if e.known > now {
			continue
		}
		if e.took < 0 {
			w.AtLeast++
			e.took = -e.took
		}
		took = append(took, e.took)
		sum += float64(e.took)
	}
	w.Samples = len(took)
	if w.Samples == 0 {
		return w, took
	}
	slices.Sort(took)
	rank := func(p float64) float64 {
		return float64(took[max(int(math.Ceil(float64(len(took))*p/100))-1, 0)])
	}
	w.Mean, w.Median, w.P90, w.P95, w.P99, w.Max = sum/float64(len(took)), rank(50), rank(90), rank(95), rank(99),
		rank(100)
	return w, took
}

// Counts are numbers of rounds. Late ones started more than a tenth of their spacing late. Missed ones did not start,
// because the previous one was still running.
type Counts struct{ Rounds, Late, Missed int64 }

// Report describes a target at the end of an interval.
type Report struct {
	Target *Target
	// End is the end of the interval, Length its length.
	End    time.Time
	Length time.Duration
	State  State
	Hung   *Hang
	Counts
	Ops [operations]OpReport
	// Slowest is the operation with the largest slowdown, which is Slowdown; Mean is the geometric mean over the
	// operations. They are 0 if unknown.
	Slowest        Operation
	Slowdown, Mean float64
	// Change is the trouble or recovery to report, or nil.
	Change *Change
}

// OpReport is the part of a Report on one operation.
type OpReport struct {
	// Expected is the usual time in ns, 0 if unknown.
	Expected float64
	// Slowdown is the median of this interval and the one before divided by Expected, 0 if unknown. It follows a
	// change within two intervals.
	Slowdown float64
	// Now are the statistics of these two intervals, Last those of Windows.
	Now  Window
	Last [len(Windows)]Window
	// Hist is the histogram of the interval, nil without samples. AtLeast of them were still running.
	Hist    *fiohist.Hist
	Limits  fiohist.Limits
	AtLeast int64
	// Skipped operations were not tried. Errors counts failures by the errno's name.
	Skipped int64
	Errors  map[string]int64
}

func (o *OpReport) take(took int64, atLeast bool) {
	if o.Hist == nil {
		o.Hist = new(fiohist.Hist)
	}
	o.Hist.Add(Grid.Index(took), 1)
	o.Limits = o.Limits.Widen(fiohist.Limits{Min: took, Max: took, Known: true})
	if atLeast {
		o.AtLeast++
	}
}

func (o *OpReport) fail(name string) {
	if o.Errors == nil {
		o.Errors = map[string]int64{}
	}
	o.Errors[name]++
}

// ErrorNames returns the names of the interval's errors, sorted.
func (o *OpReport) ErrorNames() []string { return slices.Sorted(maps.Keys(o.Errors)) }

// report ends an interval.
func (t *Target) report(end time.Time) *Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &Report{Target: t, End: end, Length: t.cfg.Interval, State: t.phase, Hung: t.hung, Counts: t.counts,
		Ops: t.ops}
	t.counts, t.ops = Counts{}, [operations]OpReport{}
	if t.phase == StateLearning {
		t.assess(r)
		t.text = r.text()
		t.status = t.marshal(end)
	}
	r.Change = t.change(r)
	return r
}

// assess computes the slowdowns and the state of a report.
func (t *Target) assess(r *Report) {
	now := min(r.End.UnixNano(), time.Now().UnixNano())
	var scratch []int64
	logs, known, failing := 0.0, 0, false
	for op, s := range t.series {
		o := &r.Ops[op]
		for i, d := range Windows {
			o.Last[i], scratch = s.last(now, d, scratch)
		}
		o.Now, scratch = s.last(now, 2*r.Length, scratch)
		failing = failing || o.Errors != nil && o.Hist == nil
		o.Expected = s.expected()
		if o.Expected == 0 || o.Now.Samples == 0 {
			continue
		}
		o.Slowdown = o.Now.Median / o.Expected
		logs += math.Log(o.Slowdown)
		known++
		if o.Slowdown > r.Slowdown {
			r.Slowest, r.Slowdown = Operation(op), o.Slowdown
		}
	}
	if known > 0 {
		r.Mean = math.Exp(logs / float64(known))
	}
	switch {
	case r.Hung != nil:
		r.State = StateHung
	case failing:
		r.State = StateFailing
	case known == 0:
	case r.Slowdown >= verySlow:
		r.State = StateVerySlow
	case r.Slowdown >= slow:
		r.State = StateSlow
	default:
		r.State = StateQuiet
	}
}

const learning = "the usual times are still being learned"

// text describes the target in words.
func (r *Report) text() string {
	if _, known := r.State.verdict(); !known {
		return learning
	}
	var parts []string
	if r.Hung != nil {
		parts = append(parts, fmt.Sprintf("a %s has been running for %v", r.Hung.Op, r.hungFor()))
	}
	for op := range r.Ops {
		if names := r.Ops[op].ErrorNames(); names != nil {
			parts = append(parts, fmt.Sprintf("%s fails (%s)", Operation(op), strings.Join(names, ", ")))
		}
	}
	if o := &r.Ops[r.Slowest]; r.Slowdown > 0 && r.Hung == nil {
		parts = append(parts, fmt.Sprintf("slowest is %s, with %.1f times its usual time (%s instead of %s)", r.Slowest,
			r.Slowdown, Text(o.Now.Median), Text(o.Expected)))
	}
	is := "is " + string(r.State)
	if r.State == StateHung {
		is = "hangs"
	}
	return strings.TrimSuffix(fmt.Sprintf("this file system %s: %s", is, strings.Join(parts, ", ")), ": ")
}

func (r *Report) hungFor() time.Duration { return r.End.Sub(r.Hung.Since).Round(time.Millisecond) }

// Change is the start or the end of trouble, or the first hang within it. It takes two consecutive reports, or one with
// a hang.
type Change struct {
	Bad bool
	// Since is the start of the first of these reports' intervals.
	Since time.Time
	// Text describes the state of the target.
	Text string
}

// change follows the states of reports.
func (t *Target) change(r *Report) *Change {
	bad, known := r.State.verdict()
	switch {
	case !known:
		return nil // neither good nor bad
	case t.bad && r.State == StateHung && !t.hangTold:
		t.hangTold, t.contradictions = true, 0
		return &Change{Bad: true, Since: r.End.Add(-r.Length), Text: r.text()}
	case bad == t.bad:
		t.contradictions = 0
		return nil
	}
	t.contradictions++
	if t.contradictions == 1 {
		t.since = r.End.Add(-r.Length)
		if r.State != StateHung {
			return nil
		}
	}
	c := &Change{Bad: bad, Since: t.since, Text: r.text()}
	if !bad {
		c.Text += fmt.Sprintf("; the trouble lasted %v", t.since.Sub(t.badSince))
	}
	t.bad, t.badSince, t.contradictions, t.hangTold = bad, t.since, 0, r.State == StateHung
	return c
}
