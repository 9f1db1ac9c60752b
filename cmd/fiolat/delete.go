package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
)

type deleteOptions struct {
	es   runsource.Elasticsearch
	name string // of the run: its run.id or its name
	yes  bool   // ask for no confirmation
}

func deleteCommand(u *ui.UI) *cli.Command {
	o := &deleteOptions{}
	return &cli.Command{
		Name: "delete",
		Flags: append(esFlags(&o.es),
			&cli.BoolFlag{Name: "yes", Destination: &o.yes, Usage: "do not ask"}),
		Action: action(u, o),
	}
}

func (o *deleteOptions) check(c *cli.Context, bad *fio.Faults) {
	if o.name = c.Args().First(); c.NArg() != 1 {
		bad.Add(fio.Usagef("fiolat delete: name one run"))
	}
	if !o.yes && !ui.IsTerminal(c.App.Reader) {
		bad.Add(fio.Usagef("fiolat delete: standard input is not a terminal, so there is no one to confirm; pass " +
			"--yes"))
	}
	checkES(c, &o.es, bad)
}

// run deletes a run.
func (o *deleteOptions) run(ctx context.Context, u *ui.UI) error {
	prefix := o.es.Prefix
	client, err := o.es.Connect(u)
	if err != nil {
		return err
	}
	defer client.Close()
	// An interrupted delete may have left documents of a run without the run's own.
	// Only the id finds them.
	id := o.name
	there, err := stored.CountRun(ctx, client, prefix, id)
	if err != nil {
		return err
	}
	if len(there) == 0 {
		run, none := stored.FindRun(ctx, client, prefix, id)
		if none != nil {
			return none
		}
		id = run.Run.ID
		if there, err = stored.CountRun(ctx, client, prefix, id); err != nil {
			return err
		}
	}
	if !o.yes && !ui.Confirm(u.Stdin, u.Stderr, fmt.Sprintf("delete run %s, documents: %v? [y/N] ",
		fio.Printable(id), there)) {
		return errors.New("not deleted")
	}
	deleted, err := stored.DeleteRun(ctx, client, prefix, id)
	u.Say("info", "deleted of run %s, documents: %v", fio.Printable(id), deleted)
	return err
}
