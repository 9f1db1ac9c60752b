// Package student implements Student's t distribution.
package student

import "math"

// Tail returns the probability that the absolute value of Student's t with these degrees of freedom exceeds t >= 0
// (Abramowitz and Stegun, 26.7.3 and 26.7.4).
func Tail(t float64, freedom int) float64 {
	if freedom >= ManyDegrees {
		return math.Erfc(t / math.Sqrt2)
	}
	theta := math.Atan(t / math.Sqrt(float64(freedom)))
	sin, cos := math.Sincos(theta)
	term, sum := 1.0, 0.0
	if freedom%2 == 1 {
		term = cos
	}
	for k := freedom%2 + 2; k <= freedom; k += 2 {
		sum += term
		term *= cos * cos * float64(k-1) / float64(k)
	}
	if freedom%2 == 1 {
		return max(0, 1-2/math.Pi*(theta+sin*sum))
	}
	return max(0, 1-sin*sum)
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
