package main

import (
	"bufio"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/cmd/fiolat/shell"
	"fiolat/cmd/fiolat/times"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/fiolog"
	"fiolat/internal/alert"
	"fiolat/internal/command"
	"fiolat/internal/errs"
	"fiolat/internal/sla"
	"fiolat/pipeline/plan"
)

const (
	catTime  = "TIME"
	catSplit = "WHAT TO COMPUTE"
	catInput = "INPUT"
	catRun   = "RUN"
	catSLA   = "SLA"
	catAlert = "ALERTS"
)

// logFlags returns the flags of the commands that read logs. by is the default of --by.
func logFlags(by string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "interval", Category: catTime, Usage: "length of a quantum: `DURATION` such as 500ms, " +
			"10s, 1m, or seconds; auto: the shortest from 1s to 600s that meets --accuracy; with percentiles run: " +
			"all of the run (default: the whole second nearest to log_hist_msec)"},
		&cli.StringFlag{Name: "accuracy", Category: catTime, Value: "10%", Usage: "with --interval auto: confidence " +
			"limits of the highest percentile within `PERCENT` of it, in nine of ten intervals"},
		&cli.StringFlag{Name: "grid", Category: catTime, Value: "run", Usage: "quanta are counted from the run's " +
			"start (`run`) or from 1970 (epoch)"},
		&cli.StringFlag{Name: "align", Category: catTime, Value: "overlap",
			Usage: "an I/O counts where it may have completed (`overlap`) or where it was in flight (inflight)"},
		&cli.StringFlag{Name: "record-time", Category: catTime, Value: "end", Usage: "a record's " +
			"timestamp is the `end` of its interval, as in fio, or the start, as in fio-histo-log-pctiles"},
		&cli.StringFlag{Name: "start", Category: catTime, Usage: "wall-clock `TIME` of time zero: RFC 3339, seconds " +
			"or ms since 1970, or mtime to guess it from the logs' modification time"},
		&cli.StringSliceFlag{Name: "offset", Category: catTime, Usage: "`HOST=DURATION` by which a host's jobs " +
			"started later than the others; can be repeated"},
		&cli.StringFlag{Name: "offsets", Category: catTime, Usage: "`FILE` of offsets, one HOST DURATION a line"},
		&cli.Int64Flag{Name: "log-hist-msec", Category: catTime, Usage: "the job's log_hist_msec in `MS`, if neither " +
			"fio's JSON nor a job file has it"},
		&cli.StringFlag{Name: "fio-version", Category: catInput, Usage: "`VERSION` of the fio that wrote the logs (2 " +
			"logs microseconds, 3 nanoseconds), if neither fio's JSON nor the logs tell it"},

		&cli.StringFlag{Name: "percentiles", Category: catSplit, Value: "50,90,95,99,99.9",
			Usage: "percentiles: a `LIST` of numbers from 0 to 100"},
		&cli.StringFlag{Name: "by", Category: catSplit, Value: by, Usage: "group by a `LIST` of direction, host, " +
			"job, log, in all combinations; the total is always included"},
		&cli.StringFlag{Name: "kind", Category: catSplit, Value: "clat", Usage: "`KIND` of latency: clat (from " +
			"histogram logs, else from those of write_lat_log), slat or lat"},
		&cli.IntFlag{Name: "coarseness", Category: catSplit, Value: -1, Usage: "add up 2^`N` neighbouring buckets, 0 " +
			"to 6, to save space (default: as logged)"},

		&cli.StringSliceFlag{Name: "sla", Category: catSLA, Usage: "SLA `RULE`, such as 'read p99 < 5ms', 'all p95 < " +
			"1s over 5m', 'write p99.9 < 20ms for 3 intervals' or 'iops >= 10000'; can be repeated"},
		&cli.StringFlag{Name: "sla-file", Category: catSLA, Usage: "`FILE` with a YAML list of such rules"},
		&cli.BoolFlag{Name: "fail-on-sla", Category: catSLA, Usage: "exit with 4 if an SLA rule is broken"},

		&cli.StringSliceFlag{Name: "fio-json", Category: catInput, Usage: "fio's JSON output (json+) of the run, " +
			"`FILE`, instead of what is found beside the logs; can be repeated"},
		&cli.BoolFlag{Name: "skip-bad", Category: catInput, Usage: "skip lines and logs that cannot be read; each is " +
			"counted and named"},
		&cli.BoolFlag{Name: "repair", Category: catInput, Usage: "repair the damage of fio --client in all logs, " +
			"detected or not"},
		&cli.BoolFlag{Name: "no-repair", Category: catInput, Usage: "do not repair logs damaged by fio --client"},
		&cli.BoolFlag{Name: "no-restore", Category: catInput, Usage: "leave out I/Os that only fio's JSON counts: " +
			"each job's last, partial window"},
		&cli.IntFlag{Name: "max-line", Category: catInput, Value: 1 << 20, Usage: "longest line of a log in `BYTES`"},
		&cli.IntFlag{Name: "workers", Category: catInput, Usage: "number of logs to read at a time (default: one per " +
			"processor); does not change results"},
		&cli.BoolFlag{Name: "dry-run", Category: catInput, Usage: "write nothing, print what would be written"},

		&cli.StringFlag{Name: "run-id", Category: catRun, Usage: "`ID` of the run (default: a hash of the logs' " +
			"sizes and first 64 KiB)"},
		&cli.StringFlag{Name: "run-name", Category: catRun, Usage: "`NAME` of the run, for people " +
			"(default: the one that it has in Elasticsearch, else for logs that of their folder)"},
		&cli.StringSliceFlag{Name: "label", Category: catRun, Usage: "label `KEY=VALUE` of the run; can be repeated"},
		&cli.StringFlag{Name: "part", Category: catRun, Usage: "`NAME` of this part of the run --run-id, if its " +
			"hosts are ingested separately; implies --grid epoch"},
	}
}

// slaRules returns the rules of --sla and --sla-file in their canonical spelling.
func slaRules(c *cli.Context) (texts []string, err error) {
	rules, err := sla.ParseAll(c.StringSlice("sla"))
	if name := c.String("sla-file"); name != "" {
		f, openErr := os.Open(name)
		if openErr != nil {
			return nil, errs.Usagef("--sla-file: %v", openErr)
		}
		defer f.Close()
		more, fileErr := sla.ParseFile(f, name)
		rules, err = append(rules, more...), errors.Join(err, fileErr)
	}
	if err != nil {
		return nil, errs.Usagef("--sla: %v", err)
	}
	for _, r := range rules {
		if !slices.Contains(texts, r.Text) {
			texts = append(texts, r.Text)
		}
	}
	if c.Bool("fail-on-sla") && len(texts) == 0 {
		return nil, errs.Usagef("--fail-on-sla: no rules; give them with --sla or --sla-file")
	}
	return texts, nil
}

// wordOf returns the value of a flag that takes one of a few words, or the first word if the command lacks the flag.
func wordOf(c *cli.Context, name string) (string, error) {
	v, words := c.String(name), shell.Words(c.Command.Name, name)
	if v == "" && !c.IsSet(name) {
		return words[0], nil
	}
	if !slices.Contains(words, v) {
		return "", errs.Usagef("--%s %q: want one of %s", name, v, strings.Join(words, ", "))
	}
	return v, nil
}

func selectFlags(flags []cli.Flag, names ...string) []cli.Flag {
	return slices.DeleteFunc(flags, func(f cli.Flag) bool { return !slices.Contains(names, f.Names()[0]) })
}

func outputFlag() cli.Flag {
	return &cli.StringFlag{Name: "output", Category: catES, Value: defaultOutput,
		Usage: "`DIR` for documents if no Elasticsearch is given, and for those that could not be sent or were refused"}
}

// oneKindOptions is logOptions for commands that take a single kind of latency.
func oneKindOptions(c *cli.Context) (command.Logs, error) {
	o, err := logOptions(c)
	if err == nil && len(o.Kinds.List) > 1 {
		return o, errs.Usagef("--kind %q: fiolat %s takes one kind", c.String("kind"), c.Command.Name)
	}
	return o, err
}

// logOptions reads logFlags and the arguments. Of several kinds, Config has the first.
func logOptions(c *cli.Context) (command.Logs, error) {
	cfg := plan.Config{
		RunID: c.String("run-id"), RunName: c.String("run-name"), Part: c.String("part"),
		Workers: c.Int("workers"), MaxLine: c.Int("max-line"),
	}
	s := &cfg.Settings
	var bad errs.Faults
	var err error
	s.Grid, err = wordOf(c, "grid")
	bad.Add(err)
	s.Align, err = wordOf(c, "align")
	bad.Add(err)
	s.RecordTime, err = wordOf(c, "record-time")
	bad.Add(err)
	k, err := kindList(c.String("kind"))
	bad.Add(err)
	if err == nil {
		s.Kind = k.List[0]
	}
	s.Interval, cfg.Accuracy, err = intervalOptions(c, time.Millisecond)
	bad.Add(err)
	if c.Value("percentiles") != nil { // otherwise the command chooses them
		s.Percentiles, err = percentileList(c.String("percentiles"))
		bad.Add(err)
	}
	s.By, err = byList(c.String("by"))
	bad.Add(err)
	if s.Coarseness = c.Int("coarseness"); s.Coarseness < -1 || s.Coarseness > 6 {
		bad.Add(errs.Usagef("--coarseness %d: want 0 to 6", s.Coarseness))
	}
	if s.LogHistMsec = c.Int64("log-hist-msec"); s.LogHistMsec < 0 || s.LogHistMsec > 1e9 {
		bad.Add(errs.Usagef("--log-hist-msec %d: want a number of ms above 0", s.LogHistMsec))
	}
	if v := c.String("fio-version"); v != "" {
		if s.FioVersion = fiojson.Major(v + ".0"); s.FioVersion != 2 && s.FioVersion != 3 {
			bad.Add(errs.Usagef("--fio-version %q: want 2, 3 or a version such as 3.33", v))
		}
	}
	if cfg.Workers < 0 {
		bad.Add(errs.Usagef("--workers %d: want 1 or more", cfg.Workers))
	}
	if cfg.MaxLine < 1 {
		bad.Add(errs.Usagef("--max-line %d: want a number of bytes above 0", cfg.MaxLine))
	}
	s.SLA, err = slaRules(c)
	bad.Add(err)
	for _, rule := range s.SLA {
		if strings.HasPrefix(rule, "sync ") {
			bad.Add(errs.Usagef("--sla %q: fio logs no syncs: follow the run with fiolat live, or judge the whole run "+
				"by fio's JSON: fiolat summary --where 'sync p99 < 10ms'", rule))
		}
	}
	s.Repair = "auto"
	switch {
	case c.Bool("repair") && c.Bool("no-repair"):
		bad.Add(errs.Usagef("--repair and --no-repair exclude each other"))
	case c.Bool("repair"):
		s.Repair = "yes"
	case c.Bool("no-repair"):
		s.Repair = "no"
	}
	s.Restore, s.SkipBad = !c.Bool("no-restore"), c.Bool("skip-bad")
	s.Start, err = times.Start(c.String("start"))
	bad.Add(err)
	s.Offsets, err = offsets(c.StringSlice("offset"), c.String("offsets"))
	bad.Add(err)
	cfg.Pick, err = readPick(c)
	bad.Add(err)
	cfg.Labels, err = pairs("--label", c.StringSlice("label"))
	bad.Add(err)
	if cfg.Part != "" {
		s.Grid = "epoch"
		if cfg.Accuracy != 0 {
			bad.Add(errs.Usagef("--interval auto: all parts of a run need the same interval: give it as a duration"))
		}
		if cfg.RunID == "" {
			bad.Add(errs.Usagef("--part %q: say with --run-id which run it is a part of", cfg.Part))
		}
	}
	o := command.Logs{Command: c.Command.Name, Paths: c.Args().Slice(), FioJSON: c.StringSlice("fio-json"), Config: cfg,
		Kinds: k}
	o.FailOnSLA, o.DryRun = c.Bool("fail-on-sla"), c.Bool("dry-run")
	return o, bad.Err()
}

// wholeRun is the --interval of a single quantum as long as the run.
const wholeRun = "run"

// intervalOptions reads --interval and --accuracy. At most one result is not 0.
func intervalOptions(c *cli.Context, least time.Duration) (interval time.Duration, wanted float64, err error) {
	switch v := c.String("interval"); {
	case v == wholeRun && c.Command.Name == "percentiles":
	case v == wholeRun:
		err = errs.Usagef("--interval run: that is for fiolat percentiles; fiolat %s needs quanta", c.Command.Name)
	case v == "auto":
		wanted, err = accuracy(c.String("accuracy"))
	case c.IsSet("accuracy"):
		err = errs.Usagef("--accuracy is for --interval auto")
	case v != "":
		interval, err = times.Duration("--interval", v)
		if err == nil && interval < least {
			err = errs.Usagef("--interval %s: want at least %v", v, least)
		}
	}
	return interval, wanted, err
}

func latency(v string) (fiolog.Kind, error) {
	for k := range fiolog.Kind(fiolog.Kinds) {
		if k.String() == v {
			return k, nil
		}
	}
	return 0, errs.Usagef("--kind %q: want clat, slat or lat", v)
}

// accuracy parses a percentage such as 10% and returns it as a fraction.
func accuracy(v string) (float64, error) {
	percent, ok := strings.CutSuffix(v, "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
	if !ok || err != nil || !(f > 0 && f < 100) {
		return 0, errs.Usagef("--accuracy %q: want a percentage above 0 and below 100, such as 10%%", v)
	}
	return f / 100, nil
}

func percentileList(v string) ([]float64, error) {
	var out []float64
	for _, f := range strings.Split(v, ",") {
		p, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(f), "p"), 64)
		if err != nil || !(p >= 0 && p <= 100) {
			return nil, errs.Usagef("--percentiles %q: want numbers from 0 to 100, such as 50,99,99.9", v)
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out, nil
}

func byList(v string) ([]string, error) {
	known := []string{"host", "job", "log", "direction"}
	var out []string
	for _, f := range strings.Split(v, ",") {
		if f = strings.TrimSpace(f); f == "" {
			continue
		}
		if !slices.Contains(known, f) {
			return nil, errs.Usagef("--by %q: want a list of direction, host, job, log", v)
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b string) int { return slices.Index(known, a) - slices.Index(known, b) })
	return slices.Compact(out), nil
}

func offsets(flags []string, file string) (map[string]time.Duration, error) {
	out := map[string]time.Duration{}
	for _, f := range flags {
		host, v, ok := strings.Cut(f, "=")
		d, err := times.Duration("--offset", v)
		if !ok || err != nil {
			return nil, errs.Usagef("--offset %q: want HOST=DURATION, such as node2=1.5s", f)
		}
		out[host] = d
	}
	if file == "" {
		return out, nil
	}
	r, err := os.Open(file)
	if err != nil {
		return nil, errs.Usagef("--offsets: %v", err)
	}
	defer r.Close()
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 {
			return nil, errs.Usagef("%s:%d: want HOST DURATION", errs.Printable(file), n)
		}
		d, err := times.Duration(fmt.Sprintf("%s:%d:", errs.Printable(file), n), fields[1])
		if err != nil {
			return nil, err
		}
		out[fields[0]] = d
	}
	return out, lines.Err()
}

func pairs(flag string, list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, f := range list {
		k, v, ok := strings.Cut(f, "=")
		if !ok || k == "" {
			return nil, errs.Usagef("%s %q: want KEY=VALUE", flag, f)
		}
		out[k] = v
	}
	return out, nil
}

func needPaths(o command.Logs) error {
	if len(o.Paths) == 0 {
		or := " or a stored run"
		if o.Command == "ingest" {
			or = ""
		}
		return errs.Usagef("fiolat %s: name the logs (files, directories, globs, or - for standard input)%s", o.Command,
			or)
	}
	return nil
}

// alertFlags returns the flags that say where alerts go. of says in the help what they are about.
func alertFlags(of string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "alert-webhook", Category: catAlert, EnvVars: []string{"FIOLAT_ALERT_WEBHOOK"},
			Usage: "POST " + of + " to `URL` as JSON; retried for 10 minutes"},
		&cli.StringFlag{Name: "alert-secret-file", Category: catAlert, Usage: "`FILE` with the secret for the " +
			"header " + alert.SignatureHeader + ", the HMAC-SHA256 of the body"},
		&cli.StringFlag{Name: "alert-command", Category: catAlert, Usage: "`COMMAND` for sh, with the JSON on its " +
			"standard input; its environment is PATH, HOME, LANG and FIOLAT_EVENT_ID"},
		&cli.StringSliceFlag{Name: "alert-env", Category: catAlert, Usage: "environment `VARIABLE` to pass to the " +
			"command as well; can be repeated"},
	}
}

// alertOptions reads alertFlags. rules reports whether there is anything to alert on.
func alertOptions(c *cli.Context, rules bool) (cfg alert.Config, err error) {
	cfg = alert.Config{Webhook: c.String("alert-webhook"), Command: c.String("alert-command"),
		Env: c.StringSlice("alert-env")}
	if cfg.Webhook == "" && cfg.Command == "" {
		return cfg, nil
	}
	if !rules {
		return cfg, errs.Usagef("--alert-webhook and --alert-command tell of rules that are broken: give some with " +
			"--sla or --sla-file")
	}
	if parsed, err := url.Parse(cfg.Webhook); err == nil && c.IsSet("alert-webhook") && parsed.User != nil &&
		os.Getenv("FIOLAT_ALERT_WEBHOOK") == "" {
		return cfg, errs.Usagef("--alert-webhook: a password in an argument can be read by everybody on this host; " +
			"use FIOLAT_ALERT_WEBHOOK")
	}
	if file := c.String("alert-secret-file"); file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return cfg, errs.Usagef("--alert-secret-file: %v", err)
		}
		if cfg.Secret = []byte(strings.TrimSpace(string(b))); len(cfg.Secret) == 0 {
			return cfg, errs.Usagef("--alert-secret-file %s: there is no secret in it", file)
		}
	}
	return cfg, nil
}
