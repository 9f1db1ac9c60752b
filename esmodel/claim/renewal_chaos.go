//go:build chaos

package claim

import "time"

// Values for the builds of internal/chaos: a tenth of those in renewal.go, except for claimLinger.
const (
	RenewInterval = time.Second
	claimRetry    = 200 * time.Millisecond
	Stale         = 3 * time.Second
	Expiry        = 6 * time.Second
	PollInterval  = 100 * time.Millisecond
	claimLinger   = 2 * time.Second
)
