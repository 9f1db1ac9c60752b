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
	server := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	es := []string{"--es", server.URL}
	ingest := append([]string{"ingest", "--run-id", "r", "--start", "2026-01-01T00:00:00Z",
		"../../analysis/diagnose/testdata/three-stopped"}, es...)
	must(t, ingest...)
	for at, text := range map[string]string{"-24s": "osd.12 down", "+9500ms": "link lost", "+12s": "link back",
		"-56s": "long before"} {
		must(t, append([]string{"annotate", "--at=" + at, "r", text}, es...)...)
	}
	var got diagnose.Diagnosis
	stdout, _ := succeed(t, append([]string{"diagnose", "--format", "json", "r"}, es...)...)
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	const words = "noted at -0:24: osd.12 down; noted at 0:09.5: link lost"
	said := strings.Join(got.Sentences(diagnose.MostShown), "\n")
	page := filepath.Join(t.TempDir(), "page.html")
	must(t, append([]string{"report", "-o", page, "r"}, es...)...)
	html, err := os.ReadFile(page)
	if !strings.Contains(said, words) || err != nil || !strings.Contains(string(html), words) {
		t.Errorf("no words %q, or not on the page (%v):\n%s", words, err, said)
	}

	// An ingest under another name gives it to the notes, too.
	must(t, append(ingest, "--run-name", "rack 7")...)
	notes := 0
	for _, doc := range server.Docs("fio-event-*") {
		if text := string(doc.Source); strings.Contains(text, `"note"`) {
			if notes++; !strings.Contains(text, `"name":"rack 7"`) || !strings.Contains(text, "00:00 rack 7 ") {
				t.Errorf("an old name in %s", text)
			}
		}
	}
	if notes != 4 {
		t.Errorf("%d notes, want 4", notes)
	}
}
