package fiohist

import (
	"fmt"
	"math"
	"strings"
)

const (
	// edges is the number of latencies at which Blocks counts I/Os: edgesPerGroup in each of fio's groups.
	edges         = maxGroups * edgesPerGroup
	edgesPerGroup = 4
	perEdge       = PerGroup / edgesPerGroup // buckets
	// enoughBlocks is the number of blocks from which their length is trusted, and fewestBlocks the least from which a
	// variance is estimated.
	enoughBlocks, fewestBlocks = 10, 4
	// fewestBursts is the number of bursts beyond a percentile from which limits are more than a lower bound.
	fewestBursts = 3
)

// Blocks holds how evenly the I/Os of a run are spread over its intervals: the variance of the number of I/Os above
// some latencies, in blocks of 1, 2, 4, ... intervals. Slow I/Os come in bursts, so the limits of a percentile are
// wider than those of independent I/Os. The zero value is empty. Its memory grows with the logarithm of the run's
// length.
type Blocks struct {
	total  counts
	levels []level
}

// level holds sums over the blocks of 2^k intervals.
type level struct {
	blocks  int
	n       float64        // I/Os
	squares [edges]float64 // sum of squares of the I/Os above an edge
	mixed   [edges]float64 // sum of the I/Os above an edge times all
	all     float64        // sum of squares of all I/Os
	half    *counts        // the first half of a block of the next level, or nil
}

// counts are all I/Os of a block, and those at or above each edge.
type counts struct {
	n     float64
	above [edges]float64
}

func (c *counts) add(o *counts) {
	c.n += o.n
	for i, w := range o.above {
		c.above[i] += w
	}
}

// Add adds the next interval, a histogram with geometry g, or nil. Intervals without I/O do not count.
func (b *Blocks) Add(h *Hist, g Geometry) {
	if h == nil {
		return
	}
	c := new(counts)
	h.Each(func(i int, w float64) {
		c.n += w
		c.above[i<<g.Coarseness/perEdge] += w
	})
	if c.n == 0 {
		return
	}
	for i := edges - 2; i >= 0; i-- {
		c.above[i] += c.above[i+1]
	}
	b.total.add(c)
	for k := 0; ; k++ {
		if k == len(b.levels) {
			b.levels = append(b.levels, level{})
		}
		l := &b.levels[k]
		l.blocks++
		l.n += c.n
		l.all += c.n * c.n
		for i, w := range c.above {
			l.squares[i] += w * w
			l.mixed[i] += w * c.n
		}
		if l.half == nil {
			l.half = c
			return
		}
		l.half.add(c)
		c, l.half = l.half, nil
	}
}

// String lists, by length of the blocks, their number and the sum of the squares of their I/Os.
func (b *Blocks) String() string {
	var text strings.Builder
	for k := range b.levels {
		fmt.Fprintf(&text, " %d:%v", b.levels[k].blocks, b.levels[k].all)
	}
	return strings.TrimPrefix(text.String(), " ")
}

// factor returns by how many standard deviations of independent I/Os the number of I/Os above an edge may differ from
// the expected one, with 95 % confidence: Student's t times the square root of the inflation of the variance, that of
// the block length at which it is largest. short is set if ten blocks of the length that the I/Os need are longer than
// the run: each block length still has a larger variance than half of it.
func (b *Blocks) factor(edge int) (factor, inflation float64, short bool) {
	for edge > 0 && b.total.above[edge] == 0 {
		edge--
	}
	inflation, freedom := 1.0, 0
	p := b.total.above[edge] / b.total.n
	if len(b.levels) == 0 || b.levels[0].blocks < enoughBlocks {
		short = true
	}
	growing, before := len(b.levels) > 0 && b.levels[0].blocks >= 2*enoughBlocks, 0.0
	for k := range b.levels {
		l := &b.levels[k]
		if l.blocks < fewestBlocks || !(p > 0 && p < 1) {
			break
		}
		squares := l.squares[edge] - 2*p*l.mixed[edge] + p*p*l.all
		n := float64(l.blocks)
		v := squares * n / (n - 1) / (p * (1 - p) * l.n)
		if k > 0 { // v / before is 1 + the correlation of neighbouring blocks
			growing = growing && v > 1 && v > before*(1+2/math.Sqrt(float64(b.levels[k-1].blocks)))
		}
		if l.blocks < enoughBlocks && k > 0 {
			short = short || growing
			if !growing {
				break
			}
		}
		if v > inflation {
			inflation, freedom = v, l.blocks-1
		}
		before = v
	}
	if freedom == 0 {
		return z95, inflation, short
	}
	return max(z95, StudentQuantile(0.05, freedom)*math.Sqrt(inflation)), inflation, short
}

// Widen replaces the limits of percentiles by those that hold for a run whose I/Os are spread over intervals like those
// of b; s are the Stats of r for these percentiles. A latency is within the limits if the number of I/Os above it is
// what bursts like those above this latency allow for. It sets LimitsAtLeast.
func (r *Ranks) Widen(s *Stats, wanted []float64, b *Blocks) {
	if r.Empty() {
		return
	}
	type deviation struct {
		factor, inflation float64
		short             bool
	}
	known := map[int]deviation{}
	// at returns the largest deviation allowed around the upper edge of a non-empty bucket.
	at := func(k int) (out deviation) {
		upper := (int(r.bucket[k]) + 1) << r.geometry.Coarseness
		for _, edge := range []int{upper / perEdge, min((upper+perEdge-1)/perEdge, edges-1)} {
			d, ok := known[edge]
			if !ok {
				d.factor, d.inflation, d.short = b.factor(min(edge, edges-1))
				known[edge] = d
			}
			out.short = out.short || d.short
			if d.factor > out.factor {
				out.factor, out.inflation = d.factor, d.inflation
			}
		}
		return out
	}
	for i, p := range wanted {
		q := min(max(p, 0), 100) / 100
		sd := math.Sqrt(r.n * q * (1 - q))
		s.Lower[i], s.Upper[i] = r.between(q, func(k int) float64 { return at(k).factor * sd })
		bucket, _, _ := r.find(r.n * q)
		d := at(r.reach(bucket) - 1)
		few := p > 0 && p < 100 && d.inflation > 1 && r.n*min(q, 1-q)/d.inflation < fewestBursts
		s.LimitsAtLeast = s.LimitsAtLeast || d.short || few
	}
}

// between returns the confidence limits of the quantile q. spread returns by how much the rank of the k-th non-empty
// bucket's upper edge may deviate.
func (r *Ranks) between(q float64, spread func(k int) float64) (lower, upper float64) {
	lower, upper = NoLimit, NoLimit
	mid := r.n * q
	bucket, _, _ := r.find(mid)
	at, last := r.reach(bucket)-1, len(r.bucket)-1
	least := func(k int) float64 { return math.Floor(mid - spread(k) + tiny*r.n) }
	k := at
	for k > 0 && r.upTo[k-1] >= least(k-1)-tiny*r.n {
		k--
	}
	if least(k) >= 1 {
		lower = float64(r.geometry.Lower(int(r.bucket[k])))
	}
	for k = at; k < last && r.upTo[k] < min(math.Ceil(mid+spread(k)-tiny*r.n), r.n)-tiny*r.n; {
		k++
	}
	if mid+spread(k) <= r.n*(1+tiny) && q < 1 && int(r.bucket[k]) != r.geometry.Last() {
		upper = float64(r.geometry.Upper(int(r.bucket[k])))
	}
	return lower, upper
}
