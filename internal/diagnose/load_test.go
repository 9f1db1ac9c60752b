package diagnose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/internal/testkit"
	"fiolat/pipeline"
)

// TestOpenLoops: of twelve hosts three have four times the load of the others, and latency is a power of the load. At
// its load nobody is slow, until one takes half as long again. Taken for closed loops, the runs have slow hosts.
func TestOpenLoops(t *testing.T) {
	testkit.NotRaced(t)
	dev := readDevice(t, "../../testdata/fio/randrw/*.log")
	const hosts, healthy, faulty = 12, 30, 10
	for _, slope := range []float64{0, 0.4, 1, -0.3} {
		t.Run(fmt.Sprintf("load to the power of %g", slope), func(t *testing.T) {
			n, named, others, nobody, unaware := draws(t, 1), 0, 0, 0, 0
			for seed := range n {
				rng := rand.New(rand.NewPCG(uint64(seed), 11))
				bad := rng.IntN(hosts)
				loads := make([]float64, hosts)
				for i := range loads {
					loads[i] = 0.95 + rng.Float64()/10
				}
				for _, i := range rng.Perm(hosts)[:3] {
					loads[i] *= 4
				}
				run := func(more float64, open bool) map[string]bool {
					p := newPeers(dev.geometry, 0, second)
					p.openLoop = func(string) bool { return open }
					for i, h := range dev.resample(rng, healthy+faulty, 5) {
						var leaves []leaf
						for k, load := range loads {
							factor := math.Pow(load, slope)
							if k == bad && i >= healthy {
								factor *= more
							}
							name := fmt.Sprintf("host%02d", k)
							leaves = append(leaves, leaf{Direction: "read", By: [3]string{name},
								Hist: drawn(rng, &dev, h, 300*load, factor)})
						}
						p.Add(int64(i)*second, leaves)
					}
					slow := map[string]bool{}
					for _, s := range p.Stragglers() {
						if s.Percentile != 50 {
							continue // who makes the tail is named for it, whatever the load
						}
						slow[s.Value] = true
						if open && more > 1 && !strings.Contains(s.finding().Text, " at its load") {
							t.Error(s.finding().Text)
						}
					}
					return slow
				}
				found := run(1.5, true)
				name := fmt.Sprintf("host%02d", bad)
				named += btoi(found[name])
				delete(found, name)
				others += btoi(len(found) > 0)
				nobody += btoi(len(run(1, true)) == 0)
				unaware += btoi(len(run(1, false)) > 0)
			}
			t.Logf("%d runs: named in %d, another in %d; of healthy ones nobody in %d, and without regard to the load "+
				"somebody in %d", n, named, others, nobody, unaware)
			if named*100 < 95*n || others*100 > 5*n || nobody*100 < 95*n || slope > 0 && unaware < n {
				t.Error("want 95 % named, and 5 % wrong at most")
			}
		})
	}
}

// drawn draws about n I/Os of h, each of which takes factor times as long.
func drawn(rng *rand.Rand, dev *device, h *fiohist.Hist, n, factor float64) *fiohist.Hist {
	out, keep := new(fiohist.Hist), n/h.Sum()
	h.Each(func(i int, w float64) {
		for range int(w) {
			if times := repeats(rng, keep); times > 0 {
				out.Add(dev.geometry.Index(int64(dev.geometry.Middle(i)*factor)), float64(times))
			}
		}
	})
	return out
}

func TestOpenLoop(t *testing.T) {
	log := func(name, value string) *pipeline.Log {
		return &pipeline.Log{Log: &ingest.Log{Entry: &fiojson.Entry{Options: map[string]string{name: value}},
			Meta: &fiojson.Document{}}}
	}
	for _, c := range []struct {
		logs        []*pipeline.Log
		read, write bool
	}{
		{nil, false, false},
		{[]*pipeline.Log{{}}, false, false}, // of a stored run
		{[]*pipeline.Log{log("iodepth", "16")}, false, false},
		{[]*pipeline.Log{log("rate_iops", "100")}, true, true},
		{[]*pipeline.Log{log("rate_iops", "100,")}, true, false},
		{[]*pipeline.Log{log("rate_iops", ",0")}, false, false},
		{[]*pipeline.Log{log("rate", ",2m")}, false, true},
		{[]*pipeline.Log{log("thinktime", "0"), log("rate", "2m")}, false, false},
		{[]*pipeline.Log{log("thinktime", "1ms"), log("rate", "2m")}, true, true},
	} {
		run := &pipeline.Run{Logs: c.logs}
		if read, write := openLoop(run, "read"), openLoop(run, "write"); read != c.read || write != c.write {
			t.Errorf("%+v: %v, %v", c, read, write)
		}
	}
}
