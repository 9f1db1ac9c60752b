package client

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"fiolat/esmodel/esmodeltest"
)

// TestMain fails if a test leaves goroutines behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testClient(tb testing.TB, cfg Config) *Client {
	tb.Helper()
	cfg.Pause = 10 * time.Millisecond
	c, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// standIn is a full cluster and a client for it that is patient for two seconds.
func standIn(tb testing.TB) (*esmodeltest.Server, *Client) {
	s := esmodeltest.New(tb, esmodeltest.Options{Histogram: true, Lifecycle: true})
	return s, testClient(tb, Config{Addresses: []string{s.URL}, MaxWait: 2 * time.Second})
}
