package compare

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
)

// Rule is a change that must not be: the condition of --fail-if.
type Rule struct {
	// Text is the rule as it was given.
	Text string
	// Direction is read, write, trim, all, or "" for each.
	Direction string
	// Metric is p50, p99.9, ..., mean or iops; Percentile is its number, 0 of others.
	Metric     string
	Percentile float64
	// Limit is the largest change that may be, as a share: 0.1 for +10%, -0.05 for -5%.
	Limit float64
}

const ruleForm = `^(?:(read|write|trim|all) +)?(p([0-9]+(?:\.[0-9]+)?)|mean|iops) +([+-][0-9]+(?:\.[0-9]+)?)%$`

// ParseRule reads "[DIRECTION] METRIC CHANGE%", such as "read p99 +10%" or
// "iops -5%": DIRECTION is read, write, trim or all (default: each of read, write and
// trim), METRIC is p and a percentile, mean or iops, and CHANGE has its sign.
func ParseRule(text string) (Rule, error) {
	m := regexp.MustCompile(ruleForm).FindStringSubmatch(text)
	if m == nil {
		return Rule{}, fmt.Errorf(`%q: want [DIRECTION] METRIC CHANGE%%, such as "read p99 +10%%" or "iops -5%%"`, text)
	}
	r := Rule{Text: text, Direction: m[1], Metric: m[2]}
	var err error
	if r.Limit, err = strconv.ParseFloat(m[4], 64); err != nil || math.Abs(r.Limit) > 1e6 {
		return Rule{}, fmt.Errorf("%q: a change of %s %% is beyond reason", text, m[4])
	}
	r.Limit /= 100
	if m[3] != "" {
		if r.Percentile, err = strconv.ParseFloat(m[3], 64); err != nil || !(r.Percentile > 0 && r.Percentile < 100) {
			return Rule{}, fmt.Errorf("%q: want a percentile above 0 and below 100", text)
		}
		r.Metric = MetricName(r.Percentile)
	}
	if m[4][0] == '-' && r.Limit == 0 {
		r.Limit = math.Copysign(0, -1)
	}
	return r, nil
}

// Broken are the rows of a result that break the rule: those whose change is beyond
// the limit and, as far as that can be known, no chance: the confidence limits leave
// no room for none. Where there are no limits at all because the runs are too short,
// the change alone decides; a percentile in fio's last bucket breaks nothing, for
// nothing is known of its change. Checked says that there was something to check.
func (r Rule) Broken(result *Result) (broken []Row, checked bool) {
	directions := Directions[1:]
	if r.Direction != "" {
		directions = []string{r.Direction}
	}
	for _, d := range directions {
		row := result.Find(d, r.Metric)
		if row == nil || row.Change == nil && !row.AtLeast {
			continue
		}
		checked = true
		if row.AtLeast {
			continue
		}
		switch up := !math.Signbit(r.Limit); {
		case up && *row.Change > r.Limit && (row.Verdict == Higher || row.Verdict == Unknown),
			!up && *row.Change < r.Limit && (row.Verdict == Lower || row.Verdict == Unknown):
			broken = append(broken, *row)
		}
	}
	return broken, checked
}

// Percentiles are those wanted with those that rules ask for, without duplicates.
func Percentiles(wanted []float64, rules []Rule) []float64 {
	out := slices.Clone(wanted)
	for _, r := range rules {
		if r.Percentile > 0 && !slices.Contains(out, r.Percentile) {
			out = append(out, r.Percentile)
		}
	}
	return out
}
