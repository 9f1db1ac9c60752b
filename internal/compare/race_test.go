//go:build race

package compare

// Under the race detector the statistics would take minutes; `make race` runs them
// without it as well.
const splits = 10
