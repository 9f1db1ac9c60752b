package indices

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
)

// TestMain fails if a test leaves goroutines behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testClient(tb testing.TB, cfg client.Config) *client.Client {
	tb.Helper()
	cfg.Pause = 10 * time.Millisecond
	c, err := client.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// standIn is a full cluster and a client for it that is patient for two seconds.
func standIn(tb testing.TB) (*esmodeltest.Server, *client.Client) {
	s := esmodeltest.New(tb, esmodeltest.Options{Histogram: true, Lifecycle: true})
	return s, testClient(tb, client.Config{Addresses: []string{s.URL}, MaxWait: 2 * time.Second})
}
