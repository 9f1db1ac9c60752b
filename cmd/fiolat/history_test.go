package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/analysis/history"
	"fiolat/esmodel/esmodeltest"
	esstored "fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/testkit"
	"fiolat/internal/testlog"
	"fiolat/internal/ui"
)

// nights are ten made-up runs, of which the last two are slow.
func nights(t *testing.T) []string {
	t.Helper()
	dirs, err := writeNights(t.TempDir(), 8, 2)
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// writeNights makes runs of 15 s, a folder each, the last of them slower by a fifth.
func writeNights(root string, usual, slow int) (dirs []string, err error) {
	for i := range usual + slow {
		median := 100e3 * math.Exp(0.01*rand.New(rand.NewPCG(uint64(i), 3)).NormFloat64())
		if i >= usual {
			median *= 1.2
		}
		dir := filepath.Join(root, fmt.Sprintf("night-%02d", i+1))
		log := testlog.Config{Seed: uint64(i), Dirs: []fio.Direction{fio.Read}, Duration: 15 * time.Second,
			Rate: 600, Latency: testlog.LogNormal(time.Duration(median), 0.3)}.Log()
		if err = os.Mkdir(dir, 0o700); err == nil {
			err = os.WriteFile(filepath.Join(dir, "a_clat_hist.1.log"), log, 0o600)
		}
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

type changed struct {
	Series, Metric string
	Runs           []struct {
		ID         string
		Start      *string
		Value      *float64
		fio.Limits `json:"ci"`
	}
	Changes []struct {
		Run                      string
		Index                    int
		Before, After, Change, P float64
		history.Range            `json:"ci"`
	}
}

// historyJSON are the objects that history prints, by metric.
func historyJSON(t *testing.T, args ...string) (out map[string]changed, text string) {
	t.Helper()
	code, stdout, stderr := fiolat(t, nil, append([]string{"history", "--format", "json"}, args...)...)
	if code != exitOK {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	out = map[string]changed{}
	for line := range strings.Lines(stdout) {
		var c changed
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out[c.Metric] = c
	}
	return out, stdout
}

// A history is the same from Elasticsearch, from documents and from logs, and its changes are stored as long as they
// hold. The script history_nightly has the gate of every night.
func TestHistory(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{})
	es := []string{"--es", s.URL}
	docs := filepath.Join(t.TempDir(), "docs")
	dirs, err := writeNights(t.TempDir(), 16, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, dir := range dirs {
		ingest := []string{"ingest", "--start", fmt.Sprintf("2026-01-%02dT02:00:00Z", i+1), "--label", "series=nightly",
			"--interval", "1s", "--run-name", filepath.Base(dir)}
		must(t, append(append(ingest, es...), dir)...)
		must(t, append(ingest, "--output", docs, dir)...)
	}

	before := len(s.Requests(""))
	stored, text := historyJSON(t, append([]string{"--label", "series=nightly"}, es...)...)
	if n := len(s.Requests("")) - before; n > 5 { // the server's version, a search of one page with its start and end
		t.Errorf("%d requests for a history of 19 runs: %q", n, s.Requests("")[before:])
	}
	p50 := stored["read p50"]
	if len(stored) != 5 || len(p50.Runs) != 19 || len(p50.Changes) != 1 || p50.Changes[0].Index != 16 ||
		p50.Changes[0].Run != p50.Runs[16].ID || math.Abs(p50.Changes[0].Change-0.2) > 0.03 {
		t.Fatalf("%+v", stored)
	}
	for _, r := range p50.Runs {
		if r.Value == nil || r.Low == nil || !(*r.Low < *r.Value && *r.Value < *r.High) ||
			!strings.HasPrefix(*r.Start, "2026-01-") {
			line, _ := json.Marshal(r)
			t.Errorf("%s", line)
		}
	}

	// The same from documents and from logs, but for what only who stores them knows.
	_, inDocs := historyJSON(t, docs)
	if inDocs != strings.ReplaceAll(text, "series=nightly, ", "") {
		t.Errorf("from documents\n%s\nfrom Elasticsearch\n%s", inDocs, text)
	}
	logs, _ := historyJSON(t, append([]string{"--interval", "1s"}, dirs...)...)
	for metric, c := range logs {
		want := stored[metric]
		if fmt.Sprint(c.Changes) != fmt.Sprint(want.Changes) {
			t.Errorf("%s from logs: %+v, want %+v", metric, c.Changes, want.Changes)
		}
		for i, r := range c.Runs {
			if w := want.Runs[i]; r.Start != nil || math.Abs(*r.Value-*w.Value) > 0.001 ||
				(r.Low == nil) != (w.Low == nil) ||
				r.Low != nil && (*r.Low != *w.Low || *r.High != *w.High) {
				t.Errorf("%s from logs: run %d: %+v, want %+v", metric, i, r, w)
			}
		}
	}

	// Stored once, and again as long as it holds.
	store := append([]string{"history", "--label", "series=nightly", "--store"}, es...)
	events := func() (found []string) {
		for _, d := range s.Docs("fio-event-*") {
			found = append(found, fmt.Sprintf("%s %d %s", d.ID, d.Writes, d.Source))
		}
		slices.Sort(found)
		return found
	}
	must(t, store...)
	first := events()
	must(t, store...)
	if again := events(); len(first) == 0 || !slices.Equal(again, first) {
		t.Errorf("stored\n%s\nand again\n%s", strings.Join(first, "\n"), strings.Join(again, "\n"))
	}
	must(t, append([]string{"history", "--label", "series=nightly", "--store", "--last", "4"}, es...)...)
	must(t, append([]string{"history", "--label", "series=nightly", "--store", "--until", "2026-01-17"}, es...)...)
	if left := events(); len(left) != 0 {
		t.Errorf("of nights without a change:\n%s", strings.Join(left, "\n"))
	}

	page := filepath.Join(t.TempDir(), "history.html")
	must(t, append([]string{"annotate", "--at", "+3s", p50.Runs[4].ID, "<b>osd.12 down</b>"}, es...)...)
	must(t, append([]string{"history", "--label", "series=nightly", "-o", page}, es...)...)
	html, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(html), "&lt;b&gt;osd.12 down&lt;/b&gt;") ||
		strings.Contains(string(html), "<b>osd") || strings.Contains(string(html), ` src="`) {
		t.Errorf("%v: the page has no note, or loads something", err)
	}
}

// A run that an older fiolat stored has no histogram of the whole run: it is read from its intervals.
func TestHistory_OlderDocuments(t *testing.T) {
	t.Parallel()
	docs := filepath.Join(t.TempDir(), "docs")
	must(t, "ingest", "--start", "2026-01-01T00:00:00Z", "--output", docs, nights(t)[0])
	_, want := historyJSON(t, docs)
	files, err := filepath.Glob(filepath.Join(docs, "*-run.*.ndjson"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	action, source, _ := strings.Cut(string(data), "\n")
	var doc map[string]any
	if err = json.Unmarshal([]byte(source), &doc); err != nil || doc["whole"] == nil {
		t.Fatalf("%v: %s", err, source)
	}
	delete(doc, "whole")
	older, _ := json.Marshal(doc)
	if err = os.WriteFile(files[0], []byte(action+"\n"+string(older)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, got := historyJSON(t, docs)
	for i, line := range strings.Split(strings.TrimSpace(got), "\n") {
		var a, b map[string]any
		if err = json.Unmarshal([]byte(line), &a); err == nil {
			err = json.Unmarshal([]byte(strings.Split(want, "\n")[i]), &b)
		}
		if d := near("", a, b); d != "" || err != nil {
			t.Error(d, err)
		}
	}
}

func TestHistory_Usage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"nothing":         {nil, "name runs, or pass --es URL"},
		"metric":          {[]string{"--metric", "read best", "x"}, `"read best"`},
		"store of paths":  {[]string{"--store", "--es", "http://localhost:1", "x"}, "--store"},
		"store nowhere":   {[]string{"--store", "x"}, "--store"},
		"filter of paths": {[]string{"--label", "a=b", "x"}, "--label"},
		"last":            {[]string{"--last", "0", "x"}, "--last 0"},
		"changed":         {[]string{"--fail-if-changed", "-1", "x"}, "--fail-if-changed -1"},
		"least change":    {[]string{"--min-change", "x%", "x"}, "--min-change x%"},
		"state alone":     {[]string{"--state", "x", "x"}, "--state is for --fail-if-changed"},
		"format":          {[]string{"--format", "xml", "x"}, `--format "xml"`},
	} {
		code, _, stderr := fiolat(t, nil, append([]string{"history"}, tt.args...)...)
		if code != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit %d, want %d and %q in\n%s", name, code, exitUsage, tt.want, stderr)
		}
	}
	dir := nights(t)[0]
	refused(t, exitUsage, []string{"the same run"}, "history", dir, dir)
	refused(t, exitUsage, []string{"no run has such I/O"}, "history", "--metric", "trim p99", dir)
	refused(t, exitInput, []string{"no such file or directory", "pass --es URL"}, "history", "no-such-run")
}

// The document of a run that was followed live holds the whole run as fio's last status document counts it.
func TestHistoryOfLive(t *testing.T) {
	t.Parallel()
	docs := filepath.Join(t.TempDir(), "docs")
	must(t, "live", "--interval", "1s", "--output", docs, filepath.Join(real, "live", "fio-status.json"))
	figures, err := esstored.DirFigures(docs, "", fio.Clat)
	if err != nil || len(figures) != 1 {
		t.Fatalf("%d runs, %v", len(figures), err)
	}
	for direction, want := range map[string]float64{"read": 36001, "write": 36000, "all": 72001} { // clat_ns.N
		w := figures[0].Histograms[direction]
		if w == nil {
			t.Fatalf("no histogram of %s", direction)
		}
		h, _, bad := w.Hist(figures[0].Geometry)
		if bad != nil || h.Sum() != want {
			t.Errorf("%s: %v I/Os, want %v; %v", direction, h, want, bad)
		}
		for _, name := range []string{"p50", "p99", "p99_9", "mean", "iops"} {
			if l, ok := w.Limits[name]; !ok || !(0 < l.Low && l.Low < l.High) {
				t.Errorf("%s: limits of %s are %+v", direction, name, l)
			}
		}
	}
	metrics, _ := historyJSON(t, docs)
	if p := metrics["read p99"].Runs[0]; !(*p.Low < *p.Value && *p.Value < *p.High) {
		t.Errorf("read p99: %v to %v around %v", *p.Low, *p.High, *p.Value)
	}
}

// TestStateIsLocked: another command at work on a state is waited for.
func TestStateIsLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	lock, err := lockState(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lockState(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("it has the lock, too: %v", err)
	}
}

// TestNewSeries: each change of an option that ends a series is told by itself, with its values.
func TestNewSeries(t *testing.T) {
	t.Parallel()
	_, _, stderr := fiolat(t, nil, "history", "--fail-if-changed", "3", "../../testdata/figures-cases/history-of-mixes")
	for _, want := range []string{"rw65_bs4k.json.gz: rwmixread 100 -> 65\n", "rw0_bs4k.json.gz: rwmixread 65 -> 0\n"} {
		if strings.Count(stderr, want) != 1 {
			t.Errorf("want %q once:\n%s", want, stderr)
		}
	}
}

// TestGateOfANewSeries: of a series that nothing is remembered of, only what the latest runs brought is new.
func TestGateOfANewSeries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		latest int // runs that --fail-if-changed calls the latest
		fails  bool
	}{{"a change of long ago", 1, false}, {"a change among the latest", 5, true}} {
		s := history.Series{Name: "s"}
		for i := range 40 {
			iops := 100 * (1 + 0.01*math.Sin(float64(i)*2.399))
			if i >= 36 {
				iops *= 0.7
			}
			h := new(fiohist.Hist)
			h.Add(100, 1)
			s.Runs = append(s.Runs, history.Run{ID: fmt.Sprint(i), Start: time.Unix(int64(i)*86400, 0),
				Directions: map[string]*history.Direction{"read": {Geometry: fiohist.Fio3, Hist: h, IOPS: iops}}})
		}
		var out bytes.Buffer
		u := ui.New(nil, io.Discard, &out)
		r := newHistoryReader(&historyOptions{failIfChanged: tt.latest, minChange: 0.05,
			metrics: []fio.Metric{{Name: "iops"}}, state: filepath.Join(t.TempDir(), "state.json")}, u)
		r.gated = [][]history.Result{history.Gate(&s, r.metrics, r.minChange)}
		if n := len(r.gated[0][0].Changes); n != 1 {
			t.Fatalf("%s: %d changes, want that of run 36", tt.name, n)
		}
		err := r.judge(t.Context(), []history.Series{s}, u)
		if errors.Is(err, errChanged) != tt.fails || strings.Contains(out.String(), "changed: ") != tt.fails ||
			!tt.fails && err != nil {
			t.Errorf("%s: %v, %s", tt.name, err, out.String())
		}
		if err = r.judge(t.Context(), []history.Series{s}, u); err != nil {
			t.Errorf("%s: told again: %v", tt.name, err)
		}
	}
}
