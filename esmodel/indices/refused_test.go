package indices

import (
	"testing"

	"fiolat/esmodel"
)

// TestMarkErrorNames: whoever lost a run is told which process has it, if that still runs.
func TestMarkErrorNames(t *testing.T) {
	t.Parallel()
	owner := &esmodel.Owner{Host: "h1", PID: 42}
	for _, tt := range []struct {
		e    MarkError
		want string
	}{
		{MarkError{Run: "r", Owner: owner},
			`run "r": fiolat on host h1, process 42 has begun to write or delete it since, and has it now`},
		{MarkError{Run: "r", Part: "p", Kind: "slat", Owner: owner}, `run "r", part "p", slat: fiolat on host h1, ` +
			`process 42 has begun to write or delete it since, and has it now`},
		{MarkError{Run: "r"},
			`run "r": it was written or deleted by something else meanwhile, such as an ingest of a part; run again`},
	} {
		if got := tt.e.Error(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
