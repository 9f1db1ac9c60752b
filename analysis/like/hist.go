package like

import (
	"bytes"
	"container/heap"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxIdle is the maximum number of consecutive intervals without I/O with --noweight. The program visits each and
	// takes about 20 s for this many.
	maxIdle = 100_000_000
	// maxIdleWeighted is the same without --noweight, where each interval takes the program about 80 µs.
	maxIdleWeighted = 1_000_000
	// maxGroups is the maximum number of groups of 64 buckets whose latencies stay below 2^63.
	maxGroups = 56
)

// histParser is a run of fiologparser_hist.
type histParser struct {
	buffer     int64
	maxLatency *float64 // nil is 20, as an int
	interval   *int64
	noweight   bool
	warn       bool
	divisor    int64
	decimals   int64
	groups     int64
	jobFile    string
	texts      string // --percentiles as typed
	micro      bool
	directions string

	wanted []float64 // 50, and those of texts
	step   float64   // interval in ms
	hint   string

	// For each bucket: its representative value, the edges for min and max, and the value in ms.
	values, lower, upper, ms []float64
	rows                     []string // the directions to print, sorted: m r t w
	out                      *bytes.Buffer
	products, cdf, found     []float64 // scratch space of stats
}

func runParser(ctx context.Context, args []string, out *bytes.Buffer) error {
	h := new(histParser)
	p := h.flags()
	if help, err := p.parse(args); help || err != nil {
		return p.usageOr(err, out)
	}
	h.out = out
	return h.run(ctx, p.files)
}

func (h *histParser) flags() *parser {
	*h = histParser{buffer: 10000, divisor: 1, decimals: 3, groups: 29, texts: "90:95:99"}
	p := newParser(parserName)
	p.add(&h.buffer, "N", "no effect", "--buff_size")
	p.add(&h.maxLatency, "SECONDS", "how far it reads ahead of an interval (20)", "--max_latency")
	p.add(&h.interval, "MS", "interval of a row (1000)", "-i", "--interval")
	p.add(&h.noweight, "", "count each record in the one interval of its stamp", "--noweight")
	p.add(&h.divisor, "N", "divide latencies by N (1)", "-d", "--divisor")
	p.add(&h.decimals, "N", "decimals (3)", "--decimals")
	p.add(&h.warn, "", "no effect", "--warn")
	p.add(&h.groups, "N", "groups of 64 buckets (29)", "--group_nr")
	p.add(&h.jobFile, "FILE", "fio's job file, to take log_hist_msec as the interval", "--job-file")
	p.add(&h.texts, "P[,:]...", "percentiles (90:95:99)", "--percentiles")
	p.add(&h.micro, "", "buckets are in microseconds (fio 2)", "--usbin")
	p.add(&h.directions, "[rwtm]...", "a row each for reads, writes, trims, all", "--directions")
	return p
}

func (h *histParser) stop(where, format string, args ...any) *InputError {
	return stop(parserName, where, h.hint, format, args...)
}

func (h *histParser) run(ctx context.Context, files []string) error {
	h.hint = "fiolat percentiles --interval 1s FILE..."
	if h.jobFile != "" {
		ms, err := jobInterval(h.jobFile)
		if err != nil {
			return h.stop("--job-file", "%v", err)
		}
		if h.interval == nil {
			h.interval = ms
		}
	}
	h.step = 1000
	if h.interval != nil {
		h.step = float64(*h.interval)
	}
	if h.step > 0 {
		h.hint = fmt.Sprintf("fiolat percentiles --interval %s FILE...", time.Duration(h.step)*time.Millisecond)
	}
	head := []string{"end-time", "samples", "min", "avg", "median"}
	h.directions = strings.ToLower(h.directions)
	if h.directions != "" {
		head = slices.Insert(head, 1, "dir")
	}
	h.wanted = []float64{50}
	for _, text := range strings.Split(strings.ReplaceAll(h.texts, ":", ","), ",") {
		p, ok := pyFloat(text)
		if !ok {
			return h.stop("--percentiles", "%q is not a number", text)
		}
		h.wanted = append(h.wanted, p)
		head = append(head, text+"%")
	}
	h.found = make([]float64, len(h.wanted))
	fmt.Fprintf(h.out, "%s\n", strings.Join(append(head, "max"), ", "))

	for _, d := range []string{"m", "r", "t", "w"} {
		if strings.Contains(h.directions, d) || d == "m" && h.directions == "" {
			h.rows = append(h.rows, d)
		}
	}
	lines := parserLines
	if h.noweight {
		lines = unweightedLines
	}
	logs, err := readAll(ctx, parserName, files, lines)
	if err != nil {
		return err
	}
	if err := h.buckets(logs[0]); err != nil {
		return err
	}
	if h.noweight {
		return h.unweighted(ctx, logs)
	}
	return h.weighted(ctx, logs)
}

// buckets computes the latencies of each column from the number of columns in the first line of the first log.
func (h *histParser) buckets(l *hlog) error {
	columns := int64(l.columns - 3)
	// If --group_nr is one of fio 2's, the program tries all of these.
	groups := []int64{h.groups}
	if 19 <= h.groups && h.groups <= 26 {
		groups = []int64{19, 20, 21, 22, 23, 24, 25, 26}
	}
	const maxCoarseness = 8
	for c := range maxCoarseness + 1 {
		stride := int64(1) << c
		for _, g := range groups {
			if columns < 1 || columns<<c != g<<6 {
				continue
			}
			if g > maxGroups {
				return h.stop("--group_nr", "%d groups overflow 64 bits", g)
			}
			divisor := 1e6
			if h.micro {
				divisor = 1e3
			}
			for i := range columns {
				// A bug of the program: the upper edge is the end of the next bucket.
				lo, hi := binValue(i*stride, 0), binValue((i+1)*stride, 1)
				value := lo + (hi-lo)*0.5
				h.values = append(h.values, value)
				h.lower = append(h.lower, lo)
				h.upper = append(h.upper, lo+(hi-lo))
				h.ms = append(h.ms, value/divisor)
			}
			h.products, h.cdf = make([]float64, columns), make([]float64, columns)
			return nil
		}
	}
	return h.stop(at(l, 1), "%d columns, of which 3 are no buckets, don't fit --group_nr %d at any coarseness",
		l.columns, h.groups)
}

// binValue is the latency at the fraction edge of a bucket's width above its lower end. For buckets of width 1 it is
// always the lower end.
func binValue(index int64, edge float64) float64 {
	const bits, perGroup = 6, 64
	if index < 2*perGroup {
		return float64(index)
	}
	shift := index>>bits - 1
	return float64(int64(1)<<(shift+bits)) + float64((float64(index%perGroup)+edge)*float64(int64(1)<<shift))
}

// histogram is the data of a row.
type histogram struct {
	counts  []float64
	ints    []int64 // instead of counts, until a count beyond int64 makes numpy switch to floats
	samples int64
	lo, hi  float64
	used    bool
}

// print writes a row.
func (h *histParser) print(end float64, direction string, samples string, g *histogram) error {
	switch {
	case h.divisor == 0:
		return h.stop("--divisor", "must not be 0")
	case h.decimals < 0 || h.decimals > math.MaxInt32:
		return h.stop("--decimals", "%d is not a valid number of decimals", h.decimals)
	}
	average := h.stats(g)
	fmt.Fprintf(h.out, "%s, ", integer(end))
	if h.directions != "" {
		fmt.Fprintf(h.out, "%s, ", direction)
	}
	fmt.Fprintf(h.out, "%s, ", samples)
	extreme := func(v float64) string {
		v /= float64(h.divisor)
		if h.divisor > 1 {
			return fixed(v, int(h.decimals))
		}
		return integer(v)
	}
	fmt.Fprintf(h.out, "%s, ", extreme(g.lo))
	for _, v := range append([]float64{average}, h.found...) {
		fmt.Fprintf(h.out, "%s, ", fixed(v/float64(h.divisor), int(h.decimals)))
	}
	fmt.Fprintf(h.out, "%s\n", extreme(g.hi))
	return nil
}

// stats returns the average and stores the percentiles in h.found. The middle of a bucket lies at the middle of its
// share of the cumulative distribution. Between the middles it interpolates, also across empty buckets.
func (h *histParser) stats(g *histogram) float64 {
	var sum float64
	if g.ints != nil {
		var running int64
		for i, n := range g.ints {
			running += n
			h.cdf[i] = float64(running)
		}
		sum = float64(running)
	} else {
		var running float64
		for i, n := range g.counts {
			running += n
			h.cdf[i] = running
		}
		sum = pairwiseSum(g.counts)
	}
	for i, n := range g.counts {
		h.cdf[i] = float64(100*(h.cdf[i]-n/2)) / sum
		h.products[i] = h.values[i] * n
	}
	interp(h.found, h.wanted, h.cdf, h.values)
	return pairwiseSum(h.products) / sum
}

// unweighted puts each record into the interval of its timestamp, or into the next if that is within 10 ms of the end.
func (h *histParser) unweighted(ctx context.Context, logs []*hlog) error {
	next := make([]int, len(logs)) // index of each log's next record
	// stamp is 0 at the end of a log. The program also takes a timestamp of 0 for the end and stops reading that log.
	stamp := func(i int) int64 {
		if next[i] < len(logs[i].records) {
			return logs[i].records[next[i]].time()
		}
		return 0
	}
	reached := func(i int) error {
		if logs[i].bad != nil && next[i] == len(logs[i].records) {
			return stopBad(parserName, logs[i], h.hint)
		}
		return nil
	}
	for i := range logs {
		if err := reached(i); err != nil {
			return err
		}
	}
	sums := make(map[string]*histogram, len(h.rows))
	for end := h.step; ; end += h.step {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, d := range h.rows {
			sums[d] = &histogram{ints: make([]int64, len(h.values))}
		}
		// Logs take turns, record by record.
		any := false
		for found := true; found; {
			found = false
			for i, l := range logs {
				ts := stamp(i)
				if ts == 0 || float64(ts)+10 >= end {
					continue
				}
				if err := h.count(sums, l, &l.records[next[i]]); err != nil {
					return err
				}
				found, any = true, true
				next[i]++
				if err := reached(i); err != nil {
					return err
				}
			}
		}
		if any {
			for _, d := range h.rows {
				if err := h.printUnweighted(end, d, sums[d]); err != nil {
					return err
				}
			}
		}
		first, from := int64(0), -1
		for i := range logs {
			if ts := stamp(i); ts != 0 && (from < 0 || ts < first) {
				first, from = ts, i
			}
		}
		if from < 0 {
			return nil
		}
		where := at(logs[from], logs[from].records[next[from]].line)
		if h.step <= 0 {
			return h.stop(where, "with an interval of %g ms it never reaches the record at %d ms", h.step, first)
		}
		// The program advances by single intervals; the next one with a record is so many on.
		idle := math.Floor((float64(first)+10-end)/h.step) + 1
		if idle > maxIdle {
			return h.stop(where, "it would have to visit %.0f empty intervals before %d ms; it reads stamps since "+
				"1970 only without --noweight", idle, first)
		}
		if idle > 1 {
			end += (idle - 1) * h.step
		}
	}
}

// count adds a record to the sums of its direction and of all directions.
func (h *histParser) count(sums map[string]*histogram, l *hlog, r *record) error {
	if r.columns < 2 {
		return h.stop(at(l, r.line), "one column, no direction")
	}
	own := "?"
	if d := r.direction(); 0 <= d && d <= 2 {
		own = "rwt"[d : d+1]
	}
	for _, d := range []string{"m", own} {
		g := sums[d]
		if g == nil {
			continue
		}
		// numpy broadcasts the only count of a truncated line to every bucket.
		buckets := r.columns - len(r.head)
		if buckets != len(h.values) && buckets != 1 {
			return h.stop(at(l, r.line), "%d buckets, want %d as in the first line of the first log", max(buckets, 0),
				len(h.values))
		}
		for _, b := range r.bins {
			if b.beyond {
				return h.stop(at(l, r.line), "a count beyond 64 bits")
			}
			if b.wide && g.ints != nil {
				g.counts, g.ints = floats(g.ints), nil
			}
		}
		for _, b := range r.bins {
			from, to := int(b.index), int(b.index)+1
			if buckets == 1 {
				to = len(h.values)
			}
			for i := from; i < to; i++ {
				if g.ints != nil {
					g.ints[i] += b.n
				} else {
					g.counts[i] += b.float()
				}
			}
		}
	}
	return nil
}

func floats(ints []int64) []float64 {
	out := make([]float64, len(ints))
	for i, n := range ints {
		out[i] = float64(n)
	}
	return out
}

func (h *histParser) printUnweighted(end float64, direction string, g *histogram) error {
	var samples string
	if g.ints != nil {
		for _, n := range g.ints {
			g.samples += n // wraps around, as in numpy
		}
		if g.samples <= 0 {
			return nil
		}
		samples = strconv.FormatInt(g.samples, 10)
		g.counts = floats(g.ints)
	} else {
		sum := pairwiseSum(g.counts)
		if !(sum > 0) {
			return nil
		}
		samples = integer(sum)
	}
	full := func(n float64) bool { return n != 0 }
	g.lo = h.values[slices.IndexFunc(g.counts, full)]
	for i, n := range g.counts {
		if full(n) {
			g.hi = h.values[i]
		}
	}
	return h.print(end, direction, samples, g)
}

// weighted distributes each record over the intervals in which its I/Os were in flight: an I/O in bucket b of a record
// with timestamp t began at t - interval/2 - b and ended at t.
func (h *histParser) weighted(ctx context.Context, logs []*hlog) error {
	if h.buffer < 1 {
		return h.stop("--buff_size", "%d is below 1", h.buffer)
	}
	for _, l := range logs {
		if err := h.check(l); err != nil {
			return err
		}
	}
	queue := newQueue(logs)
	sums := make(map[string]*histogram, len(h.rows))
	for _, d := range h.rows {
		sums[d] = &histogram{counts: make([]float64, len(h.values))}
	}
	latency := 20.0
	if h.maxLatency != nil {
		latency = *h.maxLatency
	}
	var window []queued // records that may reach into the interval, in the order read
	idle := 0
	for start, end := 0.0, h.step; queue.Len() > 0 || len(window) > 0; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for queue.Len() > 0 && (len(window) == 0 || float64(window[len(window)-1].time()) < latency*1000+end) {
			window = append(window, queue.next())
		}
		first := float64(window[0].time())
		if start == 0 && first-latency > end {
			// The program skips to the first timestamp. It confuses seconds and milliseconds here.
			start = first - latency
			if h.maxLatency != nil || h.step != 0 { // in numpy, an int % 0 is 0, a float % 0 is nan
				start -= floorMod(start, h.step)
			}
			end = start + h.step
		}
		for _, q := range window {
			h.addOverlap(sums, q.record, start, end)
		}
		idle++
		for _, d := range h.rows {
			g := sums[d]
			if !g.used {
				continue
			}
			if g.samples > 0 {
				idle = 0
				if err := h.print(end, d, fmt.Sprint(g.samples), g); err != nil {
					return err
				}
			}
			clear(g.counts)
			*g = histogram{counts: g.counts}
		}
		window = slices.DeleteFunc(window, func(q queued) bool { return !(float64(q.time()) > end) })
		if len(window) > 0 {
			where := at(window[0].log, window[0].line)
			switch {
			case h.step <= 0:
				return h.stop(where, "with an interval of %g ms it never reaches the record at %d ms", h.step,
					window[0].time())
			case idle > maxIdleWeighted:
				return h.stop(where, "it has visited %d empty intervals without reaching the record at %d ms", idle,
					window[0].time())
			}
		}
		start += h.step
		end = start + h.step
	}
	return nil
}

// check refuses what pandas and numpy refuse anywhere in a log: the program reads each log whole.
func (h *histParser) check(l *hlog) error {
	for i := range l.records {
		r := &l.records[i]
		switch d := r.direction(); {
		case r.columns != len(h.values)+len(r.head):
			return h.stop(at(l, r.line), "%d columns, want %d as in the first line of the first log", r.columns,
				len(h.values)+len(r.head))
		case slices.ContainsFunc(r.bins, func(b bin) bool { return b.wide }):
			return h.stop(at(l, r.line), "a count beyond 64 bits")
		case d < -3 || d > 2:
			return h.stop(at(l, r.line), "direction %d; it knows 0 (read), 1 (write) and 2 (trim)", d)
		}
	}
	if l.bad != nil {
		return stopBad(parserName, l, h.hint)
	}
	if len(l.records) == 0 {
		return h.stop(l.path, "the log is empty")
	}
	return nil
}

// addOverlap adds to the sums the part of r that falls into an interval.
func (h *histParser) addOverlap(sums map[string]*histogram, r *record, start, end float64) {
	if len(r.bins) == 0 {
		return
	}
	stamp := float64(r.time())
	middle := stamp - 0.5*h.step
	// The slower a bucket, the earlier its I/Os began: the buckets that began before the end are the last ones.
	began := func(i uint32) float64 { return middle - h.ms[i] }
	from := len(r.bins)
	var samples int64
	for from > 0 && began(r.bins[from-1].index) < end {
		from--
		samples += r.bins[from].n
	}
	bins := r.bins[from:]
	if len(bins) == 0 {
		return
	}
	lowest, highest := int(bins[0].index), int(bins[len(bins)-1].index)
	if lowest > 0 && began(uint32(lowest-1)) < end {
		lowest--
	}
	lo, hi := h.lower[lowest], h.upper[min(highest+1, len(h.upper)-1)]
	// Python's dir_map[-1] is its last entry.
	own := "rwt"[(r.direction()+3)%3:][:1]
	until := math.Min(stamp, end)
	for _, d := range []string{"m", own} {
		g := sums[d]
		if g == nil {
			continue
		}
		for _, b := range bins {
			s := began(b.index)
			w := (until - math.Max(s, start)) / (stamp - s)
			if math.IsNaN(w) {
				w = 0 // the record has no length
			}
			g.counts[b.index] += float64(float64(b.n) * w)
		}
		g.samples += samples
		if !g.used {
			g.used, g.lo, g.hi = true, lo, hi
		}
		g.lo, g.hi = min(g.lo, lo), max(g.hi, hi)
	}
}

// queued is a record with its log, which messages name.
type queued struct {
	*record
	log *hlog
}

// logQueue merges logs by the timestamps of their next records; ties go to the log named first. As in the program, a
// log whose time runs backwards is not sorted.
type logQueue []*cursor

type cursor struct {
	log   *hlog
	rest  []record
	order int
}

func newQueue(logs []*hlog) *logQueue {
	q := make(logQueue, len(logs))
	for i, l := range logs {
		q[i] = &cursor{l, l.records, i}
	}
	heap.Init(&q)
	return &q
}

func (q logQueue) Len() int      { return len(q) }
func (q logQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q logQueue) Less(i, j int) bool {
	a, b := q[i].rest[0].time(), q[j].rest[0].time()
	return a < b || a == b && q[i].order < q[j].order
}
func (q *logQueue) Push(c any) { *q = append(*q, c.(*cursor)) }
func (q *logQueue) Pop() any {
	last := len(*q) - 1
	c := (*q)[last]
	*q = (*q)[:last]
	return c
}

// next removes and returns the next record. The queue must not be empty.
func (q *logQueue) next() queued {
	c := (*q)[0]
	r := queued{&c.rest[0], c.log}
	if c.rest = c.rest[1:]; len(c.rest) == 0 {
		heap.Pop(q)
	} else {
		heap.Fix(q, 0)
	}
	return r
}
