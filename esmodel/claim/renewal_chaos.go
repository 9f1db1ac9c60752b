//go:build chaos

package claim

import "time"

// What internal/chaos builds: a tenth of the times of renewal.go.
const (
	claimEvery  = time.Second
	claimRetry  = 200 * time.Millisecond
	claimStale  = 3 * time.Second
	claimDead   = 6 * time.Second
	claimWatch  = 100 * time.Millisecond
	claimLinger = 2 * time.Second
)
