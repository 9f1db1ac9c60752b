package fiojson

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/ingest/jobfile"
)

// checkTotals checks fio's totals against each other and against the job's options. It drops what cannot be, and
// leaves a sentence of each contradiction.
func (m *Document) checkTotals() {
	ends := slices.ContainsFunc(m.Entries, func(e Entry) bool { return m.set(&e, "exitall", "exitall_on_error") })
	for i := range m.Entries {
		e := &m.Entries[i]
		for d := range e.Dirs {
			for k := range e.Dirs[d].Kind {
				m.contradiction(e, &e.Dirs[d].Kind[k], fio.Direction(d), fio.Kind(k))
			}
		}
		for k := range e.Mixed.Kind {
			m.contradiction(e, &e.Mixed.Kind[k], "mixed", fio.Kind(k))
		}
		m.contradiction(e, &e.Sync, "sync")
		m.clatAboveLat(e)
		m.samples(e)
		if !ends {
			m.running(e)
		}
		if n := e.Errors; n > 0 {
			m.note(e, fio.NotePrefix, "%s failed: IOPS and latencies leave them out, fio's own iops do not",
				fio.Several(int(n), "I/O"))
		}
	}
}

// note leaves a sentence about a job.
func (m *Document) note(e *Entry, prefix, format string, args ...any) {
	m.Notes = append(m.Notes, fmt.Sprintf("%s%s: job %q: ", prefix, fio.Printable(m.Name()), e.JobName)+
		fmt.Sprintf(format, args...))
}

// Workload returns what an entry's job does by its options, which are its own.
func (m *Document) Workload(e *Entry) Workload {
	return Workload{Option: func(name string) (string, bool) { return m.Option(e, name) }, Sure: true,
		Version: m.Version}
}

func (m *Document) set(e *Entry, names ...string) bool {
	_, ok := m.Workload(e).Set(names...)
	return ok
}

// contradiction drops totals that their bins do not add up to, in number or in latency. fio counts both at once; only
// in the report of a running job can they differ by a few I/Os.
func (m *Document) contradiction(e *Entry, t *Totals, of ...any) {
	if t.Bins.Len() == 0 {
		return
	}
	sum, why := t.Bins.sum, t.Bins.odd
	if running := m.Documents > 1 && max(sum, t.N)-min(sum, t.N) <= t.N/100; running {
		why = ""
	} else if sum != t.N {
		why = fmt.Sprintf("its bins hold %d I/Os, but its N is %d", sum, t.N)
	}
	if why == "" {
		return
	}
	m.Warnings = append(m.Warnings, fmt.Sprintf("job %q: %s: %s; its totals are not used", e.JobName,
		strings.TrimSpace(fmt.Sprintln(of...)), why))
	*t = Totals{}
}

// clatAboveLat drops clat where its mean is above that of lat, of which it is a part.
func (m *Document) clatAboveLat(e *Entry) {
	const slack = 10e3 // ns; fio 2 has microseconds
	for d := range e.Dirs {
		clat, lat := &e.Dirs[d].Kind[fio.Clat], &e.Dirs[d].Kind[fio.Lat]
		if clat.N == 0 || lat.N != clat.N || lat.Mean <= 0 || clat.Mean <= 1.02*lat.Mean+slack {
			continue
		}
		way := "run fio 3.36 or newer, or with lat_percentiles=1, and pass --kind lat"
		if lat.Bins.Len() > 0 {
			way = "pass --kind lat"
		}
		e.Void = fmt.Sprintf("its %s have a mean clat of %v, above that of lat, %v, which cannot be: fio before 3.36 "+
			"measures clat wrongly with sqthread_poll", fio.Direction(d).String()+"s", rounded(clat.Mean), rounded(lat.Mean))
		m.note(e, "", "%s; clat is not used: %s", e.Void, way)
		for d := range e.Dirs {
			e.Dirs[d].Kind[fio.Clat] = Totals{}
		}
		return
	}
}

// rounded returns a latency with three or four digits.
func rounded(ns float64) time.Duration {
	unit := time.Duration(1)
	for 10000*float64(unit) <= ns {
		unit *= 10
	}
	return time.Duration(ns).Round(unit)
}

// samples finds the directions of which fio measured only some I/Os: fewer than it issued, less those that failed or
// were in flight at an end.
func (m *Document) samples(e *Entry) {
	w := m.Workload(e)
	threads := int64(1)
	if v, ok := w.Option("numjobs"); ok {
		threads, _ = strconv.ParseInt(v, 10, 64)
	}
	if e.LongestMS > 0 {
		threads = max(threads, (e.RuntimeMS+e.LongestMS/2)/e.LongestMS)
	}
	flight := max(w.Depth(), 1) * threads
	if m.set(e, "ramp_time") {
		flight *= 2
	}
	for d := range e.Dirs {
		t := &e.Dirs[d]
		if n := t.Kind[fio.Clat].N; n > 0 && n < t.TotalIOs && int64(t.TotalIOs-n) > max(e.Errors, 0)+flight {
			t.Sample = true
			way := "without io_submit_mode=offload, or without ramp_time, fio measures all"
			if !m.set(e, "io_submit_mode") {
				way = "is it the JSON of the whole run?"
			}
			m.note(e, "", "fio issued %d %ss, and measured the latencies of %d: these are a sample, the rates are of all; "+
				"%s", t.TotalIOs, fio.Direction(d), n, way)
		}
	}
}

// running finds a report that fio made before the job's end: a direction has I/Os and no time, or all of them ended
// long before the option runtime, and nothing else ended them.
func (m *Document) running(e *Entry) {
	w := m.Workload(e)
	option, ok := w.Option("runtime")
	if !ok {
		return
	}
	limit, err := jobfile.ParseDuration(option)
	if err != nil || limit <= 0 || e.Error != 0 || e.Errors != 0 || w.endsItself() || m.didAll(e, w) {
		return
	}
	longest, did := e.RuntimeMS, false
	if e.LongestMS > 0 {
		longest = e.LongestMS
	}
	for d := range e.Dirs {
		did = did || e.Dirs[d].TotalIOs > 0
	}
	if !did || 2*longest >= limit.Milliseconds() {
		return
	}
	e.Running = true
	m.note(e, "", "it ran for %v of its runtime of %v, and nothing else ended it: fio was still running when it wrote "+
		"this JSON, or was killed; later I/Os are missing", time.Duration(longest)*time.Millisecond, limit)
}

// endsItself reports whether something that totals do not show may end the job before its runtime.
func (w Workload) endsItself() bool {
	_, ok := w.Set("steadystate", "ss", "read_iolog", "verify_only", "max_latency", "latency_target", "rate_min",
		"rate_iops_min", "fill_device", "wait_for", "trigger", "trigger_file", "trigger_timeout")
	return ok
}

// didAll reports whether an entry may have done all of its size or number of I/Os.
func (m *Document) didAll(e *Entry, w Workload) bool {
	bytes, ios := 0.0, 0.0
	for d := range e.Dirs {
		bytes, ios = bytes+float64(e.Dirs[d].Bytes), ios+float64(e.Dirs[d].TotalIOs)
	}
	if v, ok := w.Option("number_ios"); ok {
		if n, ok := jobfile.Size(v); !ok || ios >= 0.9*n {
			return true
		}
	}
	if w.timeBased() {
		return false
	}
	for _, name := range []string{"io_size", "size", "filesize"} {
		if v, ok := w.Option(name); ok {
			n, ok := jobfile.Size(v)
			engine, _ := w.Option("ioengine")
			// A last I/O that does not fit is not done, and filecreate and its like move no bytes.
			return !ok || strings.Contains(v, "%") || bytes >= 0.9*n || bytes+bytes/max(ios, 1) > n ||
				strings.HasPrefix(engine, "file")
		}
	}
	return true // of unknown size
}

func (w Workload) timeBased() bool {
	v, ok := w.Option("time_based")
	return ok && jobfile.On(v)
}
