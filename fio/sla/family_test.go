package sla

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/testkit"
)

// device makes runs of random arrivals, in which a share of the I/Os is beyond the threshold, in bunches of a size.
type device struct {
	iops, slow float64
	bunch      int
	rng        *rand.Rand
	left       int // of a bunch that goes on in the next interval
}

func (d *device) interval(length float64, threshold int64) *fiohist.Hist {
	h := new(fiohist.Hist)
	for range poisson(d.rng, d.iops*length) {
		if d.left == 0 && d.rng.Float64() < d.slow/float64(d.bunch) {
			d.left = d.bunch
		}
		at := threshold / 2
		if d.left > 0 {
			d.left--
			at = 2 * threshold
		}
		h.Add(grid.Index(at), 1)
	}
	return h
}

func poisson(rng *rand.Rand, mean float64) int {
	if mean > 500 {
		return int(max(0, math.Round(mean+math.Sqrt(mean)*rng.NormFloat64())))
	}
	n := 0
	for t := rng.ExpFloat64(); t < mean; t += rng.ExpFloat64() {
		n++
	}
	return n
}

// broken returns whether a run of so many seconds is found to break the rule, in an interval or as a whole, and whether
// an interval is ok.
func (d *device) broken(r *fio.SLARule, seconds, length float64) (broken, ok bool) {
	j := NewJudge(grid, []*fio.SLARule{r}, 1)
	ns := int64(length * 1e9)
	var all fiohist.Hist
	for q := range int64(seconds / length) {
		h := d.interval(length, int64(r.Threshold))
		all.AddHist(h)
		v := j.Judge(&Interval{Start: q * ns, Length: ns, Hist: h, Running: true})[0]
		broken, ok = broken || v.Status == Broken, ok || v.Status == OK
	}
	return broken || j.Whole(&Interval{Hist: &all})[0].Status == Broken, ok
}

// TestFamily counts the runs that are found to break "p99 < 5ms", by how far their p99 is from that. Latencies are
// log-normal with a standard deviation of 0.5.
func TestFamily(t *testing.T) {
	t.Parallel()
	runs := testkit.Size(t, 3)
	r := rule(t, "p99 < 5ms")
	for _, bunch := range []int{1, 10} {
		for _, iops := range []float64{20, 100, 500, 2000} {
			for _, length := range []float64{0.25, 1} {
				line := fmt.Sprintf("bunches of %2d, %4.0f IOPS, intervals of %4v s:", bunch, iops, length)
				for _, p99 := range []float64{0.89, 0.96, 1, 1.11, 1.25, 1.5, 2, 5} {
					slow := 0.5 * math.Erfc((2.326348-math.Log(p99)/0.5)/math.Sqrt2)
					d := &device{iops: iops, slow: slow, bunch: bunch, rng: rand.New(rand.NewPCG(uint64(iops), 7))}
					broken, ok := 0, 0
					for range runs {
						b, o := d.broken(r, 120, length)
						if b {
							broken++
						}
						if o {
							ok++
						}
					}
					line += fmt.Sprintf("  %v %d %d", p99, broken, ok)
					if p99 <= 1 && broken > max(1, runs/100) || p99 == 5 && broken < runs {
						t.Errorf("%s with a p99 of %v of the limit %d of %d are broken", line, p99, broken, runs)
					}
				}
				t.Log(line)
			}
		}
	}
}
