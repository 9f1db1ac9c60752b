//go:build chaos

package esmodel

import "time"

// DefaultTimeout is that of what internal/chaos builds.
const DefaultTimeout = 20 * time.Second
