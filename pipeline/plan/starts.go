package plan

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/pipeline/logs"
)

// unknown stands for a time that is not known.
const unknown = math.MinInt64

// clocks are the starts of the logs as each of them knows it, by log, in ns.
type clocks struct {
	wall   []int64       // since 1970, or unknown
	after  []int64       // since fio's own start, where wall is unknown
	offset []int64       // by --offset
	other  map[int]int64 // the first completion on a clock that neither counts from 1970 nor from the job's start
	of     map[*fiojson.Document][]*ingest.Log
}

// findStarts puts all logs on one clock: it determines each log's start, time zero and, if possible,
// the wall-clock time of that.
//
// A log starts at its job's job_start or, if its stamps count from 1970, at its first completion. Otherwise only the
// time from fio's own start to its start is known. --offset is added. Time zero is the earliest start, or --start.
func (p *Plan) findStarts(ctx context.Context) error {
	c, err := p.readClocks()
	if err != nil {
		return err
	}
	given, err := p.givenStart(ctx, c.after)
	if err != nil {
		return err
	}
	if !p.in.JSONOnly() {
		p.warnUnknown(c.other)
	}
	if p.separateRuns(c) && given != unknown && !slices.ContainsFunc(p.logs, tellsTime) {
		shift := given - slices.Min(c.wall)
		for i := range c.wall {
			c.wall[i] += shift
		}
	}
	starts, zero := c.after, int64(0)
	known := slices.ContainsFunc(c.wall, func(at int64) bool { return at != unknown })
	if known {
		starts = c.wall
		if err := p.fillWall(c, given); err != nil {
			return err
		}
	}
	for i := range starts {
		starts[i] += c.offset[i]
	}
	zero = slices.Min(starts)
	if known {
		p.Run.StartKnown, p.Run.StartHow = true, p.logs[slices.Index(starts, zero)].StartHow
		if given != unknown {
			if err := p.startFits(given, starts); err != nil {
				return err
			}
			if given < zero || !slices.ContainsFunc(p.logs, tellsTime) {
				zero, p.Run.StartHow = given, "--start"
			}
		}
		p.Run.Start = zero
	} else {
		p.findWall(given, zero, c.of)
		p.keepDistances(starts, c.other)
	}
	for i, l := range p.logs {
		start := starts[i] - zero
		shift := start
		if first, ok := c.other[i]; l.Absolute {
			shift = c.offset[i] - zero
		} else if ok {
			shift -= first
		}
		l.StartAt(start, shift)
	}
	if p.cfg.NeedStart && !p.Run.StartKnown {
		return fio.Usagef("nothing says when the run started (no job_start, absolute stamps or fio JSON): pass " +
			"--start TIME, or --start mtime to guess it from the logs' modification time; or run fio " +
			"with --output-format=json+ --output=fio.json beside the logs, to record the start and the I/Os missing " +
			"from the logs")
	}
	return nil
}

// startFits returns an error if --start is not within an hour of the first start of a log that tells its time, or after
// it where all do.
func (p *Plan) startFits(given int64, starts []int64) error {
	first, all := -1, true
	for i, l := range p.logs {
		if !tellsTime(l) {
			all = false
		} else if first < 0 || starts[i] < starts[first] {
			first = i
		}
	}
	if first < 0 {
		return nil
	}
	off := time.Duration(starts[first] - given)
	if off.Abs() <= time.Hour && (off >= 0 || !all) {
		return nil
	}
	which := "after"
	if off < 0 {
		which = "before"
	}
	return fio.Usagef("--start %s: %s starts at %s by its %s, %v %s that; leave --start out, or pass --offset if a host's "+
		"clock is wrong", p.cfg.Settings.Start, fio.Printable(p.logs[first].Source.Path),
		time.Unix(0, starts[first]).UTC().Format(time.RFC3339Nano), p.logs[first].StartHow, off.Abs(), which)
}

// readClocks returns what each log, its job and --offset say of its start.
func (p *Plan) readClocks() (*clocks, error) {
	n := len(p.logs)
	c := &clocks{make([]int64, n), make([]int64, n), make([]int64, n), map[int]int64{}, p.logsByMeta()}
	used := map[string]bool{}
	reported := map[*fiojson.Document]int64{}
	for i, l := range p.logs {
		job := l.Log.Log.Start
		began := began(l, c.of, reported)
		oneRecord := l.OneRecord()
		first, ok := l.Begin(began)
		c.offset[i] = int64(p.cfg.Settings.Offsets[l.Host])
		used[l.Host] = true
		if ok && l.IntervalHow == logs.IntervalAssumed {
			p.warn("%s: log_hist_msec is unknown and cannot be derived from one record; assuming %v, and that the "+
				"log starts that long before the record; pass --log-hist-msec, fio's JSON or the job file",
				fio.Printable(l.Source.Path), l.Interval)
		}
		if ok && l.OtherClock(first) {
			c.other[i] = first
			job.How = "first I/O, by a clock that does not count from 1970"
		} else if ok && !l.Absolute && l.Entry == nil && l.Section == nil && first > int64(10*time.Minute) {
			p.warn("%s: its first I/O is at %v; its stamps may use another clock than the job's "+
				"(log_alternate_epoch), and its start is then unknown; pass fio's JSON or the job file",
				fio.Printable(l.Source.Path), time.Duration(first).Round(time.Second))
		}
		switch {
		case job.Absolute > 0:
			c.wall[i], l.StartHow = job.Absolute*msec, job.How
		case l.Absolute && ok && began > 0 && began < first:
			c.wall[i], l.StartHow = began, "time of the report in fio's JSON"
		case l.Absolute && ok:
			c.wall[i], l.StartHow = first, "absolute stamps"
			if began < 0 && oneRecord && l.IntervalHow != logs.IntervalAssumed && (l.Entry != nil || l.Section != nil) {
				p.warn("%s: its job may have started earlier than it is shown, if its only record came late: only the JSON "+
					"of fio 3.36 and newer tells when each job started", fio.Printable(l.Source.Path))
			}
		default:
			c.wall[i], c.after[i], l.StartHow = unknown, int64(job.Offset), job.How
		}
	}
	for host := range p.cfg.Settings.Offsets {
		if !used[host] {
			return nil, fio.Usagef("--offset %s: no log of that host; hosts are %q", host, hostsOf(p.logs))
		}
	}
	return c, nil
}

// fillWall finds the wall-clock starts of the logs that do not know it, where others do: the start of fio must be
// known.
func (p *Plan) fillWall(c *clocks, given int64) error {
	for i, l := range p.logs {
		if c.wall[i] != unknown {
			continue
		}
		start, how, ok := given, "--start", given != unknown
		if !ok && l.Empty {
			start, how, ok = earliest(c.wall), "beside the others", true // its I/Os are all in fio's JSON
		}
		if !ok && l.Meta != nil {
			var ms int64
			ms, how, ok = ingest.WallClock(c.of[l.Meta], l.Meta)
			start = ms * msec
		}
		if !ok && !slices.ContainsFunc(p.logs, func(o *logs.State) bool { return o.Absolute }) {
			start, how, ok = p.beside(c.wall), "together with the others", true // warnUnknown says so
		}
		if !ok {
			return &fio.ParseError{File: l.Source.Path, Msg: "its stamps count from the job's start, those of " +
				"other logs from 1970, and nothing says when this job started",
				Hint: "pass --fio-json or --start TIME"}
		}
		c.wall[i] = start + c.after[i]
		l.StartHow = how + ", " + l.StartHow
	}
	return nil
}

// began returns when a log's job started, in ns on the log's clock; a time before all others if that is unknown. Of
// absolute stamps without job_start, reported has what fio's JSON says, by document.
func began(l *logs.State, of map[*fiojson.Document][]*ingest.Log, reported map[*fiojson.Document]int64) int64 {
	const longAgo = math.MinInt64 / 4
	switch start := l.Log.Log.Start; {
	case !l.Absolute:
		return 0
	case start.Absolute > 0:
		return start.Absolute * msec
	case l.Meta == nil || l.Meta.ClientServer || l.Entry == nil:
		return longAgo
	}
	if _, ok := reported[l.Meta]; !ok {
		reported[l.Meta] = longAgo
		if ms, _, ok := ingest.WallClock(of[l.Meta], l.Meta); ok {
			reported[l.Meta] = ms * msec
		}
	}
	if at := reported[l.Meta]; at > 0 {
		return at + int64(l.Log.Log.Start.Offset)
	}
	return longAgo
}

// tellsTime reports whether the log or its entry has absolute times.
func tellsTime(l *logs.State) bool { return l.Absolute || l.Log.Log.Start.Absolute > 0 }

// warnUnknown warns of each log whose start relative to the others of its host, or to other hosts, is unknown or not
// exact. clock holds the logs that another clock places.
func (p *Plan) warnUnknown(clock map[int]int64) {
	type thread struct {
		prefix string
		number int
	}
	threads := map[string]map[thread]bool{}
	for _, l := range p.logs {
		if threads[l.Host] == nil {
			threads[l.Host] = map[thread]bool{}
		}
		threads[l.Host][thread{l.Source.Name.Prefix, l.Source.Name.Job}] = true
	}
	var open []*logs.State // without a time
	some := false
	apart := slices.ContainsFunc(p.logs, func(l *logs.State) bool {
		return l.Log.Log.Start.Offset != p.logs[0].Log.Log.Start.Offset
	})
	for i, l := range p.logs {
		if _, placed := clock[i]; placed || tellsTime(l) {
			continue
		}
		start, path := l.Log.Log.Start, fio.Printable(l.Source.Path)
		switch {
		case start.Unknown && len(threads[l.Host]) > 1:
			some = true
			p.warn("%s: when the job of this log started is unknown; assuming that it started together with the"+
				" others; if it did not (stonewall, startdelay, ramp_time, wait_for), pass fio's JSON or the job"+
				" file", path)
		case start.Late != "" && apart:
			p.warn("%s: its job may have started %s later than it is shown (%s): only the JSON of fio 3.36 and newer"+
				" tells when each job started", path, start.Late, start.How)
		}
		if l.Meta == nil {
			open = append(open, l)
		}
	}
	if some || len(threads) < 2 || len(p.cfg.Settings.Offsets) > 0 {
		return
	}
	for _, l := range open {
		p.warn("%s: when its host started is unknown; assuming that the %d hosts started together; pass fio's"+
			" JSON, or shift hosts with --offset", fio.Printable(l.Source.Path), len(threads))
	}
}

// separateRuns places logs of several JSON documents by the times in these, if they are of runs that did
// not start together, and warns of it; c.wall gets the starts. It reports whether it changed any. If
// times of some logs are unknown, it only warns.
func (p *Plan) separateRuns(c *clocks) bool {
	type run struct {
		meta       *fiojson.Document
		start, end int64 // of its jobs, ns since 1970
		hosts      []string
	}
	var runs []*run
	by := map[*fiojson.Document]*run{}
	starts := map[*fiojson.Document]int64{} // fio's own
	for _, m := range p.metas() {
		if ms, _, ok := ingest.WallClock(c.of[m], m); ok {
			starts[m] = ms * msec
		}
		by[m] = &run{meta: m, start: math.MaxInt64, end: math.MinInt64}
		runs = append(runs, by[m])
	}
	if len(runs) < 2 {
		return false
	}
	place := func() {
		for i, l := range p.logs {
			if c.wall[i] == unknown {
				c.wall[i] = starts[l.Meta] + c.after[i]
				l.StartHow = "fio's JSON, " + l.StartHow
			}
		}
	}
	relative, all := 0, true
	for i, l := range p.logs {
		at := c.wall[i]
		if at == unknown {
			fio, ok := starts[l.Meta]
			relative++
			if !ok {
				all = false
				continue
			}
			at = fio + c.after[i]
		}
		if l.Meta == nil {
			continue
		}
		at += int64(p.cfg.Settings.Offsets[l.Host])
		r := by[l.Meta]
		r.start, r.end = min(r.start, at), max(r.end, at)
		if l.Entry != nil {
			r.end = max(r.end, at+min(l.Entry.LongestMS, maxEntryMS)*msec)
		}
		if !slices.Contains(r.hosts, l.Host) {
			r.hosts = append(r.hosts, l.Host)
		}
	}
	runs = slices.DeleteFunc(runs, func(r *run) bool { return r.end == math.MinInt64 })
	slices.SortStableFunc(runs, func(a, b *run) int { return cmp.Compare(a.start, b.start) })
	var names []string
	oneHost, gap, spread := false, false, false
	for i, r := range runs {
		at := time.Unix(0, r.start).UTC().Format(time.RFC3339)
		names = append(names, fmt.Sprintf("%s at %s", fio.Printable(r.meta.Name()), at))
		if i == 0 {
			continue
		}
		last := runs[i-1]
		if r.start-last.start < togetherNS {
			continue
		}
		spread = true
		gap = gap || r.start > last.end-togetherNS/2
		oneHost = oneHost || slices.ContainsFunc(r.hosts, func(h string) bool { return slices.Contains(last.hosts, h) })
	}
	if !spread {
		if all && len(p.cfg.Settings.Offsets) > 0 { // which count from the clocks
			place()
		}
		return false
	}
	if few := 4; len(names) > few {
		names = append(names[:few:few], "...")
	}
	list := strings.Join(names, ", ")
	if !gap && !oneHost || !all {
		if relative > 0 {
			p.warn("fio's JSON gives %d start times: %s; whether the clocks agree is unknown, so all are assumed"+
				" to have started together; shift hosts with --offset", len(runs), list)
		}
		return false
	}
	var starting []begin
	for _, r := range runs {
		if len(r.hosts) == 1 {
			starting = append(starting, begin{r.hosts[0], r.start})
		}
	}
	switch flags := wrongClocks(starting); {
	case len(flags) > 0 && len(starting) == len(runs):
		p.warn("the clocks of hosts are whole hours apart by fio's JSON: %s; pass %s", list, strings.Join(flags, " "))
	case gap:
		remedy := "give each a folder of its own, or pass its logs by name"
		if folders := map[string]bool{}; !slices.ContainsFunc(runs, func(r *run) bool {
			dir := filepath.Dir(r.meta.Path)
			twice := folders[dir]
			folders[dir] = true
			return twice
		}) {
			remedy = "leave out --hosts-by folder, or pass those that ran together"
		}
		p.warn("%d runs, one after the other, are taken for one: by fio's JSON they started %s; %s", len(runs), list,
			remedy)
	}
	place()
	return relative > 0
}

// begin is when a host's jobs began by its clock, in ns since 1970.
type begin struct {
	host string
	at   int64
}

// wrongClocks returns the --offset for each host whose clock is whole hours before or after that of most others, to
// 2 s; none if other hosts began at other times.
func wrongClocks(hosts []begin) (flags []string) {
	const hour, exact = int64(time.Hour), 2 * int64(time.Second)
	var sorted []int64
	for _, h := range hosts {
		sorted = append(sorted, h.at)
	}
	slices.Sort(sorted)
	together := func(at int64) int {
		from, _ := slices.BinarySearch(sorted, at-exact)
		to, _ := slices.BinarySearch(sorted, at+exact+1)
		return to - from
	}
	if len(hosts) == 0 {
		return nil
	}
	most := slices.MaxFunc(hosts, func(a, b begin) int { return cmp.Compare(together(a.at), together(b.at)) })
	for _, h := range hosts {
		off := h.at - most.at
		hours := (off + hour/2*sign(off)) / hour
		if rest := off - hours*hour; rest < -exact || rest > exact || hours <= -24 || hours >= 24 {
			return nil // a day later is a nightly run
		}
		if hours != 0 {
			flags = append(flags, fmt.Sprintf("--offset %s=%dh", fio.Printable(h.host), -hours))
		}
	}
	return flags
}

func sign(n int64) int64 { return int64(cmp.Compare(n, 0)) }

const (
	togetherNS = int64(time.Second)        // starts closer than this are taken for one: the times are not more exact
	maxEntryMS = 366 * 24 * 60 * 60 * 1000 // the longest plausible run
)

// keepDistances puts the logs of another clock, of which each host has its own, as far apart as that clock says.
func (p *Plan) keepDistances(after []int64, clock map[int]int64) {
	first := map[string]int{} // by host: the log that began first
	for i, at := range clock {
		host := p.logs[i].Host
		if k, ok := first[host]; !ok || at < clock[k] || at == clock[k] && i < k {
			first[host] = i
		}
	}
	starts := slices.Clone(after)
	for i, at := range clock {
		k := first[p.logs[i].Host]
		after[i] = starts[k] + at - clock[k]
	}
}

// beside returns the earliest start of fio itself, by the starts of its jobs.
func (p *Plan) beside(wall []int64) int64 {
	low := int64(math.MaxInt64)
	for i, l := range p.logs {
		if start := l.Log.Log.Start; start.Absolute > 0 && wall[i] != unknown {
			low = min(low, wall[i]-int64(start.Offset))
		}
	}
	return low
}

func earliest(wall []int64) int64 {
	low := int64(math.MaxInt64)
	for _, w := range wall {
		if w != unknown {
			low = min(low, w)
		}
	}
	return low
}

// findWall determines the wall-clock time of zero, the earliest start in ns since fio's own, for a run
// whose logs are all relative.
func (p *Plan) findWall(given, zero int64, of map[*fiojson.Document][]*ingest.Log) {
	run := p.Run
	if given != unknown {
		run.Start, run.StartKnown, run.StartHow = given, true, "--start"
		if p.cfg.Settings.Start == "mtime" {
			run.StartHow = "--start mtime: guessed from the logs' modification time"
		}
		return
	}
	for _, m := range p.metas() {
		ms, how, ok := ingest.WallClock(of[m], m)
		if start := ms*msec + zero; ok && (!run.StartKnown || start < run.Start) {
			run.Start, run.StartKnown, run.StartHow = start, true, how
		}
	}
}

// givenStart returns --start in ns since 1970, or math.MinInt64. With "mtime" each log is assumed
// to have ended when its file was last written.
func (p *Plan) givenStart(ctx context.Context, after []int64) (int64, error) {
	switch s := p.cfg.Settings.Start; s {
	case "":
		return unknown, nil
	case "mtime":
	default:
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			return 0, fmt.Errorf("settings: start %q is not RFC 3339: %w", s, err)
		}
		return t.UnixNano(), nil
	}
	guess := int64(math.MaxInt64)
	zero, pipe := slices.Min(after), ""
	for i, l := range p.logs {
		if tellsTime(l) {
			continue
		}
		info, err := os.Stat(l.Source.Path)
		if err != nil && l.Source.Path != "-" {
			return 0, err
		}
		if err != nil || !info.Mode().IsRegular() {
			pipe = l.Source.Path
			continue
		}
		last, err := l.LastStamp(ctx)
		if err != nil {
			return 0, err
		}
		guess = min(guess, info.ModTime().UnixNano()-last-(after[i]-zero))
	}
	switch {
	case guess < math.MaxInt64:
	case pipe != "":
		return 0, fio.Usagef("--start mtime: %s has no modification time: pass --start TIME", fio.Printable(pipe))
	default:
		return unknown, nil
	}
	p.warn("start of the run guessed from the logs' modification time: %s", time.Unix(0,
		guess).UTC().Format(time.RFC3339Nano))
	return guess, nil
}

// metas are fio's JSON documents of the logs, in the order of these.
func (p *Plan) metas() (out []*fiojson.Document) {
	seen := map[*fiojson.Document]bool{}
	for _, l := range p.logs {
		if l.Meta != nil && !seen[l.Meta] {
			seen[l.Meta] = true
			out = append(out, l.Meta)
		}
	}
	return out
}

func (p *Plan) logsByMeta() map[*fiojson.Document][]*ingest.Log {
	of := map[*fiojson.Document][]*ingest.Log{}
	for _, l := range p.logs {
		if l.Meta != nil {
			of[l.Meta] = append(of[l.Meta], l.Log.Log)
		}
	}
	return of
}

func hostsOf(logs []*logs.State) (out []string) {
	for _, l := range logs {
		if !slices.Contains(out, l.Host) {
			out = append(out, l.Host)
		}
	}
	return out
}
