package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"fiolat/fio"
	"fiolat/fio/fiohist"
)

// searched is what a search of a run found.
type searched struct {
	stalls []Stall
	hits   []hit
	fields []*field
}

// search looks for hits of all directions and dimensions.
func (w *Watch) search() *searched {
	s := &searched{stalls: w.Stalls()}
	window := int64(0)
	for _, l := range w.run.Logs {
		window = max(window, int64(l.Interval))
	}
	w.board.ownIOs(s.stalls, window)
	for _, direction := range slices.Sorted(maps.Keys(w.board.pooled)) {
		t := w.times(direction, s.stalls)
		found, fields := w.membersOf(direction, t, true)
		s.fields = append(s.fields, fields...)
		lone := w.lone(direction, t, found, fields)
		var all []hit
		for _, f := range fields {
			all = append(all, f.common...)
			if len(f.common) > 0 { // hosts rather than their logs
				break
			}
		}
		for _, c := range w.courses(direction, t, func(k int) member { return w.board.sum(direction, k) }) {
			for _, h := range append(w.besides(c, direction), c.find()...) {
				h.direction = direction
				if explained(&h, found, fields) || w.fluke(&h) {
					continue
				}
				var told bool
				w.inTurn(&h)
				lone, told = w.explains(&h, lone)
				if !told {
					all = append(all, h)
				}
			}
		}
		found = slices.DeleteFunc(found, func(h hit) bool {
			return slices.ContainsFunc(all, func(of hit) bool { return w.atEdge(&h, &of) })
		})
		s.hits = slices.Concat(s.hits, found, all, lone)
	}
	for i := range s.hits {
		w.snap(&s.hits[i])
	}
	s.hits = mergeDirections(s.hits)
	return s
}

// inTurn finds that a drift of all is steps of hosts, or else of jobs or logs, one after the other.
func (w *Watch) inTurn(h *hit) {
	d, ok := h.shape.(drift)
	if !ok {
		return
	}
	for _, g := range w.board.groups {
		if g.direction != h.direction || len(g.names) < fewestPeers {
			continue
		}
		var steps []int
		for v := range g.names {
			var x []float64
			for t := h.outside.from; t < h.outside.to; t++ {
				y := math.NaN()
				if t < len(g.blocks) && v < len(g.blocks[t]) {
					y = g.blocks[t][v].value(h.measure)
				}
				if h.measure == iops {
					y = -y
				}
				x = append(x, y)
			}
			if at, ok := step(x, least[h.measure]); ok {
				steps = append(steps, h.outside.from+at)
			}
		}
		slices.Sort(steps)
		n := len(steps)
		const most = 0.8
		if float64(n) < most*float64(len(g.names)) {
			continue
		}
		b := w.board
		clock := func(t int) string { return fio.Clock((b.first + int64(t)*b.length()) / 1e6) }
		d.turns = fmt.Sprintf(", %d of %d %ss one after the other between %s and %s", n, len(g.names),
			dimensions[g.dimension], clock(steps[0]), clock(steps[n-1]))
		h.shape, h.from = d, steps[0]
		return
	}
}

// edge is by how much in ns members may begin or end what happens to all before or after the others.
const edge = int64(3e9)

// atEdge reports whether members only begin or end what happens to all earlier or later than the others, as caches that
// are full one after the other: theirs is a short time at an edge of it, in which they are no further off.
func (w *Watch) atEdge(h, all *hit) bool {
	blocks := int(max(edge/w.board.length(), 1))
	near := func(at int) bool {
		return at-blocks <= h.from && h.from <= at+blocks && at-blocks <= h.to && h.to <= at+blocks
	}
	return h.times == nil && all.times == nil && !h.alone && h.size <= all.size &&
		(all.from > all.outside.from && near(all.from) || all.to < all.outside.to && near(all.to))
}

// besides returns the hits of a course of a direction that go with the bursts of another.
func (w *Watch) besides(c *course, direction string) (out []hit) {
	for _, other := range slices.Sorted(maps.Keys(w.board.pooled)) {
		if other == direction {
			continue
		}
		n := make([]float64, c.to-c.from)
		for k := range n {
			n[k] = float64(w.board.sum(other, c.from+k).n)
		}
		if h := c.besides(other, n); h != nil {
			out = append(out, *h)
		}
	}
	return out
}

// fluke reports whether a p99 of a block or two is high by a few I/Os more than usual, where slow I/Os are about one in
// a hundred at all times: p98 is then as ever.
func (w *Watch) fluke(h *hit) bool {
	if h.measure != p99 || h.times != nil || h.to-h.from > 2 {
		return false
	}
	var in, out fiohist.Hist
	blocks := w.board.pooled[h.direction]
	for t := h.outside.from; t < min(h.outside.to, len(blocks)); t++ {
		if h.inside(t) {
			in.AddHist(blocks[t])
		} else {
			out.AddHist(blocks[t])
		}
	}
	p98 := func(of *fiohist.Hist) float64 {
		return of.Stats(w.board.geometry, []float64{98}, fiohist.Limits{}).Percentiles[0]
	}
	return !in.Empty() && !out.Empty() && math.Log(p98(&in)/max(p98(&out), 1)) < least[p99]/2
}

// members returns the hits of members of all directions, and the fields in which they were searched.
func (w *Watch) members() (out []hit, fields []*field) {
	for _, direction := range slices.Sorted(maps.Keys(w.board.pooled)) {
		found, of := w.membersOf(direction, w.times(direction, nil), false)
		out, fields = append(out, found...), append(fields, of...)
	}
	return out, fields
}

func (w *Watch) membersOf(direction string, t *times, periods bool) (found []hit, fields []*field) {
	n := w.board.blocks()
	for d := range dimensions {
		for _, g := range w.board.groups {
			if g.direction != direction || g.dimension != d || len(g.names) < 3 || n < shortest || w.board.repeats(g) {
				continue
			}
			whole, still := t.members(g, n)
			f := newField(g, n, whole, still, t.setLoad, w.parts(g))
			fields = append(fields, f)
			hits := f.find(periods)
			if periods {
				hits = f.far(hits, w.board.geometry)
			}
			found = append(found, hits...)
		}
	}
	found = widest(found, fields)
	for i := range found {
		for _, f := range fields {
			if f.group == found[i].group {
				w.like(&found[i], f)
			}
		}
	}
	return found, fields
}

// repeats reports whether an earlier group has the same data under other names, such as hosts with a single log each.
func (b *board) repeats(g *group) bool {
	for _, o := range b.groups {
		if o == g {
			return false
		}
		if o.direction == g.direction && len(o.names) == len(g.names) && slices.EqualFunc(o.blocks, g.blocks,
			slices.Equal[[]member]) {
			return true
		}
	}
	return false
}

// logsOf returns the logs of the members of a hit, as indices in the group of logs.
func (w *who) logsOf(logs *group) (out []int) {
	for i, parents := range logs.parents {
		if v, ok := w.group.index[parents[w.group.dimension]]; ok && slices.Contains(w.members, v) {
			out = append(out, i)
		}
	}
	return out
}

// widest leaves out the hits that a hit of wider or narrower members explains: of a host, if most of its logs are slow,
// their hits; else that of the host.
func widest(found []hit, fields []*field) []hit {
	at := slices.IndexFunc(fields, func(f *field) bool { return dimensions[f.dimension] == fio.ByLog })
	if at < 0 {
		return found
	}
	logs := fields[at]
	for i := range found { // logs that are all those of some hosts or jobs
		h := &found[i]
		for _, f := range fields[:at] {
			if h.group != logs.group {
				break
			}
			wide := who{group: f.group}
			for v := range f.names {
				one := f.one(v)
				if slices.Contains(h.members, first(one.logsOf(logs.group))) {
					wide.members = append(wide.members, v)
				}
			}
			if slices.Equal(wide.logsOf(logs.group), h.members) {
				h.group, h.members = f.group, wide.members
			}
		}
	}
	gone := make([]bool, len(found))
	for i := range found {
		for j := range found {
			a, b := &found[i], &found[j]
			if i == j || gone[i] || gone[j] || !a.mostlyShorter(b.window) {
				continue
			}
			some, all := a.logsOf(logs.group), b.logsOf(logs.group)
			if slices.ContainsFunc(some, func(l int) bool { return !slices.Contains(all, l) }) {
				continue
			}
			slow := 0.0
			for _, l := range all {
				if x := logs.mean(b.measure, l, b.window); x >= least[b.measure]/2 {
					slow++
				}
			}
			better := a.group.dimension < b.group.dimension || a.group == b.group && a.size > b.size
			if len(some) == len(all) && better || len(some) < len(all) && 3*slow < 2*float64(len(all)) {
				gone[j] = true
			} else {
				gone[i] = true
			}
		}
	}
	var out []hit
	for i := range found {
		if !gone[i] {
			out = append(out, found[i])
		}
	}
	return out
}

func first(v []int) int {
	if len(v) == 0 {
		return -1
	}
	return v[0]
}

// mostlyShorter reports whether most of the shorter of two windows is in the other.
func (w window) mostlyShorter(o window) bool {
	return 2*(min(w.to, o.to)-max(w.from, o.from)) >= min(w.to-w.from, o.to-o.from)
}

// explained reports whether members that stand out at the time of a hit of all I/Os, or now and then as all do, explain
// it: the others do not have most of it.
func explained(h *hit, found []hit, fields []*field) bool {
	for _, f := range fields {
		var named []int
		for i := range found {
			if o := &found[i]; o.group == f.group && (o.mostlyShorter(h.window) || h.recurs() == aboutPeriod) {
				named = append(named, o.members...)
			}
		}
		if len(named) == 0 && len(f.common) == 0 {
			continue
		}
		var off []float64
		for v := range f.names {
			if slices.Contains(named, v) {
				continue
			}
			var in, rest []float64
			for t := h.outside.from; t < min(h.outside.to, len(f.blocks)); t++ {
				x := math.NaN()
				if v < len(f.blocks[t]) {
					x = f.blocks[t][v].value(h.measure)
				}
				if h.measure == iops {
					x = -x
				}
				if h.inside(t) {
					in = append(in, x)
				} else {
					rest = append(rest, x)
				}
			}
			if d := median(known0(in)) - median(known0(rest)); !math.IsNaN(d) {
				off = append(off, d)
			}
		}
		if len(off) == 0 || median(off) < max(0.6*least[h.measure], h.size/2) {
			return true
		}
	}
	return false
}

// inside reports whether a block is in a hit.
func (w *when) inside(t int) bool {
	if w.times == nil {
		return w.from <= t && t < w.to
	}
	return slices.ContainsFunc(w.times, func(of window) bool { return of.from <= t && t < of.to })
}

// stairs are the steps of a hit, or its window.
func (w *when) stairs() []window {
	if w.steps == nil {
		return []window{w.window}
	}
	return w.steps
}

// mergeDirections makes one hit of those of the same members, or of all, at one time in several directions.
func mergeDirections(hits []hit) (out []hit) {
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Compare(b.size/least[b.measure], a.size/least[a.measure])
	})
	for _, h := range hits {
		at := slices.IndexFunc(out, func(o hit) bool {
			if o.direction == h.direction || (o.group == nil) != (h.group == nil) || o.alone != h.alone ||
				o.recurs() != h.recurs() {
				return false
			}
			if o.group != nil && (o.group.dimension != h.group.dimension || slices.ContainsFunc(h.names(),
				func(who string) bool { return !slices.Contains(o.names(), who) })) {
				return false
			}
			return o.same(h.window) || o.mostly(h.window, 0.5) || o.group != nil && o.mostlyShorter(h.window)
		})
		if at < 0 {
			out = append(out, h)
		} else if o := &out[at]; !slices.Contains(o.also, h.direction) {
			o.also = append(o.also, h.direction)
		}
	}
	return out
}

// names are those of the members, in natural order; nil for all.
func (w *who) names() (out []string) {
	for _, v := range w.members {
		out = append(out, w.group.names[v])
	}
	slices.SortFunc(out, fio.Natural)
	return out
}
