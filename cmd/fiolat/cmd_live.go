package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/ingest"
	"fiolat/internal/alert"
	"fiolat/pipeline"
)

func liveCommand(u *ui) *cli.Command {
	shared := []string{"accuracy", "percentiles", "by", "coarseness", "sla", "sla-file", "fail-on-sla", "run-id", "run-name", "label", "part"}
	flags := only(logFlags("direction,host"), shared...)
	return &cli.Command{
		Name:      "live",
		Usage:     "percentiles and alerts while fio runs, from its status documents",
		ArgsUsage: "[FILE|-] | -- fio ARGS...",
		Description: "fiolat live --es http://localhost:9200 -- fio job.fio\n" +
			"fio --status-interval=1 --output-format=json+ job.fio | fiolat live --sla 'read p99 < 5ms' -\n" +
			"fiolat live --follow --run-id R --part $(hostname) --es http://es:9200 fio.json\n\n" +
			"Reads what fio prints with --status-interval=S --output-format=json+, or starts fio itself, and indexes each interval as soon as it is complete. " +
			"Its exit code is fio's, if that is not 0.",
		Flags: append(append(append(flags, esFlags()...), alertFlags("breaches and recoveries")...),
			&cli.StringFlag{Name: "interval", Category: catTime, Usage: "length of a quantum: `DURATION` such as 1s, 10s, 1m, or seconds; auto: chosen from the first minute, as for logs, and nothing is shown before (default: the status interval, in whole seconds)"},
			&cli.StringFlag{Name: "kind", Category: catSplit, Value: "clat", Usage: "a `LIST` of clat, slat, lat, side by side; rules and the terminal are about the first (fio has slat and lat with slat_percentiles=1 and lat_percentiles=1)"},
			&cli.StringFlag{Name: "format", Category: catSplit, Usage: "`FORMAT` of rows on standard output: ndjson (default: none)"},
			&cli.BoolFlag{Name: "follow", Category: catInput, Usage: "wait for FILE to appear and to grow, until nobody has it open for writing"},
			&cli.DurationFlag{Name: "idle", Category: catInput, Usage: "with --follow: end when nothing has come for that `DURATION`, whoever has the file open (default: 1m where that cannot be told)"},
			&cli.StringFlag{Name: "host", Category: catInput, Usage: "`NAME` of the host where fio runs, where its output does not say one (default: this one's; with a FILE none)"},
			&cli.BoolFlag{Name: "quiet", Category: catInput, Usage: "a line per interval, also on a terminal"},
			outputFlag(), takeOverFlag(),
		),
		Action: action(u, readLiveOptions, live),
	}
}

// liveOptions are what fiolat live is asked for.
type liveOptions struct {
	Elasticsearch Elasticsearch // without addresses documents become files
	Config        pipeline.LiveConfig
	Kinds         []ingest.Kind
	Accuracy      float64  // for a chosen interval; 0: the interval is not to be chosen
	File          string   // "" and "-": standard input
	Fio           []string // the command line of fio if it is to be started
	Follow        bool     // waits for File to appear and to grow
	Idle          time.Duration
	Rows          bool // writes NDJSON to standard output
	Quiet         bool // paints nothing on a terminal
	FailOnSLA     bool
	Alerts        alert.Config
}

func readLiveOptions(c *cli.Context) (o liveOptions, err error) {
	o = liveOptions{Follow: c.Bool("follow"), Idle: c.Duration("idle"), Rows: c.String("format") == "ndjson",
		Quiet: c.Bool("quiet"), FailOnSLA: c.Bool("fail-on-sla")}
	cfg, set := &o.Config, &o.Config.Settings
	// As ingest has them, so that parts of both kinds can be merged.
	*set = pipeline.Settings{Grid: "epoch", Align: "overlap", RecordTime: "end", Repair: "auto", Restore: true}
	cfg.RunID, cfg.RunName, cfg.Part, cfg.Host, cfg.Patience = c.String("run-id"), c.String("run-name"),
		c.String("part"), c.String("host"), 2
	var bad faults
	args := c.Args().Slice()
	if len(args) > 0 && args[0] == "--" {
		if len(args) == 1 {
			return o, usagef("fiolat live --: name fio and its arguments")
		}
		o.Fio, args = args[1:], nil
	}
	if len(args) > 0 {
		o.File = args[0]
	}
	stdin := o.File == "" || o.File == "-"
	if len(args) > 1 {
		bad.add(usagef("fiolat live reads one FILE; to start fio: fiolat live [flags] -- fio ARGS..."))
	}
	if o.Fio == nil && stdin && isTerminal(c.App.Reader) {
		bad.add(usagef("fiolat live: nothing to read; name a FILE, or start fio: fiolat live [flags] -- fio ARGS..."))
	}
	if o.Follow && stdin {
		bad.add(usagef("--follow: name the FILE that fio writes"))
	}
	set.Interval, o.Accuracy, err = intervalOptions(c, 100*time.Millisecond)
	bad.add(err)
	for _, name := range strings.Split(c.String("kind"), ",") {
		k, e := latency(strings.TrimSpace(name))
		bad.add(e)
		if !slices.Contains(o.Kinds, k) {
			o.Kinds = append(o.Kinds, k)
		}
	}
	set.Percentiles, err = percentileList(c.String("percentiles"))
	bad.add(err)
	set.By, err = byList(c.String("by"))
	bad.add(err)
	if set.Coarseness = c.Int("coarseness"); set.Coarseness < -1 || set.Coarseness > 6 {
		bad.add(usagef("--coarseness %d: want 0 to 6", set.Coarseness))
	}
	set.SLA, err = slaRules(c)
	bad.add(err)
	cfg.Labels, err = pairs("--label", c.StringSlice("label"))
	bad.add(err)
	if cfg.Part != "" && cfg.RunID == "" {
		bad.add(usagef("--part %q: say with --run-id which run it is a part of", cfg.Part))
	}
	if f := c.String("format"); f != "" && f != "ndjson" {
		bad.add(usagef("--format %q: want ndjson", f))
	}
	o.Elasticsearch, err = esOptions(c)
	bad.add(err)
	bad.add(esmodel.CheckLabels(cfg.Labels))
	if cfg.Host == "" && o.Fio != nil {
		cfg.Host, err = os.Hostname()
		bad.add(err)
	}
	if o.Fio != nil {
		var step time.Duration
		o.Fio, step, err = fioCommand(o.Fio, set.Interval)
		bad.add(err)
		if set.Interval == 0 && o.Accuracy == 0 {
			set.Interval = wholeSeconds(step)
		}
	}
	o.Alerts, err = alertOptions(c, len(set.SLA) > 0)
	bad.add(err)
	return o, bad.err()
}

// session follows one stream.
type session struct {
	u      *ui
	o      *liveOptions
	cfg    pipeline.LiveConfig
	kinds  []ingest.Kind
	auto   float64 // the accuracy wanted, 0 if the interval is not to be chosen
	client *esmodel.Client
	alerts *alert.Dispatcher

	held  []*ingest.Meta // before the interval is known
	runs  []*liveRun     // by kind; none before that
	since time.Time      // when the latest document came
	said  bool           // that the next one is overdue
}

// liveRun is one kind of latency.
type liveRun struct {
	*pipeline.Live
	sink *esmodel.Sink
	end  *pipeline.Summary
}

func live(ctx context.Context, o liveOptions, u *ui) (err error) {
	s := &session{u: u, o: &o, cfg: o.Config, kinds: o.Kinds, auto: o.Accuracy}
	s.cfg.Warn = u.warn
	if s.alerts, err = startAlerts(o.Alerts, u); err != nil {
		return err
	}
	if len(o.Elasticsearch.Addresses) > 0 {
		if s.client, err = o.Elasticsearch.Connect(u); err != nil {
			return err
		}
		defer s.client.Close()
	}
	// An interrupt ends the reading. What was read is brought to its end.
	work := context.WithoutCancel(ctx)
	src, err := s.source(ctx)
	if err != nil {
		return err
	}
	err = s.follow(ctx, work, src)
	if err != nil && o.Fio != nil && ctx.Err() == nil {
		u.say("warning", "%v; fio goes on alone", err)
	}
	err = errors.Join(s.conclude(work, err), src.close())
	return errors.Join(err, u.tellLost(s.alerts, alertWait))
}

// wholeSeconds is the interval that a status interval makes, at least a second.
func wholeSeconds(d time.Duration) time.Duration { return max(d.Round(time.Second), time.Second) }

// tick is how often is looked whether a document is overdue.
const tick = 20 * time.Millisecond

// grace is how long an interrupted fio may take to print its last document.
const grace = 4 * time.Second

// follow reads the source to its end. The error says why that is not the run's.
func (s *session) follow(ctx, work context.Context, src *liveSource) error {
	metas := make(chan *ingest.Meta, 4)
	quit := make(chan struct{})
	defer close(quit)
	var read error // of the reader; good once metas is closed
	go func() {
		defer close(metas)
		_, read = ingest.EachMeta(src, src.name, func(m *ingest.Meta) error {
			select {
			case metas <- m:
				return nil
			case <-quit:
				return errInterrupted
			}
		}, func(err error) { s.u.say("warning", "a status document is lost: %v", err) })
	}()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	stop := ctx.Done()
	var late <-chan time.Time
	for {
		select {
		case m, more := <-metas:
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
				var nothing *ingest.ParseError // a cut document was told of already
				if read != nil && !errors.As(read, &nothing) {
					return read
				}
				return nil
			}
			if err := s.take(work, m); err != nil {
				return err
			}
			if len(metas) == 0 {
				for _, r := range s.runs {
					if err := r.sink.Push(work); err != nil {
						return err
					}
				}
			}
		case <-ticker.C:
			if src.live && len(metas) == 0 {
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

// take takes the next document.
func (s *session) take(ctx context.Context, m *ingest.Meta) error {
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

// stampMS is the time of a document in ms.
func stampMS(m *ingest.Meta) int64 {
	at := m.TimestampMS
	for i := range m.Entries {
		at = max(at, m.CountedMS(&m.Entries[i]))
	}
	return at
}

func (s *session) snapshot(ctx context.Context, m *ingest.Meta) error {
	for _, r := range s.runs {
		if err := r.Snapshot(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// begin decides the interval, and hands on what was held for that.
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

// choose chooses the interval from what was held.
func (s *session) choose(ctx context.Context) error {
	cfg := s.cfg
	chooser := &pipeline.Chooser{Accuracy: s.auto, ByDirection: slices.Contains(cfg.Settings.By, "direction"), Percentile: math.Inf(-1)}
	for _, p := range cfg.Settings.Percentiles {
		if p > chooser.Percentile && p > 0 && p < 100 {
			chooser.Percentile = p
		}
	}
	if math.IsInf(chooser.Percentile, -1) {
		return pipeline.Usage("--interval auto: p0 and p100 have no confidence limits; ask for a percentile between them")
	}
	if len(s.held) > 1 {
		chooser.Shortest = time.Duration(stampMS(s.held[1])-stampMS(s.held[0])) * time.Millisecond
	}
	cfg.Settings.Interval, cfg.Settings.By, cfg.Settings.SLA, cfg.Settings.Percentiles, cfg.Settings.Kind = time.Second, nil, nil, []float64{chooser.Percentile}, s.kinds[0]
	cfg.Warn = nil
	l, err := pipeline.NewLive(cfg, chooser)
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
	choice.Reason += fmt.Sprintf("; by the first %v", (time.Duration(stampMS(s.held[len(s.held)-1])-stampMS(s.held[0])) * time.Millisecond).Round(time.Second))
	s.cfg.Choice, s.cfg.Settings.Interval = choice, choice.Interval
	s.u.say("info", "interval %v chosen: %s", choice.Interval, choice.Reason)
	return nil
}

// run makes what takes one kind of latency.
func (s *session) run(kind ingest.Kind, first bool) (*liveRun, error) {
	prefix := s.o.Elasticsearch.Prefix
	cfg := s.cfg
	cfg.Settings.Kind = kind
	w, err := s.o.Elasticsearch.Writer(s.client, true)
	if err != nil {
		return nil, err
	}
	r := &liveRun{sink: esmodel.NewSink(w, esmodel.SinkOptions{Prefix: prefix})}
	var sinks tee
	if first {
		if s.alerts != nil {
			sinks = append(sinks, &alertSink{u: s.u, prefix: prefix, to: s.alerts})
		}
		sinks = append(sinks, newLiveView(s.u, s.o.Quiet))
	} else {
		cfg.Settings.SLA, cfg.Warn = nil, nil // once is enough
	}
	if s.o.Rows {
		sinks = append(sinks, &flushed{renderer: newRenderer("ndjson", "ns", false, bufio.NewWriter(s.u.stdout))})
	}
	r.Live, err = pipeline.NewLive(cfg, append(sinks, r.sink))
	return r, err
}

// silent says so if no document has come for too long.
func (s *session) silent(ctx context.Context) error {
	for i, r := range s.runs {
		long := time.Since(s.since)
		overdue, err := r.Silent(ctx, long)
		if err != nil {
			return err
		}
		if i == 0 && overdue && !s.said {
			s.said = true
			s.u.say("warning", "no status document of fio for %v: a job waits for an I/O, or fio itself is stopped", long.Round(100*time.Millisecond))
			if err = r.sink.Push(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// conclude ends all runs; why is why the stream was not read to its end.
func (s *session) conclude(ctx context.Context, why error) error {
	var errs []error
	s.u.unpaint()
	for i, r := range s.runs {
		err := why
		if err == nil {
			r.end, err = r.End(ctx)
		}
		err = r.sink.Close(ctx, err)
		report := r.sink.Report()
		if run := r.Run(); run != nil {
			err = s.u.concluded(&s.o.Elasticsearch, false, run, r.end, report, err)
		}
		for _, f := range report.Files {
			s.u.say("info", "  %s", f)
		}
		if err == nil && r.end.Account.Placed == 0 {
			s.u.say("warning", "fio has no %v latencies: run it with %v_percentiles=1", s.kinds[i], s.kinds[i])
		}
		if err == nil && i == 0 {
			err = failOnSLA(s.o.FailOnSLA, r.end)
		}
		if why == nil || i == 0 { // of several kinds it is the same
			errs = append(errs, err)
		}
	}
	if len(s.runs) == 0 {
		return why
	}
	return errors.Join(errs...)
}

// flushed is a renderer whose rows are seen at once.
type flushed struct{ *renderer }

func (f *flushed) Quantum(ctx context.Context, q *pipeline.Quantum) error {
	if err := f.renderer.Quantum(ctx, q); err != nil {
		return err
	}
	return f.out.Flush()
}

// alertSink raises breaches and recoveries. Those that are over since long, for a
// stream is read again, are history and not told.
type alertSink struct {
	u      *ui
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
		if age > max(time.Minute, 10*time.Duration(a.run.Interval)) {
			if a.past++; a.past == 1 {
				a.u.say("info", "breaches and recoveries that are over for a minute and more are not alerted")
			}
			continue
		}
		id, doc, err := a.enc.Event(q, &q.Changes[i])
		if err != nil {
			return err
		}
		a.to.Raise(alertOf(id, q.Changes[i].String(), doc))
	}
	return nil
}

func (a *alertSink) End(context.Context, *pipeline.Summary) error { return nil }
