package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fiolat/fio"
)

// unknown stands for limits that are not known.
const unknown = "-"

// Words is a row's change, limits, noise and verdict as text.
type Words struct{ Change, Limits, RunNoise, Verdict string }

// Certain is a change with its limits, if these say more.
func (w Words) Certain() string {
	switch w.Limits {
	case w.Change:
		return w.Change
	case unknown:
		return w.Change + " (limits unknown)"
	}
	return w.Change + " (" + w.Limits + ")"
}

// Words formats a row of the result.
func (r *Result) Words(row *Row) Words {
	w := Words{Change: Percent(row.Change), Limits: unknown, RunNoise: NoiseText(row.RunNoise),
		Verdict: string(row.Verdict)}
	if row.Low != nil {
		w.Limits = Percent(row.Low)
		if w.Limits != Percent(row.High) {
			w.Limits += " to " + Percent(row.High)
		}
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
	case row.Verdict == Inconclusive:
	case row.noNoise():
		w.Verdict += "?"
	case r.Steady:
		w.Verdict += ", if the machine was steady"
	}
	return w
}

// Largest returns the row that differs most in several comparisons, and its comparison: the largest change that is
// certain, or else the largest inconclusive one beyond the margin; nil without either. The sum of all directions comes
// last.
func Largest(results []*Result) (of *Result, largest *Row) {
	most := [3]float64{}
	for _, r := range results {
		for i := range r.Rows {
			row := &r.Rows[i]
			if row.Change == nil || row.Verdict == Same ||
				row.Verdict == Inconclusive && math.Abs(*row.Change) <= r.margin {
				continue
			}
			rank := [3]float64{0, math.Abs(math.Log1p(*row.Change)), 0}
			if row.Verdict != Inconclusive {
				rank[0] = 1
			}
			if row.Direction != fio.All {
				rank[2] = 1
			}
			if slices.Compare(rank[:], most[:]) > 0 {
				of, largest, most = r, row, rank
			}
		}
	}
	return of, largest
}

// Lead says in one sentence how the other side differs: what most, and how many more rows certainly do.
func (r *Result) Lead() string {
	name := r.Other.Name
	_, most := Largest([]*Result{r})
	if most == nil {
		for i := range r.Rows {
			if r.Rows[i].Verdict != Same {
				return "No metric of " + name + " is certainly different."
			}
		}
		text := fmt.Sprintf("%s is the same within %g %%", name, 100*r.margin)
		if r.Rows[0].noNoise() {
			text += " (" + noRunNoise + ")"
		}
		if slices.ContainsFunc(r.Outliers, func(s Slow) bool { return s.Verdict != Inconclusive }) {
			text += ", but for single slow I/Os"
		}
		return r.once(text) + "."
	}
	change := fmt.Sprintf("%s %s %s", most.Direction, most.Metric, r.Words(most).Certain())
	if most.Verdict == Inconclusive {
		return fmt.Sprintf("No metric of %s is certainly different; most, perhaps: %s.", name, change)
	}
	how := "slower"
	if better := fio.FigureOf(most.Metric).Better; (most.Verdict == Higher) == (better == fio.Higher) {
		how = "faster"
	}
	more := -1
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Direction != fio.All && (row.Verdict == Higher || row.Verdict == Lower) {
			more++
		}
	}
	rest := "nothing else differs"
	switch {
	case more == 1:
		rest = "1 more row is, too"
	case more > 1:
		rest = fmt.Sprintf("%d more rows are, too", more)
	}
	sure := "certain"
	switch {
	case most.noNoise():
		sure = noRunNoise
	case r.Caveat != "":
		sure = "beyond the noise of these few runs"
	}
	return fmt.Sprintf("%s: %s, %s; %s.", r.once(name+" is "+how), change, sure, rest)
}

// noRunNoise says what limits do not hold that come from the noise within the runs.
const noRunNoise = "run-to-run noise is not in these limits"

func (r *Result) oneASide() bool { return r.Baseline.Runs == 1 && r.Other.Runs == 1 }

// once limits a statement to the two runs that it is about, if there are no more.
func (r *Result) once(text string) string {
	if r.oneASide() {
		return "In one run a side, " + text
	}
	return text
}

// noNoise reports whether the limits of a row lack the noise between runs, so that repeats may differ as much.
func (row *Row) noNoise() bool { return row.Change != nil && row.RunNoise == nil }

// Certain reports whether a row is known to differ, also from other runs of the two sides.
func (r *Result) Certain(row *Row) bool {
	return (row.Verdict == Higher || row.Verdict == Lower) && !row.noNoise()
}

// Sentence tells a change: from what to what, its limits, and why it is inconclusive.
func (r *Result) Sentence(row *Row, value func(metric string, v *float64) string) string {
	w := r.Words(row)
	why := w.Limits
	switch note, _, _ := strings.Cut(r.Note, "\n"); {
	case row.Verdict != Inconclusive:
	case row.Low != nil:
		why += ", " + w.Verdict
	case note != "":
		why = w.Verdict + ": " + note
	default:
		why = w.Verdict
	}
	w.Limits = why
	text := fmt.Sprintf("%s %s from %s to %s, %s", row.Direction, row.Metric, value(row.Metric, row.Baseline),
		value(row.Metric, row.Other), w.Certain())
	if row.Verdict != Inconclusive && row.noNoise() {
		why = noRunNoise
		if r.oneASide() {
			why = "one run a side: " + why
		}
		text += "; " + why
	}
	return text
}

// Value formats a value of a metric; "-" if it is unknown.
func Value(metric string, v *float64) string {
	switch {
	case v == nil:
		return "-"
	case fio.FigureOf(metric).Unit == fio.PerSecond:
		return fio.Digits(*v, 5) + "/s"
	}
	return fio.Latency(*v, 4)
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
