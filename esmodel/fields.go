package esmodel

import (
	"maps"
	"path"
	"slices"
	"strings"

	"fiolat/fio"
)

// Field describes a field of documents. A "*" in its name matches anything: a percentile, an octave, a label, a
// direction.
type Field struct {
	Name    string
	Type    string // of its mapping; closed is a keyword from a closed list, "-" a field that is only in _source
	Unit    string
	Kinds   []Kind
	Meaning string
}

var (
	everywhere = []Kind{KindRun, KindHistogram, KindPercentiles, KindProbe, KindEvent}
	intervals  = []Kind{KindHistogram, KindPercentiles}
	searched   = []Kind{KindRun, KindHistogram, KindPercentiles}
	onPct      = []Kind{KindPercentiles}
	onRun      = []Kind{KindRun}
	onProbe    = []Kind{KindProbe}
	hists      = []Kind{KindHistogram, KindProbe}
	stats      = []Kind{KindPercentiles, KindProbe}
	onEvent    = []Kind{KindEvent}
	onSLA      = []Kind{KindRun, KindPercentiles}
)

// Fields lists all fields. Mappings and docs/documents.md are made from it, and a test compares it with real documents.
var Fields = []Field{
	{"@timestamp", "date", "", everywhere, "start of the interval; in `run` of the run; UTC"},
	{"run.id", "keyword", "", everywhere, "`--run-id`, else a hash of the logs"},
	{"run.name", "keyword", "", everywhere, "`--run-name`, else the directory's name"},
	{"run.title", "keyword", "", everywhere, "start in UTC, `run.name` and six digits of `run.id`: `2026-11-26 02:10 " +
		"nightly 4afac3`; an id from `--run-id` in full"},
	{"run.generation", "keyword", "", everywhere, "hash of all settings that change documents; missing in notes"},
	{"run.part", "keyword", "", everywhere, "`--part`; missing for a whole run"},
	{"run.labels", "keyword", "", everywhere, "all labels as `K=V`"},
	{"labels.*", "keyword", "", everywhere, "from `--label` and `fiolat label`"},
	{"host.name", "keyword", "", everywhere, "host, if known and split by; in `run` all hosts"},
	{"fio.kind", closed, "", everywhere, "`clat`, `slat`, `lat`, `sync` or `probe`"},
	{"fio.job", "keyword", "", everywhere, "job, if split by; in `run` all jobs"},
	{"fio.log", "keyword", "", intervals, "log, if split by"},
	{"fio.direction", closed, "", append([]Kind{KindEvent}, intervals...), "`read`, `write`, `trim`, `all` or " +
		"`sync`"},
	{"fio.iodepth", "long", "", searched, "iodepth, if all jobs share it; fio's default, 1, if it is not set"},
	{"fio.numjobs", "long", "", searched, "numjobs, likewise"},
	{"fio.bs", "long", "bytes", searched, "bs of all I/Os; missing where there are several sizes, as with bssplit"},
	{"fio.rwmixread", "long", "%", searched, "percentage of reads, if all jobs are mixed"},
	{"interval.ms", "double", "ms", everywhere, "length of an interval"},
	{"interval.offset_ms", "double", "ms", everywhere, "its start, counted from the run's"},
	{"logs.count", "long", "", everywhere, "logs with I/O in the interval; in `run` all logs"},
	{"scope", closed, "", []Kind{KindHistogram, KindPercentiles, KindProbe, KindEvent}, "what the document " +
		"covers: `leaf` (each I/O is in exactly one), `run`, `direction`, `host`, `host+direction`, ...; of " +
		"probes `probe` (one operation), `interval` (one kind of operation) or `target`"},
	{"samples", "double", "I/Os", []Kind{KindHistogram, KindPercentiles, KindProbe}, "I/Os; fractions come " +
		"from I/Os shared between intervals"},
	{"_doc_count", "-", "I/Os", hists, "`samples`, rounded, at least 1, so that Elasticsearch counts I/Os; what is " +
		"left over is carried to the leaf's next document"},
	{"latency.histogram", "histogram", "ns", hists, "thousandths of an I/O (`counts`) by the middle of their bucket " +
		"(`values`), in sum `samples`"},
	{"latency.octave.*", "double", "I/Os", hists, "`eNN`: I/Os of 2^NN to 2^(NN+1) ns; sums make heat maps"},
	{"latency.limits.min", "double", "ns", hists, "fio's smallest latency of the jobs"},
	{"latency.limits.max", "double", "ns", hists, "fio's largest latency of the jobs"},
	{"latency.buckets.groups", "-", "", []Kind{KindHistogram, KindProbe, KindRun}, "groups of 64 buckets"},
	{"latency.buckets.coarseness", "-", "", []Kind{KindHistogram, KindProbe, KindRun}, "log_hist_coarseness"},
	{"latency.buckets.unit_ns", "-", "ns", []Kind{KindHistogram, KindProbe, KindRun}, "width of the narrowest " +
		"bucket"},
	{"latency.buckets.logs", "-", "", hists, "logs with I/O here: first and last of each range in `files` of " +
		"`run`, from 0"},
	{"latency.min", "double", "ns", stats, "shortest latency"},
	{"latency.max", "double", "ns", stats, "longest latency"},
	{"latency.mean", "double", "ns", stats, "mean latency"},
	{"latency.stddev", "double", "ns", stats, "standard deviation"},
	{"latency.p*", "double", "ns", stats, "a percentile: `p50`, `p99_9`"},
	{"latency.ci.*", "double", "ns", stats, "95 % sampling limits, of independent I/Os: `latency.ci.p99.lower`, " +
		"`.upper`; null with too few I/Os"},
	{"iops", "double", "1/s", onPct, "completions per second of the covered part of the interval"},
	{"bytes_per_second", "double", "bytes/s", onPct, "bandwidth, where `fio.bs` is known"},
	{"partial", "boolean", "", onPct, "true where logs cover less than 99 % of the interval"},
	{"concurrency", "double", "", onPct, "mean number of I/Os in flight; missing where it is unknown: " +
		"docs/diagnose.md"},
	{"tail.expected", "double", "", onPct, "of a host, job or log among others: its share of all I/Os; parts " +
		"have no `tail`"},
	{"tail.lift", "double", "", onPct, "`tail.p99.share` divided by `tail.expected`: 1 is like the others"},
	{"tail.p99.share", "double", "", onPct, "its share of the I/Os above p99 of all in the interval; `fio-run` " +
		"has the run's share, which is not the average"},
	{"tail.p99.without", "double", "ns", onPct, "p99 of all I/Os except its own"},
	{"at_least", closed, "", []Kind{KindPercentiles, KindProbe}, "percentiles in fio's last bucket: they " +
		"may be higher"},
	{"run.status", closed, "", onRun, "`running`; `complete`: exactly the documents of this generation are " +
		"stored; `partial`: some may be missing"},
	{"run.format_version", "long", "", onRun, "format of the run's documents; another one is not read back"},
	{"run.start", "date", "", onRun, "time zero of the run"},
	{"run.start_how", "keyword", "", onRun, "how `run.start` was found"},
	{"run.end", "date", "", onRun, "end of the last interval"},
	{"run.quanta", "long", "", onRun, "number of intervals"},
	{"rollup.*", "-", "", onRun, "before a rollup: interval (`from_ms`) and coarseness (`from_coarseness`), by " +
		"which diagnosis, verdicts, end, summary, tail and limits remain"},
	{"rolling", closed, "", onRun, "during a rollup: `writing` long intervals, or `counted`: short ones are " +
		"being deleted"},
	{"owner.*", "-", "", onRun, "the process that is writing the run, or was killed doing so: `id`, `host`, `pid`"},
	{"fio.version", "keyword", "", onRun, "fio's versions"},
	{"fio.measure", "keyword", "", onRun, "what slat and clat include with the run's engines: docs/engines.md"},
	{"fio.workload", "keyword", "", onRun, "each different load: `rw=randread bs=4k iodepth=16`"},
	{"fio.options.*", "flattened", "", onRun, "fio's job options: all values that occur"},
	{"settings.*", "flattened", "", onRun, "settings of this generation, as flags spell them"},
	{"parts.name", "keyword", "", onRun, "the parts that were merged"},
	{"parts.generation", "keyword", "", onRun, "their generations at that time"},
	{"files.name", "keyword", "", onRun, "logs: name without directory"},
	{"files.size", "long", "bytes", onRun, "logs: size as stored"},
	{"files.hash", closed, "", onRun, "logs: SHA-256 of size and first 64 KiB"},
	{"files.host", "keyword", "", onRun, "logs: host"},
	{"files.job", "keyword", "", onRun, "logs: job"},
	{"files.log", "keyword", "", onRun, "logs: as `fio.log`; missing where there is only fio's JSON"},
	{"files.start_ms", "double", "ms", onRun, "logs: the job's start, counted from the run's"},
	{"files.end_ms", "double", "ms", onRun, "logs: end of the last I/O, counted likewise"},
	{"files.directions.*", "-", "", onRun, "logs: by direction `ios` (there was I/O), `none` (fio counted " +
		"none), `min` and `max` in ns, `holes_ms` (times of lost records)"},
	{"files.load.*", "-", "", onRun, "logs: `fio.iodepth` and the others by direction"},
	{"files.interval_ms", "double", "ms", onRun, "logs: log_hist_msec"},
	{"files.empty", "boolean", "", onRun, "logs: no record"},
	{"files.repaired", "boolean", "", onRun, "logs: damage by fio --client was repaired"},
	{"jobs.name", "keyword", "", onRun, "jobs of fio's JSON: name"},
	{"jobs.host", "keyword", "", onRun, "jobs: host"},
	{"jobs.group", "long", "", onRun, "jobs: group of group_reporting"},
	{"jobs.start", "date", "", onRun, "jobs: job_start"},
	{"jobs.runtime_ms", "long", "ms", onRun, "jobs: job_runtime; of a group the sum"},
	{"jobs.error", "long", "", onRun, "jobs: fio's error number"},
	{"jobs.options.*", "-", "", onRun, "jobs: the job's own options"},
	{"jobs.sync.*", "-", "ns", onRun, "jobs: syncs: `samples`, `min`, `max`, `mean`, `values`, `counts`, " +
		"`runtime_ms`"},
	{"jobs.priorities.*", "-", "ns", onRun, "jobs: the same by `direction`, priority (`class`, `level`, `hint`) " +
		"and `kind`"},
	{"jobs.global.*", "-", "", onRun, "jobs: options of [global]"},
	{"jobs.directions.*", "-", "", onRun, "jobs: fio's totals by direction: `ios`, `bytes`, `runtime_ms`"},
	{"jobs.sections.*", "-", "", onRun, "jobs: `name` and `options` of sections that group_reporting merged"},
	{"jobs.unlike", "long", "", onRun, "jobs: how many jobs of different options it stands for"},
	{"jobs.no_log", "boolean", "", onRun, "jobs: it has no log, others have"},
	{"summary.*", "double", "ns", onRun, "whole run by direction: `summary.read.p99`, `.samples`, `.iops`, " +
		"`.bytes_per_second`, `.min`, `.max`, `.mean`, `.stddev`, `.at_least` (keyword); `summary.sync` is in no sum"},
	{"whole.*", "-", "", onRun, "whole run by direction: buckets (`index`, `count`), `min`, `max`, and 95 % " +
		"limits from the noise within the run (`limits.p99.low`, `.high`)"},
	{"tail.*.host", "keyword", "", onRun, "whole run by direction: `tail.read.host` is the host whose share of the " +
		"I/Os above p99 exceeds its share of all I/Os most; `tail.read.hosts` lists up to 100 hosts, that one " +
		"first, with the same fields; parts have no `tail`"},
	{"tail.*.expected", "double", "", onRun, "its share of all I/Os"},
	{"tail.*.lift", "double", "", onRun, "`tail.*.p99.share` divided by `tail.*.expected`: 1 is like the others"},
	{"tail.*.p99.share", "double", "", onRun, "its share of the I/Os above p99 of all"},
	{"diagnosis.*", "-", "", onRun, "as `fiolat diagnose` reports: `findings`, the first 100 of `more` and " +
		"`stalls`, how many are `omitted`"},
	{"account.logs", "long", "", onRun, "logs read"},
	{"account.logs_skipped", "long", "", onRun, "logs skipped by --skip-bad"},
	{"account.logs_empty", "long", "", onRun, "logs without a record"},
	{"account.logs_repaired", "long", "", onRun, "logs repaired"},
	{"account.jobs_without_log", "long", "", onRun, "jobs without a log, beside others with one"},
	{"account.hosts_missing", closed, "", onRun, "hosts that took part and have no log"},
	{"account.jobs_failed", "long", "", onRun, "jobs that ended with an error"},
	{"account.jobs_running", "long", "", onRun, "jobs that went on after fio's JSON was written"},
	{"account.ios_failed", "long", "I/Os", onRun, "I/Os that failed and have no latency"},
	{"account.records", "long", "", onRun, "records read"},
	{"account.records_repaired", "long", "", onRun, "records repaired"},
	{"account.records_equal_stamp", "long", "", onRun, "records with equal timestamps"},
	{"account.lines_skipped", "long", "", onRun, "lines skipped by --skip-bad"},
	{"account.ios_logged", "double", "I/Os", onRun, "in the logs, after repair"},
	{"account.ios_in_fio_totals", "double", "I/Os", onRun, "in fio's JSON"},
	{"account.fio_totals_known", "boolean", "", onRun, "whether fio's JSON has these totals"},
	{"account.ios_missing", "double", "I/Os", onRun, "in fio's JSON but in no log"},
	{"account.ios_excess", "double", "I/Os", onRun, "in the logs beyond fio's count: logs and JSON do not " +
		"belong together"},
	{"account.ios_restored", "double", "I/Os", onRun, "missing and restored"},
	{"account.ios_not_placed", "double", "I/Os", onRun, "missing with lost records: in `summary`, but in no " +
		"interval"},
	{"account.jobs.*", "-", "", onRun, "entries of fio's JSON by direction: `job`, `host`, `direction`, `logs`, " +
		"`ios_logged`, `ios_in_fio_totals`, `ios_missing`, `ios_restored`, `ios_not_placed`"},
	{"account.lost.*", "-", "", onRun, "not placed: `logs`, `job`, `host`, `direction`, `ios`, `until_ns`, " +
		"`index`, `count`, `why`"},
	{"account.ios_in_last_bucket", "double", "I/Os", onRun, "in fio's last bucket, which has no upper edge"},
	{"account.ios_placed", "double", "I/Os", onRun, "in intervals"},
	{"account.exact.*", "-", "ns", onRun, "by direction, I/Os (`.ios`) and the exact sum of their latencies " +
		"(`.ns`)"},
	{"account.interval.ms", "double", "ms", onRun, "chosen by `--interval auto`"},
	{"account.interval.percentile", "double", "", onRun, "the percentile that it was chosen for"},
	{"account.interval.accuracy", "double", "", onRun, "accuracy wanted, as a share"},
	{"account.interval.met", "boolean", "", onRun, "whether nine of ten intervals reach it"},
	{"account.interval.reason", "keyword", "", onRun, "why, in words"},
	{"account.warnings", "keyword", "", onRun, "warnings about the run"},
	{"account.documents.made", "long", "", onRun, "documents made, this one included"},
	{"account.documents.indexed", "long", "", onRun, "acknowledged by Elasticsearch"},
	{"account.documents.refused", "long", "", onRun, "refused by Elasticsearch"},
	{"account.documents.spooled", "long", "", onRun, "kept for `fiolat load`"},
	{"account.documents.histogram", "long", "", onRun, "histogram documents made"},
	{"account.documents.percentiles", "long", "", onRun, "percentile documents made"},
	{"probe.operation", closed, "", onProbe, "`read`, `write`, `create`, `stat`, `small-read`, `delete`; of " +
		"a target the slowest"},
	{"probe.target", "keyword", "", []Kind{KindProbe, KindEvent}, "the directory"},
	{"probe.slowdown", "double", "", onProbe, "of an operation: observed by expected time"},
	{"probe.late_ms", "double", "ms", onProbe, "of an operation: how late its round began"},
	{"probe.state", closed, "", []Kind{KindProbe, KindEvent}, "of a target: `quiet`, `slow`, `very slow`, " +
		"`failing`, `hung`, `learning`, `preparing`"},
	{"probe.overall", "double", "", onProbe, "of a target: geometric mean of its operations' slowdowns"},
	{"probe.hung_ms", "double", "ms", onProbe, "of a hung target: for how long"},
	{"probe.rounds", "long", "", onProbe, "of a target: rounds that began"},
	{"probe.late", "long", "", onProbe, "of a target: rounds late by more than a tenth of their spacing"},
	{"probe.missed", "long", "", onProbe, "of a target: rounds that did not begin"},
	{"probe.failed", "long", "", onProbe, "of an interval: operations that failed; not in `samples`"},
	{"probe.skipped", "long", "", onProbe, "of an interval: operations not tried, as the small file was missing"},
	{"probe.under_way", "long", "", onProbe, "of an interval: samples of operations that had not ended"},
	{"probe.last.*", "double", "", onProbe, "of an interval: slowdowns of the last 1m, 10m and 4h: " +
		"`probe.last.1m.mean`, `.median`, `.p90`, `.p95`, `.p99`, `.max`, `.samples`, `.at_least`"},
	{"error.code", closed, "", onProbe, "`ENOSPC`, `EROFS`, `ESTALE`, ...; `SHORT`: the file ended early"},
	{"error.message", "keyword", "", onProbe, "the same in words"},
	{"latency.value", "double", "ns", onProbe, "of an operation: observed time"},
	{"latency.expected", "double", "ns", onProbe, "expected time"},
	{"event.action", closed, "", onEvent, "`sla-breach`, `sla-recovery`, `probe-trouble`, `probe-recovery`, " +
		"`note`, `change-point`, `change-reported`, `straggler`, `outlier`"},
	{"event.ingested", "date", "", onEvent, "when it was sent the first time; alert rules look at it; never in files"},
	{"event.start", "date", "", onEvent, "start of an event that lasts"},
	{"event.end", "date", "", onEvent, "its end"},
	{"message", "text", "", onEvent, "the event in words; `message.keyword` for exact matches"},
	{"change.series", "keyword", "", onEvent, "the series, as `fiolat history` names it"},
	{"change.metric", closed, "", onEvent, "such as `read p99`"},
	{"change.before", "double", "ns or 1/s", onEvent, "level before"},
	{"change.after", "double", "ns or 1/s", onEvent, "level from this run on"},
	{"change.share", "double", "", onEvent, "0.1 for +10 %"},
	{"change.low", "double", "", onEvent, "lower 95 % limit of `change.share`"},
	{"change.high", "double", "", onEvent, "upper limit"},
	{"change.p", "double", "", onEvent, "probability by chance alone"},
	{"straggler.dimension", closed, "", onEvent, "`host`, `job` or `log`"},
	{"straggler.who", closed, "", onEvent, "its name"},
	{"straggler.status", closed, "", onEvent, "`began` or `ended`"},
	{"straggler.measure", closed, "", onEvent, "`p50`, `p99` or `iops`"},
	{"straggler.factor", "double", "", onEvent, "by how much it is worse"},
	{"straggler.own", "double", "ns or 1/s", onEvent, "its own value"},
	{"straggler.others", "double", "ns or 1/s", onEvent, "its peers' value"},
	{"outlier.ios", "double", "I/Os", onEvent, "I/Os far above the rest of their direction's run at once, mostly 1"},
	{"outlier.latency", "double", "ns", onEvent, "the longest of them"},
	{"outlier.above", "double", "ns", onEvent, "from which latency on an I/O is an outlier in this run"},
	{"outliers.found", "long", "", onRun, "outliers of the run; the longest 100 are events"},
	{"outliers.ios", "double", "I/Os", onRun, "their I/Os"},
	{"sla.rule", "keyword", "", onEvent, "the rule"},
	{"sla.status", closed, "", onEvent, "`broken` or `ok`"},
	{"sla.value", "double", "ns or 1/s", onEvent, "what was measured"},
	{"sla.threshold", "double", "ns or 1/s", onEvent, "the rule's threshold"},
	{"sla.rules", "keyword", "", onSLA, "the rules that were judged"},
	{"sla.broken", "keyword", "", onSLA, "rules that are broken"},
	{"sla.unknown", "keyword", "", onSLA, "rules with too few I/Os to tell"},
	{"sla.share", "double", "", []Kind{KindPercentiles, KindEvent}, "share of I/Os within the threshold, 0 to " +
		"1; of several rules the smallest"},
	{"sla.verdicts.rule", "-", "", onPct, "the rule"},
	{"sla.verdicts.status", "-", "", onPct, "`ok`, `broken` or `unknown`"},
	{"sla.verdicts.value", "-", "ns or 1/s", onPct, "what was measured"},
	{"sla.verdicts.threshold", "-", "ns or 1/s", onPct, "the rule's threshold"},
	{"sla.verdicts.share", "-", "", onPct, "share of I/Os within it"},
	{"sla.verdicts.window_ms", "-", "ms", onPct, "the time that was judged"},
	{"sla.verdicts.stalled", "-", "", onPct, "nothing completed: `value` is the time since the last completion"},
	{"sla.outcomes.rule", "-", "", onRun, "the rule"},
	{"sla.outcomes.scope", "-", "", onRun, "`run`, `direction`; in a part `host`, `host+direction`"},
	{"sla.outcomes.host", "-", "", onRun, "the host, in a part"},
	{"sla.outcomes.direction", "-", "", onRun, "the direction"},
	{"sla.outcomes.status", "-", "", onRun, "`broken`, `ok`, or `unknown` if nothing was certain"},
	{"sla.outcomes.ok", "-", "", onRun, "intervals that kept it"},
	{"sla.outcomes.broken", "-", "", onRun, "intervals that broke it"},
	{"sla.outcomes.unknown", "-", "", onRun, "intervals with too few I/Os to tell"},
	{"sla.outcomes.breaches", "-", "", onRun, "breaches, each of one or more intervals"},
	{"sla.outcomes.share", "-", "", onRun, "share of all I/Os within the threshold"},
	{"sla.outcomes.worst", "-", "ns or 1/s", onRun, "worst value of a whole interval"},
	{"sla.outcomes.worst_offset_ms", "-", "ms", onRun, "when that was, counted from the run's start"},
	{"sla.limit.*", "double", "ns", onPct, "strictest limit on a percentile: `sla.limit.p99`"},
	{"sla.state", closed, "", onRun, "worst verdict: `ok`, `unknown`, `broken`"},
}

// FieldOf returns the entry of Fields for the full name of a field in documents of a kind. An exact name wins
// over a pattern, a longer pattern over a shorter one.
func FieldOf(kind Kind, name string) (best Field, ok bool) {
	for _, f := range Fields {
		if !slices.Contains(f.Kinds, kind) {
			continue
		}
		if f.Name == name {
			return f, true
		}
		if fits, _ := path.Match(f.Name, name); fits && len(f.Name) > len(best.Name) {
			best = f
		}
	}
	return best, best.Name != ""
}

type object = map[string]any

// closed is the type of keywords from a closed list, which need no limit of length.
const closed = "closed"

// MappedAs is the type of the field in Elasticsearch, "-" if it is only in _source.
func (f *Field) MappedAs() string {
	if f.Type == closed {
		return "keyword"
	}
	return f.Type
}

// common are the percentiles that are mapped by name: panels show them before any document has them.
var common = []string{"p50", "p90", "p95", "p99", "p99_9"}

// named are the fields that a name with a "*" stands for and that are mapped by name: updates of dynamic mappings time
// out under load. All others in its object are mapped as they come.
var named = map[string][]string{
	"latency.octave.*": octaveNames[:],
	"latency.p*":       common,
	"latency.ci.*":     each(common, "lower", "upper"),
	"sla.limit.*":      common,
	"summary.*": each(fio.MetricDirections(), append([]string{"samples", "iops", "bytes_per_second", "mean", "stddev", "min", "max"},
		common...)...),
	"tail.*": each(fio.MetricDirections(), "", "hosts."),
}

// each returns the names with each of some endings.
func each(names []string, endings ...string) (out []string) {
	for _, n := range names {
		for _, e := range endings {
			out = append(out, n+"."+e)
		}
	}
	return out
}

// unindexed are the numbers that no query looks for, beside most of those of histograms and percentiles.
var unindexed = []string{"interval.ms", "logs.count", "jobs.unlike", "latency.octave.*"}

// mapping is that of the field in documents of a kind.
func (f *Field) mapping(kind Kind) object {
	const longest = 8191 // characters of a term, as Elasticsearch refuses 32,766 bytes
	switch f.Type {
	case "keyword", "flattened":
		return object{"type": f.Type, "ignore_above": float64(longest)}
	case "text":
		return object{"type": "text", "fields": object{"keyword": object{"type": "keyword",
			"ignore_above": float64(longest)}}}
	case "double", "long":
		searched := len(f.Kinds) == len(Kinds) || strings.HasPrefix(f.Name, "fio.")
		if !searched && (kind == KindHistogram || kind == KindPercentiles) || slices.Contains(unindexed, f.Name) {
			return object{"type": f.Type, "index": false}
		}
	}
	return object{"type": f.MappedAs()}
}

// properties are the mappings of the fields of a kind of documents, by name.
func properties(kind Kind) object {
	all := object{}
	if kind != KindRun && kind != KindEvent { // a later fiolat's statistics are mapped as they come
		put(all, "latency", object{"type": "object", "dynamic": true})
	}
	for _, f := range Fields {
		before, last := "", f.Name
		if at := strings.LastIndexByte(f.Name, '.'); at >= 0 {
			before, last = f.Name[:at], f.Name[at+1:]
		}
		is := f.mapping(kind)
		switch {
		case !slices.Contains(f.Kinds, kind) || before == "" && f.Type == "-":
		case f.Type == "-": // it is stored in its object, as that came
			put(all, before, object{"type": "object", "enabled": false})
		case f.Type == "flattened":
			put(all, before, is)
		case f.Name == "labels.*":
			put(all, before, object{"type": "object", "dynamic": true, "subobjects": false})
		case strings.HasPrefix(f.Name, "tail.*."):
			for _, of := range named["tail.*"] {
				put(all, "tail."+of+strings.TrimPrefix(f.Name, "tail.*."), is)
			}
		case kind == KindProbe && f.Type == "double" && slices.Equal(f.Kinds, stats): // as they come
		case strings.Contains(last, "*"):
			put(all, before, object{"type": "object", "dynamic": true})
			for _, of := range named[f.Name] {
				put(all, before+"."+of, is)
			}
		default:
			put(all, f.Name, is)
		}
	}
	return all
}

// put sets the mapping of a field or, of an object that is there, what is said of it.
func put(properties object, name string, to object) {
	for {
		first, rest, deeper := strings.Cut(name, ".")
		of, ok := properties[first].(object)
		if !ok {
			of = object{}
			properties[first] = of
		}
		if !deeper {
			maps.Copy(of, to)
			return
		}
		if of["properties"] == nil {
			of["properties"] = object{}
		}
		properties, name = of["properties"].(object), rest
	}
}
