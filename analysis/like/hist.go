package like

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
)

// parser is a run of fiologparser_hist.
type parser struct {
	interval, latency   float64 // ms, s
	divisor             int
	stride              int // buckets of fio that one of the log holds
	decimals            int
	noweight            bool
	directions          string
	wanted, found       []float64
	values, lower, ms   []float64 // of each bucket: its middle in ns or µs, its edges (one more), its middle in ms
	counts, cdf, scaled []float64 // scratch
	out                 *bytes.Buffer
}

func runParser(ctx context.Context, args []string, out *bytes.Buffer) error {
	h := &parser{out: out}
	f := flag.NewFlagSet(parserName, flag.ContinueOnError)
	step := f.Int("interval", 1000, "interval of a row in `MS`")
	f.IntVar(step, "i", 1000, "--interval")
	f.IntVar(&h.divisor, "divisor", 1, "divide latencies by `N`")
	f.IntVar(&h.divisor, "d", 1, "--divisor")
	f.Float64Var(&h.latency, "max_latency", 20, "how far it reads ahead of an interval, in `SECONDS`")
	f.IntVar(&h.decimals, "decimals", 3, "print `N` decimals")
	f.BoolVar(&h.noweight, "noweight", false, "count each record in the one interval of its stamp")
	f.StringVar(&h.directions, "directions", "", "`[rwtm]...`, a row each for reads, writes, trims, all")
	list := f.String("percentiles", "90:95:99", "percentiles `P[,:]...`")
	job := f.String("job-file", "", "fio's job `FILE`, to take log_hist_msec as the interval")
	f.Int("buff_size", 10000, "no effect")
	f.Bool("warn", false, "no effect")
	groups := f.Int("group_nr", 29, "fio's FIO_IO_U_PLAT_GROUP_NR: `N` groups of 64 buckets; 19 for fio 2")
	micro := f.Bool("usbin", false, "buckets are in µs, as fio 2's")
	files, err := parse(parserName, f, args, out)
	if err != nil || files == nil {
		return err
	}
	given := false
	f.Visit(func(f *flag.Flag) { given = given || f.Name == "i" || f.Name == "interval" })
	if *job != "" && !given {
		if err := jobInterval(*job, step); err != nil {
			return err
		}
	}
	percentiles, err := numbers(parserName, *list)
	if err != nil {
		return err
	}
	if *step < 1 || h.divisor < 1 || h.decimals < 0 {
		return &UsageError{parserName + ": --interval and --divisor must be above 0, and --decimals not below",
			"leave out the one that is"}
	}
	h.interval = float64(*step)
	h.wanted = append([]float64{50}, percentiles...)
	h.found = make([]float64, len(h.wanted))
	head := []string{"end-time", "samples", "min", "avg", "median"}
	if h.directions != "" {
		head = slices.Insert(head, 1, "dir")
	}
	for text := range strings.FieldsFuncSeq(*list, func(r rune) bool { return r == ',' || r == ':' }) {
		head = append(head, text+"%")
	}
	fmt.Fprintf(out, "%s\n", strings.Join(append(head, "max"), ", "))
	logs, err := readAll(ctx, parserName, files)
	if err != nil {
		return err
	}
	n := logs[0].columns
	h.stride = stride(n, *groups)
	if h.stride == 0 {
		return stop(parserName, logs[0].path, "%d buckets are not those of %d groups (--group_nr)", n, *groups)
	}
	for _, l := range logs {
		if l.columns != n {
			return stop(parserName, l.path, "%d buckets, want %d as in the first log", l.columns, n)
		}
	}
	perMS := 1e6
	if *micro {
		perMS = 1e3
	}
	for i := range n { // a bug of the program: the upper edge is the end of the next bucket
		lo, hi := edge(i*h.stride, 0), edge((i+1)*h.stride, 1)
		mid := lo + (hi-lo)*0.5
		h.values, h.lower, h.ms = append(h.values, mid), append(h.lower, lo), append(h.ms, mid/perMS)
	}
	h.lower = append(h.lower, edge(n*h.stride, 1))
	h.counts, h.cdf, h.scaled = make([]float64, n), make([]float64, n), make([]float64, n)
	if h.noweight {
		return h.unweighted(ctx, logs)
	}
	return h.weighted(ctx, logs)
}

// stride returns how many of fio's buckets one of n columns holds, 0 if n fits no coarseness. Of 19 to 26 groups the
// program tries all of these numbers.
func stride(n, groups int) int {
	first, last := groups, groups
	if 19 <= groups && groups <= 26 {
		first, last = 19, 26
	}
	for coarseness := range 9 {
		for g := first; g <= last; g++ {
			if n<<coarseness == g*64 {
				return 1 << coarseness
			}
		}
	}
	return 0
}

// edge is the latency at the fraction of a bucket's width above its lower end; for buckets of width 1 always that end.
func edge(i int, fraction float64) float64 {
	if i < 128 {
		return float64(i)
	}
	shift := i>>6 - 1
	return float64(int64(1)<<(shift+6)) + float64((float64(i%64)+fraction)*float64(int64(1)<<shift))
}

// rows are the directions to print.
func (h *parser) rows() (out []string) {
	for _, d := range []string{"m", "r", "t", "w"} {
		if strings.Contains(strings.ToLower(h.directions), d) || d == "m" && h.directions == "" {
			out = append(out, d)
		}
	}
	return out
}

// sum is what a row adds up.
type sum struct {
	counts  []float64
	samples uint64
	lo, hi  float64
}

func (h *parser) sums() map[string]*sum {
	out := map[string]*sum{}
	for _, d := range h.rows() {
		out[d] = &sum{counts: make([]float64, len(h.values)), lo: math.Inf(1)}
	}
	return out
}

func (h *parser) print(end float64, d string, s *sum) {
	if s.samples == 0 {
		return
	}
	value := func(v float64) string { return fmt.Sprintf("%.*f, ", h.decimals, v/float64(h.divisor)) }
	extreme := func(v float64) string {
		if h.divisor > 1 {
			return strings.TrimSuffix(value(v), ", ")
		}
		return integer(v)
	}
	running, total := 0.0, pairwiseSum(s.counts)
	for i, n := range s.counts {
		running += n
		h.cdf[i] = float64(100*(running-n/2)) / total
		h.scaled[i] = h.values[i] * n
	}
	interp(h.found, h.wanted, h.cdf, h.values)
	fmt.Fprintf(h.out, "%s, ", integer(end))
	if h.directions != "" {
		fmt.Fprintf(h.out, "%s, ", d)
	}
	fmt.Fprintf(h.out, "%d, %s, %s", s.samples, extreme(s.lo), value(pairwiseSum(h.scaled)/total))
	for _, v := range h.found {
		h.out.WriteString(value(v))
	}
	fmt.Fprintf(h.out, "%s\n", extreme(s.hi))
}

// place is where a record stands.
type place struct {
	log *hlog
	i   int
}

func (p place) time() float64 { return float64(p.log.records[p.i].Time) }

// unweighted puts each record into the interval of its stamp, or into the next if that is within 10 ms of the end.
func (h *parser) unweighted(ctx context.Context, logs []*hlog) error {
	sums := map[float64]map[string]*sum{}
	for _, l := range logs {
		reached := int64(0) // a record waits for those before it in its log
		for i, r := range l.records {
			if float64(r.Time)/h.interval > 1e8 {
				return stop(parserName, l.at(i), "it reads stamps since 1970 only without --noweight")
			}
			if r.Time == 0 { // it takes that for the end of the log
				break
			}
			reached = max(reached, r.Time)
			end := (math.Floor((float64(reached)+10)/h.interval) + 1) * h.interval
			if sums[end] == nil {
				sums[end] = h.sums()
			}
			for _, d := range []string{"m", "rwt"[r.Dir:][:1]} {
				s := sums[end][d]
				for k, i := range r.Index {
					if s != nil {
						s.counts[i] += r.Count[k]
						s.samples += uint64(r.Count[k])
						s.lo, s.hi = min(s.lo, h.values[i]), max(s.hi, h.values[i])
					}
				}
			}
		}
	}
	ends := make([]float64, 0, len(sums))
	for end := range sums {
		ends = append(ends, end)
	}
	slices.Sort(ends)
	for _, end := range ends {
		for _, d := range h.rows() {
			h.print(end, d, sums[end][d])
		}
	}
	return context.Cause(ctx)
}

// weighted distributes each record over the intervals in which its I/Os were in flight: an I/O in bucket b of a record
// with stamp t began at t - interval/2 - b and ended at t.
func (h *parser) weighted(ctx context.Context, logs []*hlog) error {
	var queue, window []place
	for next := make([]int, len(logs)); ; { // merged by the stamps of their next records: a log is not sorted
		first := -1
		for i, l := range logs {
			if next[i] < len(l.records) &&
				(first < 0 || l.records[next[i]].Time < logs[first].records[next[first]].Time) {
				first = i
			}
		}
		if first < 0 {
			break
		}
		queue = append(queue, place{logs[first], next[first]})
		next[first]++
	}
	start, end := 0.0, h.interval
	for ; len(queue) > 0 || len(window) > 0; start, end = start+h.interval, start+2*h.interval {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for len(queue) > 0 && (len(window) == 0 || window[len(window)-1].time() < h.latency*1000+end) {
			window, queue = append(window, queue[0]), queue[1:]
		}
		if first := window[0].time(); start == 0 && first-h.latency > end { // it confuses seconds and milliseconds here
			start = first - h.latency
			start -= math.Mod(start, h.interval)
			end = start + h.interval
		}
		sums := h.sums()
		for _, p := range window {
			h.overlap(sums, p, start, end)
		}
		for _, d := range h.rows() {
			h.print(end, d, sums[d])
		}
		window = slices.DeleteFunc(window, func(p place) bool { return p.time() <= end })
	}
	return nil
}

// overlap adds the part of a record that falls into an interval.
func (h *parser) overlap(sums map[string]*sum, p place, start, end float64) {
	r := p.log.records[p.i]
	stamp := float64(r.Time)
	middle := stamp - 0.5*h.interval
	began := func(i int) float64 { return middle - h.ms[i] } // the slower a bucket, the earlier
	from := len(r.Index)
	var samples float64
	for from > 0 && began(int(r.Index[from-1])) < end {
		from--
		samples += r.Count[from]
	}
	if from == len(r.Index) {
		return
	}
	lowest, highest := int(r.Index[from]), int(r.Index[len(r.Index)-1])
	if lowest > 0 && began(lowest-1) < end {
		lowest--
	}
	until := min(stamp, end)
	for _, d := range []string{"m", "rwt"[r.Dir:][:1]} {
		s := sums[d]
		if s == nil {
			continue
		}
		for k := from; k < len(r.Index); k++ {
			at := began(int(r.Index[k]))
			w := (until - max(at, start)) / (stamp - at)
			s.counts[r.Index[k]] += float64(r.Count[k] * w)
		}
		up := min(highest+1, len(h.values)-1)
		hi := h.lower[up] + (edge((up+1)*h.stride, 1) - h.lower[up])
		s.samples += uint64(samples)
		s.lo, s.hi = min(s.lo, h.lower[lowest]), max(s.hi, hi)
	}
}
