package fio

import (
	"cmp"
	"testing"
	"time"
)

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

func TestRunName(t *testing.T) {
	t.Parallel()
	const hash = "1bd1ef5767c50c011c02184b11c815ad"
	for _, tt := range [][3]string{{hash, "", "1bd1ef57"}, {hash, "nightly 7", "nightly 7 1bd1ef57"},
		{"nightly-7", "", "nightly-7"}, {"nightly-7", "nightly-7", "nightly-7"},
		{hash[:31] + "x", "", hash[:31] + "x"}} {
		if got := RunName(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%q, %q: %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
	if got := RunTitle(hash, "nightly", time.Unix(1795572660, 0)) + RunTitle("by hand", "", time.Time{}); got !=
		"2026-11-25 02:11 nightly 1bd1efby hand" {
		t.Error(got)
	}
	if one, more := Several(1, "run"), Several(1234, "run"); one != "1 run" || more != "1,234 runs" {
		t.Errorf("%q and %q", one, more)
	}
}

func TestNatural(t *testing.T) {
	t.Parallel()
	sorted := []string{"", "a", "host", "host2", "host10", "host10a", "host10a3", "host10a20", "host010", "hosts"}
	for i := range sorted {
		for j := range sorted {
			if got, want := Natural(sorted[i], sorted[j]), cmp.Compare(i, j); got != want {
				t.Errorf("%q and %q: %d, want %d", sorted[i], sorted[j], got, want)
			}
		}
	}
}
