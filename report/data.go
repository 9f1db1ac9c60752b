package report

import (
	"cmp"
	"encoding/json"
	"html/template"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
	"fiolat/report/page"
)

// head describes the packed data; the page has it as plain JSON.
type head struct {
	Percentiles []string `json:"percentiles"`
	// Start is in ms since 1970, null if unknown. All other times are in ms since Start.
	Start *float64 `json:"start"`
	// The first column begins at First, the last ends at End. Interval is the length of an interval.
	First    float64 `json:"first"`
	End      float64 `json:"end"`
	Interval float64 `json:"interval"`
	grid
	// Fine are the columns of a part of the run that is zoomed to, nil if there are no finer ones, Cells those of
	// histograms.
	Fine   *grid     `json:"fine,omitempty"`
	Cells  grid      `json:"cells"`
	Logs   int       `json:"logs"`
	Kind   string    `json:"kind"`
	Part   string    `json:"part"`           // see Sink.part
	Name   string    `json:"name,omitempty"` // of the run, if there are several
	Side   int       `json:"side"`
	Groups []string  `json:"groups,omitempty"` // names of the sides, if they are groups of runs
	Scopes []dims    `json:"scopes"`
	Leaves []dims    `json:"leaves"`
	SLA    []slaLine `json:"sla"`
	// Hues are the colors of directions, as numbers of the palette.
	Hues map[string]int `json:"hues"`
	// IOs are the I/Os of all leaves.
	IOs float64 `json:"ios"`
	// Each of the heat map's rows has 2^Finer of the data's.
	Finer  int     `json:"finer"`
	Marks  []Mark  `json:"marks,omitempty"`
	Stalls []stall `json:"stalls,omitempty"`
	// Outliers are the single slow I/Os, in order of time.
	Outliers []outlier `json:"outliers,omitempty"`
	// Measure and Direction are the first finding's, or of what differs most between runs; "" if there is none.
	Measure   string `json:"measure,omitempty"`
	Direction string `json:"direction,omitempty"`
	// Kinds are the heads of the other kinds or runs.
	Kinds []head `json:"kinds,omitempty"`
}

// grid has Columns of Column ms each, with so many intervals.
type grid struct {
	Column    float64 `json:"column"`
	Columns   int     `json:"columns"`
	Intervals int64   `json:"quanta"`
}

// grid returns the columns of so many of those that are held.
func (s *Sink) grid(group int) grid {
	intervals := s.step * int64(group)
	return grid{float64(s.run.Interval*intervals) / 1e6, (s.col + group - 1) / group, intervals}
}

// slaLine is a rule that charts of latencies draw as a line: Measure must not be above Limit ns.
type slaLine struct {
	Direction string  `json:"direction"`
	Measure   string  `json:"measure"`
	Limit     float64 `json:"limit"`
	Text      string  `json:"text"`
}

// scopeData has the statistics of a scope value, latencies in ns.
type scopeData struct {
	// Total is of the whole run, in the order p..., min, max, mean, stddev.
	Total     latencies `json:"total"`
	TotalN    counts    `json:"totalN"`
	TotalRate rates     `json:"totalRate"`
}

// statistics are by column.
type statistics struct {
	N    counts      `json:"n"`
	P    []latencies `json:"p"` // by percentile
	Min  latencies   `json:"min"`
	Max  latencies   `json:"max"`
	Mean latencies   `json:"mean"`
	// Limits are parallel to P. Covered are the seconds in which a log was running. Both are missing in InFlight.
	Limits  []limits `json:"limits,omitempty"`
	Covered rates    `json:"covered,omitempty"`
	Logs    []int32  `json:"logs,omitempty"`
	// Partial maps the columns that the logs cover only in part to the seconds covered.
	Partial map[int]float64 `json:"partial,omitempty"`
	// Idle maps columns to the intervals in them in which logs were running and nothing completed.
	Idle map[int]int32 `json:"idle,omitempty"`
	// InFlight is missing if no latency is a tenth of a column or longer.
	InFlight *statistics `json:"inflight,omitempty"`
}

// limits are how many percent the 95 % sampling limits are below and above a percentile, by column; -1 is none.
type limits struct {
	Lower percents `json:"lower"`
	Upper percents `json:"upper"`
}

func newStatistics(percentiles int) *statistics {
	return &statistics{P: make([]latencies, percentiles)}
}

// add adds what a column holds.
func (d *statistics) add(st *fiohist.Stats) {
	for i, v := range negateLowerBounds(st) {
		d.P[i] = append(d.P[i], v)
	}
	d.Min, d.Max, d.Mean = append(d.Min, st.Min), append(d.Max, st.Max), append(d.Mean, st.Mean)
	d.N = append(d.N, samples(st))
}

// band returns the limits of a percentile in a column, if both are known.
func (d *statistics) band(i, k int) (lower, upper float64, ok bool) {
	l, u, v := d.Limits[i].Lower[k], d.Limits[i].Upper[k], max(1, math.Abs(d.P[i][k]))
	return max(1, v*(1-l/100)), v * (1 + u/100), d.N[k] > 0 && l >= 0 && u >= 0
}

// addLimits adds the limits of a column.
func (d *statistics) addLimits(st *fiohist.Stats) {
	if d.Limits == nil {
		d.Limits = make([]limits, len(st.Percentiles))
	}
	off := func(limit, v float64) float64 {
		if limit == fiohist.NoLimit {
			return -1
		}
		return 100 * math.Abs(limit/max(v, 1)-1)
	}
	for i, v := range st.Percentiles {
		d.Limits[i].Lower = append(d.Limits[i].Lower, off(st.Lower[i], v))
		d.Limits[i].Upper = append(d.Limits[i].Upper, off(st.Upper[i], v))
	}
}

// leafData has the histograms of a leaf: counts by row, with From as the first one, and column, none in a row without
// I/O; and for the whole run N I/Os in the buckets At.
type leafData struct {
	From int     `json:"from"`
	Rows []cells `json:"rows"`
	At   []int   `json:"at"`
	N    counts  `json:"n"`
}

// latencies are in ns, rounded to five digits: the page rounds them again. A negative value is a lower bound.
type latencies []float64

// MarshalJSON implements json.Marshaler.
func (l latencies) MarshalJSON() ([]byte, error) {
	return numbers(l, func(v float64) float64 { return fio.Round(v, 5) }), nil
}

// cells are numbers of I/Os with up to two decimals.
type cells []float64

// MarshalJSON implements json.Marshaler.
func (c cells) MarshalJSON() ([]byte, error) {
	return numbers(c, func(v float64) float64 { return math.Round(v*100) / 100 }), nil
}

// percents are rounded to two digits.
type percents []float64

// MarshalJSON implements json.Marshaler.
func (p percents) MarshalJSON() ([]byte, error) {
	return numbers(p, func(v float64) float64 { return fio.Round(v, 2) }), nil
}

// rates are per second, rounded to five digits.
type rates []float64

// MarshalJSON implements json.Marshaler.
func (r rates) MarshalJSON() ([]byte, error) {
	return numbers(r, func(v float64) float64 { return fio.Round(v, 5) }), nil
}

// counts are numbers of I/Os, rounded to whole ones, or below 1000 to two decimals.
type counts []float64

// MarshalJSON implements json.Marshaler.
func (c counts) MarshalJSON() ([]byte, error) {
	return numbers(c, func(v float64) float64 {
		if v < 1000 {
			return math.Round(v*100) / 100
		}
		return math.Round(v)
	}), nil
}

func numbers(values []float64, round func(float64) float64) []byte {
	b := []byte{'['}
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		if v == 0 {
			b = append(b, '0')
			continue
		}
		b = strconv.AppendFloat(b, round(v), 'f', -1, 64)
	}
	return append(b, ']')
}

// heatGrid is the grid of the heat map's rows: at most four per octave.
func (s *Sink) heatGrid() fiohist.Geometry {
	return s.run.Geometry.Coarsen(max(4, s.run.Geometry.Coarseness))
}

// directionHues are colors that differ clearly, also for people who confuse red and green.
var directionHues = [fio.Directions]int{fio.Read: 0, fio.Write: 3, fio.Trim: 4}

// head describes the data that pack packs. Times of kinds count from the start of the main one.
func (s *Sink) head() head {
	offset := int64(0)
	if s.runs == nil && s.run.StartKnown && s.main().run.StartKnown {
		offset = s.run.Start - s.main().run.Start
	}
	h := head{
		First: float64(s.run.FirstInterval+offset) / 1e6, End: float64(s.sum.End+offset) / 1e6,
		Interval: float64(s.run.Interval) / 1e6, grid: s.grid(s.group), Cells: s.grid(s.group * s.cells),
		Logs: len(s.run.Logs), Kind: s.run.Kind.String(), Part: s.part(),
		Hues: map[string]int{},
	}
	if s.group > 1 {
		h.Fine = new(s.grid(1))
	}
	for d, hue := range directionHues {
		h.Hues[fio.Direction(d).String()] = hue
	}
	if s.runs != nil {
		i := slices.Index(s.kinds, s)
		h.Name, h.Side = fio.Printable(s.runs[i]), s.sides[i]
	}
	if s.run.StartKnown {
		h.Start = new(float64(s.run.Start-offset) / 1e6)
	}
	for _, p := range s.run.Percentiles {
		h.Percentiles = append(h.Percentiles, fio.Percentile(p))
	}
	for _, r := range s.run.Settings.SLA {
		if r.Latency() && !r.Above {
			h.SLA = append(h.SLA, slaLine{r.Direction, r.Name, r.Threshold, page.Micro(r.Text)})
		}
	}
	for _, sc := range s.scopes {
		h.Scopes = append(h.Scopes, sc.dims.printable())
	}
	for _, l := range s.leaves {
		h.Leaves = append(h.Leaves, l.dims.printable())
	}
	for _, l := range s.leaves {
		h.IOs += l.total.Sum()
	}
	return h
}

const (
	// leafCells and maxRowCells limit the counts by row and column, of a leaf on average and of all. They keep the
	// page of an hour of a host small.
	leafCells   = 15_000
	maxRowCells = 1 << 20
)

// rowGrid is the grid of the rows of leafData: that of the logs, or if these are too many the next coarser one, at most
// the heat map's.
func (s *Sink) rowGrid() fiohist.Geometry {
	g, coarsest := s.run.Geometry, s.heatGrid()
	if s.coarse {
		return coarsest
	}
	sizes := make([]int, coarsest.Coarseness-g.Coarseness+1)
	var sum fiohist.Hist
	for _, l := range s.leaves {
		for k := 0; k < len(l.cols); k += s.group * s.cells {
			last := make([]int, len(sizes)) // one above
			s.addUp(&sum, []*leaf{l}, k, s.group*s.cells).Each(func(i int, _ float64) {
				for shift := range sizes {
					if r := i>>shift + 1; r != last[shift] {
						sizes[shift], last[shift] = sizes[shift]+1, r
					}
				}
			})
		}
	}
	for shift, n := range sizes {
		if n <= min(leafCells*len(s.leaves), maxRowCells) {
			return g.Coarsen(g.Coarseness + shift)
		}
	}
	return coarsest
}

// addUp adds up so many columns of leaves from k on.
func (s *Sink) addUp(h *fiohist.Hist, of []*leaf, k, columns int) *fiohist.Hist {
	h.Reset()
	for _, l := range of {
		for _, b := range l.cols[min(k, len(l.cols)):min(k+columns, len(l.cols))] {
			s.columns.addTo(b, h)
		}
	}
	return h
}

// numbersOf are the numbers of a kind or run.
type numbersOf struct {
	Head   *head              `json:"head,omitempty"`
	Scopes byField[scopeData] `json:"scopes"`
	// By are the statistics of Scopes by the page's columns, and by the finer ones if there are any.
	By     []byField[statistics] `json:"by"`
	Leaves byField[leafData]     `json:"leaves"`
	// Edges are the edges of the heat map's rows. Buckets are the logs' buckets, and Rows the leaves' rows, from
	// the first with I/Os to the last.
	Edges   []int64      `json:"edges"`
	Buckets bucketRange  `json:"buckets"`
	Rows    bucketRange  `json:"rows"`
	Kinds   []*numbersOf `json:"kinds,omitempty"`
}

// byField are rows whose JSON has the values of each field together: so they take a third less packed.
type byField[T any] []T

// MarshalJSON implements json.Marshaler. It writes fields that rows may omit, too.
func (c byField[T]) MarshalJSON() ([]byte, error) {
	fields := map[string][]any{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[name] = make([]any, len(c))
		for i := range c {
			fields[name][i] = reflect.ValueOf(&c[i]).Elem().FieldByIndex(f.Index).Interface()
		}
	}
	return json.Marshal(fields)
}

type bucketRange struct {
	From  int     `json:"from"`
	Edges []int64 `json:"edges"`
}

// pack computes the data of the page.
func (p *shared) pack(h *head) (template.HTML, error) {
	return page.Pack(func(z io.Writer) error {
		main := p.main()
		d := main.numbers(h)
		d.Head = h
		err := main.columns.err
		for i, s := range p.others() {
			d.Kinds = append(d.Kinds, s.numbers(&h.Kinds[i]))
			err = cmp.Or(err, s.columns.err)
		}
		return cmp.Or(err, json.NewEncoder(z).Encode(d))
	})
}

// numbers are those that belong to a head.
func (s *Sink) numbers(h *head) *numbersOf {
	d, rows, heat := new(numbersOf), s.rowGrid(), s.heatGrid()
	h.Finer = heat.Coarseness - rows.Coarseness
	for _, group := range slices.Compact([]int{s.group, 1}) {
		var by byField[statistics]
		for _, sc := range s.scopes {
			by = append(by, s.statistics(sc, group))
		}
		d.By = append(d.By, by)
	}
	for _, sc := range s.scopes {
		d.Scopes = append(d.Scopes, s.scopeData(sc))
	}
	for _, l := range s.leaves {
		d.Leaves = append(d.Leaves, s.leafData(l, rows))
	}
	d.Edges = edges(heat, 0, heat.Columns()+1)
	d.Buckets, d.Rows = s.reach(s.run.Geometry), s.reach(rows)
	return d
}

func edges(g fiohist.Geometry, from, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = g.Lower(from + i)
	}
	return out
}

// reach returns the buckets of a grid from the first with I/Os to the last.
func (s *Sink) reach(g fiohist.Geometry) bucketRange {
	first, last := math.MaxInt, -1
	for _, l := range s.leaves {
		l.total.Each(func(i int, _ float64) {
			i >>= g.Coarseness - s.run.Geometry.Coarseness
			first, last = min(first, i), max(last, i)
		})
	}
	if last < 0 {
		return bucketRange{Edges: []int64{}}
	}
	return bucketRange{first, edges(g, first, last+2-first)}
}

// members are the leaves of a scope value and the limits of their latencies, none if those of a leaf are unknown.
type members struct {
	leaves  []*leaf
	limits  fiohist.Limits
	unknown bool
}

// members returns the members of a scope value. The first call finds those of all scope values in one pass over the
// leaves, with one look-up for each combination of dimensions.
func (s *Sink) members(sc *scope) *members {
	if s.scopeMembers == nil {
		s.scopeMembers = map[dims]*members{}
		splits := map[[4]bool]bool{}
		for _, sc := range s.scopes {
			s.scopeMembers[sc.dims] = new(members)
			splits[sc.dims.split()] = true
		}
		for _, l := range s.leaves {
			for split := range splits {
				if m := s.scopeMembers[l.dims.at(split)]; m != nil {
					m.leaves, m.limits = append(m.leaves, l), m.limits.Widen(l.limits)
					m.unknown = m.unknown || !l.limits.Known
				}
			}
		}
		for _, m := range s.scopeMembers {
			if m.unknown {
				m.limits = fiohist.Limits{}
			}
		}
	}
	return s.scopeMembers[sc.dims]
}

func (s *Sink) scopeData(sc *scope) (d scopeData) {
	st, perSecond := s.runTotals(sc)
	d.Total = append(negateLowerBounds(&st), st.Min, st.Max, st.Mean, st.StdDev)
	d.TotalN, d.TotalRate = counts{samples(&st)}, rates{perSecond}
	return d
}

// statistics are by so many of the columns that are held.
func (s *Sink) statistics(sc *scope, group int) statistics {
	d, of, columns := newStatistics(len(s.run.Percentiles)), s.members(sc), s.grid(group).Columns
	slow := group == s.group && slices.ContainsFunc(of.leaves, s.slow)
	var sum, before fiohist.Hist
	inFlight := make([]fiohist.Hist, map[bool]int{true: columns}[slow])
	for k := range columns {
		s.addUp(&sum, of.leaves, k*group, group)
		if slow {
			s.addInFlight(inFlight, k, &sum)
		}
		st := sum.Stats(s.run.Geometry, s.run.Percentiles, of.limits)
		if low, high, ok := sum.Whole(&before); ok { // as in the rows of the run
			st.Within(s.run.Geometry, low, high, of.limits)
		}
		before.AddHist(&sum)
		d.add(&st)
		d.addLimits(&st)
		var at coverage
		for i := k * group; i < min((k+1)*group, len(sc.cols)); i++ {
			at.add(sc.cols[i])
		}
		if at.partial(s.run.Interval) {
			if d.Partial == nil {
				d.Partial = map[int]float64{}
			}
			d.Partial[k] = fio.Round(at.covered, 4)
		}
		if at.idle > 0 {
			if d.Idle == nil {
				d.Idle = map[int]int32{}
			}
			d.Idle[k] = at.idle
		}
		d.Covered, d.Logs = append(d.Covered, at.covered), append(d.Logs, at.logs)
	}
	if slow {
		d.InFlight = newStatistics(len(s.run.Percentiles))
		for k := range inFlight {
			st := inFlight[k].Stats(s.run.Geometry, s.run.Percentiles, of.limits)
			d.InFlight.add(&st)
		}
	}
	return *d
}

// slow reports whether a leaf has latencies of a tenth of a column or longer.
func (s *Sink) slow(l *leaf) (slow bool) {
	l.total.Each(func(i int, _ float64) {
		slow = slow || s.run.Geometry.Middle(i) >= float64(s.run.Interval*s.step*int64(s.group))/10
	})
	return slow
}

// addInFlight adds the I/Os that completed in column k to all columns in which they were in flight, as with --align
// inflight.
func (s *Sink) addInFlight(columns []fiohist.Hist, k int, completed *fiohist.Hist) {
	column := s.run.Interval * s.step * int64(s.group)
	edge := func(k int) int64 { return s.run.FirstInterval + int64(k)*column }
	from, to := edge(k), min(edge(k+1), max(s.sum.End, edge(k)+1))
	completed.Each(func(i int, n float64) {
		latency := s.run.Geometry.Middle(i)
		first := max(0, int((from-int64(latency)-s.run.FirstInterval)/column))
		for before := 0.0; first <= k; first++ { // what is before the first column goes into that
			upTo := 1.0
			if first < k {
				upTo = pipeline.InFlightBefore(edge(first+1), from, to, latency)
			}
			if upTo > before {
				columns[first].Add(i, n*(upTo-before))
			}
			before = upTo
		}
	})
}

// rate is the I/Os per second over the time in which a log was running.
func (s coverage) rate(st *fiohist.Stats) float64 {
	if s.covered == 0 || st.Empty() {
		return 0
	}
	return st.Samples / s.covered
}

// partial reports whether logs were running, but not for more than a hundredth of the column and at least 1 ms.
func (s coverage) partial(interval int64) bool {
	ns := float64(s.intervals) * float64(interval)
	return s.covered > 0 && 1e9*s.covered < ns-max(ns/100, 1e6)
}

// samples is 0 only if there is no I/O, because 0 breaks a line.
func samples(st *fiohist.Stats) float64 {
	if st.Empty() {
		return 0
	}
	return max(st.Samples, 0.01)
}

// negateLowerBounds returns the percentiles, with those that are lower bounds negated.
func negateLowerBounds(st *fiohist.Stats) latencies {
	out := append(latencies(nil), st.Percentiles...)
	for _, i := range st.AtLeast {
		out[i] = -out[i]
	}
	return out
}

// leafData rounds the counts of cells so that the I/Os up to any row are right in so many parts of one, not each cell.
func (s *Sink) leafData(l *leaf, g fiohist.Geometry) (d leafData) {
	unit := 100.0 // parts of an I/O
	switch {
	case s.whole && l.total.Sum() >= 250*float64(s.col):
		unit = 1
	case s.whole:
		unit = 10
	}
	shift, columns := g.Coarseness-s.run.Geometry.Coarseness, s.grid(s.group*s.cells).Columns
	rows := make([]cells, g.Columns()) // nil without I/O
	first, last := math.MaxInt, -1
	var sum fiohist.Hist
	for k := range columns {
		upTo, said := 0.0, 0.0
		s.addUp(&sum, []*leaf{l}, k*s.group*s.cells, s.group*s.cells).Each(func(i int, n float64) {
			r := i >> shift
			if rows[r] == nil {
				rows[r] = make(cells, columns)
			}
			upTo += n
			now := math.Round(upTo*unit) / unit
			rows[r][k] += now - said
			said, first, last = now, min(first, r), max(last, r)
		})
	}
	d.Rows = []cells{}
	if last >= 0 {
		d.From, d.Rows = first, rows[first:last+1]
	}
	l.total.Each(func(i int, n float64) { d.At, d.N = append(d.At, i), append(d.N, n) })
	return d
}
