package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fiolat/esmodel/esmodeltest"
	"fiolat/internal/diagnose"
	"fiolat/internal/vegaspec"
)

// TestFindingColors: Kibana's panel has a colour for what findings are about.
func TestFindingColors(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, run := range []string{"testdata/straggler", real + "/slow",
		"../../pipeline/plan/testdata/cases/09-tail-smeared"} {
		var got diagnose.Diagnosis
		stdout, _ := succeed(t, "diagnose", "--format", "json", run)
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatal(err)
		}
		for _, f := range got.Findings {
			if seen[f.About] = true; vegaspec.FindingColor(f.About) == "" {
				t.Errorf("%s: no colour of %q", run, f.About)
			}
		}
	}
	if len(seen) < 4 {
		t.Errorf("only findings about %v", seen)
	}
}

// TestDiagnoseNotes: what was noted shortly before an incident stands beside it, and what was noted later does not.
func TestDiagnoseNotes(t *testing.T) {
	t.Parallel()
	es := []string{"--es", esmodeltest.New(t, esmodeltest.Options{Histogram: true}).URL}
	must(t, append([]string{"ingest", "--run-id", "r", "../../pipeline/plan/testdata/cases/09-tail-smeared"}, es...)...)
	for at, text := range map[string]string{"-24s": "osd.12 down", "+5500ms": "link lost", "+12s": "link back",
		"-56s": "long before"} {
		must(t, append([]string{"annotate", "--at=" + at, "r", text}, es...)...)
	}
	var got diagnose.Diagnosis
	stdout, _ := succeed(t, append([]string{"diagnose", "--format", "json", "r"}, es...)...)
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	want := []diagnose.Note{{AtMS: -24000, Text: "osd.12 down"}, {AtMS: 5500, Text: "link lost"}}
	incidents := 0
	for _, s := range got.Segments {
		if s.Kind == diagnose.Incident {
			incidents++
			if s.FromMS != 5000 || !slices.Equal(s.Notes, want) {
				t.Errorf("the incident from %d ms has the notes %v, want %v", s.FromMS, s.Notes, want)
			}
		}
	}
	const words = "noted at -0:24: osd.12 down; noted at 0:05.500: link lost"
	said := strings.Join(got.Sentences(), "\n")
	page := filepath.Join(t.TempDir(), "page.html")
	must(t, append([]string{"report", "-o", page, "r"}, es...)...)
	html, err := os.ReadFile(page)
	if incidents == 0 || !strings.Contains(said, words) || err != nil || !strings.Contains(string(html), words) {
		t.Errorf("%d incidents; no words %q, or not on the page (%v):\n%s", incidents, words, err, said)
	}
}
