package esmodel

import (
	"slices"

	"fiolat/fio"
	"fiolat/fio/sla"
	"fiolat/internal/jsonw"
	"fiolat/pipeline"
)

// slaField is the part of a run's document about its SLA rules.
type slaField struct {
	State    sla.Status     `json:"state"`
	Rules    []string       `json:"rules"`
	Broken   []string       `json:"broken,omitempty"`
	Unknown  []string       `json:"unknown,omitempty"`
	Outcomes []outcomeField `json:"outcomes"`
}

type outcomeField struct {
	Rule      string     `json:"rule"`
	Scope     string     `json:"scope"`
	Host      string     `json:"host,omitempty"`
	Direction string     `json:"direction"`
	Status    sla.Status `json:"status"`
	OK        int        `json:"ok"`
	Broken    int        `json:"broken"`
	Unknown   int        `json:"unknown"`
	Breaches  int        `json:"breaches"`
	Share     *number    `json:"share,omitempty"`
	Worst     *number    `json:"worst,omitempty"`
	WorstMS   *number    `json:"worst_offset_ms,omitempty"`
}

// outcomes returns nil without rules.
func outcomes(sum *pipeline.Summary) *slaField {
	if len(sum.SLA) == 0 {
		return nil
	}
	f := &slaField{State: sla.OK}
	for _, o := range sum.SLA {
		status := o.Status()
		f.Rules = append(f.Rules, o.Rule.Text)
		switch status {
		case sla.Broken:
			f.State = sla.Broken
			f.Broken = append(f.Broken, o.Rule.Text)
		case sla.Unknown:
			if f.State == sla.OK {
				f.State = sla.Unknown
			}
			f.Unknown = append(f.Unknown, o.Rule.Text)
		}
		x := outcomeField{
			Rule:      o.Rule.Text,
			Scope:     o.Scope,
			Host:      o.Dims.Host,
			Direction: o.Dims.Direction,
			Status:    status,
			OK:        o.OK,
			Broken:    o.Broken,
			Unknown:   o.Unknown,
			Breaches:  o.Breaches,
		}
		if o.Whole.Share >= 0 {
			x.Share = new(number(rounded(o.Whole.Share, billionth)))
		}
		if o.Worst.Known {
			worst, at := number(figure(o.Rule.Metric, o.Worst.Value)), number(float64(o.WorstAt)/1e6)
			x.Worst, x.WorstMS = &worst, &at
		}
		f.Outcomes = append(f.Outcomes, x)
	}
	for _, l := range []*[]string{&f.Rules, &f.Broken, &f.Unknown} { // hosts have the same rules
		slices.Sort(*l)
		*l = slices.Compact(*l)
	}
	return f
}

// figure returns the value of a metric as documents have it.
func figure(m fio.Metric, v float64) float64 {
	if m.Latency() {
		return rounded(v, tenth)
	}
	return rounded(v, thousandth)
}

// withSLA appends the verdicts on a row.
func withSLA(b jsonw.Object, verdicts []sla.Verdict) jsonw.Object {
	b = b.Open("sla").Array("verdicts")
	var rules, broken, unknown []string
	least := 2.0
	limits := map[string]float64{} // the strictest on each percentile
	var names []string
	for i := range verdicts {
		v := &verdicts[i]
		r := v.Rule
		b = b.Begin().Text("rule", r.Text).Text("status", string(v.Status))
		if v.Known {
			b = b.Number("value", figure(r.Metric, v.Value))
		}
		b = b.Number("threshold", r.Threshold)
		if v.Share >= 0 {
			least = min(least, v.Share)
			b = b.Number("share", rounded(v.Share, billionth))
		}
		b = b.True("stalled", v.Stalled).Number("window_ms", float64(v.Window)/1e6).End()
		switch rules = append(rules, r.Text); v.Status {
		case sla.Broken:
			broken = append(broken, r.Text)
		case sla.Unknown:
			unknown = append(unknown, r.Text)
		}
		if r.Percentile == 0 || r.Above {
			continue
		}
		name := PercentileName(r.Percentile)
		if limit, ok := limits[name]; !ok || r.Threshold < limit {
			if !ok {
				names = append(names, name)
			}
			limits[name] = r.Threshold
		}
	}
	b = b.EndArray().Texts("rules", rules).Texts("broken", broken).Texts("unknown", unknown)
	if least <= 1 {
		b = b.Number("share", rounded(least, billionth))
	}
	for i, name := range names {
		if i == 0 {
			b = b.Open("limit")
		}
		b = b.Number(name, limits[name])
	}
	if len(names) > 0 {
		b = b.End()
	}
	return b.End()
}
