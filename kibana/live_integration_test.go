//go:build integration

package kibana

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each status document of fio brings a new interval, and the searches of the live
// dashboard return it: of a stream that has come so far, the numbers are those that
// fiolat live prints of it.
func testLive(t *testing.T, s *stored) {
	const stream = "../testdata/fio/live/fio-status.json"
	text, err := os.ReadFile(stream)
	if err != nil {
		t.Fatal(err)
	}
	docs := strings.SplitAfter(string(text), "\n}\n")
	chosen := m{"term": m{"run.id": "run-live"}}
	const name = "live"
	before := 0.0
	for n := 3; n <= 6; n++ {
		file := filepath.Join(t.TempDir(), "status.json")
		if err = os.WriteFile(file, []byte(strings.Join(docs[:n], "")), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _ := s.command(t, "live", "--interval", "1s", "--by", split, "--run-id", "run-live", "--index-prefix", s.prefix, "--format", "ndjson", file)
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
		o := s.object(t, "live-iops")
		req, names := s.lens(t, o, chosen)
		got := cells(t, o, names, s.search(t, req))
		for key, samples := range want {
			if got[key] == nil || !near(got[key]["iops"], samples) {
				t.Errorf("%d documents, %s: %v I/Os, want %v", n, key, got[key], samples)
			}
		}
		compared := 0
		for _, direction := range []string{"read", "write"} {
			o := s.object(t, "live-"+direction)
			series := list(o.params("metrics"), "series")[0].(map[string]any)
			for _, b := range list(s.search(t, s.tsvb(t, o, series, chosen)), "aggregations", "timeseries", "buckets") {
				compared += s.sameAsRows(t, at(b, "metric").(map[string]any), s.rows(name, func(r quantum) bool {
					return r.Scope == "direction" && r.Direction == direction && bucketStart(r.Timestamp) == int64(at(b, "key").(float64))
				}))
			}
		}
		if compared < n-1 {
			t.Errorf("%d documents: %d intervals in the panels of percentiles", n, compared)
		}
	}
}

func (s *stored) object(t *testing.T, id string) *saved {
	t.Helper()
	i := slices.IndexFunc(s.bundle.objects, func(o *saved) bool { return o.id == s.prefix+"-"+id })
	if i < 0 {
		t.Fatalf("no object %s", id)
	}
	return s.bundle.objects[i]
}
