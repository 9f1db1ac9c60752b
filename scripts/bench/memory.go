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
			return "at most 256 MB, and 1.1 times the memory of the one before", r.memory <= 256 && r.memory <= 1.1*of[0].memory
		}
		results, err := b.race(ctx, thousand(s.short), long)
		if err != nil {
			return nil, err
		}
		many = append(many, results...)
	}
	const atMost = 256
	for _, c := range []struct {
		name string
		of   streams
		want float64
		args []string
		rows int
	}{
		{"percentiles at the default interval, 1,000 logs x 2000 s x 1856 columns", streams{logs: 1000, seconds: 2000}, atMost, []string{"percentiles", "--format", "csv"}, 2000},
		{"percentiles at the default interval, 1,000 logs x 7200 s x 1856 columns", streams{logs: 1000, seconds: 7200}, atMost, []string{"percentiles", "--format", "csv"}, 7200},
		{"report, 1,000 hosts x 3600 s x 1856 columns", streams{logs: 1000, seconds: 3600, hosts: true}, 512, []string{"report", "-o", filepath.Join(b.dir, "report.html")}, 0},
		{"compare, 50 runs x 3600 s x 1856 columns", streams{logs: 50, seconds: 3600}, atMost, []string{"compare"}, 49},
	} {
		one := c.of.contender(b, "fiolat "+c.name, append([]string{b.fiolat}, c.args...)...)
		one.after = both(one.after, atLeastLines(c.rows))
		one.want = memoryOf(c.want)
		results, err := b.race(ctx, one)
		if err != nil {
			return nil, err
		}
		many = append(many, results...)
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
