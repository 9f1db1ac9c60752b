package pipeline

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
)

// Pick selects the part of a run to look at; the zero value selects all of it. What it leaves out
// is counted in Account.PickedAway.
type Pick struct {
	// Hosts, Jobs, Logs and Directions are those that are kept; an empty list keeps all. Until a run has chosen, all
	// but the directions may be patterns: see takes.
	Hosts, Jobs, Logs, Directions []string
	// From is the first moment that is kept, To the first one after those; nil is the run's own start or end.
	From, To *Moment
	// words are what the user wrote, once the lists are those of a run.
	words string
}

// Moment is a time since the start of the run, or on the wall clock.
type Moment struct {
	Since time.Duration
	At    time.Time // on the wall clock, if not zero
	// Text is how the user wrote it.
	Text string
}

// Empty reports whether all of the run is selected.
func (p *Pick) Empty() bool {
	return len(p.Hosts)+len(p.Jobs)+len(p.Logs)+len(p.Directions) == 0 && !p.Timed()
}

// String is what is selected, in words: "host h3, read, from 5s to 10s".
func (p *Pick) String() string {
	if p.words != "" {
		return p.words
	}
	var parts []string
	for _, of := range []struct {
		name   string
		values []string
	}{{"host ", p.Hosts}, {"job ", p.Jobs}, {"log ", p.Logs}, {"", p.Directions}} {
		if len(of.values) > 0 {
			parts = append(parts, of.name+strings.Join(of.values, " and "))
		}
	}
	var time []string
	if p.From != nil {
		time = append(time, "from "+p.From.Text)
	}
	if p.To != nil {
		time = append(time, "to "+p.To.Text)
	}
	if len(time) > 0 {
		parts = append(parts, strings.Join(time, " "))
	}
	return strings.Join(parts, ", ")
}

// Timed reports whether only a part of the run's time is selected.
func (p *Pick) Timed() bool { return p.From != nil || p.To != nil }

// NeedsLogs reports whether what is selected is only known from logs: fio's JSON has neither them nor times.
func (p *Pick) NeedsLogs() bool { return p.Timed() || len(p.Logs) > 0 }

// Holds reports whether the I/Os of a host, job, log and direction are kept.
func (p *Pick) Holds(of fio.Dims) bool {
	return holds(p.Hosts, of.Host) && holds(p.Jobs, of.Job) && holds(p.Logs, of.Log) && p.HoldsDirection(of.Direction)
}

// HoldsLoss reports whether lost I/Os are all of what is kept.
func (p *Pick) HoldsLoss(l *Loss) bool {
	of := fio.Dims{Host: l.Host, Job: l.Job, Direction: l.Direction}
	for _, log := range l.Logs {
		of.Log = log
		if !p.Holds(of) {
			return false
		}
	}
	return p.Holds(of)
}

// HoldsLog reports whether a log's I/Os in a direction are kept.
func (p *Pick) HoldsLog(l *Log, direction string) bool {
	of := *l.Dims()
	of.Direction = direction
	return p.Holds(of)
}

// HoldsDirection reports whether I/Os of a direction are kept.
func (p *Pick) HoldsDirection(direction string) bool { return holds(p.Directions, direction) }

func holds(wanted []string, v string) bool { return len(wanted) == 0 || slices.Contains(wanted, v) }

// Metas returns fio's JSON documents with only the jobs that are kept. Entries without a host are kept for any host.
func (p *Pick) Metas(metas []*fiojson.Document) (out []*fiojson.Document) {
	if p.words == "" {
		of := *p
		for _, dim := range named {
			list := of.list(dim)
			if taken, _ := takes(*list, namesOf(dim, nil, metas)); len(taken) > 0 { // else no entry has such a name
				*list = taken
			}
		}
		p = &of
	}
	return p.metas(metas, func(e *fiojson.Entry) bool {
		return holds(p.Jobs, e.JobName) || holds(p.Jobs, e.Jobs(func(fiojson.Section) bool { return true }))
	})
}

func (p *Pick) metas(metas []*fiojson.Document, kept func(*fiojson.Entry) bool) (out []*fiojson.Document) {
	if len(p.Hosts)+len(p.Jobs) == 0 {
		return metas
	}
	for _, m := range metas {
		part := *m
		part.Entries = nil
		for i := range m.Entries {
			e := m.Entries[i]
			if e.Host != "" && !holds(p.Hosts, e.Host) {
				continue
			}
			if kept(&e) {
				part.Entries = append(part.Entries, e)
			}
		}
		out = append(out, &part)
	}
	return out
}

// cut reports whether a job of an entry with logs is kept, and removes the sections and syncs of others from it.
func (p *Pick) cut(e *fiojson.Entry) bool {
	if e.NoLog && len(p.Logs) > 0 {
		return false
	}
	if len(p.Jobs) == 0 || len(e.Sections) == 0 || e.NoLog {
		return holds(p.Jobs, e.JobName)
	}
	if !holds(p.Jobs, e.Syncs()) {
		e.Sync = fiojson.Totals{}
	}
	e.Sections = slices.DeleteFunc(slices.Clone(e.Sections), func(s fiojson.Section) bool {
		return !holds(p.Jobs, s.Name)
	})
	return len(e.Sections) > 0
}

// Window is the selected time of a run: [From, To), in ns from Run.Start.
type Window struct{ From, To int64 }

// Clip returns the part of [start, end) that lies in the window; it is empty unless the first result
// is the smaller one.
func (w Window) Clip(start, end int64) (int64, int64) { return max(start, w.From), min(end, w.To) }

// Share returns that part as a fraction, 0 to 1: so many of I/Os that completed evenly in [start, end) are kept.
func (w Window) Share(start, end int64) float64 {
	from, to := w.Clip(start, end)
	return float64(max(to-from, 0)) / float64(end-start)
}

// Choose restricts the run to p. It is a usage error if the run lacks what is picked, if From is not before To, or if p
// has a wall-clock time and the run's start is unknown.
func (r *Run) Choose(p *Pick) error {
	r.Pick = *p
	r.Window = Window{math.MinInt64, math.MaxInt64}
	for _, m := range []struct {
		flag   string
		moment *Moment
		at     *int64
	}{{"--from", p.From, &r.Window.From}, {"--to", p.To, &r.Window.To}} {
		switch {
		case m.moment == nil:
		case m.moment.At.IsZero():
			*m.at = int64(m.moment.Since)
		case !r.StartKnown:
			return fio.Usagef("%s %s: nothing says when %s started; count from its start, such as %s 3m, or pass "+
				"--start TIME", m.flag, m.moment.Text, r.title(), m.flag)
		default:
			*m.at = m.moment.At.UnixNano() - r.Start
		}
	}
	if r.Window.From >= r.Window.To {
		return fio.Usagef("--from %s is not before --to %s", p.From.Text, p.To.Text)
	}
	for _, dim := range named {
		list, names := r.Pick.list(dim), namesOf(dim, r.Logs, r.Metas)
		taken, missed := takes(*list, names)
		switch {
		case len(missed) > 0:
			return r.unknown(dim, missed[0], names)
		case len(taken) == 0 && len(*list) > 0:
			return fio.Usagef("--only %s=%s leaves nothing of %s", dim, fio.Printable(strings.Join(*list, ",")),
				r.title())
		}
		*list = taken
	}
	r.Pick.words = p.String()
	if r.Timeless() {
		r.Metas = r.Pick.Metas(r.Metas)
		return nil
	}
	of := r.Pick
	if len(of.Logs) > 0 { // their entries are those of their hosts and jobs
		of.Hosts, of.Jobs = nil, nil
		for _, l := range r.Logs {
			if holds(r.Pick.Logs, l.LogName) && holds(r.Pick.Hosts, l.Host) && holds(r.Pick.Jobs, l.Job) {
				of.Hosts, of.Jobs = append(of.Hosts, l.Host), append(of.Jobs, l.Job)
			}
		}
	}
	r.Metas = of.metas(r.Metas, of.cut)
	return nil
}

func (r *Run) title() string {
	name := cmp.Or(r.Name, r.ID)
	if name == "" {
		return "the run"
	}
	return "the run " + fio.Printable(name)
}

// leastEven is the shortest divisor that EvenInterval uses: stamps resolve a millisecond.
const leastEven = int64(10 * time.Millisecond)

// EvenInterval returns the longest divisor of interval, in ns, for which the edges of the window are edges of intervals
// on the run's own grid. It returns interval itself if that divisor is below leastEven.
func (r *Run) EvenInterval(interval int64) int64 {
	even := interval
	for _, at := range []int64{r.Window.From, r.Window.To} {
		if at == math.MinInt64 || at == math.MaxInt64 || r.Settings.Grid == fio.GridEpoch || r.Pick.Empty() {
			continue
		}
		for b := at; b != 0; {
			even, b = b, even%b
		}
	}
	if even < 0 {
		even = -even
	}
	if even < leastEven {
		return interval
	}
	return even
}

// NothingLeft returns the error for a window without any interval of the run, which ends at end.
func (r *Run) NothingLeft(end int64) error {
	if r.Pick.To == nil || r.Window.From > 0 {
		return fio.Usagef("--from %s: %s ends %v after its start", r.Pick.From.Text, r.title(), time.Duration(end))
	}
	return fio.Usagef("--to %s: %s had not begun then", r.Pick.To.Text, r.title())
}
