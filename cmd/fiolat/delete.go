package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
)

type deleteOptions struct {
	es     runsource.Elasticsearch
	chosen chosenRuns
	yes    bool // ask for no confirmation
}

func deleteCommand(u *ui.UI) *cli.Command {
	o := &deleteOptions{}
	return &cli.Command{
		Name: "delete",
		Flags: append(esFlags(&o.es), o.chosen.olderThanFlag(), o.chosen.labelFlag(),
			&cli.BoolFlag{Name: "yes", Destination: &o.yes, Usage: "do not ask"}),
		Action: action(u, o),
	}
}

func (o *deleteOptions) check(c *cli.Context, bad *fio.Faults) {
	o.chosen.check(c, bad)
	if !o.yes && !ui.IsTerminal(c.App.Reader) {
		bad.Add(fio.Usagef("fiolat delete: standard input is not a terminal, so there is no one to confirm; pass " +
			"--yes"))
	}
	checkES(c, &o.es, bad)
}

// run deletes runs, one after the other. A failure does not stop the others.
func (o *deleteOptions) run(ctx context.Context, u *ui.UI) error {
	c, err := o.es.Connect(u)
	if err != nil {
		return err
	}
	defer c.Close()
	doomed, err := o.find(ctx, c)
	if err != nil {
		return err
	}
	// Nobody may take what is found for all that there is.
	is, err := indices.CheckMappings(ctx, c, o.es.Prefix, indices.None, true)
	if err != nil {
		u.Warn(fmt.Sprintf("whether all indices can be read is not known: %v", err))
	} else {
		for _, w := range is.Warnings() {
			u.Warn(w)
		}
		if slices.ContainsFunc(is.Unread, func(index string) bool { // notes may have any time
			kind, _ := esmodel.KindOf(o.es.Prefix, index)
			return kind == esmodel.KindEvent
		}) {
			u.Warn("notes on what is deleted may be left there: delete it again, by its run.id, when it can be read")
		}
	}
	if len(doomed) == 0 {
		u.Say("info", "there is no such run")
		return nil
	}
	if !o.yes {
		for _, d := range doomed {
			fmt.Fprintf(u.Stderr, "%s, documents: %v\n", d.line, d.there)
		}
		if !ui.Confirm(u.Stdin, u.Stderr, fmt.Sprintf("delete %s? [y/N] ", fio.Several(len(doomed), "run"))) {
			return errors.New("not deleted")
		}
	}
	var failed []error
	for _, d := range doomed {
		deleted, err := stored.DeleteRun(ctx, c, o.es.Prefix, d.id)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		u.Say("info", "deleted of run %s, documents: %v", fio.Printable(d.id), deleted)
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// doomed is a run to delete.
type doomed struct {
	id, line string
	there    stored.KindCounts
}

// find returns the runs to delete, each once.
func (o *deleteOptions) find(ctx context.Context, c *client.Client) (all []doomed, err error) {
	prefix := o.es.Prefix
	// An interrupted delete may have left documents of a run without the run's own. Only the id finds them.
	chosen := o.chosen
	chosen.names = nil
	for _, name := range o.chosen.names {
		there, err := stored.CountRun(ctx, c, prefix, name)
		if err != nil {
			return nil, err
		}
		if len(there) > 0 && there[esmodel.KindRun] == 0 {
			all = append(all, doomed{name, "run " + fio.Printable(name), there})
			continue
		}
		chosen.names = append(chosen.names, name)
	}
	if len(all) > 0 && len(chosen.names) == 0 { // find would take that for a choice by age and label
		return all, nil
	}
	runs, err := chosen.find(ctx, c, prefix)
	for i := range runs {
		d := doomed{id: runs[i].Run.ID, line: runLine(&runs[i])}
		if d.there, err = stored.CountRun(ctx, c, prefix, d.id); err != nil {
			break
		}
		all = append(all, d)
	}
	return all, err
}
