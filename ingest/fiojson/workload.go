package fiojson

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"fiolat/fio"
	"fiolat/ingest/jobfile"
)

// Workload is what a job does, by its options.
type Workload struct {
	// Option returns the value of an option, and whether it is given.
	Option func(name string) (string, bool)
	// Sure is set if the options are the job's own: in fio's JSON a group has the options of its last section.
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

// ReadsInTurns reports whether a job reads to verify what it wrote, in turn with writes: fio counts the time of the
// reads alone, but no log tells when these began.
func (m *Document) ReadsInTurns() bool {
	return slices.ContainsFunc(m.Entries, func(e Entry) bool {
		w := m.Workload(&e)
		_, verify := w.Set("verify")
		loops, ok := w.Set("loops")
		rw := w.ReadWrite()
		return verify && ok && loops != "1" && (rw == "write" || rw == "randwrite")
	})
}

// Depth returns how many I/Os the job has in flight at most; 0 if that is unknown.
func (w Workload) Depth() int64 {
	name, ok := w.Option("ioengine")
	if !ok {
		name = "psync"
	}
	depth, ok := w.Option("iodepth")
	n := int64(1)
	if ok {
		var err error
		if n, err = strconv.ParseInt(depth, 10, 64); err != nil {
			return 0
		}
	}
	if !w.Sure {
		return 0
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
	v, ok := w.Option("rate_iops")
	if !ok {
		return 0
	}
	parts := strings.Split(v, ",")
	n, err := strconv.ParseFloat(parts[min(int(dir), len(parts)-1)], 64)
	if err != nil || !w.Sure {
		return 0
	}
	return n
}

// Mix returns which part of the I/Os of a job that reads and writes is of a direction, by rwmixread.
func (w Workload) Mix(dir fio.Direction) float64 {
	percent := func(name string) (float64, bool) {
		v, _ := w.Option(name)
		n, err := strconv.ParseFloat(v, 64)
		return n / 100, err == nil
	}
	reads, ok := percent("rwmixread")
	if !ok {
		reads = 0.5
		if writes, ok := percent("rwmixwrite"); ok {
			reads = 1 - writes
		}
	}
	if dir == fio.Write {
		return 1 - reads
	}
	return reads
}

// Ends returns how many I/Os the job does in a direction by its size or number_ios, and whether in both directions
// together; 0 if that is unknown or something else than its runtime may end it.
func (w Workload) Ends(dir fio.Direction) (n float64, mix bool) {
	_, otherwise := w.Set("time_based", "filesize", "nrfiles", "zonesize", "verify_only", "read_iolog", "kb_base")
	_, verify := w.Set("verify") // it also reads what it wrote
	each, fixed := w.BlockSize(dir)
	rw := strings.TrimPrefix(w.ReadWrite(), "rand")
	if rw == "" {
		rw = fio.Read.String()
	}
	mix = rw == "rw" || rw == "readwrite"
	if !w.Sure || otherwise || verify && (mix || dir != fio.Write) || !fixed || each == 0 ||
		rw != dir.String() && !(mix && dir != fio.Trim) {
		return 0, false
	}
	number := func(name, usual string) float64 {
		if v, ok := w.Option(name); ok {
			usual = v
		}
		n, _ := jobfile.Size(usual) // 0 if it is not one
		return n
	}
	n = math.Floor(cmp.Or(number("io_size", ""), number("size", "")) / each)
	if most := number("number_ios", ""); most > 0 && (n == 0 || most < n) {
		n = most
	}
	return n * max(number("loops", "1"), 1), mix
}

// BlockSize returns the mean size of a direction's I/Os in bytes, 0 if it is unknown, and whether all have that size.
func (w Workload) BlockSize(dir fio.Direction) (mean float64, fixed bool) {
	if _, ok := w.Set("kb_base"); ok {
		return 0, false
	}
	// own is the value of the direction: the last one also counts for those that are not given.
	own := func(name string) (v string, ok bool) {
		v, ok = w.Option(name)
		parts := strings.Split(v, ",")
		return strings.TrimSpace(parts[min(int(dir), len(parts)-1)]), ok
	}
	if split, ok := own("bssplit"); ok && split != "" {
		return splitSize(split)
	}
	if sizes, ok := own("bsrange"); ok && sizes != "" {
		low, high, _ := strings.Cut(sizes, "-")
		a, ok := jobfile.Size(low)
		b, also := jobfile.Size(cmp.Or(high, low))
		if !ok || !also {
			return 0, false
		}
		return (a + b) / 2, a == b
	}
	bs, _ := own("bs")
	mean, ok := jobfile.Size(cmp.Or(bs, "4k"))
	if !ok {
		return 0, false
	}
	return mean, mean > 0
}

// splitSize returns the mean of a bssplit such as 4k/10:64k/50:32k. Sizes without a share have what the others leave.
func splitSize(split string) (mean float64, fixed bool) {
	given, without, open := 0.0, 0.0, 0.0
	parts := strings.Split(split, ":")
	for _, part := range parts {
		text, share, _ := strings.Cut(part, "/")
		size, ok := jobfile.Size(text)
		if !ok {
			return 0, false
		}
		if percent, err := strconv.ParseFloat(share, 64); err == nil {
			mean, given = mean+size*percent, given+percent
		} else {
			without, open = without+size, open+1
		}
	}
	if open > 0 && given < 100 {
		mean, given = mean+without*(100-given)/open, 100
	}
	if given == 0 {
		return 0, false
	}
	return mean / given, len(parts) == 1
}

// Poisson reports whether the I/Os come at random.
func (w Workload) Poisson() bool {
	v, _ := w.Option("rate_process")
	return v == "poisson"
}

// Pause returns how long the job lets a direction wait between I/Os, in ns: for its thinktime, its rate_iops, or of any
// length for its rate.
func (w Workload) Pause(dir fio.Direction) int64 {
	pause := w.Think()
	if rate := w.RateIOPS(dir); rate > 0 {
		each := 1e9 / rate
		if w.Poisson() {
			each *= 5 // at random
		}
		pause = max(pause, int64(each))
	} else if _, ok := w.Set("rate", "rate_iops"); ok {
		pause = math.MaxInt64 / 100
	}
	return pause
}

// Think returns the job's thinktime in ns, in which it has no I/Os.
func (w Workload) Think() int64 {
	s, ok := w.Option("thinktime")
	if !ok {
		return 0
	}
	if us, err := strconv.ParseInt(s, 10, 64); err == nil {
		return us * 1000
	}
	think, _ := jobfile.ParseDuration(s) // 0 if it is not a duration
	return int64(think)
}
