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
