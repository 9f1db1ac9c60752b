package esmodel

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// TestSpacePoints: the points are the table of docs/scale.md, and the constants fit them.
func TestSpacePoints(t *testing.T) {
	page, err := os.ReadFile("../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range spacePoints {
		line := fmt.Sprintf("| %d | %d | %s | %d | %s | %.0f |\n", p.Coarseness, p.Columns, p.Interval, p.Buckets,
			fio.Grouped(p.Histogram), p.Percentiles)
		if !strings.Contains(string(page), line) {
			t.Errorf("docs/scale.md has no row %s", line)
		}
		if is := documentBytes + bucketBytes*float64(p.Buckets); math.Abs(is/p.Histogram-1) > 0.05 {
			t.Errorf("a histogram of %d buckets takes %v bytes, measured %v", p.Buckets, is, p.Histogram)
		}
		if math.Abs(percentilesBytes/p.Percentiles-1) > 0.2 {
			t.Errorf("percentiles take %v bytes, measured %v", percentilesBytes, p.Percentiles)
		}
	}
}

// Two minutes of intervals of 10 s: six of them make one of a minute, in which buckets fall together.
func TestSpace(t *testing.T) {
	intervals := func(part string, coarseness int, interval time.Duration) *Space {
		s := new(Space)
		run := &pipeline.Run{Part: part, Interval: int64(interval)}
		run.Geometry.Coarseness = coarseness
		if err := s.Begin(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		for at := time.Duration(0); at < 2*time.Minute; at += interval {
			h := new(fiohist.Hist)
			h.Add(8, 3)
			h.Add(9, 0.25)
			read := fio.Dims{Host: "a", Direction: "read"}
			q := &pipeline.Interval{Offset: int64(at), Leaves: []pipeline.Leaf{{Dims: read, Hist: h},
				{Dims: fio.Dims{Host: "a", Direction: "write"}, Hist: new(fiohist.Hist)}},
				Rows: []pipeline.Row{{Scope: "host+direction", Dims: read}, {Scope: "run"}}}
			if err := s.Interval(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.End(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := intervals("", 0, 10*time.Second)
	const bucket = bucketBytes + fieldBucketBytes
	if want := 12.0 * (documentBytes + 2*bucket + 2*percentilesBytes); math.Abs(s.Bytes-want) > 1e-6 {
		t.Errorf("%v bytes, want %v", s.Bytes, want)
	}
	if want := 2.0 * (documentBytes + bucket + 2*percentilesBytes); math.Abs(s.RolledUp-want) > 1e-6 {
		t.Errorf("rolled up %v bytes, want %v", s.RolledUp, want)
	}
	if got := intervals("p", 0, 10*time.Second); math.Abs(got.Bytes-s.Bytes+12*percentilesBytes) > 1e-6 {
		t.Errorf("a part takes %v bytes, all %v: want those across hosts less", got.Bytes, s.Bytes)
	}
	for _, tt := range []struct {
		coarseness int
		interval   time.Duration
		want       string
	}{
		{0, 10 * time.Second, "0.008 MB in Elasticsearch, 0.0013 MB rolled up to 1m0s at coarseness 3"},
		{6, 10 * time.Second, "0.008 MB in Elasticsearch, 0.0013 MB rolled up to 1m0s at coarseness 6"},
		{0, 2 * time.Minute, "0.00067 MB in Elasticsearch, 0.00065 MB rolled up to 2m0s at coarseness 3"},
		{3, time.Minute, "MB in Elasticsearch"},
		{0, 7 * time.Second, "MB in Elasticsearch"}, // does not add up to a minute
	} {
		if got := intervals("", tt.coarseness, tt.interval).String(); !strings.HasSuffix(got, tt.want) {
			t.Errorf("%v: %s", tt, got)
		}
	}
}
