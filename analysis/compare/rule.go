package compare

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
)

// Rule is a condition of --fail-if: the largest change that is allowed.
type Rule struct {
	// Text is the rule as it was given.
	Text string
	// Metric may lack a direction, for each.
	fio.Metric
	// Outliers says that it is about I/Os that take Above ns or longer, 0 for the usual threshold.
	Outliers bool
	Above    int64
	// Limit is the largest change allowed, as a share: 0.1 for +10%, -0.05 for -5%.
	Limit float64
}

// metrics are those that are compared.
var metrics = fio.Metrics{Names: fio.FigureNames(fio.OfComparison), NoSyncs: true}

// ParseRule reads "[DIRECTION] METRIC CHANGE%", such as "read p99 +10%" or
// "iops -5%": DIRECTION is one of fio.RowDirections (default: each but all),
// METRIC is p and a percentile, mean or iops, and CHANGE has its sign.
func ParseRule(text string) (Rule, error) {
	metric, change := text, ""
	if at := strings.LastIndexAny(text, " \t"); at >= 0 {
		metric, change = text[:at], text[at+1:]
	}
	number, ok := strings.CutSuffix(change, "%")
	digits := strings.TrimLeft(number, "+-")
	if !ok || len(number) != len(digits)+1 || strings.Trim(digits, "0123456789.") != "" {
		return Rule{}, fmt.Errorf(`%q: want [DIRECTION] METRIC CHANGE%%, such as "read p99 +10%%" or "iops -5%%"`, text)
	}
	limit, err := strconv.ParseFloat(number, 64)
	if err != nil || math.Abs(limit) > 1e6 {
		return Rule{}, fmt.Errorf("%q: want a change from -1000000%% to +1000000%%", text)
	}
	if match := outlierRule.FindStringSubmatch(metric); match != nil {
		r := Rule{Text: text, Metric: fio.Metric{Direction: match[1]}, Outliers: true, Limit: limit / 100}
		if match[2] != "" {
			d, bad := time.ParseDuration(match[2])
			r.Above = d.Nanoseconds()
			if bad != nil || d <= 0 {
				return r, fmt.Errorf("%q: want a latency such as 1ms", text)
			}
		}
		return r, nil
	}
	m, err := metrics.Parse(metric)
	return Rule{Text: text, Metric: m, Limit: limit / 100}, err
}

// outlierRule matches a rule's metric that is no figure.
var outlierRule = regexp.MustCompile(`^(?:(read|write|trim) )?outliers(?: above (\S+))?$`)

// Ruling is the result of a rule for a comparison.
type Ruling struct {
	Rule   string `json:"rule"`
	Run    string `json:"run"`
	Host   string `json:"host,omitempty"`
	Job    string `json:"job,omitempty"`
	Failed bool   `json:"failed"`
	// Undecided says why a rule that did not fail cannot be said to hold, either.
	Undecided string `json:"undecided,omitempty"`
	// Broken are the rows that break it, with their limits at GateConfidence.
	Broken []Row `json:"broken,omitempty"`
}

// Judge checks the rules, and gives the rows that they are about the limits and verdicts by which they are judged. A
// row breaks a rule if its change is beyond the rule's limit and its confidence limits exclude no change. These are
// joint limits at GateConfidence of all rows that the rules are about, whatever is shown. If a row has no limits, as in
// runs that are too short, the change alone decides. A percentile in fio's last bucket breaks no rule, since its change
// is unknown. A rule is undecided if a row would break it had the machine not drifted, but the runs were not
// alternated. A rule that matches no row has no Ruling. Judge fails if there are too few runs to measure the noise
// between them and none is given.
func (r *Result) Judge(rules []Rule, o Options) ([]Ruling, error) {
	var family []int
	rows := make([][]int, len(rules))
	for n, rule := range rules {
		if rule.Outliers {
			continue
		}
		about := directions[1:]
		if rule.Direction != "" {
			about = []string{rule.Direction}
		}
		for _, d := range about {
			i := r.find(d, rule.Name)
			if i < 0 || r.all[i].Change == nil && !r.all[i].AtLeast {
				continue
			}
			if sigma(o.RunNoise, r.all[i].Direction, rule.Name) == nil && !r.enoughRuns {
				return nil, &unknownNoise{Rule: rule, Row: r.all[i]}
			}
			rows[n] = append(rows[n], i)
			r.all[i].Ruled = true
			if r.all[i].Change != nil && !slices.Contains(family, i) {
				family = append(family, i)
			}
		}
	}
	alpha := r.alpha(family, GateConfidence)
	for _, i := range family {
		r.all[i].Confidence = GateConfidence
		r.verdict(&r.all[i], r.estimate[i], alpha, o.Margin)
	}
	var out []Ruling
	for n, rule := range rules {
		if len(rows[n]) == 0 {
			continue
		}
		ruling := Ruling{Rule: rule.Text, Run: r.Other.Name, Host: r.Host, Job: r.Job}
		var open []string
		for _, i := range rows[n] {
			row, up := &r.all[i], !math.Signbit(rule.Limit)
			switch {
			case row.Change == nil || up && *row.Change <= rule.Limit || !up && *row.Change >= rule.Limit:
			case row.Low == nil || up && *row.Low > 0 || !up && *row.High < 0:
				row.Verdict, row.Advice = map[bool]Verdict{true: Higher, false: Lower}[up], ""
				ruling.Broken = append(ruling.Broken, *row)
			case r.estimate[i].steady.certain(up, alpha):
				open = append(open, fmt.Sprintf("%s %s %s", row.Direction, row.Metric, Percent(row.Change)))
			}
		}
		ruling.Failed = len(ruling.Broken) > 0
		if !ruling.Failed && len(open) > 0 {
			ruling.Undecided = strings.Join(open, ", ") + ", a change or a drift of the machine"
		}
		out = append(out, ruling)
	}
	for _, rule := range rules {
		if ruling, ok := r.judgeOutliers(&rule); ok {
			out = append(out, ruling)
		}
	}
	r.show()
	return out, nil
}

// judgeOutliers judges a rule about single slow I/Os: their limits are exact, and need no repeats.
func (r *Result) judgeOutliers(rule *Rule) (out Ruling, ok bool) {
	out = Ruling{Rule: rule.Text, Run: r.Other.Name, Host: r.Host, Job: r.Job}
	for d := range directions {
		if !rule.Outliers || d == 0 || rule.Direction != "" && rule.Direction != directions[d] {
			continue
		}
		s := r.slow(d, float64(rule.Above))
		if s == nil {
			continue
		}
		ok = true
		known := func(o Slow) bool { return o.Direction == s.Direction && o.AboveNS == s.AboveNS }
		if !slices.ContainsFunc(r.Outliers, known) {
			r.Outliers = append(r.Outliers, *s)
		}
		change := math.Inf(1)
		if s.Factor != nil {
			change = *s.Factor - 1
		} else if s.Other == 0 {
			change = -1
		}
		up := !math.Signbit(rule.Limit)
		if up && change <= rule.Limit || !up && change >= rule.Limit || s.Baseline+s.Other == 0 {
			continue
		}
		switch {
		case s.scattered:
			out.Undecided = s.String()
		case s.Verdict == map[bool]Verdict{true: Higher, false: Lower}[up]:
			row := Row{Direction: s.Direction, Metric: "outliers above " + fio.Latency(s.AboveNS, 3),
				Baseline: &s.Baseline, Other: &s.Other, Verdict: s.Verdict, Confidence: Confidence, Ruled: true}
			if !math.IsInf(change, 0) {
				row.Change = &change
			}
			out.Broken = append(out.Broken, row)
		}
	}
	out.Failed = len(out.Broken) > 0
	if out.Failed {
		out.Undecided = ""
	}
	return out, ok
}

// certain reports whether the limits at the error probability alpha lie above no change, or below it.
func (e *estimate) certain(above bool, alpha float64) bool {
	return e != nil && e.center > 0 == above && math.Abs(e.center) > fiohist.StudentQuantile(alpha, e.freedom)*e.se
}

// unknownNoise is the error for a rule on a row whose noise between runs is neither measured nor given.
type unknownNoise struct {
	Rule Rule
	Row  Row
}

func (e *unknownNoise) Error() string {
	return fmt.Sprintf("--fail-if %q: the run-to-run variation of %s %s is unknown: compare %d runs per side, or one "+
		"run against %d baseline runs, or pass --run-noise '%s=P%%' (fiolat compare DIR prints it if DIR holds "+
		"several runs)",
		e.Rule.Text, e.Row.Direction, e.Row.Metric, fewRuns, BaselineRuns, e.Row.Metric)
}

// percentilesOf returns the wanted percentiles and those of the rules, without duplicates.
func percentilesOf(wanted []float64, rules []Rule) []float64 {
	out := slices.Clone(wanted)
	for _, r := range rules {
		if r.Percentile > 0 && !slices.Contains(out, r.Percentile) {
			out = append(out, r.Percentile)
		}
	}
	return out
}
