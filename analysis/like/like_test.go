package like

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// expected are the command lines behind each testdata/*/expect-*.txt, which the real programs printed for the logs
// beside it.
var expected = map[string]struct {
	program string
	args    []string
}{
	"fio-histo-log-pctiles-q1": {pctilesName, []string{"--time-quantum", "1", "--percentiles", "0", "50",
		"90", "95", "99", "99.9", "100", "--"}},
	"fio-histo-log-pctiles-q5": {pctilesName, []string{"--time-quantum", "5", "--percentiles", "0", "50",
		"90", "95", "99", "99.9", "100", "--"}},
	"fiologparser_hist-i1000": {parserName, []string{"--interval", "1000", "--percentiles",
		"90,95,99,99.9"}},
	"fiologparser_hist-i3000": {parserName, []string{"--interval", "3000", "--percentiles",
		"90,95,99,99.9"}},
	"fiologparser_hist-noweight-i1000": {parserName, []string{"--noweight", "--interval", "1000", "--percentiles",
		"90,95,99,99.9"}},
	"fiologparser_hist-noweight-i3000": {parserName, []string{"--noweight", "--interval", "3000", "--percentiles",
		"90,95,99,99.9"}},
	"fiologparser_hist-directions-i1000": {parserName, []string{"--directions", "rwtm", "--interval", "1000",
		"--percentiles", "90,95,99,99.9"}},
	"fio-histo-log-pctiles-fio2": {pctilesName, []string{"--fio-version", "2", "--percentiles", "0", "50", "99", "100",
		"--"}},
	"fiologparser_hist-fio2": {parserName, []string{"--group_nr", "19", "--usbin", "--directions", "rwm"}},
}

// TestExpected compares with what the real programs printed for real logs. Where they failed, so must we.
func TestExpected(t *testing.T) {
	files, err := filepath.Glob("testdata/*/expect-*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no expectations in testdata: %v", err)
	}
	refused := 0
	for _, file := range files {
		dir, base := filepath.Split(file)
		command, ok := expected[strings.TrimSuffix(strings.TrimPrefix(base, "expect-"), ".txt")]
		if !ok {
			t.Errorf("%s: no command line for it", file)
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(string(want), "refused\n") {
			refused++
		}
		t.Run(filepath.Base(dir)+"/"+base, func(t *testing.T) {
			args := append(slices.Clone(command.args), unpack(t, dir)...)
			var out bytes.Buffer
			err := Run(context.Background(), command.program, args, &out)
			if strings.HasSuffix(string(want), "refused\n") {
				wantInputError(t, &out, err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if out.String() != string(want) {
				t.Log("not equal as text")
			}
			if diff := difference(out.String(), string(want)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if refused != 6 {
		t.Errorf("%d refused, want 6", refused)
	}
}

// unpack puts the logs of a case, which are stored gzipped, into a directory of the test's own, and returns their
// paths in the order of their names.
func unpack(t *testing.T, dir string) []string {
	t.Helper()
	packed, err := filepath.Glob(filepath.Join(dir, "*.gz"))
	if err != nil || len(packed) == 0 {
		t.Fatalf("%s: no logs: %v", dir, err)
	}
	var paths []string
	into := t.TempDir()
	for _, name := range packed {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if text, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(into, strings.TrimSuffix(filepath.Base(name), ".gz"))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func wantInputError(t *testing.T, out *bytes.Buffer, err error) {
	t.Helper()
	var input *InputError
	switch {
	case !errors.As(err, &input):
		t.Errorf("error %v, want an *InputError", err)
	case !strings.Contains(input.Message, "stops here: ") || !strings.Contains(input.Hint, "fiolat percentiles "):
		t.Errorf("message %q, hint %q: want the reason, and the command that works", input.Message, input.Hint)
	case out.Len() > 0:
		t.Errorf("printed %q before it gave up", out.String())
	}
}

// difference says where two outputs differ, other than in the last digits of a number, to 1e-9 of it.
func difference(got, want string) string {
	if got == want {
		return ""
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		a, b := strings.Split(g[i], ", "), strings.Split(w[i], ", ")
		same := len(a) == len(b)
		for k := 0; same && k < len(a); k++ {
			same = a[k] == b[k] || nearly(a[k], b[k])
		}
		if !same {
			return "line " + strconv.Itoa(i+1) + ":\n got " + g[i] + "\nwant " + w[i]
		}
	}
	if len(g) != len(w) {
		return strconv.Itoa(len(g)) + " lines, want " + strconv.Itoa(len(w))
	}
	return ""
}

// nearly allows differences in numbers with decimals only: whole ones are counts and times.
func nearly(a, b string) bool {
	if !strings.ContainsAny(a, ".e") || !strings.ContainsAny(b, ".e") {
		return false
	}
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && math.Abs(x-y) <= 1e-9*math.Abs(y)
}

// TestAbsoluteStart compares with what fio-histo-log-pctiles prints for stamps since 1970 without --log-hist-msec: the
// log starts a step before its first record.
func TestAbsoluteStart(t *testing.T) {
	zone := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = zone })
	var log strings.Builder
	for i := range 3 {
		fmt.Fprintf(&log, "179000000%d000, 0, 4096, 0, %d%s\n", i, 1<<i, strings.Repeat(", 0", 27))
	}
	path := filepath.Join(t.TempDir(), "early.log")
	if err := os.WriteFile(path, []byte(log.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Run(t.Context(), pctilesName, []string{"--bucket-bits", "0", "--percentiles", "50", "99", "--", path},
		&out); err != nil {
		t.Fatal(err)
	}
	const want = "all threads running as of unix epoch time 1789999999 = Mon Sep 21 14:13:19 2026\n" +
		"time (millisec), percentiles in increasing order with values in usec\n" +
		"msec-since-start, samples, median, 99.0, \n" +
		"       0,        0, , , \n    1000,        1, 0.0015, 0.00199\n" +
		"    2000,        2, 0.0015, 0.00199\n    3000,        4, 0.0015, 0.00199\n"
	if _, got, _ := strings.Cut(out.String(), "output unit = usec\n"); difference(got, want) != "" {
		t.Errorf("%s\n%s", difference(got, want), got)
	}
}

// TestPctilesRefuse: flags that are not understood, and a percentile that no row reaches, are errors.
func TestPctilesRefuse(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--nonsense", "x.log"}, {"--time-quantum", "often", "x.log"},
		{"--percentiles", "50,101", "x.log"}} {
		var usage *UsageError
		if err := runPctiles(t.Context(), args, new(bytes.Buffer)); !errors.As(err, &usage) {
			t.Errorf("%q: %v", args, err)
		}
	}
	for most, fails := range map[float64]bool{100: false, 101: true} {
		c := &pctiles{wanted: []float64{50, most}, buckets: 4, perGroup: 64, perUsec: 1, divisor: 1, interval: 1}
		err := c.print(t.Context(), new(bytes.Buffer), [][]share{{{0, 1, []uint16{1}, []float64{2}}}}, 1)
		if (err != nil) != fails {
			t.Errorf("percentile %g: %v", most, err)
		}
	}
}
