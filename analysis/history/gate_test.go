package history

import (
	"math"
	"slices"
	"testing"
	"time"

	"fiolat/fio"
)

func TestNews(t *testing.T) {
	t.Parallel()
	p50, iops := metric(t, "read p50"), metric(t, "read iops")
	result := func(m fio.Metric, changes ...Change) *Result {
		r := &Result{Metric: m.String(), Changes: changes, of: m}
		for i := range 60 {
			start := time.Unix(int64(i)*86400, 0)
			r.Runs = append(r.Runs, Point{ID: string(rune('A' + i)), Start: &start})
		}
		return r
	}
	up := func(at int) Change { return Change{Index: at, Run: string(rune('A' + at)), Change: 0.1} }
	down := func(at int) Change { return Change{Index: at, Run: string(rune('A' + at)), Change: -0.1} }
	told := func(m fio.Metric, changes ...Change) (out []Reported) {
		r := result(m)
		for _, c := range changes {
			out = append(out, NewReported(r, c))
		}
		return out
	}
	gone := told(p50, up(30))
	gone[0].Run = "deleted since"
	for _, tt := range []struct {
		name     string
		result   *Result
		reported []Reported
		news     []int
		moved    []int
	}{
		{"nothing reported", result(p50, up(30)), nil, []int{30}, nil},
		{"reported", result(p50, up(30)), told(p50, up(30)), nil, nil},
		{"moved by some runs", result(p50, up(30)), told(p50, up(36)), nil, []int{30}},
		{"moved, and told so", result(p50, up(30)), told(p50, up(36), up(30)), nil, nil},
		{"moved back", result(p50, up(36)), told(p50, up(36), up(30)), nil, nil},
		{"too far away", result(p50, up(30)), told(p50, up(41)), []int{30}, nil},
		{"of a run that is gone", result(p50, up(30)), gone, nil, nil},
		{"the way back", result(p50, up(30), down(33)), told(p50, up(30)), []int{33}, nil},
		{"a second step", result(p50, up(30), up(35)), told(p50, up(30)), []int{35}, nil},
		{"another metric, worse too", result(iops, down(31)), told(p50, up(30)), nil, nil},
		{"another metric, better", result(iops, up(31)), told(p50, up(30)), []int{31}, nil},
		{"the shape", result(metric(t, "read histogram"), up(31)), told(p50, down(30)), nil, nil},
	} {
		news, moved := tt.result.News(tt.reported)
		if !slices.Equal(indices(news), tt.news) || !slices.Equal(indices(moved), tt.moved) {
			t.Errorf("%s: news %+v, want %v; moved %+v, want %v", tt.name, news, tt.news, moved, tt.moved)
		}
	}
}

func TestAdd(t *testing.T) {
	t.Parallel()
	r := Result{Changes: []Change{{Index: 5}, {Index: 24}}}
	r.Add([]Change{{Index: 5}, {Index: 22}})
	if at := indices(r.Changes); !slices.Equal(at, []int{5, 22, 24}) {
		t.Errorf("changes at %v", at)
	}
}

func indices(changes []Change) (at []int) {
	for _, c := range changes {
		at = append(at, c.Index)
	}
	return at
}

func TestGateOf(t *testing.T) {
	t.Parallel()
	noise := func(i int) float64 { return 1 + 0.01*math.Sin(float64(i)*2.399) }
	for _, tt := range []struct {
		name  string
		level func(i int) float64
		least float64
		want  []int
	}{
		{"a step", func(i int) float64 { return []float64{100, 120}[i/30] }, 0.05, []int{30}},
		{"a small step", func(i int) float64 { return []float64{100, 104}[i/30] }, 0.05, nil},
		{"a small step that counts", func(i int) float64 { return []float64{100, 104}[i/30] }, 0.03, []int{30}},
		{"down", func(i int) float64 { return []float64{100, 80}[i/30] }, 0.05, []int{30}},
		{"and back", func(i int) float64 { return []float64{100, 120, 100}[i/20] }, 0.05, []int{20}},
		{"a staircase", func(i int) float64 { return []float64{100, 120, 144}[i/20] }, 0.05, []int{20, 40}},
		{"single bad nights", func(i int) float64 { return []float64{100, 140}[i%12/11] }, 0.05, nil},
		{"three far nights", func(i int) float64 { return []float64{100, 120}[i/57] }, 0.05, []int{57}},
	} {
		var values []float64
		for i := range 60 {
			values = append(values, tt.level(i)*noise(i))
		}
		if early := gate(levelled(values[:Settled]), metric(t, "read iops"), tt.least).Changes; len(early) > 0 {
			t.Errorf("%s: %+v after %d runs", tt.name, early, Settled)
		}
		at := indices(Gate(levelled(values), []fio.Metric{{Name: "iops"}}, tt.least)[0].Changes)
		if !slices.Equal(at, tt.want) {
			t.Errorf("%s: changes at %v, want %v", tt.name, at, tt.want)
		}
	}
}
