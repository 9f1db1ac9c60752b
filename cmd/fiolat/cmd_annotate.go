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
		Action: action(u, readAnnotateOptions, annotate),
	}
}

// annotateOptions are what fiolat annotate is asked for.
type annotateOptions struct {
	Elasticsearch Elasticsearch
	Run           string // its run.id or its name
	Text          string
	At            time.Time // when that is not relative to the run's start
	Relative      bool
	Offset        time.Duration // from the run's start
}

func readAnnotateOptions(c *cli.Context) (o annotateOptions, err error) {
	var bad faults
	if c.NArg() != 2 || strings.TrimSpace(c.Args().Get(1)) == "" {
		bad.add(usagef("fiolat annotate: name the run, and say what happened, in quotes"))
	}
	o.Run, o.Text = c.Args().First(), c.Args().Get(1)
	at := c.String("at")
	o.Relative = strings.HasPrefix(at, "+") || strings.HasPrefix(at, "-")
	switch {
	case at == "":
		bad.add(usagef("fiolat annotate: say when with --at, such as --at +90s"))
	case o.Relative:
		o.Offset, err = duration("--at", at)
		bad.add(err)
	default:
		text, wrong := startTime(at)
		if wrong == nil {
			o.At, wrong = time.Parse(time.RFC3339Nano, text) // mtime is none
		}
		if wrong != nil {
			bad.add(usagef("--at %q: want a time such as 2026-01-31T12:00:00Z, or an offset from the run's start "+
				"such as +90s", at))
		}
	}
	o.Elasticsearch, err = esOptions(c)
	bad.add(err)
	return o, bad.err()
}

func annotate(ctx context.Context, o annotateOptions, u *ui) error {
	client, err := o.Elasticsearch.Connect(u)
	if err != nil {
		return err
	}
	defer client.Close()
	run, err := esmodel.FindRun(ctx, client, o.Elasticsearch.Prefix, o.Run)
	if err != nil {
		return err
	}
	start, err := time.Parse(time.RFC3339Nano, run.Run.Start)
	if err != nil {
		return err
	}
	when := o.At
	if o.Relative {
		when = start.Add(o.Offset)
	}
	if run.Run.End != nil {
		if end, bad := time.Parse(time.RFC3339Nano, *run.Run.End); bad == nil && (when.Before(start) || when.After(end)) {
			u.warn("that is not within the run, which lasted from " + run.Run.Start + " to " + *run.Run.End)
		}
	}
	created, err := esmodel.Annotate(ctx, client, o.Elasticsearch.Prefix, esmodel.Note{Run: run, At: when.UnixNano(),
		Offset: int64(when.Sub(start)), Text: o.Text})
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
