package report

import (
	"cmp"
	_ "embed" // the page's own parts
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/fio/sla"
	"fiolat/pipeline"
	"fiolat/report/charts"
	"fiolat/report/page"
	"fiolat/report/picture"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.min.js
	pageJS string
)

// pageData is the data of page.html.
type pageData struct {
	Lead      []string    // above page.html
	Verdict   []verdict   // on each SLA rule
	Facts     [][2]string // names and values
	Part      string      // the main kind or run, see Sink.part
	Compared  *Comparison
	Runs      []string // a sentence on each of two, and direction
	Timeless  bool     // nothing is shown over time
	Account   [][2]string
	Findings  []Mark   // the first, and what is known besides
	Folded    []Mark   // the other findings
	Outliers  []string // in order of time
	Slow      int      // number of all outliers
	Noted     []Mark
	Work      []block
	Syncs     []table
	Notes     []note // warnings
	Footnotes []note
	Summary   table
	Scopes    []int       // of Summary's rows
	Kinds     *sideBySide // nil if there is only one
	Accounts  []block     // of the other kinds
	SLA       []block
	Origin    []block
	Head      head
	Packed    template.HTML // by page.Pack
}

type note struct {
	Text    string
	Warning bool
}

type cell struct {
	Text   string
	Value  string // exact, in ns or I/Os, for machines
	Header bool
}

// block is a table of text; without a Head its rows are pairs.
type block struct {
	Title string
	Open  bool
	Head  []string
	Rows  [][]string
}

// write writes the page, and returns how many bytes of it are numbers. s must be the main kind or run.
func (s *Sink) write(w io.Writer) (numbers int, err error) {
	axis, sum := charts.SinceStart, s.sum
	p := page.Page{
		Title: s.title() + s.picked(), Eyebrow: "fio " + s.run.Kind.String() + " latency", Generator: s.o.Generator,
		Script: pageJS,
		Specs: map[string]charts.Spec{
			"percentiles": charts.Percentiles{Data: charts.Named("points"), Axis: axis}.Spec(),
			"rate":        charts.Rate{Data: charts.Named("points"), Axis: axis}.Spec(),
			"heat":        charts.HeatMap{Data: charts.Named("cells"), Finer: true, Axis: axis}.Spec(),
			"map":         charts.Members{Data: charts.Named("cells"), Axis: axis}.Spec(),
			"spectrum":    charts.Spectrum{Data: charts.Named("points")}.Spec(),
			"cdf":         charts.CDF{Data: charts.Named("points")}.Spec(),
			"counts":      charts.Counts{Data: charts.Named("points")}.Spec(),
		},
	}
	d := pageData{
		Verdict: verdictsOfAll(sum), Facts: s.facts(sum), Part: s.part(), Compared: s.compared,
		Account: account(&sum.Account),
		Notes:   s.notes(sum), SLA: s.verdicts(sum), Origin: s.origin(), Head: s.head(),
		Timeless: !slices.ContainsFunc(s.kinds, func(k *Sink) bool { return !k.run.Timeless() }),
	}
	if s.o.Marks != nil {
		s.marks(&d)
	}
	if s.o.Stalls != nil {
		d.Head.Stalls = s.stalls()
	}
	if s.o.Outliers != nil {
		s.outliers(&d)
	}
	if c := s.compared; c != nil {
		d.Lead, d.Head.Measure, d.Head.Direction, d.Head.Groups = c.Lead, c.Measure, c.Direction, c.Groups
		if c.Groups != nil {
			p.Specs["sides"] = charts.Sides{Data: charts.Named("points")}.Spec()
		}
	}
	if err = s.about(&d); err != nil {
		return 0, err
	}
	s.summary(&d)
	d.Kinds = s.sideBySide()
	if d.Kinds != nil {
		s.addOthers(&d)
		p.Script = kindsJS
		if s.runs == nil {
			p.Eyebrow = "fio " + d.Kinds.Names + " latency"
		}
	}
	d.Notes, d.Footnotes = split(d.Notes)
	if d.Packed, err = s.pack(&d.Head); err != nil {
		return 0, err
	}
	p.Lead, p.Main = d.Lead, d
	return len(d.Packed), p.Write(w, pageHTML)
}

// marks adds findings and notes. Findings count from 1, notes from a; the page's chart shows the ones with a time.
func (s *Sink) marks(d *pageData) {
	found := 0
	for _, m := range s.o.Marks() {
		of := &d.Findings
		if !m.Note && len(d.Findings) == 0 {
			d.Head.Measure, d.Head.Direction = m.Measure, m.Direction
		}
		m.Text = page.Micro(m.Text)
		switch {
		case m.Note:
			of = &d.Noted
			m.Name = picture.Letter(len(d.Noted))
		case !m.Besides:
			found++
			if found > unfolded {
				of = &d.Folded
			}
			m.Name = strconv.Itoa(found)
		}
		*of = append(*of, m)
		if m.Name != "" {
			d.Head.Marks = append(d.Head.Marks, m)
		}
	}
}

// unfolded is how many findings a page shows before it is asked for the others, and a picture has.
const unfolded = 3

// timed reports whether the chart marks when it was.
func (m *Mark) timed() bool { return m.Note || m.From != m.To }

// outlier are single slow I/Os at one time.
type outlier struct {
	From      float64  `json:"from"` // ms from the run's start
	To        float64  `json:"to"`
	Direction string   `json:"direction"`
	Job       string   `json:"job,omitempty"`
	Hosts     []string `json:"hosts,omitempty"`
	Text      string   `json:"text"`
}

// outliers adds the outliers.
func (s *Sink) outliers(d *pageData) {
	all := s.o.Outliers()
	if all == nil {
		return
	}
	d.Slow = all.Found
	for i := range all.Longest {
		o := &all.Longest[i]
		text := page.Micro(o.Text)
		d.Outliers = append(d.Outliers, text)
		d.Head.Outliers = append(d.Head.Outliers, outlier{From: float64(o.Start) / 1e6, To: float64(o.End) / 1e6,
			Direction: o.Dims.Direction, Job: o.Dims.Job, Hosts: o.Hosts, Text: text})
	}
}

// stall is a time in ms from the run's start in which hosts, or jobs, completed nothing.
type stall struct {
	Dimension string   `json:"dimension"`
	Values    []string `json:"values"`
	From      int64    `json:"from"`
	To        int64    `json:"to"`
}

// stalls are the times in which all running logs of a host, or job, stood still.
func (s *Sink) stalls() (out []stall) {
	stalls := s.o.Stalls()
	for i := range stalls {
		one := &stalls[i]
		for _, dimension := range []string{fio.ByHost, fio.ByJob} {
			still := map[string]bool{}
			for _, l := range s.run.Logs {
				if !l.Empty && l.Start < one.UntilMS*1e6 && l.End > one.SinceMS*1e6 {
					was, seen := still[l.Dims().Of(dimension)]
					still[l.Dims().Of(dimension)] = (was || !seen) && one.Concerns(l)
				}
			}
			maps.DeleteFunc(still, func(_ string, all bool) bool { return !all })
			if len(still) > 0 && s.by[dimension] {
				out = append(out, stall{dimension, slices.Sorted(maps.Keys(still)), one.SinceMS, one.UntilMS})
			}
		}
	}
	return out
}

// addOthers adds the notes and tables of the other kinds, or runs, to the page.
func (s *Sink) addOthers(d *pageData) {
	heads := func(k *Sink, blocks []block) []block {
		for i := range blocks {
			blocks[i].Title = k.part() + ": " + blocks[i].Title
		}
		return blocks
	}
	d.SLA = heads(s, d.SLA)
	own := func(of []block) []block { // settings and files; kinds of one run share fio's options
		if s.runs == nil {
			return of[:2]
		}
		return of
	}
	heads(s, own(d.Origin))
	said := map[note]int{}
	for _, k := range s.kinds {
		for _, n := range k.notes(k.sum) {
			said[n]++
		}
	}
	d.Notes = nil
	for _, k := range s.kinds {
		for _, n := range k.notes(k.sum) {
			if said[n] < len(s.kinds) { // not common to all
				n.Text = k.part() + ": " + n.Text
			}
			if !slices.Contains(d.Notes, n) {
				d.Notes = append(d.Notes, n)
			}
		}
	}
	for _, k := range s.others() {
		d.Head.Kinds = append(d.Head.Kinds, k.head())
		d.SLA = append(d.SLA, heads(k, k.verdicts(k.sum))...)
		b := block{Title: "Account"}
		for _, p := range account(&k.sum.Account) {
			b.Rows = append(b.Rows, []string{p[0], p[1]})
		}
		d.Accounts = append(d.Accounts, heads(k, []block{b})...)
		d.Origin = append(d.Origin, heads(k, own(k.origin()))...)
	}
}

func (s *Sink) title() string {
	if s.compared != nil && s.compared.Groups != nil {
		return strings.Join(s.compared.Groups, " and ")
	}
	if s.runs != nil {
		return fio.List(s.runs, "and")
	}
	if s.run.Name != "" {
		return s.run.Name
	}
	if len(s.run.ID) > 16 {
		return "Run " + s.run.ID[:12]
	}
	return "Run " + s.run.ID
}

// picked says of which part of the run the page is; "" for all of it.
func (s *Sink) picked() string {
	if s.run.Pick.Empty() {
		return ""
	}
	return ": only " + s.run.Pick.String()
}

func at(ns int64) string {
	return strings.TrimSuffix(time.Unix(0, ns).UTC().Format("2006-01-02 15:04:05.000"), ".000") + " UTC"
}

func (s *Sink) facts(sum *pipeline.Summary) [][2]string {
	if s.compared != nil && s.compared.Groups != nil {
		var members [2][]string
		for i, k := range s.kinds {
			members[s.sides[i]] = append(members[s.sides[i]], k.part()+" "+s.runs[i])
		}
		return [][2]string{{"A: " + s.compared.Groups[0], strings.Join(members[0], ", ")},
			{"B: " + s.compared.Groups[1], strings.Join(members[1], ", ")}}
	}
	if s.runs != nil {
		var f [][2]string
		for i, k := range s.kinds {
			started := "not known"
			if k.run.StartKnown {
				started = at(k.run.Start)
			}
			f = append(f, [2]string{"Run " + k.part(), fmt.Sprintf("%s, started %s, %s long, %s", s.runs[i], started,
				fio.Duration(float64(k.sum.End-k.run.FirstInterval)), k.run.ID)})
		}
		return f
	}
	run, logs := s.run, 0
	for _, k := range s.kinds {
		if !k.run.Timeless() {
			logs += len(k.logs())
		}
	}
	f := [][2]string{{"Started", "not known"}}
	if run.StartKnown {
		f[0][1] = at(run.Start) + " (" + how(run.StartHow) + ")"
	}
	f = append(f, [2]string{"Length", fio.Duration(float64(sum.End - run.FirstInterval))},
		[2]string{"Logs", strconv.Itoa(logs)})
	versions := map[string]bool{}
	for _, m := range run.Metas {
		versions[m.Version] = m.Version != ""
	}
	for _, d := range []struct {
		name   string
		values map[string]bool
	}{
		{"Host", s.distinct(func(l *pipeline.Log) string { return l.Host })},
		{"Job", s.distinct(func(l *pipeline.Log) string { return l.Job })},
		{"fio", versions},
	} {
		delete(d.values, "")
		if n := len(d.values); n > 0 {
			names := slices.Sorted(maps.Keys(d.values))
			if n > 1 && d.name != "fio" {
				d.name += "s"
			}
			if n > 4 {
				names = append(names[:3], fmt.Sprintf("and %d more", n-3))
			}
			f = append(f, [2]string{d.name, strings.Join(names, ", ")})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(run.Labels)) {
		f = append(f, [2]string{k, run.Labels[k]})
	}
	return append(f, [2]string{"Run", run.ID})
}

func how(s string) string {
	if s == "" {
		return "source unknown"
	}
	return s
}

func (s *Sink) distinct(of func(*pipeline.Log) string) map[string]bool {
	out := map[string]bool{}
	for _, l := range s.logs() {
		out[of(l)] = true
	}
	return out
}

// logs are those of which any I/Os are on the page.
func (s *Sink) logs() (out []*pipeline.Log) {
	for _, l := range s.run.Logs {
		if slices.ContainsFunc(s.run.Directions(), func(d string) bool { return s.run.Pick.HoldsLog(l, d) }) {
			out = append(out, l)
		}
	}
	return out
}

// notes returns what a reader must know to interpret the numbers.
func (s *Sink) notes(sum *pipeline.Summary) (out []note) {
	a := &sum.Account
	for _, w := range a.Warnings {
		text, noted := strings.CutPrefix(w, fio.NotePrefix)
		out = append(out, note{text, !noted})
	}
	say := func(format string, args ...any) { out = append(out, note{Text: fmt.Sprintf(format, args...)}) }
	if !a.CountedKnown {
		say("fio's own totals are not known for all logs, so what the logs lack is unknown: each job's last, " +
			"partial window is never written.")
	}
	if s.run.Timeless() {
		say("There are no logs: all I/Os are fio's own counts of its jobs, in its JSON.")
	} else if a.Restored > 0 {
		say("%s I/Os are not in the logs, for fio never writes a job's last, partial window. They were restored from "+
			"fio's JSON and lie between the last record and the job's end.", fio.Count(a.Restored))
	} else if a.CountedKnown && a.Missing >= 0.5 {
		say("%s I/Os that fio counted are in no log and not on this page.", fio.Count(a.Missing))
	}
	if a.NotPlaced > 0 {
		say("%s I/Os that fio counted were in records that the logs lost. When they completed is not known: they are "+
			"in no interval.", fio.Count(a.NotPlaced))
	}
	if a.LastBucket > 0 {
		say("%s I/Os are in fio's last bucket, which has no upper edge: latencies marked ≥ are at least that long.",
			fio.Count(a.LastBucket))
	}
	if !s.run.StartKnown {
		say("When the run started is not known: times count from its start.")
	}
	for _, sentence := range s.run.Measures() {
		say("%s.", sentence)
	}
	return out
}

func account(a *pipeline.Account) [][2]string {
	counted, missing := "not known", "not known"
	if a.Counted > 0 {
		counted, missing = strconv.FormatUint(a.Counted, 10), fio.Count(a.Missing)
		if !a.CountedKnown {
			counted += " (of some of the logs)"
		}
	}
	placed := [][2]string{{"I/Os on this page (logged + restored)", fio.Count(a.Placed)}}
	if a.PickedAway > 0 {
		placed = [][2]string{{"I/Os left out by --only, --from or --to", fio.Count(a.PickedAway)},
			{"I/Os on this page (logged + restored - left out)", fio.Count(a.Placed)}}
	}
	if len(a.HostsMissing) > 0 {
		placed = append(placed, [2]string{"Hosts without a log", strings.Join(a.HostsMissing, ", ")})
	}
	return slices.Concat([][2]string{
		{"Logs", fmt.Sprintf("%d read, of them %d empty and %d repaired; %d skipped", a.Logs, a.LogsEmpty,
			a.LogsRepaired, a.LogsSkipped)},
		{"Records", fmt.Sprintf("%d read, of them %d repaired and %d with equal timestamps", a.Records,
			a.RecordsRepaired, a.RecordsEqual)},
		{"Lines skipped", strconv.FormatInt(a.LinesSkipped, 10)},
		{"I/Os logged", fio.Count(a.Logged)},
		{"I/Os in fio's totals", counted},
		{"I/Os missing from the logs", missing},
		{"I/Os restored from fio's JSON", fio.Count(a.Restored)},
		{"I/Os of lost records, in no interval", fio.Count(a.NotPlaced)},
	}, placed, [][2]string{{"I/Os in fio's last bucket", fio.Count(a.LastBucket)}})
}

// summary fills in the table of the whole run, with a row for each scope value.
func (s *Sink) summary(d *pageData) {
	var split []string
	for _, dim := range fio.Dimensions() {
		if s.by[dim] && (dim == fio.ByDirection || slices.Contains(s.run.Settings.By, dim)) {
			split = append(split, dim)
		}
	}
	for _, dim := range split {
		d.Summary.Head = append(d.Summary.Head, cell{Text: dim, Header: true})
	}
	for _, name := range []string{"I/Os", "I/Os per second", "mean"} {
		d.Summary.Head = append(d.Summary.Head, cell{Text: name})
	}
	for _, p := range d.Head.Percentiles {
		d.Summary.Head = append(d.Summary.Head, cell{Text: "p" + p})
	}
	d.Summary.Head = append(d.Summary.Head, cell{Text: "max"})
	directions := map[string]bool{}
	for _, sc := range s.scopes {
		directions[sc.dims.Direction] = sc.dims.Direction != fio.All
	}
	one := len(directions) == 2 // and all, which is the same
	scopes := slices.DeleteFunc(slices.Clone(s.scopes), func(sc *scope) bool {
		return one && sc.dims.Direction == fio.All
	})
	first := map[dims]int{} // of the scope values that differ in the direction only
	for i, sc := range scopes {
		of := sc.dims
		of.Direction = ""
		if _, ok := first[of]; !ok {
			first[of] = i
		}
	}
	group := func(sc *scope) int {
		of := sc.dims
		of.Direction = ""
		return first[of]
	}
	sum := func(sc *scope) int { return map[bool]int{true: 1}[sc.dims.Direction == fio.All] }
	slices.SortStableFunc(scopes, func(a, b *scope) int { // the sum of all directions comes last
		return cmp.Or(a.dims.order()-b.dims.order(), group(a)-group(b), sum(a)-sum(b))
	})
	for _, sc := range scopes {
		st, perSecond := s.runTotals(sc)
		var row []cell
		d.Scopes = append(d.Scopes, slices.Index(s.scopes, sc))
		for _, dim := range split {
			v := cmp.Or((*fio.Dims)(&sc.dims).Of(dim), fio.All)
			row = append(row, cell{Text: v, Header: true})
		}
		row = append(row, number(st.Samples, fio.Count(st.Samples)), number(perSecond,
			fio.Digits(perSecond, 5)))
		for _, v := range append(append([]float64{st.Mean}, negateLowerBounds(&st)...), st.Max) {
			row = append(row, number(math.Abs(v), page.Latency(v)))
		}
		d.Summary.Rows = append(d.Summary.Rows, row)
	}
	sameUnits(d.Summary.Rows, len(split)+2)
}

// runTotals returns the statistics of a scope value over the whole run, and the I/Os per second.
func (s *Sink) runTotals(sc *scope) (st fiohist.Stats, perSecond float64) {
	of := s.members(sc)
	var total fiohist.Hist
	for _, l := range of.leaves {
		total.AddHist(&l.total)
	}
	var all coverage
	for _, c := range sc.cols {
		all.add(c)
	}
	st = total.Stats(s.run.Geometry, s.run.Percentiles, of.limits)
	return st, all.rate(&st)
}

// verdict is one on an SLA rule: its status, the word for it, and the sentences without that word.
type verdict struct {
	Status     sla.Status
	Word, Text string
}

// verdictsOfAll says which SLA rules of all hosts were kept.
func verdictsOfAll(sum *pipeline.Summary) (out []verdict) {
	for _, o := range sum.SLA {
		if o.Dims.Host == "" {
			out = append(out, verdict{o.Status(), o.Word(), page.Micro(o.Tell(""))})
		}
	}
	return out
}

// verdicts returns tables of the SLA rules' verdicts and of breaches and recoveries.
func (s *Sink) verdicts(sum *pipeline.Summary) (out []block) {
	if len(sum.SLA) == 0 {
		return nil
	}
	all := block{Title: "Verdicts", Open: true, Head: []string{"SLA rule", "host", "verdict", "I/Os within", "breaches",
		"intervals kept", "broken", "not known", "worst", "at"}}
	for _, o := range sum.SLA {
		host, share, worst, when := cmp.Or(o.Dims.Host, fio.All), "–", "–", "–"
		if o.Whole.Share >= 0 {
			share = fio.Digits(100*o.Whole.Share, 6) + " %"
		}
		if o.Worst.Known {
			worst, when = measured(&o.Worst), since(o.WorstAt)
		}
		all.Rows = append(all.Rows, []string{page.Micro(o.Rule.Text), host, string(o.Status()), share,
			strconv.Itoa(o.Breaches), strconv.Itoa(o.OK), strconv.Itoa(o.Broken), strconv.Itoa(o.Unknown), worst, when})
	}
	changes := block{Title: "Breaches and recoveries", Open: true, Head: []string{"at", "SLA rule", "host", "what",
		"value"}}
	if s.changed > len(s.changes) {
		changes.Title += fmt.Sprintf(", the first %d of %d", len(s.changes), s.changed)
	}
	for i := range s.changes {
		c := &s.changes[i]
		what, host := "kept again", cmp.Or(c.Dims.Host, fio.All)
		if c.Breach {
			what = "broken"
		}
		changes.Rows = append(changes.Rows, []string{since(c.at), page.Micro(c.Rule.Text), host, what,
			measured(&c.Last)})
	}
	return []block{all, changes}
}

// since formats the time in ns from the run's start at which an interval begins to have I/Os.
func since(ns int64) string { return time.Duration(max(ns, 0)).String() }

func measured(v *sla.Verdict) string {
	switch {
	case !v.Known:
		return "–"
	case !v.Rule.Latency():
		return fio.Digits(v.Value, 4) + " I/Os per second"
	case v.Stalled:
		return "≥ " + page.Latency(v.Value) + ", for nothing completed"
	}
	return page.Latency(v.Value)
}

// origin returns the provenance of the numbers: settings, log files and, if known, fio's options.
func (s *Sink) origin() []block {
	run := s.run
	settings := block{Title: "Settings"}
	set := func(name string, value any) {
		settings.Rows = append(settings.Rows, []string{name, fmt.Sprint(value)})
	}
	st := run.Settings
	interval := time.Duration(run.Interval).String()
	if fine := run.Fine.Interval; fine > 0 {
		interval += fmt.Sprintf(", rolled up from %v", time.Duration(fine))
	}
	set("interval", interval)
	set("grid", st.Grid)
	set("alignment", st.Align)
	set("record time", st.RecordTime)
	set("split by", strings.Join(st.By, ", "))
	set("buckets", run.Geometry)
	set("repair", st.Repair)
	set("restore tails", st.Restore)
	set("skip bad input", st.SkipBad)
	for _, host := range slices.Sorted(maps.Keys(st.Offsets)) {
		set("offset of "+host, st.Offsets[host])
	}
	set("run", run.ID)
	set("generation", run.Generation)
	if run.Part != "" {
		set("part", run.Part)
	}
	blocks := []block{settings}

	files := block{Title: fmt.Sprintf("Log files (%d)", len(run.Logs)), Head: []string{"file", "host", "job", "bytes",
		"SHA-256 of size and first 64 KiB", "log interval", "start", "state"}}
	for _, l := range run.Logs {
		state := "as logged"
		switch {
		case slices.Contains(l.Repaired[:], true):
			state = "repaired"
		case run.Timeless():
			state = "fio's JSON"
		case l.Empty:
			state = "empty"
		}
		start := time.Duration(l.Start).String()
		if l.StartHow != "" {
			start += " (" + l.StartHow + ")"
		}
		interval := l.Interval.String()
		if l.IntervalHow != "" {
			interval += " (" + l.IntervalHow + ")"
		}
		files.Rows = append(files.Rows, []string{l.Source.Base, l.Host, l.Job, strconv.FormatInt(l.Source.Size, 10),
			l.Hash, interval, start, state})
	}
	blocks = append(blocks, files)

	// An option has one row with all of its values.
	values := map[string]map[string]int{}
	add := func(options map[string]string) {
		for k, v := range options {
			if values[k] == nil {
				values[k] = map[string]int{}
			}
			values[k][v]++
		}
	}
	for _, m := range run.Metas {
		add(m.Global)
		for _, host := range slices.Sorted(maps.Keys(m.HostGlobal)) {
			add(m.HostGlobal[host])
		}
		for _, en := range m.Entries {
			add(en.Options)
		}
	}
	if len(values) > 0 {
		options := block{Title: "Job options, as fio's JSON has them"}
		for _, k := range slices.Sorted(maps.Keys(values)) {
			text := fmt.Sprintf("differs (%d values)", len(values[k]))
			if len(values[k]) <= 4 {
				text = strings.Join(slices.Sorted(maps.Keys(values[k])), "; ")
			}
			options.Rows = append(options.Rows, []string{k, text})
		}
		blocks = append(blocks, options)
	}
	return blocks
}
