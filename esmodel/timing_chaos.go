//go:build chaos

package esmodel

import "time"

// What internal/chaos builds: waits are a tenth of those of timing.go, but for a request,
// and requests are small, so that few documents make many of them.
const (
	DefaultTimeout    = 20 * time.Second
	DefaultFlushBytes = 128 << 10

	claimEvery  = time.Second
	claimRetry  = 200 * time.Millisecond
	claimStale  = 3 * time.Second
	claimDead   = 6 * time.Second
	claimWatch  = 100 * time.Millisecond
	claimLinger = 2 * time.Second
	probeEvery  = 3 * time.Second
)
