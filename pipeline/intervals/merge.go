package intervals

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// Member is what the Merger needs of a log.
type Member struct {
	*pipeline.Log // its host, job, name and start
	// DirInfo is what is known of its directions so far. Holes are those known after the last round.
	DirInfo [fio.Directions]pipeline.LogDirection
	// EndSoFar is the end of the log as of the last round, in ns on the run's clock: math.MaxInt64 while it goes on.
	EndSoFar int64
	Open     Open // where its I/Os are added

	index     int                      // in Run.Logs
	published [fio.Directions]struct { // as of the last round, while the log is read on
		span  pipeline.Span
		hasIO bool
	}
	lostUntil [fio.Directions]int64 // end of its I/Os that cannot be placed in time, ns on the run's clock
	Known     [fio.Directions]bool  // fio's totals tell how many I/Os were lost in its holes
}

// Publish publishes when the directions of the log ran, as of this round and EndSoFar, for the merge of this round that
// runs beside the next one.
func (l *Member) Publish() {
	for d := range l.DirInfo {
		p, info := &l.published[d], &l.DirInfo[d]
		p.span, p.hasIO = pipeline.Span{From: info.From, To: info.To}, info.HasIO
		if l.EndSoFar == math.MaxInt64 {
			p.span.To = math.MaxInt64
		}
	}
}

// leafSpec is a leaf of the run: all logs with the same values of the --by dimensions,
// in one direction. Every I/O is in exactly one.
type leafSpec struct {
	dims fio.Dims
	dir  fio.Direction
	logs []*Member // sorted by host, then name
}

func (s *leafSpec) seen() bool {
	for _, l := range s.logs {
		if l.DirInfo[s.dir].HasIO {
			return true
		}
	}
	return false
}

// limits returns the smallest and largest latency of the JSON entries that the leaf covers. open is
// set if a log without an entry may have had any.
func (s *leafSpec) limits() (limits fiohist.Limits, open bool) {
	for _, l := range s.logs {
		d := &l.DirInfo[s.dir]
		limits, open = limits.Widen(d.Limits), open || !d.Limits.Known && !d.KnownIdle
	}
	return limits, open
}

// scope is one scope value, which has a row in each interval.
type scope struct {
	name   string
	dims   fio.Dims
	leaves []int     // ascending: by host first
	logs   []*Member // distinct
	bounds
	rows     int64 // the intervals before this one have had their row
	total    *fiohist.Hist
	blocks   *fiohist.Blocks // of the intervals of a direction, or of all directions; nil in other scopes
	unplaced bool            // total has I/Os of a job without logs, which ran at an unknown time
	same     *scope          // an earlier scope value with the same I/Os, as a host with one job has; or nil
	at       int             // index among the active scopes
	peers    *peers          // those that it is compared with; or nil
	others   bounds          // bounds of the I/Os of the other peers
}

// peers are all hosts, jobs or logs of a direction, or of all directions.
type peers struct {
	all     *scope // the scope that covers them
	members []*scope
	unknown []int // leaves that belong to none of them
}

// Merger adds up the intervals of all logs by leaf and by scope, and passes them to a sink.
type Merger struct {
	Run     *pipeline.Run
	Grid    *Grid
	sink    pipeline.Sink
	workers int
	// leavesOnly leaves out all scopes but that of the whole run.
	leavesOnly bool
	logs       []*Member
	leafSpecs  []leafSpec
	scopes     []*scope
	ran        []*scope // by direction, for pipeline.Interval.Ran
	peers      []*peers
	active     []*scope // of a stored run: those with I/O
	cells      cells
	none       []*fiohist.Hist // the leaves of an interval without I/O
	sums       []sums          // memory of the intervals that are added up in parallel
	Begun      bool
	Done       int64 // intervals before this one have been taken from the logs
	packed     int64 // and these are packed, if they have not
	count      int   // intervals passed to the sink
	// Intervals from first on and before end overlap the run's Pick. What else is in leaves is away.
	first, end int64
	picks      bool
	away       float64
}

// New returns a merger of a run whose first interval is the grid's. With leavesOnly it leaves out all scopes but that
// of the whole run.
func New(run *pipeline.Run, g *Grid, logs []*Member, sink pipeline.Sink, workers int, leavesOnly bool) *Merger {
	m := &Merger{Run: run, Grid: g, sink: sink, workers: workers, Done: g.First, packed: g.First,
		leavesOnly: leavesOnly, cells: cells{rows: map[int64]*row{}, away: row{leaves: make([]*fiohist.Hist, 1)}}}
	m.pick()
	m.setLogs(logs)
	m.cells.leaves = len(m.leafSpecs)
	first := map[string]*scope{} // by leaves
	var key []byte
	for _, sc := range m.scopes {
		key = key[:0]
		for _, i := range sc.leaves {
			key = binary.AppendUvarint(key, uint64(i))
		}
		sc.same = first[string(key)]
		if sc.same == nil {
			first[string(key)], sc.total = sc, new(fiohist.Hist)
		} else {
			sc.total = sc.same.total
			if sc.blocks != nil {
				sc.same.blocks = cmp.Or(sc.same.blocks, sc.blocks)
				sc.blocks = sc.same.blocks
			}
		}
	}
	return m
}

func (m *Merger) setLogs(logs []*Member) {
	m.logs, m.leafSpecs, m.scopes, m.ran = logs, nil, nil, nil
	for _, name := range m.Run.Directions() {
		m.ran = append(m.ran, &scope{name: fio.DirectionScope, dims: fio.Dims{Direction: name}, logs: logs})
	}
	by := m.Run.Settings.By
	known := map[fio.Dims]int{}
	for i, l := range logs {
		l.index, l.Open.cells = i, &m.cells
		for d := range l.Open.leaf {
			l.Open.leaf[d] = noLeaf
		}
		whole := l.Dims()
		for d, name := range m.Run.Directions() {
			dims := fio.Dims{Direction: name}
			if m.picks && !m.Run.Pick.HoldsLog(l.Log, name) {
				continue
			}
			for _, n := range by {
				if n != fio.ByDirection {
					dims.Set(n, whole.Of(n))
				}
			}
			i, ok := known[dims]
			if !ok {
				i = len(m.leafSpecs)
				known[dims] = i
				m.leafSpecs = append(m.leafSpecs, leafSpec{dims: dims, dir: fio.Direction(d)})
			}
			m.leafSpecs[i].logs = append(m.leafSpecs[i].logs, l)
		}
	}
	slices.SortStableFunc(m.leafSpecs, func(a, b leafSpec) int {
		return cmp.Or(cmp.Compare(a.dims.Host, b.dims.Host), cmp.Compare(a.dims.Job, b.dims.Job),
			cmp.Compare(a.dims.Log, b.dims.Log), cmp.Compare(a.dir, b.dir))
	})
	for i := range m.leafSpecs {
		for _, l := range m.leafSpecs[i].logs {
			l.Open.leaf[m.leafSpecs[i].dir] = i
			l.Open.pack = m.many() && len(m.leafSpecs[i].logs) == 1
		}
	}
	m.none = make([]*fiohist.Hist, len(m.leafSpecs))
	masks := 1 << len(fio.Dimensions())
	if m.leavesOnly {
		masks = 1
	}
	for mask := range masks {
		m.addScopes(mask, by)
	}
	m.findPeers()
}

// many reports whether there are so many leaves that their histograms are packed where they can be.
func (m *Merger) many() bool { return len(m.leafSpecs) > manyLeaves }

// findPeers finds which scopes are compared with each other; a part of a run lacks some, and so has none.
func (m *Merger) findPeers() {
	m.peers = nil
	if m.Run.Part != "" {
		return
	}
	all := map[string]*scope{}
	known := map[fio.Dims]*peers{} // by dimension, as Log, and direction
	for _, sc := range m.scopes {
		switch dimension := fio.Undirected(sc.name); dimension {
		case fio.RunScope:
			all[sc.dims.Direction] = sc
		case fio.ByHost, fio.ByJob, fio.ByLog:
			if sc.dims.Host+sc.dims.Job+sc.dims.Log == "" {
				continue
			}
			key := fio.Dims{Log: dimension, Direction: sc.dims.Direction}
			p := known[key]
			if p == nil {
				p = &peers{all: all[sc.dims.Direction]}
				known[key], m.peers = p, append(m.peers, p)
			}
			p.members = append(p.members, sc)
		}
	}
	for _, p := range m.peers {
		theirs := map[int]bool{}
		for _, sc := range p.members {
			for _, i := range sc.leaves {
				theirs[i] = true
			}
		}
		for _, i := range p.all.leaves {
			if !theirs[i] {
				p.unknown = append(p.unknown, i)
			}
		}
		if len(p.members) > 1 || len(p.unknown) > 0 {
			for _, sc := range p.members {
				sc.peers = p
			}
		}
	}
}

// limit finds for each peer the bounds of the I/Os of all others.
func (p *peers) limit(specs []leafSpec) {
	var before, after bounds
	for _, i := range p.unknown {
		limits, open := specs[i].limits()
		before = before.widen(bounds{limits, open})
	}
	for _, sc := range p.members {
		sc.others, before = before, before.widen(sc.bounds)
	}
	for _, sc := range slices.Backward(p.members) {
		sc.others, after = sc.others.widen(after), after.widen(sc.bounds)
	}
}

// bounds are limits; open is set if those of some I/Os are unknown.
type bounds struct {
	fiohist.Limits
	open bool
}

func (b bounds) widen(o bounds) bounds { return bounds{b.Widen(o.Limits), b.open || o.open} }

// known returns the limits if they hold for all I/Os.
func (b bounds) known() fiohist.Limits {
	if b.open {
		return fiohist.Limits{}
	}
	return b.Limits
}

// Join replaces the logs by more of them; what was added up before stays. From now on each scope is added up by itself,
// as a log that joins later can split scopes that had the same I/Os.
func (m *Merger) Join(logs []*Member) {
	before, leaves := m.scopes, m.leafSpecs
	m.setLogs(logs)
	index, to := m.Index(), make([]int, len(leaves))
	for i := range leaves {
		to[i] = index[leaves[i].dims]
	}
	m.cells.move(len(m.leafSpecs), to)
	for _, sc := range m.scopes {
		sc.rows, sc.total = m.first, new(fiohist.Hist)
		for _, old := range before {
			if old.name == sc.name && old.dims == sc.dims {
				sc.rows, sc.total, sc.blocks = old.rows, old.total, old.blocks
			}
		}
	}
}

// addScopes adds all values of the scope whose dimensions are the bits of mask.
func (m *Merger) addScopes(mask int, by []string) {
	var names []string
	order := fio.Dimensions()
	for i, name := range order { // the order of the scopes in the output, too, the least significant last
		if mask&(1<<(len(order)-1-i)) != 0 {
			one := m.Run.Directions()[0] == m.Run.TotalDirection()
			if !slices.Contains(by, name) || name == fio.ByDirection && one {
				return
			}
			names = append(names, name)
		}
	}
	name := fio.Scope(names)
	from := len(m.scopes)
	index := map[fio.Dims]*scope{}
	// Without the direction, a log is in one scope only, but may be in several of its leaves.
	known := make([]bool, len(m.logs))
	split := slices.Contains(names, fio.ByDirection)
	for i, s := range m.leafSpecs {
		dims := fio.Dims{Direction: m.Run.TotalDirection()}
		named := true
		for _, n := range names {
			value := s.dims.Of(n)
			dims.Set(n, value)
			named = named && (value != "" || n != fio.ByHost && n != fio.ByJob)
		}
		if !named { // an unknown host or job has no scope
			continue
		}
		sc := index[dims]
		if sc == nil {
			sc = &scope{name: name, dims: dims, rows: m.first}
			if fio.Undirected(name) == fio.RunScope {
				sc.blocks = new(fiohist.Blocks)
			}
			index[dims] = sc
			m.scopes = append(m.scopes, sc)
		}
		sc.leaves = append(sc.leaves, i)
		for _, l := range s.logs {
			if split || !known[l.index] {
				known[l.index] = true
				sc.logs = append(sc.logs, l)
			}
		}
	}
	rank := func(d string) int { return max(slices.Index(fio.DirectionNames(), d), 0) }
	slices.SortStableFunc(m.scopes[from:], func(a, b *scope) int {
		return cmp.Or(fio.Natural(a.dims.Host, b.dims.Host), fio.Natural(a.dims.Job, b.dims.Job),
			fio.Natural(a.dims.Log, b.dims.Log), cmp.Compare(rank(a.dims.Direction), rank(b.dims.Direction)))
	})
}

func (m *Merger) limit() {
	for _, sc := range m.scopes {
		sc.bounds = bounds{}
		for _, i := range sc.leaves {
			limits, open := m.leafSpecs[i].limits()
			sc.bounds = sc.widen(bounds{limits, open})
		}
	}
	for _, p := range m.peers {
		p.limit(m.leafSpecs)
	}
}

// merged is one interval added up.
type merged struct {
	pipeline.Interval
	hists []*fiohist.Hist // by scope, for the totals
}

// sums holds the histograms that an interval is added up in. The next interval reuses them while they are in the
// caches.
type sums struct {
	all   []*fiohist.Hist
	used  int
	ranks fiohist.Ranks
	tails []tail // of peers.all, by scope.at
}

// tail is the tail of a scope in the current interval, once it is read.
type tail struct {
	fiohist.Tail
	read bool
}

func (s *sums) next() *fiohist.Hist {
	if s.used == len(s.all) {
		s.all = append(s.all, new(fiohist.Hist))
	}
	h := s.all[s.used]
	s.used++
	h.Reset()
	return h
}

// prepare makes memory for n intervals, and numbers the scopes.
func (m *Merger) prepare(n int, active []*scope) {
	for len(m.sums) < n {
		m.sums = append(m.sums, sums{})
	}
	for k, sc := range active {
		sc.at = k
	}
}

// addUp adds up n intervals in parallel, also into their scopes' totals, and passes them to the sink
// in order. interval adds up the i-th of them in mem.
func (m *Merger) addUp(ctx context.Context, n int, active []*scope, interval func(i int, mem *sums) *merged) error {
	m.prepare(n, active)
	out := make([]*merged, n)
	var g errgroup.Group
	g.SetLimit(m.workers)
	for i := range out {
		g.Go(func() error {
			mem := &m.sums[i]
			mem.used = 0
			out[i] = interval(i, mem)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for w := range m.workers { // by scope, so that each total stays in the caches
		g.Go(func() error {
			var unpacked fiohist.Hist
			for k := w; k < len(active); k += m.workers {
				if active[k].same == nil {
					m.addToTotal(active[k], k, out, &unpacked)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, q := range out {
		for k, sc := range active {
			if sc.same != nil {
				q.Rows[k].Stats = q.Rows[sc.same.at].Stats
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := m.sink.Interval(ctx, &q.Interval); err != nil {
			return err
		}
	}
	m.count += n
	return nil
}

// addToTotal adds the k-th active scope of intervals to its total, and sets the extremes of their rows. Of very many
// scopes the totals are packed between such calls, with unpacked as memory.
func (m *Merger) addToTotal(sc *scope, k int, intervals []*merged, unpacked *fiohist.Hist) {
	total, pack := sc.total, len(m.scopes) > maxSums
	if pack {
		total = unpacked
		total.Reset()
		total.AddHist(sc.total)
	}
	for _, q := range intervals {
		sc.extremes(&q.Rows[k], q.hists[k], total, m.Run.Geometry)
		total.AddHist(q.hists[k])
		if sc.blocks != nil {
			sc.blocks.Add(q.hists[k], m.Run.Geometry)
		}
	}
	if pack {
		sc.total.SetPacked(total)
	}
}

// extremes sets the extremes of a row to those of the whole I/Os in it, with total before it: an I/O that is shared
// among intervals is the longest of one of them only.
func (sc *scope) extremes(row *pipeline.Row, h, total *fiohist.Hist, g fiohist.Geometry) {
	if h == nil || row.Stats.Empty() {
		return
	}
	if low, high, ok := h.Whole(total); ok {
		row.Stats.Within(g, low, high, sc.known())
	}
}

// interval adds up interval q of a batch.
func (m *Merger) interval(q int64, b *Batch, mem *sums) *merged {
	leaves := b.leaves(q)
	if leaves == nil {
		leaves = m.none
	}
	return m.rows(q, mem, leaves, func(l *Member) *IOs { return b.of(l, q) }, b.active)
}

func (m *Merger) leaves(hists []*fiohist.Hist, iosOf func(*Member) *IOs) (leaves []pipeline.Leaf) {
	for i, h := range hists {
		if h == nil {
			continue
		}
		s := &m.leafSpecs[i]
		leaf := pipeline.Leaf{Dims: s.dims, Hist: h}
		for _, l := range s.logs {
			if n := iosOf(l); n != nil && n[s.dir] > 0 {
				leaf.Members = append(leaf.Members, l.index)
			}
		}
		leaf.Logs = len(leaf.Members)
		if limits, open := s.limits(); !open {
			leaf.Limits = limits
		}
		leaves = append(leaves, leaf)
	}
	return leaves
}

// rows returns interval q with the rows of the active scopes.
func (m *Merger) rows(q int64, mem *sums, leaves []*fiohist.Hist, iosOf func(*Member) *IOs, active []*scope) *merged {
	out := &merged{Interval: pipeline.Interval{Offset: m.Grid.Start(q), Leaves: m.leaves(leaves, iosOf),
		Rows: make([]pipeline.Row, 0, len(active))}, hists: make([]*fiohist.Hist, 0, len(active))}
	if len(m.Run.Settings.SLA) > 0 {
		out.Ran = m.directionsRan(m.span(q))
	}
	ranks := &mem.ranks
	for i := range mem.tails {
		mem.tails[i].read = false
	}
	for _, sc := range active {
		if sc.same != nil {
			row := out.Rows[sc.same.at]
			row.Scope, row.Dims = sc.name, sc.dims
			out.hists = append(out.hists, out.hists[sc.same.at])
			row.TailPart = nil
			if sc.peers != nil {
				ranks.Read(out.hists[sc.at], m.Run.Geometry)
				row.TailPart = m.tail(mem, sc, out.hists)
			}
			out.Rows = append(out.Rows, row)
			continue
		}
		var sum addition
		for _, i := range sc.leaves {
			sum.add(mem, leaves[i])
		}
		h := sum.h
		out.hists = append(out.hists, h)
		ranks.Read(h, m.Run.Geometry)
		row := m.row(sc, ranks)
		row.Hist = h
		for _, l := range sc.logs {
			if n := iosOf(l); n != nil && sc.has(n) {
				row.Logs++
			}
		}
		row.TailPart = m.tail(mem, sc, out.hists)
		from, to := m.span(q)
		if sc.cover(&row, from, to); row.Lost >= msec {
			m.others(sc, &row, q, iosOf)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// directionsRan returns the rows of pipeline.Interval.Ran for [start, end), in ns.
func (m *Merger) directionsRan(start, end int64) (rows []pipeline.Row) {
	for _, sc := range m.ran {
		row := pipeline.Row{Scope: sc.name, Dims: sc.dims}
		sc.cover(&row, start, end)
		rows = append(rows, row)
	}
	return rows
}

// tail compares a scope, whose histogram was read last, with its peers. hists are the histograms of the scopes up to
// it: all that cover others come first.
func (m *Merger) tail(mem *sums, sc *scope, hists []*fiohist.Hist) *fiohist.Part {
	if sc.peers == nil || mem.ranks.Empty() {
		return nil
	}
	all := sc.peers.all.at
	for len(mem.tails) <= all {
		mem.tails = append(mem.tails, tail{})
	}
	t := &mem.tails[all]
	if !t.read {
		t.Read(hists[all], m.Run.Geometry, pipeline.TailPercentile)
		t.read = true
	}
	return t.Part(&mem.ranks, sc.others.known())
}

// Placed returns the number of I/Os in all intervals so far.
func (m *Merger) Placed() (n float64) {
	for _, sc := range m.scopes {
		if sc.name == fio.RunScope {
			n = sc.total.Sum()
		}
	}
	return n
}

// AddLosses adds losses to the totals of the scopes that hold all of their logs.
func (m *Merger) AddLosses(lost []pipeline.Loss) {
	for _, sc := range m.scopes {
		if shared := sc.total; sc.same != nil && len(lost) > 0 { // a job without logs may belong to only one of the two
			sc.total, sc.same = new(fiohist.Hist), nil
			sc.total.AddHist(shared)
		}
	}
	for i := range lost {
		loss := &lost[i]
		if m.picks && (m.Run.Pick.Timed() || !m.Run.Pick.HoldsLoss(loss)) {
			continue
		}
		for _, sc := range m.scopes {
			its := 0
			for _, l := range sc.logs {
				if l.Host == loss.Host && slices.Contains(loss.Logs, l.LogName) {
					its++
					for d := range l.Known {
						if fio.Direction(d).String() == loss.Direction {
							l.Known[d], l.lostUntil[d] = true, max(l.lostUntil[d], loss.Until)
						}
					}
				}
			}
			whole := its == len(loss.Logs)
			if whole && its == 0 {
				whole = sc.dims.Job == "" && sc.dims.Log == "" && (sc.dims.Host == "" || sc.dims.Host == loss.Host)
			}
			if whole && (sc.dims.Direction == fio.All || sc.dims.Direction == loss.Direction) {
				sc.total.AddAll(loss.Index, loss.Count, 0)
				sc.unplaced = sc.unplaced || len(loss.Logs) == 0
			}
		}
	}
}

// Summary returns the rows of all intervals together, and of what was lost. It drops holes if fio's
// totals tell how many I/Os they held.
func (m *Merger) Summary() *pipeline.Summary {
	s := &pipeline.Summary{Intervals: m.count, End: m.Grid.Start(min(m.Done, m.end))}
	until := s.End
	for _, sc := range m.scopes {
		for _, l := range sc.logs {
			for d, known := range l.Known {
				if known {
					l.DirInfo[d].Holes = nil
				}
			}
		}
	}
	for _, sc := range m.scopes {
		for _, l := range sc.logs {
			for _, lost := range l.lostUntil {
				until = max(until, lost)
			}
		}
	}
	blocks := map[string]*fiohist.Blocks{} // by direction
	for _, sc := range m.scopes {
		if fio.Undirected(sc.name) == fio.RunScope {
			blocks[sc.dims.Direction] = sc.blocks
		}
	}
	var ranks fiohist.Ranks
	tails := map[*scope]*fiohist.Tail{} // of peers.all
	from, to := m.Grid.Start(m.Grid.First), until
	if m.picks {
		from, to = m.Run.Window.Clip(from, to)
	}
	s.Ran = m.directionsRan(from, to)
	for _, sc := range m.scopes {
		if sc.total.Empty() {
			continue
		}
		ranks.Read(sc.total, m.Run.Geometry)
		row := m.row(sc, &ranks)
		if p := sc.peers; p != nil {
			if tails[p.all] == nil {
				tails[p.all] = new(fiohist.Tail)
				tails[p.all].Read(p.all.total, m.Run.Geometry, pipeline.TailPercentile)
			}
			row.TailPart = tails[p.all].Part(&ranks, sc.others.known())
		}
		// Finer scopes are taken to have bursts like those of their direction.
		row.Blocks = cmp.Or(blocks[sc.dims.Direction], blocks[m.Run.TotalDirection()])
		if row.Blocks != nil {
			ranks.Widen(&row.Stats, m.Run.Percentiles, row.Blocks)
		}
		row.Logs, row.Hist, row.Limits, row.Whole = len(sc.logs), sc.total, sc.known(), row.Whole || !m.picks
		if sc.cover(&row, from, to); sc.unplaced {
			row.IOPS, row.IOPSKnown = 0, false
		} else if !m.Run.Pick.Timed() {
			row.IOPS *= sc.lastWindows()
		}
		s.Total = append(s.Total, row)
	}
	return s
}

// has reports whether a log has I/O in the scope's direction.
func (sc *scope) has(ios *IOs) bool {
	for d, n := range ios {
		if n > 0 && sc.covers(fio.Direction(d)) {
			return true
		}
	}
	return false
}

// covers reports whether the scope holds I/Os of a direction. Syncs have only one.
func (sc *scope) covers(d fio.Direction) bool {
	return sc.dims.Direction == fio.All || sc.dims.Direction == d.String() ||
		sc.dims.Direction == fio.Sync.String()
}

func (m *Merger) row(sc *scope, ranks *fiohist.Ranks) pipeline.Row {
	return pipeline.Row{Scope: sc.name, Dims: sc.dims, Stats: ranks.Stats(m.Run.Percentiles, sc.known()),
		Whole: m.Run.Settings.Align == fio.AlignInflight}
}

// cover sets for how much of [start, end), in ns, one of a row's logs at least was running and has its records: others
// then count in neither the I/Os nor the time. There are no IOPS if that is below a millisecond, the resolution of
// stamps.
func (sc *scope) cover(r *pipeline.Row, start, end int64) {
	r.Lost = sc.lost(start, end)
	all := false
	var parts []pipeline.Span // of logs that do not cover all of it: few have any
	for _, l := range sc.logs {
		for d := range l.DirInfo {
			span, ok := l.ran(fio.Direction(d))
			if !ok || !sc.covers(fio.Direction(d)) {
				continue
			}
			span.From, span.To = max(span.From, start), min(span.To, end)
			if span.From < span.To && (span.From > start || span.To < end) {
				r.Uneven = r.Uneven || pipeline.PartOf(span.To-span.From, end-start)
			}
			for _, h := range l.DirInfo[d].Holes { // ascending
				if h.To > span.From && h.From < span.To {
					if h.From > span.From {
						parts = append(parts, pipeline.Span{From: span.From, To: h.From})
					}
					span.From = h.To
				}
			}
			if span.From == start && span.To == end {
				all = true
			} else if span.From < span.To {
				parts = append(parts, span)
			}
		}
	}
	ran := end - start
	if !all {
		ran = unionLength(parts, start)
	}
	covers(r, ran)
}

// others makes the IOPS of an interval in which logs lost records those of all other logs, and the time that the row
// covers theirs. What logs have of a stored interval is not known apart.
func (m *Merger) others(sc *scope, row *pipeline.Row, q int64, iosOf func(*Member) *IOs) {
	var whole scope
	ios := 0.0
	start, end := m.span(q)
	for _, l := range sc.logs {
		one := scope{dims: sc.dims, logs: []*Member{l}}
		if one.lost(start, end) >= msec {
			continue
		}
		whole.logs = append(whole.logs, l)
		if of := iosOf(l); of != nil {
			for d, n := range of {
				if sc.covers(fio.Direction(d)) {
					ios += n
				}
			}
		}
	}
	whole.dims = sc.dims
	var of pipeline.Row
	of.Stats.Samples = ios * m.share(q)
	whole.cover(&of, start, end)
	row.Covered, row.IOPS, row.IOPSKnown = of.Covered, of.IOPS, of.IOPSKnown && m.active == nil
}

// covers sets the time that a row covers, in ns, and its IOPS.
func covers(r *pipeline.Row, ns int64) {
	r.Covered = ns
	if ns >= msec {
		r.IOPS, r.IOPSKnown = r.Stats.Samples/(float64(ns)/1e9), true
	}
}

// lost returns for how much of [start, end), in ns, a log of the scope lost its records.
func (sc *scope) lost(start, end int64) int64 {
	var spans []pipeline.Span
	for _, l := range sc.logs {
		for d := range l.DirInfo {
			holes := l.DirInfo[d].Holes
			if len(holes) == 0 || !sc.covers(fio.Direction(d)) {
				continue
			}
			for _, h := range holes {
				if from, to := max(h.From, start), min(h.To, end); from < to {
					spans = append(spans, pipeline.Span{From: from, To: to})
				}
			}
		}
	}
	return unionLength(spans, start)
}

// unionLength returns the length of the union of spans that begin at start or later.
func unionLength(spans []pipeline.Span, start int64) (length int64) {
	slices.SortFunc(spans, func(a, b pipeline.Span) int { return cmp.Compare(a.From, b.From) })
	upTo := start
	for _, s := range spans {
		if s.To > upTo {
			length += s.To - max(s.From, upTo)
			upTo = s.To
		}
	}
	return length
}

// ran returns when a direction of the log ran, as published; ok is false if it has had no I/O so far.
func (l *Member) ran(d fio.Direction) (span pipeline.Span, ok bool) {
	p := &l.published[d]
	span = pipeline.Span{From: p.span.From, To: max(p.span.To, l.lostUntil[d])}
	return span, p.hasIO || l.lostUntil[d] > 0
}

// lastWindows returns the factor by which a scope has more IOPS than the I/Os of its logs in the time that these cover:
// a log that lacks its last window says nothing of the time after it, in which others may go on. It went on at its own
// rate. And of some jobs fio measures a sample of the I/Os only.
func (sc *scope) lastWindows() float64 {
	type direction struct {
		ios, issued float64
		pipeline.Span
		until int64
	}
	var all []direction
	for _, l := range sc.logs {
		for d := range l.DirInfo {
			span, ok := l.ran(fio.Direction(d))
			if info := &l.DirInfo[d]; ok && sc.covers(fio.Direction(d)) && span.From < span.To {
				all = append(all, direction{info.IOs, info.IOs + info.Unmeasured, span, max(info.Until, span.To)})
			}
		}
	}
	byFrom := slices.Clone(all)
	slices.SortFunc(byFrom, func(a, b direction) int { return cmp.Compare(a.From, b.From) })
	for i := range byFrom[:max(len(byFrom)-1, 0)] { // the latest end of those up to it
		byFrom[i+1].To = max(byFrom[i+1].To, byFrom[i].To)
	}
	logged, ios := 0.0, 0.0
	covered, longer := make([]pipeline.Span, len(all)), make([]pipeline.Span, len(all))
	for i, d := range all {
		// Of those that ran when the log's last window began, itself among them.
		ran, _ := slices.BinarySearchFunc(byFrom, d.To, func(o direction, to int64) int {
			return cmp.Compare(o.From, to)
		})
		until := min(d.until, byFrom[ran-1].To)
		covered[i], longer[i] = d.Span, pipeline.Span{From: d.From, To: until}
		logged, ios = logged+d.ios, ios+d.issued*float64(until-d.From)/float64(d.To-d.From)
	}
	if ios == logged {
		return 1
	}
	from := slices.MinFunc(covered, func(a, b pipeline.Span) int { return cmp.Compare(a.From, b.From) }).From
	return ios / logged * float64(unionLength(covered, from)) / float64(unionLength(longer, from))
}

// addition is a sum that copies only if there is a second operand.
type addition struct {
	h   *fiohist.Hist
	own bool // h may be written to
}

func (a *addition) add(mem *sums, h *fiohist.Hist) {
	switch {
	case h == nil:
		return
	case a.h == nil:
		a.h = h
		return
	case !a.own:
		sum := mem.next()
		sum.AddHist(a.h)
		a.h, a.own = sum, true
	}
	a.h.AddHist(h)
}
