package plan

import (
	"bytes"
	"cmp"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/testkit"
	"fiolat/pipeline"
)

// alarm are words that call a run incomplete.
var alarm = regexp.MustCompile(`\blost\b|no quantum|damaged|garbage|are missing|too high|too many|belong together|` +
	`whole\?`)

// perSecond are true I/Os by second, from the first one given; the others have none.
type perSecond struct {
	from int
	ios  []float64
}

// of names a row as tests of seconds do.
func of(r pipeline.Row) string { return strings.Trim(r.Dims.Job+" "+r.Dims.Direction, " ") }

// TestSlowDevices reads logs of devices that were slow, stalled, failed or lost a thread, of which every single I/O is
// known, and of jobs whose rate is known: what completed in each second, by direction or by job and direction, and what
// must be warned of.
func TestSlowDevices(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		repair string // "": the default
		by     []string
		want   map[string]perSecond
		warns  string // part of a warning that calls the run incomplete; "": none may
		lost   float64
		total  map[string]float64 // true I/Os of the whole run, as those by second
		off    float64            // I/Os by which a second may be off, to a reader who knows the windows; 0: few
	}{
		{name: "01-false-head-late", want: map[string]perSecond{
			"read": {3, []float64{32, 0, 0, 32, 0, 0, 32, 0, 0, 32}}}},
		{name: "03-false-no-record", want: map[string]perSecond{"read": {3, []float64{128}}}},
		{name: "04-false-end-hang", want: map[string]perSecond{"read": {0, []float64{96, 96, 94, 64}}}},
		{name: "05-false-end-poisson", want: map[string]perSecond{
			"read": {0, []float64{92, 87, 101, 95, 91, 104}}}, off: 5},
		{name: "07-false-client-head", want: map[string]perSecond{
			"read": {3, []float64{16, 0, 0, 16, 0, 0, 16, 0, 0, 16}}}},
		{name: "08-false-verify-threads", want: map[string]perSecond{
			"read": {2, []float64{72, 152, 160, 16}}, "write": {0, []float64{152, 160, 88}}}, off: 9},
		{name: "09-tail-smeared", want: map[string]perSecond{"read": {0, []float64{100, 100, 100, 100, 100}}}},
		{name: "12-tail-before-latency", want: map[string]perSecond{"read": {12, []float64{16}}}},
		{name: "13-first-window-late", want: map[string]perSecond{
			"read": {0, append(append([]float64{999}, make([]float64, 19)...), 26)}}, off: 21},
		{name: "16-killed-worker", want: map[string]perSecond{"read": {0, []float64{200, 200, 200, 200, 200}}},
			warns: "1018 of the 2020 reads of job \"a\" are lost, and in no interval: the job has 2 threads, of which",
			lost:  1018},
		{name: "18-window-length-guessed", want: map[string]perSecond{ // without fio's JSON, which knows the last 99
			"read": {0, []float64{99, 101, 100, 0, 0, 0, 0, 0, 600}}}, off: 7},
		{name: "20-client-unrepaired-holes", warns: "may be damaged by fio --client"},
		{name: "20-client-unrepaired-holes", repair: "yes", want: map[string]perSecond{
			"read": {0, []float64{99, 101, 99, 1, 0, 0, 0, 0, 600, 98, 2}}}, off: 5},
		{name: "21-concurrency", want: map[string]perSecond{
			"read": {3, []float64{32, 0, 0, 32, 0, 0, 32, 0, 0, 32}}}},
		{name: "23-group-tail-shares", want: map[string]perSecond{
			"read": {0, []float64{196, 202, 197, 203, 101, 100, 101, 98, 91, 109, 102}}}, off: 12},
		{name: "group-readers-writer", by: []string{"job"}, want: map[string]perSecond{
			"readers read": {0, slices.Repeat([]float64{1000}, 30)},
			"writer write": {0, slices.Repeat([]float64{200}, 30)}}, off: 12,
			total: map[string]float64{"readers read": 29997, "writer write": 6000}},
		{name: "24-frozen-but-for-bursts", want: map[string]perSecond{
			"read": {2, []float64{5713, 0, 5504, 16, 0, 5632, 0, 5633, 16}}}, off: 45},
		{name: "25-stages-in-one-log", by: []string{"job"}, want: map[string]perSecond{
			"a read": {0, []float64{300, 300, 300}}, "b read": {3, []float64{239, 300, 300, 61}}}},
		{name: "26-boot-clock", by: []string{"job"}, want: map[string]perSecond{
			"a read": {0, []float64{300, 302, 300, 150}}, "b read": {2, []float64{300, 300, 300, 152}}}},
		{name: "false-loss-begin22", want: map[string]perSecond{"read": {22, []float64{41, 43, 44, 44, 40, 41, 1}}}},
		{name: "false-loss-coarse", want: map[string]perSecond{ // that they came at the start of a window is not known
			"read": {2, []float64{64, 0, 0, 64, 0, 64, 0, 0, 64, 0, 64}}}, off: 33},
		{name: "tail-after-runtime", want: map[string]perSecond{
			"read":  {0, []float64{295, 296, 297, 295, 311, 297, 295, 297, 312, 297}},
			"write": {0, []float64{99, 98, 99, 99, 103, 99, 99, 99, 104, 99}}}, off: 26},
		{name: "group-runtimes", want: map[string]perSecond{
			"read": {0, []float64{600, 600, 600, 600, 400, 400, 400, 200, 200, 200, 200, 199, 201}}}},
		{name: "group-sizes", want: map[string]perSecond{
			"read": {0, []float64{1451, 1111, 900, 729, 596, 598, 555, 297, 302, 301, 72}}}},
		{name: "full-queue", want: map[string]perSecond{ // a stall from 0:06 to 0:10, in a window of 10 s
			"read": {0, []float64{448, 496, 417, 480, 464, 481, 16, 0, 0, 0, 431, 464, 448, 480, 432, 496, 416, 480,
				448, 448, 448, 468, 476, 464, 464, 16}}}, off: 50},
		{name: "pjl0-refused", want: map[string]perSecond{
			"read": {0, []float64{793, 784, 793, 818, 790, 791, 794, 799, 816, 781}}}, off: 45},
		{name: "pjl0-misfit", want: map[string]perSecond{
			"read": {0, []float64{300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 3}}}},
		{name: "pjl0-short", want: map[string]perSecond{"read": {0, []float64{201}}}}, // too short for a record
		{name: "pjl0-unwritten", want: map[string]perSecond{"read": {0, []float64{62, 60}}}, off: 2},
		{name: "pjl0-group-ends", want: map[string]perSecond{ // one log, in which a section goes on for a second
			"write": {0, []float64{420, 418, 421, 301, 1}}}, off: 90},
		{name: "ends-all", want: map[string]perSecond{
			"read": {0, []float64{480, 509, 499, 498, 502, 506, 493, 473, 402, 385, 315, 303, 162}}}, off: 16},
		{name: "ends-90-10-size", want: map[string]perSecond{
			"read":  {0, []float64{357, 359, 364, 289, 238, 238, 222, 118, 122, 117, 33}},
			"write": {0, []float64{90, 90, 90, 73, 60, 59, 56, 30, 30, 29, 8}}}, off: 12},
		{name: "number-ios-mixed", want: map[string]perSecond{
			"read":  {0, []float64{178, 179, 183, 179, 177, 184, 179, 180, 32, 30, 30, 30, 30, 30, 30, 30}},
			"write": {0, []float64{58, 62, 60, 59, 61, 60, 59, 60, 30, 30, 30, 30, 30, 30, 30, 30}}}, off: 7},
		{name: "short-beside-long", want: map[string]perSecond{
			"read": {0, []float64{51, 51, 51, 51, 51, 51, 51, 51, 51, 51, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20,
				20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20}},
			"write": {0, []float64{14, 14, 14, 14, 14, 14, 14, 14, 14, 14}}}, off: 3},
		{name: "empty-logs-time", want: map[string]perSecond{
			"read":  {0, []float64{938, 956, 24}},
			"write": {0, []float64{961, 988, 24}}}, off: 170},
		{name: "pjl0-group-lost", want: map[string]perSecond{
			"read": {0, []float64{100, 100, 100, 99, 99, 102, 1}}}, off: 50},
		{name: "bursts", want: map[string]perSecond{
			"read": {0, []float64{270, 69, 71, 70, 70, 270, 70, 70, 70, 69, 271, 70, 70, 70, 70, 269, 70, 71, 70,
				70}}}, off: 8},
		{name: "empty-log-rate", warns: "L_clat_hist.1.log.127.0.0.3: 2399 of the 2399 reads of " +
			`job "a" are lost, and in no interval: rate_iops lets 304 I/Os through until its last window ends`,
			lost: 2399},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := fio.Defaults()
			s.Interval, s.By = time.Second, append([]string{"direction"}, tt.by...)
			s.Repair = cmp.Or(tt.repair, s.Repair)
			scope := strings.Join(append(tt.by, "direction"), "+")
			var alarms []string
			got, err := process(t, Config{Settings: s, Warn: func(w string) {
				if alarm.MatchString(w) && !strings.Contains(w, "repaired (fio --client") {
					alarms = append(alarms, w)
				}
			}}, filepath.Join("testdata/cases", tt.name))
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range got.Rows {
				if r.Scope != scope || tt.want == nil {
					continue
				}
				second := int(got.Offsets[i] / int64(time.Second))
				want := 0.0
				if p := tt.want[of(r)]; second >= p.from && second < p.from+len(p.ios) {
					want = p.ios[second-p.from]
				}
				if math.Abs(r.Stats.Samples-want) > max(3, 0.03*want, tt.off) {
					t.Errorf("%s %s second %d: %.1f I/Os, %.0f are true", r.Dims.Job, r.Dims.Direction, second,
						r.Stats.Samples, want)
				}
			}
			for _, r := range got.Sum.Total {
				n, want := r.Stats.Samples, tt.total[of(r)]
				if tt.total != nil && r.Scope == scope && math.Abs(n-want) > 1e-6 {
					t.Errorf("%s: %v I/Os, want %v", of(r), n, want)
				}
			}
			if said := strings.Join(alarms, "\n"); tt.warns == "" && said != "" || !strings.Contains(said, tt.warns) ||
				len(alarms) > 1 && tt.lost == 0 {
				t.Errorf("warned %q, want %q", alarms, tt.warns)
			}
			if a := got.Sum.Account; a.NotPlaced != tt.lost {
				t.Errorf("%v I/Os not placed, want %v", a.NotPlaced, tt.lost)
			}
		})
	}
}

// TestEmptyLog: beside fio's JSON, a log without a record sets no grid.
func TestEmptyLog(t *testing.T) {
	t.Parallel()
	var said [2]fiohist.Stats
	for i, path := range []string{"", "fio.json"} {
		got, err := process(t, Config{Settings: fio.Defaults()}, filepath.Join("testdata/cases/empty-log-coarse", path))
		if err != nil {
			t.Fatal(err)
		}
		said[i] = got.Sum.Total[0].Stats
	}
	const mean, stddev = 314.8e6, 9.02e6 // of fio.json
	for _, s := range said {
		if math.Abs(s.Mean-mean) > 1e5 || math.Abs(s.StdDev-stddev) > 1e5 {
			t.Errorf("mean %v, stddev %v", s.Mean, s.StdDev)
		}
	}
}

// TestOlderJSON: fio's JSON of --status-interval may be of before the job ended; it is not used, with the reason.
func TestOlderJSON(t *testing.T) {
	t.Parallel()
	stream, err := os.ReadFile(filepath.Join(real, "live", "fio-status.json"))
	if err != nil {
		t.Fatal(err)
	}
	docs := bytes.SplitAfterN(stream, []byte("\n}\n"), 4) // of 12 s, the first 5.6 s
	all := map[string][]byte{"fio.json": bytes.Join(docs[:3], nil)}
	for _, log := range []string{"live_clat_hist.1.log", "live_clat_hist.2.log"} {
		if all[log], err = os.ReadFile(filepath.Join(real, "live", log)); err != nil {
			t.Fatal(err)
		}
	}
	warnings, c := warned(t, testkit.Files(t, all))
	said := strings.Join(warnings, "\n")
	if !strings.Contains(said, `fio's JSON is older: it counts 5580 ms of job "live"`) {
		t.Errorf("warned %q", said)
	}
	if a := c.Sum.Account; a.Restored != 0 || a.NotPlaced != 0 || a.Placed != a.Logged {
		t.Errorf("%v logged, %v restored, %v not placed, %v placed", a.Logged, a.Restored, a.NotPlaced, a.Placed)
	}
}

// TestConcurrency has 32 reads of 3 s in flight all the time.
func TestConcurrency(t *testing.T) {
	for _, align := range []string{"overlap", "inflight"} {
		s := fio.Defaults()
		s.Interval, s.Align = time.Second, align
		got, err := process(t, Config{Settings: s}, "testdata/cases/21-concurrency")
		if err != nil {
			t.Fatal(err)
		}
		in := 0
		for i, r := range got.Rows {
			n, known := r.Concurrency()
			second := got.Offsets[i] / int64(time.Second)
			if r.Scope != "run" || second < 1 || second > 10 {
				continue
			}
			if in++; known != (align == "inflight") || known && math.Abs(n-32) > 12 {
				t.Errorf("%s, second %d: %v in flight, known: %v", align, second, n, known)
			}
		}
		if in != 10 {
			t.Errorf("%s: %d seconds", align, in)
		}
		for _, r := range got.Sum.Total {
			if n, known := r.Concurrency(); !known || math.Abs(n-32) > 4 {
				t.Errorf("%s: %v in flight in the whole run's %s, known: %v", align, n, r.Scope, known)
			}
		}
	}
}
