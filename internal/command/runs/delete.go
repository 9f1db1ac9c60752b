package runs

import (
	"context"
	"errors"
	"fmt"

	"fiolat/esmodel/stored"
	"fiolat/internal/command"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

// DeleteOptions are the options of fiolat delete.
type DeleteOptions struct {
	Elasticsearch command.Elasticsearch
	Run           string // its run.id or its name
	Yes           bool   // ask for no confirmation
}

// Delete deletes a run.
func Delete(ctx context.Context, o DeleteOptions, u *ui.UI) error {
	prefix := o.Elasticsearch.Prefix
	client, err := o.Elasticsearch.Connect(u)
	if err != nil {
		return err
	}
	defer client.Close()
	// An interrupted delete may have left documents of a run without the run's own.
	// Only the id finds them.
	id := o.Run
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
	if !o.Yes && !ui.Confirm(u.Stdin, u.Stderr, fmt.Sprintf("delete run %s, documents: %v? [y/N] ",
		errs.Printable(id), there)) {
		return errors.New("not deleted")
	}
	deleted, err := stored.DeleteRun(ctx, client, prefix, id, o.Elasticsearch.TakeOver)
	u.Say("info", "deleted of run %s, documents: %v", errs.Printable(id), deleted)
	return err
}
