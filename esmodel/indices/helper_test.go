package indices

import (
	"testing"

	"go.uber.org/goleak"

	"fiolat/esmodel/client/clienttest"
)

// TestMain fails if a test leaves goroutines behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	testClient = clienttest.New
	standIn    = clienttest.StandIn
)
