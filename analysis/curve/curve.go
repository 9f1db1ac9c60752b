// Package curve builds a curve of latency against load from the whole-run figures of a sweep: a point for each
// setting, with confidence limits from the spread between repeats, the knee, and how many IOPS meet a rule.
//
//	[]figures.Row -> Make -> Curve
//
// The same rows give the same curve to the last bit.
package curve

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"fiolat/analysis/figures"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
)

// Point is the result of the runs of one setting. Values are geometric means over the runs; latencies are in ns.
type Point struct {
	// Options are the job options in which runs differ.
	Options map[string]string `json:"options"`
	Runs    int               `json:"runs"`
	// Names are the runs' names, with host, job and log if split by them.
	Names []string `json:"names"`
	// Samples is the number of I/Os of all runs.
	Samples        float64            `json:"samples"`
	IOPS           float64            `json:"iops"`
	BytesPerSecond *float64           `json:"bytes_per_second"`
	Concurrency    *float64           `json:"concurrency"`
	Mean           *float64           `json:"mean"`
	Percentiles    map[string]float64 `json:"percentiles"`
	// Limits are 95 % confidence limits of "iops", "mean" and each percentile, if settings were repeated.
	Limits map[string]fio.Limits `json:"ci"`
	// AtLeast names percentiles in fio's last bucket, which has no upper edge.
	AtLeast []string `json:"at_least,omitempty"`
	// FioPercentiles is set if fio computed some, as its JSON has no histograms.
	FioPercentiles bool `json:"fio_percentiles,omitempty"`
	// Knee marks the point of its series that has the most IOPS per mean latency.
	Knee bool `json:"knee,omitempty"`
	// Members are the hosts or jobs of a point of a matrix, if these were added.
	Members []Member `json:"members,omitempty"`

	rows []figures.Row
}

// Series is one line of the curve: points that differ in the load only.
type Series struct {
	// Options are the job options in which series differ.
	Options map[string]string `json:"options"`
	// Points are indices of Curve.Points, in ascending order of load.
	Points []int `json:"points"`
	// Knee is the index of the point with the most IOPS per mean latency; nil if no point between the lightest and the
	// heaviest load certainly has more than these.
	Knee *int `json:"knee"`
	At   *At  `json:"at,omitempty"`
}

// Name names the options in which the series differs from others.
func (s *Series) Name() string { return label(s.Options) }

// At is the largest number of IOPS that meets a rule.
type At struct {
	Rule string `json:"rule"`
	// Options are the series' job options.
	Options map[string]string `json:"options,omitempty"`
	// IOPS is nil if no point meets the rule, or if no setting was repeated.
	IOPS *float64 `json:"iops"`
	// Limits are 95 % confidence limits.
	fio.Limits `json:"ci"`
	// Between holds the indices of the last point that meets the rule and of the next one, which breaks it. It is nil
	// if no point meets the rule, or if no heavier load breaks it.
	Between []int  `json:"between"`
	Note    string `json:"note,omitempty"`

	best *Point // meets the rule with the most IOPS; nil if none does
}

// most returns the IOPS by which series are ranked.
func (at *At) most() float64 {
	switch {
	case at.IOPS != nil:
		return *at.IOPS
	case at.best != nil:
		return at.best.IOPS
	}
	return 0
}

// Curve is latency against load.
type Curve struct {
	Direction string   `json:"direction"`
	Load      []string `json:"load"` // the options that set the load
	Points    []Point  `json:"points"`
	Series    []Series `json:"series"`
	// Matrix arranges points that no line joins: each is a series.
	Matrix *Matrix `json:"matrix,omitempty"`
	// At is the result of the series with the most IOPS.
	At *At `json:"at,omitempty"`
	// Notes are remarks to be shown with the numbers.
	Notes []string `json:"notes,omitempty"`

	Bound float64 `json:"-"` // of the rule, in ns; 0 without one
}

// ErrOneSetting means that all runs have the same options, so there is no curve.
var ErrOneSetting = errors.New("all runs have the same job options")

// loads are the options, and the numbers of hosts and jobs, that change only the load, the most effective first.
var loads = []string{"hosts", "jobs", "iodepth", "numjobs", "rate_iops", "rate", "thinktime", "iodepth_batch",
	"iodepth_batch_submit"}

// Make returns the curve of a direction; rule may be nil. Runs without such I/O or known IOPS are skipped.
func Make(rows []figures.Row, direction string, percentiles []float64, rule *fio.Rule) (*Curve, error) {
	c := &Curve{Direction: direction, Points: []Point{}}
	var chosen []figures.Row
	seen := map[figures.Group]bool{}
	skipped := 0
	for i := range rows {
		g := rows[i].Group()
		if seen[g] || rows[i].NoLog {
			continue
		}
		seen[g] = true
		if r := figures.Find(rows, g, direction); r != nil && r.IOPS != nil && *r.IOPS > 0 {
			chosen = append(chosen, *r)
		} else {
			skipped++
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("none of %s has %s I/O with known IOPS", fio.Several(skipped, "run"), direction)
	}
	if skipped > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("runs left out, without %s I/O or known IOPS: %d", direction, skipped))
	}
	differ := figures.Differing(chosen)
	if len(differ) == 0 {
		return nil, ErrOneSetting
	}
	c.group(chosen, differ)
	c.sort(differ)
	spread := newSpread(c.Points)
	for i := range c.Points {
		c.Points[i].fill(percentiles, spread)
	}
	if spread.freedom == 0 {
		c.Notes = append(c.Notes, "one run per setting: without repeats there are no confidence limits; run each "+
			"setting 3 times")
	}
	for i := range c.Series {
		c.knee(&c.Series[i], spread)
		if rule == nil {
			continue
		}
		c.Bound = rule.Threshold
		at := c.at(&c.Series[i], rule, spread)
		c.Series[i].At = at
		if len(c.Series) > 1 {
			at.Options = c.Series[i].Options
		}
		if c.At == nil || at.most() > c.At.most() {
			c.At = at
		}
	}
	return c, nil
}

// Mixed reports whether the jobs of a run have several values of an option that sets the load.
func Mixed(rows []figures.Row) bool {
	return slices.ContainsFunc(rows, func(r figures.Row) bool {
		return slices.ContainsFunc(loads, func(name string) bool { return strings.Contains(r.Options[name], ",") })
	})
}

// Staged reports whether the jobs of each run ran one after the other, as far as their lengths tell.
func Staged(runs, jobs []figures.Row) bool {
	type run struct{ id, name, direction string }
	sums, most := map[run]float64{}, map[run]float64{}
	for i := range jobs {
		if r := &jobs[i]; r.Seconds != nil {
			sums[run{r.Run, r.Name, r.Direction}] += *r.Seconds
		}
	}
	for i := range runs {
		if r := &runs[i]; r.Seconds != nil {
			key := run{r.Run, r.Name, r.Direction}
			most[key] = *r.Seconds
		}
	}
	for key, sum := range sums {
		if whole, ok := most[key]; !ok || sum > 1.2*whole {
			return false
		}
	}
	return len(sums) > 0
}

// group makes one point of all runs with the same options.
func (c *Curve) group(rows []figures.Row, differ []string) {
	index := map[string]int{}
	for _, r := range rows {
		var key strings.Builder
		options := map[string]string{}
		for _, name := range differ {
			options[name] = r.Options[name]
			fmt.Fprintf(&key, "%q", r.Options[name])
		}
		i, ok := index[key.String()]
		if !ok {
			i = len(c.Points)
			index[key.String()] = i
			c.Points = append(c.Points, Point{Options: options})
		}
		p := &c.Points[i]
		p.rows = append(p.rows, r)
		name := r.Name
		for _, part := range []string{r.Host, r.Job, r.Log} {
			if part != "" {
				name += " " + part
			}
		}
		p.Names = append(p.Names, name)
	}
}

// sort sorts the points and divides them into series.
func (c *Curve) sort(differ []string) {
	for _, name := range loads {
		if slices.Contains(differ, name) {
			c.Load = append(c.Load, name)
		}
	}
	var others []string
	for _, name := range differ {
		if !slices.Contains(c.Load, name) {
			others = append(others, name)
		}
	}
	if len(c.Load) == 0 && len(others) == 1 { // for example, a sweep of block sizes
		c.Load, others = others, nil
	}
	by := func(a, b *Point, names []string) int {
		for _, name := range names {
			if order := fiojson.CompareValues(a.Options[name], b.Options[name]); order != 0 {
				return order
			}
		}
		return 0
	}
	slices.SortStableFunc(c.Points, func(a, b Point) int {
		return cmp.Or(by(&a, &b, others), cmp.Compare(inFlight(&a), inFlight(&b)), by(&a, &b, c.Load))
	})
	if !c.lines(others, by) {
		c.Load = nil
		c.arrange(differ)
		return
	}
	for i := range c.Points {
		if i == 0 || by(&c.Points[i-1], &c.Points[i], others) != 0 {
			s := Series{Options: map[string]string{}}
			for _, name := range others {
				s.Options[name] = c.Points[i].Options[name]
			}
			c.Series = append(c.Series, s)
		}
		s := &c.Series[len(c.Series)-1]
		s.Points = append(s.Points, i)
	}
}

// lines reports whether the points that differ in the load only lie on lines, of which one has two points or more.
func (c *Curve) lines(others []string, by func(a, b *Point, names []string) int) bool {
	longest := 0
	for i := 0; i < len(c.Points); {
		from := i
		for i < len(c.Points) && by(&c.Points[from], &c.Points[i], others) == 0 {
			i++
		}
		if i-from > 1 && !isChain(c.Points[from:i], c.Load) {
			return false
		}
		longest = max(longest, i-from)
	}
	return longest > 1
}

// inFlight returns how many I/Os the options allow in flight, as far as runs differ in these options.
func inFlight(p *Point) float64 {
	n := 1.0
	for _, name := range []string{"hosts", "jobs", "iodepth", "numjobs"} {
		if v, ok := jobfile.Size(p.Options[name]); ok && v > 0 {
			n *= v
		}
	}
	return n
}

func (p *Point) fill(percentiles []float64, s *spread) {
	p.Runs = len(p.rows)
	p.Percentiles, p.Limits = map[string]float64{}, map[string]fio.Limits{}
	for i := range p.rows {
		p.Samples += p.rows[i].Samples
		p.FioPercentiles = p.FioPercentiles || p.rows[i].FioPercentiles
		for _, key := range p.rows[i].AtLeast {
			if !slices.Contains(p.AtLeast, key) {
				p.AtLeast = append(p.AtLeast, key)
			}
		}
	}
	slices.Sort(p.AtLeast)
	p.IOPS, _ = p.value("iops")
	if v, ok := p.value("mib"); ok {
		v *= 1 << 20
		p.BytesPerSecond = &v
	}
	if v, ok := p.value("concurrency"); ok {
		p.Concurrency = &v
	}
	if v, ok := p.value("mean"); ok {
		p.Mean = &v
	}
	names := []string{"iops", "mean"}
	for _, q := range percentiles {
		key := fio.Percentile(q)
		if v, ok := p.value("p" + key); ok {
			p.Percentiles[key] = v
			names = append(names, "p"+key)
		}
	}
	for _, name := range names {
		v, ok := p.value(name)
		se, freedom := s.error(p, name)
		if !ok || math.IsNaN(se) || slices.Contains(p.AtLeast, strings.TrimPrefix(name, "p")) {
			continue
		}
		half := fiohist.StudentQuantile(0.05, freedom) * se
		low, high := v*math.Exp(-half), v*math.Exp(half)
		p.Limits[strings.TrimPrefix(name, "p")] = fio.Limits{Low: &low, High: &high}
	}
}

// value returns the geometric mean of a metric over the runs of a point.
func (p *Point) value(name string) (float64, bool) {
	sum := 0.0
	for i := range p.rows {
		v, ok := p.rows[i].Value(name)
		if !ok || v <= 0 {
			return math.NaN(), false
		}
		sum += math.Log(v)
	}
	if len(p.rows) == 1 {
		return p.rows[0].Value(name)
	}
	return math.Exp(sum / float64(len(p.rows))), true
}

// leastKnee is by how much the IOPS per mean latency at a knee are above both ends where their error is not known, as
// logarithm.
var leastKnee = math.Log(1.1)

// knee finds the point of a series with the most IOPS per mean latency. Beyond it latency grows faster than IOPS
// (Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in computer communications", ICC
// 1979).
func (c *Curve) knee(s *Series, of *spread) {
	power, variance := make([]float64, len(s.Points)), make([]float64, len(s.Points))
	most := 0
	for k, i := range s.Points {
		p := &c.Points[i]
		if p.Mean == nil || p.IOPS <= 0 {
			return
		}
		power[k] = math.Log(p.IOPS / *p.Mean)
		if power[k] > power[most] {
			most = k
		}
		for _, name := range []string{"iops", "mean"} {
			se, _ := of.error(p, name)
			variance[k] += se * se
		}
	}
	for _, end := range []int{0, len(s.Points) - 1} {
		least := 1.96 * math.Sqrt(variance[most]+variance[end])
		if math.IsNaN(least) {
			least = leastKnee
		}
		if most == end || power[most]-power[end] < least {
			return
		}
	}
	s.Knee = &s.Points[most]
	c.Points[*s.Knee].Knee = true
}

// DirectionOf returns the default direction of a curve: that of the rule, or all without one.
func DirectionOf(rule *fio.Rule) string {
	if rule != nil {
		return rule.Direction
	}
	return fio.All
}

func label(options map[string]string) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(options)) {
		words = append(words, name+"="+cmp.Or(options[name], "-"))
	}
	return strings.Join(words, " ")
}
