package diagnose

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"fiolat/pipeline"
)

// setLoads are the options that set the load from outside: a slower device has as many I/Os as before.
var setLoads = []string{"rate_iops", "rate", "thinktime"}

// openLoop says that the job of every log of a run is known to set the load of a direction.
func openLoop(run *pipeline.Run, direction string) bool {
	at := slices.Index(run.Directions(), direction)
	closed := func(l *pipeline.Log) bool {
		return l.Log == nil || !slices.ContainsFunc(setLoads, func(name string) bool {
			v, _ := l.Option(name)
			parts := strings.Split(v, ",") // of reads, writes and trims; the last one is that of the rest
			return strings.ContainsAny(parts[min(at, len(parts)-1)], "123456789")
		})
	}
	return at >= 0 && len(run.Logs) > 0 && !slices.ContainsFunc(run.Logs, closed)
}

const (
	// leastApart is the least difference of two loads, as a logarithm, from which a slope is taken.
	leastApart = 0.2
	// alike is how far the load of a value may be below another's that has as much to do.
	alike = 0.1
	// nextAbove is how many values with as much to do or more are looked at.
	nextAbove = 3
	// maxLoads is how many values are compared two by two.
	maxLoads = 500
)

// byLoad is the logarithm of the median latency that each value's load explains, beside the others': its own if that
// lies between the line of Theil (Indagationes Mathematicae 12 (1950), 386-392) and Sen, of which the slope is the
// median of those between all pairs, and the middle of the next values with as much to do or more. Near saturation
// latency grows faster than by any line, so who has most to do is not above what its load explains. It is nil where too
// few values, or none with different loads, tell a slope.
func (g *group) byLoad(d *drift) []float64 {
	loads, mids := make([]float64, len(g.values)), make([]float64, len(g.values))
	var known []int
	for v := range g.values {
		var of, n []float64
		for t, b := range g.blocks {
			if d.counts[v][t+1] > d.counts[v][t] {
				of, n = append(of, d.sums[v][t+1]-d.sums[v][t]), append(n, math.Log(float64(b.members[v].n)))
			}
		}
		if len(of) > 0 {
			loads[v], mids[v], known = median(n), median(of), append(known, v)
		}
	}
	slices.SortStableFunc(known, func(a, b int) int { return cmp.Compare(loads[a], loads[b]) })
	var slopes, rest []float64
	step := (len(known) + maxLoads - 1) / maxLoads
	for i := 0; i < len(known); i += step {
		for j := i + step; j < len(known); j += step {
			a, b := known[i], known[j]
			if apart := loads[b] - loads[a]; apart >= leastApart {
				slopes = append(slopes, (mids[b]-mids[a])/apart)
			}
		}
	}
	if len(known) < manyPeers || len(slopes) < manyPeers {
		return nil
	}
	slope := max(median(slopes), 0) // below 0 the load is not set: who is slow has fewer I/Os
	for _, v := range known {
		rest = append(rest, mids[v]-slope*loads[v])
	}
	out, base, first := make([]float64, len(g.values)), median(rest), 0
	for i, v := range known {
		for loads[known[first]] < loads[v]-alike {
			first++
		}
		var next []float64
		for j := first; j < len(known) && len(next) < nextAbove; j++ {
			if j != i {
				next = append(next, mids[known[j]])
			}
		}
		line, above := base+slope*loads[v], math.Inf(1)
		if len(next) > 1 {
			above = median(next)
		}
		out[v] = min(max(mids[v], min(line, above)), max(line, above))
	}
	return out
}
