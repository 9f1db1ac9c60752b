package history

import "slices"

const (
	// shortest is the least number of runs of a level.
	shortest = 2
	// splitSlack is the factor by which the p-value of a split may exceed alpha at first: splits found later may make
	// it significant.
	splitSlack = 10
	// recent is the number of runs at the end whose p-values are not corrected for the length of the series. Before
	// them, a longer series has more chances of a false positive, and needs lower p-values.
	recent = 50
)

// series is the input of the change point detection: the number of runs in order, their distances, and the p-value of
// the difference between the runs [a, m) and [m, b).
type series struct {
	runs     int
	distance func(i, j int) float64
	test     func(a, m, b int) float64
}

// changes returns the change points of the series: the first run of each new level, ascending. It splits the series
// where the energy distance of the two sides is largest (E-divisive means: Matteson and James, "A nonparametric
// approach for multiple change point analysis of multivariate data", JASA 109, 2014), and then each side, as long as
// a t-test, not a permutation test, is significant (Fleming and others, "Hunter: using change point detection to hunt
// for performance regressions", ICPE 2023). Then it removes the least significant change until all are significant
// against their neighbours.
func (s *series) changes(alpha float64) (found []int) {
	if s.runs < 2*shortest {
		return nil
	}
	sums := newSums(s)
	s.split(sums, 0, s.runs, splitSlack*alpha, &found)
	slices.Sort(found)
	for len(found) > 0 {
		least, worst := -1, alpha
		for i := range found {
			a, b := neighbours(found, i, s.runs)
			if p := s.test(a, found[i], b) * s.lengthCorrection(found[i]); p > worst {
				least, worst = i, p
			}
		}
		if least < 0 {
			break
		}
		found = slices.Delete(found, least, least+1)
	}
	return found
}

// lengthCorrection returns the factor by which false positives at run m are more likely than in a short series.
func (s *series) lengthCorrection(m int) float64 {
	if m >= s.runs-recent {
		return 1
	}
	return float64(s.runs) / recent
}

// neighbours returns the start of the level before a change of a series and the end of the level after it.
func neighbours(found []int, i, runs int) (a, b int) {
	b = runs
	if i > 0 {
		a = found[i-1]
	}
	if i+1 < len(found) {
		b = found[i+1]
	}
	return a, b
}

// split finds changes in the runs [a, b).
func (s *series) split(sums *sums, a, b int, alpha float64, found *[]int) {
	best, at, until := 0.0, -1, b
	for m := a + shortest; m <= b-shortest; m++ {
		for end := m + shortest; end <= b; end++ {
			if q := sums.energy(a, m, end); q > best {
				best, at, until = q, m, end
			}
		}
	}
	if at < 0 || s.test(a, at, until)*s.lengthCorrection(at) > alpha {
		return
	}
	*found = append(*found, at)
	s.split(sums, a, at, alpha, found)
	s.split(sums, at, b, alpha, found)
}

// sums are the sums of the distances between the first i and the first j runs, at i*n + j.
type sums struct {
	at []float64
	n  int
}

func newSums(s *series) *sums {
	n := s.runs + 1
	t := &sums{make([]float64, n*n), n}
	for i := 1; i < n; i++ {
		for j := 1; j < i; j++ {
			d := s.distance(i-1, j-1)
			t.at[i*n+j], t.at[j*n+i] = d, d
		}
	}
	for i := 1; i < n; i++ {
		row := 0.0
		for j := 1; j < n; j++ {
			row += t.at[i*n+j]
			t.at[i*n+j] = t.at[(i-1)*n+j] + row
		}
	}
	return t
}

// between returns the sum of the distances between the runs [a, b) and [c, d).
func (t *sums) between(a, b, c, d int) float64 {
	return t.at[b*t.n+d] - t.at[a*t.n+d] - t.at[b*t.n+c] + t.at[a*t.n+c]
}

// energy returns the energy distance between the x runs [a, m) and the y runs [m, b), times x y / (x + y): formula
// (5) of Matteson and James.
func (t *sums) energy(a, m, b int) float64 {
	x, y := float64(m-a), float64(b-m)
	e := 2/(x*y)*t.between(a, m, m, b) - t.between(a, m, a, m)/(x*(x-1)) - t.between(m, b, m, b)/(y*(y-1))
	return x * y / (x + y) * e
}

// mean returns the mean of values and the sum of their squared deviations from it.
func mean(values []float64) (mean, squares float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, squares
}
