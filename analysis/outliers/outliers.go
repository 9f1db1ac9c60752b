// Package outliers finds single I/Os far above the rest of their direction's run, which no percentile shows: when each
// was, how long it took, and whether they recur evenly.
//
//	pipeline -> Collector -> Group
//
// The times are as narrow as the intervals of the run and, in a log of its own, as the record that holds the I/O.
package outliers

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

const (
	// leastNS and times are the least threshold in ns, and by how many times it is above p99.9 at least.
	leastNS, times = int64(100_000), 10
	// leastIOs is how many I/Os tell what p99.9 is.
	leastIOs = 1000
	// kept is how many of the slowest entries of a group are kept while the threshold is not known.
	kept = 512
)

// Group are the outliers of a direction of a job, over all hosts. Latencies are in ns, times in ms from the run's
// start.
type Group struct {
	Direction string `json:"direction"`
	Job       string `json:"job,omitempty"`
	// AboveNS is the threshold.
	AboveNS float64 `json:"above_ns"`
	// Samples is the number of all I/Os, IOs that of the outliers' I/Os, and NextNS the longest latency below the
	// threshold.
	Samples float64 `json:"samples"`
	IOs     float64 `json:"ios"`
	NextNS  float64 `json:"next_ns"`
	// Outliers are in order of time. Omitted says that there are more, none of them longer
	// than the shortest here.
	Outliers []Outlier `json:"outliers"`
	Omitted  bool      `json:"omitted,omitempty"`
	// Period is nil if they do not recur evenly.
	Period *Period `json:"period,omitempty"`

	several  bool    // other jobs have the direction, too
	shortest float64 // of the outliers, in ns
}

// Outlier are the I/Os above the threshold in records that touch, usually one.
type Outlier struct {
	FromMS    float64  `json:"from_ms"`
	ToMS      float64  `json:"to_ms"`
	IOs       float64  `json:"ios"`
	LongestNS float64  `json:"longest_ns"`
	Hosts     []string `json:"hosts,omitempty"`
	Logs      []string `json:"logs,omitempty"`
}

// at is the middle of the time in which it was, half is half of its length.
func (o *Outlier) at() float64   { return (o.FromMS + o.ToMS) / 2 }
func (o *Outlier) half() float64 { return (o.ToMS - o.FromMS) / 2 }

// Collector is a pipeline.Sink that finds the outliers of a run. Leaves that are split by host, job and log tell whose
// they are.
type Collector struct {
	pipeline.Discard
	// Above is the threshold in ns; 0 is ten times p99.9, 100 us at least.
	Above  int64
	run    *pipeline.Run
	groups []*group
	index  map[key]*group
	logs   map[string]*pipeline.Log
}

type key struct{ direction, job string }

// group collects the I/Os of a Group.
type group struct {
	key
	all     fiohist.Hist
	most    float64 // fio's largest latency; 0 if it is not known of some of it
	unknown bool
	slow    []entry
	floor   int  // bucket from which on entries are kept
	dropped bool // entries in the bucket floor, from some time on, or below it
}

// entry are the I/Os of one bucket of a leaf in an interval.
type entry struct {
	from   int64 // of the interval, ns
	bucket int
	ios    float64
	by     fio.Dims
}

// Begin implements pipeline.Sink.
func (c *Collector) Begin(_ context.Context, run *pipeline.Run) error {
	c.run, c.groups, c.index, c.logs = run, nil, map[key]*group{}, map[string]*pipeline.Log{}
	for _, l := range run.Logs {
		if l.Log != nil {
			c.logs[l.Host+"\x00"+l.LogName] = l
		}
	}
	return nil
}

// Interval implements pipeline.Sink.
func (c *Collector) Interval(_ context.Context, q *pipeline.Interval) error {
	for i := range q.Leaves {
		l := &q.Leaves[i]
		k := key{l.Dims.Direction, l.Dims.Job}
		g := c.index[k]
		if g == nil {
			g = &group{key: k, floor: c.run.Geometry.Index(cmp.Or(c.Above, leastNS))}
			c.index[k], c.groups = g, append(c.groups, g)
		}
		g.all.AddHist(l.Hist)
		g.most = max(g.most, float64(l.Limits.Max))
		g.unknown = g.unknown || !l.Limits.Known
		l.Hist.EachFrom(g.floor, func(bucket int, ios float64) {
			g.slow = append(g.slow, entry{q.Offset, bucket, ios, l.Dims})
		})
		if len(g.slow) >= 2*kept {
			g.shorten()
		}
	}
	return nil
}

// shorten keeps the slowest entries, the first of those in the floor.
func (g *group) shorten() {
	buckets := make([]int, len(g.slow))
	for i, e := range g.slow {
		buckets[i] = e.bucket
	}
	slices.Sort(buckets)
	g.floor, g.dropped = buckets[len(buckets)-kept], true
	above, _ := slices.BinarySearch(buckets, g.floor+1)
	room := kept - (len(buckets) - above)
	g.slow = slices.DeleteFunc(g.slow, func(e entry) bool {
		if e.bucket == g.floor {
			room--
		}
		return e.bucket < g.floor || e.bucket == g.floor && room < 0
	})
}

// Found returns the outliers of each job's direction that has 1,000 I/Os or more.
func (c *Collector) Found() (out []Group) {
	jobs := map[string]int{}
	for _, g := range c.groups {
		jobs[g.direction]++
	}
	for _, g := range c.groups {
		if found, ok := c.found(g); ok {
			found.several = jobs[g.direction] > 1
			out = append(out, found)
		}
	}
	slices.SortStableFunc(out, func(a, b Group) int {
		return cmp.Or(slices.Index(fio.RowDirections(), a.Direction)-slices.Index(fio.RowDirections(), b.Direction),
			cmp.Compare(a.Job, b.Job))
	})
	return out
}

// Threshold returns the latency in ns from which on an I/O is an outlier of these, by their p99.9; 0 if they are too
// few to tell.
func Threshold(h *fiohist.Hist, g fiohist.Geometry) float64 {
	s := h.Stats(g, []float64{99.9}, fiohist.Limits{})
	if s.Samples < leastIOs {
		return 0
	}
	return max(float64(leastNS), times*s.Percentiles[0])
}

// From returns how many I/Os take a latency in ns or longer, the shortest of them, and the longest of the others; 0 if
// there are none.
func From(h *fiohist.Hist, g fiohist.Geometry, ns float64) (ios, shortest, next float64) {
	h.Each(func(i int, w float64) {
		switch m := g.Middle(i); {
		case m < ns:
			next = m
		case ios == 0:
			ios, shortest = w, m
		default:
			ios += w
		}
	})
	return ios, shortest, next
}

func (c *Collector) found(g *group) (out Group, ok bool) {
	grid := c.run.Geometry
	above := float64(c.Above)
	if above == 0 {
		above = Threshold(&g.all, grid)
	}
	if above == 0 {
		return out, false
	}
	out = Group{Direction: g.direction, Job: g.job, AboveNS: above, Samples: math.Round(g.all.Sum()),
		Outliers: []Outlier{}}
	out.IOs, out.shortest, out.NextNS = From(&g.all, grid, above)
	out.IOs = math.Round(out.IOs)
	var slow []entry
	for _, e := range g.slow {
		if grid.Middle(e.bucket) >= above {
			slow = append(slow, e)
		}
	}
	out.Omitted = g.dropped && grid.Middle(g.floor) >= above
	for _, o := range c.events(slow) {
		o.IOs = math.Round(o.IOs)
		if o.IOs > 0 {
			if !g.unknown && g.most > 0 {
				o.LongestNS = min(o.LongestNS, g.most)
			}
			out.Outliers = append(out.Outliers, o)
		}
	}
	if !out.Omitted {
		out.Period = periodOf(out.Outliers)
	}
	return out, true
}

// events puts together the entries of records that touch.
func (c *Collector) events(slow []entry) (out []Outlier) {
	slices.SortStableFunc(slow, func(a, b entry) int { return cmp.Compare(a.from, b.from) })
	var records []Outlier // of a log each
	for len(slow) > 0 {
		one, rest := []entry{slow[0]}, []entry(nil)
		for _, e := range slow[1:] {
			if e.by == one[0].by && e.from <= one[len(one)-1].from+c.run.Interval {
				one = append(one, e)
			} else {
				rest = append(rest, e)
			}
		}
		records, slow = append(records, c.record(one)), rest
	}
	slices.SortStableFunc(records, func(a, b Outlier) int { return cmp.Compare(a.FromMS, b.FromMS) })
	for _, r := range records {
		last := len(out) - 1
		if last < 0 || r.FromMS > out[last].ToMS {
			out = append(out, r)
			continue
		}
		o := &out[last]
		o.ToMS, o.IOs, o.LongestNS = max(o.ToMS, r.ToMS), o.IOs+r.IOs, max(o.LongestNS, r.LongestNS)
		o.Hosts, o.Logs = with(o.Hosts, r.Hosts), with(o.Logs, r.Logs)
	}
	return out
}

// with adds names to others that are in natural order.
func with(all, more []string) []string {
	for _, name := range more {
		if at, found := slices.BinarySearchFunc(all, name, fio.Natural); !found {
			all = slices.Insert(all, at, name)
		}
	}
	return all
}

// record is what entries of a leaf in intervals one after the other tell. The share of a single I/O that lies in each
// of two intervals says where its record begins and ends.
func (c *Collector) record(of []entry) Outlier {
	first, last := of[0].from, of[len(of)-1].from
	o := Outlier{}
	before := 0.0 // in the first interval
	for _, e := range of {
		o.IOs, o.LongestNS = o.IOs+e.ios, max(o.LongestNS, c.run.Geometry.Middle(e.bucket))
		if e.from == first {
			before += e.ios
		}
	}
	from, to := first, last+c.run.Interval
	l := c.logs[of[0].by.Host+"\x00"+of[0].by.Log]
	if l != nil {
		if length := float64(l.Interval); last == first+c.run.Interval && o.IOs < 1.5 && length > 0 {
			share := before / o.IOs
			from, to = max(from, last-int64(share*length)), min(to, last+int64((1-share)*length))
		}
		from, to = max(from, l.Start), min(to, max(l.End, from+int64(time.Millisecond)))
	}
	o.FromMS, o.ToMS = float64(from)/1e6, float64(to)/1e6
	if by := of[0].by; by.Host != "" {
		o.Hosts = []string{by.Host}
	}
	if by := of[0].by; by.Log != "" {
		o.Logs = []string{by.Log}
	}
	return o
}
