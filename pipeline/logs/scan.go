package logs

import (
	"context"
	"errors"
	"io"
	"math"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiolog"
)

// scan is the result of reading a whole log without placing anything.
type scan struct {
	dirs [fio.Directions]scanDir
	// The file's last record.
	lastDir  fio.Direction
	lastLine int64
}

type scanDir struct {
	lag  fiolog.Lag
	sums fiohist.Hist
	last int64 // stamp in ms
	// fellAt is the line of the first record in which a bucket falls at lag 2; 0: none.
	fellAt int64
}

// feed adds a record, whose stamp must have been checked.
func (s *scan) feed(r *fiolog.Record) {
	s.lastDir, s.lastLine = r.Dir, r.Line
	d := &s.dirs[r.Dir]
	d.last = r.Time
	c := countsOf(r)
	d.lag.Add(&c)
	if d.lag.Fell && d.fellAt == 0 {
		d.fellAt = r.Line
	}
	d.sums.AddAll(r.Index, r.Count, 0)
}

// allZero reports whether there are records, all without I/Os.
func (s *scan) allZero() bool {
	for d := range s.dirs {
		if !s.dirs[d].sums.Empty() {
			return false
		}
	}
	return s.lastLine > 0
}

// scanLog reads the whole of a log that can be read again.
func scanLog(ctx context.Context, l *State) (*scan, error) { return scanUntil(ctx, l, math.MaxInt64) }

// scanUntil is scanLog up to the first stamp, in ms on the log's clock, that is after last.
func scanUntil(ctx context.Context, l *State, last int64) (*scan, error) {
	in, err := openLog(l)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	in.reader.ReadAhead(l.Ahead)
	s := new(scan)
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r, err := l.record(in)
		var bad *fio.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return s, nil
		case errors.As(err, &bad) && bad.Line > 0 && l.cfg.Settings.SkipBad:
			continue // counted when the log is read again to be placed
		case err != nil:
			return nil, err
		}
		if d := &s.dirs[r.Dir]; d.lag.Records > 0 && r.Time < d.last {
			return nil, backwards(l, r, d.last)
		}
		if s.feed(r); r.Time > last {
			return s, nil
		}
	}
}

// wholeScan scans a whole log. Of a pipe, the head must be all of it.
func (l *State) wholeScan(ctx context.Context) (*scan, error) {
	switch {
	case !l.Pipe:
		return scanLog(ctx, l)
	case l.beyondHead:
		return nil, l.at(0, "cannot tell whether fio --client damaged this log, since it can be read only once",
			"pass --repair yes or no")
	}
	s := new(scan)
	l.head.Each(s.feed)
	return s, nil
}

// ScanWhole reads the whole log for judge.
func (l *State) ScanWhole(ctx context.Context) (err error) {
	l.scan, err = l.wholeScan(ctx)
	return err
}

// LastStamp reads the whole log and returns its last stamp, in ns on its own clock.
func (l *State) LastStamp(ctx context.Context) (last int64, err error) {
	if l.Source.JSON != nil {
		return l.Entry.LongestMS * msec, nil
	}
	s, err := scanLog(ctx, l)
	if err != nil {
		return 0, err
	}
	return s.last(), nil
}

// last returns the last stamp, in ns on the log's clock.
func (s *scan) last() (last int64) {
	for d := range s.dirs {
		last = max(last, s.dirs[d].last*msec)
	}
	return last
}

// EndsBy reports whether the log is known to end by a time in ns on the run's clock: by fio's JSON, or by its last
// stamp. Of a pipe, only the head has been read by now.
func (l *State) EndsBy(ctx context.Context, end int64) bool {
	switch {
	case l.Entry != nil:
		return l.Start+l.Entry.LongestMS*msec <= end
	case l.Pipe && l.beyondHead:
		return false
	case l.Pipe:
		return max(0, l.dirs[0].last, l.dirs[1].last, l.dirs[2].last)*msec+l.shift <= end
	}
	s, err := scanUntil(ctx, l, (end-l.shift)/msec)
	return err == nil && s.last()+l.shift <= end // an error is met again when the log is placed
}
