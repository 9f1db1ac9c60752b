package main

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
)

// removed names what replaces the commands and flags of earlier versions, and the words that they took; of a single
// command also flags that only other commands have.
var removed = map[string]string{
	"--no-repair":                  "pass --repair no",
	"--alert-env":                  "let the command read a file",
	"--es-cloud-id":                "pass --es with the endpoint of the deployment's Elasticsearch",
	"--es-service-token-file":      "set ELASTICSEARCH_SERVICE_TOKEN",
	"percentiles --limits":         "--format ndjson and json have the limits of each percentile",
	"--max-line":                   "lines of logs have at most 1 MiB",
	"curve --axis":                 "it is IOPS; --format csv has MiB/s and concurrency",
	"curve --direction":            "pass --only direction=read",
	"history --split":              "pass --label KEY=VALUE, once for each value",
	"live --idle":                  "a file that another program has open is waited for, otherwise a minute",
	"probe --window":               "it is gone: the expected time is the median of all before",
	"runs --direction":             "--format json has the figures of each direction",
	"--offsets":                    "pass --offset @FILE",
	"setup --kibana-user":          "set KIBANA_USERNAME and KIBANA_PASSWORD, or pass --es-user",
	"setup --kibana-password-file": "set KIBANA_PASSWORD, or pass --es-password-file",
	"setup --kibana-api-key-file":  "set KIBANA_API_KEY, or pass --es-api-key-file",
	"setup --kibana-ca-cert":       "set KIBANA_CA_CERT, or pass --es-ca-cert",
	"inspect --percentiles":        "fiolat summary has the percentiles of a run",
	"inspect --by":                 "fiolat summary groups by hosts and jobs",
	"inspect --sla":                "fiolat percentiles judges SLA rules",
	"--take-over":                  "it is gone: who begins last has the run",
	"--dry-run":                    "only what sends documents or writes files has it",
	"--sla-file":                   "pass --sla @FILE",
	"--V":                          "fiolat version prints it",
	"report --output-format":       "fiolat percentiles --format json PATH prints rows",
	"completion":                   "packages complete commands and flags in a shell; CONTRIBUTING.md says how else",
	"diagnose --unit":              "each latency has its own unit; in --format json all are in ns",
	"explain":                      "fiolat inspect PATH has what docs/engines.md says of the engines of a run",
	"histogram --format hgrm":      "fiolat percentiles --interval run has the percentiles of the whole run",
	"histogram --format hlog":      "--format csv, ndjson and parquet have the buckets of each interval",
	"ingest --format parquet": "fiolat percentiles and fiolat histogram write rows and buckets as Parquet, and " +
		"--format ndjson the documents",
	"merge --slice": "merge without it; for more than one machine can merge, see docs/scale.md: " +
		"fiolat histogram --format parquet on each host, and one SQL query",
	"probe --baseline":      "it is gone: the data file keeps the expected times for the next probe",
	"probe --block":         "it is gone: blocks have 1 MiB",
	"probe --deadline":      "it is gone: what takes 10 s or longer hangs",
	"probe --file":          "it is gone: the small file has 3901 bytes",
	"probe --pool":          "it is gone: each round makes one small file and deletes it",
	"probe --prepare":       "use --duration 1s: the first probe makes the data file",
	"probe --run-name":      "use --run-id or --label",
	"probe --save-baseline": "it is gone: the data file keeps the expected times for the next probe",
	"probe --seed":          "it is gone: blocks are chosen at random",
	"probe --slow":          "it is gone: slow is from 2 times the expected time, very slow from 5",
	"probe --very-slow":     "it is gone: slow is from 2 times the expected time, very slow from 5",
	"compare --after":       "name both as arguments: fiolat compare BEFORE AFTER",
	"compare --before":      "name both as arguments: fiolat compare BEFORE AFTER",
	"ingest --host":         "pass --es URL",
	"summary --interval":    "fiolat percentiles --interval 10s PATH has a row for each interval",
	"report --chart":        "a picture shows the percentiles over time; buttons on the page save each of its charts",
	"report --format": "-o page.html, -o x.png or -o x.svg says it; fiolat percentiles --format json PATH prints " +
		"rows",
	"setup --rollup-after": "let cron run fiolat rollup --older-than 720h --interval 1m",
	"summary --sla":        "pass --where 'read p99 < 5ms' for the runs that meet it, or fiolat PATH --sla RULE",
}

// commandGuesses are names that other programs give to what fiolat does, and what does it.
var commandGuesses = [][2]string{
	{"screenshot sketch heat box violin visualise render pic image pdf ui gui browse spectrum timeseries " +
		"plot graph chart draw view open png svg heatmap timeline histograms visualize",
		"fiolat PATH makes a page with charts of a run, a heat map among them, and fiolat report -o x.png PATH a " +
			"picture"},
	{"pcts p50 p95 p999 digest quantile quantiles median jitter text rows show print table stats pctl pct " +
		"quantiles latency lat clat cat p99 parse read analyze analyse",
		"fiolat PATH makes a page of a run, and fiolat percentiles PATH prints a table"},
	{"html page web", "fiolat report -o page.html PATH makes a page of a run"},
	{"csv json parquet convert md markdown",
		"fiolat percentiles --format csv PATH prints rows, and -o x.csv writes them; json, ndjson, parquet and md " +
			"work, too"},
	{"gnuplot matplotlib pandas notebook", "fiolat percentiles -o x.csv PATH writes rows for other programs"},
	{"above over exceed count",
		"fiolat PATH --sla 'read p99 < 10ms' has the share within; fiolat histogram -o x.csv PATH all counts"},
	{"rank order sort", "fiolat summary --sort '-read p99' PATH lists runs; fiolat diagnose PATH names slow hosts"},
	{"align", "intervals are aligned as logs are read, as fiolat percentiles PATH prints them"},
	{"schema fields", "docs/documents.md of fiolat's source has the fields"},
	{"meets passfail pass threshold slos target objective limits sla slo check verify assert judge budget",
		"fiolat PATH --sla 'read p99 < 5ms' has the verdict; with --fail-on-sla a broken rule is exit code 4"},
	{"gate", "fiolat percentiles --sla 'read p99 < 5ms' --fail-on-sla PATH exits with 4 if the rule is broken, " +
		"fiolat compare --fail-if 'read p99 +10%' BEFORE AFTER with 5"},
	{"alarm-on bisect ci regression regress junit",
		"fiolat compare --fail-if 'read p99 +10%' BEFORE AFTER exits with 5; for a series of nights it is fiolat " +
			"history --fail-if-changed 5"},
	{"copy clone export dump save archive backup",
		"fiolat ingest -o DIR PATH writes documents, fiolat percentiles -o x.csv PATH rows, and fiolat setup " +
			"--export DIR templates and dashboards"},
	{"demo example examples tutorial quickstart",
		"fiolat's source has logs to try it with, fiolat testdata/fio/randrw, and jobs in examples/"},
	{"docs doc man manual guide faq",
		"fiolat COMMAND --help has examples and flags; the pages are in docs/ of fiolat's source"},
	{"config configure settings env",
		"there is no configuration file: pass flags, or set ELASTICSEARCH_URL and the other variables that fiolat " +
			"ingest --help-all names"},
	{"better worse improve improvement drift vs versus benchcmp significance ttest abtest before-after delta diff " +
		"cmp benchstat ab baseline",
		"fiolat compare BEFORE AFTER says whether runs differ; compare --baseline label:KEY=VALUE takes stored " +
			"runs"},
	{"loadcurve load-curve qdepth depths littles littleslaw scale ramp saturate capacity maxiops max-iops sweep knee " +
		"saturation depth qd scaling",
		"fiolat curve SWEEP prints latency against load, and where the knee is"},
	{"ship shipper sendto feed ingestion publish post bulk reindex import index upload send push es " +
		"elastic elasticsearch store",
		"fiolat ingest --es URL PATH sends the documents of a run, after fiolat setup --es URL; fiolat load sends " +
			"those that were written to files"},
	{"browse-runs list ls search find query",
		"fiolat runs lists the runs in Elasticsearch, and fiolat summary DIR those in directories"},
	{"rm remove drop", "fiolat delete RUN deletes a run from Elasticsearch"},
	{"tidy trash vacuum forget erase purge prune clean cleanup expire retention gc",
		"fiolat delete RUN deletes a run, fiolat setup --delete-after 365d old indices; fiolat rollup makes old " +
			"runs smaller"},
	{"squash squeeze compress reduce resample downsample compact shrink thin",
		"fiolat rollup --older-than 30d --interval 1m makes stored runs smaller"},
	{"concat group combine join sum add aggregate",
		"fiolat DIR adds up the logs of all hosts below DIR (see --hosts-by), and fiolat merge RUN the parts of a " +
			"stored run"},
	{"record watchdog realtime progress capture attach stream listen stop watch tail follow monitor top run exec fio " +
		"bench benchmark workload stress start serve-metrics",
		"fiolat live -- fio job.fio shows percentiles while fio runs"},
	{"alarm email mail page-me alert alerts notify webhook slack",
		"fiolat live --sla RULE --alert-webhook URL -- fio job.fio sends alerts; history and compare have " +
			"--alert-webhook, too"},
	{"mapping mappings dash vega promql template templates ilm policy bootstrap kbn space spaces exporter lens " +
		"dashboard dashboards kibana grafana init install prometheus metrics",
		"fiolat setup --es URL installs index templates, fiolat setup --kibana URL dashboards, and fiolat live " +
			"--metrics :9400 serves Prometheus"},
	{"serve server",
		"fiolat PATH makes a page that needs no server; fiolat setup --kibana URL installs dashboards, and " +
			"fiolat live --metrics :9400 serves Prometheus"},
	{"sanity what debug trace verify-logs recover validate lint doctor info fix repair log logs ls-logs test",
		"fiolat inspect PATH says what each log is, and what is wrong with it; logs are repaired as they are read"},
	{"schedule cron crontab timer daemon agent service job-queue",
		"let cron or CI run fiolat: docs/nightly.md has the script"},
	{"login logout auth credentials credential key keys secret secrets user users token",
		"pass --es-user and --es-password-file, or set ELASTICSEARCH_USERNAME and ELASTICSEARCH_PASSWORD, or " +
			"ELASTICSEARCH_API_KEY"},
	{"remote remotes context contexts cluster connect connection", "pass --es URL, or set ELASTICSEARCH_URL"},
	{"cache lock unlock reset stash commit rebase checkout branch apply create undo revert migrate",
		"nothing is kept but results in Elasticsearch, and what fiolat ingest -o DIR writes"},
	{"split job jobs thread threads node nodes entries per-host per-job by-host by-job",
		"fiolat summary --by job PATH has a row for each; host and log work, too"},
	{"result results max min mean average avg stddev std", "fiolat summary PATH prints the figures of whole runs"},
	{"get describe inspect-run snapshot snapshots catalog history-list",
		"fiolat runs lists the runs in Elasticsearch, and fiolat summary RUN or fiolat inspect RUN describes one"},
	{"pull fetch download retrieve", "fiolat percentiles, report and the others take a RUN of Elasticsearch by name"},
	{"about", "fiolat version"},
	{"help-all", "fiolat COMMAND --help-all has all flags of a command"},
	{"autocomplete complete bash zsh fish completions", removed["completion"]},
	{"head first last time times", "fiolat percentiles --from 0:30 --to 1:00 PATH prints a part of a run"},
	{"series since night nights series-of regressions trend trends changes changepoint changepoints nightly",
		"fiolat history finds changes over the runs of a series"},
	{"who culprit blame spike spikes hiccup hiccups host anomaly detect root cause rca hangs hang gaps hotspots " +
		"hotspot worst hosts outliers outlier stragglers straggler why stalls stall anomalies explain-tail " +
		"slow slowest tails",
		"fiolat diagnose PATH names slow hosts, stalls and changes"},
	{"edit mv set tag tags rename name relabel",
		"fiolat label RUN KEY=VALUE changes the labels of a run; a name is given by ingest --run-name"},
	{"note notes event events comment mark", "fiolat annotate --at +90s RUN TEXT notes what happened"},
	{"hgrm hdr hdrhistogram ccdf pdf-of dist distribution buckets hist bins cdf",
		"fiolat histogram PATH prints the buckets; the page has the spectrum and the cumulative share"},
	{"iostat summarize summarise agg iops bw bandwidth throughput totals total overview",
		"fiolat summary PATH prints IOPS, MiB/s and percentiles of whole runs"},
	{"cut slice trim window filter grep exclude only crop",
		"most commands take --only direction=read, --from 3:00 and --to 4:00"},
	{"update upgrade self-update", "install the new package, or go install ./cmd/fiolat in its source"},
	{"restore resume sync resend retry spool flush", "fiolat load DIR sends documents that were written to files"},
	{"selftest ping latency-probe canary health healthcheck status",
		"fiolat probe DIR probes a file system; fiolat runs says whether Elasticsearch answers"},
}

// flagGuesses are the same for flags. Of several for a name, the first counts whose flag the command has.
var flagGuesses = [][2]string{
	{"--clat --slat --lat --latency-type --log-type", "pass --kind, such as --kind slat"},
	{"--type", "pass --format, such as --format csv, or --kind slat for another latency"},
	{"--shift --skew --clock-skew", "pass --offset HOST=TIME, such as --offset h3=-2s"},
	{"--exclude --not --without", "name what is kept, such as --only host=h1,h2"},
	{"--after", "pass --from, such as --from 0:30"},
	{"--before", "pass --to, such as --to 4:00"},
	{"--pairwise --all-pairs", "fiolat compare A B C compares each with the first"},
	{"--curve --sweep --x --xaxis --x-axis",
		"runs that differ in iodepth or another option are a sweep, and the page or table is its curve"},
	{"--hdr --hgrm", "fiolat percentiles --interval run PATH has the percentiles of the whole run, and fiolat " +
		"histogram -o x.csv PATH the buckets"},
	{"--prometheus --openmetrics --prom",
		"fiolat live --metrics :9400 serves Prometheus, and --metrics-file x.prom writes for it"},
	{"--print --pdf", "print the page from a browser"},
	{"--quantum --resample --bucket --resolution --step --window --i --bin --every --period --granularity --sampling",
		"pass --interval, such as --interval 1s"},
	{"--open --browser", "the page is a file: open it in a browser"},
	{"--fix", "logs are repaired as they are read, and the files stay as they are; --repair no reads them as they are"},
	{"--skip --ramp --ramp-time --warmup --skip-first --discard",
		"pass --from, such as --from 0:30; ramp_time of fio leaves it out of the logs"},
	{"--skip --ignore-errors --lenient --keep-going", "pass --skip-bad to leave out what cannot be read"},
	{"--sla --slo", "fiolat PATH --sla RULE has the verdict"},
	{"--csv --json --ndjson --parquet", "fiolat percentiles --format csv PATH prints rows"},
	{"--md --markdown", "pass --format markdown"},
	{"--junit --xml", "pass --format junit"},
	{"--md --markdown --junit --xml", "percentiles, compare and history have --format markdown and junit"},
	{"--html --page", "pass -o page.html to fiolat report"},
	{"--png --svg --plot --picture", "fiolat report -o x.png PATH makes a picture; curve and history draw, too"},
	{"--dark --light --theme", "the page is dark or light as the system is, and has a button for it"},
	{"--direction --rw --read --write --reads --writes --reads-only --read-only --only-reads --writes-only " +
		"--write-only --only-writes",
		"pass --only direction=read"},
	{"--host --hosts --node", "pass --only host=NAME"},
	{"--job --jobs --job-name", "pass --only job=NAME"},
	{"--filter --grep --select --where --selector --field-selector", "pass --only, such as --only direction=read"},
	{"--filter --grep --select", "pass --where, such as --where 'read p99 < 5ms'"},
	{"--selector --l --field-selector --filter", "pass --label KEY=VALUE"},
	{"--group --group-by --per --per-host --per-job --by-host --by-job --split --breakdown",
		"pass --by, such as --by host"},
	{"--f", "pass --follow"},
	{"--force --no-confirm --y --f", "pass --yes"},
	{"--output-format --f --fmt", "pass --format, such as --format csv"},
	{"--out --output-dir --out-dir --output-file --to-file --write --dest --save", "pass --output (-o)"},
	{"--file --input --in --path --dir --directory --source --log --logs --files",
		"logs and directories are arguments, without a flag"},
	{"--recursive --r --recurse", "directories are searched with all below them"},
	{"--color --colour --no-color --no-colour --raw --raw-output --pretty --compact --compact-output --human " +
		"--human-readable --plain --ascii --style",
		"tables have neither colors nor escapes; pass -o x.csv or x.json for programs"},
	{"--silent --no-progress --no-warnings", "pass --quiet (-q)"},
	{"--export", "pass --output (-o): the ending of its name is the format"},
	{"--all --all-runs --a", "all are listed, if --last does not limit them"},
	{"--runtime --duration --length", "pass --to, such as --to 4:00"},
	{"--percentile-list", "pass --percentiles (-p), such as -p 50,99.9"},
	{"--name --title", "pass --run-name"},
	{"--id --run", "pass --run-id"},
	{"--name --id --run --run-id", "a run is named as an argument"},
	{"--tag --tags", "pass --label KEY=VALUE"},
	{"--since --begin --start-time",
		"pass --from, such as --from 3:00 for a part of a run; fiolat runs --since 30d lists runs"},
	{"--label", "a stored run with a label is label:KEY=VALUE as an argument"},
	{"--until --end --end-time", "pass --to, such as --to 4:00"},
	{"--url --elasticsearch --server --es-url", "pass --es URL"},
	{"--user --username", "pass --es-user; the password comes from --es-password-file or ELASTICSEARCH_PASSWORD"},
	{"--password --es-password",
		"every user of this host can read arguments: pass --es-password-file or set ELASTICSEARCH_PASSWORD"},
	{"--api-key --token",
		"every user of this host can read arguments: pass --es-api-key-file or set ELASTICSEARCH_API_KEY"},
	{"--insecure --k --no-verify --no-check-certificate --skip-tls-verify", "pass --es-insecure, or --es-ca-cert FILE"},
	{"--cacert --ca --ca-file --cert --certificate --certificate-authority --tls-ca", "pass --es-ca-cert FILE"},
	{"--fingerprint --ca-fingerprint", "pass --es-fingerprint HEX"},
	{"--index", "pass --index-prefix"},
	{"--threads --parallel --j", "pass --workers"},
	{"--force --overwrite --replace --append --clobber",
		"it is so by default: files are replaced, and an ingest of the same logs replaces the run"},
	{"--debug --v --vv", "pass --verbose (-v)"},
	{"--debug --v --vv --verbose", "there is nothing more to print; --log-format json has messages for programs"},
	{"--tz --timezone --utc --localtime", "pass --clock utc or --clock local"},
	{"--n --simulate --plan --whatif --test-run", "pass --dry-run"},
	{"--limit --top --n --count --head --tail --max-count", "pass --last N"},
	{"--top --limit", "pass --sort -METRIC, the largest first, such as --sort '-read p99'"},
	{"--threshold --limit --fail --fail-on --fail-on-regression --max-regression --regression --exit-code --assert",
		"pass --fail-if, such as --fail-if 'read p99 +10%'"},
	{"--threshold --limit", "pass --min-change, such as --min-change 10%"},
	{"--threshold --limit", "pass --where, such as --where 'read p99 < 5ms'"},
	{"--threshold --limit", "pass --at, such as --at 'read p99 < 5ms'"},
	{"--threshold --limit --fail --fail-on", "pass --sla, such as --sla 'read p99 < 5ms'"},
	{"--threshold --limit --top", "fiolat diagnose PATH names what is slow, and how certain that is"},
	{"--webhook --slack --alert --notify --teams", "pass --alert-webhook URL"},
	{"--alpha --confidence --significance --pvalue --delta-test --test --ttest --utest",
		"limits are at 95 %, those of --fail-if at 99 %; a change within --margin is called same"},
	{"--retention --keep --ttl --days", "fiolat setup --delete-after 365d deletes old indices"},
	{"--median --quantiles --pct --pctl --quantile", "pass --percentiles (-p), such as -p 50,99.9"},
	{"--mean --avg --max --min --stats --stddev",
		"percentiles and summary print it; --wide mean has hosts side by side"},
	{"--w --wide-output --full", "pass --format, such as --format json, which has all there is"},
	{"--seconds --time --dt", "pass --interval, such as --interval 10s"},
	{"--time-unit --us --ms --ns --microseconds --milliseconds --nanoseconds --usec --msec --nsec --latency-unit",
		"pass --unit, such as --unit ms"},
	{"--total --sum --merge --aggregate", "the total is always included"},
	{"--precision --digits --header --no-header --sep --delimiter --tsv",
		"tables are for people; pass -o x.csv or x.json, which have all digits and a header"},
	{"--template --css --stylesheet", "there is one page; pass -o x.csv or x.json to percentiles to draw your own"},
	{"--xlsx --text --table --summary", "-o x.csv, .json, .md, .html, .png and .svg are what is written"},
	{"--offline --no-js --standalone --inline --self-contained", "the page is one file that loads nothing"},
	{"--ci --limits --intervals", "confidence intervals are always computed; --format json has all"},
	{"--before --after --old --new --base --a --b", "name both as arguments: fiolat compare BEFORE AFTER"},
	{"--order --desc --asc --sort-by --orderby", "pass --sort, such as --sort '-read p99', the largest first"},
	{"--tolerance --noise --epsilon", "pass --margin 5%, or --run-noise 5% for how much repeats differ"},
	{"--baseline-run --compare --reference --paired --repeat",
		"name the runs: fiolat compare before=b1,b2,b3 after=a1,a2,a3"},
	{"--name-only --names --short --brief --stat", "pass --format, such as --format json, and jq takes what you need"},
	{"--columns --fields --cols --col --column --metric", "pass --percentiles (-p), such as -p 50,99.9"},
	{"--start-at --skip-until --offset-start", "pass --from, such as --from 0:30"},
	{"--batch --bulk-size --flush-bytes --retry --retries --retry-on",
		"sizes are chosen and failures retried; pass --max-wait to say for how long"},
	{"--no-ilm --pipeline --shards --replicas", "fiolat setup installs the index templates and the lifecycle"},
	{"--refresh --poll", "fiolat live shows each status document; fio's --status-interval says how often"},
	{"--limit --n --count --head --tail --max-count", "pass --from and --to for a part of a run"},
	{"--status-interval", "it is an option of fio: fiolat live -- fio --status-interval=1 job.fio"},
}

// guessedCommand returns what does the work of a command that is none: by its name, a part of it, or a name nearly the
// same.
func guessedCommand(name string) string {
	if m, err := fio.ParseMetric(name); err == nil && m.Percentile > 0 {
		name = "p99"
	}
	for _, n := range append([]string{name}, strings.FieldsFunc(name,
		func(r rune) bool { return r == '-' || r == '_' })...) {
		if of := guesses(commandGuesses, strings.ToLower(n)); len(of) > 0 {
			return of[0]
		}
	}
	for _, g := range commandGuesses {
		for known := range strings.FieldsSeq(g[0]) {
			if len(known) > 4 && fio.Distance(name, known) == 1 {
				return g[1]
			}
		}
	}
	return ""
}

var undashed = strings.NewReplacer("-", "", "_", "")

// guesses returns what does the work of a name; none if nobody was expected to use it.
func guesses(of [][2]string, name string) (out []string) {
	is := func(known string) bool { return undashed.Replace(known) == undashed.Replace(name) }
	for _, g := range of {
		if slices.ContainsFunc(strings.Fields(g[0]), is) {
			out = append(out, g[1])
		}
	}
	return out
}

// flagByPart returns the same for an unknown flag of which a part is known, as the first one of --per-disk.
func flagByPart(app *cli.App, cmd *cli.Command, name string) string {
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' }) {
		if part != "max" && part != "min" && len(guesses(flagGuesses, "--"+part)) > 0 {
			return flagInstead(app, cmd, part)
		}
	}
	return ""
}

// flagInstead returns what to use in place of an unknown flag of a command, "" if that is not known.
func flagInstead(app *cli.App, cmd *cli.Command, name string) string {
	flag := "--" + name
	if of := cmp.Or(removed[cmd.Name+" "+flag], removed[flag]); of != "" {
		return of
	}
	if m, err := fio.ParseMetric(name); err == nil && m.Percentile > 0 && has(cmd, "percentiles", "") {
		return "pass --percentiles (-p), such as -p " + fio.Percentile(m.Percentile)
	}
	all := guesses(flagGuesses, flag)
	if len(name) == 1 && len(all) == 0 {
		all = guesses(flagGuesses, strings.ToLower(flag))
	}
	for _, of := range all {
		if pass := passFlag.FindStringSubmatch(of); pass == nil || cmd.Name == "fiolat" || has(cmd, pass[1], pass[2]) {
			return of
		}
	}
	if len(all) > 0 {
		pass := passFlag.FindStringSubmatch(all[0])
		return strings.TrimPrefix(haveFlag(app, pass[1], pass[2])+": "+all[0], ": ")
	}
	if len(name) > 1 || name == "v" {
		return haveFlag(app, name, "")
	}
	return ""
}

// has reports whether a command has a flag, and takes the word with it if it is a format.
func has(cmd *cli.Command, flag, word string) bool {
	_, ok := valueFlags(cmd)[flag]
	if of := generic(cmd, flag); ok && flag == "format" && of != nil && slices.Contains(formats, word) {
		return slices.Contains(of.words, word)
	}
	return ok
}

// formats are the words of --format that only some commands take.
var formats = []string{"markdown", formatJUnit}

// haveFlag names the commands that have a flag, "" for none and for nearly all.
func haveFlag(app *cli.App, flag, word string) string {
	var names []string
	for _, p := range pages {
		if c := app.Command(p.name); c != nil && has(c, flag, word) {
			names = append(names, p.name)
		}
	}
	if len(names) == 0 || len(names) > 10 {
		return ""
	}
	verb := " have --"
	if len(names) == 1 {
		verb = " has --"
	}
	return "fiolat " + fio.List(names, "and") + verb + flag
}

// passFlag matches the flag that a guess leads to, and the word after it.
var passFlag = regexp.MustCompile(`^pass --([a-z-]+)(?: ([a-z]+))?`)
