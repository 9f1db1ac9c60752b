package pipeline

import (
	"cmp"
	"fmt"
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
	// Hosts, Jobs and Directions are those that are kept; an empty list keeps all.
	Hosts, Jobs, Directions []string
	// From is the first moment that is kept, To the first one after those; nil is the run's own start or end.
	From, To *Moment
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
	return len(p.Hosts)+len(p.Jobs)+len(p.Directions) == 0 && !p.Timed()
}

// String is what is selected, in words: "host h3, read, from 5s to 10s".
func (p *Pick) String() string {
	var parts []string
	for _, of := range []struct {
		name   string
		values []string
	}{{"host ", p.Hosts}, {"job ", p.Jobs}, {"", p.Directions}} {
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

// Holds reports whether the I/Os of a direction, host and job are kept.
func (p *Pick) Holds(host, job, direction string) bool {
	return holds(p.Hosts, host) && holds(p.Jobs, job) && holds(p.Directions, direction)
}

// HoldsDirection reports whether I/Os of a direction are kept.
func (p *Pick) HoldsDirection(direction string) bool { return holds(p.Directions, direction) }

func holds(wanted []string, v string) bool { return len(wanted) == 0 || slices.Contains(wanted, v) }

// Metas returns fio's JSON documents with only the jobs that are kept. Entries without a host are kept for any host.
func (p *Pick) Metas(metas []*fiojson.Document) (out []*fiojson.Document) {
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
	for _, dim := range []struct {
		name   string
		wanted []string
		of     func(*Log) string
	}{
		{fio.ByHost, p.Hosts, func(l *Log) string { return l.Host }},
		{fio.ByJob, p.Jobs, func(l *Log) string { return l.Job }},
	} {
		if err := r.has(dim.name, dim.wanted, dim.of); err != nil {
			return err
		}
	}
	if r.Timeless() {
		r.Metas = p.Metas(r.Metas)
	} else {
		r.Metas = p.metas(r.Metas, p.cut)
	}
	return nil
}

func (r *Run) has(name string, wanted []string, of func(*Log) string) error {
	var there []string
	for _, l := range r.Logs {
		if v := of(l); v != "" && !slices.Contains(there, v) {
			there = append(there, v)
		}
	}
	for _, v := range wanted {
		if slices.Contains(there, v) {
			continue
		}
		has := "does not know its " + name + "s"
		if len(there) > 0 {
			slices.Sort(there)
			has = fmt.Sprintf("has the %ss %s", name, strings.Join(there, ", "))
			if len(there) == 1 {
				has = fmt.Sprintf("has the %s %s only", name, there[0])
			}
		}
		return fio.Usagef("--only %s=%s: %s %s", name, fio.Printable(v), r.title(), fio.Printable(has))
	}
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
