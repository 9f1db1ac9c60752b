package logs

import (
	"slices"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/pipeline"
)

// Account adds what became of the logs' I/Os to a, and compares them with fio's totals.
func (all Tails) Account(a *pipeline.Account, run *pipeline.Run, logs []*State, noLog []ingest.NoLog,
	warn func(format string, args ...any)) error {
	counts := make([]pipeline.LogCount, len(logs))
	for i, l := range logs {
		l.addTo(a)
		counts[i] = l.count()
	}
	type direction struct {
		entry *fiojson.Entry
		dir   fio.Direction
	}
	known := map[direction]*tail{}
	for _, t := range all {
		known[direction{t.entry, t.dir}] = t
	}
	a.Compare(run, counts, func(e *fiojson.Entry, d fio.Direction) (restored, lost float64) {
		if t := known[direction{e, d}]; t != nil {
			return t.counts.Sum(), t.lost.Sum()
		}
		return 0, 0
	}, warn)
	missingSingles(logs, warn)
	pipeline.MixedTotals(run, counts, warn)
	if a.Logged > 1<<53 {
		warn("the logs hold more than 2^53 I/Os, beyond which sums are not exact: is it a damaged log?")
	}
	for _, loss := range all.lost(run.Geometry) {
		a.Lost = append(a.Lost, loss)
		a.NotPlaced += loss.IOs
	}
	return withoutLogs(a, run, logs, noLog)
}

func (l *State) addTo(a *pipeline.Account) {
	if l.Source.JSON == nil {
		a.Logs++
		if l.Empty {
			a.LogsEmpty++
		}
	}
	if slices.Contains(l.Repaired[:], true) {
		a.LogsRepaired++
		a.Repaired = append(a.Repaired, l.Source.Path)
	}
	records, ios := l.sums()
	a.Records += records
	a.Logged += ios
	for i := range l.dirs {
		a.RecordsEqual += l.dirs[i].equal
	}
	a.RecordsRepaired += l.repaired
	a.LinesSkipped += l.Lines
	a.LastBucket += l.lastBucket
}

func (l *State) count() pipeline.LogCount {
	c := pipeline.LogCount{Meta: l.Meta, Entry: l.Entry, Single: l.single() != nil, NoLog: l.Source.JSON != nil}
	c.Garbage = l.disowned
	if l.rejected && !l.disowned {
		c.Entry = nil
	}
	for d := range l.dirs {
		c.IOs[d], c.NS[d] = l.dirs[d].ios, l.dirs[d].ns
	}
	return c
}

// WarnHoles warns of logs that lost records where no totals tell how many I/Os these held.
func WarnHoles(logs []*State, warn func(format string, args ...any)) {
	for _, l := range logs {
		for d := range l.dirs {
			line, t := l.dirs[d].win.lossLine, l.dirs[d].tail
			if line == 0 || l.doubtful || l.Known[d] || t != nil && !l.rejected {
				continue
			}
			warn("%s: line %d has more %ss than its window can hold: records before it are lost; "+
				"how many I/Os they held is unknown, and they are in no interval",
				fio.Printable(l.Source.Path), line, fio.Direction(d))
		}
	}
}

// withoutLogs accounts for the jobs that have no log here: all of their I/Os are lost.
func withoutLogs(a *pipeline.Account, run *pipeline.Run, logs []*State, jobs []ingest.NoLog) error {
	kind := run.Kind
	for _, n := range jobs {
		if slices.ContainsFunc(logs, func(l *State) bool { return l.Meta == n.Meta && l.rejected && !l.disowned }) {
			continue
		}
		if mixed := n.Entry.Mixed.Kind[kind].N; mixed > 0 {
			a.Counted += mixed
			a.Missing += float64(mixed)
			a.Jobs = append(a.Jobs, pipeline.JobAccount{Job: n.Entry.JobName, Host: n.Entry.Host,
				Direction: fio.All,
				Counted:   mixed, Missing: float64(mixed)})
		}
		for d := range n.Entry.Dirs {
			totals := &n.Entry.Dirs[d].Kind[kind]
			if totals.N == 0 {
				continue
			}
			job := pipeline.JobAccount{Job: n.Entry.JobName, Host: n.Entry.Host,
				Direction: fio.Direction(d).String(),
				Counted:   totals.N, Missing: float64(totals.N)}
			a.Counted += totals.N
			a.Missing += job.Missing
			if totals.Bins.Len() > 0 && run.Settings.Restore {
				bins, err := totals.Counts(run.Geometry)
				if err != nil {
					return &fio.ParseError{File: n.Meta.Path, Msg: err.Error(),
						Hint: "give the JSON of this very run with --fio-json, or pass --no-restore"}
				}
				loss := pipeline.Loss{Job: job.Job, Host: job.Host, Direction: job.Direction, IOs: job.Missing,
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
