package logs

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
)

// tail is what fio counted in one direction of one entry of its JSON and no log holds: fio never writes the last,
// partial window. If the logs prove that they lost records, it is lost instead of restored.
type tail struct {
	meta    *fiojson.Document
	entry   *fiojson.Entry
	dir     fio.Direction
	members []*member        // the logs that the entry stands for, sorted
	g       fiohist.Geometry // the finest that all of these logs can be added up on
	done    bool
	// disowned is set where a log of the entry holds garbage: what fio counted and no log holds is then lost.
	disowned bool
	counts   fiohist.Sparse // what was restored
	lost     fiohist.Sparse // what cannot be placed in time
	why      string         // the proof of the loss
}

// member is a log of a tail, with where the log's part of it can be.
type member struct {
	*State
	d *direction
	// The direction began and ended then, by its own options before until, and what no record of the log holds
	// completed in (from, to]; ns on the run's clock.
	start, end, until, from, to int64
	weight                      float64 // its share of the tail, beside the others'
	rate                        float64 // I/Os per ns, relative to the others' if none is known
	limit                       int64   // the option runtime in ns, if it ends the direction; else 0
	sized                       bool    // the size of its job tells its share
	capped                      bool    // or only that it can have no more
	most                        float64 // I/Os that it can have in the tail by its size; -1: any number
	mixed                       bool    // that size is of both directions
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
		coarser := t.coarser(l.State)
		l.dirs[t.dir].sums.Each(func(b int, n float64) { left[b>>coarser] -= n })
	}
	t.counts.Reset()
	for b, n := range left {
		switch {
		case n < 0 && t.disowned: // the garbage
		case n < 0:
			return fmt.Sprintf("%s: fio's JSON and the logs do not belong together: of job %q's %vs around %.0f ns "+
				"the logs hold %.0f, fio counted %d; nothing was restored",
				fio.Printable(t.meta.Path), t.entry.JobName, t.dir, t.g.Middle(b), float64(bins[b])-n, bins[b]), nil
		case n > 0:
			t.counts.Add(uint16(b), n)
		}
	}
	return "", nil
}

// olderJSON returns that the log goes on after the time that fio's JSON counts; nil if it does not.
func (l *State) olderJSON() *fio.ParseError {
	if l.Entry == nil || l.Entry.LongestMS <= 0 || l.now+l.shift-l.Start <= (l.Entry.LongestMS+1000)*msec {
		return nil
	}
	return l.at(0, fmt.Sprintf("fio's JSON is older: it counts %d ms of job %q, and the log goes on after that",
		l.Entry.LongestMS, l.Entry.JobName), "was fio killed under --status-interval? give the JSON of its end with "+
		"--fio-json, if there is one")
}

// Contradiction returns why the log contradicts fio's JSON; nil if it does not.
func (l *State) Contradiction() *fio.ParseError {
	if older := l.olderJSON(); l.Outside != nil && older != nil {
		return older
	}
	return l.Outside
}

// whole reports whether there is only fio's JSON: all I/Os are in the tail.
func (t *tail) whole() bool { return t.members[0].Source.JSON != nil }

// totals are what fio counted. Histogram logs are of clat; where there is only fio's JSON, it may be of any kind.
func (t *tail) totals() *fiojson.Totals {
	return &t.entry.Dirs[t.dir].Kind[t.members[0].cfg.Settings.Kind]
}

// counted returns fio's counts on the geometry g. They are read when needed: those of all jobs together may be large.
func (t *tail) counted() ([]uint64, error) {
	counts, err := t.totals().Counts(t.g)
	if err != nil {
		return nil, t.members[0].at(0, err.Error(),
			"give the JSON of this very run with --fio-json, or pass --no-restore")
	}
	return counts, nil
}

// coarser returns by how many bits the tail's geometry is coarser than the log's.
func (t *tail) coarser(l *State) int { return t.g.Coarseness - l.g.Coarseness }

// locate finds where each log's part of the tail is: after its last stamp, in the window that was open at the end of
// the job. What completed later would have written a record. Logs share by the lengths of these times, and their rates.
func (t *tail) locate() {
	if m := t.members[0]; t.whole() {
		m.times(t)
		m.from, m.to, m.weight = m.start, max(m.end, m.start+msec), 1
		return
	}
	shortest := t.totals().Min
	if len(t.counts.Index) > 0 {
		shortest = max(shortest, t.g.Lower(int(t.counts.Index[0])))
	}
	seen := slices.ContainsFunc(t.members, func(m *member) bool { return m.d.seen })
	rates, known := 0.0, 0.0
	reached, wanted := 1.0, 0.0 // which part of their rates those with records reached
	for _, m := range t.members {
		m.times(t)
		w := &m.d.win
		if m.d.seen {
			m.from, m.to = m.d.last*msec+m.shift, min(m.until, w.b+(w.n+1)*w.h+m.shift)
			m.rate = m.d.ios / float64(max(m.from-m.shift-w.b, msec))
			rates, known, m.weight = rates+m.rate, known+1, 1
			if own := m.job.RateIOPS(t.dir) / 1e9; own > 0 {
				reached = min((reached*wanted+m.rate)/(wanted+own), 1)
				wanted += own
			}
			continue
		}
		m.from = m.start
		if _, ramp := m.job.Set("ramp_time"); !ramp {
			m.from += shortest
		}
		h := m.length()
		m.to, m.weight = min(m.until, m.from+h), 1
		least := m.until // or earlier, whatever the group's longest I/O took
		if m.limit > 0 {
			least = min(least, m.start+m.limit)
		}
		if seen && least-m.from > h+slack && !t.only(m) || !m.job.Does(t.dir) {
			m.weight = 0
		}
	}
	for _, m := range t.members {
		m.to = max(m.to, m.from+msec)
		if !m.d.seen {
			m.rate = 1
			if known > 0 {
				m.rate = rates / known // like the others
			}
			if own := m.job.RateIOPS(t.dir); own > 0 && (known > 0 || t.allRated()) {
				m.rate = own / 1e9 * reached
			}
		}
		m.weight *= m.rate * float64(m.to-m.from)
	}
	left := t.bySize()
	t.byBytes()
	// What those that ended by their size did not do is the others', first of all that of logs without a record.
	total, rest, unlogged := 0.0, 0.0, 0.0
	for _, m := range t.members {
		if m.sized {
			continue
		}
		total += m.weight
		rest++
		if t.unlogged(m) {
			unlogged++
		}
	}
	slowed := 1.0 // by how much the last to end was slower than its rate
	if known == 0 && t.allRated() && t.allMembers(func(m *member) bool { return m.sized }) {
		least := math.Inf(1)
		for _, m := range t.members {
			if n := m.weight * t.counts.Sum(); n > 0 {
				least = min(least, float64(max(m.until-m.from, msec))*m.rate/n)
			}
		}
		slowed = max(least, 1)
		if math.IsInf(least, 1) {
			slowed = 1
		}
	}
	for _, m := range t.members {
		_, verify := m.job.Set("verify") // it goes on with reads
		ended := m.sized
		switch {
		case m.sized:
		case total > 0:
			m.weight *= left / total
			ended = verify && rest == 1 && t.dir == fio.Write
		case left > 0 && t.unlogged(m):
			m.weight = left / unlogged
		case left > 0 && unlogged == 0: // nothing says where
			m.from, m.to, m.weight = m.start, max(m.end, m.start+msec), left/rest
		}
		if ended && (known > 0 || t.allRated()) { // when it had done them
			m.to = min(m.to, m.from+max(int64(slowed*m.weight*t.counts.Sum()/m.rate), msec))
		}
	}
}

// guessed reports whether nothing tells how much of the tail a log has.
func (m *member) guessed() bool { return m.weight > 0 && (!m.sized || m.capped) }

// split reports whether what tells how much of the tail a log has is of both directions.
func (m *member) split() bool { return m.weight > 0 && m.sized && !m.capped && m.mixed }

// unlogged reports whether a job can do I/O in the direction, and its log has no record of it.
func (t *tail) unlogged(m *member) bool { return !m.d.seen && m.job.Does(t.dir) }

// only reports whether a log has no record of any direction: all that its job did is missing.
func (t *tail) only(m *member) bool {
	for d := range m.dirs {
		if m.dirs[d].seen {
			return false
		}
	}
	return m.job.Does(t.dir)
}

// allRated reports whether all logs of the tail are of jobs with a rate.
func (t *tail) allRated() bool {
	return t.allMembers(func(m *member) bool { return m.job.RateIOPS(t.dir) > 0 })
}

// bySize sets the weights of logs of a group whose jobs ended by their size or number of I/Os: what these did is known,
// and of those that a runtime may have ended before, the most. It returns the weight that is left for the others.
func (t *tail) bySize() (left float64) {
	missing := t.counts.Sum()
	if len(t.members) == 1 || missing == 0 || t.failed() {
		return 1
	}
	sum, certain, mixed, open := 0.0, 0.0, 0.0, false
	for _, m := range t.members {
		if m.weight == 0 {
			continue
		}
		if !m.mostLeft(t.dir) {
			return 1 // the log is not of this job
		}
		open = open || m.most < 0
		if m.most < 0 {
			continue
		}
		if m.mixed {
			mixed += m.most
		}
		_, otherwise := m.job.Set("runtime", "steadystate", "ss", "exitall")
		room := 1.5*m.rate*float64(m.length()) + float64(m.job.Depth()) + 5
		m.sized = !otherwise && (!m.d.seen || m.most <= room)
		sum += m.most
		if m.sized {
			certain += m.most
		}
	}
	switch all := !open && sum > 0 && (mixed > 0 || math.Abs(sum-missing) < 0.5); {
	case all: // which part of a mix is of the direction is a guess: it is scaled to fio's count
		scale := (missing - (sum - mixed)) / mixed
		for _, m := range t.members {
			switch m.sized = true; {
			case mixed == 0 || scale <= 0:
				m.most *= missing / sum
			case m.mixed:
				m.most *= scale
			}
		}
		certain = missing
	case certain > missing+0.5:
		certain = 0
		for _, m := range t.members {
			m.sized = false
		}
	}
	others := 0.0
	for _, m := range t.members {
		if m.sized {
			m.weight = m.most / missing
		} else {
			others += m.weight
		}
	}
	return t.cap(1-certain/missing, others, open)
}

// mostLeft sets how many I/Os the job can have done besides those in its log, by its size or number of I/Os; -1 if
// these do not tell. ok is false if the log has more.
func (m *member) mostLeft(dir fio.Direction) (ok bool) {
	n, mix := m.job.Ends(dir)
	m.most = -1
	if n == 0 {
		return true
	}
	m.mixed = mix
	const some = 100 // I/Os that tell the mix
	done, part := m.d.ios, 1.0
	if mix {
		done = 0
		for d := range m.dirs {
			done += m.dirs[d].ios
		}
		part = m.job.Mix(dir)
		if done >= some {
			part = m.d.ios / done
		}
	}
	m.most = (n - done) * part
	return m.most >= 0
}

// cap shares the weight that is left among logs whose number of I/Os is not known, by their weights, but to none more
// than its most. It returns what is left for those without one.
func (t *tail) cap(left, others float64, open bool) float64 {
	missing := t.counts.Sum()
	over := func(m *member) bool {
		return open && !m.sized && m.most >= 0 && m.weight*left*missing > m.most*others
	}
	for i := slices.IndexFunc(t.members, over); i >= 0; i = slices.IndexFunc(t.members, over) {
		m := t.members[i]
		others -= m.weight
		m.weight, m.sized, m.capped = m.most/missing, true, true
		left -= m.weight
	}
	return max(left, 0)
}

// byBytes scales the weights of logs of a group whose I/Os have two sizes: fio's bytes tell how many are of which.
func (t *tail) byBytes() {
	totals, missing := &t.entry.Dirs[t.dir], t.counts.Sum()
	var sizes, logged, weights []float64
	of := make([]int, len(t.members))
	for i, m := range t.members {
		of[i] = -1
		if m.d.ios == 0 && !m.job.Does(t.dir) {
			continue
		}
		size, fixed := m.job.BlockSize(t.dir)
		if !fixed || !m.job.Sure || m.sized {
			return
		}
		of[i] = slices.Index(sizes, size)
		if of[i] < 0 {
			of[i] = len(sizes)
			sizes, logged, weights = append(sizes, size), append(logged, 0), append(weights, 0)
		}
		logged[of[i]] += m.d.ios
		weights[of[i]] += m.weight
	}
	n := float64(totals.Kind[fio.Clat].N)
	if len(sizes) != 2 || missing == 0 || logged[0]+logged[1]+missing != n {
		return
	}
	first := (n*sizes[1] - float64(totals.Bytes)) / (sizes[1] - sizes[0])
	left := []float64{first - logged[0], n - first - logged[1]}
	if first != math.Round(first) || min(left[0], left[1]) < 0 || left[0] > 0 && weights[0] == 0 ||
		left[1] > 0 && weights[1] == 0 {
		return // I/Os that were cut short, or failed
	}
	for i, m := range t.members {
		if k := of[i]; k >= 0 && weights[k] > 0 {
			m.weight *= left[k] / missing / weights[k]
		}
	}
}

// times sets when the direction began and ended: fio's JSON has its runtime. To verify, fio reads after the writes, and
// job_runtime, which is the sum over the threads, has both.
func (m *member) times(t *tail) {
	m.start = m.Start + m.phase(t.dir)
	runtime := t.entry.Dirs[t.dir].RuntimeMS
	_, verify := m.job.Set("verify")
	if verify && !(t.dir == fio.Write && m.job.ReadsAfterWrites()) {
		runtime = max(runtime, t.entry.LongestMS)
		if len(t.members) == 1 {
			runtime = max(runtime, t.entry.RuntimeMS)
		}
	}
	m.end = max(m.Start+runtime*msec, m.start)
	m.until = m.end
	// fio issues nothing after the option runtime. In a group, its JSON has the last section's option only.
	option, _ := m.job.Set("runtime")
	limit, err := jobfile.ParseDuration(option)
	top := len(t.counts.Index) - 1
	if verify || err != nil || limit <= 0 || top < 0 || int(t.counts.Index[top]) == t.g.Last() ||
		m.Section == nil && (m.Members > 1 || len(m.Entry.Sections) > 1 || m.Entry.Unlike > 0) {
		return
	}
	longest := t.g.Upper(int(t.counts.Index[top]))
	if most := t.totals().Max; most > 0 {
		longest = min(longest, most)
	}
	m.limit = int64(limit)
	m.until = min(m.end, m.start+m.limit+longest+msec)
}

// WholeEnd returns when the entry of a source of fio's JSON ended, in ns on the run's clock.
func (l *State) WholeEnd() (end int64) {
	for d := range l.dirs {
		t := &tail{entry: l.Entry, dir: fio.Direction(d), members: []*member{{State: l, d: &l.dirs[d]}}}
		t.locate()
		end = max(end, t.members[0].to)
	}
	return end
}

// lose turns what is missing into a loss, and returns the warning of it, which names the logs.
func (t *tail) lose(why string, logs []*member) string {
	for _, m := range t.members {
		from := m.start
		switch {
		case m.Members > len(t.members):
		case m.d.headless && m.d.win.lossLine == 0:
			m.d.win.hole(m.start-m.shift, m.d.win.b)
			fallthrough
		default:
			if m.d.seen {
				from = m.d.last*msec + m.shift
			}
		}
		m.d.win.hole(from-m.shift, max(m.end, from+msec)-m.shift)
	}
	t.lost, t.why, t.counts = t.counts, why, fiohist.Sparse{}
	names := make([]string, len(logs))
	for i, m := range logs {
		names[i] = fio.Printable(m.Source.Path)
	}
	return fmt.Sprintf("%s: %.0f of the %d %ss of job %q are lost, and in no interval: %s",
		fio.Some(names), t.lost.Sum(), t.totals().N, t.dir, t.entry.JobName, why)
}

// lossAt returns what was lost, on a geometry that is coarser by so many bits; false if nothing was.
func (t *tail) lossAt(coarser int) (pipeline.Loss, bool) {
	first := t.members[0]
	out := pipeline.Loss{Job: first.Job, Host: first.Host, Direction: t.dir.String(), IOs: t.lost.Sum(), Why: t.why}
	var at fiohist.Hist
	at.AddAll(t.lost.Index, t.lost.Count, coarser)
	out.Index, out.Count = at.Sparse(nil, nil)
	for _, l := range t.members {
		out.Logs, out.Until = append(out.Logs, l.LogName), max(out.Until, l.end)
		if l.Job != out.Job {
			out.Job = ""
		}
	}
	return out, out.IOs > 0
}

// restore adds the tail to the intervals of the entry's logs, which go on until their jobs end. (When a job of a group
// ended is not known, unless all of them are alike or it is the last.)
func (t *tail) restore() error {
	latest := slices.MaxFunc(t.members, func(a, b *member) int { return cmp.Compare(a.from, b.from) }).from
	shares := t.shares()
	// Of a single one, its share is what the others leave.
	open := len(t.membersWhere(func(m *member) bool { return m.guessed() || m.split() }))
	for i, m := range t.members {
		if t.lost.Sum() == 0 && (m.from == latest || m.job.Sure && m.Section == nil) {
			m.Reached = max(m.Reached, m.end)
			info := &m.DirInfo[t.dir]
			info.To = max(info.To, info.From+t.entry.Dirs[t.dir].RuntimeMS*msec)
		}
		if m.weight == 0 || len(t.counts.Count) == 0 {
			continue
		}
		share := t.counts
		if len(t.members) > 1 {
			share = t.counts.Clone()
			share.Count = shares[i]
			t.cut(m, &share)
			for b := range share.Index {
				// On a finer geometry, the bucket in the middle: all are added up on t.g or a coarser one.
				share.Index[b] = share.Index[b]<<t.coarser(m.State) + 1<<t.coarser(m.State)>>1
			}
		}
		pieces := []portion{{start: m.from, end: m.to, counts: &share}}
		if b := m.d.win.bursts; b != nil && m.d.seen && len(t.members) == 1 && m.Members == 1 {
			var in []portion
			end := max(min(b.next(int64(share.Sum())), m.end-m.shift), b.at+msec)
			if b.place(end, &share, func(p portion) {
				part := p.counts.Clone()
				in = append(in, portion{start: p.start + m.shift, end: p.end + m.shift, counts: &part})
			}) {
				pieces = in
			}
		}
		m.reach(t.dir, pieces[len(pieces)-1].end)
		m.DirInfo[t.dir].HasIO = true
		m.DirInfo[t.dir].IOs += share.Sum()
		if len(t.members) > 1 {
			m.DirInfo[t.dir].Restored += share.Sum()
			switch {
			case open > 1 && m.guessed():
				m.DirInfo[t.dir].Guessed += share.Sum()
			case open > 1 && m.split():
				m.DirInfo[t.dir].Split += share.Sum()
			}
		}
		if n := len(t.counts.Index) - 1; int(t.counts.Index[n]) == t.g.Last() {
			m.lastBucket += share.Count[n]
		}
		for _, p := range pieces {
			if err := m.align.Add(intervals.Piece{Start: p.start, End: p.end}, p.counts, t.dir); err != nil {
				return m.at(0, "the tail cannot be restored: "+err.Error(), "pass --no-restore")
			}
		}
	}
	return nil
}

// Tails are the tails of all entries and directions of a run.
type Tails []*tail

// ByMeta returns the tails of each JSON document.
func (all Tails) ByMeta() map[*fiojson.Document]Tails {
	of := map[*fiojson.Document]Tails{}
	for _, t := range all {
		of[t.meta] = append(of[t.meta], t)
	}
	return of
}

// Resolve restores the tails of one JSON document, and returns warnings of what is lost. If one does not fit, it
// returns misfits and restores nothing; the document's limits are not to be trusted either.
func (all Tails) Resolve() (restored float64, losses, misfits []string, err error) {
	var mine []*tail
	for _, t := range all {
		if !t.done {
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
		t.locate()
		if why, logs := t.loss(); t.disowned {
			if t.counts.Sum() > 0 {
				losses = append(losses, t.lose("fio --client left garbage in a log of the job", t.members))
			}
		} else if why != "" {
			losses = append(losses, t.lose(why, logs))
		} else {
			losses = append(losses, t.doubts()...)
		}
		if err := t.restore(); err != nil {
			return 0, nil, nil, err
		}
		restored += t.counts.Sum()
	}
	return restored, losses, nil, nil
}

// Reject drops a JSON document that does not belong to its logs, or only an entry of it if that is not nil: its totals
// are not restored, and its limits not applied. What an entry counts more than its logs is lost.
func (all Tails) Reject(meta *fiojson.Document, entry *fiojson.Entry, logs []*State) {
	for _, t := range all {
		if t.meta == meta && (entry == nil || t.entry == entry) {
			t.done, t.disowned = entry == nil, entry != nil
		}
	}
	for _, l := range logs {
		if l.Meta == meta && (entry == nil || l.Entry == entry) {
			l.Outside, l.rejected, l.disowned = nil, true, entry != nil
			for d := range l.DirInfo {
				l.DirInfo[d].Limits.Known, l.DirInfo[d].KnownIdle = false, false
			}
		}
	}
}

// Rejected reports whether fio's JSON turned out to be another run's.
func (l *State) Rejected() bool { return l.rejected }

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
			totals := &l.Entry.Dirs[d].Kind[l.cfg.Settings.Kind]
			if totals.Bins.Len() == 0 {
				continue
			}
			k := key{l.Entry, d}
			t := known[k]
			if t == nil {
				t = &tail{meta: l.Meta, entry: l.Entry, dir: fio.Direction(d), g: l.g}
				known[k] = t
				all = append(all, t)
			}
			t.members = append(t.members, &member{State: l, d: &l.dirs[d]})
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
