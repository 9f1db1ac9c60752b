package page

import "testing"

func TestNumbers(t *testing.T) {
	for ns, want := range map[float64]string{999: "999 ns", 1e3: "1 µs", 1e5: "100 µs", 17293: "17.29 µs", 1e7: "10 ms",
		2.5e9: "2.5 s", -3e8: "≥ 300 ms"} {
		if got := Latency(ns); got != want {
			t.Errorf("%g ns is %q, want %q", ns, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", 0.88931: "0.8893", 150: "150", 999.96: "1000", 12159: "12,159",
		2e6: "2,000,000"} {
		if got := Number(v); got != want {
			t.Errorf("%g is %q, want %q", v, got, want)
		}
	}
}
