package main

import (
	"bufio"
	"cmp"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
	"fiolat/fio/sla"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/internal/alert"
	"fiolat/internal/metrics"
	"fiolat/internal/runsource"
)

// The categories of flags that only --help-all shows, as few command lines need them.
const (
	catMore  = "MORE FLAGS"
	catTime  = "TIME"
	catSplit = "WHAT TO COMPUTE"
	catInput = "INPUT"
	catRun   = "RUN"
	catSLA   = "SLA"
	catAlert = "ALERTS"
)

// logOptions are the options of the commands that read logs.
type logOptions struct {
	runsource.Logs
	interval, accuracy          string
	noRestore                   bool
	offset, fioJSON, label, sla cli.StringSlice
}

// logFlags says how the flags for logs differ between commands.
type logFlags struct {
	by          string   // the default of --by
	percentiles string   // the default of --percentiles; "": that of most commands
	kinds       bool     // --kind takes a list
	stored      bool     // intervals are whole seconds, as documents have them
	without     []string // flags that do not apply
}

// flags returns the flags of the options.
func (o *logOptions) flags(with logFlags) []cli.Flag {
	cfg, s := &o.Config, &o.Config.Settings
	*s = fio.Defaults()
	fields := s.Fields()
	usual := strings.Trim(strings.ReplaceAll(fmt.Sprint(s.Percentiles), " ", ","), "[]")
	s.By, s.Percentiles = nil, nil // where the command chooses them
	percentiles := &value{texts: []string{cmp.Or(with.percentiles, usual)}}
	percentiles.parse = func(text string) (err error) { // "" is not a list
		s.Percentiles, err = readPercentiles(text)
		return err
	}
	kinds := withDefault("clat", parsed(&o.Kinds, "", kindList))
	kind := settingFlag(fields, "kind", "", kinds).(*cli.GenericFlag)
	if with.kinds {
		kind.Usage = "`LIST` of kinds of latency: clat, slat, lat, or all"
	}
	interval := settingFlag(fields, "interval", "", parsed(&o.interval, "", asIs)).(*cli.GenericFlag)
	cfg.Fine = !with.stored
	if cfg.Fine {
		interval.Usage = strings.TrimSuffix(interval.Usage, ")") + "; or to 100ms, where these are fewer than 60 and " +
			"without --sla)"
	}
	return slices.DeleteFunc([]cli.Flag{
		interval,
		&cli.StringFlag{Name: "accuracy", Category: catTime, Value: "10%", Destination: &o.accuracy,
			Usage: "with --interval auto: limits of the highest percentile within `PERCENT` of it in nine of ten intervals"},
		settingFlag(fields, "grid", catTime, nil),
		settingFlag(fields, "align", catTime, nil),
		settingFlag(fields, "record-time", catTime, nil),
		settingFlag(fields, "start", catTime, parsed(&s.Start, "", parseStart)),
		settingFlag(fields, "offset", catTime, &o.offset),
		settingFlag(fields, "log-hist-msec", catTime, nil),
		settingFlag(fields, "fio-version", catInput, parsed(&s.FioVersion, "", majorVersion)),

		settingFlag(fields, "percentiles", "", percentiles),
		settingFlag(fields, "by", "", byList(&s.By, with.by)),
		kind,
		settingFlag(fields, "coarseness", catSplit, nil),

		settingFlag(fields, "sla", "", &o.sla),
		failOnSLAFlag(&o.FailOnSLA),

		&cli.StringSliceFlag{Name: "fio-json", Category: catInput, Destination: &o.fioJSON,
			Usage: "fio's JSON output of the run, `FILE`, instead of what is found beside the logs"},
		&cli.GenericFlag{Name: "hosts-by", Category: catInput, Value: oneOf(&o.HostsBy, "hosts-by", ingest.HostsAuto,
			ingest.HostsByFolder, ingest.HostsByName),
			Usage: "folders with logs of the same names are hosts of one run: if they ran at the same time (`auto`), if " +
				"beside each other (folder; names may begin with the folder's), or never (name)"},
		settingFlag(fields, "skip-bad", catInput, nil),
		settingFlag(fields, "repair", catInput, nil),
		settingFlag(fields, "no-restore", catInput, &o.noRestore),
		&cli.IntFlag{Name: "workers", Category: catInput, Destination: &cfg.Workers,
			Usage: "number of logs to read at a time (default: one per processor)"},
		&cli.BoolFlag{Name: "dry-run", Destination: &o.DryRun,
			Usage: "write nothing, print what would be written"},

		&cli.StringFlag{Name: "run-id", Category: catRun, Destination: &cfg.RunID,
			Usage: "`ID` of the run (default: a hash of its logs)"},
		&cli.StringFlag{Name: "run-name", Destination: &cfg.RunName,
			Usage: "`NAME` of the run, for people (default: that of its folder)"},
		&cli.StringSliceFlag{Name: "label", Destination: &o.label,
			Usage: "give the run the label `KEY=VALUE`"},
		&cli.StringFlag{Name: "part", Category: catRun, Destination: &cfg.Part,
			Usage: "`NAME` of the part of the run --run-id that these logs are; implies --grid epoch"},
	}, func(f cli.Flag) bool { return slices.Contains(with.without, f.Names()[0]) })
}

// settingFlag returns a flag of the table of settings. to is what it sets; nil stands for the setting itself.
func settingFlag(fields []fio.Setting, name, category string, to any) cli.Flag {
	for _, f := range fields {
		i := slices.IndexFunc(f.Flags, func(flag fio.Flag) bool { return flag.Name == name })
		if i < 0 {
			continue
		}
		usage := f.Flags[i].Usage
		if to == nil {
			to = f.Value
		}
		switch to := to.(type) {
		case *value:
			flag := &cli.GenericFlag{Name: name, Category: category, Usage: usage, Value: to}
			if name == "percentiles" {
				flag.Aliases = []string{"p"}
			}
			return flag
		case *string:
			if f.Words != nil {
				v := oneOf(to, name, f.Words...)
				return &cli.GenericFlag{Name: name, Category: category, Usage: usage, Value: v}
			}
			return &cli.StringFlag{Name: name, Category: category, Usage: usage, Destination: to}
		case *cli.StringSlice:
			return &cli.StringSliceFlag{Name: name, Category: category, Usage: usage, Destination: to}
		case *bool:
			return &cli.BoolFlag{Name: name, Category: category, Usage: usage, Destination: to}
		case *int:
			return &cli.IntFlag{Name: name, Category: category, Usage: usage, Value: *to, Destination: to}
		case *int64:
			return &cli.Int64Flag{Name: name, Category: category, Usage: usage, Value: *to, Destination: to}
		}
	}
	panic("no setting has a flag " + name)
}

func selectFlags(flags []cli.Flag, names ...string) []cli.Flag {
	return slices.DeleteFunc(flags, func(f cli.Flag) bool { return !slices.Contains(names, f.Names()[0]) })
}

func outputFlag() cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: defaultOutput,
		Usage: "`DIR` for documents without an Elasticsearch, and for those that it did not take"}
}

// shared completes the options that live has, too. least is the shortest interval.
func (o *logOptions) shared(c *cli.Context, least time.Duration, bad *fio.Faults) {
	cfg, s := &o.Config, &o.Config.Settings
	var err error
	s.Interval, cfg.Accuracy, err = o.readInterval(c, least)
	bad.Add(err)
	if s.Coarseness < -1 || s.Coarseness > 6 {
		bad.Add(fio.Usagef("--coarseness %d: want 0 to 6", s.Coarseness))
	}
	s.SLA, err = o.rules()
	bad.Add(err)
	cfg.Labels, err = pairs("--label", o.label.Value())
	bad.Add(err)
	if cfg.Part != "" && cfg.RunID == "" {
		bad.Add(fio.Usagef("--part %q: say with --run-id which run it is a part of", cfg.Part))
	}
}

// check completes the options. Of several kinds, Config has the first.
func (o *logOptions) check(c *cli.Context, bad *fio.Faults) {
	cfg, s := &o.Config, &o.Config.Settings
	o.Command, o.Paths, o.FioJSON = c.Command.Name, c.Args().Slice(), o.fioJSON.Value()
	if len(o.Kinds.List) > 0 {
		s.Kind = o.Kinds.List[0]
	}
	o.shared(c, time.Millisecond, bad)
	if s.LogHistMsec < 0 || s.LogHistMsec > 1e9 {
		bad.Add(fio.Usagef("--log-hist-msec %d: want a number of ms above 0", s.LogHistMsec))
	}
	if cfg.Workers < 0 {
		bad.Add(fio.Usagef("--workers %d: want 1 or more", cfg.Workers))
	}
	for _, rule := range s.SLA {
		if rule.Direction == fio.Sync.String() {
			bad.Add(fio.Usagef("--sla %q: fio logs no syncs: follow the run with fiolat live, or judge the whole run "+
				"by fio's JSON: fiolat summary --where 'sync p99 < 10ms'", rule.Text))
		}
	}
	s.Restore = !o.noRestore
	var err error
	s.Offsets, err = offsets(o.offset.Value())
	bad.Add(err)
	if cfg.Part != "" {
		s.Grid = fio.GridEpoch
		if cfg.Accuracy != 0 {
			bad.Add(fio.Usagef("--interval auto: all parts of a run need the same interval: give it as a duration"))
		}
	}
}

// oneKind is check for commands that take a single kind of latency.
func (o *logOptions) oneKind(c *cli.Context, bad *fio.Faults) {
	if o.check(c, bad); len(o.Kinds.List) > 1 {
		bad.Add(fio.Usagef("--kind %q: fiolat %s takes one kind", c.String("kind"), o.Command))
	}
}

// rules returns the rules of --sla, each once.
func (o *logOptions) rules() ([]fio.SLARule, error) {
	var rules, once []fio.SLARule
	for _, text := range o.sla.Value() {
		more, err := readRules(text)
		if err != nil {
			return nil, fio.Usagef("--sla: %v", err)
		}
		rules = append(rules, more...)
	}
	for _, r := range rules {
		if !slices.Contains(once, r) {
			once = append(once, r)
		}
	}
	if o.FailOnSLA != "" && len(once) == 0 {
		return nil, fio.Usagef("--fail-on-sla: no rules; give them with --sla")
	}
	return once, nil
}

// readRules returns the rule that --sla was given, or those of the file.
func readRules(text string) ([]fio.SLARule, error) {
	name, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		return fio.ParseSLARules([]string{text})
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return sla.ParseFile(f, fio.Printable(name))
}

// wholeRun is the --interval that is as long as the run.
const wholeRun = "run"

// readInterval reads --interval and --accuracy. At most one result is not 0.
func (o *logOptions) readInterval(c *cli.Context, least time.Duration) (interval time.Duration, wanted float64,
	err error) {
	switch v := o.interval; {
	case v == wholeRun && slices.Contains([]string{"percentiles", "histogram"}, c.Command.Name):
	case v == wholeRun:
		err = fio.Usagef("--interval run: that is for fiolat percentiles and histogram; fiolat %s needs intervals",
			c.Command.Name)
	case v == "auto":
		wanted, err = accuracy(o.accuracy)
	case c.IsSet("accuracy"):
		err = fio.Usagef("--accuracy is for --interval auto")
	case v != "":
		if interval, err = parseDuration("--interval", v); err != nil {
			err = fmt.Errorf("%w, run (one row, in percentiles and histogram), or auto", err)
		} else if interval < least {
			err = fio.Usagef("--interval %s: want at least %v", v, least)
		}
	}
	return interval, wanted, err
}

func latency(v string) (fio.Kind, error) {
	for k := range fio.Kind(fio.Kinds) {
		if k.String() == v {
			return k, nil
		}
	}
	if v == "sync" {
		return 0, fio.Usagef("--kind sync: fio logs no histogram of fsync and fdatasync; fiolat summary shows " +
			"what its JSON tells of them")
	}
	return 0, fio.Usagef("--kind %q: want clat, slat or lat", v)
}

// accuracy parses a percentage such as 10% and returns it as a fraction.
func accuracy(v string) (float64, error) {
	percent, ok := strings.CutSuffix(v, "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
	if !ok || err != nil || !(f > 0 && f < 100) {
		return 0, fio.Usagef("--accuracy %q: want a percentage above 0 and below 100, such as 10%%", v)
	}
	return f / 100, nil
}

// readPercentiles parses --percentiles.
func readPercentiles(text string) (out []float64, err error) {
	for _, f := range strings.Split(text, ",") {
		p, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(f), "p"), 64)
		if err != nil || !(p >= 0 && p <= 100) {
			return nil, fio.Usagef("--percentiles %q: want numbers from 0 to 100, such as 50,99,99.9", text)
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out, nil
}

// byList returns the value of --by.
func byList(to *[]string, usual string) *value {
	known := fio.Dimensions()
	words := slices.Concat(known[len(known)-1:], known[:len(known)-1])
	v := parsed(to, "", func(text string) (out []string, err error) {
		for _, f := range strings.Split(text, ",") {
			f = strings.TrimSpace(f)
			if f == "" {
				continue
			}
			if !slices.Contains(known, f) {
				return nil, fio.Usagef("--by %q: want a list of %s", text, strings.Join(words, ", "))
			}
			out = append(out, f)
		}
		slices.SortFunc(out, func(a, b string) int { return slices.Index(known, a) - slices.Index(known, b) })
		return slices.Compact(out), nil
	})
	v.texts = []string{usual}
	return v
}

// majorVersion parses --fio-version.
func majorVersion(text string) (int, error) {
	n := fiojson.Major(text + ".0")
	if n != 2 && n != 3 {
		return 0, fio.Usagef("--fio-version %q: want 2, 3 or a version such as 3.33", text)
	}
	return n, nil
}

func offsets(flags []string) (map[string]time.Duration, error) {
	out := map[string]time.Duration{}
	for _, f := range flags {
		if name, isFile := strings.CutPrefix(f, "@"); isFile {
			if err := readOffsets(name, out); err != nil {
				return nil, err
			}
			continue
		}
		host, v, ok := strings.Cut(f, "=")
		d, err := parseDuration("--offset", v)
		if !ok || err != nil {
			return nil, fio.Usagef("--offset %q: want HOST=DURATION, such as node2=1.5s, or @FILE", f)
		}
		out[host] = d
	}
	return out, nil
}

// readOffsets adds the offsets in a file, which has a line HOST DURATION for each.
func readOffsets(file string, to map[string]time.Duration) error {
	r, err := os.Open(file)
	if err != nil {
		return fio.Usagef("--offset: %v", err)
	}
	defer r.Close()
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 {
			return fio.Usagef("%s:%d: want HOST DURATION", fio.Printable(file), n)
		}
		d, err := parseDuration(fmt.Sprintf("%s:%d:", fio.Printable(file), n), fields[1])
		if err != nil {
			return err
		}
		to[fields[0]] = d
	}
	return lines.Err()
}

func pairs(flag string, list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, f := range list {
		k, v, ok := strings.Cut(f, "=")
		if !ok || k == "" {
			return nil, fio.Usagef("%s %q: want KEY=VALUE", flag, f)
		}
		out[fio.Printable(k)] = fio.Printable(v) // as they are stored
	}
	return out, nil
}

func kindList(v string) (k runsource.Kinds, err error) {
	if v == "all" {
		return runsource.EveryKind, nil
	}
	for _, name := range strings.Split(v, ",") {
		kind, err := latency(strings.TrimSpace(name))
		if err != nil {
			return k, err
		}
		if !slices.Contains(k.List, kind) {
			k.List = append(k.List, kind)
		}
	}
	return k, nil
}

// needPaths returns an error if no logs are named.
func (o *logOptions) needPaths() error {
	if len(o.Paths) == 0 {
		or := " or a stored run"
		if o.Command == "ingest" {
			or = ""
		}
		return fio.Usagef("fiolat %s: name the logs (files, directories, globs, or - for standard input)%s", o.Command,
			or)
	}
	return nil
}

// checkStored adds an error for each flag for logs that is given beside a stored run, unless it is one of but. It
// reports whether all runs are stored.
func (o *logOptions) checkStored(es *runsource.Elasticsearch, given func(flag string) bool, bad *fio.Faults,
	but ...string) bool {
	stored := 0
	for _, path := range o.Paths {
		at := o.Locate(path)
		if at == runsource.InLogs || at == runsource.Stored && len(es.Addresses) == 0 { // no such file
			continue
		}
		stored++
		for _, f := range new(logOptions).flags(logFlags{}) {
			name := f.Names()[0]
			if given(name) && !slices.Contains(append(but, "percentiles", "workers", "dry-run", "fail-on-sla", "kind"),
				name) && (name != "run-id" || at != runsource.InDirectory) {
				bad.Add(fio.Usagef("--%s: %s is stored, and its settings cannot be changed", name,
					fio.Printable(path)))
			}
		}
	}
	return stored == len(o.Paths)
}

// alertOptions say where alerts go.
type alertOptions struct {
	alert.Config
	secretFile string
}

func (o *alertOptions) flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "alert-webhook", Destination: &o.Webhook,
			EnvVars: []string{"FIOLAT_ALERT_WEBHOOK"},
			Usage:   "POST alerts to `URL` as JSON"},
		&cli.StringFlag{Name: "alert-secret-file", Category: catAlert, Destination: &o.secretFile,
			Usage: "`FILE` with the secret of the header Fiolat-Signature, the HMAC-SHA256 of the body"},
		&cli.StringFlag{Name: "alert-command", Destination: &o.Command,
			Usage: "`COMMAND` for sh, with the JSON on its standard input"},
	}
}

// metricsFlags returns the flags that say where metrics go.
func metricsFlags(to *metrics.Config) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "metrics", Category: catAlert, Destination: &to.Address,
			Usage: "serve metrics for Prometheus at `ADDRESS`, such as :9400"},
		&cli.StringFlag{Name: "metrics-file", Category: catAlert, Destination: &to.File,
			Usage: "replace `FILE` with the metrics at each interval, for node_exporter"},
	}
}

// check completes the options. flag, if not "", is what must be given for there to be anything to alert on.
func (o *alertOptions) check(c *cli.Context, flag string, bad *fio.Faults) {
	if o.Webhook == "" && o.Command == "" {
		return
	}
	inEnvironment := os.Getenv("FIOLAT_ALERT_WEBHOOK") != ""
	if flag != "" && !c.IsSet(flag) && !inEnvironment {
		bad.Add(fio.Usagef("--alert-webhook and --alert-command tell of what --%s finds: pass it, too", flag))
	}
	parsed, err := url.Parse(o.Webhook)
	if o.Webhook != "" && (err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "") {
		bad.Add(fio.Usagef("--alert-webhook: want an http or https URL"))
	}
	if err == nil && c.IsSet("alert-webhook") && parsed.User != nil && !inEnvironment {
		bad.Add(fio.Usagef("--alert-webhook: a password in an argument can be read by everybody on this host; " +
			"use FIOLAT_ALERT_WEBHOOK"))
	}
	if o.secretFile != "" {
		b, err := os.ReadFile(o.secretFile)
		if err != nil {
			bad.Add(fio.Usagef("--alert-secret-file: %v", err))
		} else if o.Secret = []byte(strings.TrimSpace(string(b))); len(o.Secret) == 0 {
			bad.Add(fio.Usagef("--alert-secret-file %s: there is no secret in it", o.secretFile))
		}
	}
}
