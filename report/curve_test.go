package report

import (
	"encoding/json"
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
