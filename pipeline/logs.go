package pipeline

import (
	"cmp"
	"slices"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
)

// Log is one log of a run, with what is known from its head.
type Log struct {
	*ingest.Log
	// Hash is the hex SHA-256 of the file's size and first 64 KiB as stored.
	Hash string
	// Geometry is the log's own; zero if it has no record.
	Geometry fiohist.Geometry
	// Interval is log_hist_msec; IntervalHow names its source.
	Interval    time.Duration
	IntervalHow string
	// Absolute is set if the log's stamps count from 1970.
	Absolute bool
	// Start is the start of the log's job in ns from time zero; StartHow names its source.
	Start    int64
	StartHow string
	// Empty is set if the log has no record.
	Empty bool
	// Repaired are the directions in which damage by fio --client is undone.
	Repaired [fio.Directions]bool
	// End is the end of the log's last I/O in ns from time zero; Dirs describes its directions.
	// Both are known only after Process.
	End  int64
	Dirs [fio.Directions]LogDirection
	// Load is what Loads returns, where it was stored with a run.
	Load *[fio.Directions]*Load
	// Stalls are those that are stored with a run, since its intervals cannot tell them.
	Stalls []LogStall
}

// Stall is a time in which hosts, jobs or logs completed nothing although they ran.
type Stall struct {
	Dimension string   `json:"dimension"` // host, job or log
	Values    []string `json:"values"`
	// Hosts are the hosts of the logs, if other hosts have logs of the same name that did not stall.
	Hosts   []string `json:"hosts,omitempty"`
	SinceMS int64    `json:"since_ms"`
	// BeganMS is the time in which it began, its start and end, if that is not known to 0.2 s.
	BeganMS []int64 `json:"began_ms,omitempty"`
	UntilMS int64   `json:"until_ms"`
	// Longest is the latency in ns of the longest I/O that it delayed; null if there was none.
	Longest *float64 `json:"longest"`
	// Ended is false if it went on until the jobs ended.
	Ended bool `json:"ended"`
	// Factor is its length relative to the usual latency.
	Factor float64 `json:"factor"`
}

// Concerns reports whether a log stood still.
func (s *Stall) Concerns(l *Log) bool {
	return slices.Contains(s.Values, l.Dims().Of(s.Dimension)) &&
		(len(s.Hosts) == 0 || slices.Contains(s.Hosts, l.Host))
}

// LogStall is a Stall of one log.
type LogStall struct {
	Span            // in ns from time zero
	Began   Span    // when it began
	Longest int64   // the latency in ns of the longest I/O that it delayed; 0 if there was none
	Factor  float64 // its length relative to the usual latency
	Open    bool    // it went on until the job ended
}

// Stalled adds a stored stall to the logs that had it.
func (r *Run) Stalled(s *Stall) {
	in := Span{s.SinceMS * 1e6, s.UntilMS * 1e6}
	for _, l := range r.Logs {
		if l.Empty || l.Start >= in.To || l.End <= in.From || !s.Concerns(l) {
			continue
		}
		one := LogStall{Span: in, Began: Span{in.From, in.From}, Factor: s.Factor, Open: !s.Ended}
		if len(s.BeganMS) == 2 {
			one.Began = Span{s.BeganMS[0] * 1e6, s.BeganMS[1] * 1e6}
		}
		if s.Longest != nil {
			one.Longest = int64(*s.Longest)
		}
		l.Stalls = append(l.Stalls, one)
	}
}

// LogDirection describes one direction of a log.
type LogDirection struct {
	// HasIO is set if it had I/O, KnownIdle if fio's JSON counted none.
	HasIO, KnownIdle bool
	// IOs is how many of its I/Os are in intervals. The log holds them for the time from From to To in ns from time
	// zero. The direction went on until Until, at a rate like that before, where the log lacks its last window.
	IOs             float64
	From, To, Until int64
	// Restored is how many of IOs are from fio's JSON, where that counts several logs together; Guessed are those of
	// which nothing tells the log, Split those of which it tells the log, but only for both directions together.
	Restored, Guessed, Split float64
	// Unmeasured are I/Os beside them of which fio measured no latency.
	Unmeasured float64
	// Bytes is the size of those I/Os; 0 if it is not known.
	Bytes float64
	// Holes are the times whose records the log lost, in ns from time zero.
	Holes []Span
	// Limits are the least and the largest latency in the log's JSON entry.
	Limits fiohist.Limits
	// Pauses are known only where they were asked for.
	Pauses *Pauses
}

// Pauses are the times in which a direction of a log completed nothing between two completions.
type Pauses struct {
	// Longest are the longest ones, in order of time.
	Longest []Pause
	// IOs is the number of completions that the log holds, the first at First, the last at Last, in ns from time zero.
	IOs         float64
	First, Last int64
	// Late is the sum of the times in ns from the ends of windows to the completions after them, and Records their
	// number: they sample the time from any moment to the next completion. Squares is the sum of their squares. Those
	// of Longest are included.
	Late, Records, Squares float64
	// Latency is the mean latency in ns, outside pauses if there is much outside; 0 for single I/Os.
	Latency float64
	// Explained is for how many ns the job's options make it pause, if these are known.
	Explained      int64
	ExplainedKnown bool
}

// Pause is one of them, in ns from time zero.
type Pause struct {
	// From is the most likely begin. In the Certain ns before To nothing completed.
	Span
	Certain int64
	// Began is where From lies almost certainly.
	Began Span
	// Late is its part of Pauses.Late.
	Late int64
	// Longest is the latency in ns of the longest I/O that completed at the end or shortly afterwards; 0 if unknown.
	Longest int64
	// Open is set if the job ended with the pause, First if it began with it.
	Open, First bool
}

// Dims are the log's dimensions, without a direction.
func (l *Log) Dims() *fio.Dims { return &fio.Dims{Host: l.Host, Job: l.Job, Log: l.LogName} }

// Compare defines the order in which logs are added up: by host, then by name.
func (l *Log) Compare(o *Log) int {
	return cmp.Or(cmp.Compare(l.Host, o.Host), cmp.Compare(l.LogName, o.LogName))
}

// Span is the time (From, To], in ns.
type Span struct{ From, To int64 }
