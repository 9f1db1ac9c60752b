package diagnose

import (
	"math"
	"strconv"

	"fiolat/fio"
)

// number formats a count or a rate with three digits, or as an integer.
func number(v float64) string {
	if v >= 999.5 {
		return strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func latency(ns float64) string { return fio.Latency(ns, 3) }
