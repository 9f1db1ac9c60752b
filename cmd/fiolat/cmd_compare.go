package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"fiolat/internal/command"
	comparecmd "fiolat/internal/command/compare"
	"fiolat/internal/compare"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

func compareCommand(u *ui.UI) *cli.Command {
	// Flags that identify or describe one run, or that write, do not apply.
	flags := slices.DeleteFunc(logFlags(""), func(f cli.Flag) bool {
		return slices.Contains([]string{"by", "fio-json", "dry-run", "run-id", "run-name", "label", "part", "sla",
			"sla-file", "fail-on-sla"}, f.Names()[0])
	})
	return &cli.Command{
		Name:      "compare",
		Usage:     "whether runs really differ from the first",
		ArgsUsage: "BASELINE RUN...",
		Description: "fiolat compare runs/before runs/after\n" +
			"fiolat compare --fail-if 'read p99 +10%' before=runs/b1,runs/b2,runs/b3 after=runs/a1,runs/a2,runs/a3\n" +
			"fiolat compare --es http://localhost:9200 --format markdown old=label:build=19.1 new=label:build=19.2\n" +
			"fiolat compare runs/before      # how much repeats differ\n\n" +
			"BASELINE and RUN are logs (a file, a directory, a glob), a directory of documents (ingest --output), or " +
			"else a run in Elasticsearch. " + runIs + " One that holds several runs is a group of repeats; so is " +
			"NAME=RUN,RUN,..., and in Elasticsearch label:KEY=VALUE or NAME=label:KEY=VALUE. Give 3 runs or more " +
			"of each, better 5: a single run does not show how much repeats differ. " +
			"Limits are of 95 % confidence for all numbers together; docs/compare.md explains them.",
		Flags: append(slices.Concat(flags, pickFlags(), esFlags(new(command.Elasticsearch))),
			&cli.StringSliceFlag{Name: "fail-if", Usage: "exit 5 if a change exceeds `RULE` and is statistically " +
				"significant: [DIRECTION] METRIC CHANGE%, such as 'read p99 +10%' or 'iops -5%'; can be repeated. " +
				"Single runs need --run-noise"},
			&cli.StringFlag{Name: "baseline", Usage: "compare each RUN with the stored runs that `label:KEY=VALUE` " +
				"names: those of its workload that began before it, since their last change point, 5 or more"},
			&cli.StringSliceFlag{Name: "run-noise", Usage: "standard deviation between repeated runs, for " +
				"where there are too few to measure it: `[METRIC=]P%[/RUNS]`, such as 4% or 'read p99=8%/12', " +
				"measured over 12 runs (default: 10); can be repeated. fiolat compare GROUP prints it; 0% counts " +
				"only the noise within the runs"},
			&cli.StringFlag{Name: "margin", Value: "5%", Usage: "a change within `P%` of none is called same"},
			&cli.StringFlag{Name: "format", Value: "table", Usage: "`FORMAT` of the output: table, markdown or json"},
			&cli.StringFlag{Name: "unit", Value: "auto", Usage: "`UNIT` of latencies in tables: ns, us, ms, s, or " +
				"auto: what suits the table"},
		),
		Action: actionOf(u, readCompareOptions, comparecmd.Run),
	}
}

func readCompareOptions(c *cli.Context) (o comparecmd.Options, err error) {
	var bad errs.Faults
	o.Logs, err = oneKindOptions(c)
	bad.Add(err)
	o.Format, err = wordOf(c, "format")
	bad.Add(err)
	o.Unit, err = wordOf(c, "unit")
	bad.Add(err)
	o.Baseline = c.String("baseline")
	if o.Runs = o.Logs.Paths; len(o.Runs) == 0 || len(o.Runs) == 1 && c.IsSet("fail-if") && o.Baseline == "" {
		bad.Add(errs.Usagef("fiolat compare: name the baseline and at least one other run"))
	}
	for _, text := range c.StringSlice("run-noise") {
		noise, wrong := compare.ParseRunNoise(text)
		if wrong != nil {
			bad.Add(errs.Usagef("--run-noise %v", wrong))
		}
		o.RunNoise = append(o.RunNoise, noise)
	}
	if o.Margin, err = compare.ParsePercent(c.String("margin")); err != nil {
		bad.Add(errs.Usagef("--margin: %v", err))
	}
	for _, text := range c.StringSlice("fail-if") {
		rule, wrong := compare.ParseRule(text)
		if wrong != nil {
			bad.Add(errs.Usagef("--fail-if %v", wrong))
		}
		o.FailIf = append(o.FailIf, rule)
	}
	for _, p := range o.Logs.Config.Settings.Percentiles {
		if p <= 0 || p >= 100 {
			bad.Add(errs.Usagef("--percentiles %g: the smallest and the largest of all latencies depend on the "+
				"length of the run, and cannot be compared", p))
		}
	}
	o.Elasticsearch, err = esOptions(c)
	bad.Add(err)
	return o, bad.Err()
}
