package history

import (
	"math"

	"fiolat/fio/fiohist"
)

// A distribution function has perOctave steps for each of octaves doublings of the latency, from 1 ns on.
const (
	perOctave = 8
	octaves   = 38
)

// shapes holds whole histograms as distribution functions of the logarithm of the latency. The distance of two of
// them is the area in between, the mean distance by which I/Os must be moved to turn one into the other
// (Wasserstein). Its square root embeds into a Hilbert space, so the energy distance applies.
type shapes struct {
	f [][]float64 // by run
}

func newShapes(s *Series, direction string, known []int) *shapes {
	out := &shapes{}
	first, last := perOctave*octaves, 0
	for _, i := range known {
		d := s.Runs[i].Directions[direction]
		f := distribution(d.Geometry, d.Hist)
		for k, v := range f {
			if v > 0 && v < 1 {
				first, last = min(first, k), max(last, k)
			}
		}
		out.f = append(out.f, f)
	}
	for i, f := range out.f { // omit the steps at which all are 0 or all are 1
		if first > last {
			first, last = 0, 0
		}
		out.f[i] = f[first : last+1]
	}
	return out
}

// distribution returns the share of the I/Os below each of the edges 2^(k/perOctave) ns.
func distribution(g fiohist.Geometry, h *fiohist.Hist) []float64 {
	f := make([]float64, perOctave*octaves)
	k, below, total := 0, 0.0, h.Sum()
	edge := func() float64 { return math.Exp2(float64(k) / perOctave) }
	h.Each(func(i int, n float64) {
		lower, upper := float64(g.Lower(i)), float64(g.Upper(i))
		for ; k < len(f) && edge() < upper; k++ {
			f[k] = min(1, (below+n*max(0, (edge()-lower)/(upper-lower)))/total)
		}
		below += n
	})
	for ; k < len(f); k++ {
		f[k] = 1
	}
	return f
}

// area returns the area between two distribution functions.
func area(f, g []float64) (sum float64) {
	for k, v := range f {
		sum += math.Abs(v - g[k])
	}
	return sum * math.Ln2 / perOctave
}

func (s *shapes) distance(i, j int) float64 { return area(s.f[i], s.f[j]) }

// mean returns the mean distribution function of the runs [a, b).
func (s *shapes) mean(a, b int) []float64 {
	sum := make([]float64, len(s.f[a]))
	for _, f := range s.f[a:b] {
		for k, v := range f {
			sum[k] += v / float64(b-a)
		}
	}
	return sum
}

// without returns the mean of n distribution functions without one of them.
func without(mean, f []float64, n int) []float64 {
	out := make([]float64, len(f))
	for k, v := range mean {
		out[k] = (float64(n)*v - f[k]) / float64(n-1)
	}
	return out
}

// off takes the distances of the runs [a, b) from their mean to be the absolute values of a normal variable.
func (s *shapes) off(a, b, i int) (d, spread float64, own []float64) {
	level := s.mean(a, b)
	var distances []float64
	for _, f := range s.f[a:b] {
		distances = append(distances, area(f, without(level, f, b-a)))
	}
	usual := median(distances)
	for _, d := range distances {
		own = append(own, d-usual)
	}
	return area(s.f[i], level) - usual, usual / madSigma, own
}

// step compares how much nearer each run is to the mean of the runs before than to that of the runs after. The run
// itself is excluded, because a mean is near the runs that it is made of.
func (s *shapes) step(a, m, b int) step {
	left, right := s.mean(a, m), s.mean(m, b)
	var before, after []float64
	for _, f := range s.f[a:m] {
		before = append(before, (area(f, without(left, f, m-a))-area(f, right))/2)
	}
	for _, f := range s.f[m:b] {
		after = append(after, (area(f, left)-area(f, without(right, f, b-m)))/2)
	}
	st := newStep(before, after, leastSpread)
	st.change = max(0, st.change) // negative if each side is nearer to the other than to itself: no change
	return st
}

func (s *shapes) alpha() float64 { return histogramAlpha }

// fill sets the value of each run to its distance from the mean of the first level without this run.
func (s *shapes) fill(points []Point, known, found []int) {
	end := len(known)
	if len(found) > 0 {
		end = found[0]
	}
	if end == 0 {
		return
	}
	first := s.mean(0, end)
	for n, i := range known {
		from := first
		switch {
		case n < end && end == 1:
			from = s.f[n]
		case n < end:
			from = without(first, s.f[n], end)
		}
		points[i].Value = new(math.Expm1(area(s.f[n], from)))
	}
}
