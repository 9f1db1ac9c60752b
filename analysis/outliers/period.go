package outliers

import (
	"cmp"
	"math"
	"slices"
)

const (
	// leastPeriodic is how many outliers make a period, and leastBeats the share of its beats that have one.
	leastPeriodic, leastBeats = 4, 0.8
	// chance is the probability below which a period is told.
	chance = 0.001
	// alike is by which factor outliers of one cause differ from their median at most, and leastAlike the share of all
	// that they are at least.
	alike, leastAlike = 1.25, 0.8
)

// Period says that outliers recur evenly.
type Period struct {
	MS float64 `json:"ms"`
	// LowMS and HighMS are the shortest and longest period that the times allow.
	LowMS  float64 `json:"low_ms"`
	HighMS float64 `json:"high_ms"`
	// Chance is the probability that outliers at random times are as even.
	Chance float64 `json:"chance"`
	// FirstMS is the middle of the first outlier that recurs, and IOs how many I/Os recur: all, or those of about one
	// latency.
	FirstMS float64 `json:"first_ms"`
	IOs     float64 `json:"ios"`
}

// periodOf returns the period of all outliers or, where they have none, of those that took about as long as the
// median: one stray I/O among them hides no period. It returns nil if neither is more even than by chance.
func periodOf(all []Outlier) *Period {
	if p := evenly(all, chance); p != nil {
		return p
	}
	longest := slices.SortedFunc(slices.Values(all),
		func(a, b Outlier) int { return cmp.Compare(a.LongestNS, b.LongestNS) })
	if len(all) == 0 {
		return nil
	}
	median := longest[len(longest)/2].LongestNS
	some := slices.DeleteFunc(slices.Clone(all), func(o Outlier) bool {
		return o.LongestNS*alike < median || o.LongestNS > median*alike
	})
	if len(some) == len(all) || float64(len(some)) < leastAlike*float64(len(all)) {
		return nil
	}
	p := evenly(some, chance/2) // the second try
	if p != nil {
		p.Chance *= 2
	}
	return p
}

// evenly returns the period at which 80 % of the beats between the first and the last outlier have one, and each is
// within half of its time of a beat; nil if there is none, or if it is as likely as most by chance.
func evenly(all []Outlier, most float64) *Period {
	n := len(all)
	if n < leastPeriodic {
		return nil
	}
	first, last := &all[0], &all[n-1]
	span, width := last.at()-first.at(), 0.0
	for i := range all {
		width += all[i].half() / float64(n)
	}
	for beats := n - 1; float64(n) >= leastBeats*float64(beats+1); beats++ {
		p := fit(all, span/float64(beats))
		if p == nil {
			continue
		}
		edge := (first.half() + last.half()) / float64(beats)
		p.LowMS, p.HighMS = p.MS-edge, p.MS+edge
		p.Chance = min(span/width*math.Pow(2*width/p.MS, float64(n-2)), 1)
		if p.Chance < most {
			p.FirstMS = first.at()
			for i := range all {
				p.IOs += all[i].IOs
			}
			return p
		}
	}
	return nil
}

// fit fits beats that are about so many ms apart to the outliers; nil if one of them is off, or two have one beat.
func fit(all []Outlier, every float64) *Period {
	n, sumK, sumT, sumKK, sumKT := float64(len(all)), 0.0, 0.0, 0.0, 0.0
	numbers := make([]float64, len(all))
	for i := range all {
		k := math.Round((all[i].at() - all[0].at()) / every)
		if i > 0 && k <= numbers[i-1] {
			return nil
		}
		numbers[i] = k
		sumK, sumT, sumKK, sumKT = sumK+k, sumT+all[i].at(), sumKK+k*k, sumKT+k*all[i].at()
	}
	ms := (n*sumKT - sumK*sumT) / (n*sumKK - sumK*sumK)
	start := (sumT - ms*sumK) / n
	for i := range all {
		if math.Abs(all[i].at()-start-numbers[i]*ms) > all[i].half() {
			return nil
		}
	}
	return &Period{MS: ms}
}
