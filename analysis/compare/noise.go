package compare

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"fiolat/fio"
)

// RunNoise is the standard deviation between repeated runs, as given by the user.
type RunNoise struct {
	// Metric is what it is of; "" stands for any direction or name.
	fio.Metric
	// SD is the standard deviation of the logarithm of a value.
	SD float64
	// Runs is the number of runs that it was measured over, 2 or more; 0 stands for GivenRuns.
	Runs int
}

// GivenRuns is the number of runs that a noise was measured over if that is not said.
const GivenRuns = 10

// mostNoise is the largest noise that is printed or read, as a share, and mostRuns the largest number of its runs.
// From nothingFrom on no change can be told: a factor of 2 is one standard deviation.
const (
	mostNoise   = 1e13
	mostRuns    = 1_000_000
	nothingFrom = 1
)

var nothingTold = fmt.Sprintf("run noise of %d %% and more: no change of that metric can be told", 100*nothingFrom)

// runs returns the number of runs that the noise was measured over.
func (n *RunNoise) runs() int { return cmp.Or(n.Runs, GivenRuns) }

// ParseRunNoise reads "[[DIRECTION] METRIC=]P%[/RUNS]", such as "5%", "p99=8%/12" or "read iops=1.5%". Any noise that
// NoiseText prints can be read.
func ParseRunNoise(text string) (n RunNoise, err error) {
	name, value, named := strings.Cut(text, "=")
	if !named {
		name, value = "", text
	}
	if named {
		if n.Metric, err = metrics.Parse(name); err != nil {
			return n, fmt.Errorf(`%q: want [[DIRECTION] METRIC=]P%%[/RUNS], such as 5%%, p99=8%%/12 or `+
				`"read iops=1.5%%"`, text)
		}
	}
	value, runs, counted := strings.Cut(value, "/")
	share, err := percent(value, mostNoise)
	if err != nil {
		return n, fmt.Errorf("%q: %w", text, err)
	}
	if counted {
		n.Runs, err = strconv.Atoi(runs)
		if err != nil || n.Runs < 2 || n.Runs > mostRuns {
			return n, fmt.Errorf("%q: want the number of runs that it was measured over after the /, from 2 to %d",
				text, mostRuns)
		}
	}
	n.SD = math.Log1p(share)
	return n, nil
}

// ParsePercent reads a percentage from 0 to 1000, such as "5%", as a share.
func ParsePercent(text string) (float64, error) { return percent(text, 10) }

func percent(text string, most float64) (float64, error) {
	number, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	p, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || !(p >= 0 && p <= 100*most) {
		return 0, fmt.Errorf("want a percentage from 0%% to %.0f%%, such as 5%%, not %q", 100*most, text)
	}
	return p / 100, nil
}

// sigma returns the noise given for a row, or nil. The most specific entry wins, and of equal ones the last.
func sigma(given []RunNoise, direction, metric string) (found *RunNoise) {
	best := -1
	for i, n := range given {
		says := 0
		switch n.Direction {
		case "":
		case direction:
			says++
		default:
			continue
		}
		switch n.Name {
		case "":
		case metric:
			says += 2
		default:
			continue
		}
		if says >= best {
			best, found = says, &given[i]
		}
	}
	return found
}
