package report

import (
	"cmp"
	"encoding/json"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/page"
	"fiolat/pipeline"
)

// head describes the packed data; the page has it as plain JSON.
type head struct {
	Percentiles []string `json:"percentiles"`
	// Start is in ms since 1970, null if unknown. All other times are in ms since Start.
	Start *float64 `json:"start"`
	// Columns is the number of columns, of Column ms each. The first begins at First, the last ends at End.
	// Interval is the length of a quantum, Quanta the number of quanta in a column.
	First    float64   `json:"first"`
	Column   float64   `json:"column"`
	Columns  int       `json:"columns"`
	End      float64   `json:"end"`
	Interval float64   `json:"interval"`
	Quanta   int64     `json:"quanta"`
	Logs     int       `json:"logs"`
	Kind     string    `json:"kind"`
	Part     string    `json:"part"`           // see Sink.part
	Name     string    `json:"name,omitempty"` // of the run, if there are several
	Scopes   []dims    `json:"scopes"`
	Leaves   []dims    `json:"leaves"`
	SLA      []slaLine `json:"sla"`
	// Ladder are the percentiles of the spectrum.
	Ladder []float64 `json:"ladder"`
	// Edges are the edges in ns of the heat map's rows; each has 2^Finer of the data's.
	Edges []int64 `json:"edges"`
	Finer int     `json:"finer"`
	Marks []Mark  `json:"marks,omitempty"`
	// Kinds are the heads of the other kinds or runs.
	Kinds []head `json:"kinds,omitempty"`
}

// slaLine is a rule that charts of latencies draw as a line: Measure must not be above Limit ns.
type slaLine struct {
	Direction string  `json:"direction"`
	Measure   string  `json:"measure"`
	Limit     float64 `json:"limit"`
	Text      string  `json:"text"`
}

// scopeData has the statistics of a scope value by column, in ns.
type scopeData struct {
	P    []latencies `json:"p"`  // by percentile
	CI   []limits    `json:"ci"` // parallel to P
	Min  latencies   `json:"min"`
	Max  latencies   `json:"max"`
	Mean latencies   `json:"mean"`
	N    counts      `json:"n"`
	Rate rates       `json:"rate"` // I/Os per second
	Logs []int32     `json:"logs"`
	// Partial maps the columns that the logs cover only in part to the seconds covered.
	Partial map[int]float64 `json:"partial,omitempty"`
	// Idle maps columns to the quanta in them in which logs were running and nothing completed.
	Idle map[int]int32 `json:"idle,omitempty"`
	// InFlight is missing if no latency is a tenth of a column or longer.
	InFlight *inFlightData `json:"inflight,omitempty"`
	// Total is of the whole run, in the order p..., min, max, mean, stddev.
	Total     latencies `json:"total"`
	TotalN    counts    `json:"totalN"`
	TotalRate rates     `json:"totalRate"`
	// Curve is the spectrum: the percentiles of the head's Ladder, as far as there are enough I/Os, and the 100th.
	Curve latencies `json:"curve"`
}

// inFlightData has the statistics of a scope value by column if an I/O counts where it was in flight.
type inFlightData struct {
	P    []latencies `json:"p"`
	Min  latencies   `json:"min"`
	Max  latencies   `json:"max"`
	Mean latencies   `json:"mean"`
	N    counts      `json:"n"`
}

// limits are 95 % sampling limits by column, negative where there is none.
type limits struct {
	Lower latencies `json:"lower"`
	Upper latencies `json:"upper"`
}

// leafData has the histograms of a leaf, counts by row and column with From as the first row, and its I/Os over the
// whole run, N of them in the buckets At.
type leafData struct {
	From int     `json:"from"`
	Rows []cells `json:"rows"`
	At   []int   `json:"at"`
	N    counts  `json:"n"`
}

// latencies are in whole ns, rounded to five digits, which is finer than any bucket. A negative value is a lower bound.
type latencies []float64

// MarshalJSON implements json.Marshaler.
func (l latencies) MarshalJSON() ([]byte, error) {
	return numbers(l, func(v float64) float64 { return math.Round(fio.Round(v, 5)) }), nil
}

// rates are per second, rounded to five digits.
type rates []float64

// MarshalJSON implements json.Marshaler.
func (r rates) MarshalJSON() ([]byte, error) {
	return numbers(r, func(v float64) float64 { return fio.Round(v, 5) }), nil
}

// counts are numbers of I/Os, rounded to whole ones, or below 10 to two decimals.
type counts []float64

// MarshalJSON implements json.Marshaler.
func (c counts) MarshalJSON() ([]byte, error) {
	return numbers(c, func(v float64) float64 {
		if v < 10 {
			return math.Round(v*100) / 100
		}
		return math.Round(v)
	}), nil
}

// cells are numbers of I/Os that are added up: rounded to four digits, but to two decimals at most.
type cells []float64

// MarshalJSON implements json.Marshaler.
func (c cells) MarshalJSON() ([]byte, error) {
	return numbers(c, func(v float64) float64 { return math.Round(100*fio.Round(v, 4)) / 100 }), nil
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

// head describes the data that pack packs. Times of kinds count from the start of the main one.
func (s *Sink) head() head {
	offset := int64(0)
	if s.runs == nil && s.run.StartKnown && s.main().run.StartKnown {
		offset = s.run.Start - s.main().run.Start
	}
	h := head{
		First: float64(s.run.FirstQuantum+offset) / 1e6, Column: float64(s.run.Interval*s.step) / 1e6, Columns: s.col,
		End:      float64(s.sum.End+offset) / 1e6,
		Interval: float64(s.run.Interval) / 1e6, Quanta: s.step, Logs: len(s.run.Logs), Kind: s.run.Kind.String(),
		Part: s.part(),
	}
	if s.runs != nil {
		h.Name = s.runs[slices.Index(s.kinds, s)]
	}
	if s.run.StartKnown {
		h.Start = new(float64(s.run.Start-offset) / 1e6)
	}
	for _, p := range s.run.Percentiles {
		h.Percentiles = append(h.Percentiles, fio.Percentile(p))
	}
	for _, r := range s.run.Settings.SLA {
		if r.Latency() && !r.Above {
			h.SLA = append(h.SLA, slaLine{r.Direction, r.Name, r.Threshold, r.Text})
		}
	}
	for _, sc := range s.scopes {
		h.Scopes = append(h.Scopes, sc.dims)
	}
	for _, l := range s.leaves {
		h.Leaves = append(h.Leaves, l.dims)
	}
	all := 0.0
	for _, l := range s.leaves {
		all += l.total.Sum()
	}
	h.Ladder = ladder(all)
	g := s.heatGrid()
	for i := 0; i <= g.Columns(); i++ {
		h.Edges = append(h.Edges, g.Lower(i))
	}
	h.Finer = g.Coarseness - s.rowGrid().Coarseness
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
	for _, l := range s.leaves {
		for _, b := range l.cols {
			at, _ := s.columns.load(b)
			for shift := range sizes {
				last := -1
				for _, i := range at {
					if r := int(i) >> shift; r != last {
						sizes[shift], last = sizes[shift]+1, r
					}
				}
			}
		}
	}
	for shift, n := range sizes {
		if n <= min(leafCells*len(s.leaves), maxRowCells) {
			return g.Coarsen(g.Coarseness + shift)
		}
	}
	return coarsest
}

// pack computes the data of the page.
func (p *shared) pack() (template.HTML, error) {
	return page.Pack(func(z io.Writer) error {
		if err := p.main().encode(z); err != nil {
			return err
		}
		end := "}"
		for i, s := range p.others() {
			z.Write([]byte(map[bool]string{true: `,"kinds":[`, false: `},`}[i == 0])) //nolint:errcheck // to a buffer
			if err := s.encode(z); err != nil {
				return err
			}
			end = "}]}"
		}
		_, err := io.WriteString(z, end)
		return err
	})
}

// encode writes an object without its closing brace, so that pack can add to it.
func (s *Sink) encode(z io.Writer) error {
	enc := json.NewEncoder(z)
	z.Write([]byte(`{"scopes":[`)) //nolint:errcheck // to a buffer
	for i, sc := range s.scopes {
		if i > 0 {
			z.Write([]byte{','}) //nolint:errcheck // to a buffer
		}
		if err := enc.Encode(s.scopeData(sc)); err != nil {
			return err
		}
	}
	z.Write([]byte(`],"leaves":[`)) //nolint:errcheck // to a buffer
	rows := s.rowGrid()
	for i, l := range s.leaves {
		if i > 0 {
			z.Write([]byte{','}) //nolint:errcheck // to a buffer
		}
		if err := enc.Encode(s.leafData(l, rows)); err != nil {
			return err
		}
	}
	z.Write([]byte(`],"buckets":`)) //nolint:errcheck // to a buffer
	if err := enc.Encode(s.buckets(s.run.Geometry)); err != nil {
		return err
	}
	z.Write([]byte(`,"rows":`)) //nolint:errcheck // to a buffer
	return cmp.Or(s.columns.err, enc.Encode(s.buckets(rows)))
}

// buckets has the edges in ns of the buckets of a grid from the first with I/Os, From, to the last.
type buckets struct {
	From  int     `json:"from"`
	Edges []int64 `json:"edges"`
}

func (s *Sink) buckets(g fiohist.Geometry) buckets {
	first, last := math.MaxInt, -1
	for _, l := range s.leaves {
		l.total.Each(func(i int, _ float64) {
			i >>= g.Coarseness - s.run.Geometry.Coarseness
			first, last = min(first, i), max(last, i)
		})
	}
	b := buckets{From: first, Edges: []int64{}}
	if last < 0 {
		b.From = 0
		return b
	}
	for i := first; i <= last+1; i++ {
		b.Edges = append(b.Edges, g.Lower(i))
	}
	return b
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

func (s *Sink) scopeData(sc *scope) scopeData {
	of := s.members(sc)
	d := scopeData{P: make([]latencies, len(s.run.Percentiles)), CI: make([]limits, len(s.run.Percentiles))}
	slow := slices.ContainsFunc(of.leaves, s.slow)
	inFlight := make([]fiohist.Hist, s.col)
	for k := range s.col {
		var sum fiohist.Hist
		for _, l := range of.leaves {
			if k < len(l.cols) {
				s.columns.addTo(l.cols[k], &sum)
			}
		}
		if slow {
			s.addInFlight(inFlight, k, &sum)
		}
		st := sum.Stats(s.run.Geometry, s.run.Percentiles, of.limits)
		for i, v := range negateLowerBounds(&st) {
			d.P[i] = append(d.P[i], v)
			d.CI[i].Lower, d.CI[i].Upper = append(d.CI[i].Lower, st.Lower[i]), append(d.CI[i].Upper, st.Upper[i])
		}
		d.Min, d.Max, d.Mean = append(d.Min, st.Min), append(d.Max, st.Max), append(d.Mean, st.Mean)
		var at coverage
		if k < len(sc.cols) {
			at = sc.cols[k]
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
		d.N, d.Rate, d.Logs = append(d.N, samples(&st)), append(d.Rate, at.rate(&st)), append(d.Logs, at.logs)
	}
	if slow {
		d.InFlight = &inFlightData{P: make([]latencies, len(s.run.Percentiles))}
		for k := range inFlight {
			st := inFlight[k].Stats(s.run.Geometry, s.run.Percentiles, of.limits)
			for i, v := range negateLowerBounds(&st) {
				d.InFlight.P[i] = append(d.InFlight.P[i], v)
			}
			d.InFlight.Min, d.InFlight.Max = append(d.InFlight.Min, st.Min), append(d.InFlight.Max, st.Max)
			d.InFlight.Mean, d.InFlight.N = append(d.InFlight.Mean, st.Mean), append(d.InFlight.N, samples(&st))
		}
	}
	total, st, perSecond := s.runTotals(sc)
	d.Total = append(negateLowerBounds(&st), st.Min, st.Max, st.Mean, st.StdDev)
	d.TotalN, d.TotalRate = counts{samples(&st)}, rates{perSecond}
	curve := total.Stats(s.run.Geometry, append(ladder(st.Samples), 100), of.limits)
	d.Curve = negateLowerBounds(&curve)
	return d
}

// slow reports whether a leaf has latencies of a tenth of a column or longer.
func (s *Sink) slow(l *leaf) (slow bool) {
	l.total.Each(func(i int, _ float64) {
		slow = slow || s.run.Geometry.Middle(i) >= float64(s.run.Interval*s.step)/10
	})
	return slow
}

// addInFlight adds the I/Os that completed in column k to all columns in which they were in flight, as with --align
// inflight.
func (s *Sink) addInFlight(columns []fiohist.Hist, k int, completed *fiohist.Hist) {
	edge := func(k int) int64 { return s.run.FirstQuantum + int64(k)*s.run.Interval*s.step }
	from, to := edge(k), min(edge(k+1), max(s.sum.End, edge(k)+1))
	completed.Each(func(i int, n float64) {
		latency := s.run.Geometry.Middle(i)
		first := max(0, int((from-int64(latency)-s.run.FirstQuantum)/(s.run.Interval*s.step)))
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
	ns := float64(s.quanta) * float64(interval)
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

// ladder returns the percentiles of the spectrum of n I/Os, all below 100. As in HdrHistogram ("percentile ticks per
// half distance"), each ten steps halve the share above, until it is less than one I/O. The ladder of fewer I/Os is a
// prefix of that of more.
func ladder(n float64) []float64 {
	const perHalf = 10
	out := []float64{0}
	for half := 1.0; half < n; half *= 2 {
		for tick := 1; tick <= perHalf; tick++ {
			left := (1 - float64(tick)/(2*perHalf)) / half // of 1
			if left*n < 1 {
				break
			}
			out = append(out, 100*(1-left))
		}
	}
	return out
}

func (s *Sink) leafData(l *leaf, g fiohist.Geometry) leafData {
	shift := g.Coarseness - s.run.Geometry.Coarseness
	rows := map[int]cells{}
	first, last := math.MaxInt, 0
	for k, b := range l.cols {
		buckets, n := s.columns.load(b)
		for i, at := range buckets {
			r := int(at) >> shift
			if rows[r] == nil {
				rows[r] = make(cells, s.col)
			}
			rows[r][k] += n[i]
			first, last = min(first, r), max(last, r)
		}
	}
	var d leafData
	for r := first; r <= last; r++ {
		d.From = first
		d.Rows = append(d.Rows, rows[r]) // a row without I/O is [], not zeros
	}
	l.total.Each(func(i int, n float64) { d.At, d.N = append(d.At, i), append(d.N, n) })
	return d
}
