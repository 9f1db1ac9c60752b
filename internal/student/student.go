// Package student implements Student's t distribution.
package student

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Tail returns the probability that the absolute value of Student's t with these degrees of freedom exceeds t >= 0
// (Abramowitz and Stegun, 26.7.1 and 26.5.27).
func Tail(t float64, freedom int) float64 {
	if freedom >= ManyDegrees {
		return math.Erfc(t / math.Sqrt2)
	}
	n := float64(freedom)
	return mathext.RegIncBeta(n/2, 0.5, n/(n+t*t))
}

// ManyDegrees is the degrees of freedom from which on the normal distribution is used.
const ManyDegrees = 1000

// Quantile returns the t at which Tail is alpha, for alpha above 0 and up to 1.
func Quantile(alpha float64, freedom int) float64 {
	low, high := 0.0, 1.0
	for Tail(high, freedom) > alpha && high < 1e9 {
		high *= 2
	}
	for range 80 {
		if middle := (low + high) / 2; Tail(middle, freedom) > alpha {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
