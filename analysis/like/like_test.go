package like

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
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
			err := Run(context.Background(), command.program, args, &out, io.Discard)
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

// Small geometries for logs that fit on a screen: 8 buckets, and 64 of which every 16 were added up.
var (
	eightBuckets = []string{"--bucket-groups", "2", "--bucket-bits", "2", "--percentiles", "50", "99"}
	fourBuckets  = []string{"--group_nr", "1"}
)

// TestFaults holds what the real programs print, numpy 2.2.6 and pandas 2.3.3 under them, for logs that bring out a
// fault of theirs. The first lines of fio-histo-log-pctiles, which only repeat the flags, are left out.
func TestFaults(t *testing.T) {
	zone := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = zone })
	files := map[string]string{
		"early": "1790000000000, 0, 4096, 0, 1, 0, 0, 0, 0, 0, 0\n1790000001000, 0, 4096, 0, 2, 0, 0, 0, 0, 0, " +
			"0\n1790000002000, 0, 4096, 0, 4, 0, 0, 0, 0, 0, 0\n",
		"late": "1790000001500, 0, 4096, 0, 0, 0, 10, 0, 0, 0, 0\n1790000002500, 0, 4096, 0, 0, 0, 20, 0, 0, 0, " +
			"0\n1790000003500, 0, 4096, 0, 0, 0, 40, 0, 0, 0, 0\n",
		"equal": "1000, 0, 4096, 0, 1, 0, 0, 0, 0, 0, 0\n2000, 0, 4096, 0, 2, 0, 0, 0, 0, 0, 0\n2000, 0, 4096, 0, " +
			"100, 0, 0, 0, 0, 0, 0\n3000, 0, 4096, 0, 4, 0, 0, 0, 0, 0, 0\n",
		"two":   "1000, 0, 4096, 0, 1, 0, 0, 0, 0, 0, 0\n1500, 1, 4096, 0, 2, 0, 0, 0, 0, 0, 0\n",
		"four":  "1000, 0, 4096, 0, 1, 0, 0\n2000, 0, 4096, 0, 2, 0, 0\n3000, 1, 4096, 0, 0, 4, 0\n",
		"zero":  "0, 0, 4096, 0, 1, 0, 0\n2000, 0, 4096, 0, 2, 0, 0\n",
		"cut":   "1000, 0, 4096, 0, 1, 0, 0\r\n1500, 0, 4096, 3",
		"minus": "1000, -2, 4096, 0, 1, 0, 0\n",
		"near":  "995, 0, 4096, 0, 1, 0, 0\n1000, 0, 4096, 0, 2, 0, 0\n",
		"slow":  "5000, 0, 4096" + strings.Repeat(", 0", 24) + ", 2" + strings.Repeat(", 0", 4) + "\n",
		"space": "1000, 0, 4096, 0, 1 2, 0, 0\n",
	}
	const (
		pctilesHead = "time (millisec), percentiles in increasing order with values in usec\nmsec-since-start, " +
			"samples, median, 99.0, \n"
		histHead = "end-time, samples, min, avg, median, 90%, 95%, 99%, max\n"
	)
	for _, c := range []struct {
		name    string
		program string
		args    []string
		logs    []string
		want    string
	}{
		{"what was before the common start lands in the last row", pctilesName, append(eightBuckets, "--log-hist-msec",
			"1000"), []string{"early", "late"},
			"all threads running as of unix epoch time 1790000000 = Mon Sep 21 14:13:20 2026\n" + pctilesHead +
				"       0,        1, 0.0015, 0.00199\n    1000,       13, 0.00335, 0.003987\n    2000,       22, " +
				"0.0034375, 0.00398875\n"},
		{"a log of absolute stamps starts a step before its first", pctilesName, eightBuckets, []string{"early"},
			"all threads running as of unix epoch time 1789999999 = Mon Sep 21 14:13:19 2026\n" + pctilesHead +
				"       0,        0, , , \n    1000,        1, 0.0015, 0.00199\n    2000,        2, 0.0015, 0.00199\n" +
				"    3000,        4, 0.0015, 0.00199\n"},
		{"of equal stamps only the first counts", pctilesName, eightBuckets, []string{"equal"},
			pctilesHead + "       0,        0, , , \n    1000,        1, 0.0015, 0.00199\n    2000,        2, " +
				"0.0015, 0.00199\n    3000,        4, 0.0015, 0.00199\n"},
		{"a file named twice counts once", pctilesName, eightBuckets, []string{"equal", "equal"},
			pctilesHead + "       0,        0, , , \n    1000,        1, 0.0015, 0.00199\n    2000,        2, " +
				"0.0015, 0.00199\n    3000,        4, 0.0015, 0.00199\n"},
		{"values are sorted and merged, their heads are not", pctilesName, []string{"--bucket-gr=2", "--bucket-bi=2",
			"--percentiles", "99", "50", "50"}, []string{"two"},
			strings.ReplaceAll(pctilesHead, "median, 99.0, ", "99.0, median, median, ") +
				"       0,        0, , , , \n    1000,        3, 0.0015, 0.00199\n"},
		{"milliseconds", pctilesName, append([]string{"--output-unit=msec"}, eightBuckets...), []string{"two"},
			strings.ReplaceAll(pctilesHead, "usec", "msec") + "       0,        0, , , \n    1000,        3, " +
				"1.5e-06, 1.99e-06\n"},
		{"the maximum is one bucket too far", parserName, fourBuckets, []string{"four"},
			histHead + "1000, 1, 0, 24.000, 24.000, 36.800, 38.400, 39.680, 48\n2000, 2, 0, 24.000, 24.000, 36.800, " +
				"38.400, 39.680, 48\n3000, 4, 16, 40.000, 40.000, 52.800, 54.400, 55.680, 64\n"},
		{"without weights a stamp at an interval's end is in the next", parserName, append(fourBuckets, "--noweight"),
			[]string{"four"},
			histHead + "2000, 1, 24, 24.000, 24.000, 36.800, 38.400, 39.680, 24\n3000, 2, 24, 24.000, 24.000, " +
				"36.800, 38.400, 39.680, 24\n4000, 4, 40, 40.000, 40.000, 52.800, 54.400, 55.680, 40\n"},
		{"and so is one within 10 ms of it", parserName, append(fourBuckets, "--noweight"), []string{"near"},
			histHead + "2000, 3, 24, 24.000, 24.000, 36.800, 38.400, 39.680, 24\n"},
		{"with a divisor minimum and maximum have decimals", parserName, append(fourBuckets, "--noweight",
			"--directions", "rw", "-d", "2", "--decimals", "1"), []string{"four"},
			"end-time, dir, samples, min, avg, median, 90%, 95%, 99%, max\n2000, r, 1, 12.0, 12.0, 12.0, 18.4, 19.2, " +
				"19.8, 12.0\n3000, r, 2, 12.0, 12.0, 12.0, 18.4, 19.2, 19.8, 12.0\n4000, w, 4, 20.0, 20.0, 20.0, " +
				"26.4, 27.2, 27.8, 20.0\n"},
		{"a file named twice counts twice", parserName, append(fourBuckets, "--noweight"), []string{"four", "four"},
			histHead + "2000, 2, 24, 24.000, 24.000, 36.800, 38.400, 39.680, 24\n3000, 4, 24, 24.000, 24.000, " +
				"36.800, 38.400, 39.680, 24\n4000, 8, 40, 40.000, 40.000, 52.800, 54.400, 55.680, 40\n"},
		{"without weights a stamp of 0 ends the log", parserName, append(fourBuckets, "--noweight"), []string{"zero"},
			histHead},
		{"with weights it has none", parserName, fourBuckets, []string{"zero"},
			histHead + "1000, 1, 0, nan, nan, nan, nan, nan, 48\n2000, 2, 0, 24.000, 24.000, 36.800, 38.400, 39.680, " +
				"48\n"},
		{"a line cut behind its first bucket adds that to every bucket", parserName, append(fourBuckets, "--noweight"),
			[]string{"cut"},
			histHead + "2000, 13, 8, 31.385, 30.857, 56.000, 56.000, 56.000, 56\n"},
		{"direction -2 is a write", parserName, append(fourBuckets, "--directions", "w"), []string{"minus"},
			"end-time, dir, samples, min, avg, median, 90%, 95%, 99%, max\n1000, w, 1, 0, 24.000, 24.000, 36.800, " +
				"38.400, 39.680, 48\n"},
		{"spaces within a number vanish", parserName, append(fourBuckets, "--noweight"), []string{"space"},
			histHead + "2000, 12, 24, 24.000, 24.000, 36.800, 38.400, 39.680, 24\n"},
		{"an I/O slower than half an interval", parserName, nil, []string{"slow"},
			histHead + "5000, 2, 268435456, 813694976.000, 813694976.000, 1464650956.800, 1546020454.400, " +
				"1611116052.480, 2181038080\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			args := append(slices.Clone(c.args), "--")
			if err := Run(t.Context(), c.program, append(args, write(t, files, c.logs)...), &out,
				io.Discard); err != nil {
				t.Fatal(err)
			}
			got := out.String()
			if c.program == pctilesName {
				i := strings.Index(got, "output unit = ")
				got = got[i:]
				got = got[strings.IndexByte(got, '\n')+1:]
			}
			if got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

// write puts the named files into a directory and returns their paths.
func write(t *testing.T, files map[string]string, names []string) []string {
	t.Helper()
	dir := t.TempDir()
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = filepath.Join(dir, name)
		text, ok := files[name]
		if !ok {
			continue // a file that isn't there
		}
		if err := os.WriteFile(paths[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// TestStops is a case for each way in which the real programs end without an answer.
func TestStops(t *testing.T) {
	const good = "1000, 0, 4096, 0, 1, 0, 0, 0, 0, 0, 0\n2000, 0, 4096, 0, 2, 0, 0, 0, 0, 0, 0\n"
	const four = "1000, 0, 4096, 0, 1, 0, 0\n2000, 0, 4096, 0, 2, 0, 0\n"
	pct := func(extra ...string) []string { return append(slices.Clone(eightBuckets), extra...) }
	fhp := func(extra ...string) []string { return append(slices.Clone(fourBuckets), extra...) }
	for _, c := range []struct {
		name    string
		program string
		args    []string
		text    string // of the file a.log; none if empty
		want    string // in the message, DIR for the directory
	}{
		{"no file", pctilesName, pct(), "", "a.log: fio-histo-log-pctiles stops here: no such file"},
		{"no record", pctilesName, pct(), "\n", "a.log: fio-histo-log-pctiles stops here: no record"},
		{"a trim", pctilesName, pct(), good + "3000, 2, 4096, 0, 2, 0, 0, 0, 0, 0, 0\n",
			"a.log:3: fio-histo-log-pctiles stops here: direction 2"},
		{"backwards", pctilesName, pct(), good + "1999, 0, 4096, 0, 2, 0, 0, 0, 0, 0, 0\n",
			"a.log:3: fio-histo-log-pctiles stops here: time runs backwards, from 2000 to 1999"},
		{"cut line", pctilesName, pct(), good + "3000, 0, 4096, 0, 2, 0, 0, 0,",
			"a.log:3: fio-histo-log-pctiles stops here: column 9 is \"\""},
		{"short line", pctilesName, pct(), good + "\n3000, 0, 4096, 0, 2", "a.log:4: fio-histo-log-pctiles stops " +
			"here: 2 buckets, want 8"},
		{"two numbers", pctilesName, pct(), "3000, 0", "a.log:1: fio-histo-log-pctiles stops here: 2 numbers"},
		{"negative", pctilesName, pct(), good + "3000, 0, 4096, 0, -2, 0, 0, 0, 0, 0, 0\n",
			"a.log:3: fio-histo-log-pctiles stops here: a negative number"},
		{"large blocks", pctilesName, pct(), good + "3000, 0, 16777217, 0, 2, 0, 0, 0, 0, 0, 0\n",
			"a.log:3: fio-histo-log-pctiles stops here: a block size of 16777217"},
		{"directions far apart", pctilesName, pct(),
			"1000, 1, 4096, 0, 1, 0, 0, 0, 0, 0, 0\n1000, 0, 4096, 0, 1, 0, 0, 0, 0, 0, 0\n2000, 0, 4096, 0, 2, 0, " +
				"0, 0, 0, 0, 0\n3000, 0, 4096, 0, 2, 0, 0, 0, 0, 0, 0\n4000, 1, 4096, 0, 2, 0, 0, 0, 0, 0, 0\n",
			"a.log:1: fio-histo-log-pctiles stops here: the next record of direction 1 is more than 3 on"},
		{"one absolute stamp", pctilesName, pct(), "1790000000000, 0, 4096, 0, 1, 0, 0, 0, 0, 0, 0\n",
			"a.log: fio-histo-log-pctiles stops here: one record with an absolute stamp"},
		{"no distance", pctilesName, pct(), "1500, 0, 4096, 0, 1, 0, 0, 0, 0, 0, 0\n1500, 1, 4096, 0, 1, 0, 0, 0, 0, " +
			"0, 0\n1500, 0, 4096, 0, 1, 0, 0, 0, 0, 0, 0\n",
			"a.log:1: fio-histo-log-pctiles stops here: two records of direction 0 at 1500 ms"},
		{"quantum 0", pctilesName, pct("--time-quantum", "0"), good, "--time-quantum: fio-histo-log-pctiles stops " +
			"here: must not be 0"},
		{"nanoseconds", pctilesName, pct("--output-unit", "nsec"), good, "--output-unit: fio-histo-log-pctiles stops " +
			"here: \"nsec\""},
		{"a percentile above 100", pctilesName, []string{"--bucket-gr=2", "--bucket-bi=2", "--percentiles", "101"},
			good, "row 1000: fio-histo-log-pctiles stops here: percentile 101.0 is never reached"},
		{"no file", parserName, fhp(), "", "a.log: fiologparser_hist stops here: no such file"},
		{"empty", parserName, fhp(), "\n", "a.log:1: fiologparser_hist stops here: 1 columns"},
		{"other geometry", parserName, nil, four, "a.log:1: fiologparser_hist stops here: 7 columns"},
		{"cut line", parserName, fhp(), four + "\n3000, 0, 4096, 7", "a.log:4: fiologparser_hist stops here: 4 " +
			"columns, want 7"},
		{"cut line unweighted", parserName, fhp("--noweight"), four + "3000, 0, 4096, 7, 8",
			"a.log:3: fiologparser_hist stops here: 2 buckets, want 4"},
		{"blank line unweighted", parserName, fhp("--noweight"), four + "\n",
			"a.log:3: fiologparser_hist stops here: column 1 is \"\""},
		{"no number", parserName, fhp(), four + "3000, 0, 4096, 0, 1_0, 0, 0\n",
			"a.log:3: fiologparser_hist stops here: column 5 is \" 1_0\""},
		{"unknown direction", parserName, fhp(), four + "3000, 3, 4096, 0, 1, 0, 0\n",
			"a.log:3: fiologparser_hist stops here: direction 3"},
		{"wrapped count", parserName, fhp(), four + "3000, 0, 4096, 0, 18446744073709551615, 0, 0\n",
			"a.log:3: fiologparser_hist stops here: a count beyond 64 bits"},
		{"years without weights", parserName, fhp("--noweight"), "1790000000000, 0, 4096, 0, 1, 0, 0\n",
			"a.log:1: fiologparser_hist stops here: it would have to visit 1790000000 empty intervals"},
		{"years", parserName, fhp(), "1000, 0, 4096, 0, 1, 0, 0\n1790000000000, 0, 4096, 0, 1, 0, 0\n",
			"a.log:2: fiologparser_hist stops here: it has visited 1000001 empty intervals without reaching " +
				"the record at 1790000000000 ms"},
		{"interval 0", parserName, fhp("-i", "0"), four, "a.log:1: fiologparser_hist stops here: with an interval of " +
			"0 ms"},
		{"interval 0 without weights", parserName, fhp("-i", "0", "--noweight"), four,
			"a.log:1: fiologparser_hist stops here: with an interval of 0 ms"},
		{"buffer 0", parserName, fhp("--buff_size", "0"), four, "--buff_size: fiologparser_hist stops here"},
		{"divisor 0", parserName, fhp("-d", "0"), four, "--divisor: fiologparser_hist stops here"},
		{"decimals -1", parserName, fhp("--decimals", "-1"), four, "--decimals: fiologparser_hist stops here"},
		{"percentile", parserName, fhp("--percentiles", "90,,95"), four, "--percentiles: fiologparser_hist stops " +
			"here: \"\""},
		{"no job file", parserName, fhp("--job-file", "DIR/none.fio"), four,
			"--job-file: fiologparser_hist stops here: open DIR/none.fio"},
	} {
		t.Run(c.program+"/"+c.name, func(t *testing.T) {
			files := map[string]string{"a.log": c.text}
			if c.text == "" {
				files = nil
			}
			paths := write(t, files, []string{"a.log"})
			dir := filepath.Dir(paths[0])
			var args []string
			for _, a := range c.args {
				args = append(args, strings.ReplaceAll(a, "DIR", dir))
			}
			var out bytes.Buffer
			err := Run(t.Context(), c.program, slices.Concat(args, []string{"--"}, paths), &out, io.Discard)
			wantInputError(t, &out, err)
			if want := strings.ReplaceAll(c.want, "DIR", dir); err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("error %q, want %q in it", err, want)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		name, program string
		args          []string
		want          string
	}{
		{"unknown program", "fio2gnuplot", nil, `--like "fio2gnuplot"`},
		{"no file", pctilesName, nil, "no FILE given"},
		{"files swallowed as percentiles", pctilesName, []string{"--percentiles", "50", "a.log"},
			`--percentiles: "a.log" is not a number`},
		{"files apart", parserName, []string{"a.log", "--noweight", "b.log"}, "unrecognized arguments: b.log"},
		{"unknown flag", parserName, []string{"--nope", "a.log"}, "unrecognized arguments: --nope"},
		{"ambiguous", parserName, []string{"--di", "5", "a.log"}, `"--di" could be --divisor, --directions`},
		{"choice", pctilesName, []string{"--fio-version", "4", "a.log"},
			"--fio-version: invalid value 4: want one of [2 3]"},
		{"value for a switch", parserName, []string{"--noweight=1", "a.log"}, "--noweight takes no value"},
		{"no value", parserName, []string{"a.log", "-i"}, "-i: no value given"},
		{"not whole", pctilesName, []string{"--time-quantum", "0.5", "a.log"},
			`--time-quantum: "0.5" is not a whole number`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			err := Run(t.Context(), c.program, c.args, &out, io.Discard)
			var usage *UsageError
			if !errors.As(err, &usage) || !strings.Contains(usage.Message, c.want) || usage.Hint == "" ||
				out.Len() > 0 {
				t.Errorf("error %v, output %q, want a *UsageError with %q and a hint", err, out.String(), c.want)
			}
		})
	}
	for _, program := range Programs {
		var out bytes.Buffer
		if err := Run(t.Context(), program, []string{"--he"}, &out, io.Discard); err != nil ||
			!strings.Contains(out.String(), "--percentiles") {
			t.Errorf("%s --help: %v, %q", program, err, out.String())
		}
	}
}

func TestCancelled(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	paths := write(t, map[string]string{"a.log": "1000, 0, 4096, 0, 1, 0, 0\n"}, []string{"a.log"})
	for _, program := range Programs {
		if err := Run(ctx, program, paths, io.Discard, io.Discard); !errors.Is(err, why) {
			t.Errorf("%s: error %v, want %v", program, err, why)
		}
	}
}

func TestJobInterval(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       int64  // 0: none
		err        string // in the error
	}{
		{"global", "[global]\nlog_hist_msec=500\n[a]\nrw=read\n", 500, ""},
		{"the last section wins", "[global]\nlog_hist_msec=500\n[a]\nlog_hist_msec : 250\n", 250, ""},
		{"comments, no values, capitals", "# x\n; y\n[global]\nthread\nLOG_hist_msec = 1_000 \n", 1000, ""},
		{"default section", "[DEFAULT]\nlog_hist_msec=500\n[a]\nthread\n", 500, ""},
		{"none", "[a]\nthread\nlog_hist_msec\n", 0, ""},
		{"blank lines behind it", "[a]\nlog_hist_msec=500\n\n\n[b]\n", 500, ""},
		{"an indented line joins the value above", "[a]\nlog_hist_msec=500\n  bs=4k\n", 0, "not a whole number"},
		{"indented under no value", "[a]\nthread\n  bs=4k\n", 0, "job.fio:3: "},
		{"section twice", "[a]\nrw=read\n[a]\n", 0, "job.fio:3: a section that is there twice"},
		{"option twice", "[a]\nrw=read\nrw=write\n", 0, "job.fio:3: an option that is there twice in its section"},
		{"no section", "rw=read\n", 0, "job.fio:1: "},
		{"no name", "[a]\n=read\n", 0, "job.fio:2: "},
		{"unit", "[a]\nlog_hist_msec=1s\n", 0, "not a whole number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := jobInterval(write(t, map[string]string{"job.fio": c.text}, []string{"job.fio"})[0])
			switch {
			case c.err != "":
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
			case err != nil:
				t.Error(err)
			case c.want == 0 && got != nil, c.want != 0 && (got == nil || *got != c.want):
				t.Errorf("got %v, want %d", got, c.want)
			}
		})
	}
}

func TestRepr(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.0", math.Copysign(0, -1): "-0.0", 1: "1.0", 99.9: "99.9", 1e15: "1000000000000000.0", 1e16: "1e+16",
		123456789012345680: "1.2345678901234568e+17",
		0.0001:             "0.0001", 0.00001: "1e-05", 1.5e-7: "1.5e-07", 1e100: "1e+100",
		0.30000000000000004: "0.30000000000000004", math.Inf(-1): "-inf",
	} {
		if got := repr(v); got != want {
			t.Errorf("repr(%g) = %s, want %s", v, got, want)
		}
	}
	if got := integer(-1e20); got != "-100000000000000000000" {
		t.Errorf("whole(-1e20) = %s", got)
	}
	if got := ctime(-1, time.UTC); got != "Wed Dec 31 23:59:59 1969" {
		t.Errorf("ctime(-1) = %s", got)
	}
}

// slowRecord is lineReader.record by way of strings.Split.
func slowRecord(d dialect, line string) (rec record, ok bool) {
	tokens := strings.Split(line, ",")
	rec.columns = len(tokens)
	for i, token := range tokens {
		s, ok := d.number(token)
		if !ok {
			return rec, false
		}
		v, err := strconv.ParseInt(s, 10, 64)
		f, _ := strconv.ParseFloat(s, 64)
		switch {
		case i < len(rec.head) && err != nil:
			return rec, false
		case i < len(rec.head):
			rec.head[i] = v
		case math.IsInf(f, 0):
			return rec, false
		case v != 0:
			// Beyond 64 bits v is the nearest number within, and not compared.
			rec.bins = append(rec.bins, bin{index: uint32(i - len(rec.head)), wide: err != nil, n: v})
		}
	}
	return rec, true
}

// FuzzRecord holds the reader of lines, which skips zeros by the word, against its slow twin, in every dialect.
func FuzzRecord(f *testing.F) {
	f.Add("1000, 0, 4096" + strings.Repeat(", 0", 40) + ", 7, 12" + strings.Repeat(", 0", 17))
	f.Add("0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 00, 0")
	f.Add("1,2,3," + strings.Repeat("5,", 9000) + "5")
	f.Add(" 1,\t2 , +3, -4, 1_0, 1 0, 999999999999999999, 1000000000000000000, 18446744073709551615")
	f.Add("1, 2, 3, , ")
	f.Fuzz(func(t *testing.T, line string) {
		for i, d := range []dialect{pctilesLines, parserLines, unweightedLines} {
			want, ok := slowRecord(d, line)
			got, wrong := (&lineReader{dialect: d}).record([]byte(line))
			if ok != (wrong == "") {
				t.Fatalf("dialect %d: %q, want fine: %t", i, wrong, ok)
			}
			if !ok {
				continue
			}
			same := slices.EqualFunc(got.bins, want.bins, func(a, b bin) bool {
				return a.index == b.index && a.wide == b.wide && (a.wide || a.n == b.n)
			})
			if got.columns != want.columns || got.head != want.head || !same {
				t.Fatalf("dialect %d: %+v, want %+v", i, got, want)
			}
		}
	})
}
