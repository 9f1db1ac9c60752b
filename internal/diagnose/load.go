package diagnose

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"fiolat/pipeline"
)

// setLoads are the options that set the load from outside, so that a slower device gets as many I/Os as a fast one.
var setLoads = []string{"rate_iops", "rate", "thinktime"}

// openLoop reports whether the jobs of all logs of a run are known to set the load of a direction.
func openLoop(run *pipeline.Run, direction string) bool {
	at := slices.Index(run.Directions(), direction)
	closed := func(l *pipeline.Log) bool {
		return l.Log == nil || !slices.ContainsFunc(setLoads, func(name string) bool {
			v, _ := l.Option(name)
			parts := strings.Split(v, ",") // for reads, writes and trims; the last one also for the rest
			return strings.ContainsAny(parts[min(at, len(parts)-1)], "123456789")
		})
	}
	return at >= 0 && len(run.Logs) > 0 && !slices.ContainsFunc(run.Logs, closed)
}

const (
	// leastApart is the least difference of two loads, as logarithms, for which a slope is computed.
	leastApart = 0.2
	// alike is how far below another load, as logarithms, a load still counts as equal.
	alike = 0.1
	// nextAbove is how many values with an equal or higher load are used.
	nextAbove = 3
	// maxLoads is how many values are compared in pairs.
	maxLoads = 500
)

// byLoad returns, for each value, the logarithm of the median latency that its load explains: its own, clamped
// between two estimates. One is the Theil-Sen line over all values, whose slope is the median of those between all
// pairs (Theil, Indagationes Mathematicae 12 (1950), 386-392). The other is the median of the next values with an
// equal or higher load. Near saturation latency grows faster than any line, so nothing limits the value with the
// highest load from above. byLoad returns nil if too few values, or too few with different loads, are known.
func (g *group) byLoad(d *latencyRatios) []float64 {
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
	slope := max(median(slopes), 0) // negative if the load is not set: slow values have fewer I/Os
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
