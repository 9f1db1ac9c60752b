package delivery

import (
	"math/rand/v2"
	"testing"
	"time"
)

// server is one that gets so many bytes a second done with so many requests.
func serve(f *flow, requests int, rate func(n int) float64) (seen map[int]int) {
	seen = map[int]int{}
	now := time.Unix(0, 0)
	for range requests {
		now = now.Add(time.Duration(4e6 / rate(f.limit) * 1e9))
		f.done(now, 4e6, true, false)
		seen[f.limit]++
	}
	return seen
}

// saturates gains from one request more up to so many.
func saturates(at int) func(int) float64 {
	return func(n int) float64 { return 50e6 * float64(min(n, at)) }
}

func TestFlowFindsWhatTheServerTakes(t *testing.T) {
	for _, tt := range []struct {
		name        string
		rate        func(int) float64
		least, most int // where nearly all requests should be
	}{
		{"one at a time", saturates(1), 2, 3},
		{"two", saturates(2), 2, 3},
		{"five", saturates(5), 5, 6},
		{"more than there are", saturates(100), 8, 8},
		{"worse with more", func(n int) float64 { return 100e6 / float64(n) }, 2, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 1))
			noisy := func(n int) float64 { return tt.rate(n) * (0.95 + r.Float64()/10) }
			f := newFlow(8)
			serve(&f, 300, noisy)
			seen := serve(&f, 2000, noisy)
			good := 0
			for n := tt.least; n <= tt.most; n++ {
				good += seen[n]
			}
			if good < 1800 {
				t.Errorf("requests at once: %v, want %d to %d", seen, tt.least, tt.most)
			}
		})
	}
}

func TestFlowBacksOff(t *testing.T) {
	f := newFlow(16)
	serve(&f, 2000, saturates(16))
	if f.limit != 16 {
		t.Fatalf("%d at once, want 16", f.limit)
	}
	now := time.Unix(1e6, 0)
	for _, want := range []int{8, 4, 2, 1, 1} {
		if f.done(now, 4e6, true, true); f.limit != want {
			t.Errorf("%d at once after the server has had enough, want %d", f.limit, want)
		}
	}
	if serve(&f, 2000, saturates(16)); f.limit != 16 {
		t.Errorf("%d at once when it takes more again, want 16", f.limit)
	}
	// Latency ten times as long, whatever the number: less pressure.
	serve(&f, 400, func(int) float64 { return 5e6 })
	if f.limit > 4 {
		t.Errorf("%d at once at a slow server", f.limit)
	}
	// Documents that come slowly say nothing about the server.
	f = newFlow(8)
	for range 1000 {
		now = now.Add(time.Second)
		f.done(now, 4e6, false, false)
	}
	if f.limit != flowStart {
		t.Errorf("%d at once without need", f.limit)
	}
	f = newFlow(1)
	if serve(&f, 100, saturates(9)); f.limit != 1 {
		t.Errorf("%d at once where one is allowed", f.limit)
	}
}
