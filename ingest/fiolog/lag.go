package fiolog

import (
	"math"
	"slices"
	"sync"

	"fiolat/fio/fiohist"
)

// Lag examines the raw records of one direction of one log for the damage that fio --client does. Its server subtracts
// in place and writes h(n) = cum(n) - h(n-1), so that cum(n) = h(n) + h(n-1). No bucket then ever falls at lag 2, since
// h(n) - h(n-2) is what completed in between; this difference also repairs the log exactly.
type Lag struct {
	Records int64
	Fell    bool // some bucket fell at lag 2: the log is healthy

	// Evidence where there is no JSON to compare sums with. A healthy log whose buckets fall from one record to the
	// next also falls at lag 2 now and then; a damaged one falls at lag 1 all the time (even and odd records are
	// separate running sums) and never at lag 2.
	ones  int64 // buckets that held one I/O two records before: the most likely to fall
	mixed int64 // steps in which buckets fell and others rose

	Chance float64   // minus the natural logarithm of the chance that no bucket of a healthy log fell at lag 2
	Falls  int64     // buckets that fell from one record to the next
	Sums   []float64 // I/Os of the first records
	idle   bool      // a record that would be empty once repaired: the log is healthy

	*lagRecords // nil before the first record, and after a fall or Forget
}

// lagRecords holds the records that Lag compares with the next one.
type lagRecords struct {
	Raw        [2]fiohist.Sparse // the last record and the one before
	diff, step fiohist.Sparse    // scratch
}

// lagMemory holds lagRecords for reuse: most logs need theirs for three records only.
var lagMemory = sync.Pool{New: func() any { return new(lagRecords) }}

// Add takes the next raw record and, from the third on, returns what completed in it, if the log is damaged. The next
// call overwrites the result. Once a bucket fell, which proves the log healthy, Add only counts records and returns
// nothing.
func (l *Lag) Add(c *fiohist.Sparse) fiohist.Sparse {
	l.Records++
	if l.Fell {
		return fiohist.Sparse{}
	}
	if l.lagRecords == nil {
		l.lagRecords = lagMemory.Get().(*lagRecords)
	}
	d := &l.diff
	d.Reset()
	if l.Records > 2 {
		d.Combine(c, &l.Raw[1], -1)
		for _, n := range d.Count {
			l.Fell = l.Fell || n < 0
		}
		if l.Fell {
			l.Forget()
			return fiohist.Sparse{}
		}
		for _, n := range l.Raw[1].Count {
			if n == 1 {
				l.ones++
			}
		}
		l.idle = l.idle || d.Sum() == 0
		if l.Records <= evidenceRecords {
			l.Chance += stays(&l.Raw[1], c.Sum()/l.Raw[1].Sum())
		}
		falls, rises := 0, 0
		l.step.Combine(c, &l.Raw[0], -1)
		for _, n := range l.step.Count {
			if n < 0 {
				falls++
			} else {
				rises++
			}
		}
		if falls >= 3 && rises >= 3 {
			l.mixed++
		}
		l.Falls += int64(falls)
	}
	if l.Records <= evidenceRecords {
		l.Sums = append(l.Sums, c.Sum())
	}
	l.Raw[0], l.Raw[1] = l.Raw[1], l.Raw[0]
	l.Raw[0].Copy(c)
	return *d
}

// Forget drops the records. Add must not be called again.
func (l *Lag) Forget() {
	if l.lagRecords != nil {
		l.Raw[0].Reset()
		l.Raw[1].Reset()
		lagMemory.Put(l.lagRecords)
		l.lagRecords = nil
	}
}

// evidenceRecords is how many records of a direction Chance and Sums cover.
const evidenceRecords = 64

// stays returns minus the natural logarithm of the chance that none of the buckets of c falls within
// two records, in a healthy log whose I/Os become r times as many. A bucket that held k I/Os is
// assumed to hold a negative binomial number later, with k + 1/2 I/Os expected at r = 1, and its own
// load to grow by 1.5 r. Buckets of 30 I/Os or more say little and are left out.
func stays(c *fiohist.Sparse, r float64) (evidence float64) {
	r = 1.5 * max(r, 1)
	for _, k := range c.Count {
		if k >= 30 {
			continue
		}
		p := math.Pow(1+r, -k-0.5)
		below := 0.0
		for j := 0.0; j < k; j++ {
			below += p
			p *= (k + 0.5 + j) / (j + 1) * r / (1 + r)
		}
		evidence -= math.Log1p(-min(below, 0.999))
	}
	return evidence
}

// Smoother returns how much smoother the load is once repaired than as logged, as the logarithm of a likelihood ratio:
// the damage turns a steady load of a, a, a ... into a, a, 2a, 2a, 3a ...
func (l *Lag) Smoother() float64 {
	repaired := slices.Clone(l.Sums)
	for n := len(repaired) - 1; n >= 2; n-- {
		repaired[n] -= repaired[n-2]
	}
	return roughness(l.Sums, repaired) - roughness(repaired, repaired)
}

// roughness returns how far the I/Os of windows, from the third on, are from a steady or a steadily changing load. Its
// changes are taken to be heavy-tailed, with a scale of 5 % and the sampling noise of the counts in drawn.
func roughness(ios, drawn []float64) float64 {
	steps, bends := 0.0, 0.0
	for n := 2; n < len(ios); n++ {
		a, b, c := max(ios[n-2], 1), max(ios[n-1], 1), max(ios[n], 1)
		step, bend := math.Log(c/b), 3*(c-2*b+a)/(a+b+c)
		least := max(min(drawn[n-2], drawn[n-1], drawn[n]), 1)
		steps += math.Log1p(step * step / (0.0025 + 2/least))
		bends += math.Log1p(bend * bend / (0.0025 + 6/least))
	}
	return min(steps, bends)
}

// Suspect reports whether the direction could be damaged: there is a third record, nothing fell,
// and no record would be empty once repaired.
func (l *Lag) Suspect() bool { return l.Records >= 3 && !l.Fell && !l.idle }

// Certain reports whether no healthy log looks like this: at least 100 times a bucket that held a single I/O did not
// empty within two records, while in at least 8 steps from record to record some buckets fell and others rose. Had the
// single I/Os come by chance, with the load doubling every two records, a bucket would have stayed empty with
// probability exp(-2): (1 - 0.135)^100 is 5e-7. Load that only grows, however steadily, has no falls at lag 1.
func (l *Lag) Certain() bool { return l.Suspect() && l.ones >= 100 && l.mixed >= 8 }

// Looks reports whether it looks damaged, by a few steps.
func (l *Lag) Looks() bool { return l.Suspect() && l.Records >= 6 && l.mixed >= 3 }
