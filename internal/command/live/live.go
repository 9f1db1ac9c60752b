// Package live implements fiolat live: it follows fio while it runs.
package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/fiolog"
	"fiolat/internal/alert"
	"fiolat/internal/command"
	"fiolat/internal/compare"
	"fiolat/internal/diagnose"
	"fiolat/internal/errs"
	"fiolat/internal/render"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/pipeline/live"
	"fiolat/pipeline/quanta"
)

// Options are the options of fiolat live.
type Options struct {
	Elasticsearch command.Elasticsearch // without addresses documents become files
	Config        live.Config
	Kinds         []fiolog.Kind
	Accuracy      float64  // for --interval auto; 0 without it
	File          string   // "" and "-": standard input
	Fio           []string // the command line of fio if it is to be started
	Follow        bool     // wait for File to appear and to grow
	Idle          time.Duration
	Rows          bool // write NDJSON to standard output
	Quiet         bool // no display on a terminal
	FailOnSLA     bool
	Yes           bool // ask for no confirmation
	Alerts        alert.Config
}

// session follows one stream.
type session struct {
	u      *ui.UI
	o      *Options
	cfg    live.Config
	kinds  []fiolog.Kind
	auto   float64 // the accuracy for --interval auto, 0 without it
	client *client.Client
	alerts *alert.Dispatcher

	held   []*fiojson.Document // before the interval is known
	runs   []*liveRun          // by kind; none until then
	before *fiojson.Document   // the latest one, until a job syncs
	view   *liveView
	since  time.Time // when the latest document came
	said   bool      // that the next one is overdue was printed
}

// liveRun is one kind of latency.
type liveRun struct {
	*live.Live
	sink *delivery.Sink
	end  *pipeline.Summary
}

// Run follows fio to its end. The error is fio's if fio failed.
func Run(ctx context.Context, o Options, u *ui.UI) (err error) {
	s := &session{u: u, o: &o, cfg: o.Config, kinds: o.Kinds, auto: o.Accuracy}
	s.cfg.Warn, s.cfg.Allow = u.Warn, command.ConfirmQuanta(u, o.Yes)
	if s.alerts, err = command.StartAlerts(o.Alerts, u); err != nil {
		return err
	}
	if len(o.Elasticsearch.Addresses) > 0 {
		if s.client, err = o.Elasticsearch.Connect(u); err != nil {
			return err
		}
		defer s.client.Close()
	}
	// An interrupt ends the reading. What was read is still processed.
	work := context.WithoutCancel(ctx)
	src, err := s.source(ctx)
	if err != nil {
		return err
	}
	err = s.follow(ctx, work, src)
	if err != nil && o.Fio != nil && ctx.Err() == nil {
		u.Say("warning", "%v; fio goes on without fiolat", err)
	}
	err = errors.Join(s.finish(work, err), src.close())
	return errors.Join(err, command.ReportLost(u, s.alerts, command.AlertWait))
}

// WholeSeconds returns the interval for a status interval: whole seconds, at least one.
func WholeSeconds(d time.Duration) time.Duration { return max(d.Round(time.Second), time.Second) }

// tick is how often follow checks whether a document is overdue.
const tick = 20 * time.Millisecond

// grace is how long an interrupted fio may take to print its last document.
const grace = 4 * time.Second

// item is a status document, or why one is lost.
type item struct {
	document *fiojson.Document
	lost     error
}

// follow reads the source to its end. An error means that this is not the end of the run.
func (s *session) follow(ctx, work context.Context, src *liveSource) error {
	found := make(chan item, 4)
	quit := make(chan struct{})
	defer close(quit)
	give := func(i item) error {
		select {
		case found <- i:
			return nil
		case <-quit: // follow has returned; nothing must be printed any more
			return errs.ErrInterrupted
		}
	}
	var read error // of the reader; valid once found is closed
	go func() {
		defer close(found)
		_, read = fiojson.Each(src, src.name, func(m *fiojson.Document) error { return give(item{document: m}) },
			func(err error) { _ = give(item{lost: err}) })
	}()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	stop := ctx.Done()
	var late <-chan time.Time
	for {
		select {
		case i, more := <-found:
			if !more {
				if err := s.begin(work); err != nil {
					return err
				}
				switch {
				case ctx.Err() != nil && !src.ended():
					return context.Cause(ctx)
				case len(s.runs) == 0:
					return read
				}
				var nothing *errs.ParseError // a cut document was reported already
				if read != nil && !errors.As(read, &nothing) {
					return read
				}
				return nil
			}
			if i.lost != nil {
				s.u.Say("warning", "a status document is lost: %v", i.lost)
				continue
			}
			if err := s.take(work, i.document); err != nil {
				return err
			}
			if len(found) == 0 {
				for _, r := range s.runs {
					if err := r.sink.Push(work); err != nil {
						return err
					}
				}
			}
		case <-ticker.C:
			if src.live && len(found) == 0 {
				if err := s.silent(work); err != nil {
					return err
				}
			}
		case <-stop:
			stop = nil
			late = time.After(grace)
			src.interrupt()
		case <-late:
			return context.Cause(ctx)
		}
	}
}

// take passes on the next document, or holds it until the interval is known.
func (s *session) take(ctx context.Context, m *fiojson.Document) error {
	s.since, s.said = time.Now(), false
	if len(s.runs) > 0 {
		return s.snapshot(ctx, m)
	}
	s.held = append(s.held, m)
	first := s.held[0]
	enough := s.cfg.Settings.Interval > 0 || len(s.held) > 1 && stampMS(m) > stampMS(first)
	if s.auto > 0 {
		enough = stampMS(m)-stampMS(first) >= time.Minute.Milliseconds()
	}
	if !enough {
		return nil
	}
	return s.begin(ctx)
}

// stampMS returns the time of a document in ms.
func stampMS(m *fiojson.Document) int64 {
	at := m.TimestampMS
	for i := range m.Entries {
		at = max(at, m.CountedMS(&m.Entries[i]))
	}
	return at
}

// snapshot passes a document to all kinds. Syncs become a kind with the first document that has any. The document
// before it is passed first, since the syncs have completed between the two.
func (s *session) snapshot(ctx context.Context, m *fiojson.Document) error {
	for _, r := range s.runs {
		if err := r.Snapshot(ctx, m); err != nil {
			return err
		}
	}
	if slices.Contains(s.kinds, fiolog.Sync) {
		return nil
	}
	before := s.before
	if s.before = m; !m.HasSyncs() {
		return nil
	}
	r, err := s.run(fiolog.Sync, false)
	if err != nil {
		return err
	}
	s.before, s.runs, s.kinds = nil, append(s.runs, r), append(slices.Clip(s.kinds), fiolog.Sync)
	if before != nil {
		if err = r.Snapshot(ctx, before); err != nil {
			return err
		}
	}
	return r.Snapshot(ctx, m)
}

// begin decides the interval, and passes on the documents held until then.
func (s *session) begin(ctx context.Context) error {
	if len(s.runs) > 0 || len(s.held) == 0 {
		return nil
	}
	set := &s.cfg.Settings
	switch {
	case s.auto > 0:
		if err := s.choose(ctx); err != nil {
			return err
		}
	case set.Interval == 0:
		set.Interval = WholeSeconds(time.Duration(stampMS(s.held[len(s.held)-1])-stampMS(s.held[0])) * time.Millisecond)
	}
	for i, k := range s.kinds {
		r, err := s.run(k, i == 0)
		if err != nil {
			return err
		}
		s.runs = append(s.runs, r)
	}
	held := s.held
	s.held = nil
	for _, m := range held {
		if err := s.snapshot(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// choose chooses the interval from the documents held.
func (s *session) choose(ctx context.Context) error {
	cfg := s.cfg
	chooser, err := quanta.NewChooser(&cfg.Settings, s.auto)
	if err != nil {
		return err
	}
	if len(s.held) > 1 {
		chooser.Shortest = time.Duration(stampMS(s.held[1])-stampMS(s.held[0])) * time.Millisecond
	}
	cfg.Settings.Interval, cfg.Settings.By, cfg.Settings.SLA, cfg.Settings.Percentiles, cfg.Settings.Kind = time.Second,
		nil, nil, []float64{chooser.Percentile}, s.kinds[0]
	cfg.Warn, cfg.Allow = nil, nil
	l, err := live.New(cfg, chooser)
	for _, m := range s.held {
		if err == nil {
			err = l.Snapshot(ctx, m)
		}
	}
	if err == nil {
		_, err = l.End(ctx)
	}
	if err != nil {
		return err
	}
	choice := chooser.Choose()
	choice.Reason += fmt.Sprintf("; by the first %v",
		(time.Duration(stampMS(s.held[len(s.held)-1])-stampMS(s.held[0])) * time.Millisecond).Round(time.Second))
	s.cfg.Choice, s.cfg.Settings.Interval = choice, choice.Interval
	s.u.Say("info", "interval %v chosen: %s", choice.Interval, choice.Reason)
	return nil
}

// run makes the liveRun of one kind of latency.
func (s *session) run(kind fiolog.Kind, first bool) (*liveRun, error) {
	prefix := s.o.Elasticsearch.Prefix
	cfg := s.cfg
	cfg.Settings.Kind = kind
	w, err := s.o.Elasticsearch.Writer(s.client, true)
	if err != nil {
		return nil, err
	}
	options := delivery.SinkOptions{Prefix: prefix}
	var sinks command.Tee
	if kind != fiolog.Sync {
		noise := new(compare.Series)
		options.Noise, sinks = noise, command.Tee{noise}
	}
	if kind != fiolog.Sync && cfg.Part == "" {
		full := new(diagnose.Full) // without Reread: a stream cannot be read twice
		options.Diagnosis, sinks = eventless{full}, append(sinks, full)
	}
	r := &liveRun{sink: delivery.NewSink(w, options)}
	ofSyncs := func(rule string) bool { return strings.HasPrefix(rule, fiolog.Sync.String()+" ") }
	rules := slices.Clone(cfg.Settings.SLA)
	switch {
	case first:
		cfg.Settings.SLA = slices.DeleteFunc(rules, ofSyncs)
		s.view = newLiveView(s.u, s.o.Quiet)
		sinks = append(sinks, s.view)
	case kind == fiolog.Sync:
		cfg.Of = s.runs[0].Run()
		cfg.Settings.SLA = slices.DeleteFunc(rules, func(rule string) bool { return !ofSyncs(rule) })
		sinks = append(sinks, &syncView{view: s.view})
	default:
		cfg.Settings.SLA = nil
	}
	if !first {
		cfg.Warn, cfg.Allow = nil, nil // once is enough
	}
	if s.alerts != nil && (first || kind == fiolog.Sync) {
		sinks = append(sinks, &alertSink{u: s.u, prefix: prefix, to: s.alerts})
	}
	if s.o.Rows {
		sinks = append(
			sinks,
			&flushed{Renderer: render.New(render.Options{Format: "ndjson"}, bufio.NewWriter(s.u.Stdout))},
		)
	}
	sinks = append(sinks, r.sink)
	var sink pipeline.Sink = sinks
	if kind != fiolog.Sync {
		sink = diagnose.NewLive(sinks)
	}
	r.Live, err = live.New(cfg, sink)
	return r, err
}

// eventless is a diagnosis whose stragglers were stored while the run went on.
type eventless struct{ *diagnose.Full }

func (eventless) Events() []pipeline.Straggler { return nil }

// silent warns if no document has come for too long.
func (s *session) silent(ctx context.Context) error {
	for i, r := range s.runs {
		long := time.Since(s.since)
		overdue, err := r.Silent(ctx, long)
		if err != nil {
			return err
		}
		if i == 0 && overdue && !s.said {
			s.said = true
			s.u.Say("warning", "no status document of fio for %v: a job waits for an I/O, or fio itself is stopped",
				long.Round(100*time.Millisecond))
			if err = r.sink.Push(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish ends all runs. why is the error of follow.
func (s *session) finish(ctx context.Context, why error) error {
	var errs []error
	s.u.Unpaint()
	for i, r := range s.runs {
		err := why
		if err == nil {
			r.end, err = r.End(ctx)
		}
		err = r.sink.Close(ctx, err)
		report := r.sink.Report()
		if run := r.Run(); run != nil {
			if s.kinds[i] == fiolog.Sync {
				s.u.Say("info", "syncs:")
			}
			err = s.o.Elasticsearch.PrintOutcome(s.u, false, run, r.end, report, err)
		}
		for _, f := range report.Files {
			s.u.Say("info", "  %s", f)
		}
		if err == nil && r.end.Account.Placed == 0 {
			s.u.Say("warning", "fio has no %v latencies: run it with %v_percentiles=1", s.kinds[i], s.kinds[i])
		}
		if err == nil && (i == 0 || s.kinds[i] == fiolog.Sync) {
			err = command.FailOnSLA(s.o.FailOnSLA, r.end)
		}
		if why == nil || i == 0 { // it is the same for all kinds
			errs = append(errs, err)
		}
	}
	if len(s.runs) == 0 {
		return why
	}
	if !slices.Contains(s.kinds, fiolog.Sync) {
		for _, rule := range s.cfg.Settings.SLA {
			if strings.HasPrefix(rule, fiolog.Sync.String()+" ") {
				s.u.Say("warning", "no job has synced: %s is not judged", rule)
			}
		}
	}
	return errors.Join(errs...)
}

// flushed is a renderer that flushes after each quantum.
type flushed struct{ *render.Renderer }

func (f *flushed) Quantum(ctx context.Context, q *pipeline.Quantum) error {
	if err := f.Renderer.Quantum(ctx, q); err != nil {
		return err
	}
	return f.Flush()
}

func (f *flushed) Late(ctx context.Context, q *pipeline.Quantum) error { return f.Quantum(ctx, q) }

// alertSink raises alerts for breaches, recoveries and stragglers, but not for old ones, as when a
// stream is read again.
type alertSink struct {
	pipeline.Discard
	u      *ui.UI
	prefix string
	to     *alert.Dispatcher
	run    *pipeline.Run
	enc    *esmodel.Encoder
	past   int
}

func (a *alertSink) Begin(_ context.Context, run *pipeline.Run) error {
	a.run, a.enc = run, esmodel.NewEncoder(a.prefix, run)
	return nil
}

func (a *alertSink) Quantum(_ context.Context, q *pipeline.Quantum) error {
	age := time.Since(time.Unix(0, a.run.Start+q.Offset+a.run.Interval))
	for i := range q.Changes {
		if q.Changes[i].Alerted || a.history(age) {
			continue
		}
		id, doc, err := a.enc.Event(q, &q.Changes[i])
		if err != nil {
			return err
		}
		a.to.Raise(command.AlertOf(id, q.Changes[i].String(), doc))
	}
	for i := range q.Stragglers {
		if s := &q.Stragglers[i]; !a.history(age) {
			id, doc := a.enc.Straggler(s)
			a.to.Raise(command.AlertOf(id, s.Text, doc))
		}
	}
	return nil
}

// history reports whether events of this age are too old to be sent.
func (a *alertSink) history(age time.Duration) bool {
	if age <= max(time.Minute, 10*time.Duration(a.run.Interval)) {
		return false
	}
	if a.past++; a.past == 1 {
		a.u.Say("info", "breaches and recoveries that are over for a minute and more are not alerted")
	}
	return true
}

func (a *alertSink) Early(ctx context.Context, q *pipeline.Quantum) error { return a.Quantum(ctx, q) }
