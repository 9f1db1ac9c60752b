package main

import (
	"context"
	"fmt"
)

// memory measures the peak of resident memory over logs that never touch a disk: a
// thousand long and coarse ones, and a single one of 20 GB.
func memory(ctx context.Context, b *bench) ([]result, error) {
	thousand := func(seconds int) contender {
		return streams{logs: 1000, seconds: seconds, coarseness: 6}.contender(b, fmt.Sprintf("fiolat --by host --interval 60s, 1,000 logs x %d s x 29 columns", seconds),
			b.fiolat, "percentiles", "--format", "csv", "--by", "host", "--interval", "60s")
	}
	short, long := thousand(2160), thousand(21600)
	short.after, long.after = both(short.after, atLeastLines(2160/60)), both(long.after, atLeastLines(21600/60))
	long.want = func(r result, of []result) (string, bool) {
		return "at most 256 MB, and 1.1 times the memory of the one before", r.memory <= 256 && r.memory <= 1.1*of[0].memory
	}
	many, err := b.race(ctx, short, long)
	if err != nil {
		return nil, err
	}
	const seconds = 1_780_000 // of two records of 5.6 KB
	big := streams{logs: 1, seconds: seconds, least: 20e9}
	one := big.contender(b, "fiolat --interval 60s, one log of 20 GB x 1,856 columns", b.fiolat, "percentiles", "--format", "csv", "--interval", "60s")
	one.after = both(one.after, atLeastLines(seconds/60))
	one.want = memoryOf(64)
	alone, err := b.race(ctx, one,
		big.contender(b, "cat of the same pipe", "sh", "-c", `cat "$@" > /dev/null`, "sh"))
	return append(many, alone...), err
}

// both does one thing after the other.
func both(f, g func(string) error) func(string) error {
	return func(stdout string) error {
		if err := f(stdout); err != nil {
			return err
		}
		return g(stdout)
	}
}
