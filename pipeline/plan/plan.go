// Package plan reads a run's logs and passes the results to a Sink.
//
// All logs advance together in rounds: a pool of workers reads each log up to a common time and adds its records to the
// open intervals, which all logs share. A round is as long as what may be held allows, often the whole run. Then one
// goroutine passes the intervals that every log has passed to the Sink, while the workers are in the next round. Memory
// is bounded by the open logs and the intervals in flight. The output does not depend on the number of workers.
//
// Only Plan.start starts goroutines here. intervals.Merger adds up in parallel, and fiolog parses a log
// ahead if cores would be idle.
package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/source"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
	"fiolat/pipeline/logs"
)

const msec = int64(1e6) // ns

// Config configures Prepare. The zero value of a field is its default, except for Settings.
type Config struct {
	// Settings begin as fio.Defaults.
	Settings fio.Settings
	RunID    string
	// NoID leaves the run's id and generation and the logs' hashes empty, for commands that show none of them.
	NoID    bool
	RunName string
	Part    string // also the host of logs that name none
	Labels  map[string]string
	// Accuracy, if not 0, makes Prepare choose the interval for it (--interval auto): see intervals.Chooser.
	// The logs are then read twice.
	Accuracy float64
	// Pick is the part of the run that is looked at.
	Pick pipeline.Pick
	// WholeRun is set if single intervals are of no interest. Without a length in Settings they may
	// then be so short that the edges of Pick are edges of intervals.
	WholeRun bool
	// Fine makes the interval of a run of few whole seconds that of its logs, 100 ms at least, if Settings have none.
	// Rules of an SLA and parts keep whole seconds.
	Fine bool
	// LogsOnly makes it an error if no log can be read, also if fio's JSON is beside them.
	LogsOnly bool
	// LeavesOnly leaves out all rows but those of the whole run.
	LeavesOnly bool
	// Pauses asks for LogDirection.Pauses.
	Pauses bool
	// NeedStart makes it an error if the run's wall-clock start is not known.
	NeedStart bool
	// Workers is the number of logs read at a time; default: one per processor.
	Workers int
	// Hold is how many bytes of finished intervals may be held before the first of them are passed on. The default is
	// 16 MiB with fio's JSON, as logs that contradict it cause a warning until then and an error afterwards; 2 MiB
	// without; 64 MiB if logs need large decompressors (ingest.Input.LargeWindows); and 16 KiB for each log. -1 holds
	// none.
	Hold int
	// OpenFiles is how many files are kept open; default 256.
	OpenFiles int
	// Stdin is what the path "-" stands for.
	Stdin io.Reader
	// Progress is called with the bytes read, from several goroutines; bytes read twice count once.
	Progress func(bytes int64)
	// Allow, if not nil, is called at most once, before the run gets more than ten times as many intervals as its own
	// length gives (usual). If it returns an error, so does Process.
	Allow func(intervals, usual int64) error
	// Warn is called with each warning, from one goroutine at a time.
	Warn func(msg string)
	// Together, if not nil, is called before several warnings, and what it returns after them.
	Together func() (release func())

	keptHead int // buckets of a log's head that may be kept in memory, if that is cheap
}

const (
	defaultHold = 16 << 20
	// holdBare is the default without fio's JSON. Memory that is reused at once costs less than new memory.
	holdBare = 2 << 20
	// holdPacked is the default if logs need large decompressors, of zstd some 8 MiB. A log that waits for others keeps
	// its decompressor; one that is read to its end at once does not. Those of gzip are small.
	holdPacked = 64 << 20
	// holdLog is added for each log: one that waits for others holds as much in records.
	holdLog = 16 << 10
)

// Plan is a run whose logs' heads have been read.
type Plan struct {
	Run     *pipeline.Run
	Account pipeline.Account
	// Warnings has one entry for each log or job; the Account has one for each cause.
	Warnings []string
	warned   int // number of Warnings reported
	in       *ingest.Input
	cfg      *Config
	logs     []*logs.State
	grid     intervals.Grid
	tails    logs.Tails
	noLog    []ingest.NoLog
	unread   bool
}

// Sources are the logs that the run was planned from.
func (p *Plan) Sources() []*ingest.Source { return p.in.Logs }

// Prepare reads the heads of the run's logs and decides all that must be known before the first interval. If input
// cannot be read, the error names every such log; with SkipBad there is a warning instead. Close the Plan when done.
func Prepare(ctx context.Context, in *ingest.Input, config Config) (*Plan, error) {
	ignored := slices.Clip(in.Ignored)
	for {
		p, err := try(ctx, in, config)
		var why *fio.ParseError
		if errors.As(err, &why) && why.Useless && len(in.Metas) > 0 && !in.JSONOnly() {
			if _, some := err.(interface{ Unwrap() []error }); !some { // nothing would be left
				why.Hint, _, _ = strings.Cut(why.Hint, ", or pass --skip-bad")
			}
			without := in.WithoutLogs(config.Settings.Kind, why.Error())
			if without == nil {
				why.Hint += "; fiolat summary shows what fio's JSON has"
				return p, why
			}
			if flag := config.timed(); flag != "" {
				why.Hint += "; without " + flag + " the run is read from fio's JSON, which has no times of I/Os"
				return p, err
			}
			in, ignored = without, without.Ignored
			continue
		}
		var other *foreignError
		if !errors.As(err, &other) {
			return p, err
		}
		in.Ignored = ignored
		other.leave(in) // and read the logs without that JSON
	}
}

// try is Prepare; it returns a foreignError if JSON turns out to be of other logs.
func try(ctx context.Context, in *ingest.Input, config Config) (_ *Plan, err error) {
	cfg := &config
	var chosen *pipeline.Choice
	if err = cfg.Settings.Check(); err != nil {
		return nil, err
	}
	if in.JSONOnly() {
		if err = timeless(in, cfg); err != nil {
			return nil, err
		}
	}
	if cfg.Accuracy != 0 {
		if report := cfg.Progress; report != nil {
			cfg.Progress = func(n int64) { report(n / 2) }
		}
		if chosen, err = chooseInterval(ctx, in, config); err != nil {
			return nil, err
		}
		cfg.Settings.Interval = chosen.Interval
	}
	if cfg.Workers <= 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.Hold == 0 {
		switch {
		case in.LargeWindows():
			cfg.Hold = holdPacked
		case len(in.Metas) > 0:
			cfg.Hold = defaultHold
		default:
			cfg.Hold = holdBare
		}
		cfg.Hold += len(in.Logs) * holdLog
	}
	p := &Plan{in: in, cfg: cfg, Account: pipeline.Account{Interval: chosen}}
	defer func() {
		p.reportWarnings()
		if err != nil {
			p.Close()
		}
	}()
	found, warnings, err := ingest.Match(in)
	if err != nil {
		return nil, err
	}
	p.noLog, p.Account.JobsWithoutLog = in.NoLog, in.JobsWithoutLog
	for _, what := range in.Unread {
		p.warn("skipped: %s", what)
	}
	p.Account.LogsSkipped, p.unread = len(in.Unread), len(in.Unread) > 0
	for _, w := range warnings {
		p.warn("%s", w)
	}
	reading := &logs.Config{Settings: cfg.Settings, Stdin: cfg.Stdin, NoHash: cfg.NoID,
		Progress: cfg.Progress, Files: &source.Files{Max: cfg.OpenFiles}, KeptHead: cfg.keptHead,
		Pauses: cfg.Pauses}
	reading.Divide(len(found), cfg.Workers)
	for _, l := range found {
		if l.Host == "" && cfg.Part != "" { // as if its folder were named so
			l.Host = fio.Printable(cfg.Part)
			l.LogName = l.Host + "/" + l.LogName
		}
		p.logs = append(p.logs, logs.New(l, reading, l.Source.Once()))
	}
	slices.SortStableFunc(p.logs, func(a, b *logs.State) int { return a.Compare(b.Log) })
	if err := p.readHeads(ctx); err != nil {
		return nil, err
	}
	if err := p.findDamage(ctx); err != nil {
		if errors.As(err, new(*foreignError)) {
			p.Warnings = nil // the next try has its own
		}
		return nil, err
	}
	p.Run = &pipeline.Run{
		ID: cfg.RunID, Name: cmp.Or(cfg.RunName, in.Name()), Named: cfg.RunName != "", Part: cfg.Part,
		Labels: cfg.Labels, Kind: cfg.Settings.Kind, Percentiles: cfg.Settings.Percentiles, Metas: in.Metas,
		Settings: cfg.Settings, Unread: p.unread,
	}
	p.Run.Escape()
	for _, h := range in.Missing {
		p.Account.HostsMissing = append(p.Account.HostsMissing, h.Host)
	}
	for _, l := range p.logs {
		p.Run.Logs = append(p.Run.Logs, l.Log)
	}
	if err := p.findGeometry(); err != nil {
		return nil, err
	}
	logs.FindLengths(p.logs, p.warn)
	if err := p.findStarts(ctx); err != nil {
		return nil, err
	}
	if !cfg.Pick.Empty() {
		if err := p.Run.Choose(&cfg.Pick); err != nil {
			return nil, err
		}
	}
	interval := int64(cfg.Settings.Interval)
	if interval == 0 {
		interval = p.usualInterval(ctx)
	}
	if err := p.makeGrid(interval); err != nil {
		return nil, err
	}
	if err := p.readyLogs(); err != nil {
		return nil, err
	}
	if err := p.identify(); err != nil {
		return nil, err
	}
	return p, nil
}

// Reread reads the logs once more, on the same grid, for a sink that needs only leaves: the run has no ID, and rows as
// with Config.LeavesOnly. It does not warn. The sink of Process may call it in End; there is no Report afterwards.
func (p *Plan) Reread(ctx context.Context, sink pipeline.Sink, progress func(bytes int64)) error {
	p.logs, p.tails = nil, nil // with many logs they take most memory
	config := *p.cfg
	config.NoID, config.LeavesOnly, config.Accuracy = true, true, 0
	config.Settings = p.Run.Settings
	config.Settings.SLA = nil
	if p.in.JSONOnly() {
		config.Settings.Interval = 0
	}
	config.Progress, config.Allow, config.Warn = progress, nil, nil
	again, err := Prepare(ctx, p.in, config)
	if err != nil {
		return err
	}
	defer again.Close()
	_, err = again.Process(ctx, sink)
	return err
}

// Close closes the logs that are still open.
func (p *Plan) Close() {
	for _, l := range p.logs {
		_ = l.Close() // it was only read
	}
}

// eachLog calls f for every log and returns the errors by log, or the context's
// cause.
func (p *Plan) eachLog(ctx context.Context, f func(*logs.State) error) ([]error, error) {
	failed := p.start(ctx, p.logs, f)()
	return failed, context.Cause(ctx)
}

// start calls f for each of the logs, and returns a function that waits for that and returns the errors by log. Files
// share the workers. Each pipe has a goroutine of its own: a process that writes to several may block until another is
// read, or even opened. If there are fewer logs than workers, the logs share the rest to read ahead.
func (p *Plan) start(ctx context.Context, logs []*logs.State, f func(*logs.State) error) (wait func() []error) {
	errs := make([]error, len(logs))
	var wg sync.WaitGroup
	var files []int
	for i, l := range logs {
		l.Ahead = 0
		if len(logs) < p.cfg.Workers {
			l.Ahead = min(p.cfg.Workers/len(logs), maxAhead)
		}
		if l.Pipe {
			wg.Go(func() { errs[i] = f(l) })
		} else {
			files = append(files, i)
		}
	}
	var next atomic.Int64
	for range min(p.cfg.Workers, len(files)) {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(len(files)) && ctx.Err() == nil; n = next.Add(1) {
				i := files[n-1]
				errs[i] = f(logs[i])
			}
		})
	}
	return func() []error {
		wg.Wait()
		return errs
	}
}

// maxAhead is how many goroutines may parse one log ahead. More would only wait for the one that places its records.
const maxAhead = 3

// dropBad removes the logs that have an error, with a warning, if bad input is to be skipped; otherwise
// it returns all the errors.
func (p *Plan) dropBad(errs []error) error {
	if !p.cfg.Settings.SkipBad {
		return errors.Join(errs...)
	}
	var good []*logs.State
	for i, l := range p.logs {
		if errs[i] == nil {
			good = append(good, l)
			continue
		}
		p.Account.LogsSkipped++
		if _, failed := errors.AsType[syscall.Errno](errs[i]); failed {
			p.unread = true
		}
		p.warn("skipped: %v", errs[i])
		_ = l.Close() // it was only read
	}
	p.logs = good
	return nil
}

// readHeads reads the first records of all logs and drops those that cannot be used. It returns the first error where
// none can and fio's JSON is there instead, and a NoLogsError where nothing is left.
func (p *Plan) readHeads(ctx context.Context) error {
	all := len(p.logs)
	failed, err := p.eachLog(ctx, func(l *logs.State) error { return l.Prepare(ctx) })
	if err != nil {
		return err
	}
	used := slices.ContainsFunc(failed, func(err error) bool {
		var bad *fio.ParseError
		return !errors.As(err, &bad) || !bad.Useless
	})
	if !used && len(p.in.Metas) > 0 && all > 0 {
		return failed[0]
	}
	if err := p.dropBad(failed); err != nil {
		return err
	}
	p.Account.Unmeasured = logs.Unmeasured(p.logs)
	if len(p.logs) > 0 {
		if err := logs.OnlyEmpty(p.logs, p.warn); err != nil {
			if err = p.dropBad(slices.Repeat([]error{err}, len(p.logs))); err != nil {
				return err
			}
		}
	}
	if len(p.logs) == 0 {
		return &fio.NoLogsError{ParseError: fio.ParseError{File: "input",
			Msg: "nothing is left: skipped " + fio.Several(all, "log"), Hint: "see the warnings above",
			Useless: len(p.in.Metas) > 0 && !p.cfg.LogsOnly}}
	}
	return nil
}

// findDamage decides which logs were damaged by fio --client. A log whose head does not decide it is read as a whole,
// if fio's JSON has the sums to compare with.
func (p *Plan) findDamage(ctx context.Context) error {
	if p.cfg.Settings.Repair == fio.RepairAuto {
		suspicious := map[*fiojson.Document]bool{}
		for _, l := range p.logs {
			if l.Suspect() {
				suspicious[l.Meta] = true
			}
		}
		failed, err := p.eachLog(ctx, func(l *logs.State) error {
			if l.Entry != nil && suspicious[l.Meta] {
				return l.ScanWhole(ctx)
			}
			return nil
		})
		if err = errors.Join(append(failed, err)...); err != nil {
			return err
		}
	}
	if foreign := logs.Repair(p.logs, p.cfg.Settings.Repair, p.warn); len(foreign) > 0 {
		return &foreignError{foreign}
	}
	return nil
}

// foreignError reports JSON documents of other runs.
type foreignError struct{ metas []*fiojson.Document }

func (e *foreignError) Error() string { return e.metas[0].Path + ": the JSON of another run" }

// leave removes them from an input, and adds a warning to it.
func (e *foreignError) leave(in *ingest.Input) {
	in.Metas = slices.DeleteFunc(slices.Clone(in.Metas), func(m *fiojson.Document) bool {
		return slices.Contains(e.metas, m)
	})
	for _, m := range e.metas {
		in.Warnings = append(in.Warnings, fmt.Sprintf("%s: fio's JSON and the logs do not belong together: they fit "+
			"none of its totals, neither as logged nor with the damage of fio --client undone; it is not used",
			fio.Printable(m.Path)))
	}
}

func (p *Plan) findGeometry() error {
	common, err := logs.CommonGeometry(p.logs)
	if err != nil {
		return err
	}
	if c := p.cfg.Settings.Coarseness; c >= 0 {
		if c < common.Coarseness {
			return fio.Usagef("--coarseness %d: the logs were written with log_hist_coarseness=%d and cannot be "+
				"made finer",
				c, common.Coarseness)
		}
		common.Coarseness = c
	}
	p.Run.Geometry = common
	return nil
}

const (
	// fewIntervals is the number of whole seconds, or multiples of them, below which a run has few.
	fewIntervals = 60
	// leastFine is the shortest interval in ns that Config.Fine chooses.
	leastFine = 100 * msec
)

// usualInterval returns the interval in ns if none is given.
func (p *Plan) usualInterval(ctx context.Context) int64 {
	usual, own := p.Run.UsualInterval(), int64(0)
	for _, l := range p.logs {
		own = max(own, int64(l.Interval))
	}
	fine := max(own, leastFine)
	switch {
	case p.cfg.WholeRun:
		return p.Run.EvenInterval(usual)
	case !p.cfg.Fine || p.cfg.Part != "" || len(p.cfg.Settings.SLA) > 0 || own == 0 || fine == usual:
		return usual
	}
	end := p.begin() + (fewIntervals-1)*usual
	var long atomic.Bool
	_, err := p.eachLog(ctx, func(l *logs.State) error {
		if !long.Load() && !l.EndsBy(ctx, end) {
			long.Store(true)
		}
		return nil
	})
	if err != nil || long.Load() {
		return usual
	}
	return fine
}

// begin returns when the first log starts, in ns on the run's clock.
func (p *Plan) begin() int64 {
	start := p.logs[0].Start
	for _, l := range p.logs {
		start = min(start, l.Start)
	}
	return start
}

// makeGrid sets the interval, and where interval 0 starts.
func (p *Plan) makeGrid(interval int64) error {
	start := p.begin()
	if p.in.JSONOnly() {
		if start < 0 {
			return fio.Usagef("--start %s: by fio's JSON, jobs of %s had begun by then", p.cfg.Settings.Start,
				fio.Printable(p.in.Root))
		}
		interval = 0
		for _, l := range p.logs {
			interval = max(interval, l.WholeEnd())
		}
	}
	if p.cfg.Settings.Grid == fio.GridEpoch && !p.Run.StartKnown {
		return fio.Usagef("--grid epoch: nothing says when the run started; pass --start TIME (or --start mtime to " +
			"guess)")
	}
	p.Run.Interval = interval
	p.grid = intervals.NewGrid(p.Run)
	p.grid.First = p.grid.Index(start)
	p.Run.FirstInterval = p.grid.Start(p.grid.First)
	return nil
}

// Regrid changes the interval of a Plan that has not been processed yet: intervals of a run's kinds of latency can be
// compared only if they are of the same length.
func (p *Plan) Regrid(interval time.Duration, chosen *pipeline.Choice) error {
	p.cfg.Settings.Interval, p.Account.Interval = interval, chosen
	if err := p.makeGrid(int64(interval)); err != nil {
		return err
	}
	if err := p.readyLogs(); err != nil {
		return err
	}
	return p.identify()
}

func (p *Plan) readyLogs() (err error) {
	for _, l := range p.logs {
		l.Ready(&p.grid, p.Run.Geometry)
	}
	if p.cfg.Settings.Restore {
		p.tails, err = logs.FindTails(p.logs)
	}
	return err
}

func (p *Plan) identify() error {
	run := p.Run
	s := p.cfg.Settings
	s.Interval = time.Duration(run.Interval)
	run.Settings = s
	if p.cfg.NoID {
		return nil
	}
	hashes := make([]string, 0, len(p.logs))
	for _, l := range p.logs {
		hashes = append(hashes, l.Hash)
	}
	slices.Sort(hashes)
	run.ID = cmp.Or(run.ID, p.in.ID)
	if run.ID == "" {
		of := hashes
		if !slices.ContainsFunc(p.logs, func(l *logs.State) bool { return !l.Empty }) { // empty logs are all alike
			of = append(slices.Clip(hashes), p.in.JSONID())
		}
		run.ID = pipeline.Digest(of)
	}
	var err error
	run.Generation, err = pipeline.LogsGeneration(run, hashes, p.metas())
	return err
}
