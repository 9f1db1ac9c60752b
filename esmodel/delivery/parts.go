package delivery

import (
	"context"

	"fiolat/esmodel"
	"fiolat/esmodel/claim"
	"fiolat/pipeline"
)

// markMergedStale remembers to set the merged run to partial: one of its parts is being written again.
func (w *BulkWriter) markMergedStale(run, part, kind string) {
	whole := esmodel.RunKey{Run: run, Kind: kind}
	if part == "" || w.claimOf(whole.ID()) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wholes = append(w.wholes, claim.New(w.c, w.cfg.Prefix, run, "", kind, esmodel.Unmerged))
}

// flushStale sets the merged runs whose parts are being written to partial. A merge that is under way loses its claim.
func (w *BulkWriter) flushStale(ctx context.Context) error {
	w.mu.Lock()
	wholes := w.wholes
	w.mu.Unlock()
	for _, k := range wholes {
		if err := k.Revoke(ctx); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wholes = w.wholes[min(len(wholes), len(w.wholes)):]
	return nil
}

// sameParts returns an error if a part is no longer complete in the generation that was merged. A part that is
// claimed after this makes the merged run partial itself; see unmerged.
func (w *BulkWriter) sameParts(ctx context.Context, run, kind string, parts []pipeline.Part) error {
	index := esmodel.Index(w.cfg.Prefix, esmodel.KindRun, 0)
	for _, p := range parts {
		source, err := w.c.Source(ctx, index, esmodel.RunDocID(run, p.Name, kind))
		if err != nil {
			return err
		}
		if !esmodel.Holds(source, p.Generation) {
			return esmodel.Fault(run, p.Name, "merge the run again when that is complete",
				"it was ingested again, or is being ingested or deleted, since it was merged")
		}
	}
	return nil
}
