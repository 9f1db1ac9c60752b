package render

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"fiolat/fio"
)

// held is a row of a table until it is printed.
type held struct {
	scope   string
	dims    fio.Dims
	offset  int64
	samples float64
	cells   []Cell
}

// who is what a row is about.
type who struct {
	scope string
	dims  fio.Dims
}

// sumsLast returns the rows of each time with sums behind what they add up, and without those that add up one row only.
func sumsLast(rows []held, by []string) []held {
	samples := map[who]map[int64]float64{}
	for _, r := range rows {
		of := who{r.scope, r.dims}
		if samples[of] == nil {
			samples[of] = map[int64]float64{}
		}
		samples[of][r.offset] = r.samples
	}
	twice := map[who]bool{}
	for part := range samples {
		for _, sum := range sumsOf(part.dims, by) {
			if of, ok := samples[sum]; ok && sum.scope != part.scope && same(of, samples[part]) {
				twice[sum] = true
			}
		}
	}
	rows = slices.DeleteFunc(rows, func(r held) bool { return twice[who{r.scope, r.dims}] })
	slices.SortStableFunc(rows, func(a, b held) int {
		order := cmp.Compare(a.offset, b.offset)
		for _, dim := range by {
			order = cmp.Or(order, compareValues(dim, a.dims.Of(dim), b.dims.Of(dim)))
		}
		return order
	})
	return rows
}

// sumsOf returns what could add up rows of some dimensions: all choices of these.
func sumsOf(dims fio.Dims, by []string) (sums []who) {
	for choice := range 1 << len(by) {
		var of fio.Dims
		var names []string
		for i, dim := range by {
			if choice>>i&1 == 1 && dims.Of(dim) != "" {
				of.Set(dim, dims.Of(dim))
				names = append(names, dim)
			}
		}
		sums = append(sums, who{cmp.Or(strings.Join(names, "+"), fio.RunScope), of})
	}
	return sums
}

// same reports whether all I/Os of a sum are those of a part.
func same(sum, part map[int64]float64) bool {
	for offset, n := range sum {
		if math.Abs(n-part[offset]) > 1e-9*n {
			return false
		}
	}
	return true
}

// compareValues orders the values of a dimension, a sum last.
func compareValues(dim, a, b string) int {
	switch {
	case a == "" || b == "":
		return strings.Compare(b, a)
	case dim == fio.ByDirection:
		return slices.Index(fio.RowDirections(), a) - slices.Index(fio.RowDirections(), b)
	}
	return fio.Natural(a, b)
}
