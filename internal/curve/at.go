package curve

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"fiolat/internal/metric"
)

// spread estimates how much runs of the same setting differ, in logarithms.
type spread struct {
	// freedom is the degrees of freedom of the pooled variances; 0 if no setting was repeated.
	freedom int
	pooled  map[string]float64 // variance by metric
	points  []Point
}

func newSpread(points []Point) *spread {
	s := &spread{pooled: map[string]float64{}, points: points}
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

// variance returns the variance of one run of a point: pooled over all settings, but not below the point's own.
func (s *spread) variance(p *Point, name string) float64 {
	if s.freedom == 0 {
		return math.NaN()
	}
	pooled, ok := s.pooled[name]
	if !ok {
		for i := range s.points {
			pooled += squares(s.points[i].residuals(name)) / float64(s.freedom)
		}
		s.pooled[name] = pooled
	}
	if n := len(p.rows); n > 1 {
		pooled = max(pooled, squares(p.residuals(name))/float64(n-1))
	}
	return pooled
}

// error returns the standard error of a point's mean; NaN if it is not known. It is not below the error that the
// limits of percentiles within the runs imply.
func (s *spread) error(p *Point, name string) float64 {
	n := float64(len(p.rows))
	variance := s.variance(p, name) / n
	within := 0.0
	for i := range p.rows {
		l := p.rows[i].Limits[strings.TrimPrefix(name, "p")]
		if l.Low != nil && l.High != nil && *l.Low > 0 {
			half := math.Log(*l.High / *l.Low) / 2 / 1.96
			within += half * half / n / n
		}
	}
	return math.Sqrt(max(variance, within)) // NaN stays
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
)

// at returns how many IOPS of a series meet a latency rule, with 95 % confidence limits. For the limits the points
// are drawn at random with their errors, and crossing gives the bounds of each draw.
func (c *Curve) at(series *Series, rule *metric.Rule, s *spread) *At {
	at := &At{Rule: rule.Text}
	var places []place
	var errorsIOPS, errorsNS []float64
	for _, i := range series.Points {
		p := &c.Points[i]
		ns, ok := p.value(rule.Name)
		if !ok {
			at.Note = "at least one point has no " + rule.Name
			return at
		}
		places = append(places, place{p.IOPS, ns})
		errorsIOPS = append(errorsIOPS, s.error(p, "iops"))
		errorsNS = append(errorsNS, s.error(p, rule.Name))
	}
	first, last := meeting(places, rule)
	switch {
	case first < 0:
		at.Note = "no point meets the rule"
	default:
		iops, _, _ := crossing(places, rule)
		at.IOPS = &iops
		if last+1 < len(places) {
			at.Between = []int{series.Points[last], series.Points[last+1]}
		} else {
			at.Note = "even the heaviest load meets the rule; the actual limit may be higher"
		}
		if first > 0 {
			at.Note = strings.TrimPrefix(at.Note+"; ", "; ") + "some lighter loads break the rule"
		}
	}
	if s.freedom == 0 {
		return at
	}
	rho := s.correlation("iops", rule.Name)
	rng := rand.New(rand.NewPCG(seed, uint64(len(places))))
	var lows, highs []float64
	drawn := make([]place, len(places))
	for range draws {
		chi := 0.0
		for range s.freedom {
			z := rng.NormFloat64()
			chi += z * z
		}
		scale := math.Sqrt(float64(s.freedom) / chi) // Student's t: the variance is an estimate, too
		for i, p := range places {
			a, b := rng.NormFloat64(), rng.NormFloat64()
			drawn[i] = place{p.iops * math.Exp(scale*errorsIOPS[i]*a),
				p.ns * math.Exp(scale*errorsNS[i]*(rho*a+math.Sqrt(1-rho*rho)*b))}
		}
		_, low, high := crossing(drawn, rule)
		lows, highs = append(lows, low), append(highs, high)
	}
	slices.Sort(lows)
	slices.Sort(highs)
	if low := lows[draws*25/1000]; low > 0 {
		at.Low = &low
	}
	if high := highs[draws*975/1000]; !math.IsInf(high, 0) {
		at.High = &high
	}
	return at
}

// meeting returns the first point that meets the rule, and the last of those that follow without a gap; -1 if none.
func meeting(places []place, rule *metric.Rule) (first, last int) {
	first = slices.IndexFunc(places, func(p place) bool { return rule.Met(p.ns) })
	if first < 0 {
		return -1, -1
	}
	last = first
	for last+1 < len(places) && rule.Met(places[last+1].ns) {
		last++
	}
	return first, last
}

// crossing returns how many IOPS meet the rule, with a lower and an upper bound. If no point meets it, iops and low
// are 0 and high is the IOPS of the first point. If the heaviest load meets it, high is infinite. Between two points
// the logarithm of the latency is interpolated linearly over IOPS. The bounds hold for a convex curve, which lies
// below the chord of the two points and above the lines through each of them and its other neighbour.
func crossing(places []place, rule *metric.Rule) (iops, low, high float64) {
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
