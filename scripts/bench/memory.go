package main

import (
	"context"
	"fmt"
	"path/filepath"
)

// memory measures the peak of resident memory over logs that never touch a disk: a
// thousand long ones, coarse and as fine as fio logs, and a single one of 20 GB.
func memory(ctx context.Context, b *bench) ([]result, error) {
	var many []result
	for _, s := range []struct{ short, long, coarseness, columns int }{{2160, 21600, 6, 29}, {720, 7200, 0, 1856}} {
		thousand := func(seconds int) contender {
			c := streams{logs: 1000, seconds: seconds, coarseness: s.coarseness}.contender(b,
				fmt.Sprintf("fiolat --by host --interval 60s, 1,000 logs x %d s x %d columns", seconds, s.columns),
				b.fiolat, "percentiles", "--format", "csv", "--by", "host", "--interval", "60s")
			c.after = both(c.after, atLeastLines(seconds/60))
			return c
		}
		long := thousand(s.long)
		long.want = func(r result, of []result) (string, bool) {
			return "at most 256 MB, and 1.1 times the memory of the one before", r.memory <= 256 &&
				r.memory <= 1.1*of[0].memory
		}
		results, err := b.race(ctx, thousand(s.short), long)
		if err != nil {
			return nil, err
		}
		many = append(many, results...)
	}
	// Half as many rows as seconds at least: the default interval is the spacing of the records,
	// rounded up to whole seconds.
	byDefault := func(seconds int) contender {
		c := streams{logs: 1000, seconds: seconds}.contender(b,
			fmt.Sprintf("fiolat percentiles, 1,000 logs x %d s x 1856 columns", seconds),
			b.fiolat, "percentiles", "--format", "csv")
		c.after = both(c.after, atLeastLines(seconds/2))
		return c
	}
	short, long := byDefault(2000), byDefault(7200)
	short.want = memoryOf(256)
	long.want = func(r result, of []result) (string, bool) {
		met := r.memory <= 256 && r.memory <= 1.1*of[0].memory
		return "at most 256 MB, and 1.1 times the memory of the one before", met
	}
	page := streams{logs: 1000, seconds: 3600, hosts: true}.contender(b,
		"fiolat report, 1,000 hosts x 3600 s x 1856 columns",
		b.fiolat, "report", "-o", filepath.Join(b.dir, "report.html"))
	page.want = memoryOf(512)
	runs := streams{logs: 50, seconds: 3600}.contender(b,
		"fiolat compare, 50 runs x 3600 s x 1856 columns", b.fiolat, "compare")
	runs.after, runs.want = both(runs.after, atLeastLines(49)), memoryOf(256)
	for _, contenders := range [][]contender{{short, long}, {page}, {runs}} {
		results, err := b.race(ctx, contenders...)
		if err != nil {
			return nil, err
		}
		many = append(many, results...)
	}
	const seconds = 1_780_000 // of two records of 5.6 KB
	big := streams{logs: 1, seconds: seconds, least: 20e9}
	one := big.contender(b, "fiolat --interval 60s, one log of 20 GB x 1,856 columns", b.fiolat, "percentiles",
		"--format", "csv", "--interval", "60s")
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
