package logs

import (
	"math"
	"slices"
	"time"

	"fiolat/fio"
)

// lengths are the window lengths (log_hist_msec) in ms that a log's stamps allow: more than above, at most most.
//
// Record n is written by the first completion at or after B + (n+1) h, and a window of two or more I/Os was still open
// at the stamp before it. So for records n and m of a direction, m of two or more I/Os,
//
//	h > (t(m-1) - t(n)) / (m-n), if n < m
//	h < (t(n) - t(m-1)) / (n-m), if n > m
//	h <= t(n) / (n+1), if stamps count from the job's start.
type lengths struct{ above, most float64 }

// maxLengthRecords is how many records of a direction are looked at, at most. Fewer do if they tell a round length.
const maxLengthRecords = 400

func anyLength() lengths { return lengths{0, math.Inf(1)} }

func (r lengths) none() bool { return r.above >= r.most }

func (r lengths) and(o lengths) lengths { return lengths{max(r.above, o.above), min(r.most, o.most)} }

func (r lengths) has(ms float64) bool { return r.above < ms && ms <= r.most }

// wide reports whether the lengths differ by more than 5 %.
func (r lengths) wide() bool { return r.most > 1.05*r.above }

// roundest returns the length that a person most likely chose: 1, 2, 2.5 or 5 times a power of ten, else a multiple of
// the largest round number, and of equally round ones that nearest to near. It is 0 if the lengths have no limit.
func (r lengths) roundest(near float64) (best float64) {
	if r.none() || math.IsInf(r.most, 1) {
		return 0
	}
	try := func(ms float64) {
		if ms >= 1 && ms == math.Trunc(ms) && r.has(ms) && (best == 0 || math.Abs(ms-near) < math.Abs(best-near)) {
			best = ms
		}
	}
	for unit := 1e6; unit >= 1; unit /= 10 {
		for _, digits := range []float64{5, 2.5, 2, 1} {
			try(digits * unit)
		}
	}
	for _, step := range []float64{60000, 10000, 5000, 1000, 500, 250, 100, 50, 25, 10, 5, 2, 1} {
		if best > 0 {
			break
		}
		for _, ms := range []float64{near, r.most, r.above + step} {
			try(math.Floor(ms/step) * step)
			try(math.Ceil(ms/step) * step)
		}
	}
	return best
}

// tells reports whether the roundest length is close to the longest that is possible, which is the more exact limit.
func (r lengths) tells() bool { return !r.wide() && r.roundest(r.most) >= 0.995*r.most }

// lengths returns what the records waiting allow. If fio --client may have damaged the log, its records hold I/Os of
// the record before, too; what is left without these is in the window in any case.
func (d *direction) lengths(absolute, client bool) lengths {
	r := anyLength()
	waits := d.win.waits[:min(len(d.win.waits), maxLengthRecords)]
	damaged := d.verdict.repair || client && !d.lag.Fell
	ms := func(n int) float64 { return float64(waits[n].time / msec) }
	for m := range waits {
		if !absolute {
			r.most = min(r.most, ms(m)/float64(m+1))
		}
		if m == 0 || d.headIOs(m, damaged) < 2 {
			continue
		}
		open := ms(m - 1)
		for n := range waits {
			switch {
			case n < m:
				r.above = max(r.above, (open-ms(n))/float64(m-n))
			case n > m:
				r.most = min(r.most, math.Nextafter((ms(n)-open)/float64(n-m), 0))
			}
		}
	}
	return r
}

// headIOs returns the I/Os of record n of the head, if damaged without those that fio --client added.
func (d *direction) headIOs(n int, damaged bool) float64 {
	ios := d.win.waits[n].ios
	if damaged && n > 1 {
		ios -= d.win.waits[n-2].ios
	}
	return ios
}

// spaced returns what the median distance of a direction's records says where their stamps alone do not: two absolute
// stamps set no limit, and lost records let their neighbours lie further apart than windows allow.
func (d *direction) spaced(r lengths) lengths {
	gaps := d.gaps(nil)
	if len(gaps) == 0 {
		return r
	}
	slices.Sort(gaps)
	median := gaps[len(gaps)/2]
	switch ms := float64(median / msec); {
	case math.IsInf(r.most, 1):
		r.most = max(ms, r.above+1)
	case r.none(), 0.97*r.above < ms && ms <= r.above && d.win.steady(median):
		return lengths{math.Nextafter(ms, 0), ms}
	}
	return r
}

// gaps appends the distances of the records waiting, in ns.
func (d *direction) gaps(to []int64) []int64 {
	for i := 1; i < len(d.win.waits); i++ {
		to = append(to, d.win.waits[i].time-d.win.waits[i-1].time)
	}
	return to
}

// medianGap returns the median distance in ms of the records of logs; infinite without any.
func medianGap(logs []*State) float64 {
	var gaps []int64
	for _, l := range logs {
		for i := range l.dirs {
			gaps = l.dirs[i].gaps(gaps)
		}
	}
	if len(gaps) == 0 {
		return math.Inf(1)
	}
	slices.Sort(gaps)
	return float64(gaps[len(gaps)/2]) / float64(msec)
}

// allowed returns what all directions of a log allow.
func (l *State) allowed() lengths {
	r := anyLength()
	for i := range l.dirs {
		if d := &l.dirs[i]; len(d.win.waits) > 0 {
			r = r.and(d.spaced(d.lengths(l.Absolute, l.Source.Name.Host != "")))
		}
	}
	return r
}

// FindLengths determines log_hist_msec from the heads of the logs for which nothing tells it. All logs of a run have
// the same, if their stamps allow that. It warns where these leave it open by more than 5 %.
func FindLengths(logs []*State, warn func(format string, args ...any)) {
	var open []*State
	shared := anyLength()
	for _, l := range logs {
		if l.IntervalHow == "" && l.single() == nil {
			open = append(open, l)
			shared = shared.and(l.allowed())
		}
	}
	if !shared.none() {
		setLengths(open, shared, warn)
		return
	}
	for _, l := range open {
		setLengths([]*State{l}, l.allowed(), warn)
	}
}

func setLengths(logs []*State, r lengths, warn func(format string, args ...any)) {
	ms := r.roundest(medianGap(logs))
	if ms == 0 {
		return // see IntervalAssumed
	}
	if r.wide() {
		warn("%s: log_hist_msec is unknown, and the stamps allow %v to %v; assuming %v: pass --log-hist-msec, fio's "+
			"JSON or the job file", fio.Printable(logs[0].Source.Path), printed(r.above), printed(r.most), printed(ms))
	}
	for _, l := range logs {
		l.IntervalHow = "all stamps"
		for i := range l.dirs {
			w := &l.dirs[i].win
			w.h = int64(ms) * msec
			w.exact = r.tells() || w.steady(w.h)
		}
	}
}

// length returns the length of the log's windows in ns, the usual second where nothing tells it.
func (l *State) length() int64 {
	for i := range l.dirs {
		if h := l.dirs[i].win.h; h > 0 {
			return h
		}
	}
	return usualLength
}

// printed returns a number of ms to be printed.
func printed(ms float64) time.Duration { return time.Duration(math.Ceil(ms)) * time.Millisecond }
