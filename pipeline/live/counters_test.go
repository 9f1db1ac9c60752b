package live

import (
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
)

// counted are counters of reads by latency in ns.
func counted(at int64, ios map[int64]uint64) counters {
	c := counters{at: at}
	c.bins[fio.Read] = make([]uint64, fiohist.Fio3.Columns())
	for ns, n := range ios {
		c.bins[fio.Read][fiohist.Fio3.Index(ns)] += n
		c.total[fio.Read] += n
	}
	return c
}

// TestStalled: a job of 100 I/Os a second that fio asked at 12 s, 2 s after the last document, and that answered at
// 15 s.
func TestStalled(t *testing.T) {
	t.Parallel()
	const sec, ms = int64(time.Second), int64(time.Millisecond)
	for _, tt := range []struct {
		name  string
		rate  float64
		ios   map[int64]uint64
		share float64 // 0: it was not stalled
	}{
		{"as many as expected", 100, map[int64]uint64{ms: 200}, 1},
		{"fewer", 100, map[int64]uint64{ms: 50}, 1},
		{"some more", 100, map[int64]uint64{ms: 250}, 0.8},
		{"it went on", 100, map[int64]uint64{ms: 500}, 0},
		{"some waited", 100, map[int64]uint64{ms: 500, 4 * sec: 2}, 0.4},
		{"no rate yet", 0, map[int64]uint64{ms: 200, 4 * sec: 2}, 0},
	} {
		le := &entry{counters: counted(10*sec, nil), rate: tt.rate / 1e9}
		now := counted(15*sec, tt.ios)
		if got := le.stalled(&now, 12*sec, 3*sec); got.share != tt.share || tt.share > 0 && (got.asked != 12*sec ||
			got.long != 3*sec) {
			t.Errorf("%s: %+v, want a share of %v", tt.name, got, tt.share)
		}
	}
}

// TestOverdue: fio is overdue from seven quarters of a step on.
func TestOverdue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		steps []int64
		since time.Duration
		want  bool
	}{
		{nil, time.Hour, false},
		{[]int64{1e9}, 1749 * time.Millisecond, false},
		{[]int64{1e9}, 1750 * time.Millisecond, true},
		{[]int64{1e9, 4e9, 2e9}, 3 * time.Second, false}, // the usual one is 2 s
		{[]int64{1e9, 4e9, 2e9}, 3500 * time.Millisecond, true},
	} {
		l := &Live{steps: tt.steps}
		if got, err := l.Silent(t.Context(), tt.since); got != tt.want || err != nil {
			t.Errorf("steps of %v, silent for %v: %v, %v", tt.steps, tt.since, got, err)
		}
	}
}
