package main

import (
	"github.com/urfave/cli/v2"

	"fiolat/internal/command"
	"fiolat/internal/command/inspect"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

func inspectCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name:      "inspect",
		Usage:     "what each log is: geometry, interval, host, job, damage found, repaired, missing",
		ArgsUsage: "PATH...|DIR...|RUN...",
		Description: "fiolat inspect runs/today\n" +
			"fiolat inspect --es http://localhost:9200 RUN\n\n" +
			"Reads every log as ingest would and prints what it found, beside what fio's own JSON counted. Logs that " +
			"cannot be read are named, the others still shown, and the exit code is 3. Of a stored run (DIR is what " +
			"ingest --output wrote) it prints what its document says: options, logs, jobs, syncs, priorities, " +
			"and the account. " + runIs,
		Flags: append(append(logFlags(""), esFlags(new(command.Elasticsearch))...), verboseFlag(),
			&cli.StringFlag{Name: "format", Value: "table", Usage: "`FORMAT` of the output: table or json"},
		),
		Action: actionOf(u, readInspectOptions, inspect.Run),
	}
}

func readInspectOptions(c *cli.Context) (o inspect.Options, err error) {
	var bad errs.Faults
	o.Logs, err = oneKindOptions(c)
	bad.Add(err)
	o.Format, err = wordOf(c, "format")
	bad.Add(err)
	bad.Add(needPaths(o.Logs))
	o.Elasticsearch, err = esOptions(c)
	bad.Add(err)
	for _, path := range o.Logs.Paths {
		if at := command.Locate(path); at != command.Stored || len(o.Elasticsearch.Addresses) > 0 {
			bad.Add(rejectLogFlags(at, errs.Printable(path), c.IsSet))
		}
	}
	return o, bad.Err()
}
