package esmodel

import (
	"encoding/json"
	"fmt"
	"time"

	"fiolat/fio"
	"fiolat/fio/sla"
	"fiolat/internal/jsonw"
	"fiolat/internal/probe"
	"fiolat/pipeline"
)

// Actions of events.
const (
	ActionBreach   = "sla-breach"
	ActionRecovery = "sla-recovery"
	ActionNote     = "note"
	// ActionChangePoint marks the run from which on a series is faster or slower.
	ActionChangePoint = "change-point"
	// ActionChangeReported marks the first run of a change that history --fail-if-changed has reported.
	ActionChangeReported = "change-reported"
	// ActionStraggler marks when a host, job or log begins or ceases to stand out among its peers.
	ActionStraggler = "straggler"
	// ActionOutlier marks single I/Os far above the rest of their direction.
	ActionOutlier = "outlier"
	// ActionTrouble and ActionTroubleEnded are about a target of a probe.
	ActionTrouble      = "probe-trouble"
	ActionTroubleEnded = "probe-recovery"
)

// Lasting are the actions of events that belong to no generation, and outlast an ingest.
var Lasting = []string{ActionNote, ActionChangePoint, ActionChangeReported}

// eventDoc is the document of an event. Which optional fields it has depends on the action.
type eventDoc struct {
	Timestamp stamp             `json:"@timestamp"`
	Run       DocRun            `json:"run"`
	Labels    map[string]string `json:"labels,omitempty"`
	Host      *hostField        `json:"host,omitempty"`
	Fio       *eventFio         `json:"fio,omitempty"`
	Interval  eventInterval     `json:"interval"`
	Scope     string            `json:"scope,omitempty"`
	Event     eventField        `json:"event"`
	SLA       *eventSLA         `json:"sla,omitempty"`
	Probe     *eventProbe       `json:"probe,omitempty"`
	Change    *ChangePoint      `json:"change,omitempty"`
	Straggler *eventStraggler   `json:"straggler,omitempty"`
	Outlier   *pipeline.Outlier `json:"outlier,omitempty"`
	Message   string            `json:"message"`
}

type eventFio struct {
	Kind      string `json:"kind"`
	Direction string `json:"direction,omitempty"`
	Job       string `json:"job,omitempty"`
}

type eventInterval struct {
	MS       *number `json:"ms,omitempty"`
	OffsetMS number  `json:"offset_ms"`
}

type eventField struct {
	Action string `json:"action"`
	Start  stamp  `json:"start"`
	End    *stamp `json:"end,omitempty"`
}

type eventSLA struct {
	Rule      string     `json:"rule"`
	Status    sla.Status `json:"status"`
	Value     *number    `json:"value,omitempty"`
	Threshold number     `json:"threshold"`
	Share     *number    `json:"share,omitempty"`
}

type eventStraggler struct {
	Dimension string   `json:"dimension"`
	Who       []string `json:"who"`
	Status    string   `json:"status"` // began or ended
	Measure   string   `json:"measure"`
	Factor    number   `json:"factor"`
	Own       number   `json:"own"`
	Others    number   `json:"others"`
}

type eventProbe struct {
	Target string      `json:"target"`
	State  probe.State `json:"state"`
}

// Ingested returns the document of an event as it is sent: with the time of that or, if it is stored already, with what
// found says of that. It is no part of what makes a document: files don't have it.
func Ingested(doc, found []byte, at time.Time) ([]byte, error) {
	var m, event map[string]json.RawMessage
	err := json.Unmarshal(doc, &m)
	if err == nil {
		err = json.Unmarshal(m["event"], &event)
	}
	if err != nil || event == nil {
		return doc, nil // no event of fiolat's: Elasticsearch decides
	}
	if found == nil {
		event["ingested"] = jsonw.AppendTime(nil, at.Truncate(time.Millisecond).UnixNano())
	} else {
		var was struct{ Event map[string]json.RawMessage }
		if err = json.Unmarshal(found, &was); err != nil {
			return nil, fmt.Errorf("the stored event cannot be read: %w", err)
		}
		if at, ok := was.Event["ingested"]; ok {
			event["ingested"] = at
		}
	}
	m["event"] = MustJSON(event)
	return MustJSON(m), nil
}

// Event returns the document of a breach or a recovery, and its id. The event starts with the first interval
// that broke the rule, or met it again, and ends with the interval q in which that became certain. Events of a
// live run have no generation.
func (e *Encoder) Event(q *pipeline.Interval, c *pipeline.Change) (id string, doc []byte, err error) {
	d, family := e.event(ActionRecovery, c.Scope, c.Dims, c.Start, e.start(q)+e.run.Interval-e.run.Start)
	d.SLA = &eventSLA{Rule: c.Rule.Text, Status: c.Last.Status, Threshold: number(c.Rule.Threshold)}
	d.Message = c.String()
	if c.Breach {
		d.Event.Action = ActionBreach
	}
	if c.Last.Known {
		d.SLA.Value = new(number(figure(c.Rule.Metric, c.Last.Value)))
	}
	if c.Last.Share >= 0 {
		d.SLA.Share = new(number(rounded(c.Last.Share, billionth)))
	}
	if doc, err = json.Marshal(d); err != nil {
		return "", nil, fmt.Errorf("event: %w", err)
	}
	doc = fio.PrintableJSON(doc, "")
	return hashIDAt(d.Timestamp, family, e.run.ID, e.run.Part, d.Run.Generation, e.kind, d.Event.Action, c.Rule.Text,
		c.Dims.Direction,
		c.Dims.Host), doc, nil
}

// event returns what the documents of a run's events have in common, and the family of the id. start and end
// are in ns from the run's start; an end of 0 is none.
func (e *Encoder) event(action, scope string, dims fio.Dims, start, end int64) (d eventDoc, family string) {
	family, generation := "fiolat event 1", e.run.Generation
	if e.run.Live { // a later ingest must not delete what was alerted
		family, generation = "fiolat live event 1", ""
	}
	at, until, length := stamp(e.run.Start+start), stamp(e.run.Start+end), number(float64(e.run.Interval)/1e6)
	d = eventDoc{
		Timestamp: at, Run: DocRun{ID: e.run.ID, Name: e.run.Name, Title: e.run.Title(), Generation: generation,
			Part: e.run.Part, Labels: labelPairs(e.run.Labels)},
		Labels:   e.run.Labels,
		Fio:      &eventFio{Kind: e.kind, Direction: dims.Direction},
		Interval: eventInterval{&length, number(float64(start) / 1e6)},
		Scope:    scope,
		Event:    eventField{Action: action, Start: at},
	}
	if end != 0 {
		d.Event.End = &until
	}
	if dims.Host != "" {
		d.Host = &hostField{[]string{dims.Host}}
	}
	return d, family
}

// Straggler returns the document of the begin or end of a straggler, and its id. As with Event, it starts with
// the first interval concerned, and events of a live run have no generation.
func (e *Encoder) Straggler(s *pipeline.Straggler) (id string, doc []byte) {
	d, family := e.event(ActionStraggler, s.Scope, s.Dims, s.Start, s.End)
	d.Message = s.Text
	d.Straggler = &eventStraggler{Dimension: s.Dimension, Who: []string{s.Who}, Status: "began", Measure: s.Measure,
		Factor: number(s.Factor), Own: number(s.Own), Others: number(s.Others)}
	if s.Ended {
		d.Straggler.Status = "ended"
	}
	return hashIDAt(d.Timestamp, family, e.run.ID, e.run.Part, d.Run.Generation, e.kind, ActionStraggler, s.Dimension,
		s.Who,
		s.Dims.Direction, s.Measure, d.Straggler.Status), printable(d)
}

// Outlier returns the document of an outlier, with latencies in ns, and its id. It is of the run's generation, so that
// a later ingest replaces it; alerts of a live run are of none.
func (e *Encoder) Outlier(o *pipeline.Outlier) (id string, doc []byte) {
	d, _ := e.event(ActionOutlier, "", o.Dims, o.Start, o.End)
	d.Run.Generation, d.Fio.Job, d.Message = e.run.Generation, o.Dims.Job, o.Text
	if len(o.Hosts) > 0 {
		d.Host = &hostField{o.Hosts}
	}
	d.Outlier = o
	return hashIDAt(d.Timestamp, "fiolat outlier 1", e.run.ID, e.run.Part, d.Run.Generation, e.kind, o.Dims.Direction,
		o.Dims.Job), printable(d)
}

// NoteEvent returns the document of a note on a run, and its id. at is the time of the note in ns since 1970,
// offset the same time in ns from the run's start.
func NoteEvent(runID, name, title string, labels map[string]string, at, offset int64, text string) (
	id string, doc []byte,
) {
	id = hashIDAt(stamp(at), "fiolat note 1", runID, text)
	return id, printable(eventDoc{
		Timestamp: stamp(at), Run: DocRun{ID: runID, Name: name, Title: title, Labels: labelPairs(labels)},
		Labels:   labels,
		Interval: eventInterval{OffsetMS: number(float64(offset) / 1e6)},
		Event:    eventField{Action: ActionNote, Start: stamp(at)}, Message: text,
	})
}

// ChangePoint is a change in the level of a metric in a series of runs.
type ChangePoint struct {
	// Series names the runs that were compared. Metric is the number that changed, such as "read p99".
	Series string `json:"series"`
	Metric string `json:"metric"`
	// Before and After are the levels in ns or 1/s. Share is After / Before - 1, Low and High are its 95 %
	// confidence limits. P is the probability of such a change by chance alone.
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Share  float64 `json:"share"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	P      float64 `json:"p"`
}

// ChangedRun is the first run of a new level.
type ChangedRun struct {
	ID, Name, Title, Kind, Direction string
	Labels                           map[string]string
	Start                            time.Time
}

// ChangeEvent returns the document of a change point, with its index and id; action is one of the two of changes.
// Like a note, it has no generation.
func ChangeEvent(prefix, action string, run ChangedRun, c ChangePoint, text string) (index, id string, doc []byte) {
	start := stamp(run.Start.UnixNano())
	id = hashIDAt(start, "fiolat "+action+" 1", c.Series, c.Metric, run.ID, run.Kind)
	return Index(prefix, KindEvent, int64(start)), id, printable(eventDoc{
		Timestamp: start, Run: DocRun{ID: run.ID, Name: run.Name, Title: run.Title,
			Labels: labelPairs(run.Labels)},
		Labels: run.Labels, Fio: &eventFio{Kind: run.Kind, Direction: run.Direction},
		Event: eventField{Action: action, Start: start}, Change: &c, Message: text,
	})
}

// Event returns the document of a report's change, with its index and id; ok is false if there is no change.
// Like alerts of live runs it has no generation. It may be called concurrently with other methods.
func (p *ProbeEncoder) Event(r *probe.Report) (index, id string, doc []byte, ok bool) {
	c := r.Change
	if c == nil {
		return "", "", nil, false
	}
	run := p.enc.run
	start, end, length := stamp(c.Since.UnixNano()), stamp(r.End.UnixNano()), number(float64(r.Length)/1e6)
	d := eventDoc{
		Timestamp: start, Run: DocRun{ID: run.ID, Name: run.Name, Title: p.title,
			Labels: labelPairs(run.Labels)},
		Labels: run.Labels,
		Host:   &hostField{[]string{p.host}}, Fio: &eventFio{Kind: p.enc.kind},
		Interval: eventInterval{&length, number(float64(int64(start)-run.Start) / 1e6)},
		Scope:    targetScope, Event: eventField{ActionTroubleEnded, start, &end},
		Probe: &eventProbe{r.Target.Path, r.State}, Message: r.Target.Path + ": " + c.Text,
	}
	if c.Bad {
		d.Event.Action = ActionTrouble
	}
	id = hashIDAt(start, "fiolat probe event 1", run.ID, p.host, r.Target.Path, d.Event.Action)
	return Index(p.enc.prefix, KindEvent, int64(start)), id, printable(d), true
}
