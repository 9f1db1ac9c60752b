// Package delivery sends the documents of a run to Elasticsearch or writes them to files, accounts for each of
// them, spools what cannot be sent, and loads files again. It does not use the Elasticsearch client's
// BulkIndexer, which reports success after documents were refused.
package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
	"fiolat/fio"
	"fiolat/pipeline"
)

// SinkOptions are the options of a Sink.
type SinkOptions struct {
	// Prefix is the prefix of the indices and must be the writer's; "" is DefaultPrefix.
	Prefix string
	// RowsOnly makes no documents of leaves, and for hosts only those of Row.TailPart: the others were stored with
	// the parts.
	RowsOnly bool
	// Noise is a sink that the run passes before this one, and that returns the noise of the run at its end;
	// nil leaves the limits out of the document of the run.
	Noise interface {
		Noise(percentiles []float64) map[string]map[string]float64
	}
	// Diagnosis is such a sink too; it returns the diagnosis for the document of the run. nil leaves it out.
	Diagnosis interface {
		Document() pipeline.Diagnosis
		Events() []pipeline.Straggler
		Single() *pipeline.Outliers // nil: nobody looked for any
	}
	// Read is what was read of the run before it is stored again: nothing is sent if it was changed since. nil takes
	// over whatever is there.
	Read *esmodel.State
	// RollUp says that the run is made from what was read. The document of the run remains that of the stored
	// generation until all others have been counted, so that an interrupted rollup can be repeated.
	RollUp bool
	// Finer keeps what the stored document of the run says by finer intervals, as a RollUp does: see
	// esmodel.WithFiner.
	Finer bool
}

// Sink makes documents of a run and passes them to a writer. It is a pipeline.Sink. When the pipeline has
// ended, with or without an error, Close must be called:
//
//	summary, err := plan.Process(ctx, sink)
//	err = sink.Close(ctx, err)
//
// The document of the run says "running" before the first other document is sent. It says "complete" only after
// each other document has been acknowledged, as many of them have been found as were made, and those of other
// generations are deleted.
type Sink struct {
	pipeline.Discard
	o      SinkOptions
	w      Writer
	remote remote // w, if it sends
	prefix string
	run    *pipeline.Run
	enc    *esmodel.Encoder
	phase  phase
	back   []byte // the document of the run to store on failure; nil: a partial one
	finer  []byte // the document of the run found at the start, for SinkOptions.Finer
	report Report
}

// phase is how far a Sink has come.
type phase int

const (
	_        phase = iota
	begun          // the document of the run may be stored
	complete       // End has finished, without an error
	failed         // End has finished, with one
)

var _ pipeline.Sink = (*Sink)(nil)

// NewSink returns a Sink over a writer, which it owns from now on.
func NewSink(w Writer, o SinkOptions) *Sink {
	o.Prefix = cmp.Or(o.Prefix, esmodel.DefaultPrefix)
	s := &Sink{o: o, w: w, prefix: o.Prefix}
	s.remote, _ = w.(remote)
	return s
}

// Begin prepares the writer and stores the document of the run as running.
func (s *Sink) Begin(ctx context.Context, run *pipeline.Run) error {
	if err := esmodel.CheckNames(run); err != nil {
		return err
	}
	run.Escape()
	if !run.StartKnown {
		return &fio.UsageError{Msg: "when the run started is not known, and each document needs its time",
			Hint: "pass --start TIME, or --start mtime to guess it from the files"}
	}
	s.run, s.enc = run, esmodel.NewEncoder(s.prefix, run)
	if err := s.w.Open(ctx, run); err != nil {
		return err
	}
	doc, err := s.runDoc(esmodel.StatusRunning, nil, nil)
	if err != nil {
		return err
	}
	if s.remote != nil {
		var found []byte
		var refuse func(found []byte) error
		if s.o.Read != nil {
			refuse = s.o.Read.Still(esmodel.KeyOf(run))
		}
		found, err = s.remote.Mark(ctx, run, refuse, func(found []byte) []byte {
			if s.o.RollUp {
				s.back = esmodel.WithRollUp(found, esmodel.RollUpWriting, esmodel.StatusRunning)
				return s.back
			}
			if s.o.Finer {
				doc = esmodel.WithFiner(doc, found)
			}
			return esmodel.Keep(doc, found, run.Named)
		})
		if s.o.Finer || s.o.RollUp {
			s.finer = found
		}
		if name, labels, e := esmodel.NameAndLabels(found); e == nil {
			*run = *run.Keep(name, labels)
			s.enc = esmodel.NewEncoder(s.prefix, run)
		}
	}
	var away *client.UnavailableError
	if errors.As(err, &away) && !s.o.RollUp {
		err = nil // the run goes into the spool; without one, the first Make fails
	}
	if err == nil {
		s.phase = begun
	}
	return err
}

// storeCounted stores the document of the run again, with the number of documents made, all of which are stored.
func (s *Sink) storeCounted(ctx context.Context, sum *pipeline.Summary) error {
	doc, err := s.runDoc(esmodel.StatusRunning, sum, s.documents(true))
	if err != nil {
		return err
	}
	doc = esmodel.WithRollUp(doc, esmodel.RollUpCounted, esmodel.StatusRunning)
	_, id := s.runAt()
	if err = s.remote.Replace(ctx, id, doc); err == nil {
		s.back = doc
	}
	return err
}

// runDoc makes the document of the run.
func (s *Sink) runDoc(status esmodel.Status, sum *pipeline.Summary, docs *esmodel.Documents) ([]byte, error) {
	doc, err := s.enc.AppendRun(nil, status, sum, docs)
	if err == nil && s.finer != nil {
		doc = esmodel.WithFiner(doc, s.finer)
	}
	return doc, err
}

func (s *Sink) runAt() (index, id string) {
	return esmodel.Index(
		s.prefix,
		esmodel.KindRun,
		s.run.Start,
	), esmodel.RunDocID(s.run.ID, s.run.Part, s.run.Kind.String())
}

// Interval adds the documents of an interval: a histogram of each leaf that is not empty, percentiles of each row,
// and events.
func (s *Sink) Interval(ctx context.Context, q *pipeline.Interval) error {
	index := s.enc.Index(esmodel.KindHistogram, q)
	for i := range q.Leaves {
		leaf := &q.Leaves[i]
		if s.o.RowsOnly || !esmodel.HasDocument(leaf.Hist) {
			continue
		}
		err := s.w.Make(ctx, index, s.enc.ID(esmodel.LeafScope, leaf.Dims, q), func(dst []byte) ([]byte, error) {
			return s.enc.Histogram(dst, q, leaf)
		})
		if err != nil {
			return err
		}
	}
	if err := s.Late(ctx, q); err != nil {
		return err
	}
	for i := range q.Changes {
		if q.Changes[i].Early {
			continue
		}
		id, doc, err := s.enc.Event(q, &q.Changes[i])
		if err != nil {
			return err
		}
		if err = s.w.Make(
			ctx,
			esmodel.Index(s.prefix, esmodel.KindEvent, s.run.Start+q.Changes[i].Start),
			[]byte(id),
			prebuilt(doc),
		); err != nil {
			return err
		}
	}
	return s.stragglers(ctx, q.Stragglers)
}

func (s *Sink) stragglers(ctx context.Context, of []pipeline.Straggler) error {
	for i := range of {
		id, doc := s.enc.Straggler(&of[i])
		index := esmodel.Index(s.prefix, esmodel.KindEvent, s.run.Start+of[i].Start)
		if err := s.w.Make(ctx, index, []byte(id), prebuilt(doc)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sink) outliers(ctx context.Context, of *pipeline.Outliers) error {
	if of == nil {
		return nil
	}
	for i := range of.Longest {
		id, doc := s.enc.Outlier(&of.Longest[i])
		index := esmodel.Index(s.prefix, esmodel.KindEvent, s.run.Start+of.Longest[i].Start)
		if err := s.w.Make(ctx, index, []byte(id), prebuilt(doc)); err != nil {
			return err
		}
	}
	return nil
}

// Late adds the documents of rows.
func (s *Sink) Late(ctx context.Context, q *pipeline.Interval) error {
	index := s.enc.Index(esmodel.KindPercentiles, q)
	for i := range q.Rows {
		row := &q.Rows[i]
		if s.run.Part != "" && row.Dims.Host == "" {
			continue // scopes across hosts come from the merge of all parts
		}
		tailOnly := s.o.RowsOnly && row.Dims.Host != ""
		if tailOnly && row.TailPart == nil {
			continue
		}
		err := s.w.Make(ctx, index, s.enc.ID(row.Scope, row.Dims, q), func(dst []byte) ([]byte, error) {
			if tailOnly {
				return s.enc.Tail(dst, q, row), nil
			}
			return s.enc.Percentiles(dst, q, row)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Push sends what is held, without waiting for it. It is for pauses in which no documents are expected.
func (s *Sink) Push(ctx context.Context) error {
	if s.remote == nil {
		return nil
	}
	return s.remote.Push(ctx)
}

// End waits for all documents, deletes those of other generations, and stores the document of the run as
// complete. If anything is missing, the run is partial, other generations stay, and the error is an
// *IncompleteError, an *indices.MismatchError, or why nothing could be sent any more.
func (s *Sink) End(ctx context.Context, sum *pipeline.Summary) error {
	if s.o.Noise != nil {
		s.enc.Noise = s.o.Noise.Noise(s.run.Percentiles)
	}
	if s.o.Diagnosis != nil {
		s.enc.Diagnosis = s.o.Diagnosis.Document()
		s.enc.Outliers = s.o.Diagnosis.Single()
		err := errors.Join(s.stragglers(ctx, s.o.Diagnosis.Events()), s.outliers(ctx, s.enc.Outliers))
		if err != nil {
			return err
		}
	}
	var err error
	if s.remote != nil {
		var counted func(context.Context) error
		if s.o.RollUp {
			counted = func(ctx context.Context) error { return s.storeCounted(ctx, sum) }
		}
		err = s.remote.Flush(ctx)
		if err == nil && !s.run.Unread {
			err = s.remote.Commit(ctx, s.run, counted)
		}
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause // Close does the rest
	}
	if err == nil {
		status := esmodel.StatusComplete
		if s.run.Unread || sum.Account.JobsRunning > 0 { // documents that an earlier ingest could make stay
			status = esmodel.StatusPartial
		}
		err = s.last(ctx, status, sum)
		if err == nil && s.w.Report().Total().Incomplete() {
			err = &IncompleteError{Report: s.w.Report()}
		}
	} else if errors.As(err, new(*indices.MarkError)) {
		// The document of the run is another's; see Close.
	} else if s.back != nil {
		err = lostTo(s.partial(ctx), err)
	} else {
		var incomplete *IncompleteError
		missing := errors.As(err, &incomplete)
		whole, e := s.runDoc(esmodel.StatusComplete, sum, s.documents(true))
		if e == nil && s.run.Unread {
			whole, e = s.runDoc(esmodel.StatusPartial, sum, s.documents(true))
		}
		if e == nil {
			e = s.last(ctx, esmodel.StatusPartial, sum)
		}
		switch {
		case missing:
			// Loading the spool finishes the run with this document, which must be the last one of the run in
			// it.
			index, id := s.runAt()
			err = errors.Join(lostTo(e, err), s.remote.Spool(index, id, whole))
		case !errors.Is(err, e):
			err = errors.Join(err, e)
		}
	}
	s.phase = complete
	if err != nil {
		s.phase = failed
	}
	return err
}

func (s *Sink) last(ctx context.Context, status esmodel.Status, sum *pipeline.Summary) error {
	doc, err := s.runDoc(status, sum, s.documents(status == esmodel.StatusComplete))
	if err != nil {
		return err
	}
	index, id := s.runAt()
	before := s.w.Report().Total()
	if err = s.w.Release(ctx, index, id, doc, true); err != nil {
		return err
	}
	after := s.w.Report().Total()
	if after.Refused > before.Refused {
		return lostTo(s.partial(ctx), nil)
	}
	return nil
}

// partial stores the document of the run as partial, without adding it to the account, and in a smaller form if
// the full one is refused. On failure the next attempt takes the run over.
func (s *Sink) partial(ctx context.Context) (err error) {
	index, id := s.runAt()
	if s.back != nil {
		return s.w.Release(ctx, index, id, s.back, false)
	}
	for _, docs := range []*esmodel.Documents{s.documents(false), nil} {
		var doc []byte
		doc, err = s.runDoc(esmodel.StatusPartial, nil, docs)
		if err == nil {
			err = s.w.Release(ctx, index, id, doc, false)
		}
		if !errors.As(err, new(*client.RefusedError)) {
			break
		}
	}
	return err
}

// lostTo adds to err that the document of the run could not be stored because another process has the run.
func lostTo(stored, err error) error {
	if errors.As(stored, new(*indices.MarkError)) && !errors.As(err, new(*indices.MarkError)) {
		return errors.Join(err, stored)
	}
	return err
}

// documents returns the account for the document of the run, which counts itself as indexed. whole says that
// all others are indexed, or will be once the spool is loaded.
func (s *Sink) documents(whole bool) *esmodel.Documents {
	r := s.w.Report()
	t := r.Total()
	d := &esmodel.Documents{Made: t.Made + 1, Indexed: t.Indexed + 1, Refused: t.Refused, Spooled: t.Spooled + t.Lost}
	if whole {
		d.Indexed, d.Refused, d.Spooled = d.Made, 0, 0
	}
	for index, c := range r.Indices {
		switch kind, _ := esmodel.KindOf(s.prefix, index); kind {
		case esmodel.KindHistogram:
			d.Histogram += c.Made
		case esmodel.KindPercentiles:
			d.Percentiles += c.Made
		}
	}
	return d
}

// Close ends the Sink and its writer. err is what the pipeline returned: unless the run reached End, the
// document of the run becomes partial. Once ctx has ended, documents not acknowledged within DrainTime are
// spooled. Close returns err, joined with its own errors.
func (s *Sink) Close(ctx context.Context, err error) error {
	// Leave a second for the document of the run.
	sending, stop := client.WithGracePeriod(ctx, client.DrainTime-time.Second)
	defer stop()
	ctx, cancel := client.WithGracePeriod(ctx, client.DrainTime)
	defer cancel()
	if s.phase == begun {
		if s.remote != nil {
			_ = s.remote.Flush(sending) // err is the cause
		}
		err = lostTo(s.partial(ctx), err)
	}
	e := s.w.Close(ctx, s.phase == complete)
	if s.remote != nil && errors.As(err, new(*indices.MarkError)) {
		e = errors.Join(e, s.remote.Withdraw(ctx, s.run))
	}
	s.report = s.w.Report()
	if s.enc != nil {
		s.report.Clamped = s.enc.Clamped
		if s.enc.Clamped > 0 {
			s.report.Warnings = append(s.report.Warnings, fmt.Sprintf(
				"%s with more than %d I/Os, the maximum of _doc_count; choose a shorter --interval, or "+
					"counts of I/Os in Kibana are too small",
				fio.Several(int(s.enc.Clamped), "document"),
				esmodel.MaxDocCount,
			))
		}
	}
	if t := s.report.Total(); err == nil && e == nil && t.Incomplete() {
		e = &IncompleteError{}
	}
	err = errors.Join(err, e)
	var incomplete *IncompleteError
	if errors.As(err, &incomplete) {
		incomplete.Report = s.report // it counts the document of the run as well
	}
	return err
}

// Report returns the account; it is final after Close.
func (s *Sink) Report() Report {
	if s.report.Indices != nil {
		return s.report
	}
	return s.w.Report()
}
