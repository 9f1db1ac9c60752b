package main

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fiolat/internal/testkit"
)

// jobTruth is what single I/Os (write_lat_log) say of a job in a direction.
type jobTruth struct {
	N, Bytes, Seconds, P50, P99, Max float64
	Near                             [2]float64 `json:"p99_near"` // the I/Os before and after the 99th percentile
}

// unlikeRuns lays out real runs of groups whose jobs differ, and returns their folders and truths, by job and
// direction.
func unlikeRuns(t *testing.T) (dirs []string, truths []map[string]jobTruth) {
	t.Helper()
	files := map[string]string{}
	for name, data := range testkit.Packed(t, "testdata/unlike.tar.zst") {
		if filepath.Base(name) != "truth.txt" {
			files[name] = string(data)
			continue
		}
		var truth map[string]jobTruth
		if err := json.Unmarshal(data, &truth); err != nil {
			t.Fatal(err)
		}
		dirs, truths = append(dirs, filepath.Dir(name)), append(truths, truth)
	}
	root := layoutFiles(t, files)
	for i := range dirs {
		dirs[i] = filepath.Join(root, dirs[i])
	}
	return dirs, truths
}

// TestUnlikeJobs compares bytes, IOPS and latencies of each job of groups whose jobs differ, from logs and documents,
// and the sums of all jobs from fio's JSON, with every single I/O.
func TestUnlikeJobs(t *testing.T) {
	type row struct {
		Job, Direction     string
		Samples, IOPS, Max float64
		Bytes              float64 `json:"bytes_per_second"`
		Percentiles        map[string]float64
	}
	rowsOf := func(args ...string) map[string]row {
		code, out, stderr := fiolat(t, nil, append([]string{"summary", "--format", "ndjson"}, args...)...)
		if code != 0 {
			t.Fatalf("%q: %s", args, stderr)
		}
		rows := map[string]row{}
		for line := range strings.Lines(out) {
			var r row
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			rows[r.Job+" "+r.Direction] = r
		}
		return rows
	}
	dirs, truths := unlikeRuns(t)
	far := func(got, want, part float64) bool { return !(math.Abs(got-want) <= part*want) }
	rows, rates, percentiles, longest := 0, 0, 0, 0
	for i, dir := range dirs {
		documents := filepath.Join(t.TempDir(), "documents")
		if code, _, stderr := fiolat(t, nil, "ingest", "--by", "direction,job", "--output", documents, dir); code != 0 {
			t.Fatalf("%s: %s", dir, stderr)
		}
		for from, path := range map[string]string{"logs": dir, "documents": documents} {
			got := rowsOf("--by", "job", path)
			for who, want := range truths[i] {
				r := got[who]
				rows++
				if far(r.Bytes, want.Bytes/want.Seconds, 0.04) || far(r.IOPS, want.N/want.Seconds, 0.04) {
					rates++
					t.Errorf("%s from %s, %s: %.2f IOPS, %.0f B/s, want %.2f and %.0f", filepath.Base(dir), from, who,
						r.IOPS, r.Bytes, want.N/want.Seconds, want.Bytes/want.Seconds)
				}
				if p99 := r.Percentiles["99"]; far(r.Percentiles["50"], want.P50, 0.05) ||
					p99 < 0.95*want.Near[0] || p99 > 1.05*want.Near[1] {
					percentiles++
					t.Logf("%s from %s, %s: p50 %.0f, p99 %.0f ns, want %.0f and %.0f", filepath.Base(dir), from, who,
						r.Percentiles["50"], p99, want.P50, want.P99)
				}
				if far(r.Max, want.Max, 0.05) {
					longest++
				}
			}
		}
		sums := map[string]float64{}
		for who, want := range truths[i] {
			_, direction, _ := strings.Cut(who, " ")
			sums[direction] += want.Bytes
		}
		for _, path := range []string{dir, filepath.Join(dir, "fio.json"), documents} {
			for who, r := range rowsOf(path) {
				_, direction, _ := strings.Cut(who, " ")
				if want := sums[direction]; want > 0 && far(r.Bytes*r.Samples/r.IOPS, want, 0.001) {
					t.Errorf("%s: %.0f bytes of %ss, want %.0f", path, r.Bytes*r.Samples/r.IOPS, direction, want)
				}
			}
		}
	}
	t.Logf("%d rows: rates off in %d, p50 or p99 in %d, max in %d", rows, rates, percentiles, longest)
	if rows < 50 || float64(percentiles) > 0.03*2*float64(rows) {
		t.Errorf("%d of %d percentiles are off by more than 5 %%, want at most 3 %%", percentiles, 2*rows)
	}
}

// TestUnlikeRules: rules, comparisons and curves of one job of a group are about its own I/Os.
func TestUnlikeRules(t *testing.T) {
	dirs, _ := unlikeRuns(t)
	for _, dir := range dirs {
		var job, rule, mib string
		switch filepath.Base(dir) {
		case "cache-and-disk":
			job, rule, mib = "cache", "read p99 < 1ms", "0.780"
		case "by-number":
			job, rule, mib = "short", "read p99 < 1ms", "1.174"
		case "three-disks":
			job, rule, mib = "paced", "write p50 < 10ms", "0.921" // broken
		default:
			continue
		}
		code, out, stderr := fiolat(t, nil, "percentiles", "--interval", "run", "--only", "job="+job, "--sla", rule,
			dir)
		if want := job != "paced"; code != 0 || strings.Contains(stderr, "ok.") != want {
			t.Errorf("%s: exit %d\n%s%s", dir, code, out, stderr)
		}
		if code, out, stderr := fiolat(t, nil, "compare", "--by", "job", dir, dir); code != 0 ||
			!strings.Contains(out, job) {
			t.Errorf("%s: exit %d\n%s%s", dir, code, out, stderr)
		}
		if code, out, stderr := fiolat(t, nil, "curve", "--by", "job", dir); code != 0 || !strings.Contains(out, mib) {
			t.Errorf("%s: exit %d\n%s%s", dir, code, out, stderr)
		}
	}
}

// TestJobCases compares figures of jobs with what fio's totals or single I/Os say, for runs of fio 2.21 and 3.33.
func TestJobCases(t *testing.T) {
	files := map[string]string{}
	for name, data := range testkit.Packed(t, "testdata/jobs.tar.zst") {
		files[name] = string(data)
	}
	root := layoutFiles(t, files)
	byJob := []string{"summary", "--by", "job", "--format", "csv"}
	whole := []string{"summary", "--format", "csv"}
	seconds := []string{"percentiles", "--interval", "1s", "--format", "csv"}
	for _, tc := range []struct {
		name string
		args []string
		row  map[string]string // values of columns that select a row
		want map[string]float64
	}{
		{"tail-of-another-job", byJob, map[string]string{"job": "cache"}, map[string]float64{"p99_us": 3.009,
			"ios": 1998}},
		{"number-ios-group", seconds, map[string]string{"offset_ms": "0", "direction": "all"},
			map[string]float64{"samples": 450}},
		{"size-runtime-group-fio2", seconds, map[string]string{"offset_ms": "0", "direction": "all"},
			map[string]float64{"samples": 447}},
		{"number-ios-mixed", byJob, map[string]string{"job": "cache", "direction": "write"},
			map[string]float64{"ios": 90}},
		{"number-ios-mixed", byJob, map[string]string{"job": "disk", "direction": "write"},
			map[string]float64{"ios": 17}},
		{"bssplit-in-group", byJob, map[string]string{"job": "oltp"}, map[string]float64{"mib/s": 0.40}},
		{"bssplit-in-group", byJob, map[string]string{"job": "scan"}, map[string]float64{"mib/s": 6.23}},
		{"blocksize-range-alias", byJob, map[string]string{"job": "range"}, map[string]float64{"mib/s": 0.42}},
		{"blocksize-range-alias", byJob, map[string]string{"job": "small"}, map[string]float64{"mib/s": 0.785}},
		{"command-line-defaults", byJob, map[string]string{"job": "big", "bs": "64k"},
			map[string]float64{"mib/s": 6.23}},
		{"command-line-defaults", byJob, map[string]string{"job": "small"}, map[string]float64{"mib/s": 0.779}},
		{"section-without-log", byJob, map[string]string{"job": "logged"}, map[string]float64{"mib/s": 0.295}},
		{"ramp-time-mib", whole, nil, map[string]float64{"mib/s": 2.622}},
		{"verify-write-rate", whole, map[string]string{"direction": "write"},
			map[string]float64{"mib/s": 23.19, "iops": 5936}},
		{"verify-mixed-group", byJob, map[string]string{"job": "mix", "direction": "write"},
			map[string]float64{"ios": 256, "iops": 400}},
		{"verify-mixed-group", byJob, map[string]string{"job": "writer", "direction": "write"},
			map[string]float64{"ios": 512, "iops": 400}},
		{"fio-2.21-io-bytes", byJob, map[string]string{"job": "w4k"}, map[string]float64{"mib/s": 1.554}},
		{"global-name-merges-jobs", byJob, map[string]string{"job": "redo"}, map[string]float64{"ios": 300}},
		{"global-name-merges-jobs", byJob, map[string]string{"job": "data"}, map[string]float64{"ios": 901}},
		{"log-options-on-command-line", byJob, map[string]string{"job": "seq_write-io-depth-64-num-jobs-1.1"},
			map[string]float64{"iops": 40}},
		{"syncs-of-the-wrong-job", byJob, map[string]string{"job": "oltp-log", "direction": "sync"},
			map[string]float64{"ios": 100}},
		{"ports-own-nojob", whole, nil, map[string]float64{"ios": 4191}},
		{"head-thinktime", seconds, map[string]string{"offset_ms": "0", "direction": "all"},
			map[string]float64{"samples": 4}},
	} {
		code, out, stderr := fiolat(t, nil, append(slices.Clone(tc.args), filepath.Join(root, tc.name))...)
		if code != 0 {
			t.Errorf("%s: exit %d\n%s", tc.name, code, stderr)
			continue
		}
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, row := range rows[1:] {
			value := func(column string) string {
				at := slices.Index(rows[0], column)
				if at < 0 {
					t.Fatalf("%s: no column %s in %q", tc.name, column, rows[0])
				}
				return row[at]
			}
			of := true
			for column, want := range tc.row {
				of = of && value(column) == want
			}
			if !of {
				continue
			}
			found = true
			for column, want := range tc.want {
				if got, err := strconv.ParseFloat(value(column), 64); err != nil || math.Abs(got-want) > 0.04*want {
					t.Errorf("%s, %v: %s is %s, want %.4g", tc.name, tc.row, column, value(column), want)
				}
			}
		}
		if !found {
			t.Errorf("%s: no row %v\n%s", tc.name, tc.row, out)
		}
	}
	for name, unwanted := range map[string]string{"log-options-on-command-line": "pass the job file",
		"verify-fio2": "lost",
		"stats-0":     "pass the job file", "ports-own-nojob": "lost", "syncs-of-the-wrong-job": "syncs of oltp-data"} {
		if _, _, stderr := fiolat(t, nil, "percentiles", filepath.Join(root, name)); strings.Contains(stderr,
			unwanted) {
			t.Errorf("%s: %s", name, stderr)
		}
	}
	if code, out, _ := fiolat(t, nil, "summary", "--only", "job=data", filepath.Join(root,
		"global-name-merges-jobs")); code != 0 {
		t.Errorf("job=data: exit %d\n%s", code, out)
	}
	if _, out, _ := fiolat(t, nil, "diagnose", filepath.Join(root, "jobs-of-three-sizes")); !strings.HasPrefix(out,
		"Nothing") {
		t.Error(out)
	}
}
