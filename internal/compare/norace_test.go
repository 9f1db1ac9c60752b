//go:build !race

package compare

const splits = 100
