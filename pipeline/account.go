package pipeline

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
)

// LogCount is one log's contribution to the comparison with fio's totals.
type LogCount struct {
	// Entry is the entry of fio's JSON document Meta that counts the log's I/Os. It is nil if there is none, or if the
	// document turned out to belong to another run.
	Meta  *fiojson.Document
	Entry *fiojson.Entry
	// Single is set for a log of single I/Os, NoLog if there is only the entry.
	Single, NoLog bool
	// Garbage is set if a log of the entry holds garbage: fio's totals are not those of the logs then.
	Garbage bool
	// IOs are the I/Os logged, after repair; NS is the sum of their latencies in ns, if Single.
	IOs, NS [fio.Directions]float64
}

// Compare compares the logs with fio's totals by job and direction. It warns where the logs hold more than fio counted,
// or less than can be restored. tail returns what of an entry's direction was restored, and what was lost for good.
func (a *Account) Compare(run *Run, logs []LogCount, tail func(*fiojson.Entry, fio.Direction) (restored,
	lost float64),
	warn func(format string, args ...any)) {
	jobs := map[*fiojson.Entry]*[fio.Directions]JobAccount{}
	var order []*fiojson.Entry
	counts := map[*fiojson.Entry]bool{} // fio 3 gives the number of I/Os measured, fio 2 does not
	a.CountedKnown = len(logs) > 0
	totals, single, garbage := map[string]Latencies{}, singles(logs), false
	for i := range logs {
		l := &logs[i]
		garbage = garbage || l.Garbage
		if l.Entry == nil {
			a.CountedKnown = false
			continue
		}
		job := jobs[l.Entry]
		if job == nil {
			job = new([fio.Directions]JobAccount)
			jobs[l.Entry], order = job, append(order, l.Entry)
			major, _, known := fiojson.ParseVersion(l.Meta.Version)
			counts[l.Entry] = known && major >= 3
		}
		for d := range l.IOs {
			if !l.NoLog {
				job[d].Logs++
			}
			job[d].Logged += l.IOs[d]
		}
		if job[0].Logs > 1 {
			continue
		}
		a.Counted += l.Entry.Mixed.Kind[run.Kind].N
		for d, name := range run.Directions() {
			t := &l.Entry.Dirs[d].Kind[run.Kind]
			a.Counted += t.N
			if t.N > 0 {
				totals[name] = totals[name].Plus(exact(t))
			}
		}
	}
	switch {
	case len(single) > 0:
		a.Exact = single
	case a.CountedKnown && len(totals) > 0 && !garbage:
		a.Exact = totals
	}
	var gone unrestored
	defer func() { gone.warn(run.Directions(), warn) }()
	for _, e := range order {
		if n := e.Mixed.Kind[run.Kind].N; n > 0 { // MixedTotals warns
			j := JobAccount{Job: e.JobName, Host: e.Host, Direction: fio.All, Logs: jobs[e][0].Logs, Counted: n}
			for d := range jobs[e] {
				j.Logged += jobs[e][d].Logged
			}
			a.add(j)
		}
		for d, name := range run.Directions() {
			j := jobs[e][d]
			j.Job, j.Host, j.Direction = e.JobName, e.Host, name
			j.Restored, j.NotPlaced = tail(e, fio.Direction(d))
			j.Counted = e.Dirs[d].Kind[run.Kind].N
			if len(single) == 0 {
				j.Exact = exact(&e.Dirs[d].Kind[run.Kind])
			}
			unmeasured := j.Counted == 0 && e.Dirs[d].TotalIOs > 0
			if unmeasured && e.Part {
				continue
			}
			if j.Counted == 0 && (j.Logged == 0 || unmeasured && !counts[e] || e.Mixed.TotalIOs > 0) {
				continue // nothing to compare with
			}
			j = a.add(j)
			switch left := j.Missing - j.Restored - j.NotPlaced; {
			case unmeasured:
				warn("job %q: the logs hold %.0f %ss, of which fio measured none: logs and fio's JSON do not "+
					"belong together", fio.Printable(j.Job), j.Logged, j.Direction)
			case len(single) > 0:
			case left > 0.5 && run.Settings.Restore:
				gone.add(j, left)
			case j.Missing < 0:
				warn("job %q: the logs hold %.0f %ss, fio counted %d: logs and fio's JSON do not belong together",
					fio.Printable(j.Job), j.Logged, j.Direction, j.Counted)
			}
		}
	}
}

// unrestored is what fio counted and no log has, where fio's JSON has no bins, of all jobs together.
type unrestored struct {
	jobs  []string
	known map[string]bool       // these jobs
	of    map[string][2]float64 // I/Os that are missing, and all of the jobs that they are of, by direction
}

func (u *unrestored) add(j JobAccount, left float64) {
	if u.of == nil {
		u.of, u.known = map[string][2]float64{}, map[string]bool{}
	}
	n := u.of[j.Direction]
	u.of[j.Direction] = [2]float64{n[0] + left, n[1] + float64(j.Counted)}
	name := fio.Printable(j.Job)
	if j.Host != "" {
		name += " of " + fio.Printable(j.Host)
	}
	if !u.known[name] {
		u.jobs, u.known[name] = append(u.jobs, name), true
	}
}

func (u *unrestored) warn(directions []string, warn func(format string, args ...any)) {
	var lost []string
	for _, d := range directions {
		if n := u.of[d]; n[0] > 0 {
			lost = append(lost, fio.Grouped(n[0])+" of the "+fio.Grouped(n[1])+" "+d+"s")
		}
	}
	if len(lost) > 0 {
		warn("%s that fio counted in %s are in no log and cannot be restored, as fio's JSON has no bins; run fio with "+
			"--output-format=json+", fio.List(lost, "and"), fio.Some(u.jobs))
	}
}

// exact returns the latencies of fio's totals.
func exact(t *fiojson.Totals) Latencies {
	l := Latencies{IOs: float64(t.N), NS: math.Round(float64(t.N) * t.Mean)}
	if t.Max < math.MaxInt64 && t.Mean > 0 {
		l.Min, l.Max = float64(t.Min), float64(t.Max)
	}
	return l
}

// singles returns the sums of logs of single I/Os by direction.
func singles(logs []LogCount) map[string]Latencies {
	out := map[string]Latencies{}
	for i := range logs {
		for d, ios := range logs[i].IOs {
			if name := fio.Direction(d).String(); logs[i].Single && ios > 0 {
				out[name] = out[name].Plus(Latencies{IOs: ios, NS: logs[i].NS[d]})
			}
		}
	}
	return out
}

// add adds the account of a job, and returns it with what is missing. Garbage in a log does not offset what is lost.
func (a *Account) add(j JobAccount) JobAccount {
	more := float64(j.Counted) - j.Logged
	j.Missing = more
	if j.NotPlaced > 0 {
		j.Missing = max(more, j.NotPlaced)
	}
	a.Missing += max(j.Missing, 0)
	a.Excess += max(j.Missing, 0) - more
	a.Jobs = append(a.Jobs, j)
	return j
}

// MixedTotals compares the logs with fio's totals of all directions together (unified_rw_reporting=mixed),
// which cannot be split by direction.
func MixedTotals(run *Run, logs []LogCount, warn func(format string, args ...any)) {
	logged := map[*fiojson.Entry]float64{}
	var order []*LogCount
	for i := range logs {
		l := &logs[i]
		if l.Entry == nil || l.Entry.Mixed.TotalIOs == 0 {
			continue
		}
		if _, ok := logged[l.Entry]; !ok {
			order = append(order, l)
		}
		for _, ios := range l.IOs {
			logged[l.Entry] += ios
		}
	}
	for _, l := range order {
		what := fmt.Sprintf("%s: fio's totals of job %q are of all directions together (unified_rw_reporting=mixed)",
			fio.Printable(l.Meta.Path), l.Entry.JobName)
		switch counted := float64(l.Entry.Mixed.Kind[run.Kind].N); {
		case logged[l.Entry] < counted:
			warn("%s: %.0f of %.0f I/Os are in no log and cannot be assigned to a direction; they are missing", what,
				counted-logged[l.Entry], counted)
		case logged[l.Entry] > counted && !l.Single:
			warn("%s: the logs hold %.0f I/Os, fio counted %.0f: damaged by fio --client? pass --repair yes", what,
				logged[l.Entry], counted)
		case logged[l.Entry] > counted:
			warn("%s: the logs hold %.0f I/Os, fio counted %.0f", what, logged[l.Entry], counted)
		}
	}
}

// Balance returns an error unless as many I/Os went out as came in.
func (a *Account) Balance() error { return Balance(a.Logged+a.Restored, a.Placed+a.PickedAway) }

// Balance returns an error unless as many I/Os went out as came in: of those that float64 counts in whole parts,
// exactly, of more to 1e-9.
func Balance(in, out float64) error {
	const exact = 1 << 53 / fiohist.Parts
	if in == out || in > exact && math.Abs(in-out) <= 1e-9*in {
		return nil
	}
	return fmt.Errorf("internal error: %.6f I/Os came in and %.6f went out", in, out)
}

// Plus adds the account of another part of a run; first is set for the first one.
func (a *Account) Plus(b *Account, first bool) {
	a.Logs += b.Logs
	a.LogsSkipped += b.LogsSkipped
	a.LogsEmpty += b.LogsEmpty
	a.LogsRepaired += b.LogsRepaired
	a.Repaired = append(a.Repaired, b.Repaired...)
	a.JobsWithoutLog += b.JobsWithoutLog
	a.HostsMissing = append(a.HostsMissing, b.HostsMissing...)
	a.JobsFailed += b.JobsFailed
	a.IOsFailed += b.IOsFailed
	a.JobsRunning += b.JobsRunning
	a.Records += b.Records
	a.RecordsRepaired += b.RecordsRepaired
	a.RecordsEqual += b.RecordsEqual
	a.LinesSkipped += b.LinesSkipped
	a.Logged += b.Logged
	a.Counted += b.Counted
	a.CountedKnown = b.CountedKnown && (first || a.CountedKnown)
	switch {
	case first:
		a.Exact = maps.Clone(b.Exact)
	case a.Exact != nil && b.Exact != nil:
		for d, l := range b.Exact {
			a.Exact[d] = a.Exact[d].Plus(l)
		}
	default: // unknown for one of the two
		a.Exact = nil
	}
	a.Missing += b.Missing
	a.Excess += b.Excess
	a.NotPlaced += b.NotPlaced
	a.Jobs = append(a.Jobs, b.Jobs...)
	a.Restored += b.Restored
	a.LastBucket += b.LastBucket
	a.PickedAway += b.PickedAway
	for _, w := range b.Warnings {
		if !slices.Contains(a.Warnings, w) {
			a.Warnings = append(a.Warnings, w)
		}
	}
}
