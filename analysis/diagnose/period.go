package diagnose

import (
	"math"
	"slices"
)

const (
	// leastTimes is how often something happens in a period, at least, and leastCycles the share of times that it does.
	leastTimes, leastCycles = 4, 0.75
	// highZ is by how many standard deviations a block is high.
	highZ = 4
	// periodAlpha is the probability of a period by chance, of one of four series.
	periodAlpha = 1e-3 / 4
)

// period is what happens every so many blocks.
type period struct {
	window
	every  float64  // blocks
	events []window // what happens
	bursts []window // the same, and what is as high at other times
	chance float64  // the probability of it
}

// periodOf returns the period in one of the series, or in all together; nil if chance explains it.
func periodOf(series [][]float64) (best *period) {
	any := make([]bool, len(series[0]))
	for q, x := range series {
		middle, limit := median(known0(x)), max(least[q], highZ*scaleOf(x))
		high := make([]bool, len(x))
		for t, v := range x {
			high[t] = v-middle > limit
			any[t] = any[t] || high[t]
		}
		if p := fold(bursts(high)); p != nil && (best == nil || p.chance < best.chance) {
			best = p
		}
	}
	if p := fold(bursts(any)); p != nil && (best == nil || p.chance < best.chance) {
		best = p
	}
	return best
}

// bursts are the windows of high blocks, with gaps of a block at most.
func bursts(high []bool) (out []window) {
	for t, h := range high {
		switch last := len(out) - 1; {
		case !h:
		case last >= 0 && t <= out[last].to+1:
			out[last].to = t + 1
		default:
			out = append(out, window{t, t + 1})
		}
	}
	return out
}

// fold returns the period in which bursts follow each other; nil if chance explains it. The times at which they begin
// are folded by all lengths, and the chance is that of as many of them in an arc of a block or two.
func fold(bursts []window) *period {
	k := len(bursts)
	if k < leastTimes {
		return nil
	}
	span := float64(bursts[k-1].from - bursts[0].from)
	const shortest = 3.0
	longest := span / (leastTimes - 1)
	var best *period
	chance := periodAlpha
	phases := make([]float64, k)
	for every := shortest; every <= longest*1.01; every *= 1 + 0.5/span {
		cycles := math.Round(span/every) + 1
		if float64(k) < leastCycles*cycles { // also if all are at one phase
			continue
		}
		for i, b := range bursts {
			phases[i] = math.Mod(float64(b.from), every)
		}
		slices.Sort(phases)
		for _, width := range []float64{1, 2} {
			m, begin := fullest(phases, width, every)
			if m < leastTimes || 2*m < k || float64(m) < leastCycles*cycles {
				continue
			}
			tries := 2 * (span / width) * math.Log(max(longest/shortest, math.E))
			p := math.Log(tries*float64(k)) + logChoose(float64(k-1), float64(m-1)) +
				float64(m-1)*math.Log(min(width/every, 1))
			if p < math.Log(chance) {
				chance, best = math.Exp(p), &period{every: every, bursts: bursts}
				for _, b := range bursts {
					if math.Mod(float64(b.from)-begin+every+1e-9, every) <= width+2e-9 {
						best.events = append(best.events, b)
					}
				}
			}
		}
	}
	if p := byChance(bursts); p < chance {
		chance, best = p, &period{every: span / float64(k-1), bursts: bursts, events: bursts}
	}
	if best == nil || len(best.events) < leastTimes {
		return nil
	}
	first, last := best.events[0], best.events[len(best.events)-1]
	best.window, best.chance = window{first.from, last.to}, chance
	if cycles := math.Round(float64(last.from-first.from) / best.every); cycles > 0 {
		best.every = float64(last.from-first.from) / cycles
	}
	return best
}

// byChance is the probability that all bursts lie as close to even distances between the first and the last by chance.
func byChance(bursts []window) float64 {
	k := len(bursts)
	first, span, off := bursts[0].from, float64(bursts[k-1].from-bursts[0].from), 0.0
	for i, b := range bursts {
		off = max(off, math.Abs(float64(b.from-first)-span*float64(i)/float64(k-1)))
	}
	places := 2*math.Ceil(off-0.5) + 1
	between, _ := math.Lgamma(float64(k - 1)) // the logarithm of (k-2)!
	return math.Exp(between + float64(k-2)*math.Log(min(places/span, 1)))
}

// fullest returns how many of the sorted phases of a circle are in the fullest arc of a width, and where it begins.
func fullest(phases []float64, width, circle float64) (most int, begin float64) {
	n, to := len(phases), 0
	at := func(i int) float64 { return phases[i%n] + float64(i/n)*circle }
	for from := range n {
		for to < from+n && at(to)-at(from) <= width+1e-9 {
			to++
		}
		if to-from > most {
			most, begin = to-from, phases[from]
		}
	}
	return most, begin
}
