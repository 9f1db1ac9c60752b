package main

import (
	"github.com/urfave/cli/v2"

	"fiolat/internal/command/runs"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

func labelCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name:      "label",
		Usage:     "change the labels of a run",
		ArgsUsage: "RUN [KEY=VALUE...]",
		Description: "fiolat label --es http://localhost:9200 nightly build=19.1 series=nightly\n" +
			"fiolat label --remove build 4f6b1c\n\n" + runIs +
			" A label that the run has already gets the new value. The run's document and its events change, so that " +
			"fiolat runs, compare and the dashboards of runs find it by the label; documents of intervals keep the " +
			"labels of the ingest. Another ingest of the run keeps all labels that it is not given anew, and writes " +
			"them into these documents, too.",
		Flags: append(esFlags(), takeOverFlag(),
			&cli.StringSliceFlag{Name: "remove", Usage: "remove the label `KEY`; can be repeated"}),
		Action: action(u, readLabelOptions, runs.Label),
	}
}

func readLabelOptions(c *cli.Context) (o runs.LabelOptions, err error) {
	var bad errs.Faults
	o.Run, o.Labels.Remove = c.Args().First(), c.StringSlice("remove")
	if c.NArg() == 0 || c.NArg() == 1 && len(o.Labels.Remove) == 0 {
		bad.Add(errs.Usagef("fiolat label: name the run, and its labels as KEY=VALUE"))
	}
	o.Labels.Set, err = pairs("fiolat label", c.Args().Tail())
	bad.Add(err)
	for _, k := range o.Labels.Remove {
		if _, both := o.Labels.Set[k]; both {
			bad.Add(errs.Usagef("fiolat label: label %q is to be set and removed", k))
		}
	}
	o.Elasticsearch, err = esOptions(c)
	bad.Add(err)
	return o, bad.Err()
}
