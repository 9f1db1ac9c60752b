//go:build chaos

package client

import "time"

// defaultTimeout is the value for the builds of internal/chaos.
const defaultTimeout = 20 * time.Second

const unacknowledged = 2500 * time.Millisecond
