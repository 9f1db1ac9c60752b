package delivery

import (
	"context"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/indices"
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
	p := w.c.Retrier("make the merged run partial", w.cfg.MaxWait)
	for err := w.flushStale(ctx); err != nil; err = w.flushStale(ctx) { // if there was nothing to send
		if err = p.Wait(ctx, err); err != nil {
			return err
		}
	}
	if !w.cfg.NoTemplates { // an index may have been deleted and created anew since its first document
		if _, _, err := indices.CheckMappings(ctx, w.c, w.cfg.Prefix, false); err != nil {
			return err
		}
	}
	g := indices.GenerationOf(run)
	hold := w.claimOf(esmodel.RunDocID(g.Run, g.Part, g.Kind)).HoldAbove
	deleted, err := indices.Commit(ctx, w.c, w.cfg.Prefix, g, w.made(run, r), r.names(), counted, hold)
	w.noteDeleted(deleted)
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

// Replace stores another document in place of a claimed one, and keeps the claim.
func (w *BulkWriter) Replace(ctx context.Context, id string, doc []byte) error {
	k := w.claimOf(id)
	if k == nil {
		return nil
	}
	return k.Replace(ctx, esmodel.Keep(doc, k.Before(), w.named))
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
