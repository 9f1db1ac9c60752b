package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/analysis/diagnose"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/esmodeltest"
	"fiolat/fio"
	"fiolat/fio/sla"
	"fiolat/ingest/fiojson"
	"fiolat/internal/runsource"
	"fiolat/internal/testkit"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

// TestTwoGlobs: what a shell makes of two patterns is refused with the numbers of runs that are there.
func TestTwoGlobs(t *testing.T) {
	for want, runs := range map[string][]string{
		"3 and 2 runs":    {"a-1", "a-2", "a-3", "b-1", "b-2"},
		"2 and 4 runs of": {"a-1", "a-2", "b-1", "b-2", "b-3", "b-4"},
		"before=a-*":      {"a-1", "a-2", "b-1", "b-2"},
		"after=b-1-*":     {"a-1-1", "a-1-2", "b-1-1", "b-1-2"},
	} {
		if err := twoGlobs(runs); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "'", ""), want) {
			t.Errorf("%q: %v, want %q", runs, err, want)
		}
	}
	if err := twoGlobs([]string{"a-1", "a-2", "b-1"}); err != nil {
		t.Error(err)
	}
}

// TestRulesOnce: a rule that is given twice is one, however it is spelled.
func TestRulesOnce(t *testing.T) {
	for _, tt := range []struct{ given, want []string }{
		{[]string{"read p99 < 5ms", "iops > 10", "READ p99<5 ms"}, []string{"read p99 < 5ms", "all iops > 10"}},
		{[]string{"read p99 < 5ms", "read p99 < 6ms"}, []string{"read p99 < 5ms", "read p99 < 6ms"}},
		{nil, nil},
	} {
		o := logOptions{sla: *cli.NewStringSlice(tt.given...)}
		rules, err := o.rules()
		var got []string
		for _, r := range rules {
			got = append(got, r.Text)
		}
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, %v, want %q", tt.given, got, err, tt.want)
		}
	}
}

// TestReadOffsets: a file of offsets has a line HOST DURATION for each host; what is none names its line.
func TestReadOffsets(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"a 5s\n# b 7s\n\n  c   -1m  \n", "map[a:5s c:-1m0s]"},
		{"a 5s\nb\n", ":2: want HOST DURATION"},
		{"a 5s 6s\n", ":1: want HOST DURATION"},
		{"a 5s\n\nb five\n", ":3:"},
	} {
		file := filepath.Join(t.TempDir(), "offsets")
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		to := map[string]time.Duration{}
		var got string
		if err := readOffsets(file, to); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(to)
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%q: %s, want %s", tt.text, got, tt.want)
		}
	}
}

// TestKindsOfMixed: with unified_rw_reporting=mixed fio counts all directions as its reads.
func TestKindsOfMixed(t *testing.T) {
	for mixed, want := range map[bool]string{false: "read", true: fio.All} {
		m := &fiojson.Document{Mixed: mixed, Entries: make([]fiojson.Entry, 1)}
		m.Entries[0].Dirs[0].Kind[fio.Clat].N = 7
		if got := kindsOf(m); len(got) != 1 || got[0].Direction != want || got[0].IOs != 7 {
			t.Errorf("mixed %v: %+v, want %s", mixed, got, want)
		}
	}
}

// TestFlagByPart: of a flag whose first part means nothing the others are looked at.
func TestFlagByPart(t *testing.T) {
	app := newApp(&ui.UI{})
	cmd := app.Command("percentiles")
	for name, want := range map[string]string{"per-disk": "--by", "qqq-per": "--by", "max_per": "--by", "qqq": "",
		"max": ""} {
		if got := flagByPart(app, cmd, name); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("--%s: %q, want %q", name, got, want)
		}
	}
}

// TestViewState: only what is not met is named, each once.
func TestViewState(t *testing.T) {
	rules, err := fio.ParseSLARules([]string{"read p99 < 5ms", "iops > 10"})
	if err != nil {
		t.Fatal(err)
	}
	v := &liveView{run: &pipeline.Run{}}
	v.run.Settings.SLA = rules
	verdict := func(rule int, status sla.Status, stalled bool) sla.Verdict {
		return sla.Verdict{Rule: &rules[rule], Status: status, Stalled: stalled}
	}
	for _, tt := range []struct {
		verdicts []sla.Verdict
		want     string
	}{
		{nil, "  SLA ok"},
		{[]sla.Verdict{verdict(0, sla.OK, false), verdict(1, sla.OK, false)}, "  SLA ok"},
		{[]sla.Verdict{verdict(0, sla.OK, false), verdict(1, sla.Broken, false)}, "  SLA all iops > 10 broken"},
		{[]sla.Verdict{verdict(0, sla.Broken, true), verdict(0, sla.Broken, true), verdict(1, sla.Unknown, false)},
			"  SLA read p99 < 5ms broken, stalled; all iops > 10 unknown"},
	} {
		got := v.state(&pipeline.Interval{Rows: []pipeline.Row{{SLA: tt.verdicts}}})
		if got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.verdicts, got, tt.want)
		}
	}
}

// TestFlagHelp: a default is shown, unless it is none or the text has it.
func TestFlagHelp(t *testing.T) {
	for _, tt := range []struct {
		flag cli.Flag
		want [2]string
	}{
		{&cli.IntFlag{Name: "n", Usage: "up to `N` times", Value: 7}, [2]string{"-n N", "up to N times (default: 7)"}},
		{&cli.IntFlag{Name: "n", Usage: "up to `N` times"}, [2]string{"-n N", "up to N times"}},
		{&cli.IntFlag{Name: "n", Usage: "up to `N` times (default: many)", Value: 7},
			[2]string{"-n N", "up to N times (default: many)"}},
		{&cli.DurationFlag{Name: "age", Usage: "delete after `AGE`"}, [2]string{"--age AGE", "delete after AGE"}},
		{&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "all"}, [2]string{"--all, -a", "all"}},
		{&cli.GenericFlag{Name: "from", Value: oneOf(new(string), "from", "epoch", "start"), Usage: "the `epoch`"},
			[2]string{"--from epoch|start", "the epoch (default: epoch)"}}, // one of its words stands for all
		{&cli.GenericFlag{Name: "from", Value: oneOf(new(string), "from", "epoch", "start"), Usage: "the `TIME`"},
			[2]string{"--from TIME", "the TIME (default: epoch)"}},
	} {
		if err := tt.flag.Apply(flag.NewFlagSet("", flag.ContinueOnError)); err != nil {
			t.Fatal(err)
		}
		if got := flagHelp(tt.flag); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestPageHasStalls: those of the diagnosis are on the page.
func TestPageHasStalls(t *testing.T) {
	p := &pageFile{}
	if got := p.stalls(); got != nil {
		t.Error(got)
	}
	p.Diagnosis = &diagnose.Full{Diagnosis: &diagnose.Diagnosis{Stalls: []diagnose.Stall{
		{Stall: pipeline.Stall{SinceMS: 1}}, {Stall: pipeline.Stall{SinceMS: 2}}}}}
	if got := p.stalls(); len(got) != 2 || got[0].SinceMS != 1 || got[1].SinceMS != 2 {
		t.Errorf("%+v", got)
	}
}

// TestProbeOfStalledServer: for a while after a server took no document, those of the probe go into the spool.
func TestProbeOfStalledServer(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	es := runsource.Elasticsearch{}
	es.Addresses = []string{s.URL}
	var said bytes.Buffer
	u := &ui.UI{Stdout: &said, Stderr: &said}
	c, err := es.Connect(u)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	dir := t.TempDir()
	run := esmodeltest.Run()
	bulk, err := delivery.NewBulkWriter(c, delivery.BulkConfig{SpoolDir: dir})
	if err == nil {
		err = bulk.Open(t.Context(), run)
	}
	if err != nil {
		t.Fatal(err)
	}
	d := &probeDocs{u: u, bulk: bulk, stalled: time.Now().Add(time.Hour)}
	d.add("fio-probe-2026.11", "one", []byte(`{"n":1}`))
	d.add("fio-probe-2026.11", "two", []byte(`{"n":2}`))
	if err := bulk.Close(t.Context(), false); err != nil {
		t.Error(err)
	}
	if d.made != 2 || d.spooled != 2 || d.failed != 0 {
		t.Errorf("%d made, %d spooled, %d failed", d.made, d.spooled, d.failed)
	}
	files, err := filepath.Glob(dir + "/*")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if b, err := os.ReadFile(files[0]); err != nil || bytes.Count(b, []byte(`{"n":`)) != 2 {
		t.Errorf("%s, %v", b, err)
	}
}

// TestViewSpark: the sparkline is of the highest percentile up to 99, or else of the first.
func TestViewSpark(t *testing.T) {
	for _, tt := range []struct {
		percentiles []float64
		want        float64
	}{
		{[]float64{50, 99, 99.9}, 99},
		{[]float64{99.9, 50, 95}, 95},
		{[]float64{99.99, 99.9}, 99.99},
		{[]float64{50}, 50},
	} {
		v := newLiveView(&ui.UI{Stderr: new(bytes.Buffer)})
		err := v.Begin(t.Context(), &pipeline.Run{ID: "r", Interval: 1e9, Percentiles: tt.percentiles})
		if got := tt.percentiles[v.spark]; err != nil || got != tt.want {
			t.Errorf("%v: %v, want %v: %v", tt.percentiles, got, tt.want, err)
		}
	}
}

// TestNoteOutside: a note of a time at which the run did not run is stored, and warned of.
func TestNoteOutside(t *testing.T) {
	testkit.NotRaced(t)
	s := esmodeltest.New(t, esmodeltest.Options{})
	must(t, "ingest", "--es", s.URL, "--run-id", "r", "--start", "2026-02-10T00:00:00Z", "--interval", "5s",
		real+"/exact") // about 12 s
	for at, outside := range map[string]bool{"+5s": false, "+10m": true, "-10m": true, "2026-02-10T00:00:03Z": false,
		"2026-02-09T23:59:00Z": true} {
		code, _, stderr := fiolat(t, nil, "annotate", "--at="+at, "--es", s.URL, "r", "text "+at)
		if code != exitOK || strings.Contains(stderr, "not within the run") != outside {
			t.Errorf("%s: exit %d\n%s", at, code, stderr)
		}
	}
}
