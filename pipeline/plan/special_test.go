package plan

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fiolat/ingest/fiolog"
	"fiolat/internal/fiohist"
	"fiolat/pipeline"
	"fiolat/pipeline/pipelinetest"
)

// files writes files into a new folder.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// record returns the line of a record at coarseness 6 with the given counts by bucket.
func record(ms int, d fiolog.Direction, counts map[int]int) string {
	line := fmt.Sprintf("%d, %d, 4096", ms, d)
	for b := range 29 {
		line += fmt.Sprintf(", %d", counts[b])
	}
	return line + "\n"
}

// samples are the I/Os of a run by direction.
func samples(c *pipelinetest.Collect) map[string]float64 {
	sums := map[string]float64{}
	for _, r := range c.Rows {
		if r.Scope == "direction" {
			sums[r.Dims.Direction] += r.Stats.Samples
		}
	}
	return sums
}

// TestDamageAfterHead: the reads of a log damaged by fio --client begin after its head, as those of verify do. They
// are repaired as its writes are: fio adds to each record the one two before.
func TestDamageAfterHead(t *testing.T) {
	t.Parallel()
	const writes, reads = 40, 10
	damaged := func(n int) map[int]int {
		k := n/2 + 1
		return map[int]int{14: 600 * k, 15: 400 * k, 16: 200 * k}
	}
	var log strings.Builder
	for n := range writes {
		log.WriteString(record(1000*(n+1), fiolog.Write, damaged(n)))
	}
	for n := range reads {
		log.WriteString(record(1000*(writes+n+1), fiolog.Read, damaged(n)))
	}
	_, c := planned(t, pipelinetest.Settings(), files(t, map[string]string{"v_clat_hist.1.log.h": log.String()}))
	if got := samples(c); got["read"] != 1200*reads || got["write"] != 1200*writes {
		t.Errorf("%v, want %d reads and %d writes", got, 1200*reads, 1200*writes)
	}
}

// TestUnrepairableIsNamed: a direction that is left out is named also where no bins of fio's JSON show that it is lost.
func TestUnrepairableIsNamed(t *testing.T) {
	t.Parallel()
	const name = "cluster_clat_hist.1.log.127.0.0.1"
	cluster := map[string]string{"fio.json": "cluster/fio.json"}
	logs, err := filepath.Glob(real + "/cluster/*.log.*")
	if err != nil || len(logs) != 4 {
		t.Fatal(logs, err)
	}
	for _, l := range logs {
		cluster[filepath.Base(l)] = "cluster/" + filepath.Base(l)
	}
	dir := place(t, cluster)
	whole, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	text := strings.Join(append(lines[:9:9], lines[10:]...), "")
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := pipelinetest.Settings()
	for _, s.Restore = range []bool{true, false} {
		var warnings []string
		_, err := process(t, Config{Settings: s, Warn: func(w string) { warnings = append(warnings, w) }}, dir)
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(warnings, "\n"); !strings.Contains(all, name+": ") || !strings.Contains(all,
			"records before line 10, needed for the repair, are lost") {
			t.Errorf("restored %v: %s", s.Restore, all)
		}
	}
}

// TestMixedLimits: of a job with unified_rw_reporting=mixed, no direction is known to be idle, so the limits of another
// job do not hold for its I/Os.
func TestMixedLimits(t *testing.T) {
	t.Parallel()
	job := func(name, rw, limits string) string {
		return fmt.Sprintf(`{"jobname":%q,"job options":{"rw":%q,"write_hist_log":"x","log_hist_msec":"1000"},`+
			`"mixed":{"total_ios":1000,"runtime":1000,"clat_ns":{%s,"N":1000}}}`, name, rw, limits)
	}
	_, c := planned(t, pipelinetest.Settings(), files(t, map[string]string{
		"fio.json": `{"fio version":"fio-3.36","jobs":[` + job("a", "randread", `"min":90000,"max":120000`) + "," +
			job("b", "randrw", `"min":9000000,"max":12000000`) + "]}",
		"x_clat_hist.1.log": record(1000, fiolog.Read, map[int]int{11: 1000}),
		"x_clat_hist.2.log": record(1000, fiolog.Read, map[int]int{18: 600}) +
			record(1000, fiolog.Write, map[int]int{18: 400}),
	}))
	for _, r := range c.Rows {
		if p99 := r.Stats.Percentiles[3]; p99 < 9e6 || p99 > 17e6 {
			t.Errorf("%s %s: p99 of %v ns", r.Scope, r.Dims.Direction, p99)
		}
	}
}

// TestSkipAllZero: a log without any I/O is skipped also where its head does not show that it has none.
func TestSkipAllZero(t *testing.T) {
	t.Parallel()
	var good, zero strings.Builder
	for n := range 60 {
		good.WriteString(record(1000*(n+1), fiolog.Read, map[int]int{11: 5}))
		zero.WriteString(record(1000*(n+1), fiolog.Read, nil))
	}
	dir := files(t, map[string]string{"x_clat_hist.1.log": good.String(), "x_clat_hist.2.log": zero.String()})
	const why = "x_clat_hist.2.log: all buckets of all records are 0"
	s := pipelinetest.Settings()
	if _, err := process(t, Config{Settings: s}, dir); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("without SkipBad: %v", err)
	}
	s.SkipBad = true
	var warnings []string
	c, err := process(t, Config{Settings: s, Warn: func(w string) { warnings = append(warnings, w) }}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.Sum.Account.LogsSkipped != 1 || samples(c)["read"] != 300 || !strings.Contains(strings.Join(warnings, "\n"),
		why) {
		t.Errorf("%d skipped, %v; %q", c.Sum.Account.LogsSkipped, samples(c), warnings)
	}
}

// TestVersionOfSingleIOs: fio 3.6 to 3.16 wrote garbage into histograms, not into logs of single I/Os.
func TestVersionOfSingleIOs(t *testing.T) {
	t.Parallel()
	meta := `{"fio version":"fio-3.16","jobs":[{"jobname":"y","read":{"total_ios":1,"runtime":1,` +
		`"lat_ns":{"N":1,"min":50000,"max":50000}}}]}`
	s := pipelinetest.Settings()
	s.Kind = fiolog.Lat
	_, c := planned(t, s, files(t, map[string]string{"y_lat.1.log": "1, 50000, 0, 4096, 0\n", "fio.json": meta}))
	if samples(c)["read"] != 1 {
		t.Errorf("%v", samples(c))
	}
	dir := files(t, map[string]string{"y_clat_hist.1.log": record(1000, fiolog.Read, map[int]int{11: 1}),
		"fio.json": meta})
	if _, err := process(t, Config{Settings: pipelinetest.Settings()}, dir); err == nil ||
		!strings.Contains(err.Error(), "fio-3.16 wrote garbage") {
		t.Errorf("a histogram log: %v", err)
	}
}

// TestPickOfNothing: a run without I/O has nothing to pick, and that is an error, not a panic.
func TestPickOfNothing(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"z_clat_hist.1.log": "", "fio.json": `{"fio version":"fio-3.33","jobs":[` +
		`{"jobname":"z","error":5,"job options":{"write_hist_log":"z","log_hist_msec":"1000"},` +
		`"read":{"total_ios":0}}]}`})
	at := &pipeline.Moment{Text: "0"}
	later := &pipeline.Moment{Text: "1s", Since: time.Second}
	for _, tt := range []struct {
		name string
		pick pipeline.Pick
		want string
	}{
		{"from", pipeline.Pick{From: at}, "--from 0: "},
		{"to", pipeline.Pick{To: later}, "--to 1s: "},
		{"both", pipeline.Pick{From: at, To: later}, "--to 1s: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := process(t, Config{Settings: pipelinetest.Settings(), Pick: tt.pick}, dir)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// TestRestoredLastBucket: I/Os that only fio's JSON counts are in the account, too, if they are in the last bucket.
func TestRestoredLastBucket(t *testing.T) {
	t.Parallel()
	g := fiohist.Fio3
	_, c := planned(t, pipelinetest.Settings(), files(t, map[string]string{
		"x_clat_hist.1.log": record(1000, fiolog.Read, map[int]int{11: 5, 28: 2}),
		"fio.json": fmt.Sprintf(`{"fio version":"fio-3.36","jobs":[{"jobname":"x","job options":{"write_hist_log":"x",`+
			`"log_hist_msec":"1000"},"read":{"total_ios":10,"runtime":1500,"clat_ns":{"N":10,"min":100000,`+
			`"max":20000000000,"bins":{"%.0f":5,"%.0f":5}}}}]}`, g.Middle(11<<6), g.Middle(g.Last())),
	}))
	if a := c.Sum.Account; a.Restored != 3 || a.LastBucket != 5 {
		t.Errorf("%v restored, %v in the last bucket; want 3 and 5", a.Restored, a.LastBucket)
	}
}
