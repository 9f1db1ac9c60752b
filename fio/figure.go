package fio

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Quantity is what the number of a figure counts.
type Quantity string

// The quantities of figures.
const (
	Nanoseconds  Quantity = "ns"
	PerSecond    Quantity = "1/s"
	MiBPerSecond Quantity = "MiB/s"
	Seconds      Quantity = "s"
	IOs          Quantity = "I/Os"
	Share        Quantity = "%" // its number is 1 for 100 %
	Ratio        Quantity = ""
)

// Better says which direction of change is an improvement.
type Better int

// The directions of improvement.
const (
	Neither Better = 0
	Higher  Better = 1
	Lower   Better = -1
)

// Place is where a user may ask for a figure. Places are added up.
type Place int

// The places of figures.
const (
	OfRun        Place = 1 << iota // summary, runs, curve: --where, --sort, --at
	OfSLA                          // rules of an SLA
	OfComparison                   // compare: rows, --fail-if
	OfHistory                      // history --metric
	OfInterval                     // percentiles --wide

	OfAnywhere Place = -1
)

// Figure declares a figure of a set of I/Os. Percentiles are figures, too, and have no declaration each.
type Figure struct {
	Name   string
	Unit   Quantity
	Better Better
	// In are the places where it may be asked for.
	In Place
	// Field is its name in the summary of a run's document; "" if it is not stored, as it follows from others.
	Field string
	// Needs are the percentiles that it comes from, of a percentile itself.
	Needs []float64

	of func(v *Values) float64
}

// figures is the only list of figures. Users see their names in this order.
var figures = []Figure{
	{Name: "min", Unit: Nanoseconds, Better: Lower, In: OfRun | OfInterval, Field: "min",
		of: func(v *Values) float64 { return v.Min }},
	{Name: "mean", Unit: Nanoseconds, Better: Lower, In: OfRun | OfSLA | OfComparison | OfHistory | OfInterval,
		Field: "mean", of: func(v *Values) float64 { return v.Mean }},
	{Name: "max", Unit: Nanoseconds, Better: Lower, In: OfRun | OfSLA | OfInterval, Field: "max",
		of: func(v *Values) float64 { return v.Max }},
	{Name: "stddev", Unit: Nanoseconds, Better: Lower, In: OfInterval, Field: "stddev",
		of: func(v *Values) float64 { return v.StdDev }},
	{Name: "iops", Unit: PerSecond, Better: Higher, In: OfRun | OfSLA | OfComparison | OfHistory | OfInterval,
		Field: "iops", of: func(v *Values) float64 { return v.IOPS }},
	{Name: "mib", Unit: MiBPerSecond, Better: Higher, In: OfRun,
		of: func(v *Values) float64 { return v.BytesPerSecond / (1 << 20) }},
	{Name: "concurrency", In: OfRun | OfInterval, of: func(v *Values) float64 { return v.Concurrency }},
	{Name: "samples", Unit: IOs, In: OfRun | OfInterval, Field: "samples",
		of: func(v *Values) float64 { return v.Samples }},
	{Name: "seconds", Unit: Seconds, In: OfRun, of: func(v *Values) float64 { return v.Seconds }},
	{Name: Histogram, Unit: Share, In: OfHistory}, // all of it, which is no number
}

// Histogram is the name of the figure that is a whole histogram, for which a change is a distance.
const Histogram = "histogram"

// Values are what figures of a set of I/Os come from. NaN is unknown.
type Values struct {
	Samples, Seconds, IOPS, BytesPerSecond, Concurrency, Min, Mean, Max, StdDev float64
	// Percentile returns a percentile in ns.
	Percentile func(p float64) float64
}

// Figures returns the figures that may be asked for in one of some places.
func Figures(in Place) (out []Figure) {
	for _, f := range figures {
		if f.In&in != 0 {
			out = append(out, f)
		}
	}
	return out
}

// FigureNames returns the names of Figures.
func FigureNames(in Place) (names []string) {
	for _, f := range Figures(in) {
		names = append(names, f.Name)
	}
	return names
}

// FigureOf returns the figure that a metric names.
func FigureOf(name string) Figure {
	if i := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == name }); i >= 0 {
		return figures[i]
	}
	p, _ := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64)
	return Figure{Name: name, Unit: Nanoseconds, Better: Lower,
		In:    OfRun | OfSLA | OfComparison | OfHistory | OfInterval,
		Needs: []float64{p}, of: func(v *Values) float64 { return v.Percentile(p) }}
}

// Of returns the figure of a set of I/Os, and whether it is known.
func (f Figure) Of(v *Values) (float64, bool) {
	if f.of == nil {
		return math.NaN(), false
	}
	of := f.of(v)
	return of, !math.IsNaN(of)
}
