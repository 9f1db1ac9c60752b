//go:build integration

package pipeline

import (
	"encoding/json"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fiolat/ingest"
)

// fio runs a job file with the real fio in a new folder, with json+ beside the
// logs. during is called when it has started.
func fio(t *testing.T, job string, during func(*os.Process), args ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "job.fio"), []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "fio", append(args, "job.fio", "--output-format=json+", "--output=fio.json")...)
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

// planned runs a folder through the pipeline and returns plan and rows.
func planned(t *testing.T, s Settings, dir string) (*Plan, *collect) {
	t.Helper()
	ins, err := ingest.Discover([]string{dir}, ingest.DiscoverOptions{})
	if err != nil || len(ins) != 1 {
		t.Fatalf("%d runs, %v", len(ins), err)
	}
	p, err := Prepare(t.Context(), ins[0], Config{Settings: s, Warn: func(w string) { t.Log(w) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	c := new(collect)
	if _, err := p.Process(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return p, c
}

// complete checks that logged + restored is fio's own total, for each entry of the
// JSON and direction.
func complete(t *testing.T, p *Plan) {
	t.Helper()
	type key struct {
		entry *ingest.Entry
		dir   string
	}
	got, want := map[key]float64{}, map[key]float64{}
	for _, r := range p.Report() {
		if r.Entry == nil {
			t.Fatalf("%s: no entry in fio's JSON was found for it", r.Source.Path)
		}
		for _, d := range r.Dirs {
			k := key{r.Entry, d.Direction}
			got[k] += d.IOs + d.Restored
			want[k] = float64(d.Counted)
		}
	}
	for k, w := range want {
		if got[k] != w {
			t.Errorf("job %s, %s: %v I/Os logged or restored, fio counted %v", k.entry.JobName, k.dir, got[k], w)
		}
	}
	if a := p.Account; !a.CountedKnown || a.Missing != a.Restored {
		t.Errorf("account: missing %v, restored %v", a.Missing, a.Restored)
	}
}

const null = "ioengine=null\nsize=1g\nbs=4k\ntime_based=1\n"

// TestFioRestore: what fio counted and did not log is restored, however the jobs
// are arranged.
func TestFioRestore(t *testing.T) {
	jobs := map[string]string{
		"group_reporting":                     "[global]\n" + null + "rw=randrw\nrate_iops=700\nruntime=3\nlog_hist_msec=400\nwrite_hist_log=x\ngroup_reporting\n[one]\nnumjobs=2\n[two]\nrw=randread\n",
		"groups":                              "[global]\n" + null + "rw=randrw\nrate_iops=700\nruntime=2\nlog_hist_msec=300\nwrite_hist_log=x\ngroup_reporting\n[one]\nnumjobs=2\n[two]\nrw=randread\n[three]\nstonewall\nnumjobs=2\n[four]\nnew_group\n",
		"ramp_time":                           "[x]\n" + null + "rw=randrw\nrate_iops=700\nruntime=3\nramp_time=1\nlog_hist_msec=500\nwrite_hist_log=x\n",
		"stonewall":                           "[global]\n" + null + "rw=randwrite\nrate_iops=900\nlog_hist_msec=250\nwrite_hist_log=x\n[a]\nruntime=2\n[b]\nstonewall\nruntime=1\n",
		"startdelay":                          "[global]\n" + null + "rw=randrw\nrate_iops=900\nlog_hist_msec=250\nwrite_hist_log=x\n[a]\nruntime=2\n[b]\nstartdelay=1\nruntime=2\n",
		"shorter than a window":               "[x]\n" + null + "rw=randrw\nrate_iops=900\nruntime=1\nlog_hist_msec=5000\nwrite_hist_log=x\n",
		"one direction shorter than a window": "[x]\nioengine=null\nsize=1g\nbs=4k\nrw=randrw\nrate_iops=900,1\nruntime=2\ntime_based=1\nlog_hist_msec=900\nwrite_hist_log=x\n",
		"per section names":                   "[global]\n" + null + "rw=randrw\nrate_iops=700\nruntime=2\nlog_hist_msec=300\n[one]\nwrite_hist_log=one\n[two]\nwrite_hist_log=two\nnumjobs=2\n",
	}
	for name, job := range jobs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fio(t, job, nil)
			p, _ := planned(t, settings(), dir)
			complete(t, p)
			// Without the job file too: fio's JSON does not show options without a
			// value, such as group_reporting.
			if err := os.Remove(filepath.Join(dir, "job.fio")); err != nil {
				t.Fatal(err)
			}
			p, _ = planned(t, settings(), dir)
			complete(t, p)
		})
	}
}

// firstIO is the offset in ms of the first quantum with I/O of the log whose name
// starts with prefix.
func firstIO(t *testing.T, c *collect, prefix string) int64 {
	t.Helper()
	for i, r := range c.rows {
		if r.Scope == "log" && strings.HasPrefix(r.Dims.Log, prefix) && r.Stats.Samples > 1 {
			return c.offsets[i] / msec
		}
	}
	t.Fatalf("no I/O of %s", prefix)
	return 0
}

// TestFioStarts: every log lies where its job ran.
func TestFioStarts(t *testing.T) {
	fine := settings()
	fine.By, fine.Interval = []string{"log"}, 10*time.Millisecond
	near := func(t *testing.T, what string, got, want int64) {
		t.Helper()
		if got < want-50 || got > want+50 {
			t.Errorf("%s starts at %d ms, want %d within 50 ms", what, got, want)
		}
	}
	late := func(options string) string {
		return "[global]\n" + null + "rw=randread\nrate_iops=1000\nlog_hist_msec=500\n" + options + "[early]\nruntime=5\nwrite_hist_log=early\n[late]\nstartdelay=3\nruntime=2\nwrite_hist_log=late\n"
	}
	t.Run("startdelay", func(t *testing.T) {
		t.Parallel()
		dir := fio(t, late(""), nil)
		_, c := planned(t, fine, dir)
		near(t, "early", firstIO(t, c, "early"), 0)
		near(t, "late", firstIO(t, c, "late"), 3000)

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
		near(t, "early, by job_start", firstIO(t, c, "early"), 0)
		near(t, "late, by job_start", firstIO(t, c, "late"), 3000)
		if c.run.Start != 1790000000000*msec {
			t.Errorf("the run starts at %d, want job_start", c.run.Start)
		}
	})
	t.Run("absolute stamps", func(t *testing.T) {
		t.Parallel()
		_, c := planned(t, fine, fio(t, late("log_unix_epoch=1\n"), nil))
		near(t, "early", firstIO(t, c, "early"), 0)
		near(t, "late", firstIO(t, c, "late"), 3000)
	})
	t.Run("stages", func(t *testing.T) {
		t.Parallel()
		dir := fio(t, "[global]\n"+null+"rw=randread\nrate_iops=500\nlog_hist_msec=500\n[a]\nruntime=4\nwrite_hist_log=a\n[b]\nstonewall\nruntime=6\nwrite_hist_log=b\n[c]\nstonewall\nruntime=3\nwrite_hist_log=c\n", nil)
		for range 2 { // with the job file and without
			_, c := planned(t, fine, dir)
			near(t, "a", firstIO(t, c, "a_"), 0)
			near(t, "b", firstIO(t, c, "b_"), 4000)
			near(t, "c", firstIO(t, c, "c_"), 10000)
			os.Remove(filepath.Join(dir, "job.fio")) //nolint:errcheck // gone the second time
		}
	})
	t.Run("ramp_time", func(t *testing.T) {
		t.Parallel()
		_, c := planned(t, fine, fio(t, "[global]\n"+null+"rw=randread\nrate_iops=500\nlog_hist_msec=500\nruntime=3\n[a]\nwrite_hist_log=a\n[b]\nramp_time=2\nwrite_hist_log=b\n", nil))
		near(t, "a", firstIO(t, c, "a_"), 0)
		near(t, "b", firstIO(t, c, "b_"), 2000)
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
			addr := fmt.Sprintf("127.0.0.%d", host)
			server := exec.CommandContext(t.Context(), "fio", "--server=ip:"+addr)
			server.Dir = t.TempDir()
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			defer server.Wait()         //nolint:errcheck // it is killed
			defer server.Process.Kill() //nolint:errcheck // at the end
			for range 100 {
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
			dir := fio(t, "[global]\n"+job+"runtime=6\nlog_hist_msec=400\nwrite_hist_log=x\n"+sections, nil, "--client="+addr)
			p, _ := planned(t, settings(), dir)
			complete(t, p)
			repaired := 0
			for _, l := range p.logs {
				if slices.Contains(l.Repaired[:], true) {
					repaired++
				}
				for d := range l.dirs {
					tail := l.dirs[d].owed
					if tail == nil {
						continue
					}
					for b, n := range tail.bins {
						if logged := l.dirs[d].sums.Count(b); logged > float64(n) {
							t.Errorf("%s, bucket %d: %v repaired, fio counted %d", l.LogName, b, logged, n)
						}
					}
				}
			}
			if repaired != len(p.logs) {
				t.Errorf("%d of %d logs repaired", repaired, len(p.logs))
			}
		})
	}
}

// TestFioAccuracy compares with every single I/O of freshly made runs: steady, at
// rates that differ per direction, and stalled for three seconds.
func TestFioAccuracy(t *testing.T) {
	disk := "ioengine=psync\nsize=32m\nbs=4k\ntime_based=1\nthread\n"
	stall := func(p *os.Process) {
		time.Sleep(5 * time.Second)
		p.Signal(syscall.SIGSTOP) //nolint:errcheck // the test would show
		time.Sleep(3 * time.Second)
		p.Signal(syscall.SIGCONT) //nolint:errcheck // the test would show
	}
	tests := []struct {
		name   string
		job    string
		during func(*os.Process)
	}{
		{"steady", disk + "rw=randrw\nrate_iops=800\nlog_hist_msec=1000\nruntime=12\n", nil},
		{"rates that differ", "ioengine=libaio\niodepth=4\nsize=32m\nbs=4k\ntime_based=1\nthread\nrw=randrw\nrate_iops=900,400\nlog_hist_msec=300\nruntime=12\n", nil},
		{"stalled", disk + "rw=randrw\nrate_iops=800\nlog_hist_msec=1000\nruntime=14\n", stall},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := fio(t, "[x]\n"+tt.job+"write_hist_log=x\nwrite_lat_log=x\n", tt.during)
			ios := readExact(t, filepath.Join(dir, "x_clat.*.log"))
			s := settings()
			s.Interval, s.Percentiles = time.Second, []float64{50, 95, 99}
			p, c := planned(t, s, dir)
			complete(t, p)
			if a := p.Account; a.LinesSkipped != 0 || a.Records == 0 {
				t.Errorf("account %+v", a)
			}
			last := int64(math.MaxInt64)
			for _, r := range p.Report() {
				for _, d := range r.Dirs {
					last = min(last, d.Last.Milliseconds())
				}
			}
			errs := map[float64][]float64{}
			worst := 0.0
			for i, row := range c.rows {
				from := c.offsets[i] / msec
				if row.Dims.Direction == All || from+1000 > last {
					continue
				}
				var latencies []float64
				for _, io := range ios {
					if io.dir == row.Dims.Direction && io.ms >= from && io.ms < from+1000 {
						latencies = append(latencies, float64(io.ns))
					}
				}
				n := float64(len(latencies))
				off := math.Abs(row.Stats.Samples - n)
				if off > max(0.015*n, 5) {
					t.Errorf("%s at %d ms: %.1f I/Os, %v were logged one by one", row.Dims.Direction, from, row.Stats.Samples, n)
				}
				if n < 100 {
					continue
				}
				worst = max(worst, off/n)
				slices.Sort(latencies)
				for k, p := range s.Percentiles {
					exact := latencies[int(math.Ceil(n*p/100))-1]
					e := math.Abs(row.Stats.Percentiles[k]-exact) / exact
					errs[p] = append(errs[p], e)
					if p == 50 && e > 0.1 {
						t.Errorf("%s at %d ms: p50 %.0f ns, exactly %.0f", row.Dims.Direction, from, row.Stats.Percentiles[k], exact)
					}
				}
			}
			for _, p := range s.Percentiles {
				if m := median(errs[p]); m > 0.02 {
					t.Errorf("p%g: median relative error %.2f %%, want at most 2 %%", p, 100*m)
				} else {
					t.Logf("p%g: median relative error %.2f %% over %d seconds; worst count %.2f %% off", p, 100*m, len(errs[p]), 100*worst)
				}
			}
		})
	}
}
