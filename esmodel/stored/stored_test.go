package stored

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel/delivery"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
	"fiolat/pipeline/replay"
)

// recorder keeps what a pipeline.Sink is given.
type recorder struct {
	pipeline.Sink // takes it as well
	run           *pipeline.Run
	intervals     []string
	sum           string
	// Of records that are split between intervals, whose counts documents round, only what they add up to is kept.
	split bool
	upTo  []float64 // running sums of all leaves, and their samples
	rates []float64 // samples and IOPS of all rows
}

func (r *recorder) Begin(ctx context.Context, run *pipeline.Run) error {
	r.run = run
	return r.Sink.Begin(ctx, run)
}

func (r *recorder) Interval(ctx context.Context, q *pipeline.Interval) error {
	var b strings.Builder
	fmt.Fprintf(&b, "at %d\n", q.Offset)
	for _, l := range q.Leaves {
		fmt.Fprintf(&b, "leaf %+v %d %v %+v", l.Dims, l.Logs, l.Members, l.Limits)
		upTo := make([]float64, 65)
		l.Hist.Each(func(i int, w float64) {
			for k := i/32 + 1; k < len(upTo) && r.split; k++ {
				upTo[k] += w
			}
			if !r.split {
				fmt.Fprintf(&b, " %d:%v", i, w)
			}
		})
		r.upTo = append(r.upTo, upTo...)
		b.WriteByte('\n')
	}
	rows, tails := withoutTails(q.Rows)
	if !r.split {
		b.WriteString(tails)
	}
	for _, row := range rows {
		if r.split {
			row.Hist = nil
			r.rates = append(r.rates, row.Stats.Samples, row.IOPS)
			row.Stats, row.IOPS = fiohist.Stats{}, 0
		}
		fmt.Fprintf(&b, "row %+v\n", row)
	}
	r.intervals = append(r.intervals, b.String())
	return r.Sink.Interval(ctx, q)
}

func (r *recorder) End(ctx context.Context, s *pipeline.Summary) error {
	one := *s
	one.Account.Repaired = nil // paths, of which a document keeps the names
	rows, tails := withoutTails(one.Total)
	one.Total = rows
	r.sum = fmt.Sprintf("%+v%s", one, tails)
	return r.Sink.End(ctx, s)
}

// withoutTails returns rows without their TailPart, and these as text.
func withoutTails(in []pipeline.Row) (rows []pipeline.Row, tails string) {
	rows = slices.Clone(in)
	for i := range rows {
		if part := rows[i].TailPart; part != nil {
			tails += fmt.Sprintf("tail of row %d %+v\n", i, *part)
			rows[i].TailPart = nil
		}
	}
	return rows, tails
}

const realLogs = "../../testdata/fio"

// realConfig is that of an ingest whose parts fit together.
func realConfig(part string) plan.Config {
	return plan.Config{RunID: "R", Part: part, Hold: 1 << 30, Settings: fio.Settings{
		Grid:        "epoch",
		Align:       "overlap",
		RecordTime:  "end",
		By:          []string{"host", "job", "direction"},
		Percentiles: []float64{50, 99, 99.9},
		Coarseness:  -1,
		Repair:      "auto",
		Restore:     true,
		Start:       "2026-08-31T23:59:57.5Z",
	}}
}

// ingestReal processes a folder's logs into a sink over w.
func ingestReal(t *testing.T, w delivery.Writer, paths []string, cfg plan.Config) *recorder {
	t.Helper()
	ins, err := ingest.Discover(paths, ingest.DiscoverOptions{})
	if err != nil || len(ins) != 1 {
		t.Fatalf("%d runs, %v", len(ins), err)
	}
	plan, err := plan.Prepare(t.Context(), ins[0], cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	sink := delivery.NewSink(w, delivery.SinkOptions{})
	r := &recorder{Sink: sink, split: cfg.Settings.Interval == 0}
	_, err = plan.Process(t.Context(), r)
	if err = sink.Close(t.Context(), err); err != nil {
		t.Fatal(err)
	}
	return r
}

func dirWriter(t *testing.T, dir string) delivery.Writer {
	t.Helper()
	w, err := delivery.NewDirWriter(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func recorded(t *testing.T, open *replay.Replay, o replay.Options, whole ...bool) *recorder {
	t.Helper()
	r := &recorder{Sink: pipeline.Discard{}, split: whole == nil}
	if _, err := open.Process(t.Context(), o, r); err != nil {
		t.Fatal(err)
	}
	return r
}

var number = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?`)

// same reports whether two texts are the same but for the last digits of numbers.
func same(a, b string) bool {
	round := func(text string) string {
		v, _ := strconv.ParseFloat(text, 64)
		return fmt.Sprintf("%.7g", v)
	}
	return number.ReplaceAllStringFunc(a, round) == number.ReplaceAllStringFunc(b, round)
}

func sameIntervals(t *testing.T, got, want *recorder) {
	t.Helper()
	if len(got.intervals) != len(want.intervals) {
		t.Fatalf("%d quanta, want %d", len(got.intervals), len(want.intervals))
	}
	for i := range got.intervals {
		a, b := strings.Split(got.intervals[i], "\n"), strings.Split(want.intervals[i], "\n")
		for k := range min(len(a), len(b)) {
			if !same(a[k], b[k]) {
				t.Fatalf("quantum %d:\n%s\nwant\n%s", i, a[k], b[k])
			}
		}
		if len(a) != len(b) {
			t.Fatalf("quantum %d has %d lines, want %d", i, len(a), len(b))
		}
	}
	for i, n := range want.upTo {
		if math.Abs(got.upTo[i]-n) > 0.0005+1e-9*n {
			t.Fatalf("%v I/Os in a leaf up to bucket %d, want %v", got.upTo[i], i%65*32, n)
		}
	}
	for i, n := range want.rates {
		if math.Abs(got.rates[i]-n) > 0.01+1e-9*n {
			t.Fatalf("samples or IOPS of row %d are %v, want %v", i/2, got.rates[i], n)
		}
	}
	if !same(got.sum, want.sum) && !got.split {
		t.Errorf("summary\n%s\nwant\n%s", got.sum, want.sum)
	}
}

// A run read back is passed to a sink to the last bit as its logs were, and stored again its document is the same
// bytes, where counts are whole: in one interval. Where records are split between intervals, its counts are those of
// the logs.
func TestStoredDirIsTheRun(t *testing.T) {
	t.Parallel()
	folders := []string{
		"cluster",
		"epoch",
		"exact",
		"gaps",
		"latkinds",
		"randrw",
		"slow",
		"startdelay",
		"trim",
		"hole",
	}
	for _, folder := range folders {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			dir, again := t.TempDir(), t.TempDir()
			logs := realLogs + "/" + folder
			if folder == "hole" { // trim, of which records are lost
				logs = t.TempDir()
				copyLogs(t, logs, realLogs+"/trim", "", func(string) bool { return true })
				name := filepath.Join(logs, "trim_clat_hist.1.log")
				lines := strings.SplitAfter(mustRead(t, name), "\n")
				left := strings.Join(append(lines[:6:6], lines[12:]...), "")
				if err := os.WriteFile(name, []byte(left), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			split := t.TempDir()
			config := realConfig("")
			if folder == "epoch" { // its stamps tell the start
				config.Settings.Start = ""
			}
			fresh := ingestReal(t, dirWriter(t, split), []string{logs}, config)
			stored, err := OpenDir(split, "", fio.Clat)
			if err != nil {
				t.Fatal(err)
			}
			sameIntervals(t, recorded(t, stored, replay.Options{Workers: 1}), fresh)
			sameIntervals(t, recorded(t, stored, replay.Options{Workers: 5}), fresh)
			whole := config
			if whole.Settings.Interval = time.Hour; folder != "epoch" {
				whole.Settings.Start = "2026-09-01T00:00:00Z"
			}
			fresh = ingestReal(t, dirWriter(t, dir), []string{logs}, whole)
			if stored, err = OpenDir(dir, "", fio.Clat); err != nil {
				t.Fatal(err)
			}
			sameIntervals(t, recorded(t, stored, replay.Options{}, true), fresh)
			sink := delivery.NewSink(dirWriter(t, again), delivery.SinkOptions{})
			_, err = stored.Process(t.Context(), replay.Options{}, sink)
			if err = sink.Close(t.Context(), err); err != nil {
				t.Fatal(err)
			}
			for _, name := range list(t, dir) {
				got, want := mustRead(t, filepath.Join(again, name)), mustRead(t, filepath.Join(dir, name))
				if !same(got, want) {
					t.Errorf("%s differs:\n%.3000s\nwant\n%.3000s", name, got, want)
				}
			}
		})
	}
}

// copyLogs copies what keep keeps of a folder; host, if any, becomes that of its logs.
func copyLogs(t *testing.T, to, from string, host string, keep func(name string) bool) {
	t.Helper()
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range list(t, from) {
		if !keep(name) {
			continue
		}
		if host != "" && strings.Contains(name, "_clat_hist.") {
			name += "." + host
		}
		if err := os.WriteFile(
			filepath.Join(to, name),
			[]byte(mustRead(t, filepath.Join(from, strings.TrimSuffix(name, "."+host)))),
			0o600,
		); err != nil {
			t.Fatal(err)
		}
	}
}

// Parts put together are the whole, and what none of them can know
// is what --across-hosts leaves.
func TestStoredPartsAreTheWhole(t *testing.T) {
	t.Parallel()
	dir, whole := t.TempDir(), t.TempDir()
	for _, host := range []string{"127.0.0.1", "127.0.0.2"} {
		logs := t.TempDir()
		copyLogs(t, logs, realLogs+"/cluster", "", func(name string) bool {
			return !strings.Contains(name, ".log.") || strings.HasSuffix(name, host)
		})
		ingestReal(t, dirWriter(t, dir), []string{logs}, realConfig("part of "+host))
	}
	want := ingestReal(t, dirWriter(t, whole), []string{realLogs + "/cluster"}, realConfig(""))
	stored, err := OpenDir(dir, "R", fio.Clat)
	if err != nil {
		t.Fatal(err)
	}
	got := recorded(t, stored, replay.Options{})
	got.sum, want.sum = "", "" // warnings name the logs of each part
	sameIntervals(t, got, want)
	if !reflect.DeepEqual(got.run.Parts, stored.Run.Parts) || len(got.run.Parts) != 2 || got.run.Part != "" ||
		got.run.Generation == want.run.Generation {
		t.Errorf("parts %v, generation %s", got.run.Parts, got.run.Generation)
	}
	across := recorded(t, stored, replay.Options{AcrossHosts: true})
	for i, q := range across.intervals {
		var rest []string
		for _, line := range strings.Split(want.intervals[i], "\n") {
			if strings.HasPrefix(line, "leaf") || !strings.Contains(line, "{Host:127") ||
				strings.Contains(line, "Scope:host ") || strings.Contains(line, "Scope:host+direction ") {
				rest = append(rest, line)
			}
		}
		if q != strings.Join(rest, "\n") {
			t.Fatalf("quantum %d\n%s\nwant\n%s", i, q, strings.Join(rest, "\n"))
		}
	}
	few := recorded(t, stored, replay.Options{Percentiles: []float64{75}})
	if few.run.Generation == got.run.Generation || !reflect.DeepEqual(few.run.Percentiles, []float64{75}) ||
		len(stored.Run.Percentiles) != 3 {
		t.Error("other percentiles are not another generation")
	}
}

// What does not fit together is named, and what is damaged is no number.
func TestStoredRefuses(t *testing.T) {
	t.Parallel()
	logs := func(t *testing.T, host string) []string {
		to := t.TempDir()
		copyLogs(
			t,
			to,
			realLogs+"/gaps",
			host,
			func(name string) bool { return strings.Contains(name, "clat_hist") || name == "gaps.fio" },
		)
		return []string{to}
	}
	edit := func(name, from, to string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			found, _ := filepath.Glob(filepath.Join(dir, name))
			if len(found) == 0 {
				t.Fatalf("no %s in %v", name, list(t, dir))
			}
			text := mustRead(t, found[0])
			if !strings.Contains(text, from) {
				t.Fatalf("no %q in %.500s", from, text)
			}
			if err := os.WriteFile(found[0], []byte(strings.Replace(text, from, to, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name    string
		second  string // host of part b
		setting func(*plan.Config)
		edit    func(t *testing.T, dir string)
		want    []string
	}{
		{name: "fits", second: "h2"},
		{name: "hosts without names", second: ""},
		{
			name:    "another interval",
			second:  "h2",
			setting: func(c *plan.Config) { c.Settings.Interval = 2e9 },
			want:    []string{`part "b"`, "2000 ms", `part "a"`, "1000 ms", "--interval"},
		},
		{
			name:    "another split",
			second:  "h2",
			setting: func(c *plan.Config) { c.Settings.By = []string{"host"} },
			want:    []string{`part "b"`, "--by"},
		},
		{
			name:    "another alignment",
			second:  "h2",
			setting: func(c *plan.Config) { c.Settings.Align = "inflight" },
			want:    []string{"inflight", "--align"},
		},
		{
			name:    "coarser",
			second:  "h2",
			setting: func(c *plan.Config) { c.Settings.Coarseness = 3 },
			want:    []string{"232 columns", "1856", "--coarseness"},
		},
		{
			name:    "other percentiles",
			second:  "h2",
			setting: func(c *plan.Config) { c.Settings.Percentiles = []float64{1} },
			want:    []string{"--percentiles"},
		},
		{
			name:    "the run's own grid",
			second:  "h2",
			setting: func(c *plan.Config) { c.Settings.Grid = "run" },
			want:    []string{"--grid"},
		},
		{name: "a host twice", second: "h1", want: []string{`host "h1"`, `"a"`, `"b"`, "one part"}},
		{
			name:   "still running",
			second: "h2",
			edit:   edit("fio-run.R.b.ndjson", "complete", "running"),
			want:   []string{`part "b"`, "running"},
		},
		{
			name:   "partial",
			second: "h2",
			edit:   edit("fio-run.R.a.ndjson", "complete", "partial"),
			want:   []string{`part "a"`, "not all of its documents arrived"},
		},
		{
			name:   "a leaf is missing",
			second: "h2",
			edit:   edit("fio-histogram-*.R.b.ndjson", `"index"`, `"index`),
			want:   []string{"ndjson:1", "no action line"},
		},
		{
			name:   "a count too many",
			second: "h2",
			edit:   edit("fio-run.R.b.ndjson", `"histogram":`, `"histogram":1`),
			want:   []string{`part "b"`, "leaves are stored"},
		},
		{
			name:   "another grid",
			second: "h2",
			edit:   edit("fio-histogram-*.R.b.ndjson", `"groups":29`, `"groups":28`),
			want:   []string{"R.b.ndjson:2", "grid"},
		},
		{
			name:   "a bucket that is not",
			second: "h2",
			edit:   edit("fio-histogram-*.R.b.ndjson", `"values":[40.5,`, `"values":[40.75,`),
			want:   []string{"R.b.ndjson:2", "a bucket of 40.75 ns cannot hold"},
		},
		{
			name:   "buckets in another order",
			second: "h2",
			edit:   edit("fio-histogram-*.R.b.ndjson", `"values":[40.5,49.5,`, `"values":[49.5,40.5,`),
			want:   []string{"R.b.ndjson:2", "a bucket of 40.5 ns cannot hold"},
		},
		{
			name:   "a count too few",
			second: "h2",
			edit:   edit("fio-histogram-*.R.b.ndjson", `"values":[40.5,`, `"values":[`),
			want:   []string{"R.b.ndjson:2", "buckets have"},
		},
		{
			name:   "negative",
			second: "h2",
			edit:   edit("fio-histogram-*.R.b.ndjson", `"counts":[`, `"counts":[-`),
			want:   []string{"R.b.ndjson:2", "cannot hold"},
		},
		{
			name:   "white space",
			second: "h2",
			edit:   edit("fio-histogram-*.R.b.ndjson", `"counts":[`, `"counts": [ `),
		},
		{
			name:   "a count that is none",
			second: "h2",
			edit:   edit("fio-histogram-*.R.b.ndjson", `"counts":[`, `"counts":[null,`),
			want:   []string{"R.b.ndjson:2", `"null"`},
		},
		{
			name:   "a fraction of a count",
			second: "h2",
			edit:   edit("fio-histogram-*.R.b.ndjson", `"counts":[`, `"counts":[0.5,`),
			want:   []string{"R.b.ndjson:2", `"0.5"`},
		},
		{
			name:   "a list in a list",
			second: "h2",
			edit:   edit("fio-histogram-*.R.b.ndjson", `"counts":[`, `"counts":[[1],`),
			want:   []string{"R.b.ndjson:2", `"[1]"`},
		},
		{
			name:   "no list",
			second: "h2",
			edit:   edit("fio-histogram-*.R.b.ndjson", `"counts":[`, `"counts":7,"was":[`),
			want:   []string{"R.b.ndjson:2", "7 is not an array"},
		},
		{
			name:   "I/Os changed",
			second: "h2",
			edit:   edit("fio-histogram-*.R.b.ndjson", `"counts":[`, `"counts":[1`),
			want:   []string{"I/Os"},
		},
		{
			name:   "logs that are not",
			second: "h2",
			edit:   edit("fio-histogram-*.R.b.ndjson", `"logs":[0,0]`, `"logs":[0,9]`),
			want:   []string{"R.b.ndjson:2", "of logs 0 to 9 of 1"},
		},
		{
			name:   "a time off the grid",
			second: "h2",
			edit:   edit("fio-histogram-*.R.b.ndjson", `.000Z`, `.100Z`),
			want:   []string{`part "b"`, "a leaf"},
		},
		{
			name:   "another host",
			second: "h2",
			edit:   edit("fio-histogram-*.R.b.ndjson", `{"name":"h2"}`, `{"name":"h3"}`),
			want:   []string{`part "b"`, "h3"},
		},
		{
			name:   "an older fiolat",
			second: "h2",
			edit:   edit("fio-run.R.b.ndjson", `"format_version":12`, `"was":10`),
			want:   []string{`part "b"`, "an older fiolat stored it", "delete"},
		},
		{
			name:   "an older fiolat of the same layout",
			second: "h2",
			edit:   edit("fio-run.R.b.ndjson", `"format_version":12`, `"format_version":11`),
		},
		{
			name:   "a newer fiolat",
			second: "h2",
			edit:   edit("fio-run.R.b.ndjson", `"format_version":12`, `"format_version":9999`),
			want:   []string{`part "b"`, "a newer fiolat stored it"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ingestReal(t, dirWriter(t, dir), logs(t, "h1"), realConfig("a"))
			cfg := realConfig("b")
			if tt.setting != nil {
				tt.setting(&cfg)
			}
			ingestReal(t, dirWriter(t, dir), logs(t, tt.second), cfg)
			if tt.edit != nil {
				tt.edit(t, dir)
			}
			stored, err := OpenDir(dir, "R", fio.Clat)
			if err == nil {
				_, err = stored.Process(t.Context(), replay.Options{}, &recorder{Sink: pipeline.Discard{}})
			}
			if tt.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			for _, w := range tt.want {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("%v, want %q", err, w)
				}
			}
		})
	}
	if _, err := OpenDir(t.TempDir(), "R", fio.Clat); err == nil || !strings.Contains(err.Error(),
		"no document of a run") {
		t.Error(err)
	}
}
