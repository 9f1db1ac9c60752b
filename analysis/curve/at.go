package curve

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"fiolat/fio"
)

// spread estimates how much runs of the same setting differ, in logarithms.
type spread struct {
	// freedom is the sum of the degrees of freedom of all settings; 0 if none was repeated.
	freedom int
	points  []Point
	pooled  map[string]pool // by metric
}

// pool is the variance of one run over all settings. If the settings' own variances differ, it is the largest.
type pool struct {
	variance float64
	freedom  int
	differ   bool
}

func newSpread(points []Point) *spread {
	s := &spread{pooled: map[string]pool{}, points: points}
	for i := range points {
		s.freedom += len(points[i].rows) - 1
	}
	return s
}

// residuals returns the deviations of a point's runs from its mean, in logarithms; nil if a run lacks the metric.
func (p *Point) residuals(name string) (out []float64) {
	center, ok := p.value(name)
	if !ok {
		return nil
	}
	for i := range p.rows {
		v, _ := p.rows[i].Value(name)
		out = append(out, math.Log(v/center))
	}
	return out
}

func squares(residuals []float64) (sum float64) {
	for _, r := range residuals {
		sum += r * r
	}
	return sum
}

// leastVariance stands for less, such as the variance of limited rates.
const leastVariance = 1e-12

// own returns the variance of one run of a point from its own runs, and its degrees of freedom; 0 if there are none.
func (p *Point) own(name string) (variance float64, freedom int) {
	freedom = len(p.rows) - 1
	if freedom == 0 {
		return 0, 0
	}
	return max(leastVariance, squares(p.residuals(name))/float64(freedom)), freedom
}

// pool pools the variances of all settings, unless they differ at the 5 % level: Bartlett's test, with the chi-squared
// distribution as Wilson and Hilferty approximate it.
func (s *spread) pool(name string) pool {
	if out, ok := s.pooled[name]; ok {
		return out
	}
	out, largest := pool{freedom: s.freedom}, pool{differ: true}
	groups, logs, inverse := 0.0, 0.0, 0.0
	for i := range s.points {
		variance, freedom := s.points[i].own(name)
		if freedom == 0 {
			continue
		}
		if variance > largest.variance {
			largest.variance, largest.freedom = variance, freedom
		}
		n := float64(freedom)
		out.variance += variance * n / float64(s.freedom)
		groups, logs, inverse = groups+1, logs+n*math.Log(variance), inverse+1/n
	}
	if groups > 1 {
		n, k := float64(s.freedom), groups-1
		chi := (n*math.Log(out.variance) - logs) / (1 + (inverse-1/n)/(3*k))
		if (math.Cbrt(max(chi, 0)/k)-1+2/(9*k))/math.Sqrt(2/(9*k)) > 1.645 {
			out = largest
		}
	}
	s.pooled[name] = out
	return out
}

// variance returns the variance of one run of a point and its degrees of freedom: pooled over all settings, but not
// below the point's own. Where variances differ it is the point's own, or the largest one for a point without repeats.
func (s *spread) variance(p *Point, name string) (variance float64, freedom int) {
	if s.freedom == 0 {
		return math.NaN(), 0
	}
	all := s.pool(name)
	variance, freedom = p.own(name)
	if freedom > 0 && all.differ {
		return variance, freedom
	}
	return max(variance, all.variance), all.freedom
}

// error returns the standard error of a point's mean and its degrees of freedom; NaN if it is not known. It is not
// below the error that the limits of percentiles within the runs imply.
func (s *spread) error(p *Point, name string) (se float64, freedom int) {
	n := float64(len(p.rows))
	variance, freedom := s.variance(p, name)
	within := 0.0
	for i := range p.rows {
		l := p.rows[i].Limits[strings.TrimPrefix(name, "p")]
		if l.Low != nil && l.High != nil && *l.Low > 0 {
			half := math.Log(*l.High / *l.Low) / 2 / 1.96
			within += half * half / n / n
		}
	}
	return math.Sqrt(max(variance/n, within)), freedom // NaN stays
}

// correlation returns that of two metrics over repeated runs, limited to +-0.95; 0 if too few were repeated.
func (s *spread) correlation(a, b string) float64 {
	product, aa, bb := 0.0, 0.0, 0.0
	for i := range s.points {
		ra, rb := s.points[i].residuals(a), s.points[i].residuals(b)
		if len(ra) != len(rb) {
			return 0
		}
		for k := range ra {
			product += ra[k] * rb[k]
		}
		aa, bb = aa+squares(ra), bb+squares(rb)
	}
	if s.freedom < 4 || aa == 0 || bb == 0 {
		return 0
	}
	return max(-0.95, min(product/math.Sqrt(aa*bb), 0.95))
}

// place is a point as IOPS and latency.
type place struct{ iops, ns float64 }

// draws is the number of Monte Carlo draws, enough to fix the limits to about a tenth of their width. seed makes the
// draws reproducible.
const (
	draws = 4000
	seed  = 0xf10
	// mostError is the largest error that is drawn, in logarithms.
	mostError = 10
)

// noise is the standard error of a logarithm.
type noise struct {
	se      float64
	freedom int
}

// at returns how many IOPS of a series meet a latency rule, with 95 % confidence limits. For the limits the points
// are drawn at random with their errors, and crossing gives the bounds of each draw. Without repeats it only names the
// points between which the result lies.
func (c *Curve) at(series *Series, rule *fio.Rule, s *spread) *At {
	at := &At{Rule: rule.Text}
	var places []place
	var noises [][2]noise // of IOPS and latency
	for _, i := range series.Points {
		p := &c.Points[i]
		ns, ok := p.value(rule.Name)
		if !ok {
			at.Note = "at least one point has no " + rule.Name
			return at
		}
		places = append(places, place{p.IOPS, ns})
		var of [2]noise
		of[0].se, of[0].freedom = s.error(p, "iops")
		of[1].se, of[1].freedom = s.error(p, rule.Name)
		noises = append(noises, of)
	}
	c.best(at, series, places, rule)
	if s.freedom == 0 {
		return at
	}
	if iops, _, _ := crossing(places, rule); iops > 0 {
		at.IOPS = &iops
	}
	lows, highs := c.draw(places, noises, rule, s)
	if low := lows[draws*25/1000]; low > 0 {
		at.Low = &low
	}
	if high := highs[draws*975/1000]; !math.IsInf(high, 0) {
		at.High = &high
	}
	if at.best == nil && at.High != nil { // every point breaks the rule, and so the one with the fewest IOPS
		for _, p := range places {
			*at.High = min(*at.High, p.iops)
		}
	}
	return at
}

const noneMeets = "no point meets the rule"

// best fills in the points around the result, and the note.
func (c *Curve) best(at *At, series *Series, places []place, rule *fio.Rule) {
	first, last := meeting(places, rule)
	if first < 0 {
		at.Note = noneMeets
		return
	}
	at.best = &c.Points[series.Points[last]]
	for _, i := range series.Points[first:last] {
		if p := &c.Points[i]; p.IOPS > at.best.IOPS {
			at.best = p
		}
	}
	var notes, broken []string
	if last+1 < len(places) {
		at.Between = []int{series.Points[last], series.Points[last+1]}
	} else {
		notes = append(notes, "even the heaviest load meets the rule; the actual limit may be higher")
	}
	for i := range places[:first] {
		if !rule.Met(places[i].ns) {
			broken = append(broken, c.LoadOf(&c.Points[series.Points[i]]))
		}
	}
	switch {
	case len(broken) == 1:
		notes = append(notes, "a lighter load breaks the rule: "+broken[0])
	case len(broken) > 1:
		notes = append(notes, "lighter loads break the rule: "+strings.Join(broken, ", "))
	}
	at.Note = strings.Join(notes, "; ")
}

// draw returns the lower and upper bounds of crossing for points drawn at random, sorted.
func (c *Curve) draw(places []place, noises [][2]noise, rule *fio.Rule, s *spread) (lows, highs []float64) {
	rho := s.correlation("iops", rule.Name)
	shared := [2]bool{!s.pool("iops").differ, !s.pool(rule.Name).differ}
	rng := rand.New(rand.NewPCG(seed, uint64(len(places))))
	// Student's t: a variance is an estimate, too.
	scale := func(freedom int) float64 {
		chi := 0.0
		for range freedom {
			z := rng.NormFloat64()
			chi += z * z
		}
		return math.Sqrt(float64(freedom) / chi)
	}
	drawn := make([]place, len(places))
	for range draws {
		all := scale(s.freedom)
		for i, p := range places {
			factor := [2]float64{}
			a, b := rng.NormFloat64(), rng.NormFloat64()
			for k, z := range [2]float64{a, rho*a + math.Sqrt(1-rho*rho)*b} {
				by := all
				if !shared[k] {
					by = scale(noises[i][k].freedom)
				}
				factor[k] = math.Exp(max(-mostError, min(by*noises[i][k].se*z, mostError)))
			}
			drawn[i] = place{p.iops * factor[0], p.ns * factor[1]}
		}
		_, low, high := crossing(drawn, rule)
		lows, highs = append(lows, low), append(highs, high)
	}
	slices.Sort(lows)
	slices.Sort(highs)
	return lows, highs
}

// meeting returns the first and the last of the neighbouring points that meet the rule, of those that include the one
// with the most IOPS; -1 if none does.
func meeting(places []place, rule *fio.Rule) (first, last int) {
	first = -1
	for i, p := range places {
		if rule.Met(p.ns) && (first < 0 || p.iops > places[first].iops) {
			first = i
		}
	}
	if first < 0 {
		return -1, -1
	}
	for last = first; last+1 < len(places) && rule.Met(places[last+1].ns); last++ {
	}
	for ; first > 0 && rule.Met(places[first-1].ns); first-- {
	}
	return first, last
}

// crossing returns the most IOPS that meet the rule, with a lower and an upper bound. If no point meets it, iops and
// low are 0 and high is the IOPS of the first point. If the heaviest load meets it, high is infinite. Between two
// points the logarithm of the latency is interpolated linearly over IOPS. The bounds hold for a convex curve, which
// lies below the chord of the two points and above the lines through each of them and its other neighbour.
func crossing(places []place, rule *fio.Rule) (iops, low, high float64) {
	first, last := meeting(places, rule)
	if first < 0 {
		return 0, 0, places[0].iops
	}
	for _, p := range places[first : last+1] {
		iops = max(iops, p.iops)
	}
	if last+1 == len(places) {
		return iops, iops, math.Inf(1)
	}
	a, b := places[last], places[last+1]
	if b.iops <= a.iops { // beyond the peak
		return iops, iops, max(iops, a.iops)
	}
	inside := func(v float64) float64 { return max(a.iops, min(v, b.iops)) }
	through := func(p, q place) float64 {
		return p.iops + (q.iops-p.iops)*(rule.Threshold-p.ns)/(q.ns-p.ns)
	}
	straight := inside(through(a, b))
	curved := inside(a.iops + (b.iops-a.iops)*math.Log(rule.Threshold/a.ns)/math.Log(b.ns/a.ns))
	most := b.iops
	if last > first {
		if p := places[last-1]; p.ns < a.ns && p.iops < a.iops {
			most = min(most, inside(through(p, a)))
		}
	}
	if last+2 < len(places) {
		if q := places[last+2]; q.ns > b.ns && q.iops > b.iops {
			most = min(most, inside(through(b, q)))
		}
	}
	return max(iops, curved), max(iops, min(straight, curved)), max(iops, straight, curved, most)
}
