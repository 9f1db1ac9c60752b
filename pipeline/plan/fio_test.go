//go:build integration

package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fiolat/analysis/like"
	"fiolat/fio"
	"fiolat/pipeline/pipelinetest"
)

// runFio runs a job file with the real fio in a new folder, with json+ beside the
// logs. during is called when it has started.
func runFio(t *testing.T, job string, during func(*os.Process), args ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "job.fio"), []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "fio", append(args, "job.fio", "--output-format=json+",
		"--output=fio.json")...)
	cmd.Dir = dir
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatalf("these tests need the real fio (Debian package fio): %v", err)
	}
	if during != nil {
		during(cmd.Process)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("fio: %v\n%s", err, said.String())
	}
	return dir
}

const null = "ioengine=null\nsize=1g\nbs=4k\ntime_based=1\n"

// TestFioRestore: what fio counted and did not log is restored, however the jobs
// are arranged.
func TestFioRestore(t *testing.T) {
	jobs := map[string]string{
		"group_reporting": "[global]\n" + null +
			"rw=randrw\nrate_iops=700\nruntime=3\nlog_hist_msec=400\nwrite_hist_log=x\ngroup_reporting\n[one]\n" +
			"numjobs=2\n[two]\nrw=randread\n",
		"groups": "[global]\n" + null +
			"rw=randrw\nrate_iops=700\nruntime=2\nlog_hist_msec=300\nwrite_hist_log=x\ngroup_reporting\n[one]\n" +
			"numjobs=2\n[two]\nrw=randread\n[three]\nstonewall\nnumjobs=2\n[four]\nnew_group\n",
		"ramp_time": "[x]\n" + null +
			"rw=randrw\nrate_iops=700\nruntime=3\nramp_time=1\nlog_hist_msec=500\nwrite_hist_log=x\n",
		"stonewall": "[global]\n" + null +
			"rw=randwrite\nrate_iops=900\nlog_hist_msec=250\nwrite_hist_log=x\n[a]\nruntime=2\n[b]\nstonewall\n" +
			"runtime=1\n",
		"startdelay": "[global]\n" + null +
			"rw=randrw\nrate_iops=900\nlog_hist_msec=250\nwrite_hist_log=x\n[a]\nruntime=2\n[b]\nstartdelay=1\n" +
			"runtime=2\n",
		"shorter than a window": "[x]\n" + null +
			"rw=randrw\nrate_iops=900\nruntime=1\nlog_hist_msec=5000\nwrite_hist_log=x\n",
		"one direction shorter than a window": "[x]\nioengine=null\nsize=1g\nbs=4k\nrw=randrw\nrate_iops=900,1\n" +
			"runtime=2\ntime_based=1\nlog_hist_msec=900\nwrite_hist_log=x\n",
		"per section names": "[global]\n" + null +
			"rw=randrw\nrate_iops=700\nruntime=2\nlog_hist_msec=300\n[one]\nwrite_hist_log=one\n[two]\n" +
			"write_hist_log=two\nnumjobs=2\n",
	}
	for name, job := range jobs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := runFio(t, job, nil)
			p, _ := planned(t, fio.Defaults(), dir)
			complete(t, p)
			// Without the job file too: fio's JSON does not show options without a
			// value, such as group_reporting.
			if err := os.Remove(filepath.Join(dir, "job.fio")); err != nil {
				t.Fatal(err)
			}
			p, _ = planned(t, fio.Defaults(), dir)
			complete(t, p)
		})
	}
}

// firstIO is the offset in ms of the first interval with I/O of the log whose name
// starts with prefix.
func firstIO(t *testing.T, c *pipelinetest.Collect, prefix string) int64 {
	t.Helper()
	for i, r := range c.Rows {
		if r.Scope == "log" && strings.HasPrefix(r.Dims.Log, prefix) && r.Stats.Samples > 1 {
			return c.Offsets[i] / msec
		}
	}
	t.Fatalf("no I/O of %s", prefix)
	return 0
}

// TestFioStarts: every log lies where its job ran.
func TestFioStarts(t *testing.T) {
	fine := fio.Defaults()
	fine.By, fine.Interval = []string{"log"}, 10*time.Millisecond
	// A job that the machine lets wait starts late: that is no fault of ours, and is
	// not there the next time.
	most := int64(1000)
	if os.Getenv("FIOLAT_TEST_TIMES") != "" {
		most = 50
	}
	within := func(t *testing.T, check func(near func(what string, got, want int64))) {
		t.Helper()
		var off []string
		for range 4 {
			off = nil
			check(func(what string, got, want int64) {
				if got < want-most || got > want+most {
					off = append(off, fmt.Sprintf("%s starts at %d ms, want %d within %d ms", what, got, want, most))
				}
			})
			if off == nil {
				return
			}
			t.Log(off)
		}
		t.Errorf("four times: %q", off)
	}
	late := func(options string) string {
		return "[global]\n" + null + "rw=randread\nrate_iops=1000\nlog_hist_msec=500\n" + options +
			"[early]\nruntime=5\nwrite_hist_log=early\n[late]\nstartdelay=3\nruntime=2\nwrite_hist_log=late\n"
	}
	t.Run("startdelay", func(t *testing.T) {
		t.Parallel()
		within(t, func(near func(string, int64, int64)) {
			dir := runFio(t, late(""), nil)
			_, c := planned(t, fine, dir)
			near("early", firstIO(t, c, "early"), 0)
			near("late", firstIO(t, c, "late"), 3000)

			// fio 3.36 and newer say job_start instead.
			file := filepath.Join(dir, "fio.json")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var doc map[string]any
			if err = json.Unmarshal(text, &doc); err != nil {
				t.Fatal(err)
			}
			for i, e := range doc["jobs"].([]any) {
				e.(map[string]any)["job_start"] = 1790000000000 + 3000*i
			}
			if text, err = json.Marshal(doc); err == nil {
				err = os.WriteFile(file, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			_, c = planned(t, fine, dir)
			near("early, by job_start", firstIO(t, c, "early"), 0)
			near("late, by job_start", firstIO(t, c, "late"), 3000)
			if c.Run.Start != 1790000000000*msec {
				t.Errorf("the run starts at %d, want job_start", c.Run.Start)
			}
		})
	})
	t.Run("absolute stamps", func(t *testing.T) {
		t.Parallel()
		within(t, func(near func(string, int64, int64)) {
			_, c := planned(t, fine, runFio(t, late("log_unix_epoch=1\n"), nil))
			near("early", firstIO(t, c, "early"), 0)
			near("late", firstIO(t, c, "late"), 3000)
		})
	})
	t.Run("stages", func(t *testing.T) {
		t.Parallel()
		within(t, func(near func(string, int64, int64)) {
			dir := runFio(t, "[global]\n"+null+"rw=randread\nrate_iops=500\nlog_hist_msec=500\n[a]\nruntime=4\n"+
				"write_hist_log=a\n[b]\nstonewall\nruntime=6\nwrite_hist_log=b\n[c]\nstonewall\nruntime=3\n"+
				"write_hist_log=c\n", nil)
			for range 2 { // with the job file and without
				_, c := planned(t, fine, dir)
				near("a", firstIO(t, c, "a_"), 0)
				near("b", firstIO(t, c, "b_"), 4000)
				near("c", firstIO(t, c, "c_"), 10000)
				os.Remove(filepath.Join(dir, "job.fio"))
			}
		})
	})
	t.Run("ramp_time", func(t *testing.T) {
		t.Parallel()
		within(t, func(near func(string, int64, int64)) {
			_, c := planned(t, fine, runFio(t, "[global]\n"+null+"rw=randread\nrate_iops=500\nlog_hist_msec=500\n"+
				"runtime=3\n[a]\nwrite_hist_log=a\n[b]\nramp_time=2\nwrite_hist_log=b\n", nil))
			near("a", firstIO(t, c, "a_"), 0)
			near("b", firstIO(t, c, "b_"), 2000)
		})
	})
}

// TestFioClientServer: logs that came over fio --client are repaired to what fio
// counted, bucket by bucket, whatever the load.
func TestFioClientServer(t *testing.T) {
	jobs := map[string]string{
		"constant": null + "rw=randrw\nrate_iops=1500\n",
		"bursty":   null + "rw=randrw\nthinktime=700000\nthinktime_blocks=2000\n",
		"growing":  null + "rw=randread\nrate_iops=200,200\n",
	}
	host := 10
	for name, job := range jobs {
		host++
		t.Run(name, func(t *testing.T) {
			// Of this process alone: two runs of the tests must not meet on one server.
			pid := os.Getpid()
			addr := fmt.Sprintf("127.%d.%d.%d", 1+pid/250%250, 1+pid%250, host)
			server := exec.CommandContext(t.Context(), "fio", "--server=ip:"+addr)
			server.Dir = t.TempDir()
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			defer server.Wait()
			defer server.Process.Kill()
			for range 2400 {
				c, err := net.Dial("tcp", addr+":8765")
				if err == nil {
					_ = c.Close()
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			sections := "[x]\nnumjobs=2\n"
			if name == "growing" { // jobs that join one after the other, in one group
				sections = "[x]\n[y]\nstartdelay=1\nrate_iops=1000\n[z]\nstartdelay=2\nrate_iops=5000\n"
			}
			dir := runFio(t, "[global]\n"+job+"runtime=6\nlog_hist_msec=400\nwrite_hist_log=x\n"+sections, nil,
				"--client="+addr)
			// Now and then fio leaves what lay in its memory in the end of a log's last
			// record. A count is emptied; an address is refused with its line.
			s := fio.Defaults()
			s.SkipBad, s.By = true, []string{"host", "job", "direction"}
			p, c := planned(t, s, dir)
			if n := p.Account.LinesSkipped; n > int64(len(p.Run.Logs)) {
				t.Errorf("%d lines skipped", n)
			}
			complete(t, p)
			sameBins(t, c)
			repaired := 0
			for _, l := range p.Run.Logs {
				if slices.Contains(l.Repaired[:], true) {
					repaired++
				}
			}
			if repaired != len(p.Run.Logs) {
				t.Errorf("%d of %d logs repaired", repaired, len(p.Run.Logs))
			}
		})
	}
}

// accuracy collects relative errors by percentile.
type accuracy struct {
	errs   map[float64][]float64
	counts []float64 // relative errors of the count
}

var exactPercentiles = []float64{50, 95, 99}

// second compares one second: what a program says of the I/Os of the directions
// that completed in [from, from + 1 s) ms.
func (a *accuracy) second(ios []exactIO, from int64, direction string, samples float64, said []float64) (n float64,
	exact []float64) {
	var latencies []float64
	for _, io := range ios {
		if (direction == fio.All || io.dir == direction) && io.ms >= from && io.ms < from+1000 {
			latencies = append(latencies, float64(io.ns))
		}
	}
	n = float64(len(latencies))
	if n < 100 {
		return n, nil
	}
	slices.Sort(latencies)
	a.counts = append(a.counts, math.Abs(samples-n)/n)
	for k, p := range exactPercentiles {
		exact = append(exact, latencies[int(math.Ceil(n*p/100))-1])
		if a.errs == nil {
			a.errs = map[float64][]float64{}
		}
		e := 1.0 // it says nothing of a second with I/O
		if said != nil {
			e = math.Abs(said[k]-exact[k]) / exact[k]
		}
		a.errs[p] = append(a.errs[p], e)
	}
	return n, exact
}

func (a *accuracy) String() string {
	var b strings.Builder
	for _, p := range exactPercentiles {
		fmt.Fprintf(&b, "| %.1f ", 100*median(a.errs[p]))
	}
	fmt.Fprintf(&b, "| %.1f | %.0f |", 100*median(a.counts), 100*slices.Max(a.counts))
	return b.String()
}

// reference runs one of fio's own programs, as analysis/like answers for it, and
// compares it in the same way.
func reference(t *testing.T, program string, logs []string, ios []exactIO, last int64) string {
	t.Helper()
	args, scale := []string{"--time-quantum", "1", "--percentiles", "50", "95", "99", "--"}, 1000.0
	if program == "fiologparser_hist" {
		args, scale = []string{"--interval", "1000", "--percentiles", "95,99"}, 1
	}
	var out bytes.Buffer
	if err := like.Run(t.Context(), program, append(args, logs...), &out); err != nil {
		return "| stops: " + err.Error() + " |"
	}
	said := map[int64][]float64{}
	for line := range strings.Lines(out.String()) {
		var v []float64
		for _, f := range strings.Split(line, ",") {
			n, err := strconv.ParseFloat(strings.TrimSpace(f), 64)
			if err != nil {
				break
			}
			v = append(v, n)
		}
		switch {
		case program == "fiologparser_hist" && len(v) == 8: // end, samples, min, avg, median, p95, p99, max
			said[int64(v[0])-1000] = []float64{v[1], v[4], v[5], v[6]}
		case len(v) == 5: // start, samples, p50, p95, p99
			said[int64(v[0])] = v[1:]
		}
	}
	if len(said) == 0 {
		t.Fatalf("%s said nothing: %s", program, out.String())
	}
	var a accuracy
	for from := int64(0); from+1000 <= last; from += 1000 {
		v := said[from]
		if v == nil {
			a.second(ios, from, fio.All, 0, nil)
			continue
		}
		a.second(ios, from, fio.All, v[0], []float64{v[1] * scale, v[2] * scale, v[3] * scale})
	}
	return a.String()
}

// accuracyTest is a run that can be compared second by second.
type accuracyTest struct {
	name   string
	job    string
	rate   float64 // I/Os per second; 0 if it has none to keep
	during func(*os.Process)
}

// kept says that fio kept its rate in all but a few tenths of seconds.
func (a *accuracyTest) kept(ios []exactIO) bool {
	tenths := map[int64]float64{}
	last := int64(0)
	for _, io := range ios {
		tenths[io.ms/100]++
		last = max(last, io.ms/100)
	}
	off := 0
	for i := int64(1); i < last; i++ {
		if math.Abs(tenths[i]-a.rate/10) > 0.1*a.rate/10 {
			off++
		}
	}
	return a.rate == 0 || off < 5
}

// TestFioAccuracy compares with every single I/O of freshly made runs: steady,
// stalled for three seconds, and at rates that differ per direction.
//
// How evenly fio does its I/Os depends on what else the machine does, and with that how
// well they can be placed: `make times` runs it. TestExact does so with a recorded run.
func TestFioAccuracy(t *testing.T) {
	if os.Getenv("FIOLAT_TEST_TIMES") == "" {
		t.Skip("depends on how busy the machine is: make times")
	}
	disk := "ioengine=psync\nsize=32m\nbs=4k\ntime_based=1\nthread\n"
	stall := func(p *os.Process) {
		time.Sleep(5 * time.Second)
		p.Signal(syscall.SIGSTOP)
		time.Sleep(3 * time.Second)
		p.Signal(syscall.SIGCONT)
	}
	tests := []accuracyTest{
		{"steady", disk + "rw=randrw\nrate_iops=800\nlog_hist_msec=1000\nruntime=12\n", 1600, nil},
		// Not by rate: fio makes up for a stall in a burst, of which no histogram knows
		// on which side of a boundary it was.
		{"stalled", disk + "rw=randrw\nthinktime=700\nlog_hist_msec=1000\nruntime=14\n", 0, stall},
		{"rates that differ", disk + "rw=randrw\nrate_iops=900,400\nlog_hist_msec=250\nruntime=12\n", 1300, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var dir string
			var ios []exactIO
			for range 4 { // on a machine that is busy with other things fio cannot keep its rate
				dir = runFio(t, "[x]\n"+tt.job+"write_hist_log=x\nwrite_lat_log=x\n", tt.during)
				ios = readExact(t, filepath.Join(dir, "x_clat.*.log"))
				if tt.kept(ios) {
					break
				}
				t.Log("fio did not keep its rate; again")
			}
			s := fio.Defaults()
			s.Interval, s.Percentiles = time.Second, exactPercentiles
			p, c := planned(t, s, dir)
			complete(t, p)
			last := int64(math.MaxInt64)
			for _, r := range p.Report() {
				for _, d := range r.Dirs {
					last = min(last, d.Last.Milliseconds())
				}
			}
			errs := map[string]*accuracy{"read": {}, "write": {}, fio.All: {}}
			for i, row := range c.Rows {
				from, direction := c.Offsets[i]/msec, row.Dims.Direction
				if from+1000 > last {
					continue
				}
				n, exact := errs[direction].second(ios, from, direction, row.Stats.Samples, row.Stats.Percentiles)
				if direction == fio.All {
					continue
				}
				if tt.during != nil && math.Abs(row.Stats.Samples-n) > max(0.015*n, 5) {
					t.Errorf("%s at %d ms: %.1f I/Os, %v were logged one by one", direction, from, row.Stats.Samples, n)
				}
				if exact != nil && math.Abs(row.Stats.Percentiles[0]-exact[0]) > 0.1*exact[0] {
					t.Errorf("%s at %d ms: p50 %.0f ns, exactly %.0f", direction, from, row.Stats.Percentiles[0],
						exact[0])
				}
			}
			for _, direction := range []string{"read", "write"} {
				for _, p := range s.Percentiles {
					if m := median(errs[direction].errs[p]); m > 0.02 {
						t.Errorf("%s p%g: median relative error %.2f %%, want at most 2 %%", direction, p, 100*m)
					}
				}
			}
			logs, err := filepath.Glob(filepath.Join(dir, "x_clat_hist.*.log"))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("| %s | fiolat %s", tt.name, errs[fio.All])
			for _, program := range like.Programs {
				t.Logf("| %s | %s %s", tt.name, program, reference(t, program, logs, ios, last))
			}
		})
	}
}

// TestFioRates: directions whose records do not alternate, over which
// fio-histo-log-pctiles stops: none is lost or misplaced.
func TestFioRates(t *testing.T) {
	t.Parallel()
	dir := runFio(t, "[x]\nioengine=libaio\niodepth=4\nsize=32m\nbs=4k\ntime_based=1\nrw=randrw\nrate_iops=900,400\n"+
		"log_hist_msec=300\nruntime=9\nwrite_hist_log=x\nwrite_lat_log=x\n", nil)
	ios := readExact(t, filepath.Join(dir, "x_clat.*.log"))
	s := fio.Defaults()
	s.Interval = 3 * time.Second
	p, c := planned(t, s, dir)
	complete(t, p)
	lines := 0
	text, err := os.ReadFile(filepath.Join(dir, "x_clat_hist.1.log"))
	if err != nil {
		t.Fatal(err)
	}
	for range strings.Lines(string(text)) {
		lines++
	}
	if p.Account.Records != int64(lines) {
		t.Errorf("%d records of %d lines", p.Account.Records, lines)
	}
	for i, row := range c.Rows {
		// On a busy machine fio does its I/Os in bursts, which cannot be placed as well.
		if from := c.Offsets[i] / msec; os.Getenv("FIOLAT_TEST_TIMES") != "" && row.Dims.Direction != fio.All &&
			from < 9000 {
			n := 0.0
			for _, io := range ios {
				if io.dir == row.Dims.Direction && io.ms >= from && io.ms < from+3000 {
					n++
				}
			}
			if math.Abs(row.Stats.Samples-n) > 0.01*n+5 {
				t.Errorf("%s at %d ms: %.1f I/Os, %v were logged one by one", row.Dims.Direction, from,
					row.Stats.Samples, n)
			}
		}
	}
}
