package pipeline

// InFlightBefore returns the share of an I/O's life that lies before x, if it completes evenly in (s, e] after a
// latency of l ns: [G(x-s) - G(x-e)] / (e-s), where G(y) is the integral of the share of a life that ends at 0 and lies
// before y: 0 for y <= -l, (y+l)^2 / 2l for -l < y < 0, y + l/2 for y >= 0. With l = 0 it is the overlap.
func InFlightBefore(x, s, e int64, l float64) float64 {
	return (lifeBefore(float64(x-s), l) - lifeBefore(float64(x-e), l)) / float64(e-s)
}

func lifeBefore(y, l float64) float64 {
	switch {
	case y >= 0:
		return y + l/2
	case y <= -l:
		return 0
	}
	return (y + l) * (y + l) / (2 * l)
}
