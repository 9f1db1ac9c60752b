package main

import (
	"github.com/urfave/cli/v2"

	"fiolat/internal/command/load"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

func loadCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name:      "load",
		Usage:     "send documents again: of a directory, spooled, or refused",
		ArgsUsage: "FILE|DIR...",
		Description: "fiolat load --es http://localhost:9200 fiolat-out\n\n" +
			"Sending a document twice does no harm: its id says what it is about. Of a spool, and of what was " +
			"refused, the files are removed when everything has arrived; those that ingest --output made stay.",
		Flags:  append(esFlags(), takeOverFlag()),
		Action: action(u, readLoadOptions, load.Run),
	}
}

func readLoadOptions(c *cli.Context) (o load.Options, err error) {
	if c.NArg() == 0 {
		return o, errs.Usagef("fiolat load: name the files or directories to send, such as %s", defaultOutput)
	}
	o.Paths = c.Args().Slice()
	o.Elasticsearch, err = esOptions(c)
	return o, err
}
