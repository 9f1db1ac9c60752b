//go:build integration

package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/kibana/kibanatest"
)

// TestServerNoDataIsSeen draws every panel of a server without any index, and looks for the words "no data" in the
// pixels: a text that is in the scene may still not be on the canvas. Legends and axes that need no data are complete.
func TestServerNoDataIsSeen(t *testing.T) {
	space := parse(t, write(t, "fio")).space
	p := browse(t, nil)
	for _, version := range vegaVersions {
		for _, d := range space.Of(typeDashboard) {
			for _, panel := range space.Panels(d) {
				if kibanatest.Spec(panel.Object) == nil {
					continue
				}
				v, err := kibanatest.Vega(panel.Object, space.Open(d, time.Unix(0, 0), time.Unix(3600, 0)))
				if err == nil {
					answers := make([]m, len(v.Requests))
					for i := range answers {
						answers[i] = m{"timed_out": false, "hits": m{"hits": []any{}}}
					}
					err = v.Draw(answers)
				}
				if err != nil {
					t.Fatal(err)
				}
				p.show(t, version, panel.Object, v.Spec)
				legend, title := evaluate[[]string](t, p, "legend()"), evaluate[[]string](t, p, "axisTitles()")
				switch {
				case strings.Contains(panel.Object.ID, "-tail-"):
					if !slices.Equal(legend, []string{"", "0.77", "1.3", "2", "4", "8"}) {
						t.Errorf("Vega %s, %s: the legend says %q", version, panel.Object.ID, legend)
					}
				case panel.Object.ID == "curve-points":
					if len(title) != 2 || slices.Contains(title, "") {
						t.Errorf("Vega %s, %s: axes have the titles %q", version, panel.Object.ID, title)
					}
				}
				// The words have at least 20 pixels of exactly this colour, which nothing else has.
				if n := evaluate[int](t, p, "pixels([0x7b, 0x87, 0x98])"); n < 15 {
					t.Errorf("Vega %s, %s: %d pixels of \"no data\"", version, panel.Object.ID, n)
				}
			}
		}
	}
}

// TestServerFirstDay opens every panel before there is a run, and while one kind of documents or another is missing:
// charts draw "no data" in words, and tables have no results, without an error, whether there is an empty index or
// none.
func TestServerFirstDay(t *testing.T) {
	s := connect(t)
	s.command(t, "setup", "--index-prefix", s.prefix)
	s.to = time.Now()
	s.from = s.to.Add(-time.Hour)
	p := browse(t, s)
	space := s.bundle.space

	// Each panel, with the kinds that have documents: charts of other kinds say "no data", and say nothing else;
	// tables of other kinds have no rows of anything.
	each := func(t *testing.T, full []string) {
		s.ask(t, "POST", "/"+s.prefix+"-*/_refresh", nil)
		fields, kindOf := s.fields(t), func(pattern string) string {
			name, _, _ := strings.Cut(strings.TrimPrefix(pattern, s.prefix+"-"), "-")
			return name
		}
		for _, d := range space.Of(typeDashboard) {
			for _, panel := range space.Panels(d) {
				st, o := space.Open(d, s.from, s.to), panel.Object
				if kibanatest.Spec(o) != nil {
					v, err := kibanatest.Vega(o, st)
					if err != nil {
						t.Fatal(err)
					}
					i := slices.IndexFunc(v.Requests, func(r kibanatest.Request) bool { return r.Name == "answer" })
					want := !slices.Contains(full, kindOf(v.Requests[i].Index))
					if empty := p.empty(t, inPages, st, o); empty != want {
						t.Errorf("%s: no data is %v, want %v", o.Title(), empty, want)
					}
					continue
				}
				view := space.Find(typeDataView, o.Ref("indexpattern-datasource-layer-main").ID)
				kind := kindOf(kibanatest.Pattern(view))
				lens, err := space.Lens(o, st, fields, time.Minute)
				if err != nil {
					t.Errorf("%s: %v", o.Title(), err)
					continue
				}
				found := false
				for key, row := range lens.Rows(s.search(t, lens.Request)) {
					for column, v := range row {
						if found = found || v != nil && v != 0.0; v != nil && v != 0.0 && !slices.Contains(full, kind) {
							t.Errorf("%s: %s of %s is %v", o.Title(), column, key, v)
						}
					}
				}
				if slices.Contains(full, kind) && !found {
					t.Errorf("%s shows nothing", o.Title())
				}
			}
		}
	}
	all := []string{"run", "histogram", "percentiles", "event", "probe"}
	but := func(kind string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(k string) bool { return k == kind })
	}
	put := func(kind string, doc m) {
		doc["@timestamp"] = s.to.Add(-time.Minute).UTC().Format(time.RFC3339)
		s.ask(t, "POST", "/"+s.prefix+"-"+kind+"-"+s.to.UTC().Format("2006.01")+"/_doc?refresh=true", doc)
	}
	event := m{"run": m{"id": "r", "title": "r"}, "event": m{"action": "straggler"}, "message": "osd.12 down",
		"straggler": m{"dimension": "host", "who": "h", "factor": 2}, "fio": m{"kind": "clat"},
		"interval": m{"offset_ms": 0}}
	outlier := m{"run": m{"id": "r", "title": "r"}, "event": m{"action": "outlier"}, "message": "a read took 6.3 ms",
		"outlier": m{"ios": 1, "latency": 6.3e6}, "fio": m{"kind": "clat", "direction": "read"},
		"interval": m{"offset_ms": 0}}
	events := func() {
		put("event", event)
		put("event", outlier)
	}
	probe := m{"run": m{"id": "p"}, "host": m{"name": "h"}, "fio": m{"kind": "probe"}, "scope": "operation",
		"probe": m{"operation": "stat", "target": "/gpfs", "slowdown": 2}, "latency": m{"value": 2e6, "expected": 1e6}}
	ingest := func() {
		s.command(t, "ingest", "--index-prefix", s.prefix, "--by", split, "--run-id", "run-cluster", "--run-name",
			"cluster", "--sla", "read p99 < 5ms", "--start",
			s.to.Add(-10*time.Minute).UTC().Format(time.RFC3339), "cluster")
	}
	t.Run("after setup", func(t *testing.T) { each(t, nil) })
	t.Run("events only", func(t *testing.T) {
		events()
		each(t, []string{"event"})
	})
	again := func() {
		s.clear(t)
		s.command(t, "setup", "--index-prefix", s.prefix)
	}
	t.Run("probes only", func(t *testing.T) {
		again()
		put("probe", probe)
		each(t, []string{"probe"})
	})
	t.Run("runs without events and probes", func(t *testing.T) {
		again()
		ingest()
		each(t, []string{"run", "histogram", "percentiles"})
	})
	events()
	put("probe", probe)
	for _, kind := range []string{"event", "probe", "histogram", "percentiles"} {
		t.Run("all months of "+kind+" deleted", func(t *testing.T) {
			_, indices := s.try(t, "GET", "/"+s.prefix+"-"+kind+"-*", nil)
			for name := range indices {
				s.ask(t, "DELETE", "/"+name, nil)
			}
			each(t, but(kind))
			s.command(t, "setup", "--index-prefix", s.prefix) // makes an empty one
			if kind == "percentiles" {
				each(t, but(kind))
			}
			switch kind {
			case "event":
				events()
			case "probe":
				put(kind, probe)
			default:
				ingest()
			}
		})
	}
	t.Run("templates only", func(t *testing.T) {
		s.clear(t)
		each(t, nil)
	})
}
