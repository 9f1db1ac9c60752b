package logs

import (
	"math"
	"math/rand/v2"
	"testing"

	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
)

// TestMiddle: a tail that ends by chance right below fio's old limit is no sign of an old fio, one that is cut there
// is.
func TestMiddle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	log := func(ios int, limit float64, draw func() float64) *State {
		l := &State{Member: intervals.Member{Log: &pipeline.Log{Log: &ingest.Log{Source: &ingest.Source{Path: "a"}}}},
			g: fiohist.Fio3}
		var h fiohist.Hist
		for range ios {
			if ns := draw(); ns < limit {
				h.Add(fiohist.Fio3.Index(int64(ns)), 1)
			}
		}
		var c fiohist.Sparse
		c.Index, c.Count = h.Sparse(nil, nil)
		l.nearMiddle(&c)
		return l
	}
	told := func(l *State) (n int) {
		WarnMiddle([]*State{l}, func(string, ...any) { n++ })
		return n
	}
	edge := float64(fiohist.Fio3.Lower(fiohist.Fio3.Columns() / 2))
	doubted, near := 0, 0
	for range 1000 {
		middle, sigma := math.Log(20e3)+rng.Float64()*math.Log(50), 0.05+1.15*rng.Float64()
		l := log(4000, math.Inf(1), func() float64 { return math.Exp(middle + sigma*rng.NormFloat64()) })
		if doubted += told(l); !l.middle.above && l.middle.near() >= 5 {
			near++
		}
	}
	if doubted > 0 || near == 0 {
		t.Errorf("%d of 1000 quiet logs are doubted; %d end right below the limit", doubted, near)
	}
	missed := 0
	for range 100 {
		middle, sigma := math.Log(100e3)+rng.Float64()*math.Log(8), 0.3+rng.Float64()
		l := log(20000, edge, func() float64 { return math.Exp(middle + sigma*rng.NormFloat64()) })
		if told(l) == 0 && l.middle.near() >= 5 {
			missed++
		}
	}
	if missed > 1 {
		t.Errorf("%d of 100 logs that end at the limit are not doubted", missed)
	}
}
