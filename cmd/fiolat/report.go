package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/analysis/curve"
	"fiolat/analysis/diagnose"
	"fiolat/esmodel/delivery"
	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/report"
)

type reportOptions struct {
	logs        logOptions // Paths may also name stored runs
	es          runsource.Elasticsearch
	percentiles []float64  // of --percentiles; nil: not given
	kinds       bool       // --kind names several
	sides       []groupArg // of two groups of runs
	file        string     // for the page
	notes       []runNote  // beside those that are stored
	clock       *time.Location
	picture     *report.Picture // nil: a page
	yes         bool            // ask for no confirmation
}

func reportCommand(u *ui.UI) *cli.Command {
	o := &reportOptions{}
	return &cli.Command{
		Name: "report",
		Flags: append(slices.Concat(o.logs.flags(logFlags{by: "direction,host,job", kinds: true}),
			pickFlags(&o.logs.Config.Pick, false), esFlags(&o.es)),
			pageFlag(),
			&cli.GenericFlag{Name: "clock", Value: parsed(&o.clock, "", clockZone),
				Usage: "times of day in a picture, in `ZONE` utc or local"},
			&cli.GenericFlag{Name: "note", Value: &value{many: true, parse: o.addNote},
				Usage: "mark in the charts what happened when: `TEXT` such as '+15s osd.12 down'"},
			yesFlag(&o.yes), verboseFlag(),
		),
		Action: answerTo(u, o),
	}
}

// pageFlag is --output of a command that always draws.
func pageFlag() cli.Flag {
	f := fileFlag(".csv", isPage, isPicture)
	f.Value = withDefault("report.html", f.Value.(*value))
	f.Usage = "`FILE` for the page, or a picture: x.png or x.svg"
	return f
}

// groupArg is one of two groups of runs.
type groupArg struct {
	name    string
	members []string
}

// group takes NAME=RUN,RUN,... as groups of runs.
func (o *reportOptions) group() error {
	var sides []groupArg
	var paths []string
	named := false
	for _, argument := range o.logs.Paths {
		name, members, err := groupMembers(argument)
		if err != nil {
			return err
		}
		named = named || name != argument
		sides, paths = append(sides, groupArg{name, members}), append(paths, members...)
	}
	if !named {
		return nil
	}
	if len(sides) != 2 {
		return fio.Usagef("NAME=RUN,RUN,...: a page compares two groups, and there are %d", len(sides))
	}
	o.sides, o.logs.Paths = sides, paths
	return nil
}

func (o *reportOptions) check(c *cli.Context, bad *fio.Faults) {
	o.logs.check(c, bad)
	bad.Add(o.group())
	bad.Add(o.logs.needPaths())
	checkES(c, &o.es, bad)
	stored := o.logs.checkStored(&o.es, c.IsSet, bad)
	o.kinds = len(o.logs.Kinds.List) > 1
	if stored && !c.IsSet("kind") {
		o.logs.Kinds = runsource.EveryKind // all that are stored
	}
	if c.IsSet("percentiles") {
		o.percentiles = o.logs.Config.Settings.Percentiles
	}
	o.file = c.String("output")
	switch {
	case endings[ending(o.file)] == isPicture:
		o.picture = &report.Picture{PNG: ending(o.file) == ".png", Clock: o.clock}
	case o.clock != nil:
		bad.Add(fio.Usagef("--clock: is for a picture, --output in .svg or .png: a page has a choice of clocks"))
	}
}

// run writes the page of one run, of two that are compared, or the curve of a sweep.
func (o *reportOptions) run(ctx context.Context, u *ui.UI) error {
	o.logs.Config.Pauses, o.logs.Config.Allow = true, runsource.ConfirmIntervals(u, o.yes || o.logs.DryRun)
	r := &runsource.Reader{Logs: &o.logs.Logs, Elasticsearch: &o.es, UI: u, Percentiles: o.percentiles}
	defer r.Close()
	if o.sides != nil {
		return o.groups(ctx, r)
	}
	var found []*runsource.Run
	var err error
	for run, bad := range r.Find(ctx, o.logs.Paths...) {
		if err = bad; err == nil {
			found = append(found, run)
		}
	}
	switch {
	case ingest.IsNoLogs(err):
		if e := o.curve(ctx, r); !errors.Is(e, curve.ErrOneSetting) {
			return e
		}
		return err
	case err != nil:
		return err
	case len(found) == 1:
		return o.one(ctx, found[0], u)
	}
	return o.several(ctx, r, found)
}

// one writes the page of one run.
func (o *reportOptions) one(ctx context.Context, run *runsource.Run, u *ui.UI) error {
	sources, done, err := run.Open(ctx)
	defer done()
	if err != nil {
		return err
	}
	file := newPageFile(o.file, o.logs.DryRun, len(sources), o.picture)
	defer file.Discard()
	var sums []*pipeline.Summary
	full, err := run.Diagnosis(ctx, sources[0])
	if err != nil {
		return err
	}
	if full.Notes, err = o.noted(full.Notes, sources[0].Run); err != nil {
		return err
	}
	for i, s := range sources {
		out := sinks{page: file, nth: i}
		if i == 0 {
			out.diagnosis = full
		}
		var sum *pipeline.Summary
		if sum, err = s.Process(ctx, out.chain(nil, delivery.SinkOptions{})); err != nil {
			return err
		}
		sums = append(sums, sum)
	}
	u.ProgressDone()
	for _, n := range full.Notes {
		if at := n.AtMS * 1e6; at < sources[0].Run.FirstInterval || at > sums[0].End {
			u.Warn("not within the run, so in no chart: the note of " + fio.Clock(n.AtMS) + ", " +
				fio.Printable(n.Text))
		}
	}
	if err = file.Publish(); err != nil {
		return err
	}
	u.PrintHeld()
	for i, s := range sums {
		kindAccount(u, sources[i].Run, s, len(sums))
	}
	if found := full.Diagnosis.Shown(1); len(found) > 0 {
		text := found[0].Text
		if len(found) > 1 && found[1].About == "" { // how many more there are
			text += " " + found[1].Text
		}
		u.Say("info", "finding    %s", fio.Printable(text))
	}
	o.written(file, u)
	return failOnSLA(o.logs.FailOnSLA, sums[0])
}

func (o *reportOptions) written(file *pageFile, u *ui.UI) {
	if o.logs.DryRun {
		u.Say("info", "dry run: %d bytes would be written", file.Size)
	} else {
		what := "page   "
		if endings[ending(file.Path)] == isPicture {
			what = "picture"
		}
		u.Say("info", "%s    %s", what, fio.Printable(file.Path))
	}
}

// runNote is a note of --note.
type runNote struct {
	at   noteTime
	text string
}

// addNote parses --note.
func (o *reportOptions) addNote(text string) error {
	at, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	n := runNote{text: strings.TrimSpace(rest)}
	if n.text == "" {
		return fio.Usagef("--note %q: say when and what, such as '+15s osd.12 down'", text)
	}
	var err error
	n.at, err = readNoteTime("--note", at)
	o.notes = append(o.notes, n)
	return err
}

// noted adds those of --note to the notes on a run.
func (o *reportOptions) noted(notes []diagnose.Note, run *pipeline.Run) ([]diagnose.Note, error) {
	for _, n := range o.notes {
		offset := n.at.offset
		if !n.at.relative {
			if !run.StartKnown {
				return nil, fio.Usagef("--note: when the run started is not known; give an offset from its start such "+
					"as '+15s %s', or --start", n.text)
			}
			offset = n.at.at.Sub(time.Unix(0, run.Start))
		}
		notes = append(notes, diagnose.Note{AtMS: offset.Milliseconds(), Text: n.text})
	}
	slices.SortStableFunc(notes, func(a, b diagnose.Note) int { return cmp.Compare(a.AtMS, b.AtMS) })
	return notes, nil
}
