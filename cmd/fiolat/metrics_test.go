package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// TestMetricsAreFios compares the histograms with those of fio's last document.
func TestMetricsAreFios(t *testing.T) {
	t.Parallel()
	stream, path := real+"/live/fio-status.json", filepath.Join(t.TempDir(), "live.prom")
	if code, _, stderr := fiolat(t, nil, "live", "--output", t.TempDir(), "--run-id", "R", "--metrics-file", path,
		"--sla", "read p99 < 5ms", stream); code != exitOK {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	open := func(name string) *os.File {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	type document struct {
		Jobs []map[string]json.RawMessage `json:"jobs"`
	}
	var last document
	for in := json.NewDecoder(open(stream)); ; {
		var next document
		if err := in.Decode(&next); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		last = next
	}
	below := func(direction string, bound float64) (n uint64) {
		for _, job := range last.Jobs {
			var of struct {
				Clat struct {
					Bins map[string]uint64 `json:"bins"`
				} `json:"clat_ns"`
			}
			if err := json.Unmarshal(job[direction], &of); err != nil {
				t.Fatal(err)
			}
			for middle, ios := range of.Clat.Bins {
				if ns, err := strconv.ParseFloat(middle, 64); err != nil {
					t.Fatal(err)
				} else if ns < bound*1e9 {
					n += ios
				}
			}
		}
		return n
	}

	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(open(path))
	if err != nil {
		t.Fatal(err)
	}
	metrics := families["fiolat_latency_seconds"].GetMetric()
	if len(metrics) != 2 {
		t.Fatalf("%d histograms, want read and write", len(metrics))
	}
	for _, m := range metrics {
		direction, buckets := m.GetLabel()[0].GetValue(), m.GetHistogram().GetBucket()
		if len(buckets) != 25 { // 1.024 us to 8.6 s, and +Inf
			t.Errorf("%s: %d buckets", direction, len(buckets))
		}
		for _, b := range buckets {
			if want := below(direction, b.GetUpperBound()); b.GetCumulativeCount() != want {
				t.Errorf("%s: %d below %v s; fio has %d", direction, b.GetCumulativeCount(), b.GetUpperBound(), want)
			}
		}
	}
	if problems, err := promlint.New(open(path)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("promtool check metrics: %v, %v", problems, err)
	}
}
