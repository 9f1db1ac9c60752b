package history

import (
	"math"
	"slices"
	"testing"

	"fiolat/internal/testkit"
)

func TestOutliers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		runs int
		with map[int]float64 // factors of runs
		want []int
	}{
		{"none", 20, nil, nil},
		{"one slow night", 20, map[int]float64{12: 1.46}, []int{12}},
		{"the last", 10, map[int]float64{9: 1.46}, []int{9}},
		{"one fast night", 20, map[int]float64{12: 0.7}, []int{12}},
		{"a few", 20, map[int]float64{3: 1.3, 12: 1.3, 17: 1.4}, []int{3, 12, 17}},
		{"small", 20, map[int]float64{12: 1.04}, nil},
		{"after a change", 20, map[int]float64{10: 2, 11: 2, 12: 2, 13: 2, 14: 2, 15: 3, 16: 2, 17: 2, 18: 2, 19: 2},
			[]int{15}},
		{"too few runs", 4, map[int]float64{3: 1.46}, nil},
	} {
		var values []float64
		for i := range tt.runs {
			v := 100 * (1 + 0.006*math.Sin(float64(i)*2.399))
			if f, ok := tt.with[i]; ok {
				v *= f
			}
			values = append(values, v)
		}
		var at []int
		for _, o := range analyse(levelled(values), metric(t, "read iops")).Outliers {
			at = append(at, o.Index)
		}
		if !slices.Equal(at, tt.want) {
			t.Errorf("%s: outliers at %v, want %v", tt.name, at, tt.want)
		}
	}
}

// Of histories without an outlier, hardly any have one.
func TestOutliers_False(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	for _, runs := range []int{5, 10, 20, 50, 200} {
		n := 0
		for seed := range 100 {
			s := job{seed: uint64(seed), metrics: 1, at: runs}.series(runs)[0]
			n += min(1, len(analyse(s, metric(t, "read iops")).Outliers))
		}
		if n > 2 {
			t.Errorf("%d runs: an outlier in %d of 100 histories", runs, n)
		}
	}
}
