package plan

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/internal/testkit"
)

// exactIO is one line of write_lat_log: a single I/O.
type exactIO struct {
	ms, ns int64
	dir    string
}

func readExact(t *testing.T, pattern string) (ios []exactIO) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no logs %s (%v)", pattern, err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			var io exactIO
			var dir int
			if _, err := fmt.Sscanf(lines.Text(), "%d, %d, %d,", &io.ms, &io.ns, &dir); err != nil {
				t.Fatalf("%s: %q: %v", file, lines.Text(), err)
			}
			io.dir = []string{"read", "write", "trim"}[dir]
			ios = append(ios, io)
		}
		_ = f.Close()
	}
	return ios
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}

// TestExact compares with the exact percentiles of every single I/O, which fio
// logged as well: second by second, with a disturbance of the disk in the middle.
func TestExact(t *testing.T) {
	t.Parallel()
	ios := readExact(t, real+"/exact/exact_clat.*.log")
	s := fio.Defaults()
	s.Interval = time.Second
	s.Percentiles = []float64{50, 95, 99}
	got, err := process(t, Config{Settings: s}, real+"/exact")
	if err != nil {
		t.Fatal(err)
	}
	errs := map[float64][]float64{}
	seconds := 0
	for i, row := range got.Rows {
		if got.Offsets[i] >= 11e9 { // the logged span ends with the last record, before 12 s
			continue
		}
		var latencies []float64
		from := got.Offsets[i] / msec
		for _, io := range ios {
			if io.ms >= from && io.ms < from+1000 && (row.Dims.Direction == fio.All ||
				io.dir == row.Dims.Direction) {
				latencies = append(latencies, float64(io.ns))
			}
		}
		n := float64(len(latencies))
		if off := math.Abs(row.Stats.Samples-n) / n; off > 0.015 {
			t.Errorf("%s at %d ms: %.1f I/Os, %d were logged one by one: %.2f %% off, want at most 1.5 %%",
				row.Dims.Direction, from, row.Stats.Samples, len(latencies), 100*off)
		}
		slices.Sort(latencies)
		for k, p := range s.Percentiles {
			exact := latencies[int(math.Ceil(n*p/100))-1]
			errs[p] = append(errs[p], math.Abs(row.Stats.Percentiles[k]-exact)/exact)
		}
		seconds++
	}
	if seconds != 33 {
		t.Fatalf("%d seconds compared, want 11 of each direction and of all", seconds)
	}
	var said []string
	for _, p := range s.Percentiles {
		m := median(errs[p])
		said = append(said, fmt.Sprintf("p%g %.2f %%", p, 100*m))
		if m > 0.007 {
			t.Errorf("p%g: median relative error %.2f %%, want at most 0.7 %%", p, 100*m)
		}
	}
	t.Logf("median relative error: %s", strings.Join(said, ", "))
}

// TestConservation: what comes out is what the logs hold, in either alignment, at
// any interval, and the same bits for any number of workers.
func TestConservation(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"randrw", "exact", "gaps", "slow", "epoch", "trim", "latkinds", "cluster",
		"startdelay", "live"} {
		logged := sumLogs(t, filepath.Join(real, folder, "*_clat_hist.*.log*"))
		for _, align := range []string{"overlap", "inflight"} {
			for _, interval := range []time.Duration{time.Second, 3 * time.Second, 10 * time.Second} {
				t.Run(fmt.Sprintf("%s/%s/%v", folder, align, interval), func(t *testing.T) {
					t.Parallel()
					s := fio.Defaults()
					s.Align, s.Interval, s.Repair, s.Restore = align, interval, "no", false
					s.By = []string{"host", "job", "log", "direction"}
					one, err := process(t, Config{Settings: s, Workers: 1}, filepath.Join(real, folder))
					if err != nil {
						t.Fatal(err)
					}
					sums := map[string]float64{}
					for _, row := range one.Rows {
						if row.Scope == "direction" {
							sums[row.Dims.Direction] += row.Stats.Samples
						}
					}
					if len(sums) != len(logged) {
						t.Fatalf("directions %v, the logs have %v", sums, logged)
					}
					for dir, want := range logged {
						if sums[dir] != want {
							t.Errorf("%s: %.9f I/Os, the logs hold %.0f", dir, sums[dir], want)
						}
					}
					leaves := 0.0
					for _, l := range one.Leaves {
						leaves += l.Hist.Sum()
					}
					if total := one.Sum.Account.Logged; leaves != total {
						t.Errorf("leaves hold %.9f I/Os, the logs %.0f", leaves, total)
					}
					many, err := process(t, Config{Settings: s, Workers: 16, Hold: -1}, filepath.Join(real, folder))
					if err != nil {
						t.Fatal(err)
					}
					if len(one.Rows) != len(many.Rows) {
						t.Fatalf("%d rows with 1 worker, %d with 16", len(one.Rows), len(many.Rows))
					}
					for i := range one.Rows {
						if !reflect.DeepEqual(one.Rows[i], many.Rows[i]) {
							t.Fatalf("row %d: %+v with 1 worker, %+v with 16", i, one.Rows[i], many.Rows[i])
						}
					}
				})
			}
		}
	}
}

// TestAnyNumberOfWorkers: whatever a run is split by, the results are the same for any number of workers and
// processors.
func TestAnyNumberOfWorkers(t *testing.T) { // sets GOMAXPROCS
	dimensions := [][]string{nil, {"direction"}, {"host"}, {"job"}, {"log"}, {"host", "job", "log", "direction"}}
	for _, folder := range []string{"randrw", "exact", "gaps", "slow", "epoch", "trim", "latkinds", "cluster",
		"startdelay", "live", "garbled", "kinds"} {
		for _, align := range []string{"overlap", "inflight"} {
			for _, by := range dimensions {
				s := fio.Defaults()
				s.Align, s.Interval, s.By = align, 700*time.Millisecond, by
				what := fmt.Sprintf("%s, %s, by %v", folder, align, by)
				want, err := process(t, Config{Settings: s, Workers: 1}, filepath.Join(real, folder))
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				variants := []struct{ procs, workers int }{{2, 8}, {8, 3}, {1, 3}, {1, 8}, {2, 3}, {8, 8}}
				for _, v := range variants[:min(testkit.Size(t, 2), len(variants))] {
					before := runtime.GOMAXPROCS(v.procs)
					got, err := process(t, Config{Settings: s, Workers: v.workers},
						filepath.Join(real, folder))
					runtime.GOMAXPROCS(before)
					if err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					same(t, fmt.Sprintf("%s, %+v", what, v), got, want)
				}
			}
		}
	}
}

// sumLogs adds up all counts of the logs by direction, the obvious way.
func sumLogs(t *testing.T, pattern string) map[string]float64 {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no logs %s (%v)", pattern, err)
	}
	sums := map[string]float64{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Split(strings.TrimSpace(line), ", ")
			dir := map[string]string{"0": "read", "1": "write", "2": "trim"}[fields[1]]
			for _, f := range fields[3:] {
				n, err := strconv.Atoi(f)
				if err != nil {
					t.Fatal(err)
				}
				sums[dir] += float64(n)
			}
		}
	}
	return sums
}
