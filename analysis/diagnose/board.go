package diagnose

import (
	"cmp"
	"math"
	"slices"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// Percentiles are those that a diagnosis needs of a run.
var Percentiles = []float64{50, 99}

// dimensions are the properties by which I/Os are compared, the widest first.
var dimensions = []string{fio.ByHost, fio.ByJob, fio.ByLog}

const (
	// maxBlocks is the number of blocks that are kept. When there are more, pairs of blocks are added up.
	maxBlocks = 1024
	// maxMembers limits blocks times hosts, jobs and logs in the same way. Each takes 16 bytes.
	maxMembers = 1 << 21
)

// leaf is the histogram of one log, or of several logs with the same host and job, in one interval and direction.
type leaf struct {
	Direction string
	// By are the values of dimensions; "" if unknown.
	By     [3]string
	Hist   *fiohist.Hist
	Limits fiohist.Limits
}

// board keeps a few numbers of each host, job and log over time, and the histograms of all of them.
type board struct {
	geometry  fiohist.Geometry
	first     int64 // start of the first interval
	interval  int64
	fold      int // intervals in a block
	intervals int
	groups    []*group
	pooled    map[string][]*fiohist.Hist // by direction, then block; nil without I/O
	scratch   []*fiohist.Hist
	ranks     fiohist.Ranks
}

// group holds all members of one dimension in one direction.
type group struct {
	direction string
	dimension int
	names     []string
	parents   [][3]string // leaf.By of the first leaf
	index     map[string]int
	blocks    [][]member // by block, then as names, or shorter
	// tops are the I/Os of each member above the p99 of all in their interval; nil if the group has few or very many.
	tops []*fiohist.Hist
}

// member is a host, job or log in a block: its I/Os, and the natural logarithms of its mean and percentiles in ns.
type member struct{ n, mean, p50, p99 float32 }

// newBoard returns a board for intervals of that many ns from first on.
func newBoard(geometry fiohist.Geometry, first, interval int64) *board {
	return &board{geometry: geometry, first: first, interval: interval, fold: 1, pooled: map[string][]*fiohist.Hist{}}
}

// add adds the leaves of the interval that starts at offset, with their pools, and rows that may have tallies of the
// members. Intervals come in ascending order, with gaps.
func (b *board) add(offset int64, leaves []leaf, pooled []pool, rows []pipeline.Row) {
	n := int((offset - b.first) / b.interval)
	b.intervals = n + 1
	for b.intervals > maxBlocks*b.fold || b.size() > maxMembers {
		b.halve()
	}
	at := n / b.fold
	for i := range pooled {
		p := &pooled[i]
		blocks := b.pooled[p.direction]
		for len(blocks) <= at {
			blocks = append(blocks, nil)
		}
		if before := blocks[at]; before != nil {
			before.AddHist(p.hist)
			blocks[at] = before.Pack()
		} else {
			blocks[at] = p.hist.Pack()
		}
		b.pooled[p.direction] = blocks
		b.addMembers(at, p, leaves, rows)
	}
}

// pool is the sum of all leaves of a direction.
type pool struct {
	direction string
	hist      *fiohist.Hist
}

// pools are the pools of an interval. Their memory is reused for the next one.
type pools []pool

// collect returns the pools of leaves, sorted by direction.
func (p *pools) collect(leaves []leaf) []pool {
	n := 0
	for i := range leaves {
		at := slices.IndexFunc((*p)[:n], func(o pool) bool { return o.direction == leaves[i].Direction })
		if at < 0 {
			at = n
			if at == len(*p) {
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

func (b *board) size() (n int) {
	for _, g := range b.groups {
		n += len(g.blocks) * len(g.names)
	}
	return n
}

// addMembers adds the hosts, jobs and logs of a direction to a block.
func (b *board) addMembers(at int, all *pool, leaves []leaf, rows []pipeline.Row) {
	if b.ranks.Read(all.hist, b.geometry); b.ranks.Empty() {
		return
	}
	known := map[*fiohist.Hist]member{all.hist: memberOf(b.ranks.Tally())} // members may share a histogram
	edge, _ := b.ranks.Percentile(99)
	topped := false // hosts, or else jobs or logs
	for d := range dimensions {
		g := b.group(all.direction, d)
		for len(g.blocks) <= at {
			g.blocks = append(g.blocks, nil)
		}
		values, index := valuesOf(all, d, leaves)
		members := tallied(all.direction, d, rows, index)
		if members == nil {
			b.addUp(values, index, all.direction, d, leaves)
		}
		top := !topped && members == nil && len(values) > farPeers && len(values) <= maxBlocks
		topped = topped || top
		for v, one := range values {
			if top {
				g.addTop(g.member(one.by), one.hist, edge)
			}
			c, ok := known[one.hist]
			switch {
			case members != nil:
				c = members[v]
			case !ok:
				if b.ranks.Read(one.hist, b.geometry); !b.ranks.Empty() {
					c = memberOf(b.ranks.Tally())
				}
			}
			if one.leaves == 1 {
				known[one.hist] = c
			}
			g.blocks[at] = addMember(g.blocks[at], g.member(one.by), c)
		}
	}
}

// addTop adds what member v has above a bucket.
func (g *group) addTop(v int, h *fiohist.Hist, edge int) {
	for len(g.tops) <= v {
		g.tops = append(g.tops, new(fiohist.Hist))
	}
	h.EachFrom(edge+1, g.tops[v].Add)
}

// member returns the index of the member with the group's name in by, and adds it if it is new.
func (g *group) member(by [3]string) int {
	name := by[g.dimension]
	v, ok := g.index[name]
	if !ok {
		v = len(g.names)
		g.index[name] = v
		g.names, g.parents = append(g.names, name), append(g.parents, by)
	}
	return v
}

// tallied returns the members of a dimension from the tallies in rows; nil if there are none.
func tallied(direction string, dimension int, rows []pipeline.Row, index map[string]int) (out []member) {
	scope := fio.Scope([]string{dimensions[dimension], fio.ByDirection})
	for i := range rows {
		r := &rows[i]
		if r.TailPart == nil || r.Dims.Direction != direction || r.Scope != scope {
			continue
		}
		if v, ok := index[dimKey(&r.Dims)[dimension]]; ok {
			if out == nil {
				out = make([]member, len(index))
			}
			out[v] = memberOf(r.TailPart.Tally)
		}
	}
	return out
}

func memberOf(t fiohist.Tally) member {
	log := func(ns float64) float32 { return float32(math.Log(max(ns, 1))) }
	return member{float32(t.Samples), log(t.Mean), log(t.P50), log(t.P99)}
}

func (b *board) group(direction string, dimension int) *group {
	for _, g := range b.groups {
		if g.direction == direction && g.dimension == dimension {
			return g
		}
	}
	g := &group{direction: direction, dimension: dimension, index: map[string]int{}}
	b.groups = append(b.groups, g)
	return g
}

// value is a host, job or log with I/O in an interval and direction.
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
func (b *board) addUp(values []value, index map[string]int, direction string, dimension int, leaves []leaf) {
	own := map[int]bool{}
	for i := range leaves {
		l := &leaves[i]
		v, known := index[l.By[dimension]]
		if l.Direction != direction || !known || values[v].leaves == 1 {
			continue
		}
		if !own[v] {
			if len(own) == len(b.scratch) {
				b.scratch = append(b.scratch, new(fiohist.Hist))
			}
			values[v].hist = b.scratch[len(own)]
			values[v].hist.Reset()
			own[v] = true
		}
		values[v].hist.AddHist(l.Hist)
	}
}

// addMember adds c to member v of a block: the logarithms of latencies become their mean, weighted by I/Os, which is
// near that of both together.
func addMember(block []member, v int, c member) []member {
	for len(block) <= v {
		block = append(block, member{})
	}
	of := &block[v]
	if n := of.n + c.n; n > 0 {
		of.mean = (of.mean*of.n + c.mean*c.n) / n
		of.p50 = (of.p50*of.n + c.p50*c.n) / n
		of.p99 = (of.p99*of.n + c.p99*c.n) / n
		of.n = n
	}
	return block
}

// halve adds up blocks in pairs.
func (b *board) halve() {
	b.fold *= 2
	for _, g := range b.groups {
		for i := 0; i < len(g.blocks); i += 2 {
			sum := g.blocks[i]
			if i+1 < len(g.blocks) {
				for v, c := range g.blocks[i+1] {
					sum = addMember(sum, v, c)
				}
			}
			g.blocks[i/2] = sum
		}
		n := (len(g.blocks) + 1) / 2
		clear(g.blocks[n:])
		g.blocks = g.blocks[:n]
	}
	for direction, blocks := range b.pooled {
		var out []*fiohist.Hist
		for i := 0; i < len(blocks); i += 2 {
			var sum fiohist.Hist
			for _, h := range blocks[i:min(i+2, len(blocks))] {
				sum.AddHist(h)
			}
			out = append(out, sum.Pack())
		}
		b.pooled[direction] = out
	}
}

// forget drops the earliest interval. It needs a fold of 1.
func (b *board) forget() {
	for _, g := range b.groups {
		g.blocks = g.blocks[min(1, len(g.blocks)):]
	}
	for direction, blocks := range b.pooled {
		b.pooled[direction] = blocks[min(1, len(blocks)):]
	}
	b.first += b.interval
	b.intervals--
}

// length is a block's length in ns.
func (b *board) length() int64 { return b.interval * int64(b.fold) }

// blocks is their number.
func (b *board) blocks() int { return (b.intervals + b.fold - 1) / b.fold }

// at returns the block of a time in ns from the run's start.
func (b *board) at(ns int64) int {
	return int(min(max(ns-b.first, 0)/b.length(), int64(b.blocks())))
}
