//go:build !chaos

package esmodel

import "time"

// How claims are renewed and watched.
const (
	claimEvery  = 10 * time.Second // between two renewals
	claimRetry  = 2 * time.Second  // after a renewal that failed
	claimStale  = 30 * time.Second // without a renewal the owner sends nothing
	claimDead   = 60 * time.Second // without a renewal others take the claim over
	claimWatch  = time.Second      // between two looks at another's claim
	claimLinger = 2 * time.Second  // for the reply to a claim when interrupted
)
