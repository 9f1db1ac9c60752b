package outliers

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fiolat/fio"
	"fiolat/pipeline"
)

// most is how many outliers a sentence names the times of, listed and shortened how many a list has where there are
// more than listed.
const (
	most      = 4
	listed    = 20
	shortened = 10
)

// Sentence says how many outliers there are, how long they took, and when.
func (g *Group) Sentence() string {
	who := g.Direction + "s"
	if g.IOs == 1 && len(g.Outliers) > 0 {
		who = g.Direction
	}
	if g.several {
		who += " of " + g.Job
	}
	if g.IOs == 0 || len(g.Outliers) == 0 {
		return fmt.Sprintf("None of the %s took %s or longer; the longest took %s.", who,
			fio.Latency(g.AboveNS, 3), fio.Latency(g.NextNS, 2))
	}
	low, high := g.shortest, g.Longest()
	took := fio.Latency(high, 2)
	if short := fio.Latency(low, 2); low < high && short != took {
		took = short + " to " + took
	}
	when := ""
	switch o := &g.Outliers[0]; {
	case g.Period != nil:
		when = fmt.Sprintf(" every %s s from %s on", seconds(g.Period.MS), Clock(g.Period.FirstMS))
		if g.Period.IOs < g.IOs {
			when = fmt.Sprintf(" %s of them", fio.Grouped(g.Period.IOs)) + when
		}
		when = "," + when
	case g.Omitted: // not all times are known
	case len(g.Outliers) > most:
		when = fmt.Sprintf(", the first at %s, the last at %s", Clock(o.at()),
			Clock(g.Outliers[len(g.Outliers)-1].at()))
	default:
		var at []string
		for i := range g.Outliers {
			at = append(at, Clock(g.Outliers[i].at()))
		}
		when = ", at " + fio.List(at, "and")
	}
	return fmt.Sprintf("%s %s took %s%s (the next longest %s).", fio.Grouped(g.IOs), who, took, when,
		fio.Latency(g.NextNS, 2))
}

// Longest returns the longest latency in ns, 0 without outliers.
func (g *Group) Longest() (ns float64) {
	for i := range g.Outliers {
		ns = max(ns, g.Outliers[i].LongestNS)
	}
	return ns
}

// seconds formats ms as seconds to a tenth, or as exactly as they are short.
func seconds(ms float64) string {
	if ms < 1000 {
		return fio.Digits(ms/1000, 2)
	}
	return fmt.Sprintf("%.1f", ms/1000)
}

// Clock formats a time in ms to a tenth of a second.
func Clock(ms float64) string { return fio.Clock(int64(math.Floor(ms/100)) * 100) }

// Worst returns the outliers to be listed, in order of time: the longest so many, or for 0 all unless they are more
// than 20, of which the longest 10 are.
func (g *Group) Worst(n int) []Outlier {
	if n == 0 && len(g.Outliers) > listed {
		n = shortened
	}
	if n == 0 || len(g.Outliers) <= n {
		return g.Outliers
	}
	out := slices.Clone(g.Outliers)
	slices.SortStableFunc(out, func(a, b Outlier) int { return cmp.Compare(b.LongestNS, a.LongestNS) })
	out = out[:n]
	slices.SortStableFunc(out, func(a, b Outlier) int { return cmp.Compare(a.FromMS, b.FromMS) })
	return out
}

// Longest returns the groups with the longest n of all of their outliers, and of no group more.
func Longest(all []Group, n int) (out []Group) {
	var ns []float64
	for i := range all {
		for _, o := range all[i].Outliers {
			ns = append(ns, o.LongestNS)
		}
	}
	slices.SortFunc(ns, func(a, b float64) int { return cmp.Compare(b, a) })
	n = min(n, len(ns))
	ns = ns[:n]
	for _, g := range all {
		longer := 0
		for _, o := range g.Outliers {
			if at := slices.Index(ns, o.LongestNS); at >= 0 {
				ns = slices.Delete(ns, at, at+1)
				longer++
			}
		}
		if longer > 0 {
			g.Omitted = g.Omitted || longer < len(g.Outliers)
			g.Outliers = g.Worst(longer)
			out = append(out, g)
		}
	}
	return out
}

// Events returns the outliers for the documents of a run, of which the longest n are events.
func Events(all []Group, n int) *pipeline.Outliers {
	out := &pipeline.Outliers{}
	for i := range all {
		out.Found, out.IOs = out.Found+len(all[i].Outliers), out.IOs+all[i].IOs
	}
	for _, g := range Longest(all, n) {
		for _, o := range g.Outliers {
			out.Longest = append(out.Longest, pipeline.Outlier{
				Dims: fio.Dims{Direction: g.Direction, Job: g.Job}, Hosts: o.Hosts, IOs: o.IOs, Longest: o.LongestNS,
				Above: g.AboveNS, Start: int64(o.FromMS * 1e6), End: int64(o.ToMS * 1e6), Text: g.text(&o)})
		}
	}
	return out
}

// text says what an outlier is.
func (g *Group) text(o *Outlier) string {
	what := g.Direction + "s"
	if o.IOs == 1 {
		what = g.Direction
	}
	if g.Job != "" {
		what += " of " + g.Job
	}
	took, on := " took ", ""
	if o.IOs > 1 {
		took += "up to "
	}
	if len(o.Hosts) > 0 {
		on = " on " + fio.Some(o.Hosts)
	}
	return fmt.Sprintf("%s %s%s%s%s, %s to %s", fio.Grouped(o.IOs), what, took, fio.Latency(o.LongestNS, 2), on,
		Clock(o.FromMS), Clock(o.ToMS))
}
