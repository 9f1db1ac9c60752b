package pipeline

import (
	"fmt"
	"slices"
	"sync"

	"fiolat/ingest"
	"fiolat/internal/fiohist"
)

// lag2 watches the raw records of one direction of one log for the damage that
// fio --client does: the server subtracts in place, so that what is written is
// h(n) = cum(n) - h(n-1), and cum(n) = h(n) + h(n-1). Then every bucket never
// falls at lag 2, since h(n) - h(n-2) is what completed in between; which also
// repairs it exactly.
type lag2 struct {
	records int64
	fell    bool // some bucket fell at lag 2: proof of health

	// Evidence where there is no JSON to compare sums with. A healthy log whose
	// buckets fall from one record to the next also falls at lag 2 now and then;
	// a damaged one falls at lag 1 all the time (even and odd records are separate
	// running sums) and never at lag 2.
	ones  int64 // buckets that held one I/O two records before: the likeliest to fall
	mixed int64 // steps in which buckets fell and others rose

	*lagRecords // nil before the first record, and after a fall
}

// lagRecords is what lag2 must remember.
type lagRecords struct {
	raw        [2]counts // the last record and the one before
	diff, step counts    // scratch
}

// lagMemory is what no lag2 needs any more: most need it for three records.
var lagMemory = sync.Pool{New: func() any { return new(lagRecords) }}

// see takes the next raw record and returns what truly completed in it, if the
// log is damaged. It is overwritten by the next call. From a fall on, which says that it
// is not, nothing else is of interest, and nothing is returned.
func (l *lag2) see(c *counts) counts {
	l.records++
	if l.fell {
		return counts{}
	}
	if l.lagRecords == nil {
		l.lagRecords = lagMemory.Get().(*lagRecords)
	}
	d := &l.diff
	d.combine(c, &l.raw[1], -1)
	if l.records > 2 {
		for _, n := range d.n {
			l.fell = l.fell || n < 0
		}
		if l.fell {
			l.raw[0].reset()
			l.raw[1].reset()
			lagMemory.Put(l.lagRecords)
			l.lagRecords = nil
			return counts{}
		}
		for _, n := range l.raw[1].n {
			if n == 1 {
				l.ones++
			}
		}
		falls, rises := 0, 0
		l.step.combine(c, &l.raw[0], -1)
		for _, n := range l.step.n {
			if n < 0 {
				falls++
			} else {
				rises++
			}
		}
		if falls >= 3 && rises >= 3 {
			l.mixed++
		}
	}
	l.raw[0], l.raw[1] = l.raw[1], l.raw[0]
	l.raw[0].copy(c)
	return *d
}

// suspect says that the direction could be damaged: there is a third record, and
// nothing fell.
func (l *lag2) suspect() bool { return l.records >= 3 && !l.fell }

// certain says that no healthy log looks like this: at least 100 times a bucket
// that held a single I/O did not empty within two records, while in at least 8
// steps from record to record some buckets fell and others rose. Had the single
// I/Os come by chance, with the load doubling every two records, a bucket would
// have stayed empty with probability exp(-2): (1 - 0.135)^100 is 5e-7, and load
// that only grows, however steadily, has no falls at lag 1.
func (l *lag2) certain() bool { return l.suspect() && l.ones >= 100 && l.mixed >= 8 }

// looks says that it is worth a warning.
func (l *lag2) looks() bool { return l.suspect() && l.records >= 6 && l.mixed >= 3 }

// verdict is what was decided on one direction of one log.
type verdict struct {
	repair bool
	why    string

	// garbage are the buckets of line garbled that hold no I/Os: now and then fio
	// --client leaves what lay in its memory in the end of a log's last record (2 of
	// 126 runs of fio 3.33: 134577 I/Os beyond 15 s, a size of the C library's heap).
	garbage []uint16
	garbled int64
}

// judge decides which directions of which logs are damaged. Without --repair or
// --no-repair it takes proof: with fio's totals, that the logs hold more than fio
// counted and fit it once repaired; without, the certainty of lag2 in a log that
// has a host in its name, as all logs of fio --client have.
func judge(logs []*logState, mode string, warn func(string)) {
	logs = slices.DeleteFunc(slices.Clone(logs), func(l *logState) bool { return l.single() != nil }) // fio --client spoils histograms only
	switch mode {
	case "no":
		return
	case "yes":
		for _, l := range logs {
			for d := range l.dirs {
				l.dirs[d].verdict = verdict{repair: true, why: "--repair"}
			}
		}
		return
	}
	type key struct {
		entry *ingest.Entry
		dir   int
	}
	groups := map[key][]*logState{}
	var order []key
	for _, l := range logs {
		for d := range l.dirs {
			if l.Entry == nil || l.Entry.Dirs[d].Kind[ingest.Clat].N == 0 {
				judgeAlone(l, ingest.Direction(d), warn)
				continue
			}
			k := key{l.Entry, d}
			if groups[k] == nil {
				order = append(order, k)
			}
			groups[k] = append(groups[k], l)
		}
	}
	// A run whose one log is proven damaged came over --client as a whole.
	proven := map[*ingest.Meta]bool{}
	fits := map[key]bool{}
	garbage := map[key]map[*logState][]uint16{}
	for _, k := range order {
		before, after, junk, ok := weigh(groups[k], k.dir, k.entry)
		if !ok {
			continue
		}
		fits[k], garbage[k] = after, junk
		if after && !before {
			proven[groups[k][0].Meta] = true
		}
	}
	for _, k := range order {
		meta := groups[k][0].Meta
		if !fits[k] || !proven[meta] {
			continue
		}
		for _, l := range groups[k] {
			v := &l.dirs[k.dir].verdict
			if l.scan.dirs[k.dir].lag.suspect() {
				v.repair, v.why = true, "the log holds more than fio counted, no bucket falls at lag 2, and it fits fio's totals once repaired"
			}
			if junk := garbage[k][l]; len(junk) > 0 {
				v.garbage, v.garbled = junk, l.scan.lastLine
				warn(fmt.Sprintf("%s:%d: garbage that fio --client left in its last record: buckets %d, where fio counted no I/O; they were emptied",
					ingest.Printable(l.Source.Path), v.garbled, junk))
			}
		}
	}
}

// weigh says whether the logs of an entry fit its totals in direction d as they
// are, and once repaired, but for buckets of a file's last record in which fio
// counted nothing at all: garbage. ok is false if one of the logs is proven healthy
// or none has a third record.
func weigh(logs []*logState, d int, entry *ingest.Entry) (before, after bool, garbage map[*logState][]uint16, ok bool) {
	totals := &entry.Dirs[d].Kind[ingest.Clat]
	bins, err := totals.Counts(logs[0].g)
	counted := err == nil && len(totals.Bins) > 0
	garbage = map[*logState][]uint16{}
	var raw, repaired fiohist.Hist
	for _, l := range logs {
		s := l.scan
		if s == nil || s.dirs[d].lag.fell {
			return false, false, nil, false
		}
		dir := &s.dirs[d]
		ok = ok || dir.lag.suspect()
		raw.AddHist(&dir.sums)
		if counted && dir.lag.records > 0 && int(s.lastDir) == d {
			last := &dir.lag.raw[0]
			for i, b := range last.index {
				if int(b) < len(bins) && bins[b] == 0 {
					garbage[l] = append(garbage[l], b)
					raw.Add(int(b), -last.n[i])
				}
			}
		}
		// The repaired records telescope to the last two raw ones.
		if dir.lag.records <= 2 {
			repaired.AddHist(&dir.sums)
			continue
		}
		for i := range dir.lag.raw {
			for j, b := range dir.lag.raw[i].index {
				if i > 0 || !slices.Contains(garbage[l], b) {
					repaired.Add(int(b), dir.lag.raw[i].n[j])
				}
			}
		}
	}
	if !ok {
		return false, false, nil, false
	}
	if !counted {
		n := float64(totals.N)
		return raw.Sum() <= n, repaired.Sum() <= n, nil, true
	}
	return within(&raw, bins), within(&repaired, bins), garbage, true
}

// within says that no bucket holds more than fio counted.
func within(h *fiohist.Hist, bins []uint64) bool {
	ok := true
	h.Each(func(i int, n float64) { ok = ok && i < len(bins) && n <= float64(bins[i]) })
	return ok
}

func judgeAlone(l *logState, d ingest.Direction, warn func(string)) {
	lag := &l.dirs[d].lag
	switch {
	case lag.certain() && l.Source.Name.Host != "":
		l.dirs[d].verdict = verdict{repair: true, why: "no bucket ever falls at lag 2, beyond chance, and the log's name ends in a host"}
	case lag.looks():
		warn(fmt.Sprintf("%s: %v looks damaged by fio --client (no bucket falls at lag 2), but there is no fio JSON to prove it: pass --fio-json, --repair or --no-repair",
			ingest.Printable(l.Source.Path), d))
	}
}
