package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
)

const (
	// valueAlpha is the p-value below which a step is a change. It gives a false positive rate of 1 to 2 % for a
	// history of 50 runs.
	valueAlpha = 0.0005
	// histogramAlpha is the same for whole histograms.
	histogramAlpha = 0.0001
	// confidence is the confidence level of the limits of a change.
	confidence = 0.95
	// leastSpread is the least standard deviation between runs, as a share. Runs at a fixed rate agree to many
	// digits, which says nothing about their noise.
	leastSpread = 0.001
	// madSigma is the median distance from the median of a normal variable, in standard deviations.
	madSigma = 0.6745
)

// Run is one run of a history.
type Run struct {
	ID, Name string
	// Stored is its title in documents.
	Stored string
	// Start is zero if unknown.
	Start    time.Time
	Workload string
	// Sameness is "" if it is not known.
	Sameness fiojson.Sameness
	Labels   map[string]string
	Notes    []Note
	// RolledUp says that its histograms may be on a coarser grid than fio's.
	RolledUp bool
	// Directions are read, write, trim, and all.
	Directions map[string]*Direction
}

// Title returns the name of the run, or its id.
func (r *Run) Title() string { return cmp.Or(r.Name, r.ID) }

// Note is a note by a user on a run.
type Note struct {
	At   time.Time
	Text string
}

// Direction holds all I/Os of one direction of a run.
type Direction struct {
	Geometry fiohist.Geometry
	// Hist is nil if there are only fio's own figures of a single job, Own.
	Hist *fiohist.Hist
	Own  *fio.Values
	// Bounds are fio's smallest and largest latency.
	Bounds fiohist.Limits
	// IOPS is 0 if unknown.
	IOPS float64
	// Limits are 95 % confidence limits from the noise within the run, of p99, p99.9, mean, iops.
	Limits map[string][2]float64
}

// Defaults are the metrics used unless others are given.
var Defaults = []fio.Metric{fio.PercentileMetric("", 50), fio.PercentileMetric("", 99), fio.PercentileMetric("", 99.9),
	{Name: "iops"}, {Name: fio.Histogram}}

// Metrics are what changes are looked for in. One without a direction stands for each.
var Metrics = fio.Metrics{Names: fio.FigureNames(fio.OfHistory), NoSyncs: true}

// Series holds comparable runs in order.
type Series struct {
	// Name is the workload.
	Name string
	Runs []Run
	// Unordered says that the start of some runs is unknown. The runs are then in the order given.
	Unordered bool
	// Since says of a series that follows another of the same name which options changed.
	Since []fiojson.Difference
}

// unknown is in the names of series of runs whose job options are not known.
const unknown = "workload unknown"

// Title is the name for people: where the workload is not known, what else is in the name, or the first and last run.
func (s *Series) Title() string {
	words := strings.Split(s.Name, ", ")
	known := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == unknown })
	first, last := s.Runs[0].Title(), s.Runs[len(s.Runs)-1].Title()
	switch {
	case len(known) > 0:
		return strings.Join(known, ", ")
	case first == last:
		return first
	}
	return first + " to " + last
}

// AllRuns is the name of the series of One.
const AllRuns = "all runs"

// One makes one series of runs, whatever they measure.
func One(runs []Run) []Series {
	return split(runs, func(*Run) key { return key{name: AllRuns} })
}

// Split makes a series of the runs that measure the same. The series are sorted by name and then by their first run,
// the runs of each by start and then by id.
func Split(runs []Run) []Series {
	return split(runs, func(r *Run) key { return key{cmp.Or(r.Workload, unknown), r.Sameness} })
}

// key is what the runs of a series have in common.
type key struct {
	name     string
	sameness fiojson.Sameness
}

func split(runs []Run, of func(*Run) key) []Series {
	by := map[key]*Series{}
	var out []*Series
	for _, r := range runs {
		k := of(&r)
		if by[k] == nil {
			by[k] = &Series{Name: k.name}
			out = append(out, by[k])
		}
		by[k].Runs = append(by[k].Runs, r)
	}
	for _, s := range out {
		s.Unordered = slices.ContainsFunc(s.Runs, func(r Run) bool { return r.Start.IsZero() })
		if !s.Unordered {
			slices.SortStableFunc(s.Runs, func(a, b Run) int {
				return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID))
			})
		}
	}
	slices.SortStableFunc(out, func(a, b *Series) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), a.Runs[0].Start.Compare(b.Runs[0].Start))
	})
	var all []Series
	for i, s := range out {
		if i > 0 && out[i-1].Name == s.Name {
			s.Since = s.Runs[0].Sameness.Differences(out[i-1].Runs[0].Sameness)
		}
		all = append(all, *s)
	}
	return all
}

// Result is the analysis of one metric of a series.
type Result struct {
	Series  string   `json:"series"`
	Metric  string   `json:"metric"`
	Runs    []Point  `json:"runs"`
	Changes []Change `json:"changes"`
	// Outliers are single runs far from the level of their neighbours, none for histograms.
	Outliers []Outlier `json:"outliers"`

	of fio.Metric
}

// Of returns the metric, which always has a direction.
func (r *Result) Of() fio.Metric { return r.of }

// Point is the value of a metric in one run: ns for latencies, 1/s for IOPS, and for histograms the distance from the
// mean of the first level.
type Point struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Start is nil if unknown.
	Start *time.Time `json:"start"`
	// Value is nil if the run has no such I/O. Limits are its 95 % confidence limits from the noise within the run.
	Value      *float64 `json:"value"`
	fio.Limits `json:"ci"`
	// AtLeast says that a percentile is in fio's last bucket, so the value is a lower bound.
	AtLeast bool `json:"at_least,omitempty"`
	// Own says that fio computed a percentile, as its JSON has no histogram.
	Own bool `json:"fio_percentile,omitempty"`
	// RolledUp says that the run was rolled up.
	RolledUp bool `json:"rolled_up,omitempty"`
}

// Change is a change point.
type Change struct {
	// Run is the first run of the new level, Index its position in the runs, from 0, Number the same from 1.
	Run    string `json:"run"`
	Index  int    `json:"index"`
	Number int    `json:"number"`
	// Before and After are the levels: geometric means over their runs, for histograms arithmetic ones.
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	// Change is After / Before - 1, for histograms the mean distance by which an I/O has moved, as a share, with its
	// 95 % confidence limits.
	Change float64 `json:"change"`
	Range  `json:"ci"`
	// P is the p-value.
	P float64 `json:"p"`
	// Options are those that changed where the level did, "rwmixread 90 -> 50".
	Options string `json:"options,omitempty"`
	// ForWorse says whether the change is for the worse; nil for histograms, of which that is not known.
	ForWorse *bool `json:"worse,omitempty"`
}

// Levels returns the levels before and after a change as text makes them; "-" for a histogram, which has none.
func (r *Result) Levels(c *Change, text func(m fio.Metric, v float64) string) (before, after string) {
	if r.of.Name == fio.Histogram {
		return "-", "-"
	}
	return text(r.of, c.Before), text(r.of, c.After)
}

// Sentence says what a change is: from which level to which, or what it is of a histogram.
func (r *Result) Sentence(c *Change, text func(m fio.Metric, v float64) string) string {
	if r.of.Name == fio.Histogram {
		return "by so much the latency of an I/O has changed on average"
	}
	before, after := r.Levels(c, text)
	return before + " to " + after
}

// Worse reports whether a change is for the worse, as far as the metric tells.
func (r *Result) Worse(c *Change) bool {
	return (c.Change > 0) != (r.of.Figure().Better == fio.Higher)
}

// Turn is a change point of one of the results of a series.
type Turn struct {
	*Result
	*Change
	// Last says that the level of the metric has not changed again.
	Last bool
}

// near is how many runs apart the change of a histogram and that of a figure of its direction may lie to be one.
const near = 2

// shown reports whether a change says what others of its series do not: that of a histogram does only where no figure
// of its direction has changed.
func shown(r *Result, c *Change, results []Result) bool {
	alike := func(of Change) bool { return max(of.Index-c.Index, c.Index-of.Index) <= near }
	return r.of.Name != fio.Histogram || !slices.ContainsFunc(results, func(o Result) bool {
		return o.Series == r.Series && o.of.Direction == r.of.Direction && o.of.Name != fio.Histogram &&
			slices.ContainsFunc(o.Changes, alike)
	})
}

// Turns returns the change points of a series: first those for the worse, the newest on top, then improvements. The
// change of a histogram is among the first where no figure of its direction tells which it is.
func Turns(results []Result, series string) (worse, better []Turn) {
	for i := range results {
		r := &results[i]
		if r.Series != series {
			continue
		}
		for k := range r.Changes {
			t := Turn{r, &r.Changes[k], k == len(r.Changes)-1}
			if !shown(r, t.Change, results) {
				continue
			}
			if r.Worse(t.Change) {
				worse = append(worse, t)
			} else {
				better = append(better, t)
			}
		}
	}
	for _, turns := range [][]Turn{worse, better} {
		slices.SortStableFunc(turns, func(a, b Turn) int {
			return cmp.Or(cmp.Compare(b.Index, a.Index), cmp.Compare(size(b.Change), size(a.Change)))
		})
	}
	return worse, better
}

// size is how much a change is, as a logarithm.
func size(c *Change) float64 { return math.Abs(math.Log1p(c.Change)) }

// Leading returns the change that is told first: the newest for the worse that has lasted, else the newest improvement;
// those of histograms come last. It is nil without any.
func Leading(worse, better []Turn) *Turn {
	figures := slices.DeleteFunc(slices.Clone(worse), func(t Turn) bool { return t.of.Name == fio.Histogram })
	for _, turns := range [][]Turn{figures, better, worse} {
		if last := slices.IndexFunc(turns, func(t Turn) bool { return t.Last }); last >= 0 {
			return &turns[last]
		}
	}
	return nil
}

// Lead says in one sentence what of a series of so many runs is worse since when; else what is better, that nothing has
// changed, or that there are too few runs to tell.
func Lead(runs int, worse, better []Turn) string {
	if first := Leading(worse, better); first != nil {
		text := first.Headline() + "."
		if n := len(worse) + len(better) - 1; n > 0 {
			text += fmt.Sprintf(" There %s.", map[bool]string{true: "is 1 more change",
				false: fmt.Sprintf("are %d more changes", n)}[n == 1])
		}
		return text
	}
	if runs < 2*shortest {
		return fmt.Sprintf("Whether anything has changed takes at least %d runs.", 2*shortest)
	}
	return "Nothing has changed."
}

// Headline says in one sentence what the change is and since when, "write p50 is 16.4 % higher since 2026-11-10".
func (t *Turn) Headline() string {
	r, c := t.Result, t.Change
	p := &r.Runs[c.Index]
	since := "run " + strconv.Itoa(c.Number)
	if p.Start != nil {
		since = p.Start.Format(time.DateOnly)
	}
	text := fmt.Sprintf("%s has changed by %.1f %%", r.Metric, 100*c.Change)
	if r.of.Name != fio.Histogram {
		side := "higher"
		if c.Change < 0 {
			side = "lower"
		}
		text = fmt.Sprintf("%s is %.1f %% %s", r.Metric, 100*math.Abs(c.Change), side)
	}
	text += " since " + since
	if c.Options != "" {
		text += ", when " + c.Options
	}
	return text
}

// Range lies between two limits.
type Range struct {
	Low  float64 `json:"lower"`
	High float64 `json:"upper"`
}

// Analyse finds the change points of metrics of a series. A metric without a direction stands for each of read, write
// and trim with I/O, or for all if none of these has any.
func Analyse(s *Series, metrics []fio.Metric) (out []Result) {
	for _, m := range s.metrics(metrics) {
		out = append(out, analyse(s, m))
	}
	return out
}

// metrics returns the metrics that the series has, each with a direction.
func (s *Series) metrics(metrics []fio.Metric) (out []fio.Metric) {
	has := func(direction string) bool {
		return slices.ContainsFunc(s.Runs, func(r Run) bool { return r.Directions[direction] != nil })
	}
	var each []string
	for _, d := range fio.DirectionNames() {
		if has(d) {
			each = append(each, d)
		}
	}
	if len(each) == 0 {
		each = []string{fio.All}
	}
	seen := map[fio.Metric]bool{}
	for _, d := range fio.RowDirections() {
		for _, m := range metrics {
			if m.Direction != d && (m.Direction != "" || !slices.Contains(each, d)) {
				continue
			}
			m.Direction = d
			if !seen[m] && has(d) {
				seen[m] = true
				out = append(out, m)
			}
		}
	}
	return out
}

func analyse(s *Series, m fio.Metric) Result {
	a := newAnalysis(s, m)
	found := a.points()
	a.levels.fill(a.Runs, a.known, found)
	if of, ok := a.levels.(*logValues); ok {
		a.Outliers = of.outliers(a.Runs, a.known, found)
	}
	a.Changes = a.changes(found)
	return a.Result
}

// analysis is a Result while it is made, with what its search needs.
type analysis struct {
	Result
	// known are the runs that have a value. Levels, and change points until they are a Change, count only these.
	known  []int
	levels levels
	work   []fiojson.Sameness // of each run
}

func newAnalysis(s *Series, m fio.Metric) *analysis {
	a := &analysis{Result: Result{Series: s.Name, Metric: m.String(), of: m, Changes: []Change{},
		Outliers: []Outlier{}}}
	for i := range s.Runs {
		run := &s.Runs[i]
		p := Point{ID: run.ID, Name: run.Name, RolledUp: run.RolledUp}
		if !run.Start.IsZero() {
			p.Start = new(run.Start.UTC())
		}
		if d := run.Directions[m.Direction]; d != nil {
			d.value(m, &p)
			if m.Name == fio.Histogram && d.Hist != nil && !d.Hist.Empty() || p.Value != nil {
				a.known = append(a.known, i)
			}
		}
		a.Runs, a.work = append(a.Runs, p), append(a.work, run.Sameness)
	}
	if m.Name == fio.Histogram {
		a.levels = newShapes(s, m.Direction, a.known)
	} else {
		a.levels = newLogValues(a.Runs, a.known)
	}
	return a
}

// points returns the change points.
func (a *analysis) points() []int {
	look := series{runs: len(a.known), distance: a.levels.distance, test: func(from, m, to int) float64 {
		return a.levels.step(from, m, to).p()
	}}
	return look.changes(a.levels.alpha())
}

// changes describes the change points.
func (a *analysis) changes(found []int) []Change {
	out := []Change{}
	for i, at := range found {
		from, to := neighbours(found, i, len(a.known))
		c := Change{Run: a.Runs[a.known[at]].ID, Index: a.known[at], Number: a.known[at] + 1}
		st := a.levels.step(from, at, to)
		c.P = st.p()
		half := fiohist.StudentQuantile(1-confidence, st.freedom) * st.se
		c.Change, c.Low, c.High = math.Expm1(st.change), math.Expm1(st.change-half), math.Expm1(st.change+half)
		c.Before, c.After = level(a.Runs, a.known[from:at], a.of), level(a.Runs, a.known[at:to], a.of)
		c.Options = a.options(c.Index)
		if a.of.Name != fio.Histogram {
			c.ForWorse = new(a.Worse(&c))
		}
		out = append(out, c)
	}
	return out
}

// optionsNear is by how many runs a change point may be off from the run whose options changed.
const optionsNear = 2

// options returns the options that changed within optionsNear runs of a change point, where it is nearest.
func (a *analysis) options(at int) string {
	for off := range optionsNear + 1 {
		for _, i := range []int{at - off, at + off} {
			if i > 0 && i < len(a.work) && a.work[i] != a.work[i-1] && a.work[i] != "" &&
				a.work[i-1] != "" {
				return fiojson.DifferenceText(a.work[i].Differences(a.work[i-1]))
			}
		}
	}
	return ""
}

// level returns the geometric mean of the runs' values, or the arithmetic one of distances, which may be 0.
func level(points []Point, runs []int, m fio.Metric) float64 {
	sum := 0.0
	for _, i := range runs {
		v := *points[i].Value
		if m.Name != fio.Histogram {
			v = math.Log(v)
		}
		sum += v / float64(len(runs))
	}
	if m.Name == fio.Histogram {
		return sum
	}
	return math.Exp(sum)
}

// value sets the value of a metric and its limits.
func (d *Direction) value(m fio.Metric, p *Point) {
	var v float64
	figure := m.Figure()
	switch {
	case d.Own != nil:
		v, _ = figure.Of(d.Own)
		p.Own = m.Percentile > 0
	case d.Hist == nil || d.Hist.Empty():
		return
	default:
		s := d.Hist.Stats(d.Geometry, figure.Needs, d.Bounds)
		values := s.Values(figure.Needs)
		values.IOPS = d.IOPS
		v, _ = figure.Of(&values)
		p.AtLeast = len(s.AtLeast) > 0
	}
	if !(v > 0) {
		return
	}
	p.Value = &v
	if l, ok := d.Limits[m.Name]; ok && !p.AtLeast {
		p.Low, p.High = &l[0], &l[1]
	}
}

// levels holds the runs that have a value of a metric, numbered without gaps.
type levels interface {
	distance(i, j int) float64
	// off returns how far run i is from the level of the runs [a, b), their spread, and how far each of them is, all of
	// logarithms.
	off(a, b, i int) (d, spread float64, own []float64)
	// step returns the step from the runs [a, m) to the runs [m, b).
	step(a, m, b int) step
	// alpha returns the p-value below which a step is a change.
	alpha() float64
	// fill sets the values that depend on the levels.
	fill(points []Point, known, found []int)
}

// step is a difference of logarithms.
type step struct {
	change, se float64
	freedom    int
}

// newStep compares the values of two levels; least is the least standard deviation of a run.
func newStep(before, after []float64, least float64) step {
	x, xs := mean(before)
	y, ys := mean(after)
	n, m := float64(len(before)), float64(len(after))
	variance := max((xs+ys)/(n+m-2), least*least)
	return step{y - x, math.Sqrt(variance * (1/n + 1/m)), len(before) + len(after) - 2}
}

// p returns the p-value of Student's t-test with pooled variance.
func (s step) p() float64 { return fiohist.StudentTail(math.Abs(s.change)/s.se, s.freedom) }

// logValues are the logarithms of values.
type logValues struct {
	x []float64
	// spread is a robust estimate of the standard deviation of a run, from the differences of neighbours. It is a
	// lower bound for each level, whose runs may be alike by chance.
	spread float64
}

func newLogValues(points []Point, known []int) *logValues {
	l := &logValues{spread: leastSpread}
	for _, i := range known {
		l.x = append(l.x, math.Log(*points[i].Value))
	}
	l.spread = max(l.spread, stepSpread(l.x))
	return l
}

// stepSpread is a robust standard deviation, from the differences of neighbours, which a change of the level leaves as
// they are; 0 if there are none.
func stepSpread(x []float64) float64 {
	var steps []float64
	for n := range len(x) - 1 {
		steps = append(steps, math.Abs(x[n+1]-x[n]))
	}
	if len(steps) == 0 {
		return 0
	}
	slices.Sort(steps)
	return steps[len(steps)/2] / 0.954 // the median absolute difference of two normal variables
}

func (l *logValues) distance(i, j int) float64 { return math.Abs(l.x[i] - l.x[j]) }

func (l *logValues) off(a, b, i int) (d, spread float64, own []float64) {
	level := median(l.x[a:b])
	var distances []float64
	for _, v := range l.x[a:b] {
		own, distances = append(own, v-level), append(distances, math.Abs(v-level))
	}
	return l.x[i] - level, median(distances) / madSigma, own
}

func (l *logValues) step(a, m, b int) step { return newStep(l.x[a:m], l.x[m:b], l.spread) }

func (l *logValues) alpha() float64 { return valueAlpha }

func (l *logValues) fill([]Point, []int, []int) {}

// FormatValue formats a value of a metric with its unit. unit is the unit of latencies, or auto for the
// largest in which the value is 1 or more.
func FormatValue(m fio.Metric, v float64, unit string) string {
	number := func(v float64) string {
		decimals := 0
		if a := math.Abs(v); a > 0 && a < 1000 {
			decimals = min(max(3-int(math.Floor(math.Log10(a))), 0), 6)
		}
		return strconv.FormatFloat(v, 'f', decimals, 64)
	}
	switch m.Figure().Unit {
	case fio.PerSecond:
		return number(v) + "/s"
	case fio.Share:
		return fmt.Sprintf("%.2f %%", 100*v)
	}
	if unit == "auto" {
		unit = fio.Unit(v)
	}
	return number(v/fio.Divisors[unit]) + " " + unit
}
