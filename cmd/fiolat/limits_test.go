package main

import (
	"encoding/csv"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestLimits: the confidence limits in ndjson are those of csv with --limits, they
// enclose the percentile, and where there is none it is null and an empty field.
func TestLimits(t *testing.T) {
	t.Parallel()
	args := []string{"percentiles", "--percentiles", "50,99.99", "--interval", "5s", real + "/gaps"}
	code, stdout, stderr := fiolat(t, nil, append(args, "--format", "ndjson")...)
	if code != exitOK {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	type limits struct{ Lower, Upper *float64 }
	var rows []struct {
		Percentiles map[string]float64
		CI          map[string]limits
	}
	if err := json.Unmarshal([]byte("["+strings.ReplaceAll(strings.TrimSpace(stdout), "\n", ",")+"]"),
		&rows); err != nil {
		t.Fatal(err)
	}
	_, stdout, _ = fiolat(t, nil, append(args, "--format", "csv", "--unit", "ns", "--limits")...)
	table, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	if err != nil || len(table) != len(rows)+1 {
		t.Fatalf("%d lines of csv for %d rows, %v", len(table), len(rows), err)
	}
	column := map[string]int{}
	for i, name := range table[0] {
		column[name] = i
	}
	plain := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'f', -1, 64)
	}
	missing := 0
	for n, row := range rows[:3] { // the fourth is a few thousandths of an I/O
		if l := row.CI["50"]; l.Lower == nil || l.Upper == nil || *l.Lower > row.Percentiles["50"] ||
			*l.Upper < row.Percentiles["50"] {
			t.Errorf("row %d: the limits of p50 do not enclose it: %+v", n, row)
		}
		for p, l := range row.CI {
			if got, want := table[n+1][column["p"+p+"_lower_ns"]]+"|"+table[n+1][column["p"+p+"_upper_ns"]],
				plain(l.Lower)+"|"+plain(l.Upper); got != want {
				t.Errorf("row %d: p%s has the limits %s in csv, %s in ndjson", n, p, got, want)
			}
		}
		if row.CI["99.99"].Upper == nil {
			missing++
		}
	}
	if missing != 3 {
		t.Errorf("%d of 3 intervals of 400 I/Os have no upper limit of p99.99, want all", missing)
	}
	if _, stdout, _ = fiolat(t, nil, append(args, "--limits")...); !strings.Contains(stdout,
		" p50_ns  p50_lower_ns  p50_upper_ns ") {
		t.Errorf("no limits in the table:\n%s", stdout)
	}
	if _, stdout, _ = fiolat(t, nil, append(args, "--format", "csv")...); strings.Contains(stdout, "lower") {
		t.Error("limits in csv without --limits")
	}
}

// TestWholeLimits: the limits of a whole run, and of its hosts or jobs, are wider than those of independent I/Os, which
// one long interval has; they are said to be what they are.
func TestWholeLimits(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"randrw", "cluster"} {
		widths := func(interval, said string) (widths []float64) {
			args := []string{"percentiles", "--percentiles", "99", "--interval", interval, "--by", "host,job,direction",
				"--limits", "--format", "ndjson", real + "/" + folder}
			code, stdout, stderr := fiolat(t, nil, args...)
			if code != exitOK || !strings.Contains(stderr, said) {
				t.Fatalf("exit %d\n%s\nwant %q", code, stderr, said)
			}
			for line := range strings.Lines(stdout) {
				var row struct {
					CI map[string]struct{ Lower, Upper *float64 }
				}
				if err := json.Unmarshal([]byte(line), &row); err != nil {
					t.Fatal(err)
				}
				width := math.Inf(1)
				if l := row.CI["99"]; l.Lower != nil && l.Upper != nil {
					width = *l.Upper - *l.Lower
				}
				widths = append(widths, width)
			}
			return widths
		}
		independent := widths("1h", "limits: 95 % sampling limits of independent I/Os")
		whole := widths("run", "limits: 95 % confidence, bursts of slow I/Os included")
		wider := 0
		for i := range min(len(independent), len(whole)) {
			switch {
			case whole[i] < independent[i]:
				t.Errorf("%s, row %d: limits %v ns apart, those of independent I/Os %v", folder, i, whole[i],
					independent[i])
			case whole[i] > independent[i]:
				wider++
			}
		}
		if len(whole) != len(independent) || wider < len(whole)/2 {
			t.Errorf("%s: wider in %d of %d rows, of %d in one interval", folder, wider, len(whole), len(independent))
		}
	}
}

// TestAutoInterval: the interval chosen makes the documents that it makes when it is
// given, and the run says why it was chosen.
func TestAutoInterval(t *testing.T) {
	t.Parallel()
	ingest := func(interval string) (stderr, run string, others map[string]string) {
		dir := t.TempDir()
		code, _, stderr := fiolat(t, nil, "ingest", "--percentiles", "50", "--interval", interval, "--output", dir,
			real+"/randrw")
		if code != exitOK {
			t.Fatalf("exit %d\n%s", code, stderr)
		}
		files, err := filepath.Glob(dir + "/*.ndjson")
		if err != nil {
			t.Fatal(err)
		}
		others = map[string]string{}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if name := filepath.Base(f); strings.HasPrefix(name, "fio-run.") {
				run = string(b)
			} else {
				others[name] = string(b)
			}
		}
		return stderr, run, others
	}
	stderr, run, chosen := ingest("auto")
	_, _, given := ingest("10s")
	if len(given) != 2 || !maps.Equal(chosen, given) {
		t.Errorf("%d files with the interval chosen, %d others with it given", len(chosen), len(given))
	}
	const reason = "p50 is known to within 10 % of itself in"
	if !strings.Contains(stderr, "interval   10s chosen: "+reason) || !strings.Contains(run,
		`"interval":{"ms":10000,"percentile":50,"accuracy":0.1,"met":true,"reason":"`+reason) {
		t.Errorf("what was chosen, and why, is not said:\n%s\n%s", stderr, run)
	}
}
