//go:build !chaos

package client

import "time"

// defaultTimeout is how long one request may take. Elasticsearch itself waits a minute for a shard before it
// answers 503.
const defaultTimeout = 90 * time.Second

// unacknowledged is how long the kernel keeps what the other side does not acknowledge. Together with the time for
// which a claim may go without a renewal (claim.Stale) it is less than that after which others take it over.
const unacknowledged = 25 * time.Second
