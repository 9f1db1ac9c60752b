package plan

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
	"fiolat/pipeline/logs"
)

// Process reads the logs to their ends and passes everything to the sink. On an error the sink may have been given some
// intervals, but no End; if End itself failed, the summary is returned with its error.
//
// In each round the workers (see start) own the logs, one worker a log, and add up what they read, while this goroutine
// and as many helpers pass on what the rounds before have finished. The rounds, and so the results, do not depend on
// timing: where they end is known when they begin.
func (p *Plan) Process(ctx context.Context, sink pipeline.Sink) (*pipeline.Summary, error) {
	sink = pipeline.WithRules(p.cfg.Settings.SLA, sink)
	defer p.reportWarnings()
	members := make([]*intervals.Member, len(p.logs))
	for i, l := range p.logs {
		members[i] = &l.Member
	}
	r := &rounds{Plan: p, sink: sink,
		merge: intervals.New(p.Run, &p.grid, members, sink, p.cfg.Workers, p.cfg.LeavesOnly)}
	var ready *intervals.Batch
	for target := r.target(p.grid.Start(p.grid.First)); ; {
		var going []*logs.State
		for _, l := range p.logs {
			if !l.EOF {
				going = append(going, l)
			}
		}
		wait := p.start(ctx, going, func(l *logs.State) error {
			err := l.Advance(target)
			if l.EOF {
				l.Open.Ended()
			}
			return err
		})
		emitErr := r.merge.Emit(ctx, ready)
		// An error of the input is more useful than the error of a sink that was cancelled.
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
		r.merge.Reuse(ready)
		ended, err := r.endRound()
		if err != nil {
			return nil, err
		}
		mark := r.mark()
		ready = r.take(mark, ended)
		if ready != nil {
			if err := r.allow(ready.To); err != nil {
				return nil, err
			}
		}
		if ended {
			break
		}
		if r.room() == 0 {
			r.merge.Pack(r.grid.Index(target))
		}
		target = r.target(max(mark, target))
	}
	if err := r.merge.Emit(ctx, ready); err != nil {
		return nil, err
	}
	return r.finish(ctx)
}

// rounds is the state of Process between the rounds.
type rounds struct {
	*Plan
	sink  pipeline.Sink
	merge *intervals.Merger
}

// room returns how many more intervals may be held. Half of Hold is for what is being read, half for what is being
// passed on.
func (r *rounds) room() int64 { return int64(max(r.cfg.Hold/2-r.merge.Held(), 0) / r.merge.Interval()) }

// target returns up to when the logs are read next, if all have been read up to a time: by an interval at least.
func (r *rounds) target(from int64) int64 {
	most := max(math.MaxInt64/4/r.grid.Interval, 1)
	return r.grid.Start(r.grid.Index(from) + min(max(r.room(), 1), most))
}

// endRound takes over the results of a round. It rejects fio's JSON where a log contradicts it, and
// restores tails once all logs have ended.
func (r *rounds) endRound() (ended bool, err error) {
	ended = true
	for _, l := range r.logs {
		ended = ended && l.EOF
		if why := l.Contradiction(); why != nil {
			if r.merge.Done > r.grid.First {
				return false, why
			}
			r.contradicted(l, why)
		}
	}
	if ended {
		of := r.tails.ByMeta()
		for _, m := range r.metas() {
			if err := r.restore(m, of[m]); err != nil {
				return false, err
			}
		}
	}
	for _, l := range r.logs {
		l.PublishRound()
	}
	return ended, nil
}

func (r *rounds) restore(m *fiojson.Document, tails logs.Tails) error {
	restored, losses, misfits, err := tails.Resolve()
	if err != nil {
		return err
	}
	r.Account.Restored += restored
	for _, w := range losses {
		r.warn("%s", w)
	}
	if len(misfits) > 0 {
		if r.merge.Done > r.grid.First {
			return &fio.ParseError{File: m.Path, Msg: misfits[0], Hint: "pass --no-restore, or the JSON of this " +
				"very run with --fio-json"}
		}
		r.reject(m, misfits)
	}
	return nil
}

// contradicted drops fio's JSON of a log that contradicts it: where fio --client may have left garbage in its last
// record, and most logs of the document are not like that, the log's entry only.
func (r *rounds) contradicted(l *logs.State, why error) {
	of, odd := 0, 0
	for _, o := range r.logs {
		if o.Meta != l.Meta {
			continue
		}
		of++
		if o.Rejected() || o.Contradiction() != nil {
			odd++
		}
	}
	if !l.Meta.ClientServer || l.Source.Name.Host == "" || 2*odd >= of {
		r.reject(l.Meta, []string{why.Error()})
		return
	}
	r.tails.Reject(l.Meta, l.Entry, r.logs)
	var names []string
	for _, o := range r.logs {
		if o.Entry == l.Entry {
			names = append(names, fio.Printable(o.Source.Path))
		}
	}
	r.warn("%v; it is not used for job %q of %s", why, l.Entry.JobName, fio.Some(names))
}

// reject drops a JSON document that does not belong to its logs, with warnings.
func (r *rounds) reject(m *fiojson.Document, why []string) {
	r.tails.Reject(m, nil, r.logs)
	for _, w := range why {
		r.warn("%s", w)
	}
}

func (r *rounds) mark() int64 {
	mark := int64(math.MaxInt64)
	for _, l := range r.logs {
		mark = min(mark, l.Watermark())
	}
	return mark
}

// take removes the finished intervals from the logs: all at the end; before, only if there is no room for more.
func (r *rounds) take(mark int64, ended bool) *intervals.Batch {
	to := r.merge.Done
	switch {
	case ended:
		for _, l := range r.logs {
			to = max(to, l.Open.End())
			if l.Reached > l.Start { // also where nothing completed any more
				to = max(to, r.grid.Last(l.Reached)+1)
			}
		}
	case r.room() == 0:
		to = max(to, r.grid.Index(mark))
	}
	if to == r.merge.Done && !ended {
		return nil
	}
	return r.merge.Cut(to)
}

func (r *rounds) finish(ctx context.Context) (*pipeline.Summary, error) {
	a := &r.Account
	for _, l := range r.logs {
		l.Keep()
	}
	used := map[*pipeline.Log]*fiojson.Entry{}
	for _, l := range r.logs {
		used[l.Log] = l.Entry
		if l.Rejected() {
			used[l.Log] = nil
		}
	}
	pipeline.SetBytes(r.Run.Logs, func(l *pipeline.Log) *fiojson.Entry { return used[l] })
	for _, l := range r.logs {
		for _, bad := range l.Skipped {
			r.warn("skipped: %v", bad)
		}
		if more := l.Lines - int64(len(l.Skipped)); more > 0 {
			r.warn("%s: skipped %d more lines", fio.Printable(l.Source.Path), more)
		}
	}
	if err := r.tails.Account(a, r.Run, r.logs, r.noLog, r.warn); err != nil {
		return nil, err
	}
	for _, m := range r.metas() {
		for i := range m.Entries {
			a.IOsFailed += m.Entries[i].Errors
			if m.Entries[i].Error != 0 && !m.Entries[i].NoLog {
				a.JobsFailed++
			}
			if m.Entries[i].Running && !m.Entries[i].NoLog {
				a.JobsRunning++
			}
		}
	}
	r.warnEarly()
	a.Placed, a.PickedAway = r.merge.Placed(), r.merge.PickedAway()
	r.merge.AddLosses(a.Lost)
	logs.WarnHoles(r.logs, r.warn)
	logs.WarnGarbage(r.logs, r.warn)
	logs.WarnMiddle(r.logs, r.warn)
	logs.WarnPauses(r.logs, r.warn)
	s := r.merge.Summary()
	for _, l := range r.logs {
		if err := l.Balance(); err != nil {
			return nil, err
		}
	}
	if err := a.Balance(); err != nil {
		return nil, err
	}
	if s.Intervals == 0 && r.cfg.Pick.Timed() {
		return nil, r.Run.NothingLeft(r.merge.Grid.Start(r.merge.Done))
	}
	r.reportWarnings()
	s.Account = *a
	if !r.cfg.Pick.Timed() {
		s.TakeExact()
	}
	return s, r.sink.End(ctx, s)
}

// warnEarly names a host without fio's JSON whose logs end long before those of all others, which end together: its fio
// may have been killed.
func (r *rounds) warnEarly() {
	ends, names := map[string]int64{}, map[string]bool{}
	bare := map[string]bool{}
	window := int64(0)
	for _, l := range r.logs {
		ends[l.Host] = max(ends[l.Host], l.Reached-l.Start)
		names[l.Source.Name.Prefix] = true
		bare[l.Host] = l.Meta == nil
		window = max(window, int64(l.Interval))
	}
	const hosts = 3 // of two, nothing tells which is right
	if len(ends) < hosts || len(names) > 1 {
		return
	}
	order := slices.SortedFunc(maps.Keys(ends), func(a, b string) int {
		return cmp.Or(cmp.Compare(ends[a], ends[b]), cmp.Compare(a, b))
	})
	first, next, last := ends[order[0]], ends[order[1]], ends[order[len(order)-1]]
	if gap := next - first; bare[order[0]] && gap > 2*window && gap > next/10 && last-next < gap/2 {
		r.warn("host %q: its logs end at %s, those of the %d others at %s or later, and its fio's JSON is not here: it may "+
			"have been killed, and its later I/Os are missing", order[0], fio.Clock(first/1e6), len(order)-1,
			fio.Clock(next/1e6))
	}
}

// Report returns what is known of every log; call it after Process.
func (p *Plan) Report() (out []logs.Report) {
	for _, l := range p.logs {
		out = append(out, l.Report())
	}
	return out
}
