package like

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// pctiles is a run of fio-histo-log-pctiles.
type pctiles struct {
	interval, histMsec int64
	histMsecGiven      bool
	wanted             []float64
	divisor            float64
	perUsec            float64 // what buckets are in: 1000, ns; 1, µs
	buckets, perGroup  int
}

const lookahead = 3 // records in which it searches for the next one of the same direction, which ends this one

func runPctiles(ctx context.Context, args []string, out *bytes.Buffer) error {
	c := &pctiles{divisor: 1, perUsec: 1000}
	f := flag.NewFlagSet(pctilesName, flag.ContinueOnError)
	f.Int64Var(&c.interval, "time-quantum", 1, "interval of a row in `SECONDS`")
	f.Int64Var(&c.histMsec, "log-hist-msec", 0, "log_hist_msec of the job in `MS`, to find the start of absolute stamps")
	groups := f.Int("bucket-groups", 29, "`N` groups of buckets")
	bits := f.Int("bucket-bits", 6, "each group has 2^`N` buckets")
	version := f.Int("fio-version", 3, "`VERSION` of fio, 2 or 3; 2 has 19 groups of buckets in µs")
	unit := f.String("output-unit", "usec", "`UNIT` of the percentiles: msec or usec")
	list := f.String("percentiles", "0,50,95,99,100", "percentiles `P...`")
	files, err := parse(pctilesName, f, joined(args), out)
	if err != nil || files == nil {
		return err
	}
	f.Visit(func(given *flag.Flag) { c.histMsecGiven = c.histMsecGiven || given.Name == "log-hist-msec" })
	if c.wanted, err = numbers(pctilesName, *list); err != nil {
		return err
	}
	if *version == 2 {
		*groups, c.perUsec = 19, 1
	}
	if *version != 2 && *version != 3 || *groups < 1 || *bits < 0 || *bits > 6 || c.interval < 1 || *unit != "usec" &&
		*unit != "msec" {
		return &UsageError{pctilesName + ": want --fio-version 2 or 3, --bucket-groups and --time-quantum above 0, " +
			"--bucket-bits 0 to 6, --output-unit usec or msec", "read other logs without --like"}
	}
	c.buckets, c.perGroup = *groups<<*bits, 1<<*bits
	if *unit == "msec" {
		c.divisor = 1000
	}
	fmt.Fprintf(out, "fio version = %d\nbucket groups = %d\nbucket bits = %d\ntime quantum = %d sec\n", *version, *groups,
		*bits, c.interval)
	var texts []string
	for _, p := range c.wanted {
		texts = append(texts, repr(p))
	}
	fmt.Fprintf(out, "percentiles = %s\nbuckets per group = %d\nbuckets per interval = %d \n", strings.Join(texts, ","),
		1<<*bits, c.buckets)
	if c.histMsecGiven {
		fmt.Fprintf(out, "log_hist_msec = %d\n", c.histMsec)
	}
	fmt.Fprintf(out, "output unit = %s\n", *unit)
	logs, err := readAll(ctx, pctilesName, files)
	if err != nil {
		return err
	}
	// The table covers the time in which all threads run: from the last start to the first end.
	start, end := int64(0), int64(1e18)
	for _, l := range logs {
		s, e, err := c.check(l)
		if err != nil {
			return err
		}
		start, end = max(start, s), min(end, e)
	}
	if start >= end {
		return stop(pctilesName, logs[0].path,
			"no time at which all logs run: the last starts at %d ms, the first ends at %d ms", start, end)
	}
	if start > 0 {
		fmt.Fprintf(out, "all threads running as of unix epoch time %d = %s\n", start/1000,
			time.UnixMilli(start).Format(time.ANSIC))
	}
	rows := floorDiv(end/1000-start/1000+c.interval, c.interval)
	var threads [][]share
	for i, l := range logs {
		if slices.Index(logs, l) < i {
			continue // the program keys logs by name, so duplicates count once
		}
		t, err := c.align(l, start, (start/1000+rows*c.interval)*1000, rows)
		if err != nil {
			return err
		}
		threads = append(threads, t)
	}
	return c.print(ctx, out, threads, rows)
}

// check drops the same records as the program, and returns the log's start and end in ms.
func (c *pctiles) check(l *hlog) (start, end int64, err error) {
	if l.columns != c.buckets {
		return 0, 0, stop(pctilesName, l.path, "%d buckets, want %d; coarse logs it cannot read", l.columns, c.buckets)
	}
	var last [2]int64
	kept := l.records[:0:0]
	for i, r := range l.records {
		switch {
		case r.Dir > 1:
			return 0, 0, stop(pctilesName, l.at(i), "direction %d; it knows 0 (read) and 1 (write) only", r.Dir)
		case r.Time < last[r.Dir]:
			return 0, 0, stop(pctilesName, l.at(i), "time runs backwards, from %d to %d ms", last[r.Dir], r.Time)
		}
		last[r.Dir] = r.Time
		if n := len(kept); n == 0 || kept[n-1].Time != r.Time || kept[n-1].Dir != r.Dir {
			kept = append(kept, r)
		}
	}
	l.records = kept
	if first := kept[0].Time; first >= 1_000_000 { // it takes that for a stamp since 1970
		switch {
		case c.histMsecGiven:
			start = first - c.histMsec
		case len(kept) > 1:
			start = first - (kept[1].Time - first)
		default:
			return 0, 0, stop(pctilesName, l.path, "one record with an absolute stamp, and no --log-hist-msec")
		}
	}
	return start, kept[len(kept)-1].Time, nil
}

// share is the part of a record in a row.
type share struct {
	row    int64
	weight float64
	index  []uint16
	count  []float64
}

// align distributes a log's records over the rows. As in the program, a record lasts from its own stamp to that of the
// next record of its direction, which is one interval late.
func (c *pctiles) align(l *hlog, start, endMs, rows int64) (out []share, err error) {
	step := c.interval * 1000
	for k, r := range l.records {
		from, to := r.Time, endMs
		for ahead := 1; k+ahead < len(l.records); ahead++ {
			if next := l.records[k+ahead]; next.Dir == r.Dir {
				to = next.Time
				break
			}
			if ahead == lookahead {
				return nil, stop(pctilesName, l.at(k), "the next record of its direction is more than %d on", lookahead)
			}
		}
		row := floorDiv(from-start, step) // negative before the start: Python counts from the end
		for lo := start + row*step; lo < to && row < rows; lo, row = lo+step, row+1 {
			index := row
			if index < 0 {
				index += rows
			}
			if to == from || index < 0 {
				return nil, stop(pctilesName, l.at(k), "a record without a length, or too far before the common start")
			}
			weight := float64(min(lo+step, to)-max(lo, from)) / float64(to-from)
			out = append(out, share{index, weight, r.Index, r.Count})
		}
	}
	slices.SortStableFunc(out, func(a, b share) int { return int(a.row - b.row) })
	return out, nil
}

func (c *pctiles) print(ctx context.Context, out *bytes.Buffer, threads [][]share, rows int64) error {
	fmt.Fprintf(out, "time (millisec), percentiles in increasing order with values in %s\nmsec-since-start, samples, ",
		map[float64]string{1: "usec", 1000: "msec"}[c.divisor])
	names := map[float64]string{0: "min", 50: "median", 100: "max"}
	for _, p := range c.wanted {
		name := names[p]
		if name == "" {
			name = fmt.Sprintf("%.1f", p)
		}
		fmt.Fprintf(out, "%3s, ", name)
	}
	out.WriteByte('\n')
	for row := range rows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		total := make([]float64, c.buckets)
		for t, shares := range threads { // each is summed up first: the order changes the last digits
			own := make([]float64, c.buckets)
			for ; len(shares) > 0 && shares[0].row == row; shares = shares[1:] {
				for k, i := range shares[0].index {
					own[i] += float64(shares[0].weight * shares[0].count[k])
				}
			}
			threads[t] = shares
			for i, n := range own {
				total[i] += n
			}
		}
		samples := 0.0
		for _, n := range total {
			samples += n
		}
		fmt.Fprintf(out, "%8d, %8s, ", row*c.interval*1000, integer(samples))
		if samples == 0 {
			out.WriteString(strings.Repeat(", ", len(c.wanted)) + "\n")
			continue
		}
		texts, err := c.row(total, samples)
		if err != nil {
			return err
		}
		out.WriteString(strings.Join(texts, ", ") + "\n")
	}
	return nil
}

// row returns the percentiles of a row, ascending, each once.
func (c *pctiles) row(counts []float64, total float64) (out []string, err error) {
	var sum, pct float64
	lo, width := 0.0, 1.0
	found, next := map[float64]float64{}, 0
	for b, n := range counts {
		if b >= 2*c.perGroup && b%c.perGroup == 0 {
			width *= 2
		}
		sum += n
		last := pct
		pct = 100 * sum / total
		for n != 0 && next < len(c.wanted) {
			p := c.wanted[next]
			if !(p == 100 && pct >= 99.9999 || p < 100 && pct > p) {
				break
			}
			from, to := lo/c.perUsec, (lo+width)/c.perUsec
			found[p] = (from + float64((p-last)/(pct-last)*(to-from))) / c.divisor
			next++
		}
		lo += width
	}
	if next < len(c.wanted) {
		return nil, stop(pctilesName, "--percentiles", "percentile %s is never reached", repr(c.wanted[next]))
	}
	for _, p := range slices.Sorted(maps.Keys(found)) {
		out = append(out, repr(found[p]))
	}
	return out, nil
}
