package diagnose

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
	"fiolat/pipeline"
)

// threeJobs are jobs that do different work: their latency and their I/Os per second relative to a device's.
var threeJobs = []struct {
	name         string
	options      jobfile.Options
	latency, ios float64
}{
	{"db", jobfile.Options{"rw": "randread", "bs": "8k", "iodepth": "8"}, 1, 0.5},
	{"wal", jobfile.Options{"rw": "read", "bs": "4k"}, 0.3, 0.4},
	{"scan", jobfile.Options{"rw": "read", "bs": "1m", "iodepth": "4"}, 5, 0.2},
}

// jobFault is a fault of a job, or of all, of some hosts.
type jobFault struct {
	name        string
	host        int    // -1: all
	job         string // "": all
	from, to    int    // seconds
	factor      float64
	share, slow float64 // of some I/Os, and their factor
}

var jobFaults = []jobFault{
	{name: "host x2 all run", to: 100, factor: 2},
	{name: "host x1.6 for a while", from: 35, to: 75, factor: 1.6},
	{name: "host x3 for a while", from: 40, to: 65, factor: 3},
	{name: "host x2 to the end", from: 50, to: 100, factor: 2},
	{name: "host's tail all run", to: 100, factor: 1, share: 0.04, slow: 15},
	{name: "host slow at first", to: 35, factor: 2},
	{name: "a host's db x2.5 all run", job: "db", to: 100, factor: 2.5},
	{name: "a host's scan x3 for a while", job: "scan", from: 40, to: 70, factor: 3},
}

// wide are faults of one job on all hosts.
var wide = []jobFault{
	{name: "db x2 to the end", host: -1, job: "db", from: 50, to: 100, factor: 2},
	{name: "wal x3 for a while", host: -1, job: "wal", from: 40, to: 65, factor: 3},
	{name: "scan x2 at first", host: -1, job: "scan", to: 35, factor: 2},
	{name: "all x2 for a while", host: -1, from: 40, to: 70, factor: 2},
}

// drawJobs makes a run of hosts with these jobs.
func drawJobs(seed uint64, dev *device, f *jobFault, hosts int) *simRun {
	const length = 100
	rng := rand.New(rand.NewPCG(seed, 77))
	g := fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
	r := &simRun{run: &pipeline.Run{ID: "sim", Geometry: g, Interval: second, Kind: fio.Clat}}
	states, meta := make([]state, hosts), new(fiojson.Document)
	for i := range hosts {
		r.hosts = append(r.hosts, fmt.Sprintf("h%02d", i))
		states[i].own = math.Exp(0.03 * rng.NormFloat64())
		for _, j := range threeJobs {
			e := fiojson.Entry{JobName: j.name, Host: r.hosts[i], Options: j.options}
			e.Dirs[fio.Read].TotalIOs = 1
			meta.Entries = append(meta.Entries, e)
		}
	}
	r.run.Metas = []*fiojson.Document{meta}
	bad := rng.IntN(hosts)
	if f != nil {
		r.from, r.to = f.from, f.to
		switch {
		case f.host < 0 && f.job != "":
			r.bad = []string{f.job}
		case f.host < 0:
		case f.job != "":
			r.bad = []string{r.hosts[bad] + "." + f.job}
		default:
			r.bad = []string{r.hosts[bad]}
		}
	}
	for t := range length {
		q := &pipeline.Interval{Offset: int64(t) * second}
		for i := range states {
			s := &states[i]
			dev.second(rng, s)
			for _, j := range threeJobs {
				on := f != nil && (f.host < 0 || i == bad) && (f.job == "" || f.job == j.name) && t >= f.from &&
					t < f.to
				mean, factor := 1.0, 1.0
				if on {
					factor = f.factor
					mean = factor * (1 + f.share*(f.slow-1))
				}
				ios := dev.ios * j.ios / s.own / s.slow / mean * math.Exp(0.03*rng.NormFloat64())
				h := new(fiohist.Hist)
				for range max(int(ios), 1) {
					ns := dev.ns(rng, s) * factor * j.latency
					if on && rng.Float64() < f.share {
						ns *= f.slow
					}
					h.Add(g.Index(int64(ns)), 1)
				}
				q.Leaves = append(q.Leaves, pipeline.Leaf{Dims: fio.Dims{Host: r.hosts[i], Job: j.name,
					Log: r.hosts[i] + "." + j.name, Direction: "read"}, Hist: h})
			}
		}
		r.intervals = append(r.intervals, q)
	}
	return r
}

// TestUnlikeJobs prints how many faults are found of hosts whose jobs do different work, and how many quiet runs have
// findings.
func TestUnlikeJobs(t *testing.T) {
	n := draws(t, 1)
	for _, kind := range []struct {
		name   string
		faults []jobFault
		right  float64
	}{{"of one host", jobFaults, 0.7}, {"of all hosts", wide, 0.6}} {
		runs, right, first, others := 0, 0, 0, 0
		for k := range kind.faults {
			f := &kind.faults[k]
			r, fi, o := 0, 0, 0
			for d := range heldOut {
				for seed := range n {
					run := drawJobs(uint64(seed*10000+k*100+d), &heldOut[d], f, []int{3, 5, 8}[(seed+d+k)%3])
					found, _ := findingsOf(t, run)
					v := run.judge(&simFault{hosts: float64(btoi(run.bad == nil))}, found)
					runs, r, fi, o = runs+1, r+btoi(v.right), fi+btoi(v.first), o+btoi(v.others)
					if !v.first || len(v.said) > 1 {
						t.Logf("%s, %s, %d hosts: %v %d-%d: %s", f.name, heldOut[d].name, len(run.hosts), run.bad,
							run.from, run.to, strings.Join(v.said, " | "))
					}
				}
			}
			right, first, others = right+r, first+fi, others+o
			t.Logf("%-30s right %d, first %d, others named %d of %d", f.name, r, fi, o, n*len(heldOut))
		}
		t.Logf("faults %s: right %d, first %d, others named %d of %d", kind.name, right, first, others, runs)
		if float64(right) < kind.right*float64(runs) {
			t.Errorf("faults %s: want at least %.0f %% right", kind.name, 100*kind.right)
		}
	}
	quiet, named, any := 0, 0, 0
	for d := range heldOut {
		for seed := range 3 * n {
			run := drawJobs(uint64(900000+seed*100+d), &heldOut[d], nil, []int{1, 3, 5, 8}[(seed+d)%4])
			found, _ := findingsOf(t, run)
			job := slices.ContainsFunc(found, func(f judged) bool {
				return slices.Contains(f.who, "db") ||
					slices.Contains(f.who, "wal") || slices.Contains(f.who, "scan")
			})
			quiet, named, any = quiet+1, named+btoi(job), any+btoi(len(found) > 0)
			if len(found) > 0 {
				t.Logf("quiet, %s, %d hosts: %v", heldOut[d].name, len(run.hosts), found)
			}
		}
	}
	t.Logf("quiet: a job named in %d, anything in %d of %d", named, any, quiet)
	if named > quiet/20 {
		t.Error("want a job named in at most 5 % of quiet runs")
	}
}

// TestWork compares which jobs are peers: by their options, however these are written, or else by their names.
func TestWork(t *testing.T) {
	entry := func(job string, options ...string) fiojson.Entry {
		e := fiojson.Entry{JobName: job, Options: jobfile.Options{}}
		for i := 0; i < len(options); i += 2 {
			e.Options[options[i]] = options[i+1]
		}
		e.Dirs[fio.Read].TotalIOs = 1
		return e
	}
	w := &Watch{run: &pipeline.Run{Metas: []*fiojson.Document{{Entries: []fiojson.Entry{
		entry("plain"), entry("same", "rw", "read", "blocksize", "4096", "iodepth", "1", "write_hist_log", "x"),
		entry("deep", "iodepth", "8"), entry("large", "bs", "64k"), entry("paced", "rate_iops", "100"),
	}}}}}
	for _, tc := range []struct {
		a, b  string
		peers bool
	}{
		{"plain", "same", true}, {"plain", "deep", false}, {"plain", "large", false}, {"plain", "paced", false},
		{"unknown1", "unknown12", true}, {"unknown", "other", false}, {"plain", "unknown", false},
	} {
		if got := w.work("read", "", tc.a) == w.work("read", "", tc.b); got != tc.peers {
			t.Errorf("%s and %s: peers %v, want %v", tc.a, tc.b, got, tc.peers)
		}
	}
}

// TestSubject compares who a finding names among hosts with three jobs.
func TestSubject(t *testing.T) {
	calm := &simDevices[0]
	for _, tc := range []struct {
		name  string
		fault jobFault
		hosts int
		want  string // the start of the first finding
	}{
		{"a job of one host", jobFault{job: "db", to: 100, factor: 2}, 4, "Job db of host h0"},
		{"a host", jobFault{from: 40, to: 70, factor: 2}, 4, "Host h0"},
		{"a job of all hosts", jobFault{host: -1, job: "db", from: 40, to: 70, factor: 2}, 4,
			"Job db is 2.0 times as slow from 0:40 to 1:10: p50"},
		{"a job of one host alone", jobFault{host: -1, job: "wal", from: 50, to: 100, factor: 2}, 1,
			"Job wal is 2.0 times as slow from 0:50 to the end: p50"},
		{"all", jobFault{host: -1, from: 40, to: 70, factor: 2}, 4, "All reads are"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run := drawJobs(1, calm, &tc.fault, tc.hosts)
			full := &Full{Reread: func(ctx context.Context, sink pipeline.Sink) error { return run.pass(ctx, sink) }}
			if err := run.pass(t.Context(), full); err != nil {
				t.Fatal(err)
			}
			got := full.Diagnosis.Sentences(3)
			if !strings.HasPrefix(got[0], tc.want) || len(full.Diagnosis.Findings) != 1 {
				t.Errorf("got\n%s\nwant one finding, %s...", strings.Join(got, "\n"), tc.want)
			}
		})
	}
}

// TestAtEdge: members that are slow a little before all are, or after, are part of that.
func TestAtEdge(t *testing.T) {
	t.Parallel()
	w := &Watch{board: newBoard(fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}, 0, 1e9)}
	all := hit{when: when{window: window{40, 90}, outside: window{0, 90}}, size: 1}
	for name, c := range map[string]struct {
		window
		size float64
		want bool
	}{
		"a little before":       {window{38, 41}, 0.5, true},
		"much before":           {window{30, 41}, 0.5, false},
		"long afterwards":       {window{39, 60}, 0.5, false},
		"further off than all":  {window{38, 41}, 1.5, false},
		"at the end of the run": {window{88, 90}, 0.5, false},
	} {
		if got := w.atEdge(&hit{when: when{window: c.window}, size: c.size}, &all); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestExplains: single jobs explain what all I/Os have if they are few and the others do not have it; what jobs have at
// another time stays theirs.
func TestExplains(t *testing.T) {
	t.Parallel()
	w := &Watch{board: newBoard(fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}, 0, second)}
	g := w.board.group("read", slices.Index(dimensions, fio.ByJob))
	g.names = []string{"a", "b", "c", "d"}
	g.blocks = slices.Repeat([][]member{{{n: 50, p50: 1}, {n: 50, p50: 1}, {n: 50, p50: 1}, {n: 50, p50: 1}}}, 40)
	all := &hit{when: when{window: window{10, 20}}, direction: "read", shape: level{}}
	lone := func(from, to int, members ...int) hit {
		return hit{who: who{group: g, members: members, alone: true}, when: when{window: window{from, to}},
			direction: "read", shape: level{}}
	}
	for _, tt := range []struct {
		name string
		lone []hit
		left int // number of lone hits that stay
		ok   bool
	}{
		{"nobody", nil, 0, false},
		{"at another time", []hit{lone(25, 35, 0)}, 1, false},
		{"most of them", []hit{lone(10, 20, 0), lone(10, 20, 1), lone(11, 20, 2), lone(25, 35, 3)}, 1, false},
	} {
		left, ok := w.explains(all, tt.lone)
		if len(left) != tt.left || ok != tt.ok {
			t.Errorf("%s: %d are left, explained: %v", tt.name, len(left), ok)
		}
	}
}

// TestSameWork: jobs are peers if they do the same, wherever they do it.
func TestSameWork(t *testing.T) {
	t.Parallel()
	meta := new(fiojson.Document)
	for _, o := range []jobfile.Options{{"rw": "randread", "bs": "4k", "offset": "1g", "cpus_allowed": "0"},
		{"rw": "randread", "bs": "4096", "offset": "2g", "cpus_allowed": "1", "filename": "/dev/sdb", "size": "3g"},
		{"rw": "randread", "bs": "8k"}, {"rw": "randread", "bs": "4k", "zonemode": "zbd"}} {
		e := fiojson.Entry{JobName: fmt.Sprintf("j%d", len(meta.Entries)), Options: o}
		e.Dirs[fio.Read].TotalIOs = 1
		meta.Entries = append(meta.Entries, e)
	}
	w := &Watch{run: &pipeline.Run{Metas: []*fiojson.Document{meta}}}
	a, b, c, d := w.work("read", "", "j0"), w.work("read", "", "j1"), w.work("read", "", "j2"), w.work("read", "", "j3")
	if a != b || a == c || a == d {
		t.Errorf("%q, %q, %q, %q: want the first two the same, and the others unlike them", a, b, c, d)
	}
}
