package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/ingest"
)

func loadCommand(u *ui) *cli.Command {
	return &cli.Command{
		Name:      "load",
		Usage:     "send documents again: of a directory, spooled, or refused",
		ArgsUsage: "FILE|DIR...",
		Description: "fiolat load --es http://localhost:9200 fiolat-out\n\n" +
			"Sending a document twice does no harm: its id says what it is about. Files stay where they are.",
		Flags:  esFlags(),
		Action: func(c *cli.Context) error { return load(c.Context, u, c) },
	}
}

func load(ctx context.Context, u *ui, c *cli.Context) error {
	if c.NArg() == 0 {
		return usagef("fiolat load: name the files or directories to send, such as %s", defaultOutput)
	}
	client, err := u.client(c)
	if err != nil {
		return err
	}
	defer client.Close()
	report, err := esmodel.Load(ctx, client, c.Args().Slice(), esmodel.LoadOptions{Prefix: c.String("index-prefix")})
	for _, w := range report.Warnings {
		u.warn(w)
	}
	for _, torn := range report.Torn {
		u.warn(ingest.Printable(torn) + ": the last document is cut off: its writer died; run the ingest again to make it anew")
	}
	t := report.Total()
	if u.json {
		u.mu.Lock()
		u.line(map[string]any{"level": "info", "msg": "account", "documents": report})
		u.mu.Unlock()
	} else {
		u.say("info", "documents  %d read from %d files, %d indexed, %d refused, %d not sent; %d of other generations deleted", t.Made, len(report.Loaded), t.Indexed, t.Refused, t.Spooled+t.Lost, t.Deleted)
		for _, r := range report.Refusals {
			u.say("info", "refused    %d: %s", r.Count, r)
		}
		if len(report.Complete) > 0 {
			u.say("info", "complete   %s", ingest.Printable(strings.Join(report.Complete, ", ")))
		}
	}
	return err
}
