//go:build integration

package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"fiolat/kibana/kibanatest"
)

// The model of HDR answers as Elasticsearch does, which has it for numbers also without the histogram type.
func testHDR(t *testing.T, s *stored) {
	index := "/" + s.prefix + "-hdr"
	s.ask(t, "PUT", index, m{"mappings": m{"properties": m{"v": m{"type": "double"}}}})
	r := rand.New(rand.NewPCG(3, 1))
	models := map[int]*kibanatest.HDR{2: kibanatest.NewHDR(2), 3: kibanatest.NewHDR(3)}
	var bulk bytes.Buffer
	for range 2000 {
		v := math.Exp(r.Float64()*18 + 2) // 7 ns to 0.5 s
		fmt.Fprintf(&bulk, "{\"index\":{}}\n{\"v\":%v}\n", v)
		for _, h := range models {
			h.Add(v, 1)
		}
	}
	if answer := s.ask(t, "POST", index+"/_bulk?refresh=true", bulk.Bytes()); answer["errors"] != false {
		t.Fatal(answer)
	}
	percents := []float64{0.1, 1, 5, 50, 90, 95, 99, 99.9, 99.99, 100}
	for digits, h := range models {
		answer := s.ask(t, "POST", index+"/_search?size=0", m{"aggs": m{"p": m{"percentiles": m{
			"field": "v", "percents": percents, "keyed": false,
			"hdr": m{"number_of_significant_value_digits": digits}}}}})
		for i, e := range list(answer, "aggregations", "p", "values") {
			if want, _ := h.Percentile(percents[i]); !near(at(e, "value"), want) {
				t.Errorf("%d digits: p%v is %v, the model says %v", digits, percents[i], at(e, "value"), want)
			}
		}
	}
}
