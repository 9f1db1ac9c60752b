package logs

import (
	"fmt"
	"math"
	"slices"
	"time"

	"fiolat/fio"
)

// What fio counted and no log holds completed in the windows that were open at the end, unless that is impossible. Each
// proof below returns why it is, and of which logs; "" if an intact run may look so. See docs/log-format.md.
var proofs = []func(*tail) (why string, logs []*member){
	(*tail).threadsWithoutLog,
	(*tail).unrepairable,
	(*tail).passedWindow,
	(*tail).singleFirst,
	(*tail).skippedLines,
	(*tail).closedAll,
	(*tail).longerThanWindow,
	(*tail).tooManyForRate,
}

// Each note returns what is unlikely about the I/Os that are restored, and of which log; "" if nothing is.
var notes = []func(*tail) (what string, of *member){
	(*tail).headCounted,
	(*tail).muchRestored,
	(*tail).silentBefore,
	(*tail).silentAfter,
}

const slack = 5 * msec // fio cuts stamps and runtimes to whole ms, and takes a moment between the two

// loss returns the proof that the logs lost records, and which logs those are; "" if there is none.
func (t *tail) loss() (why string, logs []*member) {
	if t.counts.Sum() > 0 && !t.whole() {
		for _, proof := range proofs {
			why, logs = proof(t)
			if why != "" {
				return why, logs
			}
		}
	}
	return "", nil
}

// doubts returns that the direction ran for much longer than its job, else the first note, as a warning.
func (t *tail) doubts() []string {
	for _, m := range t.members {
		if over := time.Duration(m.end - m.until).Round(time.Second); over > time.Minute {
			return []string{fmt.Sprintf("%s: fio's JSON has the %ss of job %q end %v after the job's runtime and "+
				"their longest latency: rates over the whole run are too low; is it the JSON of these logs?",
				fio.Printable(m.Source.Path), t.dir, t.entry.JobName, over)}
		}
	}
	if t.whole() {
		return nil
	}
	for _, note := range notes {
		if what, m := note(t); what != "" {
			return []string{fmt.Sprintf("%s: of the %ss of job %q, %s; is the log whole?",
				fio.Printable(m.Source.Path), t.dir, t.entry.JobName, what)}
		}
	}
	return nil
}

func (t *tail) threadsWithoutLog() (string, []*member) {
	threads := t.members[0].Members
	if threads <= len(t.members) {
		return "", nil
	}
	return fmt.Sprintf("the job has %d threads, of which %d have a log here", threads, len(t.members)), t.members
}

func (t *tail) unrepairable() (string, []*member) {
	logs := t.membersWhere(func(m *member) bool { return m.d.verdict.unrepairableLine > 0 })
	if len(logs) == 0 {
		return "", nil
	}
	return fmt.Sprintf("fio --client damaged them; records before line %d, needed for the repair, are lost",
		logs[0].d.verdict.unrepairableLine), logs
}

func (t *tail) passedWindow() (string, []*member) {
	logs := t.membersWhere(func(m *member) bool { return m.d.win.lossLine > 0 })
	if len(logs) == 0 {
		return "", nil
	}
	return fmt.Sprintf("line %d has more I/Os than its window can hold: records before it are lost",
		logs[0].d.win.lossLine), logs[:1]
}

// singleFirst: a first window holds the I/O that opened it and the one that closed it.
func (t *tail) singleFirst() (string, []*member) {
	logs := t.membersWhere(func(m *member) bool { return m.d.win.firstHasOneIO && !m.d.verdict.repair && m.windowed() })
	if len(logs) == 0 {
		return "", nil
	}
	logs[0].d.headless = true
	return fmt.Sprintf("line %d, the first record of its %ss, has one I/O, but a first window holds at least two: its "+
		"head is lost", logs[0].d.win.line, t.dir), logs[:1]
}

func (t *tail) skippedLines() (string, []*member) {
	logs := t.membersWhere(func(m *member) bool { return m.Lines > 0 })
	if len(logs) == 0 || t.counts.Sum() <= t.fullest() {
		return "", nil
	}
	return fmt.Sprintf("%d of its lines were skipped", logs[0].Lines), logs[:1]
}

func (t *tail) closedAll() (string, []*member) {
	if !t.allMembers(func(m *member) bool { return m.windowed() && m.d.seen && m.closeTime() <= m.d.last*msec }) {
		return "", nil
	}
	return "its next window was over at the last stamp, so the next I/O would have been logged: its end is lost",
		t.hiders()[:1]
}

// longerThanWindow leaves out the I/Os that may have been in flight when the open windows began: the longest ones, as
// many as the depths. All others began and ended within the windows (Little's law).
func (t *tail) longerThanWindow() (string, []*member) {
	if !t.allMembers(func(m *member) bool { return m.windowed() && m.job.Depth() > 0 && m.alone() }) {
		return "", nil
	}
	logs := t.hiders()
	inFlight, room, widest := 0.0, 0.0, int64(0)
	for _, m := range logs {
		depth := float64(m.job.Depth())
		inFlight += depth
		if _, ramp := m.job.Set("ramp_time"); ramp && !m.d.seen {
			inFlight += depth
		}
		room += depth * float64(m.openSince()+slack)
		widest = max(widest, m.openSince()+slack)
	}
	took, longest := 0.0, int64(0)
	for i := len(t.counts.Index) - 1; i >= 0; i-- {
		n := t.counts.Count[i]
		before := min(n, inFlight)
		inFlight -= before
		n -= before
		if n > 0 {
			lower := t.g.Lower(int(t.counts.Index[i]))
			took += n * float64(lower)
			longest = max(longest, lower)
		}
	}
	switch {
	case longest > widest:
		return fmt.Sprintf("an I/O of %d ms does not fit into the %d ms that its last window was open",
			longest/msec, widest/msec), logs
	case took > 1.02*room:
		return fmt.Sprintf("I/Os of %.0f ms together do not fit into its last window, which has room for %.0f ms",
			took/float64(msec), room/float64(msec)), logs
	}
	return "", nil
}

// alone reports whether the log is of one thread: with per_job_logs=0 all threads have one.
func (m *member) alone() bool {
	n, several := m.job.Set("numjobs")
	return m.Source.Name.Job > 0 || (!several || n == "1") && len(m.Entry.Sections) < 2 && m.Entry.Unlike == 0
}

func (t *tail) tooManyForRate() (string, []*member) {
	allowed := 0.0
	if !t.allMembers(func(m *member) bool {
		rate := m.job.RateIOPS(t.dir)
		_, unsteady := m.job.Set("ramp_time", "verify", "rate_cycle")
		if rate <= 0 || unsteady || !m.windowed() || !m.startKnown() || m.job.Depth() == 0 || !m.alone() {
			return false
		}
		until := m.end
		if m.d.seen {
			until = min(until, m.closeTime()+m.shift)
		} else if !t.pauses() { // its only window begins once it is behind its rate by no more than an I/O takes
			until = min(until, m.start+t.explained(m)+m.length())
		}
		allowed += t.allowed(m, until-m.start)
		return true
	}) {
		return "", nil
	}
	counted := t.entry.Dirs[t.dir].Kind[fio.Clat].N
	if float64(counted) <= 1.01*allowed {
		return "", nil
	}
	return fmt.Sprintf("rate_iops lets %.0f I/Os through until its last window ends, fio counted %d", allowed, counted),
		t.hiders()
}

// allowed returns how many I/Os the rate_iops of a log's job, which is above 0, lets through in so many ns, at most: a
// full queue and one I/O at each end more than the rate, and 5 standard deviations where its times are random.
func (t *tail) allowed(m *member, ns int64) float64 {
	n := m.job.RateIOPS(t.dir) * float64(ns) / 1e9
	most := n + float64(m.job.Depth()+2)
	if m.job.Poisson() {
		most += 5*math.Sqrt(n) + 5
	}
	return most
}

// headCounted: over fio --client h(n) + h(n-1) is all that completed until then, so the first two records also hold
// what lost ones before them held.
func (t *tail) headCounted() (string, *member) {
	for _, m := range t.members {
		d := m.d
		if !d.verdict.repair || !d.seen || !m.windowed() || !m.startKnown() || t.lost.Sum() > 0 {
			continue
		}
		if d.win.lossLine > 0 {
			return fmt.Sprintf("records before line %d are lost, and their I/Os are counted in the two behind them, "+
				"up to %.0f in one", d.win.lossLine, d.restMax), m
		}
		full := d.records <= 2 || d.firstTwoMax > 1.3*d.restMax
		// A job is behind its rate by no more than what explains a pause.
		most := t.allowed(m, t.explained(m)+2*d.win.h+d.win.pause)
		if m.job.RateIOPS(t.dir) > 0 && !t.pauses() && d.firstTwoSum > 1.01*most {
			d.win.hole(m.start-m.shift, d.win.b)
			return fmt.Sprintf("records before its first are lost, and their I/Os are counted in its first two, which "+
				"hold %.0f, where rate_iops lets %.0f through", d.firstTwoSum, most), m
		}
		if before := m.firstWindowEnd(); full && !t.pauses() && t.silent(m, before) {
			return fmt.Sprintf("the first window begins %d ms after the job, and the first two records hold %.0f I/Os",
				before/msec, d.firstTwoSum), m
		}
	}
	return "", nil
}

func (t *tail) muchRestored() (string, *member) {
	missing, records, likely := t.counts.Sum(), int64(0), 0.0
	if missing == 0 || !t.allMembers(func(m *member) bool {
		fullest := m.d.fullest()
		records = max(records, m.d.records)
		likely += 2 * (fullest + float64(m.job.Depth()))
		if m.d.win.h > 0 {
			likely += fullest * float64(m.d.win.pause/m.d.win.h)
		}
		return m.windowed() && m.d.seen && m.job.Depth() > 0
	}) || records < 3 || missing <= likely {
		return "", nil
	}
	return fmt.Sprintf("%.0f are restored after the last record, more than twice what the fullest record holds",
		missing), t.hiders()[0]
}

func (t *tail) silentBefore() (string, *member) {
	if m := t.members[0]; t.unexpected() && m.d.seen && t.silent(m, m.firstWindowEnd()) {
		return fmt.Sprintf("%.0f are restored after the last record, and the first window begins only %d ms after the "+
			"job", t.counts.Sum(), m.firstWindowEnd()/msec), m
	}
	return "", nil
}

func (t *tail) silentAfter() (string, *member) {
	m := t.members[0]
	if !t.unexpected() {
		return "", nil
	}
	after := m.end - m.start - m.d.win.h
	if m.d.seen {
		after = m.end - max(m.closeTime(), m.d.last*msec) - m.shift
	}
	if !t.silent(m, after) || !m.d.seen && after <= 2*t.explained(m) {
		return "", nil
	}
	return fmt.Sprintf("%.0f are restored after the last record, and fio went on for %d ms after that window",
		t.counts.Sum(), after/msec), m
}

// unexpected reports whether one log lacks more than its fullest record and its depth, and its pauses are known.
func (t *tail) unexpected() bool {
	m := t.members[0]
	return len(t.members) == 1 && m.windowed() && m.startKnown() && m.job.Depth() > 0 && !t.pauses() &&
		t.counts.Sum() > m.d.fullest()+float64(m.job.Depth())
}

// pauses reports whether the job may have done nothing for an unknown time.
func (t *tail) pauses() bool {
	return t.failed() || slices.ContainsFunc(t.members, func(m *member) bool {
		_, paused := m.job.Set("end_fsync", "fsync_on_close", "read_iolog", "flow", "verify")
		return paused
	})
}

// failed reports whether I/Os of the job failed: these are in no latency.
func (t *tail) failed() bool { return t.entry.Error != 0 || t.entry.Errors != 0 }

// silent reports whether ns without I/O at an end of the log are unlikely.
func (t *tail) silent(m *member, ns int64) bool { return ns > m.d.win.h && ns > t.explained(m) }

// explained returns for how many ns the job is likely to complete nothing: its thinktime, its longest I/O of any kind,
// its rate, and three times what records came late beyond these.
func (t *tail) explained(m *member) int64 {
	ns := t.entry.Sync.Max
	for d := range t.entry.Dirs {
		for k := range t.entry.Dirs[d].Kind {
			if totals := &t.entry.Dirs[d].Kind[k]; totals.N > 0 {
				ns = max(ns, min(totals.Max, int64(time.Hour)))
			}
		}
	}
	ns += m.job.Think()
	if rate := m.job.RateIOPS(t.dir); rate > 0 {
		ns += int64(1e9 / rate)
	}
	return ns + 3*max(m.d.win.pause-ns, 0) + max(m.d.win.h/2, 500*msec)
}

// firstWindowEnd returns the time from the start of the direction to its first window.
func (m *member) firstWindowEnd() int64 { return m.d.win.b + m.shift - m.start }

// windowed reports whether the length of the log's windows is known, and none of its lines is missing.
func (m *member) windowed() bool { return m.d.win.exact && m.Lines == 0 }

// closeTime returns the latest that the boundary of the window that is open at the end can be, on the log's clock.
func (m *member) closeTime() int64 { return m.d.win.passed(m.d.win.n) }

// openSince returns for how long the window that is open at the end can have been open.
func (m *member) openSince() int64 {
	if !m.d.seen {
		return min(m.d.win.h, m.end-m.start+slack)
	}
	until := m.closeTime()
	if m.startKnown() {
		until = min(until, m.end-m.shift+slack)
	}
	return max(until-m.d.last*msec, 0)
}

// fullest returns the I/Os of the direction's fullest record.
func (d *direction) fullest() float64 { return max(d.firstTwoMax, d.restMax) }

func (t *tail) fullest() (ios float64) {
	for _, m := range t.members {
		ios += m.d.fullest()
	}
	return ios
}

// membersWhere returns the logs that f holds for.
func (t *tail) membersWhere(f func(*member) bool) (out []*member) {
	for _, m := range t.members {
		if f(m) {
			out = append(out, m)
		}
	}
	return out
}

// hiders returns the logs whose jobs do I/O in the tail's direction.
func (t *tail) hiders() []*member {
	return t.membersWhere(func(m *member) bool { return m.d.seen || m.job.Does(t.dir) })
}

// allMembers reports whether f holds for all of these.
func (t *tail) allMembers(f func(*member) bool) bool {
	logs := t.hiders()
	return len(logs) > 0 && !slices.ContainsFunc(logs, func(m *member) bool { return !f(m) })
}

// startKnown reports whether the log's clock is known to the millisecond.
func (l *State) startKnown() bool { return !l.Absolute || l.Log.Log.Start.Absolute > 0 }
