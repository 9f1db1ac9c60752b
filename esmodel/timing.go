//go:build !chaos

package esmodel

import "time"

// DefaultTimeout is how long one request may take. Elasticsearch itself waits
// a minute for a shard before it says 503.
const DefaultTimeout = 90 * time.Second

// DefaultFlushBytes is the size of a bulk request before compression.
const DefaultFlushBytes = 4 << 20

const (
	claimEvery  = 10 * time.Second // between two renewals
	claimRetry  = 2 * time.Second  // after a renewal that failed
	claimStale  = 30 * time.Second // without a renewal the owner sends nothing
	claimDead   = 60 * time.Second // without a renewal others take the claim over
	claimWatch  = time.Second      // between two looks at another's claim
	claimLinger = 2 * time.Second  // for the reply to a claim when interrupted
	probeEvery  = 30 * time.Second // between two attempts at a server that is away
)
