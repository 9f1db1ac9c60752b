package pipeline

import (
	"strconv"
	"strings"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
)

// Load are options of a job, or of jobs that share them, in one direction, as numbers to search by; nil is unknown.
type Load struct {
	IODepth *int64 `json:"iodepth,omitempty"`
	NumJobs *int64 `json:"numjobs,omitempty"`
	BS      *int64 `json:"bs,omitempty"` // bytes
	// RWMixRead is the percentage of reads of a job that reads and writes.
	RWMixRead *int64 `json:"rwmixread,omitempty"`
}

// Loads returns what the log's jobs do in each direction; nil where they cannot have I/O.
func (l *Log) Loads() (out [fio.Directions]*Load) {
	if l.Load != nil {
		return *l.Load
	}
	for _, w := range l.workloads() {
		for d := range out {
			switch of := loadOf(w, fio.Direction(d)); {
			case !w.Does(fio.Direction(d)):
			case out[d] == nil:
				out[d] = &of
			default:
				out[d].share(&of)
			}
		}
	}
	return out
}

// workloads are what the jobs do whose I/Os are in the log; one of unknown options if these are not known.
func (l *Log) workloads() (out []fiojson.Workload) {
	if l.Section != nil {
		return []fiojson.Workload{{Option: l.Option, Sure: true}}
	}
	e := l.Entry
	if e == nil || e.Unlike > 0 || len(e.Options) == 0 && len(e.Sections) == 0 && len(l.Meta.Globals(e)) == 0 {
		return []fiojson.Workload{{Option: func(string) (string, bool) { return "", false }}}
	}
	for _, s := range e.Sections {
		out = append(out, fiojson.Workload{Option: s.Option, Sure: true})
	}
	if out == nil {
		out = []fiojson.Workload{{Option: l.Option, Sure: true}}
	}
	return out
}

// loadOf returns the options of a job in a direction, with fio's default where one is not set.
func loadOf(w fiojson.Workload, d fio.Direction) (of Load) {
	if !w.Sure {
		return of
	}
	number := func(name string) *int64 {
		text, given := w.Option(name)
		if !given {
			text = fiojson.Default(name)
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
			return &n
		}
		return nil
	}
	of.IODepth, of.NumJobs = number("iodepth"), number("numjobs")
	if size, fixed := w.BlockSize(d); fixed {
		of.BS = new(int64(size))
	}
	if w.Does(fio.Read) && w.Does(fio.Write) && w.ReadWrite() != "" && !w.ReadsAfterWrites() {
		of.RWMixRead = number("rwmixread")
		writes, given := w.Option("rwmixwrite")
		n, err := strconv.ParseInt(writes, 10, 64)
		if _, reads := w.Option("rwmixread"); given && !reads && err == nil {
			of.RWMixRead = new(100 - n)
		}
	}
	return of
}

// share leaves what another load has, too.
func (l *Load) share(o *Load) {
	for _, f := range [...][2]**int64{{&l.IODepth, &o.IODepth}, {&l.NumJobs, &o.NumJobs}, {&l.BS, &o.BS},
		{&l.RWMixRead, &o.RWMixRead}} {
		if a, b := *f[0], *f[1]; a != nil && (b == nil || *a != *b) {
			*f[0] = nil
		}
	}
}

// LoadOf returns what all jobs share whose I/Os are in rows of these dimensions.
func (r *Run) LoadOf(dims fio.Dims) (shared Load) {
	direction, one := fio.ParseDirection(dims.Direction)
	first := true
	for _, l := range r.Logs {
		if dims.Host != "" && dims.Host != l.Host || dims.Job != "" && dims.Job != l.Job ||
			dims.Log != "" && dims.Log != l.LogName {
			continue
		}
		for d, of := range l.Loads() {
			switch {
			case of == nil || one && fio.Direction(d) != direction:
			case first:
				shared, first = *of, false
			default:
				shared.share(of)
			}
		}
	}
	return shared
}

// BytesPerSecond returns the bandwidth of a row of the whole run, and whether the sizes of all of its I/Os are known.
func (r *Run) BytesPerSecond(row *Row) (float64, bool) {
	direction, one := fio.ParseDirection(row.Dims.Direction)
	ios, bytes := 0.0, 0.0
	for _, l := range r.Logs {
		if of := row.Dims; of.Host != "" && of.Host != l.Host || of.Job != "" && of.Job != l.Job ||
			of.Log != "" && of.Log != l.LogName {
			continue
		}
		for d := range l.Dirs {
			of := &l.Dirs[d]
			if of.IOs == 0 || one && fio.Direction(d) != direction {
				continue
			}
			if of.Bytes == 0 {
				return 0, false
			}
			ios, bytes = ios+of.IOs, bytes+of.Bytes
		}
	}
	return bytes / ios * row.IOPS, ios > 0 && row.IOPSKnown && row.Dims.Direction != fio.Sync.String()
}
