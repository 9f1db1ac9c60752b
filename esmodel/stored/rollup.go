package stored

import (
	"context"

	"fiolat/esmodel"
	"fiolat/esmodel/claim"
	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
)

// FinishRollUp finishes the rollup of a run, or of a part of it, that was interrupted after all of its
// documents had been counted: it deletes the finer documents and sets the status to complete.
func FinishRollUp(ctx context.Context, c *client.Client, prefix string, run *esmodel.StoredRun, takeOver bool) error {
	r := run.Run
	k := claim.New(c, prefix, r.ID, r.Part, r.Kind.String(), func(found []byte) []byte { return found })
	k.TakeOver = takeOver
	defer k.End()
	if err := k.Take(ctx); err != nil {
		return err
	}
	doc, err := finished(ctx, c, prefix, k)
	if err != nil {
		doc = k.Before()
	}
	ctx, cancel := client.WithGracePeriod(ctx, client.DrainTime)
	defer cancel()
	if e := k.ReleaseRetrying(ctx, doc); err == nil {
		err = e
	}
	return err
}

// finished deletes the finer documents and returns the document of the complete run.
func finished(ctx context.Context, c *client.Client, prefix string, k *claim.Claim) ([]byte, error) {
	doc := k.Before()
	counted, err := indices.ReadCounted(doc)
	if err != nil {
		return nil, err
	}
	generation, made := counted.Counted()
	_, err = indices.Commit(ctx, c, prefix, generation, made, nil, nil, k.HoldAbove)
	return esmodel.WithRollUp(doc, "", esmodel.StatusComplete), err
}
