package matrix

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// A deviceCase is a run of fio on a device that is slow, stalls or fails. Every I/O is logged beside the histograms.
type deviceCase struct {
	Name string
	// Options are those of [global], besides runtime=10 and what every such run has.
	Options []string
	// Jobs are the jobs, each a name and its options; empty is one job "a".
	Jobs [][]string
	// Device answers at slow.sock; nil: the null engine. Fast, if set, answers at fast.sock.
	Device, Fast device
	// KillJob is the time in ms after which the last job's process gets SIGKILL.
	KillJob int
	// Named is what a warning must say, of a run that is not whole.
	Named string
}

func after(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// fixed is a device of one latency.
func fixed(latency float64) device {
	return func(bool, time.Duration, int) (time.Duration, syscall.Errno) { return after(latency), 0 }
}

// stalls is a device on which requests between two times wait for the second.
func stalls(latency, from, to float64) device {
	return func(_ bool, t time.Duration, _ int) (time.Duration, syscall.Errno) {
		if t >= after(from) && t < after(to) {
			return after(to) - t, 0
		}
		return after(latency), 0
	}
}

// fails is a device whose requests from a time on hang for a while and then fail.
func fails(latency, from, hang float64) device {
	return func(_ bool, t time.Duration, _ int) (time.Duration, syscall.Errno) {
		if t > after(from) {
			return after(hang), syscall.EIO
		}
		return after(latency), 0
	}
}

// drawn is a device whose latencies are drawn, always the same.
func drawn(draw func(*rand.Rand) float64) device {
	rng := rand.New(rand.NewPCG(7, 7))
	return func(bool, time.Duration, int) (time.Duration, syscall.Errno) { return after(draw(rng)), 0 }
}

// deviceCases are the runs: by how the device behaves, how deep the queue is and how long a window.
func deviceCases() (all []deviceCase) {
	add := func(name string, d device, depth, h int, options ...string) *deviceCase {
		options = append([]string{fmt.Sprint("iodepth=", depth), fmt.Sprint("log_hist_msec=", h)}, options...)
		all = append(all, deviceCase{Name: name, Options: options, Device: d})
		return &all[len(all)-1]
	}
	for i, depth := range []int{1, 4, 32, 128, 256} {
		h := []int{250, 1000, 500}[i%3]
		latency := 0.002 * float64(max(depth, 8)) / 8
		add(fmt.Sprint("slow-3s-d", depth), fixed(3), depth, h)
		add(fmt.Sprint("slow-0.7s-d", depth), fixed(0.7), depth, h)
		add(fmt.Sprint("stall-start-d", depth), stalls(latency, 0, 4), depth, h)
		add(fmt.Sprint("stall-middle-d", depth), stalls(latency, 4, 7), depth, h)
		add(fmt.Sprint("stall-end-d", depth), stalls(latency, 8, 13), depth, h)
	}
	add("above-runtime-d16", fixed(6), 16, 1000, "runtime=3")
	add("above-runtime-d128", fixed(3), 128, 500, "runtime=2")
	add("dies-d1", fails(.005, 5, 4), 1, 1000)
	add("dies-d16", fails(.02, 5, 4), 16, 250)
	add("last-fail", fails(.02, 3.9, 3), 2, 250, "runtime=4")
	add("some-20s", func(_ bool, _ time.Duration, i int) (time.Duration, syscall.Errno) {
		if i%40 == 5 {
			return after(12), 0
		}
		return after(.02), 0
	}, 26, 500, "runtime=3")
	add("exponential", drawn(func(r *rand.Rand) float64 { return r.ExpFloat64() * .2 }), 16, 250)
	add("heavy-tail", drawn(func(r *rand.Rand) float64 { return min(6, .02/(1-r.Float64())) }), 32, 500)
	add("bursts", func(_ bool, t time.Duration, _ int) (time.Duration, syscall.Errno) {
		if t/(500*time.Millisecond)%2 == 1 {
			return after(.05), 0
		}
		return after(.004), 0
	}, 8, 500)
	add("frozen-but-for-bursts", func(_ bool, t time.Duration, _ int) (time.Duration, syscall.Errno) {
		if in := t % (2500 * time.Millisecond); in < 2*time.Second {
			return 2*time.Second - in, 0
		}
		return after(.01), 0
	}, 16, 500)
	byDirection := func(write bool, _ time.Duration, _ int) (time.Duration, syscall.Errno) {
		if write {
			return after(1.5), 0
		}
		return after(.3), 0
	}
	add("mixed", byDirection, 16, 500, "rw=randrw")
	add("mixed-stall", stalls(.01, 3, 7), 4, 1000, "rw=randrw")
	add("group", stalls(.02, 5, 8), 4, 500, "group_reporting=1", "numjobs=2")
	one := add("group-one-dies", fails(.01, 4, 4), 1, 1000, "group_reporting=1")
	one.Fast, one.Jobs = fixed(.01), [][]string{{"a"}, {"b", "uri=nbd+unix:///?socket=fast.sock"}}
	mixed := add("group-readers-writer", fixed(.01), 1, 1000, "group_reporting=1")
	mixed.Jobs = [][]string{{"readers", "numjobs=3"}, {"writer", "rw=randwrite", "rate_iops=50"}}
	killed := add("group-killed-job", fixed(.01), 1, 1000, "group_reporting=1", "numjobs=2")
	killed.KillJob, killed.Named = 4500, `threads, (but|of which)`
	add("verify", fixed(.05), 8, 500, "rw=write", "size=2m", "verify=crc32c", "do_verify=1", "time_based=0",
		"runtime=0")
	add("ramp", stalls(.02, 0, 1), 4, 500, "ramp_time=2", "runtime=6")
	add("ramp-slow", fixed(3), 8, 500, "ramp_time=2")
	add("absolute-stall", stalls(.01, 4, 7), 4, 500, "log_unix_epoch=1")
	add("absolute-slow", fixed(3), 16, 500, "log_unix_epoch=1")
	add("thinktime", fixed(.5), 1, 500, "thinktime=800ms")
	add("rate-stall", stalls(.004, 3, 6), 4, 500, "rate_iops=100")
	add("poisson-100", nil, 1, 1000, "rate_iops=100", "rate_process=poisson")
	add("poisson-3", nil, 1, 500, "rate_iops=3", "rate_process=poisson")
	add("rate-1", nil, 1, 500, "rate_iops=1")
	add("rate-three-jobs", nil, 1, 1000, "rate_iops=40", "numjobs=3")
	return all
}

// job returns the job file's text.
func (c *deviceCase) job() string {
	options := []string{"rw=randread", "bs=4k", "time_based=1", "runtime=10", "log_hist_coarseness=4",
		"write_hist_log=h", "write_lat_log=" + everyIO}
	if c.Device == nil {
		options = append(options, "ioengine=null", "size=1g")
	} else {
		options = append(options, "ioengine=nbd", "uri=nbd+unix:///?socket=slow.sock", "size=64m")
	}
	for _, o := range c.Options {
		key, _, _ := strings.Cut(o, "=")
		options = slices.DeleteFunc(options, func(old string) bool { return strings.HasPrefix(old, key+"=") })
		options = append(options, o)
	}
	text := "[global]\n" + strings.Join(options, "\n") + "\n"
	jobs := c.Jobs
	if jobs == nil {
		jobs = [][]string{{"a"}}
	}
	for _, j := range jobs {
		text += fmt.Sprintf("[%s]\n%s\n", j[0], strings.Join(j[1:], "\n"))
	}
	return text
}

// everyIO is the name of the logs with every single I/O.
const everyIO = "every"

// deviceTruth is every I/O of such a run.
type deviceTruth struct {
	Named    string       `json:"named,omitempty"`
	HistMsec int64        `json:"log_hist_msec"`
	Absolute bool         `json:"absolute,omitempty"`
	Logs     []loggedTime `json:"logs"`
}

// loggedTime are the completions of one thread in one direction: pairs of ms since the one before, and how many.
type loggedTime struct {
	Job       int     `json:"job"`
	Direction string  `json:"direction"`
	Times     []int64 `json:"times"`
}

// generateDevices runs every case with every fio, each into a folder below out with its truth.
func generateDevices(ctx context.Context, fios []string, only, out string, parallel int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, fio := range fios {
		text, err := exec.CommandContext(ctx, fio, "--version").Output()
		if err != nil {
			return fmt.Errorf("%s --version: %w", fio, err)
		}
		version := regexp.MustCompile(`\d+\.\d+`).FindString(string(text))
		for _, c := range deviceCases() {
			if dir := filepath.Join(out, version+"-device-"+c.Name); strings.Contains(dir, only) {
				group.Go(func() error {
					if err := c.run(ctx, fio, dir); err != nil {
						return fmt.Errorf("%s: %w", dir, err)
					}
					return nil
				})
			}
		}
	}
	return group.Wait()
}

func (c *deviceCase) run(ctx context.Context, fio, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// The path of a socket must be short.
	scratch, err := os.MkdirTemp("", "device-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	for socket, d := range map[string]device{"slow.sock": c.Device, "fast.sock": c.Fast} {
		if d != nil {
			if err = serveNBD(ctx, filepath.Join(scratch, socket), 64<<20, d); err != nil {
				return err
			}
		}
	}
	job := filepath.Join(scratch, "job.fio")
	if err = os.WriteFile(job, []byte(c.job()), 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, fio, "--output-format=json+", "--output=fio.json", job)
	cmd.Dir = scratch
	group(cmd)
	if err = cmd.Start(); err != nil {
		return err
	}
	if c.KillJob > 0 {
		time.AfterFunc(time.Duration(c.KillJob)*time.Millisecond, func() {
			if all := running(job); len(all) > 1 {
				_ = syscall.Kill(all[len(all)-1], syscall.SIGKILL)
			}
		})
	}
	err = cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	return c.keep(scratch, dir)
}

// keep copies what a run left, without the logs of every I/O, which become device.json.
func (c *deviceCase) keep(scratch, dir string) error {
	files, err := filepath.Glob(filepath.Join(scratch, "*"))
	if err != nil {
		return err
	}
	truth := deviceTruth{Named: c.Named}
	h := regexp.MustCompile(`log_hist_msec=(\d+)`).FindStringSubmatch(c.job())
	if truth.HistMsec, err = strconv.ParseInt(h[1], 10, 64); err != nil {
		return err
	}
	for _, file := range files {
		name := filepath.Base(file)
		switch {
		case strings.HasPrefix(name, everyIO+"_clat"):
			err = truth.add(file)
		case strings.HasPrefix(name, "h_clat_hist"), name == "fio.json":
			err = copyFile(file, filepath.Join(dir, name))
		}
		if err != nil {
			return err
		}
	}
	text := regexp.MustCompile(`write_lat_log=.*\n`).ReplaceAllString(c.job(), "")
	encoded, err := json.Marshal(truth)
	return errors.Join(err, os.WriteFile(filepath.Join(dir, "job.fio"), []byte(text), 0o644),
		os.WriteFile(filepath.Join(dir, "device.json"), encoded, 0o644))
}

// add reads a log of single I/Os.
func (t *deviceTruth) add(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	parts := strings.Split(filepath.Base(file), ".")
	job, err := strconv.Atoi(parts[len(parts)-2])
	if err != nil {
		return err
	}
	at := map[int]*loggedTime{}
	last := map[int]int64{}
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		fields := strings.Split(lines.Text(), ", ")
		if len(fields) < 4 {
			return fmt.Errorf("%s: %q", file, lines.Text())
		}
		ms, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			return err
		}
		d, err := strconv.Atoi(fields[2])
		if err != nil || d >= len(directions) {
			return fmt.Errorf("%s: %q", file, lines.Text())
		}
		t.Absolute = t.Absolute || ms > 1e11
		l := at[d]
		if l == nil {
			l = &loggedTime{Job: job, Direction: directions[d]}
			at[d] = l
		} else if ms == last[d] {
			l.Times[len(l.Times)-1]++
			continue
		}
		l.Times = append(l.Times, ms-last[d], 1)
		last[d] = ms
	}
	for d := range directions {
		if l := at[d]; l != nil {
			t.Logs = append(t.Logs, *l)
		}
	}
	return nil
}
