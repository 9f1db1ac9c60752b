package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
	"fiolat/internal/command"
	curvecmd "fiolat/internal/command/curve"
	"fiolat/internal/curve"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

func curveCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name:      "curve",
		Usage:     "latency against load, from the runs of a sweep",
		ArgsUsage: "PATH|RUN...",
		Description: "fiolat curve depths\n" +
			"fiolat curve --at 'read p99 < 1ms' depths           how many IOPS meet that rule\n" +
			"fiolat curve --axis mib -o curve.html depths\n\n" +
			"Runs with the same job options are repeats: they make one point. Options that change the load (iodepth, " +
			"numjobs, rate_iops, ...) make a curve; runs that also differ in others (bs, rw, ...) make several. " +
			"Repeat each setting 3 times: limits come from the spread between repeats. " + orStored,
		Flags: append(slices.Concat(wholeRunFlags("50,99,99.9"), pickFlags(), esFlags(new(command.Elasticsearch))),
			&cli.StringFlag{Name: "direction", Usage: "`DIRECTION` of the I/Os: read, write, trim, all or sync " +
				"(default: that of --at, else all)"},
			&cli.StringFlag{Name: "at", Usage: "how many IOPS meet `RULE`, such as 'read p99 < 1ms'"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FILE` for an HTML page with the curve"},
			&cli.StringFlag{Name: "axis", Value: "iops", Usage: "horizontal `AXIS` of the page: iops, mib (MiB/s) or " +
				"concurrency"},
			&cli.StringFlag{Name: "format", Value: "table", Usage: "`FORMAT` of the output: table, markdown, csv or " +
				"json"},
			unitFlag(),
		),
		Action: actionOf(u, readCurveOptions, curvecmd.Run),
	}
}

func readCurveOptions(c *cli.Context) (o curvecmd.Options, err error) {
	var bad errs.Faults
	o.Logs, err = oneKindOptions(c)
	bad.Add(err)
	o.Format, err = wordOf(c, "format")
	bad.Add(err)
	o.Unit, err = wordOf(c, "unit")
	bad.Add(err)
	axis, err := wordOf(c, "axis")
	bad.Add(err)
	o.Axis = curve.Axis(axis)
	if o.Direction = c.String("direction"); o.Direction != "" && !slices.Contains(fio.MetricDirections(), o.Direction) {
		bad.Add(errs.Usagef("--direction %q: want read, write, trim, all or sync", o.Direction))
	}
	if text := c.String("at"); text != "" {
		rule, wrong := fio.ParseRule(text)
		switch {
		case wrong != nil:
			bad.Add(errs.Usagef("--at: %v", wrong))
		case !rule.Latency() || rule.Above:
			bad.Add(errs.Usagef("--at %q: want an upper bound of a latency, such as 'read p99 < 1ms'", text))
		case o.Direction != "" && o.Direction != rule.Direction:
			bad.Add(errs.Usagef("--at %q is about %s, --direction about %s: name one of them", text, rule.Direction,
				o.Direction))
		}
		o.At = &rule
	}
	o.File = c.String("output")
	bad.Add(needPaths(o.Logs))
	o.Elasticsearch, err = esOptions(c)
	bad.Add(err)
	return o, bad.Err()
}
