package live

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
	"fiolat/internal/testkit"
	"fiolat/pipeline/pipelinetest"
)

const (
	realLogs   = "../../testdata/fio"
	liveStream = realLogs + "/live/fio-status.json"
)

func liveSettings() fio.Settings {
	s := fio.Defaults()
	s.By, s.Interval = []string{"job", "direction"}, time.Second
	return s
}

// stream is the text of a stream in testdata.
func stream(t *testing.T, name string) []byte {
	t.Helper()
	text, err := pipelinetest.Unpacked("testdata/" + name + ".json.gz")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// follow passes the documents of a status stream to a Live.
func follow(t *testing.T, cfg Config, text []byte) (*Live, *pipelinetest.Collect) {
	t.Helper()
	c := new(pipelinetest.Collect)
	l, err := New(cfg, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = fiojson.Each(bytes.NewReader(text), "status",
		func(m *fiojson.Document) error { return l.Snapshot(t.Context(), m) }, func(error) {}); err != nil {
		t.Fatal(err)
	}
	if _, err = l.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l, c
}

// liveSums are the I/Os by job, direction and bucket.
func liveSums(c *pipelinetest.Collect) map[string]float64 {
	out := map[string]float64{}
	for _, l := range c.Leaves {
		l.Hist.Each(func(b int, n float64) { out[fmt.Sprint(l.Dims.Job, l.Dims.Direction, b)] += n })
	}
	return out
}

// countedBy are fio's own, by its last document.
func countedBy(t *testing.T, text []byte, kind fio.Kind) map[string]float64 {
	t.Helper()
	m, err := fiojson.Parse(bytes.NewReader(text), "status")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, e := range m.Entries {
		for d := range e.Dirs {
			bins, err := e.Dirs[d].Kind[kind].Counts(fiohist.Fio3)
			if err != nil {
				t.Fatal(err)
			}
			for b, n := range bins {
				if n > 0 {
					out[fmt.Sprint(e.JobName, fio.Direction(d).String(), b)] += float64(n)
				}
			}
		}
	}
	return out
}

func sameSums(t *testing.T, got, want map[string]float64) {
	t.Helper()
	if len(want) == 0 {
		t.Fatal("nothing to compare with")
	}
	for k, n := range want {
		if math.Abs(got[k]-n) > 1e-6 {
			t.Errorf("%s: %v I/Os, fio counted %v", k, got[k], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d buckets of jobs and directions, fio has %d", len(got), len(want))
	}
}

// documents splits a status stream.
func documents(t *testing.T, text []byte) (docs []string) {
	t.Helper()
	for _, part := range strings.SplitAfter(string(text), "\n}\n") {
		if strings.Contains(part, "fio version") {
			docs = append(docs, part)
		}
	}
	if len(docs) != 7 {
		t.Fatalf("%d documents in the stream, want 7", len(docs))
	}
	return docs
}

// TestLive: the differences of a real stream add up to fio's last document, per job,
// direction and bucket, whatever is missing, cut or repeated in between; and every
// I/O is in exactly one leaf.
func TestLive(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(liveStream)
	if err != nil {
		t.Fatal(err)
	}
	docs := documents(t, text)
	join := func(parts ...string) []byte { return []byte(strings.Join(parts, "")) }
	want := countedBy(t, text, fio.Clat)
	for _, tc := range []struct {
		name   string
		text   []byte
		missed int
	}{
		{"as it came", text, 0},
		{"two documents missing", join(docs[0], docs[1], docs[4], docs[5], docs[6]), 1},
		{"one cut in the middle", join(docs[0], docs[1], docs[2], docs[3][:len(docs[3])/2], docs[4], docs[5], docs[6]),
			1},
		{"one twice", join(docs[0], docs[1], docs[1], docs[2], docs[3], docs[4], docs[5], docs[6]), 0},
		{"joined late", join(docs[3:]...), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l, c := follow(t, Config{Settings: liveSettings(), Host: "h"}, tc.text)
			sameSums(t, liveSums(c), want)
			if l.Missed != tc.missed || l.Restarts != 0 {
				t.Errorf("%d missed, %d restarts; want %d, 0", l.Missed, l.Restarts, tc.missed)
			}
			if a := c.Sum.Account; !a.CountedKnown || math.Abs(a.Missing) > 1e-6 ||
				math.Abs(a.Placed-float64(a.Counted)) > 1e-6 {
				t.Errorf("account: %+v", a)
			}
			for _, o := range c.Offsets {
				if (c.Run.Start+o)%1e9 != 0 {
					t.Fatalf("the quantum at %d ns is not on the grid that counts from 1970", o)
				}
			}
		})
	}
}

// TestLiveLeavesAtOnce: an interval is passed on with the first document past its end,
// also an empty one, and reading the stream again makes the same rows.
func TestLiveLeavesAtOnce(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(liveStream)
	if err != nil {
		t.Fatal(err)
	}
	docs := documents(t, text)
	// fio goes on reporting while nothing completes: the time moves, the counts don't.
	first, err := fiojson.Parse(strings.NewReader(docs[3]), "x")
	if err != nil {
		t.Fatal(err)
	}
	c := new(pipelinetest.Collect)
	l, err := New(Config{Settings: liveSettings(), Host: "h"}, c)
	if err != nil {
		t.Fatal(err)
	}
	step := func(m *fiojson.Document) {
		t.Helper()
		if err := l.Snapshot(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		end := int64(0)
		for _, o := range c.Offsets {
			end = max(end, c.Run.Start+o+c.Run.Interval)
		}
		if now := m.TimestampMS * msec; len(c.Rows) > 0 && now-end >= 1e9 {
			t.Errorf("at %d ms the last quantum handed on ended %d ms before", m.TimestampMS, (now-end)/msec)
		}
	}
	for _, d := range docs[:4] {
		m, err := fiojson.Parse(strings.NewReader(d), "x")
		if err != nil {
			t.Fatal(err)
		}
		step(m)
	}
	before := len(c.Leaves)
	for n := range int64(3) {
		m := *first
		m.TimestampMS += 1000 * (n + 1)
		m.Entries = slices.Clone(first.Entries)
		for i := range m.Entries {
			m.Entries[i].LongestMS += 1000 * (n + 1)
		}
		step(&m)
	}
	if grown := len(c.Leaves) - before; grown > 4 {
		t.Errorf("%d more leaves while nothing completed", grown)
	}

	_, one := follow(t, Config{Settings: liveSettings(), Host: "h"}, text)
	_, two := follow(t, Config{Settings: liveSettings(), Host: "h"}, text)
	if one.Run.ID != two.Run.ID || one.Run.Generation != two.Run.Generation || !reflect.DeepEqual(one.Rows, two.Rows) ||
		!slices.Equal(one.Offsets, two.Offsets) {
		t.Error("the same stream made other rows")
	}
}

// TestLiveChanges: entries that come later, and a new fio whose counters begin at 0.
func TestLiveChanges(t *testing.T) {
	t.Parallel()
	const zero = 1790000000000
	doc := func(sec int64, jobs ...string) *fiojson.Document {
		text := fmt.Sprintf(`{"fio version":"fio-3.33","timestamp_ms":%d,"jobs":[%s]}`, zero+1000*sec,
			strings.Join(jobs, ","))
		m, err := fiojson.Parse(strings.NewReader(text), "x")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	job := func(name string, runtime, n int64) string {
		return fmt.Sprintf(`{"jobname":%q,"job_runtime":%d,"read":{"total_ios":%d,"runtime":%d,"clat_ns":{"N":%d,`+
			`"min":1000,"max":1000,"bins":{"1000":%d}}}}`, name, runtime*1000, n, runtime*1000, n, n)
	}
	s := liveSettings()
	s.By = nil
	c := new(pipelinetest.Collect)
	var warnings []string
	l, err := New(Config{Settings: s, Warn: func(w string) { warnings = append(warnings, w) }}, c)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*fiojson.Document{
		doc(1, job("a", 1, 100)),
		doc(2, job("a", 2, 200)),
		doc(3, job("a", 3, 300), job("b", 1, 40)), // b began at 2 s
		doc(4, job("a", 4, 400), job("b", 2, 80)),
		doc(5, job("a", 1, 100), job("b", 2, 80)), // a began anew at 4 s; b has ended
		doc(6, job("a", 2, 150), job("b", 2, 80)),
	} {
		if err = l.Snapshot(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if _, err = l.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range c.Rows {
		got = append(got, fmt.Sprint(r.Stats.Samples))
	}
	if s := strings.Join(got, " "); s != "100 100 140 140 100 50" {
		t.Errorf("I/Os by second: %s", s)
	}
	if l.Restarts != 1 || len(warnings) != 1 || !strings.Contains(warnings[0], `job "a": fio's counters were reset`) {
		t.Errorf("%d restarts, %q", l.Restarts, warnings)
	}
	if c.Rows[5].IOPS != 50 || c.Rows[2].IOPS != 140 {
		t.Errorf("IOPS %v, %v", c.Rows[2].IOPS, c.Rows[5].IOPS)
	}

	noBins, err := fiojson.Parse(strings.NewReader(`{"fio version":"fio-3.33","timestamp_ms":1790000000000,`+
		`"jobs":[{"jobname":"a","read":{"total_ios":5,"runtime":1000,"clat_ns":{"N":5,"min":1,"max":2}}}]}`), "x")
	if err != nil {
		t.Fatal(err)
	}
	if l, err = New(Config{Settings: s}, new(pipelinetest.Collect)); err != nil {
		t.Fatal(err)
	}
	if err = l.Snapshot(t.Context(), noBins); err == nil || !strings.Contains(err.Error(), "json+") {
		t.Errorf("plain json: %v", err)
	}
}

// TestLiveRestartLimits: the smallest and largest latency of a new fio do not hold for the I/Os of the one before it.
func TestLiveRestartLimits(t *testing.T) {
	t.Parallel()
	doc := func(ms, runtime, low, high, bucket int) string {
		return fmt.Sprintf(`{"fio version":"fio-3.33","timestamp_ms":%d,"jobs":[{"jobname":"a","read":{`+
			`"total_ios":100,"runtime":%d,"clat_ns":{"N":100,"min":%d,"max":%d,"bins":{"%d":100}}}}]}`+"\n",
			1700000000000+ms, runtime, low, high, bucket)
	}
	s := liveSettings()
	s.By = nil
	stream := doc(2500, 2500, 900e6, 999e6, 950e6) + doc(3500, 500, 90e3, 110e3, 100e3)
	_, c := follow(t, Config{Settings: s}, []byte(stream))
	for i, median := range []float64{952e6, 952e6, 952e6, 100e3} { // the third interval is open when fio is restarted
		if got := c.Rows[i].Stats.Percentiles[0]; math.Abs(got/median-1) > 0.01 {
			t.Errorf("second %d: p50 of %v ns, want about %v", i, got, median)
		}
	}
	if got := c.Sum.Total[0].Stats.Max; got < 950e6 {
		t.Errorf("the run's largest latency is %v ns", got)
	}
}

// TestLiveStall: a stream of a real fio on a device that stood still for 3 s, from
// 08:16:47.6 on: fio printed nothing for 3.3 s. The second that lies wholly within is
// empty, as it was, and the rule is broken once, whether it was reported before the document
// came that shows it or not.
func TestLiveStall(t *testing.T) {
	t.Parallel()
	text := stream(t, "stall/fio-status")
	var metas []*fiojson.Document
	if _, err := fiojson.Each(bytes.NewReader(text), "status", func(m *fiojson.Document) error {
		metas = append(metas, m)
		return nil
	}, nil); err != nil {
		t.Fatal(err)
	}
	const before = 4 // documents before the gap
	if gap := metas[before].TimestampMS - metas[before-1].TimestampMS; gap != 3270 {
		t.Fatalf("the gap is %d ms", gap)
	}
	settings := liveSettings()
	settings.SLA = testkit.Rules(t, "read p99 < 500ms")
	changes, stored := map[bool][]string{}, map[bool][]string{}
	for _, asIfLive := range []bool{false, true} {
		c := new(pipelinetest.Collect)
		l, err := New(Config{Settings: settings, Host: "h", Patience: 2}, c)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range metas {
			if asIfLive && i == before {
				for _, long := range []struct {
					ms      int64
					overdue bool
					changes int
				}{{1000, false, 0}, {1700, false, 0}, {1800, true, 0}, {1900, true, 1}, {3200, true, 1}} {
					overdue, err := l.Silent(t.Context(), time.Duration(long.ms*msec))
					if err != nil || overdue != long.overdue || len(c.Changes) != long.changes {
						t.Errorf("silent for %d ms: overdue %v, %v (%v)", long.ms, overdue, c.Changes, err)
					}
				}
			}
			if err = l.Snapshot(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		if _, err = l.End(t.Context()); err != nil {
			t.Fatal(err)
		}
		sameSums(t, liveSums(c), countedBy(t, text, fio.Clat))
		for _, ch := range c.Changes {
			what := fmt.Sprint(ch.Breach, (c.Run.Start+ch.Start)/1e9%60)
			if !ch.Alerted {
				changes[asIfLive] = append(changes[asIfLive], what)
			}
			if !ch.Early {
				stored[asIfLive] = append(stored[asIfLive], what)
			}
		}
		var empty []int64
		for i, r := range c.Rows {
			if r.Scope == "run" && r.Stats.Empty() {
				empty = append(empty, (c.Run.Start+c.Offsets[i])/1e9%60)
			}
		}
		if !slices.Equal(empty, []int64{49}) {
			t.Errorf("the seconds %v are empty", empty)
		}
	}
	want := map[bool][]string{false: {"true 49", "false 50"}, true: {"true 49", "false 50"}}
	if !reflect.DeepEqual(changes, want) || !reflect.DeepEqual(stored, want) {
		t.Errorf("told (live: true) %v, stored %v, want %v", changes, stored, want)
	}
}

// TestLiveSilence: whatever silences a live stream has, what is stored is that of the same documents read again: rows,
// verdicts, breaches, recoveries and outcomes. An early breach that the documents do not show is withdrawn.
func TestLiveSilence(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(liveStream)
	if err != nil {
		t.Fatal(err)
	}
	settings := liveSettings()
	settings.SLA = testkit.Rules(t, "read p99 < 500ms", "read p50 < 1us", "all max < 2s for 2 intervals",
		"write p99 < 1s")
	read := func(silentBefore int, silences ...time.Duration) (c *pipelinetest.Collect, changes []string) {
		c = new(pipelinetest.Collect)
		l, err := New(Config{Settings: settings, Host: "h", Patience: 2}, c)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		take := func(m *fiojson.Document) error {
			for _, long := range silences {
				if n == silentBefore {
					if _, err := l.Silent(t.Context(), long); err != nil {
						return err
					}
				}
			}
			n++
			return l.Snapshot(t.Context(), m)
		}
		if _, err = fiojson.Each(bytes.NewReader(text), "status", take, nil); err != nil {
			t.Fatal(err)
		}
		if _, err = l.End(t.Context()); err != nil {
			t.Fatal(err)
		}
		all := c.Changes
		c.Changes = nil
		for _, ch := range all {
			if ch.Rule.Text == "read p99 < 500ms" && !ch.Alerted {
				changes = append(changes, fmt.Sprint(ch.Breach, ch.Early))
			}
			if ch.Alerted = false; !ch.Early {
				c.Changes = append(c.Changes, ch)
			}
		}
		return c, changes
	}
	alone, changes := read(-1)
	if len(alone.Changes) == 0 || len(changes) > 0 {
		t.Fatalf("the stream alone: %v; told %v", alone.Changes, changes)
	}
	for before, want := range map[int][]string{
		2: {"true true", "false true"},
		3: {"true true", "false true"},
		4: {"true true"}, // the stream ends before the silence would
	} {
		c, changes := read(before, 3900*time.Millisecond, 4200*time.Millisecond)
		if !slices.Equal(changes, want) {
			t.Errorf("silent before document %d: told %v, want %v", before+1, changes, want)
		}
		if !reflect.DeepEqual(c.Rows, alone.Rows) || !reflect.DeepEqual(c.Sum.SLA, alone.Sum.SLA) {
			t.Errorf("silent before document %d: rows or outcomes are not what the documents say", before+1)
		}
		if !reflect.DeepEqual(c.Changes, alone.Changes) {
			t.Errorf("silent before document %d: stored %v, want %v", before+1, c.Changes, alone.Changes)
		}
	}
}

// TestLiveDamagedBin: one wrong bin in one document costs nothing, and is named. It used to
// be taken for a new fio, and everything was counted again.
func TestLiveDamagedBin(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(liveStream)
	if err != nil {
		t.Fatal(err)
	}
	want := countedBy(t, text, fio.Clat)
	for _, tt := range []struct {
		name string
		n    string // in place of the first bin
	}{{"too low", "0"}, {"too high", "99999999"}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			docs := documents(t, text)
			for i, at := range regexp.MustCompile(`"\d+" : (\d{2,}),`).FindAllStringSubmatchIndex(docs[3], -1) {
				if i == 20 { // in the middle of the first job's reads
					docs[3] = docs[3][:at[2]] + tt.n + docs[3][at[3]:]
				}
			}
			var warnings []string
			l, c := follow(t, Config{Settings: liveSettings(), Warn: func(w string) {
				warnings = append(warnings, w)
			}}, []byte(strings.Join(docs, "")))
			sameSums(t, liveSums(c), want)
			if l.Restarts != 0 || !slices.ContainsFunc(warnings, func(w string) bool {
				return strings.Contains(w, "contradict")
			}) {
				t.Errorf("%d restarts; warnings %q", l.Restarts, warnings)
			}
		})
	}
}

// TestLiveAllow: a status document that is days after the one before is asked for, unless fio ran
// all the while.
func TestLiveAllow(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(liveStream)
	if err != nil {
		t.Fatal(err)
	}
	const days = 10 * 24 * 3600 * 1000
	no := errors.New("no")
	for _, tt := range []struct {
		name        string
		late, after int64 // ms: of the third document's time, and of its jobs' runtime
		asked       bool
	}{
		{"on time", 0, 0, false},
		{"half an hour late", 1800_000, 0, false},
		{"days late", days, 0, true},
		{"days later", days, days, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := false
			cfg := Config{Settings: liveSettings(), Allow: func(intervals, _ int64) error {
				asked = intervals > days/60000
				return no
			}}
			cfg.Settings.Interval = time.Minute
			l, err := New(cfg, new(pipelinetest.Collect))
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			_, err = fiojson.Each(bytes.NewReader(text), "status", func(m *fiojson.Document) error {
				if n++; n == 3 {
					m.TimestampMS += tt.late
					for i := range m.Entries {
						m.Entries[i].LongestMS += tt.after
					}
				}
				if n > 3 {
					return nil
				}
				return l.Snapshot(t.Context(), m)
			}, func(error) {})
			if errors.Is(err, no) != tt.asked || err != nil && !tt.asked {
				t.Errorf("asked %v, error %v", asked, err)
			}
		})
	}
}

// TestLiveCoarseness: the buckets of what is stored are as coarse as asked, and fio's own unless asked.
func TestLiveCoarseness(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(liveStream)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ asked, want int }{{-1, 0}, {0, 0}, {3, 3}} {
		s := liveSettings()
		s.Coarseness = tt.asked
		_, c := follow(t, Config{Settings: s, Host: "h"}, text)
		if got := c.Run.Geometry.Coarseness; got != tt.want {
			t.Errorf("%d: coarseness %d, want %d", tt.asked, got, tt.want)
		}
	}
}
