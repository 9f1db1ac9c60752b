package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fiolat/analysis/diagnose"
	"fiolat/esmodel/esmodeltest"
	"fiolat/report/charts"
)

// TestFindingColors: Kibana's panel has a colour for what findings are about.
func TestFindingColors(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, run := range []string{"testdata/straggler", real + "/slow",
		"../../analysis/diagnose/testdata/three-stopped"} {
		var got diagnose.Diagnosis
		stdout, _ := succeed(t, "diagnose", "--format", "json", run)
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatal(err)
		}
		for _, f := range slices.Concat(got.Findings, got.More) {
			if seen[f.About] = true; charts.FindingColor(f.About) == "" {
				t.Errorf("%s: no colour of %q", run, f.About)
			}
		}
	}
	if len(seen) < 4 {
		t.Errorf("only findings about %v", seen)
	}
}

// TestDiagnoseNotes: what was noted shortly before a finding stands beside it, and what was noted later does not.
func TestDiagnoseNotes(t *testing.T) {
	t.Parallel()
	es := []string{"--es", esmodeltest.New(t, esmodeltest.Options{Histogram: true}).URL}
	must(t, append([]string{"ingest", "--run-id", "r", "--start", "2026-01-01T00:00:00Z",
		"../../analysis/diagnose/testdata/three-stopped"}, es...)...)
	for at, text := range map[string]string{"-24s": "osd.12 down", "+9500ms": "link lost", "+12s": "link back",
		"-56s": "long before"} {
		must(t, append([]string{"annotate", "--at=" + at, "r", text}, es...)...)
	}
	var got diagnose.Diagnosis
	stdout, _ := succeed(t, append([]string{"diagnose", "--format", "json", "r"}, es...)...)
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	const words = "noted at -0:24: osd.12 down; noted at 0:09.500: link lost"
	said := strings.Join(got.Sentences(diagnose.MostShown), "\n")
	page := filepath.Join(t.TempDir(), "page.html")
	must(t, append([]string{"report", "-o", page, "r"}, es...)...)
	html, err := os.ReadFile(page)
	if !strings.Contains(said, words) || err != nil || !strings.Contains(string(html), words) {
		t.Errorf("no words %q, or not on the page (%v):\n%s", words, err, said)
	}
}
