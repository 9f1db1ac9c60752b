package esmodel

import (
	"io"
	"slices"
	"strings"
	"testing"

	"fiolat/esmodel/esmodeltest"
	"fiolat/internal/parquetfile"
	"fiolat/pipeline"
)

// Each field of the table of fields has a column of its type, or is in a column of JSON.
func TestTableColumns(t *testing.T) {
	run := &pipeline.Run{Labels: map[string]string{"K": "V"}}
	run.Percentiles = []float64{12.5}
	for _, kind := range []Kind{KindRun, KindHistogram, KindPercentiles, KindEvent} {
		table, err := NewTable(io.Discard, kind, run)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range esmodeltest.Fields {
			if !slices.Contains(f.Kinds, string(kind)) {
				continue
			}
			stem, pattern := strings.CutSuffix(f.Name, "*")
			found := false
			for name, c := range table.columns {
				switch {
				case c.t == parquetfile.JSON:
					found = found || name == strings.TrimSuffix(stem, ".") || strings.HasPrefix(f.Name, name+".")
				case name == f.Name, pattern && strings.HasPrefix(name, stem),
					strings.HasPrefix(name, f.Name+".") && f.Type == "histogram":
					found = true
					want, typed := columnTypes[f.Type]
					if typed && c.t != want && !strings.HasPrefix(f.Name, "latency.p") {
						t.Errorf("%s: %s has type %v, want %v", kind, name, c.t, want)
					}
				}
			}
			if !found {
				t.Errorf("%s: no column for %s", kind, f.Name)
			}
		}
		if _, ok := table.columns["latency.ci.p12_5.lower"]; ok != (kind == KindPercentiles) {
			t.Errorf("%s: latency.ci.p12_5.lower: %v", kind, ok)
		}
	}
}
