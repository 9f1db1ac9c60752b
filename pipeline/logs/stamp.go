package logs

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"fiolat/fio"
	"fiolat/ingest/fiolog"
)

// longestPause is the longest time between two lines of a log, in ms, that is believed: a million seconds. Of one that
// is longer than doubtfulPause, and most of the log, WarnPauses warns.
const (
	longestPause  = 1e9
	doubtfulPause = 3_600_000
)

// unlimited is a limit of stamps that says nothing.
const unlimited = math.MaxInt64

// record reads the next record, and refuses one whose stamp cannot be true.
func (l *State) record(in *opened) (*fiolog.Record, error) {
	r, err := in.reader.Next()
	if err != nil {
		return r, err
	}
	if !in.began {
		in.began, in.first, in.latest = true, r.Time, r.Time
		in.limit, in.end = l.lastStamp(r.Time)
	} else if r.Time-in.latest > longestPause {
		return nil, l.at(r.Line, fmt.Sprintf("stamp %d ms: no line for %v before it", r.Time,
			(time.Duration(r.Time-in.latest)*time.Millisecond).Round(time.Hour)), wrongStamp)
	}
	if r.Time > in.limit && l.Fits() {
		return nil, l.at(r.Line, fmt.Sprintf("stamp %d ms: by fio's JSON, which fits the log, the job ended by "+
			"%d ms", r.Time, in.end), wrongStamp)
	}
	pause := r.Time - in.latest
	if in.limit == unlimited && pause > max(l.pause, doubtfulPause, 9*(in.latest-in.first)) {
		l.pause, l.afterPause = pause, r.Line
	}
	in.latest = max(in.latest, r.Time)
	return r, nil
}

const wrongStamp = "wrong stamp? copy the log again, or pass --skip-bad to count and skip the line"

// lastStamp returns the latest stamp that a record of the log can have by fio's JSON, and the end of the job, both in
// ms on the log's clock, whose first stamp is first. The last completion is noted before the job's runtime is: the
// longest latency and a window are for what fio's versions count differently.
func (l *State) lastStamp(first int64) (limit, end int64) {
	if l.Entry == nil || l.Meta.Cut || l.Source.JSON != nil {
		return unlimited, 0
	}
	e := l.Entry
	runtime, longest, all := e.LongestMS, int64(0), int64(0)
	for d := range e.Dirs {
		t := &e.Dirs[d].Kind[l.Source.Name.Kind]
		if t.N > 0 && t.Max == math.MaxInt64 {
			return unlimited, 0
		}
		longest, all = max(longest, t.Max), all+e.Dirs[d].RuntimeMS
	}
	if v, _ := l.Option("verify"); v != "" && v != "0" {
		runtime = max(runtime, e.RuntimeMS, all)
	}
	if runtime == 0 {
		return unlimited, 0
	}
	h, _ := l.option("log_hist_msec")
	slack := longest/1e6 + cmp.Or(l.cfg.Settings.LogHistMsec, h, 1000)
	start := int64(0)
	if first > runtime+slack { // absolute, or on another clock
		start = first
	}
	return start + runtime + slack, start + runtime
}

// WarnPauses warns of logs with hardly more than one long pause, which a wrong stamp makes, too.
func WarnPauses(logs []*State, warn func(format string, args ...any)) {
	for _, l := range logs {
		if l.pause > 0 {
			warn("%s:%d: no line for %v before it: is its stamp right? fio's JSON would tell",
				fio.Printable(l.Source.Path), l.afterPause,
				(time.Duration(l.pause) * time.Millisecond).Round(time.Minute))
		}
	}
}
