package fiojson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/testkit"
)

var fio3 = fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}

func readMeta(t *testing.T, path string) *Document {
	t.Helper()
	f, err := os.Open(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := Parse(f, path)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func parseMeta(t *testing.T, text string) *Document {
	t.Helper()
	m, err := Parse(strings.NewReader(text), "x.json")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestParseMetaReal reads what fio wrote; the numbers were read off by eye.
func TestParseMetaReal(t *testing.T) {
	for _, c := range []struct {
		dir       string
		jobs      string // name, host, group, error, elapsed, N of reads and writes
		client    bool
		timestamp int64
		documents int
	}{
		{"fio-3.33-groups", "one  0 6 1200 800; three  1 6 1201 1201; five  2 6 400 401; ", false, 1795237291661, 1},
		{"fio-3.33-stonewall", "one  0 7 201 0; two  1 7 401 0; three  2 7 201 0; three  2 7 200 0; four  3 7 200 0; ",
			false, 1795237298908, 1},
		{"fio-3.33-new-group", "x  0 4 0 401; y  1 4 0 401; ", false, 1795237302442, 1},
		{"fio-3.33-client", "c 127.0.1.1 0 0 801 0; c 127.0.1.2 0 0 800 0; ", true, 1795237307000, 1},
		{"fio-3.33-status", "s  0 4 1802 0; ", false, 1795237305823, 4},
	} {
		t.Run(c.dir, func(t *testing.T) {
			m := readMeta(t, "testdata/meta/"+c.dir+"/fio.json")
			var jobs strings.Builder
			for _, e := range m.Entries {
				fmt.Fprintf(&jobs, "%s %s %d %d %d %d; ", e.JobName, e.Host, e.GroupID, e.Elapsed,
					e.Dirs[fio.Read].Kind[fio.Clat].N, e.Dirs[fio.Write].Kind[fio.Clat].N)
				for d := range e.Dirs {
					total := e.Dirs[d].Kind[fio.Clat]
					counts, err := total.Counts(fio3)
					if err != nil {
						t.Fatal(err)
					}
					var sum uint64
					for i, n := range counts {
						if sum += n; n > 0 && (fio3.Upper(i) < total.Min || fio3.Lower(i) > total.Max) {
							t.Errorf("%s: bucket %d is beyond %d..%d", e.JobName, i, total.Min, total.Max)
						}
					}
					if sum != total.N {
						t.Errorf("%s %v: bins hold %d, N is %d", e.JobName, fio.Direction(d), sum, total.N)
					}
				}
			}
			if jobs.String() != c.jobs || m.Version != "fio-3.33" || m.ClientServer != c.client ||
				m.TimestampMS != c.timestamp || m.Documents != c.documents || m.Cut || m.Warnings != nil {
				t.Errorf("jobs %q, of %q, client %v, at %d, %d documents, cut %v, %q", jobs.String(), m.Version,
					m.ClientServer, m.TimestampMS, m.Documents, m.Cut, m.Warnings)
			}
		})
	}
}

const (
	clat   = `"clat_ns": {"min": 100, "max": 900, "mean": 377.5, "stddev": 1, "N": 3, "bins": {"129": 1, "502": 2}}`
	oneJob = `{"jobname": "a", "groupid": 0, "job options": {"rw": "read"}, ` +
		`"read": {"runtime": 2000, "total_ios": 4, ` + clat + `}, "job_runtime": 6000}`
	minimal = "{\n\"fio version\" : \"fio-3.36\",\n\"timestamp_ms\" : 1700000000123,\n\"global options\" : {\"bs\" : " +
		"\"4k\"},\n\"jobs\" : [" + oneJob + "]\n}\n"
)

// TestParseMetaText: what stands around the document does not matter.
func TestParseMetaText(t *testing.T) {
	want := parseMeta(t, minimal)
	if e := want.Entries[0]; e.JobName != "a" || e.LongestMS != 2000 || e.RuntimeMS != 6000 ||
		e.Dirs[fio.Read].TotalIOs != 4 ||
		!reflect.DeepEqual(e.Dirs[fio.Read].Kind[fio.Clat], Totals{N: 3, Min: 100, Max: 900, Mean: 377.5,
			Bins: NewBins([]Bin{{129, 1}, {502, 2}})}) {
		t.Fatalf("%+v", e)
	}
	cut := minimal[:len(minimal)-40]
	other := strings.ReplaceAll(minimal, `"jobname": "a"`, `"jobname": "before"`)
	for name, c := range map[string]struct {
		text      string
		documents int
		cut       bool
	}{
		"alone":                    {minimal, 1, false},
		"banner":                   {"<vm> a: (g=0): rw=read\n<vm> Starting 2 processes\n\n" + minimal, 1, false},
		"braces before":            {"fio: {x} {\"y\": {} {\"a\", { [\n{\"never closed\n{{{\n" + minimal, 1, false},
		"JSON before":              {`{"level": "info", "x": [1, {"fio": 2}]}` + "\n" + minimal, 1, false},
		"text after":               {minimal + "\nDisk stats {x} and { \"y\": 1\n", 1, false},
		"stream":                   {minimal + minimal + minimal, 3, false},
		"the last one cut":         {minimal + minimal + other[:len(other)-30], 2, true},
		"one cut in the middle":    {cut + minimal, 1, false},
		"cut before a list's item": {other[:strings.Index(other, "[")+1] + "\n" + minimal, 1, false},
		"cut in a string":          {other[:strings.Index(other, "before")+2] + "\n" + minimal, 1, false},
		"an empty one last":        {minimal + `{"fio version": "fio-3.36", "jobs": []}`, 1, false},
		"in a list":                {"[" + minimal + "," + minimal + "]", 2, false},
		"CRLF":                     {strings.ReplaceAll(minimal, "\n", "\r\n"), 1, false},
		"sorted keys": {`{"global options": {"bs": "4k"}, "jobs": [` + oneJob +
			`], "fio version": "fio-3.36", "timestamp_ms": 1700000000123}`, 1, false},
		"nested 10,000 deep": {strings.Replace(minimal, `"jobs"`, `"x": `+strings.Repeat(`[{"y":`,
			5000)+"1"+strings.Repeat("}]", 5000)+`, "jobs"`, 1), 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := parseMeta(t, c.text)
			if got.Documents != c.documents || got.Cut != c.cut {
				t.Errorf("%d documents, cut %v", got.Documents, got.Cut)
			}
			got.Documents, got.Cut = want.Documents, want.Cut
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
		})
	}
}

// TestParseAll tells runs that were appended to one file from the reports of one run (--status-interval).
func TestParseAll(t *testing.T) {
	doc := func(job string, ms, elapsed, ios int) string {
		return fmt.Sprintf(`{"fio version": "x", "timestamp_ms": %d, "jobs": [{"jobname": "%s", "elapsed": %d, `+
			`"read": {"total_ios": %d}}]}`+"\n", 1_700_000_000_000+ms, job, elapsed, ios)
	}
	for name, c := range map[string]struct {
		text string
		want []int // reports of each run
	}{
		"one":                {doc("a", 0, 5, 10), []int{1}},
		"status":             {doc("a", 0, 2, 10) + doc("a", 1000, 3, 20) + doc("a", 2040, 4, 30), []int{3}},
		"status, coarse":     {doc("a", 0, 61, 10) + doc("a", 60_000, 121, 20) + doc("a", 60_100, 121, 20), []int{3}},
		"other jobs":         {doc("a", 0, 2, 10) + doc("b", 1000, 3, 20), []int{1, 1}},
		"the same job again": {doc("a", 0, 4, 10) + doc("a", 3490, 4, 10) + doc("a", 6900, 4, 10), []int{1, 1, 1}},
		"shorter":            {doc("a", 0, 9, 10) + doc("a", 1500, 2, 20), []int{1, 1}},
		"fewer I/Os":         {doc("a", 0, 2, 10) + doc("a", 1500, 2, 9), []int{1, 1}},
		"two runs with a status": {doc("a", 0, 3, 5) + doc("a", 2000, 5, 9) + doc("a", 9000, 3, 5) +
			doc("a", 11000, 5, 9), []int{2, 2}},
		"no time of fio's own": {doc("a", 0, 0, 10) + doc("a", 60_000, 0, 20), []int{2}},
	} {
		runs, err := ParseAll(strings.NewReader(c.text), "all.json")
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for i, m := range runs {
			got = append(got, m.Documents)
			if want := fmt.Sprint("all.json#", i+1); m.Name() != want && (len(runs) > 1 || m.Name() != "all.json") {
				t.Errorf("%s: named %s", name, m.Name())
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// TestParseMetaOld are documents made by hand after the source of fio 2.10 and 2.21,
// whose bins have the bucket's index and its middle in microseconds as key.
func TestParseMetaOld(t *testing.T) {
	doc := func(bins string) string {
		return `{"fio version": "fio-2.10", "timestamp": 1450000000, "jobs": [{"jobname": "old", ` +
			`"read": {"runtime": 1000, "total_ios": 6, "io_bytes": 24,
			"slat": {"min": 2, "max": 3, "mean": 2.5, "stddev": 0}, "clat": {"min": 5, "max": 700, "mean": 162.417, ` +
			`"percentile": {"50.000000": 9}, "bins": {` + bins + `}}}}]}`
	}
	const constants = `, "FIO_IO_U_PLAT_BITS": 6, "FIO_IO_U_PLAT_VAL": 64, "FIO_IO_U_PLAT_NR": 1216`
	want := []Bin{{5500, 3}, {129000, 2}, {700000, 1}} // in bucket 5, 128 and 279: [696, 704) us
	for name, bins := range map[string]string{
		"2.10, by index":                    `"0": 0, "5": 3, "128": 2, "279": 1` + constants,
		"2.10, by index, without constants": `"5": 3, "128": 2, "279": 1`,
		"2.21, by middle":                   `"5": 3, "129": 2, "700": 1`,
	} {
		t.Run(name, func(t *testing.T) {
			m := parseMeta(t, doc(bins))
			d := m.Entries[0].Dirs[fio.Read]
			if got := (Totals{N: 6, Min: 5000, Max: 700000, Mean: 162417,
				Bins: NewBins(want)}); !reflect.DeepEqual(d.Kind[fio.Clat], got) {
				t.Errorf("%+v", d.Kind[fio.Clat])
			}
			if m.TimestampMS != 1450000000000 || Major(m.Version) != 2 || d.Kind[fio.Slat].N != 6 || d.Bytes != 24<<10 {
				t.Errorf("%+v", m)
			}
			counts, err := d.Kind[fio.Clat].Counts(fiohist.Geometry{Groups: fiohist.GroupsV2, Unit: 1000})
			if err != nil || counts[5] != 3 || counts[128] != 2 || counts[279] != 1 {
				t.Error(counts, err)
			}
		})
	}
}

func TestParseMetaGlobals(t *testing.T) {
	const list = `"client_stats": [{"jobname": "a", "hostname": "h1"}, {"jobname": "b", "hostname": "h2", ` +
		`"job options": {"bs": "1m"}}, {"jobname": "All clients", "hostname": "h2"}]`
	for name, c := range map[string]struct {
		globals    string
		bs, rw     string // of the first host's job
		second, rt string // of the second's
	}{
		"an object": {`{"bs": "4k", "rw": "read", "runtime": "5"}`, "4k", "read", "1m", "5"},
		"repeated by each host": {`{"bs": "4k", "rw": "read", "runtime": "5", "bs": "4k", "rw": "read", ` +
			`"runtime": "5"}`, "4k", "read", "1m", "5"},
		"fio 3.39, by host": {`[{"hostname": "h1", "port": 8765, "bs": "4k", "rw": "read", ` +
			`"hostname": "target"}, {"hostname": "h2", "port": 8765, "bs": "8k", ` +
			`"runtime": "5"}]`, "4k", "read", "1m", "5"},
		"pairs": {`[{"name": "bs", "value": "4k"}, {"name": "rw", "value": "read"}, ` +
			`{"name": "runtime", "value": "5"}]`, "4k", "read", "1m", "5"},
		"strings": {`["bs=4k", "rw = read", "runtime=5", "group_reporting", 7, null]`, "4k", "read", "1m",
			"5"},
		"numbers": {`{"bs": "4k", "rw": "read", "runtime": 5, "x": null, "y": {"z": [1]}}`, "4k", "read",
			"1m", "5"},
		"null": {`null`, "", "", "1m", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := parseMeta(t, `{"fio version": "fio-3.39", "global options": `+c.globals+`, `+list+`}`)
			if len(m.Entries) != 2 {
				t.Fatalf("%+v", m.Entries)
			}
			a, b := &m.Entries[0], &m.Entries[1]
			bs, _ := m.Option(a, "bs")
			rw, _ := m.Option(a, "rw")
			second, _ := m.Option(b, "bs")
			runtime, _ := m.Option(b, "runtime")
			if bs != c.bs || rw != c.rw || second != c.second || runtime != c.rt {
				t.Errorf("bs %q, rw %q; bs %q, runtime %q", bs, rw, second, runtime)
			}
		})
	}
	if m := parseMeta(t, `{"fio version": "x", "client_stats": [{"jobname": "All clients", "hostname": "h", `+
		`"job options": {"bs": "4k"}}, {"jobname": "b"}]}`); len(m.Entries) != 2 {
		t.Error("a job that is named All clients was taken for the sum")
	}
	if m := parseMeta(t, `{"fio version": "x", "jobs": [{"jobname": "All clients"}]}`); len(m.Entries) != 1 {
		t.Error("a job of stand-alone fio was taken for the sum")
	}
}

// TestParseMetaAllClients: jobs that are named as fio names the sum of all.
func TestParseMetaAllClients(t *testing.T) {
	t.Parallel()
	entry := func(name, host string, port, ios int) string {
		return fmt.Sprintf(`{"jobname": %q, "hostname": %q, "port": %d, "read": {"total_ios": %d}}`, name, host, port,
			ios)
	}
	const sum = "All clients"
	both := func(name string, ios int) string { // unified_rw_reporting=both
		return strings.TrimSuffix(entry(name, "a", 1, ios), "}") + fmt.Sprintf(`, "mixed": {"total_ios": %d}}`, ios)
	}
	for name, c := range map[string]struct {
		entries []string
		want    int
	}{
		"one job": {[]string{entry(sum, "a", 1, 5)}, 1},
		"one job on two hosts": {[]string{entry(sum, "a", 1, 5), entry(sum, "b", 1, 6), entry(sum, "b", 1, 11)},
			2},
		"two jobs before the sum": {[]string{entry("x", "a", 1, 5), entry("y", "a", 1, 6), entry(sum, "a", 1, 11)},
			2},
		"sums of directions, too": {[]string{both("x", 5), both("y", 6), both(sum, 11)}, 2},
		"third job, and the sum": {[]string{entry("x", "a", 1, 5), entry("y", "a", 1, 6), entry(sum, "a", 1, 7),
			entry(sum, "a", 1, 18)}, 3},
		"two reports before the sum": {[]string{entry("x", "a", 1, 5), entry("x", "a", 1, 6), entry(sum, "a", 1, 6)},
			2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if m := parseMeta(t, `{"fio version": "x", "client_stats": [`+strings.Join(c.entries,
				", ")+`]}`); len(m.Entries) != c.want {
				t.Errorf("%d entries, want %d", len(m.Entries), c.want)
			}
		})
	}
}

// TestParseMetaMixed: totals of all directions together belong to the job's direction
// if it has but one, and are left out where fio tells them apart.
func TestParseMetaMixed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options, dirs string
		read, mixed   uint64
	}{
		"reads":            {`"rw": "randread"`, ``, 7, 0},
		"reads and writes": {`"rw": "randrw"`, ``, 0, 7},
		"nobody says":      {``, ``, 0, 7},
		"both":             {`"rw": "randrw"`, `"read": {"total_ios": 3},`, 3, 0},
		"verified writes":  {`"rw": "write", "verify": "crc32c"`, ``, 0, 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := parseMeta(t, `{"fio version": "x", "jobs": [{"jobname": "a", `+
				`"job options": {`+c.options+`}, `+c.dirs+` "mixed": {"total_ios": 7, "runtime": 9}}]}`)
			if e := m.Entries[0]; e.Dirs[fio.Read].TotalIOs != c.read || e.Mixed.TotalIOs != c.mixed ||
				e.LongestMS != 9 {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestParseMetaNumbers: numbers that cannot be do no harm.
func TestParseMetaNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		clat string
		want Totals
		warn bool
	}{
		"fractions": {`"min": 1.9, "max": 20.5, "mean": 5, "N": 2.7`, Totals{N: 2, Min: 1, Max: 20, Mean: 5},
			false},
		"negative":        {`"min": -5, "max": -1, "mean": -3.5, "N": 2`, Totals{N: 2, Max: math.MaxInt64}, false},
		"nan and inf":     {`"min": nan, "max": inf, "mean": -nan, "N": 2`, Totals{N: 2, Max: math.MaxInt64}, false},
		"no minimum":      {`"min": 18446744073709551615, "max": 0, "mean": 0.0, "N": 0`, Totals{}, false},
		"no limits":       {`"N": 2, "bins": {}`, Totals{N: 2, Max: math.MaxInt64}, false},
		"2^64-1 and I/Os": {`"min": 18446744073709551615, "max": 9, "N": 2`, Totals{N: 2, Max: 9}, false},
		"max below mean": {`"min": 0, "max": 0, "mean": 50, "N": 2`, Totals{N: 2, Mean: 50, Max: math.MaxInt64},
			false},
		"text":          {`"min": "7", "max": "nine", "N": true`, Totals{}, false},
		"an absurd N":   {`"min": 1, "max": 2, "N": 18446744073709551613`, Totals{}, true},
		"an absurd bin": {`"min": 1, "max": 2, "N": 2, "bins": {"1": 18446744073709551613}`, Totals{}, true},
		"a number too big": {`"min": 1, "max": 99999999999999999999999, "N": 1e3`, Totals{N: 1000, Min: 1,
			Max: math.MaxInt64}, false},
		"bins in disorder": {`"min": 1, "max": 9, "N": 6, "bins": {"9": 1, "1": 2, "9": 3, "x": 1, "-4": 1, "2": 0}`,
			Totals{N: 6, Min: 1, Max: 9, Mean: 19. / 3, Bins: NewBins([]Bin{{1, 2}, {9, 4}})}, false},
		"latencies too big": {`"N": 2, "mean": 1e300, "percentile": {"1.0": 5, "50.0": -1, "99.0": 1e300, "99.9": "x"}`,
			Totals{N: 2, Max: math.MaxInt64, Percentiles: map[string]float64{"1": 5}}, false},
		"a list of bins": {`"min": 1, "max": 9, "N": 6, "bins": [1, 2]`, Totals{N: 6, Min: 1, Max: 9}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := parseMeta(t, `{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "groupid": 1e99, `+
				`"elapsed": -1, "job_start": nan, "job options": null, "write": {"runtime": -5, `+
				`"clat_ns": {`+c.clat+`}}}]}`)
			if got := m.Entries[0].Dirs[fio.Write].Kind[fio.Clat]; !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if (len(m.Warnings) > 0) != c.warn {
				t.Errorf("%q", m.Warnings)
			}
		})
	}
}

func TestParseMetaUnified(t *testing.T) {
	m := parseMeta(t, `{"fio version": "x", "jobs": [{"jobname": "a", "mixed": {"runtime": 1234, "total_ios": 9}}]}`)
	if e := m.Entries[0]; e.LongestMS != 1234 || !reflect.DeepEqual(e.Dirs, [fio.Directions]DirTotals{}) {
		t.Errorf("%+v", e)
	}
}

func TestParseMetaErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty": {"", "x.json: no JSON of fio in it; pass the whole output of fio --output-format=json+"},
		"text": {"fio: nothing\nto see\n", "x.json: no JSON of fio in it; pass the whole output of fio " +
			"--output-format=json+"},
		"cut": {minimal[:len(minimal)-5], "x.json:5: fio's JSON breaks off at the end of the file; pass the " +
			"whole output of fio --output-format=json+"},
		"broken": {"hello\n" + strings.Replace(minimal, `"jobs" :`, `"jobs" ?`, 1),
			`x.json:6: not JSON: an unexpected character; pass the whole output of fio --output-format=json+`},
		"cut string": {"{\"fio version\": \"fio-3\n\"", "x.json:1: not JSON: a line ends inside a string; pass the " +
			"whole output of fio --output-format=json+"},
		"other JSON": {"\n{\"a\": 1}", "x.json:2: JSON, but no jobs of fio in it; pass the whole output of fio " +
			"--output-format=json+"},
		"too deep": {`{"fio version": "x", "a": ` + strings.Repeat("[", 1<<21),
			"x.json:1: JSON nested too deep; pass the whole output of fio --output-format=json+"},
		"escape": {`{"fio version": "\u12x4"}`,
			`x.json:1: not JSON: \u without four digits; pass the whole output of fio --output-format=json+`},
		"endless word": {`{"fio version": ` + strings.Repeat("a", 100),
			`x.json:1: not JSON: an unexpected character; pass the whole output of fio --output-format=json+`},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Parse(strings.NewReader(c.text), "x.json")
			var pe *fio.ParseError
			if m != nil || !errors.As(err, &pe) || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	broken := errors.New("disk on fire")
	_, err := Parse(io.MultiReader(strings.NewReader(minimal), iotestErr{broken}), "x\x1b[2J.json")
	if !errors.Is(err, broken) || strings.Contains(err.Error(), "\x1b") {
		t.Error(err)
	}
	_, err = Parse(io.MultiReader(strings.NewReader(minimal[:60]), iotestErr{io.ErrUnexpectedEOF}), "x.json.gz")
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

type iotestErr struct{ err error }

func (e iotestErr) Read([]byte) (int, error) { return 0, e.err }

// TestParseMetaMemory: what is not fio's JSON is not held, however long it is.
func TestParseMetaMemory(t *testing.T) {
	testkit.NotRaced(t)
	const long = 64 << 20
	for name, r := range map[string]io.Reader{
		"text": io.MultiReader(io.LimitReader(repeated("fio: text without end\n"), long), strings.NewReader(minimal)),
		"a string": io.MultiReader(strings.NewReader(`{"fio version": "`), io.LimitReader(repeated("x"), long),
			strings.NewReader(`", `+minimal[strings.Index(minimal, `"jobs"`):])),
		"numbers": io.MultiReader(strings.NewReader(`{"fio version": "x", "y": [`), io.LimitReader(repeated("1, "),
			long), strings.NewReader(`1], `+minimal[strings.Index(minimal, `"jobs"`):])),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			m, err := Parse(r, "x.json")
			runtime.ReadMemStats(&after)
			if err != nil || len(m.Entries) != 1 {
				t.Fatal(err)
			}
			if name != "numbers" && after.TotalAlloc-before.TotalAlloc > 8<<20 {
				t.Errorf("%d bytes allocated", after.TotalAlloc-before.TotalAlloc)
			}
			if int64(after.HeapSys)-int64(before.HeapSys) > 32<<20 {
				t.Errorf("heap grew by %d bytes", int64(after.HeapSys)-int64(before.HeapSys))
			}
		})
	}
}

// TestParseMetaHolds: what is fio's JSON is held up to a bound.
func TestParseMetaHolds(t *testing.T) {
	testkit.NotRaced(t)
	defer func(n int) { maxHeld = n }(maxHeld)
	maxHeld = 1 << 20
	const head = `{"fio version": "x", "jobs": [`
	many := `{"N": 1, "bins": {`
	for i := range 2000 {
		many += fmt.Sprintf(`"%d": 1,`, i)
	}
	many = strings.TrimSuffix(many, ",") + "}}"
	for name, r := range map[string]io.Reader{
		"jobs": io.MultiReader(strings.NewReader(head), repeated(`{"jobname": "a"},`)),
		"options": io.MultiReader(strings.NewReader(head+`{"job options": {`),
			&counted{format: `"k%d": "v",`}),
		"listed options": io.MultiReader(strings.NewReader(`{"fio version": "x", "global options": [`),
			&counted{format: `"k%d=v",`}),
		"bins": io.MultiReader(strings.NewReader(head),
			repeated(`{"jobname": "a", "read": {"clat_ns": `+many+`, "lat_ns": `+many+`}},`)),
		"bad totals": io.MultiReader(strings.NewReader(head+`{"jobname": "a", `),
			repeated(`"read": {"clat_ns": {"N": 18446744073709551615}},`)),
		"several long": io.MultiReader(strings.NewReader(head), repeated(`{"jobname": "`+strings.Repeat("x",
			50000)+`"},`)),
		"options, in full": io.MultiReader(strings.NewReader(head+`{"job options": {`),
			repeated(`"same": "`+strings.Repeat("x", 1000)+`",`)),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(io.LimitReader(r, 8<<20), "x.json")
			var bad *fio.ParseError
			if !errors.As(err, &bad) || !strings.Contains(bad.Msg, "more than 1 MiB of jobs, options and bins") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestBinsInFile: bins that lie in a file are those that were read, in documents of any shape; where there can be no
// file they stay in memory.
func TestBinsInFile(t *testing.T) {
	dir := t.TempDir()
	defer func(n int) { maxBins = n }(maxBins)
	files, err := filepath.Glob("../../testdata/fio/*/fio.json")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		parse := func(most int) (all []string, filed int) {
			maxBins = most
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			_, err = Each(f, name, func(m *Document) error {
				for i := range m.Entries {
					for d := range m.Entries[i].Dirs {
						for _, k := range m.Entries[i].Dirs[d].Kind {
							if k.Bins.Len() == 0 {
								all = append(all, fmt.Sprint(k.N))
								continue
							}
							all = append(all, fmt.Sprint(k.N, k.Bins.sum, list(t, k.Bins)))
							if k.Bins.file != nil {
								filed++
							}
						}
					}
				}
				return nil
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return all, filed
		}
		t.Setenv("TMPDIR", dir)
		want, filed := parse(1 << 30)
		if filed > 0 || !strings.Contains(strings.Join(want, ""), "{") {
			t.Errorf("%s: below the limit %d lists of bins are in a file", name, filed)
		}
		for _, most := range []int{0, 1000} {
			if got, filed := parse(most); !slices.Equal(got, want) || most == 0 && filed == 0 {
				t.Errorf("%s: %d bytes in memory, %d lists of bins in a file: they differ", name, most, filed)
			}
		}
		if names, err := os.ReadDir(dir); len(names) > 0 || err != nil {
			t.Errorf("left behind: %v, %v", names, err)
		}
		t.Setenv("TMPDIR", filepath.Join(dir, "none"))
		if got, filed := parse(0); !slices.Equal(got, want) || filed > 0 {
			t.Errorf("%s: without a place for a file bins differ", name)
		}
	}
}

// TestBinsUnreadable: bins that cannot be read again are an error, not none.
func TestBinsUnreadable(t *testing.T) {
	defer func(n int) { maxBins = n }(maxBins)
	maxBins = 0
	m, err := Parse(strings.NewReader(minimal), "x.json")
	if err != nil {
		t.Fatal(err)
	}
	totals := m.Entries[0].Dirs[fio.Read].Kind[fio.Clat]
	if err := totals.Bins.file.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if counts, err := totals.Counts(fio3); err == nil {
		t.Errorf("%v", counts)
	}
}

// TestManyBinsMemory: of a document with many jobs a bounded number of bins is held.
func TestManyBinsMemory(t *testing.T) {
	const jobs, bins = 400, 1800
	job := `{"jobname": "a", "read": {"clat_ns": {"N": 1800000, "bins": {`
	for i := range bins {
		job += fmt.Sprintf(`"%d": 1000,`, 10_000_000*i)
	}
	job = strings.TrimSuffix(job, ",") + "}}}},"
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	m, err := Parse(io.MultiReader(strings.NewReader(`{"fio version": "fio-3.36", "jobs": [`),
		io.LimitReader(repeated(job), int64(jobs*len(job))), strings.NewReader(`{"jobname": "b"}]}`)), "x.json")
	if err != nil || len(m.Entries) != jobs+1 {
		t.Fatal(err)
	}
	if held := heap() - before; held > 3<<20 { // packed all take 4.3 MB
		t.Errorf("%d bytes are held", held)
	}
	for i := range jobs {
		if n := len(list(t, m.Entries[i].Dirs[fio.Read].Kind[fio.Clat].Bins)); n != bins {
			t.Fatalf("job %d has %d bins", i, n)
		}
	}
}

// list are bins that can be read.
func list(t *testing.T, b Bins) (out []Bin) {
	for bin, err := range b.All() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, bin)
	}
	return out
}

// TestParseMetaManyBins: one latency has no more bins than fio has buckets, however often
// they are said.
func TestParseMetaManyBins(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	const head = `{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "read": {"clat_ns": {"N": 300003, "bins": {`
	_, err := Parse(io.LimitReader(io.MultiReader(strings.NewReader(head), &counted{format: `"%d": 1,`}), 8<<20),
		"x.json")
	if err == nil || !strings.Contains(err.Error(), "x.json:1: more than 2048 bins of one latency") {
		t.Errorf("%v", err)
	}
	const again = `"1004": 1, "2008": 2,`
	m, err := Parse(strings.NewReader(head+strings.Repeat(again, 100_000)+`"5000": 3}}}}]}`), "x.json")
	if err != nil {
		t.Fatal(err)
	}
	got := list(t, m.Entries[0].Dirs[fio.Read].Kind[fio.Clat].Bins)
	if want := []Bin{{1004, 100_000}, {2008, 200_000}, {5000, 3}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// counted reads as a text with a number in it that grows, without end.
type counted struct {
	format string
	n      int
	rest   []byte
}

func (c *counted) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		c.rest = fmt.Appendf(nil, c.format, c.n)
		c.n++
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// repeated reads as s without end.
type repeated string

func (s repeated) Read(p []byte) (int, error) {
	n := 0
	for n+len(s) <= len(p) {
		n += copy(p[n:], s)
	}
	if n == 0 {
		n = copy(p, s[:1]) // only where p is tiny, and then any text will do
	}
	return n, nil
}

func TestIsMeta(t *testing.T) {
	for text, want := range map[string]bool{
		minimal[:30]: true,
		"<vm> {x}\n\n{\r\n\t\"fio version\"   : \"fio-3.39\"":       true,
		`{"disk_util": [], "fio version": "fio-3.33"`:               true,
		`"fio version": "fio-3.33"`:                                 false,
		`{"fio version"`:                                            false,
		`{"fioversion": 1}`:                                         false,
		"1000, 0, 4096, 0, 0, 1":                                    false,
		"[global]\nioengine=null\n; {\"fio version\" is not a key}": false,
		"": false,
	} {
		if got := Is([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestCounts: the middle of every bucket lies in it, on finer and coarser grids.
func TestCounts(t *testing.T) {
	var all []Bin
	for i := range fio3.Columns() {
		all = append(all, Bin{int64(fio3.Middle(i)), uint64(i + 1)})
	}
	bins := Totals{Bins: NewBins(all)}
	if got := list(t, bins.Bins); !slices.Equal(got, all) || bins.Bins.Len() != len(all) {
		t.Errorf("packed and unpacked: %v", got)
	}
	for c := 0; c <= fiohist.MaxCoarseness; c++ {
		g := fio3.Coarsen(c)
		counts, err := bins.Counts(g)
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range counts {
			want := uint64(0)
			for k := range 1 << c {
				want += uint64(i<<c + k + 1)
			}
			if n != want {
				t.Fatalf("coarseness %d, bucket %d: %d, want %d", c, i, n, want)
			}
		}
	}
	far := Totals{Bins: NewBins([]Bin{{0, 1}, {63, 1}, {64, 1}, {127, 1}, {129, 1}, {17179869184, 1}, {math.MaxInt64,
		1}})}
	counts, err := far.Counts(fio3)
	if err != nil || counts[0] != 1 || counts[63] != 1 || counts[64] != 1 || counts[127] != 1 || counts[128] != 1 ||
		counts[fio3.Last()] != 2 {
		t.Error("edges", err)
	}
	if _, err := far.Counts(fiohist.Geometry{}); err == nil {
		t.Error("no geometry was taken for one")
	}
	if _, err := (Totals{Bins: NewBins([]Bin{{1, math.MaxUint64}, {1, 1}})}).Counts(fio3); err == nil {
		t.Error("an overflow went unseen")
	}
}

func TestParseVersion(t *testing.T) {
	for text, want := range map[string][2]int{"fio-3.33": {3, 33}, "fio-2.1.10": {2, 1}, "fio-3.36-45-gabcdef": {3, 36},
		"3.7": {3, 7}, "fio-3.1-dirty": {3, 1}, "fio-3-rc2": {3, 2}} {
		if major, minor, ok := ParseVersion(text); !ok || [2]int{major, minor} != want {
			t.Errorf("%q: %d %d %v", text, major, minor, ok)
		}
	}
	for _, text := range []string{"", "fio", "fio-", "fio-x.3", "fio-3", "fio-3.x", "fio-99999999999999999999.1"} {
		if major, minor, ok := ParseVersion(text); ok {
			t.Errorf("%q: %d %d", text, major, minor)
		}
	}
}

func TestMetaOptions(t *testing.T) {
	m := parseMeta(t, strings.Replace(minimal, `"bs" : "4k"`,
		`"log_hist_msec": "1000", "startdelay": "500ms", "ramp_time": "1-2", "bad": "x"`, 1))
	e := &m.Entries[0]
	if n := m.Milliseconds(e, "log_hist_msec"); n != 1000 {
		t.Error(n)
	}
	if n := m.Milliseconds(e, "bad"); n != 0 {
		t.Error(n)
	}
	var none *Document
	if _, ok := none.Option(nil, "bs"); ok {
		t.Error("an option of nothing")
	}
}

func BenchmarkParseMeta(b *testing.B) {
	text, err := os.ReadFile(filepath.Join("testdata", "meta", "fio-3.33-status", "fio.json"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if m, err := Parse(bytes.NewReader(text), "x"); err != nil || m.Documents != 4 {
			b.Fatal(err)
		}
	}
}

// TestParseMetaContradiction: totals that are not those of their bins are not used.
func TestParseMetaContradiction(t *testing.T) {
	t.Parallel()
	doc := func(n int) string {
		return fmt.Sprintf(`{"fio version": "x", "jobs": [{"jobname": "a", "read": {"total_ios": 1000, `+
			`"clat_ns": {"N": %d, "bins": {"5": 400, "7": 600}}}}]}`, n)
	}
	for name, c := range map[string]struct {
		text string
		want uint64
	}{
		"whole":                     {doc(1000), 1000},
		"too many":                  {doc(1001), 0},
		"too few":                   {doc(999), 0},
		"a report of a running job": {doc(1000) + doc(1001), 1001},
		"a damaged report":          {doc(1000) + doc(2000), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := parseMeta(t, c.text)
			if n := m.Entries[0].Dirs[fio.Read].Kind[fio.Clat].N; n != c.want ||
				(n == 0) != (len(m.Warnings) == 1) {
				t.Errorf("N %d, want %d, warnings %q", n, c.want, m.Warnings)
			}
		})
	}
}
