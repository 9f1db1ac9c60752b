package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
)

type labelOptions struct {
	es     runsource.Elasticsearch
	name   string // its run.id or its name
	labels stored.Labels
	remove cli.StringSlice
}

func labelCommand(u *ui.UI) *cli.Command {
	o := &labelOptions{}
	return &cli.Command{
		Name: "label",
		Flags: append(esFlags(&o.es),
			&cli.StringSliceFlag{Name: "remove", Destination: &o.remove,
				Usage: "remove the label `KEY`"}),
		Action: action(u, o),
	}
}

func (o *labelOptions) check(c *cli.Context, bad *fio.Faults) {
	var err error
	o.name, o.labels.Remove = c.Args().First(), o.remove.Value()
	if c.NArg() == 0 || c.NArg() == 1 && len(o.labels.Remove) == 0 {
		bad.Add(fio.Usagef("fiolat label: name the run, and its labels as KEY=VALUE"))
	}
	o.labels.Set, err = pairs("fiolat label", c.Args().Tail())
	bad.Add(err)
	for _, k := range o.labels.Remove {
		if _, both := o.labels.Set[k]; both {
			bad.Add(fio.Usagef("fiolat label: label %q is to be set and removed", k))
		}
	}
	checkES(c, &o.es, bad)
}

// run changes the labels of a run.
func (o *labelOptions) run(ctx context.Context, u *ui.UI) error {
	client, run, err := o.es.Find(ctx, u, o.name)
	if err != nil {
		return err
	}
	defer client.Close()
	changed, err := stored.Label(ctx, client, o.es.Prefix, run.Run.ID, o.labels)
	if err != nil {
		return err
	}
	if changed[esmodel.KindRun]+changed[esmodel.KindEvent] == 0 {
		u.Say("info", "run %s has these labels", fio.RunName(run.Run.ID, run.Run.Name))
		return nil
	}
	u.Say("info", "labelled run %s, documents: %v", fio.RunName(run.Run.ID, run.Run.Name), changed)
	return nil
}
