package logs

import (
	"time"

	"fiolat/fio"
	"fiolat/pipeline"
)

// Report is what is known of a log after Process.
type Report struct {
	*pipeline.Log
	Version string
	Dirs    []DirectionReport
}

// DirectionReport is one direction of a log; only those with records or totals are listed.
type DirectionReport struct {
	Direction   string
	Records     int64
	EqualStamps int64
	IOs         float64 // as logged, after repair
	First, Last time.Duration
	Repaired    bool
	// Counted is what fio's JSON counted for the log's job, or for the group of Members logs that
	// share its entry; CountedKnown is false without an entry.
	Counted      uint64
	CountedKnown bool
	Members      int
	Restored     float64 // of the job or group, reported with its first log
}

// Report is what is known of the log after Process.
func (l *State) Report() Report {
	r := Report{Log: l.Log}
	if l.Meta != nil {
		r.Version = l.Meta.Version
	}
	for i := range l.dirs {
		d := &l.dirs[i]
		dr := DirectionReport{Direction: fio.Direction(i).String(), Records: d.records, EqualStamps: d.equal,
			IOs:   d.ios,
			First: time.Duration(d.first * msec), Last: time.Duration(d.last * msec), Repaired: l.Repaired[i]}
		if l.Entry != nil && !l.rejected {
			dr.Counted, dr.CountedKnown, dr.Members = l.Entry.Dirs[i].Kind[l.cfg.Settings.Kind].N, true, l.Members
		}
		if t := d.tail; t != nil && t.members[0].State == l && !l.rejected {
			dr.Restored = t.counts.Sum()
		}
		if d.seen || dr.Counted > 0 {
			r.Dirs = append(r.Dirs, dr)
		}
	}
	return r
}
