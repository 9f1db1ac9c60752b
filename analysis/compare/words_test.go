package compare

import "testing"

// A change above +200 % is a factor, and what is beyond a hundredfold, up or down, is said as such.
func TestPercent(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "+0.00 %", 0.125: "+12.50 %", -0.5: "-50.00 %", 2: "+200.00 %",
		2.5: "x3.50", 98: "x99.00", 150: "over x100", -0.98: "-98.00 %", -0.995: "under -99 %"} {
		if got := Percent(&v); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
	if got := Percent(nil); got != "-" {
		t.Errorf("unknown: %q", got)
	}
}
