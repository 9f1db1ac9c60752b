package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/ingest/fiolog"
	"fiolat/internal/command"
	"fiolat/internal/command/merge"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
	"fiolat/pipeline/replay"
)

// maxSlices limits --slice: each slice reads the states of all of them.
const maxSlices = 1000

func mergeCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name:      "merge",
		Usage:     "exact percentiles of a run whose hosts were ingested apart",
		ArgsUsage: "RUN",
		Description: "on each host:  fiolat ingest --es http://es:9200 --run-id R --part $(hostname) --start TIME " +
			"logs\n" +
			"then, once:    fiolat merge --es http://es:9200 --parts 40 R\n\n" +
			"Reads the stored histograms of all parts back, adds them up, and writes the scopes across hosts and the " +
			"document of the run: " +
			"what an ingest of all logs at once would have written, to the last bit where the hosts have names. " +
			"Running it again changes nothing; after another part has arrived, it replaces the merge before. " +
			"While a part is ingested again, and until the next merge, the merged run is partial. " +
			runIs,
		Flags: append(esFlags(new(command.Elasticsearch)), takeOverFlag(), verboseFlag(),
			&cli.IntFlag{Name: "parts", Category: catRun, Usage: "merge only if there are `N` parts (default: as " +
				"many as there are)"},
			&cli.BoolFlag{Name: "skip-incomplete", Category: catRun, Usage: "leave out parts that are running or " +
				"incomplete, and name each (default: merge nothing then)"},
			&cli.StringFlag{Name: "slice", Category: catRun, Usage: "merge only the quanta of slice `N/OF`, such as " +
				"3/8; the last slice to end, on whatever machine, writes the document of the run (default: all " +
				"quanta)"},
			&cli.StringFlag{Name: "kind", Category: catSplit, Value: "clat",
				Usage: "`KIND` of latency that the parts were ingested with: clat, slat, lat, or sync (of live)"},
			&cli.StringFlag{Name: "percentiles", Category: catSplit, Usage: "percentiles: a `LIST` of numbers from 0 " +
				"to 100 (default: those of the parts)"},
			&cli.IntFlag{Name: "workers", Category: catInput, Usage: "number of quanta to add up at a time (default: " +
				"one per processor); does not change results"},
			&cli.BoolFlag{Name: "fail-on-sla", Category: catSLA, Usage: "exit with 4 if the merged run breaks an SLA " +
				"rule of its parts"},
			&cli.BoolFlag{Name: "dry-run", Category: catInput, Usage: "write nothing, print what would be written"},
			&cli.StringFlag{Name: "output", Category: catES, Value: defaultOutput,
				Usage: "`DIR` for documents that could not be sent or were refused"},
		),
		Action: actionOf(u, readMergeOptions, merge.Run),
	}
}

func readMergeOptions(c *cli.Context) (o merge.Options, err error) {
	var bad errs.Faults
	if c.NArg() != 1 {
		bad.Add(errs.Usagef("fiolat merge: name one run"))
	}
	o = merge.Options{
		Run: c.Args().First(), Parts: c.Int("parts"), SkipIncomplete: c.Bool("skip-incomplete"),
		Replay:    replay.Options{AcrossHosts: true, Workers: c.Int("workers")},
		FailOnSLA: c.Bool("fail-on-sla"), DryRun: c.Bool("dry-run"),
	}
	if v := c.String("percentiles"); v != "" {
		o.Replay.Percentiles, err = percentileList(v)
		bad.Add(err)
	}
	if v := c.String("slice"); v != "" {
		n, of, _ := strings.Cut(v, "/")
		var e1, e2 error
		o.Slice.N, e1 = strconv.Atoi(n)
		o.Slice.Of, e2 = strconv.Atoi(of)
		switch {
		case errors.Join(e1, e2) != nil || o.Slice.N < 1 || o.Slice.N > o.Slice.Of || o.Slice.Of > maxSlices:
			bad.Add(errs.Usagef("--slice %s: want N/OF, such as 3/8, with OF up to %d", errs.Printable(v), maxSlices))
		case o.DryRun:
			bad.Add(errs.Usagef("--dry-run and --slice: a dry run is of the whole run"))
		}
	}
	for _, flag := range []string{"workers", "parts"} {
		if c.Int(flag) < 0 {
			bad.Add(errs.Usagef("--%s %d: want 1 or more", flag, c.Int(flag)))
		}
	}
	if o.Kind = fiolog.Sync; c.String("kind") != o.Kind.String() {
		o.Kind, err = latency(c.String("kind"))
		bad.Add(err)
	}
	o.Elasticsearch, err = esOptions(c)
	bad.Add(err)
	return o, bad.Err()
}
