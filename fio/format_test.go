package fio

import "testing"

func TestLatency(t *testing.T) {
	for _, tt := range []struct {
		ns     float64
		digits int
		want   string
	}{
		{0, 3, "0 ns"}, {0.5, 3, "0.5 ns"}, {999, 3, "999 ns"}, {999.7, 3, "1000 ns"}, {1e3, 3, "1 us"},
		{17290, 3, "17.3 us"}, {17294, 4, "17.29 us"}, {1e5, 3, "100 us"}, {999.96e3, 4, "1000 us"}, {1e7, 3, "10 ms"},
		{2.5e9, 3, "2.5 s"}, {1.2345e12, 3, "1230 s"},
	} {
		if got := Latency(tt.ns, tt.digits); got != tt.want {
			t.Errorf("%g ns to %d digits is %q, want %q", tt.ns, tt.digits, got, tt.want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[float64]string{0: "0", 1e15: "1000000000000000", 11.9999999: "12", 0.25: "0.25"} {
		if got := Count(n); got != want {
			t.Errorf("%g is %q, want %q", n, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64][2]string{0: {"0", "0"}, 0.5: {"0.500", "0.5"}, 12.346: {"12.35", "12.3"},
		999.7: {"999.7", "1000"}, 123456: {"123456", "123000"}, 5e-6: {"0.000", "0.000005"}} {
		if got := [2]string{Number(v), Digits(v, 3)}; got != want {
			t.Errorf("%g is %q, want %q", v, got, want)
		}
	}
}
