package fio

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

// TestFigures is the table as users meet it: each figure, its unit, what is better, and where it may be asked for.
func TestFigures(t *testing.T) {
	var got strings.Builder
	for _, f := range Figures(OfAnywhere) {
		fmt.Fprintln(&got, f.Name, f.Unit, f.Better, placeNames(f.In), f.Field)
	}
	const want = `min ns -1 run,interval min
mean ns -1 run,sla,comparison,history,interval mean
max ns -1 run,sla,interval max
stddev ns -1 interval stddev
iops 1/s 1 run,sla,comparison,history,interval iops
mib MiB/s 1 run 
concurrency  0 run,interval 
samples I/Os 0 run,interval samples
seconds s 0 run 
histogram % 0 history 
`
	if got.String() != want {
		t.Errorf("figures are\n%swant\n%s", got.String(), want)
	}
}

func placeNames(in Place) string {
	var out []string
	for i, name := range []string{"run", "sla", "comparison", "history", "interval"} {
		if in&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return strings.Join(out, ",")
}

// TestFigureOfValues: each figure is known if its value is, and each value is of a figure.
func TestFigureOfValues(t *testing.T) {
	fields := reflect.TypeFor[Values]()
	used := map[string]bool{}
	for i := range fields.NumField() {
		v := Values{Percentile: func(float64) float64 { return math.NaN() }}
		set := reflect.ValueOf(&v).Elem()
		for k := range fields.NumField() {
			if set.Field(k).Kind() == reflect.Float64 {
				set.Field(k).SetFloat(math.NaN())
			}
		}
		name := fields.Field(i).Name
		if name == "Percentile" {
			v.Percentile = func(p float64) float64 { return p }
		} else {
			set.Field(i).SetFloat(3 << 20)
		}
		for _, f := range append(Figures(OfAnywhere), FigureOf("p99.9")) {
			if _, known := f.Of(&v); known {
				used[name] = true
				if strings.EqualFold(name, f.Name) == (name == "BytesPerSecond" || name == "Percentile") {
					t.Errorf("%s comes from %s", f.Name, name)
				}
			}
		}
		if !used[name] {
			t.Errorf("no figure comes from %s", name)
		}
	}
}
