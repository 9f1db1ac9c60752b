package like

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	// lookahead is how many records ahead the program searches for the next one of the same direction, whose timestamp
	// is the end of the current one.
	lookahead = 3
	// epochFrom is the smallest timestamp, in ms, that the program takes for one since 1970.
	epochFrom = 1_000_000
	// noEnd is the initial minimum of the logs' ends, in ms.
	noEnd = 1_000_000_000_000_000_000
	// maxQuantum, in seconds, keeps milliseconds within 64 bits.
	maxQuantum = 1_000_000_000_000
	// maxCells bounds rows times buckets. The program holds each cell twice as a Python float, more than 64 GB in all.
	maxCells = 1 << 33
)

// pctiles is a run of fio-histo-log-pctiles.
type pctiles struct {
	version, groups, bits, quantum int64
	histMsec                       *int64
	wanted                         []float64
	unit                           string

	buckets int
	hint    string
}

func runPctiles(ctx context.Context, args []string, out *bytes.Buffer) error {
	c := new(pctiles)
	p := c.flags()
	if help, err := p.parse(args); help || err != nil {
		return p.usageOr(err, out)
	}
	return c.run(ctx, p.files, out)
}

func (c *pctiles) flags() *parser {
	*c = pctiles{version: 3, groups: 29, bits: 6, quantum: 1, wanted: []float64{0, 50, 95, 99, 100}, unit: "usec"}
	p := newParser(pctilesName)
	p.add(&c.version, "2|3", "fio's version (3); 2 has 19 groups, of microseconds",
		"--fio-version").choices = []int64{2, 3}
	p.add(&c.groups, "N", "groups of buckets (29)", "--bucket-groups")
	p.add(&c.bits, "N", "each group has 2^N buckets (6)", "--bucket-bits")
	p.add(&c.wanted, "P...", "percentiles (0 50 95 99 100)", "--percentiles")
	p.add(&c.quantum, "SECONDS", "interval of a row (1)", "--time-quantum")
	p.add(&c.histMsec, "MS", "log_hist_msec of the job, to find the start of absolute stamps", "--log-hist-msec")
	p.add(&c.unit, "msec|usec", "unit of the percentiles (usec)", "--output-unit")
	return p
}

func (c *pctiles) stop(where, format string, args ...any) *InputError {
	return stop(pctilesName, where, c.hint, format, args...)
}

func (c *pctiles) run(ctx context.Context, files []string, out *bytes.Buffer) error {
	c.hint = fmt.Sprintf("fiolat percentiles --interval %ds FILE...", max(c.quantum, 1))
	if c.version == 2 {
		c.groups = 19
	}
	switch {
	case c.bits < 0:
		return c.stop("--bucket-bits", "%d is negative", c.bits)
	case c.bits > 24 || c.groups > 1<<24>>c.bits:
		return c.stop("--bucket-bits", "no log has %d groups of 2^%d buckets", c.groups, c.bits)
	case c.groups < 1:
		return c.stop("--bucket-groups", "%d leaves no bucket", c.groups)
	case c.quantum == 0:
		return c.stop("--time-quantum", "must not be 0")
	case max(c.quantum, -c.quantum) > maxQuantum:
		return c.stop("--time-quantum", "%d s is too long (maximum 1e12)", c.quantum)
	}
	c.buckets = int(c.groups << c.bits)

	fmt.Fprintf(out, "fio version = %d\nbucket groups = %d\nbucket bits = %d\ntime quantum = %d sec\n", c.version,
		c.groups, c.bits, c.quantum)
	texts := make([]string, len(c.wanted))
	for i, p := range c.wanted {
		texts[i] = repr(p)
	}
	fmt.Fprintf(out, "percentiles = %s\nbuckets per group = %d\nbuckets per interval = %d \n", strings.Join(texts, ","),
		1<<c.bits, c.buckets)
	if c.histMsec != nil {
		fmt.Fprintf(out, "log_hist_msec = %d\n", *c.histMsec)
	}
	fmt.Fprintf(out, "output unit = %s\n", c.unit)

	logs, err := readAll(ctx, pctilesName, files, pctilesLines)
	if err != nil {
		return err
	}
	// The table covers the time in which all threads run: from the last start to the first end.
	start, end := int64(0), int64(noEnd)
	for _, l := range logs {
		s, e, err := c.check(l)
		if err != nil {
			return err
		}
		start, end = max(start, s), min(end, e)
	}
	switch {
	case start >= end:
		return c.stop(logs[0].path, "no time at which all logs run: the last starts at %d ms, the first ends at %d ms",
			start, end)
	case end == noEnd:
		return c.stop(logs[0].path, "the stamps are beyond 1e18 ms")
	}
	if start > 0 {
		fmt.Fprintf(out, "all threads running as of unix epoch time %d = %s\n", start/1000, ctime(start, time.Local))
	}
	rows := floorDiv(end/1000-start/1000+c.quantum, c.quantum)
	endMs := (start/1000 + rows*c.quantum) * 1000
	rows = max(rows, 0)
	if rows > maxCells/int64(c.buckets) {
		return c.stop(logs[0].path, "%d rows of %d buckets need more memory than there is", rows, c.buckets)
	}

	var threads []*thread
	seen := make(map[string]bool, len(files))
	for _, l := range logs {
		if seen[l.path] {
			continue // the program keys logs by name, so duplicates count once
		}
		seen[l.path] = true
		t, err := c.align(l, start, endMs, rows)
		if err != nil {
			return err
		}
		threads = append(threads, t)
	}
	return c.print(ctx, out, threads, rows)
}

// check refuses and drops the same records as the program, and returns the log's start and end in ms.
func (c *pctiles) check(l *hlog) (start, end int64, err error) {
	var lastTime [2]int64
	kept := l.records[:0]
	for _, r := range l.records {
		dir := r.direction()
		switch wrong := slices.IndexFunc(r.bins, func(b bin) bool { return b.float() < 0 }); {
		case min(r.head[0], r.head[1], r.head[2]) < 0 || wrong >= 0:
			return 0, 0, c.stop(at(l, r.line), "a negative number")
		case r.columns < len(r.head):
			return 0, 0, c.stop(at(l, r.line), "%d numbers, want at least %d", r.columns, len(r.head))
		case dir > 1:
			return 0, 0, c.stop(at(l, r.line), "direction %d; it knows 0 (read) and 1 (write) only", dir)
		case r.time() < lastTime[dir]:
			return 0, 0, c.stop(at(l, r.line), "time runs backwards, from %d to %d ms", lastTime[dir], r.time())
		case r.head[2] > 1<<24:
			return 0, 0, c.stop(at(l, r.line), "a block size of %d, above 16 MiB", r.head[2])
		case r.columns-len(r.head) != c.buckets:
			return 0, 0, c.stop(at(l, r.line), "%d buckets, want %d (--fio-version, --bucket-groups, --bucket-bits); "+
				"coarse logs it cannot read",
				r.columns-len(r.head), c.buckets)
		}
		lastTime[dir] = r.time()
		if n := len(kept); n > 0 && kept[n-1].time() == r.time() && kept[n-1].direction() == dir {
			continue
		}
		kept = append(kept, r)
	}
	if l.bad != nil {
		return 0, 0, stopBad(pctilesName, l, c.hint)
	}
	// For a log that is named twice this happens twice; it is idempotent.
	l.records = kept
	if len(kept) == 0 {
		return 0, 0, c.stop(l.path, "no record in it")
	}
	first := kept[0].time()
	switch {
	case first < epochFrom:
	case c.histMsec != nil:
		start = first - *c.histMsec
	case len(kept) > 1:
		start = first - (kept[1].time() - first)
	default:
		return 0, 0, c.stop(l.path, "one record with an absolute stamp: no way to tell when the run began without "+
			"--log-hist-msec")
	}
	return start, kept[len(kept)-1].time(), nil
}

// share is the part of a record in a row.
type share struct {
	row    int64
	weight float64
	bins   []bin
}

// thread holds a log's shares, sorted by row and within a row in the order of the log. The program has a dense
// histogram for each log and row instead.
type thread struct{ shares []share }

// align distributes a log's records over the rows. As in the program, a record lasts from its own timestamp to that of
// the next record of its direction. This is one interval late, as fio's timestamps are ends.
func (c *pctiles) align(l *hlog, start, endMs, rows int64) (*thread, error) {
	t := new(thread)
	step := c.quantum * 1000
	for k := range l.records {
		r := &l.records[k]
		from, to := r.time(), endMs
		for ahead := 1; k+ahead < len(l.records); ahead++ {
			next := &l.records[k+ahead]
			if next.direction() == r.direction() {
				to = next.time()
				break
			}
			if ahead == lookahead {
				return nil, c.stop(at(l, r.line), "the next record of direction %d is more than %d on", r.direction(),
					lookahead)
			}
		}
		// Records before the start get negative rows, which Python counts from the end.
		row := floorDiv(from-start, step)
		lo := start + row*step
		hi := start + floorDiv(from-start+step, step)*step
		for ; lo < to && row < rows; lo, hi, row = lo+step, hi+step, row+1 {
			if to == from {
				return nil, c.stop(at(l, r.line), "two records of direction %d at %d ms with another between them: "+
					"this leads to a division by zero", r.direction(), from)
			}
			weight := float64(min(hi, to)-max(lo, from)) / float64(to-from)
			index := row
			if index < 0 {
				index += rows
			}
			if index < 0 {
				return nil, c.stop(at(l, r.line), "the record lies %d ms before the start that all logs share, "+
					"further than the table is long", start-from)
			}
			t.shares = append(t.shares, share{index, weight, r.bins})
		}
	}
	slices.SortStableFunc(t.shares, func(a, b share) int { return int(a.row - b.row) })
	return t, nil
}

// print writes the table. It computes one row at a time, so that it needs only two histograms.
func (c *pctiles) print(ctx context.Context, out *bytes.Buffer, threads []*thread, rows int64) error {
	fmt.Fprintf(out, "time (millisec), percentiles in increasing order with values in %s\nmsec-since-start, samples, ",
		c.unit)
	for _, p := range c.wanted {
		name := fixed(p, 1)
		switch p {
		case 0:
			name = "min"
		case 50:
			name = "median"
		case 100:
			name = "max"
		}
		fmt.Fprintf(out, "%3s, ", name)
	}
	out.WriteByte('\n')

	edges := c.edges()
	total, own := make([]float64, c.buckets), make([]float64, c.buckets)
	for row := range rows {
		if row&255 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		clear(total)
		for _, t := range threads {
			n := 0
			for ; n < len(t.shares) && t.shares[n].row == row; n++ {
				for _, b := range t.shares[n].bins {
					own[b.index] += float64(t.shares[n].weight * b.float())
				}
			}
			// Each thread is summed up before it is added to the total: the order of additions changes the last digits.
			for _, s := range t.shares[:n] {
				for _, b := range s.bins {
					total[b.index] += own[b.index]
					own[b.index] = 0
				}
			}
			t.shares = t.shares[n:]
		}
		var samples float64
		for _, n := range total {
			samples += n
		}
		offset := row * c.quantum * 1000
		if math.IsInf(samples, 0) || math.IsNaN(samples) {
			return c.stop(fmt.Sprintf("row %d", offset), "the counts add up to no finite number")
		}
		fmt.Fprintf(out, "%8d, %8s, ", offset, integer(samples))
		if samples == 0 {
			out.WriteString(strings.Repeat(", ", len(c.wanted)) + "\n")
			continue
		}
		found, why := percentiles(total, samples, c.wanted, edges)
		if why != "" {
			return c.stop(fmt.Sprintf("row %d", offset), "%s", why)
		}
		divisor := 1.0
		switch c.unit {
		case "usec":
		case "msec":
			divisor = 1000
		default:
			return c.stop("--output-unit", "%q, and it prints msec and usec only; fiolat prints nanoseconds with "+
				"--unit ns", c.unit)
		}
		for i, f := range found {
			if i > 0 {
				out.WriteString(", ")
			}
			out.WriteString(repr(f.value / divisor))
		}
		out.WriteByte('\n')
	}
	return nil
}

// edges returns the lower and upper edge of each bucket in microseconds.
func (c *pctiles) edges() [][2]float64 {
	edges := make([][2]float64, 0, c.buckets)
	base, width := 0.0, 1.0
	for g := range c.groups {
		for range 1 << c.bits {
			lo, hi := base, base+width
			if c.version == 3 {
				lo, hi = lo/1000, hi/1000
			}
			edges = append(edges, [2]float64{lo, hi})
			base += width
		}
		if g != 0 {
			width *= 2
		}
	}
	return edges
}

type percentile struct{ p, value float64 }

// percentiles finds wanted in the order given. The program expects ascending order without checking it: a smaller one
// after a larger one is extrapolated from the larger one's bucket. It returns them sorted, each once, or the reason
// why the program fails.
func percentiles(counts []float64, total float64, wanted []float64, edges [][2]float64) ([]percentile, string) {
	// Rounding may keep sums of fractions below 100.
	const almost = 99.9999
	var found []percentile
	var sum, pct float64
	next := 0
	for b, n := range counts {
		if n == 0 {
			continue
		}
		sum += n
		last := pct
		pct = 100 * sum / total
		for next < len(wanted) {
			p := wanted[next]
			if !(p == 100 && pct >= almost || p < 100 && pct > p) {
				break
			}
			if pct == last {
				return nil, "a bucket with negligible weight leads to a division by zero"
			}
			lo, hi := edges[b][0], edges[b][1]
			value := lo + float64((p-last)/(pct-last)*(hi-lo))
			if i := slices.IndexFunc(found, func(f percentile) bool { return f.p == p }); i >= 0 {
				found[i].value = value
			} else {
				found = append(found, percentile{p, value})
			}
			next++
		}
		if next == len(wanted) {
			break
		}
	}
	if next < len(wanted) {
		return nil, fmt.Sprintf("percentile %s is never reached", repr(wanted[next]))
	}
	slices.SortFunc(found, func(a, b percentile) int {
		if a.p < b.p {
			return -1
		}
		return 1
	})
	return found, ""
}
