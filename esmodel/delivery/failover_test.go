package delivery

import (
	"net"
	"testing"
	"time"

	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
)

// Of several nodes one is down: the others are used.
func TestFailover(t *testing.T) {
	s, _ := standIn(t)
	esmodeltest.NoLeak(t)
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	c := testClient(
		t,
		client.Config{
			Addresses: []string{"http://" + dead.Addr().String(), s.URL, "http://" + dead.Addr().String()},
			MaxWait:   5 * time.Second,
		},
	)
	run := esmodeltest.Run()
	if _, err := ingestRun(
		t.Context(),
		c,
		BulkConfig{FlushBytes: 16 << 10},
		run,
		esmodeltest.Intervals(run, 20),
	); err != nil {
		t.Fatal(err)
	}
	c.Close()
	s.CloseClientConnections()
}
