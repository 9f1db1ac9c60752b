package compare

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"fiolat/analysis/figures"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
)

const (
	// Confidence is the joint confidence level of the limits of a comparison.
	Confidence = 0.95
	// GateConfidence is the joint confidence level of the limits by which rules are judged.
	GateConfidence = 0.99
	// Margin is the default of Options.Margin.
	Margin = 0.05
	// resamples is the number of bootstrap resamples of a run. The variance alone needs fewer.
	resamples      = 1000
	groupResamples = 200
	// seed makes the resamples reproducible.
	seed = 0xf10
	// fewest is the least number of intervals with I/O from which a run's noise is estimated.
	fewest = 10
	// fewestBlocks is the least number of blocks in a run. It limits the block length.
	fewestBlocks = 5
	// fewRuns is the number of runs in each group from which the noise between runs is estimated.
	fewRuns = 3
	// BaselineRuns in one group are enough for that.
	BaselineRuns = 5
)

// family lists the percentiles whose rows, with those of mean and IOPS, have joint limits, whatever is shown.
var family = []float64{50, 90, 99, 99.9}

// Verdict classifies a change.
type Verdict string

// The verdicts.
const (
	Higher       Verdict = "higher"
	Lower        Verdict = "lower"
	Same         Verdict = "same"         // the limits are within the margin
	Inconclusive Verdict = "inconclusive" // the limits include no change and changes beyond the margin
)

// Row compares one metric of one direction.
type Row struct {
	Direction string `json:"direction"`
	// Metric is p50, p99.9, ..., mean (ns), or iops (1/s).
	Metric string `json:"metric"`
	// Baseline and Other are its values, for groups the geometric means over their runs; nil if a run has no I/O of
	// that direction.
	Baseline *float64 `json:"baseline"`
	Other    *float64 `json:"other"`
	// AtLeast says that a percentile fell into fio's last bucket in one of the runs. The values are then lower
	// bounds, and the change is unknown.
	AtLeast bool `json:"at_least,omitempty"`
	// Change is Other / Baseline - 1, with its confidence limits. They are nil if unknown.
	Change     *float64 `json:"change"`
	fio.Limits `json:"ci"`
	// RunNoise is the standard deviation between repeated runs, as a share: measured (pooled over both groups) or
	// given; nil if unknown.
	RunNoise *float64 `json:"run_noise"`
	// NoiseGiven says that RunNoise was given, not measured.
	NoiseGiven bool `json:"run_noise_given,omitempty"`
	// NoiseRuns is the number of runs that a given RunNoise was measured over.
	NoiseRuns int     `json:"run_noise_runs,omitempty"`
	Verdict   Verdict `json:"verdict"`
	// Confidence is the joint confidence level of the limits.
	Confidence float64 `json:"confidence"`
	// Ruled says that a rule is about the row.
	Ruled bool `json:"ruled,omitempty"`
	// Advice is what would make an inconclusive row conclusive.
	Advice string `json:"advice,omitempty"`
}

// Side describes one of the two groups of a comparison.
type Side struct {
	Name string `json:"name"`
	Runs int    `json:"runs"`
	// Intervals is the number of intervals of all runs, each IntervalMS long; 0 if they were deleted. In long runs
	// each is several intervals of the logs added up.
	Intervals  int     `json:"quanta"`
	IntervalMS float64 `json:"interval_ms"`
	// Block is the block length of the bootstrap in intervals.
	Block int `json:"block"`
}

// Result is the comparison of a group of runs with a baseline.
type Result struct {
	// Host or Job is the part that is compared; without both it is the whole run.
	Host     string `json:"host,omitempty"`
	Job      string `json:"job,omitempty"`
	Baseline Side   `json:"baseline"`
	Other    Side   `json:"other"`
	Rows     []Row  `json:"rows"`
	// Outliers are the single slow I/Os of each direction that has some, and those of rules.
	Outliers []Slow `json:"outliers,omitempty"`
	// Differs are the job options in which the two differ.
	Differs []Difference `json:"differs,omitempty"`
	// Caveat warns of too few repeated runs.
	Caveat string `json:"caveat,omitempty"`
	// Steady says that the runs were not alternated, and the machine is taken as steady.
	Steady bool `json:"steady,omitempty"`
	// Unlike is a run that makes rows inconclusive, since it differs from the others of its group.
	Unlike *Unlike `json:"unlike,omitempty"`
	// Note says why there are no limits, or gives other warnings.
	Note string `json:"note,omitempty"`

	all        []Row     // Rows, and the rows of the family that are not shown
	shown      []float64 // the percentiles of Rows
	tables     int       // Options.Tables
	margin     float64   // Options.Margin
	slow       func(d int, above float64) *Slow
	estimate   []estimate // parallel to all
	sampler    errorSampler
	enoughRuns bool   // there are enough runs to estimate the noise between them
	trend      *trend // nil if the runs were alternated
}

// find returns the index in r.all of a direction and metric, or -1. In a run of a single direction, that one also
// serves as the sum of all.
func (r *Result) find(direction, metric string) int {
	return slices.IndexFunc(r.all, func(row Row) bool {
		return row.Metric == metric &&
			(row.Direction == direction || direction == fio.All && r.all[0].Direction != fio.All)
	})
}

// metricName returns the name of a percentile in results and rules, such as p99.9.
func metricName(p float64) string { return fio.PercentileMetric("", p).Name }

// Group is one side of a comparison: one run, or several repeated runs.
type Group struct {
	Name string
	Runs []*Series
	Of   fio.Dims // the host or job that all Runs are of
	// ByName means that it is one of several of its workload, and to be compared with one of its name.
	ByName bool
}

// Difference is a job option whose values differ; "" is unset.
type Difference struct {
	Option string `json:"option"`
	From   string `json:"baseline"`
	To     string `json:"other"`
}

// differs returns the options in which two groups differ, where those of both are known.
func differs(a, b *Group) (out []Difference) {
	var rows []figures.Row
	var of [2]map[string]string
	for i, g := range []*Group{a, b} {
		values := map[string][]string{}
		for _, s := range g.Runs {
			for k, v := range s.Options {
				if !slices.Contains(values[k], v) {
					values[k] = append(values[k], v)
				}
			}
		}
		if len(values) == 0 {
			return nil
		}
		of[i] = map[string]string{}
		for k, v := range values {
			of[i][k] = strings.Join(slices.SortedFunc(slices.Values(v), fiojson.CompareValues), ",")
		}
		rows = append(rows, figures.Row{Run: strconv.Itoa(i), Options: of[i]})
	}
	for _, k := range figures.Differing(rows) {
		out = append(out, Difference{k, of[0][k], of[1][k]})
	}
	return out
}

// Options configure Compare.
type Options struct {
	// Percentiles are those shown, above 0 and below 100. The limits do not depend on them.
	Percentiles []float64
	// Rules are those to be judged. Their percentiles are shown as well.
	Rules []Rule
	// Margin is the largest change, as a share, that counts as no change.
	Margin float64
	// RunNoise is the known noise between repeated runs.
	RunNoise []RunNoise
	// Series says that the baseline is a series of earlier runs, which cannot be alternated with the other.
	Series bool
	// Steady says that the machine does not drift, so that the runs need not be alternated.
	Steady bool
	// Tables is the number of comparisons in which all limits hold together; 0 is one.
	Tables int
	// times is the number of resamples of a run; 0 for the default.
	times int
}

// Compare compares other with a baseline: percentiles, mean and IOPS of each direction that has I/O in one of them,
// and of the sum of all directions if there are several. The value of a group is the geometric mean of its runs'
// values. All limits are of the logarithm of a ratio: estimate -+ c times its standard error.
//
// The standard error comes from the variance between the runs of a group, pooled over both groups, or not pooled if
// that is larger. It is not below that of the noise within the runs, which a circular block bootstrap over intervals
// estimates (Politis and Romano, "A circular block-resampling procedure for stationary data", 1992; after Künsch,
// "The jackknife and the bootstrap for general stationary observations", Annals of Statistics 17, 1989): each run is
// resampled many times in blocks of neighbouring intervals, the same ones for all directions, and its metrics are
// computed from the sum of the resampled histograms. blockLength chooses the length of the blocks. With single runs
// there is only this noise, and Options.RunNoise.
//
// The limits of a comparison hold jointly: c is the quantile of Student's t at an error probability, the same for all
// rows, such that the limits of all rows of the family hold with 95 % confidence, given the correlation of the rows
// (see errorSampler).
func Compare(baseline, other *Group, o Options) (*Result, error) {
	g, err := common(baseline, other)
	if err != nil {
		return nil, err
	}
	shown := percentilesOf(o.Percentiles, o.Rules)
	computed := slices.Clone(shown)
	for _, p := range family {
		if !slices.Contains(computed, p) {
			computed = append(computed, p)
		}
	}
	slices.Sort(computed) // so that their order does not depend on what is shown
	dirs := directionsOf(baseline, other)
	if len(dirs) == 0 {
		return nil, noDirections(other)
	}
	times := o.times
	if times == 0 && len(baseline.Runs)+len(other.Runs) > 2 {
		times = groupResamples
	}
	times = cmp.Or(times, resamples)
	a, b := measure(baseline, g, dirs, computed, 0, times), measure(other, g, dirs, computed, 1, times)
	r := judge(a, b, rowNames(dirs, computed), shown, o)
	r.Host, r.Job, r.Differs = other.Of.Host, other.Of.Job, differs(baseline, other)
	r.slow = func(d int, above float64) *Slow { return slowOf(baseline, other, g, d, above) }
	for _, d := range dirs {
		if s := r.slow(d, 0); d > 0 && s != nil {
			r.Outliers = append(r.Outliers, *s)
		}
	}
	return r, nil
}

func judge(a, b *measured, names [][2]string, shown []float64, o Options) *Result {
	na, nb := len(a.log), len(b.log)
	r := &Result{Baseline: a.side, Other: b.side, tables: o.Tables, margin: o.Margin}
	r.enoughRuns = min(na, nb) >= fewRuns || max(na, nb) >= BaselineRuns
	for i, name := range names {
		row := Row{Direction: name[0], Metric: name[1], Verdict: Inconclusive, Confidence: Confidence}
		row.Baseline, row.Other = a.mean(i), b.mean(i)
		row.AtLeast = a.anyAtLeast(i) || b.anyAtLeast(i)
		if va, vb := row.Baseline, row.Other; va != nil && vb != nil && *va > 0 && *vb > 0 && !row.AtLeast {
			row.Change = new(*vb / *va - 1)
		}
		r.all = append(r.all, row)
	}
	if r.enoughRuns && !o.Series {
		r.trend = order(a, b)
	}
	r.Steady = o.Steady && r.trend != nil
	if r.Steady {
		r.trend = nil
	}
	r.estimates(a, b, o.RunNoise)
	r.judge(o.Margin)
	r.shown = shown
	r.show()
	var open []int
	for i := range r.all {
		// The sum of all directions comes first and shows it, too.
		if r.all[i].Advice != "" && inFamily(&r.all[i]) && (len(open) == 0 ||
			r.all[open[0]].Direction == r.all[i].Direction) {
			open = append(open, i)
		}
	}
	r.Unlike = outlier([]*measured{a, b}, open, names, o.Margin)
	r.remarks(a, b, o)
	return r
}

// show sets the rows that are shown.
func (r *Result) show() {
	r.Rows = nil
	for _, row := range r.all {
		if row.Metric != metrics.Names[0] { // follows the percentiles of its direction
			continue
		}
		for _, p := range r.shown {
			r.Rows = append(r.Rows, r.all[r.find(row.Direction, metricName(p))])
		}
		for _, name := range metrics.Names {
			r.Rows = append(r.Rows, r.all[r.find(row.Direction, name)])
		}
	}
}

// common returns the finest geometry to which the buckets of all runs can be added up.
func common(groups ...*Group) (g fiohist.Geometry, err error) {
	var first *Series
	for _, group := range groups {
		for _, s := range group.Runs {
			switch {
			case s.rows != nil:
				continue
			case first == nil:
				first, g = s, s.geometry
			}
			if g, err = g.Common(s.geometry); err != nil {
				return g, fmt.Errorf("%s and %s: %w", first.Name, s.Name, err)
			}
		}
	}
	return g, nil
}

// noDirections is the error for groups in which no I/O has a direction.
func noDirections(g *Group) error {
	return fmt.Errorf("%s has no reads, writes or trims to compare, or its JSON adds them up "+
		"(unified_rw_reporting=mixed)", g.Name)
}

// directionsOf returns the directions that the runs have, as indices in directions. If there are several, their sum
// comes first.
func directionsOf(groups ...*Group) (dirs []int) {
	for d := range directions[1:] {
		if slices.ContainsFunc(groups, func(g *Group) bool {
			return slices.ContainsFunc(g.Runs, func(s *Series) bool { return s.has(d + 1) })
		}) {
			dirs = append(dirs, d+1)
		}
	}
	if len(dirs) > 1 {
		dirs = append([]int{0}, dirs...)
	}
	return dirs
}

// rowNames returns the direction and metric of each value of a sample.
func rowNames(dirs []int, percentiles []float64) (names [][2]string) {
	for _, d := range dirs {
		for _, p := range percentiles {
			names = append(names, [2]string{directions[d], metricName(p)})
		}
		for _, name := range metrics.Names {
			names = append(names, [2]string{directions[d], name})
		}
	}
	return names
}

func percentileOf(metric string) (float64, bool) {
	p, err := strconv.ParseFloat(strings.TrimPrefix(metric, "p"), 64)
	return p, err == nil
}

func inFamily(row *Row) bool {
	p, ok := percentileOf(row.Metric)
	return row.Change != nil && (!ok || slices.Contains(family, p))
}

func (r *Result) judge(margin float64) {
	var of []int
	for i := range r.all {
		if inFamily(&r.all[i]) {
			of = append(of, i)
		}
	}
	alpha := r.alpha(of, Confidence)
	for i := range r.all {
		r.verdict(&r.all[i], r.estimate[i], alpha, margin)
	}
}

// alpha returns the error probability per row at which the limits of all rows hold with the given confidence, in all
// tables (Bonferroni).
func (r *Result) alpha(rows []int, confidence float64) float64 {
	return r.sampler.alpha(rows, 1-(1-confidence)/float64(max(r.tables, 1)))
}

// verdict sets the limits of a row, and what follows from them.
func (r *Result) verdict(row *Row, e estimate, alpha, margin float64) {
	row.Verdict, row.Advice = Inconclusive, ""
	switch {
	case !r.limit(row, e, alpha):
	case *row.Low >= -margin && *row.High <= margin:
		row.Verdict = Same
	case *row.Low > 0:
		row.Verdict = Higher
	case *row.High < 0:
		row.Verdict = Lower
	default:
		row.Advice = r.advice(e, alpha, margin)
	}
}

// limit sets the limits of a row at the error probability alpha, and reports whether there are any.
func (r *Result) limit(row *Row, e estimate, alpha float64) bool {
	row.Low, row.High = nil, nil
	if row.Change == nil || math.IsNaN(e.se) || math.IsInf(e.se, 0) {
		return false
	}
	half := fiohist.StudentQuantile(alpha, e.freedom) * e.se
	low, high := math.Expm1(e.center-max(e.drift, 0)-half), math.Expm1(e.center-min(e.drift, 0)+half)
	row.Low, row.High = &low, &high
	return true
}

// mostAdvised is the largest number of runs, or multiple of the length, that advice recommends.
const mostAdvised = 100

// power is the probability with which what advice recommends makes a row conclusive.
const power = 0.8

// advice says how many runs, or how much longer ones, would make an inconclusive row conclusive with a probability of
// power: its limits would exclude either no change or all changes beyond the margin, if the true change is the one
// estimated and the noise stays the same.
func (r *Result) advice(e estimate, alpha, margin float64) string {
	changed := math.Abs(e.center)
	inside := min(math.Log1p(margin)-e.center, e.center-math.Log1p(-min(margin, 0.99)))
	// needs returns how many times se must be below 1 for that.
	needs := func(se float64, freedom int) float64 {
		// A change is missed on one side; limits can leave the margin on both.
		limit := fiohist.StudentQuantile(alpha, freedom)
		needed := (limit + fiohist.StudentQuantile(2*(1-power), freedom)) * se / changed
		if inside > 0 {
			needed = min(needed, (limit+fiohist.StudentQuantile(1-power, freedom))*se/inside)
		}
		return needed
	}
	percent := fmt.Sprintf(" (%.0f %% power)", 100*power)
	if e.within {
		times := needs(e.se, e.freedom)
		times = math.Ceil(times * times)
		if times <= mostAdvised {
			return fmt.Sprintf("runs %g times as long", max(times, 2)) + percent
		}
		return "much longer runs"
	}
	from := max(fewRuns, min(r.Baseline.Runs, r.Other.Runs)+1)
	if r.trend != nil {
		from = fewRuns
		percent = ", alternated" + percent
	}
	n := from + sort.Search(mostAdvised+1-from, func(more int) bool {
		n := from + more
		return needs(e.sd*math.Sqrt(2/float64(n)), 2*n-2) < 1
	})
	if n <= mostAdvised {
		return fmt.Sprintf("%d runs per side", n) + percent
	}
	return fmt.Sprintf("over %d runs per side", mostAdvised)
}

func counts(na, nb int) string {
	if na == nb {
		return fmt.Sprintf("%d runs per side", na)
	}
	return fmt.Sprintf("%d and %d runs", na, nb)
}

func zeroNoise(given []RunNoise) bool {
	return !slices.ContainsFunc(given, func(n RunNoise) bool { return n.SD > 0 })
}

func (r *Result) remarks(a, b *measured, o Options) {
	na, nb := r.Baseline.Runs, r.Other.Runs
	var notes []string
	var unseen []string
	for _, row := range r.Rows {
		if row.Change != nil && row.RunNoise == nil {
			unseen = append(unseen, row.Direction+" "+row.Metric)
		}
	}
	switch {
	case len(o.RunNoise) == 0 && na+nb == 2:
		r.Caveat = "one run per side: run-to-run variation was not measured; repeat both runs or pass --run-noise"
	case len(o.RunNoise) == 0 && !r.enoughRuns:
		r.Caveat = fmt.Sprintf("%s: too few to estimate run-to-run variation; use at least %d per side, preferably %d",
			counts(na, nb), fewRuns, BaselineRuns)
	case len(unseen) > 0 && !zeroNoise(o.RunNoise):
		r.Caveat = "--run-noise gives no run-to-run variation for " + strings.Join(unseen, ", ")
	case len(unseen) > 0:
		r.Caveat = "the limits cover only the noise within each run (--run-noise 0%)"
	}
	without := "no limits: "
	if len(o.RunNoise) > 0 {
		without = "limits that ignore the noise within the runs: "
	}
	if only := slices.Concat(a.figures, b.figures); len(only) > 0 {
		if na+nb > 2 {
			without = ""
		}
		notes = append(notes, figuresOnly(without, only))
	} else if few := cmp.Or(a.tooFew, b.tooFew); few != "" && na+nb == 2 {
		notes = append(notes, without+few)
	} else if na+nb == 2 && slices.ContainsFunc(r.Rows, func(of Row) bool {
		return of.Change != nil && of.Low == nil
	}) {
		notes = append(notes, "no limits where a direction ran in only a part of a run: pass --by job")
	}
	if r.Unlike != nil {
		notes = append(notes, r.Unlike.String())
	}
	order := "the runs were not alternated"
	switch {
	case a.before(b):
		order = fmt.Sprintf("all runs of %s started before those of %s", r.Baseline.Name, r.Other.Name)
	case b.before(a):
		order = fmt.Sprintf("all runs of %s started before those of %s", r.Other.Name, r.Baseline.Name)
	}
	switch {
	case r.trend != nil:
		notes = append(notes, order+", so the limits allow for a steady drift of the machine and are far wider; "+
			"alternate the runs (ABAB), or pass --steady if the machine does not drift")
	case r.Steady:
		notes = append(notes, order+"; the verdicts hold if the machine did not drift (--steady)")
	case (a.before(b) || b.before(a)) && na+nb > 2 && !o.Series:
		notes = append(notes, order+", so machine drift cannot be told from a change; alternate the runs (ABAB)")
	}
	for _, row := range r.Rows {
		if row.RunNoise != nil && *row.RunNoise >= nothingFrom {
			notes = append(notes, nothingTold)
			break
		}
	}
	r.Note = strings.Join(notes, "\n")
}

// figuresOnly names the runs of which the intervals were deleted, and what follows from that.
func figuresOnly(what string, runs []string) string {
	return "figures only: " + what + "intervals were deleted of " + strings.Join(runs, ", ")
}

func (s *Series) has(d int) bool {
	return s.rows[directions[d]] != nil ||
		slices.ContainsFunc(s.steps, func(q interval) bool { return len(q.hists[d].Index) > 0 })
}

// sample is a series prepared for resampling: the non-empty buckets of each direction are numbered without gaps.
type sample struct {
	series      *Series
	percentiles []float64
	dirs        []compact
	value       []float64 // by direction, then percentiles, mean, IOPS; NaN without I/O
	atLeast     []bool
	block       int
}

// compact is one direction of a sample, or the sum of all.
type compact struct {
	direction            int              // in directions
	lower, upper, middle []float64        // ns, by bucket number
	last                 int              // number of fio's last bucket; -1 if it is empty
	intervals            []fiohist.Sparse // with bucket numbers as indices; nil for the sum of all
	inAll                []uint16         // by bucket number: its number in the sum of all
}

// number numbers the non-empty buckets of g and returns the number of each. all has the numbers in the sum of all.
func (c *compact) number(g fiohist.Geometry, occur []bool, all []uint16) []uint16 {
	number := make([]uint16, len(occur))
	c.last = -1
	for i := range occur {
		if !occur[i] {
			continue
		}
		number[i] = uint16(len(c.lower))
		if i == g.Last() {
			c.last = len(c.lower)
		}
		c.lower, c.upper = append(c.lower, float64(g.Lower(i))), append(c.upper, float64(g.Upper(i)))
		c.middle = append(c.middle, g.Middle(i))
		if all != nil {
			c.inAll = append(c.inAll, all[i])
		}
	}
	for _, q := range c.intervals {
		for k, i := range q.Index {
			q.Index[k] = number[i]
		}
	}
	return number
}

func newSample(s *Series, g fiohist.Geometry, dirs []int, percentiles []float64) *sample {
	out := &sample{series: s, percentiles: percentiles, dirs: make([]compact, len(dirs))}
	if s.rows != nil {
		out.ofRows(dirs)
		return out
	}
	occur := make([][]bool, len(dirs))
	for d := range occur {
		occur[d] = make([]bool, g.Columns())
	}
	for d := out.single(); d < len(dirs); d++ {
		for i := range s.steps {
			h := coarser(&s.steps[i].hists[dirs[d]], g.Coarseness-s.geometry.Coarseness)
			for _, bucket := range h.Index {
				occur[0][bucket], occur[d][bucket] = true, true
			}
			out.dirs[d].intervals = append(out.dirs[d].intervals, h)
		}
	}
	var all []uint16 // bucket numbers of the first direction
	for d := range out.dirs {
		out.dirs[d].direction = dirs[d]
		number := out.dirs[d].number(g, occur[d], all)
		if d == 0 {
			all = number
		}
	}
	out.value = make([]float64, len(dirs)*out.metrics())
	out.atLeast = make([]bool, len(out.value))
	once := slices.Repeat([]vec8{{1}}, len(s.steps))
	out.compute(once, [][]float64{out.value}, out.buffers(), out.atLeast)
	out.block = out.blockLength()
	return out
}

// ofRows sets the values of a run without histograms.
func (s *sample) ofRows(dirs []int) {
	s.block, s.atLeast = 1, make([]bool, len(dirs)*s.metrics())
	for _, d := range dirs {
		r := s.series.rows[directions[d]]
		if r == nil {
			r = new(figures.Row)
		}
		values := make([]*float64, s.metrics())
		for k, p := range s.percentiles {
			if v, ok := r.Percentiles[fio.Percentile(p)]; ok {
				values[k] = &v
			}
		}
		values[len(s.percentiles)], values[len(s.percentiles)+1] = r.Mean, r.IOPS
		for _, v := range values {
			s.value = append(s.value, *cmp.Or(v, new(math.NaN())))
		}
	}
}

// single returns the index in dirs of the first single direction. If there are several, they follow their sum.
func (s *sample) single() int { return min(len(s.dirs)-1, 1) }

func (s *sample) metrics() int { return len(s.percentiles) + 2 }

// tooFewReason says why there are too few intervals to estimate the noise; "" if there are enough.
func (s *sample) tooFewReason() string {
	if s.series.timeless {
		return s.series.Name + " has only fio's JSON, without times to estimate its noise from"
	}
	n := 0
	for _, q := range s.series.steps {
		if !q.empty() {
			n++
		}
	}
	if n < fewest {
		return fmt.Sprintf("%s has I/O in only %s of %g s; at least %d are needed to estimate its noise; "+
			"choose a shorter --interval, or longer runs",
			s.series.Name, fio.Several(n, "interval"), float64(s.series.interval*s.series.fold)/1e9, fewest)
	}
	return ""
}

// vec8 holds one number for each of several resamples that are computed together, so that the buckets of an interval
// are read only once for all of them.
type vec8 [8]float64

func (s *sample) buffers() (counts [][]vec8) {
	for _, d := range s.dirs {
		counts = append(counts, make([]vec8, len(d.lower)))
	}
	return counts
}

// compute writes the values of up to len(vec8) resamples, in which each interval occurs as often as its weight. If
// atLeast is not nil, it receives the flags of the first resample.
func (s *sample) compute(weights []vec8, values [][]float64, counts [][]vec8, atLeast []bool) {
	clear(counts[0])
	from := s.single()
	for d := from; d < len(s.dirs); d++ {
		c, to := &s.dirs[d], counts[d]
		clear(to)
		for q := range weights {
			h, w := &c.intervals[q], &weights[q]
			for i, n := range h.Count {
				l := &to[h.Index[i]] // unrolled: a loop is slower
				l[0] += n * w[0]
				l[1] += n * w[1]
				l[2] += n * w[2]
				l[3] += n * w[3]
				l[4] += n * w[4]
				l[5] += n * w[5]
				l[6] += n * w[6]
				l[7] += n * w[7]
			}
		}
		if from > 0 {
			for i := range to {
				for l, n := range to[i] {
					counts[0][c.inAll[i]][l] += n
				}
			}
		}
	}
	for d := range s.dirs {
		c := &s.dirs[d]
		var covered vec8
		for q := range weights {
			seconds := s.series.steps[q].covered[c.direction]
			for l, w := range weights[q] {
				covered[l] += w * seconds
			}
		}
		for l, of := range values {
			n, mean := 0.0, 0.0
			for i := range counts[d] {
				k := counts[d][i][l]
				n += k
				mean += k * c.middle[i]
			}
			out := of[d*s.metrics() : (d+1)*s.metrics()]
			for k, p := range s.percentiles {
				i, v := c.percentile(counts[d], l, n, p)
				out[k] = v
				if atLeast != nil {
					atLeast[d*s.metrics()+k] = i == c.last && n > 0
				}
			}
			k := len(s.percentiles)
			out[k], out[k+1] = mean/n, n/covered[l] // NaN without I/O
			if n == 0 || covered[l] == 0 {
				out[k+1] = math.NaN()
			}
		}
	}
}

// percentile is a percentile as fiohist computes it, on numbered buckets of which eight resamples are counted side by
// side.
func (c *compact) percentile(counts []vec8, l int, n, p float64) (bucket int, value float64) {
	want, sum := n*p/100, 0.0
	least := fiohist.Least(want, n)
	for i := range counts {
		k := counts[i][l]
		if k != 0 && sum+k >= least {
			if i == c.last {
				return i, c.lower[i]
			}
			return i, fiohist.Inside(c.lower[i], c.upper[i], k, sum, want)
		}
		sum += k
	}
	return -1, math.NaN()
}

// blockLength returns the block length for the sample: the longest that a metric of the family needs, but at most a
// fifth of the sample. The degrees of freedom, which follow from the number of blocks, make up for that limit. The
// autocorrelation that matters is of each interval's contribution to the value, to first order: for IOPS its
// completions less those expected, for the mean the sum of its latencies less the mean, for a percentile its I/Os
// above that less the expected share.
func (s *sample) blockLength() int {
	longest := 1.0
	z := make([]float64, len(s.series.steps))
	for d := range s.dirs {
		parts := s.dirs[d : d+1]
		if d < s.single() {
			parts = s.dirs[s.single():]
		}
		// see takes the contribution of each second and of each I/O in bucket b.
		see := func(second float64, each func(c *compact, b int) float64) {
			for q := range z {
				z[q] = second * s.series.steps[q].covered[s.dirs[d].direction]
			}
			for i := range parts {
				c := &parts[i]
				add := make([]float64, len(c.lower))
				for b := range add {
					add[b] = each(c, b)
				}
				for q := range z {
					for k, b := range c.intervals[q].Index {
						z[q] += c.intervals[q].Count[k] * add[b]
					}
				}
			}
			longest = max(longest, blockLength(z))
		}
		values := s.value[d*s.metrics() : (d+1)*s.metrics()]
		if len(s.dirs[d].lower) == 0 {
			continue
		}
		k := len(s.percentiles)
		mean, iops := values[k], values[k+1]
		see(-iops, func(*compact, int) float64 { return 1 })
		see(0, func(c *compact, b int) float64 { return c.middle[b] - mean })
		for k, p := range s.percentiles {
			if !slices.Contains(family, p) {
				continue
			}
			v := values[k]
			see(0, func(c *compact, b int) float64 {
				return min(max((c.upper[b]-v)/(c.upper[b]-c.lower[b]), 0), 1) - (1 - p/100)
			})
		}
	}
	return max(1, int(min(math.Ceil(longest-1e-9), float64(len(s.series.steps)/fewestBlocks))))
}

// resample computes the values of bootstrap resamples of the run, drawn in blocks of intervals from the run taken as a
// ring. The stream selects the random numbers of this run. Each resample has its own generator, so the result does
// not depend on the number of workers.
func (s *sample) resample(stream uint64, times int) [][]float64 {
	out := make([][]float64, times)
	together := len(vec8{})
	workers := min(runtime.GOMAXPROCS(0), (times+together-1)/together)
	n := len(s.series.steps)
	var g sync.WaitGroup
	for w := range workers {
		g.Go(func() {
			weights, counts := make([]vec8, n), s.buffers()
			for first := w * together; first < times; first += workers * together {
				some := out[first:min(first+together, times)]
				clear(weights)
				for l := range some {
					rng := rand.New(rand.NewPCG(seed+stream, uint64(first+l)))
					for left := n; left > 0; {
						start := rng.IntN(n)
						for k := range min(s.block, left) {
							weights[(start+k)%n][l]++
						}
						left -= s.block
					}
					some[l] = make([]float64, len(s.value))
				}
				s.compute(weights, some, counts, nil)
			}
		})
	}
	g.Wait()
	return out
}
