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
	"report --chart":        "a picture shows the percentiles over time; buttons on the page save each of its charts",
	"report --format":       "the name of the file says it: -o page.html, -o x.png or -o x.svg",
	"setup --rollup-after":  "let cron run fiolat rollup --older-than 720h --interval 1m",
	"summary --sla":         "pass --where 'read p99 < 5ms' for the runs that meet it, or fiolat PATH --sla RULE",
}

// commandGuesses are names that other programs give to what fiolat does, and what does it.
var commandGuesses = [][2]string{
	{"plot graph chart draw view open png svg", "fiolat PATH makes a page with charts of a run, and fiolat report -o " +
		"x.png PATH a picture"},
	{"show print table stats", "fiolat PATH makes a page of a run, and fiolat percentiles PATH prints a table"},
	{"html page web", "fiolat report -o page.html PATH makes a page of a run"},
	{"csv json parquet convert", "fiolat percentiles --format csv PATH prints rows; it has json, ndjson and parquet, too"},
	{"sla check verify assert", "fiolat PATH --sla 'read p99 < 5ms' has the verdict; with --fail-on-sla a broken rule " +
		"is exit code 4"},
	{"gate ci regression", "fiolat compare --fail-if 'read p99 +10%' BEFORE AFTER exits with 5; for a series of nights " +
		"it is fiolat history --fail-if-changed"},
	{"export dump save", "fiolat ingest -o DIR PATH writes documents, fiolat percentiles --format csv -o FILE PATH " +
		"rows, and fiolat setup --export DIR templates and dashboards"},
	{"demo example tutorial", "in fiolat's source are logs to try it with: fiolat testdata/fio/randrw"},
	{"diff cmp", "fiolat compare BEFORE AFTER says whether runs differ"},
	{"import index upload send push", "fiolat ingest --es URL PATH sends the documents of a run; fiolat load sends " +
		"those that were written to files"},
	{"list ls search find", "fiolat runs lists the runs in Elasticsearch"},
	{"rm remove", "fiolat delete RUN deletes a run from Elasticsearch"},
	{"watch tail follow monitor top run exec fio", "fiolat live -- fio job.fio shows percentiles while fio runs"},
	{"serve server dashboard dashboards kibana grafana init", "fiolat setup --kibana URL installs dashboards, and " +
		"fiolat live --metrics :9400 serves Prometheus"},
	{"validate lint doctor info fix repair", "fiolat inspect PATH says what each log is, and what is wrong with it; " +
		"logs are repaired as they are read"},
	{"trend trends changes", "fiolat history finds changes over the runs of a series"},
	{"hosts outliers stragglers why", "fiolat diagnose PATH names slow hosts, stalls and changes"},
	{"tag", "fiolat label RUN KEY=VALUE changes the labels of a run"},
}

// flagGuesses are the same for flags.
var flagGuesses = [][2]string{
	{"--quantum --bucket --resolution --step --window --i", "pass --interval, such as --interval 1s"},
	{"--open --browser", "the page is a file: open it in a browser"},
	{"--fix", "logs are repaired as they are read, and the files stay as they are; --repair no reads them as they are"},
	{"--sla", "fiolat PATH --sla RULE has the verdict"},
	{"--csv --json --ndjson --markdown --parquet", "fiolat percentiles --format csv PATH prints rows"},
	{"--html", "pass -o page.html to fiolat report"},
	{"--png --svg --plot", "fiolat report -o x.png PATH makes a picture"},
	{"--direction --rw --read --write --reads --writes", "pass --only direction=read"},
	{"--host --hosts --node", "pass --only host=NAME"},
	{"--job --jobs", "pass --only job=NAME"},
	{"--group --group-by --per", "pass --by, such as --by host"},
	{"--output-format --f --type", "pass --format, such as --format csv"},
	{"--out --file --output-dir --out-dir", "pass --output (-o)"},
	{"--name --title", "pass --run-name"},
	{"--tag --tags", "pass --label KEY=VALUE"},
	{"--since --begin", "pass --from, such as --from 3:00"},
	{"--until --end", "pass --to, such as --to 4:00"},
	{"--url --elasticsearch --server", "pass --es URL"},
	{"--user --username", "pass --es-user; the password comes from --es-password-file or ELASTICSEARCH_PASSWORD"},
	{"--password", "every user of this host can read arguments: pass --es-password-file or set ELASTICSEARCH_PASSWORD"},
	{"--index", "pass --index-prefix"},
	{"--threads --parallel --j", "pass --workers"},
	{"--force --no-confirm --y", "pass --yes"},
	{"--debug", "pass --verbose (-v)"},
	{"--tz --timezone --utc --localtime", "pass --clock utc or --clock local"},
	{"--threshold --limit", "pass --sla, such as --sla 'read p99 < 5ms'"},
	{"--status-interval", "it is an option of fio: fiolat live -- fio --status-interval=1 job.fio"},
}

// guessed returns what does the work of a name, "" if nobody was expected to use it.
func guessed(guesses [][2]string, name string) string {
	for _, g := range guesses {
		if slices.Contains(strings.Fields(g[0]), name) {
			return g[1]
		}
	}
	return ""
}

// flagInstead returns what to use in place of an unknown flag of a command, "" if that is not known.
func flagInstead(cmd *cli.Command, name string) string {
	flag := "--" + name
	if of := cmp.Or(removed[cmd.Name+" "+flag], removed[flag]); of != "" {
		return of
	}
	takes := valueFlags(cmd)
	if m, err := fio.ParseMetric(name); err == nil && m.Percentile > 0 && takes["percentiles"] {
		return "pass --percentiles (-p), such as -p " + fio.Percentile(m.Percentile)
	}
	of := guessed(flagGuesses, flag)
	if pass := passFlag.FindStringSubmatch(of); pass != nil && cmd.Name != "fiolat" {
		if _, has := takes[pass[1]]; !has {
			return ""
		}
	}
	return of
}

// passFlag matches the flag that a guess leads to.
var passFlag = regexp.MustCompile(`^pass --([a-z-]+)`)
