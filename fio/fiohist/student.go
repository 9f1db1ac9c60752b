package fiohist

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/mathext"
)

// StudentTail returns the probability that the absolute value of Student's t with these degrees of freedom exceeds
// t >= 0 (Abramowitz and Stegun, 26.7.1 and 26.5.27).
func StudentTail(t float64, freedom int) float64 {
	if freedom >= ManyDegrees {
		return math.Erfc(t / math.Sqrt2)
	}
	n := float64(freedom)
	return mathext.RegIncBeta(n/2, 0.5, n/(n+t*t))
}

// ManyDegrees is the degrees of freedom from which on the normal distribution is used.
const ManyDegrees = 1000

// StudentQuantile returns the t at which StudentTail is alpha, for alpha above 0 and up to 1. It keeps what it found:
// few degrees of freedom are asked for, often.
func StudentQuantile(alpha float64, freedom int) float64 {
	key := studentKey{alpha, min(freedom, ManyDegrees)}
	if t, ok := studentKnown.Load(key); ok {
		return t.(float64)
	}
	t := studentQuantile(alpha, freedom)
	studentKnown.Store(key, t)
	return t
}

type studentKey struct {
	alpha   float64
	freedom int
}

var studentKnown sync.Map // of float64 by studentKey

func studentQuantile(alpha float64, freedom int) float64 {
	low, high := 0.0, 1.0
	for StudentTail(high, freedom) > alpha && high < 1e9 {
		high *= 2
	}
	for range 80 {
		if middle := (low + high) / 2; StudentTail(middle, freedom) > alpha {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
