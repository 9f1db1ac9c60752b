package compare

import (
	"fmt"

	"fiolat/fio"
)

// Words is a row's change, limits, noise and verdict as text.
type Words struct{ Change, Limits, RunNoise, Verdict string }

// Words formats a row of the result.
func (r *Result) Words(row *Row) Words {
	w := Words{Change: Percent(row.Change), Limits: "-", RunNoise: NoiseText(row.RunNoise),
		Verdict: string(row.Verdict)}
	if row.Low != nil {
		w.Limits = Percent(row.Low) + " to " + Percent(row.High)
	}
	switch {
	case row.RunNoise == nil:
	case row.NoiseGiven:
		w.RunNoise += fmt.Sprintf(" (given, %s)", fio.Several(row.NoiseRuns, "run"))
	default:
		w.RunNoise += fmt.Sprintf(" (%d+%d runs)", r.Baseline.Runs, r.Other.Runs)
	}
	switch {
	case row.AtLeast:
		w.Verdict += ": beyond fio's last bucket"
	case row.Advice != "":
		w.Verdict += ": needs " + row.Advice
	case r.Steady && row.Verdict != Inconclusive:
		w.Verdict += ", if the machine was steady"
	}
	return w
}

// Percent writes ratios above factorFrom as a factor. Above mostFactor or below 1/mostFactor it gives only that
// bound.
const (
	factorFrom = 3
	mostFactor = 100
)

// Percent formats a change given as a share.
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

// NoiseText formats a standard deviation given as a share.
func NoiseText(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f %%", *v*100)
}
