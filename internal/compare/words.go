package compare

import "fmt"

// Words are a row's change and what is known of it, as people read them.
type Words struct{ Change, Limits, RunNoise, Verdict string }

// Words says them of a row of the result.
func (r *Result) Words(row *Row) Words {
	w := Words{Change: Percent(row.Change), Limits: "-", RunNoise: NoiseText(row.RunNoise),
		Verdict: string(row.Verdict)}
	if row.Low != nil {
		w.Limits = Percent(row.Low) + " to " + Percent(row.High)
	}
	switch {
	case row.RunNoise == nil:
	case row.NoiseGiven:
		w.RunNoise += " (given)"
	default:
		w.RunNoise += fmt.Sprintf(" (%d+%d runs)", r.Baseline.Runs, r.Other.Runs)
	}
	switch {
	case row.AtLeast:
		w.Verdict += ": beyond fio's last bucket"
	case row.Advice != "":
		w.Verdict += ": takes " + row.Advice
	}
	return w
}

// factorFrom is the change from which on a factor says more than a percentage, and mostFactor the
// one from which on, up or down, more digits say nothing.
const (
	factorFrom = 3
	mostFactor = 100
)

// Percent is a share as people write a change.
func Percent(v *float64) string {
	switch {
	case v == nil:
		return "-"
	case 1+*v > mostFactor:
		return fmt.Sprintf("over x%d", mostFactor)
	case 1+*v > factorFrom:
		return fmt.Sprintf("x%.2f", 1+*v)
	case 1+*v < 1.0/mostFactor:
		return fmt.Sprintf("under -%d %%", 100-100/mostFactor)
	}
	return fmt.Sprintf("%+.2f %%", *v*100)
}

// NoiseText is a standard deviation as a share.
func NoiseText(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f %%", *v*100)
}
