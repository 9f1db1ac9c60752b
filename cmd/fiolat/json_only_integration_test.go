//go:build integration

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What fio prints as json+ is a run: its whole has the numbers of its logs, and from Elasticsearch those of the file.
func TestServerJSONOnly(t *testing.T) {
	es := server(t)
	const prefix = "jsononly"
	defer wipe(t, es, prefix)
	logs, only := t.TempDir(), filepath.Join(t.TempDir(), "fio.json")
	fio := exec.CommandContext(t.Context(), "fio", "--name=x", "--rw=randrw", "--bs=4k", "--size=16m", "--runtime=4",
		"--time_based", "--rate_iops=2000", "--numjobs=2", "--group_reporting", "--write_hist_log=x",
		"--log_hist_msec=1000", "--output-format=json+", "--output=fio.json")
	fio.Dir = logs
	if out, err := fio.CombinedOutput(); err != nil {
		t.Fatalf("fio: %v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(logs, "fio.json"))
	if err != nil || os.WriteFile(only, text, 0o600) != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := fiolat(t, nil, args...)
		if code != exitOK {
			t.Fatalf("%q: exit %d\n%s", args, code, stderr)
		}
		return stdout
	}
	of := []string{"--interval", "run", "--by", "direction", "--format", "table", "--no-total"}
	stored := []string{"--es", es, "--index-prefix", prefix}
	run(append([]string{"ingest", "--run-id", "one", "--by", "direction", only}, stored...)...)
	want := run(append(append([]string{"percentiles"}, of...), logs)...)
	if got := run(append(append([]string{"percentiles"}, of...), only)...); got != want {
		t.Errorf("of fio's JSON\n%s\nwant that of the logs\n%s", got, want)
	}
	if got := run(append(append(append([]string{"percentiles"}, of...), stored...), "one")...); got != want {
		t.Errorf("from Elasticsearch\n%s\nwant\n%s", got, want)
	}
	compared := run(append(append([]string{"compare", "--all"}, stored...), "one", logs)...)
	if rows := strings.Count(compared, "+0.00 %"); rows < 18 { // all, read and write, of six metrics or more
		t.Errorf("%d rows are the same in\n%s", rows, compared)
	}
	history := run("history", "--metric", "read p99", only)
	if got := run(append(append([]string{"history", "--metric", "read p99"}, stored...), "one")...); got != history {
		t.Errorf("history from Elasticsearch\n%s\nwant\n%s", got, history)
	}
}
