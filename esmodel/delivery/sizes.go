//go:build !chaos

package delivery

import "time"

// defaultFlushBytes is the size of a bulk request before compression.
const defaultFlushBytes = 4 << 20

const probeEvery = 30 * time.Second // between two probes of a server that is down
