//go:build chaos

package client

import "time"

// defaultTimeout is that of what internal/chaos builds.
const defaultTimeout = 20 * time.Second
