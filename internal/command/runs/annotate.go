// Package runs implements fiolat runs, label, annotate and delete, which manage stored runs.
package runs

import (
	"context"
	"time"

	"fiolat/esmodel/client"
	"fiolat/esmodel/stored"
	"fiolat/internal/command"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

// AnnotateOptions are the options of fiolat annotate.
type AnnotateOptions struct {
	Elasticsearch command.Elasticsearch
	Run           string // its run.id or its name
	Text          string
	At            time.Time // unless Relative
	Relative      bool
	Offset        time.Duration // from the run's start
}

// Annotate stores a note on a run.
func Annotate(ctx context.Context, o AnnotateOptions, u *ui.UI) error {
	client, run, err := find(ctx, &o.Elasticsearch, o.Run, u)
	if err != nil {
		return err
	}
	defer client.Close()
	start, err := time.Parse(time.RFC3339Nano, run.Run.Start)
	if err != nil {
		return err
	}
	when := o.At
	if o.Relative {
		when = start.Add(o.Offset)
	}
	if run.Run.End != nil {
		if end, bad := time.Parse(time.RFC3339Nano, *run.Run.End); bad == nil && (when.Before(start) ||
			when.After(end)) {
			u.Warn("that is not within the run, which lasted from " + run.Run.Start + " to " + *run.Run.End)
		}
	}
	created, err := stored.Annotate(ctx, client, o.Elasticsearch.Prefix, stored.Note{Run: run, At: when.UnixNano(),
		Offset: int64(when.Sub(start)), Text: o.Text})
	if err != nil {
		return err
	}
	was := "noted"
	if !created {
		was = "noted before"
	}
	u.Say("info", "%s at %s, %v after the start of run %s", was, when.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		when.Sub(start), errs.Printable(run.Run.ID))
	return nil
}

// find connects, and finds the run with that id or name.
func find(ctx context.Context, o *command.Elasticsearch, name string, u *ui.UI) (*client.Client, *stored.RunSummary,
	error) {
	c, err := o.Connect(u)
	if err != nil {
		return nil, nil, err
	}
	run, err := stored.FindRun(ctx, c, o.Prefix, name)
	if err != nil {
		_ = c.Close() // what failed is err
	}
	return c, run, err
}
