// Package clienttest makes clients for the tests of the packages above client.
package clienttest

import (
	"testing"
	"time"

	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
)

// New returns a client that waits 10 ms before its first retry and is closed when the test ends.
func New(tb testing.TB, cfg client.Config) *client.Client {
	tb.Helper()
	cfg.Pause = 10 * time.Millisecond
	c, err := client.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() }) // it was only used by a test
	return c
}

// StandIn returns a server with all features and a client for it that retries for two seconds.
func StandIn(tb testing.TB) (*esmodeltest.Server, *client.Client) {
	tb.Helper()
	s := esmodeltest.New(tb, esmodeltest.Options{Histogram: true, Lifecycle: true})
	return s, New(tb, client.Config{Addresses: []string{s.URL}, MaxWait: 2 * time.Second})
}
