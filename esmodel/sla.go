package esmodel

import (
	"slices"

	"fiolat/fio"
	"fiolat/fio/sla"
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
			x.Share = new(number(o.Whole.Share))
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

// appendSLA appends the verdicts on a row.
func (e *Encoder) appendSLA(dst []byte, verdicts []sla.Verdict) []byte {
	list := func(name string, of func(v *sla.Verdict) bool) {
		sep := byte('[')
		for i := range verdicts {
			if v := &verdicts[i]; of(v) {
				if sep == '[' {
					dst = append(append(append(dst, ',', '"'), name...), '"', ':')
				}
				dst = AppendString(append(dst, sep), v.Rule.Text)
				sep = ','
			}
		}
		if sep == ',' {
			dst = append(dst, ']')
		}
	}
	dst = append(dst, `,"sla":{"verdicts":[`...)
	share := 2.0
	for i := range verdicts {
		if i > 0 {
			dst = append(dst, ',')
		}
		v := &verdicts[i]
		dst = AppendString(append(dst, `{"rule":`...), v.Rule.Text)
		dst = append(append(append(dst, `,"status":"`...), v.Status...), '"')
		if v.Known {
			dst = appendFloat(append(dst, `,"value":`...), figure(v.Rule.Metric, v.Value))
		}
		dst = appendFloat(append(dst, `,"threshold":`...), v.Rule.Threshold)
		if v.Share >= 0 {
			share = min(share, v.Share)
			dst = appendFloat(append(dst, `,"share":`...), v.Share)
		}
		if v.Stalled {
			dst = append(dst, `,"stalled":true`...)
		}
		dst = appendFloat(append(dst, `,"window_ms":`...), float64(v.Window)/1e6)
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	list("rules", func(*sla.Verdict) bool { return true })
	list("broken", func(v *sla.Verdict) bool { return v.Status == sla.Broken })
	list("unknown", func(v *sla.Verdict) bool { return v.Status == sla.Unknown })
	if share <= 1 {
		dst = appendFloat(append(dst, `,"share":`...), share)
	}
	limits := map[string]float64{} // the strictest on each percentile
	var names []string
	for i := range verdicts {
		r := verdicts[i].Rule
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
	for i, name := range names {
		sep := `,"`
		if i == 0 {
			sep = `,"limit":{"`
		}
		dst = appendFloat(append(append(append(dst, sep...), name...), '"', ':'), limits[name])
	}
	if len(names) > 0 {
		dst = append(dst, '}')
	}
	return append(dst, '}')
}
