// Package plan reads a run's logs to a Sink.
//
// All logs advance together in rounds: a pool of workers reads each log up to a
// common time and adds its records to that log's own open quanta; then one
// goroutine adds the quanta that every log has passed up and passes them to the Sink, while the
// workers are already at the next round. Memory is the logs open and the quanta in
// flight, and the bytes that come out do not depend on the number of workers.
//
// It starts goroutines only in run.go and in Plan.start; a single log that would
// leave cores idle is read and parsed ahead by fiolog's.
package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/source"
	"fiolat/internal/errs"
	"fiolat/pipeline"
	"fiolat/pipeline/logs"
	"fiolat/pipeline/quanta"
)

const msec = int64(1e6) // ns

// Config is everything that Prepare is given. The zero value of a field is its
// default.
type Config struct {
	Settings pipeline.Settings
	RunID    string
	// NoID leaves the run's id and generation and the logs' hashes empty, for commands that show none of them.
	NoID    bool
	RunName string
	Part    string
	Labels  map[string]string
	// Accuracy, if not 0, has the interval chosen for it (--interval auto): see
	// Chooser. The logs are then read twice.
	Accuracy float64
	// Pick is the part of the run that is looked at.
	Pick pipeline.Pick
	// Whole says that nobody looks at single quanta: where Settings has no interval, they may be so short that the
	// edges of Pick are edges of quanta.
	Whole bool
	// LeavesOnly says that of the rows only those of the whole run are looked at: there are no others.
	LeavesOnly bool
	// NeedStart makes it an error if the run's wall-clock start is not known.
	NeedStart bool
	// Workers is the number of logs read at a time; default: one per processor.
	Workers int
	// Hold is how many bytes of finished quanta may wait in memory before the first of
	// them leave. The default is 16 MiB with fio's JSON, for what contradicts it can be
	// reported until then as a warning, and is an error after; 2 MiB without; 64 MiB if logs
	// need large decompressors (ingest.Input.LargeWindows). -1: none.
	Hold int
	// OpenFiles is how many files are kept open; default 256.
	OpenFiles int
	// MaxLine is the longest line in bytes that a log may have.
	MaxLine int
	// Stdin is what the path "-" stands for.
	Stdin io.Reader
	// Progress is called with the bytes read, from several goroutines; of what is read twice,
	// once.
	Progress func(bytes int64)
	// Allow, if not nil, is asked once, before the first of them, whether the run shall have so many
	// quanta, more than ten times as many as its own length gives (usual). Its error ends all.
	Allow func(quanta, usual int64) error
	// Warn is called with what the user should know; one goroutine at a time.
	Warn func(msg string)

	keptHead int // buckets of the head of a log that may be kept, if that is cheap
}

const (
	defaultHold = 16 << 20
	// holdBare is the same without fio's JSON: memory that is used again at once costs
	// less than new one. 32 logs of 600 s took an eighth less processor time than with 16 MiB.
	holdBare = 2 << 20
	// holdPacked is the same where logs need large decompressors, of zstd some 8 MiB.
	// Each that waits for the others keeps it; one that is read to its end at once does
	// not: 32 logs of 600 s took 245 MB and 0.34 s of processor time, and take 51 MB and
	// 0.20 s. Those of gzip are small: as plain logs are held, 32 take 28 MB instead of 37
	// and 1 to 3 % less processor time.
	holdPacked = 64 << 20
)

// Plan is a run whose logs' heads have been read.
type Plan struct {
	Run     *pipeline.Run
	Account pipeline.Account
	// Warnings are all, one for each log or job; in the Account those of one cause are one.
	Warnings []string
	warned   int  // of them
	live     bool // they are reported at once
	in       *ingest.Input
	cfg      *Config
	logs     []*logs.State
	grid     quanta.Grid
	tails    logs.Tails
	noLog    []ingest.NoLog
}

// Sources are the logs that the run was planned from.
func (p *Plan) Sources() []*ingest.Source { return p.in.Logs }

// Prepare reads the heads of the run's logs and decides all that must be known
// before the first quantum. Input that cannot be read is an error that names every
// such log, or with SkipBad a warning. Close the Plan when done.
func Prepare(ctx context.Context, in *ingest.Input, config Config) (_ *Plan, err error) {
	cfg, again, ignored := &config, config, slices.Clip(in.Ignored)
	var chosen *pipeline.Choice
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
	p.noLog = in.NoLog
	for _, w := range warnings {
		p.warn("%s", w)
	}
	reading := &logs.Config{Settings: cfg.Settings, Stdin: cfg.Stdin, MaxLine: cfg.MaxLine, NoHash: cfg.NoID,
		Progress: cfg.Progress, Files: &source.Files{Max: cfg.OpenFiles}, KeptHead: cfg.keptHead}
	reading.Divide(len(found), cfg.Workers)
	for _, l := range found {
		info, err := os.Stat(l.Source.Path)
		pipe := l.Source.Path == "-" || err == nil && !info.Mode().IsRegular()
		p.logs = append(p.logs, logs.New(l, reading, pipe))
	}
	slices.SortStableFunc(p.logs, func(a, b *logs.State) int { return a.Compare(b.Log) })
	if err := p.readHeads(ctx); err != nil {
		return nil, err
	}
	if err := p.findDamage(ctx); err != nil {
		var other *foreignError
		if errors.As(err, &other) { // the logs are read as if it were not there
			p.Close()
			p.Warnings, in.Ignored = nil, ignored
			other.leave(in)
			return Prepare(ctx, in, again)
		}
		return nil, err
	}
	p.Run = &pipeline.Run{
		ID: cfg.RunID, Name: cmp.Or(cfg.RunName, folderName(in)), Named: cfg.RunName != "", Part: cfg.Part,
		Labels: cfg.Labels, Kind: cfg.Settings.Kind, Percentiles: cfg.Settings.Percentiles, Metas: in.Metas,
		Settings: cfg.Settings,
	}
	for _, l := range p.logs {
		p.Run.Logs = append(p.Run.Logs, l.Log)
	}
	if err := p.findGeometry(); err != nil {
		return nil, err
	}
	if err := p.findStarts(ctx); err != nil {
		return nil, err
	}
	if !cfg.Pick.Empty() {
		if err := p.Run.Choose(&cfg.Pick); err != nil {
			return nil, err
		}
	}
	if err := p.makeGrid(); err != nil {
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

// Again reads the logs once more, on the same grid, for a sink that looks at the leaves alone: the run has no id, and
// see Config.LeavesOnly. It warns of nothing.
func (p *Plan) Again(ctx context.Context, sink pipeline.Sink, progress func(bytes int64)) error {
	config := *p.cfg
	config.NoID, config.LeavesOnly, config.Accuracy = true, true, 0
	config.Settings = p.Run.Settings
	config.Settings.SLA = nil
	config.Progress, config.Allow, config.Warn = progress, nil, nil
	again, err := Prepare(ctx, p.in, config)
	if err != nil {
		return err
	}
	defer again.Close()
	_, err = again.Process(ctx, sink)
	return err
}

// Close closes what is still open.
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

// start calls f for each of the logs; what it returns waits for that and returns
// the errors by log. Files share the workers. A pipe has a goroutine of its own:
// whoever writes to several may not go on with one before another is read, or even
// opened. Fewer logs than workers read ahead with those that are left.
func (p *Plan) start(ctx context.Context, logs []*logs.State, f func(*logs.State) error) (wait func() []error) {
	errs := make([]error, len(logs))
	var wg sync.WaitGroup
	var files []int
	for i, l := range logs {
		if l.Ahead = 0; len(logs) < p.cfg.Workers {
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

// maxAhead is how many goroutines may parse one log ahead: no more than keep the
// one busy that places its records.
const maxAhead = 3

// dropBad removes the logs that have an error, with a warning, if bad input is to
// be skipped; else it returns all the errors.
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
		p.warn("skipped: %v", errs[i])
		_ = l.Close() // it was only read
	}
	p.logs = good
	return nil
}

func (p *Plan) readHeads(ctx context.Context) error {
	all := len(p.logs)
	failed, err := p.eachLog(ctx, func(l *logs.State) error { return l.Prepare(ctx) })
	if err != nil {
		return err
	}
	if err := p.dropBad(failed); err != nil {
		return err
	}
	if len(p.logs) > 0 {
		if err := logs.OnlyEmpty(p.logs, p.warn); err != nil {
			if err = p.dropBad(slices.Repeat([]error{err}, len(p.logs))); err != nil {
				return err
			}
		}
	}
	if len(p.logs) == 0 {
		return &errs.NoLogsError{ParseError: errs.ParseError{File: "input",
			Msg: fmt.Sprintf("nothing is left: all %d logs were skipped", all), Hint: "see the warnings above"}}
	}
	return nil
}

// findDamage decides which logs were damaged by fio --client. A log whose head
// leaves it open is read as a whole, if fio's JSON has the sums to compare with.
func (p *Plan) findDamage(ctx context.Context) error {
	if p.cfg.Settings.Repair == "auto" {
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

// foreignError names JSON documents of other runs.
type foreignError struct{ metas []*fiojson.Document }

func (e *foreignError) Error() string { return e.metas[0].Path + ": the JSON of another run" }

// leave takes them out of an input, which says so in a warning.
func (e *foreignError) leave(in *ingest.Input) {
	in.Metas = slices.DeleteFunc(slices.Clone(in.Metas), func(m *fiojson.Document) bool {
		return slices.Contains(e.metas, m)
	})
	for _, m := range e.metas {
		in.Warnings = append(in.Warnings, fmt.Sprintf("%s: fio's JSON and the logs do not belong together: they fit "+
			"none of its totals, neither as logged nor with the damage of fio --client undone; it is not used",
			errs.Printable(m.Path)))
	}
}

func (p *Plan) findGeometry() error {
	common, err := logs.CommonGeometry(p.logs)
	if err != nil {
		return err
	}
	if c := p.cfg.Settings.Coarseness; c >= 0 {
		if c < common.Coarseness {
			return errs.Usagef("--coarseness %d: the logs were written with log_hist_coarseness=%d and cannot be "+
				"made finer",
				c, common.Coarseness)
		}
		common.Coarseness = c
	}
	p.Run.Geometry = common
	return nil
}

// makeGrid chooses the interval and where quantum 0 starts.
func (p *Plan) makeGrid() error {
	interval := int64(p.cfg.Settings.Interval)
	if interval == 0 {
		for _, l := range p.logs {
			interval = max(interval, int64(l.Interval))
		}
		interval = max((interval+int64(time.Second)-1)/int64(time.Second), 1) * int64(time.Second)
		if p.cfg.Whole {
			interval = p.Run.EvenInterval(interval)
		}
	}
	if p.cfg.Settings.Grid == "epoch" && !p.Run.StartKnown {
		return errs.Usagef("--grid epoch: nothing says when the run started; pass --start TIME (or --start mtime to " +
			"guess)")
	}
	p.Run.Interval = interval
	p.grid = quanta.NewGrid(p.Run)
	start := p.logs[0].Start
	for _, l := range p.logs {
		start = min(start, l.Start)
	}
	p.grid.First = p.grid.Index(start)
	p.Run.FirstQuantum = p.grid.Start(p.grid.First)
	return nil
}

// Regrid makes the quanta of a Plan that has not been processed that long: those of
// a run's kinds of latency lie side by side only if they are the same.
func (p *Plan) Regrid(interval time.Duration, chosen *pipeline.Choice) error {
	p.cfg.Settings.Interval, p.Account.Interval = interval, chosen
	if err := p.makeGrid(); err != nil {
		return err
	}
	if err := p.readyLogs(); err != nil {
		return err
	}
	return p.identify()
}

// readyLogs gives every log its aligner, limits and tails.
func (p *Plan) readyLogs() (err error) {
	for _, l := range p.logs {
		l.Ready(&p.grid, p.Run.Geometry)
	}
	if p.cfg.Settings.Restore {
		p.tails, err = logs.FindTails(p.logs)
	}
	return err
}

// folderName is the name of the run's folder; "" of what comes from standard input or another process.
func folderName(in *ingest.Input) string {
	path, err := filepath.Abs(in.Root)
	name := filepath.Base(path)
	if err != nil || in.Logs[0].Path == "-" || name == "/" || strings.HasPrefix(path, "/dev/") ||
		strings.HasPrefix(path, "/proc/") {
		return ""
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}

// identify computes the run's id and generation.
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
	if run.ID == "" {
		run.ID = pipeline.Digest(hashes)
	}
	var err error
	run.Generation, err = pipeline.LogsGeneration(run, hashes, p.metas())
	return err
}
