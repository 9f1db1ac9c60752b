package compare

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"fiolat/fio/fiohist"
)

// measured holds the values of a group's runs, without their intervals. Two-dimensional fields are indexed [run][row]
// unless they say otherwise.
type measured struct {
	side    Side
	value   [][]float64 // NaN without I/O
	log     [][]float64 // logarithm of value
	atLeast [][]bool    // value fell into fio's last bucket
	within  [][]float64 // variance of log from the noise within the run; NaN if unknown
	draws   [][]float64 // [resample][row] of the first run: deviation from log
	tooFew  string      // why the noise within a run is unknown, or ""
	names   []string    // of the runs
	figures []string    // of those that are Series.FiguresOnly
	// starts are when the runs began, in ns since 1970, valid if startsKnown.
	starts      []int64
	startsKnown bool
	// freedom is the smallest degrees of freedom of within over the runs. Overlapping blocks have 1.5 times as many
	// as blocks that do not overlap (Meketon and Schmeiser, "Overlapping batch means: something for nothing?", Winter
	// Simulation Conference 1984).
	freedom int
}

// measure computes the rows of each run and their noise. The stream, 0 or 1, separates the random numbers of the two
// sides.
func measure(g *Group, geometry fiohist.Geometry, dirs []int, percentiles []float64, stream uint64,
	times int) *measured {
	m := &measured{side: Side{Name: g.Name, Runs: len(g.Runs)}, freedom: fiohist.ManyDegrees,
		startsKnown: true}
	samples := make([]*sample, len(g.Runs))
	for i, run := range g.Runs {
		samples[i] = newSample(run, geometry, dirs, percentiles)
	}
	// Their values give the runs the same random numbers in any order of arguments, from logs as from documents.
	slices.SortStableFunc(samples, func(a, b *sample) int { return slices.Compare(a.value, b.value) })
	for i, s := range samples {
		run := s.series
		logs, within := make([]float64, len(s.value)), make([]float64, len(s.value))
		for row, v := range s.value {
			logs[row], within[row] = math.Log(v), math.NaN()
		}
		if why := s.tooFewReason(); why != "" {
			m.tooFew = cmp.Or(m.tooFew, why)
		} else {
			clear(within)
			draws := s.resample(stream+2*uint64(i), times)
			for _, d := range draws {
				for row := range d {
					d[row] = math.Log(d[row]) - logs[row]
					within[row] += d[row] * d[row] / float64(times)
				}
			}
			if i == 0 {
				m.draws = draws
			}
		}
		m.value, m.log, m.within = append(m.value, s.value), append(m.log, logs), append(m.within, within)
		m.atLeast = append(m.atLeast, s.atLeast)
		if run.FiguresOnly {
			m.figures = append(m.figures, run.Name)
		} else {
			m.side.Intervals += len(run.steps)
			m.side.IntervalMS = max(m.side.IntervalMS, float64(run.interval*run.fold)/1e6)
			m.side.Block = max(m.side.Block, s.block)
		}
		m.names, m.starts = append(m.names, run.Name), append(m.starts, run.start)
		m.startsKnown = m.startsKnown && run.startKnown
		m.freedom = min(m.freedom, max(1, 3*len(run.steps)/(2*s.block)-1))
	}
	return m
}

// mean returns the geometric mean of the runs' values of a row; nil if a run has none.
func (m *measured) mean(row int) *float64 {
	v := m.value[0][row]
	if len(m.value) > 1 {
		v = math.Exp(m.center(row))
	}
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// center returns the mean logarithm of a row.
func (m *measured) center(row int) (mean float64) {
	for _, run := range m.log {
		mean += run[row] / float64(len(m.log))
	}
	return mean
}

// squares returns the sum of the squared deviations of the runs' logarithms from the mean of a row.
func (m *measured) squares(row int) (sum float64) {
	center := m.center(row)
	for _, run := range m.log {
		sum += (run[row] - center) * (run[row] - center)
	}
	return sum
}

// noise returns the variance of a group's mean that comes from the noise within its runs.
func (m *measured) noise(row int) (sum float64) {
	n := float64(len(m.within))
	for _, run := range m.within {
		sum += run[row] / n / n
	}
	return sum
}

func (m *measured) anyAtLeast(row int) bool {
	return slices.ContainsFunc(m.atLeast, func(run []bool) bool { return run[row] })
}

// before reports whether all runs are known to have begun before those of another group.
func (m *measured) before(other *measured) bool {
	return m.startsKnown && other.startsKnown && slices.Max(m.starts) < slices.Min(other.starts)
}

// trend is the order in which the runs of two groups started.
type trend struct {
	a, b     []float64 // ranks of the runs less the mean of their group
	apart    float64   // mean rank of b less that of a
	together float64   // sum of the squares of a and b
}

// mostAligned is the largest squared correlation of the group with the order of starts in alternated runs.
const mostAligned = 0.25

// order returns the trend of two groups, or nil if their runs were alternated or their order is not known.
func order(a, b *measured) *trend {
	if !a.startsKnown || !b.startsKnown || len(a.starts) == 0 || len(b.starts) == 0 {
		return nil
	}
	all := slices.Sorted(slices.Values(slices.Concat(a.starts, b.starts)))
	t := &trend{}
	center := func(starts []int64) (ranks []float64, mean float64) {
		for _, start := range starts {
			first, _ := slices.BinarySearch(all, start)
			ranks = append(ranks, float64(first))
			mean += float64(first) / float64(len(starts))
		}
		for i := range ranks {
			ranks[i] -= mean
			t.together += ranks[i] * ranks[i]
		}
		return ranks, mean
	}
	var ma, mb float64
	t.a, ma = center(a.starts)
	t.b, mb = center(b.starts)
	t.apart = mb - ma
	na, nb := float64(len(a.starts)), float64(len(b.starts))
	between := t.apart * t.apart * na * nb / (na + nb)
	if t.together == 0 || between <= mostAligned*(between+t.together) {
		return nil
	}
	return t
}

// slope returns the steady drift of a row from run to run within the groups, and by how much it lowers the sum of
// their squares.
func (t *trend) slope(a, b *measured, row int) (slope, explained float64) {
	product := 0.0
	for i, x := range t.a {
		product += x * a.log[i][row]
	}
	for i, x := range t.b {
		product += x * b.log[i][row]
	}
	return product / t.together, product * product / t.together
}

// estimate is the estimated logarithm of the ratio of two values.
type estimate struct {
	center  float64
	se      float64 // standard error; NaN if unknown
	freedom int     // degrees of freedom of se
	within  bool    // se comes from the noise within the runs
	// drift is how much a steady drift of the machine would make of center. The limits allow for it and for none.
	drift float64
	sd    float64 // standard deviation between runs, without drift
	// steady is the estimate if the machine did not drift; nil if the runs were alternated.
	steady *estimate
}

// estimates fills in the estimate of each row and how the rows are correlated. Where the runs of the two groups were
// not alternated, the variance comes from a regression on group and order of starts.
func (r *Result) estimates(a, b *measured, noise []RunNoise) {
	na, nb := float64(len(a.log)), float64(len(b.log))
	freedom := len(a.log) + len(b.log) - 2
	spread := freedom > 0 && (r.enoughRuns || len(noise) == 0)
	anyGiven := false
	for i := range r.all {
		row := &r.all[i]
		e := estimate{center: b.center(i) - a.center(i), se: math.NaN(), freedom: freedom}
		within := a.noise(i) + b.noise(i)
		given := sigma(noise, row.Direction, row.Metric)
		between := math.NaN()
		switch {
		case row.Change == nil:
		case spread || freedom > 0 && given == nil:
			sa, sb := a.squares(i), b.squares(i)
			pooled := (sa + sb) / float64(freedom)
			row.RunNoise = share(math.Sqrt(pooled))
			between = pooled * (1/na + 1/nb)
			if na > 1 && nb > 1 {
				between = max(between, sa/(na-1)/na+sb/(nb-1)/nb)
			}
			if (r.Steady || r.trend != nil) && na > 1 && nb > 1 { // Welch's t-test
				va, vb := sa/(na-1)/na, sb/(nb-1)/nb
				between, e.freedom = va+vb, max(1, int((va+vb)*(va+vb)/(va*va/(na-1)+vb*vb/(nb-1))))
			}
			if r.trend != nil {
				steady := between
				if within > between { // not max: it may be NaN
					steady = within
				}
				e.steady = &estimate{center: e.center, se: math.Sqrt(steady), freedom: e.freedom}
				slope, explained := r.trend.slope(a, b, i)
				e.freedom, e.drift = freedom-1, slope*r.trend.apart
				pooled = max(0, sa+sb-explained) / float64(e.freedom)
				between = pooled * (1/na + 1/nb + r.trend.apart*r.trend.apart/r.trend.together)
			}
			e.sd = math.Sqrt(pooled)
		case given != nil && given.SD > 0:
			anyGiven = true
			between = given.SD * given.SD * (1/na + 1/nb)
			row.RunNoise, row.NoiseGiven, row.NoiseRuns = share(given.SD), true, given.runs()
			e.freedom, e.sd = row.NoiseRuns-1, given.SD
		}
		variance := between
		if !(within <= between) && !math.IsNaN(within) && row.Change != nil {
			variance, e.within = within, true
			if freedom == 0 {
				e.freedom = min(a.freedom, b.freedom)
			}
		}
		e.se = math.Sqrt(variance)
		r.estimate = append(r.estimate, e)
	}
	r.sampler = func(rows []int) [][]float64 {
		switch {
		case spread:
			return residualDeviates(rows, a, b)
		case anyGiven || freedom > 0:
			return independentDeviates(len(rows))
		}
		return drawnDeviates(rows, r.estimate, a, b)
	}
}

// share converts a standard deviation of logarithms to a share of the value.
func share(sd float64) *float64 {
	v := math.Expm1(sd)
	return &v
}

// errorSampler returns a random sample of the joint errors of some rows, [sample][row], as standard normal deviates.
// NaN marks a row whose error is unknown.
type errorSampler func(rows []int) [][]float64

// alpha returns the error probability per row at which the limits of all rows hold jointly with the given confidence:
// max-t (Romano and Wolf, "Exact and approximate stepdown methods for multiple hypothesis testing", JASA 100, 2005).
func (d errorSampler) alpha(rows []int, confidence float64) float64 {
	var largest []float64
	for _, sample := range d(slices.Sorted(slices.Values(rows))) {
		most := 0.0
		for _, v := range sample {
			v = math.Abs(v)
			if v > most { // false for NaN
				most = v
			}
		}
		largest = append(largest, most)
	}
	if len(largest) == 0 {
		return 1 - confidence
	}
	slices.Sort(largest)
	z := largest[int(math.Ceil(confidence*float64(len(largest))))-1]
	return min(math.Erfc(z/math.Sqrt2), 1-confidence)
}

// deviateSamples give the 99 % quantile to about 2 %.
const deviateSamples = 5000

// independentDeviates ignores any correlation of the rows, which makes alpha conservative (Šidák, "Rectangular
// confidence regions for the means of multivariate normal distributions", JASA 62, 1967).
func independentDeviates(rows int) [][]float64 {
	d := make([][]float64, deviateSamples)
	for s := range d {
		rng := rand.New(rand.NewPCG(seed, uint64(s)))
		d[s] = make([]float64, rows)
		for row := range d[s] {
			d[s][row] = rng.NormFloat64()
		}
	}
	return d
}

// residualDeviates have the correlation of the runs' residuals in their group, shrunk towards independence according
// to its sampling error (Schäfer and Strimmer, "A shrinkage approach to large-scale covariance matrix estimation",
// Statistical Applications in Genetics and Molecular Biology 4, 2005).
func residualDeviates(rows []int, a, b *measured) [][]float64 {
	var residuals [][]float64
	for _, m := range []*measured{a, b} {
		for _, run := range m.log {
			residual := make([]float64, len(rows))
			for i, row := range rows {
				residual[i] = run[row] - m.center(row)
			}
			residuals = append(residuals, residual)
		}
	}
	for i, row := range rows {
		length := math.Sqrt(a.squares(row) + b.squares(row))
		for _, r := range residuals {
			r[i] /= length
			if math.IsNaN(r[i]) || math.IsInf(r[i], 0) {
				r[i] = 0
			}
		}
	}
	freedom := float64(len(residuals) - 2)
	variances, squares := 0.0, 0.0
	for i := range rows {
		for j := range i {
			correlation := 0.0
			for _, r := range residuals {
				correlation += r[i] * r[j]
			}
			squares += correlation * correlation
			unexplained := min(1, (1-correlation*correlation)/(1-1/freedom)) // adjusted for the number of runs
			variances += unexplained * unexplained / freedom
		}
	}
	shrink := 1.0
	if squares > variances {
		shrink = variances / squares
	}
	own, shared := math.Sqrt(shrink), math.Sqrt(1-shrink)
	d := independentDeviates(len(rows))
	for s := range d {
		rng := rand.New(rand.NewPCG(seed+1, uint64(s)))
		for row := range d[s] {
			d[s][row] *= own
		}
		for _, r := range residuals {
			z := shared * rng.NormFloat64()
			for row := range r {
				d[s][row] += z * r[row]
			}
		}
	}
	return d
}

// drawnDeviates are taken from the resamples of two single runs.
func drawnDeviates(rows []int, estimates []estimate, a, b *measured) [][]float64 {
	d := make([][]float64, min(len(a.draws), len(b.draws)))
	for s := range d {
		d[s] = make([]float64, len(rows))
		for i, row := range rows {
			d[s][i] = (b.draws[s][row] - a.draws[s][row]) / estimates[row].se
		}
	}
	return d
}

// Noise is the spread of one metric over the runs of a group.
type Noise struct {
	Direction string `json:"direction"`
	Metric    string `json:"metric"`
	// Value is the geometric mean over the runs; nil where one has no I/O of that direction.
	Value *float64 `json:"value"`
	// RunNoise is the standard deviation between the runs, as a share; nil if unknown.
	RunNoise *float64 `json:"run_noise"`
}

// Spread measures the noise between the runs of a group, which has at least 2. The notes are warnings.
func Spread(g *Group, percentiles []float64) (side Side, out []Noise, notes []string, err error) {
	geometry, err := common(g)
	if err != nil {
		return Side{}, nil, nil, err
	}
	dirs := directionsOf(g)
	if len(dirs) == 0 {
		return Side{}, nil, nil, noDirections(g)
	}
	m := measure(g, geometry, dirs, percentiles, 0, 0)
	names := rowNames(dirs, percentiles)
	var known []int
	loud := false
	for i, name := range names {
		n := Noise{Direction: name[0], Metric: name[1], Value: m.mean(i)}
		if sd := math.Sqrt(m.squares(i) / float64(len(m.log)-1)); !math.IsNaN(sd) && !m.anyAtLeast(i) {
			n.RunNoise = share(sd)
			loud = loud || *n.RunNoise >= nothingFrom
			if name[0] == names[0][0] { // the sum of all directions shows an unlike run, too
				known = append(known, i)
			}
		}
		out = append(out, n)
	}
	if len(m.figures) > 0 {
		notes = append(notes, figuresOnly("", m.figures))
	}
	if u := outlier([]*measured{m}, known, names, Margin); u != nil {
		notes = append(notes, u.String())
	}
	if loud {
		notes = append(notes, nothingTold)
	}
	return m.side, out, notes, nil
}
