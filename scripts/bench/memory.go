package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fiolat/fio/fiohist"
	"fiolat/ingest/fiolog"
)

// memory measures the peak of resident memory, mostly over logs that are streamed through pipes: a thousand long ones,
// coarse and as fine as fio logs, and a single one of 20 GB. Only the logs of many jobs are files.
func memory(ctx context.Context, b *bench) ([]result, error) {
	var many []result
	for _, s := range []struct{ short, long, coarseness, columns int }{{2160, 21600, 6, 29}, {720, 7200, 0, 1856}} {
		thousand := func(seconds int) contender {
			c := streams{logs: 1000, seconds: seconds, coarseness: s.coarseness}.contender(b,
				fmt.Sprintf("fiolat --by host --interval 60s, 1,000 logs x %d s x %d columns", seconds, s.columns),
				b.fiolat, "percentiles", "--format", "csv", "--by", "host", "--interval", "60s")
			c.after = both(c.after, atLeastLines(seconds/60))
			if s.columns == 29 { // short enough to run in all rounds
				c.runs = 0
			}
			return c
		}
		long := thousand(s.long)
		long.want = flatMemoryOf(256)
		results, err := b.race(ctx, thousand(s.short), long)
		if err != nil {
			return nil, err
		}
		many = append(many, results...)
	}
	// At least half as many rows as seconds: the default interval is the spacing of the records, rounded up to whole
	// seconds.
	byDefault := func(seconds int) contender {
		c := streams{logs: 1000, seconds: seconds}.contender(b,
			fmt.Sprintf("fiolat percentiles, 1,000 logs x %d s x 1856 columns", seconds),
			b.fiolat, "percentiles", "--format", "csv")
		c.after = both(c.after, atLeastLines(seconds/2))
		return c
	}
	short, long := byDefault(2000), byDefault(7200)
	short.want, long.want = memoryOf(256), flatMemoryOf(256)
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
	plain, bins := manyJobs(b, 1600, false, "percentiles"), manyJobs(b, 1600, true, "percentiles", "--no-restore")
	restored := manyJobs(b, 1600, true, "percentiles")
	bins.want = func(r result, of []result) (string, bool) {
		return "at most 1.1 times the memory of the one before", r.memory <= 1.1*of[0].memory
	}
	restored.want = memoryOf(256)
	hosts := func(n int) contender {
		return streams{logs: n, seconds: 60, coarseness: 6, hosts: true}.contender(b,
			fmt.Sprintf("fiolat report, %d hosts x 60 s x 29 columns", n),
			b.fiolat, "report", "-o", filepath.Join(b.dir, "report.html"))
	}
	thousands := hosts(3000)
	thousands.want = func(r result, _ []result) (string, bool) {
		return "at most 4.5 times as long", r.ratio <= 4.5
	}
	pages, err := b.race(ctx, hosts(1000), thousands)
	if err != nil {
		return nil, err
	}
	many = append(many, pages...)
	jobs, err := b.race(ctx, plain, bins, restored)
	if err != nil {
		return nil, err
	}
	many = append(many, jobs...)
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

// both runs f, then g.
func both(f, g func(string) error) func(string) error {
	return func(stdout string) error {
		if err := f(stdout); err != nil {
			return err
		}
		return g(stdout)
	}
}

// manyJobs is a command over the short logs of many jobs and their fio JSON, with or without bins.
func manyJobs(b *bench, jobs int, bins bool, command ...string) contender {
	format := "json without bins"
	if bins {
		format = "json+ of 183 MB"
	}
	dir := filepath.Join(b.dir, fmt.Sprintf("jobs-%d-%v", jobs, bins))
	c := contender{name: fmt.Sprintf("fiolat %s, %d logs and their %s", strings.Join(command, " "), jobs, format),
		runs: 1, args: append(append([]string{b.fiolat}, command...), dir)}
	c.before = func(ctx context.Context) error {
		if _, err := os.Stat(dir); err == nil {
			return nil
		}
		_, err := output(ctx, b.self, "make-jobs", "-jobs", strconv.Itoa(jobs), "-bins="+strconv.FormatBool(bins), dir)
		return err
	}
	c.after = atLeastLines(2)
	return c
}

// makeJobsTool is the subcommand that writes the logs of many jobs and their fio.json into a directory.
func makeJobsTool(_ context.Context, args []string) error {
	flags := flag.NewFlagSet("make-jobs", flag.ContinueOnError)
	jobs := flags.Int("jobs", 1, "how many")
	bins := flags.Bool("bins", false, "as json+ has them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	template, err := logTemplate(0)
	if err != nil {
		return err
	}
	dir := flags.Arg(0)
	if err = os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "fio.json"))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	fmt.Fprint(w, `{"fio version": "fio-3.36", "timestamp_ms": 1700000003000, `+
		`"global options": {"log_hist_msec": "1000", "write_hist_log": "bench"}, "jobs": [`)
	for n := range *jobs {
		const seconds = 2
		log := template.Log(uint64(n), time.Second, seconds)
		if err := writeSynced(filepath.Join(dir, logName(n)), log); err != nil {
			return err
		}
		if n > 0 {
			fmt.Fprint(w, ",")
		}
		fmt.Fprint(w, "\n{\"jobname\": \"bench\", \"job_start\": 1700000000000, \"elapsed\": 3, ")
		sums, err := sumsOf(log)
		if err != nil {
			return err
		}
		for d, name := range []string{"read", "write"} {
			fmt.Fprintf(w, "%q: {\"runtime\": %d, ", name, 1000*seconds+500)
			for b := 0; b < len(sums[d]); b += 9 {
				sums[d][b]++ // the tail
			}
			writeBins(w, "clat_ns", sums[d], *bins)
			fmt.Fprint(w, ", ")
			writeBins(w, "lat_ns", slices.Repeat([]uint64{1000}, 1800), *bins)
			fmt.Fprint(w, "}, ")
		}
		fmt.Fprintf(w, "\"job_runtime\": %d}", 1000*seconds+500)
	}
	fmt.Fprintln(w, "\n]}")
	return errors.Join(w.Flush(), f.Close())
}

// sumsOf sums the records of a log by direction.
func sumsOf(log []byte) (sums [2][]uint64, err error) {
	r := fiolog.NewBytesReader(log, "bench", fiolog.ReaderOptions{})
	for d := range sums {
		sums[d] = make([]uint64, 1800)
	}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return sums, nil
		}
		if err != nil {
			return sums, err
		}
		for k, b := range rec.Index {
			sums[rec.Dir][b] += uint64(rec.Count[k])
		}
	}
}

// writeBins writes a kind of latency in the format of fio's JSON.
func writeBins(w io.Writer, name string, counts []uint64, bins bool) {
	total := uint64(0)
	for _, n := range counts {
		total += n
	}
	fmt.Fprintf(w, "%q: {\"min\": 0, \"max\": 17000000000, \"mean\": 100000, \"N\": %d", name, total)
	if bins {
		g := fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
		sep := ", \"bins\": {"
		for b, n := range counts {
			if n > 0 {
				fmt.Fprintf(w, "%s\n          \"%.0f\": %d", sep, g.Middle(b), n)
				sep = ","
			}
		}
		fmt.Fprint(w, "}")
	}
	fmt.Fprint(w, "}")
}
