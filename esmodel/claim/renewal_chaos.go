//go:build chaos

package claim

import "time"

// What internal/chaos builds: a tenth of the times of renewal.go.
const (
	Every       = time.Second
	claimRetry  = 200 * time.Millisecond
	Stale       = 3 * time.Second
	Dead        = 6 * time.Second
	Watch       = 100 * time.Millisecond
	claimLinger = 2 * time.Second
)
