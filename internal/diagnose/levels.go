package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"fiolat/fio"
)

// Level says that hosts, jobs or logs of a direction have two levels of latency for the whole run: none of the slow
// ones stands out among so many.
type Level struct {
	Dimension string   `json:"dimension"` // host, job or log
	Direction string   `json:"direction"`
	Slow      []string `json:"slow"`
	Others    int      `json:"others"`
	// Factor is the ratio of their median latency to that of the others, with its 95 % confidence limits.
	Factor     float64 `json:"factor"`
	FactorLow  float64 `json:"factor_low"`
	FactorHigh float64 `json:"factor_high"`
	// Common is what the names of the slow ones begin with, and those of the others do not; or the job or host of all
	// slow logs.
	Common string  `json:"common,omitempty"`
	P      float64 `json:"p"`
}

const (
	// leastPeers is the least number of values in which two levels are looked for; a level has at least two of them.
	leastPeers = 4
	// levelDraws is how many sets of values without levels are drawn for comparison.
	levelDraws = 4000
	// minLevel is the least ratio of two levels.
	minLevel = 1.3
)

// Levels returns the groups of peers with two levels.
func (p *peers) Levels() (out []Level) {
	for _, g := range p.groups {
		if len(g.values) < leastPeers || p.repeats(g) || dimensions[g.dimension] == fio.ByLog &&
			slices.ContainsFunc(out, func(l Level) bool { return l.Direction == g.direction }) {
			continue
		}
		g.openLoop = p.openLoop != nil && p.openLoop(g.direction)
		if l := g.levels(); l != nil {
			out = append(out, *l)
		}
	}
	return out
}

// levels returns the two levels of a group, nil if there is no gap that is unlikely among as many values of a normal
// distribution, or if it is not there all the time.
func (g *group) levels() *Level {
	expected := make([]float64, len(g.values))
	if g.openLoop {
		if at := g.byLoad(g.ratios(expected)); at != nil {
			expected = at
		}
	}
	mid := func(v int, b *block) float64 { return float64(b.members[v].mid) - expected[v] }
	var at []*block // in which all values have I/Os
	for t := range g.blocks {
		b := &g.blocks[t]
		if len(b.members) == len(g.values) && !slices.ContainsFunc(b.members, func(m member) bool {
			return m.n < fewest
		}) {
			at = append(at, b)
		}
	}
	if len(at) < 2*minQuanta || 2*len(at) < len(g.blocks) {
		return nil
	}
	type value struct {
		v     int
		level float64
	}
	values := make([]value, len(g.values))
	for v := range values {
		values[v].v = v
		for _, b := range at {
			values[v].level += mid(v, b) / float64(len(at))
		}
	}
	slices.SortFunc(values, func(a, b value) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(g.values[a.v], g.values[b.v]))
	})
	sorted := make([]float64, len(values))
	for i, v := range values {
		sorted[i] = v.level
	}
	split, apart := twoLevels(sorted)
	if split == 0 { // all are the same
		return nil
	}
	low, high := values[:split], values[split:]
	mean := func(of []value, b *block) (sum float64) {
		for _, v := range of {
			sum += mid(v.v, b)
		}
		return sum / float64(len(of))
	}
	// The difference over time, in as many parts as are likely to be independent of each other.
	parts := make([]float64, min(len(at), 12))
	for i := range parts {
		from, to := i*len(at)/len(parts), (i+1)*len(at)/len(parts)
		for _, b := range at[from:to] {
			parts[i] += (mean(high, b) - mean(low, b)) / float64(to-from)
		}
	}
	difference, se := meanOf(parts)
	se = max(se, leastSpread/math.Sqrt(float64(len(parts))))
	t := (difference - math.Log(minLevel)) / se
	p := upperTail(normalOfT(t, float64(len(parts)-1)))
	if p <= falseDiscoveries { // the draws take time
		p = max(p, chance(len(values), apart))
	}
	if p > falseDiscoveries {
		return nil
	}
	l := &Level{Dimension: dimensions[g.dimension], Direction: g.direction, Others: len(low), P: p,
		Factor: math.Exp(difference), FactorLow: math.Exp(difference - z95*se),
		FactorHigh: math.Exp(difference + z95*se)}
	var others []string
	for _, v := range high {
		l.Slow = append(l.Slow, g.values[v.v])
	}
	for _, v := range low {
		others = append(others, g.values[v.v])
	}
	slices.Sort(l.Slow)
	l.Common = common(l.Slow, others)
	return l
}

// twoLevels splits sorted values in two, of two or more each, such that the difference of the two means is largest
// compared with the deviation of the values from them. It returns the index of the first one of the upper level, and
// that ratio; 0 if all values are the same.
func twoLevels(sorted []float64) (split int, apart float64) {
	n := float64(len(sorted))
	sum, squares := 0.0, 0.0 // of the distances from the first value
	for _, v := range sorted {
		sum, squares = sum+v-sorted[0], squares+(v-sorted[0])*(v-sorted[0])
	}
	low := 0.0 // the part of sum below the split
	for k := 1; k+2 <= len(sorted); k++ {
		low += sorted[k-1] - sorted[0]
		below, above := low/float64(k), (sum-low)/(n-float64(k))
		within := squares - low*below - (sum-low)*above
		if r := (above - below) / math.Sqrt(max(within, 0)/(n-2)+leastSpread*leastSpread); k > 1 && r > apart {
			split, apart = k, r
		}
	}
	return split, apart
}

// chance returns an upper limit of the probability that n values of a normal distribution lie so far apart, from draws
// that are the same each time. Beyond the largest of them, it falls as Student's t does, from the square root of the
// number of draws on.
func chance(n int, apart float64) float64 {
	rng := rand.New(rand.NewPCG(uint64(n), 0)) //nolint:gosec // reproducible on purpose
	drawn, values := make([]float64, levelDraws), make([]float64, n)
	for i := range drawn {
		for k := range values {
			values[k] = rng.NormFloat64()
		}
		slices.Sort(values)
		_, drawn[i] = twoLevels(values)
	}
	slices.Sort(drawn)
	at, _ := slices.BinarySearch(drawn, apart)
	if at < levelDraws {
		return float64(levelDraws-at+1) / float64(levelDraws+1)
	}
	tail := levelDraws - int(math.Sqrt(levelDraws))
	return math.Pow(drawn[tail]/apart, float64(n-2)) / math.Sqrt(levelDraws)
}

// meanOf returns the mean of values and its standard error.
func meanOf(values []float64) (mean, se float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		se += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(se / max(n-1, 1) / n)
}

// common returns what all slow names begin with, up to a separator or a number, if none of the others does.
func common(slow, others []string) string {
	prefix := slow[0]
	for _, name := range slow[1:] {
		n := 0
		for n < min(len(prefix), len(name)) && prefix[n] == name[n] {
			n++
		}
		prefix = prefix[:n]
	}
	if prefix == "" || slices.ContainsFunc(others, func(name string) bool { return strings.HasPrefix(name, prefix) }) {
		return ""
	}
	return prefix
}

// tells reports whether the level says what a straggler of the whole run says.
func (l *Level) tells(s Straggler) bool {
	return s.Dimension == l.Dimension && s.Direction == l.Direction && (s.Percentile == 50 || s.Ranked != nil) &&
		!s.Recovered &&
		slices.Contains(l.Slow, s.Value)
}

// maxNamed is how many slow hosts, jobs or logs a sentence names.
const maxNamed = 8

func (l *Level) finding() Finding {
	return Finding{About: "straggler", Factor: l.Factor, Confidence: confidence(l.P),
		Text: fmt.Sprintf("%s; confidence %s.", l.text(), certain(l.P))}
}

// text is the finding without its confidence.
func (l *Level) text() string {
	names := strings.Join(l.Slow[:min(len(l.Slow), maxNamed)], ", ")
	if more := len(l.Slow) - maxNamed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	text := fmt.Sprintf("%d %ss (%s) have %s times the median %s latency of the other %d (%s to %s)", len(l.Slow),
		l.Dimension, names, number(l.Factor), l.Direction, l.Others, number(l.FactorLow), number(l.FactorHigh))
	if l.Common != "" {
		text += fmt.Sprintf("; only their names begin with %q", l.Common)
	}
	return text + "; the whole run"
}
