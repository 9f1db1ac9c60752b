package fiohist

import (
	"math"
	"testing"
)

// The quantiles are those of printed tables: two-sided, so 0.05 is the column of 97.5 %.
func TestStudent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		alpha   float64
		freedom int
		want    float64
	}{
		{0.05, 1, 12.706}, {0.05, 2, 4.303}, {0.05, 3, 3.182}, {0.05, 4, 2.776}, {0.05, 8, 2.306}, {0.05, 30, 2.042},
		{0.01, 1, 63.657}, {0.01, 4, 4.604}, {0.01, 5, 4.032}, {0.001, 4, 8.610}, {0.001, 7, 5.408}, {0.2, 2, 1.886},
		{0.05, 120, 1.980}, {0.05, 1000, 1.960}, {0.001, 1e6, 3.291},
	} {
		if got := StudentQuantile(tt.alpha, tt.freedom); math.Abs(got-tt.want) > 0.0006 {
			t.Errorf("%g with %d degrees of freedom: %.4f, want %g", tt.alpha, tt.freedom, got, tt.want)
		}
	}
}
