package pipeline

import (
	"fiolat/fio"
	"fiolat/ingest/fiojson"
)

// sized are the logs of one entry of fio's JSON in one direction, or in all where fio counts these together.
type sized struct {
	entry  *fiojson.Entry
	totals *fiojson.DirTotals
	// I/Os in logs and their bytes by options: of those that all have one size, of those whose mean size is known, and
	// of the others.
	fixed, mean, unknown struct{ ios, bytes float64 }
	// doubt is the variance of fixed.bytes: which log restored I/Os belong to is not certain.
	doubt float64
	// What the sizes by options are multiplied with, and the size of the others; 0 if that is unknown.
	factorFixed, factorMean, other float64
}

// SetBytes sets the bytes of the logs' I/Os. Those of an entry of fio's JSON are as large as its bytes over its I/Os.
// In a group an I/O has the one size of its section. Means of sections with several sizes are scaled to what the others
// leave, and a section whose size is unknown has the rest; beside I/Os that are in no log, it stays unknown, 0. entryOf
// returns nil for a log whose entry turned out to belong to another run.
func SetBytes(logs []*Log, entryOf func(*Log) *fiojson.Entry) {
	type key struct {
		entry *fiojson.Entry
		dir   int
	}
	groups := map[key]*sized{}
	groupOf := func(l *Log, d int) *sized {
		e := entryOf(l)
		if e == nil {
			return nil
		}
		k, t := key{e, d}, &e.Dirs[d]
		if t.TotalIOs == 0 {
			k.dir, t = fio.Directions, &e.Mixed
		}
		if groups[k] == nil {
			groups[k] = &sized{entry: e, totals: t}
		}
		return groups[k]
	}
	for _, l := range logs {
		for d := range l.Dirs {
			if g := groupOf(l, d); g != nil {
				g.add(l, fio.Direction(d))
			}
		}
	}
	for _, g := range groups {
		g.scale()
	}
	for _, l := range logs {
		for d := range l.Dirs {
			size, fixed := l.blockSize(fio.Direction(d))
			if g := groupOf(l, d); g != nil {
				size = g.size(size, fixed)
			}
			l.Dirs[d].Bytes = l.Dirs[d].IOs * size
		}
	}
}

// blockSize returns the mean size of a direction's I/Os by the job file, 0 if it is unknown, and whether all have it.
func (l *Log) blockSize(d fio.Direction) (mean float64, fixed bool) {
	if l.Section == nil {
		return 0, false
	}
	return fiojson.Workload{Option: l.Option}.BlockSize(d)
}

func (g *sized) add(l *Log, d fio.Direction) {
	ios := l.Dirs[d].IOs
	size, fixed := l.blockSize(d)
	of := &g.unknown
	switch {
	case fixed:
		of = &g.fixed
		g.doubt += size * size * l.Dirs[d].Restored / 4
	case size > 0:
		of = &g.mean
	}
	of.ios, of.bytes = of.ios+ios, of.bytes+ios*size
}

// scale finds the sizes at which all I/Os have the bytes that fio counted. What is not known stays as the options say;
// I/Os of unknown size have the rest; else the means are moved first, and then all are.
func (g *sized) scale() {
	g.factorFixed, g.factorMean = 1, 1
	bytes, ok := g.here()
	left := bytes - g.fixed.bytes
	switch rest := left - g.mean.bytes; {
	case !ok || g.fixed.ios+g.mean.ios+g.unknown.ios == 0:
	case g.unknown.ios > 0:
		g.other = max(rest/g.unknown.ios, 0)
	case g.mean.ios > 0 && left > 0: // by what is left, and by options, each the more the surer it is
		const spread = 0.25 // square of the standard deviation of a size, relative to its mean
		byLeft, byOptions := g.doubt/(g.mean.bytes*g.mean.bytes), spread/g.mean.ios
		g.factorMean = (left/g.mean.bytes*byOptions + byLeft) / (byLeft + byOptions)
		fallthrough
	default:
		all := bytes / (g.fixed.bytes + g.mean.bytes*g.factorMean)
		g.factorFixed, g.factorMean = all, all*g.factorMean
	}
}

// here returns the bytes of the I/Os in the logs; false if an unknown part of what fio counted is of other sections.
func (g *sized) here() (bytes float64, ok bool) {
	all, n := float64(g.totals.Bytes), float64(g.totals.Completed())
	ios := g.fixed.ios + g.mean.ios + g.unknown.ios
	switch {
	case n == 0 || all == 0:
		return 0, false
	case n-ios < 0.5:
		return all, true
	}
	return all * ios / n, len(g.entry.Sections) == 0
}

// size returns the size of a log's I/Os, whose mean by options is given; 0 if it is unknown.
func (g *sized) size(mean float64, fixed bool) float64 {
	switch {
	case g.totals.Bytes == 0:
		return 0
	case fixed:
		return mean * g.factorFixed
	case mean > 0:
		return mean * g.factorMean
	}
	return g.other
}
