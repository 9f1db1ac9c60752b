package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel/delivery"
	"fiolat/fio"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
)

type loadOptions struct {
	es    runsource.Elasticsearch
	paths []string // files and directories
}

func loadCommand(u *ui.UI) *cli.Command {
	o := &loadOptions{}
	return &cli.Command{
		Name:   "load",
		Flags:  esFlags(&o.es),
		Action: action(u, o),
	}
}

func (o *loadOptions) check(c *cli.Context, bad *fio.Faults) {
	o.paths = c.Args().Slice()
	if len(o.paths) == 0 {
		bad.Add(fio.Usagef("fiolat load: name the files or directories to send, such as %s", defaultOutput))
	}
	checkES(c, &o.es, bad)
}

// run sends the documents in files again.
func (o *loadOptions) run(ctx context.Context, u *ui.UI) error {
	client, err := o.es.Connect(u)
	if err != nil {
		return err
	}
	defer client.Close()
	report, err := delivery.Load(ctx, client, o.paths, delivery.LoadOptions{Prefix: o.es.Prefix})
	for _, w := range report.Warnings {
		u.Warn(w)
	}
	for _, torn := range report.Torn {
		u.Warn(fio.Printable(torn) + ": the last document is cut off, for its writer was killed; run the ingest " +
			"again")
	}
	t := report.Total()
	if u.JSON {
		u.Line(map[string]any{"level": "info", "msg": "account", "documents": report})
	} else {
		for _, name := range report.Removed {
			u.Say("info", "removed    %s: all of it has arrived", fio.Printable(name))
		}
		if err == nil || t.Made > 0 {
			u.Say("info", "documents  %d read from %s, %d indexed, %d refused, %d not sent; %d of other "+
				"generations deleted", t.Made, fio.Several(len(report.Loaded), "file"), t.Indexed, t.Refused,
				t.Spooled+t.Lost, t.Deleted)
		}
		for _, r := range report.Refusals {
			u.Say("info", "refused    %d: %s", r.Count, r)
		}
		if len(report.Complete) > 0 {
			u.Say("info", "complete   %s", fio.Printable(strings.Join(report.Complete, ", ")))
		}
	}
	return err
}
