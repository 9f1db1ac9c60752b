package esmodel

import (
	"errors"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/jsonw"
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
	p.common = string(fio.PrintableJSON(withRun(nil, run, p.title), ""))
	return p
}

// Sample returns the document of one operation, with its index and id; ok is false if the operation was
// skipped.
func (p *ProbeEncoder) Sample(t *probe.Target, s *probe.Sample) (index, id string, doc []byte, ok bool) {
	if errors.Is(s.Err, probe.ErrSkipped) {
		return "", "", nil, false
	}
	index, id, b := p.begin(s.At, probeScope, t.Path, s.Op.String())
	b = b.Number("late_ms", float64(s.Late)/1e6)
	if s.Slowdown > 0 {
		b = b.Number("slowdown", s.Slowdown)
	}
	b = b.End()
	if s.Err != nil {
		b = b.Open("error").Text("code", probe.ErrorName(s.Err)).Text("message", s.Err.Error())
		return index, id, b.End().End(), true
	}
	if s.AtLeast {
		b = b.Texts("at_least", []string{"value"})
	}
	b = withExpected(b.Open("latency").Int("value", int64(s.Took)), s.Expected)
	return index, id, b.End().End(), true
}

func withExpected(b jsonw.Object, ns float64) jsonw.Object {
	if ns > 0 {
		b = b.Number("expected", ns)
	}
	return b
}

// begin returns a document up to its probe object, which stays open.
func (p *ProbeEncoder) begin(at time.Time, scope, target, op string) (index, id string, b jsonw.Object) {
	q := pipeline.Interval{Offset: at.UnixNano() - p.enc.run.Start}
	index = p.enc.Index(KindProbe, &q)
	id = string(p.enc.ID(scope, fio.Dims{Direction: op, Host: p.host, Job: target}, &q))
	host, target := fio.Printable(p.host), fio.Printable(target)
	b = b.Begin().Time("@timestamp", at.UnixNano()).Members(p.common).Text("scope", scope).
		Open("host").Text("name", host).End().Open("fio").Text("kind", ProbeKind).End()
	if scope != probeScope {
		b = b.Open("interval").Number("ms", float64(p.enc.run.Interval)/1e6).
			Number("offset_ms", float64(q.Offset)/1e6).End()
	}
	return index, id, b.Open("probe").Text("target", target).Optional("operation", op)
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
	b = b.Text("state", string(r.State))
	if r.Slowdown > 0 {
		b = b.Number("overall", r.Mean)
	}
	if r.Hung != nil {
		b = b.Number("hung_ms", float64(r.End.Sub(r.Hung.Since))/1e6)
	}
	b = b.Int("rounds", r.Rounds).Int("late", r.Late).Int("missed", r.Missed)
	each(index, id, b.End().End())
	for op := range r.Ops {
		if err := p.interval(at, r.Target.Path, probe.Operation(op).String(), &r.Ops[op], each); err != nil {
			return err
		}
	}
	return nil
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
	b = b.Int("failed", failed).Int("skipped", o.Skipped).Int("under_way", int64(o.AtLeast))
	if o.Expected > 0 {
		b = b.Open("last")
		for i, name := range windowNames {
			w := &o.Last[i]
			b = b.Open(name).Int("samples", int64(w.Samples)).Int("at_least", int64(w.AtLeast))
			if w.Samples > 0 {
				b = b.Number("mean", w.Mean/o.Expected).Number("median", w.Median/o.Expected).
					Number("p90", w.P90/o.Expected).Number("p95", w.P95/o.Expected).
					Number("p99", w.P99/o.Expected).Number("max", w.Max/o.Expected)
			}
			b = b.End()
		}
		b = b.End()
	}
	b = b.End()
	if names := o.ErrorNames(); len(names) > 0 {
		b = b.Open("error").Texts("code", names).End()
	}
	b = b.Number("samples", sum)
	if o.Hist == nil {
		each(index, id, b.End())
		return nil
	}
	stats := hist.Stats(probe.Grid, p.enc.run.Percentiles, o.Limits)
	b, _ = p.enc.docCount(b, sum)
	b = p.enc.stats(b.Texts("at_least", p.enc.atLeast(&stats)).Open("latency"), &stats)
	b = p.enc.histogram(withExpected(b, o.Expected), o.Limits, nil)
	each(index, id, b.End().End())
	return nil
}
