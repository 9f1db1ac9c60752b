package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"

	"fiolat/ingest/fiojson"
	"fiolat/ingest/fiolog"
	"fiolat/internal/errs"
)

// histBytes is what an open histogram of a real log takes, roughly: eleven pages of 64.
const histBytes = 6 << 10

// manyLogs is from how many logs on what waits for other logs is packed, however much may be held.
const manyLogs = 128

// Process reads the logs to their ends and hands everything to the sink. On an
// error the sink has been given nothing, or some quanta but no End; if it was End
// that failed, the summary comes with its error.
//
// Goroutines: in each round the workers (see start) own the logs, one worker a log; meanwhile this goroutine and as
// many helpers add up what the round before has finished. Between the rounds nobody runs, and all is handed over. So
// no lock is needed, and nothing depends on who was faster.
func (p *Plan) Process(ctx context.Context, sink Sink) (*Summary, error) {
	sink, err := watch(&p.cfg.Settings, sink)
	if err != nil {
		return nil, err
	}
	defer p.tellWarnings()
	r := &rounds{Plan: p, sink: sink, merge: newMerger(p.Run, &p.grid, p.logs), done: p.grid.first}
	// Half is for what is being read, half for what is being added up.
	quota := max(p.cfg.Hold/2, 0) / histBytes / max(len(p.logs), 1)
	for _, l := range p.logs {
		l.wait = quota == 0 || len(p.logs) >= manyLogs
		l.align.cells.pack = l.wait
	}
	var ready batch
	for target := p.grid.start(p.grid.first + 1); ; {
		var going []*logState
		for _, l := range p.logs {
			if !l.eof {
				going = append(going, l)
			}
		}
		wait := p.start(ctx, going, func(l *logState) error { return l.advance(target, quota) })
		emitErr := r.emit(ctx, ready)
		// An error of the input tells more than the error of a sink that was cancelled.
		for _, err := range wait() {
			if err != nil {
				return nil, err
			}
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if emitErr != nil {
			return nil, emitErr
		}
		for l, cells := range ready.cells {
			l.align.cells.used = cells
		}
		ended, err := r.harvest(ctx)
		if err != nil {
			return nil, err
		}
		mark := r.mark()
		if ready = r.take(mark, ended); ready.cells != nil {
			if err := r.allow(ready.to); err != nil {
				return nil, err
			}
		}
		if ended {
			break
		}
		// The slowest log must come at least one quantum further; the others go on
		// while their quota lasts.
		target = p.grid.start(p.grid.index(max(mark, target)) + 1)
	}
	if err := r.emit(ctx, ready); err != nil {
		return nil, err
	}
	return r.finish(ctx)
}

// rounds is the state of Process between the rounds.
type rounds struct {
	*Plan
	sink  Sink
	merge *merger
	begun bool
	done  int64 // quanta before this one have been taken
	count int   // quanta handed to the sink
}

// chunk is how many quanta are added up at a time: so few that the sink finds them in the
// processor's caches.
const chunk = 8

// maxSums is how many histograms they are added up in, roughly: of thousands of hosts fewer quanta
// are added up at a time.
const maxSums = 1 << 13

// batch is a stretch of quanta that every log has passed.
type batch struct {
	from, to int64
	cells    map[*logState][]*cell // from `from` on; may be shorter than the batch
	active   []*scope              // those with I/O so far
	late     []*scope              // of them, those that earlier quanta had no row for
}

// harvest looks at what the round brought: tails that can be restored, and logs
// that contradict fio's JSON.
func (r *rounds) harvest(ctx context.Context) (ended bool, err error) {
	ended = true
	for _, l := range r.logs {
		ended = ended && l.eof
		if l.outside != nil {
			if r.done > r.grid.first {
				return false, l.outside
			}
			r.disown(l.Meta, []string{l.outside.Error()})
		}
	}
	if ended {
		for _, m := range r.metas() {
			if err := r.restore(m); err != nil {
				return false, err
			}
		}
	}
	for _, l := range r.logs {
		if l.covers = math.MaxInt64; l.eof {
			l.covers = l.end
		}
		l.seeHoles()
	}
	return ended, nil
}

// restore restores the tails of one JSON document.
func (r *rounds) restore(m *fiojson.Document) error {
	restored, losses, misfits, err := settleTails(r.tails, m)
	if err != nil {
		return err
	}
	r.Account.Restored += restored
	for _, w := range losses {
		r.warn("%s", w)
	}
	if len(misfits) > 0 {
		if r.done > r.grid.first {
			return &errs.ParseError{File: m.Path, Msg: misfits[0], Hint: "pass --no-restore, or the JSON of this " +
				"very run with --fio-json"}
		}
		r.disown(m, misfits)
	}
	return nil
}

// disown drops a JSON document that does not belong to its logs: its totals are
// not restored and its limits not believed.
func (r *rounds) disown(m *fiojson.Document, why []string) {
	for _, t := range r.tails {
		if t.meta == m {
			t.done = true
		}
	}
	for _, l := range r.logs {
		if l.Meta == m {
			l.outside = nil
			for d := range l.dirs {
				l.dirs[d].limits.Known, l.dirs[d].none = false, false
			}
			l.disowned = true
		}
	}
	for _, w := range why {
		r.warn("%s", w)
	}
}

// mark is the time that all logs have passed.
func (r *rounds) mark() int64 {
	mark := int64(math.MaxInt64)
	for _, l := range r.logs {
		mark = min(mark, l.watermark())
	}
	return mark
}

// take removes the finished quanta from the logs: all at the end; before, only if
// more is held than may be.
func (r *rounds) take(mark int64, ended bool) batch {
	held := 0
	for _, l := range r.logs {
		held += l.align.cells.held
	}
	to := r.done
	if ended {
		for _, l := range r.logs {
			to = max(to, l.align.cells.first+int64(len(l.align.cells.at)))
		}
	} else if held*histBytes >= r.cfg.Hold/2 {
		to = max(to, r.grid.index(mark))
	}
	if to == r.done && !ended {
		return batch{}
	}
	return r.cut(to)
}

// cut removes the quanta before to from the logs.
func (r *rounds) cut(to int64) batch {
	b := batch{from: r.done, to: to}
	b.cells = make(map[*logState][]*cell, len(r.logs))
	for _, l := range r.logs {
		b.cells[l] = l.align.cells.take(b.to)
	}
	r.done = b.to
	r.merge.limit()
	for _, sc := range r.merge.scopes {
		for _, i := range sc.slots {
			if r.merge.slots[i].seen() {
				b.active = append(b.active, sc)
				if sc.rows < b.from {
					b.late = append(b.late, sc)
				}
				break
			}
		}
	}
	return b
}

// emit adds up the quanta of the batch, several at a time, and hands them to the
// sink in order.
func (r *rounds) emit(ctx context.Context, b batch) error {
	if b.cells == nil {
		return nil
	}
	if !r.begun {
		r.begun = true
		if err := r.sink.Begin(ctx, r.Run); err != nil {
			return err
		}
	}
	if err := r.backfill(ctx, b); err != nil {
		return err
	}
	atOnce := int64(min(max(maxSums/max(len(b.active), 1), r.cfg.Workers), chunk))
	for from := b.from; from < b.to; from += atOnce {
		n := int(min(atOnce, b.to-from))
		err := r.merge.hand(ctx, r.sink, r.cfg.Workers, n, b.active, func(i int, mem *sums) *merged {
			q := from + int64(i)
			return r.merge.quantum(q, mem, func(l *logState) *cell {
				if at := b.cells[l]; q-b.from < int64(len(at)) {
					return at[q-b.from]
				}
				return nil
			}, b.active)
		})
		if err != nil {
			return err
		}
		r.count += n
	}
	for _, sc := range b.active {
		sc.rows = b.to
	}
	return nil
}

// backfill makes the empty rows of scopes whose first I/O came after some quanta
// had already left: every scope value has a row in every quantum.
func (r *rounds) backfill(ctx context.Context, b batch) error {
	if len(b.late) == 0 {
		return nil
	}
	from := b.from
	for _, sc := range b.late {
		from = min(from, sc.rows)
	}
	for q := from; q < b.from; q++ {
		quantum := Quantum{Offset: r.grid.start(q)}
		for _, sc := range b.late {
			if sc.rows <= q {
				row := r.merge.row(sc, nil)
				row.cover(sc, r.grid.start(q), r.grid.start(q+1))
				quantum.Rows = append(quantum.Rows, row)
			}
		}
		if err := r.sink.Quantum(ctx, &quantum); err != nil {
			return err
		}
	}
	return nil
}

// finish closes the account and ends the sink.
func (r *rounds) finish(ctx context.Context) (*Summary, error) {
	s := &Summary{Quanta: r.count, End: r.grid.start(r.done)}
	a := &r.Account
	for _, l := range r.logs {
		a.add(l)
		l.End = l.end
		for d := range l.dirs {
			dir := &l.dirs[d]
			l.Dirs[d] = LogDirection{Some: dir.some, None: dir.none, Holes: l.holes[d], Limits: dir.limits}
		}
		for _, bad := range l.skipped {
			r.warn("skipped: %v", bad)
		}
		if more := l.lines - int64(len(l.skipped)); more > 0 {
			r.warn("%s: skipped %d more lines", errs.Printable(l.Source.Path), more)
		}
	}
	for _, w := range a.count(r.logs, r.tails) {
		r.warn("%s", w)
	}
	missingSingles(r.logs, r.warn)
	mixedTotals(r.logs, r.warn)
	if a.Logged > 1<<53 {
		r.warn("the logs hold more than 2^53 I/Os, beyond which sums are not exact: is it a damaged log?")
	}
	for _, t := range r.tails {
		if loss, ok := t.lossAt(r.Run.Geometry.Coarseness - t.g.Coarseness); ok {
			a.Lost = append(a.Lost, loss)
			a.NotPlaced += loss.IOs
		}
	}
	if err := r.withoutLogs(a); err != nil {
		return nil, err
	}
	a.Placed = r.merge.placed()
	r.merge.lose(a.Lost)
	r.tellHoles()
	s.Total = r.merge.total(r.grid.first, r.done)
	if in, out := a.Logged+a.Restored, a.Placed; math.Abs(in-out) > 1e-9*math.Max(in, 1) {
		return nil, fmt.Errorf("internal error: %.6f I/Os came in and %.6f went out", in, out)
	}
	r.tellWarnings()
	s.Account = *a
	return s, r.sink.End(ctx, s)
}

// tellHoles names the logs that lost records of which no totals tell how many I/Os they held.
func (r *rounds) tellHoles() {
	for _, l := range r.logs {
		for d := range l.dirs {
			line, t := l.dirs[d].win.lost, l.dirs[d].owed
			if line == 0 || l.known[d] || t != nil && !l.disowned {
				continue
			}
			r.warn("%s: line %d has %ss of a window that cannot have begun: records before it are lost; "+
				"how many I/Os they held is unknown, and they are in no quantum",
				errs.Printable(l.Source.Path), line, fiolog.Direction(d))
		}
	}
}

// withoutLogs accounts for the jobs that have no log here: all of their I/Os are lost.
func (r *rounds) withoutLogs(a *Account) error {
	kind := r.Run.Kind
	for _, n := range r.noLog {
		if slices.ContainsFunc(r.logs, func(l *logState) bool { return l.Meta == n.Meta && l.disowned }) {
			continue
		}
		if mixed := n.Entry.Mixed.Kind[kind].N; mixed > 0 {
			a.Counted += mixed
			a.Missing += float64(mixed)
			a.Jobs = append(a.Jobs, JobAccount{Job: n.Entry.JobName, Host: n.Entry.Host, Direction: All,
				Counted: mixed, Missing: float64(mixed)})
		}
		for d := range n.Entry.Dirs {
			totals := &n.Entry.Dirs[d].Kind[kind]
			if totals.N == 0 {
				continue
			}
			job := JobAccount{Job: n.Entry.JobName, Host: n.Entry.Host, Direction: fiolog.Direction(d).String(),
				Counted: totals.N, Missing: float64(totals.N)}
			a.Counted += totals.N
			a.Missing += job.Missing
			if totals.Bins.Len() > 0 && r.cfg.Settings.Restore {
				bins, err := totals.Counts(r.Run.Geometry)
				if err != nil {
					return &errs.ParseError{File: n.Meta.Path, Msg: err.Error(),
						Hint: "give the JSON of this very run with --fio-json, or pass --no-restore"}
				}
				loss := Loss{Job: job.Job, Host: job.Host, Direction: job.Direction, IOs: job.Missing,
					Why: "the job has no log here"}
				for b, n := range bins {
					if n > 0 {
						loss.Index, loss.Count = append(loss.Index, uint16(b)), append(loss.Count, float64(n))
					}
				}
				job.NotPlaced = loss.IOs
				a.NotPlaced += loss.IOs
				a.Lost = append(a.Lost, loss)
			}
			a.Jobs = append(a.Jobs, job)
		}
	}
	return nil
}

// add adds what became of one log.
func (a *Account) add(l *logState) {
	a.Logs++
	if l.Empty {
		a.LogsEmpty++
	}
	for _, repaired := range l.Repaired {
		if repaired {
			a.LogsRepaired++
			break
		}
	}
	records, ios := l.sums()
	a.Records += records
	a.Logged += ios
	for i := range l.dirs {
		a.RecordsEqual += l.dirs[i].equal
	}
	a.RecordsRepaired += l.repaired
	a.LinesSkipped += l.lines
	a.LastBucket += l.lastBucket
}

// count compares with fio's totals, by job and direction, and warns where the logs hold more.
func (a *Account) count(logs []*logState, tails []*tail) (warnings []string) {
	jobs := map[*fiojson.Entry]*[fiolog.Directions]JobAccount{}
	var order []*fiojson.Entry
	a.CountedKnown = len(logs) > 0
	fio, single := map[string]Latencies{}, map[string]Latencies{}
	for _, l := range logs {
		if l.single() != nil {
			for d := range l.dirs {
				if name := fiolog.Direction(d).String(); l.dirs[d].ios > 0 {
					single[name] = single[name].Plus(Latencies{l.dirs[d].ios, l.dirs[d].ns})
				}
			}
		}
		if l.Entry == nil || l.disowned {
			a.CountedKnown = false
			continue
		}
		job := jobs[l.Entry]
		if job == nil {
			job = new([fiolog.Directions]JobAccount)
			jobs[l.Entry], order = job, append(order, l.Entry)
		}
		for d := range l.dirs {
			job[d].Logs++
			job[d].Logged += l.dirs[d].ios
		}
		if job[0].Logs > 1 {
			continue
		}
		a.Counted += l.Entry.Mixed.Kind[l.cfg.Settings.Kind].N
		for d := range l.Entry.Dirs {
			t := &l.Entry.Dirs[d].Kind[l.cfg.Settings.Kind]
			a.Counted += t.N
			if name := fiolog.Direction(d).String(); t.N > 0 {
				fio[name] = fio[name].Plus(Latencies{float64(t.N), math.Round(float64(t.N) * t.Mean)})
			}
		}
	}
	switch {
	case len(single) > 0:
		a.Exact = single
	case a.CountedKnown && len(fio) > 0:
		a.Exact = fio
	}
	for _, t := range tails {
		if job := jobs[t.entry]; job != nil {
			job[t.dir].Restored, job[t.dir].NotPlaced = t.counts.Sum(), t.lost.Sum()
		}
	}
	for _, e := range order {
		kind := logs[0].cfg.Settings.Kind
		if n := e.Mixed.Kind[kind].N; n > 0 { // mixedTotals warns
			j := JobAccount{Job: e.JobName, Host: e.Host, Direction: All, Logs: jobs[e][0].Logs, Counted: n}
			for d := range jobs[e] {
				j.Logged += jobs[e][d].Logged
			}
			j.Missing = float64(n) - j.Logged
			a.Missing += max(j.Missing, 0)
			a.Excess += max(-j.Missing, 0)
			a.Jobs = append(a.Jobs, j)
		}
		for d := range e.Dirs {
			j := jobs[e][d]
			j.Job, j.Host, j.Direction = e.JobName, e.Host, fiolog.Direction(d).String()
			j.Counted = e.Dirs[d].Kind[kind].N
			if j.Counted == 0 && (j.Logged == 0 || e.Dirs[d].TotalIOs > 0 || e.Mixed.TotalIOs > 0) {
				continue // nothing to compare with
			}
			j.Missing = float64(j.Counted) - j.Logged
			left := j.Missing - j.Restored - j.NotPlaced
			if left > 0.5 && len(single) == 0 && logs[0].cfg.Settings.Restore {
				warnings = append(warnings, fmt.Sprintf("job %q: of the %d %ss that fio counted %.0f are in no log, "+
					"and missing: fio's JSON has no bins to restore them from; run fio with --output-format=json+",
					errs.Printable(j.Job), j.Counted, j.Direction, left))
			}
			a.Missing += max(j.Missing, 0)
			a.Excess += max(-j.Missing, 0)
			if j.Missing < 0 && len(single) == 0 {
				warnings = append(warnings, fmt.Sprintf("job %q: the logs hold %.0f %ss, fio counted %d: logs and "+
					"fio's JSON do not belong together",
					errs.Printable(j.Job), j.Logged, j.Direction, j.Counted))
			}
			a.Jobs = append(a.Jobs, j)
		}
	}
	return warnings
}
