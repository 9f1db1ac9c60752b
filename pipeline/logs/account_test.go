package logs_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/pipeline"
)

// TestPausesOf: when a direction completed nothing, in ms: likely from and to, and the longest I/O that was delayed,
// to 40 ms, which are more than a bucket of 3 s is wide; certainly for so long at least, and no longer.
func TestPausesOf(t *testing.T) {
	t.Parallel()
	const busy = "1000 r 100*1ms; 2000 r 100*1ms; 3000 r 100*1ms; 4000 r 100*1ms; "
	type pause struct {
		from, to, certain, longest int64
		open, first                bool
	}
	for _, tt := range []struct {
		name string
		logs string
		jobs []job
		want pause
	}{
		{"between single I/Os", "s1: 100 r 1*1ms; 200 r 1*1ms; 3200 r 1*3s; 3300 r 1*1ms", nil,
			pause{from: 200, to: 3200, certain: 3000, longest: 3000}},
		// 50 I/Os took half of the window; the next one ended it 2.5 s late.
		{"between records", "1: " + busy + "7500 r 50*1ms 1*3s; 7501 r 1*1ms; 7502 r 1*1ms; 8000 r 50*1ms", nil,
			pause{from: 4500, to: 7500, certain: 2500, longest: 3000}},
		{"until the job ended", "1: " + busy, []job{{counts: "r 450*1ms", ms: 9000}},
			pause{from: 4500, to: 9000, certain: 4000, open: true}},
		{"before the first I/O", "1: 4000 r 100*1ms 1*3s; 5000 r 100*1ms", []job{{counts: "r 200*1ms 1*3s", ms: 5000}},
			pause{from: 0, to: 3000, certain: 3000, longest: 3000, first: true}},
	} {
		w := read(t, tt.logs, tt.jobs, "log-hist-msec=1000")
		p := w.Run.Logs[0].Dirs[fio.Read].Pauses
		got := slices.MaxFunc(p.Longest, func(a, b pipeline.Pause) int { return int(a.Certain - b.Certain) })
		near := func(ns, ms int64) bool { return max(ns-ms*1e6, ms*1e6-ns) <= 40e6 }
		if !near(got.From, tt.want.from) || !near(got.To, tt.want.to) || got.Certain < tt.want.certain*1e6 ||
			got.Certain > (tt.want.to-tt.want.from)*1e6 ||
			tt.want.longest > 0 && !near(got.Longest, tt.want.longest) || got.Open != tt.want.open ||
			got.First != tt.want.first || !got.Open && (got.Began.From > got.From || got.Began.To < got.From) {
			t.Errorf("%s: %+v of %+v", tt.name, got, p)
		}
	}
	// The times from the stamps before to 200, 3200 and 3300 ms are all that nothing completed in.
	p := read(t, "s1: 100 r 1*1ms; 200 r 1*1ms; 3200 r 1*3s; 3300 r 1*1ms", nil, "").Run.Logs[0].Dirs[fio.Read].Pauses
	if p.IOs != 4 || p.Records != 3 || p.Late != 3200e6 || p.Squares != (0.1*0.1+3*3+0.1*0.1)*1e18 ||
		p.Last != 3300e6 {
		t.Errorf("%+v", p)
	}
	latency := read(t, "1: "+busy, nil, "log-hist-msec=1000").Run.Logs[0].Dirs[fio.Read].Pauses.Latency
	if latency < 0.99e6 || latency > 1.01e6 {
		t.Errorf("I/Os of 1 ms took %v ns", latency)
	}
}

// TestSharesByLatency: of a group's tail each log gets I/Os like its own: half of its own are of 1 ms, or of 100 ms.
func TestSharesByLatency(t *testing.T) {
	t.Parallel()
	w := read(t, "1: "+made(3, 1000)+"| 2: "+strings.ReplaceAll(made(3, 1000), "1ms", "100ms"), []job{{ms: 3500,
		counts: "r 35*1ms 35*100ms", options: "numjobs=2 group_reporting=1 iodepth=8 ioengine=libaio"}}, "")
	seen := 0
	for i, r := range w.Rows {
		if r.Scope != fio.Scope([]string{fio.ByLog, fio.ByDirection}) || w.Offsets[i] != 3e9 {
			continue
		}
		seen++
		ms := map[bool]float64{true: 1, false: 100}[strings.Contains(r.Dims.Log, ".1.")]
		if p50 := r.Stats.Percentiles[0] / 1e6; r.Stats.Samples != 5 || p50 < 0.99*ms || p50 > 1.01*ms {
			t.Errorf("%s: %v I/Os, p50 %v ms", r.Dims.Log, r.Stats.Samples, p50)
		}
	}
	if seen != 2 || w.said != "" {
		t.Errorf("%d logs; said %s", seen, w.said)
	}
}

// TestAccounted: what a log is known by, and that its I/Os are those that fio counted, or lost.
func TestAccounted(t *testing.T) {
	t.Parallel()
	records := made(3, 1000) + "3000 r 1*20s;"
	w := read(t, "1: "+records, []job{{counts: "r 30*1ms 1*20s 2*3s", ms: 3500}}, "")
	text := logText(records, true)
	want := fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%d\n%s", len(text), text)))
	if got := w.Run.Logs[0].Hash; got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
	a := w.Sum.Account
	if a.Records != 4 || a.RecordsEqual != 1 || a.Logged != 31 || a.Counted != 33 || a.Missing != 2 ||
		a.NotPlaced != 2 || a.Placed != 31 || a.Restored != 0 || a.LastBucket != 1 || a.Logs != 1 {
		t.Errorf("%+v", a)
	}
	if len(a.Lost) != 1 || a.Lost[0].IOs != 2 || a.Lost[0].Until != 3500e6 || a.Lost[0].Direction != "read" ||
		a.Lost[0].Job != "j1" {
		t.Errorf("lost %+v", a.Lost)
	}
	d := w.plan.Report()[0].Dirs
	if len(d) != 1 || d[0].Records != 4 || d[0].EqualStamps != 1 || d[0].IOs != 31 || d[0].First != time.Second ||
		d[0].Last != 3*time.Second || !d[0].CountedKnown || d[0].Counted != 33 || d[0].Repaired {
		t.Errorf("reported %+v", d)
	}
}
