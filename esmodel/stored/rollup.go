package stored

import (
	"cmp"
	"context"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
)

// FinishRollUp finishes the rollup of a run, or of a part of it, that was interrupted after all of its
// documents had been counted: it deletes the finer documents and sets the status to complete. A run that was changed
// since it was read stays as it is.
func FinishRollUp(ctx context.Context, c *client.Client, prefix string, run *esmodel.StoredRun) error {
	key := esmodel.KeyOf(run.Run)
	k := indices.NewMark(c, prefix, key, func(found []byte) []byte { return found })
	k.Refuse = run.State().Still(key)
	if err := k.Retry(ctx, "mark", func() error { return k.Set(ctx) }); err != nil {
		return err
	}
	doc := k.Found
	header, err := esmodel.ReadDocHeader(doc)
	if err == nil {
		generation, made := indices.Counted(header)
		var in indices.Scope
		in, err = indices.ScopeOf(ctx, c, prefix, generation, doc)
		if err == nil {
			_, err = indices.Commit(ctx, c, in, generation, made, nil, nil, k.Holds)
		}
	}
	if err == nil {
		doc = esmodel.WithRollUp(doc, "", esmodel.StatusComplete)
	}
	ctx, cancel := client.WithGracePeriod(ctx, client.DrainTime)
	defer cancel()
	return cmp.Or(err, k.Retry(ctx, "unmark", func() error {
		return k.Remove(ctx, true, func([]byte) []byte { return doc })
	}))
}
