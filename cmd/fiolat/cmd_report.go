package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"fiolat/internal/report"
	"fiolat/pipeline"
)

func reportCommand(u *ui) *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "one self-contained HTML page of a run",
		ArgsUsage: "PATH...",
		Description: "fiolat report -o today.html runs/today\n" +
			"fiolat report -o today.html --by direction,host,job --percentiles 50,99,99.99 runs/today\n\n" +
			"PATH is a log, a directory that is searched, a glob, or - for standard input. The page has percentiles over time, a heat map, " +
			"the percentile spectrum, tables of all of them, and where the numbers come from. It loads nothing from anywhere.",
		Flags: append(logFlags("direction,host,job"),
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "report.html", Usage: "`FILE` for the page"},
		),
		Action: func(c *cli.Context) error { return reportRun(c.Context, u, c) },
	}
}

func reportRun(ctx context.Context, u *ui, c *cli.Context) error {
	var bad faults
	cfg, err := u.config(c)
	bad.add(err)
	args, err := paths(c)
	bad.add(err)
	if err = bad.err(); err != nil {
		return err
	}
	runs, err := discover(ctx, u, c, args, &cfg)
	if err != nil {
		return err
	}
	if len(runs) > 1 {
		return usagef("these are %d runs, and a page is of one: name one of %s", len(runs), roots(runs))
	}
	cfg.Progress = u.progress(size(runs), "reading")
	plan, err := pipeline.Prepare(ctx, runs[0], cfg)
	if err != nil {
		return err
	}
	defer plan.Close()
	page := newPage(c.String("output"), c.Bool("dry-run"))
	defer page.discard()
	summary, err := plan.Process(ctx, page)
	u.progressDone()
	if err != nil {
		return err
	}
	if err = page.publish(); err != nil {
		return err
	}
	u.account(summary, nil, "")
	if c.Bool("dry-run") {
		u.say("info", "dry run: %d bytes would be written", page.size)
	} else {
		u.say("info", "page       %s, %d bytes", page.path, page.size)
	}
	return nil
}

// page is a report on its way to a file, which appears only when it is whole.
type page struct {
	pipeline.Sink
	path string
	temp *os.File
	size counter
	dry  bool
}

func newPage(path string, dry bool) *page {
	p := &page{path: path, dry: dry}
	p.Sink = report.New(p, report.Options{Generator: "fiolat " + version()})
	return p
}

// Write makes the file at the first byte, for that is when the run has come to its end.
func (p *page) Write(b []byte) (n int, err error) {
	if n, err = p.size.Write(b); p.dry {
		return n, err
	}
	if p.temp == nil {
		if p.temp, err = os.CreateTemp(filepath.Dir(p.path), ".fiolat-report-*"); err != nil {
			return 0, err
		}
	}
	return p.temp.Write(b)
}

// publish gives the file its name.
func (p *page) publish() error {
	if p.temp == nil {
		return nil
	}
	if err := p.temp.Chmod(0o644); err != nil {
		return err
	}
	if err := p.temp.Close(); err != nil {
		return err
	}
	if err := os.Rename(p.temp.Name(), p.path); err != nil {
		return err
	}
	p.temp = nil
	return nil
}

// discard removes what was not published.
func (p *page) discard() {
	if p.temp != nil {
		p.temp.Close()           //nolint:errcheck // it goes
		os.Remove(p.temp.Name()) //nolint:errcheck // a hidden file stays behind
	}
}

// tee hands a run to several sinks.
type tee []pipeline.Sink

func (t tee) Begin(ctx context.Context, run *pipeline.Run) error {
	for _, s := range t {
		if err := s.Begin(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

func (t tee) Quantum(ctx context.Context, q *pipeline.Quantum) error {
	for _, s := range t {
		if err := s.Quantum(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

func (t tee) End(ctx context.Context, sum *pipeline.Summary) error {
	for _, s := range t {
		if err := s.End(ctx, sum); err != nil {
			return err
		}
	}
	return nil
}
