package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fiolat/internal/testkit"
)

// succeed runs the program, which must succeed.
func succeed(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := fiolat(t, nil, args...)
	if code != exitOK {
		t.Fatalf("fiolat %s: exit %d\n%s", strings.Join(args, " "), code, stderr)
	}
	return stdout, stderr
}

// Several kinds in one command are, byte for byte, what one command for each makes
// with the run.id of the first.
func TestIngestKinds(t *testing.T) {
	t.Parallel()
	const logs = real + "/latkinds"
	for _, tt := range []struct{ list, first string }{{"all", "clat"}, {"clat,slat,lat", "clat"}, {"lat, slat", "lat"},
		{"slat", "slat"}} {
		t.Run(tt.list, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			succeed(t, "ingest", "--kind", tt.list, "--output", dir+"/list", logs)
			id, _ := succeed(t, "inspect", "--format", "json", "--kind", tt.first, logs)
			id = regexp.MustCompile(`"run": "([0-9a-f]+)"`).FindStringSubmatch(id)[1]
			kinds := strings.Split(strings.ReplaceAll(strings.ReplaceAll(tt.list, "all", "clat,slat,lat"), " ", ""),
				",")
			for _, kind := range kinds {
				succeed(t, "ingest", "--kind", kind, "--run-id", id, "--output", dir+"/each", logs)
			}
			want, err := filepath.Glob(dir + "/each/*.ndjson")
			if err != nil || len(want) != 3*len(kinds) {
				t.Fatalf("%d files, %v", len(want), err)
			}
			if got, _ := filepath.Glob(dir + "/list/*.ndjson"); len(got) != len(want) {
				t.Errorf("%d files, want %d", len(got), len(want))
			}
			for _, file := range want {
				a, _ := os.ReadFile(file)
				b, err := os.ReadFile(dir + "/list/" + filepath.Base(file))
				if err != nil || string(a) != string(b) {
					t.Errorf("%s differs, %v", filepath.Base(file), err)
				}
			}
		})
	}
}

// What is printed of several kinds is what is printed of each, and their intervals are
// those of the kind whose logs have the longest interval.
func TestPercentilesKinds(t *testing.T) {
	t.Parallel()
	logs := []string{"--by", "direction", "--log-hist-msec", "2000", "--sla", "read p99 < 1s", "--run-id", "r",
		real + "/latkinds"}
	all := func(args ...string) (out string) {
		out, _ = succeed(t, append(append([]string{"percentiles"}, args...), logs...)...)
		return out
	}
	var want string
	for _, kind := range []string{"slat", "clat", "lat"} {
		one := all("--format", "ndjson", "--interval", "2s", "--kind", kind)
		if kind != "slat" { // rules are about the first
			one = regexp.MustCompile(`,"sla":\[.*\]}`).ReplaceAllString(one, "}")
		}
		want += one
	}
	if got := all("--format", "ndjson", "--kind", "slat,clat,lat"); got != want || !strings.Contains(got, `"sla":`) {
		t.Errorf("three kinds:\n%.2000s\none by one:\n%.2000s", got, want)
	}
	rows, err := csv.NewReader(strings.NewReader(all("--format", "csv", "--kind", "slat,clat,lat"))).ReadAll()
	if err != nil || len(rows) != 1+strings.Count(want, "\n") {
		t.Errorf("csv: %d rows, %v", len(rows), err)
	}
	var objects []struct{ Rows []struct{ Kind string } }
	if err := json.Unmarshal([]byte(all("--format", "json", "--kind", "slat,clat,lat")), &objects); err != nil ||
		len(objects) != 3 || objects[2].Rows[0].Kind != "lat" || 3*len(objects[2].Rows) > len(rows) {
		t.Errorf("json: %v, %+.300v", err, objects)
	}
	if table := all("--kind", "slat,lat"); !strings.HasPrefix(table, "slat\n") || strings.Count(table, "\nlat\n") != 1 {
		t.Errorf("table:\n%s", table)
	}
	_, stderr := succeed(t, "percentiles", "--kind", "all", "--interval", "auto", "--accuracy", "99%",
		"--log-hist-msec", "2000", real+"/latkinds")
	if strings.Count(stderr, "interval   10s chosen: for slat: ") != 2 || strings.Count(stderr,
		"interval   10s chosen: p99.9 ") != 1 {
		t.Errorf("the longest interval of all kinds:\n%s", stderr)
	}
}

func TestKindsFlag(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	const three, hists = real + "/latkinds", real + "/exact"
	docs := t.TempDir()
	succeed(t, "ingest", "--kind", "slat,lat", "--output", docs, three)
	page := t.TempDir() + "/page.html"
	averages := t.TempDir()
	for name, text := range map[string]string{"x_clat_hist.1.log": string(goodLog(t)), "x_lat.1.log": "500, 5, 0, 0\n",
		"x.fio": "[x]\nioengine=null\nlog_avg_msec=500\nlog_hist_msec=1000\nwrite_hist_log=x\nwrite_lat_log=x\n"} {
		if err := os.WriteFile(averages+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"a kind that is not there", []string{"percentiles", "--kind", "clat,slat", hists}, exitInput,
			"no slat logs, only clat"},
		{"of one run of two", []string{"ingest", "--dry-run", "--kind", "clat,slat", three, hists}, exitInput,
			"exact: no slat logs, only clat; --kind all"},
		{"all that is there", []string{"ingest", "--dry-run", "--kind", "all", three, hists}, exitOK,
			"2 logs, 28,801 I/Os"},
		{"all, of files", []string{"percentiles", "--kind", "all", three + "/latkinds_lat.1.log", three +
			"/latkinds_slat.1.log"}, exitOK, "slat: 1 log"},
		{"all, of one file", []string{"percentiles", "--kind", "all", three + "/latkinds_lat.1.log"}, exitOK,
			"1 log, 6,400 I/Os"},
		{"all, of a file beside a folder", []string{"ingest", "--dry-run", "--kind", "all", hists +
			"/exact_clat_hist.1.log", three}, exitOK, "lat:\n"},
		{"all of nothing", []string{"percentiles", "--kind", "all", t.TempDir()}, exitInput, "no fio histogram logs"},
		{"all but averages", []string{"percentiles", "--kind", "all", "--skip-bad", averages}, exitOK,
			"left out: no lat logs that can be read"},
		{"averages", []string{"percentiles", "--kind", "all", averages}, exitInput, "it holds averages"},
		{"averages alone", []string{"percentiles", "--kind", "lat", "--skip-bad", averages}, exitInput,
			"nothing is left: skipped 1 log"},
		{"which kind of standard input", []string{"percentiles", "--kind", "all", "-"}, exitUsage,
			"-: its name does not say whether it logs clat or slat"},
		{"no such kind", []string{"percentiles", "--kind", "clat,blat", three}, exitUsage,
			`--kind "blat": want clat, slat or lat`},
		{"syncs", []string{"percentiles", "--kind", "sync", three}, exitUsage, "fiolat summary shows"},
		{"where one is wanted", []string{"inspect", "--kind", "all", three}, exitUsage, "takes one kind"},
		{"stored", []string{"report", "-o", page, docs}, exitOK, "slat: 1 log"},
		{"one of those stored", []string{"report", "-o", page, "--kind", "lat", docs}, exitOK, "1 log, 6,400 I/Os"},
		{"not stored", []string{"report", "-o", page, "--kind", "clat", docs}, exitInput,
			"no clat latencies are stored, only slat"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if code, _, stderr := fiolat(t, nil, tt.args...); code != tt.code || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit %d, want %d and %q\n%s", code, tt.code, tt.want, stderr)
			}
		})
	}
	succeed(t, "ingest", "--kind", "clat", "--output", docs, hists)
	refused(t, exitUsage, []string{"found 2 runs", "say with --run-id which"}, "percentiles", docs)
}

// sums reads the table of the sum check: mean slat, clat, their sum, mean lat, gap, and
// the gap as a share, in ns, by direction; and the words of its means.
func sums(t *testing.T, page string) (numbers map[string][]float64, words map[string][]string) {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "<h3>slat &#43; clat = lat?</h3>")
	rest, _, _ = strings.Cut(rest, "</table>")
	numbers, words = map[string][]float64{}, map[string][]string{}
	for _, row := range regexp.MustCompile(`<tr><th scope="row">(\w+)</th>(.*?)</tr>`).FindAllStringSubmatch(rest, -1) {
		for _, c := range regexp.MustCompile(`<td>(?:<data value="([^"]*)">)?([^<]*)`).FindAllStringSubmatch(row[2],
			-1) {
			v, _ := strconv.ParseFloat(c[1], 64)
			numbers[row[1]], words[row[1]] = append(numbers[row[1]], v), append(words[row[1]], c[2])
		}
	}
	return numbers, words
}

// Mean slat + mean clat is compared with mean lat: the slow twin adds up the lines of
// fio's logs.
func TestKindSums(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	for _, tt := range []struct {
		name        string
		hist, json  bool
		late        int64  // ns that each lat is longer, as before fio 3.31
		slat        bool   // the log of slat has lines
		clat        string // how the mean of clat is written
		clatWithin  float64
		gap, sayGap string
	}{
		{"single I/Os and fio's JSON", true, true, 0, true, "15.13 µs", 1e-6, "0.000 µs", "0.00 %"},
		{"single I/Os alone", false, false, 0, true, "15.13 µs", 0, "0.000 µs", "0.00 %"},
		{"clat of histograms without their tail", true, false, 0, true, "≈ ", 0.1, "", ""},
		{"before fio 3.31", false, false, 3000, true, "15.13 µs", 0, "3.000 µs", "1.79 %"},
		{"an engine without slat", false, false, 0, false, "15.13 µs", 0, "149.721 µs", "90.82 %"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			mean := map[string]map[string]float64{}
			n := map[string]map[string]float64{}
			for _, kind := range []string{"slat", "clat", "lat"} {
				b, err := os.ReadFile(real + "/latkinds/latkinds_" + kind + ".1.log")
				if err != nil {
					t.Fatal(err)
				}
				mean[kind], n[kind] = map[string]float64{}, map[string]float64{}
				var out strings.Builder
				for line := range strings.Lines(string(b)) {
					f := strings.SplitN(line, ", ", 4)
					v, err := strconv.ParseInt(f[1], 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					if kind == "lat" {
						v += tt.late
					}
					if kind == "slat" && !tt.slat {
						continue
					}
					fmt.Fprintf(&out, "%s, %d, %s, %s", f[0], v, f[2], f[3])
					for _, d := range []string{"all", map[string]string{"0": "read", "1": "write"}[f[2]]} {
						n[kind][d]++
						mean[kind][d] += (float64(v) - mean[kind][d]) / n[kind][d]
					}
				}
				if err := os.WriteFile(fmt.Sprintf("%s/latkinds_%s.1.log", dir, kind), []byte(out.String()),
					0o600); err != nil {
					t.Fatal(err)
				}
			}
			for name, yes := range map[string]bool{"latkinds_clat_hist.1.log": tt.hist, "fio.json": tt.json} {
				if b, err := os.ReadFile(real + "/latkinds/" + name); yes && (err != nil || os.WriteFile(dir+"/"+name,
					b, 0o600) != nil) {
					t.Fatal(err)
				}
			}
			succeed(t, "report", "-o", dir+"/page.html", "--kind", "all", "--log-hist-msec", "1000", dir)
			got, words := sums(t, dir+"/page.html")
			if len(got) != 3 {
				t.Fatalf("directions: %v", got)
			}
			for d, v := range got {
				slat, clat, lat := mean["slat"][d], mean["clat"][d], mean["lat"][d]
				near := func(what string, got, want, within float64) {
					if math.Abs(got-want) > within*want+1e-6 {
						t.Errorf("%s: %s is %v, want %v", d, what, got, want)
					}
				}
				near("mean slat", v[0], slat, 0)
				near("mean clat", v[1], clat, tt.clatWithin)
				near("slat + clat", v[2], v[0]+v[1], 0)
				near("mean lat", v[3], lat, 0)
				near("the gap", v[4], v[3]-v[0]-v[1], 0)
				near("the gap of lat", v[5], v[4]/v[3], 0)
				if tt.gap != "" {
					near("the gap by the lines", v[4], lat-slat-clat, 1e-3)
				}
			}
			if w := words["read"]; !strings.HasPrefix(w[1], tt.clat) || tt.gap != "" && (w[4] != tt.gap ||
				w[5] != tt.sayGap) || (w[0] == "–") == tt.slat {
				t.Errorf("read: %q", w)
			}
		})
	}
}
