package fiojson

import (
	"math"
	"strconv"
	"strings"

	"fiolat/fio"
	"fiolat/ingest/jobfile"
)

// Workload is what a job does, by its options.
type Workload struct {
	// Option returns the value of an option, and whether it is given.
	Option func(name string) (string, bool)
	// Sure is set if the options are the job's own: in fio's JSON a group has those of its last section.
	Sure bool
	// Version is fio's, "" if it is not known.
	Version string
}

// Set returns the first of the options that the job has set to anything but 0.
func (w Workload) Set(names ...string) (value string, ok bool) {
	for _, name := range names {
		if v, ok := w.Option(name); ok && v != "0" {
			return v, true
		}
	}
	return "", false
}

// ReadWrite returns rw without its modifiers.
func (w Workload) ReadWrite() string {
	rw, ok := w.Option("rw")
	if !ok {
		rw, _ = w.Option("readwrite")
	}
	rw, _, _ = strings.Cut(rw, ":")
	return rw
}

// Does reports whether the job can do I/O in the direction, as far as is known.
func (w Workload) Does(dir fio.Direction) bool {
	rw := w.ReadWrite()
	_, verify := w.Set("verify")
	both := strings.HasPrefix(rw, "rw") || strings.HasPrefix(rw, "randrw") || rw == "readwrite"
	return rw == "" || !w.Sure || strings.Contains(rw, dir.String()) || dir == fio.Read && verify ||
		both && (dir == fio.Read || dir == fio.Write)
}

// ReadsAfterWrites reports whether the job reads only to verify what it wrote, when all of that is written.
func (w Workload) ReadsAfterWrites() bool {
	rw := w.ReadWrite()
	_, verify := w.Set("verify")
	_, mixed := w.Set("verify_backlog", "loops", "verify_only")
	return verify && !mixed && w.Sure && (rw == "write" || rw == "randwrite")
}

// Depth returns how many I/Os the job has in flight at most; 0 if that is unknown.
func (w Workload) Depth() int64 {
	name, ok := w.Option("ioengine")
	if !ok {
		name = "psync"
	}
	depth, ok := w.Option("iodepth")
	n, err := strconv.ParseInt(depth, 10, 64)
	switch {
	case !w.Sure || ok && err != nil:
		return 0
	case !ok:
		n = 1
	}
	if mode, _ := w.Option("io_submit_mode"); mode == "offload" || name == "sg" {
		return max(n, 1)
	}
	if e, known := FindEngine(name, w.Version, int(n)); known && e.Measure == Sync {
		return 1
	}
	return max(n, 1)
}

// RateIOPS returns the job's rate_iops in a direction; 0 if it has none.
func (w Workload) RateIOPS(dir fio.Direction) float64 {
	v, _ := w.Option("rate_iops")
	parts := strings.Split(v, ",")
	n, err := strconv.ParseFloat(parts[min(int(dir), len(parts)-1)], 64)
	if err != nil || !w.Sure {
		return 0
	}
	return n
}

// Total returns how many I/Os the job does in a direction, if it ends by its size and by nothing else; else 0.
func (w Workload) Total(dir fio.Direction) float64 {
	_, otherwise := w.Set("runtime", "timeout", "time_based", "io_size", "io_limit", "number_ios", "bsrange", "bssplit",
		"filesize", "nrfiles", "zonesize", "verify", "read_iolog", "kb_base")
	if rw := strings.TrimPrefix(w.ReadWrite(), "rand"); !w.Sure || otherwise || rw != dir.String() {
		return 0
	}
	number := func(name, usual string) float64 {
		if v, ok := w.Option(name); ok {
			usual = v
		}
		n, _ := jobfile.Size(usual) // 0 if it is not one
		return n
	}
	return math.Floor(number("size", "")/number("bs", "4k")) * number("loops", "1")
}

// Poisson reports whether the I/Os come at random.
func (w Workload) Poisson() bool {
	v, _ := w.Option("rate_process")
	return v == "poisson"
}

// Paced reports whether the job does not do I/O as fast as it can.
func (w Workload) Paced() bool {
	_, ok := w.Set("rate", "rate_iops", "rate_min", "thinktime", "flow")
	return ok
}

// Think returns the job's thinktime in ns, in which it has no I/Os.
func (w Workload) Think() int64 {
	s, _ := w.Option("thinktime")
	if us, err := strconv.ParseInt(s, 10, 64); err == nil {
		return us * 1000
	}
	think, _ := jobfile.ParseDuration(s) // 0 if it is not a duration
	return int64(think)
}
