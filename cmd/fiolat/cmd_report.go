package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/internal/command"
	"fiolat/internal/command/report"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

func reportCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "one self-contained HTML page of a run",
		ArgsUsage: "PATH...|DIR|RUN",
		Description: "fiolat report -o today.html runs/today\n" +
			"fiolat report -o today.html --by direction,host,job --percentiles 50,99,99.99 runs/today\n" +
			"fiolat report -o today.html --kind all runs/today                  slat, clat and lat side by side, and whether they add up\n" +
			"fiolat report -o today.html today.docs                              what an ingest --output wrote; of several runs --run-id says which\n" +
			"fiolat report -o today.html --es http://localhost:9200 RUN          a run in Elasticsearch, by " +
			"its run.id\n\n" +
			"PATH is a log, a directory that is searched, a glob, or - for standard input. Of a stored run only --percentiles and --kind can be chosen anew; without --kind it has all kinds of latency that are stored. " +
			"The page has percentiles over time, a heat map, the percentile spectrum, tables of all of them, and where the numbers come from. It loads nothing from anywhere.",
		Flags: append(append(severalKinds(logFlags("direction,host,job")), esFlags()...),
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "report.html", Usage: "`FILE` for the page"},
		),
		Action: action(u, readReportOptions, report.Run),
	}
}

func readReportOptions(c *cli.Context) (o report.Options, err error) {
	var bad errs.Faults
	o.Logs, err = logOptions(c)
	bad.Add(err)
	bad.Add(needPaths(o.Logs))
	o.Elasticsearch, err = esOptions(c)
	bad.Add(err)
	o.InElasticsearch, o.InDirectory, err = whence(o.Logs.Paths, c.IsSet)
	bad.Add(err)
	if !c.IsSet("kind") && (o.InElasticsearch || o.InDirectory) {
		o.Logs.Kinds = command.EveryKind // what is stored
	}
	if c.IsSet("percentiles") {
		o.Percentiles = o.Logs.Config.Settings.Percentiles
	}
	o.File = c.String("output")
	return o, bad.Err()
}

// whence is where the run is stored that the arguments name: in Elasticsearch, if --es
// is given or nothing of that name is here; in a directory of documents; or nowhere. given tells
// whether a flag is on the command line.
func whence(args []string, given func(flag string) bool) (es, docs bool, err error) {
	es = given("es")
	if !es && len(args) == 1 {
		_, statErr := os.Stat(args[0])
		es = errors.Is(statErr, fs.ErrNotExist) && args[0] != "-" && !strings.ContainsAny(args[0], "*?[/") &&
			os.Getenv("ELASTICSEARCH_URL") != ""
		files, globErr := filepath.Glob(filepath.Join(args[0], "*-run.*.ndjson"))
		docs = globErr == nil && len(files) > 0
	}
	if es && len(args) != 1 {
		return false, false, errs.Usagef("fiolat report --es: name one run, its run.id")
	}
	for _, f := range logFlags("") {
		name := f.Names()[0]
		if name == "percentiles" || name == "workers" || name == "dry-run" || name == "fail-on-sla" || name == "kind" ||
			name == "run-id" && docs {
			continue
		}
		if (es || docs) && given(name) {
			return false, false, errs.Usagef("--%s: this run is stored already, and was made with settings of its own",
				name)
		}
	}
	return es, docs, nil
}
