package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"fiolat/internal/fiohist"
	"fiolat/pipeline"
)

const (
	// Confidence is that of the limits of a comparison, all of them together.
	Confidence = 0.95
	// resamples are the runs drawn from a run.
	resamples = 1000
	// seed makes them the same each time.
	seed = 0xf10
	// fewest is how many quanta with I/O a run must have for its noise to be known.
	fewest = 10
	// fewestBlocks bounds how long blocks can be: from fewer nothing can be drawn.
	fewestBlocks = 5
)

// Verdict says what is known of a change.
type Verdict string

// The verdicts.
const (
	Higher  Verdict = "higher"
	Lower   Verdict = "lower"
	None    Verdict = "no difference" // none that the runs' own noise does not explain
	Unknown Verdict = "cannot tell"
)

// Row is one number of two runs.
type Row struct {
	Direction string `json:"direction"`
	// Metric is p50, p99.9, ..., mean (ns), or iops (1/s).
	Metric string `json:"metric"`
	// Baseline and Other are its values; nil without I/O of that direction.
	Baseline *float64 `json:"baseline"`
	Other    *float64 `json:"other"`
	// AtLeast says that a percentile fell into fio's last bucket in one of the runs:
	// the values are lower limits, and nothing is known of the change.
	AtLeast bool `json:"at_least,omitempty"`
	// Change is Other / Baseline - 1, and Low and High are its limits; nil if unknown.
	Change *float64 `json:"change"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	// Verdict is higher or lower only if the limits leave no room for none.
	Verdict Verdict `json:"verdict"`
}

// Side is what a comparison knows of one of its runs.
type Side struct {
	Name string `json:"name"`
	// Quanta are the intervals compared, each of IntervalMS; of long runs several of
	// the run's own are one.
	Quanta     int     `json:"quanta"`
	IntervalMS float64 `json:"interval_ms"`
	// Block is how many neighbouring quanta were drawn together.
	Block int `json:"block"`
}

// Result is the comparison of a run with a baseline.
type Result struct {
	Baseline Side  `json:"baseline"`
	Other    Side  `json:"other"`
	Rows     []Row `json:"rows"`
	// Note says why there are no limits, or what else matters.
	Note string `json:"note,omitempty"`
}

// Find is the row of a direction and metric. In a run of a single direction that
// is also the sum of all.
func (r *Result) Find(direction, metric string) *Row {
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Metric == metric && (row.Direction == direction || direction == pipeline.All && r.Rows[0].Direction != pipeline.All) {
			return row
		}
	}
	return nil
}

// MetricName is the name of a percentile in results and rules: p99.9.
func MetricName(p float64) string { return "p" + strconv.FormatFloat(p, 'f', -1, 64) }

// Compare compares other with a baseline: percentiles (above 0, below 100), mean and
// IOPS of each direction that has I/O in one of them, and of all of them together if
// there are several.
//
// Limits come from a circular block bootstrap over quanta (Politis and Romano, "A
// circular block-resampling procedure for stationary data", 1992; after Künsch, "The
// jackknife and the bootstrap for general stationary observations", Annals of
// Statistics 17, 1989): 1,000 times each run is put together anew from blocks of its
// own neighbouring quanta, all directions alike, and its numbers are computed from
// the sum of their histograms. Blocks are as long as the run's memory asks for
// (blockLength), measured in what a quantum adds to each number. The limits of the
// logarithm of a ratio are its value -+ c times its standard deviation over the
// resamples, with one c for all numbers: that which the largest standardized
// deviation of any of them stays below in 95 % of the resamples (Romano and Wolf,
// "Exact and approximate stepdown methods for multiple hypothesis testing", JASA
// 100, 2005), widened as Student's t is for as few degrees of freedom as there are
// blocks. So all limits of a comparison hold at once with 95 % confidence.
func Compare(baseline, other *Series, percentiles []float64) (*Result, error) {
	return compare(baseline, other, percentiles, resamples)
}

func compare(baseline, other *Series, percentiles []float64, times int) (*Result, error) {
	g, err := baseline.geometry.Common(other.geometry)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", baseline.Name, other.Name, err)
	}
	var dirs []int
	for d := range Directions[1:] {
		if baseline.has(d+1) || other.has(d+1) {
			dirs = append(dirs, d+1)
		}
	}
	if len(dirs) > 1 {
		dirs = append([]int{0}, dirs...)
	}
	a, b := newSample(baseline, g, dirs, percentiles), newSample(other, g, dirs, percentiles)
	r := &Result{Baseline: a.side(), Other: b.side()}
	names := make([]string, 0, len(percentiles)+2)
	for _, p := range percentiles {
		names = append(names, MetricName(p))
	}
	names = append(names, "mean", "iops")
	for k, d := range dirs {
		for m, name := range names {
			row := Row{Direction: Directions[d], Metric: name, Verdict: Unknown}
			i := k*len(names) + m
			va, vb := a.value[i], b.value[i]
			if !math.IsNaN(va) {
				row.Baseline = &va
			}
			if !math.IsNaN(vb) {
				row.Other = &vb
			}
			row.AtLeast = a.atLeast[i] || b.atLeast[i]
			if change := vb/va - 1; va > 0 && vb > 0 && !row.AtLeast {
				row.Change = &change
			}
			r.Rows = append(r.Rows, row)
		}
	}
	for _, s := range []*sample{a, b} {
		if why := s.few(); why != "" {
			r.Note = fmt.Sprintf("no limits: %s %s; choose a shorter --interval, or longer runs", s.of.Name, why)
			return r, nil
		}
	}
	freedom := min(float64(len(baseline.at))/float64(a.block), float64(len(other.at))/float64(b.block)) - 1
	limits(r.Rows, a.resample(0, times), b.resample(1, times), freedom)
	return r, nil
}

// limits fills in the limits of all rows that have a change, from the values of
// each resample.
func limits(rows []Row, a, b [][]float64, freedom float64) {
	largest := make([]float64, len(a))
	deviation := make([]float64, len(rows))
	ratio := make([]float64, len(a))
	for i, row := range rows {
		if row.Change == nil {
			continue
		}
		center, sd := math.Log1p(*row.Change), 0.0
		for r := range a {
			ratio[r] = math.Log(b[r][i] / a[r][i])
			sd += (ratio[r] - center) * (ratio[r] - center)
		}
		sd = math.Sqrt(sd / float64(len(a)))
		deviation[i] = sd
		if !(sd > 0) { // NaN: a resample had no I/O at all
			continue
		}
		for r := range a {
			largest[r] = max(largest[r], math.Abs(ratio[r]-center)/sd)
		}
	}
	slices.Sort(largest)
	c := student(largest[int(math.Ceil(Confidence*float64(len(largest))))-1], freedom)
	for i := range rows {
		row := &rows[i]
		if row.Change == nil || math.IsNaN(deviation[i]) || math.IsInf(deviation[i], 0) {
			continue
		}
		center := math.Log1p(*row.Change)
		low, high := math.Expm1(center-c*deviation[i]), math.Expm1(center+c*deviation[i])
		row.Low, row.High, row.Verdict = &low, &high, None
		switch {
		case low > 0:
			row.Verdict = Higher
		case high < 0:
			row.Verdict = Lower
		}
	}
}

// student widens a quantile z of the normal distribution to that of Student's t with
// so many degrees of freedom (Abramowitz and Stegun, 26.7.5).
func student(z, freedom float64) float64 {
	z3, z5 := z*z*z, z*z*z*z*z
	return z + (z3+z)/(4*freedom) + (5*z5+16*z3+3*z)/(96*freedom*freedom)
}

// has says that the series has I/O of a direction.
func (s *Series) has(d int) bool {
	return slices.ContainsFunc(s.at, func(q quantum) bool { return len(q.hists[d].index) > 0 })
}

// sample is a series made ready to be resampled: the buckets of each direction that
// occur at all are numbered without gaps.
type sample struct {
	of          *Series
	percentiles []float64
	dirs        []compact
	value       []float64 // by direction, then percentiles, mean, IOPS; NaN without I/O
	atLeast     []bool
	block       int
}

// compact is one direction of a sample, or the sum of all.
type compact struct {
	lower, upper, middle []float64 // ns, by number of the bucket
	last                 int       // the number of fio's last bucket; -1 if it does not occur
	quanta               []sparse  // by number
	inAll                []uint16  // the numbers that the buckets have in the sum of all
}

func newSample(s *Series, g fiohist.Geometry, dirs []int, percentiles []float64) *sample {
	out := &sample{of: s, percentiles: percentiles}
	shift := g.Coarseness - s.geometry.Coarseness
	var all []uint16 // the numbers of the first direction, by bucket
	for _, d := range dirs {
		c := compact{last: -1, quanta: make([]sparse, len(s.at))}
		var total fiohist.Hist
		for i := range s.at {
			var h fiohist.Hist
			s.at[i].hists[d].addTo(&h, shift)
			c.quanta[i] = sparseOf(&h)
			total.AddHist(&h)
		}
		number := make([]uint16, g.Columns())
		total.Each(func(i int, _ float64) {
			number[i] = uint16(len(c.lower))
			if i == g.Last() {
				c.last = len(c.lower)
			}
			c.lower, c.upper, c.middle = append(c.lower, float64(g.Lower(i))), append(c.upper, float64(g.Upper(i))), append(c.middle, g.Middle(i))
			if all != nil {
				c.inAll = append(c.inAll, all[i])
			}
		})
		if all == nil {
			all = number
		}
		for _, q := range c.quanta {
			for k, i := range q.index {
				q.index[k] = number[i]
			}
		}
		out.dirs = append(out.dirs, c)
	}
	out.value = make([]float64, len(dirs)*out.metrics())
	out.atLeast = make([]bool, len(out.value))
	out.compute(slices.Repeat([]int{1}, len(s.at)), out.value, out.buffers(), out.atLeast)
	out.block = out.memory()
	return out
}

// metrics is the number of values of a direction.
func (s *sample) metrics() int { return len(s.percentiles) + 2 }

func (s *sample) side() Side {
	return Side{Name: s.of.Name, Quanta: len(s.of.at), IntervalMS: float64(s.of.interval*s.of.fold) / 1e6, Block: s.block}
}

// few says why there are too few quanta to know the noise; "" if there are not.
func (s *sample) few() string {
	n := 0
	for _, q := range s.of.at {
		if len(q.hists[0].index) > 0 {
			n++
		}
	}
	if n < fewest {
		return fmt.Sprintf("has I/O in %d intervals of %g s, and it takes %d to know its noise", n, float64(s.of.interval*s.of.fold)/1e9, fewest)
	}
	return ""
}

// buffers are for the counts of each direction.
func (s *sample) buffers() (counts [][]float64) {
	for _, d := range s.dirs {
		counts = append(counts, make([]float64, len(d.lower)))
	}
	return counts
}

// compute writes the values of the run in which each quantum occurs so many times.
func (s *sample) compute(weights []int, values []float64, counts [][]float64, atLeast []bool) {
	covered := 0.0
	for q, w := range weights {
		covered += float64(w) * s.of.at[q].covered
	}
	clear(counts[0])
	from := min(len(s.dirs)-1, 1) // where there are several, the first is the sum of the others
	for d := from; d < len(s.dirs); d++ {
		c, to := &s.dirs[d], counts[d]
		clear(to)
		for q, w := range weights {
			if w == 0 {
				continue
			}
			h, times := &c.quanta[q], float64(w)
			for i, b := range h.index {
				to[b] += times * h.count[i]
			}
		}
		if from > 0 {
			for i, n := range to {
				counts[0][c.inAll[i]] += n
			}
		}
	}
	for d := range s.dirs {
		c := &s.dirs[d]
		n, mean := 0.0, 0.0
		for i, k := range counts[d] {
			n += k
			mean += k * c.middle[i]
		}
		out := values[d*s.metrics() : (d+1)*s.metrics()]
		for k, p := range s.percentiles {
			i, v := c.percentile(counts[d], n, p)
			out[k] = v
			if atLeast != nil {
				atLeast[d*s.metrics()+k] = i == c.last && n > 0
			}
		}
		k := len(s.percentiles)
		out[k], out[k+1] = mean/n, n/covered // NaN without I/O
		if n == 0 {
			out[k+1] = math.NaN()
		}
	}
}

// percentile is fiohist's, on numbered buckets.
func (c *compact) percentile(counts []float64, n, p float64) (bucket int, value float64) {
	want, sum := n*p/100, 0.0
	for i, k := range counts {
		if k != 0 && sum+k >= want-1e-9*n {
			if i == c.last {
				return i, c.lower[i]
			}
			return i, c.lower[i] + min(max((want-sum)/k, 0), 1)*(c.upper[i]-c.lower[i])
		}
		sum += k
	}
	return -1, math.NaN()
}

// memory is the length of the blocks that the sample must be drawn in: the longest
// that one of its values asks for, but a fifth of the sample at most: Student's t
// with as many degrees of freedom as there are blocks makes up for that. What a quantum adds to a value is, to first
// order, the series whose memory matters: to IOPS its completions less those expected
// of it, to the mean the sum of its latencies less the mean, to a percentile its I/Os
// above that less the share expected.
func (s *sample) memory() int {
	longest := 1.0
	z := make([]float64, len(s.of.at))
	see := func(f func(q *quantum, h *sparse) float64, c *compact) {
		for q := range z {
			z[q] = f(&s.of.at[q], &c.quanta[q])
		}
		longest = max(longest, blockLength(z))
	}
	for d := range s.dirs {
		c := &s.dirs[d]
		values := s.value[d*s.metrics() : (d+1)*s.metrics()]
		if len(c.lower) == 0 {
			continue
		}
		k := len(s.percentiles)
		mean, iops := values[k], values[k+1]
		see(func(q *quantum, h *sparse) float64 { return h.sum() - iops*q.covered }, c)
		see(func(_ *quantum, h *sparse) (off float64) {
			for i, b := range h.index {
				off += h.count[i] * (c.middle[b] - mean)
			}
			return off
		}, c)
		for k, p := range s.percentiles {
			v := values[k]
			see(func(_ *quantum, h *sparse) (off float64) {
				for i, b := range h.index {
					above := min(max((c.upper[b]-v)/(c.upper[b]-c.lower[b]), 0), 1)
					off += h.count[i] * (above - (1 - p/100))
				}
				return off
			}, c)
		}
	}
	return max(1, int(min(math.Ceil(longest-1e-9), float64(len(s.of.at)/fewestBlocks))))
}

// resample computes the values of so many runs put together anew from blocks of
// this one's quanta, which is taken as a ring. The stream tells the random numbers of
// one run from those of another; each resample has its own, so that it does not
// matter who computes it.
func (s *sample) resample(stream uint64, times int) [][]float64 {
	out := make([][]float64, times)
	workers := min(runtime.GOMAXPROCS(0), times)
	n := len(s.of.at)
	var g sync.WaitGroup
	for w := range workers {
		g.Go(func() {
			weights, counts := make([]int, n), s.buffers()
			for r := w; r < times; r += workers {
				rng := rand.New(rand.NewPCG(seed+stream, uint64(r)))
				clear(weights)
				for left := n; left > 0; {
					start := rng.IntN(n)
					for k := range min(s.block, left) {
						weights[(start+k)%n]++
					}
					left -= s.block
				}
				out[r] = make([]float64, len(s.value))
				s.compute(weights, out[r], counts, nil)
			}
		})
	}
	g.Wait()
	return out
}
