package logs

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"fiolat/ingest/fiolog"
	"fiolat/internal/testkit"
	"fiolat/internal/testlog"
)

// TestLengths: whatever the device does, the window length that fio was given is among those that the stamps allow, and
// where these leave little open it is the roundest of them. 0 to 2 stalls, paced and fast, in one direction.
func TestLengths(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	narrow, right := 0, 0
	for seed := range uint64(400) {
		h := []int{100, 250, 300, 500, 700, 1000, 1500, 2000, 10000}[rng.IntN(9)]
		c := testlog.Config{Seed: seed, H: time.Duration(h) * time.Millisecond,
			Duration: time.Duration(h*(4+rng.IntN(60))) * time.Millisecond, Rate: math.Pow(10, rng.Float64()*2.5)}
		if seed%2 == 0 {
			c.Epoch = 1795225577000
		}
		for at := time.Duration(0); len(c.Stalls) < rng.IntN(3); at += c.Duration / 3 {
			c.Stalls = append(c.Stalls, testlog.Stall{At: at + c.Duration/10,
				For: time.Duration(rng.Int64N(int64(c.Duration / 5)))})
		}
		var d direction
		reader := fiolog.NewBytesReader(c.Log(), "log", fiolog.ReaderOptions{})
		for {
			r, err := reader.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			d.win.waits = append(d.win.waits, stamped{time: r.Time * msec, ios: float64(r.IOs)})
		}
		if len(d.win.waits) == 0 {
			continue
		}
		r := d.lengths(c.Epoch > 0, false)
		if !r.has(float64(h)) {
			t.Errorf("seed %d: the stamps allow %v, not %d ms", seed, r, h)
		}
		if !r.wide() {
			narrow++
			if r.roundest(r.most) == float64(h) {
				right++
			}
		}
	}
	if narrow < 100 || right < narrow*9/10 {
		t.Errorf("right in %d of %d", right, narrow)
	}
}

// TestRoundest: what a person most likely typed.
func TestRoundest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ above, most, near, want float64 }{
		{879, 1001, 1001, 1000}, {0, 754, 600, 500}, {240, 251, 251, 250}, {199, 260, 260, 250}, {290, 310, 310, 300},
		{1480, 1510, 1510, 1500}, {508, 511, 511, 510}, {999, 1000, 999, 1000}, {1000, 1000, 1000, 0}, {0, 1, 1, 1},
		{9990, 10020, 9995, 10000}, {59000, 60010, 59500, 60000}, {0, math.Inf(1), 1000, 0},
		{501, 2002, 1001, 1000}, {501, 2002, 1990, 2000}, {374, 1020, 498, 500}, {0, 754, 2000, 500},
		{510, 990, 720, 750},
	} {
		if got := (lengths{tt.above, tt.most}).roundest(tt.near); got != tt.want {
			t.Errorf("(%v, %v] near %v: %v, want %v", tt.above, tt.most, tt.near, got, tt.want)
		}
	}
}
