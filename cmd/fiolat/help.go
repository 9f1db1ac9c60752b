package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// helpPage is the help of a command.
type helpPage struct {
	name, args, usage string
	// usual are the flags that --help shows, in the order of use; the others are for --help-all.
	usual string
	// text is the examples and, below an empty line, what the flags do not say.
	text string
}

// commandGroups are the commands as fiolat --help groups them.
var commandGroups = [][2]string{
	{"LOOK AT A RUN:", "report percentiles summary inspect diagnose histogram live"},
	{"COMPARE RUNS:", "compare history curve"},
	{"STORE RUNS:", "setup ingest load runs label annotate merge rollup delete"},
	{"OTHERS:", "probe completion version"},
}

// argumentsAre is what the arguments of all commands are.
const argumentsAre = "PATH is a log, a directory, a glob, or - for standard input; DIR a directory of documents (ingest " +
	`-o);
RUN a run in Elasticsearch: its name, or six characters or more of its run.id.`

// pages are the helps of all commands, in the order of fiolat --help.
var pages = []helpPage{
	{"report", "PATH...|DIR...|RUN...", "make a page of a run, of two runs, or of a sweep",
		"by only output sla fail-on-sla interval percentiles kind from to note es skip-bad",
		`
fiolat report runs/today                    # report.html; fiolat runs/today is the same
fiolat report --sla 'read p99 < 5ms' -o today.html runs/today
fiolat report --kind all runs/today         # slat, clat and lat side by side
fiolat report -o both.html runs/before runs/after
fiolat report -o both.html before=b1,b2,b3 after=a1,a2,a3
fiolat report -o curve.html depths          # the runs of a sweep
fiolat report -o today.png runs/today       # a picture

The page is one file that loads nothing.`},
	{"percentiles", "PATH...|DIR|RUN", "print percentiles over time",
		"by only format output sla fail-on-sla interval percentiles kind from to wide unit clock es",
		`
fiolat percentiles --interval 10s runs/today
fiolat percentiles --interval run --only read runs/today      # one row
fiolat percentiles --from 3:00 --to 4:00 runs/today
fiolat percentiles --by host --wide p99 runs/today
fiolat percentiles --by host,direction --format csv -o today.csv runs/today

Tables show reads and writes apart unless --by says otherwise.
--like PROGRAM (fio-histo-log-pctiles or fiologparser_hist) takes the flags of that program and prints
what it prints.`},
	{"summary", "PATH|DIR|RUN...", "print figures of whole runs",
		"by only where sort format output percentiles kind from to unit es skip-bad verbose",
		`
fiolat summary runs
fiolat summary --where 'read p99 < 50ms' --sort -iops runs
fiolat summary --by host --format csv runs/today

A row for each run below a directory, and direction, with the job options in which the runs differ. Runs of which there
is only fio's JSON (json+) count.`},
	{"inspect", "PATH...|DIR...|RUN...", "show what each log is, and what is wrong with it",
		"kind format output skip-bad es verbose",
		`
fiolat inspect runs/today

Logs that cannot be read are named, and the exit code is 3.`},
	{"diagnose", "PATH...|DIR|RUN", "find slow hosts, stalls and changes",
		"only interval kind from to format output es verbose",
		`
fiolat diagnose runs/today
fiolat diagnose --format json runs/today | jq .findings

Of a stored run only what its --by splits is compared.`},
	{"compare", "BASELINE RUN...", "compare runs with a baseline",
		"by only fail-if baseline run-noise margin steady all alert-webhook format output percentiles kind unit es",
		`
fiolat compare runs/before runs/after
fiolat compare --fail-if 'read p99 +10%' before=b1,b2,b3 after=a1,a2,a3
fiolat compare --es URL old=label:build=19.1 new=label:build=19.2
fiolat compare runs/before                  # how much repeats differ

NAME=RUN,RUN,... and NAME=label:KEY=VALUE are groups of repeats: 3 or more, better 5.`},
	{"history", "[PATH|DIR|RUN...]", "find changes over the runs of a series",
		"label option since until last metric fail-if-changed min-change state store alert-webhook format output unit " +
			"es",
		`
fiolat history --es URL --label series=nightly
fiolat history --es URL --label series=nightly --store --fail-if-changed 3
fiolat history --metric 'read p99' -o history.html runs/*

Runs of the same workload are a series.`},
	{"curve", "PATH|DIR|RUN...", "print latency against load, from the runs of a sweep",
		"at only format output percentiles kind unit es verbose",
		`
fiolat curve depths
fiolat curve --at 'read p99 < 1ms' -o curve.html depths      # how many IOPS meet that

Runs with the same job options make a point: repeat each 3 times.`},
	{"histogram", "PATH...|DIR|RUN", "print histograms over time",
		"by only format output interval kind from to unit no-total es",
		`
fiolat histogram --interval 10s --by direction -o buckets.csv runs/today

A row for each bucket that is not empty.`},
	{"live", "[FILE|-] | -- fio ARGS...", "show percentiles and alerts while fio runs",
		"by format output sla fail-on-sla interval percentiles kind label run-id part follow alert-webhook metrics es",
		`
fiolat live --es URL -- fio job.fio
fio --status-interval=1 --output-format=json+ job.fio | fiolat live -
fiolat live --follow --run-id R --part $(hostname) --es URL fio.json

Reads what fio prints with --status-interval and --output-format=json+, or starts fio itself. Its exit code is fio's if
that is not 0.`},
	{"ingest", "PATH...", "send a run to Elasticsearch, or write its documents to files",
		"by format output sla fail-on-sla interval percentiles kind label run-name run-id part skip-bad dry-run es",
		`
fiolat ingest --es http://localhost:9200 runs/today
fiolat ingest --es URL --label series=nightly --run-name 'osd 12 down' runs/today
fiolat ingest -o today.docs runs/today

A tree with several runs is ingested as several runs.`},
	{"load", "FILE|DIR...", "send documents that were written to files", "es",
		`
fiolat load --es http://localhost:9200 fiolat-out

Sending a document twice does no harm. Files of what could not be sent, or was refused, are removed when all of it has
arrived.`},
	{"merge", "RUN", "merge the parts of a run whose hosts were ingested apart",
		"parts skip-incomplete fail-on-sla kind percentiles output dry-run es verbose",
		`
fiolat ingest --es URL --run-id R --part $(hostname) logs     # on each host
fiolat merge --es URL --parts 40 R                            # then, once

The result is what an ingest of all logs at once would have written, but for the rounding of stored counts.`},
	{"rollup", "[RUN...]", "reduce the resolution of stored runs",
		"interval coarseness older-than label dry-run yes es verbose",
		`
fiolat rollup --es URL --older-than 30d --interval 1m
fiolat rollup --es URL --interval 10s --coarseness 3 nightly-4711

The intervals are then as an ingest with that interval would have made them, but for the rounding of stored counts. The
run keeps what the short ones have shown: findings, SLA verdicts, length and summary. There is no way back but to ingest
it again.`},
	{"setup", "", "install index templates, and dashboards in Kibana",
		"kibana space alert-rules remove delete-after export es",
		`
fiolat setup --es http://localhost:9200 --kibana http://localhost:5601
fiolat setup --es URL --delete-after 365d
fiolat setup --kibana URL --remove          # take out what setup put there
fiolat setup --export fiolat/               # files, as for Terraform; needs no server

Repeating it changes nothing.`},
	{"runs", "[NAME|PREFIX|KEY=VALUE...]", "list the runs in Elasticsearch, the latest first",
		"label option since until last sort size format output unit es",
		`
fiolat runs --es URL nightly cluster=b7     # by the beginning of a word of the name, and a label
fiolat runs --es URL --since 7d --sort '-read p99'
fiolat runs --es URL --size --until 90d`},
	{"label", "RUN [KEY=VALUE...]", "change the labels of a run", "remove es",
		`
fiolat label --es URL nightly build=19.1 series=nightly

Documents of intervals keep the labels of the ingest.`},
	{"annotate", "RUN TEXT", "note on a run what happened", "at es",
		`
fiolat annotate --es URL --at +90s nightly 'osd.12 down'

Notes outlive another ingest of the run, and go with fiolat delete.`},
	{"delete", "[RUN...]", "delete runs from Elasticsearch", "older-than label yes es",
		`
fiolat delete --es URL nightly-4711 nightly-4712
fiolat delete --es URL --label series=test --older-than 90d

Deletes histograms, percentiles, notes and all. The same command finishes an interrupted deletion.`},
	{"probe", "DIR...", "probe file systems, and say how much slower than usual they are",
		"interval duration size status cleanup alert-webhook alert-command metrics label output es",
		`
fiolat probe --es URL /scratch /home
fiolat probe --status /scratch
fiolat probe --cleanup /scratch

Once a second it reads and writes 1 MiB of a data file in DIR, and creates, stats, reads and deletes a small one, until
it is interrupted.`},
	{"completion", "bash|zsh|fish", "print what completes commands and flags in a shell", "", `
source <(fiolat completion bash)                            # in ~/.bashrc
fiolat completion zsh >"${fpath[1]}/_fiolat"
fiolat completion fish >~/.config/fish/completions/fiolat.fish

Packages install them.`},
	{"version", "", "print version, commit and date of fiolat", "", `
fiolat version`},
}

// pageOf returns the index of a command's help.
func pageOf(name string) int {
	return slices.IndexFunc(pages, func(p helpPage) bool { return p.name == name })
}

// describe sets the help of a command, and sorts its usual flags to the front. It returns their number.
func describe(c *cli.Command) int {
	p := pages[pageOf(c.Name)]
	c.Usage, c.ArgsUsage, c.Description = p.usage, p.args, strings.TrimPrefix(p.text, "\n")
	usual := strings.Fields(p.usual)
	place := func(f cli.Flag) int {
		if i := slices.Index(usual, f.Names()[0]); i >= 0 {
			return i
		}
		return len(usual)
	}
	at := make(map[cli.Flag]int, len(c.Flags))
	for _, f := range c.Flags {
		at[f] = place(f)
	}
	slices.SortStableFunc(c.Flags, func(a, b cli.Flag) int { return at[a] - at[b] })
	return len(usual)
}
