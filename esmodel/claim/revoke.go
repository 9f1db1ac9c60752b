package claim

import (
	"bytes"
	"context"
	"errors"
)

// Revoke stores what the claim's body makes of the document, without a claim: a process that has one loses it. It
// changes nothing if there is no document, or if body returns nil, or the document as it is and nobody claims it. It
// does not take the claim. The error may be temporary.
func (k *Claim) Revoke(ctx context.Context) error {
	for {
		v, err := k.read(ctx)
		if err != nil || !v.there {
			return err
		}
		found := withoutClaim(v)
		doc := k.body(found)
		if doc == nil || v.claim == nil && bytes.Equal(doc, found) {
			return nil
		}
		if _, _, err = k.write(ctx, v, doc, true); !errors.Is(err, errConflict) {
			return err
		}
	}
}
