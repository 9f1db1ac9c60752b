// Package load implements fiolat load: it sends documents again.
package load

import (
	"context"
	"strings"

	"fiolat/esmodel/delivery"
	"fiolat/internal/command"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

// Options are the options of fiolat load.
type Options struct {
	Elasticsearch command.Elasticsearch
	Paths         []string // files and directories
}

// Run sends the documents in files again.
func Run(ctx context.Context, o Options, u *ui.UI) error {
	client, err := o.Elasticsearch.Connect(u)
	if err != nil {
		return err
	}
	defer client.Close()
	report, err := delivery.Load(ctx, client, o.Paths, delivery.LoadOptions{Prefix: o.Elasticsearch.Prefix,
		TakeOver: o.Elasticsearch.TakeOver})
	for _, w := range report.Warnings {
		u.Warn(w)
	}
	for _, torn := range report.Torn {
		u.Warn(errs.Printable(torn) + ": the last document is cut off, for its writer was killed; run the ingest " +
			"again")
	}
	t := report.Total()
	if u.JSON {
		u.Line(map[string]any{"level": "info", "msg": "account", "documents": report})
	} else {
		for _, name := range report.Removed {
			u.Say("info", "removed    %s: all of it has arrived", errs.Printable(name))
		}
		u.Say("info", "documents  %d read from %d files, %d indexed, %d refused, %d not sent; %d of other "+
			"generations deleted", t.Made, len(report.Loaded), t.Indexed, t.Refused, t.Spooled+t.Lost, t.Deleted)
		for _, r := range report.Refusals {
			u.Say("info", "refused    %d: %s", r.Count, r)
		}
		if len(report.Complete) > 0 {
			u.Say("info", "complete   %s", errs.Printable(strings.Join(report.Complete, ", ")))
		}
	}
	return err
}
