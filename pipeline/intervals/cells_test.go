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

// TestEnded: the histograms of a log that was read take less memory, hold the same, and stay small when a tail comes.
func TestEnded(t *testing.T) {
	t.Parallel()
	for _, pack := range []bool{false, true} {
		c := &cells{leaves: fio.Directions, rows: map[int64]*row{}}
		o := &Open{cells: c, pack: pack}
		for d := range o.leaf {
			o.leaf[d] = d
		}
		add := func(q int64, d fio.Direction) {
			if _, err := o.add(q, d, func(h *fiohist.Hist) float64 {
				h.Add(100, 1.5)
				return 1.5
			}); err != nil {
				t.Fatal(err)
			}
		}
		add(3, fio.Read)
		add(3, fio.Write)
		add(5, fio.Read)
		o.Ended()
		small := c.held < 3*cellBytes/2
		add(5, fio.Read)
		add(6, fio.Read)
		o.Ended()
		if small != pack || (c.held < 4*cellBytes/2) != pack {
			t.Errorf("pack %v: %d bytes are held", pack, c.held)
		}
		for i, r := range c.take(3, 7) {
			for d, want := range [][]float64{{1.5, 0, 3, 1.5}, {1.5, 0, 0, 0}} {
				got := 0.0
				if r != nil && r.leaves[d] != nil {
					got = r.leaves[d].Sum()
				}
				if got != want[i] {
					t.Errorf("pack %v: %v in interval %d, direction %d, want %v", pack, got, 3+i, d, want[i])
				}
			}
		}
		if c.held != 0 {
			t.Errorf("pack %v: %d bytes are held of nothing", pack, c.held)
		}
	}
}
