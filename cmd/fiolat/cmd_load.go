package main

import (
	"context"
	"regexp"
	"slices"
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
			"Sending a document twice does no harm: its id says what it is about. Of a spool, and of what was refused, the files are removed when everything has arrived; those that ingest --output made stay.",
		Flags:  append(esFlags(), takeOverFlag()),
		Action: action(u, readLoadOptions, load),
	}
}

// unfinished says where the rest of a run's documents is, and the one command that
// sends it.
func (u *ui) unfinished(o *Elasticsearch, r esmodel.Report) {
	var files []string
	for _, f := range []struct{ name, what string }{
		{r.SpoolFile, "what could not be sent lies in %s"},
		{r.RefusedFile, "what was refused, and why, lies in %s: mend that first"},
	} {
		if f.name != "" {
			u.say("error", f.what, ingest.Printable(f.name))
			files = append(files, f.name)
		}
	}
	if len(files) > 0 {
		u.say("error", "to finish: %s", ingest.Printable(o.loadLine(files)))
	}
}

// loadLine is a command for the shell: it loads files with the flags that the present one was given. Secrets are none
// of those.
func (o *Elasticsearch) loadLine(files []string) string {
	words := slices.Concat([]string{"fiolat", "load"}, o.Flags, files)
	for i, w := range words {
		if !plainWord.MatchString(w) {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

// loadOptions are what fiolat load is asked for.
type loadOptions struct {
	Elasticsearch Elasticsearch
	Paths         []string // files and directories
}

func readLoadOptions(c *cli.Context) (o loadOptions, err error) {
	if c.NArg() == 0 {
		return o, usagef("fiolat load: name the files or directories to send, such as %s", defaultOutput)
	}
	o.Paths = c.Args().Slice()
	o.Elasticsearch, err = esOptions(c)
	return o, err
}

func load(ctx context.Context, o loadOptions, u *ui) error {
	client, err := o.Elasticsearch.Connect(u)
	if err != nil {
		return err
	}
	defer client.Close()
	report, err := esmodel.Load(ctx, client, o.Paths, esmodel.LoadOptions{Prefix: o.Elasticsearch.Prefix,
		TakeOver: o.Elasticsearch.TakeOver})
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
		for _, name := range report.Removed {
			u.say("info", "removed    %s: all of it has arrived", ingest.Printable(name))
		}
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
