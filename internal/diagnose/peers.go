package diagnose

import (
	"cmp"
	"math"
	"slices"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// Percentiles are those whose tails are compared.
var Percentiles = fiohist.TailPercentiles[:]

// dimensions are the properties by which I/Os are compared.
var dimensions = []string{fio.ByHost, fio.ByJob, fio.ByLog}

const (
	// maxBlocks is the number of blocks that are kept. When there are more, pairs of blocks are added up.
	maxBlocks = 1024
	// maxMembers limits blocks times hosts, jobs and logs in the same way. Each takes 28 bytes.
	maxMembers = 1 << 21
)

// leaf is the histogram of one log, or of several logs with the same host and job, in one quantum and direction.
type leaf struct {
	Direction string
	// By are the values of dimensions; "" if unknown.
	By     [3]string
	Hist   *fiohist.Hist
	Limits fiohist.Limits
}

// peers compares hosts, jobs and logs with each other.
type peers struct {
	geometry fiohist.Geometry
	first    int64 // start of the first quantum
	interval int64
	fold     int // quanta in a block
	quanta   int
	groups   []*group
	scratch  []*fiohist.Hist
	ranks    fiohist.Ranks
	openLoop func(direction string) bool // see openLoop; nil if unknown
	suspect  *Straggler                  // set by Stragglers; nil if there is none
}

// group holds all values of one dimension in one direction.
type group struct {
	direction string
	dimension int
	values    []string
	parents   [][3]string // for logs: leaf.By
	index     map[string]int
	blocks    []block
	openLoop  bool // see openLoop
}

// block is one or more quanta of a group.
type block struct {
	all     float32
	above   [3]float32 // of all, parallel to Percentiles
	members []member   // parallel to group.values, or shorter
}

// member is one value in a block.
type member struct {
	n     float32
	above [3]float32
	mid   float32    // natural logarithm of the median latency in ns
	tails [2]float32 // those of its p99 and p99.9
}

// newPeers returns peers for quanta of interval ns from first on.
func newPeers(geometry fiohist.Geometry, first, interval int64) *peers {
	return &peers{geometry: geometry, first: first, interval: interval, fold: 1}
}

// Add adds the leaves of the quantum that starts at offset. Quanta come in ascending order, with gaps.
func (p *peers) Add(offset int64, leaves []leaf) {
	p.add(offset, leaves, new(pools).collect(leaves), nil)
}

// add is Add with the pools of the leaves, and rows that may already have the tallies of hosts, jobs and logs.
func (p *peers) add(offset int64, leaves []leaf, pooled []pool, rows []pipeline.Row) {
	n := int((offset - p.first) / p.interval)
	p.quanta = n + 1
	for p.quanta > maxBlocks*p.fold || p.size() > maxMembers {
		p.halve()
	}
	for i := range pooled {
		if p.ranks.Read(pooled[i].hist, p.geometry); !p.ranks.Empty() {
			p.addDirection(n/p.fold, &pooled[i], leaves, rows)
		}
	}
}

// pool is the sum of all leaves of a direction.
type pool struct {
	direction string
	hist      *fiohist.Hist
}

// pools are the pools of a quantum. Their memory is reused for the next one.
type pools []pool

// collect returns the pools of leaves, sorted by direction.
func (p *pools) collect(leaves []leaf) []pool {
	n := 0
	for i := range leaves {
		at := slices.IndexFunc((*p)[:n], func(o pool) bool { return o.direction == leaves[i].Direction })
		if at < 0 {
			if at = n; at == len(*p) {
				*p = append(*p, pool{hist: new(fiohist.Hist)})
			}
			n++
			(*p)[at].direction = leaves[i].Direction
			(*p)[at].hist.Reset()
		}
		(*p)[at].hist.AddHist(leaves[i].Hist)
	}
	slices.SortFunc((*p)[:n], func(a, b pool) int { return cmp.Compare(a.direction, b.direction) })
	return (*p)[:n]
}

func (p *peers) size() (n int) {
	for _, g := range p.groups {
		n += len(g.blocks) * len(g.values)
	}
	return n
}

// tallied returns the members of a dimension from the tallies in rows; nil if there are none.
func tallied(direction string, dimension int, rows []pipeline.Row, index map[string]int) (out []member) {
	scope := fio.Scope([]string{dimensions[dimension], fio.ByDirection})
	for i := range rows {
		r := &rows[i]
		if r.TailPart == nil || r.Dims.Direction != direction || r.Scope != scope {
			continue
		}
		if v, ok := index[by(&r.Dims)[dimension]]; ok {
			if out == nil {
				out = make([]member, len(index))
			}
			out[v] = memberOf(r.TailPart.Tally)
		}
	}
	return out
}

// addDirection adds a direction of a quantum, whose pool p.ranks has read, to the blocks at an index.
func (p *peers) addDirection(at int, pooled *pool, leaves []leaf, rows []pipeline.Row) {
	buckets := p.ranks.TailBuckets()
	all := memberOf(p.ranks.Tally(buckets))
	known := map[*fiohist.Hist]member{pooled.hist: all} // a host, a job and a log may share a histogram
	for d := range dimensions {
		g := p.group(pooled.direction, d)
		for len(g.blocks) <= at {
			g.blocks = append(g.blocks, block{})
		}
		b := &g.blocks[at]
		b.all += all.n
		for i := range b.above {
			b.above[i] += all.above[i]
		}
		values, index := valuesOf(pooled, d, leaves)
		members := tallied(pooled.direction, d, rows, index)
		if members == nil {
			p.addUp(values, index, pooled.direction, d, leaves)
		}
		for _, one := range values {
			g.value(one.by)
		}
		if n := len(g.values) - len(b.members); n > 0 {
			b.members = append(b.members, make([]member, n)...)
		}
		for v, one := range values {
			c, ok := known[one.hist]
			switch {
			case members != nil:
				c = members[v]
			case !ok:
				c = p.member(one.hist, buckets)
			}
			if one.leaves == 1 {
				known[one.hist] = c
			}
			value := g.value(one.by)
			b.members[value] = b.members[value].plus(c)
		}
	}
}

// value returns the index of the group's value in by, and adds it if it is new.
func (g *group) value(by [3]string) int {
	name := by[g.dimension]
	v, ok := g.index[name]
	if !ok {
		v = len(g.values)
		g.index[name] = v
		g.values, g.parents = append(g.values, name), append(g.parents, by)
	}
	return v
}

func (p *peers) member(hist *fiohist.Hist, buckets [3]int) (c member) {
	if p.ranks.Read(hist, p.geometry); !p.ranks.Empty() {
		c = memberOf(p.ranks.Tally(buckets))
	}
	return c
}

func memberOf(t fiohist.Tally) member {
	c := member{n: float32(t.Samples), mid: float32(math.Log(max(t.Median, 1)))}
	for k, above := range t.Above {
		c.above[k] = float32(above)
	}
	for k, ns := range t.Tails {
		c.tails[k] = float32(math.Log(max(ns, 1)))
	}
	return c
}

func (p *peers) group(direction string, dimension int) *group {
	for _, g := range p.groups {
		if g.direction == direction && g.dimension == dimension {
			return g
		}
	}
	g := &group{direction: direction, dimension: dimension, index: map[string]int{}}
	p.groups = append(p.groups, g)
	return g
}

// value is a host, job or log with I/O in a quantum and direction.
type value struct {
	by     [3]string // of its first leaf
	hist   *fiohist.Hist
	leaves int // 1 if hist is shared with another value
}

// valuesOf returns the values of a dimension in a direction, and their indices by name. Their histograms are those of
// their first leaves, or that of the pool if all leaves are of one value.
func valuesOf(all *pool, dimension int, leaves []leaf) (out []value, index map[string]int) {
	index = map[string]int{}
	n := 0
	for i := range leaves {
		l := &leaves[i]
		if l.Direction != all.direction {
			continue
		}
		n++
		name := l.By[dimension]
		if name == "" {
			continue
		}
		v, known := index[name]
		if !known {
			v = len(out)
			index[name] = v
			out = append(out, value{by: l.By, hist: l.Hist})
		}
		out[v].leaves++
	}
	if len(out) == 1 && out[0].leaves == n {
		out[0].hist, out[0].leaves = all.hist, 1
	}
	return out, index
}

// addUp gives the values that have several leaves the sum of their histograms.
func (p *peers) addUp(values []value, index map[string]int, direction string, dimension int, leaves []leaf) {
	own := map[int]bool{}
	for i := range leaves {
		l := &leaves[i]
		v, known := index[l.By[dimension]]
		if l.Direction != direction || !known || values[v].leaves == 1 {
			continue
		}
		if !own[v] {
			if len(own) == len(p.scratch) {
				p.scratch = append(p.scratch, new(fiohist.Hist))
			}
			values[v].hist = p.scratch[len(own)]
			values[v].hist.Reset()
			own[v] = true
		}
		values[v].hist.AddHist(l.Hist)
	}
}

// plus adds up two members of the same value.
func (c member) plus(o member) member {
	if n := c.n + o.n; n > 0 {
		c.mid = (c.mid*c.n + o.mid*o.n) / n
		for i := range c.tails {
			c.tails[i] = (c.tails[i]*c.n + o.tails[i]*o.n) / n
		}
		c.n = n
	}
	for i := range c.above {
		c.above[i] += o.above[i]
	}
	return c
}

// halve adds up blocks in pairs.
func (p *peers) halve() {
	p.fold *= 2
	for _, g := range p.groups {
		for i := 0; i < len(g.blocks); i += 2 {
			sum := g.blocks[i]
			if i+1 < len(g.blocks) {
				o := g.blocks[i+1]
				sum.all += o.all
				for k := range sum.above {
					sum.above[k] += o.above[k]
				}
				for v, c := range o.members {
					for len(sum.members) <= v {
						sum.members = append(sum.members, member{})
					}
					sum.members[v] = sum.members[v].plus(c)
				}
			}
			g.blocks[i/2] = sum
		}
		n := (len(g.blocks) + 1) / 2
		clear(g.blocks[n:])
		g.blocks = g.blocks[:n]
	}
}

// tallies returns the running sums of a value. The difference of two of them is the tally in between.
func (g *group) tallies(value, percentile int) []tally {
	out := make([]tally, len(g.blocks)+1)
	for t, b := range g.blocks {
		sum := out[t]
		if value < len(b.members) && b.all > 0 {
			c := b.members[value]
			sum.above += float64(c.above[percentile])
			sum.expected += float64(b.above[percentile]) * float64(c.n) / float64(b.all)
		}
		sum.allAbove += float64(b.above[percentile])
		sum.all += float64(b.all)
		out[t+1] = sum
	}
	return out
}
