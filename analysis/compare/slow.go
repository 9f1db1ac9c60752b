package compare

import (
	"fmt"
	"math"

	"fiolat/analysis/outliers"
	"fiolat/fio"
	"fiolat/fio/fiohist"
)

// Slow compares how many I/Os of a direction take a latency or longer, per time in which it ran: the larger threshold
// of outliers of both sides, or that of a rule.
type Slow struct {
	Direction string  `json:"direction"`
	AboveNS   float64 `json:"above_ns"`
	// Baseline and Other are the I/Os from AboveNS on, BaselineIOs and OtherIOs all I/Os.
	Baseline    float64 `json:"baseline"`
	Other       float64 `json:"other"`
	BaselineIOs float64 `json:"baseline_ios"`
	OtherIOs    float64 `json:"other_ios"`
	// Factor is the ratio of the rates, nil if one side has none, with its exact 95 % limits; P is the probability of
	// such a difference by chance.
	Factor     *float64 `json:"factor"`
	fio.Limits `json:"ci"`
	P          float64 `json:"p"`
	Verdict    Verdict `json:"verdict"`

	scattered bool // the runs of a side differ more than independent I/Os do
}

const (
	// scatterAlpha is the probability below which runs scatter more than independent I/Os (the test of dispersion).
	scatterAlpha = 0.01
	// many I/Os on both sides are as good as a normal distribution.
	many = 1000
)

// slowOf compares a direction, by its index in directions; nil if neither side has an outlier. above is in ns, 0 for
// the larger threshold.
func slowOf(a, b *Group, g fiohist.Geometry, d int, above float64) *Slow {
	var all [2]fiohist.Hist
	var seconds [2]float64
	for side, group := range []*Group{a, b} {
		for _, run := range group.Runs {
			h, covered := run.whole(d, g)
			all[side].AddHist(h)
			seconds[side] += covered
		}
	}
	given := above > 0
	if !given {
		before, after := outliers.Threshold(&all[0], g), outliers.Threshold(&all[1], g)
		above = max(before, after)
		if min(before, after) == 0 { // too few to tell
			return nil
		}
	}
	if above == 0 || seconds[0] <= 0 || seconds[1] <= 0 {
		return nil
	}
	s := &Slow{Direction: directions[d], AboveNS: above, BaselineIOs: math.Round(all[0].Sum()),
		OtherIOs: math.Round(all[1].Sum())}
	s.Baseline, _, _ = outliers.From(&all[0], g, above)
	s.Other, _, _ = outliers.From(&all[1], g, above)
	s.Baseline, s.Other = math.Round(s.Baseline), math.Round(s.Other)
	if s.Baseline+s.Other == 0 && !given {
		return nil
	}
	s.Low, s.High, s.P = ratioLimits(s.Baseline, s.Other, seconds[0], seconds[1])
	if s.Baseline > 0 && s.Other > 0 {
		s.Factor = new(s.Other / seconds[1] * seconds[0] / s.Baseline)
	}
	for _, group := range []*Group{a, b} {
		var counts, times []float64
		for _, run := range group.Runs {
			h, covered := run.whole(d, g)
			n, _, _ := outliers.From(h, g, above)
			counts, times = append(counts, n), append(times, covered)
		}
		s.scattered = s.scattered || scatter(counts, times)
	}
	switch s.Verdict = Inconclusive; {
	case s.scattered:
	case s.Low != nil && *s.Low > 1:
		s.Verdict = Higher
	case s.High != nil && *s.High < 1:
		s.Verdict = Lower
	}
	return s
}

// whole returns all I/Os of a direction of a run on a grid, and for how many seconds it ran.
func (s *Series) whole(d int, g fiohist.Geometry) (h *fiohist.Hist, seconds float64) {
	h = new(fiohist.Hist)
	for i := range s.steps {
		step := &s.steps[i]
		h.AddAll(step.hists[d].Index, step.hists[d].Count, g.Coarseness-s.geometry.Coarseness)
		seconds += step.covered[d]
	}
	return h, seconds
}

// ratioLimits returns the exact limits of the ratio of the rates b/tb and a/ta of independent events, at Confidence
// (Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika
// 26, 1934, of b in a + b), nil where there is none, and the probability of such a difference by chance.
func ratioLimits(a, b, ta, tb float64) (low, high *float64, p float64) {
	n, alpha := a+b, (1-Confidence)/2
	if n == 0 {
		return nil, nil, 1
	}
	if min(a, b) > many {
		center, se := math.Log(b/tb*ta/a), math.Sqrt(1/a+1/b)
		half := fiohist.StudentQuantile(1-Confidence, many) * se
		return new(math.Exp(center - half)), new(math.Exp(center + half)), math.Erfc(math.Abs(center) / se / math.Sqrt2)
	}
	ratio := func(share float64) *float64 { return new(share / (1 - share) * ta / tb) }
	if b > 0 {
		low = ratio(solve(func(share float64) float64 { return 1 - binomial(b-1, n, share) }, alpha))
	}
	if a > 0 {
		high = ratio(solve(func(share float64) float64 { return 1 - binomial(b, n, share) }, 1-alpha))
	}
	even := tb / (ta + tb)
	return low, high, min(1, 2*min(binomial(b, n, even), 1-binomial(b-1, n, even)))
}

// solve returns where a rising function on (0, 1) reaches a value.
func solve(f func(float64) float64, want float64) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		if middle := (low + high) / 2; f(middle) < want {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// binomial returns the probability of at most k of n with probability p each.
func binomial(k, n, p float64) (sum float64) {
	if k > n/2 && k < n { // the shorter sum
		return 1 - binomial(n-k-1, n, 1-p)
	}
	if k >= n {
		return 1
	}
	lgamma := func(x float64) float64 { v, _ := math.Lgamma(x + 1); return v }
	for i := 0.0; i <= k; i++ {
		sum += math.Exp(lgamma(n) - lgamma(i) - lgamma(n-i) + i*math.Log(p) + (n-i)*math.Log1p(-p))
	}
	return min(sum, 1)
}

// scatter reports whether three runs or more scatter more than counts of independent events do: their dispersion is
// beyond chi-squared's (as Wilson and Hilferty approximate it).
func scatter(counts, seconds []float64) bool {
	n, sum, all := float64(len(counts)), 0.0, 0.0
	for i := range counts {
		sum, all = sum+counts[i], all+seconds[i]
	}
	if n < 3 || sum == 0 {
		return false
	}
	chi := 0.0
	for i := range counts {
		want := sum * seconds[i] / all
		chi += (counts[i] - want) * (counts[i] - want) / want
	}
	k := n - 1
	z := (math.Cbrt(chi/k) - 1 + 2/(9*k)) / math.Sqrt(2/(9*k))
	return math.Erfc(z/math.Sqrt2)/2 < scatterAlpha
}

// String is the row in words: "reads above 1 ms: 2 -> 13 in 60 M, 6.5 times (1.5 to 59)".
func (s *Slow) String() string {
	text := fmt.Sprintf("%ss above %s: %s -> %s in %s", s.Direction, fio.Latency(s.AboveNS, 3), fio.Grouped(s.Baseline),
		fio.Grouped(s.Other), millions(s.BaselineIOs))
	if millions(s.OtherIOs) != millions(s.BaselineIOs) {
		text += " and " + millions(s.OtherIOs)
	}
	factor := func(v float64) string { return fio.Digits(v, 2) }
	switch {
	case s.Factor != nil:
		text += fmt.Sprintf(", %s times (%s to %s)", factor(*s.Factor), factor(*s.Low), factor(*s.High))
	case s.Low != nil:
		text += fmt.Sprintf(", at least %s times", factor(*s.Low))
	case s.High != nil:
		text += fmt.Sprintf(", at most %s times", factor(*s.High))
	}
	if s.P < 1e-6 {
		text += ", p below 0.000001"
	} else {
		text += ", p " + fio.Digits(s.P, 1)
	}
	if s.scattered {
		return text + ", inconclusive: the runs of a side scatter more than chance explains"
	}
	return text + ", " + string(s.Verdict)
}

// millions formats a number of I/Os.
func millions(n float64) string {
	if n >= 1e6 {
		return fio.Digits(n/1e6, 3) + " M"
	}
	return fio.Grouped(n)
}
