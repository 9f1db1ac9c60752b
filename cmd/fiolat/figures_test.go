package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fiolat/internal/testkit"
)

// fioTotals are the I/Os and bytes per second of jobs, as fio's JSON has them, read without any code of ours.
type fioTotals struct {
	Jobs []struct {
		Name              string `json:"jobname"`
		Read, Write, Trim struct {
			IOs     float64 `json:"total_ios"`
			Bytes   float64 `json:"io_bytes"`
			Runtime float64
		}
	}
}

// rateExceptions are rows that differ from fio's, with the reason.
var rateExceptions = map[string]string{
	"groups a write":           "one entry for two sections (group_reporting), with the name of the first",
	"groups a read from JSON":  "one entry for two sections, with the name of the first",
	"groups a write from JSON": "one entry for two sections, with the name of the first",
}

// TestRates compares IOPS and bytes per second of each job and direction, from logs, from fio's JSON alone and from
// documents, with fio's own, for real runs of many kinds.
func TestRates(t *testing.T) {
	folders := []string{"figures/*", "fio/*", "sweep/*/*", "depths/*"}
	compareRates(t, 50, folders, func(dir, alone string) map[string][]string {
		documents := filepath.Join(t.TempDir(), "documents")
		if code, _, stderr := fiolat(t, nil, "ingest", "--by", "direction,job", "--output", documents, dir); code != 0 {
			t.Fatalf("%s: %s", dir, stderr)
		}
		return map[string][]string{"logs": {dir}, "JSON": {alone}, "documents": {documents}}
	})
}

// compareRates compares the rates of at least so many rows of testdata, from each source, with fio's. sources returns
// arguments of summary for a folder and for its JSON alone, by name.
func compareRates(t *testing.T, least int, patterns []string, sources func(dir, alone string) map[string][]string) {
	t.Helper()
	var folders []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join("../../testdata", pattern))
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		folders = append(folders, found...)
	}
	compared, off := map[string]int{}, map[string]int{} // by source
	for _, dir := range folders {
		found, err := filepath.Glob(filepath.Join(dir, "*.json*"))
		if err != nil || len(found) != 1 {
			continue
		}
		text := unzipped(t, found[0])
		var doc fioTotals
		if json.Unmarshal(text, &doc) != nil || len(doc.Jobs) == 0 { // a stream, or of fio --client
			continue
		}
		alone := filepath.Join(t.TempDir(), "fio.json")
		if err := os.WriteFile(alone, text, 0o600); err != nil {
			t.Fatal(err)
		}
		for from, args := range sources(dir, alone) {
			rows := ratesOf(t, args...)
			want := map[string][2]float64{} // the jobs of one name run at the same time
			for _, j := range doc.Jobs {
				for direction, d := range map[string]struct{ ios, bytes, ms float64 }{
					"read":  {j.Read.IOs, j.Read.Bytes, j.Read.Runtime},
					"write": {j.Write.IOs, j.Write.Bytes, j.Write.Runtime},
					"trim":  {j.Trim.IOs, j.Trim.Bytes, j.Trim.Runtime},
				} {
					if d.ios > 0 {
						sum := want[j.Name+" "+direction]
						want[j.Name+" "+direction] = [2]float64{sum[0] + 1000*d.ios/d.ms, sum[1] + 1000*d.bytes/d.ms}
					}
				}
			}
			for row, want := range want {
				name := filepath.Base(dir) + " " + row
				if rateExceptions[name] != "" || rateExceptions[name+" from "+from] != "" {
					continue
				}
				compared[from]++
				if got := rows[row]; apart(got[0], want[0]) || apart(got[1], want[1]) {
					off[from]++
					t.Errorf("%s from %s: %.1f IOPS, %.0f B/s, fio has %.1f and %.0f", name, from, got[0], got[1], want[0],
						want[1])
				}
			}
		}
	}
	for from, rows := range compared {
		if t.Logf("%s: %d rows compared, %d off", from, rows, off[from]); rows < least {
			t.Errorf("only %d rows compared", rows)
		}
	}
}

// apart reports whether two rates differ by more than 2 %.
func apart(a, b float64) bool { return math.Abs(a-b) > 0.02*b }

// ratesOf returns IOPS and bytes per second of a run, by job and direction.
func ratesOf(t *testing.T, args ...string) map[string][2]float64 {
	t.Helper()
	code, out, stderr := fiolat(t, nil, append([]string{"summary", "--by", "job", "--format", "ndjson"}, args...)...)
	if code != 0 {
		t.Fatalf("%q: %s", args, stderr)
	}
	rows := map[string][2]float64{}
	for line := range strings.Lines(out) {
		var r struct {
			Job, Direction string
			IOPS           float64
			Bytes          float64 `json:"bytes_per_second"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		rows[r.Job+" "+r.Direction] = [2]float64{r.IOPS, r.Bytes}
	}
	return rows
}

func unzipped(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(path, ".gz") {
		return text
	}
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err == nil {
		text, err = io.ReadAll(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// fourDigits returns the format in which a command prints rows with the digits of its table, as cells reads them.
func fourDigits(command string) string {
	if strings.HasPrefix(command, "summary") {
		return "markdown"
	}
	return "csv"
}

// cells returns a table in Markdown with commas between its cells; CSV stays as it is.
func cells(table string) string {
	return strings.NewReplacer("| ", "", " |\n", "\n", " | ", ",").Replace(table)
}

// TestFigureCases are runs whose figures once came out wrong. What is right follows from fio's JSON, read by hand.
func TestFigureCases(t *testing.T) {
	for _, c := range []struct{ dir, args, want, warned string }{
		{"mib-last-window", "summary", ",70152,23376,182.6,", ""}, // its I/Os x 8 KiB
		{"json-only-beside-logs", "summary", ",1496,498.3,3.893,", "1 job without a log: job, 4,911 reads in fio's JSON"},
		{"json-only-beside-logs", "summary", ",4911,2454,9.587,", ""},
		{"json-only-beside-logs", "percentiles --interval run", ",1496,", "1 job without a log"},
		{"fio2-io-bytes-kib", "summary", ",600000,10000,39.06,", ""},
		{"group-reporting-by-job", "summary --by job", ",short,read,101,99.02,0.387,", ""},
		{"group-reporting-by-job", "summary --by job", "19.37,19.40,49\n", ""}, // 101 were counted, 52 are logged
		{"group-reporting-by-job", "summary --by job --only job=short", ",49\n", ""},
		{"group-reporting-by-job", "summary", ",50.07,50.24\n", ""},
		{"stages-direction-rate", "summary", ",write,96752,19347,", ""},
		{"verify-loops", "summary", ",read,1024,341333,", ""}, // in 3 ms, as fio says
		{"verify-loops", "summary", ",write,1024,400.4,", ""},
		{"stages-direction-rate", "percentiles --interval run --by direction", ",write,,,,clat,96752,", ""},
		{"stages-direction-rate", "percentiles --sla 'write iops >= 10000'", "", "write iops >= 10000: ok"},
		{"stored-mib-two-block-sizes", "summary", ",13.24,", ""},
		{"stored-mib-two-block-sizes", "summary --from 0 --to 1", ",13.18,", ""},
		{"plain-json-without-N", "summary", ",write,600,", "295 of the 895 writes"},
		{"averages-beside-jsonplus", "summary --skip-bad", ",all,7940,", "it holds averages"},
		{"stale-logs-of-earlier-run", "summary", ",801,398.3,", "left by an earlier run"},
		{"reruns-with-fewer-jobs", "summary", ",3,read,601,600.4,",
			`b.json.gz: job "t" has no log here: its 200 reads`},
		{"reruns-with-fewer-jobs", "summary", ",3,read,600,599.4,", "a.json.gz: 3 jobs without a log"},
		{"reruns-with-fewer-jobs", "summary", ",1,read,201,200.8,", ""},
		{"job-without-log-jsonplus", "summary", ",write,150,49.50,0.774,",
			`job "measure" has no log here: its 150 writes`},
		{"job-without-log-jsonplus", "summary --by job", ",measure,", ""},
		{"hist-msec-without-write-hist-log", "percentiles --interval run", ",clat,600,",
			"add write_hist_log=NAME to the job"},
		{"gtod-reduce-empty-logs", "percentiles", "", "fio measured none, as the job set gtod_reduce"},
		{"gtod-reduce-empty-logs", "percentiles", "", "594 reads (196.9 IOPS, 24.82 MiB/s)"},
		{"gtod-reduce-empty-logs/truenas.json.gz", "percentiles", "", "594 reads (196.9 IOPS, 24.82 MiB/s)"},
		{"failed-job-without-log", "percentiles --interval run", ",201,",
			`job "bad" has no log: it failed with error 22`},
	} {
		t.Run(c.dir+" "+c.args, func(t *testing.T) {
			args := append(strings.Fields(strings.ReplaceAll(c.args, "'write iops >= 10000'", "RULE")), "--format",
				fourDigits(c.args), filepath.Join("../../testdata/figures-cases", c.dir))
			for i, a := range args {
				if a == "RULE" {
					args[i] = "write iops >= 10000"
				}
			}
			code, out, stderr := fiolat(t, nil, args...)
			out = cells(out)
			if code != 0 || !strings.Contains(out, c.want) || !strings.Contains(stderr, c.warned) {
				t.Errorf("exit %d\n%s%s", code, out, stderr)
			}
		})
	}
	results := "../../testdata/figures-cases/name-one-of-hash/results.json.gz"
	if code, out, stderr := fiolat(t, nil, "summary", "--format", "markdown", results+"#2"); code != 0 ||
		!strings.Contains(cells(out), ",400,198.9,") || strings.Count(out, "\n") != 3 {
		t.Errorf("exit %d\n%s%s", code, out, stderr)
	}
	if code, _, stderr := fiolat(t, nil, "summary", "../../testdata/figures-cases/json-bins-contradict"); code == 0 ||
		!strings.Contains(stderr, "by its bins the mean is 359156 ns, by itself 358") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}

// TestNoLatencies: a rule about latencies that fio did not measure is no success.
func TestNoLatencies(t *testing.T) {
	const cases = "../../testdata/figures-cases/"
	const gtod, lat = cases + "gtod-reduce-empty-logs", cases + "disable-clat-with-lat"
	for _, c := range []struct {
		args string
		code int
		want string // on standard output, or in the error
	}{
		{"percentiles --sla RULE --fail-on-sla " + gtod, 3, "--sla is about them: fio measured none, as the job set"},
		{"compare --fail-if CHANGE " + gtod + " " + gtod, 3, "--fail-if is about them: fio measured none"},
		{"history --fail-if-changed 1 " + real + "/randrw " + gtod, 3, "--fail-if-changed is about them: fio measured none"},
		{"compare --fail-if CHANGE " + real + "/randrw " + gtod, 3, "gtod-reduce-empty-logs: no latencies"},
		{"compare --fail-if CHANGE " + lat + "/fio.json.gz " + lat + "/fio.json.gz", 3, "(--kind lat has some)"},
		{"curve --at RULE " + gtod + " " + lat, 3, "--at is about them"},
		{"percentiles " + lat, 0, "as the job set disable_clat (--kind lat has some)"},
		{"percentiles --kind lat --interval run --format csv " + lat, 0, ",lat,1200,"},
		{"percentiles --kind slat " + lat, 3, "no slat logs, only clat"},
	} {
		args := strings.Fields(c.args)
		for i := range args {
			switch args[i] {
			case "RULE":
				args[i] = "read p99 < 5ms"
			case "CHANGE":
				args[i] = "read p99 +10%"
			}
		}
		if code, out, stderr := fiolat(t, nil, args...); code != c.code || !strings.Contains(out+stderr, c.want) {
			t.Errorf("%s: exit %d, want %d and %q\n%s%s", c.args, code, c.code, c.want, out, stderr)
		}
	}
	stored := t.TempDir()
	if code, _, stderr := fiolat(t, nil, "ingest", "--output", stored, gtod); code != 0 {
		t.Fatal(stderr)
	}
	if code, _, stderr := fiolat(t, nil, "history", "--fail-if-changed", "1", stored, real+"/randrw"); code != 3 ||
		!strings.Contains(stderr, "--fail-if-changed is about them") {
		t.Errorf("history: exit %d: %s", code, stderr)
	}
	if code, _, stderr := fiolat(t, nil, "compare", "--fail-if", "read p99 +10%", stored, gtod); code != 3 ||
		!strings.Contains(stderr, "--fail-if is about them") {
		t.Errorf("stored: exit %d\n%s", code, stderr)
	}
}

// TestEmptyLogsID: empty logs are all alike, and the runs that they are of are not.
func TestEmptyLogsID(t *testing.T) {
	text := string(unzipped(t, "../../testdata/figures-cases/disable-clat-with-lat/fio.json.gz"))
	out := t.TempDir()
	for _, text := range []string{text, strings.ReplaceAll(text, `"bw_min"`, `"bw_least"`)} {
		dir := t.TempDir()
		for name, content := range map[string]string{"d_clat_hist.1.log": "", "fio.json": text} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if code, _, stderr := fiolat(t, nil, "ingest", "--output", out, dir); code != 0 {
			t.Fatal(stderr)
		}
	}
	if runs, _ := filepath.Glob(out + "/fio-run.*.ndjson"); len(runs) != 2 {
		t.Errorf("two runs are stored as %q", runs)
	}
}

// TestPrefixedLines: fio's JSON as `kubectl logs --prefix` or a CI system keeps it is refused with the command that
// restores it.
func TestPrefixedLines(t *testing.T) {
	text := string(unzipped(t, "../../testdata/figures-cases/gtod-reduce-empty-logs/truenas.json.gz"))
	for _, c := range []struct{ prefix, cut string }{
		{"[pod/fio-0/fio] ", "cut -b 16- "},
		{"2026-11-28T10:00:00.1234567Z ", "cut -b 29- "},
	} {
		var lines strings.Builder
		for line := range strings.Lines(text) {
			lines.WriteString(c.prefix + line)
		}
		path := filepath.Join(t.TempDir(), "pod.log")
		if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, arg := range []string{path, filepath.Dir(path)} {
			if code, _, stderr := fiolat(t, nil, "percentiles", arg); code != 3 || !strings.Contains(stderr, c.cut) {
				t.Errorf("%s: exit %d\n%s", arg, code, stderr)
			}
		}
	}
}

// TestOwners are folders where files of several jobs, runs or fios lie together or apart. Each I/O of fio's JSON is in
// one row of summary, and in the same one after an ingest.
func TestOwners(t *testing.T) {
	for _, c := range []struct {
		dir, by string
		want    []string
	}{
		{"job-without-log-jsonplus", "", []string{"read 300", "write 150", "all 450"}},
		{"log-in-root-and-sub", "", []string{"read 300", "write 150", "all 450"}},
		{"log-in-root-and-sub", "job", []string{"measure write 150", "warm read 300"}},
		{"renamed-hist-logs", "job", []string{"10-0-0-1-nvme1n1-randread read 912",
			"10-0-0-1-nvme1n1-randwrite write 607"}},
		{"pjl0-group-sections", "job", []string{"reader read 397", "writer write 199"}},
		{"pjl0-two-tasks", "job", []string{"reader read 755", "writer write 254"}}, // what the logs hold
		{"compressed-logs-beside-json", "", []string{"read 1795", "write 2065", "all 3860"}},
		{"json-in-csv", "", []string{"read 400"}},
		{"gtod-reduce-empty-logs", "", []string{"read 594", "write 594", "all 1188"}},
		{"sections-json-above", "", []string{"write 333", "write 1216", "write 1224"}},
	} {
		t.Run(c.dir+" "+c.by, func(t *testing.T) {
			dir, out := filepath.Join("../../testdata/figures-cases", c.dir), t.TempDir()
			by := []string{}
			if c.by != "" {
				by = []string{"--by", "direction," + c.by}
			}
			if code, _, stderr := fiolat(t, nil, append([]string{"ingest", "-o", out, dir}, by...)...); code != 0 {
				t.Fatal(stderr)
			}
			for _, path := range []string{dir, out} {
				code, text, stderr := fiolat(t, nil, append([]string{"summary", "--format", "ndjson", path}, by...)...)
				var rows []string
				for line := range strings.Lines(text) {
					var r struct {
						Job, Direction string
						Samples        float64
						IOPS, Bytes    *float64
					}
					if err := json.Unmarshal([]byte(line), &r); err != nil {
						t.Fatal(err)
					}
					rows = append(rows, strings.TrimSpace(fmt.Sprintf("%s %s %.0f", r.Job, r.Direction, r.Samples)))
					if r.IOPS == nil || r.Bytes == nil {
						t.Errorf("%s: no rate of %s", path, rows[len(rows)-1])
					}
				}
				if slices.Sort(rows); code != 0 || !slices.Equal(rows, slices.Sorted(slices.Values(c.want))) {
					t.Errorf("%s: exit %d, rows %q\n%s", path, code, rows, stderr)
				}
			}
		})
	}
}

// TestLastWindowOfOneLog: a log without its last window says nothing of the time after it, in which others go on.
func TestLastWindowOfOneLog(t *testing.T) {
	whole, short := t.TempDir(), t.TempDir()
	for n := 1; n <= 3; n++ {
		name := fmt.Sprintf("randrw_clat_hist.%d.log", n)
		text := unzipped(t, filepath.Join("../../testdata/fio/randrw", name))
		lines := bytes.SplitAfter(text, []byte("\n"))
		for dir, of := range map[string][][]byte{whole: lines[:4], short: lines[:4-2*(n/3)]} {
			if err := os.WriteFile(filepath.Join(dir, name), bytes.Join(of, nil), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, b := ratesOf(t, whole)["randrw all"], ratesOf(t, short)["randrw all"]
	if math.Abs(a[0]-b[0]) > 0.03*a[0] || a[0] < 1100 {
		t.Errorf("%.0f IOPS of three logs, %.0f if one lacks its last window", a[0], b[0])
	}
	code, out, stderr := fiolat(t, nil, "compare", "--run-noise", "1%", "--fail-if", "iops -5%", whole, short)
	if code != 0 {
		t.Errorf("exit %d\n%s%s", code, out, stderr)
	}
}

// TestCompareJobs compares two runs of a job file with two stages, in the first of which rate_iops was changed.
func TestCompareJobs(t *testing.T) {
	const cases = "../../testdata/figures-cases/rate-"
	documents := t.TempDir()
	for _, rate := range []string{"60", "20"} {
		if code, _, stderr := fiolat(t, nil, "ingest", "--by", "direction,job", "--output",
			filepath.Join(documents, rate), cases+rate); code != 0 {
			t.Fatal(stderr)
		}
	}
	for _, from := range []string{cases, documents + "/"} {
		code, out, stderr := fiolat(t, nil, "compare", "--format", "json", "--by", "job", "--run-noise", "2%",
			"--fail-if", "read iops -5%", "--fail-if", "write iops -5%", from+"60", from+"20")
		type row struct {
			Direction, Metric string
			Baseline, Other   float64
		}
		var found struct {
			Comparisons []struct {
				Job     string
				Differs []map[string]string
				Rows    []row
			}
			FailIf []struct {
				Rule, Job string
				Failed    bool
			} `json:"fail_if"`
		}
		if err := json.Unmarshal([]byte(out), &found); err != nil || code != 5 || len(found.Comparisons) != 2 {
			t.Fatalf("exit %d, %v\n%s%s", code, err, out, stderr)
		}
		if got := fmt.Sprint(found.FailIf); got != "[{read iops -5% quiet true} {write iops -5% busy false}]" {
			t.Error(got)
		}
		for i, want := range []struct {
			job, differs  string
			before, after float64 // fio's own IOPS: 624 and 198 reads in 11 s, 2225 writes twice
		}{{"quiet", "[map[baseline:60 option:rate_iops other:20]]", 56.72, 17.99}, {"busy", "[]", 202.3, 202.3}} {
			of := found.Comparisons[i]
			iops := slices.IndexFunc(of.Rows, func(r row) bool { return r.Metric == "iops" })
			if r := of.Rows[iops]; of.Job != want.job || fmt.Sprint(of.Differs) != want.differs ||
				apart(r.Baseline, want.before) || apart(r.Other, want.after) {
				t.Errorf("%s%+v, want %+v", from, of, want)
			}
		}
	}
	if code, out, _ := fiolat(t, nil, "compare", cases+"60", cases+"20"); code != 0 ||
		!strings.Contains(out, "differs: rate_iops 60,200 -> 20,200") || !strings.Contains(out, "56.72/s") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// layoutFiles writes the files of a layout, those of different options at different times: "JSON" and a job's options
// is fio's JSON of 400 I/Os in 2 s, "plain" without histograms; "hist" a histogram log of 300 of them, "average",
// "zeros" and "empty" logs of no use.
func layoutFiles(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	document := func(options string, bins string) string {
		return fmt.Sprintf(`{"fio version":"fio-3.33","timestamp_ms":%d,"jobs":[{"jobname":"a","groupid":0,
"elapsed":3,"job options":{"bs":"4k","rw":"randread","log_hist_msec":"500"%s},"job_runtime":2000,
"read":{"io_bytes":1638400,"runtime":2000,"total_ios":400,"clat_ns":{"min":990,"max":1020,"mean":1000,"N":400,
"percentile":{"50.000000":1004,"99.000000":1012}%s}}}]}`, 1767225602000+60000*len(options), options, bins)
	}
	for name, text := range files {
		kind, rest, _ := strings.Cut(text, " ")
		switch kind {
		case "JSON":
			text = document(rest, `,"bins":{"1004":400}`)
		case "plain":
			text = document(rest, "")
		case "output": // as ezfio keeps it
			text = "[JOBFILE]\n[a]\nrw=randread\n[STDOUT]\n" + document(rest, "") + "\n[STDERR]\n"
		case "average":
			text = "500, 1000, 0, 0, 0, 0\n1000, 1000, 0, 0, 0, 0\n"
		case "hist", "zeros":
			text = ""
			for _, ms := range []int{500, 1000, 1500} {
				counts := slices.Repeat([]string{"0"}, 29)
				if kind == "hist" {
					counts[4] = "100"
				}
				text += fmt.Sprintf("%d, 0, 4096, %s\n", ms, strings.Join(counts, ", "))
			}
		case "empty":
			text = ""
		}
		testkit.Write(t, dir, name, text)
	}
	return dir
}

// TestLayouts reads folders as other tools leave them, and logs of no use beside fio's JSON.
func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		name   string
		files  map[string]string
		args   string
		want   []string // in the output, each once
		warned string
	}{
		{"fio-plot", map[string]string{
			"nvme0/randread-1-1.json":     `plain ,"iodepth":"1","write_lat_log":"randread-1"`,
			"nvme0/randread-8-1.json":     `plain ,"iodepth":"8","direct":"1","write_lat_log":"randread-8"`,
			"nvme0/randread-1_clat.1.log": "average",
			"nvme0/randread-8_clat.1.log": "average",
			"nvme0/randread-8_iops.1.log": "average",
			"nvme0/randread-1_lat.1.log":  "average",
		}, "summary", []string{"randread-1-1.json,", "randread-8-1.json,"}, "it holds averages"},
		{"ezfio", map[string]string{
			"details/TestRand_1.out":            `output ,"iodepth":"1"`,
			"details/TestRand_8.out":            `output ,"iodepth":"8","write_lat_log":"details/TestRand_8.out"`,
			"details/TestRand_8.out_clat.1.log": "average",
			"details/ezfio_tests.csv":           "Type,Write %\n",
		}, "summary", []string{"TestRand_1.out,", "TestRand_8.out,"}, "it holds averages"},
		{"StorPool", map[string]string{
			"conf/rand-r":         "[global]\nioengine=libaio\n[rand-r]\nrw=randread\n",
			"res/rand-r.fio.json": "plain", "res/rand-w.fio.json": `plain ,"iodepth":"8"`,
			"res/rand-r.cpu.pre": "cpu  1 2 3\n", "res/rand-r.fio.err": "empty",
		}, "summary", []string{"rand-r.fio.json,", "rand-w.fio.json,"}, "only fio's own percentiles"},
		{"logs and json", map[string]string{
			"logs/r1_clat_hist.1.log": "hist", "json/r-1.json": `JSON ,"write_hist_log":"logs/r1"`,
			"logs/r8_clat_hist.1.log": "hist", "json/r-8.json": `JSON ,"write_hist_log":"logs/r8","iodepth":"8"`,
		}, "summary", []string{"json/r-1.json,", "json/r-8.json,"}, ""},
		{"zeros", map[string]string{"h_clat_hist.1.log": "zeros", "fio.json": `JSON ,"write_hist_log":"h"`},
			"summary", []string{",read,400,200,0.781,"}, "all buckets of all records are 0"},
		{"zeros, plain", map[string]string{"h_clat_hist.1.log": "zeros", "fio.json": `plain ,"write_hist_log":"h"`},
			"summary --skip-bad", []string{",read,400,200,0.781,"}, "all buckets of all records are 0"},
		{"empty, plain", map[string]string{"h_clat_hist.1.log": "empty", "fio.json": `plain ,"write_hist_log":"h"`},
			"summary", []string{",read,400,200,0.781,"}, "empty log"},
		{"one of two runs is bad", map[string]string{"a/h_clat_hist.1.log": "average", "b/h_clat_hist.1.log": "hist",
			"b/fio.json": `JSON ,"write_hist_log":"h"`}, "summary --skip-bad",
			[]string{",read,400,200,0.781,"}, "left out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append(strings.Fields(c.args), "--format", fourDigits(c.args), layoutFiles(t, c.files))
			code, out, stderr := fiolat(t, nil, args...)
			out, head := cells(out), 1+strings.Count(out, "| --- ")/max(strings.Count(out, "| --- "), 1)
			for _, want := range c.want {
				if strings.Count(out, want) != 1 || code != 0 || !strings.Contains(out, ",read,400,200,0.781,") {
					t.Errorf("exit %d, %q\n%s%s", code, want, out, stderr)
				}
			}
			if strings.Count(out, "\n") != len(c.want)+head || !strings.Contains(stderr, c.warned) {
				t.Errorf("exit %d\n%s%s", code, out, stderr)
			}
		})
	}
}

// TestOnlyJob: bytes are those of the job that is kept, as fio counts them, and not of the others, of 4k and 16k.
func TestOnlyJob(t *testing.T) {
	_, out, _ := fiolat(t, nil, "summary", "--only", "job=c", "--format", "markdown", "../../testdata/figures/stages")
	out = cells(out)
	for _, want := range []string{",all,796,784.2,6.127,", ",read,398,392.1,3.063,", ",write,398,392.1,3.063,"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s, want %s", out, want)
		}
	}
}

// TestUselessLog: what needs times says why a log is of no use, and what helps.
func TestUselessLog(t *testing.T) {
	dir := layoutFiles(t, map[string]string{"h_clat_hist.1.log": "zeros", "h_clat_hist.2.log": "hist",
		"fio.json": `JSON ,"write_hist_log":"h","numjobs":"2"`})
	code, out, stderr := fiolat(t, nil, "percentiles", "--interval", "1s", dir)
	if code != 3 || out != "" || !strings.Contains(stderr, "h_clat_hist.1.log: all buckets of all records are 0") ||
		!strings.Contains(stderr, "--skip-bad") {
		t.Errorf("exit %d\n%s%s", code, out, stderr)
	}
}

// TestHistoryOfPlainJSON takes fio's own percentiles, and marks them.
func TestHistoryOfPlainJSON(t *testing.T) {
	dir := layoutFiles(t, map[string]string{"1.json": "plain", "2.json": `plain ,"description":"b"`,
		"3.json": `JSON ,"description":"longer"`})
	code, out, stderr := fiolat(t, nil, "history", "--metric", "p99", "--metric", "iops", "--format", "json", dir)
	type point struct {
		Value float64
		Own   bool `json:"fio_percentile"`
	}
	var got [][]point
	for line := range strings.Lines(out) {
		var r struct{ Runs []point }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Runs)
	}
	if fmt.Sprint(got) != "[[{1012 true} {1012 true} {1007.92 false}] [{200 false} {200 false} {200 false}]]" ||
		code != 0 || !strings.Contains(stderr, "only fio's own percentiles") {
		t.Errorf("exit %d, %v\n%s", code, got, stderr)
	}
	if _, out, _ = fiolat(t, nil, "history", dir); !strings.Contains(out, "fio's own in 2 runs") {
		t.Error(out)
	}
}

// TestJobFileBesideJSON: fio's JSON of a group has the options of its last job only; the job file has those of all.
func TestJobFileBesideJSON(t *testing.T) {
	const from = "../../testdata/figures/groups/"
	files := map[string]string{"fio.json": string(unzipped(t, from+"fio.json.gz"))}
	_, out, _ := fiolat(t, nil, "summary", "--by", "job", "--format", "json", layoutFiles(t, files))
	if !strings.Contains(out, `"job":"a"`) || strings.Contains(out, `"bs"`) {
		t.Error(out)
	}
	files["job.fio"] = string(unzipped(t, from+"job.fio"))
	code, out, stderr := fiolat(t, nil, "summary", "--by", "job", "--format", "ndjson", layoutFiles(t, files))
	for i, want := range []string{`"bs":"4k,64k"`, `"bs":"4k"`, `"bs":"64k"`} { // all, read, write
		if line := strings.Split(out, "\n")[i]; code != 0 || !strings.Contains(line, `"job":"a,b"`) ||
			!strings.Contains(line, want) {
			t.Errorf("exit %d, want %s\n%s%s", code, want, line, stderr)
		}
	}
}

// TestMixedAlone: fio's JSON alone with the totals of all directions together has rows of direction all, also beside
// the empty log of a short job.
func TestMixedAlone(t *testing.T) {
	json := string(unzipped(t, "../../testdata/figures/mixed/fio.json.gz"))
	dir := layoutFiles(t, map[string]string{"fio.json": json})
	short := layoutFiles(t, map[string]string{"fio.json": json, "h_clat_hist.1.log": "empty"})
	documents := filepath.Join(t.TempDir(), "documents")
	if code, _, stderr := fiolat(t, nil, "ingest", "--output", documents, dir); code != 0 {
		t.Fatal(stderr)
	}
	for _, from := range []string{dir, documents, short} {
		_, out, _ := fiolat(t, nil, "summary", "--format", "markdown", from)
		_, rows, stderr := fiolat(t, nil, "percentiles", "--interval", "run", "--by", "direction", "--format", "csv",
			from)
		if !strings.Contains(cells(out), ",all,601,600.4,2.345,") || strings.Count(rows, "\n") != 2 ||
			!strings.Contains(rows, ",all,,,,clat,601,") {
			t.Errorf("%s%s%s", out, rows, stderr)
		}
	}
	if _, _, stderr := fiolat(t, nil, "percentiles", "--interval", "run", "--sla", "iops >= 1000", "--sla",
		"read iops >= 1", dir); !strings.Contains(stderr, "BROKEN. Whole run: 600 IOPS.") ||
		!strings.Contains(stderr, "read iops >= 1: not certain") {
		t.Error(stderr)
	}
	if code, _, stderr := fiolat(t, nil, "compare", dir, documents); code != 2 ||
		!strings.Contains(stderr, "unified_rw_reporting=mixed") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}
