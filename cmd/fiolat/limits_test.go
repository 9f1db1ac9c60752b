package main

import (
	"encoding/csv"
	"encoding/json"
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
	if err := json.Unmarshal([]byte("["+strings.ReplaceAll(strings.TrimSpace(stdout), "\n", ",")+"]"), &rows); err != nil {
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
		if l := row.CI["50"]; l.Lower == nil || l.Upper == nil || *l.Lower > row.Percentiles["50"] || *l.Upper < row.Percentiles["50"] {
			t.Errorf("row %d: the limits of p50 do not enclose it: %+v", n, row)
		}
		for p, l := range row.CI {
			if got, want := table[n+1][column["p"+p+"_lower_ns"]]+"|"+table[n+1][column["p"+p+"_upper_ns"]], plain(l.Lower)+"|"+plain(l.Upper); got != want {
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
	if _, stdout, _ = fiolat(t, nil, append(args, "--limits")...); !strings.Contains(stdout, " p50_us  p50_lower_us  p50_upper_us ") {
		t.Errorf("no limits in the table:\n%s", stdout)
	}
	if _, stdout, _ = fiolat(t, nil, append(args, "--format", "csv")...); strings.Contains(stdout, "lower") {
		t.Error("limits in csv without --limits")
	}
}
