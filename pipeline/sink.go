package pipeline

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/fio/sla"
	"fiolat/ingest/fiojson"
)

// Sink receives the results of one run. The pipeline calls it from one goroutine: Begin once, then Interval, Late and
// Early, then End once if there was no error. The arguments belong to the pipeline again when a call returns.
type Sink interface {
	Begin(ctx context.Context, run *Run) error
	// Interval takes the next interval. The first one is at Run.FirstInterval; each other one directly
	// follows the one before, even if no log ran in it.
	Interval(ctx context.Context, q *Interval) error
	// Late takes rows of an interval that was passed before: those of scope values whose first I/O
	// comes only now. They are without I/O, and there are neither leaves nor changes. Each row comes
	// once, before the first interval with I/O.
	Late(ctx context.Context, q *Interval) error
	// Early takes changes, all of them Early, that are known before the interval is. It has neither leaves nor rows.
	Early(ctx context.Context, q *Interval) error
	End(ctx context.Context, s *Summary) error
}

// Discard is a Sink that ignores everything. Other sinks embed it for the calls that they ignore.
type Discard struct{}

// Begin ignores the run.
func (Discard) Begin(context.Context, *Run) error { return nil }

// Interval ignores the interval.
func (Discard) Interval(context.Context, *Interval) error { return nil }

// Late ignores the rows.
func (Discard) Late(context.Context, *Interval) error { return nil }

// Early ignores the changes.
func (Discard) Early(context.Context, *Interval) error { return nil }

// End ignores the summary.
func (Discard) End(context.Context, *Summary) error { return nil }

// Run is what is known of a run before its first interval.
type Run struct {
	// ID is --run-id, else a hash of the logs' sizes and first 64 KiB.
	ID string
	// Name is --run-name, else the name of the folder; "" if there is neither. Named is set if it was given.
	Name  string
	Named bool
	// Part is --part, the name of a group of hosts that is ingested separately; "" for a whole run.
	Part   string
	Labels map[string]string
	// Generation is a hash of all that decides what the documents say; see generation.
	Generation string
	// Start is time zero in ns since 1970, if StartKnown; StartHow names its source.
	Start      int64
	StartKnown bool
	StartHow   string
	// FirstInterval is the offset in ns from Start of the first interval. It is not 0 where --start
	// or Pick moves it, or on a grid from 1970.
	FirstInterval int64
	// Interval is the length of an interval in ns.
	Interval int64
	// Geometry is the geometry of the histograms in which all logs are added up.
	Geometry fiohist.Geometry
	Kind     fio.Kind
	// Percentiles are those requested, in the order given, without duplicates.
	Percentiles []float64
	Settings    fio.Settings
	// Unread means that a file or folder could not be read and was left out: the run may lack logs.
	Unread bool
	// Logs are the run's logs in sorted order, Metas fio's JSON documents.
	Logs  []*Log
	Metas []*fiojson.Document
	// MetaSummary summarizes fio's JSON of a run that was stored, whose Metas hold only its jobs; nil otherwise.
	MetaSummary *MetaSummary
	// Pick is the part of the run that is looked at, and Window the time of that part: see Choose.
	Pick   Pick
	Window Window
	// Live is set if the run was followed while it went on.
	Live bool
	// Parts are the parts that the run was merged from; nil if it was read from logs.
	Parts []Part
	// Fine is the grid that the run had before it was rolled up; the zero value if it was not.
	Fine Grain

	// generation recomputes Generation; nil if that does not depend on the name and the labels.
	generation func(*Run) string
}

// Title is the run.title of documents. The parts of a run and what they are merged into have the same, without the
// start: a part knows only its own.
func (r *Run) Title() string {
	var start time.Time
	if r.StartKnown && r.Part == "" && r.Parts == nil {
		start = time.Unix(0, r.Start)
	}
	return fio.RunTitle(r.ID, r.Name, start)
}

// Escape makes the run's id, name, part and labels printable: it is stored and found by these.
func (r *Run) Escape() {
	for _, name := range []*string{&r.ID, &r.Name, &r.Part} {
		*name = fio.Printable(*name)
	}
	r.Labels = PrintableLabels(r.Labels)
}

// PrintableLabels returns labels as they are stored; nil if there are none. Of keys that become one, the value of the
// last in the order of bytes stays.
func PrintableLabels(labels map[string]string) map[string]string {
	if len(labels) == 0 {
		return nil
	}
	out := make(map[string]string, len(labels))
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out[fio.Printable(k)] = fio.Printable(labels[k])
	}
	return out
}

// Keep returns the run with the name and the labels that it had so far, where it was given no others.
// That may change the generation.
func (r *Run) Keep(name string, labels map[string]string) *Run {
	out := *r
	if !r.Named && name != "" {
		out.Name = name
	}
	if len(labels) > 0 {
		out.Labels = PrintableLabels(labels)
		maps.Copy(out.Labels, r.Labels)
	}
	if r.generation != nil {
		out.Generation = r.generation(&out)
	}
	return &out
}

// Directions returns the names of the directions of the run's I/Os, by index. Syncs have a direction of their own.
func (r *Run) Directions() []string {
	if r.Kind == fio.Sync {
		return []string{fio.Sync.String()}
	}
	if len(r.Metas) > 0 && r.Metas[0].Mixed {
		return []string{fio.All}
	}
	return fio.DirectionNames()
}

// TotalDirection returns the direction of rows that are not split by it: All, or that of syncs, which are never added
// to others.
func (r *Run) TotalDirection() string {
	if r.Kind == fio.Sync {
		return fio.Sync.String()
	}
	return fio.All
}

// Measures returns what the latencies of the run include, in a sentence for each I/O engine.
func (r *Run) Measures() (out []string) {
	if r.MetaSummary != nil {
		return r.MetaSummary.Measures
	}
	for _, m := range r.Metas {
		for _, sentence := range m.Explain() {
			if !slices.Contains(out, sentence) {
				out = append(out, sentence)
			}
		}
	}
	return out
}

// Timeless reports whether there is only fio's JSON, without logs: all of the run is one interval.
func (r *Run) Timeless() bool {
	return len(r.Logs) > 0 && !slices.ContainsFunc(r.Logs, func(l *Log) bool { return l.LogName != "" || !l.Empty })
}

// NoTimes returns the error for what cannot be had of such a run; hint says what to do.
func NoTimes(what, hint string) error {
	return fio.Usagef("%s has no logs, only fio's JSON, which has no times of I/Os: %s", fio.Printable(what), hint)
}

// UsualInterval returns the length of an interval in ns if none is given: the longest log_hist_msec in whole seconds.
func (r *Run) UsualInterval() int64 {
	longest := time.Duration(0)
	for _, l := range r.Logs {
		longest = max(longest, l.Interval)
	}
	return max(longest.Round(time.Second), time.Second).Nanoseconds()
}

// Workloads returns the distinct loads of the run's jobs, each in a few words.
func (r *Run) Workloads() []string {
	if r.MetaSummary != nil {
		return r.MetaSummary.Workloads
	}
	seen := map[string]bool{}
	add := func(option func(name string) (string, bool)) {
		var words []string
		for _, names := range [][]string{
			{"rw", "readwrite"}, {"bs", "blocksize"}, {"iodepth"}, {"numjobs"}, {"ioengine"}, {"direct"}, {"rate_iops"},
		} {
			for _, name := range names {
				if v, ok := option(name); ok && len(v) < 100 {
					words = append(words, names[0]+"="+v)
					break
				}
			}
		}
		if len(words) > 0 {
			seen[strings.Join(words, " ")] = true
		}
	}
	for _, m := range r.Metas {
		for i := range m.Entries {
			e := &m.Entries[i]
			switch {
			case e.NoLog:
			case e.Unlike > 0:
				seen[e.JobName] = true
			case len(e.Sections) == 0:
				add(func(name string) (string, bool) { return m.Option(e, name) })
			}
			for _, s := range e.Sections {
				add(s.Option)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// MetaSummary summarizes fio's JSON documents of a run, each value once.
type MetaSummary struct {
	Versions, Workloads, Measures []string
	Options                       map[string][]string
}

// Grain is the resolution of the intervals and histograms of a run.
type Grain struct {
	Interval   int64 // ns
	Coarseness int
}

// Part identifies a part of a run by its name and the generation that it had when it was read.
type Part struct {
	Name       string `json:"name"`
	Generation string `json:"generation"`
}

// Leaf is one element of the finest split: each I/O is in exactly one leaf.
type Leaf struct {
	// Dims are the dimensions of --by, and always the direction.
	Dims fio.Dims
	Hist *fiohist.Hist
	// Logs is the number of logs with I/O in the interval; Members are their indices in Run.Logs, ascending.
	Logs    int
	Members []int
	// Limits are the smallest and largest latency of the JSON entries covered.
	Limits fiohist.Limits
}

// Row is the statistics of one scope value in one interval.
type Row struct {
	// Scope is run, or the dimensions joined by "+" in the order host, job, log,
	// direction.
	Scope string
	Dims  fio.Dims
	Stats fiohist.Stats
	Logs  int
	// IOPS is completions per second of the part of the interval that the logs cover. IOPSKnown is false if they cover
	// none of it.
	IOPS      float64
	IOPSKnown bool
	// Covered is that part in ns, in which one of the logs at least has its records. Lost is the time whose records a
	// log lost.
	Covered, Lost int64
	// Uneven is set if one of the logs covers only a part of the interval, as at its start or end.
	Uneven bool
	// Whole is set if no I/O began before the time that the row is about: in the sums of a run, and if I/Os count where
	// they were in flight.
	Whole bool
	// SLA are the verdicts of the rules for this direction, if there are any.
	SLA []sla.Verdict
	// TailPart compares a host, job or log with all of them at TailPercentile. It is nil in other scopes, if there is
	// only one, without I/O, and in a part of a run.
	TailPart *fiohist.Part
	// Hist is the histogram of the I/Os, nil without any. In a row of an interval it is valid until the sink returns.
	// Limits are fio's smallest and largest latency of them, and Blocks says how evenly they are spread over the
	// intervals, in a row of Summary.Total only. The limits of the percentiles in Stats allow for Blocks there.
	Hist   *fiohist.Hist
	Limits fiohist.Limits
	Blocks *fiohist.Blocks
}

// TailPercentile is the percentile that Row.TailPart is about.
const TailPercentile = 99

// Concurrency returns the mean number of I/Os in flight, and whether it is known. By Little's law (Operations Research
// 9 (1961), 383-387) it is the sum of the latencies that complete in the interval, divided by the time that the logs
// cover. It is unknown if nothing completes, and if more than a tenth of that sum is of the time before the interval:
// an I/O of latency l that completes evenly in a time T is outside it for l^2/2T on average.
func (r *Row) Concurrency() (n float64, known bool) {
	s, inFlight := &r.Stats, r.IOPS*r.Stats.Mean/1e9
	if !r.IOPSKnown || s.Empty() {
		return 0, false
	}
	outside := (s.Mean*s.Mean + s.StdDev*s.StdDev) / (2 * float64(r.Covered))
	return inFlight, r.Whole || outside <= s.Mean/10
}

// Values are what the row's figures come from, as far as the logs tell; percentiles are the run's.
func (r *Row) Values(percentiles []float64) *fio.Values {
	v := r.Stats.Values(percentiles)
	if r.IOPSKnown {
		v.IOPS = r.IOPS
	}
	if n, known := r.Concurrency(); known {
		v.Concurrency = n
	}
	return &v
}

// Partial reports whether the logs cover only a part of an interval of so many ns, such as the end of a run: what
// completes in that is no measure of the whole.
func (r *Row) Partial(interval int64) bool { return PartOf(r.Covered+r.Lost, interval) }

// PartOf reports whether ran is a part of an interval, both in ns, and less than 99 % of it.
func PartOf(ran, interval int64) bool {
	return ran > 0 && interval-ran > max(interval/100, int64(time.Millisecond))
}

// Interval is one interval of the time grid: [Offset, Offset + Run.Interval) from the run's start.
type Interval struct {
	// Offset is the start in ns, counted from Run.Start.
	Offset int64
	// Leaves are those with I/O; Rows are all scope values that have had I/O so far, even if they
	// have none here (see Sink.Late). Both are in a fixed order.
	Leaves []Leaf
	Rows   []Row
	// Whole is set if it is the whole run: its rate is judged over the time in which its jobs ran.
	Whole bool
	// Ran are rows without I/O, by direction: how long its jobs ran, for rules about directions that have no row.
	Ran []Row
	// Changes are the breaches and recoveries of rules that became certain here.
	Changes []Change
	// Stragglers are those that began or ceased to stand out here, in runs that are followed live.
	Stragglers []Straggler
}

// Idle reports whether no log ran in the interval, or none has had I/O yet.
func (q *Interval) Idle() bool {
	ran := func(r Row) bool { return r.Scope == fio.RunScope && r.Covered > 0 }
	return len(q.Leaves) == 0 && !slices.ContainsFunc(q.Rows, ran)
}

// Change is a breach of a rule, or a recovery, in a scope.
type Change struct {
	Scope string
	Dims  fio.Dims
	sla.Change
	// Early marks a breach inferred from the silence of a live stream, or its withdrawal. It is only for alerts: what
	// is stored follows from the documents of the stream.
	Early bool
	// Alerted is set if the breach was Early before.
	Alerted bool
	// TailCause describes what causes the tail of a breach; "" if nothing stands out in the interval.
	TailCause string
}

// Outcome is the result of a rule over a run.
type Outcome struct {
	Scope string
	Dims  fio.Dims
	Rule  *fio.SLARule
	*sla.Watch
	// Interval is the length in ns of the intervals that Watch counts.
	Interval int64
	// Whole is the verdict on the whole run as one.
	Whole sla.Verdict
}

// Summary is what is known at the end of a run.
type Summary struct {
	// End is the end of the last interval, in ns from Run.Start.
	Intervals int
	End       int64
	Account   Account
	// Total are the rows of the whole run: one per scope value, as in an interval.
	Total []Row
	// Ran is as in Interval, for the whole run.
	Ran []Row
	// SLA are the outcomes of all rules, by scope and then in the order of the rules.
	SLA []Outcome
}

// Latencies is the number of some I/Os and the sum of their latencies.
type Latencies struct {
	IOs float64 `json:"ios"`
	// NS is the sum in ns, a whole number, so that the order of addition does not matter.
	NS float64 `json:"ns"`
	// Min and Max are the extremes; Max is 0 if they are unknown.
	Min float64 `json:"min,omitempty"`
	Max float64 `json:"max,omitempty"`
}

// Plus returns the sum of both.
func (l Latencies) Plus(o Latencies) Latencies {
	switch {
	case l.IOs == 0:
		return o
	case o.IOs == 0:
		return l
	case min(l.Max, o.Max) == 0:
		return Latencies{IOs: l.IOs + o.IOs, NS: l.NS + o.NS}
	}
	return Latencies{l.IOs + o.IOs, l.NS + o.NS, min(l.Min, o.Min), max(l.Max, o.Max)}
}

// TakeExact gives rows that hold whole entries of fio's JSON the mean and the extremes of fio's totals: buckets tell
// these to a percent, and nothing above the last one.
func (s *Summary) TakeExact() {
	const whole = 0.5 // I/O: stored counts are rounded
	for i := range s.Total {
		r := &s.Total[i]
		if r.Dims.Log != "" { // an entry may have several
			continue
		}
		var l Latencies
		for k := range s.Account.Jobs {
			if j := &s.Account.Jobs[k]; (r.Dims.Host == "" || r.Dims.Host == j.Host) &&
				(r.Dims.Job == "" || r.Dims.Job == j.Job) &&
				(r.Dims.Direction == fio.All || r.Dims.Direction == j.Direction) {
				l = l.Plus(j.Exact)
			}
		}
		if l.Max > 0 && math.Abs(l.IOs-r.Stats.Samples) < whole {
			r.Stats.Min, r.Stats.Max, r.Stats.Mean = l.Min, l.Max, l.NS/l.IOs
		}
	}
}

// Account shows what became of the input: in = out + named losses.
type Account struct {
	Logs         int `json:"logs"`
	LogsSkipped  int `json:"logs_skipped"`
	LogsEmpty    int `json:"logs_empty"`
	LogsRepaired int `json:"logs_repaired"`
	// Repaired are the paths of the repaired logs.
	Repaired []string `json:"-"`
	// JobsWithoutLog are the jobs of fio's JSON that have no log, and are in no interval.
	JobsWithoutLog int `json:"jobs_without_log,omitempty"`
	// HostsMissing took part in the run and have no log.
	HostsMissing []string `json:"hosts_missing,omitempty"`
	// JobsFailed ended with an error, and IOsFailed are in no log.
	JobsFailed int   `json:"jobs_failed,omitempty"`
	IOsFailed  int64 `json:"ios_failed,omitempty"`
	// JobsRunning went on after their report in fio's JSON.
	JobsRunning     int     `json:"jobs_running,omitempty"`
	Records         int64   `json:"records"`
	RecordsRepaired int64   `json:"records_repaired"`
	RecordsEqual    int64   `json:"records_equal_stamp"`
	LinesSkipped    int64   `json:"lines_skipped"`
	Logged          float64 `json:"ios_logged"`
	Counted         uint64  `json:"ios_in_fio_totals"`
	CountedKnown    bool    `json:"fio_totals_known"`
	// Unmeasured says why fio measured no latency of any I/O of the run; "" if it did.
	Unmeasured string `json:"-"`
	// Missing are the I/Os that fio counted and no log holds, Excess those that the
	// logs hold beyond fio's count, each added up over jobs and directions.
	Missing  float64 `json:"ios_missing"`
	Excess   float64 `json:"ios_excess"`
	Restored float64 `json:"ios_restored"`
	// NotPlaced are missing I/Os whose records the logs lost. When they completed is unknown: they
	// are in no interval, but in the rows of the whole run.
	NotPlaced  float64 `json:"ios_not_placed"`
	LastBucket float64 `json:"ios_in_last_bucket"`
	Placed     float64 `json:"ios_placed"`
	// PickedAway are the I/Os that Run.Pick leaves out.
	PickedAway float64 `json:"ios_picked_away,omitempty"`
	// Exact are the sums of all latencies to the nanosecond, by direction: from logs of single I/Os,
	// else fio's own if CountedKnown; else nil.
	Exact map[string]Latencies `json:"exact,omitempty"`
	// Jobs compare each entry of fio's JSON, by direction, with its logs; Lost describes the I/Os of NotPlaced.
	Jobs []JobAccount `json:"jobs,omitempty"`
	Lost []Loss       `json:"lost,omitempty"`
	// Interval is what --interval auto chose; nil if it was not used.
	Interval *Choice  `json:"interval,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// JobAccount is the account of one direction of an entry of fio's JSON: of a job, or of a
// group of them.
type JobAccount struct {
	Job  string `json:"job"`
	Host string `json:"host,omitempty"`
	// Direction is All where fio counted all directions together (unified_rw_reporting=mixed).
	Direction string  `json:"direction"`
	Logs      int     `json:"logs"`
	Logged    float64 `json:"ios_logged"`
	Counted   uint64  `json:"ios_in_fio_totals"`
	// Missing is negative if the logs hold more than fio counted.
	Missing   float64 `json:"ios_missing"`
	Restored  float64 `json:"ios_restored"`
	NotPlaced float64 `json:"ios_not_placed"`
	// Exact are the I/Os that fio counted, to the nanosecond.
	Exact Latencies `json:"exact,omitzero"`
}

// Loss is a set of I/Os that fio counted and whose records the logs lost.
type Loss struct {
	Logs []string `json:"logs"`
	// Job is "" if the logs are of several jobs.
	Job       string  `json:"job,omitempty"`
	Host      string  `json:"host,omitempty"`
	Direction string  `json:"direction"`
	IOs       float64 `json:"ios"`
	// Until is the end of the jobs' direction in ns from Run.Start.
	Until int64 `json:"until_ns"`
	// Index and Count are the non-empty buckets of their histogram, on the run's Geometry.
	Index []uint16  `json:"index"`
	Count []float64 `json:"count"`
	Why   string    `json:"why"`
}

// DirectionAccount adds up the jobs of one direction. What some jobs lack does not offset what others have too much.
type DirectionAccount struct {
	Direction                                    string
	Counted                                      uint64
	Logged, Missing, Excess, Restored, NotPlaced float64
}

// ByDirection adds up accounts of jobs by direction, in the order of fio.MetricDirections with All last.
func ByDirection(jobs []JobAccount) (out []DirectionAccount) {
	for _, d := range append(fio.MetricDirections()[1:], fio.All) {
		sum := DirectionAccount{Direction: d}
		any := false
		for i := range jobs {
			j := &jobs[i]
			if j.Direction != sum.Direction {
				continue
			}
			any = true
			sum.Logged += j.Logged
			sum.Counted += j.Counted
			sum.Missing += max(j.Missing, 0)
			sum.Excess += max(j.Missing, 0) - (float64(j.Counted) - j.Logged)
			sum.Restored += j.Restored
			sum.NotPlaced += j.NotPlaced
		}
		if any {
			out = append(out, sum)
		}
	}
	return out
}

// Choice is an interval that --interval auto chose, and why.
type Choice struct {
	Interval time.Duration `json:"-"`
	// MS is the interval in ms.
	MS float64 `json:"ms"`
	// Percentile is the one that it was chosen for, Accuracy the relative error allowed for it: 0.1 is 10 %.
	Percentile float64 `json:"percentile"`
	Accuracy   float64 `json:"accuracy"`
	// Met is set if nine of ten intervals reach that accuracy.
	Met    bool   `json:"met"`
	Reason string `json:"reason"`
}
