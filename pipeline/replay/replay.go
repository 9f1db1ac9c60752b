// Package replay passes a stored run, or its parts, to a Sink as if its logs were read again.
package replay

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
)

// Stored is a run, or one part of it, as it was stored, without its leaves. The Run's Logs have End and Dirs.
type Stored struct {
	Run *pipeline.Run
	// End is the end of the last interval, in ns from Run.Start.
	End     int64
	Account pipeline.Account
	// Leaves is how many leaves were stored.
	Leaves int64
}

// Leaf is one leaf as it was stored.
type Leaf struct {
	// Part is the index of the Stored that it belongs to.
	Part int
	// Start is the start of its interval in ns since 1970.
	Start int64
	Dims  fio.Dims
	Hist  *fiohist.Hist
	// Members are the logs with I/O in it, as indices of the Stored's Run.Logs.
	Members []int
}

// Leaves passes all leaves of a run, those of all its parts together, to each in ascending order of
// Start. An error of each ends it and is returned as it is.
type Leaves func(ctx context.Context, each func(Leaf) error) error

// Replay is a stored run, ready to be passed to a Sink.
type Replay struct {
	// Run is what the parts make up together.
	Run *pipeline.Run
	// Warnings are to be added to the parts' warnings.
	Warnings []string
	parts    []*Stored
	leaves   Leaves
	files    [][]int // by part: where its logs are among those of Run
	shift    int     // bits by which the buckets of leaves are made coarser
}

// Options select what to make of a stored run. The zero value is everything.
type Options struct {
	// Percentiles are the ones wanted; nil stands for the run's.
	Percentiles []float64
	// By are the dimensions wanted, out of those of the run; nil stands for all of them.
	By []string
	// Pick is the part of the run that is looked at.
	Pick pipeline.Pick
	// AcrossHosts leaves out the rows of scopes that contain the host, but for those with a Row.TailPart.
	// What is left no part of a run can compute by itself.
	AcrossHosts bool
	// LeavesOnly leaves out all rows but those of the whole run.
	LeavesOnly bool
	// Workers is how many intervals are added up at a time; default: one per processor.
	Workers int
}

// New merges the parts of a run, or takes a run without parts. If parts do not fit together, the error is an
// *fio.ParseError that names one of them.
func New(parts []*Stored, leaves Leaves) (*Replay, error) {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b *Stored) int { return cmp.Compare(a.Run.Part, b.Run.Part) })
	r := newReplay(parts, leaves)
	if len(parts) > 1 || r.Run.Part != "" {
		for _, p := range parts[1:] {
			if err := checkCompatible(parts[0].Run, p.Run); err != nil {
				return nil, err
			}
		}
		if err := disjoint(parts); err != nil {
			return nil, err
		}
		r.Run = union(parts)
	}
	r.sortLogs()
	return r, nil
}

// Part takes one part of a run, or a run without parts, as it is.
func Part(part *Stored, leaves Leaves) *Replay {
	r := newReplay([]*Stored{part}, leaves)
	r.sortLogs()
	return r
}

func newReplay(parts []*Stored, leaves Leaves) *Replay {
	return &Replay{Run: parts[0].Run, parts: parts, leaves: leaves}
}

// checkCompatible returns an error if two parts cannot be added up.
func checkCompatible(a, b *pipeline.Run) error {
	x, y := a.Settings, b.Settings
	differ := func(flag, fa, fb string) error {
		return &fio.ParseError{
			File: fmt.Sprintf("run %q", a.ID),
			Msg:  fmt.Sprintf("part %q has %s where part %q has %s", b.Part, fb, a.Part, fa),
			Hint: "ingest one of them again with the same " + flag,
		}
	}
	of := y.Fields()
	for i, f := range x.Fields() {
		if fa, fb := settingText(f.Value), settingText(of[i].Value); f.Same && fa != fb {
			var flags []string
			for _, flag := range f.Flags {
				flags = append(flags, "--"+flag.Name)
			}
			return differ(fio.List(flags, "or"), fa, fb)
		}
	}
	if fa, fb := geometryText(a.Geometry), geometryText(b.Geometry); fa != fb {
		return differ("--coarseness", fa, fb)
	}
	if x.Grid != fio.GridEpoch {
		return &fio.ParseError{File: fmt.Sprintf("run %q", a.ID), Msg: fmt.Sprintf("the intervals of part %q are "+
			"counted from its own start", a.Part), Hint: "ingest all parts with --grid epoch"}
	}
	return nil
}

func geometryText(g fiohist.Geometry) string {
	return fmt.Sprintf("%d columns of %d groups", g.Columns(), g.Groups)
}

func settingText(v any) string {
	switch v := v.(type) {
	case *time.Duration:
		return fmt.Sprintf("an interval of %v ms", float64(*v)/1e6)
	case *string:
		return *v
	case *bool:
		if *v {
			return "restored tails"
		}
		return "no restored tails"
	case *[]string:
		return fmt.Sprintf("a split by %q", *v)
	case *[]float64:
		return fmt.Sprintf("the percentiles %v", *v)
	}
	return fmt.Sprint(v)
}

// disjoint checks that no host and no log is in two parts: its I/Os would count
// twice.
func disjoint(parts []*Stored) error {
	hosts, logs := map[string]string{}, map[[4]string]string{}
	twice := func(what, a, b string) error {
		return &fio.ParseError{File: fmt.Sprintf("run %q", parts[0].Run.ID),
			Msg:  fmt.Sprintf("%s is in part %q and in part %q", what, a, b),
			Hint: "delete the run and ingest each host in one part"}
	}
	for _, p := range parts {
		for _, l := range p.Run.Logs {
			if other, ok := hosts[l.Host]; ok && l.Host != "" && other != p.Run.Part {
				return twice(fmt.Sprintf("host %q", l.Host), other, p.Run.Part)
			}
			hosts[l.Host] = p.Run.Part
			key := [4]string{l.Host, l.Job, l.LogName, l.Hash}
			if l.Host == p.Run.Part { // the log may have named no host
				key[0], key[2] = "", l.Source.Base
			}
			if other, ok := logs[key]; ok && !l.Empty {
				return twice(fmt.Sprintf("the log %q", l.Source.Base), other, p.Run.Part)
			}
			logs[key] = p.Run.Part
		}
	}
	return nil
}

// union returns the run that fitting parts make up: what an ingest of all logs at once would have made, but for its
// generation, which is derived from those of the parts.
func union(parts []*Stored) *pipeline.Run {
	run := *parts[0].Run
	run.Part, run.Logs, run.Metas = "", nil, nil
	run.Labels = maps.Clone(run.Labels)
	run.Settings.Offsets = map[string]time.Duration{}
	run.MetaSummary = &pipeline.MetaSummary{Options: map[string][]string{}}
	for _, p := range parts {
		if p.Run.Start < run.Start {
			run.Start, run.StartHow = p.Run.Start, p.Run.StartHow
		}
		if p.Run.Name != run.Name {
			run.Name = ""
		}
		if p.Run.Settings.Start != run.Settings.Start {
			run.Settings.Start = ""
		}
		maps.DeleteFunc(run.Labels, func(k, v string) bool { return p.Run.Labels[k] != v })
		run.Settings.SkipBad = run.Settings.SkipBad || p.Run.Settings.SkipBad
		run.Settings.LogHistMsec = max(run.Settings.LogHistMsec, p.Run.Settings.LogHistMsec)
		maps.Copy(run.Settings.Offsets, p.Run.Settings.Offsets)
		if t := p.Run.MetaSummary; t != nil {
			all := run.MetaSummary
			all.Versions, all.Workloads = intersect(all.Versions, t.Versions), intersect(all.Workloads, t.Workloads)
			all.Measures = intersect(all.Measures, t.Measures)
			for k, v := range t.Options {
				all.Options[k] = intersect(all.Options[k], v)
			}
		}
		run.Parts = append(run.Parts, pipeline.Part{Name: p.Run.Part, Generation: p.Run.Generation})
	}
	run.FirstInterval = math.MaxInt64
	// The JSON of fio --client covers all hosts, and every part may have it, with the logs of its own hosts.
	same := map[string][]*fiojson.Entry{}
	for _, p := range parts {
		shift := p.Run.Start - run.Start
		run.FirstInterval = min(run.FirstInterval, p.Run.FirstInterval+shift)
		for _, l := range p.Run.Logs {
			moved := *l
			moved.Start += shift
			moved.End += shift
			moved.Stalls = slices.Clone(moved.Stalls)
			for i := range moved.Stalls {
				for _, s := range []*pipeline.Span{&moved.Stalls[i].Span, &moved.Stalls[i].Began} {
					s.From += shift
					s.To += shift
				}
			}
			for d := range moved.Dirs {
				for _, at := range []*int64{&moved.Dirs[d].From, &moved.Dirs[d].To, &moved.Dirs[d].Until} {
					*at += shift
				}
				moved.Dirs[d].Holes = slices.Clone(moved.Dirs[d].Holes)
				for i := range moved.Dirs[d].Holes {
					moved.Dirs[d].Holes[i].From += shift
					moved.Dirs[d].Holes[i].To += shift
				}
			}
			run.Logs = append(run.Logs, &moved)
		}
		here := map[string]int{}
		for _, m := range p.Run.Metas {
			once := *m
			once.Entries = make([]fiojson.Entry, 0, len(m.Entries)) // same points to them
			for _, e := range m.Entries {
				anywhere := e
				anywhere.NoLog = false
				key := fmt.Sprintf("%+v", anywhere)
				here[key]++
				if n := here[key]; e.Host != "" && n <= len(same[key]) {
					same[key][n-1].NoLog = same[key][n-1].NoLog && e.NoLog
					continue
				}
				once.Entries = append(once.Entries, e)
				same[key] = append(same[key], &once.Entries[len(once.Entries)-1])
			}
			run.Metas = append(run.Metas, &once)
		}
	}
	run.Generation = pipeline.MergedGeneration(run.Parts)
	return &run
}

func intersect(a, b []string) []string {
	c := slices.Concat(a, b)
	slices.Sort(c)
	return slices.Compact(c)
}

// sortLogs puts the logs of all parts in the order in which a run has them.
func (r *Replay) sortLogs() {
	type numbered struct {
		part, index int
		log         *pipeline.Log
	}
	var all []numbered
	for n, p := range r.parts {
		r.files = append(r.files, make([]int, len(p.Run.Logs)))
		for i := range p.Run.Logs {
			all = append(all, numbered{n, i, r.Run.Logs[len(all)]})
		}
	}
	slices.SortStableFunc(all, func(a, b numbered) int { return a.log.Compare(b.log) })
	run := *r.Run
	run.Logs = make([]*pipeline.Log, len(all))
	for i, m := range all {
		run.Logs[i] = m.log
		r.files[m.part][m.index] = i
	}
	r.Run = &run
}

// Process passes the run to the sink, in the same calls as if its logs were read again. It holds the leaves of as many
// intervals as there are workers. On an error the sink may have been given some intervals, but no End.
func (r *Replay) Process(ctx context.Context, o Options, sink pipeline.Sink) (*pipeline.Summary, error) {
	sink = pipeline.WithRules(r.Run.Settings.SLA, sink)
	p, err := r.player(o, sink)
	if err != nil {
		return nil, err
	}
	if err = p.merge.Begin(ctx); err != nil {
		return nil, err
	}
	err = r.leaves(ctx, func(leaf Leaf) error { return p.add(ctx, leaf) })
	if err == nil {
		err = p.flush(ctx, p.end)
	}
	if err != nil {
		return nil, err
	}
	return p.finish(ctx)
}

// divisible returns an error if the leaves of a run, stored by some dimensions, hold picked I/Os together with others.
func divisible(run *pipeline.Run, by []string) error {
	for _, dim := range []struct {
		name string
		pick pipeline.Pick
	}{
		{fio.ByHost, pipeline.Pick{Hosts: run.Pick.Hosts}},
		{fio.ByJob, pipeline.Pick{Jobs: run.Pick.Jobs}},
		{fio.ByLog, pipeline.Pick{Logs: run.Pick.Logs}},
	} {
		if slices.Contains(by, dim.name) {
			continue
		}
		for _, l := range run.Logs {
			if !dim.pick.HoldsLog(l, "") {
				return fio.Usagef("--only %[1]s=...: the run %[2]s was stored without --by %[1]s, and cannot be "+
					"split by %[1]s; ingest it again with --by %[1]s, or pass its logs", dim.name,
					fio.Printable(cmp.Or(run.Name, run.ID)))
			}
		}
	}
	return nil
}

// known returns the dimensions of a leaf, with one that is wanted where leaves are not stored by it: see divisible.
func (p *player) known(dims fio.Dims) fio.Dims {
	pick := &p.merge.Run.Pick
	for _, of := range [...]struct {
		dim    string
		wanted []string
	}{{fio.ByHost, pick.Hosts}, {fio.ByJob, pick.Jobs}, {fio.ByLog, pick.Logs}} {
		if len(of.wanted) > 0 && !slices.Contains(p.by, of.dim) {
			dims.Set(of.dim, of.wanted[0])
		}
	}
	return dims
}

// player is the state of Process.
type player struct {
	*Replay
	o     Options
	sink  pipeline.Sink
	merge *intervals.Merger
	by    []string // the dimensions that the leaves are stored by
	leaf  map[fio.Dims]int
	seen  []int64 // number of leaves by part
	end   int64   // index of the interval after the last
	fine  intervals.Grid
	open  []*intervals.Stored
}

func (r *Replay) player(o Options, sink pipeline.Sink) (*player, error) {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	run := *r.Run
	run.Generation = r.Generation(o)
	if o.Percentiles != nil {
		run.Percentiles = o.Percentiles
	}
	by := run.Settings.By
	if o.By != nil {
		for _, dim := range o.By {
			if !slices.Contains(by, dim) && dim != fio.ByDirection {
				return nil, fio.Usagef("--by %s: the run %s was stored without, and cannot be split by it", dim,
					fio.Printable(cmp.Or(run.Name, run.ID)))
			}
		}
		run.Settings.By = o.By
	}
	if !o.Pick.Empty() {
		if err := run.Choose(&o.Pick); err != nil {
			return nil, err
		}
		if err := divisible(&run, by); err != nil {
			return nil, err
		}
	}
	g := intervals.NewGrid(&run)
	g.First = g.Index(run.FirstInterval)
	logs := make([]*intervals.Member, len(run.Logs))
	for i, l := range run.Logs {
		logs[i] = &intervals.Member{Log: l, EndSoFar: l.End, DirInfo: l.Dirs}
		logs[i].Publish()
	}
	fine := run
	fine.Interval = r.parts[0].Run.Interval
	p := &player{Replay: r, o: o, sink: sink, by: by, fine: intervals.NewGrid(&fine),
		merge: intervals.New(&run, &g, logs, sink, o.Workers, o.LeavesOnly), seen: make([]int64, len(r.parts)),
		end: g.First}
	if o.AcrossHosts {
		p.merge.DropHosts()
	}
	p.leaf = p.merge.Index()
	for _, part := range r.parts {
		p.end = max(p.end, g.Last(part.Run.Start+part.End-run.Start)+1)
	}
	if p.end-g.First > intervals.MaxSpan {
		return nil, &fio.ParseError{File: fmt.Sprintf("run %q", run.ID), Msg: intervals.ErrSpan.Error()}
	}
	return p, nil
}

// Generation returns that of the run that Process passes on.
func (r *Replay) Generation(o Options) string {
	if o.Percentiles != nil && !slices.Equal(o.Percentiles, r.Run.Percentiles) {
		return pipeline.Digest([]any{r.Run.Generation, o.Percentiles})
	}
	return r.Run.Generation
}

func (p *player) broken(part int, format string, args ...any) error {
	return &fio.ParseError{File: p.name(part), Msg: fmt.Sprintf(format, args...), Hint: "ingest it again"}
}

// name is what errors call a part.
func (p *player) name(part int) string {
	run := p.parts[part].Run
	what := fmt.Sprintf("run %q", run.ID)
	if run.Part != "" {
		what += fmt.Sprintf(", part %q", run.Part)
	}
	return what
}

// GoneError says that leaves of a run were deleted: nothing but its document holds all of it.
type GoneError struct{ err fio.ParseError }

func (e *GoneError) Error() string { return e.err.Error() }

// Unwrap returns it as an error of input.
func (e *GoneError) Unwrap() error { return &e.err }

// partDeletedError is the error for a part of which leaves were deleted.
func (p *player) partDeletedError(part int) error {
	return &GoneError{fio.ParseError{File: p.name(part), Msg: fmt.Sprintf("%d leaves are stored of the %d that were "+
		"made: their indices were deleted, by hand or by the lifecycle policy (setup --delete-after), "+
		"or it is being ingested again",
		p.seen[part], p.parts[part].Leaves),
		Hint: "fiolat runs, summary, curve, history and compare still have the figures of the run; for all else ingest " +
			"its logs again"}}
}

func (p *player) add(ctx context.Context, leaf Leaf) error {
	g := p.merge.Grid
	at := leaf.Start - p.merge.Run.Start
	q := g.Index(at)
	dims := leaf.Dims
	if p.o.By != nil {
		for _, n := range fio.Dimensions() {
			if n != fio.ByDirection && !slices.Contains(p.o.By, n) {
				dims.Set(n, "")
			}
		}
	}
	if !p.o.Pick.Empty() {
		leaf.Hist = p.merge.Keep(q, leaf.Hist, p.known(leaf.Dims))
		if leaf.Hist == nil {
			p.seen[leaf.Part]++
			return nil
		}
	}
	leaf.Hist.Rounded()
	i, ok := p.leaf[dims]
	if !ok || p.fine.Start(p.fine.Index(at)) != at || q < g.First || q >= p.end {
		return p.broken(leaf.Part, "a leaf %+v at %d ns that the run does not have", leaf.Dims, at)
	}
	next := p.merge.Done
	if q < next {
		return fmt.Errorf("internal error: a leaf at %d ns came late", at)
	}
	if q-next >= int64(p.o.Workers) {
		// All later leaves are of q or after: the intervals before it are complete.
		if err := p.flush(ctx, q); err != nil {
			return err
		}
		next = q
	}
	for int64(len(p.open)) <= q-next {
		p.open = append(p.open, p.merge.NewStored())
	}
	o := p.open[q-next]
	files := p.files[leaf.Part]
	var members []int
	for _, m := range leaf.Members {
		if m < 0 || m >= len(files) {
			return p.broken(leaf.Part, "a leaf is of log %d, the run has %d", m, len(files))
		}
		members = append(members, files[m])
	}
	p.merge.AddStored(o, i, leaf.Hist.Coarsen(p.shift), members)
	p.seen[leaf.Part]++
	return nil
}

// flush adds up the intervals before q, several at a time, and passes them to the sink.
func (p *player) flush(ctx context.Context, q int64) error {
	for p.merge.Done < q {
		n := int(min(int64(p.o.Workers), q-p.merge.Done))
		if err := p.merge.EmitStored(ctx, n, p.open[:min(n, len(p.open))]); err != nil {
			return err
		}
		p.open = p.open[min(n, len(p.open)):]
	}
	return nil
}

// finish checks that every leaf and every I/O came back, and ends the sink.
func (p *player) finish(ctx context.Context) (*pipeline.Summary, error) {
	m := p.merge
	var lost []pipeline.Loss
	for n, part := range p.parts {
		for _, loss := range part.Account.Lost {
			loss.Until += part.Run.Start - m.Run.Start
			lost = append(lost, loss)
		}
		if p.seen[n] < part.Leaves {
			return nil, p.partDeletedError(n)
		}
		if p.seen[n] != part.Leaves {
			return nil, p.broken(n, "%d leaves are stored of the %d that were made", p.seen[n], part.Leaves)
		}
	}
	placed := m.Placed() // in intervals; from here on the totals also hold what is lost
	in, out := 0.0, placed+m.PickedAway()
	m.AddLosses(lost)
	s := m.Summary()
	s.Account.Lost = lost
	for n, part := range p.parts {
		s.Account.Plus(&part.Account, n == 0)
		in += part.Account.Placed
	}
	// Each leaf is rounded to a thousandth of an I/O, and not stored if nothing is left of it.
	leaves := float64((p.end-m.Grid.First)*(m.Run.Interval/p.fine.Interval)) * float64(len(m.Run.Logs)*fio.Directions)
	if math.Abs(in-out) > 0.0005*leaves+1e-9*in {
		return nil, p.broken(0, "its parts say that they hold %.3f I/Os, their leaves hold %.3f", in, out)
	}
	s.Account.Placed, s.Account.PickedAway = in-m.PickedAway(), m.PickedAway()
	if s.Intervals == 0 && p.o.Pick.Timed() {
		return nil, m.Run.NothingLeft(m.Grid.Start(m.Done))
	}
	if len(p.parts) == 1 && p.fine.Interval == m.Run.Interval {
		s.Account.Interval = p.parts[0].Account.Interval
	}
	s.Account.Warnings = append(s.Account.Warnings, p.Warnings...)
	if !p.o.Pick.Timed() {
		s.TakeExact()
	}
	if err := p.sink.End(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}
