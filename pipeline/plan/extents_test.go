package plan

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/internal/testkit"
)

// TestAppendedLogs: logs that several threads appended to one file (per_job_logs=0) give the
// numbers of the same logs in files of their own.
func TestAppendedLogs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, folder string
		logs         []string // with the thread number as N
		pack         bool
	}{
		{"histograms of three threads", "randrw", []string{"randrw_clat_hist.N.log"}, false},
		{"packed", "randrw", []string{"randrw_clat_hist.N.log"}, true},
		{"coarse, with absolute stamps", "epoch", []string{"epoch_clat_hist.N.log"}, false},
		{"single I/Os", "exact", []string{"exact_clat.N.log"}, false},
		{"of fio --client", "cluster",
			[]string{"cluster_clat_hist.N.log.127.0.0.1", "cluster_clat_hist.N.log.127.0.0.2"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			apart, together := t.TempDir(), t.TempDir()
			put := func(dir, name string, text []byte) {
				if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			get := func(path string) []byte {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				return text
			}
			json := get(filepath.Join(real, tt.folder, "fio.json"))
			put(apart, "fio.json", json)
			put(together, "fio.json", json)
			for _, name := range tt.logs {
				files, err := filepath.Glob(filepath.Join(real, tt.folder, strings.Replace(name, "N", "*", 1)))
				if err != nil || len(files) < 2 {
					t.Fatal(files, err)
				}
				var all bytes.Buffer
				for _, file := range slices.Backward(files) { // in no order that their entries have
					all.Write(get(file))
					put(apart, filepath.Base(file), get(file))
				}
				name = strings.Replace(name, ".N", "", 1)
				if text := all.Bytes(); tt.pack {
					put(together, name+".gz", testkit.Gzipped(text))
				} else {
					put(together, name, text)
				}
			}
			s := fio.Defaults()
			s.Interval = time.Second
			_, want := planned(t, s, apart)
			p, got := planned(t, s, together)
			if len(got.Rows) != len(want.Rows) {
				t.Fatalf("%d rows, want %d", len(got.Rows), len(want.Rows))
			}
			for i, r := range got.Rows {
				w := want.Rows[i]
				near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(b), 1) }
				if r.Dims != w.Dims || r.Logs != w.Logs ||
					!near(r.Stats.Samples, w.Stats.Samples) || !near(r.Stats.Mean, w.Stats.Mean) {
					t.Errorf("row %d: %+v, want %+v", i, r, w)
				}
			}
			a, b := got.Sum.Account, want.Sum.Account
			if a.Logged != b.Logged || a.Restored != b.Restored || a.Missing != b.Missing ||
				!a.CountedKnown || a.LogsRepaired != b.LogsRepaired {
				t.Errorf("account %+v, want %+v", a, b)
			}
			complete(t, p)
		})
	}
}
