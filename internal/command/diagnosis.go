package command

import (
	"context"

	"fiolat/esmodel/client"
	"fiolat/esmodel/stored"
	"fiolat/internal/diagnose"
	"fiolat/internal/ui"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
)

// Reread returns a function that passes the leaves of a run to a sink once more, nil if a log can be read only once.
func Reread(p *plan.Plan) func(context.Context, pipeline.Sink) error {
	if ReadOnce(p.Sources()) != "" {
		return nil
	}
	return func(ctx context.Context, sink pipeline.Sink) error { return p.Reread(ctx, sink, nil) }
}

// Diagnosis returns a new diagnosis for the document of a run. again passes the run's leaves to a sink once more, or
// is nil. If it fails there is only a warning, since the run itself was read.
func Diagnosis(u *ui.UI, again func(context.Context, pipeline.Sink) error) *diagnose.Full {
	full := new(diagnose.Full)
	if again != nil {
		full.Reread = func(ctx context.Context, sink pipeline.Sink) error {
			err := again(ctx, sink)
			if err != nil && ctx.Err() == nil {
				u.Warn("the diagnosis lacks the percentiles with and without its stragglers: " + err.Error())
				return nil
			}
			return err
		}
	}
	return full
}

// Notes returns the notes on a stored run, the earliest first.
func Notes(ctx context.Context, c *client.Client, prefix string, run *pipeline.Run) (out []diagnose.Note, err error) {
	notes, err := stored.Notes(ctx, c, prefix, []string{run.ID})
	for _, n := range notes {
		out = append(out, diagnose.Note{AtMS: n.At.UnixMilli() - run.Start/1e6, Text: n.Text})
	}
	return out, err
}
