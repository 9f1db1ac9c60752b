//go:build integration

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/kibana/kibanatest"
)

// Each status document of fio brings a new interval, and the searches of the live
// dashboard return it: of a stream that has come so far, the numbers are those that
// fiolat live prints of it.
func testLive(t *testing.T, s *stored) {
	const stream = "../../testdata/fio/live/fio-status.json"
	text, err := os.ReadFile(stream)
	if err != nil {
		t.Fatal(err)
	}
	docs := strings.SplitAfter(string(text), "\n}\n")
	const name = "live"
	before := 0.0
	for n := 3; n <= 6; n++ {
		file := filepath.Join(t.TempDir(), "status.json")
		if err = os.WriteFile(file, []byte(strings.Join(docs[:n], "")), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _ := s.command(t, "live", "--interval", "1s", "--by", split, "--run-id", "run-live", "--index-prefix",
			s.prefix, "--format", "ndjson", file)
		s.runs[name] = nil
		for line := range bytes.Lines(out) {
			s.runs[name] = append(s.runs[name], parseQuantum(t, string(line)))
		}
		rows := s.rows(name, func(r quantum) bool { return r.Scope == "direction" && r.Samples > 0 })
		s.from, s.to = rows[0].Timestamp, rows[len(rows)-1].Timestamp.Add(time.Second)
		total := 0.0
		for _, r := range rows {
			total += r.Samples
		}
		if total <= before {
			t.Fatalf("%d documents: %v I/Os, after %v", n, total, before)
		}
		before = total

		want := map[string]float64{}
		for _, r := range rows {
			want[fmt.Sprintf("%s|%d", r.Direction, bucketStart(r.Timestamp))] += r.Samples
		}
		st, o := s.open(t, "live-iops")
		st = st.Choose("run.id", "run-live")
		got := s.rowsOf(t, st, o)
		for key, samples := range want {
			if got[key] == nil || !near(got[key]["iops"], samples) {
				t.Errorf("%d documents, %s: %v I/Os, want %v", n, key, got[key], samples)
			}
		}
		for _, direction := range []string{"read", "write"} {
			_, o := s.open(t, "live-"+direction)
			p, err := kibanatest.Vega(o, st)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(p.Requests, func(r kibanatest.Request) bool { return r.Name == "answer" })
			samples := 0.0
			for _, r := range rows {
				if r.Direction == direction {
					samples += r.Samples
				}
			}
			answer := s.search(t, p.Requests[i])
			if got := at(answer, "aggregations", "n", "value"); !near(got, samples) {
				t.Errorf("%d documents: %v %ss in the panel of percentiles, want %v", n, got, direction, samples)
			}
		}
	}
}
