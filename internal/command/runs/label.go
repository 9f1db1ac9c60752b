package runs

import (
	"context"

	"fiolat/esmodel"
	"fiolat/esmodel/stored"
	"fiolat/internal/command"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

// LabelOptions are the options of fiolat label.
type LabelOptions struct {
	Elasticsearch command.Elasticsearch
	Run           string // its run.id or its name
	Labels        stored.Labels
}

// Label changes the labels of a run.
func Label(ctx context.Context, o LabelOptions, u *ui.UI) error {
	client, run, err := find(ctx, &o.Elasticsearch, o.Run, u)
	if err != nil {
		return err
	}
	defer client.Close()
	changed, err := stored.Label(ctx, client, o.Elasticsearch.Prefix, run.Run.ID, o.Labels, o.Elasticsearch.TakeOver)
	if err != nil {
		return err
	}
	if changed[esmodel.KindRun]+changed[esmodel.KindEvent] == 0 {
		u.Say("info", "run %s has these labels", errs.Printable(run.Run.ID))
		return nil
	}
	u.Say("info", "labelled run %s, documents: %v", errs.Printable(run.Run.ID), changed)
	return nil
}
