package logs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/fiolog"
)

// verdict is the decision on one direction of one log.
type verdict struct {
	repair bool
	why    string

	// garbage are the buckets of line garbled that hold no I/Os. fio --client can leave the content of its memory at
	// the end of a log's last record, such as 134577, a size of the C library's heap, in a bucket beyond 15 s.
	garbage []uint16
	garbled int64

	// unrepairableLine, if not 0, is the line of a damaged log before which records are lost. Without them it cannot be
	// repaired, and none of the direction's records can be used.
	unrepairableLine int64
}

// Suspect reports whether a direction of the log could be damaged, by its head or since it came
// over fio --client, and fio's JSON has its sums.
func (l *State) Suspect() bool {
	over := l.Meta != nil && l.Meta.ClientServer && l.Source.Name.Host != ""
	for d := range l.dirs {
		if lag := &l.dirs[d].lag; l.Entry != nil && (lag.Suspect() || over && lag.Fell) {
			return true
		}
	}
	return false
}

// Repair decides which logs are damaged, and warns of them. If it returns foreign, JSON documents of other runs,
// nothing was decided and the logs must be read again without these. With a pipe, which cannot be, foreign is nil.
func Repair(logs []*State, mode string, warn func(format string, args ...any)) (foreign []*fiojson.Document) {
	foreign = judge(logs, mode, func(w string) { warn("%s", w) })
	if len(foreign) > 0 && !slices.ContainsFunc(logs, func(l *State) bool { return l.Pipe }) {
		return foreign
	}
	repaired := map[string][]string{} // by reason: one warning for all logs that share it
	for _, l := range logs {
		l.scan = nil
		for d := range l.dirs {
			if v := l.dirs[d].verdict; v.repair && l.dirs[d].lag.Records > 2 {
				l.Repaired[d] = true
				name := fio.Printable(l.Source.Path)
				if !slices.Contains(repaired[v.why], name) {
					repaired[v.why] = append(repaired[v.why], name)
				}
			}
		}
	}
	for _, why := range slices.Sorted(maps.Keys(repaired)) {
		names := repaired[why]
		text := fmt.Sprintf("%d of %s repaired (fio --client counts I/Os twice)", len(names),
			fio.Several(len(logs), "log"))
		if why == provenByTotals || why == provenByAnother {
			warn("%s%s; %s", fio.NotePrefix, text, why)
		} else {
			warn("%s, %s: %s", text, why, fio.Some(names))
		}
	}
	return nil
}

// provenByTotals is why a log is repaired that fio's totals prove to be damaged before and right afterwards.
const provenByTotals = "totals agree with fio's"

// provenByAnother is why a log is repaired of which fio's totals are not here, but prove another host's of its name.
const provenByAnother = "fio's totals prove it of another host's logs of the same names"

// judge decides which directions of which logs are damaged. With --repair auto it needs proof: with fio's
// totals, that the logs hold more than fio counted and fit it once repaired; without, what judgeUncounted finds in logs
// that have a host in their names, as all logs of fio --client have.
//
// foreign are the JSON documents of other runs: logs that could be damaged fit none of their totals, neither as logged
// nor once repaired. Nothing is decided then.
func judge(logs []*State, mode string, warn func(string)) (foreign []*fiojson.Document) {
	// fio --client damages only histograms
	logs = slices.DeleteFunc(slices.Clone(logs), func(l *State) bool { return l.single() != nil })
	switch mode {
	case fio.RepairNo:
		return nil
	case fio.RepairYes:
		for _, l := range logs {
			for d := range l.dirs {
				l.dirs[d].verdict = verdict{repair: true, why: "--repair yes"}
			}
		}
		return nil
	}
	groups := countedOf(logs, fio.Clat)
	// If one log is proven damaged, its whole run came over --client.
	proven, belongs := map[*fiojson.Document]bool{}, map[*fiojson.Document]bool{}
	for _, g := range groups {
		g.compare()
		meta := g.logs[0].Meta
		if g.before || g.after || g.fell {
			belongs[meta] = true
		} else if !slices.Contains(foreign, meta) {
			foreign = append(foreign, meta)
		}
		proven[meta] = proven[meta] || g.after && !g.before
	}
	foreign = slices.DeleteFunc(foreign, func(m *fiojson.Document) bool { return belongs[m] })
	if len(foreign) > 0 {
		return foreign
	}
	for _, g := range groups {
		if !g.before && !g.after && overClient(g.logs) && g.leaveOut(warn) {
			g.fits, proven[g.logs[0].Meta] = true, true
		}
	}
	for _, g := range groups {
		if g.fits && proven[g.logs[0].Meta] {
			g.repair(warn)
		}
	}
	damaged := map[ingest.Name]bool{}
	for _, g := range groups {
		for _, l := range g.logs {
			lag := &l.dirs[g.dir].lag
			switch v := &l.dirs[g.dir].verdict; {
			case lag.Records < 3 || l.Source.Name.Host == "":
			case v.repair || v.unrepairableLine > 0:
				damaged[hostless(l)] = true
			case g.before && (lag.Fell || lag.Records > 3): // damage would add more than a tail can have
				damaged[hostless(l)] = damaged[hostless(l)]
			}
		}
	}
	judgeUncounted(logs, damaged, warn)
	return nil
}

// hostless returns the name that a log has on each host.
func hostless(l *State) ingest.Name {
	name := l.Source.Name
	name.Host = ""
	return name
}

// counted are the logs of an entry of fio's JSON in one direction.
type counted struct {
	entry         *fiojson.Entry
	dir           int
	logs          []*State
	before, after bool                // they fit the entry's totals as they are, and once repaired
	fell          bool                // a falling bucket proves one healthy, or one was not read
	fits          bool                // as they are or, if they may be damaged, once repaired
	garbage       map[*State][]uint16 // see verdict
}

func countedOf(logs []*State, kind fio.Kind) (out []*counted) {
	of := map[*fiojson.Entry]*[fio.Directions]*counted{}
	for _, l := range logs {
		for d := range l.dirs {
			if l.Entry == nil || l.rejected || l.Entry.Dirs[d].Kind[kind].N == 0 {
				continue
			}
			if of[l.Entry] == nil {
				of[l.Entry] = new([fio.Directions]*counted)
			}
			g := &of[l.Entry][d]
			if *g == nil {
				*g = &counted{entry: l.Entry, dir: d}
				out = append(out, *g)
			}
			(*g).logs = append((*g).logs, l)
		}
	}
	return out
}

func (g *counted) compare() {
	g.fell = slices.ContainsFunc(g.logs, func(l *State) bool { return l.scan == nil || l.scan.dirs[g.dir].lag.Fell })
	before, after, garbage, ok := compareTotals(g.logs, g.dir, g.entry)
	g.before, g.after, g.fits = before, after, before && !g.fell
	if ok {
		g.fits, g.garbage = after, garbage
	}
}

// leaveOut leaves out the direction of damaged logs that hold more than fio counted and cannot be repaired. It reports
// whether there are others, which can.
func (g *counted) leaveOut(warn func(string)) (others bool) {
	all := !slices.ContainsFunc(g.logs, func(l *State) bool { return l.scan.dirs[g.dir].lag.Fell })
	for _, l := range g.logs {
		s := &l.scan.dirs[g.dir]
		if !all && !s.lag.Fell {
			others = true
			continue
		}
		line := cmp.Or(s.fellAt, l.scan.lastLine)
		l.dirs[g.dir].verdict.unrepairableLine = line
		// With bins to restore, the loss is named with its number of I/Os.
		if !l.cfg.Settings.Restore || g.entry.Dirs[g.dir].Kind[fio.Clat].Bins.Len() == 0 {
			warn(fmt.Sprintf("%s: its %vs are left out: fio --client damaged them, and records before line "+
				"%d, needed for the repair, are lost", fio.Printable(l.Source.Path), fio.Direction(g.dir), line))
		}
	}
	return others
}

func (g *counted) repair(warn func(string)) {
	for _, l := range g.logs {
		v := &l.dirs[g.dir].verdict
		// Damage begins with the third record.
		if lag := &l.scan.dirs[g.dir].lag; v.unrepairableLine == 0 && (lag.Suspect() || lag.Records <= 2) {
			v.repair, v.why = true, provenByTotals
		}
		if junk := g.garbage[l]; len(junk) > 0 {
			v.garbage, v.garbled = junk, l.scan.lastLine
			warn(fmt.Sprintf("%s:%d: garbage that fio --client left in its last record: buckets %d, where fio "+
				"counted no I/O; they were emptied", fio.Printable(l.Source.Path), v.garbled, junk))
		}
	}
}

// compareTotals reports whether the logs of an entry fit its totals in direction d as they are (before) and once
// repaired (after). Buckets of a file's last record in which fio counted nothing are garbage and left out. ok is false,
// and after of no meaning, if a falling bucket proves a log healthy, or none has a third record.
func compareTotals(logs []*State, d int, entry *fiojson.Entry) (before, after bool, garbage map[*State][]uint16,
	ok bool) {
	if slices.ContainsFunc(logs, func(l *State) bool { return l.scan == nil }) {
		return true, false, nil, false
	}
	totals := &entry.Dirs[d].Kind[fio.Clat]
	g := logs[0].g
	for _, l := range logs {
		g.Coarseness = max(g.Coarseness, l.g.Coarseness)
	}
	bins, err := totals.Counts(g)
	counted := err == nil && totals.Bins.Len() > 0
	garbage = map[*State][]uint16{}
	var raw, repaired fiohist.Hist
	fell := false
	for _, l := range logs {
		s := l.scan
		dir, coarser := &s.dirs[d], g.Coarseness-l.g.Coarseness
		ok = ok || dir.lag.Suspect()
		dir.sums.Each(func(b int, n float64) { raw.Add(b>>coarser, n) })
		fell = fell || dir.lag.Fell
		if fell {
			continue
		}
		if counted && dir.lag.Records > 0 && int(s.lastDir) == d {
			last := &dir.lag.Raw[0]
			for i, b := range last.Index {
				if at := int(b) >> coarser; at < len(bins) && bins[at] == 0 {
					garbage[l] = append(garbage[l], b)
					raw.Add(at, -last.Count[i])
				}
			}
		}
		// The sum of the repaired records telescopes to the last two raw ones.
		if dir.lag.Records <= 2 {
			dir.sums.Each(func(b int, n float64) { repaired.Add(b>>coarser, n) })
			continue
		}
		for i := range dir.lag.Raw {
			for j, b := range dir.lag.Raw[i].Index {
				if i > 0 || !slices.Contains(garbage[l], b) {
					repaired.Add(int(b)>>coarser, dir.lag.Raw[i].Count[j])
				}
			}
		}
	}
	ok = ok && !fell
	if !counted {
		n := float64(totals.N)
		return raw.Sum() <= n, ok && repaired.Sum() <= n, nil, ok
	}
	return fitsIn(&raw, bins), ok && fitsIn(&repaired, bins), garbage, ok
}

// overClient reports whether all of the logs came over fio --client, by their names and their JSON.
func overClient(logs []*State) bool {
	return !slices.ContainsFunc(logs, func(l *State) bool {
		return l.Source.Name.Host == "" || !l.Meta.ClientServer
	})
}

func fitsIn(h *fiohist.Hist, bins []uint64) bool {
	ok := true
	h.Each(func(i int, n float64) { ok = ok && i < len(bins) && n <= float64(bins[i]) })
	return ok
}

// judgeUncounted decides on the directions without totals in a JSON. Of a run's logs whose names end in a host all came
// over --client, or none: they are judged together, and nothing is repaired if one of them is proven healthy. damaged
// has the names, without host, of logs that fio's totals prove damaged or not: it holds for all hosts' logs of a name.
func judgeUncounted(logs []*State, damaged map[ingest.Name]bool, warn func(string)) {
	var of []*State // that may be damaged
	healthy, all := false, evidence{agree: true}
	here := map[*fiojson.Entry]int{}
	for _, l := range logs {
		here[l.Entry]++
	}
	// If the logs of some threads are missing, damaged logs can hold less than fio counted.
	counted := func(l *State, d int) bool {
		return l.Entry != nil && l.Entry.Dirs[d].Kind[fio.Clat].N > 0 && here[l.Entry] >= l.Members
	}
	const never = "no bucket ever falls below its value two records before"
	for _, l := range logs {
		repair, proven := damaged[hostless(l)]
		for d := range l.dirs {
			lag := &l.dirs[d].lag
			switch {
			case counted(l, d), l.dirs[d].verdict.repair:
			case proven && l.Source.Name.Host != "" && (!repair || lag.Records < 3 || lag.Suspect()):
				if repair {
					l.dirs[d].verdict = verdict{repair: true, why: provenByAnother}
				}
			case lag.Records < 3:
			case l.Source.Name.Host == "":
				if lag.Looks() || lag.Suspect() && lag.Chance >= minEvidence && lag.Falls >= minFalls {
					mayBeDamaged([]*State{l}, never, warn)
				}
			case !lag.Suspect():
				healthy = true
			default:
				of = append(of, l)
				all.add(lag)
			}
		}
	}
	switch {
	case len(of) == 0, healthy && !all.enough():
	case healthy:
		mayBeDamaged(of, never+", unlike in other logs of the run", warn)
	case !all.enough():
		mayBeDamaged(of, "their names end in a host, and "+never, warn)
	default:
		for _, l := range of {
			for d := range l.dirs {
				// Records after the head are damaged, too, in a direction that has hardly begun in it.
				if v := &l.dirs[d].verdict; !counted(l, d) && (l.dirs[d].lag.Records < 3 || !v.repair) {
					*v = verdict{repair: true, why: never + ", which chance cannot explain, and the log's name " +
						"ends in a host"}
				}
			}
		}
	}
}

// evidence is what the heads of logs tell together of damage.
type evidence struct {
	chance, smoother, steps float64
	falls                   int64
	oneSuffices             bool
	agree                   bool // each is smoother
}

func (e *evidence) add(lag *fiolog.Lag) {
	s := lag.Smoother()
	e.oneSuffices, e.agree = e.oneSuffices || lag.Certain() || s >= minEvidence, e.agree && s >= staircase
	e.chance, e.smoother, e.falls = e.chance+lag.Chance, e.smoother+s, e.falls+lag.Falls
	e.steps += float64(len(lag.Sums) - 2)
}

// enough reports whether chance cannot explain it.
func (e *evidence) enough() bool {
	return e.oneSuffices || e.agree && e.smoother >= minEvidence ||
		e.chance >= minEvidence && e.falls >= minFalls && 2*e.smoother > e.steps ||
		e.chance >= 4*minEvidence && e.falls >= 4*minFalls && 10*e.smoother > e.steps
}

const (
	minEvidence = 9.0 // minus the natural logarithm of a chance of 1 in 8,000; a host in the log's name adds to it
	minFalls    = 20  // buckets that must fall at lag 1 before the lack of falls at lag 2 counts
	staircase   = 2.0 // what smoother must be in each log if only their sum reaches minEvidence
)

// mayBeDamaged warns of logs that cannot be decided on.
func mayBeDamaged(logs []*State, why string, warn func(string)) {
	var names []string
	for _, l := range logs {
		l.doubtful = true
		if name := fio.Printable(l.Source.Path); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	warn(fmt.Sprintf("%s: may be damaged by fio --client, and the numbers too high (%s); pass --fio-json to "+
		"prove it, --repair yes or no", fio.Some(names), why))
}
