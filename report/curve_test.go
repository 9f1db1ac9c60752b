package report

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"fiolat/analysis/curve"
	"fiolat/analysis/figures"
	"fiolat/fio"
	"fiolat/report/charts"
)

// TestCurveEscapes puts markup where names from files go.
func TestCurveEscapes(t *testing.T) {
	const evil = `"><script>alert(1)</script>`
	var rows []figures.Row
	for depth := 1; depth < 9; depth *= 2 {
		n := strconv.Itoa(depth)
		iops := 1000 * float64(depth)
		rows = append(rows, figures.Row{Run: "r" + n, Direction: "read", Samples: 10 * iops, IOPS: &iops,
			Percentiles: map[string]float64{"99": 1e5 * float64(depth)},
			Options:     map[string]string{"iodepth": n, "size": evil, "bs": evil + n}})
	}
	rule, err := fio.ParseRule("read p99 < 250us")
	if err != nil {
		t.Fatal(err)
	}
	c, err := curve.Make(rows, "read", []float64{50, 99}, &rule)
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	p := Curve{Title: evil, Curve: c, Percentiles: []float64{50, 99}, Generator: "fiolat"}
	if err := p.Write(&page); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if strings.Contains(text, "<script>alert") || !strings.Contains(text, "&lt;script&gt;") {
		t.Error("markup of a name is markup of the page")
	}
	if strings.Contains(text, "ZgotmplZ") {
		t.Error("something could not be written")
	}
	checkCurveSpec(t, &p)
}

// TestCurveLabels: points that are too close to each other share a label.
func TestCurveLabels(t *testing.T) {
	at := func(depth string, iops, p99 float64) curve.Point {
		return curve.Point{IOPS: iops, Percentiles: map[string]float64{"99": p99},
			Options: map[string]string{"iodepth": depth}}
	}
	p := Curve{Percentiles: []float64{99}, Curve: &curve.Curve{Load: []string{"iodepth"}, Points: []curve.Point{
		at("1", 100, 1e6), at("2", 150, 1e6), at("4", 9900, 1e6), at("8", 10_000, 1.1e6), at("16", 9950, 9e6)}}}
	got := fmt.Sprint(p.labels(&curve.Series{Points: []int{0, 1, 2, 3, 4}}))
	if want := "[{{150 1e+06} 1 and 2} {{10000 1.1e+06} 4 and 8} {{9950 9e+06} 16}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// checkCurveSpec compares the rows that the charts draw with the curve.
func checkCurveSpec(t *testing.T, p *Curve) {
	t.Helper()
	for i := range p.Curve.Series {
		s := &p.Curve.Series[i]
		spec := p.spec(s)
		if _, err := json.Marshal(spec); err != nil {
			t.Error(err)
		}
		rows := spec.Data.(charts.M)["values"].([]charts.M)
		if len(rows) != len(s.Points) { // the runs have p99 alone
			t.Errorf("%d rows of %d points", len(rows), len(s.Points))
		}
		for _, row := range rows {
			q := &p.Curve.Points[s.Points[row["order"].(int)]]
			if row["x"] != q.IOPS || row["v"] != q.Percentiles[row["p"].(string)[1:]] || row["knee"] != q.Knee {
				t.Errorf("%v is drawn of %+v", row, q)
			}
		}
	}
}

// TestCurveLabelsOfTwo: two points share a label if less than a fiftieth of the IOPS and a factor of 2 are between
// them.
func TestCurveLabelsOfTwo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		iops, p99 [2]float64
		want      string
	}{
		"apart":                {[2]float64{1000, 2000}, [2]float64{1e6, 1e6}, "1:1000000 2:1000000"},
		"together":             {[2]float64{1990, 2000}, [2]float64{1e6, 1.9e6}, "1 and 2:1900000"},
		"together, falling":    {[2]float64{1990, 2000}, [2]float64{1.9e6, 1e6}, "1 and 2:1900000"},
		"one above another":    {[2]float64{1990, 2000}, [2]float64{1e6, 2.1e6}, "1:1000000 2:2100000"},
		"one far below":        {[2]float64{1990, 2000}, [2]float64{4e6, 1e6}, "1:4000000 2:1000000"},
		"one without latency":  {[2]float64{1000, 2000}, [2]float64{0, 1e6}, "2:1000000"},
		"a fiftieth of 2000":   {[2]float64{1960, 2000}, [2]float64{1e6, 1e6}, "1:1000000 2:1000000"},
		"less than a fiftieth": {[2]float64{1961, 2000}, [2]float64{1e6, 1e6}, "1 and 2:1000000"},
	} {
		p := &Curve{Percentiles: []float64{99}, Curve: &curve.Curve{Load: []string{"iodepth"}}}
		for i := range tt.iops {
			p.Curve.Points = append(p.Curve.Points, curve.Point{IOPS: tt.iops[i], Options: map[string]string{
				"iodepth": strconv.Itoa(i + 1)}, Percentiles: map[string]float64{"99": tt.p99[i]}})
		}
		var got []string
		for _, l := range p.labels(&curve.Series{Points: []int{0, 1}}) {
			got = append(got, fmt.Sprintf("%s:%.0f", l.Words, l.At.Y))
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s: %s, want %s", name, text, tt.want)
		}
	}
}

// TestSteps: a line holds for its column and ends where nothing completed, and beside columns that are partly covered.
// Latencies below 1 ns stand at 1 ns, as an axis of logarithms has no 0.
func TestSteps(t *testing.T) {
	t.Parallel()
	p := &shown{head: head{grid: grid{Column: 10}, End: 40, Interval: 10}}
	for _, tt := range []struct {
		n       counts
		partial map[int]float64
		values  []float64
		want    string
	}{
		{counts{1, 1}, nil, []float64{5, 7}, "0:5 10:5 10:7 20:7 20:NaN"},
		{counts{1, 0, 1}, nil, []float64{5, 0, 7}, "0:5 10:5 10:NaN 20:7 30:7 30:NaN"},
		{counts{1, 1}, map[int]float64{1: 3}, []float64{5, 7}, "0:5 10:5 10:NaN 10:7 20:7 20:NaN"},
		{counts{1}, nil, []float64{0.2}, "0:1 10:1 10:NaN"},
		{counts{1}, nil, []float64{-9}, "0:9 10:9 10:NaN"},
		{counts{0}, nil, []float64{5}, ""},
	} {
		var got []string
		for _, q := range p.steps(tt.values, &statistics{N: tt.n, Partial: tt.partial}) {
			got = append(got, fmt.Sprintf("%g:%g", q.X, q.Y))
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%v of %v: %s, want %s", tt.values, tt.n, text, tt.want)
		}
	}
}
