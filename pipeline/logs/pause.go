package logs

import (
	"cmp"
	"math"
	"slices"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

const (
	// keptPauses is how many pauses of a direction are kept, the longest.
	keptPauses = 24
	// sameMoment is the time after the end of a pause in which its other I/Os complete.
	sameMoment = 5 * msec
	// fewWindows do not tell how much their rates vary.
	fewWindows = 3
)

// pauses finds when a direction of a log completed nothing. It takes the records as windows places them.
type pauses struct {
	middles []float64 // of the buckets, in ns
	ios, ns rate      // completions and their latencies in ns, per ns of whole windows
	late    rate      // the times in ns from a window's end to the next completion
	started int64     // when the job started, on the log's clock; farPast if unknown
	total   float64   // the sum of all latencies in ns
	opening int       // the highest bucket of the first record
	busiest float64   // the most I/Os in flight, over a window
	kept    []pause
	least   int // the index of the shortest of them, if they are as many as are kept
	last    int // one more than the index of the pause whose delayed I/Os may still complete
}

// rate is the distribution of a rate over windows, or of a time.
type rate struct{ n, sum, squares float64 }

func (r *rate) add(v float64) { r.n, r.sum, r.squares = r.n+1, r.sum+v, r.squares+v*v }

// mean returns the mean and the coefficient of variation.
func (r *rate) mean() (mean, variation float64) {
	if r.sum == 0 {
		return 0, math.Inf(1)
	}
	mean = r.sum / r.n
	return mean, math.Sqrt(max(r.squares/r.n-mean*mean, 0)) / mean
}

// pause is a time without a completion, on the log's clock in ns: it began in [prev, after], and ended at end.
type pause struct {
	prev, after, end  int64
	ios, ns           float64 // what completed in [prev, after], and its latencies
	top               int     // the bucket of the I/O that ended it
	shortest, longest int     // the buckets of the shortest and of the longest I/O that it delayed
	length            int64   // as far as was known when it ended
}

// add takes a record as windows places it: boundary is the end of its window, prev the stamp before it.
func (p *pauses) add(g fiohist.Geometry, r *stamped, h, boundary, prev int64) {
	c, last := &r.counts, len(r.counts.Index)-1
	if last < 0 {
		return
	}
	one := pause{prev: prev, after: prev, end: r.time, top: int(c.Index[last])}
	one.shortest, one.longest = one.top, one.top
	// The first window is after a silence if that is long: what it held up completes in it.
	catching, after := boundary <= prev, p.total == 0 && p.started != farPast && prev-p.started >= h/2
	if p.last > 0 {
		k := &p.kept[p.last-1]
		after = after || k.length >= h/2
		k.longest = max(k.longest, one.longest)
		for _, b := range c.Index {
			if g.Upper(int(b)) > k.length-k.length/8 {
				k.shortest = min(k.shortest, int(b))
				break
			}
		}
		if !catching {
			p.last = 0
		}
	}
	if p.middles == nil {
		p.middles = g.Middles()
	}
	ns := 0.0
	for i, b := range c.Index {
		ns += c.Count[i] * p.middles[b]
	}
	if p.total == 0 {
		p.opening = one.top
	}
	p.total += ns
	if r.skipped > 0 || catching && r.time-prev <= sameMoment {
		return
	}
	if r.holdsSeveral() && !catching {
		one.after, one.ios, one.ns = boundary, r.ios-1, ns-g.Middle(one.top)
	}
	p.late.add(float64(r.time - one.after))
	one.length = r.time - p.began(g, &one, math.MaxInt64).likely
	open := float64(one.after - prev)
	if open >= float64(h)/2 && r.time-boundary < h/2 && !after && (p.ios.n < fewWindows || one.length < h/2) {
		p.ios.add(one.ios / open)
		p.ns.add(one.ns / open)
		p.busiest = max(p.busiest, one.ns/open)
	}
	p.keep(one)
}

// keep keeps a pause if it is one of the longest.
func (p *pauses) keep(one pause) {
	switch {
	case len(p.kept) < keptPauses:
		p.kept = append(p.kept, one)
		p.last = len(p.kept)
	case one.length > p.kept[p.least].length:
		p.kept[p.least], p.last = one, p.least+1
	default:
		return
	}
	for i := range p.kept {
		if p.kept[i].length < p.kept[p.least].length {
			p.least = i
		}
	}
}

// addOne takes a single I/O that completed at stamp; prev is the stamp before it.
func (p *pauses) addOne(bucket uint16, stamp, prev int64) {
	p.late.add(float64(stamp - prev))
	p.keep(pause{prev: prev, after: prev, end: stamp, top: int(bucket), shortest: int(bucket),
		longest: int(bucket), length: stamp - prev})
	p.last = 0
}

// begin is when a pause began.
type begin struct {
	likely, latest int64         // latest by what completed in its window alone
	within         pipeline.Span // with all that is known
}

// began returns when a pause began. What completed in its window before it tells that. The latency of the I/Os that
// were in flight meanwhile, if there were any, makes it more exact. longest is the latency in ns that no I/O exceeds.
func (p *pauses) began(g fiohist.Geometry, one *pause, longest int64) begin {
	open := float64(one.after - one.prev)
	if open == 0 {
		return begin{one.prev, one.prev, pipeline.Span{From: one.prev, To: one.prev}}
	}
	// Where a queue is always full, the sum of the latencies grows evenly; where the load is set, the number of I/Os.
	ran, spread := open/2, 1.0
	ios, variation := p.ios.mean()
	ns, variation2 := p.ns.mean()
	switch {
	case p.ios.n == 0:
	case p.ios.n < fewWindows:
		ran = one.ios / ios
	case variation2 < variation:
		ran, spread = one.ns/ns, variation2
	default:
		ran, spread = one.ios/ios, variation
	}
	// No more can be in flight than the queue holds: for so long at least I/Os completed.
	ran = min(max(ran, one.ns/max(p.busiest, 1)), open)
	off := spread*math.Sqrt(open*ran) + float64(msec)
	age := 0.0 // how long other I/Os were in flight when it began, so that their latencies are longer than the pause
	if ns > 1.2 {
		age = ns / ios / 2
		off += age
	}
	last := min(ran+4*off, open)
	if p.ios.n < fewWindows {
		last = open
	}
	out := begin{latest: one.prev + int64(last)}
	end := float64(one.end - one.prev)
	least := float64(g.Lower(one.shortest))
	most := min(float64(g.Upper(one.shortest)), math.Max(float64(longest), least))
	if one.shortest == g.Last() {
		most = float64(longest)
	}
	from, to := max(ran-3*off, 0), min(ran+3*off, last)
	low, high := max(end-most, 0), min(end-least+age, open)
	if low <= high && to >= low && from <= high {
		width := (high-low)/math.Sqrt(12) + float64(msec)
		ran += ((low+high)/2 - ran) * off * off / (off*off + width*width)
		ran = min(max(ran, low), high)
		off = off * width / math.Hypot(off, width)
		from, to = max(ran-3*off, low), min(ran+3*off, high)
	}
	out.likely = one.prev + int64(ran)
	out.within = pipeline.Span{From: one.prev + int64(from), To: one.prev + int64(to)}
	return out
}

// pauses returns those of a direction on the run's clock, in order of time.
func (l *State) pauses(dir fio.Direction) *pipeline.Pauses {
	d := &l.dirs[dir]
	p := cmp.Or(d.win.pauses, new(pauses))
	out := &pipeline.Pauses{IOs: d.ios, First: d.win.b + l.shift, Last: d.last*msec + l.shift, Late: p.late.sum,
		Squares: p.late.squares, Records: p.late.n, Explained: l.job.Think(), Latency: p.total / max(d.ios, 1)}
	if ios, _ := p.ios.mean(); ios > 0 {
		ns, _ := p.ns.mean()
		out.Latency = ns / ios
	}
	_, flow := l.job.Set("flow")
	out.ExplainedKnown = l.job.Sure && (l.Entry != nil || l.Section != nil) && !flow
	if rate := l.job.RateIOPS(dir); rate > 0 {
		out.Explained += int64(1e9 / rate)
	}
	limit := int64(math.MaxInt64)
	if limits := l.DirInfo[dir].Limits; limits.Known {
		limit = limits.Max
	}
	longest := func(bucket int, length int64) int64 {
		ns := int64(l.g.Middle(bucket))
		if bucket == l.g.Last() || ns > limit || l.g.Index(limit) == bucket {
			return min(limit, max(length, l.g.Lower(bucket)))
		}
		return ns
	}
	for i := range p.kept {
		k := &p.kept[i]
		began := p.began(l.g, k, limit)
		one := pipeline.Pause{Span: pipeline.Span{From: began.likely + l.shift, To: k.end + l.shift}}
		one.Certain, one.Late = k.end-max(began.latest, began.likely), k.end-k.after
		one.Began = pipeline.Span{From: began.within.From + l.shift, To: began.within.To + l.shift}
		one.Longest = longest(k.longest, one.To-one.From)
		out.Longest = append(out.Longest, one)
	}
	if one, ok := l.unended(dir); ok {
		out.Longest = append(out.Longest, one)
	}
	if start := p.started + l.shift; p.started != farPast && p.total > 0 && start < out.First {
		one := pipeline.Pause{Span: pipeline.Span{From: start, To: out.First}, Certain: out.First - start, First: true}
		one.Began, one.Longest = pipeline.Span{From: start, To: start}, longest(p.opening, one.Certain)
		out.Longest = append(out.Longest, one)
	}
	slices.SortFunc(out.Longest, func(a, b pipeline.Pause) int { return cmp.Compare(a.From, b.From) })
	return out
}

// unended returns the pause from a direction's last completion to the end of its job, where fio's JSON tells that.
func (l *State) unended(dir fio.Direction) (one pipeline.Pause, ok bool) {
	d := &l.dirs[dir]
	if d.tail == nil || !d.win.exact || l.rejected || d.tail.failed() {
		return one, false
	}
	if _, paused := l.job.Set("end_fsync", "fsync_on_close", "read_iolog", "flow", "verify"); paused {
		return one, false
	}
	passed, last := d.win.passed(d.win.n), l.now
	one.From, one.To, one.Open = max(passed, last)+l.shift, l.Reached, true
	one.Certain = one.To - one.From
	if ios, _ := d.win.pauses.ios.mean(); ios > 0 && len(d.tail.members) == 1 {
		ran := int64(min(d.tail.counts.Sum()/ios, float64(d.win.h)))
		one.From = min(one.From, max(d.last*msec+ran, last)+l.shift)
	}
	return one, one.Certain > 0
}
