package history

import (
	"math"
	"slices"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/internal/testkit"
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
		want     []int
	}{
		{"nothing reported", result(p50, up(30)), nil, []int{30}},
		{"reported", result(p50, up(30)), told(p50, up(30)), nil},
		{"moved by some runs", result(p50, up(30)), told(p50, up(36)), nil},
		{"too far away", result(p50, up(30)), told(p50, up(41)), []int{30}},
		{"of a run that is gone", result(p50, up(31)), gone, nil},
		{"the way back", result(p50, up(30), down(33)), told(p50, up(30)), []int{33}},
		{"a second step", result(p50, up(30), up(35)), told(p50, up(30)), []int{35}},
		{"another metric, worse too", result(iops, down(31)), told(p50, up(30)), nil},
		{"another metric, better", result(iops, up(31)), told(p50, up(30)), []int{31}},
		{"the shape", result(metric(t, "read histogram"), up(31)), told(p50, down(30)), nil},
	} {
		got := tt.result.News(tt.reported)
		same := len(got) == len(tt.want)
		for i := range tt.want {
			same = same && got[i].Index == tt.want[i]
		}
		if !same {
			t.Errorf("%s: %+v, want %v", tt.name, got, tt.want)
		}
	}
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
		{"two machines in turn", func(i int) float64 { return []float64{100, 120}[i/10%2] }, 0.05, []int{10}},
		{"a staircase", func(i int) float64 { return []float64{100, 120, 144}[i/20] }, 0.05, []int{20, 40}},
	} {
		var values []float64
		for i := range 60 {
			values = append(values, tt.level(i)*noise(i))
		}
		var at []int
		for _, c := range Gate(levelled(values), []fio.Metric{{Name: "iops"}}, tt.least)[0].Changes {
			at = append(at, c.Index)
		}
		if !slices.Equal(at, tt.want) {
			t.Errorf("%s: changes at %v, want %v", tt.name, at, tt.want)
		}
	}
}

// The correlation of made-up runs is found, whatever their levels.
func TestCorrelation(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	for _, want := range []float64{0, 0.5, 0.8} {
		sum := 0.0
		for seed := range 20 {
			s := nightly{seed: uint64(seed), rho: want, metrics: 1, at: 600, change: 0.5}.series(1000)[0]
			sum += correlation(len(s.Runs), func(i, j int) float64 {
				return math.Abs(math.Log(s.Runs[i].Directions["read"].IOPS / s.Runs[j].Directions["read"].IOPS))
			}) / 20
		}
		if math.Abs(sum-want) > 0.07 {
			t.Errorf("%.2f, want %.2f", sum, want)
		}
	}
}
