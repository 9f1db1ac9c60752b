package main

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/internal/command"
	"fiolat/internal/command/live"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

func liveCommand(u *ui.UI) *cli.Command {
	shared := []string{"accuracy", "percentiles", "by", "coarseness", "sla", "sla-file", "fail-on-sla", "run-id",
		"run-name", "label", "part"}
	flags := selectFlags(logFlags("direction,host"), shared...)
	return &cli.Command{
		Name:      "live",
		Usage:     "percentiles and alerts while fio runs, from its status documents",
		ArgsUsage: "[FILE|-] | -- fio ARGS...",
		Description: "fiolat live --es http://localhost:9200 -- fio job.fio\n" +
			"fio --status-interval=1 --output-format=json+ job.fio | fiolat live --sla 'read p99 < 5ms' -\n" +
			"fiolat live --follow --run-id R --part $(hostname) --es http://es:9200 fio.json\n\n" +
			"Reads what fio prints with --status-interval=S --output-format=json+, or starts fio itself, and indexes " +
			"each interval as soon as it is complete. " +
			"Syncs (fsync, fdatasync, sync_file_range) are a kind of latency of their own, sync, as soon as a job " +
			"has any. " +
			"Its exit code is fio's, if that is not 0.",
		Flags: append(append(append(flags, esFlags(new(command.Elasticsearch))...), alertFlags("breaches and recoveries")...),
			&cli.StringFlag{Name: "interval", Category: catTime, Usage: "length of a quantum: `DURATION` such as 1s, " +
				"10s, 1m, or seconds; auto: chosen from the first minute, during which nothing is shown (default: " +
				"the status interval, in whole seconds)"},
			&cli.StringFlag{Name: "kind", Category: catSplit, Value: "clat",
				Usage: "`LIST` of clat, slat, lat; SLA rules and the terminal use the first (fio has slat and lat " +
					"with slat_percentiles=1 and lat_percentiles=1)"},
			&cli.StringFlag{Name: "format", Category: catSplit, Usage: "`FORMAT` of rows on standard output: ndjson " +
				"(default: none)"},
			&cli.BoolFlag{Name: "follow", Category: catInput, Usage: "wait for FILE to appear and to grow, until no " +
				"process has it open for writing"},
			&cli.DurationFlag{Name: "idle", Category: catInput, Usage: "with --follow: end after `DURATION` without " +
				"new data, even if the file is still open (default: 1m where open files cannot be listed)"},
			&cli.StringFlag{Name: "host", Category: catInput, Usage: "`NAME` of the host where fio runs, if its " +
				"output does not name one (default: this host; with FILE none)"},
			&cli.BoolFlag{Name: "quiet", Category: catInput, Usage: "print one line per interval, on a terminal too"},
			outputFlag(), takeOverFlag(), yesFlag(), verboseFlag(),
		),
		Action: actionOf(u, readLiveOptions, live.Run),
	}
}

func readLiveOptions(c *cli.Context) (o live.Options, err error) {
	o = live.Options{Follow: c.Bool("follow"), Idle: c.Duration("idle"), Rows: c.String("format") == "ndjson",
		Quiet: c.Bool("quiet"), FailOnSLA: c.Bool("fail-on-sla"), Yes: c.Bool("yes")}
	cfg, set := &o.Config, &o.Config.Settings
	// As for ingest --part, so that parts of ingest and of live can be merged.
	*set = pipeline.Defaults()
	set.Grid = "epoch"
	cfg.RunID, cfg.RunName, cfg.Part, cfg.Host, cfg.Patience = c.String("run-id"), c.String("run-name"),
		c.String("part"), c.String("host"), 2
	var bad errs.Faults
	args := c.Args().Slice()
	if len(args) > 0 && args[0] == "--" {
		if len(args) == 1 {
			return o, errs.Usagef("fiolat live --: name fio and its arguments")
		}
		o.Fio, args = args[1:], nil
	}
	if len(args) > 0 {
		o.File = args[0]
	}
	stdin := o.File == "" || o.File == "-"
	if len(args) > 1 {
		bad.Add(errs.Usagef("fiolat live reads one FILE; to start fio: fiolat live [flags] -- fio ARGS..."))
	}
	if o.Fio == nil && stdin && ui.IsTerminal(c.App.Reader) {
		bad.Add(errs.Usagef("fiolat live: nothing to read; name a FILE, or start fio: fiolat live [flags] -- fio " +
			"ARGS..."))
	}
	if o.Follow && stdin {
		bad.Add(errs.Usagef("--follow: name the FILE that fio writes"))
	}
	set.Interval, o.Accuracy, err = intervalOptions(c, 100*time.Millisecond)
	bad.Add(err)
	for _, name := range strings.Split(c.String("kind"), ",") {
		k, e := latency(strings.TrimSpace(name))
		bad.Add(e)
		if !slices.Contains(o.Kinds, k) {
			o.Kinds = append(o.Kinds, k)
		}
	}
	set.Percentiles, err = percentileList(c.String("percentiles"))
	bad.Add(err)
	set.By, err = byList(c.String("by"))
	bad.Add(err)
	if set.Coarseness = c.Int("coarseness"); set.Coarseness < -1 || set.Coarseness > 6 {
		bad.Add(errs.Usagef("--coarseness %d: want 0 to 6", set.Coarseness))
	}
	set.SLA, err = slaRules(c)
	bad.Add(err)
	cfg.Labels, err = pairs("--label", c.StringSlice("label"))
	bad.Add(err)
	if cfg.Part != "" && cfg.RunID == "" {
		bad.Add(errs.Usagef("--part %q: say with --run-id which run it is a part of", cfg.Part))
	}
	if f := c.String("format"); f != "" && f != "ndjson" {
		bad.Add(errs.Usagef("--format %q: want ndjson", f))
	}
	o.Elasticsearch, err = esOptions(c)
	bad.Add(err)
	bad.Add(esmodel.CheckLabels(cfg.Labels))
	if cfg.Host == "" && o.Fio != nil {
		cfg.Host, err = os.Hostname()
		bad.Add(err)
	}
	if o.Fio != nil {
		var step time.Duration
		o.Fio, step, err = live.FioCommand(o.Fio, set.Interval)
		bad.Add(err)
		if set.Interval == 0 && o.Accuracy == 0 {
			set.Interval = live.WholeSeconds(step)
		}
	}
	o.Alerts, err = alertOptions(c, len(set.SLA) > 0)
	bad.Add(err)
	return o, bad.Err()
}
