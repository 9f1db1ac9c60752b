package report

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

const (
	// maxColumns is the maximum number of points of a line: what a wide screen can show.
	maxColumns = 600
	// maxFine is how many times as many are held, for parts of the run that are zoomed to.
	maxFine = 8
	// maxCells bounds memory: the histograms and statistics held, columns times leaves and scope values.
	maxCells = 1 << 16
	// minColumns are kept even above maxCells, as fewer show too little.
	minColumns = 64
	// hardMaxCells bounds the cells with fewer columns than minColumns, as with thousands of hosts, whose page has no
	// room for more columns anyway. hardMinColumns are always kept.
	hardMaxCells   = 3 * maxCells
	hardMinColumns = 16
	// maxChanges is the maximum number of breaches and recoveries listed.
	maxChanges = 200
	// maxBytes is the maximum size of a page. Only tables with a row for each host may make it larger.
	maxBytes = 10_000_000
	// ownBytes is the size that is aimed at for the page of one host, without its libraries. Up to ownIntervals
	// intervals are kept nevertheless, and ownColumns columns in any case.
	ownBytes     = 130_000
	wholeBytes   = 2_000_000 // a page that is larger has no parts of I/Os in its cells
	ownIntervals = 3000
	ownColumns   = 200
	// maxHeld is how many bytes of finished columns stay in memory; the others are in a temporary file.
	maxHeld = 64 << 20
)

// Options are the contents and limits of a page that do not come from the run.
type Options struct {
	// Generator is the program and its version.
	Generator string
	// Marks, if not nil, returns what stands out and what was noted. It is called after all kinds have ended, and again
	// each time the page must shrink.
	Marks func() []Mark
	// Stalls, if not nil, returns the stalls that the map shows. It is called as Marks is.
	Stalls func() []pipeline.Stall
	// Outliers, if not nil, returns the single slow I/Os that the page lists and its chart shows; nil if nobody looked
	// for any. It is called as Marks is.
	Outliers func() *pipeline.Outliers
	// Compared, if not nil, returns how the runs of a page differ. It is called once, after the last has ended.
	Compared func() (*Comparison, error)
	// MaxColumns, MaxBytes and MaxHeld are smaller in tests; 0 means maxColumns, maxBytes and maxHeld.
	MaxColumns, MaxBytes, MaxHeld int
	// Picture, if not nil, is drawn instead of the page.
	Picture *Picture
}

// Mark is a finding about a run, or a note on it, in words.
type Mark struct {
	Text string `json:"-"`
	// Measure is what a finding is about: a percentile such as p99, or iops; "" if it is neither.
	Measure   string `json:"-"`
	Direction string `json:"-"`
	// Name is what the page calls it: a number, or of a note a letter.
	Name string `json:"name"`
	Note bool   `json:"note,omitempty"`
	// From and To are its time in ms from the run's start; both 0 if a finding is about the whole run.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Who are the hosts, jobs or logs that a finding is about.
	Dimension string   `json:"dimension,omitempty"`
	Who       []string `json:"who,omitempty"`
	// Besides is true of a sentence that is no finding, and so has no name.
	Besides bool `json:"-"`
}

// Comparison says how runs differ, in sentences and number by number.
type Comparison struct {
	Title     string   // of what follows
	Lead      []string // what differs most, and the options that differ
	Measure   string   // of that: a percentile such as p99, or another metric
	Direction string
	Groups    []string // names of groups of runs; nil for two runs
	Sentences []string
	Head      []string
	Rows      [][]string
	Findings  [][]string // of each run
}

// Sink collects one run, or one kind of latency of it, for a page.
type Sink struct {
	pipeline.Discard
	*shared
	run          *pipeline.Run
	sum          *pipeline.Summary // nil until End
	by           map[string]bool   // true for dimensions with more than one value
	step         int64             // intervals in a column
	col          int               // index of the current column; after End, the number of columns
	columns      columns           // the finished ones
	intervals    int64             // seen so far
	leaves       []*leaf
	scopes       []*scope
	leafAt       map[fio.Dims]*leaf
	scopeAt      map[dims]*scope
	scopeMembers map[dims]*members // of the scope values; made on first use
	changes      []change          // the first maxChanges
	changed      int               // number of all changes
}

// change is a breach of a rule or a recovery, at the start of its interval.
type change struct {
	pipeline.Change
	at int64
}

var _ pipeline.Sink = (*Sink)(nil)

// dims are the dimensions of a leaf or scope value; "" if not split by.
type dims struct {
	Host      string `json:"host,omitempty"`
	Job       string `json:"job,omitempty"`
	Log       string `json:"log,omitempty"`
	Direction string `json:"direction"`
}

// printable returns d as the page has it.
func (d dims) printable() dims {
	return dims{fio.Printable(d.Host), fio.Printable(d.Job), fio.Printable(d.Log), d.Direction}
}

// split reports by which dimensions d is split: host, job, log, direction.
func (d dims) split() [4]bool {
	return [...]bool{d.Host != "", d.Job != "", d.Log != "", d.Direction != fio.All}
}

// at returns the scope value of a split that contains the leaf d.
func (d dims) at(split [4]bool) dims {
	for i, value := range []*string{&d.Host, &d.Job, &d.Log} {
		if !split[i] {
			*value = ""
		}
	}
	if !split[3] {
		d.Direction = fio.All
	}
	return d
}

// NewKinds returns n Sinks for kinds of latency of the same run, to be used one after the other. The last End writes
// the page, which shows them side by side.
func NewKinds(w io.Writer, n int, o Options) []*Sink {
	o.MaxColumns = cmp.Or(o.MaxColumns, maxColumns)
	o.MaxBytes = cmp.Or(o.MaxBytes, maxBytes)
	o.MaxHeld = cmp.Or(o.MaxHeld, maxHeld)
	p := &shared{w: w, o: o}
	for range n {
		p.kinds = append(p.kinds, &Sink{
			shared: p, step: 1, columns: columns{limit: o.MaxHeld / n},
			leafAt: map[fio.Dims]*leaf{}, scopeAt: map[dims]*scope{},
		})
	}
	return slices.Clone(p.kinds)
}

// NewRuns returns Sinks for runs of one kind to compare, to be used one after the other, those of the baseline first.
// sides has 0 for these and 1 for the others; of runs that are repeats each is a side.
func NewRuns(w io.Writer, names []string, sides []int, o Options) []*Sink {
	sinks := NewKinds(w, len(names), o)
	sinks[0].runs, sinks[0].sides = names, sides
	return sinks
}

// Begin starts a run.
func (s *Sink) Begin(_ context.Context, run *pipeline.Run) error {
	s.run = run
	s.by = map[string]bool{fio.ByDirection: true}
	for _, dim := range run.Settings.By {
		if dim == fio.ByDirection {
			continue
		}
		values := map[string]bool{}
		for _, l := range run.Logs {
			values[l.Dims().Of(dim)] = true
		}
		// Users cannot select by a dimension with one value, and it would double the memory.
		s.by[dim] = len(values) != 1
	}
	return s.possible()
}

// reduce drops the dimensions that have only one value.
func (s *Sink) reduce(d fio.Dims) dims {
	out := dims{Direction: d.Direction}
	if s.by[fio.ByHost] {
		out.Host = d.Host
	}
	if s.by[fio.ByJob] {
		out.Job = d.Job
	}
	if s.by[fio.ByLog] {
		out.Log = d.Log
	}
	return out
}

// Interval adds one interval.
func (s *Sink) Interval(ctx context.Context, q *pipeline.Interval) error {
	if int(s.intervals/s.step) > s.col {
		s.finish()
	}
	s.intervals++
	for i := range q.Leaves {
		s.add(&q.Leaves[i])
	}
	for _, c := range q.Changes {
		s.changed++
		if s.changed <= maxChanges {
			s.changes = append(s.changes, change{c, q.Offset})
		}
	}
	return s.Late(ctx, q)
}

// Late adds the rows of an interval.
func (s *Sink) Late(_ context.Context, q *pipeline.Interval) error {
	n := (q.Offset - s.run.FirstInterval) / s.run.Interval
	for i := range q.Rows {
		r := &q.Rows[i]
		d := s.reduce(r.Dims)
		if names := strings.Count(r.Scope, "+") + 1; r.Scope != fio.RunScope && names != d.count() {
			continue // the same I/Os as a scope with fewer dimensions
		}
		sc := s.scopeAt[d]
		if sc == nil {
			sc = &scope{dims: d}
			s.scopeAt[d] = sc
			s.scopes = append(s.scopes, sc)
		}
		// I/Os and their rate yield the covered time. Rows of stored runs have no other: without I/O it is the
		// interval.
		st := coverage{intervals: 1, logs: int32(r.Logs)}
		switch {
		case r.IOPS > 0:
			st.covered = r.Stats.Samples / r.IOPS
		case r.IOPSKnown:
			st.covered = float64(cmp.Or(r.Covered, s.run.Interval)) / 1e9
			if r.Covered == 0 || 2*r.Covered >= s.run.Interval {
				st.idle = 1
			}
		}
		sc.add(int(n/s.step), st)
	}
	return s.columns.err
}

// count is the number of dimensions that d is split by.
func (d dims) count() (n int) {
	for _, split := range d.split() {
		if split {
			n++
		}
	}
	return n
}

func (s *Sink) add(from *pipeline.Leaf) {
	l := s.leafAt[from.Dims]
	if l == nil {
		l = &leaf{dims: s.reduce(from.Dims)}
		s.leafAt[from.Dims] = l
		s.leaves = append(s.leaves, l)
	}
	l.limits = from.Limits
	l.total.AddHist(from.Hist)
	l.open.AddHist(from.Hist)
}

// finish closes the current column and halves the columns if there are too many. It does so only after an even number
// of them, so that all stay complete.
func (s *Sink) finish() {
	for _, l := range s.leaves {
		l.finish(s.col, &s.columns)
	}
	s.col++
	cells := s.col * (len(s.leaves) + len(s.scopes)) * len(s.kinds)
	many := s.col >= 2*minColumns && cells > maxCells || s.col >= 2*hardMinColumns && cells > hardMaxCells
	if s.col%2 == 0 && (s.col >= maxFine*s.o.MaxColumns || many) {
		s.halve()
	}
}

func (s *Sink) halve() {
	to := columns{limit: s.columns.limit, err: s.columns.err}
	var sum fiohist.Hist
	for _, l := range s.leaves {
		l.halve(&s.columns, &to, &sum)
	}
	s.columns.close()
	to.err = cmp.Or(to.err, s.columns.err)
	s.columns = to
	for _, sc := range s.scopes {
		sc.halve()
	}
	s.step *= 2
	s.col = (s.col + 1) / 2
}

// End ends this kind or run. The last End writes the page.
func (s *Sink) End(_ context.Context, sum *pipeline.Summary) error {
	s.sum = sum
	for _, l := range s.leaves {
		l.finish(s.col, &s.columns)
	}
	s.col++
	if s.col > maxFine*s.o.MaxColumns {
		s.halve()
	}
	return s.finished()
}
