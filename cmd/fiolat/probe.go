package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/fio"
	"fiolat/internal/errs"
	"fiolat/internal/metrics"
	"fiolat/internal/probe"
	"fiolat/internal/runsource"
	"fiolat/internal/tempfile"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

type probeOptions struct {
	es                       runsource.Elasticsearch // without addresses documents become files
	prepare, cleanup, status bool
	dirs                     []string // absolute
	probe                    probe.Config
	baseline                 string          // a file of expected times; "": none
	dir                      probe.DirConfig // of each directory; the seed is that of the first
	logs                     logOptions      // the names of the run
	of                       *pipeline.Run   // its names, interval and percentiles
	duration                 time.Duration   // 0: until interrupted
	saveBaseline             string          // a file for the expected times
	quiet                    bool            // print no line per interval
	alerts                   alertOptions
	metrics                  metrics.Config
}

func probeCommand(u *ui.UI) *cli.Command {
	o := &probeOptions{}
	return &cli.Command{
		Name:      "probe",
		Usage:     "probe file systems once a second, and say how much slower than usual they are",
		ArgsUsage: "DIR...",
		Description: "fiolat probe --es http://localhost:9200 /scratch /home\n" +
			"fiolat probe --prepare --size 100g /scratch\n" +
			"fiolat probe --status /scratch\n" +
			"fiolat probe --cleanup /scratch\n\n" +
			"Once a second and directory it reads and writes 1 MiB of a large file, and creates, stats, reads and " +
			"deletes a small one, each timed by itself. " +
			"The slowdown is the time observed by the time expected, the median of all that was observed before. " +
			"All files lie in DIR/.fiolat-probe.HOST, which is made, and filled, the first time. " +
			"It goes on until it is interrupted, which is a good end (exit 0) unless --duration is not over. See " +
			"docs/probe.md.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "prepare", Destination: &o.prepare,
				Usage: "create the files, and exit"},
			&cli.BoolFlag{Name: "cleanup", Destination: &o.cleanup,
				Usage: "remove the probe's files, and do nothing else"},
			&cli.BoolFlag{Name: "status", Destination: &o.status,
				Usage: "print the state of the directories as reported by the probes running there"},
			&cli.BoolFlag{Name: "quiet", Destination: &o.quiet,
				Usage: "print no line per interval"},

			&cli.DurationFlag{Name: "every", Destination: &o.probe.Every, Value: time.Second,
				Usage: "`DURATION` from one round of operations to the next"},
			&cli.DurationFlag{Name: "deadline", Destination: &o.probe.Deadline,
				Value: 10 * time.Second,
				Usage: "`DURATION` after which a directory whose operation has not ended counts as hung"},
			&cli.DurationFlag{Name: "interval", Destination: &o.probe.Interval,
				Value: 10 * time.Second,
				Usage: "`DURATION` of an interval, for lines and documents"},
			&cli.DurationFlag{Name: "duration", Destination: &o.duration,
				Usage: "end after `DURATION` (default: when interrupted)"},

			&cli.DurationFlag{Name: "window", Destination: &o.probe.Window,
				Usage: "expect the median of the last `DURATION` (default: of all that was observed, also by probes " +
					"before)"},
			&cli.StringFlag{Name: "baseline", Destination: &o.baseline,
				Usage: "expect the times of a `FILE` of --save-baseline"},
			&cli.StringFlag{Name: "save-baseline", Destination: &o.saveBaseline,
				Usage: "write the expected times to `FILE`, every 10 minutes and at the end"},
			&cli.Float64Flag{Name: "slow", Destination: &o.probe.Slow, Value: 2,
				Usage: "an operation is slow if its median of the last minute is `N` times the expected one"},
			&cli.Float64Flag{Name: "very-slow", Destination: &o.probe.VerySlow, Value: 5,
				Usage: "an operation is very slow at `N` times the expected median"},

			&cli.GenericFlag{Name: "block",
				Value: withDefault("1m", parsed(&o.dir.Layout.Block, "--block ", byteSize)),
				Usage: "`BYTES` of a read and of a write; k, m, g and t are powers of 1024"},
			&cli.GenericFlag{Name: "size", Value: parsed(&o.dir.Layout.Data, "--size ", byteSize),
				Usage: "`BYTES` of the large file (default: 1 GiB, but at most 1 % of the space left)"},
			&cli.GenericFlag{Name: "file", Value: parsed(&o.dir.Layout.File, "--file ", byteSize),
				Usage: "`BYTES` of a small file (default: 3901)"},
			&cli.IntFlag{Name: "pool", Destination: &o.dir.Layout.Pool,
				Usage: "`N` small files at a time (default: 3000)"},
			&cli.BoolFlag{Name: "direct", Destination: &o.dir.Layout.Direct,
				Usage: "read and write the large file with O_DIRECT, past the cache"},
			&cli.Uint64Flag{Name: "seed", Destination: &o.dir.Seed,
				Usage: "seed `N` of the random offsets in the large file (default: random)"},
			&cli.StringFlag{Name: "host", Destination: &o.dir.Name,
				Usage: "`NAME` of this prober: in documents, and of its directory (default: the host's)"},

			&cli.StringFlag{Name: "run-id", Category: catRun, Destination: &o.logs.Config.RunID,
				Usage: "`ID` of the run (default: probe-HOST)"},
		}, slices.Concat(selectFlags(o.logs.flags(logFlags{}), "run-name", "label"), []cli.Flag{outputFlag()},
			esFlags(&o.es), o.alerts.flags("a directory's trouble and its end"), metricsFlags(&o.metrics))...),
		Action: action(u, o),
	}
}

func (o *probeOptions) check(c *cli.Context, bad *errs.Faults) {
	if c.NArg() == 0 {
		bad.Add(fio.Usagef("fiolat probe: name the directories to probe"))
	}
	for _, dir := range c.Args().Slice() {
		abs, err := filepath.Abs(dir)
		if err == nil && slices.Contains(o.dirs, abs) {
			err = fio.Usagef("%s is named twice", fio.Printable(abs))
		}
		bad.Add(err)
		o.dirs = append(o.dirs, abs)
	}
	for name, least := range map[string]time.Duration{"every": 10 * time.Millisecond, "deadline": time.Millisecond,
		"interval": time.Second} {
		if d := c.Duration(name); d < least {
			bad.Add(fio.Usagef("--%s %v: want at least %v", name, d, least))
		}
	}
	if o.probe.Window != 0 && o.probe.Window < time.Minute {
		bad.Add(fio.Usagef("--window %v: want at least 1m", o.probe.Window))
	}
	if o.duration < 0 {
		bad.Add(fio.Usagef("--duration %v: must be positive", o.duration))
	}
	if !(o.probe.Slow > 1 && o.probe.VerySlow >= o.probe.Slow) {
		bad.Add(fio.Usagef("--slow %v, --very-slow %v: want more than 1, and the second no less than the first",
			o.probe.Slow, o.probe.VerySlow))
	}
	if o.prepare && o.cleanup || o.prepare && o.status || o.cleanup && o.status {
		bad.Add(fio.Usagef("--prepare, --cleanup and --status exclude each other"))
	}
	o.checkDir(c, bad)
	var err error
	if o.baseline != "" {
		o.probe.Baseline, err = readBaseline(o.baseline, o.dirs)
		bad.Add(err)
		if o.probe.Window > 0 {
			bad.Add(fio.Usagef("--baseline and --window exclude each other"))
		}
	}
	labels, err := pairs("--label", o.logs.label.Value())
	bad.Add(err)
	bad.Add(esmodel.CheckLabels(labels))
	checkES(c, &o.es, bad)
	o.of = &pipeline.Run{
		ID: cmp.Or(o.logs.Config.RunID, "probe-"+o.dir.Name), Name: o.logs.Config.RunName, Labels: labels,
		StartKnown: true, Interval: int64(o.probe.Interval), Percentiles: []float64{50, 90, 95, 99, 99.9},
	}
	if !o.prepare && !o.cleanup && !o.status {
		o.alerts.check(c, true, bad)
	}
}

// checkDir completes the options about the probe's directory and files.
func (o *probeOptions) checkDir(c *cli.Context, bad *errs.Faults) {
	if o.dir.Name == "" {
		var err error
		o.dir.Name, err = os.Hostname()
		bad.Add(err)
	}
	if !c.IsSet("seed") {
		var b [8]byte
		rand.Read(b[:])
		o.dir.Seed = binary.NativeEndian.Uint64(b[:])
	}
	l := &o.dir.Layout
	if l.Block > 1<<30 || l.File > 1<<26 {
		bad.Add(fio.Usagef("--block takes 1g at most, --file 64m: they are held in memory"))
	}
	if c.IsSet("pool") && (l.Pool < 1 || l.Pool > 10e6) {
		bad.Add(fio.Usagef("--pool %d: want 1 to 10,000,000", l.Pool))
	}
}

// readBaseline reads a file that --save-baseline wrote. It must have times for each of dirs.
func readBaseline(name string, dirs []string) (all probe.Baseline, err error) {
	b, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		return nil, fio.Usagef("--baseline: %s: %v", fio.Printable(name), err)
	}
	var bad errs.Faults
	for _, dir := range dirs {
		if len(all[dir]) == 0 {
			bad.Add(fio.Usagef("--baseline: %s has no times of %s", fio.Printable(name), fio.Printable(dir)))
		}
	}
	return all, bad.Err()
}

// byteSize parses 4096, 64k, 1m, 100g or 100GiB; units are powers of 1024.
func byteSize(v string) (int64, error) {
	digits := strings.TrimRight(strings.ToLower(v), "kmgtib")
	shift, ok := map[string]int{"": 0, "b": 0, "k": 10, "kib": 10, "m": 20, "mib": 20, "g": 30, "gib": 30, "t": 40,
		"tib": 40}[strings.ToLower(v[len(digits):])]
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n < 1 || n > 1<<62>>shift {
		return 0, fio.Usagef("%q: want a number of bytes such as 4096, 64k or 100g", v)
	}
	return n << shift, nil
}

// run does what one flag asks for, or probes directories until ctx ends or the duration is over.
func (o *probeOptions) run(ctx context.Context, u *ui.UI) error {
	o.dir.Warn = u.Warn
	o.of.Start, o.of.Generation = time.Now().UnixNano(), o.generation()
	switch {
	case o.status:
		return probeStatus(u, o.dirs)
	case o.cleanup:
		var failed []error
		for _, dir := range o.dirs {
			foreign, err := probe.Cleanup(dir, o.dir.Name)
			failed = append(failed, err)
			if len(foreign) > 0 {
				u.Warn(fmt.Sprintf("%s: kept files that the probe did not create: %s", fio.Printable(dir),
					fio.Printable(strings.Join(foreign, ", "))))
			} else if err == nil {
				u.Say("info", "%s: removed", fio.Printable(dir))
			}
		}
		return errors.Join(failed...)
	case o.prepare:
		var failed []error
		for _, dir := range o.dirs {
			d, err := openProbe(ctx, u, dir, o.dir, len(o.dirs) == 1)
			if err == nil {
				err = d.Close()
			}
			failed = append(failed, err)
		}
		return errors.Join(failed...)
	}
	return o.probeDirs(ctx, u)
}

// generation is a hash of the settings that change what is measured.
func (o *probeOptions) generation() string {
	l := o.dir.Layout
	sum := sha256.Sum256(fmt.Appendf(nil, "probe 1 %v %v %v %d %t %d %d %d", o.probe.Every, o.probe.Interval,
		o.probe.Window, l.Block, l.Direct, l.File, l.Pool, l.Data))
	return hex.EncodeToString(sum[:8])
}

// openProbe opens a directory, and prints the progress if it makes files. alone reports whether no other is opened at
// the same time, so that there can be a bar.
func openProbe(ctx context.Context, u *ui.UI, path string, cfg probe.DirConfig, alone bool) (*probe.Dir, error) {
	said, made := time.Now(), false
	var bar func(int64)
	var shown int64
	cfg.Progress = func(what string, done, total int64) {
		if ctx.Err() != nil { // the command may have ended without waiting for this
			return
		}
		if !made {
			u.Say("info", "%s: making files in .fiolat-probe.%s", fio.Printable(path), cfg.Name)
		}
		if !made && alone && what == probe.LargeFile {
			bar = u.Progress(total, "large file")
		}
		made = true
		if bar != nil {
			bar(done - shown)
			if shown = done; done == total {
				u.ProgressDone()
				bar = nil
			}
			return
		}
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			u.Say("info", "%s: %d of %d %s", fio.Printable(path), done, total, what)
		}
	}
	d, err := probe.OpenDir(ctx, path, cfg)
	if err == nil && made && ctx.Err() == nil {
		l := d.Layout()
		u.Say("info", "%s: ready: a large file of %d MiB, %d small files of %d bytes", fio.Printable(path),
			l.Data>>20, l.Pool, l.File)
	}
	return d, err
}

// statusWait is how long --status waits for a file system.
const statusWait = 10 * time.Second

func probeStatus(u *ui.UI, dirs []string) error {
	var failed []error
	for _, dir := range dirs {
		type answer struct {
			all map[string]*probe.Status
			err error
		}
		got := make(chan answer, 1)
		go func() {
			all, err := probe.ReadStatus(dir)
			got <- answer{all, err}
		}()
		select {
		case a := <-got:
			failed = append(failed, a.err)
			for _, host := range slices.Sorted(maps.Keys(a.all)) {
				fmt.Fprintf(u.Stdout, "%s, seen from %s: %s\n", fio.Printable(dir), fio.Printable(host),
					a.all[host].Text(time.Now()))
			}
		case <-time.After(statusWait):
			fmt.Fprintf(u.Stdout, "%s: this file system hangs: not even the status could be read within %v\n",
				fio.Printable(dir), statusWait)
		}
	}
	return errors.Join(failed...)
}

// probeDirs probes until ctx ends, or --duration is over.
func (o *probeOptions) probeDirs(parent context.Context, u *ui.UI) (err error) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	o.metrics.Warn = u.Warn
	shown, err := metrics.New(o.metrics)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shown.Close()) }()
	docs, err := openProbeDocs(ctx, u, o, shown)
	if err != nil {
		return err
	}
	if d := o.duration; d > 0 { // counted from here: a server may take seconds for templates
		ctx, cancel = context.WithTimeout(parent, d)
		defer cancel()
	}
	var targets []*probe.Target
	for i, dir := range o.dirs {
		cfg := o.dir
		cfg.Seed += uint64(i)
		targets = append(targets, &probe.Target{Path: dir, Open: func(ctx context.Context) (probe.Files, error) {
			return openProbe(ctx, u, dir, cfg, len(o.dirs) == 1)
		}})
	}
	baseline, saved := o.saveBaseline, time.Now()
	o.probe.OnSample = docs.sample
	o.probe.OnChange = func(t *probe.Target, text string) {
		u.Warn(fio.Printable(t.Path) + ": " + fio.Printable(text))
	}
	o.probe.OnReport = func(r *probe.Report) {
		docs.report(r)
		if !o.quiet {
			fmt.Fprintln(u.Stdout, probeLine(r))
		}
		if baseline != "" && time.Since(saved) > 10*time.Minute {
			saved = time.Now()
			if e := saveBaseline(baseline, targets); e != nil {
				u.Warn(e.Error())
			}
		}
	}
	err = probe.Run(ctx, o.probe, targets)
	if baseline != "" {
		err = errors.Join(err, saveBaseline(baseline, targets))
	}
	wait := probeDrain
	if parent.Err() == nil { // not interrupted: there is time
		wait = alertWait
	}
	lost := make(chan error, 1)
	go func() { lost <- reportLost(u, docs.alerts, wait) }()
	err = errors.Join(err, docs.close(), <-lost)
	if err == nil && parent.Err() != nil && o.duration > 0 {
		return context.Cause(parent)
	}
	return err
}

// probeLine formats an interval for standard output.
func probeLine(r *probe.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s  %s", r.End.Format("15:04:05"), fio.Printable(r.Target.Path), r.State)
	if r.Hung != nil {
		fmt.Fprintf(&b, " (%s at least %v)", r.Hung.Op, r.End.Sub(r.Hung.Since).Round(100*time.Millisecond))
	}
	if r.Slowdown > 0 {
		fmt.Fprintf(&b, " %.1fx ", r.Slowdown)
	}
	for op := range r.Ops {
		o := &r.Ops[op]
		fmt.Fprintf(&b, "  %s ", probe.Operation(op))
		switch {
		case len(o.Errors) > 0:
			b.WriteString(strings.Join(o.ErrorNames(), "+"))
		case o.Last[0].Samples == 0:
			b.WriteString("-")
		case o.Expected == 0:
			b.WriteString(probe.Text(o.Last[0].Median))
		default:
			fmt.Fprintf(&b, "%.1fx", o.Slowdown(o.Last[0].Median))
		}
	}
	if r.Late+r.Missed > 0 {
		fmt.Fprintf(&b, "  late %d missed %d", r.Late, r.Missed)
	}
	return b.String()
}

// saveBaseline writes the expected times, and keeps those of other directories in the
// file.
func saveBaseline(name string, targets []*probe.Target) error {
	all := probe.Baseline{}
	b, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(b, &all)
	} else if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("--save-baseline: %s: %w", name, err)
	}
	maps.Copy(all, probe.Usual(targets))
	if b, err = json.MarshalIndent(all, "", "  "); err != nil {
		return err
	}
	f, err := tempfile.CreateAt(name)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Chmod(0o644)); err == nil {
		err = f.Publish()
	}
	if err != nil {
		err = errors.Join(err, f.Discard())
	}
	return err
}
