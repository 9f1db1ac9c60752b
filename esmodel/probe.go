package esmodel

import (
	"errors"
	"strconv"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/probe"
	"fiolat/pipeline"
)

// Scopes of probe documents.
const (
	probeScope    = "probe"    // one operation
	intervalScope = "interval" // one kind of operation, in an interval
	targetScope   = "target"   // all of a target, in an interval
)

// ProbeKind is the kind of latency of a probe's documents.
const ProbeKind = "probe"

// windowNames are the names of probe.Windows in documents.
var windowNames = [len(probe.Windows)]string{"1m", "10m", "4h"}

// ProbeEncoder makes the documents of a probe. Only its method Event is safe for concurrent use.
type ProbeEncoder struct {
	enc    *Encoder
	host   string
	title  string // without a start: it may be continued
	common string // run and labels
}

// NewProbeEncoder returns an encoder for the documents of a probe on a host. It uses the name, labels, start,
// interval and percentiles of the run, and sets its geometry.
func NewProbeEncoder(prefix string, run *pipeline.Run, host string) *ProbeEncoder {
	run.Geometry = probe.Grid
	p := &ProbeEncoder{enc: NewEncoder(prefix, run), host: host}
	p.enc.kind = ProbeKind
	p.title = fio.RunTitle(run.ID, run.Name, time.Time{})
	b := appendRunID([]byte(`,"run":`), run, p.title)
	b = append(b, '}')
	if len(run.Labels) > 0 {
		b = append(b, `,"labels":`...)
		b = appendLabels(b, run.Labels)
	}
	p.common = string(b)
	return p
}

// Sample returns the document of one operation, with its index and id; ok is false if the operation was
// skipped.
func (p *ProbeEncoder) Sample(t *probe.Target, s *probe.Sample) (index, id string, doc []byte, ok bool) {
	if errors.Is(s.Err, probe.ErrSkipped) {
		return "", "", nil, false
	}
	index, id, b := p.begin(s.At, probeScope, t.Path, s.Op.String())
	b = append(b, `,"late_ms":`...)
	b = appendFloat(b, float64(s.Late)/1e6)
	if s.Slowdown > 0 {
		b = append(b, `,"slowdown":`...)
		b = appendFloat(b, s.Slowdown)
	}
	b = append(b, '}')
	if s.Err != nil {
		b = append(b, `,"error":{"code":`...)
		b = AppendString(b, probe.ErrorName(s.Err))
		b = append(b, `,"message":`...)
		b = AppendString(b, s.Err.Error())
		return index, id, append(b, '}', '}'), true
	}
	if s.AtLeast {
		b = append(b, `,"at_least":["value"]`...)
	}
	b = append(b, `,"latency":{"value":`...)
	b = strconv.AppendInt(b, int64(s.Took), 10)
	b = appendExpected(b, s.Expected)
	return index, id, append(b, '}', '}'), true
}

func appendExpected(b []byte, ns float64) []byte {
	if ns > 0 {
		b = append(b, `,"expected":`...)
		b = appendFloat(b, ns)
	}
	return b
}

// begin returns a document up to its probe object, which stays open.
func (p *ProbeEncoder) begin(at time.Time, scope, target, op string) (index, id string, b []byte) {
	q := pipeline.Interval{Offset: at.UnixNano() - p.enc.run.Start}
	index = p.enc.Index(KindProbe, &q)
	id = string(p.enc.ID(scope, fio.Dims{Direction: op, Host: p.host, Job: target}, &q))
	b = append(b, `{"@timestamp":`...)
	b = appendTime(b, at.UnixNano())
	b = append(b, p.common...)
	b = append(b, `,"scope":"`...)
	b = append(b, scope...)
	b = append(b, `","host":{"name":`...)
	b = AppendString(b, p.host)
	b = append(b, `},"fio":{"kind":"probe"}`...)
	if scope != probeScope {
		b = append(b, `,"interval":{"ms":`...)
		b = appendFloat(b, float64(p.enc.run.Interval)/1e6)
		b = append(b, `,"offset_ms":`...)
		b = appendFloat(b, float64(q.Offset)/1e6)
		b = append(b, '}')
	}
	b = append(b, `,"probe":{"target":`...)
	b = AppendString(b, target)
	if op != "" {
		b = append(b, `,"operation":`...)
		b = AppendString(b, op)
	}
	return index, id, b
}

// Report calls each with the documents of an interval: the target's, and one of each operation with
// samples, failures or skips.
func (p *ProbeEncoder) Report(r *probe.Report, each func(index, id string, doc []byte)) error {
	at := r.End.Add(-r.Length)
	op := ""
	switch {
	case r.Hung != nil:
		op = r.Hung.Op.String()
	case r.Slowdown > 0:
		op = r.Slowest.String()
	}
	index, id, b := p.begin(at, targetScope, r.Target.Path, op)
	b = append(b, `,"state":`...)
	b = AppendString(b, string(r.State))
	if r.Slowdown > 0 {
		b = append(b, `,"overall":`...)
		b = appendFloat(b, r.Mean)
	}
	if r.Hung != nil {
		b = append(b, `,"hung_ms":`...)
		b = appendFloat(b, float64(r.End.Sub(r.Hung.Since))/1e6)
	}
	for _, n := range []struct {
		name  string
		value int64
	}{{"rounds", r.Rounds}, {"late", r.Late}, {"missed", r.Missed}} {
		b = appendCount(b, n.name, n.value)
	}
	each(index, id, append(b, '}', '}'))
	for op := range r.Ops {
		if err := p.interval(at, r.Target.Path, probe.Operation(op).String(), &r.Ops[op], each); err != nil {
			return err
		}
	}
	return nil
}

func appendCount(b []byte, name string, n int64) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return strconv.AppendInt(b, n, 10)
}

func (p *ProbeEncoder) interval(
	at time.Time,
	target, op string,
	o *probe.OpReport,
	each func(index, id string, doc []byte),
) error {
	failed := int64(0)
	for _, n := range o.Errors {
		failed += n
	}
	if o.Hist == nil && failed+o.Skipped == 0 {
		return nil
	}
	hist := o.Hist
	if hist == nil {
		hist = new(fiohist.Hist)
	}
	sum, err := p.enc.count(hist)
	if err != nil {
		return err
	}
	index, id, b := p.begin(at, intervalScope, target, op)
	b = appendCount(b, "failed", failed)
	b = appendCount(b, "skipped", o.Skipped)
	b = appendCount(b, "under_way", o.AtLeast)
	if o.Expected > 0 {
		b = append(b, `,"last":{`...)
		for i, name := range windowNames {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, '"')
			b = append(b, name...)
			b = append(b, `":{"samples":`...)
			w := &o.Last[i]
			b = strconv.AppendInt(b, int64(w.Samples), 10)
			b = appendCount(b, "at_least", int64(w.AtLeast))
			for _, s := range []struct {
				name string
				ns   float64
			}{{"mean", w.Mean}, {"median", w.Median}, {"p90", w.P90}, {"p95", w.P95}, {"p99", w.P99}, {"max", w.Max}} {
				if w.Samples > 0 {
					b = append(append(append(b, `,"`...), s.name...), `":`...)
					b = appendFloat(b, s.ns/o.Expected)
				}
			}
			b = append(b, '}')
		}
		b = append(b, '}')
	}
	b = append(b, '}')
	if names := o.ErrorNames(); len(names) > 0 {
		b = append(b, `,"error":{"code":[`...)
		for i, name := range names {
			if i > 0 {
				b = append(b, ',')
			}
			b = AppendString(b, name)
		}
		b = append(b, ']', '}')
	}
	b = append(b, `,"samples":`...)
	b = appendFloat(b, sum)
	if o.Hist == nil {
		each(index, id, append(b, '}'))
		return nil
	}
	stats := hist.Stats(probe.Grid, p.enc.run.Percentiles, o.Limits)
	b, _ = p.enc.docCount(b, sum)
	b = p.enc.appendAtLeast(b, &stats)
	b = append(b, `,"latency":{`...)
	b = p.enc.stats(b, &stats)
	b = appendExpected(b, o.Expected)
	b = append(b, ',')
	b = p.enc.histogram(b, o.Limits, nil)
	each(index, id, append(b, '}', '}'))
	return nil
}
