package history

import (
	"testing"
	"time"
)

func TestNews(t *testing.T) {
	t.Parallel()
	p50, iops := metric(t, "read p50"), metric(t, "read iops")
	result := func(m Metric, changes ...Change) *Result {
		r := &Result{Metric: m.String(), Changes: changes, of: m}
		for i := range 60 {
			start := time.Unix(int64(i)*86400, 0)
			r.Runs = append(r.Runs, Point{ID: string(rune('A' + i)), Start: &start})
		}
		return r
	}
	up := func(at int) Change { return Change{Index: at, Run: string(rune('A' + at)), Change: 0.1} }
	down := func(at int) Change { return Change{Index: at, Run: string(rune('A' + at)), Change: -0.1} }
	told := func(m Metric, changes ...Change) (out []Reported) {
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
