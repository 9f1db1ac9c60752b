//go:build integration

package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/pipeline/pipelinetest"
)

// synced stores a run whose jobs sync, as fiolat live does, as the subject; undo removes it.
func (s *stored) synced(t *testing.T) (undo func()) {
	t.Helper()
	stream, err := pipelinetest.Unpacked("../../pipeline/live/testdata/sync/fio-3.42.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "status.json")
	if err = os.WriteFile(file, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	from, to, subject, events := s.from, s.to, s.subject, s.events
	s.subject = "syncs"
	out, _ := s.command(t, "live", "--index-prefix", s.prefix, "--interval", "1s", "--by", split, "--run-id",
		"run-syncs", "--sla", "sync p99 < 5ms", "--format", "ndjson", file)
	for line := range bytes.Lines(out) {
		r := parseInterval(t, string(line))
		r.OffsetMS = second(r.OffsetMS) // its grid is not that of the run's start
		s.runs["syncs"] = append(s.runs["syncs"], r)
	}
	rows := s.runs["syncs"]
	s.from, s.to = rows[0].Timestamp, rows[len(rows)-1].Timestamp.Add(time.Second)
	found := s.ask(t, "POST", "/"+s.prefix+"-event-*/_search", m{"query": m{"term": m{"run.id": "run-syncs"}}})
	for _, hit := range list(found, "hits", "hits") {
		src := obj(hit, "_source")
		when, err := time.Parse(time.RFC3339Nano, str(src, "@timestamp"))
		if err != nil {
			t.Fatal(err)
		}
		s.events = append(slices.Clip(s.events), manualEvent{"run-syncs", str(src, "message"), when,
			at(src, "interval", "offset_ms").(float64)})
	}
	return func() {
		s.command(t, "delete", "--index-prefix", s.prefix, "--yes", "run-syncs")
		s.from, s.to, s.subject, s.events = from, to, subject, events
		delete(s.runs, "syncs")
	}
}

// second is the start of the second, in ms, that a panel draws a time since the start in.
func second(ms float64) float64 { return 1000 * math.Floor(ms/1000) }

// Panels of syncs draw those of a run that syncs, and no other panel of their dashboards counts them.
func testSyncs(t *testing.T, s *stored) {
	defer s.synced(t)()
	p, versions := browse(t, s), vegaVersions
	for id, same := range map[string]func(){
		"live-write": func() { p.sameLive(t, "write") },
		"live-heatmap": func() {
			p.sameCells(t, s.octaves(t, s.subject, func(start time.Time, _ float64) float64 {
				return float64(start.Truncate(s.interval()).UnixMilli())
			}), s.step())
		},
		"run-percentiles": func() {
			p.choose(t, "write")
			p.samePercentiles(t, "write")
			p.choose(t, "sync")
			p.sameRows(t, true, func(r interval) bool { return r.Scope == "run" && r.Direction == "sync" })
		},
		"run-findings": func() { p.sameFindings(t) }, // as live stored them
		"run-heatmap": func() {
			p.sameCells(t, s.octaves(t, s.subject, func(_ time.Time, offset float64) float64 { return second(offset) }),
				s.step())
		},
	} {
		st, o := s.open(t, id)
		p.draw(t, versions[len(versions)-1], st.Choose("run.id", "run-syncs"), o)
		same()
	}
	ios := map[string]float64{}
	for _, r := range s.runs["syncs"] {
		if r.Kind == "clat" && r.Scope == "direction" {
			ios[fmt.Sprintf("%s|%d", r.Direction, bucketStart(r.Timestamp))] += r.Samples
			ios[r.Direction] += r.Samples
		}
	}
	st, o := s.open(t, "live-iops")
	for key, row := range s.rowsOf(t, st.Choose("run.id", "run-syncs"), o) {
		if strings.HasPrefix(key, "sync") || !near(row["iops"], ios[key]) {
			t.Errorf("%s: %v, want %v", key, row, ios[key])
		}
	}
	for id, column := range map[string]string{"run-summary": "writeios", "run-account": "logged"} {
		st, o := s.open(t, id)
		row := s.rowsOf(t, st.Choose("run.id", "run-syncs"), o)["run-syncs"]
		if ios["write"] == 0 || !near(row[column], ios["write"]) {
			t.Errorf("%s: %v, want %v", id, row, ios["write"])
		}
	}
}
