package logs

import (
	"math"

	"fiolat/fio/fiohist"
)

const (
	// octave is how many buckets of the finest grid an octave has.
	octave = 64
	// rounds is how often shares are scaled to the totals of logs, and to fio's counts of buckets.
	rounds = 10
)

// shares returns how many I/Os of each bucket of the tail each log of a group has. A log's weight is what it has of all
// of them. Of a bucket it gets more the more of its own I/Os are near that: jobs of a group may be as unlike as a cache
// and a disk. The totals of logs and buckets are then met in turn, those of buckets exactly.
func (t *tail) shares() [][]float64 {
	n := len(t.counts.Index)
	if len(t.members) == 1 || n == 0 {
		return make([][]float64, len(t.members))
	}
	reach := t.reach()
	out := make([][]float64, len(t.members))
	sums, known := make([]float64, n), 0.0 // of the parts of logs with records
	for i, m := range t.members {
		out[i] = t.near(m, reach)
		if out[i] != nil {
			known++
			for k, part := range out[i] {
				sums[k] += part
			}
		}
	}
	for i, m := range t.members {
		if out[i] == nil { // a log without a record is like the others
			out[i] = make([]float64, n)
			for k := range out[i] {
				out[i][k] = 1
				if known > 0 {
					out[i][k] = sums[k] / known
				}
			}
		}
		for k := range out[i] {
			out[i][k] *= m.weight
		}
	}
	total := t.counts.Sum()
	t.fill(out)
	for range rounds {
		for i, m := range t.members {
			scale(out[i], m.weight*total)
		}
		t.fill(out)
	}
	t.wholeParts(out)
	return out
}

// wholeParts rounds shares so that those of a bucket still add up to its count.
func (t *tail) wholeParts(shares [][]float64) {
	for k, count := range t.counts.Count {
		sum := 0.0
		for i := range shares {
			before := sum
			sum += shares[i][k] / count
			shares[i][k] = fiohist.Share(count, before, sum)
		}
	}
}

// scale makes values add up to a total, unless all are 0.
func scale(v []float64, total float64) {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	for k := range v {
		if sum > 0 {
			v[k] *= total / sum
		}
	}
}

// fill scales shares to the counts of the buckets; of one that no log has a part of, by weight.
func (t *tail) fill(shares [][]float64) {
	for k, count := range t.counts.Count {
		sum := 0.0
		for i := range shares {
			sum += shares[i][k]
		}
		for i, m := range t.members {
			if sum > 0 {
				shares[i][k] *= count / sum
			} else {
				shares[i][k] = count * m.weight
			}
		}
	}
}

// reach returns how many buckets are near each bucket of the tail, on either side: those within an octave or, if no log
// that has a part of the tail has I/Os there, within twice as many, and so on.
func (t *tail) reach() []int {
	out := make([]int, len(t.counts.Index))
	for k := range out {
		out[k] = math.MaxInt
	}
	for _, m := range t.members {
		if m.weight == 0 || m.d.ios == 0 {
			continue
		}
		sums := t.running(m)
		for k, b := range t.counts.Index {
			for width := octave; ; width *= 2 {
				r := (width - 1) >> t.g.Coarseness
				if r >= min(out[k], len(sums)) || within(sums, int(b), r) > 0 {
					out[k] = min(out[k], r)
					break
				}
			}
		}
	}
	return out
}

// near returns which part of a log's own I/Os is near each bucket of the tail; nil if it has none.
func (t *tail) near(m *member, reach []int) []float64 {
	if m.d.ios == 0 {
		return nil
	}
	sums := t.running(m)
	out := make([]float64, len(reach))
	for k, b := range t.counts.Index {
		out[k] = within(sums, int(b), reach[k]) / m.d.ios
	}
	return out
}

// running returns the running sums of a log's counts on the tail's geometry: I/Os in buckets before each.
func (t *tail) running(m *member) []float64 {
	sums := make([]float64, t.g.Columns()+1)
	m.d.sums.Each(func(b int, n float64) { sums[b>>t.coarser(m.State)+1] += n })
	for b := range t.g.Columns() {
		sums[b+1] += sums[b]
	}
	return sums
}

// within returns the I/Os of running sums that are at most reach buckets from b.
func within(sums []float64, b, reach int) float64 {
	reach = min(reach, len(sums)) // all
	return sums[min(b+reach+1, len(sums)-1)] - sums[max(b-reach, 0)]
}

// cut ends a log's part of the tail by its own longest I/O: its job issued none after the option runtime.
func (t *tail) cut(m *member, share *fiohist.Sparse) {
	const some = 0.01 // of an I/O
	if m.limit == 0 {
		return
	}
	for k := len(share.Index) - 1; k >= 0; k-- {
		if share.Count[k] >= some {
			m.to = min(m.to, max(m.start+m.limit+t.g.Upper(int(share.Index[k]))+msec, m.from+msec))
			return
		}
	}
}
