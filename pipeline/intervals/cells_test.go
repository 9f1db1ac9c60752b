package intervals

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
)

// TestAnyOrder: what is in the cells does not depend on the order in which logs add to them, nor on how many do so at a
// time, and nothing is lost.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	const logs, pieces = 40, 25
	type added struct {
		at  Piece
		ios fiohist.Sparse
	}
	r := rand.New(rand.NewPCG(1, 2))
	all, sum := make([][]added, logs), 0.0
	for i := range all {
		for range pieces {
			a := added{at: Piece{Start: r.Int64N(5000) * msec}}
			a.at.End = a.at.Start + (1+r.Int64N(3000))*msec
			for b := range uint16(18) {
				a.ios.Add(100*b+uint16(r.IntN(100)), float64(1+r.IntN(1000)))
			}
			if sum += a.ios.Sum(); r.IntN(2) == 0 {
				a.at.Closing, a.at.Share = a.at.End+r.Int64N(2000)*msec, 1/a.ios.Sum()
			}
			all[i] = append(all[i], a)
		}
	}
	for _, inflight := range []bool{false, true} {
		want := ""
		for _, goroutines := range []int{1, 1, 3, 8} {
			c := &cells{leaves: 2, rows: map[int64]*row{}}
			g := &Grid{Interval: 700 * msec}
			order := make(chan int, logs)
			for _, i := range r.Perm(logs) {
				order <- i
			}
			close(order)
			var wg sync.WaitGroup
			for range goroutines {
				wg.Go(func() {
					for i := range order {
						open := Open{cells: c, leaf: [fio.Directions]int{i % 2, i % 2, i % 2}}
						a := NewAligner(g, inflight, fiohist.Fio3, fiohist.Fio3, &open)
						for k := range all[i] {
							if err := a.Add(all[i][k].at, &all[i][k].ios, fio.Read); err != nil {
								t.Error(err)
							}
						}
					}
				})
			}
			wg.Wait()
			got, placed := "", 0.0
			for _, r := range c.take(0, 100) {
				for i := range c.leaves {
					if r != nil && r.leaves[i] != nil {
						got, placed = got+fmt.Sprintln(i, r.leaves[i]), placed+r.leaves[i].Sum()
					}
				}
			}
			if want == "" {
				want = got
			}
			if got != want || placed != sum {
				t.Errorf("in flight %v, %d goroutines: %v I/Os, want %v, or other buckets", inflight, goroutines, placed, sum)
			}
		}
	}
}
