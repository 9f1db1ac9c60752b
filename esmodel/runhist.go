package esmodel

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// Noise is the uncertainty of a run's numbers, estimated from the noise within the run. By direction and metric
// (p50, p99.9, mean, iops) it holds the factor, 1 or more, by which the number may be too small or too large,
// with 95 % confidence.
type Noise map[string]map[string]float64

// RunHistogram holds all I/Os of one direction of a run, as stored in the run's document.
type RunHistogram struct {
	// Index lists the buckets that are not empty, ascending, and Count their weights.
	Index []uint16 `json:"index"`
	Count []number `json:"count"`
	// Min and Max are the smallest and largest latency, in ns, that fio measured; nil if unknown.
	Min *int64 `json:"min,omitempty"`
	Max *int64 `json:"max,omitempty"`
	// Limits are the 95 % limits by the noise within the run, for p50, p99_9, mean, iops.
	Limits map[string]Range `json:"limits,omitempty"`
}

// Range is an interval from Low to High, in ns or 1/s.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// NewRunHistogram returns the histogram of a row of the whole run, on the run's grid. noise is its direction's noise;
// percentiles have the limits of the row's Blocks instead, if it has them. For the row of an interval it returns nil.
func NewRunHistogram(r *pipeline.Row, g fiohist.Geometry, noise map[string]float64) *RunHistogram {
	if r.Hist == nil {
		return nil
	}
	w := &RunHistogram{Index: []uint16{}, Count: []number{}}
	r.Hist.Each(func(i int, n float64) {
		w.Index, w.Count = append(w.Index, uint16(i)), append(w.Count, number(n))
	})
	if r.Limits.Known {
		w.Min, w.Max = &r.Limits.Min, &r.Limits.Max
	}
	if len(noise) == 0 || r.Stats.Empty() {
		return w
	}
	var percentiles []float64
	for metric := range noise {
		if p, err := strconv.ParseFloat(strings.TrimPrefix(metric, "p"), 64); err == nil {
			percentiles = append(percentiles, p)
		}
	}
	slices.Sort(percentiles)
	var ranks fiohist.Ranks
	ranks.Read(r.Hist, g)
	stats := ranks.Stats(percentiles, r.Limits)
	if r.Blocks != nil {
		ranks.Widen(&stats, percentiles, r.Blocks)
	}
	w.Limits = map[string]Range{}
	limit := func(name, metric string, value float64) {
		if factor, ok := noise[metric]; ok && value > 0 && value*factor <= math.MaxFloat64 {
			w.Limits[name] = Range{value / factor, value * factor}
		}
	}
	for i, p := range percentiles {
		switch low, high := stats.Lower[i], stats.Upper[i]; {
		case r.Blocks == nil:
			limit(PercentileName(p), "p"+strconv.FormatFloat(p, 'f', -1, 64), stats.Percentiles[i])
		case low != fiohist.NoLimit && high != fiohist.NoLimit:
			w.Limits[PercentileName(p)] = Range{low, high}
		}
	}
	values := stats.Values(nil)
	if r.IOPSKnown {
		values.IOPS = r.IOPS
	}
	for _, f := range fio.Figures(fio.OfComparison) {
		if v, known := f.Of(&values); known {
			limit(f.Field, f.Name, v)
		}
	}
	return w
}

// ReadRunHistograms reads the grid and the histograms by direction from the document of a run. Documents of an
// older fiolat have no histograms.
func ReadRunHistograms(source []byte) (fiohist.Geometry, map[string]*RunHistogram, error) {
	var doc struct {
		Latency    bucketsField
		Histograms map[string]*RunHistogram `json:"whole"`
	}
	if err := Decode(source, &doc); err != nil {
		return fiohist.Geometry{}, nil, err
	}
	g := doc.Latency.Buckets
	if known, err := fiohist.GeometryOf(g.Columns()); doc.Histograms != nil && (err != nil || known != g) {
		return g, nil, fmt.Errorf("invalid histogram grid: %+v", g)
	}
	return g, doc.Histograms, nil
}

// Hist returns the histogram on a grid, with fio's limits.
func (w *RunHistogram) Hist(g fiohist.Geometry) (*fiohist.Hist, fiohist.Limits, error) {
	var h fiohist.Hist
	var limits fiohist.Limits
	if len(w.Index) != len(w.Count) {
		return nil, limits, fmt.Errorf("%d buckets have %d counts", len(w.Index), len(w.Count))
	}
	for i, n := range w.Index {
		if int(n) > g.Last() || i > 0 && n <= w.Index[i-1] || !(w.Count[i] >= 0) {
			return nil, limits, fmt.Errorf("bucket %d cannot hold %v", n, float64(w.Count[i]))
		}
		h.Add(int(n), float64(w.Count[i]))
	}
	if w.Min != nil && w.Max != nil {
		if *w.Min > *w.Max {
			return nil, limits, errors.New("its smallest latency is above the largest")
		}
		limits = fiohist.Limits{Min: *w.Min, Max: *w.Max, Known: true}
	}
	return h.Pack(), limits, nil
}
