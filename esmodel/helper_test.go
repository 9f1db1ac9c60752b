package esmodel_test

import (
	"testing"

	"go.uber.org/goleak"

	"fiolat/esmodel/client/clienttest"
	"fiolat/esmodel/delivery/deliverytest"
)

// TestMain fails if a test leaves goroutines behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	testClient = clienttest.New
	ingestRun  = deliverytest.Ingest
)
