// Package logs reads the logs of a run one by one. It opens a log, reads what must be known before the first interval,
// decides whether fio --client damaged it, determines when its I/Os completed, and compares it with fio's totals.
package logs

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/fiolog"
	"fiolat/ingest/source"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
)

// hashed is how many bytes of each log's start go into run.id.
const hashed = 64 << 10

// absoluteFrom is the stamp in ms above which stamps count from 1970 and not from the job's start:
// 1973, or a job of three years.
const absoluteFrom = 1e11

type opened struct {
	reader *fiolog.Reader
	stream *source.Stream
	raw    *countingReader
	file   *source.File // nil: standard input

	began      bool  // a record was read
	first      int64 // stamp, ms
	latest     int64 // stamp so far, ms
	limit, end int64 // see lastStamp
}

// repeat reports whether the log can be opened again: it is no pipe.
func (o *opened) repeat() bool { return o.file != nil && o.file.Regular() }

// Close closes the log. A read of standard input that is under way goes on.
func (o *opened) Close() error {
	switch {
	case o.file == nil:
		return nil
	case o.repeat():
		o.reader.Stop()
		return errors.Join(o.stream.Close(), o.file.Close())
	}
	err := o.file.Close() // ends a read that waits for data
	o.reader.Stop()
	return errors.Join(err, o.stream.Close())
}

// single returns the geometry on which a log of single I/Os is counted; nil for histograms.
func (l *State) single() *fiohist.Geometry {
	if l.Source.Name.Hist {
		return nil
	}
	return l.grid()
}

// grid returns the geometry of the fio that wrote the log, so that sums of single I/Os equal those of its histograms.
func (l *State) grid() *fiohist.Geometry {
	if l.unit() == fiohist.Fio2.Unit {
		return &fiohist.Fio2
	}
	return &fiohist.Fio3
}

// unit returns the unit of the log's latencies in ns: fio 2 logged microseconds. It is 0 if neither fio's JSON nor a
// log beside it tells the version, nor --fio-version.
func (l *State) unit() int64 {
	major := l.cfg.Settings.FioVersion
	switch {
	case l.Meta != nil && fiojson.Major(l.Meta.Version) > 0:
		major = fiojson.Major(l.Meta.Version)
	case l.SiblingUnit > 0:
		return l.SiblingUnit
	}
	switch {
	case major == 0:
		return 0
	case major < 3:
		return fiohist.Fio2.Unit
	}
	return fiohist.Fio3.Unit
}

// openLog opens a log for reading from its start. Standard input and pipes can be opened only once;
// a file must be the same each time.
func openLog(l *State) (_ *opened, err error) {
	o, raw, path := new(opened), l.cfg.Stdin, l.Source.Path
	if small := l.Source.Small(); small != nil {
		o.file = l.cfg.Files.OpenSmall(path, small)
	} else if path != "-" {
		if o.file, err = l.cfg.Files.Open(path, l.file); err != nil {
			return nil, err
		}
	}
	if o.file != nil {
		l.file, raw = o.file, o.file
	}
	if l.Hash == "" && !l.cfg.NoHash {
		raw, err = l.hash(raw, o)
	}
	if err == nil {
		o.raw = &countingReader{r: raw}
		o.stream, err = source.Decompress(o.raw, path, nil)
	}
	if err != nil {
		if o.file != nil {
			_ = o.file.Close() // it was only read
		}
		return nil, err
	}
	block := l.cfg.block
	if !l.Pipe {
		block = max(block, minBlock)
	}
	src := io.Reader(o.stream)
	opt := fiolog.ReaderOptions{Block: block, Columns: l.Geometry.Columns(), Single: l.single(),
		HalfSound: l.Source.Name.Hist && l.badVersion() != "", Oversized: l.mayMend()}
	if e := l.Source.Extent; e != nil {
		src, opt.After = e.Read(o.stream), e.After
	}
	o.reader = fiolog.NewReader(src, path, opt)
	return o, nil
}

// hash computes the log's Hash. The reader that it returns also yields what was read for it.
func (l *State) hash(raw io.Reader, o *opened) (io.Reader, error) {
	sum := sha256.New()
	if o.repeat() {
		fmt.Fprintf(sum, "%d\n", o.file.Size())
		start := source.NewBlock()
		defer start.Free()
		n, err := o.file.ReadAt(start[:hashed], 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		sum.Write(start[:n])
	} else {
		fmt.Fprintf(sum, "%d\n", 0)
		start := make([]byte, hashed)
		n, err := io.ReadFull(raw, start)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("%s: %w", fio.Printable(l.Source.Path), err)
		}
		sum.Write(start[:n])
		raw = io.MultiReader(bytes.NewReader(start[:n]), raw)
	}
	l.Hash = fmt.Sprintf("%x", sum.Sum(nil))
	return raw, nil
}

// countingReader counts the bytes read from r, as stored.
type countingReader struct {
	r      io.Reader
	n      int64 // not reported yet
	report func(int64)
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.tell(c.report)
	return n, err
}

// tell passes the number of bytes read so far, and from now on that of each read, to report, if not nil.
func (c *countingReader) tell(report func(int64)) {
	c.report = report
	if report != nil {
		report(c.n)
		c.n = 0
	}
}

// Config is what the logs of a run have in common.
type Config struct {
	Settings fio.Settings
	// Stdin is what the path "-" stands for.
	Stdin io.Reader
	// NoHash leaves the logs' hashes empty.
	NoHash bool
	// Progress is called with the bytes read, from several goroutines; bytes read twice count once.
	Progress func(bytes int64)
	block    int // bytes read at a time from a pipe; from a file no less than minBlock
	Files    *source.Files
	// keepBlocks lets a log that waits for others keep the block that was read last.
	keepBlocks bool
	KeptHead   int // buckets of a log's head that may be kept in memory, if that is cheap
	// keptWhole are the buckets of a small log that may be kept.
	keptWhole int
	Pauses    bool // find LogDirection.Pauses
}

// State is a log that is being read. One worker at a time owns it.
type State struct {
	intervals.Member
	cfg *Config
	job fiojson.Workload
	g   fiohist.Geometry // the log's own, or what fio's JSON says it would have been
	input
	scan *scan // of the whole log, where damage was suspected

	dirs    [fio.Directions]direction
	shift   int64 // ns from the log's clock to the run's
	align   *intervals.Aligner
	began   int64 // when its job started, ns on the log's clock; farPast if unknown
	now     int64 // the latest line's stamp, ns on the log's clock
	Reached int64 // end of the last I/O placed, ns on the run's clock

	extra    int  // columns that log_offset and log_issue_time added to a log of single I/Os
	rejected bool // fio's JSON turned out to be another run's
	disowned bool // or only its entry is not used, as a log of it holds garbage
	doubtful bool // fio --client may have damaged it: its records do not tell what its windows held
	slowest  slowest
	middle   middle
	feeding  stamped // the record that is being fed

	tally
}

// input is how far a log's file has been read, and how it is read on.
type input struct {
	in            *opened
	file          *source.File // as it was opened first; nil: standard input
	Pipe          bool         // a read may block until the writer goes on
	keepHead      bool         // it is a pipe, or is read on after the head like one
	head          fiolog.Queue // records read but not placed: its head, if that is kept, and what was read ahead
	reopen        bool         // it must be opened again and read from its start
	beyondHead    bool         // there is more in the log than the head
	Ahead         int          // parsers that may read ahead
	skippedBefore int64        // lines skipped before the record that next returned
	fileEOF       bool         // the file was read to its end
	later         error        // of the file, after the records that wait
	EOF           bool         // and so were the records that waited
}

// tally is what became of a log's lines and I/Os.
type tally struct {
	repaired   int64
	lastBucket float64
	Lines      int64             // skipped
	Skipped    []*fio.ParseError // the first of them, for warnings
	Outside    *fio.ParseError   // the first record that cannot belong to fio's JSON
	pause      int64             // the longest doubtful one, in ms, before line afterPause
	afterPause int64
}

// direction is one direction of a log.
type direction struct {
	verdict     verdict
	lag         fiolog.Lag // of the head; then of the whole log, if it is repaired
	win         windows
	starts      *starts // nil: its windows are placed
	seen        bool    // it has had a record
	records     int64
	equal       int64         // records with equal timestamps
	ios         float64       // as logged, after repair
	ns          float64       // sum of the latencies of single I/Os
	firstTwoMax float64       // the I/Os of the fuller of the first two records
	firstTwoSum float64       // the I/Os of both
	restMax     float64       // the I/Os of the fullest of the other records
	first       int64         // stamp of the first record, ms
	last        int64         // stamp of the last record, ms
	lines       int64         // lines skipped before the last record came
	sums        *fiohist.Hist // what was logged, where the tail is to be restored
	tail        *tail         // what fio counted and no log holds, if that is to be restored

	inHead   bool     // the head has records of it
	first0   []uint16 // the buckets of its first record
	floor    int64    // the first I/O completed no earlier, if inHead
	headless bool     // its head may be lost
}

func (l *State) next() (*fiolog.Record, error) {
	if l.head.Records > 0 {
		r := l.head.Next()
		l.skippedBefore = l.head.Skipped
		return r, nil
	}
	l.head.Free()
	r, err := l.read()
	l.skippedBefore = l.Lines
	return r, err
}

func (l *State) peek() error {
	r, err := l.read()
	if errors.Is(err, io.EOF) {
		l.fileEOF = true
		return l.Close()
	}
	if err == nil {
		l.head.Add(r, l.Lines)
	}
	return err
}

// read returns the next record of the file. It skips and counts bad lines if that was asked for.
func (l *State) read() (*fiolog.Record, error) {
	if l.in == nil {
		return nil, cmp.Or(l.later, io.EOF)
	}
	for {
		r, err := l.record(l.in)
		if bad, ok := errors.AsType[*fio.ParseError](err); ok && bad.Line > 0 && l.cfg.Settings.SkipBad {
			l.Lines++
			if len(l.Skipped) < namedSkips {
				l.Skipped = append(l.Skipped, bad)
			}
			continue
		}
		return r, err
	}
}

// namedSkips is how many skipped lines of a log are named; all are counted.
const namedSkips = 3

// Advance reads on until no I/O before target (ns on the run's clock) can come any more.
func (l *State) Advance(target int64) error {
	if l.reopen {
		in, err := openLog(l)
		if err != nil {
			return err
		}
		in.raw.tell(l.cfg.Progress)
		l.in, l.reopen = in, false
	}
	if l.in != nil {
		l.in.reader.ReadAhead(l.Ahead)
	}
	for !l.EOF {
		switch mark := l.Watermark(); {
		case mark >= target && mark < never:
			return l.rest()
		// Only a direction without a record so far can still have I/O before the target. Records that wait take less
		// memory than intervals.
		case !l.fileEOF && l.mark(false) >= target:
			if err := l.peek(); err != nil {
				return err
			}
			continue
		}
		r, err := l.next()
		if errors.Is(err, io.EOF) {
			return l.finish()
		}
		if err != nil {
			return err
		}
		if err := l.feed(r); err != nil {
			return err
		}
	}
	return nil
}

// rest lets what is left of a block wait as records, which take less memory, if all logs may not keep theirs. A pipe
// does: how much it yields at a time depends on the writer, and the rounds must not.
func (l *State) rest() error {
	for !l.Pipe && l.in != nil && !l.cfg.keepBlocks {
		if l.in.reader.Park(); l.in.reader.Drained() {
			break
		}
		if err := l.peek(); err != nil {
			return err
		}
	}
	return nil
}

// feed checks one record and places it, or lets it wait.
func (l *State) feed(r *fiolog.Record) error {
	d := &l.dirs[r.Dir]
	if d.verdict.unrepairableLine > 0 {
		l.now = r.Time * msec
		return nil
	}
	before := d.last
	switch {
	case !d.seen:
		l.begins(r)
	case r.Time < before:
		return backwards(l, r, before)
	case r.Time == before:
		d.equal++
	}
	d.last = r.Time
	d.records++
	stamp, c := r.Time*msec, &l.feeding.counts
	l.feeding.time, l.feeding.line, l.feeding.skipped = stamp, r.Line, l.skippedBefore-d.lines
	l.feeding.ios, c.Index, c.Count = float64(r.IOs), r.Index, r.Count
	d.lines, l.now = l.skippedBefore, stamp
	if err := l.mend(d); err != nil {
		return err
	}
	l.addUp(r, d)
	switch {
	case !l.Source.Name.Hist: // an I/O counts at its stamp, in the millisecond that begins there
		err := l.emit(r.Dir, r.Line, func(e func(portion)) { e(portion{start: stamp, end: stamp + 1, counts: c}) })
		l.reach(r.Dir, stamp+msec+l.shift)
		if l.cfg.Pauses && d.records > 1 && len(r.Index) > 0 {
			if d.win.pauses == nil {
				d.win.pauses = new(pauses)
			}
			d.win.pauses.addOne(r.Index[0], stamp, before*msec)
		}
		return err
	case l.cfg.Settings.RecordTime == fio.RecordTimeStart:
		if err := l.emit(r.Dir, r.Line, func(e func(portion)) { d.starts.place(stamp, c, e) }); err != nil {
			return err
		}
	}
	if d.win.known {
		if err := l.place(r.Dir, &l.feeding); err != nil {
			return err
		}
	} else {
		d.win.wait(&l.feeding)
	}
	for i := range l.dirs {
		if l.dirs[i].win.decided(l.now) {
			if err := l.fixWindows(fio.Direction(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// begins takes the first record of a direction.
func (l *State) begins(r *fiolog.Record) {
	d := &l.dirs[r.Dir]
	d.seen, d.first = true, r.Time
	if w := &d.win; !d.inHead && w.soonest != never && len(r.Index) > 0 {
		// Intervals from 32 windows before are not held back for a direction that has not begun.
		d.first0 = slices.Clone(r.Index)
		l.bound(r.Dir)
		w.soonest = max(w.soonest, r.Time*msec-headRecords*l.length())
	}
}

// mend removes from a direction's record what fio --client added to it.
func (l *State) mend(d *direction) error {
	r := &l.feeding
	if r.line == d.verdict.garbled {
		r.counts.Drop(d.verdict.garbage)
		r.ios = r.counts.Sum()
	}
	if i := slices.IndexFunc(r.counts.Count, func(n float64) bool { return n > fiolog.MaxCount }); i >= 0 {
		return l.at(r.line, fmt.Sprintf("bucket %d holds %.0f I/Os: arbitrary memory instead of a count, and fio's JSON "+
			"does not show what the record holds", r.counts.Index[i], r.counts.Count[i]),
			"run another version of fio, or pass --repair no and --skip-bad to count and skip the line")
	}
	if !d.verdict.repair {
		return nil
	}
	fixed := d.lag.Add(&r.counts)
	if d.lag.Fell {
		return l.at(r.line, "a bucket falls below its value two records before, so this log was not damaged by "+
			"fio --client after all", "pass --repair no")
	}
	if d.lag.Records > 2 {
		r.counts.Copy(&fixed)
		r.ios = r.counts.Sum()
		l.repaired++
	}
	return nil
}

// addUp adds a record to what is told of its direction and of the log.
func (l *State) addUp(r *fiolog.Record, d *direction) {
	c, sum, info := &l.feeding.counts, l.feeding.ios, &l.DirInfo[r.Dir]
	if n := len(c.Index) - 1; n >= 0 {
		if int(c.Index[n]) == l.g.Last() {
			l.lastBucket += c.Count[n]
		}
		if limits := &info.Limits; limits.Known && l.Outside == nil && (int(c.Index[0]) != l.g.Last() &&
			l.g.Upper(int(c.Index[0])) < limits.Min || l.g.Lower(int(c.Index[n])) > limits.Max) {
			l.Outside = l.at(r.Line, "latencies outside the range in fio's JSON",
				"give the JSON of this very run with --fio-json")
		}
	}
	if l.Source.Name.Hist && l.Meta == nil {
		l.nearMiddle(c)
	}
	if l.Source.Name.Hist {
		l.slowest.add(r, c, l.g, d.fullest())
	}
	if d.records <= 2 {
		d.firstTwoMax, d.firstTwoSum = max(d.firstTwoMax, sum), d.firstTwoSum+sum
	} else {
		d.restMax = max(d.restMax, sum)
	}
	d.ios, d.ns, info.HasIO = d.ios+sum, d.ns+float64(r.NS), info.HasIO || sum > 0
	if d.sums != nil {
		d.sums.AddAll(c.Index, c.Count, 0)
	}
}

// place passes a record to the windows of its direction. With --record-time start they only look for lost records.
func (l *State) place(i fio.Direction, r *stamped) error {
	w := &l.dirs[i].win
	if l.cfg.Settings.RecordTime == fio.RecordTimeStart {
		w.place(r, func(portion) {})
		return nil
	}
	return l.emit(i, r.line, func(e func(portion)) { w.place(r, e) })
}

// fixWindows fixes where the windows of a direction lie and places the records that waited for that.
func (l *State) fixWindows(i fio.Direction) error {
	d := &l.dirs[i]
	d.win.fix()
	waits := d.win.waits
	d.win.waits = nil
	for k := range waits {
		if err := l.place(i, &waits[k]); err != nil {
			return err
		}
	}
	free(waits)
	return nil
}

func (l *State) emit(d fio.Direction, line int64, place func(func(portion))) error {
	var failed error
	place(func(p portion) {
		piece := intervals.Piece{Start: p.start + l.shift, End: p.end + l.shift}
		if p.closing > 0 {
			piece.Closing, piece.Share = p.closing+l.shift, 1/p.counts.Sum()
		}
		l.reach(d, max(piece.End, piece.Closing))
		if err := l.align.Add(piece, p.counts, d); err != nil && failed == nil {
			failed = l.at(line, err.Error(), "")
		}
	})
	return failed
}

// reach notes that an I/O of a direction was placed that ended then, or that its job ended.
func (l *State) reach(d fio.Direction, end int64) {
	l.Reached, l.DirInfo[d].To = max(l.Reached, end), max(l.DirInfo[d].To, end)
}

// finish places what still waits at the end of the log, and closes it.
func (l *State) finish() error {
	l.EOF = true
	for i := range l.dirs {
		d := &l.dirs[i]
		if len(d.win.waits) > 0 {
			if err := l.fixWindows(fio.Direction(i)); err != nil {
				return err
			}
		}
		finish := d.win.finish
		if l.cfg.Settings.RecordTime == fio.RecordTimeStart {
			finish = d.starts.finish
		}
		if err := l.emit(fio.Direction(i), 0, finish); err != nil {
			return err
		}
	}
	for i := range l.dirs {
		l.dirs[i].first0, l.dirs[i].win.held = nil, nil
	}
	l.feeding.counts = fiohist.Sparse{}
	l.head.Free()
	if records, ios := l.sums(); records > 0 && ios == 0 {
		return l.allZero()
	}
	return l.Close()
}

// publishHoles adds the holes that were found since the last round to DirInfo.
func (l *State) publishHoles() {
	for d := range l.dirs {
		for _, h := range l.dirs[d].win.holes[len(l.DirInfo[d].Holes):] {
			l.DirInfo[d].Holes = append(l.DirInfo[d].Holes, pipeline.Span{From: h.From + l.shift, To: h.To + l.shift})
		}
	}
}

// Close closes the log's file, if it is open.
func (l *State) Close() error {
	if l.in == nil {
		return nil
	}
	err := l.in.Close()
	l.in = nil
	return err
}

func (l *State) sums() (records int64, ios float64) {
	for i := range l.dirs {
		records += l.dirs[i].records
		ios += l.dirs[i].ios
	}
	return records, ios
}

// Watermark returns the time, in ns on the run's clock, before which no I/O of this log can complete any more.
func (l *State) Watermark() int64 { return l.mark(true) }

// mark returns the watermark or, without unseen, that of the directions of which a record has been read.
func (l *State) mark(unseen bool) int64 {
	mark := int64(math.MaxInt64)
	if l.single() != nil && !l.EOF {
		return l.now + l.shift
	}
	for i := range l.dirs {
		d := &l.dirs[i]
		tailPending := d.tail != nil && !d.tail.done
		switch {
		case d.seen && !l.EOF:
			mark = min(mark, l.earliest(d))
		case d.seen && tailPending:
			mark = min(mark, d.last*msec)
		case tailPending:
			mark = min(mark, l.Start-l.shift)
		case l.EOF || l.DirInfo[i].KnownIdle:
		case l.head.Of[i] > 0:
			mark = min(mark, d.floor, l.now-headRecords*l.length())
		case unseen && !l.fileEOF:
			read := l.now
			if l.head.Records > 0 {
				read = l.head.Latest * msec
			}
			mark = min(mark, d.floor, read-headRecords*l.length())
		}
	}
	if mark == math.MaxInt64 {
		return mark
	}
	return mark - l.align.Delay() + l.shift
}

// earliest returns where the next portion of a direction that has had a record can begin.
func (l *State) earliest(d *direction) int64 {
	switch {
	case l.cfg.Settings.RecordTime == fio.RecordTimeStart:
		return d.starts.time
	case d.win.known && (d.win.bursts == nil || d.win.n > 0):
		return d.win.prev - msec
	}
	return d.win.floor()
}

// at returns an error about a line, or with 0 about the log as a whole.
func (l *State) at(line int64, msg, hint string) *fio.ParseError {
	return &fio.ParseError{File: l.Source.Path, Line: line, Msg: msg, Hint: hint}
}

func backwards(l *State, r *fiolog.Record, last int64) error {
	return l.at(r.Line, fmt.Sprintf("time runs backwards, from %d to %d ms (%v)", last, r.Time, r.Dir),
		"several jobs wrote into one log (per_job_logs=0), logs of several runs were appended, or fio reset its "+
			"statistics (latency_target): split the log or re-run without that option, or pass --skip-bad")
}

// Ready gives the log its aligner and what fio's JSON counted in its directions. It is called once the grid is known.
func (l *State) Ready(g *intervals.Grid, common fiohist.Geometry) {
	l.Open = intervals.Open{First: g.First}
	l.align = intervals.NewAligner(g, l.cfg.Settings.Align == fio.AlignInflight && l.single() == nil, l.g, common,
		&l.Open)
	if l.Entry == nil {
		return
	}
	for d := range l.dirs {
		if t := l.Entry.Dirs[d].Kind[l.cfg.Settings.Kind]; t.N > 0 {
			l.DirInfo[d].Limits = fiohist.Limits{Min: t.Min, Max: t.Max, Known: true}
		} else {
			l.DirInfo[d].KnownIdle = l.Entry.Dirs[d].TotalIOs == 0 && l.Entry.Mixed.TotalIOs == 0
		}
	}
}

// StartAt puts the log on the run's clock: start is when its job began, shift is what is added to its stamps, both in
// ns.
func (l *State) StartAt(start, shift int64) {
	l.Start, l.shift, l.Reached = start, shift, start
	for d := range l.DirInfo {
		from := start + l.phase(fio.Direction(d))
		l.DirInfo[d].From, l.DirInfo[d].To = from, from
	}
}

// PublishRound publishes how far the log goes and its new holes, for the merge that runs beside the next round.
func (l *State) PublishRound() {
	l.EndSoFar = math.MaxInt64
	if l.EOF {
		l.EndSoFar = l.Reached
	}
	l.Publish()
	l.publishHoles()
}

// Keep stores the end and the directions of the log once it has been read.
func (l *State) Keep() {
	if l.cfg.Pauses {
		for d := range l.dirs {
			if l.dirs[d].seen {
				l.DirInfo[d].Pauses = l.pauses(fio.Direction(d))
			}
		}
	}
	for d := range l.DirInfo {
		l.DirInfo[d].IOs += l.dirs[d].ios
		if l.Entry != nil && !l.rejected && l.Entry.Dirs[d].Sample {
			t := &l.Entry.Dirs[d]
			each := float64(t.TotalIOs)/float64(t.Kind[fio.Clat].N) - 1
			l.DirInfo[d].Unmeasured = l.DirInfo[d].IOs * each
		}
		l.DirInfo[d].Until = l.until(fio.Direction(d))
	}
	l.End, l.Dirs = l.Reached, l.DirInfo
}

// until returns when a direction ended: where no tail was restored, the log lacks the window that was open then.
func (l *State) until(d fio.Direction) int64 {
	info := &l.DirInfo[d]
	if t := l.dirs[d].tail; !l.Source.Name.Hist || !info.HasIO || t != nil && !l.rejected {
		return info.To
	}
	until := info.To + l.length()
	if l.Entry != nil && !l.rejected && l.Entry.Dirs[d].RuntimeMS > 0 {
		until = min(until, info.From+l.Entry.Dirs[d].RuntimeMS*msec)
	}
	return max(until, info.To)
}

// CommonGeometry returns the finest geometry on which all logs can be added up, and gives it to empty logs without one.
func CommonGeometry(logs []*State) (fiohist.Geometry, error) {
	var common fiohist.Geometry
	for _, l := range logs {
		if l.g.Groups == 0 {
			continue // empty, and no JSON says what it would hold
		}
		if common.Groups == 0 {
			common = l.g
		}
		g, err := common.Common(l.g)
		if err != nil {
			return common, l.at(0, err.Error(), "ingest them as separate runs")
		}
		common = g
	}
	for _, l := range logs {
		if l.g.Groups == 0 {
			l.g = common
		}
	}
	return common, nil
}

// New returns the state of a log that is still to be opened.
func New(l *ingest.Log, cfg *Config, pipe bool) *State {
	job := fiojson.Workload{Option: l.Option, Sure: l.Section != nil || l.Members == 1}
	if n, ok := l.Option("numjobs"); ok && n == strconv.Itoa(l.Members) {
		job.Sure = true // all threads of the group are one section's
	}
	if l.Meta != nil {
		job.Version = l.Meta.Version
	}
	return &State{Member: intervals.Member{Log: &pipeline.Log{Log: l, Hash: l.Source.Hash}}, cfg: cfg, job: job,
		input: input{Pipe: pipe}}
}

// Divide shares out among n logs what may be kept in memory.
func (c *Config) Divide(n, workers int) {
	c.block = min(max(allBuffers/max(n, 1), 16<<10), 256<<10)
	c.keepBlocks = c.block >= minBlock
	switch {
	case n < workers || c.Settings.SkipBad:
		// Fewer logs than workers are read ahead from their start; with SkipBad bad lines are looked for in the whole
		// log first. Either way heads are read twice.
		c.KeptHead = 0
	case c.KeptHead == 0:
		c.KeptHead, c.keptWhole = allHeads/n, allWhole/n
	}
}

const (
	allBuffers = 16 << 20 // bytes, of all logs together
	allHeads   = 1 << 20  // buckets, of all heads that are kept together with open files
	allWhole   = 12 << 20 // of all small logs
)

// minBlock is how many bytes are read at a time from a file, at least. Smaller blocks cost more system calls.
const minBlock = 64 << 10

// Balance returns an error if not all I/Os of the log, and of its part of the tail, are in intervals.
func (l *State) Balance() error {
	in := 0.0
	for d := range l.DirInfo {
		in += l.DirInfo[d].IOs
	}
	if err := pipeline.Balance(in, l.align.Placed); err != nil {
		return fmt.Errorf("%s: %w", fio.Printable(l.Source.Path), err)
	}
	return nil
}
