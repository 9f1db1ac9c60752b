package history

import (
	"math"
	"slices"

	"fiolat/fio/fiohist"
)

const (
	// outlierAlpha is the probability of an outlier by chance in a whole history.
	outlierAlpha = 0.001
	// outlierRuns is the least number of runs of a level that say what is usual, outlierLeast the least distance, as a
	// share.
	outlierRuns  = 5
	outlierLeast = 0.05
)

// Outlier is a single run far from the level of its neighbours. If it is the last one, a change may begin with it.
type Outlier struct {
	// Run is its id, Index its position in the runs, from 0, Number the same from 1.
	Run    string `json:"run"`
	Index  int    `json:"index"`
	Number int    `json:"number"`
	// Value is the run's value, Level the median of its level, Change Value / Level - 1.
	Value  float64 `json:"value"`
	Level  float64 `json:"level"`
	Change float64 `json:"change"`
}

// outliers returns the runs that are further from the median of their level than chance makes likely. The spread is
// the median distance, which fewer than half of the runs cannot move.
func (l *logValues) outliers(points []Point, known, found []int) []Outlier {
	out := []Outlier{}
	n := len(l.x)
	if n < outlierRuns {
		return out
	}
	levels, distances, short := make([]float64, n), make([]float64, n), make([]bool, n)
	from := 0
	for _, to := range append(slices.Clone(found), n) {
		level := median(l.x[from:to])
		for i := from; i < to; i++ {
			levels[i], distances[i] = level, math.Abs(l.x[i]-level)
			short[i] = to-from < outlierRuns
		}
		from = to
	}
	spread := max(median(distances)/madSigma, leastSpread)
	// The median distance is worth a third of the degrees of freedom of the standard deviation.
	limit := max(spread*fiohist.StudentQuantile(outlierAlpha/float64(n), n/3), math.Log1p(outlierLeast))
	for i, d := range distances {
		if d > limit && !short[i] {
			p, level := points[known[i]], math.Exp(levels[i])
			out = append(out, Outlier{p.ID, known[i], known[i] + 1, *p.Value, level, *p.Value/level - 1})
		}
	}
	return out
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return (s[len(s)/2] + s[(len(s)-1)/2]) / 2
}
