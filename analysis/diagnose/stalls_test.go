package diagnose

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
)

const millisecond = int64(1e6)

// job is a made-up job on a device of its own.
type job struct {
	depth   int
	latency func(at int64) int64 // of an I/O issued at that time, ns
	think   func() int64         // between an I/O and the next one of its slot; nil: none
	stall   pipeline.Span        // nothing completes in it
	until   int64
}

// load makes the latencies of a job: see job.latency.
type load func(*rand.Rand) func(at int64) int64

// run returns the log that fio writes of the job, with windows of a second.
func (j *job) run() []byte {
	next := make([][2]int64, j.depth) // when the I/O of each slot was issued, and when it completes
	finish := func(at int64) [2]int64 {
		done := at + j.latency(at)
		if done >= j.stall.From && at < j.stall.To {
			done = max(done, j.stall.To+(done-j.stall.From)/1000%1e5)
		}
		return [2]int64{at, done}
	}
	for i := range next {
		next[i] = finish(0)
	}
	var out bytes.Buffer
	counts := make([]int, fiohist.Fio3.Columns())
	begin, windows := int64(-1), int64(0)
	for {
		slot := 0
		for i := range next {
			if next[i][1] < next[slot][1] {
				slot = i
			}
		}
		issued, now := next[slot][0], next[slot][1]
		if now > j.until {
			return out.Bytes()
		}
		stamp := now / millisecond
		if begin < 0 && stamp > 0 {
			begin = stamp
		}
		counts[fiohist.Fio3.Index(now-issued)]++
		if begin >= 0 && stamp >= begin+(windows+1)*1000 {
			windows++
			out.Write(strconv.AppendInt(nil, stamp, 10))
			out.WriteString(", 0, 4096")
			for b, n := range counts {
				out.WriteString(", ")
				if n == 0 {
					out.WriteByte('0')
				} else {
					out.WriteString(strconv.Itoa(n))
				}
				counts[b] = 0
			}
			out.WriteByte('\n')
		}
		at := now
		if j.think != nil {
			at += j.think()
		}
		next[slot] = finish(at)
	}
}

// logNormals returns latencies with a median in ns.
func logNormals(rng *rand.Rand, median, sigma float64) func(int64) int64 {
	return func(int64) int64 { return int64(median * math.Exp(sigma*rng.NormFloat64())) }
}

// bursty returns latencies that are factor times as long in a fifth of the time, in bursts of a mean length in ns.
func bursty(rng *rand.Rand, median, factor, length float64) func(int64) int64 {
	slow, until := false, int64(0)
	plain := logNormals(rng, median, 0.4)
	return func(at int64) int64 {
		for at >= until {
			mean := length
			if slow = !slow; !slow {
				mean *= 4
			}
			until += int64(mean * rng.ExpFloat64())
		}
		ns := plain(at)
		if slow {
			ns = int64(float64(ns) * factor)
		}
		return ns
	}
}

// diagnoseJobs writes the logs of jobs, one for each host, and diagnoses them.
func diagnoseJobs(t *testing.T, jobs []job) []Stall {
	t.Helper()
	dir := t.TempDir()
	for i := range jobs {
		name := filepath.Join(dir, fmt.Sprintf("s_clat_hist.1.log.host%02d", i))
		if err := os.WriteFile(name, jobs[i].run(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return diagnosePath(t, dir).Stalls()
}

// diagnosePath returns what is known of the run in a folder, of all hosts or of some.
func diagnosePath(t *testing.T, dir string, hosts ...string) *Full {
	t.Helper()
	runs, err := ingest.Discover([]string{dir}, ingest.DiscoverOptions{Kind: fio.Clat})
	if err != nil || len(runs) != 1 {
		t.Fatalf("%s: %d runs, %v", dir, len(runs), err)
	}
	settings := fio.Defaults()
	settings.By, settings.Percentiles = By, Percentiles
	p, err := plan.Prepare(t.Context(), runs[0], plan.Config{Workers: 2, Pauses: true, LeavesOnly: true,
		Settings: settings, Pick: pipeline.Pick{Hosts: hosts}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	full := Full{Reread: func(ctx context.Context, sink pipeline.Sink) error { return p.Reread(ctx, sink, nil) }}
	if _, err := p.Process(t.Context(), &full); err != nil {
		t.Fatal(err)
	}
	return &full
}

// TestStalls: of 16 hosts some stand still for 1 to 10 s. They alone are named, with the times of it.
func TestStalls(t *testing.T) {
	runs := draws(t, 1)
	kinds := []struct {
		name  string
		depth int
		load  load
	}{
		{"1000 IOPS, depth 1", 1, func(rng *rand.Rand) func(int64) int64 { return logNormals(rng, 1e6, 0.3) }},
		{"100 IOPS, depth 4", 4, func(rng *rand.Rand) func(int64) int64 { return logNormals(rng, 40e6, 0.3) }},
		{"500 IOPS, depth 16", 16, func(rng *rand.Rand) func(int64) int64 { return logNormals(rng, 32e6, 0.5) }},
		{"bursts, depth 1", 1, func(rng *rand.Rand) func(int64) int64 { return bursty(rng, 1e6, 20, 2e8) }},
		{"bursts, depth 16", 16, func(rng *rand.Rand) func(int64) int64 { return bursty(rng, 16e6, 8, 2e8) }},
	}
	for _, kind := range kinds {
		for _, stalled := range []int{1, 3, 8, 16} {
			t.Run(fmt.Sprintf("%s, %d", kind.name, stalled), func(t *testing.T) {
				named, times := 0, 0
				for seed := range runs {
					rng := rand.New(rand.NewPCG(uint64(seed), uint64(stalled)))
					jobs := make([]job, 16)
					length := second + rng.Int64N(9*second)
					from := 4*second + rng.Int64N(20*second)
					var want []string
					for i := range jobs {
						jobs[i] = job{depth: kind.depth, latency: kind.load(rng), until: 40 * second}
					}
					for _, i := range rng.Perm(16)[:stalled] {
						jobs[i].stall = pipeline.Span{From: from, To: from + length}
						want = append(want, fmt.Sprintf("host%02d", i))
					}
					slices.Sort(want)
					got := diagnoseJobs(t, jobs)
					if len(got) != 1 || !slices.Equal(got[0].Values, want) {
						t.Logf("seed %d: %s", seed, describe(got, from, length))
						continue
					}
					named++
					since, until := from/millisecond, (from+length)/millisecond
					off := max(got[0].SinceMS-since, since-got[0].SinceMS, got[0].UntilMS-until, until-got[0].UntilMS)
					if off <= 50 {
						times++
					} else {
						t.Logf("seed %d: off by %d ms: %s", seed, off, describe(got, from, length))
					}
				}
				t.Logf("%d of %d named alone, %d with their times", named, runs, times)
				if named < runs || times < runs {
					t.Errorf("%d of %d named alone, %d with their times", named, runs, times)
				}
			})
		}
	}
}

// TestNoStalls: no host of a run without stalls is named.
func TestNoStalls(t *testing.T) {
	plain := func(median float64) load {
		return func(rng *rand.Rand) func(int64) int64 { return logNormals(rng, median, 0.5) }
	}
	bursts := func(median, factor, length float64) load {
		return func(rng *rand.Rand) func(int64) int64 { return bursty(rng, median, factor, length) }
	}
	for _, kind := range []struct {
		name    string
		depth   int
		latency load
		think   func(*rand.Rand) func() int64
	}{
		{"quiet, depth 1", 1, plain(1e6), nil},
		{"quiet, depth 16", 16, plain(32e6), nil},
		{"10 IOPS", 1, plain(100e6), nil},
		{"2 IOPS", 1, plain(500e6), nil},
		{"one I/O takes 1.5 s, depth 16", 16, plain(1.5e9), nil},
		{"bursts, depth 1", 1, bursts(1e6, 20, 2e8), nil},
		{"long bursts, depth 1", 1, bursts(1e6, 100, 2e9), nil},
		{"bursts, depth 4", 4, bursts(4e6, 50, 5e8), nil},
		{"bursts, depth 16", 16, bursts(16e6, 8, 2e8), nil},
		{"long bursts, depth 16", 16, bursts(8e6, 50, 1e9), nil},
		{"bursts of slow I/Os, depth 16", 16, bursts(2e6, 500, 3e8), nil},
		{"5 IOPS at random", 4, plain(5e6), func(rng *rand.Rand) func() int64 {
			return func() int64 { return int64(800e6 * rng.ExpFloat64()) }
		}},
		{"1 IOPS at random", 4, plain(5e6), func(rng *rand.Rand) func() int64 {
			return func() int64 { return int64(4e9 * rng.ExpFloat64()) }
		}},
		{"thinks 2 s after 1000 I/Os", 1, plain(1e6), func(*rand.Rand) func() int64 {
			n := 0
			return func() int64 {
				if n++; n%1000 == 0 {
					return 2 * second
				}
				return 0
			}
		}},
		{"cold start", 4, func(rng *rand.Rand) func(int64) int64 {
			load := logNormals(rng, 4e6, 0.3)
			return func(at int64) int64 {
				if at < 3*second/2 {
					return 3*second/2 - at + load(at)
				}
				return load(at)
			}
		}, nil},
	} {
		t.Run(kind.name, func(t *testing.T) {
			runs, named := draws(t, 1), 0
			for seed := range runs {
				rng := rand.New(rand.NewPCG(uint64(seed), 77))
				jobs := make([]job, 8)
				for i := range jobs {
					jobs[i] = job{depth: kind.depth, latency: kind.latency(rng), until: 60 * second}
					if kind.think != nil {
						jobs[i].think = kind.think(rng)
					}
				}
				if got := diagnoseJobs(t, jobs); len(got) > 0 {
					named++
					t.Logf("seed %d: %s", seed, fmt.Sprint(got[0].Values))
				}
			}
			if named > 0 {
				t.Errorf("%d of %d named", named, runs)
			}
		})
	}
}

// TestRealStalls: one of the hosts of real runs stood still. The I/Os of the slow device take longer than a window.
func TestRealStalls(t *testing.T) {
	for _, tc := range []struct{ folder, want string }{
		{"testdata/stalled-host", "Host osd3 stalled from 0:15.5 to 0:18.5: no I/O completed; the slowest took 3 s."},
		{"testdata/false-stalls", "Job a stalled from 0:00.0 to 0:04.0: no I/O completed; the slowest took 4.02 s."},
		// No reply from 0:08 to 0:12 and from 0:20 to 0:28; all others took 0.4 s. Coarse buckets leave the begins
		// open.
		{"testdata/two-stalls-missed", "Job a stalled from 0:08.1-0:08.4 to 0:12.4: no I/O completed; the slowest " +
			"took 4.03 s.Job a stalled from 0:20.1-0:20.4 to 0:28.4: no I/O completed; the slowest took 8.15 s."},
		{"testdata/hang", "Job j3 stalled from 0:09.8 to 1:09.7: no I/O completed; the slowest took 60 s."},
		{"../../testdata/fio/slow", ""},
	} {
		got := ""
		full := diagnosePath(t, tc.folder)
		for _, f := range full.stallFindings(full.Stalls()) {
			got += f.Text
		}
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.folder, got, tc.want)
		}
	}
}

// TestOwnIOs: the read of 2.9 s that a stall held up is part of it, and not of what follows, where all take 10 to 30
// ms.
func TestOwnIOs(t *testing.T) {
	full := diagnosePath(t, "testdata/steady-p99-of-stall")
	d, blocks := full.Diagnosis, full.board.pooled["read"]
	after := blocks[len(blocks)-4].Stats(full.board.geometry, []float64{99}, fiohist.Limits{})
	if len(d.Stalls) != 1 || len(d.Findings) != 1 || after.Percentiles[0] > 40e6 {
		t.Errorf("%d stalls, then %+v: %+v", len(d.Stalls), after, d.Findings)
	}
}

// TestShortened: a host that ended early or completed nothing is named, and none where jobs have no usual length.
func TestShortened(t *testing.T) {
	for _, tc := range []struct {
		name  string
		until []int64 // s
		want  string
	}{
		{"all alike", []int64{30, 30, 31, 30, 30}, ""},
		{"one early", []int64{30, 30, 15, 30, 30}, "Host host02 ended at 0:14.0, the others at about 0:29.0."},
		{"one never", []int64{30, 30, 30, 0}, "Host host03 completed nothing in the whole run."},
		{"of all lengths", []int64{30, 10, 15, 22, 27}, ""},
		{"half of them", []int64{30, 30, 30, 15, 15, 15}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 1))
			dir, got := t.TempDir(), ""
			for i, until := range tc.until {
				name := filepath.Join(dir, fmt.Sprintf("s_clat_hist.1.log.host%02d", i))
				j := job{depth: 1, latency: logNormals(rng, 1e6, 0.3), until: until * second}
				if err := os.WriteFile(name, j.run(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, f := range diagnosePath(t, dir).shortened() {
				got += f.Text
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func describe(got []Stall, from, length int64) string {
	text := fmt.Sprintf("want %.3f to %.3f, got", float64(from)/1e9, float64(from+length)/1e9)
	for i := range got {
		text += " " + fmt.Sprint(got[i].Values, got[i].SinceMS, got[i].UntilMS)
	}
	return text
}

// TestStallOfOneLog: a log that stood still is told from that of the same name of another host, also once it is stored.
func TestStallOfOneLog(t *testing.T) {
	newRun := func() *pipeline.Run {
		run := &pipeline.Run{Settings: fio.Defaults()}
		for _, host := range []string{"a", "b"} {
			for _, log := range []string{"1", "2"} {
				run.Logs = append(run.Logs, &pipeline.Log{Log: &ingest.Log{Host: host, Job: "j", LogName: log},
					End: 60 * second})
			}
		}
		return run
	}
	run, stored := newRun(), newRun()
	run.Logs[3].Stalls = []pipeline.LogStall{{Span: pipeline.Span{From: 10 * second, To: 13 * second}, Factor: 7}}
	w := &Watch{run: run}
	found := w.Stalls()
	if len(found) != 1 || w.stallFindings(found)[0].Text !=
		"Log 2 of host b stalled from 0:10.0 to 0:13.0: no I/O completed." {
		t.Fatalf("got %+v", found)
	}
	run.Logs[1].Stalls = []pipeline.LogStall{{Span: pipeline.Span{From: 10 * second, To: 15 * second}, Factor: 7}}
	if two := w.Stalls(); len(two) != 2 {
		t.Errorf("stalls that end at different times: %+v, want both", two)
	}
	stored.Stalled(&found[0].Stall)
	if again := (&Watch{run: stored}).Stalls(); !reflect.DeepEqual(again, found) {
		t.Errorf("got %+v, want %+v", again, found)
	}
}
