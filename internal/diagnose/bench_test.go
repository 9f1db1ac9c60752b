package diagnose

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// BenchmarkLive is one quantum of a run of many hosts, of reads and writes, after as many quanta as are looked back.
func BenchmarkLive(b *testing.B) {
	for _, hosts := range []int{20, 100} {
		b.Run(fmt.Sprintf("%d hosts", hosts), func(b *testing.B) {
			dev := together(readPeers(b))
			rng := rand.New(rand.NewPCG(1, 1))
			var quanta []*pipeline.Quantum
			for range 32 {
				q := &pipeline.Quantum{Rows: make([]pipeline.Row, 1)}
				for _, d := range []string{"read", "write"} {
					h := dev.seconds[rng.IntN(len(dev.seconds))]
					for _, l := range shareOut(rng, dev.geometry, h, hosts, 500, -1, nil) {
						q.Leaves = append(q.Leaves, pipeline.Leaf{Dims: fio.Dims{Host: l.By[0], Direction: d},
							Hist: l.Hist, Limits: fiohist.Limits{}})
					}
				}
				quanta = append(quanta, q)
			}
			var to said
			live := NewLive(&to)
			run := &pipeline.Run{Geometry: dev.geometry, Interval: second, Live: true, Start: time.Now().UnixNano()}
			if err := live.Begin(b.Context(), run); err != nil {
				b.Fatal(err)
			}
			n := int64(0)
			step := func() {
				q := *quanta[n%int64(len(quanta))]
				q.Offset = n * second
				if err := live.Quantum(b.Context(), &q); err != nil {
					b.Fatal(err)
				}
				n++
			}
			for n < lookback {
				step()
			}
			for b.Loop() {
				step()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e7, "%-of-a-core")
		})
	}
}

// BenchmarkSegments is a direction of a run of so many quanta.
func BenchmarkSegments(b *testing.B) {
	for _, quanta := range []int{120, 2000} {
		b.Run(fmt.Sprint(quanta), func(b *testing.B) {
			dev := together(readPeers(b))
			tl := splice(rand.New(rand.NewPCG(1, 1)), &dev, quanta, float64(quanta)/4, float64(quanta)/2, 2, 1)
			for b.Loop() {
				tl.Segments(nil)
			}
		})
	}
}
