package pipeline

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"fiolat/ingest"
)

// findStarts puts all logs on one clock: it fixes each log's start, time zero and,
// if anything tells, the wall-clock time of it.
//
// A log starts at its job's job_start, else, if its stamps count from 1970, at
// its first completion; else all that is known is how long after fio's own start
// it began. --offset comes on top. Time zero is the earliest start, or --start.
func (p *Plan) findStarts(ctx context.Context) error {
	const unknown = math.MinInt64
	wall := make([]int64, len(p.logs))  // start, ns since 1970
	after := make([]int64, len(p.logs)) // start, ns since fio's own
	offset := make([]int64, len(p.logs))
	clock := map[int]int64{} // first completion by another clock, ns
	absolute, relative := 0, 0
	used := map[string]bool{}
	for i, l := range p.logs {
		first, ok := l.begin()
		job := l.Log.Log.Start
		offset[i] = int64(p.cfg.Settings.Offsets[l.Host])
		used[l.Host] = true
		if ok && l.otherClock(first) {
			clock[i] = first
			job.How = "first I/O, by a clock that does not count from 1970"
		} else if ok && !l.Absolute && l.Entry == nil && l.Section == nil && first > int64(10*time.Minute) {
			p.warn("%s: its first I/O is at %v: if its stamps are of another clock than the job's (log_alternate_epoch), its start is unknown; pass fio's JSON or the job file", ingest.Printable(l.Source.Path), time.Duration(first).Round(time.Second))
		}
		switch {
		case job.Absolute > 0:
			wall[i], l.StartHow = job.Absolute*msec, job.How
			absolute++
		case l.Absolute && ok:
			wall[i], l.StartHow = first, "absolute stamps"
			absolute++
		default:
			wall[i], after[i], l.StartHow = unknown, int64(job.Offset), job.How
			relative++
		}
	}
	for host := range p.cfg.Settings.Offsets {
		if !used[host] {
			return Usage("--offset %s: no log of that host; hosts are %q", host, hostsOf(p.logs))
		}
	}
	given, err := p.givenStart(ctx, after)
	if err != nil {
		return err
	}
	run := p.Run
	if absolute > 0 && relative > 0 {
		// Some hosts' clocks are absolute: the others need to know when fio started.
		for i, l := range p.logs {
			if wall[i] != unknown {
				continue
			}
			start, how, ok := given, "--start", given != unknown
			if !ok && l.Empty {
				start, how, ok = earliest(wall, unknown), "beside the others", true // its I/Os are all in fio's JSON
			}
			if !ok && l.Meta != nil {
				var ms int64
				ms, how, ok = ingest.WallClock(p.logsOf(l.Meta), l.Meta)
				start = ms * msec
			}
			if !ok {
				return &ingest.ParseError{File: l.Source.Path, Msg: "its stamps count from the job's start, those of other logs from 1970, and nothing says when this job started", Hint: "pass --fio-json or --start TIME"}
			}
			wall[i] = start + after[i]
			l.StartHow = how + ", " + l.StartHow
		}
		relative = 0
	}
	var zero int64
	if relative == 0 {
		for i := range wall {
			wall[i] += offset[i]
		}
		zero = slices.Min(wall)
		run.StartKnown, run.StartHow = true, p.logs[slices.Index(wall, zero)].StartHow
		if given != unknown {
			zero, run.StartHow = given, "--start"
		}
		run.Start = zero
	} else {
		for i := range after {
			after[i] += offset[i]
		}
		zero = slices.Min(after)
		p.findWall(given, zero, unknown)
	}
	booted := earliestOf(clock) // logs of one clock keep their distances
	for i, first := range clock {
		if relative > 0 {
			after[i] += first - booted
		}
	}
	for i, l := range p.logs {
		l.Start = after[i] - zero
		if relative == 0 {
			l.Start = wall[i] - zero
		}
		l.shift = l.Start
		if l.Absolute {
			l.shift = offset[i] - zero
		} else if first, ok := clock[i]; ok {
			l.shift -= first
		}
		l.end = l.Start
	}
	if p.cfg.NeedStart && !run.StartKnown {
		return Usage("nothing says when the run started (no job_start, absolute stamps or fio JSON): pass --start TIME, or --start mtime to guess it from the logs' modification time")
	}
	return nil
}

// otherClock says that the log's stamps count neither from 1970 nor from its job's
// start: its options say so (log_alternate_epoch with a monotonic clock), or they lie
// behind the job's end. first is the first completion in ns.
func (l *logState) otherClock(first int64) bool {
	if l.Absolute || first <= int64(l.Interval) {
		return false
	}
	if v, ok := l.Option("log_alternate_epoch"); ok && v != "0" {
		if id, ok := l.Option("log_alternate_epoch_clock_id"); ok && id != "0" {
			return true
		}
	}
	return l.Entry != nil && l.Entry.LongestMS > 0 && first > (l.Entry.LongestMS+10_000)*msec+2*int64(l.Interval)
}

func earliestOf(clock map[int]int64) int64 {
	low := int64(math.MaxInt64)
	for _, first := range clock {
		low = min(low, first)
	}
	return low
}

func earliest(wall []int64, unknown int64) int64 {
	low := int64(math.MaxInt64)
	for _, w := range wall {
		if w != unknown {
			low = min(low, w)
		}
	}
	return low
}

// findWall finds the wall-clock time of zero, the earliest start in ns since fio's
// own, for a run whose logs are all relative.
func (p *Plan) findWall(given, zero, unknown int64) {
	run := p.Run
	if given != unknown {
		run.Start, run.StartKnown, run.StartHow = given, true, "--start"
		if p.cfg.Settings.Start == "mtime" {
			run.StartHow = "--start mtime: guessed from the logs' modification time"
		}
		return
	}
	for _, m := range p.metas() {
		ms, how, ok := ingest.WallClock(p.logsOf(m), m)
		if start := ms*msec + zero; ok && (!run.StartKnown || start < run.Start) {
			run.Start, run.StartKnown, run.StartHow = start, true, how
		}
	}
}

// givenStart is what --start says, in ns since 1970, or math.MinInt64. For "mtime"
// each log is taken to have ended when its file was last written.
func (p *Plan) givenStart(ctx context.Context, after []int64) (int64, error) {
	const unknown = math.MinInt64
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
	zero := slices.Min(after)
	for i, l := range p.logs {
		info, err := os.Stat(l.Source.Path)
		if err != nil || l.Absolute || !info.Mode().IsRegular() {
			continue
		}
		s, err := scanLog(ctx, l)
		if err != nil {
			return 0, err
		}
		last := int64(0)
		for d := range s.dirs {
			last = max(last, s.dirs[d].last*msec)
		}
		guess = min(guess, info.ModTime().UnixNano()-last-(after[i]-zero))
	}
	if guess == math.MaxInt64 {
		return unknown, nil
	}
	p.warn("start of the run guessed from the logs' modification time: %s", time.Unix(0, guess).UTC().Format(time.RFC3339Nano))
	return guess, nil
}

// metas are the JSON documents of the logs, in the logs' order.
func (p *Plan) metas() (out []*ingest.Meta) {
	for _, l := range p.logs {
		if l.Meta != nil && !slices.Contains(out, l.Meta) {
			out = append(out, l.Meta)
		}
	}
	return out
}

func (p *Plan) logsOf(m *ingest.Meta) (out []*ingest.Log) {
	for _, l := range p.logs {
		if l.Meta == m {
			out = append(out, l.Log.Log)
		}
	}
	return out
}

func hostsOf(logs []*logState) (out []string) {
	for _, l := range logs {
		if !slices.Contains(out, l.Host) {
			out = append(out, l.Host)
		}
	}
	return out
}
