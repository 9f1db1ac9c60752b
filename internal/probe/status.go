package probe

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Status is the content of a probe's status file, for --status and for the next probe.
type Status struct {
	Updated  time.Time `json:"updated"`
	EveryMS  float64   `json:"every_ms"`
	Interval float64   `json:"interval_ms"`
	State    State     `json:"state"`
	Slowdown float64   `json:"slowdown"`
	Rounds   int64     `json:"rounds"`
	Late     int64     `json:"late"`
	Missed   int64     `json:"missed"`
	Slow     float64   `json:"slow"` // threshold

	Operations map[string]*StatusOp `json:"operations"`
}

// StatusOp is the part of a Status on one operation.
type StatusOp struct {
	Expected float64              `json:"expected"`
	Error    string               `json:"error,omitempty"` // of the last operation, if it failed
	Errors   map[string]int64     `json:"errors,omitempty"`
	Last     [len(Windows)]Window `json:"last"`
	// Index and Count are the non-empty buckets of all samples that ended.
	Index []int     `json:"index"`
	Count []float64 `json:"count"`
}

// kept returns the current Status as JSON.
func (t *Target) kept(now time.Time) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.marshal(now)
}

// status returns the current Status. The caller holds the lock.
func (t *Target) status(now time.Time) *Status {
	s := &Status{Updated: now.UTC(), EveryMS: float64(t.cfg.Every) / 1e6, Interval: float64(t.cfg.Interval) / 1e6,
		State:    t.worst,
		Slowdown: t.all, Rounds: t.total.Rounds, Late: t.total.Late, Missed: t.total.Missed, Slow: t.cfg.Slow,
		Operations: map[string]*StatusOp{}}
	for i, series := range t.series {
		op := &StatusOp{Expected: series.expected(), Error: t.failed[i], Errors: t.errors[i], Last: t.last[i]}
		series.all.Each(func(i int, w float64) {
			op.Index, op.Count = append(op.Index, i), append(op.Count, w)
		})
		s.Operations[Operation(i).String()] = op
	}
	return s
}

// marshal is like kept, but the caller holds the lock.
func (t *Target) marshal(now time.Time) []byte {
	b, err := json.Marshal(t.status(now))
	if err != nil {
		panic(err) // it contains only numbers and names
	}
	return b
}

// restore loads the usual times of the previous probe. A sliding window starts empty.
func (t *Target) restore(kept []byte) {
	var s Status
	if kept == nil || json.Unmarshal(kept, &s) != nil || t.cfg.Window > 0 {
		return
	}
	for i, series := range t.series {
		op := s.Operations[Operation(i).String()]
		if op == nil || len(op.Index) != len(op.Count) {
			continue
		}
		for k, index := range op.Index {
			if n := op.Count[k]; index >= 0 && index < Grid.Columns() && n > 0 && n < 1<<40 {
				series.all.Add(index, float64(int64(n)))
				series.count += int64(n)
			}
		}
	}
}

// Text describes a target in words.
func (s *Status) Text(now time.Time) string {
	var b strings.Builder
	age := now.Sub(s.Updated).Round(time.Second)
	if limit := time.Duration(3 * s.Interval * 1e6); age > limit+time.Duration(2*s.EveryMS*1e6) {
		fmt.Fprintf(&b, "no update for %v: it is not being probed, or an operation hangs; %v ago ", age, age)
	}
	switch s.State {
	case "", StateLearning, StatePreparing:
		b.WriteString("the usual times are still being learned")
	default:
		fmt.Fprintf(&b, "this file system is %s", s.State)
	}
	slower, failing, usual := []string(nil), []string(nil), 0
	for op := range operations {
		o := s.Operations[op.String()]
		if o == nil {
			continue
		}
		if o.Error != "" {
			failing = append(failing, fmt.Sprintf("%s fails (%s)", op, o.Error))
			continue
		}
		if o.Expected == 0 || o.Last[0].Samples == 0 {
			continue
		}
		if times := o.Last[0].Median / o.Expected; times >= s.Slow {
			slower = append(slower, fmt.Sprintf("now %.1f times slower than usual for %ss (%s instead of %s)", times,
				op, Text(o.Last[0].Median), Text(o.Expected)))
		} else {
			usual++
		}
	}
	parts := append(slower, failing...)
	if usual > 0 {
		rest := "as usual for all operations"
		if len(parts) > 0 {
			rest = "as usual for the others"
		}
		parts = append(parts, rest)
	}
	if len(parts) > 0 {
		b.WriteString(": " + strings.Join(parts, ", "))
	}
	if s.Slowdown > 0 {
		fmt.Fprintf(&b, "; overall %.1f times the usual time", s.Slowdown)
	}
	return b.String()
}

// Text formats a time in ns with three digits.
func Text(ns float64) string {
	d := time.Duration(ns)
	for _, unit := range []time.Duration{1, time.Microsecond, time.Millisecond, time.Second} {
		if d < 1000*unit {
			return d.Round(max(unit/100, 1)).String()
		}
	}
	return d.Round(time.Second).String()
}
