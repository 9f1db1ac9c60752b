package esmodel

import (
	"fmt"
	"slices"
	"strings"
)

// Field describes a field of documents. A "*" at the end of its name matches any suffix: a percentile, an
// octave, a label.
type Field struct {
	Name    string
	Type    string // mapping type; "-" if the field is only in _source
	Unit    string
	Kinds   []Kind
	Meaning string
}

var (
	everywhere = Kinds
	quanta     = []Kind{KindHistogram, KindPercentiles}
	onPct      = []Kind{KindPercentiles}
	onRun      = []Kind{KindRun}
	onProbe    = []Kind{KindProbe}
	hists      = []Kind{KindHistogram, KindProbe}
	stats      = []Kind{KindPercentiles, KindProbe}
	onEvent    = []Kind{KindEvent}
	onSLA      = []Kind{KindRun, KindPercentiles}
)

// Fields lists all fields. docs/documents.md is generated from it, and a test compares it with the mappings and
// with real documents.
var Fields = []Field{
	{"@timestamp", "date", "", everywhere, "start of the quantum; of the run in `run`; UTC"},
	{"run.id", "keyword", "", everywhere, "`--run-id`, else a hash of the logs' sizes and first 64 KiB"},
	{"run.name", "keyword", "", everywhere, "`--run-name`, else the name of the folder"},
	{"run.generation", "keyword", "", everywhere, "hash of all settings that change documents; what people note on a " +
		"run has none"},
	{"run.part", "keyword", "", everywhere, "`--part`: the hosts that were ingested apart; missing for a whole run"},
	{"run.labels", "keyword", "", everywhere, "the labels as `K=V`, for a choice among all of them"},
	{"labels.*", "keyword", "", everywhere, "`--label K=V`, and of runs and events `fiolat label`"},
	{"host.name", "keyword", "", everywhere, "host of the load; missing where it is not known or not split by; all " +
		"hosts in `run`"},
	{"fio.kind", "keyword", "", everywhere, "which of fio's latencies: `clat`, `slat`, `lat`, `sync`; `probe`"},
	{"fio.job", "keyword", "", everywhere, "name of the job, if split by; all jobs in `run`"},
	{"fio.log", "keyword", "", quanta, "label of the log, if split by"},
	{"fio.direction", "keyword", "", append([]Kind{KindEvent}, quanta...), "`read`, `write`, `trim`, or `all`; `sync`"},
	{"interval.ms", "double", "ms", everywhere, "length of a quantum"},
	{"interval.offset_ms", "double", "ms", everywhere, "start of the quantum, counted from the run's start; of the " +
		"first one in `run`"},
	{"logs.count", "long", "", everywhere, "logs with I/O in the quantum; all logs in `run`"},
	{"scope", "keyword", "", []Kind{KindHistogram, KindPercentiles, KindProbe, KindEvent},
		"what the document covers: `leaf` (each I/O is in exactly one), else `run`, `direction`, `host`, " +
			"`host+direction`, ...; of probes `probe`, one operation, `interval`, one kind of operation, `target`, " +
			"all of a target"},
	{"samples", "double", "I/Os", []Kind{KindHistogram, KindPercentiles, KindProbe},
		"I/Os in the quantum; fractions come from I/Os shared out between quanta"},
	{"_doc_count", "-", "I/Os", hists, "samples, rounded: makes counts of buckets in Elasticsearch count I/Os; at " +
		"most 2147483647; missing where nothing is left"},
	{"latency.histogram", "histogram", "ns", hists, "whole I/Os (`counts`) by the middle of their bucket (`values`); " +
		"what rounding leaves over goes into the same leaf's next document"},
	{"latency.octave.*", "double", "I/Os", hists, "`eNN`: I/Os of 2^NN to 2^(NN+1) ns, `e00` with 0: a heat map by " +
		"plain sums"},
	{"latency.limits.min", "double", "ns", hists, "smallest latency that fio counted in the jobs covered"},
	{"latency.limits.max", "double", "ns", hists, "largest latency that fio counted in the jobs covered"},
	{"latency.buckets.groups", "-", "", []Kind{KindHistogram, KindProbe, KindRun}, "fio's grid: groups of 64 buckets"},
	{"latency.buckets.coarseness", "-", "", []Kind{KindHistogram, KindProbe, KindRun},
		"fio's grid: log_hist_coarseness"},
	{"latency.buckets.unit_ns", "-", "ns", []Kind{KindHistogram, KindProbe, KindRun},
		"fio's grid: width of its narrowest bucket"},
	{"latency.buckets.logs", "-", "", hists, "logs with I/O in it: first and last of each stretch, counted from 0 in " +
		"`files` of `run`"},
	{"latency.buckets.index", "-", "", hists, "buckets that are not empty"},
	{"latency.buckets.count", "-", "I/Os", hists, "their exact weights"},
	{"latency.min", "double", "ns", stats, "shortest latency"},
	{"latency.max", "double", "ns", stats, "longest latency"},
	{"latency.mean", "double", "ns", stats, "mean latency"},
	{"latency.stddev", "double", "ns", stats, "standard deviation of the latency"},
	{"latency.p*", "double", "ns", stats, "a percentile: `p50`, `p99_9`"},
	{"latency.ci.*", "double", "ns", stats, "95 % confidence limits of each percentile: `latency.ci.p99.lower`, " +
		"`.upper`; null where the I/Os are too few to have one"},
	{"iops", "double", "1/s", onPct, "completions per second of the part of the quantum that the logs cover"},
	{"concurrency", "double", "", onPct, "mean number of I/Os in flight: the sum of the latencies of those that " +
		"complete in the quantum over the time that the logs cover; see docs/diagnose.md"},
	{"tail.expected", "double", "", onPct, "of a host, job or log among others, and at most a direction: its part of " +
		"all I/Os, 0 to 1. In a part of a run there is no `tail`; `fiolat merge` writes that of hosts in documents " +
		"with nothing else"},
	{"tail.lift", "double", "", onPct, "`tail.p99.share` by `tail.expected`: 1 is neither better nor worse than the " +
		"others; see docs/diagnose.md"},
	{"tail.p99.share", "double", "", onPct, "its part of the I/Os above p99 of all, 0 to 1; missing if there are none"},
	{"tail.p99.without", "double", "ns", onPct, "p99 of all I/Os but its own; missing if there are no others"},
	{"at_least", "keyword", "", []Kind{KindPercentiles, KindProbe}, "percentiles that lie in fio's last bucket, and " +
		"may be longer than said"},
	{"run.status", "keyword", "", onRun, "`running`; `complete`: exactly the documents of this generation are there; " +
		"`partial`: some are not"},
	{"run.start", "date", "", onRun, "time zero of the run"},
	{"run.start_how", "keyword", "", onRun, "how that was found"},
	{"run.end", "date", "", onRun, "end of the last quantum"},
	{"run.quanta", "long", "", onRun, "number of quanta"},
	{"rollup.*", "-", "", onRun, "of a run that was rolled up: the interval (`from_ms`) and the coarseness " +
		"(`from_coarseness`) that it had before"},
	{"rolling", "keyword", "", onRun, "while `fiolat rollup` is at work on the run: `writing`, this document " +
		"still being that of the short quanta, or `counted`, it being that of the long ones, and the short ones " +
		"being deleted"},
	{"claim.*", "-", "", onRun, "while a fiolat is at work on the run, which: `id`, `host`, `pid`, `boot`, " +
		"`namespace` and `started` of its process, and how often it has `renewed` the claim; see docs/reliability.md"},
	{"fio.version", "keyword", "", onRun, "fio's versions"},
	{"fio.measure", "keyword", "", onRun, "what slat and clat include with the run's I/O engines: a sentence for " +
		"each; see docs/engines.md"},
	{"fio.workload", "keyword", "", onRun, "the options that say most about the load, in words; a line for each that " +
		"occurs: `rw=randread bs=4k iodepth=16`"},
	{"fio.options.*", "flattened", "", onRun, "fio's job options: all values that occur in the run"},
	{"settings.*", "flattened", "", onRun, "settings of this generation, as the flags spell them"},
	{"parts.name", "keyword", "", onRun, "`fiolat merge`: the parts that were added up"},
	{"parts.generation", "keyword", "", onRun, "`fiolat merge`: their generations then"},
	{"files.name", "keyword", "", onRun, "logs: name without folder"},
	{"files.size", "long", "bytes", onRun, "logs: size as stored"},
	{"files.hash", "keyword", "", onRun, "logs: SHA-256 of size and first 64 KiB"},
	{"files.host", "keyword", "", onRun, "logs: host"},
	{"files.job", "keyword", "", onRun, "logs: job"},
	{"files.log", "keyword", "", onRun, "logs: label, as in `fio.log`"},
	{"files.start_ms", "double", "ms", onRun, "logs: start of the job, counted from the run's start"},
	{"files.end_ms", "double", "ms", onRun, "logs: end of the last I/O, counted from the run's start"},
	{"files.directions.*", "-", "", onRun, "logs: by direction, whether there was I/O (`ios`), whether fio counted " +
		"`none`, fio's `min` and `max` in ns, and the times of which records are lost (`holes_ms`)"},
	{"files.interval_ms", "double", "ms", onRun, "logs: spacing of records"},
	{"files.empty", "boolean", "", onRun, "logs: no record at all"},
	{"files.repaired", "boolean", "", onRun, "logs: damage of fio --client undone"},
	{"jobs.name", "keyword", "", onRun, "jobs of fio's JSON: name"},
	{"jobs.host", "keyword", "", onRun, "jobs: host"},
	{"jobs.group", "long", "", onRun, "jobs: group of group_reporting"},
	{"jobs.start", "date", "", onRun, "jobs: job_start"},
	{"jobs.runtime_ms", "long", "ms", onRun, "jobs: job_runtime, the sum of a group's"},
	{"jobs.error", "long", "", onRun, "jobs: fio's error number"},
	{"jobs.options.*", "-", "", onRun, "jobs: options of the job alone"},
	{"jobs.sync.*", "-", "ns", onRun, "jobs: fsync, fdatasync and sync_file_range: `samples`, `min`, `max`, `mean`, " +
		"and of json+ the histogram (`values`, `counts`); `runtime_ms` of the job"},
	{"jobs.priorities.*", "-", "ns", onRun, "jobs: the same by `direction`, priority (`class`, `level`, `hint`) and " +
		"`kind` of latency, where fio tells priorities apart"},
	{"summary.*", "double", "ns", onRun, "by direction, of the whole run: `summary.read.p99`, `.samples`, `.iops`, " +
		"`.min`, `.max`, `.mean`, `.stddev`, `.at_least` (keyword); `summary.sync` are fsync, fdatasync and " +
		"sync_file_range by fio's JSON, in no sum with the others"},
	{"whole.*", "-", "", onRun, "by direction, all I/Os of the run: the buckets that are not empty (`index`) and " +
		"their exact weights (`count`) on the grid `latency.buckets`; fio's smallest and largest latency (`min`, " +
		"`max`); and of each percentile, `mean` and `iops` the 95 % limits by the noise within the run " +
		"(`limits.p99.low`, `.high`), missing where it is unknown; see docs/compare.md"},
	{"diagnosis.*", "-", "", onRun, "what `fiolat diagnose` says: `findings`, `stragglers`, `segments`, " +
		"`concurrency`, the first 100 of each list, and how many more are `omitted`; not in a part of a run; " +
		"see docs/diagnose.md"},
	{"account.logs", "long", "", onRun, "logs read"},
	{"account.logs_skipped", "long", "", onRun, "logs skipped by --skip-bad"},
	{"account.logs_empty", "long", "", onRun, "logs without a record"},
	{"account.logs_repaired", "long", "", onRun, "logs with damage of fio --client undone"},
	{"account.records", "long", "", onRun, "records read"},
	{"account.records_repaired", "long", "", onRun, "records with damage undone"},
	{"account.records_equal_stamp", "long", "", onRun, "records with equal timestamps"},
	{"account.lines_skipped", "long", "", onRun, "lines skipped by --skip-bad"},
	{"account.ios_logged", "double", "I/Os", onRun, "I/Os in the logs, after repair"},
	{"account.ios_in_fio_totals", "double", "I/Os", onRun, "I/Os in fio's JSON"},
	{"account.fio_totals_known", "boolean", "", onRun, "whether there is such a JSON"},
	{"account.ios_missing", "double", "I/Os", onRun, "I/Os in fio's JSON and in no log"},
	{"account.ios_excess", "double", "I/Os", onRun, "I/Os in the logs beyond fio's count, by job and direction: logs " +
		"and JSON do not belong together"},
	{"account.ios_restored", "double", "I/Os", onRun, "of the missing, restored"},
	{"account.ios_not_placed", "double", "I/Os", onRun, "of the missing, those of lost records: in no quantum, but " +
		"in `summary`"},
	{"account.jobs.*", "-", "", onRun, "each entry of fio's JSON by direction: `job`, `host`, `direction`, `logs`, " +
		"`ios_logged`, `ios_in_fio_totals`, `ios_missing`, `ios_restored`, `ios_not_placed`"},
	{"account.lost.*", "-", "", onRun, "the I/Os that are not placed: `logs`, `job`, `host`, `direction`, `ios`, " +
		"`until_ns` (from the run's start), `index` and `count` (of their buckets), `why`"},
	{"account.ios_in_last_bucket", "double", "I/Os", onRun, "I/Os in fio's last bucket, of which only a lower limit " +
		"is known"},
	{"account.ios_placed", "double", "I/Os", onRun, "I/Os in quanta"},
	{"account.exact.*", "-", "ns", onRun, "by direction, I/Os (`.ios`) and the exact sum of their latencies (`.ns`): " +
		"from logs of single I/Os, else from fio's JSON"},
	{"account.interval.ms", "double", "ms", onRun, "the interval that `--interval auto` chose; missing where it was " +
		"given"},
	{"account.interval.percentile", "double", "", onRun, "the percentile that it was chosen for, the highest wanted"},
	{"account.interval.accuracy", "double", "", onRun, "how well that was to be known, as a share of itself"},
	{"account.interval.met", "boolean", "", onRun, "whether it is, in nine of ten intervals"},
	{"account.interval.reason", "keyword", "", onRun, "in words"},
	{"account.warnings", "keyword", "", onRun, "what people should know"},
	{"account.documents.made", "long", "", onRun, "documents made, with this one"},
	{"account.documents.indexed", "long", "", onRun, "of them, acknowledged by Elasticsearch"},
	{"account.documents.refused", "long", "", onRun, "of them, refused by Elasticsearch"},
	{"account.documents.spooled", "long", "", onRun, "of them, not sent and kept for `fiolat load`"},
	{"account.documents.histogram", "long", "", onRun, "histogram documents made"},
	{"account.documents.percentiles", "long", "", onRun, "percentile documents made"},
	{"probe.operation", "keyword", "", onProbe, "operation that was timed: `read`, `write`, `create`, `stat`, " +
		"`small-read`, `delete`; in `target` the one that hangs"},
	{"probe.target", "keyword", "", []Kind{KindProbe, KindEvent}, "the directory it was done in"},
	{"probe.slowdown", "double", "", onProbe, "of one operation: observed by expected time; missing while too little " +
		"is known to expect anything"},
	{"probe.late_ms", "double", "ms", onProbe, "of one operation: by how much its round began later than it was due"},
	{"probe.state", "keyword", "", []Kind{KindProbe, KindEvent}, "of a target: `quiet`, `slow`, `very slow`, " +
		"`failing`, `hung`, `learning`, `preparing`"},
	{"probe.overall", "double", "", onProbe, "of a target: geometric mean over the operations of the slowdown of the " +
		"last minute's median"},
	{"probe.hung_ms", "double", "ms", onProbe, "of a target that hangs: for how long"},
	{"probe.rounds", "long", "", onProbe, "of a target: rounds that began"},
	{"probe.late", "long", "", onProbe, "of a target: of them, late by more than a tenth of their spacing"},
	{"probe.missed", "long", "", onProbe, "of a target: rounds that did not begin, for the one before was under way"},
	{"probe.failed", "long", "", onProbe, "of an interval: operations that failed; they are not among the samples"},
	{"probe.skipped", "long", "", onProbe, "of an interval: operations that were not tried, for the pool would grow " +
		"or shrink without end"},
	{"probe.under_way", "long", "", onProbe, "of an interval: samples of operations that had not ended: at least so " +
		"long"},
	{"probe.last.*", "double", "", onProbe, "of an interval: slowdowns of the last 1m, 10m and 4h: " +
		"`probe.last.1m.mean`, `.median`, `.p90`, `.p95`, `.p99`, `.max`, and the `.samples` they rest on, " +
		"`.at_least` of them under way"},
	{"error.code", "keyword", "", onProbe, "why operations failed: `ENOSPC`, `EROFS`, `ESTALE`; `SHORT`: the file " +
		"ended too early"},
	{"error.message", "keyword", "", onProbe, "of one operation: the same in words"},
	{"latency.value", "double", "ns", onProbe, "of one operation: observed time; with `at_least` it was still under " +
		"way"},
	{"latency.expected", "double", "ns", onProbe, "expected time: median of all observed before, of a sliding " +
		"window, or of a baseline"},
	{"event.action", "keyword", "", onEvent, "what it is: `sla-breach`, `sla-recovery`; of a target of probes " +
		"`probe-trouble`, `probe-recovery`; a `note`; of the first run of a new level `change-point`; " +
		"of a host, job or log that begins or ceases to stand out among its peers `straggler`"},
	{"event.start", "date", "", onEvent, "start of what lasts"},
	{"event.end", "date", "", onEvent, "end of what lasts"},
	{"message", "text", "", onEvent, "in words; `message.keyword` for exact matches"},
	{"change.series", "keyword", "", onEvent, "change point: the runs that were looked at, as `fiolat " +
		"history` names them"},
	{"change.metric", "keyword", "", onEvent, "change point: the number that changed, such as `read p99`"},
	{"change.before", "double", "ns or 1/s", onEvent, "change point: the level before, the geometric mean " +
		"over its runs"},
	{"change.after", "double", "ns or 1/s", onEvent, "change point: the level from this run on"},
	{"change.share", "double", "", onEvent, "change point: the change as a share, 0.1 for +10 %"},
	{"change.low", "double", "", onEvent, "change point: lower limit of that, 95 %"},
	{"change.high", "double", "", onEvent, "change point: upper limit of that, 95 %"},
	{"change.p", "double", "", onEvent, "change point: the probability of such a change by chance alone"},
	{"straggler.dimension", "keyword", "", onEvent, "straggler: `host`, `job` or `log`"},
	{"straggler.value", "keyword", "", onEvent, "straggler: its name"},
	{"straggler.status", "keyword", "", onEvent, "straggler: `began` or `ended`"},
	{"straggler.percentile", "double", "", onEvent, "straggler: the percentile of all of its peers together, above " +
		"which it was counted"},
	{"straggler.share", "double", "", onEvent, "straggler: its part of the I/Os above that, 0 to 1"},
	{"straggler.expected", "double", "", onEvent, "straggler: its part of all I/Os, 0 to 1"},
	{"straggler.lift", "double", "", onEvent, "straggler: `share` / `expected`"},
	{"straggler.factor", "double", "", onEvent, "straggler: its median latency over its peers'"},
	{"straggler.p", "double", "", onEvent, "straggler: the probability of so much by chance alone"},
	{"sla.rule", "keyword", "", onEvent, "the rule, as given to `--sla`"},
	{"sla.status", "keyword", "", onEvent, "the verdict that led to it: `broken`, or `ok`"},
	{"sla.value", "double", "ns or 1/s", onEvent, "what was measured then"},
	{"sla.threshold", "double", "ns or 1/s", onEvent, "the threshold of the rule"},
	{"sla.rules", "keyword", "", onSLA, "the rules that were judged, as given to `--sla`"},
	{"sla.broken", "keyword", "", onSLA, "those that are broken"},
	{"sla.unknown", "keyword", "", onSLA, "those on which there is too little to judge"},
	{"sla.share", "double", "", []Kind{KindPercentiles, KindEvent}, "the part of the I/Os within the threshold, 0 to " +
		"1; of several rules the smallest"},
	{"sla.verdicts.rule", "-", "", onPct, "verdicts: the rule"},
	{"sla.verdicts.status", "-", "", onPct, "verdicts: `ok`, `broken`, or `unknown`"},
	{"sla.verdicts.value", "-", "ns or 1/s", onPct, "verdicts: what was measured"},
	{"sla.verdicts.threshold", "-", "ns or 1/s", onPct, "verdicts: the threshold of the rule"},
	{"sla.verdicts.share", "-", "", onPct, "verdicts: the part of the I/Os within the threshold"},
	{"sla.verdicts.window_ms", "-", "ms", onPct, "verdicts: the window they rest on, wider than a quantum where that " +
		"had too few I/Os"},
	{"sla.verdicts.stalled", "-", "", onPct, "verdicts: nothing completed, and the value is the time since the last " +
		"completion: a latency is at least that"},
	{"sla.outcomes.rule", "-", "", onRun, "outcomes: the rule"},
	{"sla.outcomes.scope", "-", "", onRun, "outcomes: what it was judged on: `run`, `direction`; of a part `host`, " +
		"`host+direction`"},
	{"sla.outcomes.host", "-", "", onRun, "outcomes: the host, of a part"},
	{"sla.outcomes.direction", "-", "", onRun, "outcomes: the direction"},
	{"sla.outcomes.status", "-", "", onRun, "outcomes: `broken` if there was a breach, else `ok`, or `unknown` if " +
		"nothing was certain"},
	{"sla.outcomes.ok", "-", "", onRun, "outcomes: quanta in which it was kept"},
	{"sla.outcomes.broken", "-", "", onRun, "outcomes: quanta in which it was broken"},
	{"sla.outcomes.unknown", "-", "", onRun, "outcomes: quanta with too few I/Os to tell"},
	{"sla.outcomes.breaches", "-", "", onRun, "outcomes: breaches, each of one or more quanta"},
	{"sla.outcomes.share", "-", "", onRun, "outcomes: the part of all I/Os within the threshold"},
	{"sla.outcomes.worst", "-", "ns or 1/s", onRun, "outcomes: the worst value"},
	{"sla.outcomes.worst_offset_ms", "-", "ms", onRun, "outcomes: when that was, from the run's start"},
	{"sla.limit.*", "double", "ns", onPct, "the strictest limit on a percentile: `sla.limit.p99`"},
	{"sla.state", "keyword", "", onRun, "the worst verdict: `ok`, `unknown`, `broken`"},
}

// FieldOf returns the entry of Fields for the full name of a field in documents of a kind. An exact name wins
// over a pattern, a longer pattern over a shorter one.
func FieldOf(kind Kind, name string) (Field, bool) {
	var best Field
	for _, f := range Fields {
		if !slices.Contains(f.Kinds, kind) {
			continue
		}
		if f.Name == name {
			return f, true
		}
		stem, pattern := strings.CutSuffix(f.Name, "*")
		if pattern && strings.HasPrefix(name, stem) && len(f.Name) > len(best.Name) {
			best = f
		}
	}
	return best, best.Name != ""
}

// FieldTable returns Fields as Markdown, with a section for each kind of document.
func FieldTable() string {
	var b strings.Builder
	b.WriteString(`# Documents

<!-- Made from esmodel/fields.go by "make docs"; do not edit. -->

Indices are named PREFIX-run, PREFIX-histogram-YYYY.MM and so on; PREFIX is ` + "`fio`" + ` unless --index-prefix says
otherwise, and the month is that of @timestamp in UTC. Documents are nested objects: the field latency.p99 is
{"latency":{"p99":...}}. All latencies are nanoseconds. Fields of type "-" are kept in the document but not
indexed. Dashboards pick one scope of the percentile documents; never average percentiles.
`)
	for _, k := range Kinds {
		fmt.Fprintf(&b, "\n## %s\n\n| field | type | unit | meaning |\n|---|---|---|---|\n", Pattern(DefaultPrefix, k))
		for _, f := range Fields {
			if slices.Contains(f.Kinds, k) {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, f.Type, f.Unit, f.Meaning)
			}
		}
	}
	return b.String()
}
