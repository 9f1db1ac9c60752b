//go:build !chaos

package client

import "time"

// defaultTimeout is how long one request may take. Elasticsearch itself waits a minute for a shard before it
// answers 503.
const defaultTimeout = 90 * time.Second
