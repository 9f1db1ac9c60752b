// Package percentiles implements fiolat percentiles: it prints percentiles over time.
package percentiles

import (
	"bufio"
	"context"
	"io"
	"slices"

	"fiolat/internal/command"
	"fiolat/internal/render"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

// Options are the options of fiolat percentiles.
type Options struct {
	Logs          command.Logs // Paths may also name a stored run
	Elasticsearch command.Elasticsearch
	Place         command.Place // of what Paths names
	Percentiles   []float64     // of a stored run; none: those that it has
	Render        render.Options
	Whole         bool // one row for the whole run
	Yes           bool // ask for no confirmation
}

// Run prints the percentiles of one run.
func Run(ctx context.Context, o Options, u *ui.UI) (err error) {
	rules := o.Logs.Config.Settings.SLA
	if o.Whole { // rules apply to the one row
		o.Logs.Config.WholeRun, o.Logs.Config.Settings.SLA = true, nil
	}
	source := command.OneSource{
		Logs:          o.Logs,
		Elasticsearch: o.Elasticsearch,
		Place:         o.Place,
		Percentiles:   o.Percentiles,
		By:            slices.Clip(append([]string{}, o.Logs.Config.Settings.By...)),
		Why:           "percentiles are of one run",
		Yes:           o.Yes,
		NoID:          o.Render.Format != "json",
	}
	sources, done, err := source.Sources(ctx, u)
	defer done()
	if err != nil {
		return err
	}
	var written command.Counter
	out := bufio.NewWriterSize(io.MultiWriter(&written, discardIf(o.Logs.DryRun, u.Stdout)), 64<<10)
	var sums []*pipeline.Summary
	renderer := render.New(o.Render, out)
	renderer.Kinds = len(sources)
	for i, source := range sources {
		var sink pipeline.Sink = renderer
		if o.Whole {
			settings := pipeline.Settings{SLA: rules}
			if i > 0 {
				settings.SLA = nil
			}
			if sink, err = pipeline.WithRules(&settings, sink); err != nil {
				return err
			}
			sink = &command.OneRow{Next: sink, SLA: settings.SLA}
		}
		var s *pipeline.Summary
		if s, err = source.Process(ctx, sink); err != nil {
			break
		}
		sums = append(sums, s)
	}
	u.ProgressDone()
	if o.Render.Limits && err == nil {
		u.Say("info", "%s", limitsText(o.Whole, sums))
	}
	if ferr := out.Flush(); err == nil && ferr != nil {
		return ferr
	}
	if err != nil {
		return err
	}
	if err = command.WarnSyncs(u, sources[0].Run); err != nil {
		return err
	}
	for i, s := range sums {
		command.KindAccount(u, sources[i].Run, s, len(sources))
	}
	if o.Logs.DryRun {
		u.Say("info", "dry run: %d bytes would be written to standard output", written)
	}
	return command.FailOnSLA(o.Logs.FailOnSLA, sums[0])
}

func discardIf(yes bool, w io.Writer) io.Writer {
	if yes {
		return io.Discard
	}
	return w
}

// limitsText says what the printed limits are.
func limitsText(whole bool, sums []*pipeline.Summary) string {
	if !whole {
		return "limits: 95 % sampling limits of independent I/Os; bursts make them wider"
	}
	text := "limits: 95 % confidence, bursts of slow I/Os included"
	for _, s := range sums {
		for i := range s.Total {
			if s.Total[i].Stats.LimitsAtLeast {
				return text + "; at least so wide, as the run is short for its bursts"
			}
		}
	}
	return text
}
