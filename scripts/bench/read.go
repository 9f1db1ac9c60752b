package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"fiolat/ingest/source"
)

// interval is the interval of the percentiles, in seconds.
const interval = 10

// percentiles compares fiolat with fio's programs and with only reading the logs.
func percentiles(ctx context.Context, b *bench) ([]result, error) {
	set, err := b.set()
	if err != nil {
		return nil, err
	}
	python, err := output(ctx, "scripts/oracle-python")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"fio-histo-log-pctiles", "fiologparser_hist"} {
		if err = b.fioProgram(name); err != nil {
			return nil, err
		}
	}
	program := func(name string) string { return filepath.Join(b.dir, name+".py") }
	plain, err := b.more(5).race(ctx,
		contender{name: "fiolat", args: b.percentiles(set.plain), after: quanta, bytes: set.bytes},
		contender{name: "cat > /dev/null", args: cat(set.plain), bytes: set.bytes, want: timesAs(1 / 2.5)},
		contender{name: "fio-histo-log-pctiles", args: append([]string{python, program("fio-histo-log-pctiles"),
			"--time-quantum", strconv.Itoa(interval)}, set.plain...),
			runs: 1, after: atLeastLines(setRecords / interval), bytes: set.bytes, want: timesAs(300)},
		contender{name: "fiologparser_hist", args: append([]string{python, program("fiologparser_hist"), "--interval",
			strconv.Itoa(interval * 1000)}, set.plain...),
			runs: 1, after: atLeastLines(setRecords / interval), bytes: set.bytes, want: timesAs(1400)},
	)
	if err != nil {
		return nil, err
	}
	mixed, err := b.more(5).race(ctx,
		contender{name: "fiolat, no two records the same", args: b.percentiles(set.mixed), after: quanta,
			bytes: set.sparse},
		contender{name: "cat > /dev/null", args: cat(set.mixed), bytes: set.sparse, want: timesAs(1 / 2.5)},
	)
	if err != nil {
		return nil, err
	}
	dir, err := crowd(b.dir, set.plain)
	if err != nil {
		return nil, err
	}
	crowded, err := b.more(5).race(ctx,
		contender{name: fmt.Sprintf("fiolat, %d other files beside the logs and as many above", others),
			args: b.percentiles([]string{dir}), after: quanta, bytes: set.bytes},
		contender{name: "fiolat, the logs alone", args: b.percentiles([]string{set.dir}), after: quanta,
			bytes: set.bytes, want: timesAs(0.5)},
	)
	return slices.Concat(plain, mixed, crowded), err
}

// others is the number of files in a folder that have nothing to do with its logs.
const others = 10000

// crowd returns a folder below base with the logs and other files, whose parent has as many other files.
func crowd(base string, logs []string) (dir string, err error) {
	dir = filepath.Join(base, "crowd", "logs")
	if err = os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	for _, log := range logs {
		if err = os.Link(log, filepath.Join(dir, filepath.Base(log))); err != nil {
			return "", err
		}
	}
	for i := range others {
		name := fmt.Sprintf("%d.%s", i, []string{"txt", "json", "csv", "log", "sh"}[i%5])
		for _, folder := range []string{dir, filepath.Dir(dir)} {
			if err = os.WriteFile(filepath.Join(folder, name), []byte("{\"n\": 1}\n"), 0o600); err != nil {
				return "", err
			}
		}
	}
	return dir, nil
}

func (b *bench) percentiles(logs []string) []string {
	return append([]string{b.fiolat, "percentiles", "--format", "csv", "--interval", strconv.Itoa(interval) + "s"},
		logs...)
}

func cat(files []string) []string {
	return append([]string{"sh", "-c", `cat "$@" > /dev/null`, "sh"}, files...)
}

// quanta checks that fiolat's table has a row for each interval of the set. There may be one more, because the logs end
// some ms after a whole number of intervals.
func quanta(stdout string) error {
	n, err := lines(stdout)
	if rows := n - 1; err == nil && rows != setRecords/interval && rows != setRecords/interval+1 {
		err = fmt.Errorf("%d rows, want %d or one more", rows, setRecords/interval)
	}
	return err
}

func atLeastLines(least int) func(string) error {
	return func(stdout string) error {
		n, err := lines(stdout)
		if err == nil && n < least {
			err = fmt.Errorf("%d lines, want at least %d", n, least)
		}
		return err
	}
}

func lines(name string) (n int, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		n++
	}
	return n, s.Err()
}

// fioProgram copies a program of fio from FIOLAT_TEST_FIO_HIST_DIR, fio's tools/hist, or from Debian's package.
func (b *bench) fioProgram(name string) error {
	var text []byte
	dir := os.Getenv("FIOLAT_TEST_FIO_HIST_DIR")
	if dir != "" {
		var err error
		if text, err = os.ReadFile(filepath.Join(dir, name+".py")); err != nil {
			return err
		}
	} else {
		z, err := source.Open("/usr/share/doc/fio/"+name+".py.gz", nil)
		if err != nil {
			return fmt.Errorf("%w: install Debian's package fio, or set FIOLAT_TEST_FIO_HIST_DIR to fio's tools/hist",
				err)
		}
		defer z.Close()
		if text, err = io.ReadAll(z); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(b.dir, name+".py"), text, 0o600)
}

// compressed compares reading compressed logs with only decompressing them on as many cores, with the same library as
// fiolat and with the programs gzip and zstd.
func compressed(ctx context.Context, b *bench) ([]result, error) {
	set, err := b.set()
	if err != nil {
		return nil, err
	}
	var all []result
	for _, f := range []struct {
		program string
		files   []string
	}{{"gzip", set.gz}, {"zstd", set.zst}} {
		contenders := []contender{
			{name: "fiolat, " + f.program, args: b.percentiles(f.files), after: quanta, bytes: set.bytes},
			{name: "the same library alone", args: append([]string{b.self, "decompress"}, f.files...), bytes: set.bytes,
				want: timesAs(1 / 1.3)},
			{name: "the same, what comes out is not copied", args: append([]string{b.self, "decompress", "-drop"},
				f.files...), bytes: set.bytes},
		}
		if _, err = exec.LookPath(f.program); err == nil {
			contenders = append(contenders, contender{name: f.program + " -dc, a process a core", bytes: set.bytes,
				args: []string{"sh", "-c", fmt.Sprintf(`printf '%%s\n' "$@" | xargs -P %d -n %d %s -dc > /dev/null`,
					runtime.GOMAXPROCS(0), (len(f.files)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0), f.program),
					"sh"}})
			contenders[len(contenders)-1].args = append(contenders[len(contenders)-1].args, f.files...)
		}
		results, err := b.more(5).race(ctx, contenders...)
		if err != nil {
			return nil, err
		}
		all = append(all, results...)
	}
	return all, nil
}

// figures are the results of Go benchmarks, by the benchmark's name and the unit.
type figures struct {
	names []string // in order of appearance
	by    map[string]map[string][]float64
}

// goBench runs benchmarks of one package and parses their results.
func goBench(ctx context.Context, pattern, pkg string, args ...string) (*figures, error) {
	out, err := output(ctx, slices.Concat([]string{"go", "test", "-run", "^$", "-bench", "^" + pattern + "$"}, args,
		[]string{pkg})...)
	if err != nil {
		return nil, err
	}
	found := &figures{by: map[string]map[string][]float64{}}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], pattern+"/") {
			continue
		}
		name := strings.TrimPrefix(f[0], pattern+"/")
		if found.by[name] == nil {
			found.by[name] = map[string][]float64{}
			found.names = append(found.names, name)
		}
		for i := 2; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			found.by[name][f[i+1]] = append(found.by[name][f[i+1]], v)
		}
	}
	if len(found.names) == 0 {
		return nil, fmt.Errorf("no benchmark ran: %s", out)
	}
	return found, nil
}

func (f *figures) of(name, unit string) float64 { return median(f.by[name][unit]) }

// parser runs the Go benchmark of the log reader, which compares with no program but reports throughput and
// allocations.
func parser(ctx context.Context, b *bench) ([]result, error) {
	found, err := goBench(ctx, "BenchmarkReader", "./ingest/fiolog", "-benchmem", "-cpu", "1", "-count",
		strconv.Itoa(b.rounds))
	if err != nil {
		return nil, err
	}
	var all []result
	for _, name := range found.names {
		rate, allocs := found.of(name, "MB/s")/1000, found.of(name, "allocs/op")
		r := result{contender: &contender{name: name}, note: fmt.Sprintf("%.2f GB/s, %g allocations in 1200 records",
			rate, allocs)}
		if strings.HasPrefix(name, "file=randrw/") {
			r.wanted, r.met = "over 1.8 GB/s, no allocation per record", rate > 1.8 && allocs < 100
		}
		all = append(all, r)
	}
	if !slices.ContainsFunc(all, func(r result) bool { return r.wanted != "" }) {
		return nil, errors.New("no row of randrw, which has the target")
	}
	return all, nil
}

// page makes the report pages of a small and of a large run from their documents and opens both in Chromium.
func page(ctx context.Context, _ *bench) ([]result, error) {
	found, err := goBench(ctx, "BenchmarkReport", "./report", "-tags", "integration", "-benchtime", "1x",
		"-timeout", "30m")
	if err != nil {
		return nil, err
	}
	var all []result
	for i, name := range found.names {
		size, memory, draw := found.of(name, "MB-page"), found.of(name, "MB-rss"), found.of(name, "ms-draw")
		r := result{contender: &contender{name: "fiolat report, " + name}, note: fmt.Sprintf("page of %.2f MB, made "+
			"in %.0f MB, drawn in %.0f ms", size, memory, draw)}
		if i > 0 {
			ratio := draw / found.of(found.names[0], "ms-draw")
			r.note += fmt.Sprintf(", %.2f times the small one's", ratio)
			r.wanted, r.met = "below 10 MB, drawn in less than 10 times the time of the small one", size < 10 &&
				ratio < 10
		}
		all = append(all, r)
	}
	return all, nil
}
