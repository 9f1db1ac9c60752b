package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/analysis/compare"
	"fiolat/analysis/diagnose"
	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/internal/alert"
	"fiolat/internal/metrics"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
	"fiolat/pipeline/live"
	"fiolat/report/render"
)

type liveOptions struct {
	logs   logOptions              // those that it shares with commands that read logs
	es     runsource.Elasticsearch // without addresses documents become files
	config live.Config
	kinds  []fio.Kind
	file   string   // "" and "-": standard input
	fio    []string // the command line of fio if it is to be started
	follow bool     // wait for file to appear and to grow
	rows   string   // "ndjson": write NDJSON to standard output
	yes    bool     // ask for no confirmation
	alerts alertOptions
	export metrics.Config
}

func liveCommand(u *ui.UI) *cli.Command {
	o := &liveOptions{}
	return &cli.Command{
		Name: "live",
		Flags: slices.Concat(selectFlags(o.logs.flags(logFlags{by: "direction,host"}), "accuracy", "percentiles", "by",
			"coarseness", "sla", "fail-on-sla", "run-id", "run-name", "label", "part"), esFlags(&o.es),
			o.alerts.flags(), metricsFlags(&o.export), []cli.Flag{
				&cli.GenericFlag{Name: "interval", Value: parsed(&o.logs.interval, "", asIs),
					Usage: "length of an interval, `DURATION` such as 10s, or auto (default: fio's status interval)"},
				&cli.GenericFlag{Name: "kind", Value: liveKinds(&o.kinds),
					Usage: "`LIST` of kinds of latency: clat, slat, lat"},
				&cli.GenericFlag{Name: "format", Value: liveFormat(&o.rows),
					Usage: "`FORMAT` of rows on standard output: ndjson (default: none)"},
				&cli.BoolFlag{Name: "follow", Destination: &o.follow,
					Usage: "wait for FILE to appear and to grow, until no process has it open for writing"},
				&cli.StringFlag{Name: "host", Destination: &o.config.Host,
					Usage: "`NAME` of the host where fio runs, if its output does not name one"},
				outputFlag(), yesFlag(&o.yes), verboseFlag(),
			}),
		Action: action(u, o),
	}
}

// liveKinds returns the value of live's --kind.
func liveKinds(to *[]fio.Kind) *value {
	v := parsed(to, "", func(text string) (out []fio.Kind, err error) {
		for _, name := range strings.Split(text, ",") {
			k, bad := latency(strings.TrimSpace(name))
			err = cmp.Or(err, bad)
			if !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
		return out, err
	})
	return withDefault("clat", v)
}

// liveFormat returns the value of live's --format.
func liveFormat(to *string) *value {
	v := oneFormat(to, "ndjson")
	v.texts = nil
	return v
}

func (o *liveOptions) check(c *cli.Context, bad *fio.Faults) {
	args := c.Args().Slice()
	if len(args) > 0 && args[0] == "--" {
		if len(args) == 1 {
			bad.Add(fio.Usagef("fiolat live --: name fio and its arguments"))
			return
		}
		o.fio, args = args[1:], nil
	}
	if len(args) > 0 {
		o.file = args[0]
	}
	stdin := o.file == "" || o.file == "-"
	if info, err := os.Stat(o.file); err == nil && info.IsDir() {
		bad.Add(fio.Usagef("fiolat live: %[1]s is a directory: fiolat percentiles %[1]s reads it; to start fio: fiolat "+
			"live [flags] -- fio ARGS...", fio.Printable(o.file)))
	}
	if len(args) > 1 {
		bad.Add(fio.Usagef("fiolat live reads one FILE; to start fio: fiolat live [flags] -- fio ARGS..."))
	}
	if o.fio == nil && stdin && ui.IsTerminal(c.App.Reader) {
		bad.Add(fio.Usagef("fiolat live: nothing to read; name a FILE, or start fio: fiolat live [flags] -- fio " +
			"ARGS..."))
	}
	if o.follow && stdin {
		bad.Add(fio.Usagef("--follow: name the FILE that fio writes"))
	}
	o.logs.shared(c, 100*time.Millisecond, bad)
	logs, cfg := &o.logs.Config, &o.config
	cfg.RunID, cfg.RunName, cfg.Part, cfg.Labels, cfg.Patience = logs.RunID, logs.RunName, logs.Part, logs.Labels, 2
	cfg.Settings = logs.Settings
	cfg.Settings.Grid = fio.GridEpoch // as for ingest --part, so that parts of ingest and of live can be merged
	checkES(c, &o.es, bad)
	bad.Add(esmodel.CheckLabels(cfg.Labels))
	if o.fio != nil {
		o.startsFio(bad)
	}
	o.alerts.check(c, "sla", bad)
}

// startsFio completes the options if fio is to be started.
func (o *liveOptions) startsFio(bad *fio.Faults) {
	cfg := &o.config
	var err error
	if cfg.Host == "" {
		cfg.Host, err = os.Hostname()
		bad.Add(err)
	}
	var step time.Duration
	o.fio, step, err = fioCommand(o.fio, cfg.Settings.Interval)
	bad.Add(err)
	if cfg.Settings.Interval == 0 && o.logs.Config.Accuracy == 0 {
		cfg.Settings.Interval = wholeSeconds(step)
	}
}

// liveSession follows one stream.
type liveSession struct {
	u      *ui.UI
	o      *liveOptions
	cfg    live.Config
	kinds  []fio.Kind
	auto   float64 // the accuracy for --interval auto, 0 without it
	client *client.Client
	alerts *alert.Dispatcher
	export *metrics.Exporter // nil: none

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

// run follows fio to its end. The error is fio's if fio failed.
func (o *liveOptions) run(ctx context.Context, u *ui.UI) (err error) {
	u.OnUnread(nil) // end as after other errors
	s := &liveSession{u: u, o: o, cfg: o.config, kinds: o.kinds, auto: o.logs.Config.Accuracy}
	s.cfg.Warn, s.cfg.Allow = u.Warn, runsource.ConfirmIntervals(u, o.yes)
	if s.alerts, err = startAlerts(o.alerts.Config, u); err != nil {
		return err
	}
	o.export.Warn = u.Warn
	if s.export, err = metrics.New(o.export); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.export.Close()) }()
	if len(o.es.Addresses) > 0 {
		if s.client, err = o.es.Connect(u); err != nil {
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
	if err != nil && o.fio != nil && ctx.Err() == nil {
		u.Say("warning", "%v; fio goes on without fiolat", err)
	}
	err = errors.Join(s.finish(work, err), src.close())
	return errors.Join(err, reportLost(u, s.alerts, alertWait))
}

// wholeSeconds returns the interval for a status interval: whole seconds, at least one.
func wholeSeconds(d time.Duration) time.Duration { return max(d.Round(time.Second), time.Second) }

// tick is how often follow checks whether a document is overdue.
const tick = 20 * time.Millisecond

// grace is how long an interrupted fio may take to print its last document.
const grace = 4 * time.Second

// liveItem is a status document, or why one is lost.
type liveItem struct {
	document *fiojson.Document
	lost     error
}

// follow reads the source to its end. An error means that this is not the end of the run.
func (s *liveSession) follow(ctx, work context.Context, src *liveSource) error {
	found := make(chan liveItem, 4)
	quit := make(chan struct{})
	defer close(quit)
	give := func(i liveItem) error {
		select {
		case found <- i:
			return nil
		case <-quit: // follow has returned; nothing must be printed any more
			return fio.ErrInterrupted
		}
	}
	var read error // of the reader; valid once found is closed
	go func() {
		defer close(found)
		_, read = fiojson.Each(src, src.name, func(m *fiojson.Document) error { return give(liveItem{document: m}) },
			func(err error) { _ = give(liveItem{lost: err}) })
	}()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	stop := ctx.Done()
	var late <-chan time.Time
	for { //nolint:endless // until the stream ends
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
				var nothing *fio.ParseError // a cut document was reported already
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
func (s *liveSession) take(ctx context.Context, m *fiojson.Document) error {
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
func (s *liveSession) snapshot(ctx context.Context, m *fiojson.Document) error {
	for _, r := range s.runs {
		if err := r.Snapshot(ctx, m); err != nil {
			return err
		}
	}
	if slices.Contains(s.kinds, fio.Sync) {
		return nil
	}
	before := s.before
	s.before = m
	if !m.HasSyncs() {
		return nil
	}
	r, err := s.run(fio.Sync, false)
	if err != nil {
		return err
	}
	s.before, s.runs, s.kinds = nil, append(s.runs, r), append(slices.Clip(s.kinds), fio.Sync)
	if before != nil {
		if err = r.Snapshot(ctx, before); err != nil {
			return err
		}
	}
	return r.Snapshot(ctx, m)
}

// begin decides the interval, and passes on the documents held until then.
func (s *liveSession) begin(ctx context.Context) error {
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
		set.Interval = wholeSeconds(time.Duration(stampMS(s.held[len(s.held)-1])-stampMS(s.held[0])) * time.Millisecond)
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
func (s *liveSession) choose(ctx context.Context) error {
	cfg := s.cfg
	chooser, err := intervals.NewChooser(&cfg.Settings, s.auto)
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
func (s *liveSession) run(kind fio.Kind, first bool) (*liveRun, error) {
	prefix := s.o.es.Prefix
	cfg := s.cfg
	cfg.Settings.Kind = kind
	w, err := writerTo(&s.o.es, s.client, true)
	if err != nil {
		return nil, err
	}
	var out sinks
	if kind != fio.Sync {
		out.noise = new(compare.Series)
	}
	if kind != fio.Sync && cfg.Part == "" {
		out.diagnosis = withoutEvents{new(diagnose.Full)} // without Reread: a stream cannot be read twice
	}
	ofSyncs := func(rule fio.SLARule) bool { return rule.Direction == fio.Sync.String() }
	rules := slices.Clone(cfg.Settings.SLA)
	switch {
	case first:
		cfg.Settings.SLA = slices.DeleteFunc(rules, ofSyncs)
		s.view = newLiveView(s.u)
		out.watchers = append(out.watchers, s.view)
	case kind == fio.Sync:
		cfg.Of = s.runs[0].Run()
		cfg.Settings.SLA = slices.DeleteFunc(rules, func(rule fio.SLARule) bool { return !ofSyncs(rule) })
		out.watchers = append(out.watchers, &syncView{view: s.view})
	default:
		cfg.Settings.SLA = nil
	}
	if !first {
		cfg.Warn, cfg.Allow = nil, nil // once is enough
	}
	if s.alerts != nil && (first || kind == fio.Sync) {
		out.watchers = append(out.watchers, &alertSink{u: s.u, prefix: prefix, to: s.alerts})
	}
	if s.o.rows != "" {
		out.watchers = append(out.watchers,
			&lineFlusher{Renderer: render.New(render.Options{Format: "ndjson"}, bufio.NewWriter(s.u.Stdout))})
	}
	if s.export != nil {
		out.watchers = append(out.watchers, s.export.Sink())
	}
	sink := out.chain(w, delivery.SinkOptions{Prefix: prefix})
	if kind != fio.Sync {
		sink = diagnose.NewLive(sink)
	}
	r := &liveRun{sink: out.documents}
	r.Live, err = live.New(cfg, sink)
	return r, err
}

// withoutEvents is a diagnosis whose stragglers were stored while the run went on.
type withoutEvents struct{ *diagnose.Full }

func (withoutEvents) Events() []pipeline.Straggler { return nil }

// silent warns if no document has come for too long.
func (s *liveSession) silent(ctx context.Context) error {
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
func (s *liveSession) finish(ctx context.Context, why error) error {
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
			if s.kinds[i] == fio.Sync {
				s.u.Say("info", "syncs:")
			}
			err = printOutcome(&s.o.es, s.u, false, run, r.end, report, err)
		}
		for _, f := range report.Files {
			s.u.Say("info", "  %s", f)
		}
		if err == nil && r.end.Account.Placed == 0 {
			s.u.Say("warning", "fio has no %v latencies: run it with %v_percentiles=1", s.kinds[i], s.kinds[i])
		}
		if err == nil && (i == 0 || s.kinds[i] == fio.Sync) {
			err = failOnSLA(s.o.logs.FailOnSLA, r.end)
		}
		if why == nil || i == 0 { // it is the same for all kinds
			errs = append(errs, err)
		}
	}
	if len(s.runs) == 0 {
		return why
	}
	if !slices.Contains(s.kinds, fio.Sync) {
		for _, rule := range s.cfg.Settings.SLA {
			if rule.Direction == fio.Sync.String() {
				s.u.Say("warning", "no job has synced: %s is not judged", rule.Text)
			}
		}
	}
	return errors.Join(errs...)
}

// lineFlusher is a renderer that flushes after each interval.
type lineFlusher struct{ *render.Renderer }

func (f *lineFlusher) Interval(ctx context.Context, q *pipeline.Interval) error {
	if err := f.Renderer.Interval(ctx, q); err != nil {
		return err
	}
	return f.Flush()
}

func (f *lineFlusher) Late(ctx context.Context, q *pipeline.Interval) error {
	return f.Interval(ctx, q)
}

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

func (a *alertSink) Interval(_ context.Context, q *pipeline.Interval) error {
	age := time.Since(time.Unix(0, a.run.Start+q.Offset+a.run.Interval))
	var news alerts
	for i := range q.Changes {
		if q.Changes[i].Alerted || a.tooOld(age) {
			continue
		}
		id, doc, err := a.enc.Event(q, &q.Changes[i])
		if err != nil {
			return err
		}
		news.add(fmt.Sprint("breach ", q.Changes[i].Breach), finding{id, q.Changes[i].String(), doc})
	}
	for i := range q.Stragglers {
		if s := &q.Stragglers[i]; !a.tooOld(age) {
			id, doc := a.enc.Straggler(s)
			news.add("stragglers", finding{id, s.Text, doc})
		}
	}
	news.raise(a.to)
	return nil
}

// tooOld reports whether events of this age are not sent any more.
func (a *alertSink) tooOld(age time.Duration) bool {
	if age <= max(time.Minute, 10*time.Duration(a.run.Interval)) {
		return false
	}
	a.past++
	if a.past == 1 {
		a.u.Say("info", "breaches and recoveries that are over for a minute and more are not alerted")
	}
	return true
}

func (a *alertSink) Early(ctx context.Context, q *pipeline.Interval) error { return a.Interval(ctx, q) }
