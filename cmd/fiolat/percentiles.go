package main

import (
	"bufio"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/analysis/like"
	"fiolat/fio"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/report/render"
)

type percentilesOptions struct {
	printOptions
	wide string
}

// printOptions are the options of commands that print the rows of one run.
type printOptions struct {
	logs        logOptions // Paths may also name a stored run
	es          runsource.Elasticsearch
	percentiles []float64 // of a stored run; nil: those that it has
	render      render.Options
	whole       bool // one row for the whole run
	yes         bool // ask for no confirmation
}

func percentilesCommand(u *ui.UI) *cli.Command {
	o := &percentilesOptions{}
	return &cli.Command{
		Name: "percentiles",
		Flags: append(
			slices.Concat(o.logs.flags(logFlags{kinds: true, without: []string{"dry-run"}}),
				pickFlags(&o.logs.Config.Pick, false),
				esFlags(&o.es)),
			&cli.GenericFlag{Name: "format",
				Value: oneFormat(&o.render.Format, "table", "markdown", "csv", "json", "ndjson", "parquet",
					formatJUnit),
				Usage: "`FORMAT`: table, markdown, csv, json, ndjson, parquet (SQL needs quotes: \"p99.9_us\"), or junit: " +
					"a test case for each rule of --sla"},
			&cli.GenericFlag{Name: "unit", Value: withDefault("auto", oneOf(&o.render.Unit, "unit", render.Units...)),
				Usage: "`UNIT` of latencies, except in json: ns, us, ms, s or auto"},
			&cli.GenericFlag{Name: "clock", Value: parsed(&o.render.Clock, "", clockZone),
				Usage: "show times of day in `ZONE` utc or local"},
			&cli.GenericFlag{Name: "wide",
				Value: parsed(&o.wide, "", asIs),
				Usage: "hosts, jobs, ... of --by side by side, with one `FIGURE` such as p99 or iops"},
			noTotalFlag(&o.render.NoTotal),
			&cli.GenericFlag{Name: "like", Value: parsed(new(string), "", asIs),
				Usage: "print what `PROGRAM` prints; its own flags follow"},
			fileFlag(".csv"), yesFlag(&o.yes), verboseFlag(), widthFlag(),
		),
		Action: answerTo(u, o),
	}
}

// clockZone parses --clock.
func clockZone(text string) (*time.Location, error) {
	switch text {
	case "utc":
		return time.UTC, nil
	case "local":
		return time.Local, nil
	}
	return nil, fio.Usagef("--clock %q: want utc or local", text)
}

var errNotLike = errors.New("not --like")

// runLike handles percentiles --like PROGRAM, whose arguments the library must not parse. For any other command line
// it returns errNotLike.
func runLike(ctx context.Context, u *ui.UI, args []string) error {
	if len(args) < 2 || args[1] != "percentiles" {
		return errNotLike
	}
	for i, a := range args {
		if a == "--" {
			break
		}
		if program, ok := strings.CutPrefix(a, "--like="); ok {
			return like.Run(ctx, program, args[i+1:], u.Stdout)
		}
		if a == "--like" {
			if i+1 == len(args) {
				return fio.Usagef("--like: want %s", strings.Join(like.Programs, " or "))
			}
			return like.Run(ctx, args[i+1], args[i+2:], u.Stdout)
		}
	}
	return errNotLike
}

func noTotalFlag(to *bool) cli.Flag {
	return &cli.BoolFlag{Name: "no-total", Destination: to, Usage: "leave out the rows that add up others"}
}

func (o *percentilesOptions) check(c *cli.Context, bad *fio.Faults) {
	o.printOptions.check(c, bad)
	if o.render.Clock != nil && !o.render.Table() {
		bad.Add(fio.Usagef("--clock is for tables; --format %s has both times", o.render.Format))
	}
	if o.render.Format == formatJUnit && len(o.logs.Config.Settings.SLA) == 0 {
		bad.Add(fio.Usagef("--format junit: a test case for each rule: pass --sla"))
	}
	if o.wide != "" {
		bad.Add(o.readWide(o.wide))
	}
	// --interval auto depends on what is shown: let it be the same in all formats.
	if o.render.Table() && o.wide == "" && !c.IsSet("by") && o.logs.Config.Accuracy == 0 {
		o.logs.Config.Settings.By, o.render.Apart = []string{fio.ByDirection}, true
	}
	if c.IsSet("percentiles") || c.IsSet("wide") {
		o.percentiles = o.logs.Config.Settings.Percentiles
	}
}

func (o *printOptions) check(c *cli.Context, bad *fio.Faults) {
	o.logs.check(c, bad)
	o.whole = o.logs.interval == wholeRun
	bad.Add(o.logs.needPaths())
	checkES(c, &o.es, bad)
	but := []string{"by"}
	if o.whole {
		but = append(but, "interval")
	}
	o.logs.checkStored(&o.es, c.IsSet, bad, but...)
}

// wideMetrics are those that can be shown side by side.
var wideMetrics = fio.Metrics{Names: fio.FigureNames(fio.OfInterval)}

// readWide parses --wide and adds its percentile to those computed.
func (o *percentilesOptions) readWide(wide string) error {
	settings := &o.logs.Config.Settings
	m, err := wideMetrics.Parse(wide)
	switch {
	case err != nil:
		return fio.Usagef("--wide %q: want p99 or another percentile, or %s", wide, strings.Join(wideMetrics.Names, ", "))
	case m.Direction != "" && m.Direction != fio.All:
		return fio.Usagef("--wide %q: say --wide %s --only direction=%s", wide, m.Name, m.Direction)
	}
	switch {
	case len(settings.By) == 0:
		return fio.Usagef("--wide %s: say with --by what is to lie side by side, such as --by host", wide)
	case !o.render.Table() && o.render.Format != "csv":
		return fio.Usagef("--wide is for --format table, markdown and csv")
	case len(o.logs.Kinds.List) > 1:
		return fio.Usagef("--wide is for one --kind")
	}
	o.render.Wide = m.Name
	if m.Percentile > 0 && !slices.Contains(settings.Percentiles, m.Percentile) {
		settings.Percentiles = append(settings.Percentiles, m.Percentile)
	}
	return nil
}

// run prints the percentiles of one run.
func (o *percentilesOptions) run(ctx context.Context, u *ui.UI) error {
	return o.print(ctx, u, "percentiles are of one run", render.New)
}

// print prints the rows of one run with a new Renderer. why is for the error about several runs.
func (o *printOptions) print(ctx context.Context, u *ui.UI, why string,
	newRenderer func(render.Options, *bufio.Writer) *render.Renderer) error {
	if o.render.Format == "parquet" && ui.Columns(u.Stdout) > 0 {
		return fio.Usagef("--format parquet is not for a terminal: name a file with --output")
	}
	rules := o.logs.Config.Settings.SLA
	if o.whole { // rules apply to the one row
		o.logs.Config.WholeRun, o.logs.Config.Settings.SLA = true, nil
	}
	o.logs.Config.NoID = o.render.Table() || o.render.Wide != ""
	o.logs.Config.Allow = runsource.ConfirmIntervals(u, o.yes)
	r := runsource.Reader{Logs: &o.logs.Logs, Elasticsearch: &o.es, UI: u, Percentiles: o.percentiles,
		Several: "docs/analysis.md has the SQL for rows of several runs",
		By:      slices.Clip(append([]string{}, o.logs.Config.Settings.By...))}
	defer r.Close()
	run, err := r.One(ctx, why, o.logs.Paths...)
	if err != nil {
		return err
	}
	sources, done, err := run.Open(ctx)
	defer done()
	if err == nil && !o.whole && sources[0].Run.Timeless() && sources[0].Unmeasured == "" {
		err = pipeline.NoTimes(run.Title, "pass --interval run for its whole run")
	}
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(u.Stdout, 64<<10)
	var sums []*pipeline.Summary
	o.render.Width = u.TableWidth()
	renderer := newRenderer(o.render, out)
	renderer.Kinds = len(sources)
	for i, source := range sources {
		var sink pipeline.Sink = renderer
		if o.render.Format == formatJUnit {
			sink = pipeline.Discard{}
		}
		if o.whole {
			if i > 0 {
				rules = nil
			}
			sink = &wholeRow{Next: pipeline.WithRules(rules, sink), SLA: rules}
		}
		var s *pipeline.Summary
		if s, err = source.Process(ctx, sink); err != nil {
			break
		}
		sums = append(sums, s)
	}
	u.ProgressDone()
	if err == nil && o.render.Format == formatJUnit {
		err = junitSLA(sources[0].Run, sums[0], o.logs.FailOnSLA).write(out)
	}
	if ferr := out.Flush(); err == nil && ferr != nil {
		return ferr
	}
	if err != nil {
		return err
	}
	if err = runsource.WarnSyncs(u, sources[0].Run); err != nil {
		return err
	}
	for i, s := range sums {
		kindAccount(u, sources[i].Run, s, len(sources))
	}
	return afterPrint(failOnSLA(o.logs.FailOnSLA, sums[0]))
}
