package main

import (
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/cmd/fiolat/times"
	"fiolat/internal/command/runs"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

func annotateCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name:      "annotate",
		Usage:     "note on a run what happened, to be seen beside its latency",
		ArgsUsage: "RUN TEXT",
		Description: "fiolat annotate --es http://localhost:9200 --at +90s nightly 'osd.12 down'\n" +
			"fiolat annotate --at 2026-01-31T12:01:30Z 4f6b1c 'switch port flapped'\n\n" +
			runIs +
			" The same note at the same time is one note. Notes outlive another ingest of the run, and go with " +
			"fiolat delete.",
		Flags: append(esFlags(),
			&cli.StringFlag{Name: "at", Usage: "when: `TIME` in RFC 3339, or an offset from the run's start such as " +
				"+90s"}),
		Action: action(u, readAnnotateOptions, runs.Annotate),
	}
}

func readAnnotateOptions(c *cli.Context) (o runs.AnnotateOptions, err error) {
	var bad errs.Faults
	if c.NArg() != 2 || strings.TrimSpace(c.Args().Get(1)) == "" {
		bad.Add(errs.Usagef("fiolat annotate: name the run, and say what happened, in quotes"))
	}
	o.Run, o.Text = c.Args().First(), c.Args().Get(1)
	at := c.String("at")
	o.Relative = strings.HasPrefix(at, "+") || strings.HasPrefix(at, "-")
	switch {
	case at == "":
		bad.Add(errs.Usagef("fiolat annotate: say when with --at, such as --at +90s"))
	case o.Relative:
		o.Offset, err = times.Duration("--at", at)
		bad.Add(err)
	default:
		text, wrong := times.Start(at)
		if wrong == nil {
			o.At, wrong = time.Parse(time.RFC3339Nano, text) // fails for mtime
		}
		if wrong != nil {
			bad.Add(errs.Usagef("--at %q: want a time such as 2026-01-31T12:00:00Z, or an offset from the run's "+
				"start such as +90s", at))
		}
	}
	o.Elasticsearch, err = esOptions(c)
	bad.Add(err)
	return o, bad.Err()
}
