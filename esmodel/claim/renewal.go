//go:build !chaos

package claim

import "time"

// Times of the renewal and the observation of claims.
const (
	RenewInterval = 10 * time.Second // between two renewals
	claimRetry    = 2 * time.Second  // after a renewal that failed
	Stale         = 30 * time.Second // without a renewal the owner sends nothing
	Expiry        = 60 * time.Second // without a renewal others take the claim over
	PollInterval  = time.Second      // between two checks of another's claim
	claimLinger   = 2 * time.Second  // wait for the reply to a claim when interrupted
)
