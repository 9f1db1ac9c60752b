package diagnose

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fiolat/fio/fiohist"
)

// TestFar draws runs of 16 hosts on bursting devices, in which half a percent of the I/Os of one are 100 ms slower.
func TestFar(t *testing.T) {
	n := 4 * draws(t, 1)
	for _, dev := range []device{simDevices[1], simDevices[4], heldOut[3], unseen[3]} {
		found, others, quiet := 0, 0, 0
		for seed := range n {
			run := draw(uint64(8_000_000+seed*100), &dev, nil, 16, 90)
			said, _ := findingsOf(t, run)
			quiet += btoi(slices.ContainsFunc(said, func(f judged) bool { return len(f.who) > 0 }))
			rng := rand.New(rand.NewPCG(uint64(seed), 67))
			g, who := run.run.Geometry, seed%16
			for _, q := range run.intervals {
				slower := new(fiohist.Hist)
				q.Leaves[who].Hist.Each(func(bucket int, ios float64) {
					for range int(ios) {
						ns := g.Middle(bucket)
						if rng.Float64() < 0.005 {
							ns += 100e6
						}
						slower.Add(g.Index(int64(ns)), 1)
					}
				})
				q.Leaves[who].Hist = slower
			}
			said, _ = findingsOf(t, run)
			found += btoi(slices.ContainsFunc(said, func(f judged) bool {
				return slices.Equal(f.who, run.hosts[who:who+1])
			}))
			others += btoi(slices.ContainsFunc(said, func(f judged) bool {
				return len(f.who) > 0 && !slices.Equal(f.who, run.hosts[who:who+1])
			}))
		}
		t.Logf("%-16s found in %d of %d, another named in %d, quiet named in %d", dev.name, found, n, others, quiet)
		if 4*found < 3*n || 4*others > n || 4*quiet > n {
			t.Errorf("%s: found in %d of %d, another named in %d, quiet named in %d", dev.name, found, n, others, quiet)
		}
	}
}
