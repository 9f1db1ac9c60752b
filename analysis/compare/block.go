package compare

import "math"

// blockLength returns the optimal block length, in intervals, for a circular block bootstrap of the series z (Politis
// and White, "Automatic Block-Length Selection for the Dependent Bootstrap", Econometric Reviews 23 (2004), with the
// correction by Patton, Politis and White, ibid. 28 (2009)). It is 1 without autocorrelation, and at most min(3 sqrt
// n, n / 3), rounded up.
func blockLength(z []float64) float64 {
	n := float64(len(z))
	mean := 0.0
	for _, v := range z {
		mean += v / n
	}
	acov := func(k int) (r float64) {
		for i := k; i < len(z); i++ {
			r += (z[i] - mean) * (z[i-k] - mean)
		}
		return r / n
	}
	r0 := acov(0)
	if len(z) < 4 || r0 <= 0 {
		return 1
	}
	// m is the last lag whose autocorrelation is not negligible.
	run := max(5, int(math.Ceil(math.Sqrt(math.Log10(n)))))
	most := int(math.Ceil(math.Sqrt(n))) + run
	negligible := 2 * math.Sqrt(math.Log10(n)/n)
	r := make([]float64, 1, most+1)
	r[0] = r0
	m, quiet := 0, 0
	for k := 1; k <= most && k < len(z); k++ {
		r = append(r, acov(k))
		if math.Abs(r[k]/r0) >= negligible {
			m, quiet = k, 0
		} else if quiet++; quiet == run {
			break
		}
	}
	width := min(2*max(m, 1), len(r)-1)
	g, spectrum := 0.0, r0
	for k := 1; k <= width; k++ {
		window := min(1, 2*(1-float64(k)/float64(width))) // flat top, then falling
		g += 2 * window * float64(k) * r[k]
		spectrum += 2 * window * r[k]
	}
	d := 4.0 / 3 * spectrum * spectrum
	limit := math.Ceil(min(3*math.Sqrt(n), n/3))
	if !(d > 0) {
		return limit
	}
	return min(max(math.Cbrt(2*g*g/d*n), 1), limit)
}
