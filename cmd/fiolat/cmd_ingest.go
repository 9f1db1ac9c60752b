package main

import (
	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/internal/command"
	"fiolat/internal/command/ingest"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

const defaultOutput = "fiolat-out"

func ingestCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name:      "ingest",
		Usage:     "the main job: logs into Elasticsearch, or into a directory",
		ArgsUsage: "PATH...",
		Description: "fiolat ingest --es http://localhost:9200 runs/today\n" +
			"fiolat ingest --es https://es:9200 --es-user perf --es-password-file ~/.es --run-name 'osd 12 down' " +
			"--label ceph=19.2 runs/today\n" +
			"fiolat ingest --output today.docs runs/today && fiolat load --es http://localhost:9200 today.docs\n\n" +
			"PATH is a log, a directory that is searched, a glob, or - for standard input. A tree with several runs " +
			"is ingested as several runs. " +
			"Without an Elasticsearch the same documents go into --output DIR, ready for _bulk.",
		Flags: append(append(severalKinds(logFlags("direction,host")), esFlags(new(command.Elasticsearch))...),
			outputFlag(), takeOverFlag(), yesFlag(), verboseFlag(),
		),
		Action: actionOf(u, readIngestOptions, ingest.Run),
	}
}

func readIngestOptions(c *cli.Context) (o ingest.Options, err error) {
	var bad errs.Faults
	o.Logs, err = logOptions(c)
	bad.Add(err)
	bad.Add(needPaths(o.Logs))
	o.Elasticsearch, err = esOptions(c)
	bad.Add(err)
	bad.Add(esmodel.CheckLabels(o.Logs.Config.Labels))
	o.Yes = c.Bool("yes")
	return o, bad.Err()
}
