package logs

import (
	"fmt"
	"math"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/fiolog"
)

// slowest describes the last group of buckets, of 8.6 s and more, in a log's latest record. The garbage that fio
// --client leaves at the end of a log's last record lies there.
type slowest struct {
	line    int64 // of the record; 0 if it has no I/Os there
	dir     fio.Direction
	ios     float64
	least   int64   // lower edge in ns of the first of these buckets that is not empty
	stamp   int64   // of the record, in ns on the log's clock
	fullest float64 // I/Os of the fullest record of the direction before it
	before  bool    // an earlier record of the log has some, too
}

// add takes the counts of the next record. fullest is the largest sum of the direction's records before it.
func (s *slowest) add(r *fiolog.Record, c *fiohist.Sparse, g fiohist.Geometry, fullest float64) {
	s.before = s.before || s.line > 0
	s.line = 0
	from := (g.Groups - 1) * fiohist.PerGroup >> g.Coarseness
	i := len(c.Index)
	for i > 0 && int(c.Index[i-1]) >= from {
		i--
	}
	if i == len(c.Index) {
		return
	}
	s.line, s.dir, s.ios, s.fullest = r.Line, r.Dir, 0, fullest
	s.least, s.stamp = g.Lower(int(c.Index[i])), r.Time*msec
	for _, n := range c.Count[i:] {
		s.ios += n
	}
}

// manyTimes is the largest plausible ratio of the I/Os of 8.6 s and more in a log's last record to all I/Os of any
// record before it: they were all in flight at once.
const manyTimes = 50

// why returns why the I/Os may be garbage; "" if nothing suggests it.
func (s *slowest) why(absolute bool) string {
	switch took := time.Duration(s.least).Round(10 * time.Millisecond); {
	case !absolute && s.least > s.stamp:
		return fmt.Sprintf("%.0f %ss took %v or more, though the record ended %v after the job's start", s.ios, s.dir,
			took, time.Duration(s.stamp))
	case !s.before && s.fullest > 0 && s.ios > manyTimes*s.fullest:
		return fmt.Sprintf("%.0f %ss took %v or more, none in any record before it, of which the fullest has %.0f %ss",
			s.ios, s.dir, took, s.fullest, s.dir)
	}
	return ""
}

// WarnGarbage warns of logs of fio --client whose last record may end in garbage, where no totals can decide.
func WarnGarbage(logs []*State, warn func(format string, args ...any)) {
	here := map[*fiojson.Entry]int{}
	for _, l := range logs {
		here[l.Entry]++
	}
	for _, l := range logs {
		s := &l.slowest
		counted := l.Entry != nil && !l.rejected && l.Entry.Dirs[s.dir].Kind[fio.Clat].N > 0 &&
			here[l.Entry] >= l.Members
		if s.line == 0 || counted || l.Source.Name.Host == "" {
			continue
		}
		if why := s.why(l.Absolute); why != "" {
			warn("%s:%d: may be damaged, and the numbers too high: fio --client can leave garbage in a log's last "+
				"record, and in this one %s; pass --fio-json to decide",
				fio.Printable(l.Source.Path), s.line, why)
		}
	}
}

// mayMend reports whether fio's JSON may show which counts of the log are garbage that fio --client left.
func (l *State) mayMend() bool {
	return l.Source.Name.Hist && l.Source.Name.Host != "" && l.Entry != nil && l.Meta.ClientServer &&
		l.cfg.Settings.Repair == fio.RepairAuto
}

// middle is what a log has below its middle bucket, from which on fio 3.6 to 3.16 log nothing.
type middle struct {
	below [len(belowMiddle)]float64 // I/Os from each of these buckets to the next
	above bool                      // some in it or above
}

// belowMiddle are buckets of coarseness 0 that divide the octaves below the middle one, 928, three times: in octaves,
// in quarters of them, and in sixteenths.
var belowMiddle = [...]int{736, 800, 864, 880, 896, 912, 916, 920, 924}

// nearMiddle takes the counts of the next record.
func (l *State) nearMiddle(c *fiohist.Sparse) {
	half := l.g.Columns() / 2
	at := len(belowMiddle) - 1
	for i := len(c.Index) - 1; i >= 0 && l.g.Groups == fiohist.GroupsV3; i-- {
		b := int(c.Index[i])
		l.middle.above = l.middle.above || b >= half
		if l.middle.above {
			return
		}
		for at >= 0 && b < belowMiddle[at]>>l.g.Coarseness {
			at--
		}
		if at < 0 {
			return
		}
		l.middle.below[at] += c.Count[i]
	}
}

// add adds up what several logs have.
func (m *middle) add(o *middle) {
	m.above = m.above || o.above
	for i, n := range o.below {
		m.below[i] += n
	}
}

// near returns the I/Os in the 16 buckets right below the middle.
func (m *middle) near() (n float64) { return m.from(5, len(m.below)) }

func (m *middle) from(i, to int) (n float64) {
	for _, k := range m.below[i:to] {
		n += k
	}
	return n
}

// beyond returns how many I/Os a smooth tail, which falls ever more steeply, has above the middle at least.
func (m *middle) beyond() float64 {
	octaves := further(m.from(0, 1), m.from(1, 2), m.from(2, 9), 1)
	if min(m.from(0, 1), m.from(1, 2)) < 5 { // all in one
		octaves = 0
	}
	const half = 2 // the buckets of the first are half as wide
	quarters := further(m.from(3, 4), m.from(4, 5), m.from(5, 9), half)
	// What rises to the last quarter may fall within it.
	if at, before := m.from(5, 9), m.from(4, 5); at-math.Sqrt(at) > before+2*math.Sqrt(before)+1 {
		quarters = 0
	}
	return max(octaves, quarters, further(m.below[6], m.below[7], m.below[8], 1))
}

// further continues three counts, of which the first is of a width so many times smaller. Each may be off by its
// standard deviation.
func further(a, b, c, wider float64) float64 {
	less := func(n float64) float64 { return max(n-math.Sqrt(n), 0) }
	most := b + 2*math.Sqrt(b) + 1
	falls := less(c) / most
	fell := most / (wider * max(less(a), 0.5))
	falls = min(falls*min(falls/fell, 1), 0.9)
	return c * falls / (1 - falls)
}

// WarnMiddle warns of logs without fio's JSON whose I/Os end right below the middle bucket, though a smooth tail would
// go on: by chance it does not in one of a thousand.
func WarnMiddle(logs []*State, warn func(format string, args ...any)) {
	const few, sure = 5, 7
	var first *State
	var sum middle
	for _, l := range logs {
		sum.add(&l.middle)
		if l.middle.near() > 0 && first == nil {
			first = l
		}
	}
	if !sum.above && sum.near() >= few && sum.beyond() >= sure {
		warn("%s: %s right below 0.786 ms, and none above: fio 3.6 to 3.16 log no I/O that takes longer, so slower ones "+
			"are missing; pass fio's JSON, or use another version of fio", fio.Printable(first.Source.Path),
			fio.Several(sum.near(), "I/O"))
	}
}
