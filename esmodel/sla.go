package esmodel

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"fiolat/internal/sla"
	"fiolat/pipeline"
)

// slaField is what the document of a run says of its rules.
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

// outcomes is nil without rules.
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
		x := outcomeField{Rule: o.Rule.Text, Scope: o.Scope, Host: o.Dims.Host, Direction: o.Dims.Direction, Status: status,
			OK: o.OK, Broken: o.Broken, Unknown: o.Unknown, Breaches: o.Breaches}
		if o.Share >= 0 {
			share := number(o.Share)
			x.Share = &share
		}
		if o.Worst.Known {
			worst, at := number(o.Worst.Value), number(float64(o.WorstAt)/1e6)
			x.Worst, x.WorstMS = &worst, &at
		}
		f.Outcomes = append(f.Outcomes, x)
	}
	for _, l := range []*[]string{&f.Rules, &f.Broken, &f.Unknown} { // of several hosts the same
		slices.Sort(*l)
		*l = slices.Compact(*l)
	}
	return f
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
				dst = appendString(append(dst, sep), v.Rule.Text)
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
		dst = appendString(append(dst, `{"rule":`...), v.Rule.Text)
		dst = append(append(append(dst, `,"status":"`...), v.Status...), '"')
		if v.Known {
			dst = appendFloat(append(dst, `,"value":`...), v.Value)
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
		if r.Metric != "p" || r.Above {
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

// Actions of events.
const (
	ActionBreach   = "sla-breach"
	ActionRecovery = "sla-recovery"
	ActionNote     = "note"
)

type changeDoc struct {
	Timestamp stamp             `json:"@timestamp"`
	Run       changeRun         `json:"run"`
	Labels    map[string]string `json:"labels,omitempty"`
	Host      *hostField        `json:"host,omitempty"`
	Fio       changeFio         `json:"fio"`
	Interval  intervalField     `json:"interval"`
	Scope     string            `json:"scope"`
	Event     changeEvent       `json:"event"`
	SLA       changeSLA         `json:"sla"`
	Message   string            `json:"message"`
}

type changeRun struct {
	ID         string `json:"id"`
	Name       string `json:"name,omitempty"`
	Generation string `json:"generation,omitempty"`
	Part       string `json:"part,omitempty"`
}

type changeFio struct {
	Kind      string `json:"kind"`
	Direction string `json:"direction"`
}

type changeEvent struct {
	Action string `json:"action"`
	Start  stamp  `json:"start"`
	End    stamp  `json:"end"`
}

type changeSLA struct {
	Rule      string     `json:"rule"`
	Status    sla.Status `json:"status"`
	Value     *number    `json:"value,omitempty"`
	Threshold number     `json:"threshold"`
	Share     *number    `json:"share,omitempty"`
}

// Event makes the document of a breach or a recovery, and its id. It starts with the
// first quantum that broke the rule, or kept it again, and ends with the quantum q in
// which that became certain. Those of a live run are of no generation.
func (e *Encoder) Event(q *pipeline.Quantum, c *pipeline.Change) (id string, doc []byte, err error) {
	start := stamp(e.run.Start + c.Start)
	family, generation := "fiolat event 1", e.run.Generation
	if e.run.Live { // what was alerted stays what was alerted, whatever is ingested later
		family, generation = "fiolat live event 1", ""
	}
	d := changeDoc{
		Timestamp: start, Run: changeRun{e.run.ID, e.run.Name, generation, e.run.Part}, Labels: e.run.Labels,
		Fio:      changeFio{e.kind, c.Dims.Direction},
		Interval: intervalField{number(float64(e.run.Interval) / 1e6), number(float64(c.Start) / 1e6)},
		Scope:    c.Scope,
		Event:    changeEvent{ActionRecovery, start, stamp(e.start(q) + e.run.Interval)},
		SLA:      changeSLA{Rule: c.Rule.Text, Status: c.Last.Status, Threshold: number(c.Rule.Threshold)},
		Message:  c.String(),
	}
	if c.Breach {
		d.Event.Action = ActionBreach
	}
	if c.Dims.Host != "" {
		d.Host = &hostField{[]string{c.Dims.Host}}
	}
	if c.Last.Known {
		v := number(c.Last.Value)
		d.SLA.Value = &v
	}
	if c.Last.Share >= 0 {
		v := number(c.Last.Share)
		d.SLA.Share = &v
	}
	if doc, err = json.Marshal(d); err != nil {
		return "", nil, fmt.Errorf("event: %w", err)
	}
	k := []byte(family)
	for _, s := range []string{e.run.ID, e.run.Part, e.kind, d.Event.Action, c.Rule.Text, c.Dims.Direction, c.Dims.Host} {
		k = binary.AppendUvarint(k, uint64(len(s)))
		k = append(k, s...)
	}
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(k, uint64(start)))
	return base64.RawURLEncoding.EncodeToString(sum[:16]), doc, nil
}
