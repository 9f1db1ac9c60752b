package report

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"

	"fiolat/internal/fiohist"
	"fiolat/internal/sla"
	"fiolat/pipeline"
)

const (
	// maxColumns is how many points a line has at most: what a wide screen can show.
	maxColumns = 600
	// maxCells bounds the histograms and statistics that are held: columns times
	// what the run is split into. The heap is 100 MB then, if each histogram fills 300
	// buckets.
	maxCells = 1 << 16
	// minColumns are kept for that reason all the same: fewer show nothing.
	minColumns = 64
	// mostCells bounds them of any run: thousands of hosts, whose page has no room for as many
	// columns either. fewColumns are kept whatever that takes.
	mostCells  = 3 * maxCells
	fewColumns = 16
	// maxChanges is how many breaches and recoveries are listed.
	maxChanges = 200
	// maxBytes is how large a page may be, but for what its tables take that have a row for each host.
	maxBytes = 10_000_000
	// maxHeld is how many bytes of finished columns are held in memory; the others are in a
	// temporary file.
	maxHeld = 64 << 20
)

// Options say what a page shows that the run does not.
type Options struct {
	// Generator is the program and its version.
	Generator string
	// Findings, if not nil, is asked for what stands out, in sentences, once the run of the first kind has ended.
	Findings func() []string
	// Compared, if not nil, is asked how the runs of a page of several differ, once the last has ended.
	Compared func() (*Comparison, error)
	// MaxColumns, MaxBytes and MaxHeld are smaller in tests; 0 is the constants'.
	MaxColumns, MaxBytes, MaxHeld int
}

// Comparison is how runs differ: in sentences, and number by number.
type Comparison struct {
	Sentences []string
	Head      []string
	Rows      [][]string
	Findings  [][]string // of each run: what stands out
}

// Sink takes one run, or one kind of latency of it, for a page.
type Sink struct {
	pipeline.Discard
	*page
	run     *pipeline.Run
	sum     *pipeline.Summary // nil until End
	by      map[string]bool   // the dimensions that tell anything apart
	step    int64             // quanta in a column
	col     int               // the column under way
	columns columns           // the finished ones
	quanta  int64             // seen so far
	leaves  []*leaf
	scopes  []*scope
	leafAt  map[pipeline.Dims]*leaf
	scopeAt map[dims]*scope
	of      map[dims]*members // of the scope values, once they are asked for
	rules   []sla.Rule
	changes []change // the first maxChanges
	changed int      // how many there were
}

// change is a breach of a rule, or a recovery, and the start of its quantum.
type change struct {
	pipeline.Change
	at int64
}

var _ pipeline.Sink = (*Sink)(nil)

// dims are the dimensions of a leaf or scope value; "" is not split by.
type dims struct {
	Host      string `json:"host,omitempty"`
	Job       string `json:"job,omitempty"`
	Log       string `json:"log,omitempty"`
	Direction string `json:"direction"`
}

// split says by which dimensions d is split: host, job, log, direction.
func (d dims) split() [4]bool {
	return [...]bool{d.Host != "", d.Job != "", d.Log != "", d.Direction != pipeline.All}
}

// at is the scope value of that split that has the I/Os of the leaf d.
func (d dims) at(split [4]bool) dims {
	for i, value := range []*string{&d.Host, &d.Job, &d.Log} {
		if !split[i] {
			*value = ""
		}
	}
	if !split[3] {
		d.Direction = pipeline.All
	}
	return d
}

// NewKinds makes n Sinks, each for one kind of latency of the same run, one after the
// other. The last End writes the page, on which they lie side by side.
func NewKinds(w io.Writer, n int, o Options) []*Sink {
	o.MaxColumns = cmp.Or(o.MaxColumns, maxColumns)
	o.MaxBytes = cmp.Or(o.MaxBytes, maxBytes)
	o.MaxHeld = cmp.Or(o.MaxHeld, maxHeld)
	p := &page{w: w, o: o}
	for range n {
		p.kinds = append(p.kinds, &Sink{
			page: p, step: 1, columns: columns{limit: o.MaxHeld / n},
			leafAt: map[pipeline.Dims]*leaf{}, scopeAt: map[dims]*scope{},
		})
	}
	return slices.Clone(p.kinds)
}

// NewRuns makes Sinks for runs of one kind that are compared, one after the other, the baseline first.
func NewRuns(w io.Writer, names []string, o Options) []*Sink {
	sinks := NewKinds(w, len(names), o)
	sinks[0].runs = names
	return sinks
}

// Begin takes note of the run.
func (s *Sink) Begin(_ context.Context, run *pipeline.Run) error {
	s.run = run
	var err error
	if s.rules, err = sla.ParseAll(run.Settings.SLA); err != nil {
		return err
	}
	s.by = map[string]bool{"direction": true}
	for _, dim := range run.Settings.By {
		if dim == "direction" {
			continue
		}
		values := map[string]bool{}
		for _, l := range run.Logs {
			values[map[string]string{"host": l.Host, "job": l.Job, "log": l.LogName}[dim]] = true
		}
		// A dimension with one value is no choice, and would double all that is kept.
		s.by[dim] = len(values) != 1
	}
	return nil
}

// reduce leaves the dimensions out that tell nothing apart.
func (s *Sink) reduce(d pipeline.Dims) dims {
	out := dims{Direction: d.Direction}
	if s.by["host"] {
		out.Host = d.Host
	}
	if s.by["job"] {
		out.Job = d.Job
	}
	if s.by["log"] {
		out.Log = d.Log
	}
	return out
}

// Quantum adds one quantum.
func (s *Sink) Quantum(ctx context.Context, q *pipeline.Quantum) error {
	if int(s.quanta/s.step) > s.col {
		s.finish()
	}
	s.quanta++
	for i := range q.Leaves {
		s.add(&q.Leaves[i])
	}
	for _, c := range q.Changes {
		if s.changed++; s.changed <= maxChanges {
			s.changes = append(s.changes, change{c, q.Offset})
		}
	}
	return s.Late(ctx, q)
}

// Late adds the rows of a quantum.
func (s *Sink) Late(_ context.Context, q *pipeline.Quantum) error {
	n := (q.Offset - s.run.FirstQuantum) / s.run.Interval
	for i := range q.Rows {
		r := &q.Rows[i]
		d := s.reduce(r.Dims)
		if names := strings.Count(r.Scope, "+") + 1; r.Scope != "run" && names != d.count() {
			continue // the same as a scope with fewer dimensions
		}
		sc := s.scopeAt[d]
		if sc == nil {
			sc = &scope{dims: d}
			s.scopeAt[d] = sc
			s.scopes = append(s.scopes, sc)
		}
		// The rows say how fast; that and how much is how long. Where nothing
		// completed a log may have run for a part of the quantum only, at either end
		// of the run; that part is taken for the whole.
		st := stretch{quanta: 1, logs: int32(r.Logs)}
		switch {
		case r.IOPS > 0:
			st.covered = r.Stats.Samples / r.IOPS
		case r.IOPSKnown:
			st.covered = float64(s.run.Interval) / 1e9
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

// finish closes the column under way, and halves the columns if they have become
// too many. It does so after an even number of them, so that each is whole.
func (s *Sink) finish() {
	for _, l := range s.leaves {
		l.finish(s.col, &s.columns)
	}
	s.col++
	cells := s.col * (len(s.leaves) + len(s.scopes)) * len(s.kinds)
	many := s.col >= 2*minColumns && cells > maxCells || s.col >= 2*fewColumns && cells > mostCells
	if s.col%2 == 0 && (s.col >= s.o.MaxColumns || many) {
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

// End closes this kind; the last one makes the page and writes it.
func (s *Sink) End(_ context.Context, sum *pipeline.Summary) error {
	s.sum = sum
	for _, l := range s.leaves {
		l.finish(s.col, &s.columns)
	}
	s.col++
	if s.col > s.o.MaxColumns {
		s.halve()
	}
	return s.finished()
}
