//go:build integration

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"fiolat/internal/testkit"
)

// server is the real Elasticsearch; without one these tests fail.
func server(t *testing.T) string {
	t.Helper()
	url := os.Getenv("FIOLAT_TEST_ES")
	if url == "" {
		t.Fatal(`FIOLAT_TEST_ES is not set: eval "$(scripts/elasticsearch up)"`)
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections) // else they are goroutines left behind
	return url
}

// ask sends a request and decodes the answer, which must be a success.
func ask(t *testing.T, method, url string, body string, answer any) {
	t.Helper()
	status, b := testkit.Request(t, method, url, []byte(body))
	if status/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, url, status, b)
	}
	if answer != nil {
		if err := json.Unmarshal(b, answer); err != nil {
			t.Fatalf("%s %s: %v in %s", method, url, err, b)
		}
	}
}

// wipe removes all that the prefix has.
func wipe(t *testing.T, es, prefix string) {
	var indices map[string]any
	ask(t, "GET", es+"/"+prefix+"-*", "", &indices)
	for name := range indices {
		ask(t, "DELETE", es+"/"+name, "", nil)
	}
	ask(t, "DELETE", es+"/_index_template/"+prefix+"-*", "", nil)
}

type document struct {
	Timestamp string `json:"@timestamp"`
	Scope     string
	Run       struct{ ID, Generation string }
	Host      struct{ Name string }
	Fio       struct{ Job, Direction, Kind string }
	Interval  struct {
		MS       float64
		OffsetMS float64 `json:"offset_ms"`
	}
	Logs     struct{ Count int }
	Samples  float64
	DocCount int64           `json:"_doc_count"`
	Latency  json.RawMessage `json:"latency"`
}

// storedAt is when an event was stored, in its source.
var storedAt = regexp.MustCompile(`"ingested":"[^"]+",|,"ingested":"[^"]+"`)

// documents are all documents of an index by id, without when they were stored.
func documents(t *testing.T, es, index string) map[string]json.RawMessage {
	t.Helper()
	ask(t, "POST", es+"/"+index+"/_refresh", "", nil)
	all := map[string]json.RawMessage{}
	after := ""
	for {
		var found struct {
			Hits struct {
				Hits []struct {
					ID     string          `json:"_id"`
					Source json.RawMessage `json:"_source"`
					Sort   json.RawMessage
				}
			}
		}
		ask(t, "POST", es+"/"+index+"/_search", `{"size":1000,"sort":["_doc"]`+after+`}`, &found)
		for _, h := range found.Hits.Hits {
			all[h.ID] = storedAt.ReplaceAll(h.Source, nil)
			after = `,"search_after":` + string(h.Sort)
		}
		if len(found.Hits.Hits) < 1000 {
			return all
		}
	}
}

// ingestInto ingests a folder and returns the number of documents of the account
// by kind of index.
func ingestInto(t *testing.T, es, prefix string, args ...string) map[string]int {
	t.Helper()
	code, _, stderr := fiolat(t, nil, append([]string{"ingest", "--es", es, "--index-prefix", prefix, "--log-format",
		"json"}, args...)...)
	if code != exitOK {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	made := map[string]int{}
	for line := range strings.Lines(stderr) {
		var l struct {
			Msg       string
			Documents struct {
				Indices map[string]struct{ Made, Indexed, Refused int }
			}
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("not JSON: %q", line)
		}
		if l.Msg != "account" {
			continue
		}
		for name, c := range l.Documents.Indices {
			kind := strings.Split(strings.TrimPrefix(name, prefix+"-"), "-")[0]
			if c.Made != c.Indexed || c.Refused != 0 {
				t.Errorf("%s: %+v", name, c)
			}
			made[kind] += c.Indexed
		}
	}
	outliers := 0
	for _, d := range documents(t, es, prefix+"-event-*") {
		if isOutlier(d) {
			outliers++
		}
	}
	if made["event"] != outliers || made["run"] == 0 || made["histogram"] == 0 || made["percentiles"] == 0 {
		t.Fatalf("the account names the indices %v, want run, histogram, percentiles, and %d of event\n%s", made, outliers,
			stderr)
	}
	delete(made, "event")
	return made
}

// isOutlier reports whether an event is one of a run's longest I/Os.
func isOutlier(event json.RawMessage) bool {
	var d struct{ Event struct{ Action string } }
	return json.Unmarshal(event, &d) == nil && d.Event.Action == "outlier"
}

// withoutOutliers returns the other events of the indices that match.
func withoutOutliers(t *testing.T, es, pattern string) map[string]json.RawMessage {
	t.Helper()
	events := documents(t, es, pattern)
	maps.DeleteFunc(events, func(_ string, d json.RawMessage) bool { return isOutlier(d) })
	return events
}

func TestEachServerReadBack(t *testing.T) {
	es := server(t)
	for _, folder := range folders {
		t.Run(folder, func(t *testing.T) {
			prefix := fmt.Sprintf("it-%s-%d", folder, os.Getpid())
			t.Cleanup(func() { wipe(t, es, prefix) })
			dir := real + "/" + folder
			split := "direction,host,job"
			made := ingestInto(t, es, prefix, "--by", split, dir)

			percentiles := documents(t, es, prefix+"-percentiles-*")
			histograms := documents(t, es, prefix+"-histogram-*")
			if len(percentiles) != made["percentiles"] || len(histograms) != made["histogram"] ||
				made["percentiles"] == 0 || made["histogram"] == 0 {
				t.Fatalf("%d percentile and %d histogram documents, the account says %v", len(percentiles),
					len(histograms), made)
			}
			samePercentiles(t, percentiles, dir, split)
			sameHistograms(t, es, prefix, histograms)
			runs := documents(t, es, prefix+"-run")
			if len(runs) != 1 {
				t.Fatalf("%d run documents", len(runs))
			}
			for _, r := range runs {
				if !bytes.Contains(r, []byte(`"status":"complete"`)) {
					t.Errorf("the run is not complete: %s", r)
				}
			}

			// Again: nothing changes.
			if again := ingestInto(t, es, prefix, "--by", split, dir); !reflect.DeepEqual(again, made) {
				t.Errorf("the second time %v, the first %v", again, made)
			}
			if again := documents(t, es, prefix+"-percentiles-*"); !reflect.DeepEqual(again, percentiles) {
				t.Error("percentile documents changed the second time")
			}
			if again := documents(t, es, prefix+"-histogram-*"); !reflect.DeepEqual(again, histograms) {
				t.Error("histogram documents changed the second time")
			}

			// Another interval: another generation, and only that remains.
			made = ingestInto(t, es, prefix, "--by", split, "--interval", "3s", dir)
			percentiles = documents(t, es, prefix+"-percentiles-*")
			histograms = documents(t, es, prefix+"-histogram-*")
			if len(percentiles) != made["percentiles"] || len(histograms) != made["histogram"] {
				t.Errorf("%d percentile and %d histogram documents of both generations, the account of the second "+
					"says %v", len(percentiles), len(histograms), made)
			}
			generations := map[string]bool{}
			for _, source := range percentiles {
				d := decode(t, source)
				generations[d.Run.Generation] = true
				if d.Interval.MS != 3000 {
					t.Fatalf("an interval of %v ms is left", d.Interval.MS)
				}
			}
			if len(generations) != 1 {
				t.Errorf("generations left: %v", generations)
			}
			sameHistograms(t, es, prefix, histograms)
		})
	}
}

func decode(t *testing.T, source json.RawMessage) (d document) {
	t.Helper()
	if err := json.Unmarshal(source, &d); err != nil {
		t.Fatalf("%v in %s", err, source)
	}
	return d
}

// samePercentiles compares with percentiles --format ndjson, number for number.
func samePercentiles(t *testing.T, docs map[string]json.RawMessage, dir, split string) {
	t.Helper()
	interval := ""
	for _, source := range docs {
		interval = fmt.Sprint(decode(t, source).Interval.MS, "ms")
	}
	code, stdout, stderr := fiolat(t, nil, "percentiles", "--format", "ndjson", "--interval", interval, "--by", split,
		dir)
	if code != exitOK {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	key := func(offset float64, scope, direction, host, job string) string {
		return fmt.Sprint(offset, "|", scope, "|", direction, "|", host, "|", job)
	}
	byKey := map[string]document{}
	for _, source := range docs {
		d := decode(t, source)
		byKey[key(d.Interval.OffsetMS, d.Scope, d.Fio.Direction, d.Host.Name, d.Fio.Job)] = d
	}
	rows := 0
	for line := range strings.Lines(stdout) {
		var r struct {
			OffsetMS                          float64 `json:"offset_ms"`
			Timestamp, Scope, Direction, Kind string
			Host, Job                         *string
			Samples                           float64
			Logs                              int
			Min, Max, Mean, StdDev            *float64
			Percentiles                       map[string]*float64
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		rows++
		d, ok := byKey[key(r.OffsetMS, r.Scope, r.Direction, deref(r.Host), deref(r.Job))]
		if !ok {
			t.Fatalf("no document for %s", line)
		}
		if math.Abs(d.Samples-r.Samples) > 0.0005001 || d.Logs.Count != r.Logs || d.Timestamp != r.Timestamp ||
			d.Fio.Kind != r.Kind {
			t.Fatalf("document %+v, row %s", d, line)
		}
		var latency map[string]any
		if d.Latency != nil {
			if err := json.Unmarshal(d.Latency, &latency); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]*float64{"min": r.Min, "max": r.Max, "mean": r.Mean, "stddev": r.StdDev}
		for p, v := range r.Percentiles {
			want["p"+strings.ReplaceAll(p, ".", "_")] = v
		}
		for name, v := range want {
			got, ok := latency[name].(float64)
			if v == nil && ok || v != nil && !(math.Abs(got-*v) <= 0.05001) { // to 0.1 ns
				t.Fatalf("latency.%s is %v in the document; row %s", name, latency[name], line)
			}
		}
	}
	if rows != len(docs) {
		t.Errorf("%d rows, %d documents", rows, len(docs))
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// sameHistograms checks what the histogram field holds, and that _doc_count makes
// an aggregation count I/Os.
func sameHistograms(t *testing.T, es, prefix string, docs map[string]json.RawMessage) {
	t.Helper()
	ios := map[string]int64{}
	for id, source := range docs {
		d := decode(t, source)
		var l struct {
			Histogram struct {
				Values []float64
				Counts []int64
			}
		}
		if err := json.Unmarshal(d.Latency, &l); err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, c := range l.Histogram.Counts {
			sum += c
		}
		// Counts are thousandths; the rest of whole I/Os is carried on to the leaf's next document.
		if float64(sum) != math.Round(d.Samples*1000) || d.DocCount < 1 || math.Abs(float64(d.DocCount)-d.Samples) > 1 {
			t.Fatalf("%s: %d thousandths of an I/O in the histogram, samples %v, _doc_count %d", id, sum, d.Samples,
				d.DocCount)
		}
		ios[d.Fio.Direction] += d.DocCount
	}
	var found struct {
		Aggregations struct {
			By struct {
				Buckets []struct {
					Key      string
					DocCount int64 `json:"doc_count"`
				}
			}
		}
	}
	ask(t, "POST", es+"/"+prefix+"-histogram-*/_search", `{"size":0,"aggs":{"by":{"terms":{"field":"fio.direction"}}}}`,
		&found)
	if len(found.Aggregations.By.Buckets) != len(ios) {
		t.Fatalf("directions %v, want those of %v", found.Aggregations.By.Buckets, ios)
	}
	for _, b := range found.Aggregations.By.Buckets {
		if b.DocCount != ios[b.Key] {
			t.Errorf("%s: the aggregation counts %d I/Os, the documents hold %d", b.Key, b.DocCount, ios[b.Key])
		}
	}
}

// A page of a run in Elasticsearch is that of its logs.
func TestServerReport(t *testing.T) {
	es := server(t)
	testReportStored(t, func(t *testing.T, logs []string) []string {
		name := strings.ReplaceAll(logs[1], ",", "-") + "-" + filepath.Base(logs[2])
		prefix, run := "report-"+name, "page of "+name
		if code, _, stderr := fiolat(t, nil, append([]string{"ingest", "--es", es, "--index-prefix", prefix, "--run-id",
			run}, logs...)...); code != exitOK {
			t.Fatalf("exit %d\n%s", code, stderr)
		}
		return []string{"--es", es, "--index-prefix", prefix, run}
	})
}
