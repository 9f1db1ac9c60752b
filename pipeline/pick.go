package pipeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"fiolat/ingest/fiojson"
	"fiolat/internal/errs"
)

// Pick is the part of a run that is looked at; the zero value is all of it. What it leaves out is counted in
// Account.PickedAway.
type Pick struct {
	// Hosts, Jobs and Directions are those that are kept; none are all.
	Hosts, Jobs, Directions []string
	// From is the first moment that is kept, To the first one behind it; nil is the run's own.
	From, To *Moment
}

// Moment is a time: since the start of the run, or by the clock.
type Moment struct {
	Since time.Duration
	At    time.Time // of the clock, if it is not zero
	// Text is how it was given.
	Text string
}

// Empty says that all of the run is looked at.
func (p *Pick) Empty() bool {
	return len(p.Hosts)+len(p.Jobs)+len(p.Directions) == 0 && !p.Timed()
}

// Timed says that only a part of the run's time is looked at.
func (p *Pick) Timed() bool { return p.From != nil || p.To != nil }

// Holds says whether the I/Os of a direction, host and job are kept.
func (p *Pick) Holds(host, job, direction string) bool {
	return holds(p.Hosts, host) && holds(p.Jobs, job) && holds(p.Directions, direction)
}

// HoldsDirection says whether I/Os of a direction are kept.
func (p *Pick) HoldsDirection(direction string) bool { return holds(p.Directions, direction) }

func holds(wanted []string, v string) bool { return len(wanted) == 0 || slices.Contains(wanted, v) }

// Metas are fio's JSON documents with the jobs that are kept.
func (p *Pick) Metas(metas []*fiojson.Document) (out []*fiojson.Document) {
	if len(p.Hosts)+len(p.Jobs) == 0 {
		return metas
	}
	for _, m := range metas {
		kept := *m
		kept.Entries = nil
		for i := range m.Entries {
			if e := &m.Entries[i]; (e.Host == "" || holds(p.Hosts, e.Host)) && holds(p.Jobs, e.JobName) {
				kept.Entries = append(kept.Entries, *e)
			}
		}
		out = append(out, &kept)
	}
	return out
}

// Window is the time of a run that is looked at: [From, To), in ns from Run.Start.
type Window struct{ From, To int64 }

// Clip is the part of [start, end) that lies in the window; it is empty if start is not before end.
func (w Window) Clip(start, end int64) (int64, int64) { return max(start, w.From), min(end, w.To) }

// Share is that part, from 0 to 1: of I/Os that completed evenly in [start, end), as many are kept.
func (w Window) Share(start, end int64) float64 {
	from, to := w.Clip(start, end)
	return float64(max(to-from, 0)) / float64(end-start)
}

// Choose has only a part of the run looked at. It is an error of usage if the run does not have what is picked, or if
// nothing says when it started and the clock is asked for.
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
			return errs.Usagef("%s %s: nothing says when %s started; count from its start, such as %s 3m, or pass "+
				"--start TIME", m.flag, m.moment.Text, r.title(), m.flag)
		default:
			*m.at = m.moment.At.UnixNano() - r.Start
		}
	}
	if r.Window.From >= r.Window.To {
		return errs.Usagef("--from %s is not before --to %s", p.From.Text, p.To.Text)
	}
	for _, dim := range []struct {
		name   string
		wanted []string
		of     func(*Log) string
	}{
		{"host", p.Hosts, func(l *Log) string { return l.Host }},
		{"job", p.Jobs, func(l *Log) string { return l.Job }},
	} {
		if err := r.has(dim.name, dim.wanted, dim.of); err != nil {
			return err
		}
	}
	r.Metas = p.Metas(r.Metas)
	return nil
}

// has is an error if the run does not have one of the hosts or jobs that are wanted.
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
		return errs.Usagef("--only %s=%s: %s %s", name, errs.Printable(v), r.title(), errs.Printable(has))
	}
	return nil
}

// title is how the run is called in an error.
func (r *Run) title() string {
	name := cmp.Or(r.Name, r.ID)
	if name == "" {
		return "the run"
	}
	return "the run " + errs.Printable(name)
}

// leastEven is the shortest interval that EvenInterval returns: stamps resolve a millisecond.
const leastEven = int64(10 * time.Millisecond)

// EvenInterval is the longest divisor of an interval, in ns, by which the edges of the window are edges of quanta on
// the run's own grid; the interval itself if there is none of some length.
func (r *Run) EvenInterval(interval int64) int64 {
	even := interval
	for _, at := range []int64{r.Window.From, r.Window.To} {
		if at == math.MinInt64 || at == math.MaxInt64 || r.Settings.Grid == "epoch" || r.Pick.Empty() {
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

// NothingLeft is the error that no quantum of the run, which ends at `end`, lies in the window.
func (r *Run) NothingLeft(end int64) error {
	if r.Window.From > 0 {
		return errs.Usagef("--from %s: %s ends %v after its start", r.Pick.From.Text, r.title(), time.Duration(end))
	}
	return errs.Usagef("--to %s: %s had not begun then", r.Pick.To.Text, r.title())
}
