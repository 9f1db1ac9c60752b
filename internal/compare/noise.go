package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// RunNoise is the standard deviation between repeated runs, as given by the user.
type RunNoise struct {
	// Direction is read, write, trim or all, Metric p50, p99.9, ..., mean or iops; "" is any.
	Direction, Metric string
	// SD is the standard deviation of the logarithm of a value.
	SD float64
}

// ParseRunNoise reads "[[DIRECTION] METRIC=]P%", such as "5%", "p99=8%" or "read iops=1.5%".
func ParseRunNoise(text string) (n RunNoise, err error) {
	name, value, named := strings.Cut(text, "=")
	if !named {
		name, value = "", text
	}
	if named {
		r, bad := ParseRule(strings.TrimSpace(name) + " +0%")
		if bad != nil {
			return n, fmt.Errorf(`%q: want [[DIRECTION] METRIC=]P%%, such as 5%%, p99=8%% or "read iops=1.5%%"`, text)
		}
		n.Direction, n.Metric = r.Direction, r.Metric
	}
	share, err := ParsePercent(value)
	if err != nil {
		return n, fmt.Errorf("%q: %w", text, err)
	}
	n.SD = math.Log1p(share)
	return n, nil
}

// ParsePercent reads a percentage from 0 to 1000, such as "5%", as a share.
func ParsePercent(text string) (float64, error) {
	number, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	p, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || !(p >= 0 && p <= 1000) {
		return 0, fmt.Errorf("want a percentage from 0%% to 1000%%, such as 5%%, not %q", text)
	}
	return p / 100, nil
}

// sigma returns the noise given for a row. The most specific entry wins, and of equal ones the last.
func sigma(given []RunNoise, direction, metric string) (sd float64, ok bool) {
	best := -1
	for _, n := range given {
		says := 0
		switch n.Direction {
		case "":
		case direction:
			says++
		default:
			continue
		}
		switch n.Metric {
		case "":
		case metric:
			says += 2
		default:
			continue
		}
		if says >= best {
			best, sd, ok = says, n.SD, true
		}
	}
	return sd, ok
}
