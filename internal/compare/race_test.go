//go:build race

package compare

// Under the race detector the statistics would take minutes; `make test` and `make nightly`
// run them without it.
const splits = 10
