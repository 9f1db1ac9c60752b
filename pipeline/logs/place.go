package logs

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"fiolat/fio/fiohist"
	"fiolat/ingest/fiolog"
	"fiolat/pipeline"
)

const (
	msec = int64(1e6) // ns

	farPast = math.MinInt64 / 4 // a time before all others, with room to subtract from

	// usualLength is log_hist_msec in ns where nothing tells it.
	usualLength = 1000 * msec

	// headRecords is how many records of a direction determine where its windows lie.
	headRecords = 32
)

// countsOf returns the counts of a record. They share its memory, and are valid as long as the record is.
func countsOf(r *fiolog.Record) fiohist.Sparse { return fiohist.Sparse{Index: r.Index, Count: r.Count} }

// portion is a number of I/Os that completed evenly in (start, end], in ns. If closing is not 0, one of them, a
// proportional share of all, completed in the millisecond before that time instead.
type portion struct {
	start, end int64
	counts     *fiohist.Sparse
	closing    int64
}

// stamped is a record that waits for its direction's windows to be known.
type stamped struct {
	time    int64 // ns, on the log's own clock
	line    int64 // in the file
	skipped int64 // lines skipped just before it
	ios     float64
	counts  fiohist.Sparse // empty in the head of a log
	until   int64          // all but its last I/O completed by then, if it is not 0
}

// holdsSeveral reports whether the record holds more than the I/O that closed its window.
func (r *stamped) holdsSeveral() bool { return r.ios > 1 }

// windows models fio's windows of one direction of one log.
//
// fio opens the first window at the direction's first completion B and moves the boundary by exactly
// h per record: record n is written by the first completion at or after B + (n+1) h, and stamped
// with that completion's time. So all of its I/Os but the closing one completed in (previous stamp,
// B + (n+1) h], and the closing one at the stamp.
//
// B is at most the smallest stamp(n) - (n+1) h, and is that, if the record there closed a window that was open for a
// while. If it only caught up (a single I/O), B is the least that the other records and the latencies allow: a window
// of two or more I/Os was open at the stamp before it, and the I/O that completed at B began with the job.
//
// Example, h = 1000 ms: the stamps 1003, 2001, 6400, 6400, 6400, 6401, 7001 show a stall from about 3000 to 6400.
// B is 1; the third window's boundary was 3001 and its record came 3399 ms late with the one I/O that was in
// flight; the next three closed at once with one I/O each, catching up.
type windows struct {
	h     int64 // ns
	exact bool  // h is known: an option of the job's, or what the stamps tell
	told  bool  // the records waiting tell h
	begin int64 // the windows start no earlier: the job's start; farPast if unknown
	// soonest is when the first I/O can complete; never if that is unknown, or if the job paces its I/Os, so that the
	// latest B is as likely as any.
	soonest int64
	perNS   float64                // I/Os of the direction in a ns of its runtime; 0: unknown, or record 0 is on time
	firsts  func() []pipeline.Span // when I/Os of record 0 completed that began with the job, ascending; nil: unknown
	g       fiohist.Geometry

	known         bool
	b             int64 // first completion, ns on the log's clock
	latest        int64 // the latest that b may be
	n             int64 // index of the next record
	prev          int64 // previous stamp; b before the first
	waits         []stamped
	held          []stamped       // a late record, and those of single I/Os at its time, which wait for the next record
	lossLine      int64           // line of the first record that proves others before it lost; 0: none
	holes         []pipeline.Span // times whose records are lost, ascending
	lastOnTime    int64           // stamp of the last record that came less than a window late
	pause         int64           // the most that a record came late, ns: there was no completion meanwhile
	line          int64           // of the first record
	firstHasOneIO bool            // it holds a single I/O

	depth    int64   // how many I/Os of this direction can be in flight; 0: unknown, or other directions' are, too
	median   int64   // latency in ns
	shortest []int64 // latency in each bucket in ns

	bursts *bursts // nil: none, or they do not fit

	started int64   // when the job started; farPast if unknown
	pauses  *pauses // nil: they are not looked for
}

// wait keeps a copy of a record until it is known where the windows lie.
func (w *windows) wait(r *stamped) {
	if w.waits == nil {
		w.waits = *waitsMemory.Get().(*[]stamped)
	}
	w.waits = appendCopy(w.waits, r)
}

// free lets other logs use the memory of records that have waited.
func free(waits []stamped) {
	if cap(waits) <= headRecords {
		waits = waits[:0]
		waitsMemory.Put(&waits)
	}
}

// waitsMemory holds records of no use with their buckets, for reuse: of many short logs, each has a few that wait.
var waitsMemory = sync.Pool{New: func() any { return new([]stamped) }}

// appendCopy appends a copy of r, in the memory of a record that was there before.
func appendCopy(to []stamped, r *stamped) []stamped {
	k := len(to)
	to = slices.Grow(to, 1)[:k+1]
	buffer := to[k].counts
	buffer.Copy(&r.counts)
	to[k], to[k].counts = *r, buffer
	return to
}

// never is a time after all others.
const never = math.MaxInt64

// opening returns the latest B that the records waiting allow, and whether a window was seen to end there.
func (w *windows) opening() (latest int64, sure bool) {
	latest = never
	for n := range w.waits[:min(len(w.waits), headRecords)] {
		r := &w.waits[n]
		if b := r.time - int64(n+1)*w.h; b < latest {
			latest, sure = b, n == 0 || r.holdsSeveral()
		}
	}
	return latest, sure
}

// openBefore returns the least B that the record allows, if it is record n and prev is the stamp before it.
func (w *windows) openBefore(r *stamped, n, prev int64) int64 {
	if n == 0 || !r.holdsSeveral() {
		return farPast
	}
	return prev - (n+1)*w.h + msec
}

// steady reports whether windows of length h, in ns, explain the records waiting, of which some may be lost: it is a
// multiple of 50 ms, and nine of ten records lie where such windows end, without drifting away from there.
func (w *windows) steady(h int64) bool {
	const few = 8
	if len(w.waits) < few || h < 50*msec || h%(50*msec) != 0 {
		return false
	}
	on, drift := 0, h
	begin := w.waits[0].time
	for n, r := range w.waits {
		begin = min(begin, r.time-int64(n+1)*h)
	}
	for n, r := range w.waits {
		late := (r.time - begin) % h
		if late < h/4 {
			on++
		}
		if n >= len(w.waits)/2 {
			drift = min(drift, late)
		}
	}
	return 10*on >= 9*len(w.waits) && drift <= h/100
}

// decided reports whether no later record can change b, given that the log has come to the time now: a record n < 32
// that is still to come has stamp - (n+1) h of at least now - 32 h.
func (w *windows) decided(now int64) bool {
	if len(w.waits) == 0 {
		return false
	}
	if w.h == 0 {
		return w.told || len(w.waits) >= maxLengthRecords
	}
	latest, sure := w.opening()
	return len(w.waits) >= headRecords || now-headRecords*w.h >= latest && (sure || w.soonest == never)
}

// fix fixes b and, if nothing tells h, that to the usual second.
func (w *windows) fix() {
	if w.h == 0 {
		w.h = usualLength
	}
	latest, sure := w.opening()
	w.latest = max(w.begin, latest)
	w.b = w.latest
	if !sure || w.cameLate() {
		b := w.soonest
		for n := 1; n < min(len(w.waits), headRecords); n++ {
			b = max(b, w.openBefore(&w.waits[n], int64(n), w.waits[n-1].time))
		}
		w.b = min(w.b, w.explained(b))
	}
	if w.bursts != nil && !w.bursts.fits(w.waits) {
		w.bursts = nil
	}
	w.prev, w.lastOnTime, w.known = w.b, w.b, true
}

// cameLate reports whether the only record came long after its window had ended: before the latest B is a silence,
// after the I/Os were done that began with the job, in which more than a few would have completed. (If others follow, a
// window later each, it is more likely that records before it are lost.)
func (w *windows) cameLate() bool {
	const few = 10
	if len(w.waits) > 1 || w.soonest == never || w.firsts == nil || w.perNS == 0 || !w.waits[0].holdsSeveral() {
		return false
	}
	firsts := w.firsts()
	return len(firsts) > 0 && float64(w.latest-firsts[len(firsts)-1].To)*w.perNS > few
}

// length is a window's length in ns, the usual one where nothing tells.
func (w *windows) length() int64 { return cmp.Or(w.h, usualLength) }

// explained returns the first time from b on, up to the latest, at which an I/O that began with the job completed; b if
// there is none.
func (w *windows) explained(b int64) int64 {
	if w.firsts != nil && b < w.latest {
		for _, s := range w.firsts() {
			if at := max(b, s.From); at <= min(s.To, w.latest) {
				return at
			}
		}
	}
	return b
}

// floor returns a time before which b cannot lie.
func (w *windows) floor() int64 {
	switch {
	case w.bursts != nil && w.n == 0:
		return w.bursts.at
	case w.known:
		return w.b
	case w.h > 0 && len(w.waits) > 0:
		return max(w.begin, min(w.waits[0].time-headRecords*w.h, w.soonest))
	}
	return w.begin
}

// passed returns the latest that the boundary of window n can be.
func (w *windows) passed(n int64) int64 { return w.latest + (n+1)*w.h }

// place takes the direction's next record. It passes what is certain of its I/Os, and of those of the record before, to
// emit in portions, whose counts are only valid during the call.
//
// A window whose boundary is not after the stamp before it closes with its first I/O. A record there
// with more I/Os proves that records before it are lost, and that the windows are further on by as
// many as the record before it came late for.
func (w *windows) place(r *stamped, emit func(portion)) {
	stamp, number := w.prev, w.n
	if k := len(w.held); k > 0 {
		stamp, number = w.held[k-1].time, w.n+int64(k)
	}
	boundary := w.passed(number)
	switch {
	case !w.exact || r.skipped > 0:
	case boundary <= stamp && r.holdsSeveral():
		if w.lossLine == 0 {
			w.lossLine = r.line
		}
		if len(w.held) == 1 && stamp-w.passed(w.n) >= w.h {
			w.held[0].skipped = math.MaxInt64
		} else {
			w.finish(emit)
			w.n += (stamp-boundary)/w.h + 1
			w.hole(w.lastOnTime, stamp-w.h)
		}
	case boundary <= stamp && w.depth > 0 && len(w.held) > 0 && r.ios == 1 && r.time-w.held[0].time <= sameMoment:
		w.hold(r)
		return
	case len(w.held) > 0:
		w.full(r)
	}
	w.finish(emit)
	if w.exact && r.skipped == 0 && r.holdsSeveral() && (r.time-w.passed(w.n) >= w.h || w.mayBeFull(r)) {
		w.hold(r)
		return
	}
	w.put(r, emit)
}

// long is how many times as long as the median the I/Os of a full queue take that completes at once.
const long = 5

// mayBeFull reports whether a full queue may have completed when the record was written. Unless it came late, that
// takes a queue of some I/Os, of which the record has but one.
func (w *windows) mayBeFull(r *stamped) bool {
	const some, share = 4, 10
	top := len(r.counts.Index) - 1
	longest := w.g.Lower(int(r.counts.Index[top]))
	return w.depth > 0 && longest >= long*w.median && (w.late(r) || w.depth >= some && share*longest >= w.h)
}

// late reports whether the record came so late that it tells which I/O closed its window.
func (w *windows) late(r *stamped) bool { return 100*(r.time-w.b-(w.n+1)*w.h) >= w.h }

func (w *windows) hold(r *stamped) { w.held = appendCopy(w.held, r) }

// full looks whether the queue was full when the record that is held came late: then as many I/Os as fit into it
// completed at that time. next is the record after it, of which the longest may be among them. Nothing else completed
// while all of them were in flight.
func (w *windows) full(next *stamped) {
	first, missing, shortest := &w.held[0], float64(w.depth), math.MaxInt
	for i := range w.held {
		index := w.held[i].counts.Index
		shortest = min(shortest, int(index[len(index)-1]))
		missing--
	}
	told := len(w.held) > 1 && missing <= 0
	for k := len(next.counts.Index) - 1; k >= 0 && missing > 0; k-- {
		shortest = min(shortest, int(next.counts.Index[k]))
		missing -= next.counts.Count[k]
	}
	own := 0.0
	for k, b := range first.counts.Index {
		if int(b) >= shortest {
			own += first.counts.Count[k]
		}
	}
	if own > 1 && !w.late(first) {
		return
	}
	if missing > 0 || w.depth == 0 {
		return
	}
	least := max(w.g.Lower(shortest), w.shortest[shortest])
	at := first.time - least
	// Less than a few latencies tells nothing: I/Os of a full queue complete in batches.
	if (told || least >= long*w.median) && at > w.prev && at+long*w.median < w.b+(w.n+1)*w.h {
		first.until = at
	}
}

func (w *windows) hole(from, to int64) {
	if to > from {
		w.holes = append(w.holes, pipeline.Span{From: from, To: to})
	}
}

// finish places the records that wait for the next one, if any.
func (w *windows) finish(emit func(portion)) {
	for i := range w.held {
		w.put(&w.held[i], emit)
	}
	w.held = w.held[:0]
}

// put splits a record into portions by completion time.
//
// If lines before it were skipped, as many windows as it comes late for, up to one a line, are taken to be theirs: what
// they held is lost, but this record keeps its place.
func (w *windows) put(r *stamped, emit func(portion)) {
	t, c := r.time, &r.counts
	boundary := w.b + (w.n+1)*w.h
	if r.skipped > 0 && w.h > 0 && t > boundary {
		lost := min(r.skipped, (t-boundary)/w.h)
		w.n += lost
		boundary += lost * w.h
		w.hole(w.prev, boundary-w.h)
		w.prev = max(w.prev, boundary-w.h)
	}
	if t-boundary < w.h {
		w.lastOnTime = t
	}
	w.pause = max(w.pause, t-boundary)
	if w.n == 0 {
		w.line, w.firstHasOneIO = r.line, r.ios == 1 && r.skipped == 0
	}
	prev := w.prev
	closed := boundary
	if r.until > 0 {
		closed = r.until
	}
	if w.pauses != nil {
		until := closed
		if !w.exact && boundary > prev {
			until = max(boundary, prev+w.h)
		}
		w.pauses.add(w.g, r, w.h, min(until, t), prev)
	}
	opened := w.n == 0 && w.opens(c)
	w.n++
	w.prev = t
	if len(c.Count) == 0 {
		return
	}
	if w.bursts != nil {
		if r.skipped == 0 && w.bursts.place(t, c, emit) {
			return
		}
		w.bursts = nil
	}
	switch late := t - boundary; {
	case boundary <= prev || t <= prev || r.ios == 1: // catching up: the very next completion closed it
		emit(portion{start: t - msec, end: t, counts: c})
	case float64(late) < float64(w.h)/100 && r.until == 0:
		emit(portion{start: prev, end: min(boundary, t), counts: c, closing: t})
	default: // nothing completed between the boundary and the stamp
		in := partsMemory.Get().(*parts)
		w.closeLate(c, late, opened, in)
		if opened {
			emit(portion{start: w.b - msec, end: w.b, counts: &in.first})
		}
		emit(portion{start: prev, end: closed, counts: &in.rest})
		emit(portion{start: t - msec, end: t, counts: &in.last})
		partsMemory.Put(in)
	}
}

// parts are those of a record that closed its window late: see closeLate.
type parts struct{ first, rest, last fiohist.Sparse }

// partsMemory holds parts for reuse: logs wait for others, and are many.
var partsMemory = sync.Pool{New: func() any { return new(parts) }}

// opens reports whether the longest I/O of record 0 opened its window: it reaches from there back to the job's start,
// after a silence of half a window.
func (w *windows) opens(c *fiohist.Sparse) bool {
	const lag = 75 * msec // fio's, from its start to the first I/O
	top := len(c.Index) - 1
	if top < 1 || w.started == farPast {
		return false
	}
	bucket, silence := int(c.Index[top]), w.b-w.started
	return silence >= w.h/2 && w.g.Lower(bucket) <= silence &&
		(bucket == w.g.Last() || w.g.Upper(bucket)+lag >= silence)
}

// closeLate splits c into the one I/O that closed the window late, last, and the rest. If the highest bucket reaches as
// long as the stamp is late, the I/O is one of those: it was in flight meanwhile. (The last bucket reaches any length.)
// Otherwise it is a proportional share of all buckets. If one I/O of the highest bucket opened the window, that is
// first, and no other of that bucket closed it.
func (w *windows) closeLate(c *fiohist.Sparse, late int64, opened bool, in *parts) {
	in.first.Reset()
	in.rest.Reset()
	in.last.Reset()
	top := len(c.Index) - 1
	bucket := int(c.Index[top])
	if opened {
		in.first.Add(c.Index[top], 1)
		others := fiohist.Sparse{Index: c.Index[:top], Count: c.Count[:top]}
		left := c.Count[top] - 1
		others.Split(&in.rest, &in.last)
		if left > 0 {
			in.rest.Add(c.Index[top], left)
		}
		return
	}
	if bucket == w.g.Last() || w.g.Upper(bucket) >= late {
		for i, b := range c.Index[:top] {
			in.rest.Add(b, c.Count[i])
		}
		if left := c.Count[top] - 1; left > 0 {
			in.rest.Add(c.Index[top], left)
		}
		in.last.Add(c.Index[top], 1)
		return
	}
	c.Split(&in.rest, &in.last)
}

// starts places records as fio-histo-log-pctiles does: from a record's stamp to the next one. Records
// of one stamp are added up. It looks one record ahead.
type starts struct {
	h       int64
	waiting bool
	time    int64
	counts  fiohist.Sparse
}

func (s *starts) place(t int64, c *fiohist.Sparse, emit func(portion)) {
	if s.waiting && t == s.time {
		s.counts = s.counts.Plus(c, 1)
		return
	}
	if s.waiting {
		emit(portion{start: s.time, end: t, counts: &s.counts})
	}
	s.waiting, s.time, s.counts = true, t, c.Clone()
}

// finish places the last record, which ends one window after its stamp.
func (s *starts) finish(emit func(portion)) {
	if s != nil && s.waiting {
		emit(portion{start: s.time, end: s.time + max(s.h, msec), counts: &s.counts})
		s.waiting = false
	}
}
