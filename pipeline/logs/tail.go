package logs

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"fiolat/ingest/fiojson"
	"fiolat/ingest/fiolog"
	"fiolat/ingest/jobfile"
	"fiolat/internal/errs"
	"fiolat/internal/fiohist"
	"fiolat/pipeline"
)

// tail is what fio counted in one direction of one entry of its JSON and no log holds: fio never writes the last,
// partial window. If the logs prove that they lost records, it is lost instead of restored.
type tail struct {
	meta    *fiojson.Document
	entry   *fiojson.Entry
	dir     fiolog.Direction
	members []*State         // the logs that the entry stands for, sorted
	g       fiohist.Geometry // the finest that all of these logs can be added up on
	done    bool
	counts  fiohist.Sparse // what was restored
	lost    fiohist.Sparse // what cannot be placed in time
	why     string         // the proof of the loss
}

// subtract computes what is missing from the logs, whose sums must be final. If a bucket holds more than fio counted,
// logs and JSON do not belong together, and misfit says so.
func (t *tail) subtract() (misfit string, _ error) {
	bins, err := t.counted()
	if err != nil {
		return "", err
	}
	left := make([]float64, len(bins))
	for b, n := range bins {
		left[b] = float64(n)
	}
	for _, l := range t.members {
		coarser := t.coarser(l)
		l.dirs[t.dir].sums.Each(func(b int, n float64) { left[b>>coarser] -= n })
	}
	t.counts.Reset()
	for b, n := range left {
		switch {
		case n < 0:
			return fmt.Sprintf("%s: fio's JSON and the logs do not belong together: of job %q's %vs around %.0f ns "+
				"the logs hold %.0f, fio counted %d; nothing was restored",
				errs.Printable(t.meta.Path), t.entry.JobName, t.dir, t.g.Middle(b), float64(bins[b])-n, bins[b]), nil
		case n > 0:
			t.counts.Add(uint16(b), n)
		}
	}
	return "", nil
}

// counted returns fio's counts on the geometry g. They are read when needed: those of all jobs together may be large.
func (t *tail) counted() ([]uint64, error) {
	counts, err := t.entry.Dirs[t.dir].Kind[fiolog.Clat].Counts(t.g)
	if err != nil {
		return nil, t.members[0].at(0, err.Error(),
			"give the JSON of this very run with --fio-json, or pass --no-restore")
	}
	return counts, nil
}

// coarser returns by how many bits the tail's geometry is coarser than the log's.
func (t *tail) coarser(l *State) int { return t.g.Coarseness - l.g.Coarseness }

// headless returns warnings for the repaired logs that lost their head or records in the middle. No
// I/O of theirs is missing: over fio --client h(n) + h(n-1) is all that completed until then, so
// the two records behind the lost ones also hold what those held.
func (t *tail) headless() (warnings []string) {
	for _, l := range t.members {
		d := &l.dirs[t.dir]
		if d.verdict.repair && d.win.lossLine > 0 && t.lost.Sum() == 0 {
			warnings = append(warnings, fmt.Sprintf("%s: records of the %ss of job %q before line %d are lost; their "+
				"I/Os are counted in the two behind them, up to %.0f in one",
				errs.Printable(l.Source.Path), t.dir, t.entry.JobName, d.win.lossLine, d.restMax))
		}
		if !d.verdict.repair || !d.seen || !d.win.exact || d.records > 2 && d.firstTwoMax <= 1.3*d.restMax {
			continue
		}
		start, _ := l.started(t.dir)
		if late := d.win.b + l.shift - start; late > d.win.h+l.think()-l.early() {
			warnings = append(warnings, fmt.Sprintf("%s: the head of the %ss of job %q is lost: the first window "+
				"begins %d ms after the job, and the %.0f I/Os until then are counted in the first two records",
				errs.Printable(l.Source.Path), t.dir, t.entry.JobName, late/msec, d.firstTwoSum))
		}
	}
	return warnings
}

// think returns the job's thinktime in ns, in which an intact log has no I/Os.
func (l *State) think() int64 {
	s, _ := l.Option("thinktime")
	if us, err := strconv.ParseInt(s, 10, 64); err == nil {
		return us * 1000
	}
	think, _ := jobfile.ParseDuration(s) // 0 if it is not a duration
	return int64(think)
}

// early returns how much later than its job, in ns, an absolute log without job_start may be taken to start: it starts
// at its first completion of any direction.
func (l *State) early() int64 {
	if l.Absolute && l.Log.Log.Start.Absolute == 0 {
		return int64(l.Interval) / 20
	}
	return 0
}

// slack returns how long, in ns, a direction of an intact log may have run on after its last I/O: its thinktime and, as
// jobs take some milliseconds to end, a twentieth of a window, or up to a window if the job paused that long elsewhere.
func (l *State) slack(h int64) int64 {
	late := int64(0)
	for d := range l.dirs {
		late = max(late, l.dirs[d].win.pause)
	}
	return l.think() + max(h/20, 10*msec, min(late, h))
}

// pause returns how long at most, in ns, a direction of an intact log was without a completion at its start or its end,
// judging by its other pauses: its thinktime, its longest I/O, and three times what records came late beyond these.
// known is false if there is too little to judge by.
func (l *State) pause(h int64) (ns int64, known bool) {
	const few = 8
	longest, late, records := int64(0), int64(0), int64(0)
	for d := range l.dirs {
		for _, t := range l.Entry.Dirs[d].Kind {
			longest = max(longest, t.Max)
		}
		late = max(late, l.dirs[d].win.pause)
		records = max(records, l.dirs[d].records)
	}
	for _, name := range []string{"end_fsync", "fsync_on_close", "read_iolog", "flow"} {
		if v, ok := l.Option(name); ok && v != "0" {
			return 0, false // the job pauses for an unknown time
		}
	}
	if records < few || longest > maxPause {
		return 0, false
	}
	explained := l.think() + longest
	return explained + 3*max(late-explained, 0) + max(h/20, 10*msec), true
}

// maxPause is the longest plausible I/O in ns.
const maxPause = int64(time.Hour)

// closed reports whether the very next completion would have written a record: the last stamp reached the boundary.
func (d *direction) closed() bool {
	return d.win.exact && d.seen && d.win.b+(d.win.n+1)*d.win.h <= d.last*msec
}

// span returns where a log's direction may have I/Os that no record holds, (from, to] in ns on the
// run's clock: after its last stamp, up to its end. ended reports whether it went on after the window's
// next boundary, where the first completion would have written a record.
func (t *tail) span(l *State) (from, to int64, ended bool) {
	d := &l.dirs[t.dir]
	from, to = l.started(t.dir)
	if d.seen {
		from = d.last*msec + l.shift
	}
	ended = d.win.exact && d.win.n > 0 && to > d.win.b+(d.win.n+1)*d.win.h+l.shift+l.slack(d.win.h)
	return from, max(to, from+msec), ended
}

// started returns the start and the end of a direction in ns on the run's clock: those of the job, unless the
// direction's runtime is of a later phase (verify reads what was written).
func (l *State) started(dir fiolog.Direction) (start, end int64) {
	runtime := l.Entry.Dirs[dir].RuntimeMS * msec
	start = l.Start
	if d := &l.dirs[dir]; d.seen {
		start = max(start, d.last*msec+l.shift-runtime)
	}
	return start, start + runtime
}

// loss returns the proof that the logs lost records, and which logs those are; "" if all that is missing fits into the
// last window of the window model. See docs/correctness.md.
func (t *tail) loss() (why string, logs []*State) {
	const few = 8 // a record of so many I/Os does not begin a window late
	missing := t.counts.Sum()
	if missing == 0 {
		return "", nil
	}
	if threads := t.members[0].Members; threads > len(t.members) {
		return fmt.Sprintf("the job has %d threads, of which %d have a log here", threads, len(t.members)), t.members
	}
	var unrepairable []*State
	for _, l := range t.members {
		if l.dirs[t.dir].verdict.unrepairableLine > 0 {
			unrepairable = append(unrepairable, l)
		}
	}
	if len(unrepairable) > 0 {
		return fmt.Sprintf("fio --client damaged them; records before line %d, needed for the repair, are lost",
			unrepairable[0].dirs[t.dir].verdict.unrepairableLine), unrepairable
	}
	var middle, skipped, head, end, bare []*State
	var single, spread, late, early []*State // their head or end is lost, however little is missing
	closed := 0
	tails, bareTails, unseen := 0.0, 0.0, 0 // what the last windows of all logs may hold
	for _, l := range t.members {
		d := &l.dirs[t.dir]
		start, until := l.started(t.dir)
		if l.Lines > 0 {
			skipped = append(skipped, l)
		}
		switch {
		case !d.seen && d.win.h > 0 && until-start > 2*d.win.h+2*l.slack(d.win.h):
			bare = append(bare, l)
			bareTails += 2 * float64(until-start) / float64(d.win.h)
		case d.win.lossLine > 0:
			middle = append(middle, l)
		case d.win.exact && d.seen && d.win.b+l.shift > start+d.win.h+l.think()-l.early():
			head, d.headless = append(head, l), true
		}
		from, to, ended := t.span(l)
		if ended {
			end = append(end, l)
		}
		if d.seen && d.win.exact && l.Lines == 0 {
			if d.closed() {
				closed++
			}
			pause, known := l.pause(d.win.h)
			before := d.win.b + l.shift - start + l.early()
			after := to - max(from, d.win.b+(d.win.n+1)*d.win.h+l.shift)
			switch {
			case d.verdict.repair && d.records == 1 && d.firstTwoSum >= few && before > d.win.h+l.think():
				spread, d.headless = append(spread, l), true
			case d.verdict.repair: // see headless
			case d.win.firstHasOneIO:
				single, d.headless = append(single, l), true
			case known && before >= d.win.h && before > pause:
				late, d.headless = append(late, l), true
			}
			if known && after >= d.win.h && after > pause {
				early = append(early, l)
			}
		}
		if !d.seen {
			unseen++
		}
		tails += max(d.firstTwoMax, d.restMax)
	}
	name := func(l *State, format string, args ...any) (string, []*State) {
		return fmt.Sprintf(format, args...), []*State{l}
	}
	all := len(t.members)
	// The runtime of a group is that of its longest job. Jobs with other options may be short, and
	// all of their I/Os missing.
	alike := all == 1 || t.alike()
	known := alike || unseen == 0
	switch {
	case len(middle) > 0:
		return name(middle[0], "line %d has more I/Os than its window can hold: records before it are lost",
			middle[0].dirs[t.dir].win.lossLine)
	case len(single) > 0:
		return name(single[0], "line %d, the first record of its %ss, has one I/O, but a first window holds at least "+
			"two: its head is lost", single[0].dirs[t.dir].win.line, t.dir)
	case len(spread) > 0:
		return name(spread[0], "line %d is the only record of its %ss, and the first window begins late: records "+
			"before it are lost, and fio --client counted half of their I/Os in it",
			spread[0].dirs[t.dir].win.line, t.dir)
	case closed == all:
		return name(t.members[0], "its next window was over at the last stamp, so the next I/O would have been "+
			"logged: its end is lost")
	case len(late) > 0 && all == 1:
		d := &late[0].dirs[t.dir]
		return name(late[0], "its first window begins %d ms after the job, longer than it pauses elsewhere:"+
			" its head is lost",
			(d.win.b+late[0].shift-late[0].Start)/msec)
	case len(early) > 0 && all == 1:
		from, to, _ := t.span(early[0])
		return name(early[0], "fio went on for %d ms after its last record, longer than it pauses elsewhere:"+
			" its end is lost", (to-from)/msec)
	case missing <= tails:
	case len(skipped) > 0:
		return name(skipped[0], "%d of its lines were skipped", skipped[0].Lines)
	case len(head) > 0 && known:
		d := &head[0].dirs[t.dir]
		return name(head[0], "its first window begins %d ms after the job, and more is missing than a record holds: "+
			"its head is lost",
			(d.win.b+head[0].shift-head[0].Start)/msec)
	case len(bare) == all && missing > bareTails:
		return fmt.Sprintf("there is no record, and they ran for %d ms", t.entry.Dirs[t.dir].RuntimeMS), bare
	case len(bare) < all && len(bare)+len(end) > 0 && known && (alike || len(end) == all) && missing > tails+bareTails:
		l := slices.Concat(bare, end)[0]
		from, to, _ := t.span(l)
		return name(l, "fio went on for %d ms after its last record, and more is missing than a record holds: its "+
			"end is lost", (to-from)/msec)
	}
	return "", nil
}

// alike reports whether the threads of a group are one job's: as many as its numjobs.
func (t *tail) alike() bool {
	n, ok := t.members[0].Option("numjobs")
	return ok && n == strconv.Itoa(len(t.members))
}

// lose turns what is missing into a loss, and returns the warning of it, which names the logs.
func (t *tail) lose(why string, logs []*State) string {
	for _, l := range t.members {
		d := &l.dirs[t.dir]
		start, _ := l.started(t.dir)
		from, to, _ := t.span(l)
		switch {
		case t.members[0].Members > len(t.members):
			from = start
		case d.headless && d.win.lossLine == 0:
			d.win.hole(start-l.shift, d.win.b)
		}
		d.win.hole(from-l.shift, to-l.shift)
	}
	t.lost, t.why, t.counts = t.counts, why, fiohist.Sparse{}
	names := make([]string, len(logs))
	for i, l := range logs {
		names[i] = errs.Printable(l.Source.Path)
	}
	return fmt.Sprintf("%s: %.0f of the %d %ss of job %q are lost, and in no quantum: %s",
		errs.Some(names), t.lost.Sum(), t.entry.Dirs[t.dir].Kind[fiolog.Clat].N, t.dir, t.entry.JobName, why)
}

// lossAt returns what was lost, on a geometry that is coarser by so many bits; false if nothing was.
func (t *tail) lossAt(coarser int) (pipeline.Loss, bool) {
	first := t.members[0]
	out := pipeline.Loss{Job: first.Job, Host: first.Host, Direction: t.dir.String(), IOs: t.lost.Sum(), Why: t.why}
	var at fiohist.Hist
	at.AddAll(t.lost.Index, t.lost.Count, coarser, 1)
	out.Index, out.Count = at.Sparse(nil, nil)
	for _, l := range t.members {
		_, end := l.started(t.dir)
		out.Logs, out.Until = append(out.Logs, l.LogName), max(out.Until, end)
		if l.Job != out.Job {
			out.Job = ""
		}
	}
	return out, out.IOs > 0
}

// restore adds the tail to the quanta of the entry's logs. It lies in (last stamp, end of the direction]. With several
// logs it lies between the earliest last stamp and the latest end, each log's share by the time from its own last stamp
// to the end. Logs that started at different times have each its own span.
func (t *tail) restore() error {
	if len(t.counts.Count) == 0 {
		return nil
	}
	from, to := make([]int64, len(t.members)), make([]int64, len(t.members))
	apart := false
	for i, l := range t.members {
		from[i], to[i], _ = t.span(l)
		apart = apart || l.Start != t.members[0].Start
	}
	first, last := slices.Min(from), slices.Max(to)
	total := 0.0
	for i := range to {
		if !apart {
			to[i] = last
		}
		total += float64(to[i] - from[i])
	}
	for i, l := range t.members {
		share := t.counts
		if len(t.members) > 1 {
			share = t.counts.Clone()
			for b := range share.Count {
				share.Count[b] *= float64(to[i]-from[i]) / total
				// On a finer geometry, the bucket in the middle: all are added up on t.g or a coarser one.
				share.Index[b] = share.Index[b]<<t.coarser(l) + 1<<t.coarser(l)>>1
			}
		}
		if !apart {
			from[i] = first
		}
		l.Reached = max(l.Reached, to[i])
		l.DirInfo[t.dir].HasIO = true
		if n := len(t.counts.Index) - 1; int(t.counts.Index[n]) == t.g.Last() {
			l.lastBucket += share.Count[n]
		}
		if err := l.align.Add(from[i], to[i], &share, t.dir); err != nil {
			return l.at(0, "the tail cannot be restored: "+err.Error(), "pass --no-restore")
		}
	}
	return nil
}

// Tails are those of all entries and directions of a run.
type Tails []*tail

// Resolve restores all tails of one JSON document, and returns warnings of what is lost. If one does not fit, it
// returns misfits and restores nothing; the document's limits are not to be trusted either.
func (all Tails) Resolve(meta *fiojson.Document) (restored float64, losses, misfits []string, err error) {
	var mine []*tail
	for _, t := range all {
		if t.meta == meta && !t.done {
			t.done = true
			mine = append(mine, t)
			m, err := t.subtract()
			if err != nil {
				return 0, nil, nil, err
			}
			if m != "" {
				misfits = append(misfits, m)
			}
		}
	}
	if len(misfits) > 0 {
		return 0, nil, misfits, nil
	}
	for _, t := range mine {
		if why, logs := t.loss(); why != "" {
			losses = append(losses, t.lose(why, logs))
		}
		losses = append(losses, t.headless()...)
		if err := t.restore(); err != nil {
			return 0, nil, nil, err
		}
		restored += t.counts.Sum()
	}
	return restored, losses, nil, nil
}

// Reject drops a JSON document that does not belong to its logs: its totals are not restored, and
// its limits not applied.
func (all Tails) Reject(meta *fiojson.Document, logs []*State) {
	for _, t := range all {
		if t.meta == meta {
			t.done = true
		}
	}
	for _, l := range logs {
		if l.Meta == meta {
			l.Outside, l.rejected = nil, true
			for d := range l.DirInfo {
				l.DirInfo[d].Limits.Known, l.DirInfo[d].KnownIdle = false, false
			}
		}
	}
}

func (all Tails) lost(g fiohist.Geometry) (out []pipeline.Loss) {
	for _, t := range all {
		if loss, ok := t.lossAt(g.Coarseness - t.g.Coarseness); ok {
			out = append(out, loss)
		}
	}
	return out
}

// FindTails returns one tail per entry and direction for which fio's JSON has bins.
func FindTails(logs []*State) (all Tails, _ error) {
	type key struct {
		entry *fiojson.Entry
		dir   int
	}
	known := map[key]*tail{}
	for _, l := range logs {
		if l.Entry == nil || l.single() != nil {
			continue
		}
		for d := range l.dirs {
			totals := &l.Entry.Dirs[d].Kind[fiolog.Clat]
			if totals.Bins.Len() == 0 {
				continue
			}
			k := key{l.Entry, d}
			t := known[k]
			if t == nil {
				t = &tail{meta: l.Meta, entry: l.Entry, dir: fiolog.Direction(d), g: l.g}
				known[k] = t
				all = append(all, t)
			}
			t.members = append(t.members, l)
			g, err := t.g.Common(l.g)
			if err != nil {
				return nil, l.at(0, err.Error(), "pass --no-restore")
			}
			t.g = g
			if _, err := t.counted(); err != nil {
				return nil, err
			}
			l.dirs[d].tail = t
			l.dirs[d].sums = new(fiohist.Hist)
		}
	}
	return all, nil
}
