package report

import (
	"bytes"
	_ "embed" // the script
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
	"fiolat/pipeline"
	"fiolat/report/page"
)

// kindsJS is the script of pages of several kinds or runs.
//
//go:embed kinds.min.js
var kindsJS string

// shared is what the Sinks of one page share.
type shared struct {
	w        io.Writer
	o        Options
	kinds    []*Sink     // kinds of one run, sorted as in kindOrder by finished; or runs of one kind
	runs     []string    // names of the runs; nil for kinds of one run
	sides    []int       // of the runs
	compared *Comparison // of the runs
	coarse   bool        // the page is too large for finer histograms than the heat map's
	whole    bool        // and for parts of I/Os in its cells
	group    int         // columns that are held in one of the page
	cells    int         // columns of the page in one of histograms
	packs    int         // how often the data was packed until the page was small enough
}

var kindOrder = []fio.Kind{fio.Slat, fio.Clat, fio.Lat}

// part is the name of a kind, or the letter of a run, where there are several.
func (s *Sink) part() string {
	if s.runs != nil {
		i := slices.Index(s.kinds, s)
		side := s.sides[i]
		name := string(rune('A' + side))
		if len(s.runs) > 1+slices.Max(s.sides) { // a side has several
			name += strconv.Itoa(i - slices.Index(s.sides, side) + 1)
		}
		return name
	}
	return s.run.Kind.String()
}

// main is the part that the page shows first: the first run, or of kinds clat, if there is one.
func (p *shared) main() *Sink {
	if p.runs != nil {
		return p.kinds[0]
	}
	return p.kinds[max(slices.IndexFunc(p.kinds, func(s *Sink) bool { return s.run.Kind == fio.Clat }), 0)]
}

// others returns all parts but main.
func (p *shared) others() (out []*Sink) {
	for _, s := range p.kinds {
		if s != p.main() {
			out = append(out, s)
		}
	}
	return out
}

// finished writes the page once all Sinks have ended.
func (p *shared) finished() error {
	if slices.ContainsFunc(p.kinds, func(s *Sink) bool { return s.sum == nil }) {
		return nil
	}
	if p.runs == nil {
		slices.SortFunc(p.kinds, func(a, b *Sink) int {
			return slices.Index(kindOrder, a.run.Kind) - slices.Index(kindOrder, b.run.Kind)
		})
	}
	if p.o.Compared != nil {
		var err error
		if p.compared, err = p.o.Compared(); err != nil {
			return err
		}
	}
	longest := int64(0)
	for _, s := range p.kinds {
		longest = max(longest, s.run.Interval*s.step)
	}
	for _, s := range p.kinds { // columns of charts side by side cover about the same time
		for s.col > 1 && 2*s.run.Interval*s.step <= longest {
			s.halve()
		}
	}
	p.cells = 1
	if p.fitGroup(); p.o.Picture != nil {
		return p.draw()
	}
	for {
		p.packs++
		p.fitGroup()
		var b bytes.Buffer
		numbers, err := p.main().write(&b)
		if err != nil {
			return err
		}
		shrinks := slices.ContainsFunc(p.kinds, func(s *Sink) bool { return s.col > 1 })
		switch {
		case b.Len() > p.o.MaxBytes && !p.coarse:
			p.coarse, p.whole = true, true
		// The tables of thousands of hosts alone may exceed the limit. Such a page is better than none.
		case b.Len() > p.o.MaxBytes && (shrinks || numbers*4/5 > p.o.MaxBytes):
			if !shrinks {
				return fmt.Errorf("the page would be larger than %d bytes: split by fewer dimensions with --by",
					p.o.MaxBytes)
			}
			p.shrink(b.Len(), numbers)
		case b.Len() > wholeBytes && !p.whole:
			p.whole = true
		case b.Len()-page.Libraries() > ownBytes*p.share() && p.smaller():
		default:
			for _, s := range p.kinds {
				s.columns.close()
			}
			_, err = p.w.Write(b.Bytes())
			return err
		}
	}
}

// fitGroup makes the columns of the page few enough.
func (p *shared) fitGroup() {
	p.group = 1
	for slices.ContainsFunc(p.kinds, func(s *Sink) bool { return s.grid(p.group).Columns > p.o.MaxColumns }) {
		p.group *= 2
	}
}

// share is how many pages of a host this page is worth.
func (p *shared) share() (n int) {
	for _, s := range p.kinds {
		n += (len(s.leaves) + 3) / 4
	}
	return n
}

// smaller makes a page smaller by what is missed least, and reports whether it could.
func (p *shared) smaller() bool {
	keep := slices.ContainsFunc(p.kinds, func(s *Sink) bool { return s.intervals <= ownIntervals || s.by[fio.ByHost] })
	switch {
	case !p.whole:
		p.whole = true
	case keep:
		return false
	case !p.coarse:
		p.coarse = true
	case p.group == 1 && p.cells < 4:
		p.cells *= 2
	case p.group > 1 || slices.ContainsFunc(p.kinds, func(s *Sink) bool { return s.col >= 2*ownColumns }):
		p.cells = 1
		for _, s := range p.kinds {
			s.halve()
		}
	default:
		return false
	}
	return true
}

// shrink halves the columns as often as the page certainly needs. size is the page's, of which numbers bytes are packed
// data. Two columns take at most two and a half times as much as the merged one, so halving leaves at least two fifths.
func (p *shared) shrink(size, numbers int) {
	for left := numbers; ; {
		shrinks := false
		for _, s := range p.kinds {
			if s.col > 1 {
				s.halve()
				shrinks = true
			}
		}
		left = left * 2 / 5
		if !shrinks || size-numbers+left <= p.o.MaxBytes {
			return
		}
	}
}

// sideBySide compares the kinds, or the runs, in numbers of the whole run.
type sideBySide struct {
	Names, Title, Hint string
	Whole              table
	Sums               table
	Notes              []string
}

type table struct {
	Title string
	Head  []cell
	Rows  [][]cell
}

// kindStats has the statistics of one kind and direction over the whole run.
type kindStats struct {
	fiohist.Stats
	mean, ios float64 // the mean and its number of I/Os
	exact     bool    // the mean is exact
}

// kindStatsOf returns false if the run has no such direction.
func (s *Sink) kindStatsOf(direction string) (w kindStats, ok bool) {
	sc := s.scopeAt[dims{Direction: direction}]
	if sc == nil {
		return w, false
	}
	w.Stats, _ = s.runTotals(sc)
	w.mean, w.ios = w.Mean, w.Samples
	var of pipeline.Latencies
	for d := range fio.Direction(fio.Directions) {
		if name := d.String(); direction == fio.All || direction == name {
			of = of.Plus(s.sum.Account.Exact[name])
		}
	}
	if of.IOs > 0 {
		w.mean, w.ios, w.exact = of.NS/of.IOs, of.IOs, true
	}
	return w, true
}

func (w *kindStats) meanCell() cell {
	if w.Empty() {
		return cell{Text: "–"}
	}
	text := page.Latency(w.mean)
	if !w.exact {
		text = "≈ " + text
	}
	return cell{Text: text, Value: strconv.FormatFloat(w.mean, 'f', -1, 64)}
}

// sideBySide returns nil if there is only one kind.
func (p *shared) sideBySide() *sideBySide {
	if len(p.kinds) == 1 {
		return nil
	}
	out := &sideBySide{Title: "Kinds of latency side by side", Hint: "One scale of latency, one of time. " +
		"Choose a kind to see all of it in the charts and tables below.",
		Whole: table{Title: "The kinds of latency in numbers"}, Sums: table{Title: "slat + clat = lat?"}}
	if p.runs != nil {
		out.Title, out.Hint, out.Whole.Title = "The runs over the time since the start of each",
			"Choose a percentile or a direction, or a run to see all of it in the charts and tables below.",
			"The runs in numbers"
	}
	if p.compared != nil && p.compared.Groups != nil {
		out.Title, out.Hint = "The runs of A and B", "A dot is a run, a line the mean of its side. Click on a dot to see "+
			"all of that run in the charts and tables below."
	}
	var names []string
	for _, s := range p.kinds {
		names = append(names, s.part())
	}
	out.Names = strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	text := func(names ...string) (cells []cell) {
		for _, name := range names {
			cells = append(cells, cell{Text: name})
		}
		return cells
	}
	part := "kind"
	if p.runs != nil {
		part = "run"
	}
	out.Whole.Head = append([]cell{{Text: "direction", Header: true}, {Text: part, Header: true}},
		text("I/Os", "mean")...)
	for _, q := range p.main().run.Percentiles {
		out.Whole.Head = append(out.Whole.Head, cell{Text: "p" + fio.Percentile(q)})
	}
	out.Whole.Head = append(out.Whole.Head, cell{Text: "max"})
	out.Sums.Head = append([]cell{{Text: "direction", Header: true}}, text("mean slat", "mean clat", "slat + clat",
		"mean lat", "gap", "gap of lat", "I/Os slat · clat · lat")...)
	exact, rough := false, false
	for _, direction := range append(slices.Clone(fio.DirectionNames()), fio.All) {
		byKind := map[fio.Kind]kindStats{}
		for _, s := range p.kinds {
			w, ok := s.kindStatsOf(direction)
			byKind[s.run.Kind] = w
			if !ok {
				continue
			}
			exact, rough = exact || w.exact, rough || !w.exact && !w.Empty()
			row := []cell{{Text: direction, Header: true}, {Text: s.part(), Header: true}, number(w.Samples,
				fio.Count(w.Samples)), w.meanCell()}
			for _, v := range append(negateLowerBounds(&w.Stats), w.Max) {
				if w.Empty() {
					row = append(row, cell{Text: "–"})
					continue
				}
				row = append(row, number(math.Abs(v), page.Latency(v)))
			}
			out.Whole.Rows = append(out.Whole.Rows, row)
		}
		if slat, clat, lat := byKind[fio.Slat], byKind[fio.Clat], byKind[fio.Lat]; p.runs == nil &&
			len(byKind) == len(kindOrder) && !clat.Empty() && !lat.Empty() {
			sum, gap := slat.mean+clat.mean, fiojson.Gap(slat.mean, clat.mean, lat.mean)
			out.Sums.Rows = append(out.Sums.Rows, []cell{{Text: direction, Header: true}, slat.meanCell(),
				clat.meanCell(), number(sum, page.Latency(sum)), lat.meanCell(),
				number(gap, decimal(gap/1e3, 3)+" µs"), number(gap/lat.mean, decimal(100*gap/lat.mean, 2)+" %"),
				{Text: fio.Count(slat.ios) + " · " + fio.Count(clat.ios) + " · " + fio.Count(lat.ios)}})
		}
	}
	sameUnits(out.Whole.Rows, 3)
	if exact {
		out.Notes = append(out.Notes, "Means without ≈ are exact: of logs of single I/Os, else fio's own from its "+
			"JSON. Other tables and charts have those of the middles of histogram buckets.")
	}
	if rough {
		out.Notes = append(out.Notes, "Means with ≈ are of the middles of histogram buckets: each I/O counts as up "+
			"to half a bucket longer or shorter than it was.")
	}
	if len(out.Sums.Rows) > 0 {
		out.Notes = append(out.Notes, "The gap is mean lat less mean slat less mean clat. "+
			"For each I/O slat + clat is lat, so a gap of more than rounding means that fio lost the time (before "+
			"3.31 it set the time of issue twice with io_uring, libaio and other engines that commit, and some "+
			"microseconds in between are in neither), "+
			"that the engine counts no slat (the gap is then fio's own preparation of the I/O), or that the numbers "+
			"are not of the same I/Os.")
	}
	return out
}

func number(v float64, text string) cell {
	return cell{Text: text, Value: strconv.FormatFloat(v, 'f', -1, 64)}
}

// decimal formats v with so many decimals, and -0 without a sign.
func decimal(v float64, places int) string {
	unit := math.Pow10(places)
	return strconv.FormatFloat(math.Round(v*unit)/unit+0, 'f', places, 64)
}
