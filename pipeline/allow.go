package pipeline

import (
	"path/filepath"

	"fiolat/ingest/fiojson"
)

// manyTimes is how many times the length of a run may be spread over before somebody is asked: a
// wrong clock or offset makes millions of quanta, each with documents.
const manyTimes = 10

// minLive is how many quanta a run that is followed live may have at least: a new fio may append to
// the stream of one before, which had ended for a while.
const minLive = 3600

// ask asks whether so many quanta shall be made, where a run of this length has usual ones; once.
func ask(allow *func(quanta, usual int64) error, quanta, usual int64) error {
	f := *allow
	if f == nil || quanta <= manyTimes*usual {
		return nil
	}
	*allow = nil
	return f(quanta, usual)
}

// allow asks before the quanta up to `to` are handed on.
func (r *rounds) allow(to int64) error {
	if r.cfg.Allow == nil {
		return nil
	}
	for _, l := range r.logs {
		to = max(to, r.grid.index(l.Start)+1)
	}
	return ask(&r.cfg.Allow, to-r.grid.first, r.length()/r.grid.interval+1)
}

// length is that of the longest part of the run whose logs go by one clock, in ns: from the first
// start to the last end known so far. Logs go by one clock if they are of one host and share fio's
// JSON, or without it a folder.
func (r *rounds) length() (longest int64) {
	type clock struct {
		meta       *fiojson.Document
		host, path string
	}
	type span struct{ from, to int64 }
	spans := map[clock]span{}
	for _, l := range r.logs {
		at := clock{meta: l.Meta, host: l.Host}
		if at.meta == nil {
			at.path = filepath.Dir(l.Source.Path)
		}
		s, known := spans[at]
		if !known {
			s = span{l.Start, l.Start}
		}
		s = span{min(s.from, l.Start), max(s.to, l.Start, l.end)}
		spans[at] = s
		longest = max(longest, s.to-s.from)
	}
	return longest
}

// allow asks before I/Os are shared out over the quanta up to a time, in ns since 1970. What has
// been handed on is part of the run's length.
func (l *Live) allow(at int64) error {
	longest := int64(0)
	for _, le := range l.entries {
		longest = max(longest, le.log.Entry.LongestMS*msec)
	}
	usual := max(longest/l.grid.interval+1, l.merge.done-l.grid.first, minLive/manyTimes)
	return ask(&l.cfg.Allow, l.grid.index(at-l.run.Start)+1-l.grid.first, usual)
}
