//go:build chaos

package delivery

import "time"

// Values for the builds of internal/chaos: small requests, so that few documents make many of them.
const (
	defaultFlushBytes = 128 << 10

	probeEvery = 3 * time.Second
)
