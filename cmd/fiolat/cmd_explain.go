package main

import (
	"github.com/urfave/cli/v2"

	"fiolat/ingest/fiojson"
	"fiolat/internal/command/explain"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

func explainCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name: "explain", ArgsUsage: "[ENGINE]", Usage: "what slat, clat and lat include with each of fio's I/O engines",
		Description: "fiolat explain\n" +
			"fiolat explain io_uring\n" +
			"fiolat explain null --fio-version fio-3.30 --iodepth 8\n\n" +
			"From when fio counts an I/O as issued, and whether it counts slat at all; inspect and the document of a " +
			"run say the same of the run's own engines.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "fio-version", Usage: "`VERSION` of fio, like fio-3.28 (default: a current one)"},
			&cli.IntFlag{Name: "iodepth", Usage: "`DEPTH` of the job (default: more than 1)"},
		},
		Action: action(u, readExplainOptions, explain.Run),
	}
}

func readExplainOptions(c *cli.Context) (o explain.Options, err error) {
	o = explain.Options{Engine: c.Args().First(), FioVersion: c.String("fio-version"), IODepth: c.Int("iodepth")}
	if _, _, ok := fiojson.ParseVersion(o.FioVersion); o.FioVersion != "" && !ok {
		return o, errs.Usagef("--fio-version %q: want a version like fio-3.28", o.FioVersion)
	}
	if c.NArg() > 1 {
		return o, errs.Usagef("fiolat explain: want one engine, or none for all")
	}
	return o, nil
}
