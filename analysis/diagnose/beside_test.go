package diagnose

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// TestBeside draws runs in which another direction has bursts, and reads are slow in these or are as ever.
func TestBeside(t *testing.T) {
	n := draws(t, 1)
	for factor, want := range map[float64]int{1: 0, 2: 85} { // of a hundred runs
		runs, found := 0, 0
		for d, dev := range slices.Concat(simDevices, heldOut, unseen) {
			for seed := range n {
				run := drawBursts(uint64(7_000_000+seed*100+d), &dev, factor)
				said, _ := findingsOf(t, run)
				runs++
				found += btoi(slices.ContainsFunc(said, func(f judged) bool {
					return strings.Contains(f.text, "as slow while writes burst")
				}))
			}
		}
		t.Logf("%v times as slow: found in %d of %d", factor, found, runs)
		if 100*found < want*runs || factor == 1 && found > 0 {
			t.Errorf("%v times as slow: %d of %d found, want %d %%", factor, found, runs, want)
		}
	}
}

// drawBursts makes a quiet run of four hosts, whose reads are slower by a factor while writes burst at odd times.
func drawBursts(seed uint64, dev *device, factor float64) *simRun {
	rng := rand.New(rand.NewPCG(seed, 67))
	run := draw(seed, dev, nil, 4, 80)
	g := run.run.Geometry
	for t := 5 + rng.IntN(8); t < 80; {
		for until := t + 4 + rng.IntN(6); t < min(until, 80); t++ {
			q := run.intervals[t]
			for i := range 4 {
				reads, writes := new(fiohist.Hist), new(fiohist.Hist)
				q.Leaves[i].Hist.Each(func(bucket int, n float64) {
					reads.Add(g.Index(int64(g.Middle(bucket)*factor)), n/factor)
				})
				writes.Add(g.Index(3e6), 200)
				q.Leaves[i].Hist = reads
				q.Leaves = append(q.Leaves, pipeline.Leaf{Dims: fio.Dims{Host: run.hosts[i], Job: "job",
					Log: run.hosts[i] + ".log", Direction: "write"}, Hist: writes})
			}
		}
		t += 6 + rng.IntN(9)
	}
	return run
}
