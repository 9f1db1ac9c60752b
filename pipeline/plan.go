package pipeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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
	"fiolat/internal/fiohist"
)

// Config is everything that Prepare is told. The zero value of a field is its
// default.
type Config struct {
	Settings Settings
	RunID    string
	// Nameless says that nobody will ask for the run's id and generation, nor for the
	// logs' hashes, that are a fiftieth of reading 32 logs of 600 s: they stay empty.
	Nameless bool
	RunName  string
	Part     string
	Labels   map[string]string
	// Accuracy, if not 0, has the interval chosen for it (--interval auto): see
	// Chooser. The logs are then read twice.
	Accuracy float64
	// NeedStart makes it an error if the run's wall-clock start is not known.
	NeedStart bool
	// Workers is the number of logs read at a time; default: one per processor.
	Workers int
	// Hold is how many bytes of finished quanta may wait in memory before the first of
	// them leave. The default is 16 MiB with fio's JSON, for what contradicts it can be
	// told until then as a warning, and is an error after; 2 MiB without; 64 MiB if logs
	// need large decompressors (ingest.Input.LargeWindows). -1: none.
	Hold int
	// OpenFiles is how many files are kept open; default 256.
	OpenFiles int
	// MaxLine is the longest line in bytes that a log may have.
	MaxLine int
	// Stdin is what the path "-" stands for.
	Stdin io.Reader
	// Progress is told the bytes read, from several goroutines; of what is read twice,
	// once.
	Progress func(bytes int64)
	// Allow, if not nil, is asked once, before the first of them, whether the run shall have so many
	// quanta, more than ten times as many as its own length gives (usual). Its error ends all.
	Allow func(quanta, usual int64) error
	// Warn is told what the user should know; one goroutine at a time.
	Warn func(msg string)

	block int // read at a time from a pipe; from a file no less than minBlock
	files *source.Files

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
	allBuffers = 16 << 20 // of all pipes together
	minBlock   = 64 << 10 // for a file: smaller ones are slower to read
	allHeads   = 1 << 20  // buckets that are kept of all heads together, of 10 bytes
)

// Plan is a run whose logs' heads have been read.
type Plan struct {
	Run     *Run
	Account Account
	// Warnings are all, one for each log or job; in the Account those of one cause are one.
	Warnings []string
	told     int  // of them
	live     bool // they are told at once
	cfg      *Config
	logs     []*logState
	grid     grid
	tails    []*tail
	noLog    []ingest.NoLog
}

// Prepare reads the heads of the run's logs and decides all that must be known
// before the first quantum. Input that cannot be read is an error that names every
// such log, or with SkipBad a warning. Close the Plan when done.
func Prepare(ctx context.Context, in *ingest.Input, config Config) (_ *Plan, err error) {
	cfg := &config
	var chosen *Choice
	if cfg.Accuracy != 0 {
		if report := cfg.Progress; report != nil {
			cfg.Progress = func(n int64) { report(n / 2) }
		}
		if chosen, err = chooseInterval(ctx, in, config); err != nil {
			return nil, err
		}
		cfg.Settings.Interval = chosen.Interval
	}
	cfg.files = &source.Files{Max: cfg.OpenFiles}
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
	p := &Plan{cfg: cfg, Account: Account{Interval: chosen}}
	defer func() {
		p.tellWarnings()
		if err != nil {
			p.Close()
		}
	}()
	logs, warnings, err := ingest.Match(in)
	if err != nil {
		return nil, err
	}
	p.noLog = in.NoLog
	for _, w := range warnings {
		p.warn("%s", w)
	}
	cfg.block = min(max(allBuffers/max(len(logs), 1), 16<<10), 256<<10)
	for _, l := range logs {
		info, err := os.Stat(l.Source.Path)
		pipe := l.Source.Path == "-" || err == nil && !info.Mode().IsRegular()
		p.logs = append(p.logs, &logState{Log: &Log{Log: l}, cfg: cfg, pipe: pipe})
	}
	switch {
	case len(logs) < cfg.Workers || cfg.Settings.SkipBad:
		// Several workers read fewer logs ahead, and from their start; bad lines are looked
		// for in all of a log first. Heads are read twice then.
		cfg.keptHead = 0
	case cfg.keptHead == 0:
		cfg.keptHead = allHeads / len(logs)
	}
	sortLogs(p.logs)
	if err := p.readHeads(ctx); err != nil {
		return nil, err
	}
	if err := p.findDamage(ctx); err != nil {
		return nil, err
	}
	p.Run = &Run{
		ID: cfg.RunID, Name: cfg.RunName, Part: cfg.Part, Labels: cfg.Labels,
		Kind: cfg.Settings.Kind, Percentiles: cfg.Settings.Percentiles, Metas: in.Metas,
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

// sortLogs puts logs into the order in which they are added up.
func sortLogs(logs []*logState) {
	slices.SortStableFunc(logs, func(a, b *logState) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.LogName, b.LogName))
	})
}

// Close closes what is still open.
func (p *Plan) Close() {
	for _, l := range p.logs {
		_ = l.close() // it was only read
	}
}

// eachLog calls f for every log and returns the errors by log, or the context's
// cause.
func (p *Plan) eachLog(ctx context.Context, f func(*logState) error) ([]error, error) {
	errs := p.start(ctx, p.logs, f)()
	return errs, context.Cause(ctx)
}

// start calls f for each of the logs; what it returns waits for that and returns
// the errors by log. Files share the workers. A pipe has a goroutine of its own:
// whoever writes to several may not go on with one before another is read, or even
// opened. Fewer logs than workers read ahead with those that are left.
func (p *Plan) start(ctx context.Context, logs []*logState, f func(*logState) error) (wait func() []error) {
	errs := make([]error, len(logs))
	var wg sync.WaitGroup
	var files []int
	for i, l := range logs {
		if l.ahead = 0; len(logs) < p.cfg.Workers {
			l.ahead = min(p.cfg.Workers/len(logs), maxAhead)
		}
		if l.pipe {
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
	var good []*logState
	for i, l := range p.logs {
		if errs[i] == nil {
			good = append(good, l)
			continue
		}
		p.Account.LogsSkipped++
		p.warn("skipped: %v", errs[i])
		_ = l.close() // it was only read
	}
	p.logs = good
	return nil
}

func (p *Plan) readHeads(ctx context.Context) error {
	all := len(p.logs)
	failed, err := p.eachLog(ctx, func(l *logState) error {
		if l.Bad != nil {
			return l.Bad
		}
		if l.Meta != nil {
			if why := badVersion(l.Meta.Version); why != "" {
				return l.at(0, why, "use fio 3.17 or newer, or pass --skip-bad to leave it out")
			}
		}
		if err := readHead(l); err != nil {
			return err
		}
		if p.cfg.Settings.SkipBad && l.more && !l.pipe {
			// What is wrong with the log as a whole must be known before its first
			// records are counted.
			_, err := scanLog(ctx, l)
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := p.dropBad(failed); err != nil {
		return err
	}
	if len(p.logs) > 0 {
		if err := p.onlyEmpty(); err != nil {
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
			for d := range l.dirs {
				if l.Entry != nil && l.dirs[d].lag.suspect() {
					suspicious[l.Meta] = true
				}
			}
		}
		errs, err := p.eachLog(ctx, func(l *logState) (scanErr error) {
			if l.Entry != nil && suspicious[l.Meta] {
				l.scan, scanErr = p.wholeScan(ctx, l)
			}
			return scanErr
		})
		if err = errors.Join(append(errs, err)...); err != nil {
			return err
		}
	}
	judge(p.logs, p.cfg.Settings.Repair, func(w string) { p.warn("%s", w) })
	repaired := map[string][]string{} // by reason: a thousand logs must not be a thousand warnings
	for _, l := range p.logs {
		l.scan = nil
		for d := range l.dirs {
			if v := l.dirs[d].verdict; v.repair && l.dirs[d].lag.records > 2 {
				l.Repaired[d] = true
				name := errs.Printable(l.Source.Path)
				if !slices.Contains(repaired[v.why], name) {
					repaired[v.why] = append(repaired[v.why], name)
				}
			}
		}
	}
	for why, names := range repaired {
		p.warn("%d logs repaired, damaged by fio --client (%s): %s", len(names), why, some(names))
	}
	return nil
}

// some names the first few.
func some(names []string) string {
	const few = 4
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:few], ", ") + fmt.Sprintf(" and %d more", len(names)-few)
}

// wholeScan is the scan of a whole log: from its head if that is all of it.
func (p *Plan) wholeScan(ctx context.Context, l *logState) (*scan, error) {
	switch {
	case !l.pipe:
		return scanLog(ctx, l)
	case l.more:
		return nil, l.at(0, "cannot tell whether fio --client damaged this log, since it can be read only once",
			"pass --repair or --no-repair")
	}
	s := new(scan)
	l.head.each(s.feed)
	return s, nil
}

func (p *Plan) findGeometry() error {
	var common fiohist.Geometry
	for _, l := range p.logs {
		if l.g.Groups == 0 {
			continue // empty, and no JSON says what it would hold
		}
		if common.Groups == 0 {
			common = l.g
		}
		g, err := common.Common(l.g)
		if err != nil {
			return l.at(0, err.Error(), "ingest them as separate runs")
		}
		common = g
	}
	for _, l := range p.logs {
		if l.g.Groups == 0 {
			l.g = common
		}
	}
	if c := p.cfg.Settings.Coarseness; c >= 0 {
		if c < common.Coarseness {
			return Usage("--coarseness %d: the logs were written with log_hist_coarseness=%d and cannot be made finer",
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
	}
	p.grid = grid{interval: interval}
	if p.cfg.Settings.Grid == "epoch" {
		if !p.Run.StartKnown {
			return Usage("--grid epoch: nothing says when the run started; pass --start TIME (or --start mtime to " +
				"guess)")
		}
		p.grid.base = -(p.Run.Start - floorDiv(p.Run.Start, interval)*interval)
	}
	start := p.logs[0].Start
	for _, l := range p.logs {
		start = min(start, l.Start)
	}
	p.grid.first = p.grid.index(start)
	p.Run.Interval = interval
	p.Run.FirstQuantum = p.grid.start(p.grid.first)
	return nil
}

// Regrid makes the quanta of a Plan that has not been processed that long: those of
// a run's kinds of latency lie side by side only if they are the same.
func (p *Plan) Regrid(interval time.Duration, chosen *Choice) error {
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
		l.align = newAligner(&p.grid, p.cfg.Settings.Align == "inflight" && l.single() == nil, l.g, p.Run.Geometry)
		if l.Entry == nil {
			continue
		}
		for d := range l.dirs {
			if t := l.Entry.Dirs[d].Kind[p.Run.Kind]; t.N > 0 {
				l.dirs[d].limits = fiohist.Limits{Min: t.Min, Max: t.Max, Known: true}
			} else {
				l.dirs[d].none = l.Entry.Dirs[d].TotalIOs == 0
			}
		}
	}
	if p.cfg.Settings.Restore {
		p.tails, err = tails(p.logs)
	}
	return err
}

// identify computes the run's id and generation.
func (p *Plan) identify() error {
	run := p.Run
	s := p.cfg.Settings
	s.Interval = time.Duration(run.Interval)
	run.Settings = s
	if p.cfg.Nameless {
		return nil
	}
	hashes := make([]string, 0, len(p.logs))
	for _, l := range p.logs {
		hashes = append(hashes, l.Hash)
	}
	slices.Sort(hashes)
	if run.ID == "" {
		run.ID = digest(hashes)
	}
	g := newGeneration("logs")
	g.settings(&s)
	g.run(run)
	for _, hash := range hashes {
		g.add("log").string(hash)
	}
	for _, m := range p.metas() {
		if err := g.meta(m); err != nil {
			return err
		}
	}
	run.Generation = g.sum()
	return nil
}

// digest is the hash of v's JSON: 128 bits in hex.
func digest(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only strings, numbers and maps of them
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// UsageError is a wish that cannot be met: other flags are needed.
type UsageError struct{ msg string }

func (e *UsageError) Error() string { return e.msg }

// Usage makes a UsageError.
func Usage(format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...)}
}
