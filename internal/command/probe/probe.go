// Package probe implements fiolat probe: it probes file systems.
package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"fiolat/internal/alert"
	"fiolat/internal/command"
	"fiolat/internal/errs"
	"fiolat/internal/probe"
	"fiolat/internal/tempfile"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

// Options are the options of fiolat probe.
type Options struct {
	Elasticsearch command.Elasticsearch // without addresses documents become files
	Do            string                // prepare, cleanup or status; "": probe
	Dirs          []string              // absolute
	Probe         probe.Config
	Dir           probe.DirConfig // of each directory; the seed is that of the first
	Run           *pipeline.Run   // its names, interval and percentiles
	Duration      time.Duration   // 0: until interrupted
	SaveBaseline  string          // a file for the expected times
	Quiet         bool            // print no line per interval
	Alerts        alert.Config
}

// Run does what o.Do says, or probes directories until ctx ends or o.Duration is over.
func Run(ctx context.Context, o Options, u *ui.UI) error {
	o.Dir.Warn = u.Warn
	o.Run.Start, o.Run.Generation = time.Now().UnixNano(), o.generation()
	switch o.Do {
	case "status":
		return probeStatus(u, o.Dirs)
	case "cleanup":
		var failed []error
		for _, dir := range o.Dirs {
			foreign, err := probe.Cleanup(dir, o.Dir.Name)
			failed = append(failed, err)
			if len(foreign) > 0 {
				u.Warn(fmt.Sprintf("%s: kept files that the probe did not create: %s", errs.Printable(dir),
					errs.Printable(strings.Join(foreign, ", "))))
			} else if err == nil {
				u.Say("info", "%s: removed", errs.Printable(dir))
			}
		}
		return errors.Join(failed...)
	case "prepare":
		var failed []error
		for _, dir := range o.Dirs {
			d, err := openProbe(ctx, u, dir, o.Dir)
			if err == nil {
				err = d.Close()
			}
			failed = append(failed, err)
		}
		return errors.Join(failed...)
	}
	return run(ctx, u, &o)
}

// generation is a hash of the settings that change what is measured.
func (o *Options) generation() string {
	l := o.Dir.Layout
	sum := sha256.Sum256(fmt.Appendf(nil, "probe 1 %v %v %v %d %t %d %d %d", o.Probe.Every, o.Probe.Interval,
		o.Probe.Window, l.Block, l.Direct, l.File, l.Pool, l.Data))
	return hex.EncodeToString(sum[:8])
}

// openProbe opens a directory, and prints the progress if it makes files.
func openProbe(ctx context.Context, u *ui.UI, path string, cfg probe.DirConfig) (*probe.Dir, error) {
	said, made := time.Now(), false
	cfg.Progress = func(what string, done, total int64) {
		if ctx.Err() != nil { // the command may have ended without waiting for this
			return
		}
		if !made {
			u.Say("info", "%s: making files in .fiolat-probe.%s", errs.Printable(path), cfg.Name)
		}
		made = true
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			u.Say("info", "%s: %d of %d %s", errs.Printable(path), done, total, what)
		}
	}
	d, err := probe.OpenDir(ctx, path, cfg)
	if err == nil && made && ctx.Err() == nil {
		l := d.Layout()
		u.Say("info", "%s: ready: a large file of %d MiB, %d small files of %d bytes", errs.Printable(path),
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
				fmt.Fprintf(u.Stdout, "%s, seen from %s: %s\n", errs.Printable(dir), errs.Printable(host),
					a.all[host].Text(time.Now()))
			}
		case <-time.After(statusWait):
			fmt.Fprintf(u.Stdout, "%s: this file system hangs: not even the status could be read within %v\n",
				errs.Printable(dir), statusWait)
		}
	}
	return errors.Join(failed...)
}

// run probes until ctx ends, or --duration is over.
func run(parent context.Context, u *ui.UI, o *Options) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	docs, err := openProbeDocs(ctx, u, o)
	if err != nil {
		return err
	}
	if d := o.Duration; d > 0 { // counted from here: a server may take seconds for templates
		ctx, cancel = context.WithTimeout(parent, d)
		defer cancel()
	}
	var targets []*probe.Target
	for i, dir := range o.Dirs {
		cfg := o.Dir
		cfg.Seed += uint64(i)
		targets = append(targets, &probe.Target{Path: dir, Open: func(ctx context.Context) (probe.Files, error) {
			return openProbe(ctx, u, dir, cfg)
		}})
	}
	baseline, saved := o.SaveBaseline, time.Now()
	o.Probe.OnSample = docs.sample
	o.Probe.OnChange = func(t *probe.Target, text string) {
		u.Warn(errs.Printable(t.Path) + ": " + errs.Printable(text))
	}
	o.Probe.OnReport = func(r *probe.Report) {
		docs.report(r)
		if !o.Quiet {
			fmt.Fprintln(u.Stdout, probeLine(r))
		}
		if baseline != "" && time.Since(saved) > 10*time.Minute {
			saved = time.Now()
			if e := saveBaseline(baseline, targets); e != nil {
				u.Warn(e.Error())
			}
		}
	}
	err = probe.Run(ctx, o.Probe, targets)
	if baseline != "" {
		err = errors.Join(err, saveBaseline(baseline, targets))
	}
	wait := probeDrain
	if parent.Err() == nil { // not interrupted: there is time
		wait = command.AlertWait
	}
	lost := make(chan error, 1)
	go func() { lost <- command.ReportLost(u, docs.alerts, wait) }()
	err = errors.Join(err, docs.close(), <-lost)
	if err == nil && parent.Err() != nil && o.Duration > 0 {
		return context.Cause(parent)
	}
	return err
}

// probeLine formats an interval for standard output.
func probeLine(r *probe.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s  %s", r.End.Format("15:04:05"), errs.Printable(r.Target.Path), r.State)
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
