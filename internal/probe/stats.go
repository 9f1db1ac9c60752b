package probe

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"fiolat/fio/fiohist"
)

// Grid is the geometry of all histograms of probes, that of fio 3.
var Grid = fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}

const (
	// enough is the number of samples from which a usual time is computed.
	enough = 10
	// chunks is the number of parts of a sliding window.
	chunks = 24
)

// Windows are the periods before a report for which it has statistics.
var Windows = [3]time.Duration{time.Minute, 10 * time.Minute, 4 * time.Hour}

// Window holds the statistics of the samples of such a period, in ns. Percentiles are
// exact: the sample of rank n p / 100, rounded up.
type Window struct {
	Samples int `json:"samples"`
	// AtLeast of them were still running.
	AtLeast int     `json:"at_least"`
	Mean    float64 `json:"mean"`
	Median  float64 `json:"median"`
	P90     float64 `json:"p90"`
	P95     float64 `json:"p95"`
	P99     float64 `json:"p99"`
	Max     float64 `json:"max"`
}

// series holds the samples of one operation on one target in bounded memory. The usual
// time comes from a histogram of all samples that ended, or of those in a sliding
// window. The most recent samples, as many as the longest of Windows covers, are kept
// individually.
type series struct {
	fixed float64 // the usual time, if it was given

	all   fiohist.Hist
	count int64
	// parts of the sliding window, by their number modulo chunks
	width  int64
	parts  []part
	median float64 // of all, if fresh
	fresh  bool

	ring    []entry
	next, n int
}

type part struct {
	number int64
	hist   *fiohist.Hist
	count  int64
}

type entry struct {
	known int64 // time at which it became known, ns since 1970
	took  int64 // ns; negative while still running
}

func newSeries(cfg *Config, fixed float64) *series {
	longest := int64(Windows[len(Windows)-1])
	s := &series{fixed: fixed, ring: make([]entry, longest/int64(cfg.Every)*9/8+16)}
	if cfg.Window > 0 {
		s.width, s.parts = int64(cfg.Window)/chunks, make([]part, chunks)
	}
	return s
}

// add adds a sample that started at a time in ns since 1970 or, if atLeast, was still
// running then.
func (s *series) add(at, took int64, atLeast bool) {
	e := entry{at, -took}
	if !atLeast {
		e = entry{at + took, took}
		s.learn(e.known, took)
	}
	s.ring[s.next] = e
	s.next = (s.next + 1) % len(s.ring)
	s.n = min(s.n+1, len(s.ring))
}

// learn adds a sample to the usual time.
func (s *series) learn(at, took int64) {
	bucket := Grid.Index(took)
	if s.parts != nil {
		number := at / s.width
		for i := range s.parts { // drop what has left the window
			if p := &s.parts[i]; p.hist != nil && p.number <= number-chunks {
				p.hist.Each(func(i int, w float64) { s.all.Add(i, -w) }) // exact: the counts are integers
				s.count -= p.count
				*p = part{}
			}
		}
		p := &s.parts[number%chunks]
		if p.hist == nil {
			*p = part{number: number, hist: new(fiohist.Hist)}
		}
		p.hist.Add(bucket, 1)
		p.count++
	}
	s.all.Add(bucket, 1)
	s.count++
	s.fresh = false
}

// expected returns the usual time in ns, the median of the samples that ended, or 0 if
// there are too few.
func (s *series) expected() float64 {
	if s.fixed > 0 {
		return s.fixed
	}
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
	if w.Samples = len(took); w.Samples == 0 {
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

// opCounts counts the results of an operation in an interval.
type opCounts struct {
	hist     *fiohist.Hist
	limits   fiohist.Limits
	atLeast  int64
	skipped  int64
	failures map[string]int64
}

func (n *opCounts) take(took int64, atLeast bool) {
	if n.hist == nil {
		n.hist = new(fiohist.Hist)
	}
	n.hist.Add(Grid.Index(took), 1)
	n.limits = n.limits.Widen(fiohist.Limits{Min: took, Max: took, Known: true})
	if atLeast {
		n.atLeast++
	}
}

func (n *opCounts) fail(name string) {
	if n.failures == nil {
		n.failures = map[string]int64{}
	}
	n.failures[name]++
}

// Report describes a target at the end of an interval.
type Report struct {
	Target *Target
	// End is the end of the interval, Length its length.
	End    time.Time
	Length time.Duration
	State  State
	// Slowdown is the geometric mean over the operations of the last minute's median
	// divided by the usual time; 0 if unknown.
	Slowdown float64
	Hung     *Hang
	// Rounds started in the interval, Late of them by more than a tenth of their
	// spacing. Missed ones did not start, because the previous one was still running.
	Rounds, Late, Missed int64
	Ops                  [operations]OpReport
	// Change is the trouble or recovery to report, or nil.
	Change *Change
}

// Change is the start or the end of trouble. It takes two consecutive reports, or one
// with a hang.
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
	case bad == t.bad:
		t.contradictions = 0
		return nil
	}
	if t.contradictions++; t.contradictions == 1 {
		t.since = r.End.Add(-r.Length)
		if r.State != StateHung {
			return nil
		}
	}
	c := &Change{Bad: bad, Since: t.since, Text: t.status(r.End).Text(r.End)}
	switch {
	case r.Hung != nil:
		took := r.End.Sub(r.Hung.Since).Round(time.Millisecond)
		c.Text = fmt.Sprintf("this file system hangs: a %s has been running for %v", r.Hung.Op, took)
	case !bad:
		c.Text += fmt.Sprintf("; the trouble lasted %v", t.since.Sub(t.badSince))
	}
	t.bad, t.badSince, t.contradictions = bad, t.since, 0
	return c
}

// OpReport is the part of a Report on one operation.
type OpReport struct {
	// Expected is the usual time in ns, 0 if unknown.
	Expected float64
	// Hist is the histogram of the interval, nil without samples. AtLeast of them were
	// still running.
	Hist    *fiohist.Hist
	Limits  fiohist.Limits
	AtLeast int64
	// Skipped operations were not tried. Errors counts failures by the errno's name.
	Skipped int64
	Errors  map[string]int64
	// Last are the statistics of Windows.
	Last [len(Windows)]Window
}

// Slowdown returns ns divided by the usual time, 0 if that is unknown.
func (o *OpReport) Slowdown(ns float64) float64 {
	if o.Expected == 0 {
		return 0
	}
	return ns / o.Expected
}

// report ends an interval.
func (t *Target) report(end time.Time) *Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &Report{Target: t, End: end, Length: t.cfg.Interval, State: t.phase, Hung: t.hung}
	t.worst = t.phase
	defer func() { r.Change = t.change(r) }()
	if t.phase != StateLearning {
		return r
	}
	r.Rounds, r.Late, r.Missed = t.now.Rounds, t.now.Late, t.now.Missed
	t.total.Rounds += t.now.Rounds
	t.total.Late += t.now.Late
	t.total.Missed += t.now.Missed
	t.now = counts{}
	var scratch []int64
	var logs, worst float64
	known, failing := 0, false
	for op, s := range t.series {
		o, n := &r.Ops[op], &t.events[op]
		*o = OpReport{Expected: s.expected(), Hist: n.hist, Limits: n.limits, AtLeast: n.atLeast, Skipped: n.skipped,
			Errors: n.failures}
		for i, d := range Windows {
			o.Last[i], scratch = s.last(min(end.UnixNano(), time.Now().UnixNano()), d, scratch)
		}
		t.last[op] = o.Last
		if slow := o.Slowdown(o.Last[0].Median); slow > 0 {
			logs += math.Log(slow)
			worst = max(worst, slow)
			known++
		}
		failing = failing || len(n.failures) > 0 && n.hist == nil
		if t.errors[op] == nil {
			t.errors[op] = map[string]int64{}
		}
		for name, k := range n.failures {
			t.errors[op][name] += k
		}
		*n = opCounts{}
	}
	if known > 0 {
		r.Slowdown = math.Exp(logs / float64(known))
	}
	switch {
	case t.hung != nil:
		r.State = StateHung
	case failing:
		r.State = StateFailing
	case known == 0:
	case worst >= t.cfg.VerySlow:
		r.State = StateVerySlow
	case worst >= t.cfg.Slow:
		r.State = StateSlow
	default:
		r.State = StateQuiet
	}
	t.worst, t.all = r.State, r.Slowdown
	status := t.marshal(end)
	select {
	case <-t.state: // replaced by a newer one
	default:
	}
	select {
	case t.state <- status:
	default:
	}
	return r
}

// Baseline are usual times in ns, by target and operation.
type Baseline map[string]map[string]float64

func (b Baseline) expected(target string, op Operation) float64 { return b[target][op.String()] }

// Usual returns the known usual times of targets.
func Usual(targets []*Target) Baseline {
	b := Baseline{}
	for _, t := range targets {
		t.mu.Lock()
		for op, s := range t.series {
			if e := s.expected(); e > 0 {
				if b[t.Path] == nil {
					b[t.Path] = map[string]float64{}
				}
				b[t.Path][Operation(op).String()] = e
			}
		}
		t.mu.Unlock()
	}
	return b
}

// ErrorNames returns the names of an interval's errors, sorted.
func (o *OpReport) ErrorNames() []string { return slices.Sorted(maps.Keys(o.Errors)) }
