package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// growth measures the processor time of commands over ten times as many logs, and relative to percentiles.
func growth(ctx context.Context, b *bench) ([]result, error) {
	few, many := manyJobs(b, 1000, false, "percentiles"), manyJobs(b, 10_000, false, "percentiles")
	many.want = bothOf(slopeOf(1.08), memoryOf(256))
	results, err := b.race(ctx, few, many)
	if err != nil {
		return nil, err
	}
	all := results
	first := manyJobs(b, 10_000, false, "percentiles")
	byLog := manyJobs(b, 10_000, false, "percentiles", "--by", "log")
	diagnose, inspect := manyJobs(b, 10_000, false, "diagnose"), manyJobs(b, 10_000, false, "inspect")
	byLog.want, diagnose.want, inspect.want = memoryOf(400), bothOf(processorOf(1.3), memoryOf(400)), processorOf(1.5)
	if results, err = b.race(ctx, first, byLog, diagnose, inspect); err != nil {
		return nil, err
	}
	all = append(all, results...)
	more := manyHosts(b, 1000, "diagnose")
	more.want = slopeOf(1.1)
	if results, err = b.race(ctx, manyHosts(b, 100, "diagnose"), more); err != nil {
		return nil, err
	}
	all = append(all, results...)
	many.want = processorOf(5)
	hosts := manyHosts(b, 1000, "percentiles")
	hosts.want = processorOf(7)
	for _, of := range []contender{many, hosts} { // beside what the figures alone cost
		least := floor(b, of.args[len(of.args)-1])
		least.before = of.before
		if results, err = b.race(ctx, least, of); err != nil {
			return nil, err
		}
		all = append(all, results...)
	}
	return all, nil
}

// manyHosts is a command over a log of a minute for each of so many hosts.
func manyHosts(b *bench, hosts int, command ...string) contender {
	dir := filepath.Join(b.dir, fmt.Sprintf("hosts-%d", hosts))
	c := contender{name: fmt.Sprintf("fiolat %s, %d hosts x 60 s", strings.Join(command, " "), hosts), runs: 1,
		args: append(append([]string{b.fiolat}, command...), dir)}
	c.before = func(ctx context.Context) error {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		for n := range hosts { // make-logs makes no files
			if err := os.WriteFile(filepath.Join(dir, streamName(n, true)), nil, 0o600); err != nil {
				return err
			}
		}
		_, err := output(ctx, b.self, "make-logs", "-logs", strconv.Itoa(hosts), "-seconds", "60", "-hosts", dir)
		return err
	}
	c.after = atLeastLines(2)
	return c
}

// slopeOf requires the processor time of ten times as much work to grow by at most such a power of it.
func slopeOf(most float64) want {
	return func(r result, of []result) (string, bool) {
		slope := math.Log10(r.cpu.Seconds() / of[0].cpu.Seconds())
		return fmt.Sprintf("processor time grows by at most the power %g, and it is %.2f", most, slope), slope <= most
	}
}

// processorOf requires at most so many times the processor time of the first contender.
func processorOf(most float64) want {
	return func(r result, of []result) (string, bool) {
		ratio := r.cpu.Seconds() / of[0].cpu.Seconds()
		return fmt.Sprintf("at most %g times the processor time, and it is %.2f", most, ratio), ratio <= most
	}
}

// bothOf requires both.
func bothOf(a, b want) want {
	return func(r result, of []result) (string, bool) {
		first, ok := a(r, of)
		second, also := b(r, of)
		return first + "; " + second, ok && also
	}
}
