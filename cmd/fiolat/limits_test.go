package main

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWholeLimits: the limits of a whole run, and of its hosts or jobs, are wider than those of independent I/Os, which
// one long interval has.
func TestWholeLimits(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"randrw", "cluster"} {
		widths := func(interval string) (widths []float64) {
			args := []string{"percentiles", "--percentiles", "99", "--interval", interval, "--by", "host,job,direction",
				"--format", "ndjson", real + "/" + folder}
			code, stdout, stderr := fiolat(t, nil, args...)
			if code != exitOK {
				t.Fatalf("exit %d\n%s", code, stderr)
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
		independent := widths("1h")
		whole := widths("run")
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
	if len(given) != 3 || !maps.Equal(chosen, given) {
		t.Errorf("%d files with the interval chosen, %d others with it given", len(chosen), len(given))
	}
	const reason = "p50 is known to within 10 % of itself in"
	if !strings.Contains(stderr, "interval   10s chosen: "+reason) || !strings.Contains(run,
		`"interval":{"ms":10000,"percentile":50,"accuracy":0.1,"met":true,"reason":"`+reason) {
		t.Errorf("what was chosen, and why, is not said:\n%s\n%s", stderr, run)
	}
}
