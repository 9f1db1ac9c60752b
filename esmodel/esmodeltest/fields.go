package esmodeltest

import (
	"slices"
	"strings"
)

// Kinds of documents, as esmodel has them.
const (
	kindRun         = "run"
	kindHistogram   = "histogram"
	kindPercentiles = "percentiles"
	kindProbe       = "probe"
	kindEvent       = "event"
)

// Field describes a field of documents. A "*" at the end of its name matches any suffix: a percentile, an
// octave, a label.
type Field struct {
	Name    string
	Type    string // mapping type; "-" if the field is only in _source
	Unit    string
	Kinds   []string
	Meaning string
}

var (
	everywhere = []string{kindRun, kindHistogram, kindPercentiles, kindProbe, kindEvent}
	quanta     = []string{kindHistogram, kindPercentiles}
	onPct      = []string{kindPercentiles}
	onRun      = []string{kindRun}
	onProbe    = []string{kindProbe}
	hists      = []string{kindHistogram, kindProbe}
	stats      = []string{kindPercentiles, kindProbe}
	onEvent    = []string{kindEvent}
	onSLA      = []string{kindRun, kindPercentiles}
)

// Fields lists all fields. docs/documents.md is generated from it, and a test compares it with the mappings and
// with real documents.
var Fields = []Field{
	{"@timestamp", "date", "", everywhere, "start of the quantum, in `run` of the run; UTC"},
	{"run.id", "keyword", "", everywhere, "`--run-id`, else a hash of the logs' sizes and first 64 KiB"},
	{"run.name", "keyword", "", everywhere, "`--run-name`, else the name of the directory"},
	{"run.title", "keyword", "", everywhere, "start in UTC, `run.name` and six digits of `run.id`: `2026-11-26 02:10 nightly " +
		"4afac3`; an id from `--run-id` is there in full; without the start where parts were merged, and for probes"},
	{"run.generation", "keyword", "", everywhere, "hash of all settings that change documents; missing in notes on a " +
		"run"},
	{"run.part", "keyword", "", everywhere, "`--part`: the hosts that were ingested separately; missing for a whole " +
		"run"},
	{"run.labels", "keyword", "", everywhere, "all labels as `K=V`, to filter by any of them"},
	{"labels.*", "keyword", "", everywhere, "from `--label K=V`; in runs and events also from `fiolat label`"},
	{"host.name", "keyword", "", everywhere, "host that made the load; missing if unknown or not split by; all hosts " +
		"in `run`"},
	{"fio.kind", "keyword", "", everywhere, "which of fio's latencies: `clat`, `slat`, `lat`, `sync`; `probe`"},
	{"fio.job", "keyword", "", everywhere, "name of the job, if split by; all jobs in `run`"},
	{"fio.log", "keyword", "", quanta, "label of the log, if split by"},
	{"fio.direction", "keyword", "", append([]string{kindEvent}, quanta...), "`read`, `write`, `trim`, or `all`; `sync`"},
	{"interval.ms", "double", "ms", everywhere, "length of a quantum"},
	{"interval.offset_ms", "double", "ms", everywhere, "start of the quantum, counted from the run's start; in `run` " +
		"that of the first quantum"},
	{"logs.count", "long", "", everywhere, "logs with I/O in the quantum; all logs in `run`"},
	{"scope", "keyword", "", []string{kindHistogram, kindPercentiles, kindProbe, kindEvent},
		"what the document covers: `leaf` (each I/O is in exactly one), else `run`, `direction`, `host`, " +
			"`host+direction`, ...; for probes `probe` (one operation), `interval` (one kind of operation) or " +
			"`target` (everything in a target)"},
	{"samples", "double", "I/Os", []string{kindHistogram, kindPercentiles, kindProbe},
		"I/Os in the quantum; fractions come from I/Os shared out between quanta"},
	{"_doc_count", "-", "I/Os", hists, "`samples`, rounded, so that the counts of buckets in Elasticsearch are I/Os; " +
		"at most 2147483647; missing where it would be 0"},
	{"latency.histogram", "histogram", "ns", hists, "whole I/Os (`counts`) by the middle of their bucket (`values`); " +
		"the remainder of rounding is carried over to the next document of the same leaf, and to the next leaf of the quantum"},
	{"latency.octave.*", "double", "I/Os", hists, "`eNN`: I/Os of 2^NN to 2^(NN+1) ns, `e00` from 0 ns; for heat " +
		"maps by plain sums"},
	{"latency.limits.min", "double", "ns", hists, "smallest latency that fio counted in the jobs covered"},
	{"latency.limits.max", "double", "ns", hists, "largest latency that fio counted in the jobs covered"},
	{"latency.buckets.groups", "-", "", []string{kindHistogram, kindProbe, kindRun},
		"fio's buckets: groups of 64 buckets"},
	{"latency.buckets.coarseness", "-", "", []string{kindHistogram, kindProbe, kindRun},
		"fio's buckets: log_hist_coarseness"},
	{"latency.buckets.unit_ns", "-", "ns", []string{kindHistogram, kindProbe, kindRun},
		"fio's buckets: width of its narrowest bucket"},
	{"latency.buckets.logs", "-", "", hists, "logs with I/O in this document: first and last of each range, counted " +
		"from 0 in `files` of `run`"},
	{"latency.buckets.index", "-", "", hists, "buckets that are not empty"},
	{"latency.buckets.count", "-", "I/Os", hists, "their exact weights"},
	{"latency.min", "double", "ns", stats, "shortest latency"},
	{"latency.max", "double", "ns", stats, "longest latency"},
	{"latency.mean", "double", "ns", stats, "mean latency"},
	{"latency.stddev", "double", "ns", stats, "standard deviation of the latency"},
	{"latency.p*", "double", "ns", stats, "a percentile: `p50`, `p99_9`"},
	{"latency.ci.*", "double", "ns", stats, "95 % sampling limits of each percentile, of independent I/Os: " +
		"`latency.ci.p99.lower`, `.upper`; null where there are too few I/Os for one"},
	{"iops", "double", "1/s", onPct, "completions per second of the part of the quantum that the logs cover"},
	{"partial", "boolean", "", onPct, "true where the logs cover less than 99 % of the quantum, such as the end of a " +
		"run; missing elsewhere"},
	{"concurrency", "double", "", onPct, "mean number of I/Os in flight: the sum of the latencies of the I/Os that " +
		"complete in the quantum, divided by the time that the logs cover; missing where nothing completes, and " +
		"where more than a tenth of that sum is of the time before the quantum; see docs/diagnose.md"},
	{"tail.expected", "double", "", onPct, "in documents of a host, job or log that has others to compare with, by " +
		"direction or not: its share of all I/Os, 0 to 1. Parts of a run have no `tail`; `fiolat merge` adds " +
		"documents of hosts with nothing but `tail`"},
	{"tail.lift", "double", "", onPct, "`tail.p99.share` divided by `tail.expected`: 1 is neither better nor worse " +
		"than the others; see docs/diagnose.md"},
	{"tail.p99.share", "double", "", onPct, "its share of the I/Os above the p99 of all I/Os, 0 to 1; missing if " +
		"there are none"},
	{"tail.p99.without", "double", "ns", onPct, "p99 of all I/Os except its own; missing if there are no others"},
	{"at_least", "keyword", "", []string{kindPercentiles, kindProbe}, "percentiles that lie in fio's last bucket and " +
		"may be higher than stated"},
	{"run.status", "keyword", "", onRun, "`running`; `complete`: exactly the documents of this generation are there; " +
		"`partial`: some may be missing"},
	{"run.start", "date", "", onRun, "time zero of the run"},
	{"run.start_how", "keyword", "", onRun, "how `run.start` was found"},
	{"run.end", "date", "", onRun, "end of the last quantum"},
	{"run.quanta", "long", "", onRun, "number of quanta"},
	{"rollup.*", "-", "", onRun, "the interval (`from_ms`) and the coarseness (`from_coarseness`) that a rolled-up " +
		"run had before"},
	{"rolling", "keyword", "", onRun, "while `fiolat rollup` works on the run: `writing` if this document still " +
		"describes the short quanta, `counted` if it describes the long ones and the short ones are being deleted"},
	{"claim.*", "-", "", onRun, "the fiolat that is working on the run: `id`, `host`, `pid`, `boot`, `namespace` and " +
		"`started` of its process, how often it has `renewed` the claim, and its `fence` if that was raised; missing " +
		"if there is none; see docs/reliability.md"},
	{"fio.version", "keyword", "", onRun, "fio's versions"},
	{"fio.measure", "keyword", "", onRun, "what slat and clat include with the run's I/O engines, one sentence each; " +
		"see docs/engines.md"},
	{"fio.workload", "keyword", "", onRun, "the options that say most about the load, one entry for each different " +
		"load: `rw=randread bs=4k iodepth=16`"},
	{"fio.options.*", "flattened", "", onRun, "fio's job options: all values that occur in the run"},
	{"settings.*", "flattened", "", onRun, "settings of this generation, as the flags spell them"},
	{"parts.name", "keyword", "", onRun, "`fiolat merge`: the parts that were merged"},
	{"parts.generation", "keyword", "", onRun, "`fiolat merge`: the generations of these parts at that time"},
	{"files.name", "keyword", "", onRun, "logs: name without directory"},
	{"files.size", "long", "bytes", onRun, "logs: size as stored"},
	{"files.hash", "keyword", "", onRun, "logs: SHA-256 of size and first 64 KiB"},
	{"files.host", "keyword", "", onRun, "logs: host"},
	{"files.job", "keyword", "", onRun, "logs: job"},
	{"files.log", "keyword", "", onRun, "logs: label, as in `fio.log`; none where there is only fio's JSON"},
	{"files.start_ms", "double", "ms", onRun, "logs: start of the job, counted from the run's start"},
	{"files.end_ms", "double", "ms", onRun, "logs: end of the last I/O, counted from the run's start"},
	{"files.directions.*", "-", "", onRun, "logs: by direction, whether there was I/O (`ios`), whether fio counted " +
		"`none`, fio's `min` and `max` in ns, and the times for which records are lost (`holes_ms`)"},
	{"files.interval_ms", "double", "ms", onRun, "logs: length of their windows (log_hist_msec)"},
	{"files.empty", "boolean", "", onRun, "logs: no record at all"},
	{"files.repaired", "boolean", "", onRun, "logs: damage by fio --client was repaired"},
	{"jobs.name", "keyword", "", onRun, "jobs of fio's JSON: name"},
	{"jobs.host", "keyword", "", onRun, "jobs: host"},
	{"jobs.group", "long", "", onRun, "jobs: group of group_reporting"},
	{"jobs.start", "date", "", onRun, "jobs: job_start"},
	{"jobs.runtime_ms", "long", "ms", onRun, "jobs: job_runtime; of a group the sum"},
	{"jobs.error", "long", "", onRun, "jobs: fio's error number"},
	{"jobs.options.*", "-", "", onRun, "jobs: options of the job alone"},
	{"jobs.sync.*", "-", "ns", onRun, "jobs: fsync, fdatasync and sync_file_range: `samples`, `min`, `max`, `mean`, " +
		"and with json+ the histogram (`values`, `counts`); `runtime_ms` of the job"},
	{"jobs.priorities.*", "-", "ns", onRun, "jobs: the same by `direction`, priority (`class`, `level`, `hint`) and " +
		"`kind` of latency, where fio reports priorities separately"},
	{"jobs.global.*", "-", "", onRun, "jobs: options of [global]; `jobs.options` are the job's own"},
	{"jobs.directions.*", "-", "", onRun, "jobs: fio's totals by direction: `ios`, `bytes`, `runtime_ms`"},
	{"jobs.sections.*", "-", "", onRun, "jobs: `name` and `options` of the sections of the job file, where group_reporting " +
		"merged several"},
	{"jobs.unlike", "long", "", onRun, "jobs: how many jobs with options of their own it stands for, without a job file"},
	{"jobs.no_log", "boolean", "", onRun, "jobs: it has no log, and others have"},
	{"summary.*", "double", "ns", onRun, "by direction, of the whole run: `summary.read.p99`, `.samples`, `.iops`, " +
		"`.min`, `.max`, `.mean`, `.stddev`, `.at_least` (keyword); `summary.sync` is fsync, fdatasync and " +
		"sync_file_range from fio's JSON, and is not added to the others"},
	{"whole.*", "-", "", onRun, "by direction, all I/Os of the run: the buckets that are not empty (`index`) and " +
		"their exact weights (`count`) on the grid `latency.buckets`; fio's smallest and largest latency (`min`, " +
		"`max`); and for each percentile, `mean` and `iops` the 95 % limits from the noise within the run " +
		"(`limits.p99.low`, `.high`), missing where the noise is unknown; see docs/compare.md"},
	{"diagnosis.*", "-", "", onRun, "what `fiolat diagnose` reports: `findings` (at most three), and of `more` and " +
		"`stalls` the first 100, with how many others are `omitted`; a part of a run has only `stalls`; see " +
		"docs/diagnose.md"},
	{"account.logs", "long", "", onRun, "logs read"},
	{"account.logs_skipped", "long", "", onRun, "logs skipped by --skip-bad"},
	{"account.logs_empty", "long", "", onRun, "logs without a record"},
	{"account.logs_repaired", "long", "", onRun, "logs in which damage by fio --client was repaired"},
	{"account.jobs_without_log", "long", "", onRun, "jobs without a log, beside others with one"},
	{"account.records", "long", "", onRun, "records read"},
	{"account.records_repaired", "long", "", onRun, "records in which damage was repaired"},
	{"account.records_equal_stamp", "long", "", onRun, "records with equal timestamps"},
	{"account.lines_skipped", "long", "", onRun, "lines skipped by --skip-bad"},
	{"account.ios_logged", "double", "I/Os", onRun, "I/Os in the logs, after repair"},
	{"account.ios_in_fio_totals", "double", "I/Os", onRun, "I/Os in fio's JSON"},
	{"account.fio_totals_known", "boolean", "", onRun, "whether fio's JSON with these totals was found"},
	{"account.ios_missing", "double", "I/Os", onRun, "I/Os in fio's JSON but in no log"},
	{"account.ios_excess", "double", "I/Os", onRun, "I/Os in the logs beyond fio's count, by job and direction: logs " +
		"and JSON do not belong together"},
	{"account.ios_restored", "double", "I/Os", onRun, "missing I/Os that were restored"},
	{"account.ios_not_placed", "double", "I/Os", onRun, "missing I/Os that belong to lost records: in no quantum, " +
		"but in `summary`"},
	{"account.jobs.*", "-", "", onRun, "each entry of fio's JSON by direction: `job`, `host`, `direction`, `logs`, " +
		"`ios_logged`, `ios_in_fio_totals`, `ios_missing`, `ios_restored`, `ios_not_placed`"},
	{"account.lost.*", "-", "", onRun, "the I/Os that are not placed: `logs`, `job`, `host`, `direction`, `ios`, " +
		"`until_ns` (from the run's start), `index` and `count` (of their buckets), `why`"},
	{"account.ios_in_last_bucket", "double", "I/Os", onRun, "I/Os in fio's last bucket, for whose latency only a " +
		"lower limit is known"},
	{"account.ios_placed", "double", "I/Os", onRun, "I/Os in quanta"},
	{"account.exact.*", "-", "ns", onRun, "by direction, I/Os (`.ios`) and the exact sum of their latencies (`.ns`): " +
		"from logs of single I/Os, else from fio's JSON"},
	{"account.interval.ms", "double", "ms", onRun, "the interval that `--interval auto` chose; missing where it was " +
		"given"},
	{"account.interval.percentile", "double", "", onRun, "the percentile that it was chosen for, the highest one " +
		"requested"},
	{"account.interval.accuracy", "double", "", onRun, "the accuracy wanted for that percentile, as a share of its " +
		"value"},
	{"account.interval.met", "boolean", "", onRun, "whether that accuracy is reached in nine of ten intervals"},
	{"account.interval.reason", "keyword", "", onRun, "why this interval was chosen, in words"},
	{"account.warnings", "keyword", "", onRun, "warnings about the run"},
	{"account.documents.made", "long", "", onRun, "documents made, including this one"},
	{"account.documents.indexed", "long", "", onRun, "documents acknowledged by Elasticsearch"},
	{"account.documents.refused", "long", "", onRun, "documents refused by Elasticsearch"},
	{"account.documents.spooled", "long", "", onRun, "documents not sent, but kept for `fiolat load`"},
	{"account.documents.histogram", "long", "", onRun, "histogram documents made"},
	{"account.documents.percentiles", "long", "", onRun, "percentile documents made"},
	{"probe.operation", "keyword", "", onProbe, "operation that was timed: `read`, `write`, `create`, `stat`, " +
		"`small-read`, `delete`; in scope `target` the one that hangs, else the slowest"},
	{"probe.target", "keyword", "", []string{kindProbe, kindEvent}, "the directory that is probed"},
	{"probe.slowdown", "double", "", onProbe, "of one operation: observed time divided by expected time; missing " +
		"while too few operations were observed to expect a time"},
	{"probe.late_ms", "double", "ms", onProbe, "of one operation: how late its round began"},
	{"probe.state", "keyword", "", []string{kindProbe, kindEvent}, "of a target: `quiet`, `slow`, `very slow`, " +
		"`failing`, `hung`, `learning`, `preparing`"},
	{"probe.overall", "double", "", onProbe, "of a target: slowdown of the last two intervals' median, as the " +
		"geometric mean over the operations"},
	{"probe.hung_ms", "double", "ms", onProbe, "of a target that hangs: for how long"},
	{"probe.rounds", "long", "", onProbe, "of a target: rounds that began"},
	{"probe.late", "long", "", onProbe, "of a target: rounds that began late by more than a tenth of their spacing"},
	{"probe.missed", "long", "", onProbe, "of a target: rounds that did not begin because the one before was still " +
		"running"},
	{"probe.failed", "long", "", onProbe, "of an interval: operations that failed; they are not among the samples"},
	{"probe.skipped", "long", "", onProbe, "of an interval: operations that were not tried because the small file " +
		"could not be created, or deleted"},
	{"probe.under_way", "long", "", onProbe, "of an interval: samples of operations that had not ended, whose " +
		"latency is a lower limit"},
	{"probe.last.*", "double", "", onProbe, "of an interval: slowdowns of the last 1m, 10m and 4h: " +
		"`probe.last.1m.mean`, `.median`, `.p90`, `.p95`, `.p99`, `.max`, and the number of `.samples` behind them, " +
		"including `.at_least` operations that had not ended"},
	{"error.code", "keyword", "", onProbe, "why operations failed: `ENOSPC`, `EROFS`, `ESTALE`; `SHORT`: the file " +
		"ended too early"},
	{"error.message", "keyword", "", onProbe, "of one operation: the same in words"},
	{"latency.value", "double", "ns", onProbe, "of one operation: observed time; with `at_least` the operation had " +
		"not ended"},
	{"latency.expected", "double", "ns", onProbe, "expected time: median of all observed before, of a sliding " +
		"window, or of a baseline"},
	{"event.action", "keyword", "", onEvent, "kind of event: `sla-breach`, `sla-recovery`; for a probed target " +
		"`probe-trouble`, `probe-recovery`; `note`; for the first run of a new level `change-point`, and " +
		"`change-reported` once `history --fail-if-changed` has reported it; for a host, job or log that " +
		"begins or ceases to stand out among its peers `straggler`"},
	{"event.start", "date", "", onEvent, "start of an event that lasts"},
	{"event.end", "date", "", onEvent, "end of an event that lasts"},
	{"message", "text", "", onEvent, "the event in words; `message.keyword` for exact matches"},
	{"change.series", "keyword", "", onEvent, "change point: the series of runs that were compared, as `fiolat " +
		"history` names it"},
	{"change.metric", "keyword", "", onEvent, "change point: the number that changed, such as `read p99`"},
	{"change.before", "double", "ns or 1/s", onEvent, "change point: the level before, the geometric mean " +
		"over its runs"},
	{"change.after", "double", "ns or 1/s", onEvent, "change point: the level from this run on"},
	{"change.share", "double", "", onEvent, "change point: the change as a share, 0.1 for +10 %"},
	{"change.low", "double", "", onEvent, "change point: lower 95 % limit of `change.share`"},
	{"change.high", "double", "", onEvent, "change point: upper 95 % limit of `change.share`"},
	{"change.p", "double", "", onEvent, "change point: the probability of such a change by chance alone"},
	{"straggler.dimension", "keyword", "", onEvent, "straggler: `host`, `job` or `log`"},
	{"straggler.who", "keyword", "", onEvent, "straggler: its name"},
	{"straggler.status", "keyword", "", onEvent, "straggler: `began` or `ended`"},
	{"straggler.measure", "keyword", "", onEvent, "straggler: what is worse than its peers': `p50`, `p99` or `iops`"},
	{"straggler.factor", "double", "", onEvent, "straggler: by how much"},
	{"straggler.own", "double", "ns or 1/s", onEvent, "straggler: its own"},
	{"straggler.others", "double", "ns or 1/s", onEvent, "straggler: that of its peers"},
	{"sla.rule", "keyword", "", onEvent, "the rule, as given to `--sla`"},
	{"sla.status", "keyword", "", onEvent, "the verdict that led to the event: `broken` or `ok`"},
	{"sla.value", "double", "ns or 1/s", onEvent, "the value that was measured"},
	{"sla.threshold", "double", "ns or 1/s", onEvent, "the threshold of the rule"},
	{"sla.rules", "keyword", "", onSLA, "the rules that were judged, as given to `--sla`"},
	{"sla.broken", "keyword", "", onSLA, "rules that are broken"},
	{"sla.unknown", "keyword", "", onSLA, "rules for which there are too few I/Os to tell"},
	{"sla.share", "double", "", []string{kindPercentiles, kindEvent}, "the share of the I/Os within the threshold, 0 " +
		"to 1; of several rules the smallest"},
	{"sla.verdicts.rule", "-", "", onPct, "verdicts: the rule"},
	{"sla.verdicts.status", "-", "", onPct, "verdicts: `ok`, `broken`, or `unknown`"},
	{"sla.verdicts.value", "-", "ns or 1/s", onPct, "verdicts: what was measured"},
	{"sla.verdicts.threshold", "-", "ns or 1/s", onPct, "verdicts: the threshold of the rule"},
	{"sla.verdicts.share", "-", "", onPct, "verdicts: the share of the I/Os within the threshold"},
	{"sla.verdicts.window_ms", "-", "ms", onPct, "verdicts: the time that was judged, longer than a quantum where " +
		"that had too few I/Os"},
	{"sla.verdicts.stalled", "-", "", onPct, "verdicts: nothing completed, and the value is the time since the last " +
		"completion: the latency is at least that"},
	{"sla.outcomes.rule", "-", "", onRun, "outcomes: the rule"},
	{"sla.outcomes.scope", "-", "", onRun, "outcomes: what it was judged on: `run`, `direction`; in a part `host`, " +
		"`host+direction`"},
	{"sla.outcomes.host", "-", "", onRun, "outcomes: the host, in a part"},
	{"sla.outcomes.direction", "-", "", onRun, "outcomes: the direction"},
	{"sla.outcomes.status", "-", "", onRun, "outcomes: `broken` if there was a breach or the whole run breaks the " +
		"rule, else `ok`, or `unknown` if nothing was certain"},
	{"sla.outcomes.ok", "-", "", onRun, "outcomes: quanta in which it was kept"},
	{"sla.outcomes.broken", "-", "", onRun, "outcomes: quanta in which it was broken"},
	{"sla.outcomes.unknown", "-", "", onRun, "outcomes: quanta with too few I/Os to tell"},
	{"sla.outcomes.breaches", "-", "", onRun, "outcomes: breaches, each of one or more quanta"},
	{"sla.outcomes.share", "-", "", onRun, "outcomes: the share of all I/Os within the threshold"},
	{"sla.outcomes.worst", "-", "ns or 1/s", onRun, "outcomes: the worst value of a whole quantum"},
	{"sla.outcomes.worst_offset_ms", "-", "ms", onRun, "outcomes: when the worst value was measured, counted from " +
		"the run's start"},
	{"sla.limit.*", "double", "ns", onPct, "the strictest limit on a percentile: `sla.limit.p99`"},
	{"sla.state", "keyword", "", onRun, "the worst verdict: `ok`, `unknown`, `broken`"},
}

// FieldOf returns the entry of Fields for the full name of a field in documents of a kind. An exact name wins
// over a pattern, a longer pattern over a shorter one.
func FieldOf[Kind ~string](kind Kind, name string) (Field, bool) {
	var best Field
	for _, f := range Fields {
		if !slices.Contains(f.Kinds, string(kind)) {
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
