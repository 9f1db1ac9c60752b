package curve

import (
	"encoding/json"
	"strings"
	"testing"

	"fiolat/analysis/figures"
	"fiolat/report/charts"
)

// TestPageEscapes puts markup where names from files go.
func TestPageEscapes(t *testing.T) {
	const evil = `"><script>alert(1)</script>`
	var rows []figures.Row
	for depth := 1; depth < 9; depth *= 2 {
		r := run("r", depth, 1000*float64(depth), 1e5*float64(depth))
		r.Run += r.Options["iodepth"]
		r.Options["size"] = evil
		r.Options["bs"] = evil + r.Options["iodepth"]
		rows = append(rows, r)
	}
	c, err := Make(rows, "read", []float64{50, 99}, rule(t, "read p99 < 250us"))
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	p := Page{Title: evil, Curve: c, Percentiles: []float64{50, 99}, Generator: "fiolat"}
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
	checkSpec(t, &p)
}

// checkSpec compares the rows that the charts draw with the curve.
func checkSpec(t *testing.T, p *Page) {
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
			if row["x"] != q.IOPS || row["v"] != q.Percentiles[row["p"].(string)[1:]] || row["bend"] != q.Bend {
				t.Errorf("%v is drawn of %+v", row, q)
			}
		}
	}
}
