package diagnose

import (
	"math"
	"slices"
)

const (
	// tailShare is the share of blocks from which the tail of a series is estimated, fewestTail their least number.
	tailShare, fewestTail = 0.1, 5
	// priorBlocks is by how many blocks what is known of the tail counts for bursts that are higher.
	priorBlocks = 4
)

// usual returns an upper bound of the probability that a run has as many blocks in a row as high as those of its own,
// if they are like the rest of it, less what is taken. A device with bursts has as high ones at other times, too. For
// each k it takes the k highest blocks. The bursts in which the rest is as high give how many of them a run has, and
// the probability that one goes on for another block, with a beta distribution for its uncertainty. Beyond the highest
// tenth of the rest, values are taken to fall off exponentially, as their logarithms do with a Pareto tail (Hill,
// Annals of Statistics 3 (1975), 1163-1174).
func usual(off []float64, own func(t int) bool, taken []bool) float64 {
	var high, rest []float64
	var at []int
	for t, v := range off {
		switch {
		case math.IsNaN(v):
		case own(t):
			high = append(high, v)
		case taken == nil || !taken[t]:
			rest, at = append(rest, v), append(at, t)
		}
	}
	many := max(int(tailShare*float64(len(rest))), fewestTail)
	if len(rest) < 2*many {
		return 0 // too short a run to tell
	}
	above := func(from float64) (blocks, bursts, excess float64) {
		last := -2
		for i, v := range rest {
			if v <= from {
				continue
			}
			if at[i] > last+1 {
				bursts++
			}
			last = at[i]
			blocks, excess = blocks+1, excess+v-from
		}
		return blocks, bursts, excess
	}
	from := slices.Sorted(slices.Values(rest))[len(rest)-many-1]
	tail, bursts, excess := above(from)
	goesOn := priorBlocks * (tail - bursts + 0.5) / (tail + 1)
	mean := max(excess/max(tail, 1), leastSpread)
	slices.Sort(high)
	slices.Reverse(high)
	highest := slices.Max(rest)
	least := 0.0
	for i, v := range high {
		k := float64(i + 1)
		chance := func(from float64) float64 { // by the bursts that reach from
			blocks, bursts, _ := above(math.Nextafter(from, math.Inf(-1)))
			return math.Log(bursts) - max(v-from, 0)/mean +
				logLonger(k-1, blocks-bursts+goesOn, bursts+priorBlocks-goesOn)
		}
		least = min(least, logChoose(float64(len(high)), k)+max(chance(min(v, highest)), chance(min(v, from))))
	}
	return math.Exp(least)
}

// logLonger returns the logarithm of the mean of p to the power of k, where p has a beta distribution.
func logLonger(k, a, b float64) float64 {
	logBeta := func(a, b float64) float64 {
		x, _ := math.Lgamma(a)
		y, _ := math.Lgamma(b)
		sum, _ := math.Lgamma(a + b)
		return x + y - sum
	}
	return logBeta(a+k, b) - logBeta(a, b)
}
