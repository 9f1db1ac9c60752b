package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/indices"
	"fiolat/fio"
	"fiolat/pipeline"
)

// Commit checks that all documents are stored, calls counted, and deletes the run's other generations.
func (w *BulkWriter) Commit(ctx context.Context, run *pipeline.Run, counted func(context.Context) error) error {
	r := w.Report()
	if r.Total().Incomplete() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.probe = time.Now() // try the server at once, to store the run as partial
		return &IncompleteError{Report: r, Err: w.down}
	}
	g := indices.GenerationOf(run)
	k := w.markOf(g.ID())
	if err := w.retryBegin(ctx); err != nil { // if there was nothing to send
		return err
	}
	in := indices.Scope{Prefix: w.cfg.Prefix}
	if !w.cfg.NoTemplates { // an index may have been deleted and created anew since its first document
		var err error
		if in, err = indices.ScopeOf(ctx, w.c, w.cfg.Prefix, g, k.Found); err != nil {
			return err
		}
	}
	deleted, err := indices.Commit(ctx, w.c, in, g, w.made(run, r), r.names(), counted, k.Holds)
	w.noteDeleted(deleted)
	if errors.As(err, new(*indices.MismatchError)) { // because another process has the run now?
		err = cmp.Or(k.Holds(ctx), err)
	}
	if err == nil && run.Part == "" {
		err = w.sameParts(ctx, g.Run, g.Kind, run.Parts)
	}
	// Only the document of the run is still to come. With refresh, searches find it at once.
	w.cfg.Refresh = true
	return err
}

// made returns the number of documents of the run's generation by kind.
func (w *BulkWriter) made(run *pipeline.Run, r Report) map[esmodel.Kind]int64 {
	made := map[esmodel.Kind]int64{esmodel.KindHistogram: 0, esmodel.KindPercentiles: 0}
	for index, c := range r.Indices {
		kind, ok := esmodel.KindOf(w.cfg.Prefix, index)
		if kind == esmodel.KindEvent && run.Live {
			continue // they belong to no generation
		}
		if ok && kind != esmodel.KindRun {
			made[kind] += c.Made
		}
	}
	return made
}

// Reasons not to withdraw documents: they are also those of the process that has the run, or that is not complete, and
// they cannot be made again.
var (
	errSame = errors.New("the same documents")
	errKept = errors.New("not complete")
)

// Withdraw deletes the documents of a run that another process has begun to write or delete since, unless they are the
// same. If fio wrote to this process alone, they stay while another that writes is not complete, which deletes them
// then.
func (w *BulkWriter) Withdraw(ctx context.Context, run *pipeline.Run) error {
	return w.withdraw(ctx, indices.GenerationOf(run), run.Live ||
		slices.ContainsFunc(run.Logs, func(l *pipeline.Log) bool { return l.Source.Path == "-" }))
}

func (w *BulkWriter) withdraw(ctx context.Context, g indices.Generation, once bool) error {
	r := w.Report()
	if r.Requests == 0 {
		return nil
	}
	winner := func(ctx context.Context, _ ...esmodel.RunKey) error {
		doc, err := w.c.Source(ctx, esmodel.Index(w.cfg.Prefix, esmodel.KindRun, 0), g.ID())
		m := esmodel.DocHeader{}
		if err == nil && doc != nil {
			m, err = esmodel.ReadDocHeader(doc)
		}
		if err == nil && m.Run.Generation == g.Generation {
			err = errSame
		}
		// A run that is being deleted, or was, has no generation.
		if err == nil && once && m.Run.Generation != "" && m.Run.Status != esmodel.StatusComplete {
			err = errKept
		}
		return err
	}
	in, err := indices.Readable(ctx, w.c, w.cfg.Prefix) // what was sent is in indices that could be read
	if err == nil {
		err = indices.Withdraw(ctx, w.c, in, g, r.names(), winner)
	}
	switch {
	case errors.Is(err, errSame):
		return nil
	case errors.Is(err, errKept):
		return esmodel.Fault(g.Run, g.Part, "ingest fio's logs or JSON with another --run-id, or measure again",
			"what was sent cannot be read again, and stays until the other process is complete")
	}
	if err != nil {
		err = fmt.Errorf("run %q: some of what was sent may be left beside the documents of the new owner, until "+
			"the run is ingested again: %w", fio.Printable(g.Run), err)
	}
	return err
}

// Replace stores another document in place of a marked one, and keeps the mark.
func (w *BulkWriter) Replace(ctx context.Context, id string, doc []byte) error {
	k := w.markOf(id)
	if k == nil {
		return nil
	}
	return k.Retry(ctx, "change the document of", func() error {
		return k.Replace(ctx, func(found []byte) []byte { return esmodel.Keep(doc, found, w.named) })
	})
}

func (w *BulkWriter) noteDeleted(deleted map[string]int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for index, n := range deleted {
		c := w.report.Indices[index]
		c.Deleted += n
		w.report.Indices[index] = c
	}
}
