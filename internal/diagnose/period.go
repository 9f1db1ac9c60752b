package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fiolat/fio"
)

// Period is the kind of a Segment in which the same happens again and again.
const Period = "period"

const (
	// leastTimes is how often something happens in a period, at least, and leastCycles the share of times that it does.
	leastTimes, leastCycles = 4, 0.75
	// highZ is by how many standard deviations a block is high.
	highZ = 4
)

// period is what happens every so many blocks.
type period struct {
	window
	every  float64  // blocks
	events []window // what happens
	chance float64  // the probability of it
}

// newPeriod returns the period of one of the series, or of all together; nil if chance explains it.
func newPeriod(series []*shift, least []float64, from int) *period {
	best := periodOf(series, least, from)
	for k := range series {
		if p := periodOf(series[k:k+1], least[k:k+1], from); p != nil && (best == nil || p.chance < best.chance) {
			best = p
		}
	}
	return best
}

// periodOf returns the period in which high blocks follow each other; nil if chance explains it. The times at which
// bursts begin are folded by all lengths, and the chance is that of as many of them in an arc of a block or two.
func periodOf(series []*shift, least []float64, from int) *period {
	n := len(series[0].off)
	var limits []float64
	for k, s := range series {
		var off []float64
		for _, v := range s.off[from:] {
			if !math.IsNaN(v) {
				off = append(off, math.Abs(v))
			}
		}
		const ofNormal = 0.6745 // the median of the absolute value of a standard normal variable
		limits = append(limits, max(math.Log(least[k]), highZ*median(off)/ofNormal))
	}
	var bursts []window
	for t := from; t < n; t++ {
		high := false
		for k, s := range series {
			high = high || s.off[t] >= limits[k]
		}
		switch last := len(bursts) - 1; {
		case !high:
		case last >= 0 && t <= bursts[last].to+1:
			bursts[last].to = t + 1
		default:
			bursts = append(bursts, window{t, t + 1})
		}
	}
	k := len(bursts)
	if k < leastTimes {
		return nil
	}
	span := float64(bursts[k-1].from - bursts[0].from)
	const shortest = 3.0
	longest := span / (leastTimes - 1)
	var best *period
	chance := incidentAlpha / 4 // of one of the series, or of all
	phases := make([]float64, k)
	for every := shortest; every <= longest*1.01; every *= 1 + 0.5/span {
		for i, b := range bursts {
			phases[i] = math.Mod(float64(b.from), every)
		}
		slices.Sort(phases)
		for _, width := range []float64{1, 2} {
			m, begin := fullest(phases, width, every)
			cycles := math.Round(span/every) + 1
			if m < leastTimes || 2*m < k || float64(m) < leastCycles*cycles {
				continue
			}
			tries := 2 * (span / width) * math.Log(max(longest/shortest, math.E))
			p := math.Log(tries*float64(k)) + logChoose(float64(k-1), float64(m-1)) +
				float64(m-1)*math.Log(min(width/every, 1))
			if p < math.Log(chance) {
				chance, best = math.Exp(p), &period{every: every}
				for _, b := range bursts {
					if math.Mod(float64(b.from)-begin+every+1e-9, every) <= width+2e-9 {
						best.events = append(best.events, b)
					}
				}
			}
		}
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

func (p *period) overlaps(w window) bool { return w.from < p.to && p.from < w.to }

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

// describePeriod compares the blocks of a period in which something happens with those between.
func (c *timeSeries) describePeriod(s *Segment, p *period) {
	var in, between []part
	at, blocks := p.from, 0
	for _, e := range p.events {
		if e.from > at {
			between = append(between, part{window: window{at, e.from}})
		}
		in = append(in, part{window: e})
		at, blocks = e.to, blocks+e.to-e.from
	}
	s.from, s.is = c.reference(between, nil), c.reference(in, nil)
	block := float64(c.interval) * float64(c.fold) / 1e6
	s.PeriodMS, s.Times = int64(math.Round(p.every*block)), len(p.events)
	s.Why = fmt.Sprintf("every %s for about %s, %d times", seconds(float64(s.PeriodMS)/1000),
		seconds(float64(blocks)/float64(len(p.events))*block/1000), s.Times)
	var words []string
	for _, m := range measures(s.from, s.is) {
		if !m.rate() && m.is >= leastWarmUp*m.was || m.rate() && m.is < m.was*leastFewer {
			words = append(words, m.against("between"))
		}
	}
	if len(words) > 0 {
		s.Why += ": " + strings.Join(words, ", ")
	}
}

// periodic is the finding of a period.
func (s *Segment) periodic() Finding {
	factor := s.from.iops / max(s.is.iops, s.from.iops/100)
	if !s.is.Empty() && !s.from.Empty() {
		factor = max(factor, s.is.Percentiles[1]/max(s.from.Percentiles[1], 1))
	}
	return likely(Period, factor, fmt.Sprintf("%s are slower %s, from %s to %s", plural(s.Direction), s.Why,
		fio.Clock(s.FromMS), fio.Clock(s.ToMS)))
}
