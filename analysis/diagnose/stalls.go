package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

const (
	// leastStall is the shortest stall in ns.
	leastStall = int64(5e8)
	// stallAlpha is the probability that a log without stalls has one.
	stallAlpha = 1e-6
	// fewRecords do not tell how much the time to the next completion varies.
	fewRecords = 3
	// unlike is how many times as long as the longest usual pause and as the mean latency a stall is, at least.
	unlike = 3
	// farLongest and farLatency are how many times as long as the longest usual pause and as the mean latency a pause
	// is that no noise explains.
	farLongest, farLatency = 6, 20
	// leastFirst is the shortest stall in ns with which a job begins, and unlikeFirst how many times as long as its
	// mean latency that is, at least.
	leastFirst, unlikeFirst = int64(2e9), 10
	// vague is how exactly in ns the begin of a stall is known that is not given as a range.
	vague = int64(2e8)
	// inFlight is the share of a stall that an I/O must have been in flight. Where the job's options are not known, a
	// time without any may be its thinktime.
	inFlight = 0.9
	// sameEdge is by how much in ns, and by which share of its length, a stall may begin or end apart from another.
	sameEdge, sameShare = int64(2e8), 0.05
	// within is by how many ms stalls of several hosts begin apart that one sentence tells, as their clocks differ;
	// apartTurn that of leastTurn or more, as in restarts in turn.
	within, apartTurn, leastTurn = int64(5000), int64(60_000), 3
	// halted is the length of a stall in ms that stands before what is slow.
	halted = int64(2000)
)

// Stall is a time in which hosts, jobs or logs completed nothing although they ran.
type Stall struct {
	pipeline.Stall
	all bool // nothing else ran
}

// logStall is a stall of one log.
type logStall struct {
	pipeline.LogStall
	log *pipeline.Log
}

// stalls returns the pauses of a direction that are too long for it. They are compared from the shortest one on: the
// first that is too long for those before it, and all longer ones, are stalls. The time from any moment to the next
// completion is taken to follow a gamma distribution with the mean and variation of those before.
func stalls(p *pipeline.Pauses) (out []pipeline.Pause) {
	sorted := slices.Clone(p.Longest)
	slices.SortFunc(sorted, func(a, b pipeline.Pause) int { return cmp.Compare(a.Certain, b.Certain) })
	late, squares, records := p.Late, p.Squares, p.Records
	active := float64(p.Last - p.First)
	between := func(one *pipeline.Pause) bool { return !one.Open && !one.First }
	for i := range sorted {
		if one := &sorted[i]; between(one) {
			ns := float64(one.Late)
			late, squares, records = late-ns, squares-ns*ns, records-1
			active -= float64(one.To - one.From)
		}
	}
	longest, found := int64(0), false
	for i := range sorted {
		one := &sorted[i]
		if one.First {
			least := max(leastFirst, unlikeFirst*int64(p.Latency))
			if !delayed(one) {
				least = max(least, unlikeFirst*p.Explained)
			}
			if one.Certain > least {
				out = append(out, *one)
			}
			continue
		}
		mean, variation := late/math.Max(records, 1), 1.0
		if records >= fewRecords && mean > 0 {
			variation = math.Max(squares/records/(mean*mean)-1, 0) * records / (records - 1)
		}
		mean = math.Max(1e6, math.Max(active/math.Max(p.IOs, 1), mean))
		random := mean * (1 + variation*math.Log(math.Max(p.IOs, 1)/stallAlpha))
		least := p.Explained + max(int64(random), unlike*int64(p.Latency), unlike*longest)
		if far := p.Explained + farLongest*longest; longest > 0 && one.Certain > far+farLatency*int64(p.Latency) {
			least = far // whatever the noise
		}
		found = found || one.Certain >= leastStall && one.Certain > least
		if found {
			out = append(out, *one)
			continue
		}
		longest = one.Certain
		if between(one) {
			ns := float64(one.Late)
			late, squares, records = late+ns, squares+ns*ns, records+1
			active += float64(one.To - one.From)
		}
	}
	return slices.DeleteFunc(out, func(o pipeline.Pause) bool { return !p.ExplainedKnown && !delayed(&o) })
}

// ofLog returns the stalls of a log: no direction completes anything meanwhile. Those of a stored run were found when
// its logs were read.
func (w *Watch) ofLog(l *pipeline.Log) (out []logStall) {
	if w.picked(l) {
		for _, one := range l.Stalls {
			out = w.clipped(out, logStall{one, l})
		}
	}
	for d := range l.Dirs {
		p := l.Dirs[d].Pauses
		if p == nil || !w.run.Pick.HoldsLog(l, w.run.Directions()[d]) {
			continue
		}
		for _, one := range stalls(p) {
			if s, ok := w.stallOf(l, d, &one); ok {
				out = w.clipped(out, s)
			}
		}
	}
	return out
}

// stallOf makes a stall of a log of a pause of one of its directions, if no other completed anything meanwhile.
func (w *Watch) stallOf(l *pipeline.Log, d int, one *pipeline.Pause) (out logStall, ok bool) {
	s := *one
	for other := range l.Dirs {
		if other != d && !narrow(&s, l.Dirs[other].Pauses) {
			return out, false
		}
	}
	for _, hole := range l.Dirs[d].Holes {
		if hole.From < s.To && hole.To > s.From {
			return out, false
		}
	}
	return logStall{pipeline.LogStall{Span: s.Span, Began: s.Began, Longest: s.Longest, Open: s.Open,
		Factor: float64(one.To-one.From) / math.Max(l.Dirs[d].Pauses.Latency, 1e6)}, l}, true
}

// alongside returns the stalls of logs that alone prove none: I/Os were delayed over the time of another log's stall.
func (w *Watch) alongside(of []logStall) (out []logStall) {
	for _, l := range w.run.Logs {
		for d := range l.Dirs {
			p := l.Dirs[d].Pauses
			if p == nil || !w.run.Pick.HoldsLog(l, w.run.Directions()[d]) {
				continue
			}
			for i := range p.Longest {
				one := &p.Longest[i]
				if one.Open || !delayed(one) || !slices.ContainsFunc(of, func(o logStall) bool {
					return o.log != l && !o.Open && one.From-o.From <= o.tolerance() &&
						o.From-one.From <= o.tolerance() &&
						max(one.To-o.To, o.To-one.To) <= o.tolerance()
				}) || slices.ContainsFunc(of, func(o logStall) bool {
					return o.log == l && o.From < one.To && o.To > one.From
				}) {
					continue
				}
				if s, ok := w.stallOf(l, d, one); ok {
					out = w.clipped(out, s)
				}
			}
		}
	}
	return out
}

// withinRecords returns the stalls of logs that lie within one of their records, which has no stamp of them, at the
// time of another log's stall.
func (w *Watch) withinRecords(of []logStall) (out []logStall) {
	if w.board == nil || w.run.Live {
		return nil
	}
	for _, l := range w.run.Logs {
		for i := range of {
			o := &of[i]
			if o.Open || float64(o.Longest) < inFlight*float64(o.To-o.From) || !w.picked(l) || l.Start > o.From ||
				l.End < o.To || slices.ContainsFunc(slices.Concat(of, out), func(s logStall) bool {
				return s.log == l && s.From < o.To && s.To > o.From
			}) {
				continue
			}
			if w.board.paused(l.LogName, &o.Span) {
				out = append(out, logStall{pipeline.LogStall{Span: o.Span, Began: o.Began, Longest: o.Longest,
					Factor: o.Factor}, l})
			}
		}
	}
	return out
}

// paused reports whether a log has about as many I/Os less over s as usually complete in it, and I/Os as long as it.
func (b *board) paused(name string, s *pipeline.Span) bool {
	missing, expected, delayed := 0.0, 0.0, false
	for _, direction := range slices.Sorted(maps.Keys(b.pooled)) {
		g := b.logsOf(direction)
		v, ok := g.index[name]
		if !ok {
			continue
		}
		var ios []float64
		for _, block := range g.blocks {
			if v < len(block) && block[v].n > 0 {
				ios = append(ios, float64(block[v].n))
			}
		}
		usual := median(ios)
		expected += usual * float64(s.To-s.From) / float64(b.length())
		for t := b.at(s.From); t <= b.at(s.To) && t < len(g.blocks); t++ {
			var one member
			if v < len(g.blocks[t]) {
				one = g.blocks[t][v]
			}
			delayed = delayed || float64(one.p99) >= math.Log(inFlight*float64(s.To-s.From))
			if t <= b.at(s.To-1) {
				missing += usual - float64(one.n)
			}
		}
	}
	const most = 0.7
	return delayed && 2*(s.To-s.From) > b.length() && expected > fewest && missing > most*expected
}

// tolerance is by how much in ns another stall of the same cause may begin or end apart.
func (s *logStall) tolerance() int64 { return sameEdge + int64(sameShare*float64(s.To-s.From)) }

// clipped adds what is looked at of a stall to those of its log.
func (w *Watch) clipped(out []logStall, s logStall) []logStall {
	if w.run.Pick.Timed() {
		s.From, s.To = w.run.Window.Clip(s.From, s.To)
	}
	if s.To-s.From < leastStall {
		return out
	}
	if i := slices.IndexFunc(out, func(o logStall) bool { return o.From < s.To && o.To > s.From }); i >= 0 {
		out[i].Longest = max(out[i].Longest, s.Longest)
		return out
	}
	return append(out, s)
}

// delayed reports whether an I/O was in flight during the pause.
func delayed(p *pipeline.Pause) bool { return float64(p.Longest) >= inFlight*float64(p.Certain) }

// narrow reports whether another direction of a log may have completed nothing either, and narrows s to that time.
// The begin is taken from a direction with a delayed I/O, which tells it better.
func narrow(s *pipeline.Pause, p *pipeline.Pauses) bool {
	if p == nil || p.First > s.To || p.Last < s.From {
		return true
	}
	for i := range p.Longest {
		o := &p.Longest[i]
		if to := min(o.To, s.To); 2*(to-max(o.From, s.From)) >= s.To-s.From {
			certain := max(s.Began.From, o.Began.From) // the last I/O of either direction that certainly completed
			switch mine, other := delayed(s), delayed(o); {
			case mine == other:
				if o.From > s.From {
					s.From, s.Began = o.From, o.Began
				}
			case other:
				s.From, s.Began = o.From, o.Began
			}
			s.From, s.Began.From, s.Began.To = max(s.From, certain), max(s.Began.From, certain), max(s.Began.To,
				certain)
			s.To, s.Longest = to, max(s.Longest, o.Longest)
			return true
		}
	}
	const few = 5
	return p.IOs*float64(s.To-s.From) < few*float64(p.Last-p.First)
}

// Stalls returns the stalls of the run, the earliest first. Those of several logs at about the same time are one.
func (w *Watch) Stalls() (out []Stall) {
	var all []logStall
	for _, l := range w.run.Logs {
		all = append(all, w.ofLog(l)...)
	}
	all = append(all, w.alongside(all)...)
	all = append(all, w.withinRecords(all)...)
	slices.SortStableFunc(all, func(a, b logStall) int { return cmp.Compare(a.From, b.From) })
	for len(all) > 0 {
		first := all[0]
		var same, rest []logStall
		for _, s := range all {
			if s.Open == first.Open && s.From-first.From <= first.tolerance() &&
				max(s.To-first.To, first.To-s.To) <= first.tolerance() {
				same = append(same, s)
			} else {
				rest = append(rest, s)
			}
		}
		out, all = append(out, w.mergeStalls(same)), rest
	}
	return out
}

// mergeStalls makes one Stall of those of several logs at about the same time.
func (w *Watch) mergeStalls(same []logStall) Stall {
	var from, to []float64
	s := Stall{Stall: pipeline.Stall{Ended: !same[0].Open}}
	longest, began := int64(0), same[0].Began
	stalled := map[*pipeline.Log]bool{}
	for _, one := range same {
		// in whole ms, as stored
		from, to = append(from, math.Round(float64(one.From)/1e6)), append(to, math.Round(float64(one.To)/1e6))
		longest, s.Factor = max(longest, one.Longest), max(s.Factor, one.Factor)
		stalled[one.log] = true
		if one.Began.To-one.Began.From < began.To-began.From {
			began = one.Began
		}
	}
	if began.To-began.From > vague {
		s.BeganMS = []int64{began.From / 1e6, began.To / 1e6}
	}
	since, until := median(from), median(to)
	s.SinceMS, s.UntilMS = int64(math.Round(since)), int64(math.Round(until))
	since, until = since*1e6, until*1e6
	if float64(longest) >= inFlight*(until-since) {
		ns := float64(longest)
		s.Longest = &ns
	}
	var running []*pipeline.Log
	for _, l := range w.run.Logs {
		if !l.Empty && w.picked(l) && float64(l.Start) < until && float64(l.End) > since {
			running = append(running, l)
		}
	}
	s.concern(stalled, running)
	return s
}

// concern says whose logs stalled: hosts, or else jobs, all of whose running logs did, or else logs. Of a run with one
// host or job that is named only if all of the run stalled.
func (s *Stall) concern(stalled map[*pipeline.Log]bool, running []*pipeline.Log) {
	s.all = len(stalled) == len(running)
	for d, dimension := range dimensions {
		var values []string
		whole, known := true, map[string]bool{}
		for _, l := range running {
			v := [3]string{l.Host, l.Job, l.LogName}[d]
			known[v] = true
			if stalled[l] {
				values = append(values, v)
			}
		}
		for _, l := range running {
			v := [3]string{l.Host, l.Job, l.LogName}[d]
			whole = whole && (stalled[l] || !slices.Contains(values, v))
		}
		slices.Sort(values)
		values = slices.Compact(values)
		if whole && !slices.Contains(values, "") && (len(known) > 1 || s.all && d < 2) || d == len(dimensions)-1 {
			s.Dimension, s.Values = dimension, values
			if !whole {
				s.Hosts = hostsOf(stalled)
			}
			return
		}
	}
}

// hostsOf returns the hosts of logs, sorted; nil if they are not known.
func hostsOf(logs map[*pipeline.Log]bool) (out []string) {
	for l := range logs {
		if l.Host != "" && !slices.Contains(out, l.Host) {
			out = append(out, l.Host)
		}
	}
	slices.Sort(out)
	return out
}

// ownIOs moves the I/Os that stalls held up, which complete when these are over, to the last block before that. window
// is log_hist_msec in ns: a record may hold them until that much later.
func (b *board) ownIOs(stalls []Stall, window int64) {
	length := b.length()
	for i := range stalls {
		s := &stalls[i]
		since, until := s.SinceMS*1e6-b.first, s.UntilMS*1e6-b.first
		end := until / length
		if s.Longest == nil || end < 1 || since > end*length {
			continue
		}
		least := b.geometry.Index(int64(inFlight * float64(until-since)))
		for _, blocks := range b.pooled {
			for t := end; t <= (until+window)/length && t < int64(len(blocks)); t++ {
				var own, rest fiohist.Hist
				if blocks[t] == nil {
					continue
				}
				blocks[t].Each(func(bucket int, n float64) {
					if bucket >= least {
						own.Add(bucket, n)
					} else {
						rest.Add(bucket, n)
					}
				})
				if own.Empty() {
					continue
				}
				if before := blocks[end-1]; before != nil {
					own.AddHist(before)
				}
				blocks[end-1], blocks[t] = own.Pack(), rest.Pack()
			}
		}
	}
}

// stallFindings returns a finding for each stall. Those of the same ones that follow each other evenly are one, and
// those of others that are as long and begin within seconds.
func (w *Watch) stallFindings(stalls []Stall) (out []Finding) {
	stalls = slices.Clone(stalls)
	take := func(with func(o *Stall) bool) (of []Stall) {
		for i := range stalls {
			if with(&stalls[i]) {
				of = append(of, stalls[i])
			}
		}
		return of
	}
	drop := func(of []Stall) {
		stalls = slices.DeleteFunc(stalls, func(s Stall) bool {
			return slices.ContainsFunc(of, func(o Stall) bool { return s.same(&o) && s.SinceMS == o.SinceMS })
		})
	}
	for _, s := range slices.Clone(stalls) {
		same := take(s.same)
		if every := evenly(same); every > 0 {
			out = append(out, w.stallFinding(same, every))
			drop(same)
		}
	}
	for len(stalls) > 0 {
		of := take(inTurn(stalls[0], apartTurn))
		if len(of) < leastTurn {
			of = take(inTurn(stalls[0], within))
		}
		out = append(out, w.stallFinding(of, 0))
		drop(of)
	}
	return out
}

// inTurn returns a function that tells, in order of time, the stalls that one sentence tells with first: of others,
// about as long, and each begins at most gap ms after the one before.
func inTurn(first Stall, gap int64) func(o *Stall) bool {
	who, last := map[string]bool{}, first.SinceMS
	return func(o *Stall) bool {
		same := o.same(&first) && o.SinceMS == first.SinceMS
		if !same && (o.Dimension != first.Dimension || !o.Ended || !first.Ended || len(o.Hosts)+len(first.Hosts) > 0 ||
			o.SinceMS-last > gap || !alike(o.UntilMS-o.SinceMS, first.UntilMS-first.SinceMS) ||
			slices.ContainsFunc(o.Values, func(v string) bool { return who[v] })) {
			return false
		}
		for _, v := range o.Values {
			who[v] = true
		}
		last = o.SinceMS
		return true
	}
}

// same reports whether both are stalls of the same hosts, jobs or logs.
func (s *Stall) same(o *Stall) bool {
	return s.Dimension == o.Dimension && slices.Equal(s.Values, o.Values) && slices.Equal(s.Hosts, o.Hosts)
}

// alike reports whether two stalls of so many ms last about as long.
func alike(a, b int64) bool { return max(a-b, b-a) <= max(200, max(a, b)/10) }

// evenly returns the time in ms after which stalls follow each other; 0 if there are less than four, or it differs by
// more than a tenth, or half a second, but for a quarter of them.
func evenly(of []Stall) int64 {
	if len(of) < leastTimes {
		return 0
	}
	var gaps []float64
	for k := range of[1:] {
		gaps = append(gaps, float64(of[k+1].SinceMS-of[k].SinceMS))
	}
	every := median(slices.Clone(gaps))
	uneven := 0
	for _, gap := range gaps {
		if math.Abs(gap-every) > max(every/10, 500) {
			uneven++
		}
	}
	if float64(uneven) > (1-leastCycles)*float64(len(gaps)) {
		return 0
	}
	return int64(math.Round(every))
}

// stallFinding describes a stall, or several: of the same ones that follow each other every so many ms, or of different
// ones within seconds.
func (w *Watch) stallFinding(of []Stall, every int64) Finding {
	s, last := &of[0], &of[len(of)-1]
	first, several := *s, every == 0 && len(of) > 1
	if several { // of the different ones together
		s = &first
		s.Values = nil
		for _, one := range of {
			s.Values = append(s.Values, one.Values...)
		}
	}
	f := Finding{About: aboutStall, Dimension: s.Dimension, Who: s.Values, FromMS: s.SinceMS, ToMS: last.UntilMS,
		ToEnd: !last.Ended}
	var slowest *float64
	sum, stalled, running := 0.0, 0.0, 0.0
	for i := range of {
		one := &of[i]
		sum += float64(one.UntilMS - one.SinceMS)
		f.ToMS, f.halt = max(f.ToMS, one.UntilMS), f.halt || one.UntilMS-one.SinceMS >= halted
		f.Times = append(f.Times, [2]int64{one.SinceMS, one.UntilMS})
		if one.Longest != nil && (slowest == nil || *one.Longest > *slowest) {
			slowest = one.Longest
		}
	}
	for _, l := range w.run.Logs {
		if !l.Empty && w.picked(l) && l.Start < s.UntilMS*1e6 && l.End > s.SinceMS*1e6 {
			running++
			stalled += float64(btoi(s.Concerns(l)))
		}
	}
	s.all = s.all || several && stalled == running
	f.halt = f.halt || s.all
	if s.all && s.Dimension != fio.ByJob && s.Dimension != fio.ByHost {
		f.Dimension, f.Who = "run", []string{}
	}
	mean := sum / float64(len(of))
	f.Share = pointer(stalled / max(running, 1))
	f.LostS = *f.Share * sum / 1e3
	if several {
		f.LostS = *f.Share * mean / 1e3
	}
	subject, since := w.stalledNames(s), tenths(s.SinceMS)
	if len(s.BeganMS) == 2 {
		since = tenths(s.BeganMS[0]) + "-" + tenths(s.BeganMS[1])
	}
	length := fmt.Sprintf("%.1f s", mean/1e3)
	switch {
	case every > 0:
		f.About, f.PeriodMS = aboutPeriod, every
		f.Text = fmt.Sprintf("%s stalled %d times for %s, every %s from %s: no I/O completed", subject, len(of), length,
			seconds((every+50)/100*100), since)
	case several:
		turn := " in turn"
		for k := range of[1:] {
			if of[k+1].SinceMS < of[k].UntilMS {
				turn = ""
			}
		}
		f.Text = fmt.Sprintf("%s stalled for %s%s between %s and %s: no I/O completed", subject, length, turn,
			tenths(f.FromMS), tenths(f.ToMS))
	default:
		f.Times = nil
		f.Text = fmt.Sprintf("%s stalled from %s to %s: no I/O completed", subject, since, tenths(s.UntilMS))
		if !s.Ended {
			f.Text = fmt.Sprintf("%s stalled from %s to the end: no I/O completed", subject, since)
		}
	}
	if slowest != nil {
		f.Text += "; the slowest took " + latency(*slowest)
	}
	f.Text += "."
	return f
}

// stalledNames is the subject of a sentence about a stall.
func (w *Watch) stalledNames(s *Stall) string {
	if s.all && len(s.Values) > 2 {
		return fmt.Sprintf("All %d %ss", len(s.Values), s.Dimension)
	}
	var all []string
	for _, l := range w.run.Logs {
		if name := l.Dims().Of(s.Dimension); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	slices.SortFunc(s.Values, fio.Natural)
	subject, _ := named(s.Dimension, s.Values, all)
	if len(s.Hosts) > 0 {
		hosts, _ := named(fio.ByHost, s.Hosts, nil)
		subject = strings.TrimSuffix(subject, ",") + " of " + strings.ToLower(hosts[:1]) + hosts[1:]
	}
	return subject
}

// tenths formats a time in ms from the run's start to a tenth of a second.
func tenths(ms int64) string {
	ms = (ms + 50) / 100 * 100
	text := fio.Clock(ms)
	if i := strings.IndexByte(text, '.'); i >= 0 {
		return text[:i+2]
	}
	return text + ".0"
}

// shortened returns findings on logs that ended long before all others of their job did, or completed nothing. A job
// has no usual length if these differ otherwise.
func (w *Watch) shortened() (out []Finding) {
	if w.run.Pick.Timed() {
		return nil
	}
	jobs := map[string][]*pipeline.Log{}
	for _, l := range w.run.Logs {
		if w.picked(l) {
			jobs[l.Job] = append(jobs[l.Job], l)
		}
	}
	for _, job := range slices.Sorted(maps.Keys(jobs)) {
		logs := jobs[job]
		hosts := map[string]int{}
		var ran []float64
		step := float64(w.run.Interval)
		for _, l := range logs {
			hosts[l.Host]++
			step = max(step, float64(l.Interval))
			ran = append(ran, length(l))
		}
		usual := median(slices.Clone(ran))
		var odd []*pipeline.Log
		alike := true
		for i, l := range logs {
			switch {
			case math.Abs(ran[i]-usual) <= max(2*step, usual/50):
			case usual-ran[i] > max(3*step, usual/10):
				odd = append(odd, l)
			default:
				alike = false
			}
		}
		if !alike || len(logs)-len(odd) < max(3, len(odd)+1) {
			continue
		}
		for _, l := range odd {
			f := Finding{About: aboutEnded, Dimension: fio.ByLog, Who: []string{l.LogName}, FromMS: l.End / 1e6,
				ToMS: (l.Start + int64(usual)) / 1e6, ToEnd: true, Share: pointer(1 / float64(len(logs)))}
			if l.Host != "" && hosts[l.Host] == 1 {
				f.Dimension, f.Who = fio.ByHost, []string{l.Host}
			}
			name, _ := named(f.Dimension, f.Who, nil)
			f.LostS = *f.Share * (usual - length(l)) / 1e9
			f.Text = name + " completed nothing in the whole run."
			if length(l) > 0 {
				f.Text = fmt.Sprintf("%s ended at %s, the others at about %s.", name, tenths(f.FromMS), tenths(f.ToMS))
			}
			out = append(out, f)
		}
	}
	return out
}

// length returns for how many ns a log ran; 0 if it completed nothing.
func length(l *pipeline.Log) float64 {
	for d := range l.Dirs {
		if l.Dirs[d].HasIO {
			return float64(l.End - l.Start)
		}
	}
	return 0
}
