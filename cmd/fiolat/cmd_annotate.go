package main

import (
	"context"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/ingest"
)

func annotateCommand(u *ui) *cli.Command {
	return &cli.Command{
		Name:      "annotate",
		Usage:     "note on a run what happened, to be seen beside its latency",
		ArgsUsage: "RUN TEXT",
		Description: "fiolat annotate --es http://localhost:9200 --at +90s nightly 'osd.12 down'\n" +
			"fiolat annotate --at 2026-01-31T12:01:30Z 4f6b1c 'switch port flapped'\n\n" +
			"RUN is its run.id, or its name if only one run has that. The same note at the same time is one note. Notes outlive another ingest of the run, and go with fiolat delete.",
		Flags: append(esFlags(),
			&cli.StringFlag{Name: "at", Usage: "when: `TIME` in RFC 3339, or an offset from the run's start such as +90s"}),
		Action: func(c *cli.Context) error { return annotate(c.Context, u, c) },
	}
}

func annotate(ctx context.Context, u *ui, c *cli.Context) error {
	var bad faults
	if c.NArg() != 2 || strings.TrimSpace(c.Args().Get(1)) == "" {
		bad.add(usagef("fiolat annotate: name the run, and say what happened, in quotes"))
	}
	at := c.String("at")
	var offset time.Duration
	var err error
	relative := strings.HasPrefix(at, "+") || strings.HasPrefix(at, "-")
	switch {
	case at == "":
		bad.add(usagef("fiolat annotate: say when with --at, such as --at +90s"))
	case relative:
		offset, err = duration("--at", at)
		bad.add(err)
	default:
		if at, err = startTime(at); err != nil || at == "mtime" {
			bad.add(usagef("--at %q: want a time such as 2026-01-31T12:00:00Z, or an offset from the run's start such as +90s", c.String("at")))
		}
	}
	prefix := c.String("index-prefix")
	bad.add(esmodel.CheckPrefix(prefix))
	if err = bad.err(); err != nil {
		return err
	}
	client, err := u.client(c)
	if err != nil {
		return err
	}
	defer client.Close()
	run, err := esmodel.FindRun(ctx, client, prefix, c.Args().First())
	if err != nil {
		return err
	}
	start, err := time.Parse(time.RFC3339Nano, run.Run.Start)
	if err != nil {
		return err
	}
	when := start.Add(offset)
	if !relative {
		if when, err = time.Parse(time.RFC3339Nano, at); err != nil {
			return err
		}
	}
	if run.Run.End != nil {
		if end, bad := time.Parse(time.RFC3339Nano, *run.Run.End); bad == nil && (when.Before(start) || when.After(end)) {
			u.warn("that is not within the run, which lasted from " + run.Run.Start + " to " + *run.Run.End)
		}
	}
	created, err := esmodel.Annotate(ctx, client, prefix, esmodel.Note{Run: run, At: when.UnixNano(), Offset: int64(when.Sub(start)), Text: c.Args().Get(1)})
	if err != nil {
		return err
	}
	was := "noted"
	if !created {
		was = "noted before"
	}
	u.say("info", "%s at %s, %v after the start of run %s", was, when.UTC().Format("2006-01-02T15:04:05.000Z07:00"), when.Sub(start), ingest.Printable(run.Run.ID))
	return nil
}
