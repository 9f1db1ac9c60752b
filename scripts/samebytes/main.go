// Command samebytes checks that a change of the code does not change fiolat's output. It builds fiolat at another
// commit and from the working tree, runs both on every run of testdata/fio and of the packed runs of internal/matrix,
// and compares standard output, standard error, exit codes and files byte for byte. Of HTML pages it compares only the
// data that they show. It exits with 1 if anything differs.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

func main() {
	old := flag.String("old", "main", "the `COMMIT` to compare the working tree with")
	now := flag.String("new", "", "the `COMMIT` to compare with it (default: the working tree)")
	only := flag.String("run", "", "only runs whose folders match this `REGEXP`")
	workers := flag.Int("workers", runtime.GOMAXPROCS(0), "`N` runs compared at a time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	different, err := compare(ctx, [2]string{*old, *now}, *only, *workers)
	if err != nil {
		fmt.Fprintln(os.Stderr, "samebytes:", err)
	}
	if err != nil || different > 0 {
		stop()
		os.Exit(1)
	}
}

// compare prints each command whose results differ, and returns how many do.
func compare(ctx context.Context, commits [2]string, only string, workers int) (different int, err error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "samebytes-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binaries, err := build(ctx, commits, dir)
	if err != nil {
		return 0, err
	}
	folders, err := unpackRuns(ctx, dir)
	if err != nil {
		return 0, err
	}
	folders = slices.DeleteFunc(folders, func(f string) bool { return !pattern.MatchString(f) })
	if len(folders) == 0 {
		return 0, errors.New("no such runs")
	}

	cases := []testCase{}
	for _, args := range alone {
		cases = append(cases, testCase{args: args})
	}
	for _, f := range folders {
		cases = append(cases, casesOf(f)...)
	}
	results := make([]string, len(cases))
	next := make(chan int)
	var group sync.WaitGroup
	var mu sync.Mutex
	for range workers {
		group.Go(func() {
			for i := range next {
				diff, runErr := cases[i].compare(ctx, binaries, filepath.Join(dir, fmt.Sprintf("work-%d", i)))
				results[i] = diff
				mu.Lock()
				err = errors.Join(err, runErr)
				mu.Unlock()
			}
		})
	}
	for i := range cases {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	group.Wait()
	for i, diff := range results {
		if diff != "" {
			different++
			fmt.Printf("fiolat %s (run %s): %s\n", strings.Join(cases[i].args, " "), cases[i].name, diff)
		}
	}
	fmt.Printf("%d commands on %d runs: %d differ from %s\n", len(cases), len(folders), different, commits[0])
	return different, errors.Join(err, ctx.Err())
}

// build builds fiolat at two commits; "" is the working tree. The binaries do not contain their commits.
func build(ctx context.Context, commits [2]string, dir string) (binaries [2]string, err error) {
	for i, commit := range commits {
		binaries[i] = filepath.Join(dir, strconv.Itoa(i), "fiolat")
		source := ""
		if commit != "" {
			source = filepath.Join(dir, "tree"+strconv.Itoa(i))
			archive := source + ".tar"
			for _, args := range [][]string{
				{"mkdir", source}, {"git", "archive", "-o", archive, commit}, {"tar", "-xf", archive, "-C", source},
			} {
				if err = command(ctx, "", args...); err != nil {
					return binaries, err
				}
			}
		}
		if err = command(ctx, source, "go", "build", "-buildvcs=false", "-o", binaries[i], "./cmd/fiolat"); err != nil {
			return binaries, err
		}
	}
	return binaries, nil
}

func command(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// unpackRuns returns the folders of the runs, sorted.
func unpackRuns(ctx context.Context, dir string) ([]string, error) {
	packed, err := filepath.Glob("internal/matrix/testdata/*.tar.zst")
	if err != nil || len(packed) == 0 {
		return nil, errors.Join(errors.New("no packed runs: start it in the top folder of the project"), err)
	}
	unpacked := filepath.Join(dir, "runs")
	if err = os.Mkdir(unpacked, 0o755); err != nil {
		return nil, err
	}
	for _, archive := range packed {
		if err = command(ctx, "", "tar", "--use-compress-program=zstd --long=27", "-xf", archive, "-C",
			unpacked); err != nil {
			return nil, err
		}
	}
	runs, err := filepath.Glob(unpacked + "/*")
	if err != nil {
		return nil, err
	}
	recorded, err := filepath.Glob("testdata/fio/*")
	for i := range recorded {
		if recorded[i], err = filepath.Abs(recorded[i]); err != nil {
			return nil, err
		}
	}
	return append(recorded, runs...), err
}

// alone lists commands that read no run.
var alone = [][]string{
	{"setup", "--export", "-"}, {"setup", "--export", "-", "--index-prefix", "other"}, {"setup", "--export",
		"kibana.ndjson"},
	{"--help"}, {"ingest", "--help"},
}

// testCase is a command line and its run, which it finds as the folder "run".
type testCase struct {
	name, folder string
	args         []string
}

func casesOf(folder string) (out []testCase) {
	add := func(args ...string) { out = append(out, testCase{filepath.Base(folder), folder, args}) }
	for _, format := range []string{"table", "csv", "json", "ndjson"} {
		add("percentiles", "--format", format, "--by", "host,job,direction", "run")
	}
	add("percentiles", "--format", "json", "--kind", "all", "--sla", "p99 < 5ms", "run")
	add("percentiles", "--format", "csv", "--interval", "auto", "--grid", "epoch", "--unit", "ns", "run")
	add("inspect", "--format", "json", "run")
	add("ingest", "--output", "out", "--start", "2026-01-31T12:00:00Z", "--run-name", "n", "--label", "k=v", "--sla",
		"p99 < 5ms", "run")
	add("ingest", "--output", "out", "--start", "2026-01-31T12:00:00Z", "--kind", "all", "--run-id", "r", "--part", "p",
		"--interval", "2s", "run")
	add("report", "-o", "page.html", "--kind", "all", "run")
	if logs, err := filepath.Glob(folder + "/*_clat_hist.*.log*"); err == nil && len(logs) > 0 {
		for i, log := range logs {
			logs[i] = filepath.Join("run", filepath.Base(log))
		}
		add(append([]string{"percentiles", "--like", "fio-histo-log-pctiles", "--time-quantum", "1"}, logs...)...)
		add(append([]string{"percentiles", "--like", "fio-histo-log-pctiles", "--output-unit", "msec", "--percentiles",
			"50", "99"},
			append([]string{"--"}, logs...)...)...)
		add(append([]string{"percentiles", "--like", "fiologparser_hist"}, logs...)...)
	}
	return out
}

// compare describes how the results of two binaries differ, "" if they do not.
func (c *testCase) compare(ctx context.Context, binaries [2]string, dir string) (string, error) {
	var results [2]map[string]string
	for i, binary := range binaries {
		work := filepath.Join(dir, "work") // one name for both: paths are part of the output
		if err := os.MkdirAll(work, 0o755); err != nil {
			return "", err
		}
		if c.folder != "" {
			if err := os.Symlink(c.folder, filepath.Join(work, "run")); err != nil {
				return "", err
			}
		}
		var err error
		if results[i], err = c.run(ctx, binary, work); err != nil {
			return "", err
		}
		if err = os.RemoveAll(dir); err != nil {
			return "", err
		}
	}
	old, now := results[0], results[1]
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if text, ok := now[name]; !ok {
			differ = append(differ, name+" is missing")
		} else if text != old[name] {
			differ = append(differ, name+" differs"+firstDifference(old[name], text))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, ok := old[name]; !ok {
			differ = append(differ, name+" is new")
		}
	}
	return strings.Join(differ, "; "), nil
}

// run returns the command's output, its exit code, and the files that it writes, by name.
func (c *testCase) run(ctx context.Context, binary, dir string) (map[string]string, error) {
	cmd := exec.CommandContext(ctx, binary, c.args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	out := map[string]string{"standard output": stdout.String(), "standard error": stderr.String(),
		"exit code": cmd.ProcessState.String()}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if filepath.Ext(path) == ".html" {
			b = bytes.Join(numbers.FindAll(b, -1), nil)
			out["standard error"] = pageSize.ReplaceAllString(out["standard error"], "")
		}
		out[strings.TrimPrefix(path, dir+"/")] = string(b)
		return err
	})
	return out, err
}

// numbers matches the parts of a page that hold data.
var numbers = regexp.MustCompile(`(?s)id="(head|kinds|packed)">.*?</script>`)

// pageSize matches the size of a page on standard error.
var pageSize = regexp.MustCompile(`, \d+ bytes`)

// firstDifference shows the first line that differs.
func firstDifference(old, now string) string {
	a, b := strings.Split(old, "\n"), strings.Split(now, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			at := 0
			for at < min(len(a[i]), len(b[i])) && a[i][at] == b[i][at] {
				at++
			}
			short := func(s string) string { return s[max(0, at-40):min(len(s), at+60)] }
			return fmt.Sprintf(" in line %d: %q, was %q", i+1, short(b[i]), short(a[i]))
		}
	}
	return fmt.Sprintf(": %d lines, were %d", len(b), len(a))
}
