package diagnose

import (
	"math"
	"slices"
)

// Ramp is the kind of a Segment over which the level changes steadily.
const Ramp = "ramp"

const (
	// leastRamp is the least number of blocks of a ramp, and rampShare the least part of the run.
	leastRamp, rampShare = 8, 10
	// perEdge is how much better in squares of the spread another edge makes a model, at least.
	perEdge = 12
	// perEnd is the same for a ramp that does not begin or end with the run.
	perEnd = 3
	// certainRamp is the least square of a slope over its spread.
	certainRamp = 40
	// leastTrend is the least share of the variance of a series with a ramp that a line over the whole run explains.
	leastTrend = 0.2
)

// ramp is a change from one level to another one over a window, in all series. With clipped values, slopes are those
// of least squares over the window, and bases the levels before it.
type ramp struct {
	window
	bases, slopes [3]float64
}

// at returns how far a block is along the ramp, from 0 to 1.
func (r *ramp) at(t int) float64 {
	return min(max((float64(t)+0.5-float64(r.from))/float64(r.to-r.from), 0), 1)
}

// fit sets bases and slopes, and returns the sum of squares that the ramp explains of each series.
func (r *ramp) fit(series *[3][]float64) (explained [3]float64) {
	for k, v := range series {
		var n, x, y, xx, xy float64
		for t, value := range v {
			if !math.IsNaN(value) {
				at := r.at(t)
				n, x, y, xx, xy = n+1, x+at, y+value, xx+at*at, xy+at*value
			}
		}
		if squares := xx - x*x/max(n, 1); squares > 1e-9 {
			r.slopes[k] = (xy - x*y/n) / squares
			r.bases[k] = (y - r.slopes[k]*x) / n
			explained[k] = r.slopes[k] * r.slopes[k] * squares
		}
	}
	return explained
}

// noise is the variance of a series beside the ramp.
func (r *ramp) noise(series *[3][]float64, k int) float64 {
	var rest []float64
	for t, v := range series[k] {
		rest = append(rest, v-r.bases[k]-r.slopes[k]*r.at(t))
	}
	_, variance := noise(rest, 4)
	return variance
}

// certain fits the ramp and returns the largest square of a slope over its spread.
func (r *ramp) certain(series *[3][]float64) (most float64) {
	for k, explained := range r.fit(series) {
		most = max(most, explained/r.noise(series, k))
	}
	return most
}

// newRamp returns the ramp that explains the series better than phases do; nil if none does. The run starts and ends
// somewhere on it, or at the level before or after it.
func newRamp(series [3][]float64, phases []int) *ramp {
	n := len(series[0])
	length := max(leastRamp, n/rampShare)
	if n < 2*length {
		return nil
	}
	var values [3][]float64
	var scale, steps, stepped [3]float64
	for k, v := range series {
		values[k] = smooth(v)
		if 2*len(known(v)) < n {
			return nil
		}
		whole, _ := noise(centred(values[k]), 1)
		var rest []float64
		for i, from := range phases[:len(phases)-1] {
			rest = append(rest, centred(values[k][from:phases[i+1]])...)
		}
		squares, variance := noise(rest, float64(len(phases)))
		steps[k], stepped[k], scale[k] = whole-squares, variance, variance
	}
	trend := 0.0 // the share of a line over the whole run
	for k, explained := range (&ramp{window: window{0, n}}).fit(&values) {
		squares, _ := noise(centred(values[k]), 1)
		trend = max(trend, explained/max(squares, 1e-9))
	}
	if trend < leastTrend {
		return nil // saves the search
	}
	score := func(w window) (sum float64) {
		r := ramp{window: w}
		for k, v := range r.fit(&values) {
			sum += v / scale[k]
		}
		return sum
	}
	best, most := window{}, 0.0
	step := max(n/32, 1)
	for from := 0; from+length <= n; from += step {
		for to := from + length; to <= n; to += step {
			if s := score(window{from, to}); s > most {
				best, most = window{from, to}, s
			}
		}
	}
	r := &ramp{window: refine(best, n, 1, score)}
	better := perEdge * float64(len(phases)-4)
	for k, explained := range r.fit(&values) {
		scale[k] = min(r.noise(&values, k), stepped[k])
		better += (explained - steps[k]) / scale[k]
	}
	if r.to-r.from < length || r.certain(&values) < certainRamp || better < 0 {
		return nil
	}
	for _, w := range []window{{0, r.to}, {r.from, n}, {0, n}} { // a ramp over the whole run, unless that fits worse
		if score(r.window)-score(w) < perEnd {
			r.window = w
		}
	}
	r.fit(&values)
	for k, slope := range r.slopes {
		if math.Abs(slope) >= math.Log(leastFactors[k]) {
			return r
		}
	}
	return nil
}

// smooth returns the medians of nine neighbours each, which bursts of up to four do not move; NaN stays.
func smooth(v []float64) (out []float64) {
	const half = 4
	var near []float64
	for t, x := range v {
		if !math.IsNaN(x) {
			near = append(near[:0], v[max(t-half, 0):min(t+half+1, len(v))]...)
			x = median(slices.DeleteFunc(near, math.IsNaN))
		}
		out = append(out, x)
	}
	return out
}

// noise returns the sum of squares of residuals, and their variance as it is for means of many correlated values.
func noise(v []float64, parameters float64) (squares, variance float64) {
	r := newResiduals()
	for _, x := range v {
		r.add(x)
	}
	rho := 0.0
	if r.squares > 0 && r.pairs > 0 {
		rho = min(max(r.correlation()+1/math.Sqrt(r.n), 0), 0.95)
	}
	return r.squares, max(r.squares/max(r.n-parameters, 1), leastSpread*leastSpread) * (1 + rho) / (1 - rho)
}

// centred returns values less their mean.
func centred(v []float64) (out []float64) {
	mean, n := 0.0, 0.0
	for _, x := range v {
		if !math.IsNaN(x) {
			mean, n = mean+x, n+1
		}
	}
	mean /= max(n, 1)
	for _, x := range v {
		out = append(out, x-mean)
	}
	return out
}
