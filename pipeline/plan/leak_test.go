package plan

import (
	"testing"

	"go.uber.org/goleak"
)

// Nothing here, however it ended, leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
