package ingest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file of another program whose name ends like that of a renamed log is no log, and is named.
func TestNotRenamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"j_clat_hist.1.log": "1000, 0, 4096" + strings.Repeat(", 1", 1856) + "\n",
		"app-hist.log":      "2026-11-28 server started\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := Discover([]string{dir}, DiscoverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(runs[0].Warnings, "\n")
	if len(runs) != 1 || len(runs[0].Logs) != 1 || !strings.Contains(said, "app-hist.log: not a log of fio") {
		t.Errorf("%d runs, %d logs; warnings: %s", len(runs), len(runs[0].Logs), said)
	}
}
