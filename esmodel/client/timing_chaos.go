//go:build chaos

package client

import "time"

// DefaultTimeout is that of what internal/chaos builds.
const DefaultTimeout = 20 * time.Second
