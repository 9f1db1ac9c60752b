package pipeline

import (
	"fmt"
	"math"

	"fiolat/ingest"
	"fiolat/internal/fiohist"
)

// tail is what fio counted in one direction of one entry of its JSON and no log
// holds: fio never writes the last, partial window.
type tail struct {
	meta    *ingest.Meta
	entry   *ingest.Entry
	dir     ingest.Direction
	members []*logState // the logs that the entry stands for, sorted
	bins    []uint64    // fio's counts on the logs' grid
	done    bool
	counts  counts // what was restored
}

// weigh computes the tail from what the logs hold; their sums must be final. A
// bucket that holds more than fio counted says that logs and JSON do not belong
// together.
func (t *tail) weigh() (misfit string) {
	left := make([]float64, len(t.bins))
	for b, n := range t.bins {
		left[b] = float64(n)
	}
	for _, l := range t.members {
		l.dirs[t.dir].sums.Each(func(b int, n float64) { left[b] -= n })
	}
	t.counts.reset()
	for b, n := range left {
		switch {
		case n < 0:
			return fmt.Sprintf("%s: fio's JSON and the logs do not belong together: of job %q's %vs around %.0f ns the logs hold %.0f, fio counted %d; nothing was restored",
				ingest.Printable(t.meta.Path), t.entry.JobName, t.dir, t.members[0].g.Middle(b), float64(t.bins[b])-n, t.bins[b])
		case n > 0:
			t.counts.add(uint16(b), n)
		}
	}
	return ""
}

// restore adds the tail to the quanta of the entry's first log. It lies in (last
// stamp, the job's start + the direction's runtime]; of several logs from the
// earliest last stamp on, and from the job's start where there is no record.
func (t *tail) restore() error {
	if len(t.counts.n) == 0 {
		return nil
	}
	first := t.members[0]
	from, latest := int64(math.MaxInt64), int64(math.MinInt64)
	for _, l := range t.members {
		last := l.Start
		if d := &l.dirs[t.dir]; d.seen {
			last = d.last*msec + l.shift
		}
		from, latest = min(from, last), max(latest, last)
	}
	to := max(first.Start+t.entry.Dirs[t.dir].RuntimeMS*msec, latest+msec)
	first.end = max(first.end, to)
	first.dirs[t.dir].some = true
	if err := first.align.add(piece{from, to, &t.counts}, t.dir); err != nil {
		return first.at(0, "the tail cannot be restored: "+err.Error(), "pass --no-restore")
	}
	return nil
}

// settleTails resolves all tails of one JSON document. If one does not fit,
// nothing is restored and the document's limits are not believed either.
func settleTails(all []*tail, meta *ingest.Meta) (restored float64, misfits []string, err error) {
	var mine []*tail
	for _, t := range all {
		if t.meta == meta && !t.done {
			t.done = true
			mine = append(mine, t)
			if m := t.weigh(); m != "" {
				misfits = append(misfits, m)
			}
		}
	}
	if len(misfits) > 0 {
		return 0, misfits, nil
	}
	for _, t := range mine {
		if err := t.restore(); err != nil {
			return 0, nil, err
		}
		restored += t.counts.sum()
	}
	return restored, nil, nil
}

// tails finds what is owed by the logs: one tail per entry and direction.
func tails(logs []*logState) (all []*tail, err error) {
	type key struct {
		entry *ingest.Entry
		dir   int
	}
	known := map[key]*tail{}
	for _, l := range logs {
		if l.Entry == nil || l.single() != nil {
			continue
		}
		for d := range l.dirs {
			totals := &l.Entry.Dirs[d].Kind[ingest.Clat]
			if len(totals.Bins) == 0 {
				continue
			}
			k := key{l.Entry, d}
			t := known[k]
			if t == nil {
				t = &tail{meta: l.Meta, entry: l.Entry, dir: ingest.Direction(d)}
				if t.bins, err = totals.Counts(l.g); err != nil {
					return nil, l.at(0, err.Error(), "give the JSON of this very run with --fio-json, or pass --no-restore")
				}
				known[k] = t
				all = append(all, t)
			}
			if t.members = append(t.members, l); t.members[0].g != l.g {
				return nil, l.at(0, fmt.Sprintf("%v, but another log of the same job is %v", l.g, t.members[0].g), "pass --no-restore")
			}
			l.dirs[d].owed = t
			l.dirs[d].sums = new(fiohist.Hist)
		}
	}
	return all, nil
}
