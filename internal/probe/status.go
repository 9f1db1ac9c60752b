package probe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"fiolat/fio/fiohist"
)

// Status is what a target keeps for the next probe, and for --status.
type Status struct {
	Updated time.Time `json:"updated"`
	// Stale is the age in ms from which on nobody probes the target, or an operation hangs.
	Stale int64 `json:"stale_ms"`
	// Now describes the target in words.
	Now string `json:"text"`
	// Usual are the non-empty buckets of all samples that ended, by operation.
	Usual map[string]fiohist.Sparse `json:"usual"`
}

// marshal returns the current Status as JSON. The caller holds the lock.
func (t *Target) marshal(now time.Time) []byte {
	s := Status{now.UTC(), (3*t.cfg.Interval + 2*t.cfg.Every).Milliseconds(), t.text, map[string]fiohist.Sparse{}}
	for op, series := range t.series {
		var b fiohist.Sparse
		b.Set(&series.all)
		s.Usual[Operation(op).String()] = b
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // it contains only numbers and names
	}
	return b
}

// restore loads the usual times of the previous probe.
func (t *Target) restore(kept []byte) {
	var s Status
	if kept == nil || json.Unmarshal(kept, &s) != nil {
		return
	}
	for op, series := range t.series {
		b := s.Usual[Operation(op).String()]
		for k, i := range b.Index[:min(len(b.Index), len(b.Count))] {
			if n := b.Count[k]; int(i) < Grid.Columns() && n > 0 && n < 1<<40 {
				series.all.Add(int(i), float64(int64(n)))
				series.count += int64(n)
			}
		}
	}
}

// Text describes the target in words.
func (s *Status) Text(now time.Time) string {
	text := cmp.Or(s.Now, learning)
	if age := now.Sub(s.Updated).Round(time.Second); s.Stale > 0 && age.Milliseconds() > s.Stale {
		return fmt.Sprintf("no update for %v: it is not being probed, or an operation hangs; last was: %s", age, text)
	}
	return text
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
