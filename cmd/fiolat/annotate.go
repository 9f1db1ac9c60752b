package main

import (
	"context"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
)

type annotateOptions struct {
	es   runsource.Elasticsearch
	name string // of the run: its run.id or its name
	text string
	at   noteTime
}

// noteTime is an offset from the start of a run, or else a time.
type noteTime struct {
	relative bool
	offset   time.Duration
	at       time.Time
}

func annotateCommand(u *ui.UI) *cli.Command {
	o := &annotateOptions{}
	return &cli.Command{
		Name: "annotate",
		Flags: append(esFlags(&o.es),
			&cli.GenericFlag{Name: "at", Value: parsed(&o.at, "", func(text string) (noteTime, error) {
				return readNoteTime("--at", text)
			}),
				Usage: "when: `TIME` in RFC 3339, or since the run's start, such as +90s"}),
		Action: action(u, o),
	}
}

// readNoteTime parses the time of a note, which a flag has.
func readNoteTime(flag, text string) (t noteTime, err error) {
	t.relative = text[0] == '+' || text[0] == '-'
	if t.relative {
		t.offset, err = parseDuration(flag, text)
		return t, err
	}
	var ok bool
	t.at, ok = parseTime(text)
	if !ok {
		err = fio.Usagef("%s %q: want a time such as 2026-01-31T12:00:00Z, or an offset from the run's start such "+
			"as +90s", flag, text)
	}
	return t, err
}

func (o *annotateOptions) check(c *cli.Context, bad *fio.Faults) {
	o.name, o.text = c.Args().First(), c.Args().Get(1)
	if c.NArg() != 2 || strings.TrimSpace(o.text) == "" {
		bad.Add(fio.Usagef("fiolat annotate: name the run, and say what happened, in quotes"))
	}
	if c.String("at") == "" {
		bad.Add(fio.Usagef("fiolat annotate: say when with --at, such as --at +90s"))
	}
	checkES(c, &o.es, bad)
}

// run stores a note on a run.
func (o *annotateOptions) run(ctx context.Context, u *ui.UI) error {
	client, run, err := o.es.Find(ctx, u, o.name)
	if err != nil {
		return err
	}
	defer client.Close()
	start, err := time.Parse(time.RFC3339Nano, run.Run.Start)
	if err != nil {
		return err
	}
	when := o.at.at
	if o.at.relative {
		when = start.Add(o.at.offset)
	}
	if run.Run.End != nil {
		if end, bad := time.Parse(time.RFC3339Nano, *run.Run.End); bad == nil && (when.Before(start) ||
			when.After(end)) {
			u.Warn("that is not within the run, which lasted from " + run.Run.Start + " to " + *run.Run.End)
		}
	}
	created, err := stored.Annotate(ctx, client, o.es.Prefix, stored.Note{Run: run, At: when.UnixNano(),
		Offset: int64(when.Sub(start)), Text: o.text})
	if err != nil {
		return err
	}
	was := "noted"
	if !created {
		was = "noted before"
	}
	u.Say("info", "%s at %s, %v after the start of run %s", was, when.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		when.Sub(start), fio.RunName(run.Run.ID, run.Run.Name))
	return nil
}
