package plan

import (
	"path/filepath"

	"fiolat/ingest/fiojson"
	"fiolat/pipeline/intervals"
)

// allow calls intervals.CheckIntervals before the intervals up to `to` are passed on.
func (r *rounds) allow(to int64) error {
	for _, l := range r.logs {
		to = max(to, r.grid.Index(l.Start)+1)
	}
	return intervals.CheckIntervals(&r.cfg.Allow, to-r.grid.First,
		func() int64 { return r.length()/r.grid.Interval + 1 })
}

// length returns the length, in ns, of the longest part of the run whose logs go by one clock: from
// the first start to the last end known so far. Logs go by one clock if they are of one host and
// share fio's JSON or, without it, a folder.
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
		s = span{min(s.from, l.Start), max(s.to, l.Start, l.Reached)}
		spans[at] = s
		longest = max(longest, s.to-s.from)
	}
	return longest
}
