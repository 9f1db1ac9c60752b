package picture

import (
	"math"
	"slices"
)

// Axis is a horizontal or vertical scale.
type Axis struct {
	Min, Max float64
	Log      bool
	Title    string // below a horizontal one
	Ticks    []Tick
}

// Tick is a value with its text.
type Tick struct {
	At   float64
	Text string
}

// same reports whether two panels can share what is below them.
func (a *Axis) same(o *Axis) bool {
	return a.Min == o.Min && a.Max == o.Max && a.Log == o.Log && a.Title == o.Title && slices.Equal(a.Ticks, o.Ticks)
}

// share is the place of a value on the axis, from 0 to 1.
func (a *Axis) share(v float64) float64 {
	lo, hi := a.Min, a.Max
	if a.Log {
		lo, hi, v = math.Log(lo), math.Log(hi), math.Log(max(v, 1e-300))
	}
	return max(0, min((v-lo)/(hi-lo), 1))
}

// Around is an axis of logarithms around values, with some air, and its ticks.
func Around(values []float64, text func(float64) string) Axis {
	a := Axis{Min: 1e3, Max: 1e6, Log: true}
	if len(values) > 0 {
		lo, hi := slices.Min(values), slices.Max(values)
		air := max(math.Pow(hi/lo, 0.04), 1.08)
		a.Min, a.Max = lo/air, hi*air
	}
	a.label(text)
	return a
}

// label puts round values on an axis of logarithms, those of the page.
func (a *Axis) label(text func(float64) string) {
	add := func(v float64) {
		if v >= a.Min*0.999 && v <= a.Max*1.001 {
			a.Ticks = append(a.Ticks, Tick{v, text(v)})
		}
	}
	steps, decades := []float64{1}, math.Log10(a.Max/a.Min)
	if decades <= 1.2 {
		steps = []float64{1, 2, 3, 4, 5, 6, 8}
	} else if decades <= 3.2 {
		steps = []float64{1, 2, 5}
	}
	for d := math.Floor(math.Log10(a.Min)); d <= math.Log10(a.Max); d++ {
		for _, m := range steps {
			add(m * math.Pow(10, d))
		}
	}
	if len(a.Ticks) > 2 {
		return
	}
	a.Ticks = nil
	for _, v := range even(a.Min, a.Max, 5) {
		add(v)
	}
}

// even returns round values at even distances, about n of them.
func even(from, to float64, n int) (at []float64) {
	rough := (to - from) / float64(n)
	step := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*step >= rough {
			step *= m
			break
		}
	}
	for i := math.Ceil(from / step); i*step <= to; i++ {
		at = append(at, i*step)
	}
	return at
}

// FromZero is an axis from 0 to beyond a value.
func FromZero(most float64, n int, text func(float64) string) Axis {
	a := Axis{Max: 1.04 * max(most, 1e-9)}
	for _, v := range even(0, a.Max, n) {
		a.Ticks = append(a.Ticks, Tick{v, text(v)})
	}
	return a
}

// timeSteps are the distances of ticks over time, in ms.
var timeSteps = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5,
	18e5, 36e5, 72e5, 108e5, 216e5, 432e5, 864e5, 1728e5, 6048e5}

// Times is an axis over time in ms. Ticks are round at zero and at a step from it.
func Times(from, to, zero float64, text func(float64) string) Axis {
	a := Axis{Min: from, Max: to}
	step := timeSteps[len(timeSteps)-1]
	for _, s := range timeSteps {
		if (to-from)/s <= (width-100)/95 {
			step = s
			break
		}
	}
	for t := math.Ceil((from+zero)/step)*step - zero; t <= to; t += step {
		a.Ticks = append(a.Ticks, Tick{t, text(t)})
	}
	return a
}
