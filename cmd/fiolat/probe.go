package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"fiolat/internal/metrics"
	"fiolat/internal/probe"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

type probeOptions struct {
	es              runsource.Elasticsearch // without addresses documents become files
	cleanup, status bool
	dirs            []string // absolute
	probe           probe.Config
	dir             probe.DirConfig // of each directory
	logs            logOptions      // the names of the run
	of              *pipeline.Run   // its names, interval and percentiles
	duration        time.Duration   // 0: until interrupted
	alerts          alertOptions
	metrics         metrics.Config
}

func probeCommand(u *ui.UI) *cli.Command {
	o := &probeOptions{probe: probe.Config{Deadline: 10 * time.Second}}
	return &cli.Command{
		Name: "probe",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "cleanup", Destination: &o.cleanup,
				Usage: "remove the probe's files, and do nothing else"},
			&cli.BoolFlag{Name: "status", Destination: &o.status,
				Usage: "print the state of the directories"},
			&cli.DurationFlag{Name: "interval", Destination: &o.probe.Interval,
				Value: 10 * time.Second,
				Usage: "length of an interval, `DURATION` such as 10s"},
			&cli.DurationFlag{Name: "duration", Destination: &o.duration,
				Usage: "end after `DURATION`"},
			&cli.GenericFlag{Name: "size", Value: parsed(&o.dir.Size, "--size ", byteSize),
				Usage: "`BYTES` of the data file, such as 512m (default: 1g, but at most 1 % of the space left)"},

			&cli.DurationFlag{Name: "every", Category: catMore, Destination: &o.probe.Every, Value: time.Second,
				Usage: "`DURATION` from one round of operations to the next"},
			&cli.BoolFlag{Name: "direct", Category: catMore, Destination: &o.dir.Direct,
				Usage: "read and write the data file with O_DIRECT, past the cache"},
			&cli.StringFlag{Name: "host", Category: catMore, Destination: &o.dir.Name,
				Usage: "`NAME` of this host, in documents and of the probe's directory"},
			&cli.StringFlag{Name: "run-id", Category: catRun, Destination: &o.logs.Config.RunID,
				Usage: "`ID` of the run (default: probe-HOST)"},
		}, slices.Concat(selectFlags(o.logs.flags(logFlags{}), "label"), []cli.Flag{outputFlag()},
			esFlags(&o.es), o.alerts.flags(), metricsFlags(&o.metrics))...),
		Action: action(u, o),
	}
}

func (o *probeOptions) check(c *cli.Context, bad *fio.Faults) {
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
	for _, flag := range []struct {
		name  string
		least time.Duration
	}{{"every", 10 * time.Millisecond}, {"interval", time.Second}, {"duration", 0}} {
		if d := c.Duration(flag.name); d < flag.least && (c.IsSet(flag.name) || d < 0) {
			bad.Add(fio.Usagef("--%s %v: want at least %v", flag.name, d, flag.least))
		}
	}
	if c.IsSet("size") && o.dir.Size < 1<<20 {
		bad.Add(fio.Usagef("--size: want at least 1m"))
	}
	if o.cleanup && o.status {
		bad.Add(fio.Usagef("--cleanup and --status exclude each other"))
	}
	if o.dir.Name == "" {
		var err error
		o.dir.Name, err = os.Hostname()
		bad.Add(err)
	}
	labels, err := pairs("--label", o.logs.label.Value())
	bad.Add(err)
	bad.Add(esmodel.CheckLabels(labels))
	checkES(c, &o.es, bad)
	o.of = &pipeline.Run{
		ID: cmp.Or(o.logs.Config.RunID, "probe-"+o.dir.Name), Labels: labels, StartKnown: true,
		Interval: int64(o.probe.Interval), Percentiles: []float64{50, 90, 95, 99, 99.9},
	}
	o.of.Escape()
	if !o.cleanup && !o.status {
		o.alerts.check(c, "", bad)
	}
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
	u.OnUnread(nil) // end as after other errors
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
	}
	return o.probeDirs(ctx, u)
}

// generation is a hash of the settings that change what is measured.
func (o *probeOptions) generation() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "probe 2 %v %v 0s %t %d", o.probe.Every, o.probe.Interval,
		o.dir.Direct, o.dir.Size))
	return hex.EncodeToString(sum[:8])
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
	for _, dir := range o.dirs {
		cfg := o.dir
		cfg.Making = func(size int64) {
			u.Say("info", "%s: making .fiolat-probe.%s with %d MiB of data", fio.Printable(dir), cfg.Name, size>>20)
		}
		targets = append(targets, &probe.Target{Path: dir, Open: func(ctx context.Context) (probe.Files, error) {
			return probe.OpenDir(ctx, dir, cfg)
		}})
	}
	o.probe.OnSample = docs.sample
	o.probe.OnChange = func(t *probe.Target, text string) {
		u.Warn(fio.Printable(t.Path) + ": " + fio.Printable(text))
	}
	o.probe.OnReport = func(r *probe.Report) {
		docs.report(r)
		if !u.Quiet {
			fmt.Fprintln(u.Stdout, probeLine(r))
		}
	}
	err = probe.Run(ctx, o.probe, targets)
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
	if r.Hung == nil && r.Slowdown > 0 {
		fmt.Fprintf(&b, " (%s %.1fx)", r.Slowest, r.Slowdown)
	}
	for op := range r.Ops {
		o := &r.Ops[op]
		fmt.Fprintf(&b, "  %s ", probe.Operation(op))
		switch {
		case len(o.Errors) > 0:
			b.WriteString(strings.Join(o.ErrorNames(), "+"))
		case o.Now.Samples == 0:
			b.WriteString("-")
		case o.Expected == 0:
			b.WriteString(probe.Text(o.Now.Median))
		default:
			fmt.Fprintf(&b, "%.1fx", o.Slowdown)
		}
	}
	if r.Late+r.Missed > 0 {
		fmt.Fprintf(&b, "  late %d missed %d", r.Late, r.Missed)
	}
	return b.String()
}
