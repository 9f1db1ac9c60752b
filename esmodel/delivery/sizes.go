//go:build !chaos

package delivery

import "time"

// DefaultFlushBytes is the size of a bulk request before compression.
const DefaultFlushBytes = 4 << 20

const probeEvery = 30 * time.Second // between two attempts at a server that is away
