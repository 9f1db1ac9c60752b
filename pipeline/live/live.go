// Package live follows a run through the status documents that fio prints while it runs.
package live

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
)

const msec = int64(1e6) // ns

// Config configures New. The zero value of a field is its default, except for Settings.
type Config struct {
	// Settings begin as fio.Defaults and must have an Interval. Their Grid is always epoch, so that hosts that are
	// followed separately share one grid.
	Settings fio.Settings
	RunID    string
	RunName  string
	Part     string
	Labels   map[string]string
	// Host is the name of the host if fio does not give one (--client does).
	Host string
	// Of is the run whose jobs are followed already, if the kind is fio.Sync: ID, name and start are taken from it.
	Of *pipeline.Run
	// Patience is how many intervals in a row make a breach of a rule that does not set it.
	Patience int
	// Choice explains the interval, for the account.
	Choice *pipeline.Choice
	Warn   func(msg string)
	// Allow is as in plan.Config.
	Allow func(intervals, usual int64) error
}

// Live makes intervals of the documents that fio prints with --status-interval --output-format=json+, as
// they come. Their bins are cumulative: what completed between two of them is the difference, in each
// bucket exactly, and is distributed over the intervals in between in proportion to time. An interval,
// even an empty one, is passed on once every job has been heard of past its end.
//
// fio asks each job for its numbers, and prints nothing until all have answered, which a job that waits for an I/O does
// not. After a stall of the device the jobs' runtimes in the document show when fio asked. What completed is placed
// before that time if it is about as much as expected until then, so that the seconds of the stall are empty, as they
// were. Silent reports a stall without waiting for that document.
//
// Only the bins of the latest document are kept, so reading the same documents again makes the same intervals again.
type Live struct {
	cfg     Config
	sink    pipeline.Sink
	run     *pipeline.Run // nil before the first document
	grid    intervals.Grid
	merge   *intervals.Merger
	account pipeline.Account
	entries map[key]*entry
	logs    []*entry // in the order in which they are added up
	watch   *pipeline.Watch
	heard   int64   // time of the latest document, ns since 1970
	steps   []int64 // the latest distances between documents
	// Missed counts gaps of more than one and a half steps, Restarts counters that went back because fio was restarted.
	Missed, Restarts int
}

// key identifies an entry of fio's JSON: the nth of that job's name on that host.
type key struct {
	host, job string
	nth       int
}

// entry is what is known of one.
type entry struct {
	log       intervals.Member
	align     *intervals.Aligner
	end       int64 // end of its last I/O, ns on the run's clock
	records   int64
	ios       [fio.Directions]float64
	last      float64                        // I/Os in the last bucket
	restarted bool                           // fio was restarted: its totals do not cover the whole run
	before    [fio.Directions]fiohist.Limits // of what it counted before it was restarted

	counters         // the latest
	rate     float64 // recent I/Os per ns
	damaged  int     // documents in a row that were left out
}

// New makes a Live that passes everything to the sink.
func New(cfg Config, sink pipeline.Sink) (*Live, error) {
	if cfg.Settings.Interval <= 0 {
		return nil, fmt.Errorf("live: the interval must be given")
	}
	cfg.Settings.Grid = fio.GridEpoch
	if err := cfg.Settings.Check(); err != nil {
		return nil, err
	}
	l := &Live{cfg: cfg, sink: sink, account: pipeline.Account{Interval: cfg.Choice}, entries: map[key]*entry{}}
	if len(cfg.Settings.SLA) > 0 {
		l.watch = pipeline.NewWatch(cfg.Settings.SLA, max(cfg.Patience, 1), sink)
		l.sink = l.watch
	}
	return l, nil
}

// warn reports a warning at once, as the run may go on for long.
func (l *Live) warn(format string, args ...any) {
	w := fmt.Sprintf(format, args...)
	l.account.Warnings = append(l.account.Warnings, w)
	if l.cfg.Warn != nil {
		l.cfg.Warn(w)
	}
}

// step returns the usual distance between two documents; 0 before the second one.
func (l *Live) step() time.Duration {
	sorted := slices.Sorted(slices.Values(l.steps))
	if len(sorted) == 0 {
		return 0
	}
	return time.Duration(sorted[len(sorted)/2])
}

// overdue is how many quarters of a step may pass without a document before fio is taken to wait for a stalled job.
const overdue = 7

// Silent is called when no document has come for so long since the latest one. It reports whether fio is overdue. What
// fio waits for then takes at least as long as it is late, and rules that this breaks are reported once, without
// waiting for the document that will show it. The intervals are left to that document.
func (l *Live) Silent(ctx context.Context, since time.Duration) (bool, error) {
	step := l.step()
	if step == 0 || 4*since < overdue*step {
		return false, nil
	}
	if l.watch == nil || l.merge == nil || !l.merge.Begun {
		return true, nil
	}
	asked := l.heard + int64(step) - l.run.Start
	return true, l.watch.Silent(ctx, asked, asked+int64(since-step))
}

// Run returns the run; nil before the first document.
func (l *Live) Run() *pipeline.Run { return l.run }

// Snapshot takes the next document.
func (l *Live) Snapshot(ctx context.Context, m *fiojson.Document) error {
	if fiojson.Major(m.Version) == 2 {
		return &fio.ParseError{File: m.Path, Msg: fmt.Sprintf("%s: its bins are of microseconds, and cannot be "+
			"followed live", fio.Printable(m.Version)), Hint: "use fio 3"}
	}
	if m.TimestampMS == 0 {
		return &fio.ParseError{File: m.Path, Msg: "a document without a time",
			Hint: "pass the output of fio --status-interval=1 --output-format=json+"}
	}
	if l.cfg.Settings.Kind == fio.Sync {
		m = m.OfSyncs()
	}
	nth := map[key]int{}
	entries, known := make([]*entry, len(m.Entries)), len(l.entries)
	heard := int64(0)
	for i := range m.Entries {
		e := &m.Entries[i]
		k := key{host: e.Host, job: e.JobName}
		k.host = cmp.Or(k.host, l.cfg.Host)
		n := nth[k]
		nth[k]++
		k.nth = n
		at := m.CountedMS(e) * msec
		heard = max(heard, at)
		le := l.entries[k]
		if le == nil {
			le = l.meet(m, e, k, at)
		}
		le.log.Meta, le.log.Entry = m, e
		entries[i] = le
	}
	if len(l.entries) > known {
		l.join(m)
	}
	if err := l.allow(heard); err != nil {
		return err
	}
	gap := l.keepTime(heard)
	for _, le := range entries { // in the document's order, so that sums are reproducible
		if err := l.count(m, le, gap); err != nil {
			return err
		}
	}
	return l.emit(ctx)
}

// meet makes the log that stands for an entry seen for the first time.
func (l *Live) meet(m *fiojson.Document, e *fiojson.Entry, k key, at int64) *entry {
	name := e.JobName
	if k.nth > 0 {
		name = fmt.Sprintf("%s.%d", name, k.nth+1)
	}
	le := &entry{counters: counters{at: at - e.LongestMS*msec}, log: intervals.Member{
		Log: &pipeline.Log{Log: &ingest.Log{
			Source: &ingest.Source{Path: m.Path, Base: m.Path, Name: ingest.Name{Prefix: e.JobName, Hist: true,
				Host: e.Host}, Host: k.host},
			Host: k.host, Job: e.JobName, LogName: name,
		}, Geometry: fiohist.Fio3, StartHow: "fio's status"},
	}}
	l.entries[k] = le
	l.logs = append(l.logs, le)
	return le
}

// join begins the run, or adds new entries to it.
func (l *Live) join(m *fiojson.Document) {
	if l.run == nil {
		l.begin(m)
	}
	for _, le := range l.entries {
		if le.align == nil {
			le.log.Start = le.at - l.run.Start
			le.log.Open = intervals.Open{First: l.merge.Done}
			le.align = intervals.NewAligner(&l.grid, false, fiohist.Fio3, l.run.Geometry, &le.log.Open)
		}
	}
	slices.SortStableFunc(l.logs, func(a, b *entry) int { return a.log.Compare(b.log.Log) })
	l.run.Logs = l.run.Logs[:0:0]
	members := make([]*intervals.Member, len(l.logs))
	for i, le := range l.logs {
		l.run.Logs = append(l.run.Logs, le.log.Log)
		members[i] = &le.log
	}
	l.merge.Join(members)
}

// begin determines what must be known before the first interval.
func (l *Live) begin(m *fiojson.Document) {
	start := int64(math.MaxInt64)
	for _, le := range l.entries {
		start = min(start, le.at)
	}
	run := &pipeline.Run{
		ID: l.cfg.RunID, Name: l.cfg.RunName, Part: l.cfg.Part, Labels: l.cfg.Labels,
		Start: start, StartKnown: true, StartHow: "fio's status: its time less the runtime",
		Interval: int64(l.cfg.Settings.Interval), Geometry: fiohist.Fio3, Kind: l.cfg.Settings.Kind,
		Percentiles: l.cfg.Settings.Percentiles, Settings: l.cfg.Settings, Metas: []*fiojson.Document{m}, Live: true,
	}
	run.Escape()
	if s := l.cfg.Settings.Start; s != "" {
		if t, err := time.Parse(time.RFC3339Nano, s); err == nil { // the flags have checked it
			run.Start, run.StartHow = t.UnixNano(), "--start"
		}
	}
	run.Geometry.Coarseness = max(l.cfg.Settings.Coarseness, 0)
	if run.ID == "" {
		run.ID = pipeline.Digest([]any{"live", m.Version, m.Global, start, l.cfg.Host})
	}
	if of := l.cfg.Of; of != nil {
		run.ID, run.Name, run.Start, run.StartHow = of.ID, of.Name, of.Start, of.StartHow
	}
	run.Generation = pipeline.LiveGeneration(run)
	l.run, l.grid = run, intervals.NewGrid(run)
	l.grid.First = l.grid.Index(start - run.Start)
	run.FirstInterval = l.grid.Start(l.grid.First)
	l.merge = intervals.New(run, &l.grid, nil, l.sink, 1, false)
}

// keepTime notes the distance to the last document. It reports whether that is a gap: more than one and a half steps.
func (l *Live) keepTime(at int64) (gap bool) {
	if l.heard > 0 && at > l.heard {
		step := at - l.heard
		gap = len(l.steps) > 0 && 2*step > 3*int64(l.step())
		if gap {
			l.Missed++
		} else {
			l.steps = append(l.steps, step)
			l.steps = l.steps[max(len(l.steps)-5, 0):]
		}
	}
	l.heard = max(l.heard, at)
	return gap
}

// count takes what an entry counted since the previous document. gap is whether documents are missing before this one.
func (l *Live) count(m *fiojson.Document, le *entry, gap bool) error {
	log := &le.log
	now, agree, err := readCounters(m, log.Entry, l.run)
	if err != nil {
		return err
	}
	some, reset := now.fell(&le.counters, int64(l.step()))
	if (some || !agree) && !reset { // a document with a wrong number
		le.damaged++
		if le.damaged <= damagedDocuments {
			l.warn("job %q at %s: the bins of this status document contradict its totals or the previous "+
				"document; its I/Os are counted with the next one",
				fio.Printable(log.Entry.JobName), time.Unix(0, now.at).UTC().Format(time.RFC3339))
			return nil
		}
		l.warn("job %q: its bins still contradict earlier documents; only increases are counted",
			fio.Printable(log.Entry.JobName))
	}
	le.damaged = 0
	from := le.at
	if reset {
		l.restarted(le, &now)
		from = max(from, now.start())
	}
	for d := range log.DirInfo {
		t, info := &log.Entry.Dirs[d].Kind[l.run.Kind], &log.DirInfo[d]
		info.Limits = le.before[d].Widen(fiohist.Limits{Min: t.Min, Max: t.Max, Known: t.N > 0})
		info.KnownIdle = t.N == 0
	}
	if le.sum() == 0 && !reset { // a ramp is no run time, and fio counts from its end on
		begin := now.at
		if now.sum() > 0 {
			begin -= now.runtime * msec
		}
		if v, _ := m.Option(log.Entry, "ramp_time"); v != "" && v != "0" && begin > l.run.Start+log.Start {
			log.Start, from = begin-l.run.Start, max(from, begin)
		}
	}
	var s stall
	asked := le.at + (now.runtime-le.runtime)*msec
	if gap && !reset && 2*(now.at-asked) > int64(l.step()) {
		s = le.stalled(&now, asked, now.at-asked)
	}
	// What comes too late for its intervals goes into the first that is still open.
	if err := l.place(m, le, &now, max(from, l.run.Start+l.grid.Start(l.merge.Done)), s); err != nil {
		return err
	}
	log.EndSoFar = math.MaxInt64
	if now.runtime == le.runtime && now.at > le.at { // it has ended, or has not begun
		log.EndSoFar = min(le.end, le.at-l.run.Start)
		if le.runtime == 0 {
			log.Start = now.at - l.run.Start
		}
	}
	le.ran()
	if now.at > le.at && !gap {
		le.rate = (now.sum() - le.sum()) / float64(now.at-le.at)
	}
	le.counters = now
	return nil
}

// ran publishes when the directions ran, as far as is known.
func (le *entry) ran() {
	for d := range le.log.DirInfo {
		info := &le.log.DirInfo[d]
		info.From, info.To, info.Until, info.IOs = le.log.Start, le.log.EndSoFar, le.log.EndSoFar, le.ios[d]
	}
	le.log.Publish()
}

// restarted notes that now are the counters of a new fio, which began at 0.
func (l *Live) restarted(le *entry, now *counters) {
	l.Restarts++
	le.restarted = true // the JSON's totals are of the new one alone
	l.warn("job %q: fio's counters were reset at %s (fio restarted); its I/Os are added",
		fio.Printable(le.log.Entry.JobName), time.Unix(0, now.at).UTC().Format(time.RFC3339))
	le.bins = [fio.Directions][]uint64{}
	for d := range le.before {
		le.before[d] = le.log.DirInfo[d].Limits
	}
}

// place distributes what is new in now over the time from from, in ns since 1970, until now.
func (l *Live) place(m *fiojson.Document, le *entry, now *counters, from int64, s stall) error {
	start, to := l.run.Start, max(now.at, from+msec)
	for d := range fio.Direction(fio.Directions) {
		c := now.since(&le.counters, d)
		if len(c.Count) == 0 {
			continue
		}
		le.log.DirInfo[d].HasIO = true
		le.records++
		le.ios[d] += c.Sum()
		if last := len(c.Index) - 1; int(c.Index[last]) == fiohist.Fio3.Last() {
			le.last += c.Count[last]
		}
		before, after := &c, new(fiohist.Sparse)
		until := to
		if s.share > 0 && s.asked > from {
			before, after = s.split(&c)
			until = s.asked
		}
		err := le.align.Add(intervals.Piece{Start: from - start, End: until - start}, before, d)
		if err == nil {
			err = le.align.Add(intervals.Piece{Start: to - msec - start, End: to - start}, after, d)
		}
		if err != nil {
			return &fio.ParseError{File: m.Path, Msg: err.Error()}
		}
		le.end = max(le.end, to-start)
	}
	return nil
}

// damagedDocuments is how many documents in a row are left out because their bins contradict their own totals or the
// document before. After that, what they have more is counted.
const damagedDocuments = 3

// emit passes on the intervals that all entries have passed. An entry not heard of for ten steps no longer holds them
// up.
func (l *Live) emit(ctx context.Context) error {
	mark := l.heard
	for _, le := range l.entries {
		if l.heard-le.at < 10*max(int64(l.step()), l.grid.Interval) {
			mark = min(mark, le.at)
		}
	}
	to := l.grid.Index(mark - l.run.Start)
	if to <= l.merge.Done {
		return nil
	}
	return l.merge.Emit(ctx, l.merge.Cut(to))
}

// End passes on the rest, and ends the run.
func (l *Live) End(ctx context.Context) (*pipeline.Summary, error) {
	if l.run == nil {
		return nil, &fio.ParseError{File: "input", Msg: "no status document of fio in it",
			Hint: "run fio with --status-interval=1 --output-format=json+"}
	}
	to := l.merge.Done
	for _, le := range l.logs {
		le.log.EndSoFar = min(le.log.EndSoFar, le.end)
		le.ran()
		to = max(to, le.log.Open.End())
	}
	l.run.Metas = []*fiojson.Document{l.logs[0].log.Meta}
	if err := l.merge.Emit(ctx, l.merge.Cut(to)); err != nil {
		return nil, err
	}
	if l.Missed > 0 {
		l.warn("status documents were late or missing %d times; their I/Os are spread evenly over the time since the "+
			"document before, or until fio asked a stalled job", l.Missed)
	}
	if len(l.steps) == 0 && to > l.grid.First+1 {
		l.warn("there is a single status document: its I/Os are spread evenly over the run; run fio with " +
			"--status-interval=1, or pass its logs to fiolat ingest")
	}
	a := &l.account
	counts := make([]pipeline.LogCount, len(l.logs))
	logs := make([]*pipeline.Log, len(l.logs))
	for i, le := range l.logs {
		logs[i], le.log.End, le.log.Dirs = le.log.Log, le.end, le.log.DirInfo
		counts[i] = pipeline.LogCount{Meta: le.log.Meta, Entry: le.log.Entry, IOs: le.ios}
		if le.restarted {
			counts[i].Entry = nil
		}
		a.Logs++
		a.Records += le.records
		for _, ios := range le.ios {
			a.Logged += ios
		}
		a.LastBucket += le.last
	}
	pipeline.SetBytes(logs, func(l *pipeline.Log) *fiojson.Entry { return l.Entry })
	a.Compare(l.run, counts, func(*fiojson.Entry, fio.Direction) (restored, lost float64) { return 0, 0 }, l.warn)
	pipeline.MixedTotals(l.run, counts, l.warn)
	if a.Logged > 1<<53 {
		l.warn("fio counted more than 2^53 I/Os, beyond which sums are not exact")
	}
	a.Placed = l.merge.Placed()
	if err := a.Balance(); err != nil {
		return nil, err
	}
	s := l.merge.Summary()
	s.Account = *a
	return s, l.sink.End(ctx, s)
}

// minLive is how many intervals a run that is followed live may have without asking: a new fio may
// append to the stream of one that ended a while before.
const minLive = 3600

// allow calls intervals.CheckIntervals before I/Os are distributed over the intervals up to a time, in ns since 1970.
// What has been passed on counts as part of the run's length.
func (l *Live) allow(at int64) error {
	return intervals.CheckIntervals(&l.cfg.Allow, l.grid.Index(at-l.run.Start)+1-l.grid.First, func() int64 {
		longest := int64(0)
		for _, le := range l.entries {
			longest = max(longest, le.log.Entry.LongestMS*msec)
		}
		return max(longest/l.grid.Interval+1, l.merge.Done-l.grid.First, minLive/intervals.MaxIntervalsFactor)
	})
}
