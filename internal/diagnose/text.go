package diagnose

import (
	"fmt"
	"math"
	"strconv"
	"strings"

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

// Clock formats a time in ms from the run's start, such as 0:40 or 1:02:03.500.
func Clock(ms int64) string {
	sign := ""
	if ms < 0 {
		sign, ms = "-", -ms
	}
	s := fmt.Sprintf("%02d", ms/1000%60)
	if ms%1000 != 0 {
		s = fmt.Sprintf("%06.3f", float64(ms%60000)/1000)
	}
	if h := ms / 3600000; h > 0 {
		return fmt.Sprintf("%s%d:%02d:%s", sign, h, ms/60000%60, s)
	}
	return fmt.Sprintf("%s%d:%s", sign, ms/60000, s)
}

// list joins words with commas and a last "and".
func list(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
