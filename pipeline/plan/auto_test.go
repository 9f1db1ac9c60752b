package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/testkit"
	"fiolat/internal/testlog"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
	"fiolat/pipeline/pipelinetest"
)

// realLatencies are the latencies of all reads of a real fio run, sorted.
func realLatencies(t *testing.T) (ns []int64) {
	for _, io := range readExact(t, real+"/exact/exact_clat.1.log") {
		if io.dir == "read" {
			ns = append(ns, io.ns)
		}
	}
	slices.Sort(ns)
	return ns
}

// at runs a log through the pipeline at an interval, or at one that is chosen for
// the accuracy of percentile p, and returns what it was and its rows with I/O by
// direction.
func at(t *testing.T, log string, interval time.Duration, accuracy, p float64, by ...string) (*pipelinetest.Collect,
	map[string][]pipeline.Row) {
	t.Helper()
	cfg := Config{Settings: fio.Defaults(), Accuracy: accuracy}
	cfg.Settings.Interval, cfg.Settings.Percentiles, cfg.Settings.By = interval, []float64{50, p}, by
	c, err := process(t, cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]pipeline.Row{}
	for _, r := range c.Rows {
		if r.Stats.Samples >= 0.5 {
			rows[r.Dims.Direction] = append(rows[r.Dims.Direction], r)
		}
	}
	return c, rows
}

func writeLog(t *testing.T, log []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a_clat_hist.1.log")
	if err := os.WriteFile(name, log, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// known counts the rows in which the last percentile is known to within accuracy.
func known(rows []pipeline.Row, accuracy float64) (n int) {
	for _, r := range rows {
		v, lower, upper := r.Stats.Percentiles[1], r.Stats.Lower[1], r.Stats.Upper[1]
		if lower != fiohist.NoLimit && upper != fiohist.NoLimit && v-lower <= accuracy*v && upper-v <= accuracy*v {
			n++
		}
	}
	return n
}

// On runs of ten minutes at several rates, all from one real distribution, the
// interval chosen is long enough and the next shorter one is not.
func TestAutoInterval(t *testing.T) {
	t.Parallel()
	latencies := realLatencies(t)
	latency := func(r *rand.Rand, _ time.Duration) time.Duration {
		return time.Duration(latencies[r.IntN(len(latencies))])
	}
	tests := []struct {
		rate, p, accuracy float64
		met               bool
	}{
		{20, 50, 0.10, true},
		{20, 99, 0.10, false},
		{20, 99.9, 0.10, false},
		{200, 50, 0.02, true},
		{200, 95, 0.10, true},
		{200, 99, 0.10, true},
		{20000, 99, 0.05, true},
		{20000, 99.9, 0.10, true},
		{20000, 99.9, 0.005, false},
	}
	for _, rate := range []float64{20, 200, 20000} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			t.Parallel()
			log := writeLog(t, testlog.Config{Seed: uint64(rate), Duration: 600 * time.Second, Rate: rate,
				Latency: latency}.Log())
			for _, tt := range tests {
				if tt.rate != rate {
					continue
				}
				name := fmt.Sprintf("p%g to %g %%", tt.p, 100*tt.accuracy)
				c, rows := at(t, log, 0, tt.accuracy, tt.p)
				choice := c.Sum.Account.Interval
				t.Logf("%s at %g I/Os a second: %v, %s", name, tt.rate, choice.Interval, choice.Reason)
				if choice.Met != tt.met || strings.HasPrefix(choice.Reason, "not met") == tt.met {
					t.Errorf("%s: met is %v, want %v (%s)", name, choice.Met, tt.met, choice.Reason)
				}
				if time.Duration(c.Run.Interval) != choice.Interval || choice.MS != float64(c.Run.Interval)/1e6 {
					t.Errorf("%s: the interval is %v, chosen was %v", name, time.Duration(c.Run.Interval),
						choice.Interval)
				}
				step := slices.Index(intervals.Ladder, choice.Interval)
				if !choice.Met && step != len(intervals.Ladder)-1 {
					t.Errorf("%s: not met, and %v is not the longest", name, choice.Interval)
				}
				if choice.Met {
					truth := float64(latencies[int(math.Ceil(tt.p/100*float64(len(latencies))))-1])
					near := 0
					for _, r := range rows[fio.All] {
						if math.Abs(r.Stats.Percentiles[1]-truth) <= tt.accuracy*truth {
							near++
						}
					}
					if n := len(rows[fio.All]); float64(near) < 0.9*float64(n) {
						t.Errorf("%s: within the accuracy of the true %.0f ns in %d of %d intervals of %v", name, truth,
							near, n, choice.Interval)
					}
				}
				// What was folded from seconds is what the pipeline makes of every interval.
				for _, shorter := range intervals.Ladder[:step] {
					_, rows := at(t, log, shorter, 0, tt.p)
					if n := len(rows[fio.All]); float64(known(rows[fio.All], tt.accuracy)) >= 0.9*float64(n) {
						t.Errorf("%s: known in %d of %d intervals of %v, yet %v was chosen", name,
							known(rows[fio.All],
								tt.accuracy), n, shorter, choice.Interval)
					}
				}
			}
		})
	}
}

// The worst direction decides if the run is split by direction, and only then; idle
// times and the cut-off end do not count; nothing shorter than the logs' spacing.
func TestAutoIntervalScopes(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	latencies := realLatencies(t)
	ios := func(yield func(testlog.IO) bool) {
		rng := rand.New(rand.NewPCG(3, 3))
		for ms := 5; ms < 252_000; ms++ { // 950 reads and 50 writes a second, and a minute's pause
			io := testlog.IO{Done: time.Duration(ms) * time.Millisecond,
				Latency: time.Duration(latencies[rng.IntN(len(latencies))])}
			if ms > 100_000 && ms < 160_000 {
				continue
			}
			if ms%20 == 0 {
				io.Dir = fio.Write
			}
			if !yield(io) {
				return
			}
		}
	}
	log := writeLog(t, testlog.Config{}.Windows().Log(ios))
	choose := func(cfg Config) *pipeline.Choice {
		t.Helper()
		c, err := process(t, cfg, log)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(c.Sum.Account.Interval.Reason)
		return c.Sum.Account.Interval
	}
	wish := Config{Settings: fio.Defaults(), Accuracy: 0.2}
	wish.Settings.By, wish.Settings.Percentiles = nil, []float64{90, 50, 0, 100}
	all := choose(wish)
	wish.Settings.Grid, wish.Settings.Start = "epoch", "2026-01-01T00:00:07.25Z"
	if c := choose(wish); c.Interval != all.Interval {
		t.Errorf("%v on the grid from 1970, %v on the run's own", c.Interval, all.Interval)
	}
	wish.Settings.By = []string{"direction"}
	split := choose(wish)
	if !all.Met || !split.Met || all.Interval >= split.Interval || !strings.Contains(split.Reason, "(write)") {
		t.Errorf("%+v for all, %+v split by direction: want the writes to ask for a longer one", all, split)
	}
	_, rows := at(t, log, split.Interval, 0, 90, "direction")
	// but for the cut-off one
	if n := len(rows["write"]); n < 3 || float64(known(rows["write"], 0.2)) < 0.9*float64(n-1) {
		t.Errorf("writes are known in %d of %d intervals", known(rows["write"], 0.2), n)
	}
	if c, _ := at(t, log, 0, 0.9, 50); c.Sum.Account.Interval.Interval != time.Second {
		t.Errorf("%+v, want the logs' own spacing", c.Sum.Account.Interval)
	}
	slow := writeLog(t, testlog.Config{H: 7 * time.Second, Duration: 70 * time.Second, Rate: 5000}.Log())
	if c, _ := at(t, slow, 0, 0.9, 50); c.Sum.Account.Interval.Interval != 10*time.Second {
		t.Errorf("%+v of logs with a record every 7 s, want 10 s", c.Sum.Account.Interval)
	}
	wish.Settings.Percentiles = []float64{0, 100}
	if _, err := process(t, wish, log); err == nil || !strings.Contains(err.Error(), "p100") {
		t.Errorf("p0 and p100: %v, want a clear error", err)
	}
	wish.Settings.Percentiles, wish.Stdin = []float64{50}, strings.NewReader("")
	if _, err := process(t, wish, "-"); err == nil || !strings.Contains(err.Error(), "only once") {
		t.Errorf("standard input: %v, want a clear error", err)
	}
}
