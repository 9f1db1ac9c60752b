package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"fiolat/esmodel"
	"fiolat/ingest"
)

func deleteCommand(u *ui) *cli.Command {
	return &cli.Command{
		Name:      "delete",
		Usage:     "delete a run from Elasticsearch: histograms, percentiles, notes and all",
		ArgsUsage: "RUN",
		Description: "fiolat delete --es http://localhost:9200 nightly\n" +
			"fiolat delete --yes 4f6b1c\n\n" +
			"RUN is its run.id, or its name if only one run has that. Asks before it deletes; what was interrupted is finished by the same command with the run.id.",
		Flags: append(esFlags(), takeOverFlag(),
			&cli.BoolFlag{Name: "yes", Usage: "do not ask"}),
		Action: action(u, readDeleteOptions, deleteRun),
	}
}

// deleteOptions are what fiolat delete is asked for.
type deleteOptions struct {
	Elasticsearch Elasticsearch
	Run           string // its run.id or its name
	Yes           bool   // does not ask
}

func readDeleteOptions(c *cli.Context) (o deleteOptions, err error) {
	var bad faults
	if c.NArg() != 1 {
		bad.add(usagef("fiolat delete: name one run, its run.id"))
	}
	if !c.Bool("yes") && !isTerminal(c.App.Reader) {
		bad.add(usagef("fiolat delete: nobody is there to be asked; pass --yes to delete all the same"))
	}
	o.Run, o.Yes = c.Args().First(), c.Bool("yes")
	o.Elasticsearch, err = esOptions(c)
	bad.add(err)
	return o, bad.err()
}

func deleteRun(ctx context.Context, o deleteOptions, u *ui) error {
	prefix := o.Elasticsearch.Prefix
	client, err := o.Elasticsearch.Connect(u)
	if err != nil {
		return err
	}
	defer client.Close()
	// A run of which an interrupted delete has left something has no document of its
	// own any more, and only its id finds it.
	id := o.Run
	there, err := esmodel.CountRun(ctx, client, prefix, id)
	if err != nil {
		return err
	}
	if len(there) == 0 {
		run, none := esmodel.FindRun(ctx, client, prefix, id)
		if none != nil {
			return none
		}
		id = run.Run.ID
		if there, err = esmodel.CountRun(ctx, client, prefix, id); err != nil {
			return err
		}
	}
	if !o.Yes && !confirm(u.stdin, u.stderr, fmt.Sprintf("delete run %s, documents: %v? [y/N] ", ingest.Printable(id),
		there)) {
		return errors.New("not deleted")
	}
	deleted, err := esmodel.DeleteRun(ctx, client, prefix, id, o.Elasticsearch.TakeOver)
	u.say("info", "deleted of run %s, documents: %v", ingest.Printable(id), deleted)
	return err
}

// isTerminal says that somebody sits at the other end.
func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// confirm asks a question; only yes is yes.
func confirm(in io.Reader, out io.Writer, question string) bool {
	fmt.Fprint(out, question)
	answer, _ := bufio.NewReader(in).ReadString('\n') // the end of input is no
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}
