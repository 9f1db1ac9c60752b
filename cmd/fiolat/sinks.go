package main

import (
	"context"

	"fiolat/analysis/compare"
	"fiolat/analysis/diagnose"
	"fiolat/esmodel"
	"fiolat/esmodel/delivery"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

// sinks are what a run passes through, in the order of the fields: at its end, documents and page take in what noise
// and diagnosis have found until theirs.
type sinks struct {
	noise     *compare.Series // nil: none
	diagnosis diagnosis       // nil: none
	watchers  []pipeline.Sink
	documents *delivery.Sink // see to
	page      *pageFile      // nil: none
	nth       int            // of the kinds of latency on the page
}

// diagnosis is a sink whose result is for the document of a run.
type diagnosis interface {
	pipeline.Sink
	Document() pipeline.Diagnosis
	Events() []pipeline.Straggler
	Single() *pipeline.Outliers
}

// chain returns the sinks as one. The documents go to w; with nil there are none.
func (s *sinks) chain(w delivery.Writer, o delivery.SinkOptions) pipeline.Sink {
	var all pipeline.Tee
	if s.noise != nil {
		o.Noise, all = s.noise, append(all, s.noise)
	}
	if s.diagnosis != nil {
		o.Diagnosis, all = s.diagnosis, append(all, s.diagnosis)
	}
	all = append(all, s.watchers...)
	if w != nil {
		s.documents = delivery.NewSink(w, o)
		all = append(all, s.documents)
	}
	if s.page != nil {
		if full, ok := s.diagnosis.(*diagnose.Full); ok && s.nth == 0 {
			s.page.Diagnosis = full
		}
		all = append(all, s.page.Kind(s.nth))
	}
	return all
}

// diagnosisOf returns a new diagnosis of a run, or of a part. again passes the run's leaves to a sink once more, or is
// nil. If it fails there is only a warning, since the run itself was read.
func diagnosisOf(u *ui.UI, part string, again func(context.Context, pipeline.Sink) error) diagnosis {
	if part != "" {
		return new(diagnose.Part)
	}
	full := new(diagnose.Full)
	if again != nil {
		full.Reread = func(ctx context.Context, sink pipeline.Sink) error {
			err := again(ctx, sink)
			if err != nil && ctx.Err() == nil {
				u.Warn("the diagnosis lacks the percentiles of who stands out: " + err.Error())
				return nil
			}
			return err
		}
	}
	return full
}

// keptDiagnosis returns the diagnosis that a run, or a part, had before it was rolled up; nil if it has none.
func keptDiagnosis(run *esmodel.StoredRun) (diagnosis, error) {
	if run.Run.Part != "" || len(run.Diagnosis) == 0 {
		return nil, nil
	}
	kept, err := diagnose.ReadStored(run.Diagnosis)
	return &diagnose.Full{Kept: kept}, err
}
