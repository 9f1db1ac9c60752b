package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"fiolat/fio/fiohist"
)

// What is compared, as natural logarithms. The mean only has to agree with p50.
const (
	p50 = iota
	p99
	iops
	mean
)

// measures are their names in findings.
var measures = [...]string{"p50", "p99", "iops"}

// least is the least of each that is reported.
var least = [...]float64{math.Log(1.25), math.Log(1.35), math.Log(1.25)}

const (
	// allRun are the factors of the medians over time of p50 and p99 from which on a member is slow, without a test.
	allRunP50, allRunP99 = 1.25, 1.5
	// agreeing is the factor of the mean without which p50 means nothing: with two kinds of I/Os it may be that of
	// either.
	agreeing = 1.1
	// memberAlpha and runAlpha are the probabilities that a search of members, or of all, finds something by chance.
	memberAlpha, runAlpha = 0.003, 0.002
	// perhapsP is the probability of what is not found for certain, but named if nothing is.
	perhapsP = 0.1
	// shortest is the shortest window in blocks of a member.
	shortest = 3
	// ownScore is how many times as high the score of a member's window is as those that its peers have at any time.
	ownScore = 2
	// farPeers is the least number of peers of which the spread of p99.9 is known, and farSpread how many times as far
	// off a member is.
	farPeers, farSpread = 7, 6
	// fewest is the least number of I/Os of which a percentile is known.
	fewest = 10
	// draws is how often the search is repeated on exchanged blocks.
	nullDraws = 100
)

// hit is a window in which members of a group, or all I/Os of a direction, stand out.
type hit struct {
	who
	when
	// direction and measure are where they stand out most, size by how much, and wide the half width of its
	// 95 % limits.
	direction  string
	measure    int
	size, wide float64
	shape
	also []string // other directions
	sums *sums    // members: set by a second pass
}

// who are members of a group, or all I/Os of a direction.
type who struct {
	group   *group // nil: all
	members []int  // ascending
	alone   bool   // they have no peers: compared with themselves, outside
	like    *like  // what is compared; nil: all
}

// when is a window, and the times in it, unless it is one.
type when struct {
	window
	times   []window
	steps   []window // one after the other, of different levels; nil: of one
	outside window   // all, and members without peers: what it is compared with, less the window
}

// field is how far each member of a group is from the median of its peers, by measure, member and block.
type field struct {
	*group
	parts []part
	off   [4][][]float64 // NaN where unknown
	scale [3][]float64   // by member
	taken [][]window     // by member
	// perhaps is what chance explains best with a probability of perhapsP, too much for a hit.
	perhaps  *hit
	perhapsP float64
	// common is what most members do every so many blocks, each at its own time.
	common []hit
}

// prefixes are running sums of a member: of what is known, clipped and in units of scale, and as it is.
type prefixes struct{ clipped, plain, n []float64 }

func newPrefixes(off []float64, scale float64) (p prefixes) {
	k := len(off) + 1
	all := make([]float64, 3*k)
	p = prefixes{all[:k:k], all[k : 2*k : 2*k], all[2*k:]}
	for t, x := range off {
		p.clipped[t+1], p.plain[t+1], p.n[t+1] = p.clipped[t], p.plain[t], p.n[t]
		if !math.IsNaN(x) {
			p.clipped[t+1] += clip(x/scale, 6)
			p.plain[t+1] += x
			p.n[t+1]++
		}
	}
	return p
}

func clip(x, most float64) float64 { return min(max(x, -most), most) }

// mean is the mean deviation in w; NaN if nothing is known.
func (p *prefixes) mean(w window) float64 {
	return (p.plain[w.to] - p.plain[w.from]) / (p.n[w.to] - p.n[w.from])
}

// score is how much a window is above its peers, in standard deviations; 0 if half of it or more is unknown.
func (p *prefixes) score(w window) float64 {
	n := p.n[w.to] - p.n[w.from]
	if 2*n < float64(w.to-w.from) || n == 0 {
		return 0
	}
	return (p.clipped[w.to] - p.clipped[w.from]) / math.Sqrt(n)
}

// newField compares the members of g in n blocks, by parts. whole reports whether a member ran in all of a block, still
// whether it stood still; setLoad that options set the load, so that I/Os per second tell nothing.
func newField(g *group, n int, whole, still func(v, t int) bool, setLoad bool, parts []part) *field {
	f := &field{group: g, parts: parts, taken: make([][]window, len(g.names)), perhapsP: 1}
	for q := range f.off {
		f.off[q] = make([][]float64, len(g.names))
		for v := range f.off[q] {
			f.off[q][v] = make([]float64, n)
		}
	}
	sums, known := make([]float64, len(g.names)), make([]float64, len(g.names))
	for q := range f.off {
		for t := range n {
			clear(sums)
			clear(known)
			for i := range parts {
				parts[i].offsets(q, t, func(v int) bool {
					return q == iops && (setLoad || !whole(v, t)) || still(v, t)
				}, sums, known)
			}
			for v := range g.names {
				f.off[q][v][t] = sums[v] / known[v]
				if q == iops {
					f.off[q][v][t] *= -1
				}
			}
		}
	}
	for v := range g.names { // members may have different loads: only changes count
		usual := median(known0(f.off[iops][v]))
		for t := range n {
			f.off[iops][v][t] -= usual
		}
	}
	for q := range measures { // of unlike peers some are noisier
		f.scale[q] = make([]float64, len(g.names))
		for c := range max(len(parts[0].peers), 1) {
			var of [][]float64
			for v := range g.names {
				if f.class(v) == c {
					of = append(of, f.off[q][v])
				}
			}
			scale := scaleOf(slices.Concat(of...))
			for v := range g.names {
				if f.class(v) == c {
					f.scale[q][v] = scale
				}
			}
		}
	}
	return f
}

// value is the logarithm of a measure; NaN if unknown.
func (m member) value(measure int) float64 {
	switch {
	case measure == iops:
		return math.Log(max(float64(m.n), 0.5))
	case m.n < fewest:
		return math.NaN()
	}
	return float64([]float32{m.p50, m.p99, 0, m.mean}[measure])
}

// known0 returns a copy of the values that are known.
func known0(v []float64) []float64 { return slices.DeleteFunc(slices.Clone(v), math.IsNaN) }

// scaleOf is a robust standard deviation, at least that of a hundredth.
func scaleOf(v []float64) float64 {
	v = known0(v)
	if len(v) == 0 {
		return 1
	}
	middle := median(v)
	for i := range v {
		v[i] = math.Abs(v[i] - middle)
	}
	const normal = 1.4826 // of the median of absolute values
	return max(normal*median(v), 0.01)
}

// othersMedian returns the median of sorted without one element equal to v.
func othersMedian(sorted []float64, v float64) float64 {
	i, _ := slices.BinarySearch(sorted, v)
	at := func(k int) float64 { // of the remaining elements
		if k >= i {
			k++
		}
		return sorted[k]
	}
	n := len(sorted) - 1
	return (at((n-1)/2) + at(n/2)) / 2
}

// find returns who stands out: first those that are slow in a period, and all the time, then the windows that others do
// not have.
func (f *field) find(periods bool) (out []hit) {
	n := len(f.off[0][0])
	slow, own := make([]*hit, len(f.names)), make([]*hit, len(f.names))
	if periods {
		own = f.periods()
	}
	for v := range f.names {
		if h := own[v]; h != nil {
			f.taken[v] = append(f.taken[v], window{0, n})
			out = append(out, *h)
			continue
		}
		h, steady := f.always(v)
		if h != nil {
			f.drifts(h)
		}
		slow[v] = h
		if h != nil && steady {
			f.taken[v] = append(f.taken[v], h.window)
			out = append(out, *h)
		}
	}
	windows := scan(n, shortest)
	var open []candidate
	for v := range f.names {
		open = append(open, f.candidates(v, windows)...)
	}
	usual := f.usual(open)
	var nulls [3]*null
	for len(open) > 0 {
		i := 0
		for k := range open {
			if open[k].score > open[i].score {
				i = k
			}
		}
		c := open[i]
		open = slices.Delete(open, i, i+1)
		if c.score < ownScore*usual(c) {
			continue
		}
		h, ok := f.judge(c, n)
		if !ok {
			continue
		}
		p, alpha := 1.0, memberAlpha/3*min(max(h.size/least[h.measure]/2, 1), 10) // many times as slow needs less proof
		if nulls[c.measure] != nil {
			p = nulls[c.measure].p(c.score, len(f.names))
		}
		if p > alpha && (nulls[c.measure] == nil || nulls[c.measure].found < len(out)) {
			nulls[c.measure] = f.null(c, windows, len(out))
			p = nulls[c.measure].p(c.score, len(f.names))
		}
		perhaps := p * float64(len(measures))
		possible := p <= alpha || perhaps < min(perhapsP, f.perhapsP)
		if !possible || !f.unlikeOthers(c.member, &h, n) {
			continue
		}
		if p > alpha {
			if f.unreached(&h) {
				f.perhaps, f.perhapsP = &h, perhaps
			}
			continue
		}
		f.drifts(&h)
		out = append(out, h)
		f.taken[c.member] = append(f.taken[c.member], h.window)
		open = slices.DeleteFunc(open, func(o candidate) bool { return o.member == c.member })
		open = append(open, f.candidates(c.member, windows)...)
	}
	for v, h := range slow {
		if h != nil && len(f.taken[v]) == 0 {
			out = append(out, *h)
		}
	}
	return f.merge(out)
}

// far adds to what was found those whose p99.9 of all the run stands out, and nothing else as far.
func (f *field) far(found []hit, g fiohist.Geometry) []hit {
	if len(f.parts) > 1 {
		return found
	}
	var out []hit
	tails := make([]float64, len(f.names))
	for v := range f.names {
		n, top := 0.0, new(fiohist.Hist)
		for _, block := range f.blocks {
			if v < len(block) {
				n += float64(block[v].n)
			}
		}
		tails[v] = math.NaN()
		if v >= len(f.tops) || n < 500*fewest {
			continue
		}
		top.AddHist(f.tops[v])
		top.Add(0, n-top.Sum())
		tails[v] = math.Log(top.Stats(g, []float64{99.9}, fiohist.Limits{}).Percentiles[0])
	}
	for v := range f.names {
		if math.IsNaN(tails[v]) {
			continue
		}
		var others []float64
		for u := range f.names {
			if u != v && f.class(u) == f.class(v) && !math.IsNaN(tails[u]) {
				others = append(others, tails[u])
			}
		}
		if len(others) < farPeers {
			continue
		}
		middle, squares := median(others), 0.0
		for _, x := range others {
			squares += (x - middle) * (x - middle)
		}
		spread, size := math.Sqrt(squares/float64(len(others)-1)), tails[v]-middle
		tells := func(h hit) bool { return h.measure != p99 || 2*h.size > size || len(h.members) > 1 }
		of := func(h hit) bool { return slices.Contains(h.members, v) }
		if !(size > max(math.Log(allRunP99), farSpread*spread)) ||
			slices.ContainsFunc(found, func(h hit) bool { return of(h) && tells(h) }) {
			continue
		}
		found = slices.DeleteFunc(found, of)
		out = append(out, hit{who: f.one(v), when: when{window: window{0, len(f.off[0][0])}}, direction: f.direction,
			measure: p99, size: size, wide: z95 * spread,
			shape: tail{own: math.Exp(tails[v]), others: math.Exp(middle)}})
	}
	return append(found, f.merge(out)...)
}

// periods returns by member the hit of what it does every so many blocks, and most of its peers do not. What most do is
// kept as what all do, each at its own time, and taken out.
func (f *field) periods() []*hit {
	out := make([]*hit, len(f.names))
	for v := range f.names {
		out[v] = f.periodic(v)
	}
	for v, h := range out {
		if h == nil {
			continue
		}
		var alike []int
		every := h.shape.(periodic).every
		for u, o := range out {
			if o != nil && f.class(u) == f.class(v) &&
				math.Abs(o.shape.(periodic).every-every) <= max(0.5, 0.03*every) {
				alike = append(alike, u)
			}
		}
		if 2*len(alike) > f.peers(v) {
			f.inCommon(out, alike)
		}
	}
	return out
}

// inCommon makes one hit of those of members that each have a period, the same, and takes it out.
func (f *field) inCommon(hits []*hit, members []int) {
	common := *hits[members[0]]
	var ins, outs, sizes []float64
	for _, v := range members {
		h := hits[v]
		common.from, common.to = min(common.from, h.from), max(common.to, h.to)
		sizes = append(sizes, h.size)
		for t := h.from; t < h.to; t++ {
			x := math.NaN()
			if v < len(f.blocks[t]) {
				x = f.blocks[t][v].value(common.measure)
			}
			if h.inside(t) {
				ins = append(ins, x)
			} else {
				outs = append(outs, x)
			}
		}
		for q := range f.off {
			for _, w := range h.times {
				for t := w.from; t < w.to; t++ {
					f.off[q][v][t] = math.NaN()
				}
			}
		}
		hits[v] = nil
	}
	common.who, common.times, common.outside = who{}, nil, common.window
	common.size = median(sizes)
	common.shape = eachItself{shape: steady(common.measure), every: common.shape.(periodic).every,
		members: fmt.Sprintf("%d %ss", len(members), dimensions[f.dimension]), own: math.Exp(median(known0(ins))),
		others: math.Exp(median(known0(outs))), duty: float64(len(ins)) / float64(len(ins)+len(outs))}
	f.common = append(f.common, common)
}

// periodic returns a hit of what a member does every so many blocks; nil if chance explains it.
func (f *field) periodic(v int) *hit {
	var series [][]float64
	for q := range measures {
		series = append(series, f.off[q][v])
	}
	p := periodOf(series)
	if p == nil || p.chance*float64(len(f.names)) > periodAlpha {
		return nil
	}
	h := hit{who: f.one(v), when: when{window: p.window, times: p.events}, direction: f.direction}
	var sizes, wides [3]float64
	for q, x := range series {
		var in, rest []float64
		for t, y := range x {
			switch {
			case math.IsNaN(y):
			case h.inside(t):
				in = append(in, y)
			default:
				rest = append(rest, y)
			}
		}
		if len(in) > 0 && len(rest) > 0 {
			sizes[q], wides[q] = median(in)-median(rest), z95*scaleOf(in)/math.Sqrt(float64(len(in)))
		}
	}
	h.measure = mostTelling(sizes)
	h.size, h.wide = sizes[h.measure], wides[h.measure]
	if h.size < least[h.measure] {
		return nil
	}
	h.shape = periodic{steady(h.measure), p.every}
	return &h
}

// always returns a hit in all of the run if a member is slow by its medians over time, and whether it is so most of the
// time; otherwise a window may say it better.
func (f *field) always(v int) (h *hit, steady bool) {
	n := len(f.off[0][v])
	for q, factor := range []float64{allRunP50, allRunP99} {
		known := known0(f.off[q][v])
		if 2*len(known) < n && len(known) < shortest || len(known) == 0 {
			continue
		}
		middle := median(slices.Clone(known))
		const certain = 4 // standard errors
		if middle < max(math.Log(factor), certain*scaleOf(known)/math.Sqrt(float64(len(known)))) ||
			q == p50 && !f.agrees(v, window{0, n}) {
			continue
		}
		slow := 0
		for _, x := range known {
			if x >= middle/2 {
				slow++
			}
		}
		if h == nil || middle > 2*h.size {
			of := f.hit(v, q, begun(f.off[q][v], middle))
			h, steady = &of, 5*slow >= 4*len(known)
		}
	}
	return h, steady
}

// begun is the window of x less an edge of it that is certainly nearer to 0 than to the level of the rest.
func begun(x []float64, level float64) window {
	n, scale := len(x), scaleOf(x)
	w := refine(window{0, n}, n, shortest, func(w window) (sum float64) {
		for _, v := range known0(x[w.from:w.to]) {
			sum += clip(v-level/2, level)
		}
		return sum
	})
	const certain = 4 // standard errors
	near := func(edge []float64) bool {
		edge = known0(edge)
		k := float64(len(edge)) / float64(lasting(x))
		return len(edge) >= shortest && level-median(edge) >= max(level/2, certain*scale/math.Sqrt(k))
	}
	if !near(x[:w.from]) {
		w.from = 0
	}
	if !near(x[w.to:]) {
		w.to = n
	}
	return w
}

// drifts makes a hit of a member that lasts to the end one of what becomes slower bit by bit, if that fits better and
// the member was not slow before.
func (f *field) drifts(h *hit) {
	if from, begin, end, ok := rises(f.off[h.measure][h.members[0]], h.window); ok && begin < least[h.measure] &&
		end-begin >= least[h.measure] {
		h.from, h.to, h.shape = from, len(f.off[0][0]), drift{shape: h.shape, begin: begin, end: end}
	}
}

// better is by how much one fit leaves less than another that it is taken for, as a share.
const better = 0.8

// rises reports whether x, which is higher in w to its end, fits a line that rises from a block on better than steps:
// where it begins, and the levels of begin and end.
func rises(x []float64, w window) (from int, begin, end float64, ok bool) {
	if w.to < len(x)-max(1, len(x)/20) || len(x) < 2*leastBlocks {
		return 0, 0, 0, false
	}
	x = clipped(x)
	step, _, _ := fitOn(x, func(t int) float64 { return float64(btoi(w.from <= t && t < w.to)) })
	left, from, begin, end := line(x, (w.from+w.to)/2)
	_, _, two := stairs(x)
	const asGood = 1.1
	return from, begin, end, left < better*step && left < asGood*two
}

// step reports whether x fits a step up, at a block, better than a line.
func step(x []float64, size float64) (at int, ok bool) {
	short := clipped(x)
	at, one, _ := stairs(short)
	left, _, _, _ := line(short, len(x))
	return at, at >= shortest && len(x)-at >= shortest && one < better*left &&
		median(known0(x[at:]))-median(known0(x[:at])) >= size
}

// clipped is x without what is far off.
func clipped(x []float64) []float64 {
	x = slices.Clone(x)
	middle, most := median(known0(x)), 4*scaleOf(x)
	for t := range x {
		x[t] = middle + clip(x[t]-middle, most)
	}
	return x
}

// fitOn fits x to u: the sum of squares that is left, its value at 0, and by how much it rises with u.
func fitOn(x []float64, of func(t int) float64) (left, at, slope float64) {
	var k, su, sx, suu, sux, sxx float64
	for t, v := range x {
		if !math.IsNaN(v) {
			u := of(t)
			k, su, sx, suu, sux, sxx = k+1, su+u, sx+v, suu+u*u, sux+u*v, sxx+v*v
		}
	}
	if d := suu - su*su/k; d > 0 {
		slope = (sux - su*sx/k) / d
	}
	at = (sx - slope*su) / k
	return sxx - at*sx - slope*sux, at, slope
}

// line fits x to a line that rises from a block on, of until at most: what is left, that block, and the levels of begin
// and end.
func line(x []float64, until int) (left float64, from int, begin, end float64) {
	left = math.Inf(1)
	for at := 0; at <= until; at += max(1, len(x)/100) {
		sum, level, slope := fitOn(x, func(t int) float64 { return float64(max(t-at, 0)) })
		if sum < left && slope > 0 {
			left, from, begin, end = sum, at, level, level+slope*float64(len(x)-1-at)
		}
	}
	return left, from, begin, end
}

// stairs fits x to one step, at a block, and to two: what is left.
func stairs(x []float64) (at int, one, two float64) {
	n := len(x)
	sums := make([][3]float64, n+1) // of what is known, of its squares, and how much it is
	for t, v := range x {
		sums[t+1] = sums[t]
		if !math.IsNaN(v) {
			sums[t+1] = [3]float64{sums[t][0] + v, sums[t][1] + v*v, sums[t][2] + 1}
		}
	}
	left := func(from, to int) float64 {
		sum, k := sums[to][0]-sums[from][0], sums[to][2]-sums[from][2]
		return sums[to][1] - sums[from][1] - sum*sum/max(k, 1)
	}
	one, two = math.Inf(1), math.Inf(1)
	for a := 0; a < n; a += max(1, n/100) {
		if sum := left(0, a) + left(a, n); sum < one {
			at, one = a, sum
		}
		for b := a; b < n; b += max(1, n/100) {
			two = min(two, left(0, a)+left(a, b)+left(b, n))
		}
	}
	return at, one, two
}

// one is a member of the field's group.
func (f *field) one(v int) who { return who{group: f.group, members: []int{v}} }

// hit is how far member v stands out in a window by measure q, in logarithms, with half of its 95 % limits: blocks that
// depend on each other count as one.
func (f *field) hit(v, q int, w window) hit {
	h := hit{who: f.one(v), when: when{window: w}, direction: f.direction, measure: q, size: f.mean(q, v, w),
		shape: steady(q)}
	in := f.off[q][v][w.from:w.to]
	squares, k := 0.0, 0.0
	for _, x := range in {
		if !math.IsNaN(x) {
			squares, k = squares+(x-h.size)*(x-h.size), k+1
		}
	}
	block := float64(lasting(in))
	h.wide = z95 * math.Sqrt(squares/max(k-1, 1)/max(k/block, 1))
	return h
}

// candidate is the window in which a member is furthest above its peers in a measure.
type candidate struct {
	window
	member, measure int
	score           float64
}

// candidates returns the best window of a member for each measure that is large enough and not taken.
func (f *field) candidates(v int, windows []window) (out []candidate) {
	for q := range measures {
		p, c := newPrefixes(f.off[q][v], f.scale[q][v]), candidate{member: v, measure: q}
		for _, w := range windows {
			if s := p.score(w); s > c.score && p.mean(w) >= least[q] && !f.takes(v, w) {
				c.window, c.score = w, s
			}
		}
		if c.score > 3 {
			out = append(out, c)
		}
	}
	return out
}

// usual returns how high the best windows of most peers of a candidate's member score that were not found to stand out,
// at any time, by their candidates.
func (f *field) usual(of []candidate) func(c candidate) float64 {
	var scores [3]map[int]float64
	for _, c := range of {
		if scores[c.measure] == nil {
			scores[c.measure] = map[int]float64{}
		}
		scores[c.measure][c.member] = c.score
	}
	return func(c candidate) float64 {
		var peers []float64
		for u := range f.names {
			if u != c.member && f.class(u) == f.class(c.member) && len(f.taken[u]) == 0 {
				peers = append(peers, scores[c.measure][u])
			}
		}
		if len(peers) < fewestPeers-1 {
			return 0
		}
		return median(peers)
	}
}

func (f *field) takes(v int, w window) bool {
	return slices.ContainsFunc(f.taken[v], w.overlaps)
}

// judge refines the edges of a candidate, and reports whether it is large enough, also without its worst block.
func (f *field) judge(c candidate, n int) (h hit, ok bool) {
	q, v := c.measure, c.member
	p := newPrefixes(f.off[q][v], f.scale[q][v])
	half := (p.clipped[c.to] - p.clipped[c.from]) / max(p.n[c.to]-p.n[c.from], 1) / 2
	w := refine(c.window, n, shortest, func(w window) float64 {
		if f.takes(v, w) {
			return math.Inf(-1)
		}
		return p.clipped[w.to] - p.clipped[w.from] - half*(p.n[w.to]-p.n[w.from])
	})
	h = f.hit(v, q, w)
	worst, count := math.Inf(-1), 0.0
	for _, x := range f.off[q][v][w.from:w.to] {
		if !math.IsNaN(x) {
			worst, count = max(worst, x), count+1
		}
	}
	const rest = 0.7 // of the least size without the worst block
	if count < 2 || h.size < least[q] || (h.size*count-worst)/(count-1) < rest*least[q] {
		return h, false
	}
	if q == p50 && !f.agrees(v, w) {
		return h, false
	}
	sizes := [3]float64{}
	for q := range sizes {
		sizes[q] = f.mean(q, v, w)
		if q == p50 && !f.agrees(v, w) {
			sizes[q] = 0
		}
	}
	return f.hit(v, mostTelling(sizes), w), true
}

// unlikeOthers reports whether a hit is large beside what others do at any time in windows of the same length.
func (f *field) unlikeOthers(v int, h *hit, n int) bool {
	w, q := h.window, h.measure
	length := w.to - w.from
	var others, elsewhere []float64 // what others have at that time, and what they have at any in as long a window
	for u := range f.names {
		for from := w.from % length; from+length <= n && u != v && f.class(u) == f.class(v); from += length {
			one := window{from, from + length}
			m := f.mean(q, u, one)
			if math.IsNaN(m) || f.takes(u, one) {
				continue
			}
			others = append(others, m)
			if !one.overlaps(w) {
				elsewhere = append(elsewhere, m)
			}
		}
	}
	spread := 0.05
	if len(others) > 2 {
		spread = scaleOf(others)
	}
	const long = 8 // from so many blocks on others' single bursts tell nothing
	return h.size >= 3*spread &&
		!(length < long && len(elsewhere) >= 20 && tailP(elsewhere, h.size, float64(len(elsewhere))) > 0.02)
}

// unreached reports whether no other is ever as slow for as long: what all have at times, by clocks that differ, is
// none of a member's own.
func (f *field) unreached(h *hit) bool {
	length := h.to - h.from
	level := func(v, from int) float64 {
		var of []float64
		for t := from; t < min(from+length, len(f.blocks)); t++ {
			if v < len(f.blocks[t]) {
				of = append(of, f.blocks[t][v].value(h.measure))
			}
		}
		if h.measure == iops {
			return -meanOf(of)
		}
		return meanOf(known0(of))
	}
	own := level(h.members[0], h.from)
	for v := range f.names {
		for from := 0; from+length <= len(f.blocks) && v != h.members[0]; from++ {
			if level(v, from) >= own {
				return false
			}
		}
	}
	return true
}

// mostTelling returns the measure to name of those that are large enough: p50 unless p99 is more than twice as far off,
// and I/Os per second only if latency is not.
func mostTelling(sizes [3]float64) int {
	switch {
	case sizes[p50] >= least[p50] && !(sizes[p99] > 2*sizes[p50]):
		return p50
	case sizes[p99] >= least[p99]:
		return p99
	case sizes[iops] >= least[iops]:
		return iops
	}
	return p50
}

// mean is a member's mean deviation in a window; NaN if nothing is known.
func (f *field) mean(q, v int, w window) float64 { return meanOf(f.off[q][v][w.from:w.to]) }

// agrees reports whether the mean of a member is above its peers', too.
func (f *field) agrees(v int, w window) bool {
	return median(known0(f.off[mean][v][w.from:w.to])) >= math.Log(agreeing)
}

func meanOf(v []float64) float64 {
	sum, n := 0.0, 0.0
	for _, x := range v {
		if !math.IsNaN(x) {
			sum, n = sum+x, n+1
		}
	}
	return sum / n
}

// null are the highest scores of exchanged members: a Gumbel distribution.
type null struct {
	at, scale float64
	found     int // what was found before it, and so not in it
}

// p is the probability that the highest score of so many is as high.
func (d *null) p(score float64, many int) float64 {
	return -math.Expm1(-float64(many) * math.Exp(-max((score-d.at)/d.scale, -700)))
}

func gumbel(scores []float64) *null {
	mean, squares := meanOf(scores), 0.0
	for _, s := range scores {
		squares += (s - mean) * (s - mean)
	}
	const euler = 0.5772156649015329
	scale := max(math.Sqrt(squares/float64(len(scores)-1)), 1e-9) * math.Sqrt(6) / math.Pi
	return &null{at: mean - euler*scale, scale: scale}
}

// null draws members whose blocks of time are taken from others, which are exchangeable if nobody stands out. What is
// taken is not among them, nor the candidate. Where few others are left, its blocks outside its window are, or all of
// them where few blocks are outside.
func (f *field) null(c candidate, windows []window, found int) *null {
	n, q := len(f.off[0][0]), c.measure
	var pool []int
	var corr []float64
	for v := range f.names {
		if len(f.taken[v]) > 0 || len(known0(f.off[q][v])) == 0 {
			continue
		}
		if v != c.member {
			pool = append(pool, v)
		}
		corr = append(corr, correlation(f.off[q][v]))
	}
	few, all := len(pool) < 3, append(pool, c.member)
	if few && (3*(c.to-c.from) > 2*n || len(pool) == 0) {
		pool = all
	}
	block := blockOf(median(corr), 2, n/6)
	rng := rand.New(rand.NewPCG(uint64(n), uint64(q)))
	scores, off := make([]float64, nullDraws), make([]float64, n)
	for i := range scores {
		for from := 0; from < n; from += block {
			to, of := min(from+block, n), pool
			if few && !c.overlaps(window{from, to}) {
				of = all
			}
			v := of[rng.IntN(len(of))]
			for t := from; t < to; t++ {
				off[t] = f.off[q][v][t] / f.scale[q][v]
			}
		}
		p := newPrefixes(off, 1)
		for _, w := range windows {
			scores[i] = max(scores[i], p.score(w))
		}
	}
	d := gumbel(scores)
	d.found = found
	return d
}

// correlation is the correlation of neighbouring blocks, from 0 to 0.9.
func correlation(v []float64) float64 {
	middle, most := median(known0(v)), 4*scaleOf(v)
	squares, n, products, pairs := 0.0, 0.0, 0.0, 0.0
	before := math.NaN()
	for _, x := range v {
		x = clip(x-middle, most)
		if !math.IsNaN(x) {
			squares, n = squares+x*x, n+1
		}
		if p := x * before; !math.IsNaN(p) {
			products, pairs = products+p, pairs+1
		}
		before = x
	}
	if pairs < 8 {
		return 0
	}
	return min(max(products/pairs/max(squares/n, 1e-12), 0), 0.9)
}

// blockOf is the length of blocks that are nearly independent, at the given correlation of neighbours.
func blockOf(corr, times float64, most int) int {
	if !(corr >= 0.15) {
		return 1
	}
	return max(min(int(math.Round(times*corr/(1-corr)))+1, most), 1)
}

// lasting is blockOf a series.
func lasting(v []float64) int { return blockOf(correlation(v), 2, max(len(v)/4, 1)) }

// tailP is the probability that one of so many values is as high as x, by the highest tenth of the others, which are
// taken to fall off exponentially with an uncertain scale.
func tailP(others []float64, x, tries float64) float64 {
	sorted := known0(others)
	slices.Sort(sorted)
	k := max(len(sorted)/10, 5)
	if len(sorted) < 3*k {
		return 1
	}
	edge, sum := sorted[len(sorted)-k-1], 0.0
	for _, v := range sorted[len(sorted)-k:] {
		sum += v - edge
	}
	sum = max(sum, 0.02*float64(k))
	return min(1, tries*float64(k)/float64(len(sorted))*math.Pow(1+max(x-edge, 0)/sum, -float64(k)))
}

// merge makes one hit of those of one time, and leaves out those of more than half of their peers.
func (f *field) merge(of []hit) (out []hit) {
	slices.SortStableFunc(of, func(a, b hit) int { return cmp.Compare(b.size, a.size) })
	for _, h := range of {
		at := slices.IndexFunc(out, func(o hit) bool { return o.same(h.window) && o.alike(&h) })
		if at < 0 {
			out = append(out, h)
			continue
		}
		if o := &out[at]; !slices.Contains(o.members, h.members[0]) {
			o.members = append(o.members, h.members...)
			slices.Sort(o.members)
		}
	}
	for i := range out { // of more than half of their peers it is not them who stand out
		named := slices.Clone(out[i].members)
		out[i].members = slices.DeleteFunc(out[i].members, func(v int) bool {
			n := 0
			for _, u := range named {
				n += btoi(f.class(u) == f.class(v))
			}
			return 2*n > f.peers(v)
		})
	}
	return slices.DeleteFunc(out, func(h hit) bool { return len(h.members) == 0 })
}

// alike reports whether members can be told together: one is not twice as far off as the other, and what they do in a
// period they do at once.
func (h *hit) alike(o *hit) bool {
	const apart = 2 // blocks
	return h.size < 2*o.size && len(h.times) == len(o.times) &&
		(h.times == nil || max(h.from-o.from, o.from-h.from) <= apart)
}

// same reports whether two windows are of one time.
func (w window) same(o window) bool {
	const apart = 2
	return max(w.from-o.from, o.from-w.from) <= apart && max(w.to-o.to, o.to-w.to) <= apart || w.mostly(o, 0.8)
}

// mostly reports whether two windows have at least a share of the longer one in common.
func (w window) mostly(o window, share float64) bool {
	return float64(min(w.to, o.to)-max(w.from, o.from)) >= share*float64(max(w.to-w.from, o.to-o.from))
}

// course is what all I/Os of a direction do over time, in the blocks in which the same jobs run: logarithms of p50
// and p99, and of I/Os per second with its sign turned, so that higher is worse. NaN is unknown.
type course struct {
	window
	x     [3][]float64
	means []float64
	tries int // how many courses are searched, more than one
	edge  int // in how many blocks hosts begin or end what happens to all
}

// find returns the windows that are apart from the rest of the course, the periodic ones first.
func (c *course) find() (out []hit) {
	n := c.to - c.from
	if p := periodOf(c.x[:]); p != nil {
		h := hit{when: when{window: p.window, times: p.events}}
		inside := func(t int) bool {
			return slices.ContainsFunc(p.events, func(w window) bool { return w.from <= t && t < w.to })
		}
		if c.size(&h, inside) {
			h.shape = periodic{h.shape, p.every}
			out = append(out, h)
		}
		for _, one := range p.bursts {
			for q := range c.x {
				for t := one.from; t < one.to; t++ {
					c.x[q][t] = math.NaN()
				}
			}
		}
	}
	windows, whole := scan(n, 1), [3][]float64{}
	for q := range c.x {
		whole[q] = slices.Clone(c.x[q])
	}
	for range 4 {
		w, ok := c.furthest(windows)
		if !ok || len(out) > 2 {
			break
		}
		taken := func(t int) bool {
			return !slices.ContainsFunc(c.x[:], func(x []float64) bool { return !math.IsNaN(x[t]) })
		}
		for ; w.to-w.from > 1 && taken(w.from); w.from++ { // by another hit
		}
		for ; w.to-w.from > 1 && taken(w.to-1); w.to-- {
		}
		h := hit{when: when{window: w}}
		if c.size(&h, func(t int) bool { return w.from <= t && t < w.to }) {
			x := whole[h.measure]
			if from, begin, end, ok := rises(x, w); ok && end-begin >= least[h.measure] {
				h.window, h.shape, h.size = window{from, n}, drift{shape: h.shape, begin: begin, end: end}, end-begin
			}
			out = append(out, h)
			if is[drift](&h) {
				break
			}
		}
		for q := range c.x { // take it out
			for t := range c.x[q] {
				if in := w.from <= t && t < w.to; in == (2*(w.to-w.from) <= n) {
					c.x[q][t] = math.NaN()
				}
			}
		}
	}
	c.x = whole
	out = c.join(out)
	for i := range out {
		h := &out[i]
		h.from, h.to, h.outside = h.from+c.from, h.to+c.from, c.window
		for _, of := range [][]window{h.times, h.steps} {
			for k := range of {
				of[k] = window{of[k].from + c.from, of[k].to + c.from}
			}
		}
	}
	return out
}

// join makes one hit of those whose windows adjoin, leaves out those that are edges of others, and lets a single one
// begin and end where the first hosts do.
func (c *course) join(hits []hit) (out []hit) {
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(a.from, b.from) })
	for _, h := range hits {
		last := len(out) - 1
		if last < 0 || !adjoins(&out[last], &h) {
			out = append(out, h)
			continue
		}
		o := &out[last]
		both := hit{when: when{window: window{o.from, h.to}, steps: append(o.stairs(), h.window)}}
		short := func(a, b *hit) bool { return a.to-a.from <= c.edge && a.size <= b.size } // an edge
		switch {
		case short(&h, o):
		case short(o, &h):
			*o = h
		case c.size(&both, both.inside) && c.all(&both):
			both.steps = c.unlike(both.steps, both.measure)
			*o = both
		default:
			out = append(out, h)
		}
	}
	for i := range out {
		if h := &out[i]; h.steps == nil && h.times == nil && !is[drift](h) {
			c.widen(h)
		}
	}
	return out
}

// unlike makes one of steps of about the same level; nil if all are.
func (c *course) unlike(steps []window, measure int) (out []window) {
	level := func(w window) float64 { return levelOf(c.x[measure], w, true) }
	for _, w := range steps {
		if last := len(out) - 1; last >= 0 && math.Abs(level(w)-level(out[last])) < least[measure] {
			out[last].to = w.to
		} else {
			out = append(out, w)
		}
	}
	if len(out) == 1 {
		return nil
	}
	return out
}

// all reports whether all steps of a hit are far enough off.
func (c *course) all(h *hit) bool {
	x := c.x[h.measure]
	usual := levelOf(x, h.window, false)
	return !slices.ContainsFunc(h.steps, func(step window) bool {
		return !(levelOf(x, step, true)-usual >= least[h.measure])
	})
}

// adjoins reports whether b begins where a ends.
func adjoins(a, b *hit) bool {
	const apart = 1
	return a.times == nil && b.times == nil && !is[drift](a) && !is[drift](b) &&
		max(a.to-b.from, b.from-a.to) <= apart
}

// widen moves the edges of a hit to the blocks in which some of the hosts are a part of it: these are off by more than
// noise.
func (c *course) widen(h *hit) {
	x := c.x[h.measure]
	usual := levelOf(x, h.window, false)
	off := max(math.Log(agreeing), highZ*scaleOf(slices.Concat(x[:h.from], x[h.to:])))
	for k := 0; k < c.edge && h.from > 0 && x[h.from-1]-usual >= off; k++ {
		h.from--
	}
	for k := 0; k < c.edge && h.to < len(x) && x[h.to]-usual >= off; k++ {
		h.to++
	}
}

// besides returns the hit that is slow in the bursts of another direction, and only then; n are its I/Os by block. What
// they explain is taken out of the course.
func (c *course) besides(direction string, n []float64) *hit {
	h := &hit{when: when{window: c.window, outside: c.window}}
	most := slices.Sorted(slices.Values(n))[len(n)*19/20]
	busy, idle, calm := make([]bool, len(n)), 0, 0
	for t := range n {
		busy[t] = 2*n[t] > most
		idle, calm = idle+btoi(4*n[t] < most), calm+btoi(!busy[t])
	}
	h.times = bursts(busy)
	if len(h.times) < 2 || 2*idle < calm || !c.size(h, func(t int) bool { return busy[t] }) {
		return nil
	}
	levels := func(x []float64) (in, rest float64, of [2][]float64) {
		for t, v := range x {
			if !math.IsNaN(v) {
				of[btoi(busy[t])] = append(of[btoi(busy[t])], v)
			}
		}
		return median(slices.Clone(of[1])), median(slices.Clone(of[0])), of
	}
	h.shape = beside{h.shape, direction}
	in, rest, of := levels(c.x[h.measure])
	wrong := 0
	for k, side := range of {
		for _, v := range side {
			wrong += btoi((2*v < in+rest) == (k == 1))
		}
	}
	const few, seldom = 4, 5
	known := len(of[0]) + len(of[1])
	if known < 2*leastBlocks || min(len(of[0]), len(of[1])) < few || seldom*wrong > known {
		return nil
	}
	for _, x := range c.x {
		if in, rest, _ := levels(x); !math.IsNaN(in - rest) {
			for t := range x {
				x[t] -= (in - rest) * float64(btoi(busy[t]))
			}
		}
	}
	for i, w := range h.times {
		h.times[i] = window{w.from + c.from, w.to + c.from}
	}
	return h
}

// size sets the measure in which a hit is largest, and by how much; it reports whether that is enough.
func (c *course) size(h *hit, inside func(t int) bool) bool {
	var sizes, wides [3]float64
	for q, x := range c.x {
		var in, rest []float64
		for t, v := range x {
			if math.IsNaN(v) {
				continue
			}
			if inside(t) {
				in = append(in, v)
			} else {
				rest = append(rest, v)
			}
		}
		if len(in) == 0 || len(rest) == 0 {
			continue
		}
		size := median(in) - median(rest)
		if q == p50 && size > 0 && c.rise(inside) < math.Log(agreeing) {
			continue
		}
		half := func(v []float64) float64 {
			return scaleOf(v) / math.Sqrt(max(float64(len(v))/float64(lasting(v)), 1))
		}
		sizes[q], wides[q] = size, z95*math.Hypot(half(in), half(rest))
	}
	h.measure = mostTelling(sizes)
	h.size, h.wide, h.shape = sizes[h.measure], wides[h.measure], steady(h.measure)
	return h.size >= least[h.measure]
}

// rise is how far the logarithm of the mean latency is higher inside than outside, by medians; NaN if one of them has
// nothing.
func (c *course) rise(inside func(t int) bool) float64 {
	var in, rest []float64
	for t, v := range c.means {
		switch {
		case math.IsNaN(v):
		case inside(t):
			in = append(in, v)
		default:
			rest = append(rest, v)
		}
	}
	return median(in) - median(rest)
}

// furthest returns the window whose inside is furthest from its outside, if chance does not explain it.
func (c *course) furthest(windows []window) (best window, ok bool) {
	p := runAlpha
	for q, x := range c.x {
		if k := len(known0(x)); k < 2*fewest {
			continue
		}
		w, chance, found := apart(x, windows, uint64(q))
		chance *= float64(len(c.x) * max(c.tries, 1))
		if found && chance < p {
			p, ok = chance, true
			middle := (levelOf(x, w, true) + levelOf(x, w, false)) / 2
			most := 1.5*math.Abs(meanOf(x[w.from:w.to])-middle) + 0.05
			best = refine(w, len(x), 1, func(w window) (sum float64) {
				for _, v := range x[w.from:w.to] {
					if !math.IsNaN(v) {
						sum += clip(v-middle, most)
					}
				}
				return sum
			})
		}
	}
	return best, ok
}

// levelOf is the median inside or outside a window.
func levelOf(x []float64, w window, inside bool) float64 {
	if inside {
		return median(known0(x[w.from:w.to]))
	}
	return median(known0(slices.Concat(x[:w.from], x[w.to:])))
}

// apart returns the window furthest from the rest of x, and the probability of it by chance: by blocks of time in
// other order, and where it is short by the tail of the rest.
func apart(x []float64, windows []window, seed uint64) (w window, p float64, ok bool) {
	n := len(x)
	var steps []float64
	for t := 1; t < n; t++ {
		steps = append(steps, x[t]-x[t-1])
	}
	scale, middle := max(scaleOf(x), scaleOf(steps)/math.Sqrt2), median(known0(x))
	off := make([]float64, n)
	for t, v := range x {
		off[t] = clip((v-middle)/scale, 8)
	}
	score, w := furthestOf(off, windows)
	w = refine(w, n, 1, func(w window) float64 {
		s, _ := furthestOf(off, []window{w})
		return s
	})
	rest, drawn := slices.Clone(x), slices.Clone(off)
	inside := meanOf(x[w.from:w.to]) - meanOf(slices.Concat(x[:w.from], x[w.to:]))
	z := meanOf(off[w.from:w.to]) - meanOf(slices.Concat(off[:w.from], off[w.to:]))
	for t := w.from; t < w.to; t++ {
		rest[t] -= inside
		off[t] -= z
	}
	block := blockOf(correlation(rest), 3, n/5)
	rng := rand.New(rand.NewPCG(uint64(n), seed))
	scores := make([]float64, nullDraws)
	for i := range scores {
		for from := 0; from < n; from += block {
			at := rng.IntN(n)
			for t := from; t < min(from+block, n); t++ {
				drawn[t] = off[(at+t-from)%n]
			}
		}
		scores[i], _ = furthestOf(drawn, windows)
	}
	p = gumbel(scores).p(score, 1)
	tries := float64(n)
	switch long := w.to - w.from; {
	case !(inside < 0):
	case w.from == 0 && long < n: // fast at first: slow from then on
		w = window{w.to, n}
	case w.to == n && long < n:
		w = window{0, w.from}
	case min(w.from, n-w.to) >= long: // a short time in which it was fast
		p = 1
	case n-w.to >= w.from: // fast after a slow begin: slow from then on
		w = window{w.to, n}
	default:
		w = window{0, w.from}
	}
	if w.to-w.from <= 3 {
		p = max(p, tailP(slices.Concat(x[:w.from], x[w.to:]), meanOf(x[w.from:w.to]), tries))
	}
	top := 0 // a single block, which other orders of the same blocks cannot judge
	for t, v := range x {
		if v > x[top] || math.IsNaN(x[top]) {
			top = t
		}
	}
	if p > runAlpha/3 {
		others := slices.Concat(x[:max(top-1, 0)], x[min(top+2, n):])
		if one := tailP(others, x[top], tries); one < p {
			w, p = window{top, top + 1}, one
		}
	}
	return w, p, true
}

// furthestOf returns the window whose mean differs most from that of the rest, and by how many standard errors.
func furthestOf(off []float64, windows []window) (most float64, best window) {
	p := newPrefixes(off, 1)
	n := len(off)
	sum, all := p.plain[n], p.n[n]
	for _, w := range windows {
		k := p.n[w.to] - p.n[w.from]
		if 2*k < float64(w.to-w.from) || k == 0 || all-k < 8 {
			continue
		}
		s := p.plain[w.to] - p.plain[w.from]
		if d := math.Abs(s/k-(sum-s)/(all-k)) / math.Sqrt(1/k+1/(all-k)); d > most {
			most, best = d, w
		}
	}
	return most, best
}
