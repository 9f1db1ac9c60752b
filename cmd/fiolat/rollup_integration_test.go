//go:build integration

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/internal/testlog"
)

// TestServerRollup rolls up what a real Elasticsearch has: it is what a fresh ingest makes, and compare finds no
// change from its logs, nor between both when their month was deleted. With FIOLAT_ROLLUP_HOSTS there are so many hosts
// for 600 s, and it says what documents take, for which it merges segments: only on a server of your own.
func TestServerRollup(t *testing.T) {
	es, prefix := withPrefix(t, "rollup")
	hosts, seconds := 2, 40*time.Second
	many, err := strconv.Atoi(os.Getenv("FIOLAT_ROLLUP_HOSTS"))
	if err == nil {
		hosts, seconds = many, 600*time.Second
	}
	logs := t.TempDir()
	for host := range hosts {
		log := testlog.Config{Seed: uint64(host), Dirs: []fio.Direction{fio.Read, fio.Write},
			Duration: seconds, Rate: 400, Latency: testlog.LogNormal(100*time.Microsecond, 0.4)}.Log()
		name := fmt.Sprintf("a_clat_hist.1.log.10.0.0.%d", host+1)
		if err := os.WriteFile(filepath.Join(logs, name), log, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	size := func() (histograms, percentiles float64) {
		bytes := func(kind string) float64 {
			var stats struct {
				All struct {
					Primaries struct {
						Store struct {
							Bytes float64 `json:"size_in_bytes"`
						}
					}
				} `json:"_all"`
			}
			indices := es + "/" + prefix + "-" + kind + "-*/"
			ask(t, "POST", indices+"_forcemerge?max_num_segments=1", "", nil)
			ask(t, "POST", indices+"_flush", "", nil)
			ask(t, "GET", indices+"_stats/store", "", &stats)
			return stats.All.Primaries.Store.Bytes / 1e6
		}
		if many == 0 {
			return 0, 0
		}
		return bytes("histogram"), bytes("percentiles")
	}
	ingest := func(prefix, id string, more ...string) {
		must(t, append([]string{"ingest", "--es", es, "--index-prefix", prefix, "--start", "2026-10-01T00:00:00Z",
			"--run-id", id, "--run-name", "n"}, append(more, logs)...)...)
	}
	ingest(prefix, "R", "--interval", "1s")
	h, p := size()
	t.Logf("%d hosts, quanta of 1s: %.2f MB of histograms, %.2f MB of percentiles", hosts, h, p)
	long := []string{"--interval", "5s", "--coarseness", "3"}
	if many > 0 {
		long[1] = "1m"
	}
	must(t, append([]string{"rollup", "--es", es, "--index-prefix", prefix, "R"}, long...)...)
	h, p = size()
	t.Logf("%d hosts, quanta of %s: %.2f MB of histograms, %.2f MB of percentiles", hosts, long[1], h, p)
	ingest(prefix, "W", long...)
	nearDocs(t, rollUpDocs(t, es, prefix, "R"), rollUpDocs(t, es, prefix, "W"))
	for _, row := range compareJSON(t, exitOK, "--es", es, "--index-prefix", prefix, "--start", "2026-10-01T00:00:00Z",
		"--run-noise", "0%", "--margin", "25%", logs, "R").Comparisons[0].Rows {
		if !strings.HasPrefix(row.Metric, "p") {
			continue
		}
		if row.Change == nil || math.Abs(*row.Change) > 1e-5 { // stored counts are rounded
			t.Errorf("%s %s: %+v", row.Direction, row.Metric, row)
		}
	}
	ask(t, "DELETE", es+"/"+prefix+"-histogram-2026.10", "", nil)
	c := compareJSON(t, exitOK, "--es", es, "--index-prefix", prefix, "R", "W").Comparisons[0]
	if !strings.HasPrefix(c.Note, "figures only: no limits: intervals were deleted of R, W") ||
		c.Rows[0].Change == nil || math.Abs(*c.Rows[0].Change) > 1e-4 {
		t.Errorf("%+v", c)
	}
}
