package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// contender is one of the programs that do the same work. The others are compared with the first of a race.
type contender struct {
	name string
	args []string
	env  []string
	// runs is the number of rounds, the last ones, in which it takes part; 0 is all. What takes minutes runs once.
	runs int
	// before and after are not timed. after checks that the work was done; stdout is the path of standard output.
	before func(context.Context) error
	after  func(stdout string) error
	// bytes and docs are the amount of work, for rates; 0 for none.
	bytes, docs int64
	want        want
}

// want returns a target in words and whether r meets it. of has the results of the race up to and including r.
type want func(r result, of []result) (string, bool)

// timesAs requires the contender to take at least so many times as long as the first.
func timesAs(least float64) want {
	return func(r result, _ []result) (string, bool) {
		return "at least " + times(least) + " times", r.ratio >= least
	}
}

// memoryOf requires all peaks to be at most so many MB.
func memoryOf(most float64) want {
	return func(r result, _ []result) (string, bool) {
		return fmt.Sprintf("at most %g MB", most), r.highest <= most
	}
}

// flatMemoryOf is memoryOf, and requires the median of the peaks to be at most 1.1 times that of the first contender.
// It compares medians because the peak of a single run depends on the timing of the garbage collector.
func flatMemoryOf(most float64) want {
	return func(r result, of []result) (string, bool) {
		return fmt.Sprintf("at most %g MB, and 1.1 times the memory of the one before", most),
			r.highest <= most && r.memory <= 1.1*of[0].memory
	}
}

// sample is one run.
type sample struct {
	wall, cpu time.Duration
	memory    float64 // peak, in MB of 2^20 bytes
}

type result struct {
	*contender
	samples []sample
	wall    time.Duration // median
	cpu     time.Duration // median, user and system
	memory  float64       // median of the peaks, in MB of 2^20 bytes
	highest float64       // of the peaks
	ratio   float64       // of wall time to the first contender's, median over the rounds
	wanted  string
	met     bool
	note    string // shown instead of times, if there are none
}

// race runs the contenders in turn, round after round, in every other round in reverse order, so that other load on the
// machine affects all of them. It compares only runs of the same round. If b.rows matches no contender, nothing runs.
func (b *bench) race(ctx context.Context, contenders ...contender) ([]result, error) {
	if !slices.ContainsFunc(contenders, func(c contender) bool { return b.rows.MatchString(c.name) }) {
		return nil, nil
	}
	results := make([]result, len(contenders))
	for i := range contenders {
		results[i].contender = &contenders[i]
	}
	for round := range b.rounds {
		for k := range results {
			i := k
			if round%2 == 1 {
				i = len(results) - 1 - k
			}
			r := &results[i]
			if r.runs > 0 && round < b.rounds-r.runs {
				continue
			}
			s, err := b.time(ctx, r.contender)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.name, err)
			}
			r.samples = append(r.samples, s)
			fmt.Fprintf(os.Stderr, "%d/%d %-40s %8.3f s %8.3f s cpu %8.1f MB\n", round+1, b.rounds, r.name,
				s.wall.Seconds(), s.cpu.Seconds(), s.memory)
		}
	}
	for i := range results {
		r := &results[i]
		var wall, cpu, memory, ratio []float64
		for n, s := range r.samples {
			wall, cpu, memory = append(wall, s.wall.Seconds()), append(cpu, s.cpu.Seconds()), append(memory, s.memory)
			r.highest = max(r.highest, s.memory)
			first := results[0].samples // aligned at the last round
			n += len(first) - len(r.samples)
			if n >= 0 {
				ratio = append(ratio, s.wall.Seconds()/first[n].wall.Seconds())
			}
		}
		r.wall, r.cpu = seconds(median(wall)), seconds(median(cpu))
		r.memory, r.ratio = median(memory), median(ratio)
		if r.want != nil {
			r.wanted, r.met = r.want(*r, results[:i+1])
		}
	}
	return results, nil
}

// more is b with n times as many rounds, for races whose runs are short or vary.
func (b *bench) more(n int) *bench {
	c := *b
	c.rounds *= n
	return &c
}

// time runs a contender once.
func (b *bench) time(ctx context.Context, c *contender) (s sample, err error) {
	if c.before != nil {
		if err = c.before(ctx); err != nil {
			return s, err
		}
	}
	stdout, err := os.Create(filepath.Join(b.dir, "stdout"))
	if err != nil {
		return s, err
	}
	defer stdout.Close()
	var stderr tail
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	stopGracefully(cmd)
	start := time.Now()
	err = cmd.Run()
	s.wall = time.Since(start)
	if err != nil {
		return s, fmt.Errorf("%w: %s", err, stderr.text)
	}
	s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	s.memory = float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1024
	if c.after != nil {
		err = c.after(stdout.Name())
	}
	return s, err
}

// stopGracefully makes a command get SIGTERM before SIGKILL when its context ends.
func stopGracefully(cmd *exec.Cmd) {
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(len(t.text)-2000, 0):]
	return len(p), nil
}

// output runs an untimed command and returns its output.
func output(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	stopGracefully(cmd)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s: %w: %s", args[0], err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
