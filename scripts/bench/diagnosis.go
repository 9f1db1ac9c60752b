package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// diagnosis compares ingest with and without a diagnosis. A part of a run has no diagnosis and no lifts, as these need
// all hosts. It also has no percentiles of all hosts together, 3 of 99 documents per interval.
func diagnosis(ctx context.Context, b *bench) ([]result, error) {
	set, err := b.set()
	if err != nil {
		return nil, err
	}
	var logs []string
	for i, name := range set.mixed {
		logs = append(logs, filepath.Join(b.dir, fmt.Sprintf("diagnosis_clat_hist.1.log.host%02d", i)))
		if err = os.Link(name, logs[i]); err != nil {
			return nil, err
		}
	}
	documents := filepath.Join(b.dir, "diagnosed")
	ingest := func(name string, flags ...string) contender {
		args := append([]string{b.fiolat, "ingest", "--run-id", "R", "--start", "2026-01-01T00:00:00Z", "--interval",
			"1s", "--log-hist-msec", "1000", "--by", "direction,host", "--output", documents}, flags...)
		return contender{name: name, args: append(args, logs...), bytes: set.sparse,
			before: func(context.Context) error { return os.RemoveAll(documents) },
			after: func(string) error {
				found, err := filepath.Glob(filepath.Join(documents, "fio-percentiles-*.ndjson"))
				if err == nil && len(found) == 0 {
					err = fmt.Errorf("%s: no documents", documents)
				}
				return err
			}}
	}
	with := ingest("fiolat ingest --output, 32 hosts")
	with.want = cpuOf(1.1)
	return b.more(2).race(ctx, ingest("the same as a part of a run, which has no diagnosis", "--part", "p"), with)
}

// cpuOf requires at most so many times the CPU time of the first contender, by the median of the rounds' ratios.
func cpuOf(most float64) want {
	return func(r result, of []result) (string, bool) {
		var ratios []float64
		for i, s := range r.samples {
			ratios = append(ratios, s.cpu.Seconds()/of[0].samples[i].cpu.Seconds())
		}
		ratio := median(ratios)
		words := fmt.Sprintf("at most %s times the processor time, and it is %s", times(most), times(ratio))
		return words, ratio <= most
	}
}
