package plan

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/internal/testkit"
	"fiolat/pipeline/pipelinetest"
)

// realRuns are folders of real logs with fio's JSON.
var realRuns = []string{"randrw", "exact", "gaps", "slow", "epoch", "trim", "latkinds", "cluster", "startdelay", "live"}

// warned runs a folder through the pipeline and returns its warnings and summary.
func warned(t *testing.T, dir string) (warnings []string, c *pipelinetest.Collect) {
	t.Helper()
	s := fio.Defaults()
	s.Interval = time.Second
	ins, err := ingest.Discover([]string{dir}, ingest.DiscoverOptions{})
	if err != nil || len(ins) != 1 {
		t.Fatalf("%s: %d runs, %v", dir, len(ins), err)
	}
	p, err := Prepare(t.Context(), ins[0], Config{Settings: s, Workers: 1,
		Warn: func(w string) { warnings = append(warnings, w) }})
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	defer p.Close()
	c = new(pipelinetest.Collect)
	if _, err := p.Process(t.Context(), c); err != nil {
		return []string{err.Error()}, nil
	}
	return warnings, c
}

// TestClientHead: over fio --client the first two records also hold what lost ones before them held; rate_iops proves
// it.
func TestClientHead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/cases/empty-log-rate")); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "L_clat_hist.1.log.127.0.0.1")
	data, err := os.ReadFile(log)
	if err == nil {
		err = os.WriteFile(log, bytes.Join(bytes.SplitAfter(data, []byte("\n"))[5:], nil), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	warnings, _ := warned(t, dir)
	if said := strings.Join(warnings, "\n"); !strings.Contains(said, `127.0.0.1: of the reads of job "a", records before `+
		"its first are lost, and their I/Os are counted in its first two, which hold 1062") {
		t.Errorf("warned %q", said)
	}
}

// TestIntactLogs: what is missing from intact logs is their tail, and nothing is lost; nor
// without fio's JSON.
func TestIntactLogs(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob(os.Getenv("FIOLAT_LOSS_RUNS"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range realRuns {
		dirs = append(dirs, filepath.Join(real, name))
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			warnings, c := warned(t, dir)
			bare := t.TempDir()
			logs, err := filepath.Glob(filepath.Join(dir, "*_clat_hist*.log*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, log := range logs {
				if log, err = filepath.Abs(log); err == nil {
					err = os.Symlink(log, filepath.Join(bare, filepath.Base(log)))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			without, _ := warned(t, bare)
			for _, w := range slices.Concat(warnings, without) {
				if strings.Contains(w, "lost") {
					t.Error(w)
				}
			}
			if a := c.Sum.Account; a.NotPlaced != 0 || a.Excess != 0 || a.Missing != a.Restored {
				t.Errorf("%v I/Os not placed, %v too many, %v missing, %v restored", a.NotPlaced, a.Excess, a.Missing,
					a.Restored)
			}
		})
	}
}

// remove takes records out of a log: of its lines, the head, the end, some in the middle,
// or any. It returns what is left, and the I/Os of what is not, by direction.
func remove(rng *rand.Rand, log []byte, how string) (left []byte, lost [fio.Directions]float64) {
	lines := bytes.SplitAfter(bytes.TrimSuffix(log, []byte("\n")), []byte("\n"))
	n := max(len(lines)*(1+rng.IntN(90))/100, 1)
	gone := make([]bool, len(lines))
	from := 0
	switch how {
	case "middle":
		from = rng.IntN(len(lines) - n + 1)
	case "end":
		from = len(lines) - n
	case "any":
		for _, i := range rng.Perm(len(lines))[:n] {
			gone[i] = true
		}
		n = 0
	}
	for i := from; i < from+n; i++ {
		gone[i] = true
	}
	for i, line := range lines {
		if !gone[i] {
			left = append(left, line...)
			continue
		}
		fields := strings.Split(strings.TrimSpace(string(line)), ", ")
		for _, field := range fields[3:] {
			if v, err := strconv.ParseFloat(field, 64); err == nil {
				lost[fields[1][0]-'0'] += v
			}
		}
	}
	return left, lost
}

// TestLostRecords takes records out of real logs. What no intact run explains must be
// named as lost; most of the rest, as of the heads of steady jobs, must be noted. Always must logged, restored
// and not placed be what fio counted. FIOLAT_LOSS_SEED is the seed of the draws,
// FIOLAT_LOSS_RUNS a pattern of folders to draw from.
func TestLostRecords(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	draws, seed := testkit.Size(t, 150), uint64(1)
	if s := os.Getenv("FIOLAT_LOSS_SEED"); s != "" {
		fmt.Sscan(s, &seed)
	}
	dirs, err := filepath.Glob(os.Getenv("FIOLAT_LOSS_RUNS"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range realRuns {
		dirs = append(dirs, filepath.Join(real, name))
	}
	rng := rand.New(rand.NewPCG(seed, 15))
	type outcome struct{ losing, lost, noted float64 }
	by := map[string]*outcome{"head": {}, "middle": {}, "end": {}, "any": {}}
	for i := 0; i < draws; i++ {
		dir := dirs[rng.IntN(len(dirs))]
		logs, err := filepath.Glob(filepath.Join(dir, "*_clat_hist.*.log*"))
		if err != nil || len(logs) == 0 {
			t.Fatal(dir, err)
		}
		log := logs[rng.IntN(len(logs))]
		how := []string{"head", "middle", "end", "any"}[rng.IntN(4)]
		whole, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if len(whole) == 0 {
			continue
		}
		copied := t.TempDir()
		left, lost := remove(rng, whole, how)
		jsons, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range append(jsons, logs...) {
			to := filepath.Join(copied, filepath.Base(file))
			if file == log {
				err = os.WriteFile(to, left, 0o666)
			} else if from, e := filepath.Abs(file); e == nil {
				err = os.Symlink(from, to)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		warnings, c := warned(t, copied)
		for d, n := range lost {
			if n == 0 {
				continue
			}
			says := func(what string) bool {
				return slices.ContainsFunc(warnings, func(w string) bool {
					return strings.Contains(w, filepath.Base(log)) && strings.Contains(w, what) &&
						strings.Contains(w, fio.Direction(d).String()+"s of job")
				})
			}
			by[how].losing++
			switch {
			case says("lost"):
				by[how].lost++
			case says("is the log whole?"):
				by[how].noted++
			default:
				t.Logf("draw %d: %s, %s: %v I/Os of %d records: not named: %q", i, log, how, lost, bytes.Count(whole,
					[]byte("\n")), warnings)
			}
		}
		if c == nil {
			continue
		}
		a := c.Sum.Account
		in := a.Logged + a.Restored
		if a.CountedKnown && in+a.NotPlaced != float64(a.Counted) || a.Placed > in+1e-6 {
			t.Errorf("draw %d: %s: %v logged + %v restored + %v not placed, fio counted %d; %v placed", i, log,
				a.Logged, a.Restored, a.NotPlaced, a.Counted, a.Placed)
		}
	}
	for how, want := range map[string]outcome{
		"head": {lost: 0.2, noted: 0.9}, "middle": {lost: 0.75, noted: 0.97}, "end": {lost: 0.7, noted: 0.9},
		"any": {lost: 0.9, noted: 0.97},
	} {
		o := by[how]
		t.Logf("%s: %.0f losses, %.0f %% proven, %.0f %% only noted", how, o.losing, 100*o.lost/o.losing,
			100*o.noted/o.losing)
		if o.lost < want.lost*o.losing || o.lost+o.noted < max(want.lost, want.noted)*o.losing {
			t.Errorf("%s: of %.0f losses %.0f are proven and %.0f noted, want %.0f %% and %.0f %% of either", how,
				o.losing, o.lost, o.noted, 100*want.lost, 100*want.noted)
		}
	}
}

// TestLostFew: of a log of bursts with pauses a loss of a few I/Os is proven by what its
// windows and its job's pauses leave no room for.
func TestLostFew(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		from, to int // lines taken out
		old, new string
		want     string
	}{
		{"none", 0, 0, "", "", ""},
		{"the first", 0, 1, "", "", "line 1, the first record of its reads, has one I/O"},
		{"one more of the head, or a long I/O", 1, 2, "", "", ""},
		{"the last", 19, 20, "", "", "its next window was over at the last stamp, so the next I/O would have"},
		{"the last burst, or a long I/O", 15, 20, "", "", ""},
		{"more than a record", 5, 20, "", "", "fio went on for 9502 ms after that window; is the log whole?"},
		{"more than a record, or a sync", 5, 20, `"thinktime_blocks"`, `"end_fsync" : "1", "thinktime_blocks"`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			log, err := os.ReadFile(filepath.Join(real, "gaps", "gaps_clat_hist.1.log"))
			if err != nil {
				t.Fatal(err)
			}
			json, err := os.ReadFile(filepath.Join(real, "gaps", "fio.json"))
			if err != nil {
				t.Fatal(err)
			}
			lines := slices.Delete(bytes.SplitAfter(log, []byte("\n")), tt.from, tt.to)
			for name, text := range map[string][]byte{
				"gaps_clat_hist.1.log": bytes.Join(lines, nil),
				"fio.json":             bytes.ReplaceAll(json, []byte(tt.old), []byte(tt.new)),
			} {
				if tt.old == "" && name == "fio.json" {
					text = json
				}
				if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			warnings, c := warned(t, dir)
			said := strings.Join(warnings, "\n")
			if tt.want == "" && said != "" || !strings.Contains(said, tt.want) {
				t.Errorf("warned %q, want %q", said, tt.want)
			}
			a := c.Sum.Account
			lost := a.NotPlaced > 0
			if proven := tt.want != "" && !strings.Contains(tt.want, "whole?"); lost != proven ||
				a.Logged+a.Restored+a.NotPlaced != float64(a.Counted) {
				t.Errorf("%v logged + %v restored + %v not placed, fio counted %d",
					a.Logged, a.Restored, a.NotPlaced, a.Counted)
			}
		})
	}
}

// TestGarbage: without fio's JSON nothing tells the garbage in the end of a log of fio --client from slow I/Os, but
// that these would have begun before the job, or were in flight by the thousand in no record but the last.
func TestGarbage(t *testing.T) {
	t.Parallel()
	const coarse = "testdata/garbled-coarse" // of 16 buckets a column
	fine := filepath.Join(real, "garbled")
	later := func(log string) string {
		return regexp.MustCompile(`(?m)^\d+`).ReplaceAllStringFunc(log, func(stamp string) string {
			ms, err := strconv.Atoi(stamp)
			if err != nil {
				t.Fatal(err)
			}
			return strconv.Itoa(ms + 20000)
		})
	}
	for _, tt := range []struct {
		name, folder, log string
		edit              func(string) string
		want              string // part of the warning; "": none
	}{
		{"fine", fine, "x_clat_hist.1.log.127.0.0.2", nil, ":24: may be damaged"},
		{"the other log", fine, "x_clat_hist.2.log.127.0.0.2", nil, ""},
		{"coarse", coarse, "h_clat_hist.9.log.127.0.0.1", nil, "65873 reads took 15.03s or more, though"},
		{"the other coarse log", coarse, "h_clat_hist.8.log.127.0.0.1", nil, ""},
		{"later", coarse, "h_clat_hist.9.log.127.0.0.1", later,
			"none in any record before it, of which the fullest has 355 reads"},
		{"as many as iodepth", coarse, "h_clat_hist.9.log.127.0.0.1", func(log string) string {
			return later(strings.Replace(log, "65873", "128", 1))
		}, ""},
		{"not the last record", coarse, "h_clat_hist.9.log.127.0.0.1", func(log string) string {
			lines := strings.SplitAfter(log, "\n")
			return lines[0] + lines[1] + lines[3] + lines[2]
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(tt.folder, tt.log))
			if err != nil {
				t.Fatal(err)
			}
			log := string(text)
			if tt.edit != nil {
				if log = tt.edit(log); log == string(text) {
					t.Fatal("nothing was edited")
				}
			}
			dir := t.TempDir()
			if err = os.WriteFile(filepath.Join(dir, tt.log), []byte(log), 0o600); err != nil {
				t.Fatal(err)
			}
			warnings, _ := warned(t, dir)
			said := ""
			for _, w := range warnings {
				if strings.Contains(w, "garbage") {
					said += w
				}
			}
			if !strings.Contains(said, tt.want) || tt.want == "" && said != "" {
				t.Errorf("got %q, want %q", said, tt.want)
			}
		})
	}
}

// TestMissingLogs: of a job, or of threads of a group, whose log is absent, fio's totals stay
// in the account by job and direction, in no interval, and in the summary of the run.
func TestMissingLogs(t *testing.T) {
	t.Parallel()
	type loss struct {
		job, direction string
		ios            float64
	}
	copied := func(t *testing.T, folder string, edit func(string) string, without string) string {
		t.Helper()
		dir := t.TempDir()
		files, err := filepath.Glob(filepath.Join(real, folder, "*.[jl]*"))
		if err != nil || len(files) == 0 {
			t.Fatal(folder, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(file, without) {
				continue
			}
			if strings.HasSuffix(file, ".json") {
				text = []byte(edit(string(text)))
			}
			if err = os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	for _, tt := range []struct {
		name, folder, without string
		edit                  func(string) string
		want                  []loss
		warns                 string
	}{
		{"a job without its log", "startdelay", "late_clat", func(s string) string { return s },
			[]loss{{"late", "read", 9001}}, `job "late" has no log here: its 9,001 reads are missing`},
		{"a thread of three", "randrw", "hist.3.log", func(s string) string { return s },
			[]loss{{"randrw", "read", 60000}, {"randrw", "write", 60000}},
			`job "randrw" has no log here: its 60,000 reads and 60,000 writes are missing`},
		{"a host's thread", "cluster", "hist.2.log.127.0.0.2", func(s string) string { return s },
			[]loss{{"cluster", "read", 12001}, {"cluster", "write", 12000}},
			`has no log here: its 12,001 reads and 12,000 writes are missing`},
		{"a thread of a group", "trim", "nothing", // as if it had been two
			func(s string) string { return strings.Replace(s, `"job_runtime" : 6000`, `"job_runtime" : 12000`, 1) },
			[]loss{{"trim", "write", -1}, {"trim", "trim", -1}},
			`job "trim" covers 2 threads, but logs of only 1 are here: the others' I/Os are missing`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			warnings, c := warned(t, copied(t, tt.folder, tt.edit, tt.without))
			if !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, tt.warns) }) {
				t.Errorf("warned %q, want %q", warnings, tt.warns)
			}
			a := c.Sum.Account
			if a.Logged+a.Restored+a.NotPlaced != float64(a.Counted) || a.Placed != a.Logged+a.Restored {
				t.Errorf("%v logged + %v restored + %v not placed, fio counted %d; %v placed",
					a.Logged, a.Restored, a.NotPlaced, a.Counted, a.Placed)
			}
			var got []loss
			sum := 0.0
			for _, l := range a.Lost {
				if sum += l.IOs; tt.want[0].ios < 0 {
					l.IOs = -1
				}
				got = append(got, loss{l.Job, l.Direction, l.IOs})
			}
			if !slices.Equal(got, tt.want) || sum != a.NotPlaced {
				t.Errorf("lost %v (%v of %v), want %v", got, sum, a.NotPlaced, tt.want)
			}
			for _, r := range c.Sum.Total {
				if r.Scope == "run" && r.Stats.Samples != float64(a.Counted) {
					t.Errorf("the run's summary holds %v I/Os, fio counted %d", r.Stats.Samples, a.Counted)
				}
			}
		})
	}
}

// TestHoles: where a log lost records there are neither IOPS nor verdicts, with fio's JSON and
// without; before and after, all is as it was.
func TestHoles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, folder, log string
		json              bool
		msec              int64 // --log-hist-msec
		from, to          int   // of the log's pairs of lines
		h                 int64 // ms
		holed             []string
	}{
		{"with fio's JSON", "randrw", "randrw_clat_hist.1.log", true, 0, 8, 14, 1000, []string{"all", "read", "write"}},
		{"with the length of a window", "randrw", "randrw_clat_hist.1.log", false, 1000, 8, 14, 1000,
			[]string{"all", "read", "write"}},
		{"with neither", "randrw", "randrw_clat_hist.1.log", false, 0, 8, 14, 1000, []string{"all", "read", "write"}},
		{"one direction only", "trim", "trim_clat_hist.1.log", true, 0, 4, 8, 500, []string{"all", "trim"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			whole, err := os.ReadFile(filepath.Join(real, tt.folder, tt.log))
			if err != nil {
				t.Fatal(err)
			}
			run := func(gone func(line int, fields []string) bool) (warnings []string, c *pipelinetest.Collect,
				until int64) {
				var left []byte
				last := int64(0)
				for i, line := range bytes.SplitAfter(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n")) {
					fields := strings.Split(string(line), ", ")
					if gone(i, fields) {
						last, _ = strconv.ParseInt(fields[0], 10, 64)
					} else {
						left = append(left, line...)
					}
				}
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, tt.log), append(left, '\n'), 0o666); err != nil {
					t.Fatal(err)
				}
				if tt.json {
					json, err := os.ReadFile(filepath.Join(real, tt.folder, "fio.json"))
					if err != nil {
						t.Fatal(err)
					}
					if err = os.WriteFile(filepath.Join(dir, "fio.json"), json, 0o666); err != nil {
						t.Fatal(err)
					}
				}
				s := fio.Defaults()
				s.Interval, s.LogHistMsec = time.Second, tt.msec
				s.SLA = testkit.Rules(t, "all iops > 10", "all p99 < 1s")
				c, err := process(t, Config{Settings: s, Warn: func(w string) { warnings = append(warnings, w) }}, dir)
				if err != nil {
					t.Fatal(err)
				}
				return warnings, c, last * msec
			}
			_, want, _ := run(func(int, []string) bool { return false })
			first := int64(0)
			warnings, got, until := run(func(i int, fields []string) bool {
				lost := i >= 2*tt.from && i < 2*tt.to && (len(tt.holed) == 3 || fields[1] == "2")
				if lost && first == 0 {
					first, _ = strconv.ParseInt(fields[0], 10, 64)
					first = (first - tt.h) * msec
				}
				return lost
			})
			if !slices.ContainsFunc(warnings, func(w string) bool {
				return strings.Contains(w, tt.log) && strings.Contains(w, "records before it are lost")
			}) {
				t.Errorf("warned %q", warnings)
			}
			lost := 0
			for i, r := range got.Rows {
				if slices.Index(tt.holed, r.Dims.Direction) < 0 || r.Scope != "run" && r.Scope != "direction" {
					continue
				}
				begin, end := got.Offsets[i], got.Offsets[i]+int64(time.Second)
				switch inside := begin >= first && end <= until; {
				case inside || begin < until && end > first:
					if lost++; r.IOPSKnown || r.Lost == 0 || inside && r.Covered > 50*msec {
						t.Errorf("%s at %d ms: IOPS %v, covered %d, lost %d",
							r.Dims.Direction, begin/msec, r.IOPS, r.Covered, r.Lost)
					}
					for _, v := range r.SLA {
						if v.Status != "unknown" {
							t.Errorf("%s at %d ms: %v is %v", r.Dims.Direction, begin/msec, v.Rule.Text, v.Status)
						}
					}
				case end >= want.Offsets[len(want.Offsets)-1]: // the last window is lost as well, or not restored
				default:
					w := want.Rows[i]
					if got.Offsets[i] != want.Offsets[i] || r.IOPSKnown != w.IOPSKnown ||
						r.Stats.Samples < 0.98*w.Stats.Samples || r.Stats.Samples > 1.02*w.Stats.Samples {
						t.Errorf("%s at %d ms: %v I/Os, %v a second, want %v",
							r.Dims.Direction, begin/msec, r.Stats.Samples, r.IOPS, w.Stats.Samples)
					}
				}
			}
			if lost < (tt.to-tt.from)*len(tt.holed)/2 {
				t.Errorf("%d rows of lost records", lost)
			}
			for _, r := range got.Sum.Total {
				// Two jobs of randrw have no log here.
				known := !tt.json || tt.folder != "randrw" || !slices.Contains(tt.holed, r.Dims.Direction)
				if r.IOPSKnown != known {
					t.Errorf("of the whole run's %s IOPS are known: %v", r.Dims.Direction, r.IOPSKnown)
				}
			}
		})
	}
}

// TestLossIsNoRow: what a log lost is in no interval. Of a log of 6,000 I/Os a second all that
// is missing was put into its last second, 41,314 I/Os a second of them, and into ten seconds
// behind the last record of one that was cut.
func TestLossIsNoRow(t *testing.T) {
	t.Parallel()
	const name = "randrw_clat_hist.1.log"
	whole, err := os.ReadFile(filepath.Join(real, "randrw", name))
	if err != nil {
		t.Fatal(err)
	}
	json, err := os.ReadFile(filepath.Join(real, "randrw", "fio.json"))
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, from, to int) (rows map[int64]float64, c *pipelinetest.Collect) {
		lines := bytes.SplitAfter(whole, []byte("\n"))
		dir := testkit.Files(t, map[string][]byte{
			name: bytes.Join(slices.Concat(lines[:from], lines[to:]), nil), "fio.json": json,
		})
		_, c = warned(t, dir)
		rows = map[int64]float64{}
		for i, r := range c.Rows {
			if r.Scope == "run" {
				rows[c.Offsets[i]/int64(time.Second)] = r.Stats.Samples
			}
		}
		return rows, c
	}
	want, _ := run(t, 0, 0)
	for _, tt := range []struct {
		name     string
		from, to int // lines taken out
		last     int64
	}{
		{"middle", 12, 24, 20},
		{"end", 18, 38, 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, c := run(t, tt.from, tt.to)
			for second, ios := range got {
				if ios > want[second]+0.02*6000 || second > tt.last {
					t.Errorf("second %d: %.0f I/Os, %.0f are true", second, ios, want[second])
				}
			}
			a, lost := c.Sum.Account, 0.0
			for _, l := range a.Lost {
				if len(l.Logs) > 0 { // not the two jobs without a log
					lost += l.IOs
				}
			}
			if lost < 30_000 || a.Logged+a.Restored+a.NotPlaced != float64(a.Counted) {
				t.Errorf("%v lost; %v logged + %v restored + %v not placed, fio counted %d",
					lost, a.Logged, a.Restored, a.NotPlaced, a.Counted)
			}
		})
	}
}

// TestDamageAfterHead: the reads of a log damaged by fio --client begin after its head, as those of verify do. They
// are repaired as its writes are: fio adds to each record the one two before.
func TestDamageAfterHead(t *testing.T) {
	t.Parallel()
	const writes, reads = 40, 10
	damaged := func(n int) map[int]int {
		k := n/2 + 1
		return map[int]int{14: 600 * k, 15: 400 * k, 16: 200 * k}
	}
	var log strings.Builder
	for n := range writes {
		log.WriteString(record(1000*(n+1), fio.Write, damaged(n)))
	}
	for n := range reads {
		log.WriteString(record(1000*(writes+n+1), fio.Read, damaged(n)))
	}
	_, c := planned(t, fio.Defaults(), files(t, map[string]string{"v_clat_hist.1.log.h": log.String()}))
	if got := samples(c); got["read"] != 1200*reads || got["write"] != 1200*writes {
		t.Errorf("%v, want %d reads and %d writes", got, 1200*reads, 1200*writes)
	}
}

// TestUnrepairableIsNamed: a direction that is left out is named also where no bins of fio's JSON show that it is lost.
func TestUnrepairableIsNamed(t *testing.T) {
	t.Parallel()
	const name = "cluster_clat_hist.1.log.127.0.0.1"
	cluster := map[string]string{"fio.json": "cluster/fio.json"}
	logs, err := filepath.Glob(real + "/cluster/*.log.*")
	if err != nil || len(logs) != 4 {
		t.Fatal(logs, err)
	}
	for _, l := range logs {
		cluster[filepath.Base(l)] = "cluster/" + filepath.Base(l)
	}
	dir := place(t, cluster)
	whole, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	text := strings.Join(append(lines[:9:9], lines[10:]...), "")
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := fio.Defaults()
	for _, s.Restore = range []bool{true, false} {
		var warnings []string
		_, err := process(t, Config{Settings: s, Warn: func(w string) { warnings = append(warnings, w) }}, dir)
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(warnings, "\n"); !strings.Contains(all, name+": ") || !strings.Contains(all,
			"records before line 10, needed for the repair, are lost") {
			t.Errorf("restored %v: %s", s.Restore, all)
		}
	}
}
