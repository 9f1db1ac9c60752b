package main

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/internal/command"
	probecmd "fiolat/internal/command/probe"
	"fiolat/internal/errs"
	"fiolat/internal/probe"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

const (
	catProbe    = "WHAT TO DO"
	catPace     = "PACE"
	catSlowdown = "SLOWDOWN"
	catFiles    = "FILES"
)

func probeCommand(u *ui.UI) *cli.Command {
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
			&cli.BoolFlag{Name: "prepare", Category: catProbe, Usage: "create the files, and exit"},
			&cli.BoolFlag{Name: "cleanup", Category: catProbe, Usage: "remove the probe's files, and do nothing else"},
			&cli.BoolFlag{Name: "status", Category: catProbe, Usage: "print the state of the directories as reported " +
				"by the probes running there"},
			&cli.BoolFlag{Name: "quiet", Category: catProbe, Usage: "print no line per interval"},

			&cli.DurationFlag{Name: "every", Category: catPace, Value: time.Second,
				Usage: "`DURATION` from one round of operations to the next"},
			&cli.DurationFlag{Name: "deadline", Category: catPace, Value: 10 * time.Second,
				Usage: "`DURATION` after which a directory whose operation has not ended counts as hung"},
			&cli.DurationFlag{Name: "interval", Category: catPace, Value: 10 * time.Second,
				Usage: "`DURATION` of an interval, for lines and documents"},
			&cli.DurationFlag{Name: "duration", Category: catPace, Usage: "end after `DURATION` (default: when " +
				"interrupted)"},

			&cli.DurationFlag{Name: "window", Category: catSlowdown, Usage: "expect the median of the last " +
				"`DURATION` (default: of all that was observed, also by probes before)"},
			&cli.StringFlag{Name: "baseline", Category: catSlowdown, Usage: "expect the times of a `FILE` of " +
				"--save-baseline"},
			&cli.StringFlag{Name: "save-baseline", Category: catSlowdown, Usage: "write the expected times to " +
				"`FILE`, every 10 minutes and at the end"},
			&cli.Float64Flag{Name: "slow", Category: catSlowdown, Value: 2,
				Usage: "an operation is slow if its median of the last minute is `N` times the expected one"},
			&cli.Float64Flag{Name: "very-slow", Category: catSlowdown, Value: 5,
				Usage: "an operation is very slow at `N` times the expected median"},

			&cli.StringFlag{Name: "block", Category: catFiles, Value: "1m",
				Usage: "`BYTES` of a read and of a write; k, m, g and t are powers of 1024"},
			&cli.StringFlag{Name: "size", Category: catFiles, Usage: "`BYTES` of the large file (default: twice the " +
				"memory, but at most a quarter of the space left)"},
			&cli.StringFlag{Name: "file", Category: catFiles, Usage: "`BYTES` of a small file (default: 3901)"},
			&cli.IntFlag{Name: "pool", Category: catFiles, Usage: "`N` small files at a time (default: 3000)"},
			&cli.BoolFlag{Name: "direct", Category: catFiles, Usage: "read and write the large file with O_DIRECT, " +
				"past the cache"},
			&cli.Uint64Flag{Name: "seed", Category: catFiles, Usage: "seed `N` of the random offsets in the large " +
				"file (default: random)"},
			&cli.StringFlag{Name: "host", Category: catFiles, Usage: "`NAME` of this prober: in documents, and of " +
				"its directory (default: the host's)"},

			&cli.StringFlag{Name: "run-id", Category: catRun, Usage: "`ID` of the run (default: probe-HOST)"},
		}, slices.Concat(selectFlags(logFlags(""), "run-name", "label"), []cli.Flag{outputFlag()}, esFlags(new(command.Elasticsearch)),
			alertFlags("a directory's trouble and its end"))...),
		Action: actionOf(u, readProbeOptions, probecmd.Run),
	}
}

func readProbeOptions(c *cli.Context) (o probecmd.Options, err error) {
	var bad errs.Faults
	o = probecmd.Options{
		Probe: probe.Config{
			Every: c.Duration("every"), Deadline: c.Duration("deadline"), Interval: c.Duration("interval"),
			Window: c.Duration("window"), Slow: c.Float64("slow"), VerySlow: c.Float64("very-slow"),
		},
		Duration: c.Duration("duration"), SaveBaseline: c.String("save-baseline"), Quiet: c.Bool("quiet"),
	}
	if c.NArg() == 0 {
		bad.Add(errs.Usagef("fiolat probe: name the directories to probe"))
	}
	for _, dir := range c.Args().Slice() {
		abs, wrong := filepath.Abs(dir)
		if wrong == nil && slices.Contains(o.Dirs, abs) {
			wrong = errs.Usagef("%s is named twice", errs.Printable(abs))
		}
		bad.Add(wrong)
		o.Dirs = append(o.Dirs, abs)
	}
	for name, least := range map[string]time.Duration{"every": 10 * time.Millisecond, "deadline": time.Millisecond,
		"interval": time.Second} {
		if d := c.Duration(name); d < least {
			bad.Add(errs.Usagef("--%s %v: want at least %v", name, d, least))
		}
	}
	if o.Probe.Window != 0 && o.Probe.Window < time.Minute {
		bad.Add(errs.Usagef("--window %v: want at least 1m", o.Probe.Window))
	}
	if o.Duration < 0 {
		bad.Add(errs.Usagef("--duration %v: must be positive", o.Duration))
	}
	if !(o.Probe.Slow > 1 && o.Probe.VerySlow >= o.Probe.Slow) {
		bad.Add(errs.Usagef("--slow %v, --very-slow %v: want more than 1, and the second no less than the first",
			o.Probe.Slow, o.Probe.VerySlow))
	}
	for _, do := range []string{"prepare", "status", "cleanup"} {
		if !c.Bool(do) {
			continue
		}
		if o.Do != "" {
			bad.Add(errs.Usagef("--prepare, --cleanup and --status exclude each other"))
			break
		}
		o.Do = do
	}
	o.Dir, err = readProbeDir(c)
	bad.Add(err)
	if name := c.String("baseline"); name != "" {
		o.Probe.Baseline, err = readBaseline(name, o.Dirs)
		bad.Add(err)
		if o.Probe.Window > 0 {
			bad.Add(errs.Usagef("--baseline and --window exclude each other"))
		}
	}
	labels, err := pairs("--label", c.StringSlice("label"))
	bad.Add(err)
	bad.Add(esmodel.CheckLabels(labels))
	o.Elasticsearch, err = esOptions(c)
	bad.Add(err)
	o.Run = &pipeline.Run{
		ID: cmp.Or(c.String("run-id"), "probe-"+o.Dir.Name), Name: c.String("run-name"), Labels: labels,
		StartKnown: true, Interval: int64(o.Probe.Interval), Percentiles: []float64{50, 90, 95, 99, 99.9},
	}
	if o.Do == "" {
		o.Alerts, err = alertOptions(c, true)
		bad.Add(err)
	}
	return o, bad.Err()
}

// readProbeDir reads the flags about the probe's directory and files.
func readProbeDir(c *cli.Context) (dir probe.DirConfig, err error) {
	var bad errs.Faults
	dir = probe.DirConfig{Name: c.String("host"), Seed: c.Uint64("seed")}
	if dir.Name == "" {
		dir.Name, err = os.Hostname()
		bad.Add(err)
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
				bad.Add(errs.Usagef("--%s %q: want a number of bytes such as 4096, 64k or 100g", flag, v))
			}
			*to = n
		}
	}
	if l.Block > 1<<30 || l.File > 1<<26 {
		bad.Add(errs.Usagef("--block takes 1g at most, --file 64m: they are held in memory"))
	}
	if l.Pool = c.Int("pool"); c.IsSet("pool") && (l.Pool < 1 || l.Pool > 10e6) {
		bad.Add(errs.Usagef("--pool %d: want 1 to 10,000,000", l.Pool))
	}
	l.Direct = c.Bool("direct")
	return dir, bad.Err()
}

// readBaseline reads a file that --save-baseline wrote. It must have times for each of dirs.
func readBaseline(name string, dirs []string) (all probe.Baseline, err error) {
	b, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		return nil, errs.Usagef("--baseline: %s: %v", errs.Printable(name), err)
	}
	var bad errs.Faults
	for _, dir := range dirs {
		if len(all[dir]) == 0 {
			bad.Add(errs.Usagef("--baseline: %s has no times of %s", errs.Printable(name), errs.Printable(dir)))
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
		return 0, errors.New("not a number of bytes")
	}
	return n << shift, nil
}
