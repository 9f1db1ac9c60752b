package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"syscall"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/fiolog"
	"fiolat/pipeline"
)

// maxHead bounds the records of a log that are read before the first interval.
const maxHead = 1024

// recordRoom is the memory that a record takes besides its buckets, counted in buckets.
const recordRoom = 16

// readHead opens a log and reads as much of it as must be known before the first interval: its geometry, whether its
// stamps are absolute and, for each direction seen, where its windows lie and whether it looks damaged.
func readHead(l *State) error {
	in, err := openLog(l)
	if err != nil {
		return err
	}
	l.in = in
	room := l.cfg.KeptHead
	l.keepHead = l.Pipe || room > 0 && in.stream.Light()
	if l.Pipe {
		in.raw.tell(l.cfg.Progress)
	}
	if l.Source.JSON != nil {
		l.Empty, l.g, l.IntervalHow = true, l.Meta.Geometry(), "no log"
		return l.Close()
	}
	if l.Source.Unnamed && l.Source.Name.Hist && in.reader.DetectSingle(*l.grid()) {
		l.Source.Name.Hist = false
	}
	if l.single() != nil {
		return l.readFirst()
	}
	whole := !l.Pipe && in.file != nil && in.file.Whole()
	if whole && l.cfg.keptWhole > 0 {
		room, l.keepHead = l.cfg.keptWhole, true
	}
	l.windowLength()
	ended, records, ios := false, 0, uint64(0)
	for ; records < maxHead && !l.headDone(); records++ {
		r, readErr := l.nextOfHead()
		ended = errors.Is(readErr, io.EOF)
		if ended {
			break
		}
		if readErr != nil {
			return readErr
		}
		ios += r.IOs
		l.keep(r, &room)
	}
	l.beyondHead = !ended
	for whole && l.keepHead && !l.fileEOF { // of a log that was read there is nothing to read again
		r, readErr := l.read()
		l.fileEOF = readErr != nil
		if !l.fileEOF {
			l.keep(r, &room)
		} else if !errors.Is(readErr, io.EOF) {
			l.later = readErr
		}
	}
	if l.keepHead {
		l.head.Settle()
		in.raw.tell(l.cfg.Progress)
		if l.fileEOF {
			l.Source.Forget()
		}
	}
	for d := range l.dirs {
		l.dirs[d].lag.Forget()
	}
	if ended || whole || !l.keepHead {
		if err = l.Close(); err != nil {
			return err
		}
	}
	if records == 0 {
		return l.bare()
	}
	l.Geometry, _ = in.reader.Geometry()
	l.setUnit()
	if v, _ := l.option("clat_percentiles"); ended && v == 0 && ios == 0 {
		return l.allZero()
	}
	l.startOver()
	return nil
}

// keep lets a record of the head wait, if it is kept and room, in buckets, is left.
func (l *State) keep(r *fiolog.Record, room *int) {
	if !l.keepHead {
		return
	}
	l.head.Add(r, l.Lines)
	*room -= recordRoom + len(r.Index)
	if *room < 0 && !l.Pipe {
		l.keepHead, l.head = false, fiolog.Queue{}
	}
}

// windowLength takes the length of the windows from the settings or from fio's options, if these tell it.
func (l *State) windowLength() {
	h := l.cfg.Settings.LogHistMsec
	l.IntervalHow = "--log-hist-msec"
	if h == 0 {
		h, l.IntervalHow = l.option("log_hist_msec")
	}
	_, unsteady := l.job.Set("ramp_time", "flow", "rate_min")
	for i := range l.dirs {
		l.dirs[i].win.h, l.dirs[i].win.exact = h*msec, h > 0
		if unsteady {
			l.dirs[i].win.soonest = never
		}
	}
}

// setUnit sets the unit of the log's geometry, where its columns do not tell it.
func (l *State) setUnit() {
	if u := l.unit(); u > 0 && l.Geometry.Groups != fiohist.GroupsV2 && l.Geometry.Groups != fiohist.GroupsV3 {
		l.Geometry.Unit = u
	}
	l.g = l.Geometry
}

// nextOfHead reads the next record of the head, and tells its direction of it.
func (l *State) nextOfHead() (*fiolog.Record, error) {
	r, err := l.read()
	if err != nil {
		return nil, err
	}
	d := &l.dirs[r.Dir]
	if d.lag.Records > 0 && r.Time < d.last {
		return nil, backwards(l, r, d.last)
	}
	c := countsOf(r)
	d.lag.Add(&c)
	d.last = r.Time
	l.now = r.Time * msec
	if !d.inHead {
		d.inHead, d.first0 = true, slices.Clone(r.Index)
	}
	d.win.waits = append(d.win.waits, stamped{time: l.now, ios: float64(r.IOs)})
	l.Absolute = l.Absolute || r.Time > absoluteFrom
	if n := len(d.win.waits); d.win.h == 0 && n >= headRecords && n&(n-1) == 0 {
		d.win.told = d.lengths(l.Absolute, l.Source.Name.Host != "").tells()
	}
	return r, nil
}

// allZero returns the error for a log whose records are all empty.
func (l *State) allZero() error {
	err := l.at(0, "all buckets of all records are 0: the job ran with clat_percentiles=0",
		"nothing can be read from it; re-run without that option, or pass --skip-bad")
	err.Useless = true
	return err
}

// Prepare reads what must be known of the log before the first interval. That is its head or, if bad lines are to be
// skipped, all of it: an error of the log as a whole must be found before its first records are counted.
func (l *State) Prepare(ctx context.Context) error {
	if l.Bad != nil {
		return l.Bad
	}
	err := readHead(l)
	if every, ok := l.Option("log_hist_msec"); ok && every != "0" && !l.Source.Name.Hist {
		var why *fio.ParseError
		if _, wrote := l.Option("write_hist_log"); errors.As(err, &why) && why.Useless && !wrote {
			why.Hint = "log_hist_msec does nothing without write_hist_log: add write_hist_log=NAME to the job, and run it again"
		}
	}
	if l.Meta != nil && l.Source.Name.Hist && !l.Empty {
		if why := l.badVersion(); why != "" && !l.fast() {
			err := l.at(0, why, "use fio 3.17 or newer, or pass --skip-bad to leave it out")
			err.Useless = true
			return err
		}
	}
	if l.Entry != nil && l.Entry.Void != "" && l.Source.Name.Hist {
		err := l.at(0, l.Entry.Void, "run fio 3.36 or newer, or pass --skip-bad to leave the log out")
		err.Useless = true
		return err
	}
	zero := !slices.ContainsFunc(l.dirs[:], func(d direction) bool { return len(d.first0) > 0 })
	if err == nil && (l.cfg.Settings.SkipBad || l.Meta != nil && l.Source.Name.Hist && zero) && l.beyondHead &&
		!l.Pipe {
		var s *scan
		s, err = scanLog(ctx, l)
		if err == nil && s.allZero() {
			err = l.allZero()
		}
	}
	return err
}

// startOver makes the log be read from its start again, unless its head is kept.
func (l *State) startOver() {
	if !l.keepHead {
		l.reopen, l.tally = true, tally{}
	}
}

// readFirst reads the first I/O of a log of single I/Os. Nothing else must be known of it before the first interval.
func (l *State) readFirst() error {
	l.g, l.IntervalHow = *l.single(), "single I/Os"
	r, err := l.read()
	if errors.Is(err, io.EOF) && l.Lines > 0 {
		return l.unread()
	}
	if errors.Is(err, io.EOF) {
		l.Empty = true
		return l.Close()
	}
	if err != nil {
		return err
	}
	l.Geometry, l.beyondHead = l.g, true
	l.extra = l.in.reader.ExtraColumns()
	if l.in.reader.Fields() == fiolog.SharedFields && l.unit() == 0 {
		return l.at(0, "lines of four columns, which fio 2 writes in microseconds and early fio 3 in nanoseconds, and "+
			"nothing says which it was", "pass --fio-version 2 or 3, or fio's JSON with --fio-json")
	}
	l.Absolute = r.Time > absoluteFrom
	l.now = r.Time * msec
	if l.keepHead {
		l.in.raw.tell(l.cfg.Progress)
		l.head.Add(r, l.Lines)
		return nil
	}
	l.startOver()
	return l.Close()
}

// headDone reports whether nothing still to come can move the windows of the directions seen so far.
func (l *State) headDone() bool {
	any := false
	for i := range l.dirs {
		w := &l.dirs[i].win
		if len(w.waits) == 0 {
			continue
		}
		any = true
		if !w.decided(l.now) {
			return false
		}
	}
	return any
}

// bare handles a log without any record. A job shorter than a window leaves one; fio's JSON then has all of its I/Os.
func (l *State) bare() error {
	if l.Lines > 0 {
		return l.unread()
	}
	l.Empty = true
	if err := l.neverWritten(); err != nil {
		return err
	}
	if l.Entry == nil {
		return nil // OnlyEmpty decides
	}
	l.g = l.Meta.Geometry()
	return nil
}

// neverWritten returns an error if an empty log is no sign of a short job: fio was not told how often to write.
func (l *State) neverWritten() error {
	_, wanted := l.Option("write_hist_log")
	_, every := l.Option("log_hist_msec")
	if wanted && !every && (l.Members == 1 || l.Section != nil) {
		err := l.at(0, "empty log: the job did not set log_hist_msec, and without it fio writes no histogram",
			"add the line `log_hist_msec=1000` to the job and run it again, or pass --skip-bad to leave the log out")
		err.Useless = true
		return err
	}
	return nil
}

// counted returns the I/Os of the log's entry: those whose latency fio measured, and those that it issued.
func (l *State) counted(kind fio.Kind) (measured, issued uint64) {
	measured, issued = l.Entry.Mixed.Kind[kind].N, l.Entry.Mixed.TotalIOs
	for _, d := range l.Entry.Dirs {
		measured += d.Kind[kind].N
		issued += d.TotalIOs
	}
	return measured, issued
}

// hasBins reports whether the log's entry has histograms.
func (l *State) hasBins() bool {
	return slices.ContainsFunc(l.Entry.Dirs[:], func(d fiojson.DirTotals) bool {
		return d.Kind[fio.Clat].Bins.Len() > 0
	})
}

// idle returns why the log is empty, if its job completed no I/O by its entry; else "".
func (l *State) idle() string {
	if !l.Empty || l.Entry == nil {
		return ""
	}
	kind := fio.Clat
	if l.Source.JSON != nil {
		kind = l.cfg.Settings.Kind
	}
	measured, issued := l.counted(kind)
	switch {
	case measured > 0:
		return ""
	case l.Entry.Error != 0:
		text := fmt.Sprintf("fio ended it with error %d (%v), and measured no latencies", l.Entry.Error,
			syscall.Errno(l.Entry.Error))
		if why, sure := l.Meta.Unmeasured(l.Entry); sure {
			text += ", " + why
		}
		return text
	case issued == 0:
		return "by fio's JSON it did no I/O"
	case kind != fio.Clat:
		return fmt.Sprintf("of its %d I/Os fio measured no %v", issued, kind)
	}
	why, _ := l.Meta.Unmeasured(l.Entry)
	return fmt.Sprintf("of its %d I/Os fio measured no latency, %s", issued, why)
}

// Unmeasured returns why fio measured no latency of any I/O of the logs; "" if it did, or did no I/O.
func Unmeasured(logs []*State) (why string) {
	for _, l := range logs {
		if !l.Empty || l.Entry == nil || l.Entry.Part || l.Entry.Error != 0 {
			return ""
		}
		kind := fio.Clat
		if l.Source.JSON != nil {
			kind = l.cfg.Settings.Kind
		}
		switch measured, issued := l.counted(kind); {
		case measured > 0:
			return ""
		case issued > 0:
			why, _ = l.Meta.Unmeasured(l.Entry)
		}
	}
	return why
}

// OnlyEmpty handles empty logs that no JSON explains. It warns of those beside logs with records: their jobs were
// shorter than a window or did nothing. If all logs are empty, and no JSON has histograms of their I/Os, it returns an
// error.
func OnlyEmpty(logs []*State, warn func(format string, args ...any)) error {
	var bare []string
	var first *State
	if !slices.ContainsFunc(logs, func(l *State) bool {
		return !l.Empty || l.Entry == nil || l.Source.JSON != nil || l.hasBins()
	}) {
		for _, l := range logs {
			if measured, _ := l.counted(fio.Clat); measured > 0 && l.single() == nil {
				err := l.at(0, "empty log, and fio's JSON has no histograms", "run fio with --output-format=json+")
				if l.Entry.Mixed.Kind[fio.Clat].Bins.Len() > 0 {
					err.Msg = "empty log, and fio's JSON has histograms of all directions together only"
					err.Hint = "run fio without unified_rw_reporting=mixed"
				}
				err.Useless = true
				return err
			}
		}
	}
	said := map[*fiojson.Entry]bool{} // logs of one entry have one reason
	for _, l := range logs {
		if why := l.idle(); why != "" && !said[l.Entry] {
			said[l.Entry] = true
			warn("%s: nothing of job %q is in the result: %s", fio.Printable(l.Source.Path), l.Job, why)
		}
		if l.Empty && l.Entry == nil && l.single() == nil {
			first = l
			bare = append(bare, fio.Printable(l.Source.Path))
		}
	}
	switch {
	case len(bare) == 0:
		return nil
	case len(bare) == len(logs):
		err := first.at(0, "empty log", "a job shorter than log_hist_msec leaves one: give its JSON (json+) with "+
			"--fio-json, or pass --skip-bad")
		err.Useless = true
		return err
	}
	warn("%s, and no JSON says how many I/Os were done (a job shorter than log_hist_msec leaves such a log); not in "+
		"the result: %s", fio.Several(len(bare), "empty log"), fio.Some(bare))
	return nil
}

func (l *State) unread() error {
	first := *l.Skipped[0]
	first.Msg = fmt.Sprintf("none of its %d lines can be read; the first: %s", l.Lines, first.Msg)
	return &first
}

// option returns a positive whole number that the job was given, and its source.
func (l *State) option(name string) (int64, string) {
	if l.Meta != nil {
		if n := l.Meta.Milliseconds(l.Entry, name); n > 0 {
			return n, "fio's JSON"
		}
	}
	if l.Section != nil {
		if n, err := strconv.ParseInt(l.Section.Options[name], 10, 64); err == nil && n > 0 {
			return n, "job file"
		}
	}
	return 0, ""
}

// IntervalAssumed is the IntervalHow of a log whose window length is unknown: each of its directions has one record,
// with an absolute stamp.
const IntervalAssumed = "assumed"

// OneRecord reports before Begin whether no direction of a histogram log has a second record, which would bound when
// its first window can have opened.
func (l *State) OneRecord() bool {
	return l.single() == nil && !slices.ContainsFunc(l.dirs[:], func(d direction) bool { return len(d.win.waits) > 1 })
}

// Begin ends the reading of the head. It determines where the windows of the log's directions begin,
// as far as the head allows, and prepares the log to be fed from its first record. start is when its job started, on
// the log's clock, farPast if that is not known. first is the first completion on the log's clock; ok is false if the
// log has no record.
func (l *State) Begin(start int64) (first int64, ok bool) {
	if l.single() != nil {
		first, l.now = l.now, farPast
		return first, !l.Empty
	}
	l.began = start
	for i := range l.dirs {
		w := &l.dirs[i].win
		w.g, w.started = l.g, farPast
		if start != farPast && l.startKnown() {
			w.started = start + l.phase(fio.Direction(i))
		}
		w.depth, w.median, w.shortest = l.queue(fio.Direction(i))
		w.bursts = l.bursts(fio.Direction(i))
		if l.Absolute {
			w.begin = farPast
		}
		if start == farPast {
			w.soonest = never
		}
		if l.cfg.Settings.RecordTime == fio.RecordTimeStart {
			l.dirs[i].starts = new(starts)
		}
	}
	for i := range l.dirs {
		d := &l.dirs[i]
		w := &d.win
		if len(w.waits) == 0 {
			continue
		}
		for n := len(w.waits) - 1; n > 1; n-- {
			w.waits[n].ios = d.headIOs(n, d.verdict.repair)
		}
		if w.soonest != never {
			l.bound(fio.Direction(i))
		}
		fixed := *w
		fixed.fix()
		if l.otherClock(fixed.latest, fixed.h) {
			w.soonest, w.started, fixed.b = never, farPast, fixed.latest
		}
		if d.starts != nil {
			d.starts.h, fixed.b = fixed.h, w.waits[0].time // a record then starts at its stamp
		}
		if !ok || fixed.b < first {
			first = fixed.b
		}
		l.Interval = max(l.Interval, time.Duration(fixed.h))
		ok = true
	}
	if l.IntervalHow == "" && l.Interval > 0 {
		l.IntervalHow = IntervalAssumed
	}
	for i := range l.dirs {
		d := &l.dirs[i]
		d.floor = never
		if d.inHead {
			d.floor = d.win.floor()
		}
		if w := &d.win; w.decided(l.now) { // records need not wait again
			w.waits = w.waits[:min(len(w.waits), headRecords)]
			w.fix()
		}
		d.win.waits, d.lag, d.last = nil, fiolog.Lag{}, 0
		if l.cfg.Pauses {
			d.win.pauses = &pauses{started: d.win.started}
		}
	}
	l.now = farPast
	return first, ok
}

// bound tells a direction's windows when its first I/O can have completed: not before the job's start and the shortest
// latency of the direction, or of its first record.
func (l *State) bound(dir fio.Direction) {
	d := &l.dirs[dir]
	start, shortest := l.began+l.phase(dir), int64(0)
	if len(d.first0) > 0 {
		shortest = l.g.Lower(int(d.first0[0]))
	}
	if l.Entry != nil {
		shortest = max(shortest, l.Entry.Dirs[dir].Kind[fio.Clat].Min)
	}
	if shortest < msec && 20*l.job.Pause(dir) > d.win.length() {
		d.win.soonest = never // a first I/O in millisecond 0 opens no window, and the next one waits
		return
	}
	d.win.soonest = start + shortest
	if _, verify := l.job.Set("verify"); !verify && l.Entry != nil && l.Members == 1 && l.Entry.Error == 0 &&
		l.Entry.Errors == 0 {
		if t := &l.Entry.Dirs[dir]; t.RuntimeMS > 0 {
			d.win.perNS = float64(t.Kind[fio.Clat].N) / float64(t.RuntimeMS*msec)
		}
	}
	d.win.firsts = func() []pipeline.Span { return l.firsts(dir, start) }
}

// firsts returns when I/Os of a direction's first record completed that began with the job, by their latencies. fio's
// JSON has these in finer buckets.
func (l *State) firsts(dir fio.Direction, start int64) (out []pipeline.Span) {
	const lag = 75 * msec // fio's, from its start to the first I/O
	g, in := l.g, map[int]bool{}
	for _, b := range l.dirs[dir].first0 {
		in[int(b)] = true
	}
	var bins []uint64
	if l.Entry != nil && l.Entry.Dirs[dir].Kind[fio.Clat].Bins.Len() > 0 {
		fine := l.g
		fine.Coarseness = 0
		if counts, err := l.Entry.Dirs[dir].Kind[fio.Clat].Counts(fine); err == nil {
			g, bins = fine, counts
		}
	}
	coarser := l.g.Coarseness - g.Coarseness
	for b := range g.Columns() {
		if in[b>>coarser] && (len(bins) == 0 || bins[b] > 0) {
			upper := g.Upper(b)
			if b == g.Last() {
				upper = never / 4
			}
			out = append(out, pipeline.Span{From: start + g.Lower(b), To: start + upper + lag})
		}
	}
	return out
}

// queue returns how many I/Os the job can have in flight, their median latency, and the shortest latency in each bucket
// of the log by the finer ones of fio's JSON, in ns, if it does none in other directions; else 0.
func (l *State) queue(dir fio.Direction) (depth, median int64, shortest []int64) {
	depth = l.job.Depth()
	if l.Entry == nil || depth == 0 || l.Entry.Dirs[dir].Kind[fio.Clat].Bins.Len() == 0 {
		return 0, 0, nil
	}
	for d := range l.Entry.Dirs {
		if o := fio.Direction(d); o != dir && l.job.Does(o) && l.Entry.Dirs[d].Kind[fio.Clat].N > 0 {
			return 0, 0, nil
		}
	}
	totals, fine := &l.Entry.Dirs[dir].Kind[fio.Clat], l.g
	fine.Coarseness = 0
	counts, err := totals.Counts(fine)
	if err != nil {
		return 0, 0, nil
	}
	shortest = make([]int64, l.g.Columns())
	left := int64(totals.N / 2)
	for b, n := range counts {
		if at := &shortest[b>>l.g.Coarseness]; n > 0 && *at == 0 {
			*at = fine.Lower(b)
		}
		if left >= 0 {
			median = fine.Upper(b)
		}
		left -= int64(n)
	}
	return depth, median, shortest
}

// phase returns how long after its job a direction begins, in ns.
func (l *State) phase(dir fio.Direction) int64 {
	if dir != fio.Read || l.Entry == nil || !l.job.ReadsAfterWrites() {
		return 0
	}
	return l.Entry.Dirs[fio.Write].RuntimeMS * msec
}

// badVersion returns what is wrong with all logs of the log's version of fio; "" if nothing is known.
func (l *State) badVersion() string {
	if l.Meta == nil {
		return ""
	}
	major, minor, ok := fiojson.ParseVersion(l.Meta.Version)
	if ok && major == 3 && minor >= 6 && minor <= 16 {
		return fmt.Sprintf("%s wrote garbage from bucket 928 on (fio 3.6 to 3.16 do)", fio.Printable(l.Meta.Version))
	}
	return ""
}

// fast reports whether no I/O of the log's job reached the middle bucket by fio's JSON.
func (l *State) fast() bool {
	longest := int64(0)
	if l.Entry != nil {
		for d := range l.Entry.Dirs {
			longest = max(longest, l.Entry.Dirs[d].Kind[fio.Clat].Max)
		}
	}
	return longest > 0 && longest < fiohist.Fio3.Lower(fiohist.Fio3.Columns()/2) && l.Entry.Mixed.TotalIOs == 0
}

// OtherClock reports whether the log's stamps count neither from 1970 nor from its job's start: its options say so
// (log_alternate_epoch with a monotonic clock), or they lie beyond the job's end. first is the first completion in ns.
func (l *State) OtherClock(first int64) bool { return l.otherClock(first, int64(l.Interval)) }

func (l *State) otherClock(first, h int64) bool {
	if l.Absolute || first <= h {
		return false
	}
	if v, ok := l.Option("log_alternate_epoch"); ok && v != "0" {
		if id, ok := l.Option("log_alternate_epoch_clock_id"); ok && id != "0" {
			return true
		}
	}
	return l.Entry != nil && l.Entry.LongestMS > 0 && first > (l.Entry.LongestMS+10_000)*msec+2*h
}
