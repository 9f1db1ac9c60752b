package plan

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/ingest/source"
	"fiolat/pipeline/pipelinetest"
)

// real is where the real logs lie.
const real = "../../testdata/fio"

// prepare prepares the one run below paths.
func prepare(t testing.TB, cfg Config, paths ...string) (*Plan, error) {
	t.Helper()
	ins, err := ingest.Discover(paths, ingest.DiscoverOptions{Kind: cfg.Settings.Kind, Stdin: cfg.Stdin})
	if err != nil {
		return nil, err
	}
	if len(ins) != 1 {
		t.Fatalf("%d runs below %v, want 1", len(ins), paths)
	}
	return Prepare(t.Context(), ins[0], cfg)
}

// process runs the logs below the paths through the pipeline.
func process(t testing.TB, cfg Config, paths ...string) (*pipelinetest.Collect, error) {
	t.Helper()
	p, err := prepare(t, cfg, paths...)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	c := new(pipelinetest.Collect)
	_, err = p.Process(t.Context(), c)
	return c, err
}

type oracleRow struct {
	OffsetMS               float64 `json:"offset_ms"`
	Scope, Direction       string
	Samples                float64
	Logs                   int
	Min, Max, Mean, StdDev *float64
	Percentiles            map[string]*float64
}

// TestOracle compares every number with those of an independent program, for any
// number of workers and whether or not intervals leave early.
func TestOracle(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/oracle/*.ndjson.gz")
	if err != nil || len(files) != 9*2*3*2 {
		t.Fatalf("%d files, want 108: run testdata/oracle/make (%v)", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".ndjson.gz")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			part := strings.Split(name, "-")
			want := readOracle(t, file)
			for _, v := range []struct{ workers, hold int }{{1, 0}, {16, -1}} {
				s := fio.Defaults()
				s.Align = part[1]
				fmt.Sscan(part[2], &s.Interval)
				s.Interval *= time.Millisecond
				if len(part) == 4 {
					s.Repair, s.Restore = "no", false
				}
				got, err := process(t, Config{Settings: s, Workers: v.workers, Hold: v.hold}, filepath.Join(real,
					part[0]))
				if err != nil {
					t.Fatal(err)
				}
				compare(t, got, want)
			}
		})
	}
}

func readOracle(t *testing.T, file string) (rows []oracleRow) {
	t.Helper()
	z, err := source.Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		var r oracleRow
		if err := json.NewDecoder(bytes.NewReader(lines.Bytes())).Decode(&r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		t.Fatalf("%s is empty", file)
	}
	return rows
}

func compare(t *testing.T, got *pipelinetest.Collect, want []oracleRow) {
	t.Helper()
	if len(got.Rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(got.Rows), len(want))
	}
	for i, w := range want {
		g := &got.Rows[i]
		at := fmt.Sprintf("%v ms, %s", w.OffsetMS, w.Direction)
		if float64(got.Offsets[i])/1e6 != w.OffsetMS || g.Scope != w.Scope || g.Dims.Direction != w.Direction ||
			g.Logs != w.Logs {
			t.Fatalf("%s: %v ms, %s, %s, %d logs; want %s, %d logs", at, float64(got.Offsets[i])/1e6, g.Scope,
				g.Dims.Direction, g.Logs, w.Scope, w.Logs)
		}
		near(t, at+" samples", g.Stats.Samples, &w.Samples, parts)
		if g.Stats.Empty() {
			if w.Mean != nil {
				t.Fatalf("%s: empty, want %v I/Os", at, w.Samples)
			}
			continue
		}
		near(t, at+" min", g.Stats.Min, w.Min, 0)
		near(t, at+" max", g.Stats.Max, w.Max, 0)
		// Of few I/Os, one that is a part longer or shorter counts the more.
		off := func(v *float64) float64 { return 1e-4**v + parts/w.Samples**w.Max }
		near(t, at+" mean", g.Stats.Mean, w.Mean, off(w.Mean))
		near(t, at+" stddev", g.Stats.StdDev, w.StdDev, off(w.StdDev))
		for k, p := range got.Run.Percentiles {
			v := w.Percentiles[fmt.Sprintf("%g", p)]
			near(t, fmt.Sprintf("%s p%g", at, p), g.Stats.Percentiles[k], v, off(v))
		}
	}
}

// parts is by how many I/Os the sum of a row may be off: hundreds of buckets whose shares are rounded alike.
const parts = 5e-4

// near compares to 1e-9 of the value, or to off where that is larger.
func near(t *testing.T, what string, got float64, want *float64, off float64) {
	t.Helper()
	if want == nil {
		t.Fatalf("%s: %v, want none", what, got)
	}
	if math.Abs(got-*want) > max(1e-9*math.Abs(*want), off) {
		t.Errorf("%s: %v, want %v", what, got, *want)
	}
}
