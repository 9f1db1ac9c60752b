package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"fiolat/fio"
)

// Diagnosis is the result for a run.
type Diagnosis struct {
	Run        string  `json:"run"`
	Kind       string  `json:"kind"`
	IntervalMS float64 `json:"interval_ms"`
	Quanta     int     `json:"quanta"`
	// Findings are all results as text, the worst first. There is always at least one.
	Findings   []Finding   `json:"findings"`
	Stragglers []Straggler `json:"stragglers"`
	// Suspect is who may be a straggler, if no straggler is in its direction.
	Suspect  *Straggler `json:"suspect,omitempty"`
	Levels   []Level    `json:"levels,omitempty"`
	Stalls   []Stall    `json:"stalls"`
	Segments []Segment  `json:"segments"`
	Load     *Load      `json:"concurrency"`
}

// Sentences returns the texts of the findings, the worst first.
func (d *Diagnosis) Sentences() (out []string) {
	for _, f := range d.Findings {
		out = append(out, f.Text)
	}
	return out
}

// Finding is a sentence and the numbers behind it.
type Finding struct {
	// About is straggler, stall, end, incident, shift, ramp, period, suspect, warm-up, steady, concurrency or nothing.
	About string `json:"about"`
	// Factor is how much worse something is than it would be otherwise: the percentile, p99 or the I/Os per second.
	Factor float64 `json:"factor,omitempty"`
	// Confidence is 1 minus the probability that chance explains the finding, at most 0.999999. For an incident it is
	// the least confidence of any incident; 0 if unknown.
	Confidence float64 `json:"confidence,omitempty"`
	Text       string  `json:"text"`
	// FromMS and ToMS are its time from the run's start; both 0 if it is about the whole run.
	FromMS int64 `json:"-"`
	ToMS   int64 `json:"-"`
	// Stalled are the hosts that completed nothing in that time.
	Stalled []string `json:"-"`
}

// maxListed limits the lists of findings, stragglers and segments in the document of a run.
const maxListed = 100

// Stored is a Diagnosis for the document of a run: limited in size, and without fields that the document has itself.
type Stored struct {
	Findings   []Finding   `json:"findings"`
	Stragglers []Straggler `json:"stragglers"`
	Suspect    *Straggler  `json:"suspect,omitempty"`
	Levels     []Level     `json:"levels,omitempty"`
	Stalls     []Stall     `json:"stalls"`
	Segments   []Segment   `json:"segments"`
	Load       *Load       `json:"concurrency"`
	// Omitted is the number of entries left out of the lists together.
	Omitted int `json:"omitted,omitempty"`
}

// storedPart is what the document of a part has of a diagnosis.
type storedPart struct {
	Stalls []Stall `json:"stalls"`
}

// IsDiagnosis implements pipeline.Diagnosis.
func (*Stored) IsDiagnosis() {}

// IsDiagnosis implements pipeline.Diagnosis.
func (*storedPart) IsDiagnosis() {}

// Stored returns the stored form of d: the worst findings and stragglers, and the earliest stalls and segments.
func (d *Diagnosis) Stored() *Stored {
	s := &Stored{Findings: d.Findings, Stragglers: d.Stragglers, Suspect: d.Suspect, Levels: d.Levels,
		Stalls: d.Stalls, Segments: d.Segments, Load: d.Load}
	s.Findings, s.Omitted = limited(s.Findings, s.Omitted)
	s.Stragglers, s.Omitted = limited(s.Stragglers, s.Omitted)
	s.Stalls, s.Omitted = limited(s.Stalls, s.Omitted)
	s.Segments, s.Omitted = limited(s.Segments, s.Omitted)
	return s
}

// limited returns the start of a list, and adds to omitted the number of the others.
func limited[T any](list []T, omitted int) ([]T, int) {
	n := min(len(list), maxListed)
	return list[:n], omitted + len(list) - n
}

// Diagnose combines the results. secondPass has completed the stragglers if there was one.
func (w *Watch) Diagnose(stragglers []Straggler, notes []Note) *Diagnosis {
	if w.run.Timeless() {
		return &Diagnosis{Run: w.run.ID, Kind: w.run.Kind.String(), IntervalMS: float64(w.run.Interval) / 1e6,
			Quanta: w.quanta, Stragglers: []Straggler{}, Stalls: []Stall{}, Segments: []Segment{},
			Findings: []Finding{{About: "nothing", Text: "There is only fio's JSON, which has no times of I/Os: " +
				"without logs there is no diagnosis."}}}
	}
	d := &Diagnosis{Run: w.run.ID, Kind: w.run.Kind.String(), IntervalMS: float64(w.run.Interval) / 1e6,
		Quanta: w.quanta, Stragglers: append([]Straggler{}, stragglers...),
		Stalls: append([]Stall{}, w.Stalls()...), Load: w.Load()}
	d.Levels = w.peers.Levels()
	for i := range d.Levels {
		d.Stragglers = slices.DeleteFunc(d.Stragglers, d.Levels[i].tells)
	}
	w.timeline.ownIOs(d.Stalls)
	d.Segments = append([]Segment{}, w.timeline.Segments(w.running)...)
	var context []Finding
	for i := range d.Segments {
		s := &d.Segments[i]
		last := !slices.ContainsFunc(d.Segments[i+1:], func(o Segment) bool { return o.Direction == s.Direction })
		switch {
		case s.Kind == Incident, s.from != nil && s.Kind != Steady:
			s.Notes = leadingTo(s, notes, w.run.Interval)
		case s.Kind == WarmUp:
			context = append(context, Finding{About: WarmUp, Text: fmt.Sprintf(
				"%s warmed up until %s: %s.", plural(s.Direction), fio.Clock(s.ToMS), s.Why)})
		case s.Kind == Steady && last && s.P99 != nil && s.FromMS > d.Segments[0].FromMS:
			context = append(context, Finding{About: Steady, Text: fmt.Sprintf("%s are steady since %s: p50 %s, "+
				"p99 %s, %s IOPS.", plural(s.Direction), fio.Clock(s.FromMS), latency(*s.P50), latency(*s.P99),
				number(s.IOPS))})
		}
	}
	d.Findings = append(w.findings(d), w.shortened()...)
	slices.SortStableFunc(d.Findings, func(a, b Finding) int { return cmp.Compare(b.Factor, a.Factor) })
	if len(d.Findings) == 0 {
		d.Findings = []Finding{w.nothing()}
	}
	if s := w.suspect(d); s != nil {
		d.Suspect = s
		d.Findings = append(d.Findings, s.suspicion())
	}
	d.Findings = append(d.Findings, context...)
	if d.Load != nil {
		d.Findings = append(d.Findings, Finding{About: "concurrency", Text: d.Load.Text})
	}
	return d
}

// nothing says that nothing stands out, and among how many hosts, jobs and logs.
func (w *Watch) nothing() Finding {
	var among []string
	for dimension, name := range dimensions {
		most := 0
		for _, g := range w.peers.groups {
			if g.dimension == dimension {
				most = max(most, len(g.values))
			}
		}
		if most > 1 {
			among = append(among, fmt.Sprintf("%d %ss", most, name))
		}
	}
	text := fmt.Sprintf("Nothing stands out in %s of %s", fio.Several(w.quanta, "quantum"),
		seconds(float64(w.run.Interval)/1e9))
	if len(among) > 0 {
		text += ", among " + strings.Join(among, " and ")
	}
	if w.quanta < minQuanta {
		text = fmt.Sprintf("Too short for a diagnosis: %s of %s, where at least %d are needed; see --interval",
			fio.Several(w.quanta, "quantum"), seconds(float64(w.run.Interval)/1e9), minQuanta)
	} else {
		text += fmt.Sprintf(" (no more than %g %% of findings would be false)", falseDiscoveries*100)
	}
	return Finding{About: "nothing", Text: text + "."}
}

func plural(direction string) string {
	return strings.ToUpper(direction[:1]) + direction[1:] + "s"
}

func seconds(s float64) string { return number(s) + " s" }

func percent(share float64) string { return number(share*100) + " %" }

// mostCertain is the highest confidence that the normal approximation supports.
const mostCertain = 0.999999

func confidence(p float64) float64 { return min(1-p, mostCertain) }

func (s *Straggler) finding() Finding {
	factor := s.Lift
	if s.Pooled != nil && s.Without != nil {
		factor = *s.Pooled / max(*s.Without, 1)
	}
	if s.atLoad && s.Percentile == 50 {
		factor = max(factor, *s.Factor)
	}
	return Finding{About: "straggler", Factor: factor, Confidence: confidence(s.P),
		Text: s.text() + "; confidence " + certain(s.P) + "."}
}

// text is the finding without its confidence.
func (s *Straggler) text() string {
	name := fmt.Sprintf("p%g", s.Percentile)
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s has ", s.Dimension, s.Value)
	slow := s.atLoad && s.Percentile == 50 // its share of the I/Os above p50 may be small
	if slow {
		fmt.Fprintf(&text, "%s times its peers' median at its load (%s to %s), ", number(*s.Factor),
			number(*s.FactorLow), number(*s.FactorHigh))
	}
	fmt.Fprintf(&text, "%s of the %ss above %s and %s of all: %s times its share (%s to %s)", percent(s.Share),
		s.Direction, name, percent(s.Expected), number(s.Lift), number(s.LiftLow), number(s.LiftHigh))
	switch {
	case s.Pooled == nil:
	case s.Without == nil:
		fmt.Fprintf(&text, "; %s is %s", name, latency(*s.Pooled))
	default:
		fmt.Fprintf(&text, "; %s is %s, without it %s", name, latency(*s.Pooled), latency(*s.Without))
	}
	if !slow && s.Factor != nil && *s.Factor >= minFactor {
		fmt.Fprintf(&text, "; its median is %s times its peers' (%s to %s)", number(*s.Factor), number(*s.FactorLow),
			number(*s.FactorHigh))
		if s.atLoad {
			text.WriteString(" at its load")
		}
	}
	if s.Ranked != nil {
		fmt.Fprintf(&text, "; it has %s", s.Ranked.say())
	}
	fmt.Fprintf(&text, "; from %s to %s, in %s", fio.Clock(s.SinceMS), fio.Clock(s.UntilMS),
		fio.Several(s.Quanta, "quantum"))
	if s.Recovered {
		text.WriteString(", but not afterwards")
	}
	return text.String()
}

func certain(p float64) string {
	if 1-p > mostCertain {
		return "over 99.9999 %"
	}
	return fmt.Sprintf("%.6g %%", math.Floor((1-p)*1e6)/1e4)
}

// likely is a finding about segments.
func likely(about string, factor float64, text string) Finding {
	return Finding{About: about, Factor: factor, Confidence: confidence(incidentAlpha),
		Text: text + "; confidence over " + certain(incidentAlpha) + "."}
}

// incidentFinding returns the finding of an incident alone.
func (t *teller) incidentFinding(s *Segment) Finding {
	return likely(Incident, t.worse(s), t.incident([]*Segment{s}))
}

// worse returns by which factor an incident is worse than the steady level.
func (t *teller) worse(s *Segment) float64 {
	factor, steady := 1.0, steadyOf(s, t.Segments)
	if steady == nil {
		return factor
	}
	if s.WorstP99 != nil && steady.P99 != nil {
		factor = *s.WorstP99 / max(*steady.P99, 1)
	}
	return max(factor, steady.IOPS/max(steady.IOPS-s.LostIOPS, steady.IOPS/100))
}

// incident describes incidents of one time, with how long the run took to recover.
func (t *teller) incident(of []*Segment) string {
	worst, from, to, beyond := of[0], of[0].FromMS, of[0].ToMS, 0.0
	var directions, notes []string
	var p99 *float64
	lasts, recovery := false, int64(0)
	for _, s := range of {
		if t.worse(s) > t.worse(worst) {
			worst = s
		}
		from, to, beyond = min(from, s.FromMS), max(to, s.ToMS), beyond+s.Beyond
		if name := s.Direction + "s"; !slices.Contains(directions, name) {
			directions = append(directions, name)
		}
		if s.WorstP99 != nil && (p99 == nil || *s.WorstP99 > *p99) {
			p99 = s.WorstP99
		}
		for _, n := range s.Notes {
			if text := n.said(); !slices.Contains(notes, text) {
				notes = append(notes, text)
			}
		}
		after := slices.IndexFunc(t.Segments, func(o Segment) bool {
			return o.Direction == s.Direction && o.FromMS == s.ToMS
		})
		if after < 0 {
			lasts = true
		} else if o := &t.Segments[after]; o.Kind == Recovery {
			recovery = max(recovery, o.ToMS-o.FromMS)
		}
	}
	text := fmt.Sprintf("%s from %s to %s (within %s)", fio.List(directions, "and"), fio.Clock(from), fio.Clock(to),
		seconds(t.IntervalMS/1000))
	text = strings.ToUpper(text[:1]) + text[1:]
	if len(directions) > 1 {
		text += ", most of all " + worst.Direction + "s"
	}
	text += ": " + worst.Why
	if p99 != nil {
		text += "; worst p99 " + latency(*p99)
	}
	text += fmt.Sprintf("; %s I/Os beyond the steady p99.9", number(math.Round(beyond))) + strings.Join(notes, "")
	switch {
	case lasts:
		return text + "; it lasts to the end"
	case recovery > 0:
		return text + "; recovered after " + seconds(float64(recovery)/1000)
	}
	return text + "; recovered at once"
}

const (
	// From full of the limit on, a queue counts as always full; below slack, as not full.
	full, slack = 0.9, 0.75
)

func (l *Load) say() string {
	if l.Limit == nil {
		return fmt.Sprintf("%s I/Os are in flight on average.", number(l.Mean))
	}
	text := fmt.Sprintf("%s of %s I/Os are in flight on average", number(l.Mean), number(*l.Limit))
	switch share := l.Mean / *l.Limit; {
	case share >= full:
		return text + ": the queue is always full (closed loop), so latency depends on the queue depth."
	case share < slack:
		return text + ": the load is the limit, not the device."
	}
	return text + "."
}
