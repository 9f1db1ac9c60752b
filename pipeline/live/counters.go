package live

import (
	"fmt"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
	"fiolat/pipeline"
)

// counters are what a job had counted at one time.
type counters struct {
	at      int64 // ns since 1970
	runtime int64 // ms
	total   [fio.Directions]uint64
	bins    [fio.Directions][]uint64
}

// readCounters returns the counters of an entry, and whether its bins agree with its totals.
func readCounters(m *fiojson.Document, e *fiojson.Entry, run *pipeline.Run) (c counters, agree bool, err error) {
	c, agree = counters{at: m.CountedMS(e) * msec, runtime: e.LongestMS}, true
	for d, name := range run.Directions() {
		t := &e.Dirs[d].Kind[run.Kind]
		if t.N > 0 && t.Bins.Len() == 0 {
			hint := "run fio with --output-format=json+"
			if run.Kind == fio.Slat || run.Kind == fio.Lat {
				hint += fmt.Sprintf(" and %v_percentiles=1 in the job", run.Kind)
			}
			return c, false, &fio.ParseError{File: m.Path, Msg: fmt.Sprintf("job %q: %d %v latencies of %vs without "+
				"bins", e.JobName, t.N, run.Kind, name), Hint: hint}
		}
		if c.bins[d], err = t.Counts(fiohist.Fio3); err != nil {
			return c, false, &fio.ParseError{File: m.Path, Msg: err.Error()}
		}
		c.total[d] = t.N
		sum := uint64(0)
		for _, n := range c.bins[d] {
			sum += n
		}
		agree = agree && sum <= t.N+t.N/10+1000 // fio reads both while I/Os go on
	}
	return c, agree, nil
}

// start returns when the job started by these, in ns since 1970.
func (c *counters) start() int64 { return c.at - c.runtime*msec }

// sum returns the number of I/Os.
func (c *counters) sum() (n float64) {
	for _, bins := range c.bins {
		for _, b := range bins {
			n += float64(b)
		}
	}
	return n
}

// since returns what a direction has more in each bucket than it had before.
func (c *counters) since(before *counters, d fio.Direction) (more fiohist.Sparse) {
	for b, n := range c.bins[d] {
		if before.bins[d] != nil {
			n -= min(before.bins[d][b], n)
		}
		if n > 0 {
			more.Add(uint16(b), float64(n))
		}
	}
	return more
}

// fell reports whether some bins are lower than before, and whether fio was restarted, which resets all of them. step
// is the usual time between two documents in ns.
func (c *counters) fell(before *counters, step int64) (some, reset bool) {
	had, fewer := 0, 0
	reset = c.runtime < before.runtime
	for d := range c.bins {
		reset = reset || c.total[d] < before.total[d]
		for b, n := range before.bins[d] {
			if n > 0 {
				had++
			}
			if n > c.bins[d][b] {
				fewer++
			}
		}
	}
	moved := c.start() - before.start()
	return fewer > 0, reset || fewer > 0 && (4*fewer > had || max(moved, -moved) > 2*step+1e9)
}

// stall says where to put what a stalled job completed: a share of the I/Os of at most long ns before fio asked, ns
// since 1970, and the rest at the end of the stall.
type stall struct {
	asked, long int64
	share       float64 // 0: it was not stalled
}

// stalled determines whether a job was stalled while fio waited for it or for another one: it has I/Os that took as
// long, or not many more than expected until fio asked, which was long ns before it answered.
func (le *entry) stalled(now *counters, asked, long int64) (s stall) {
	expected, short, waited := le.rate*float64(asked-le.at), 0.0, false
	for d := range fio.Direction(fio.Directions) {
		more := now.since(&le.counters, d)
		for i, b := range more.Index {
			if fiohist.Fio3.Upper(int(b)) <= long {
				short += more.Count[i]
			} else {
				waited = true
			}
		}
	}
	if expected <= 0 || !waited && short > 1.5*expected {
		return s
	}
	return stall{asked, long, min(expected/max(short, 1), 1)}
}

// split splits the I/Os of a direction between the time before fio asked and the end of the stall.
func (s stall) split(c *fiohist.Sparse) (before, after *fiohist.Sparse) {
	before, after = new(fiohist.Sparse), new(fiohist.Sparse)
	for i, b := range c.Index {
		share := s.share
		if fiohist.Fio3.Upper(int(b)) > s.long {
			share = 0
		}
		if n := fiohist.Share(c.Count[i], 0, share); n > 0 {
			before.Add(b, n)
		}
		if n := fiohist.Share(c.Count[i], share, 1); n > 0 {
			after.Add(b, n)
		}
	}
	return before, after
}
