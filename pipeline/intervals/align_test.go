package intervals

import (
	"math"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// TestInflightShare compares the closed form with summing up many lives.
func TestInflightShare(t *testing.T) {
	t.Parallel()
	for _, l := range []float64{0, 5e5, 1e6, 150e6, 2.5e9} {
		for _, x := range []int64{-3e9, -1e6, 0, 4e8, 999e6, 1e9, 15e8, 4e9} {
			const s, e, steps = int64(0), int64(1e9), 20000
			sum := 0.0
			for i := range steps {
				done := float64(s) + (float64(i)+0.5)/steps*float64(e-s)
				switch {
				case l == 0 && done < float64(x):
					sum++
				case l > 0:
					sum += min(max((float64(x)-(done-l))/l, 0), 1)
				}
			}
			if got, want := pipeline.InFlightBefore(x, s, e, l), sum/steps; math.Abs(got-want) > 1e-4 {
				t.Errorf("latency %v, up to %d: %v, want %v", l, x, got, want)
			}
		}
	}
}

// FuzzAlign: no I/O is lost or made, whatever the portion and the grid, and those that close it count where it closes.
func FuzzAlign(f *testing.F) {
	f.Add(int64(1), int64(1003e6), uint16(1800), uint32(1000), false, int64(4e6))
	f.Add(int64(1), int64(1003e6), uint16(1800), uint32(500), false, int64(600e6))
	f.Add(int64(-5e9), int64(7e9), uint16(3), uint32(10), true, int64(0))
	f.Fuzz(func(t *testing.T, start, length int64, bucket uint16, intervalMS uint32, inflight bool,
		closing int64) {
		g := &Grid{Interval: max(int64(intervalMS%100000), 1) * msec}
		start %= 1e12
		if length = length % 1e11; length <= 0 {
			length = 1
		}
		if length/g.Interval > 10000 || start/g.Interval > 1000000 {
			return
		}
		c := &cells{leaves: 1, rows: map[int64]*row{}}
		open := Open{cells: c}
		a := NewAligner(g, inflight, fiohist.Fio3, fiohist.Fio3.Coarsen(int(bucket%3)), &open)
		var ios fiohist.Sparse
		ios.Add(bucket%uint16(fiohist.Fio3.Columns()), 7)
		p := Piece{Start: start, End: start + length}
		if closing %= 1e9; closing > 0 {
			p.Closing, p.Share = p.End+closing, 1.0/7
		}
		if err := a.Add(p, &ios, fio.Read); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, r := range c.rows {
			sum += r.leaves[0].Sum()
		}
		if sum != 7 || a.Placed != 7 {
			t.Fatalf("7 I/Os in, %v out, %v placed", sum, a.Placed)
		}
		if last := max(g.Last(p.Closing), 0); p.Share > 0 && open.End()-1 != last {
			t.Fatalf("the last quantum is %d, want %d", open.End()-1, last)
		}
	})
}

// TestPieceEnd: what was held until it closed counts only if there is some.
func TestPieceEnd(t *testing.T) {
	t.Parallel()
	for want, p := range map[int64]Piece{10: {Start: 1, End: 10, Closing: 20}, 20: {Start: 1, End: 10, Closing: 20,
		Share: 0.1}, 12: {Start: 1, End: 12, Closing: 5, Share: 1}} {
		if got := p.end(); got != want {
			t.Errorf("%+v ends at %d", p, got)
		}
	}
}
