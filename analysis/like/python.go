package like

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// pySpace is the ASCII white space that Python's str.strip removes.
const pySpace = " \t\n\v\f\r\x1c\x1d\x1e\x1f"

// Compiled on first use, to keep the program's start fast.
var (
	pyIntForm   = lazily(`^[+-]?\d+(_\d+)*$`)
	pyFloatForm = lazily(`(?i)^[+-]?((\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+(_\d+)*)(e[+-]?\d+(_\d+)*)?|inf(inity)?|nan)$`)
)

func lazily(form string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(form) })
}

// pyInt strips s and removes underscores, so that strconv can parse what Python's int() accepts. It returns false if
// int() refuses s.
func pyInt(s string) (string, bool) {
	s = strings.Trim(s, pySpace)
	if !pyIntForm().MatchString(s) {
		return "", false
	}
	return strings.ReplaceAll(s, "_", ""), true
}

// pyInt64 is Python's int() for 64-bit numbers.
func pyInt64(s string) (int64, bool) {
	s, ok := pyInt(s)
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil
}

// pyFloat is Python's float().
func pyFloat(s string) (float64, bool) {
	s = strings.Trim(s, pySpace)
	if !pyFloatForm().MatchString(s) {
		return 0, false
	}
	// Out of range, strconv returns an error, but also an infinity, as Python does.
	v, _ := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return v, true
}

// repr is Python's repr of a float: the shortest digits that read back the same, with an exponent below 1e-4 and from
// 1e16 on.
func repr(v float64) string {
	if s, odd := notFinite(v); odd {
		return s
	}
	s := strconv.FormatFloat(v, 'e', -1, 64)
	exp, _ := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])
	if exp < -4 || exp >= 16 {
		return s
	}
	s = strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// fixed is Python's '%.*f'.
func fixed(v float64, decimals int) string {
	if s, odd := notFinite(v); odd {
		return s
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// integer is Python's '%d' of a float, which must be finite.
func integer(v float64) string {
	if math.Abs(v) < 1<<62 {
		return strconv.FormatInt(int64(v), 10)
	}
	i, _ := big.NewFloat(v).Int(nil)
	return i.String()
}

func notFinite(v float64) (string, bool) {
	switch {
	case math.IsNaN(v):
		return "nan", true
	case math.IsInf(v, 1):
		return "inf", true
	case math.IsInf(v, -1):
		return "-inf", true
	}
	return "", false
}

// floorDiv is Python's //, which rounds down where Go's / rounds toward zero: -500 // 1000 is -1.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// floorMod is Python's % of floats.
func floorMod(a, b float64) float64 {
	m := math.Mod(a, b)
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m
}

// ctime is Python's time.ctime of a timestamp in milliseconds.
func ctime(ms int64, zone *time.Location) string {
	t := time.UnixMilli(ms).In(zone)
	return t.Format("Mon Jan _2 15:04:05 ") + strconv.Itoa(t.Year())
}
