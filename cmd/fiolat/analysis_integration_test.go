//go:build integration

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fiolat/internal/testkit"
)

// same.py checks that pandas and DuckDB read from Parquet what pandas reads from CSV.
const same = `
import sys, duckdb, pandas
csv, parquet = pandas.read_csv(sys.argv[1]), pandas.read_parquet(sys.argv[2])
column = sys.argv[3]
assert len(csv) > 20 and len(csv) == len(parquet), (len(csv), len(parquet))
assert set(csv) <= set(parquet), set(csv) ^ set(parquet)
assert csv[column].notna().any() and csv[column].astype(float).equals(parquet[column]), column
assert list(csv.offset_ms) == list(parquet.offset_ms) and list(csv.host.fillna("")) == list(parquet.host.fillna(""))
[(n, total)] = duckdb.sql(f"select count(*), sum({column}) from '{sys.argv[2]}'").fetchall()
assert n == len(csv) and abs(total / csv[column].sum() - 1) < 1e-12, (n, total)
print("same")
`

// The code of docs/analysis.md runs on the files that the page makes, in the order of the page, and prints something
// or draws its picture; so does examples/plot.py. Parquet holds what CSV does.
func TestServerAnalysis(t *testing.T) {
	testkit.Nightly(t)
	python, err := exec.Command("../../scripts/oracle-python", "--analysis").Output()
	if err != nil {
		t.Fatalf("scripts/oracle-python --analysis: %v", err)
	}
	interpreter := strings.TrimSpace(string(python))
	plot, err := filepath.Abs("../../examples/plot.py")
	if err != nil {
		t.Fatal(err)
	}
	w := newPageWorld(t)
	run := func(t *testing.T, stdin string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir, cmd.Env, cmd.Stdin = w.dir, w.env, strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s\n%s", args[0], err, stdin, out)
		}
		return string(out)
	}
	text, err := os.ReadFile("../../docs/analysis.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for _, block := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		language, code := block[1], block[2]
		out := "a picture"
		switch language {
		case "sh":
			out = run(t, code, "sh", "-e")
		case "python":
			out = run(t, code, interpreter)
		case "sql":
			out = run(t, "import duckdb\nprint(duckdb.sql('''"+code+"'''))", interpreter)
		case "gnuplot":
			run(t, code, "gnuplot")
		case "r":
			out = run(t, code, "Rscript", "-")
		default:
			continue
		}
		if ran[language]++; strings.TrimSpace(out) == "" {
			t.Errorf("no output of\n%s", code)
		}
	}
	if ran["sh"] < 3 || ran["python"] < 1 || ran["sql"] < 3 || ran["gnuplot"] < 1 || ran["r"] < 1 {
		t.Errorf("ran %v", ran)
	}
	run(t, "", interpreter, plot, "rows.parquet", "buckets.parquet", "plot.png")
	for _, picture := range []string{"read.svg", "read.pdf", "plot.png"} {
		if st, err := os.Stat(filepath.Join(w.dir, picture)); err != nil || st.Size() < 4000 {
			t.Errorf("%s: %v, %v", picture, st, err)
		}
	}
	for command, column := range map[string]string{"percentiles --sla 'read p99 < 1s'": "p99_us",
		"histogram": "lower_us", "percentiles --unit ns --no-total": "p99_ns"} {
		for _, format := range []string{"csv", "parquet"} {
			run(t, "fiolat "+command+" --by host,direction --format "+format+" -o f."+format+" testdata/fio/cluster",
				"sh", "-e")
		}
		run(t, same, interpreter, "-", "f.csv", "f.parquet", column)
	}
}
