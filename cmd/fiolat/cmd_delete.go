package main

import (
	"github.com/urfave/cli/v2"

	"fiolat/internal/command/runs"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

func deleteCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name:      "delete",
		Usage:     "delete a run from Elasticsearch: histograms, percentiles, notes and all",
		ArgsUsage: "RUN",
		Description: "fiolat delete --es http://localhost:9200 nightly\n" +
			"fiolat delete --yes 4f6b1c\n\n" +
			runIs +
			" Asks for confirmation. Run it again with the run.id to finish an interrupted deletion.",
		Flags: append(esFlags(), takeOverFlag(),
			&cli.BoolFlag{Name: "yes", Usage: "do not ask"}),
		Action: action(u, readDeleteOptions, runs.Delete),
	}
}

func readDeleteOptions(c *cli.Context) (o runs.DeleteOptions, err error) {
	var bad errs.Faults
	if c.NArg() != 1 {
		bad.Add(errs.Usagef("fiolat delete: name one run"))
	}
	if !c.Bool("yes") && !ui.IsTerminal(c.App.Reader) {
		bad.Add(errs.Usagef("fiolat delete: standard input is not a terminal, so there is no one to confirm; pass " +
			"--yes"))
	}
	o.Run, o.Yes = c.Args().First(), c.Bool("yes")
	o.Elasticsearch, err = esOptions(c)
	bad.Add(err)
	return o, bad.Err()
}
