package diagnose

import (
	"fmt"
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

// TestTops: of more members than farPeers each one's I/Os above the p99 of all are kept, of fewer none.
func TestTops(t *testing.T) {
	t.Parallel()
	for _, hosts := range []int{farPeers, farPeers + 1, 20} {
		b := newBoard(fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}, 0, second)
		for at := range int64(3) {
			var leaves []leaf
			for i := range hosts {
				l := leaf{Direction: "read", By: [3]string{fmt.Sprintf("h%02d", i)}, Hist: new(fiohist.Hist)}
				l.Hist.Add(10, 200)
				if i == 3 { // one in 200 of its own
					l.Hist.Add(500, 1)
				}
				leaves = append(leaves, l)
			}
			b.add(at*second, leaves, new(pools).collect(leaves), nil)
		}
		tops := map[string]float64{}
		for _, g := range b.groups {
			for v, top := range g.tops {
				tops[g.names[v]] += top.Sum()
			}
		}
		if hosts <= farPeers && len(tops) > 0 || hosts > farPeers && (len(tops) != hosts || tops["h03"] != 3 ||
			tops["h02"] != 0) {
			t.Errorf("%d hosts: %v", hosts, tops)
		}
	}
}
