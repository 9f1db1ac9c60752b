package delivery

import (
	"context"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/indices"
	"fiolat/pipeline"
)

// Commit checks that all is there and removes the run's other generations.
func (w *BulkWriter) Commit(ctx context.Context, run *pipeline.Run) error {
	r := w.Report()
	if r.Total().Incomplete() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.probe = time.Now() // the document of the run is worth another try: it says that it is partial
		return &IncompleteError{Report: r, Err: w.down}
	}
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
	deleted, err := indices.Commit(ctx, w.c, w.cfg.Prefix, indices.GenerationOf(run), made, r.names(), w.hold)
	w.noteDeleted(deleted)
	// What is still to come is the document of the run. Whoever asks Elasticsearch next
	// sees it; else that takes a second.
	w.cfg.Refresh = true
	return err
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
