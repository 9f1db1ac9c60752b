package report

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"fiolat/analysis/curve"
	"fiolat/analysis/history"
	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
	"fiolat/pipeline"
)

// TestJobRows: each job of fio's JSON has a row, also one that did nothing, and one whose directions are not shown.
func TestJobRows(t *testing.T) {
	t.Parallel()
	entry := func(job, host string) fiojson.Entry {
		return fiojson.Entry{JobName: job, Host: host, Options: jobfile.Options{"rw": "randrw"}}
	}
	both, idle, again := entry("both", ""), entry("idle", "h1"), entry("idle", "h2")
	both.Dirs[fio.Read].TotalIOs, both.Dirs[fio.Read].Bytes, both.Dirs[fio.Read].RuntimeMS = 100, 100*8192, 400
	both.Dirs[fio.Write].TotalIOs, both.Dirs[fio.Write].Bytes = 10, 10*4096
	none := fmt.Sprint([]string{"idle", "2", "–", "–", "–", "rw=randrw"})
	for _, tt := range []struct {
		name       string
		directions []string
		want       []string
	}{
		{"all", nil, []string{
			fmt.Sprint([]string{"both", "–", "read", "8 KiB", "1.953 MiB/s", "rw=randrw"}), // 819,200 bytes in 0.4 s
			fmt.Sprint([]string{"both", "–", "write", "4 KiB", "0 MiB/s", ""}), none}},
		{"trims only", []string{"trim"}, []string{fmt.Sprint([]string{"both", "–", "–", "–", "–", "rw=randrw"}), none}},
	} {
		run := &pipeline.Run{Metas: []*fiojson.Document{{Entries: []fiojson.Entry{both, idle, again}}},
			Pick: pipeline.Pick{Directions: tt.directions}}
		b := (&Sink{run: run}).jobTable()
		var got []string
		for _, row := range b.Rows {
			got = append(got, fmt.Sprint(row))
		}
		if fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s:\n%q, want\n%q", tt.name, got, tt.want)
		}
	}
}

// TestRunLabels: runs are named by their day where all have a start, else by their number.
func TestRunLabels(t *testing.T) {
	t.Parallel()
	day := func(n int) *time.Time { return new(time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC)) }
	for _, tt := range []struct {
		name   string
		starts []*time.Time
		want   map[int]string
	}{
		{"days", []*time.Time{day(1), day(2), day(3), day(4)}, map[int]string{1: "2026-01-01", 3: "2026-01-03",
			4: "2026-01-04"}},
		{"one has none", []*time.Time{day(1), nil, day(3)}, map[int]string{1: "run 1", 2: "run 2", 3: "run 3"}},
	} {
		s, r := history.Series{}, history.Result{}
		for _, start := range tt.starts {
			r.Runs = append(r.Runs, history.Point{Start: start})
			if s.Unordered = s.Unordered || start == nil; start != nil {
				s.Runs = append(s.Runs, history.Run{Start: *start})
			} else {
				s.Runs = append(s.Runs, history.Run{})
			}
		}
		if got := runLabels(&s, &r); !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestCurveTable: a figure of a point that is unknown is a dash, and any other is in its column.
func TestCurveTable(t *testing.T) {
	t.Parallel()
	p := Curve{Percentiles: []float64{50, 99}, Curve: &curve.Curve{Load: []string{"iodepth"}, Points: []curve.Point{
		{Options: map[string]string{"iodepth": "4"}, Runs: 2, Samples: 600, IOPS: 300,
			BytesPerSecond: new(3.0 * (1 << 20)), Concurrency: new(4.5), Mean: new(2e6), Knee: true,
			Percentiles: map[string]float64{"50": 1e6, "99": 8e6},
			AtLeast:     []string{"99"}},
		{Options: map[string]string{"iodepth": "1"}, Runs: 1, Samples: 70, IOPS: 35}}}}
	var ch curveChart
	p.table(&ch, &curve.Series{Points: []int{1, 0}})
	want := []string{"[iodepth runs I/Os IOPS MiB/s in flight mean p50 p99]", "[1 1 70 35 - - - - -]",
		"[4 2 600 300 (knee) 3 4.5 2 ms 1 ms at least 8 ms]"}
	for i, row := range append([][]string{ch.Head}, ch.Table...) {
		if got := fmt.Sprint(row); got != want[i] {
			t.Errorf("%q, want %q", got, want[i])
		}
	}
}
