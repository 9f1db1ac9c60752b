package logs_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"fiolat/ingest"
)

// TestForgetMeanwhile: a small log may be forgotten by who has read it while another log's fit to fio's JSON is found
// by it.
func TestForgetMeanwhile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a_clat_hist.1.log")
	if err := os.WriteFile(path, []byte("1000, 0, 4096, 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ins, err := ingest.Discover([]string{path}, ingest.DiscoverOptions{})
	if err != nil || ins[0].Logs[0].Small() == nil {
		t.Fatal(ins, err)
	}
	var both sync.WaitGroup
	both.Go(ins[0].Logs[0].Forget)
	both.Go(func() {
		if small := ins[0].Logs[0].Small(); small != nil && len(small.All) == 0 {
			t.Error("empty")
		}
	})
	both.Wait()
	if ins[0].Logs[0].Small() != nil {
		t.Error("not forgotten")
	}
}
