package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fiolat/internal/testkit"
	"fiolat/internal/ui"
)

// terminal opens a new terminal, and returns both of its ends: who sits there, and the program.
func terminal(t *testing.T) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals: %v", err)
	}
	t.Cleanup(func() { user.Close() })
	raw, err := user.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	var failed error
	raw.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
			n, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if failed != nil {
		t.Fatal(failed)
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return user, program
}

// onTerminal runs a command with standard output and error on a terminal of so many columns, and returns what is shown.
func onTerminal(t *testing.T, columns uint16, cmd *exec.Cmd) string {
	t.Helper()
	user, side := terminal(t)
	if err := unix.IoctlSetWinsize(int(side.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns}); err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = side, side
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	side.Close()
	shown, _ := io.ReadAll(user) // ends with EIO, when the program has
	cmd.Wait()
	var lines []string
	up := regexp.MustCompile(`^\x1b\[(\d+)A\x1b\[J`)
	for _, line := range strings.Split(strings.ReplaceAll(string(shown), "\r\n", "\n"), "\n") {
		line = line[strings.LastIndexByte(line, '\r')+1:] // a progress bar is overwritten
		if m := up.FindStringSubmatch(line); m != nil {   // so are these lines
			n, _ := strconv.Atoi(m[1])
			lines, line = lines[:len(lines)-n], line[len(m[0]):]
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// TestQuickstartOn80Columns: what the commands of docs/quickstart.md show on a terminal of 80 columns fits in;
// TestServerQuickstart does so with those that need an Elasticsearch.
func TestQuickstartOn80Columns(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	newPageWorld(t).quickstart(t)
}

// quickstart runs the commands of docs/quickstart.md with the URL of an Elasticsearch if the world has one, else the
// others.
func (w *pageWorld) quickstart(t *testing.T) {
	t.Helper()
	cut := 0
	for _, page := range readPages(t) {
		for _, c := range page.commands {
			if page.name != "quickstart.md" || c.server != (w.es != "") {
				continue
			}
			text := c.text
			c.text = strings.ReplaceAll(text, "/tmp/", "tmp/") // as wide everywhere
			cmd := w.command(t, c)
			cmd.Env = append(cmd.Env, "NO_COLOR=1")
			shown := onTerminal(t, 80, cmd)
			for line := range strings.Lines(shown) {
				line = strings.TrimSuffix(line, "\n")
				if n := ui.TextWidth(line); n > 80 && strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%s: %d columns: %s", text, n, line)
				}
			}
			cut += strings.Count(shown, "not shown in 80 columns: ")
		}
	}
	if w.es == "" && cut < 2 {
		t.Errorf("%d tables say what they leave out", cut)
	}
}

// TestTableWidth: a table on a terminal leaves out what does not fit and says so, one in a pipe or file never does.
func TestTableWidth(t *testing.T) {
	t.Parallel()
	const all = "time  direction  samples   iops  min_us  max_ms  mean_us  stddev_us  p50_us  p90_us  p95_us  p99_us  p99.9_ms\n"
	args := []string{"percentiles", "--interval", "10s", real + "/randrw"}
	piped, stdout, _ := program(t, []string{"COLUMNS=20"}, args...)
	piped.Run()
	if !strings.HasPrefix(stdout.String(), all) {
		t.Errorf("piped, with COLUMNS: %s", stdout)
	}
	for name, tt := range map[string]struct {
		columns uint16
		env     []string
		want    string
	}{
		"wide": {120, nil, all},
		"100": {100, nil,
			"time  direction  samples   iops  max_ms  mean_us  p50_us  p90_us  p95_us  p99_us  p99.9_ms\n"},
		"90":      {90, nil, "time  direction  samples   iops  max_ms  p50_us  p90_us  p95_us  p99_us  p99.9_ms\n"},
		"80":      {80, nil, "time  direction  samples   iops  max_ms  p50_us  p99_us  p99.9_ms\n"},
		"COLUMNS": {80, []string{"COLUMNS=120"}, all},
		"60":      {60, nil, "time  direction   iops  max_ms  p50_us  p99_us  p99.9_ms\n"},
	} {
		cmd, _, _ := program(t, tt.env, args...)
		shown := onTerminal(t, tt.columns, cmd)
		if !strings.Contains(shown, tt.want) || strings.Contains(shown, "not shown in") != (tt.want != all) {
			t.Errorf("%s: %s\nwant %s", name, shown, tt.want)
		}
	}
}

// TestBinaryOnTerminal: what nobody can read is not written to a terminal.
func TestBinaryOnTerminal(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"percentiles", "histogram"} {
		cmd, _, _ := program(t, nil, command, "--interval", "run", "--format", "parquet", real+"/slow")
		if shown := onTerminal(t, 80, cmd); !strings.Contains(shown, "--format parquet is not for a terminal") {
			t.Errorf("%s: %q", command, shown)
		}
	}
}

// TestLongNames: on a terminal tables with long names fit as well, and rows of different hosts differ; a pipe has all
// of each name.
func TestLongNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, host := range []string{"storage-client-0017.rack-42.west.example.com",
		"storage-client-0018.rack-42.west.example.com"} {
		for n := 1; n <= 2; n++ {
			copyFile(t, fmt.Sprintf("%s/cluster/cluster_clat_hist.%d.log.127.0.0.%d", real, n, i+1),
				fmt.Sprintf("%s/randrw-4k-queue-depth-32-of-the-night_clat_hist.%d.log.%s", dir, n, host))
		}
	}
	for _, args := range []string{"inspect", "percentiles --interval 10s --by host,job,direction",
		"summary --by host,job,log", "percentiles --interval 10s --by log"} {
		cmd, _, _ := program(t, nil, append(strings.Fields(args+" --quiet --log-hist-msec 1000"), dir)...)
		short := map[string]bool{}
		for line := range strings.Lines(onTerminal(t, 80, cmd)) {
			line = strings.TrimSuffix(line, "\n")
			if n := ui.TextWidth(line); n > 80 && !strings.Contains(line, t.Name()) {
				t.Errorf("%s: %d columns: %s", args, n, line)
			}
			for _, name := range regexp.MustCompile(`\S*…\S*`).FindAllString(line, -1) {
				short[name] = true
			}
		}
		piped, stdout, _ := program(t, nil, cmd.Args[1:]...)
		_ = piped.Run()
		if len(short) < 2 || !strings.Contains(stdout.String(), "storage-client-0018.rack-42.west.example.com") ||
			strings.Contains(stdout.String(), "…") {
			t.Errorf("%s: %v; piped:\n%s", args, short, stdout)
		}
	}
}

// Verdicts have colours on a terminal, but not with NO_COLOR or on one that shows none, nor in a pipe; the text is the
// same, so columns stay aligned.
func TestColours(t *testing.T) {
	t.Parallel()
	args := []string{"compare", "--fail-if", "read p99 +10%", "--run-noise", "1%", real + "/randrw", real + "/slow"}
	plain, stdout, _ := program(t, nil, args...)
	plain.Run()
	if plain.ProcessState.ExitCode() != exitCompare || strings.Contains(stdout.String(), "\x1b") {
		t.Fatalf("exit %d\n%s", plain.ProcessState.ExitCode(), stdout)
	}
	escapes := regexp.MustCompile(`\x1b\[[0-9]*m`)
	for name, tt := range map[string]struct {
		env  []string
		want bool
	}{
		"terminal": {nil, true}, "NO_COLOR, empty": {[]string{"NO_COLOR="}, true},
		"NO_COLOR": {[]string{"NO_COLOR=1"}, false}, "dumb": {[]string{"TERM=dumb"}, false},
	} {
		user, side := terminal(t)
		cmd, _, stderr := program(t, append(tt.env, "COLUMNS=200"), args...)
		cmd.Stdout = side
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		side.Close()
		shown, _ := io.ReadAll(user) // ends with EIO, when the program has
		cmd.Wait()
		text := strings.ReplaceAll(string(shown), "\r\n", "\n")
		if got := escapes.ReplaceAllString(text, ""); got != stdout.String() {
			t.Errorf("%s: %s\nwant %s\n%s", name, got, stdout, stderr)
		}
		if strings.Contains(text, "\x1b[31mhigher\x1b[0m") != tt.want ||
			strings.Contains(text, "\x1b[31mFAILED") != tt.want || strings.Contains(text, "\x1b") != tt.want {
			t.Errorf("%s: colours, want %v\n%q", name, tt.want, text)
		}
	}
	for _, env := range [][]string{nil, {"NO_COLOR=1"}} { // messages, on standard error
		user, side := terminal(t)
		cmd, _, _ := program(t, env, "percentiles", "--sla", "read p99 < 1us", "--sla", "all p50 < 1h", real+"/randrw")
		cmd.Stderr = side
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		side.Close()
		shown, _ := io.ReadAll(user)
		cmd.Wait()
		for _, word := range []string{"\x1b[31mSLA        read p99 < 1 us: BROKEN",
			"\x1b[32mSLA        all p50 < 1h: ok"} {
			if strings.Contains(string(shown), word) != (env == nil) {
				t.Errorf("%q: %q", env, shown)
			}
		}
	}
}

// TestManyIntervalsPrinted is TestManyIntervals for what percentiles and report make.
func TestManyIntervalsPrinted(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.html")
	for name, args := range map[string][]string{
		"percentiles": {"percentiles", "--format", "csv"},
		"report":      {"report", "--output", page},
	} {
		for _, tt := range []struct {
			flags []string
			code  int
		}{{nil, exitUsage}, {[]string{"--yes"}, exitOK}} {
			all := slices.Concat(args, []string{"--interval", "10s", "--offset", "127.0.0.2=10h"}, tt.flags)
			cmd, stdout, stderr := program(t, nil, append(all, real+"/cluster")...)
			cmd.Stdin = bytes.NewReader(nil)
			cmd.Run()
			_, err := os.Stat(page)
			made := stdout.Len() > 0 || err == nil
			if code := cmd.ProcessState.ExitCode(); code != tt.code || made != slices.Contains(tt.flags, "--yes") {
				t.Errorf("%s %q: exit %d, want %d; something was made: %v\n%s",
					name, tt.flags, code, tt.code, made, stderr)
			}
			os.Remove(page)
		}
	}
}

// A run that would have far more intervals than its own length gives is made only after a yes: on a
// terminal that is asked for, elsewhere it takes --yes.
func TestManyIntervals(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	const question = "go on with all of them? [y/N]"
	for name, tt := range map[string]struct {
		answer string // "": standard input is no terminal
		flags  []string
		code   int
		says   string
	}{
		"no terminal":          {"", nil, exitUsage, "pass --yes to go on with all of them"},
		"no terminal, yes":     {"", []string{"--yes"}, exitOK, " written (run "},
		"yes":                  {"y\n", nil, exitOK, question},
		"no":                   {"n\n", nil, exitIncomplete, question},
		"nothing":              {"\n", nil, exitIncomplete, question},
		"end of file":          {"\x04", nil, exitIncomplete, question},
		"terminal, yes before": {"n\n", []string{"--yes"}, exitOK, " written (run "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			args := append([]string{"ingest", "--output", out, "--start", "2026-01-01T00:00:00Z", "--interval", "10s",
				"--offset", "127.0.0.2=10h"}, tt.flags...)
			cmd, _, stderr := program(t, nil, append(args, real+"/cluster")...)
			if cmd.Stdin = bytes.NewReader(nil); tt.answer != "" {
				user, side := terminal(t)
				if _, err := user.WriteString(tt.answer); err != nil {
					t.Fatal(err)
				}
				cmd.Stdin = side
			}
			cmd.Run()
			asked := strings.Contains(stderr.String(), question)
			if code := cmd.ProcessState.ExitCode(); code != tt.code || asked != (tt.says == question) ||
				!strings.Contains(stderr.String(), tt.says) {
				t.Errorf("exit %d, want %d and %q\n%s", code, tt.code, tt.says, stderr)
			}
			made, _ := filepath.Glob(filepath.Join(out, "*.ndjson"))
			if (len(made) > 0) != (tt.code == exitOK) {
				t.Errorf("exit %d, and there are %q", tt.code, made)
			}
		})
	}
}
