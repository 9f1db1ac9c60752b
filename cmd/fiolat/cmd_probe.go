package main

import (
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
	"fiolat/ingest"
	"fiolat/internal/alert"
	"fiolat/internal/probe"
	"fiolat/pipeline"
)

const (
	catProbe    = "WHAT TO DO"
	catPace     = "PACE"
	catSlowdown = "SLOWDOWN"
	catFiles    = "FILES"
)

func probeCommand(u *ui) *cli.Command {
	return &cli.Command{
		Name:      "probe",
		Usage:     "probe file systems once a second, and say how much slower than usual they are",
		ArgsUsage: "DIR...",
		Description: "fiolat probe --es http://localhost:9200 /scratch /home\n" +
			"fiolat probe --prepare --size 100g /scratch\n" +
			"fiolat probe --status /scratch\n" +
			"fiolat probe --cleanup /scratch\n\n" +
			"Once a second and directory it reads and writes 1 MiB of a large file, and creates, stats, reads and deletes a small one, each timed by itself. " +
			"The slowdown is the time observed by the time expected, the median of all that was observed before. " +
			"All files lie in DIR/.fiolat-probe.HOST, which is made, and filled, the first time. " +
			"It goes on until it is interrupted, which is a good end (exit 0) unless --duration is not over. See docs/probe.md.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "prepare", Category: catProbe, Usage: "make the files, and end"},
			&cli.BoolFlag{Name: "cleanup", Category: catProbe, Usage: "remove what was made, and nothing else"},
			&cli.BoolFlag{Name: "status", Category: catProbe, Usage: "say how the directories do, as the probes at work there see it"},
			&cli.BoolFlag{Name: "quiet", Category: catProbe, Usage: "print no line per interval"},

			&cli.DurationFlag{Name: "every", Category: catPace, Value: time.Second, Usage: "`DURATION` from one round of operations to the next"},
			&cli.DurationFlag{Name: "deadline", Category: catPace, Value: 10 * time.Second, Usage: "`DURATION` after which a directory whose operation has not ended counts as hung"},
			&cli.DurationFlag{Name: "interval", Category: catPace, Value: 10 * time.Second, Usage: "`DURATION` that a line, and documents of intervals, are of"},
			&cli.DurationFlag{Name: "duration", Category: catPace, Usage: "end after `DURATION` (default: when interrupted)"},

			&cli.DurationFlag{Name: "window", Category: catSlowdown, Usage: "expect the median of the last `DURATION` (default: of all that was observed, also by probes before)"},
			&cli.StringFlag{Name: "baseline", Category: catSlowdown, Usage: "expect the times of a `FILE` of --save-baseline"},
			&cli.StringFlag{Name: "save-baseline", Category: catSlowdown, Usage: "write what is usual into `FILE`, every 10 minutes and at the end"},
			&cli.Float64Flag{Name: "slow", Category: catSlowdown, Value: 2, Usage: "slow is an operation whose median of the last minute is `N` times the usual"},
			&cli.Float64Flag{Name: "very-slow", Category: catSlowdown, Value: 5, Usage: "very slow is one at `N` times"},

			&cli.StringFlag{Name: "block", Category: catFiles, Value: "1m", Usage: "`BYTES` of a read and of a write; k, m, g and t are powers of 1024"},
			&cli.StringFlag{Name: "size", Category: catFiles, Usage: "`BYTES` of the large file (default: twice the memory, but at most a quarter of the space left)"},
			&cli.StringFlag{Name: "file", Category: catFiles, Usage: "`BYTES` of a small file (default: 3901)"},
			&cli.IntFlag{Name: "pool", Category: catFiles, Usage: "`N` small files that are there at a time (default: 3000)"},
			&cli.BoolFlag{Name: "direct", Category: catFiles, Usage: "read and write the large file with O_DIRECT, past the cache"},
			&cli.Uint64Flag{Name: "seed", Category: catFiles, Usage: "`N` that decides on the places in the large file (default: chance)"},
			&cli.StringFlag{Name: "host", Category: catFiles, Usage: "`NAME` of this prober: in documents, and of its directory (default: the host's)"},

			&cli.StringFlag{Name: "run-id", Category: catRun, Usage: "`ID` of the run (default: probe-HOST)"},
		}, slices.Concat(only(logFlags(""), "run-name", "label"), []cli.Flag{outputFlag()}, esFlags(), alertFlags("a directory's trouble and its end"))...),
		Action: action(u, readProbeOptions, probeDirs),
	}
}

// probeOptions are what fiolat probe is asked for.
type probeOptions struct {
	Elasticsearch Elasticsearch // without addresses documents become files
	Do            string        // prepare, cleanup or status; "": probe
	Dirs          []string      // absolute
	Probe         probe.Config
	Dir           probe.DirConfig // of each directory; the seed of the first
	Run           *pipeline.Run   // its names, interval and percentiles
	Duration      time.Duration   // 0: until interrupted
	SaveBaseline  string          // a file for what is usual
	Quiet         bool            // prints no line per interval
	Alerts        alert.Config
}

func readProbeOptions(c *cli.Context) (o probeOptions, err error) {
	var bad faults
	o = probeOptions{
		Probe: probe.Config{
			Every: c.Duration("every"), Deadline: c.Duration("deadline"), Interval: c.Duration("interval"),
			Window: c.Duration("window"), Slow: c.Float64("slow"), VerySlow: c.Float64("very-slow"),
		},
		Duration: c.Duration("duration"), SaveBaseline: c.String("save-baseline"), Quiet: c.Bool("quiet"),
	}
	if c.NArg() == 0 {
		bad.add(usagef("fiolat probe: name the directories to probe"))
	}
	for _, dir := range c.Args().Slice() {
		abs, err := filepath.Abs(dir)
		if err == nil && slices.Contains(o.Dirs, abs) {
			err = usagef("%s is named twice", ingest.Printable(abs))
		}
		bad.add(err)
		o.Dirs = append(o.Dirs, abs)
	}
	for name, least := range map[string]time.Duration{"every": 10 * time.Millisecond, "deadline": time.Millisecond, "interval": time.Second} {
		if d := c.Duration(name); d < least {
			bad.add(usagef("--%s %v: want at least %v", name, d, least))
		}
	}
	if o.Probe.Window != 0 && o.Probe.Window < time.Minute {
		bad.add(usagef("--window %v: want at least 1m", o.Probe.Window))
	}
	if o.Duration < 0 {
		bad.add(usagef("--duration %v: want more than nothing", o.Duration))
	}
	if !(o.Probe.Slow > 1 && o.Probe.VerySlow >= o.Probe.Slow) {
		bad.add(usagef("--slow %v, --very-slow %v: want more than 1, and the second no less than the first",
			o.Probe.Slow, o.Probe.VerySlow))
	}
	for _, do := range []string{"prepare", "status", "cleanup"} {
		if !c.Bool(do) {
			continue
		}
		if o.Do != "" {
			bad.add(usagef("--prepare, --cleanup and --status exclude each other"))
			break
		}
		o.Do = do
	}
	o.Dir, err = readProbeDir(c)
	bad.add(err)
	if name := c.String("baseline"); name != "" {
		o.Probe.Baseline, err = readBaseline(name, o.Dirs)
		bad.add(err)
		if o.Probe.Window > 0 {
			bad.add(usagef("--baseline and --window exclude each other"))
		}
	}
	labels, err := pairs("--label", c.StringSlice("label"))
	bad.add(err)
	bad.add(esmodel.CheckLabels(labels))
	o.Elasticsearch, err = esOptions(c)
	bad.add(err)
	o.Run = &pipeline.Run{
		ID: c.String("run-id"), Name: c.String("run-name"), Labels: labels,
		StartKnown: true, Interval: int64(o.Probe.Interval), Percentiles: []float64{50, 90, 95, 99, 99.9},
	}
	if o.Run.ID == "" {
		o.Run.ID = "probe-" + o.Dir.Name
	}
	if o.Do == "" {
		o.Alerts, err = alertOptions(c, true)
		bad.add(err)
	}
	return o, bad.err()
}

// readProbeDir reads the flags about files and places.
func readProbeDir(c *cli.Context) (dir probe.DirConfig, err error) {
	var bad faults
	dir = probe.DirConfig{Name: c.String("host"), Seed: c.Uint64("seed")}
	if dir.Name == "" {
		dir.Name, err = os.Hostname()
		bad.add(err)
	}
	if !c.IsSet("seed") {
		var b [8]byte
		rand.Read(b[:])
		dir.Seed = binary.NativeEndian.Uint64(b[:])
	}
	l := &dir.Layout
	for flag, to := range map[string]*int64{"block": &l.Block, "size": &l.Data, "file": &l.File} {
		if v := c.String(flag); v != "" {
			n, err := byteSize(v)
			if err != nil {
				bad.add(usagef("--%s %q: want a number of bytes such as 4096, 64k or 100g", flag, v))
			}
			*to = n
		}
	}
	if l.Block > 1<<30 || l.File > 1<<26 {
		bad.add(usagef("--block takes 1g at most, --file 64m: they are held in memory"))
	}
	if l.Pool = c.Int("pool"); c.IsSet("pool") && (l.Pool < 1 || l.Pool > 10e6) {
		bad.add(usagef("--pool %d: want 1 to 10,000,000", l.Pool))
	}
	l.Direct = c.Bool("direct")
	return dir, bad.err()
}

// readBaseline reads a file of --save-baseline, which must have the times of these directories.
func readBaseline(name string, dirs []string) (all probe.Baseline, err error) {
	b, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		return nil, usagef("--baseline: %s: %v", ingest.Printable(name), err)
	}
	var bad faults
	for _, dir := range dirs {
		if len(all[dir]) == 0 {
			bad.add(usagef("--baseline: %s has no times of %s", ingest.Printable(name), ingest.Printable(dir)))
		}
	}
	return all, bad.err()
}

func probeDirs(ctx context.Context, o probeOptions, u *ui) error {
	o.Dir.Warn = u.warn
	o.Run.Start, o.Run.Generation = time.Now().UnixNano(), o.generation()
	switch o.Do {
	case "status":
		return probeStatus(u, o.Dirs)
	case "cleanup":
		var errs []error
		for _, dir := range o.Dirs {
			foreign, err := probe.Cleanup(dir, o.Dir.Name)
			errs = append(errs, err)
			if len(foreign) > 0 {
				u.warn(fmt.Sprintf("%s: left what is not ours: %s", ingest.Printable(dir),
					ingest.Printable(strings.Join(foreign, ", "))))
			} else if err == nil {
				u.say("info", "%s: removed", ingest.Printable(dir))
			}
		}
		return errors.Join(errs...)
	case "prepare":
		var errs []error
		for _, dir := range o.Dirs {
			d, err := u.openProbe(ctx, dir, o.Dir)
			if err == nil {
				err = d.Close()
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
	return u.probe(ctx, &o)
}

// generation is a hash of the settings that change what is measured.
func (o *probeOptions) generation() string {
	l := o.Dir.Layout
	sum := sha256.Sum256(fmt.Appendf(nil, "probe 1 %v %v %v %d %t %d %d %d", o.Probe.Every, o.Probe.Interval,
		o.Probe.Window, l.Block, l.Direct, l.File, l.Pool, l.Data))
	return hex.EncodeToString(sum[:8])
}

// byteSize reads 4096, 64k, 1m, 100g, with or without iB.
func byteSize(v string) (int64, error) {
	digits := strings.TrimRight(strings.ToLower(v), "kmgtib")
	shift, ok := map[string]int{"": 0, "b": 0, "k": 10, "kib": 10, "m": 20, "mib": 20, "g": 30, "gib": 30, "t": 40, "tib": 40}[strings.ToLower(v[len(digits):])]
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n < 1 || n > 1<<62>>shift {
		return 0, errors.New("not a number of bytes")
	}
	return n << shift, nil
}

// openProbe opens a directory, and says so if that takes its time.
func (u *ui) openProbe(ctx context.Context, path string, cfg probe.DirConfig) (*probe.Dir, error) {
	said, made := time.Now(), false
	cfg.Progress = func(what string, done, total int64) {
		if !made {
			u.say("info", "%s: making files in .fiolat-probe.%s", ingest.Printable(path), cfg.Name)
		}
		made = true
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			u.say("info", "%s: %d of %d %s", ingest.Printable(path), done, total, what)
		}
	}
	d, err := probe.OpenDir(ctx, path, cfg)
	if err == nil && made {
		l := d.Layout()
		u.say("info", "%s: ready: a large file of %d MiB, %d small files of %d bytes", ingest.Printable(path), l.Data>>20, l.Pool, l.File)
	}
	return d, err
}

// statusWait is how long --status waits for a file system.
const statusWait = 10 * time.Second

func probeStatus(u *ui, dirs []string) error {
	var errs []error
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
			errs = append(errs, a.err)
			for _, host := range slices.Sorted(maps.Keys(a.all)) {
				fmt.Fprintf(u.stdout, "%s, seen from %s: %s\n", ingest.Printable(dir), ingest.Printable(host), a.all[host].Text(time.Now()))
			}
		case <-time.After(statusWait):
			fmt.Fprintf(u.stdout, "%s: this file system hangs: not even the status could be read within %v\n", ingest.Printable(dir), statusWait)
		}
	}
	return errors.Join(errs...)
}

// probe probes until ctx ends, or --duration is over.
func (u *ui) probe(parent context.Context, o *probeOptions) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	docs, err := u.openProbeDocs(ctx, o)
	if err != nil {
		return err
	}
	if d := o.Duration; d > 0 { // from here on: a server may take seconds for its templates
		ctx, cancel = context.WithTimeout(parent, d)
		defer cancel()
	}
	var targets []*probe.Target
	for i, dir := range o.Dirs {
		cfg := o.Dir
		cfg.Seed += uint64(i)
		targets = append(targets, &probe.Target{Path: dir, Open: func(ctx context.Context) (probe.Files, error) {
			return u.openProbe(ctx, dir, cfg)
		}})
	}
	baseline, saved := o.SaveBaseline, time.Now()
	o.Probe.OnSample = docs.sample
	o.Probe.OnChange = func(t *probe.Target, text string) {
		u.warn(ingest.Printable(t.Path) + ": " + ingest.Printable(text))
	}
	o.Probe.OnReport = func(r *probe.Report) {
		docs.report(r)
		if !o.Quiet {
			fmt.Fprintln(u.stdout, probeLine(r))
		}
		if baseline != "" && time.Since(saved) > 10*time.Minute {
			saved = time.Now()
			if e := saveBaseline(baseline, targets); e != nil {
				u.warn(e.Error())
			}
		}
	}
	err = probe.Run(ctx, o.Probe, targets)
	if baseline != "" {
		err = errors.Join(err, saveBaseline(baseline, targets))
	}
	wait := probeDrain
	if parent.Err() == nil { // nobody waits for the end
		wait = alertWait
	}
	lost := make(chan error, 1)
	go func() { lost <- u.tellLost(docs.alerts, wait) }()
	err = errors.Join(err, docs.close(), <-lost)
	if err == nil && parent.Err() != nil && o.Duration > 0 {
		return context.Cause(parent)
	}
	return err
}

// probeLine is what a terminal shows of an interval.
func probeLine(r *probe.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s  %s", r.End.Format("15:04:05"), ingest.Printable(r.Target.Path), r.State)
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

// saveBaseline writes what is usual, with what else the file says of other
// directories.
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
	for path, times := range probe.Usual(targets) {
		all[path] = times
	}
	if b, err = json.MarshalIndent(all, "", "  "); err != nil {
		return err
	}
	if err = os.WriteFile(name+".tmp", append(b, '\n'), 0o644); err == nil {
		err = os.Rename(name+".tmp", name)
	}
	return err
}
