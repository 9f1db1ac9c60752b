package plan

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/ingest/fiolog"
	"fiolat/internal/testkit"
	"fiolat/pipeline"
	"fiolat/pipeline/pipelinetest"
)

// place copies real files under other names into a new folder.
func place(t *testing.T, names map[string]string) string {
	t.Helper()
	content := map[string][]byte{}
	for name, from := range names {
		b, err := os.ReadFile(filepath.Join(real, from))
		if err != nil {
			t.Fatal(err)
		}
		content[name] = b
	}
	return testkit.Files(t, content)
}

// byHost is the offset in ms of the first interval with I/O of each host.
func byHost(c *pipelinetest.Collect) map[string]int64 {
	first := map[string]int64{}
	for i, r := range c.Rows {
		if _, ok := first[r.Dims.Host]; !ok && r.Scope == "host" && r.Stats.Samples > 1 {
			first[r.Dims.Host] = c.Offsets[i] / msec
		}
	}
	return first
}

// TestStarts: hosts whose stamps are absolute and hosts whose stamps are relative,
// in one run.
func TestStarts(t *testing.T) {
	t.Parallel()
	mixed := map[string]string{
		"epoch_clat_hist.1.log.a": "epoch/epoch_clat_hist.1.log", // from 1795225577.155 s on
		"early_clat_hist.1.log.b": "startdelay/early_clat_hist.1.log",
	}
	s := fio.Defaults()
	s.By, s.Interval = []string{"host"}, 100*time.Millisecond
	t.Run("nothing says when the relative one began", func(t *testing.T) {
		t.Parallel()
		_, err := process(t, Config{Settings: s}, place(t, mixed))
		if err == nil || !strings.Contains(err.Error(), "early_clat_hist.1.log.b") || !strings.Contains(err.Error(),
			"--start") {
			t.Errorf("error %v, want one that names the log and --start", err)
		}
	})
	t.Run("--start says it", func(t *testing.T) {
		t.Parallel()
		s := s
		s.Start = time.UnixMilli(1795225580155).UTC().Format(time.RFC3339Nano)
		c, err := process(t, Config{Settings: s}, place(t, mixed))
		if err != nil {
			t.Fatal(err)
		}
		if first := byHost(c); first["a"] != 0 || first["b"] != 3000 {
			t.Errorf("first I/O at %v ms, want a at 0 and b 3 s later", first)
		}
	})
	for name, tt := range map[string]struct {
		start, want string
		logs        map[string]string
	}{
		"long before what absolute stamps say": {"2026-11-21T00:46:17Z", "1h0m0.155s after that", mixed},
		"long after it":                        {"2026-11-21T02:46:18Z", "1h0m0.845s before that", mixed},
		"within a run that tells it": {"2026-11-21T01:46:18Z", "845ms before that",
			map[string]string{"epoch_clat_hist.1.log.a": "epoch/epoch_clat_hist.1.log"}},
	} {
		t.Run("--start "+name, func(t *testing.T) {
			t.Parallel()
			s := s
			s.Start = tt.start
			_, err := process(t, Config{Settings: s}, place(t, tt.logs))
			if err == nil || !strings.Contains(err.Error(), "starts at 2026-11-21T01:46:17.155Z by its absolute stamps, "+
				tt.want) {
				t.Errorf("error %v, want one that says %s", err, tt.want)
			}
		})
	}
	t.Run("--offset comes on top", func(t *testing.T) {
		t.Parallel()
		s := s
		s.Offsets = map[string]time.Duration{"b": 1500 * time.Millisecond}
		c, err := process(t, Config{Settings: s}, place(t, map[string]string{
			"x_clat_hist.1.log.a": "startdelay/early_clat_hist.1.log",
			"x_clat_hist.1.log.b": "startdelay/early_clat_hist.1.log"}))
		if err != nil {
			t.Fatal(err)
		}
		if first := byHost(c); first["a"] != 0 || first["b"] != 1500 {
			t.Errorf("first I/O at %v ms, want a at 0 and b at 1500", first)
		}
		for i, r := range c.Rows {
			if r.Scope == "run" && c.Offsets[i] == 500*msec && r.Logs != 1 || r.Scope == "run" &&
				c.Offsets[i] == 5000*msec && r.Logs != 2 {
				t.Errorf("%d logs at %d ms", r.Logs, c.Offsets[i]/msec)
			}
		}
	})
	t.Run("the grid counted from 1970", func(t *testing.T) {
		t.Parallel()
		s := s
		s.Grid, s.Interval, s.Start = "epoch", 10*time.Second, "2026-01-01T00:00:03Z"
		c, err := process(t, Config{Settings: s}, place(t,
			map[string]string{"x_clat_hist.1.log.a": "startdelay/early_clat_hist.1.log"}))
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Rows {
			if at := (c.Run.Start + c.Offsets[i]) % int64(s.Interval); at != 0 {
				t.Errorf("a quantum starts %d ns after a multiple of 10 s", at)
			}
		}
		if len(c.Rows) == 0 || c.Offsets[0] != -3000*msec {
			t.Errorf("the first quantum is at %v, want 3 s before the start", c.Offsets)
		}
	})
	t.Run("mtime", func(t *testing.T) {
		t.Parallel()
		s := s
		s.Start = "mtime"
		dir := place(t, map[string]string{"x_clat_hist.1.log": "startdelay/early_clat_hist.1.log"})
		end := time.Date(2026, 1, 1, 0, 0, 30, 0, time.UTC)
		if err := os.Chtimes(filepath.Join(dir, "x_clat_hist.1.log"), end, end); err != nil {
			t.Fatal(err)
		}
		c, err := process(t, Config{Settings: s, NeedStart: true}, dir)
		if err != nil {
			t.Fatal(err)
		}
		// Its last record is stamped 10 s after the start.
		if got := time.Unix(0, c.Run.Start).UTC(); got.Sub(end) > -9*time.Second || got.Sub(end) < -11*time.Second ||
			!strings.Contains(c.Run.StartHow, "guessed") {
			t.Errorf("start %v (%s), want some 10 s before %v, guessed", got, c.Run.StartHow, end)
		}
	})
	t.Run("unknown, and needed", func(t *testing.T) {
		t.Parallel()
		_, err := process(t, Config{Settings: s, NeedStart: true}, place(t,
			map[string]string{"x_clat_hist.1.log": "startdelay/early_clat_hist.1.log"}))
		if err == nil || !strings.Contains(err.Error(), "--start") {
			t.Errorf("error %v, want one that asks for --start", err)
		}
	})
	t.Run("another run's JSON", func(t *testing.T) {
		t.Parallel()
		var warned []string
		c, err := process(t, Config{Settings: s, Warn: func(w string) { warned = append(warned, w) }},
			place(t, map[string]string{"early_clat_hist.1.log": "startdelay/early_clat_hist.1.log",
				"fio.json": "gaps/fio.json"}))
		if err != nil {
			t.Fatal(err)
		}
		if a := c.Sum.Account; a.Restored != 0 || !strings.Contains(strings.Join(warned, "\n"), "belong") &&
			!strings.Contains(strings.Join(warned, "\n"), "JSON") {
			t.Errorf("%v I/Os restored from another run's JSON; warned %q", a.Restored, warned)
		}
	})
}

// TestOtherClock: stamps of a monotonic clock count from the first I/O, and logs of one
// clock keep their distances.
func TestOtherClock(t *testing.T) {
	t.Parallel()
	line := func(ms int) string { return fmt.Sprintf("%d, 0, 4096, 5%s\n", ms, strings.Repeat(", 0", 1855)) }
	log := func(at int) string { return line(at+1000) + line(at+2000) + line(at+3000) }
	const options = `"log_hist_msec":"1000","write_hist_log":"x"`
	for _, tc := range []struct {
		name  string
		json  string
		first int64 // ms from time zero, of the second log's first I/O
		warn  bool
	}{
		{"its options say so", `{"fio version":"fio-3.33","jobs":[{"jobname":"x","job options":{` + options +
			`,"log_alternate_epoch":"1","log_alternate_epoch_clock_id":"1"}},{"jobname":"y","job options":{` + options +
			`,"log_alternate_epoch":"1","log_alternate_epoch_clock_id":"1"}}]}`, 500, false},
		{"behind the job's end", `{"fio version":"fio-3.33","jobs":[{"jobname":"x","job options":{` + options +
			`},"read":{"total_ios":15,"runtime":3100}},{"jobname":"y","job options":{` + options +
			`},"read":{"total_ios":15,"runtime":3100}}]}`, 500, false},
		{"nothing known", "", 1985500, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := files(t, map[string]string{"x_clat_hist.1.log": log(1985000),
				"x_clat_hist.2.log": log(1985500), "fio.json": tc.json})
			ins, err := ingest.Discover([]string{dir}, ingest.DiscoverOptions{})
			if err != nil {
				t.Fatal(err)
			}
			fine, c := fio.Defaults(), new(pipelinetest.Collect)
			fine.Interval, fine.By = 500*time.Millisecond, []string{"log"}
			p, err := Prepare(t.Context(), ins[0], Config{Settings: fine})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			s, err := p.Process(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(c.Rows, func(r pipeline.Row) bool {
				return r.Dims.Log == p.Run.Logs[1].LogName && r.Stats.Samples > 0
			})
			if got := c.Offsets[i] / msec; got != tc.first {
				t.Errorf("the second log begins at %d ms, want %d", got, tc.first)
			}
			if warned := strings.Contains(strings.Join(s.Account.Warnings, "\n"), "another clock"); warned != tc.warn {
				t.Errorf("%q", s.Account.Warnings)
			}
		})
	}
}

// TestApart: logs of two runs in one folder are placed by the times that their JSON tells.
func TestApart(t *testing.T) {
	t.Parallel()
	// By hand: fio/startdelay's report is of 1795225601926 ms, after 12001 ms; that of
	// fio/gaps is of 1795225617245 ms, after 15002.
	two := map[string]string{
		"early_clat_hist.1.log": "startdelay/early_clat_hist.1.log",
		"late_clat_hist.2.log":  "startdelay/late_clat_hist.2.log",
		"startdelay.json":       "startdelay/fio.json",
		"gaps_clat_hist.1.log":  "gaps/gaps_clat_hist.1.log",
		"gaps.json":             "gaps/fio.json",
	}
	hosts := map[string]string{
		"clients/a/gaps_clat_hist.1.log": "gaps/gaps_clat_hist.1.log", "clients/a/fio.json": "gaps/fio.json",
		"clients/b/gaps_clat_hist.1.log": "gaps/gaps_clat_hist.1.log", "clients/b/fio.json": "gaps/fio.json",
	}
	for name, c := range map[string]struct {
		files map[string]string
		late  time.Duration // that b's report is later
		start string        // --start
		want  int64         // start of fio/gaps, or of host b, in ms
		warn  string
	}{
		"one folder":          {two, 0, "", 12_318, "2 runs, one after the other"},
		"one folder, --start": {two, 0, "2026-01-01T00:00:00Z", 12_318, "2 runs, one after the other"},
		"two hosts":           {hosts, 0, "", 0, ""},
		"two hosts, 0.9 s":    {hosts, 900 * time.Millisecond, "", 0, ""},
		"two hosts, 4 s":      {hosts, 4 * time.Second, "", 0, "gives 2 start times"},
		"two hosts, a day":    {hosts, 24 * time.Hour, "", 86_400_000, "2 runs, one after the other"},
		"two hosts, an hour":  {hosts, time.Hour - 900*time.Millisecond, "", 3_599_100, "pass --offset b=-1h"},
		"two hosts, in a row": {hosts, 15 * time.Second, "", 15_000, "2 runs, one after the other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, from := range c.files {
				b, err := os.ReadFile(filepath.Join(real, from))
				if c.late > 0 && strings.Contains(name, "b/fio.json") {
					at := fmt.Sprint(1795225617245 + c.late.Milliseconds())
					b = []byte(strings.Replace(string(b), "1795225617245", at, 1))
				}
				if err != nil {
					t.Fatal(err)
				}
				testkit.Write(t, dir, name, b)
			}
			s := fio.Defaults()
			s.Start = c.start
			ins, err := ingest.Discover([]string{dir}, ingest.DiscoverOptions{})
			if err != nil || len(ins) != 1 {
				t.Fatal(len(ins), err)
			}
			var warned []string
			warn := func(w string) { warned = append(warned, w) }
			plan, err := Prepare(t.Context(), ins[0], Config{Settings: s, Warn: warn})
			if err != nil {
				t.Fatal(err)
			}
			defer plan.Close()
			for _, r := range plan.Report() {
				if of := r.Job == "gaps" && r.Host == "" || r.Host == "b"; of && r.Start/msec != c.want {
					t.Errorf("starts at %d ms, want %d", r.Start/msec, c.want)
				}
			}
			w := strings.Join(warned, "\n")
			if c.warn == "" && strings.Contains(w, "start") || !strings.Contains(w, c.warn) {
				t.Errorf("warned %q", w)
			}
		})
	}
}

// TestUnknownStarts: of several jobs of a host, or hosts, it is said when nothing tells whether they started together.
func TestUnknownStarts(t *testing.T) {
	t.Parallel()
	early, late := "startdelay/early_clat_hist.1.log", "startdelay/late_clat_hist.2.log"
	logs := func(more ...string) map[string]string {
		files := map[string]string{"early_clat_hist.1.log": early, "late_clat_hist.2.log": late}
		for _, name := range more {
			files[name] = "startdelay/" + name
		}
		return files
	}
	epoch := "epoch/epoch_clat_hist.1.log"
	for name, c := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"one log":              {map[string]string{"early_clat_hist.1.log": early}, false},
		"two logs":             {logs(), true},
		"two threads":          {map[string]string{"x_clat_hist.1.log": early, "x_clat_hist.2.log": late}, true},
		"with JSON":            {logs("fio.json"), false},
		"with the job file":    {logs("startdelay.fio"), false},
		"a log each of a host": {map[string]string{"x_clat_hist.1.log.a": early, "x_clat_hist.1.log.b": late}, true},
		"absolute stamps":      {map[string]string{"epoch_clat_hist.1.log": epoch, "e_clat_hist.2.log": epoch}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var warned []string
			warn := func(w string) { warned = append(warned, w) }
			if _, err := process(t, Config{Settings: fio.Defaults(), Warn: warn}, place(t,
				c.files)); err != nil {
				t.Fatal(err)
			}
			if w := strings.Join(warned, "\n"); strings.Contains(w, "started together") != c.want {
				t.Errorf("warned %q", w)
			}
		})
	}
}

// TestIntervalAssumed: a log of one record with an absolute stamp does not tell how long its window was, and so not
// when it started; that is said, unless an option tells it. Then its start is known but for how late the record came.
func TestIntervalAssumed(t *testing.T) {
	t.Parallel()
	record := func(stamp int64) []byte {
		return fiolog.AppendRecord(nil, &fiolog.Record{Time: stamp, Index: []uint16{10}, Count: []float64{7}}, 29)
	}
	const now = 1795225577000
	for name, tt := range map[string]struct {
		log        []byte
		option     string
		want, late bool
	}{
		"one record":              {record(now), "", true, false},
		"one record, option":      {record(now), "log_hist_msec=250\n", false, true},
		"two records":             {slices.Concat(record(now), record(now+250)), "", false, false},
		"one record of the job's": {record(250), "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, tt.log)
			job := "[x]\nwrite_hist_log\n" + tt.option
			if err := os.WriteFile(filepath.Join(dir, "job.fio"), []byte(job), 0o600); err != nil {
				t.Fatal(err)
			}
			p, _ := planned(t, fio.Defaults(), dir)
			warned := slices.ContainsFunc(p.Warnings, func(w string) bool {
				return strings.Contains(w, "x_clat_hist.1.log: log_hist_msec is unknown") &&
					strings.Contains(w, "assuming 1s")
			})
			late := slices.ContainsFunc(p.Warnings, func(w string) bool {
				return strings.Contains(w, "may have started earlier than it is shown")
			})
			if warned != tt.want || late != tt.late {
				t.Errorf("warnings: %q", p.Warnings)
			}
		})
	}
}
