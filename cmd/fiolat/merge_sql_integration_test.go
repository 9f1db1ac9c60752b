//go:build integration

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fiolat/internal/testkit"
)

// engines read buckets/*.parquet and make the rows of merge.sql.
var engines = map[string]string{
	"duckdb": `
import duckdb
duckdb.sql("CREATE VIEW buckets AS FROM 'buckets/*.parquet'")
rows = duckdb.sql(open("merge.sql").read()).fetchall()
`,
	"spark": `
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config(
    "spark.sql.shuffle.partitions", 4).getOrCreate()
spark.read.parquet("buckets").createOrReplaceTempView("buckets")
rows = spark.sql(open("merge.sql").read()).collect()
`,
}

// writeRows leaves standard output to an engine's progress.
const writeRows = `
import json
with open("rows.json", "w") as out:
    for timestamp, *row in rows:
        print(json.dumps([round(timestamp.timestamp() * 1000), *row]), file=out)
`

// The buckets that 200 hosts write, which start one after the other, added up by examples/merge.sql, give the rows of
// percentiles of all their logs, to 1e-6, but where fio's own minimum or maximum cuts a percentile.
func TestServerMergeSQL(t *testing.T) {
	testkit.Nightly(t)
	dir := t.TempDir()
	query, err := os.ReadFile("../../examples/merge.sql")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "merge.sql"), query, 0o600)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "buckets"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	common := []string{"--by", "direction", "--grid", "epoch", "--interval", "1s", "--start"}
	all := append([]string{"percentiles", "--format", "ndjson", "--hosts-by", "folder"}, common...)
	all = append(all, start.Format(time.RFC3339))
	for i := range 200 {
		host := fmt.Sprintf("h%d", i)
		logs := filepath.Join(dir, "logs", host)
		if err := os.CopyFS(logs, os.DirFS(filepath.Join(real, "randrw"))); err != nil {
			t.Fatal(err)
		}
		late := time.Duration(i) * 37 * time.Millisecond
		succeed(t, append(append([]string{"histogram", "--format", "parquet", "--unit", "ns", "-o",
			filepath.Join(dir, "buckets", host+".parquet")}, common...), start.Add(late).Format(time.RFC3339Nano),
			logs)...)
		all = append(all, "--offset", host+"="+late.String())
	}
	rows, _ := succeed(t, append(all, filepath.Join(dir, "logs"))...)
	for engine, script := range engines {
		t.Run(engine, func(t *testing.T) {
			flag := "--analysis"
			if engine == "spark" {
				flag = "--spark"
			}
			python, err := exec.Command("../../scripts/oracle-python", flag).Output()
			if err != nil {
				t.Fatalf("scripts/oracle-python %s: %v", flag, err)
			}
			cmd := exec.CommandContext(t.Context(), strings.TrimSpace(string(python)), "-c", script+writeRows)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "TZ=UTC")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			merged, err := os.ReadFile(filepath.Join(dir, "rows.json"))
			if err != nil {
				t.Fatal(err)
			}
			sameRows(t, string(merged), rows)
		})
	}
}

// sameRows compares the rows of an engine with those of percentiles, which also has rows without I/O.
func sameRows(t *testing.T, merged, rows string) {
	t.Helper()
	got := map[string][]float64{}
	for line := range strings.Lines(merged) {
		var values []any
		if err := json.Unmarshal([]byte(line), &values); err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprintf("%.0f %v %v", values[0], values[1], values[2])
		for _, v := range values[3:] {
			got[key] = append(got[key], v.(float64))
		}
	}
	compared, cut, worst := 0, 0, 0.0
	for line := range strings.Lines(rows) {
		var row struct {
			Timestamp         time.Time
			Scope, Direction  string
			Samples, Min, Max float64
			Percentiles       map[string]float64
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprintf("%d %s %s", row.Timestamp.UnixMilli(), row.Scope, row.Direction)
		if row.Samples == 0 {
			continue
		}
		want := []float64{row.Samples}
		for _, p := range []string{"50", "90", "95", "99", "99.9"} {
			want = append(want, row.Percentiles[p])
		}
		if len(got[key]) != len(want) {
			t.Errorf("%s: %v, want %v", key, got[key], want)
			continue
		}
		for i, w := range want {
			switch off := math.Abs(got[key][i]/w - 1); {
			case off > 1e-6 && i > 0 && (w == row.Min || w == row.Max):
				cut++
			case off > 1e-6:
				t.Errorf("%s: value %d is %v, want %v", key, i, got[key][i], w)
			default:
				compared++
				worst = max(worst, off)
			}
		}
		delete(got, key)
	}
	t.Logf("%d values compared, %d cut by fio's minimum or maximum, largest difference %.1g", compared, cut, worst)
	if len(got) > 0 || compared < 400 || cut > compared/20 {
		t.Errorf("%d rows too many, %d values compared, %d cut", len(got), compared, cut)
	}
}
