package delivery

import (
	"context"

	"fiolat/esmodel"
	"fiolat/esmodel/indices"
	"fiolat/pipeline"
)

// markMergedStale notes that a part of a run is written: the merged run becomes partial, and a merge that is under way
// loses its mark.
func (w *BulkWriter) markMergedStale(key esmodel.RunKey) {
	whole := esmodel.RunKey{Run: key.Run, Kind: key.Kind}
	if key.Part == "" || w.markOf(whole.ID()) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wholes = append(w.wholes, indices.NewMark(w.c, w.cfg.Prefix, whole, esmodel.Unmerged))
}

// sameParts returns an error if a part is no longer complete in the generation that was merged. A part that is
// begun after this makes the merged run partial itself; see markMergedStale.
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
