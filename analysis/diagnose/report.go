package diagnose

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"fiolat/analysis/outliers"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/pipeline"
)

// Diagnosis is the result for a run.
type Diagnosis struct {
	Run        string  `json:"run"`
	Kind       string  `json:"kind"`
	IntervalMS float64 `json:"interval_ms"`
	Intervals  int     `json:"quanta"`
	// Findings are at most MostShown: stalls of all or of halted and more first, then the one with the most time lost.
	// More are the others, then that nothing stands out, and how many I/Os were in flight.
	Findings []Finding `json:"findings"`
	More     []Finding `json:"more"`
	Stalls   []Stall   `json:"stalls"`
	// Outliers are single slow I/Os of each job's direction.
	Outliers []outliers.Group `json:"outliers,omitempty"`
}

const (
	// MostShown is the number of findings that a page shows.
	MostShown = 3
	// maxListed limits the other lists in the document of a run.
	maxListed = 100
)

// Shown are the first findings, at most so many, one that says how many more there are, and what is known besides.
func (d *Diagnosis) Shown(most int) (out []Finding) {
	more := 0
	for _, f := range slices.Concat(d.Findings, d.More) {
		switch besides := f.Besides(); {
		case !besides && len(out) == most:
			more++
			continue
		case besides && more > 0:
			out, more = append(out, Finding{Text: fmt.Sprintf("%d more: see fiolat diagnose.", more)}), 0
		}
		out = append(out, f)
	}
	if more > 0 {
		out = append(out, Finding{Text: fmt.Sprintf("%d more: see fiolat diagnose.", more)})
	}
	return out
}

// Besides reports whether it is no finding: it says that nothing stands out, how many more there are, or what is known
// besides.
func (f *Finding) Besides() bool {
	return f.About == "" || f.About == aboutNothing || f.About == aboutConcurrency || f.About == aboutMissing
}

// Sentences are the texts of what is shown of so many findings.
func (d *Diagnosis) Sentences(most int) (out []string) {
	for _, f := range d.Shown(most) {
		out = append(out, f.Text)
	}
	return out
}

// Stored is a Diagnosis for the document of a run: limited in size, and without fields that the document has itself.
type Stored struct {
	Findings []Finding `json:"findings"`
	More     []Finding `json:"more"`
	Stalls   []Stall   `json:"stalls"`
	// Outliers are the longest ones of the run.
	Outliers []outliers.Group `json:"outliers,omitempty"`
	// Omitted is the number of entries left out of the lists together.
	Omitted int `json:"omitted,omitempty"`
}

// storedPart is what the document of a part has of a diagnosis.
type storedPart struct {
	Stalls []Stall `json:"stalls"`
}

// IsDiagnosis implements pipeline.Diagnosis.
func (*Stored) IsDiagnosis() {}

// IsDiagnosis implements pipeline.Diagnosis.
func (*storedPart) IsDiagnosis() {}

// Stored returns the stored form of d.
func (d *Diagnosis) Stored() *Stored {
	s := &Stored{Findings: d.Findings, More: d.More, Stalls: d.Stalls}
	s.More, s.Omitted = limited(s.More, s.Omitted)
	s.Stalls, s.Omitted = limited(s.Stalls, s.Omitted)
	s.Outliers = outliers.Longest(d.Outliers, maxListed)
	return s
}

// ReadStored decodes what a document has of a diagnosis.
func ReadStored(text []byte) (*Stored, error) {
	s := &Stored{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("the diagnosis of a run cannot be read: %w", err)
	}
	return s, nil
}

// diagnosis returns s as the Diagnosis of a run that was rolled up since, with notes.
func (s *Stored) diagnosis(run *pipeline.Run, notes []Note) *Diagnosis {
	end := run.FirstInterval
	for _, l := range run.Logs {
		end = max(end, l.End)
	}
	fine := run.Fine.Interval
	d := &Diagnosis{Run: run.ID, Kind: run.Kind.String(), IntervalMS: float64(fine) / 1e6,
		Intervals: int((end - run.FirstInterval + fine - 1) / fine), Findings: append([]Finding{}, s.Findings...),
		More: append([]Finding{}, s.More...), Stalls: append([]Stall{}, s.Stalls...), Outliers: s.Outliers}
	for _, list := range [][]Finding{d.Findings, d.More} {
		for i := range list {
			f := &list[i]
			f.note(notes, fine)
			f.AllRun = f.About == aboutSlow && f.FromMS <= 0 && f.ToEnd
		}
	}
	return d
}

// limited returns the start of a list, and adds to omitted the number of the others.
func limited[T any](list []T, omitted int) ([]T, int) {
	n := min(len(list), maxListed)
	return list[:n], omitted + len(list) - n
}

// diagnose makes findings of what a search found.
func (w *Watch) diagnose(s *searched, notes []Note) *Diagnosis {
	d := &Diagnosis{Run: w.run.ID, Kind: w.run.Kind.String(), IntervalMS: float64(w.run.Interval) / 1e6,
		Intervals: w.board.intervals, Findings: []Finding{}, More: []Finding{}, Stalls: append([]Stall{}, s.stalls...)}
	if w.run.Timeless() {
		d.More = []Finding{{About: aboutNothing, Dimension: "run", Who: []string{}, Text: "There is only fio's JSON, " +
			"which has no times of I/Os: without logs there is no diagnosis."}}
		return d
	}
	all := append(w.stallFindings(s.stalls), w.shortened()...)
	for i := range s.hits {
		f := w.finding(&s.hits[i], len(w.board.pooled))
		if !s.hits[i].few(&f, w.board.geometry) && math.Log(*f.Factor) >= 0.8*least[s.hits[i].measure] {
			all = append(all, f)
		}
	}
	for i := range all {
		all[i].note(notes, w.run.Interval)
	}
	slices.SortStableFunc(all, inOrder)
	d.Findings = append(d.Findings, all[:min(MostShown, len(all))]...)
	d.More = append(d.More, all[len(d.Findings):]...)
	if len(all) == 0 {
		d.More = append(d.More, w.nothing(s))
	}
	if f := w.load(); f != nil {
		d.More = append(d.More, *f)
	}
	return d
}

// single adds the outliers, and a finding of those that recur more evenly than by chance.
func (d *Diagnosis) single(all []outliers.Group, notes []Note) {
	for i := range all {
		g := &all[i]
		if len(g.Outliers) == 0 {
			continue
		}
		d.Outliers = append(d.Outliers, *g)
		if g.Period == nil {
			continue
		}
		f := Finding{About: aboutOutliers, Dimension: "run", Who: []string{}, Direction: g.Direction,
			PeriodMS: int64(math.Round(g.Period.MS)), Text: g.Sentence()}
		hosts := g.Outliers[0].Hosts
		for _, o := range g.Outliers {
			f.Times = append(f.Times, [2]int64{int64(math.Floor(o.FromMS)), int64(math.Ceil(o.ToMS))})
			if !slices.Equal(o.Hosts, hosts) {
				hosts = nil
			}
		}
		if len(hosts) == 1 {
			f.Dimension, f.Who = fio.ByHost, hosts
			f.Text = "Host " + hosts[0] + ": " + f.Text
		}
		f.FromMS, f.ToMS = f.Times[0][0], f.Times[len(f.Times)-1][1]
		f.Own = pointer(g.Longest())
		f.note(notes, int64(d.IntervalMS*1e6))
		nothing := func(f Finding) bool { return f.About == aboutNothing }
		d.More = slices.DeleteFunc(d.More, nothing)
		if len(d.Findings) < MostShown {
			d.Findings = append(d.Findings, f)
		} else {
			d.More = slices.Insert(d.More, 0, f)
		}
	}
}

// missing says which hosts of the run have no log.
func (d *Diagnosis) missing(hosts []string) {
	if n := len(hosts); n > 0 {
		text := fmt.Sprintf("Host %s took part, and has no log: nothing here is about it.", hosts[0])
		if n > 1 {
			text = fmt.Sprintf("%d hosts took part, and have no log: %s; nothing here is about them.", n, fio.Some(hosts))
		}
		d.More = slices.Insert(d.More, 0, Finding{About: aboutMissing, Dimension: fio.ByHost, Who: hosts, Text: text})
	}
}

// inOrder compares findings: stalls that stand before all else come first, then those with the most time lost.
func inOrder(a, b Finding) int {
	return cmp.Or(btoi(b.halt)-btoi(a.halt), cmp.Compare(b.LostS, a.LostS))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// nothing says that nothing stands out; who does perhaps, or else who is the slowest.
func (w *Watch) nothing(s *searched) Finding {
	f := Finding{About: aboutNothing, Dimension: "run", Who: []string{}}
	if w.board.intervals < leastBlocks {
		f.Text = fmt.Sprintf("Too short for a diagnosis: %s of %s, and at least %d are needed; see --interval.",
			fio.Several(w.board.intervals, "interval"), seconds(w.run.Interval/1e6), leastBlocks)
		return f
	}
	if len(w.board.pooled) == 0 {
		f.Text = "There is nothing to diagnose: no I/O completed."
		return f
	}
	least, slowest, size := perhapsP, (*hit)(nil), math.Inf(-1)
	for _, field := range s.fields {
		chance := field.perhapsP * float64(len(s.fields))
		if field.perhaps != nil && chance < least && !field.perhaps.few(nil, w.board.geometry) {
			least = chance
			h := *field.perhaps
			w.snap(&h)
			of := w.finding(&h, len(w.board.pooled))
			f.Text = fmt.Sprintf("Nothing stands out for certain. Perhaps (by chance 1 in %.0f times): %s", 1/chance,
				of.Text)
		}
		for v := range field.names {
			m := median(known0(field.off[p50][v]))
			// a host rather than the slowest of its logs
			if slowest != nil && slowest.direction == field.direction &&
				field.parents[v][slowest.group.dimension] == slowest.names()[0] && 2*size > m {
				continue
			}
			if m > size {
				size = m
				slowest = &hit{who: field.one(v), when: when{window: window{0, w.board.blocks()}},
					direction: field.direction, size: m}
			}
		}
	}
	switch {
	case f.Text != "":
	case slowest == nil:
		f.Text = "Nothing stands out."
	default:
		own, _ := slowest.typical()
		of := ""
		if len(w.board.pooled) > 1 {
			of = slowest.direction + " "
		}
		f.Text = fmt.Sprintf("Nothing stands out. Slowest: %[1]s %[2]s, %[3]sp50 %[4]s, %[5]s the median %[1]s",
			dimensions[slowest.group.dimension], slowest.names()[0], of, latency(*own), timesOf(math.Exp(size)))
		if size < math.Log(allRunP50) {
			f.Text += fmt.Sprintf("; from %.2f times on it would have been named", allRunP50)
		}
		f.Text += "."
	}
	return f
}

// load says how many I/Os were in flight: in each block the sum of their latencies over its length (Little, Operations
// Research 9 (1961), 383-387). Own is their mean, and Others the most that the iodepths of the logs that ran allow at a
// time.
func (w *Watch) load() *Finding {
	b := w.board
	n := b.blocks()
	sums, limits, known := make([]float64, n), make([]float64, n), true
	for _, direction := range slices.Sorted(maps.Keys(b.pooled)) { // sums of fractions depend on their order
		for t, h := range b.pooled[direction] {
			if h != nil {
				s := h.Stats(b.geometry, nil, fiohist.Limits{})
				sums[t] += s.Mean * s.Samples / float64(b.length())
			}
		}
	}
	logs := 0
	for _, l := range w.run.Logs {
		if l.Empty || l.End <= l.Start || !w.picked(l) {
			continue
		}
		depth, ok := depthOf(l.Log)
		known = known && ok
		logs++
		for t := range n {
			from := b.first + int64(t)*b.length()
			ran := max(min(l.End, from+b.length())-max(l.Start, from), 0)
			limits[t] += float64(depth) * float64(ran) / float64(b.length())
		}
	}
	sum, ran, most := 0.0, 0.0, 0.0
	for t := range n {
		sum += sums[t]
		if share := w.covered(t); share > 0 {
			ran += share
			most = max(most, limits[t]/share)
		}
	}
	if ran == 0 || sum == 0 {
		return nil
	}
	f := &Finding{About: aboutConcurrency, Dimension: "run", Who: []string{}, Own: pointer(sum / ran),
		Text: fmt.Sprintf("On average %s I/Os were in flight.", number(sum/ran))}
	if !known || logs == 0 {
		return f
	}
	f.Own, f.Others = pointer(min(*f.Own, most)), &most // I/Os may have begun before --from
	// From when on all slots were full: in all blocks but one in ten.
	const nearly, seldom = 0.9, 0.1
	from, slack := n, 0
	for t := n - 1; t >= 0; t-- {
		if limits[t] > 0 && sums[t] > 0 && sums[t] < nearly*limits[t] {
			slack++
		}
		if float64(slack) > seldom*float64(n-t)+0.5 {
			break
		}
		if sums[t] >= nearly*limits[t] && limits[t] > 0 {
			from = t
		}
	}
	slots := number(math.Round(most))
	full, ios := fmt.Sprintf("The queue was full (%[1]s of %[1]s)", slots), "I/Os were"
	if slots == "1" {
		ios = "I/O was"
	}
	switch since := float64(n-from) / float64(n); {
	case from == 0, from <= 2 && n >= leastBlocks:
		f.Text = full + " all run."
	case since >= 0.2:
		f.Text = fmt.Sprintf("%s from %s on.", full, fio.Clock((b.first+int64(from)*b.length())/1e6))
	case sum/ran < 0.1:
		f.Text = fmt.Sprintf("On average less than 0.1 of at most %s %s in flight.", slots, ios)
	default:
		f.Text = fmt.Sprintf("On average %s of at most %s %s in flight.", number(*f.Own), slots, ios)
	}
	return f
}

// covered returns for which share of a block any log ran.
func (w *Watch) covered(t int) float64 {
	b := w.board
	from := b.first + int64(t)*b.length()
	first, last := from+b.length(), from
	for _, l := range w.run.Logs {
		if l.Start < from+b.length() && l.End > from {
			first, last = min(first, max(l.Start, from)), max(last, min(l.End, from+b.length()))
		}
	}
	return float64(max(last-first, 0)) / float64(b.length())
}

// depthOf returns the most I/Os of a log that can be in flight: iodepth, but 1 with a synchronous engine.
func depthOf(l *ingest.Log) (depth int, ok bool) {
	if l.Entry == nil && l.Section == nil {
		return 0, false
	}
	depth = 1
	if v, given := l.Option("iodepth"); given {
		var err error
		if depth, err = strconv.Atoi(v); err != nil {
			return 0, false
		}
	}
	name, _ := l.Option("ioengine")
	if e, known := fiojson.FindEngine(cmp.Or(name, "psync"), "", depth); known && e.Measure == fiojson.Sync {
		depth = 1
	}
	return depth, true
}
