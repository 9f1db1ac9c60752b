package report_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/ascii85"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
	"fiolat/internal/testkit"
	"fiolat/pipeline"
	"fiolat/report"
	"fiolat/report/page"
)

var update = flag.Bool("update", false, "write the golden files anew")

// content is what a page holds for its script.
type content struct {
	Head struct {
		pageHead
		Kinds []pageHead
	}
	numbers
	Kinds []numbers
}

type pageHead struct {
	Kind               string
	Start              *float64
	Percentiles        []string
	First, Column, End float64
	Interval           float64
	Columns            int
	Intervals          int `json:"quanta"`
	Fine               *struct {
		Columns   int
		Intervals int `json:"quanta"`
	}
	Stalls []struct {
		Dimension string
		Values    []string
		From, To  int64
	}
	Cells struct {
		Columns   int
		Intervals int `json:"quanta"`
	}
	Scopes, Leaves []struct{ Host, Job, Log, Direction string }
}

type numbers struct {
	Scopes byField[struct {
		statistics    // of By[0]
		Total, TotalN []float64
	}]
	By     []byField[statistics]
	Leaves byField[struct {
		From, Buckets int
		Rows          [][]float64
	}]
}

// byField are rows that are packed by field.
type byField[T any] []T

func (rows *byField[T]) UnmarshalJSON(b []byte) error {
	var fields map[string][]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return err
	}
	for name, values := range fields {
		*rows = slices.Grow(*rows, len(values))[:len(values)]
		for i, v := range values {
			if err := json.Unmarshal(fmt.Appendf(nil, "{%q:%s}", name, v), &(*rows)[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

type statistics struct {
	P                                [][]float64
	Limits                           []struct{ Lower, Upper []float64 }
	Min, Max, Mean, N, Covered, Logs []float64
	Partial                          map[int]float64
	Idle                             map[int]int
	InFlight                         *statistics
}

func script(t testing.TB, page []byte, id string) []byte {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="[a-z/]+" id="` + id + `">(.*?)</script>`).FindSubmatch(page)
	if m == nil {
		t.Fatalf("no script %q", id)
	}
	return m[1]
}

func read(t testing.TB, page []byte) (c content) {
	t.Helper()
	z, err := gzip.NewReader(ascii85.NewDecoder(bytes.NewReader(bytes.ReplaceAll(script(t, page, "packed"), []byte("v"),
		[]byte("<")))))
	if err != nil {
		t.Fatal(err)
	}
	if err = json.NewDecoder(z).Decode(&c); err != nil {
		t.Fatal(err)
	}
	for _, of := range append(c.Kinds, c.numbers) {
		for i := range of.Scopes {
			of.Scopes[i].statistics = of.By[0][i]
		}
	}
	return c
}

// What a point says is true of all I/Os in the time that it covers: the slow twin
// adds the intervals of each column up in one go and asks the sum.
func TestColumns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name               string
		intervals, columns int // at most
		wantQ, wantCount   int
	}{
		{"as they are", 10, 16, 1, 10},
		{"as many as fit", 16, 16, 1, 16},
		{"one too many", 17, 16, 2, 9},
		{"halved again and again", 1000, 16, 64, 16},
		{"an odd limit", 100, 15, 8, 13},
		{"one quantum", 1, 16, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMade(tt.intervals, 2, 200)
			c := read(t, m.page(t, report.Options{MaxColumns: tt.columns}, nil))
			if c.Head.Intervals != tt.wantQ || c.Head.Columns != tt.wantCount {
				t.Fatalf("%d columns of %d quanta, want %d of %d", c.Head.Columns, c.Head.Intervals, tt.wantCount,
					tt.wantQ)
			}
			for i, sc := range c.Head.Scopes {
				got := c.Scopes[i]
				for k := range c.Head.Columns {
					var sum fiohist.Hist
					last := min((k+1)*tt.wantQ, tt.intervals)
					for n := k * tt.wantQ; n < last; n++ {
						for _, l := range m.leaves(n) {
							if (sc.Host == "" || sc.Host == l.Dims.Host) && (sc.Direction == fio.All ||
								sc.Direction == l.Dims.Direction) {
								sum.AddHist(l.Hist)
							}
						}
					}
					want := sum.Stats(m.run.Geometry, m.run.Percentiles, fiohist.Limits{})
					if got.N[k] != want.Samples {
						t.Fatalf("%+v, column %d: %v I/Os, want %v", sc, k, got.N[k], want.Samples)
					}
					perSecond := want.Samples / float64(last-k*tt.wantQ)
					if rate := got.N[k] / got.Covered[k]; math.Abs(rate-perSecond) > 1e-4*perSecond {
						t.Fatalf("%+v, column %d: %v I/Os per second, want %v", sc, k, rate, perSecond)
					}
					same := func(what string, got, want float64) {
						if math.Abs(got-want) > max(1, 1e-4*want) && got != want {
							t.Errorf("%+v, column %d: %s is %v, want %v", sc, k, what, got, want)
						}
					}
					for p, v := range want.Percentiles {
						same("p"+c.Head.Percentiles[p], got.P[p][k], v)
						for side, limit := range []float64{want.Lower[p], want.Upper[p]} {
							off := []float64{got.Limits[p].Lower[k], got.Limits[p].Upper[k]}[side]
							if is := 100 * math.Abs(limit/v-1); limit == fiohist.NoLimit != (off == -1) ||
								off >= 0 && math.Abs(off-is) > 0.05*is+1e-3 {
								t.Errorf("%+v, column %d: p%s has a limit off by %v %%, want %v", sc, k,
									c.Head.Percentiles[p], off, is)
							}
						}
					}
					same("min", got.Min[k], want.Min)
					same("max", got.Max[k], want.Max)
					same("mean", got.Mean[k], want.Mean)
				}
			}
			// The heat map has the I/Os of its leaf.
			for i := range c.Leaves {
				for k := range c.Head.Columns {
					sum := 0.0
					for _, row := range c.Leaves[i].Rows {
						if len(row) > 0 {
							sum += row[k]
						}
					}
					if want := float64(200 * (min((k+1)*tt.wantQ, tt.intervals) - k*tt.wantQ)); sum != want {
						t.Fatalf("heat map of leaf %d, column %d: %v I/Os, want %v", i, k, sum, want)
					}
				}
			}
		})
	}
}

// The more a run is split, the fewer columns are held: memory does not grow with both. Of thousands of hosts fewer are
// held than a run of a few hundred has at least.
func TestCells(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ hosts, intervals, want int }{{200, 300, 74}, {1000, 48, 23}} {
		m := newMade(tt.intervals, tt.hosts, 1)
		s, q := report.NewKinds(io.Discard, 1, report.Options{})[0], &pipeline.Interval{Leaves: m.leaves(0),
			Rows: m.rows()}
		err := s.Begin(t.Context(), m.run)
		for ; q.Offset < int64(tt.intervals)*m.run.Interval && err == nil; q.Offset += m.run.Interval {
			err = s.Interval(t.Context(), q)
		}
		if err != nil || s.Columns() != tt.want {
			t.Errorf("%d hosts: %d columns, want %d; %v", tt.hosts, s.Columns(), tt.want, err)
		}
	}
}

// TestHeld: it does not matter whether columns are held in memory or in a file, which nobody
// sees; that it cannot be made is an error.
func TestHeld(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	m := newMade(150, 3, 100)
	want := m.page(t, report.Options{MaxColumns: 40}, nil)
	for _, held := range []int{1, 20_000} {
		if got := m.page(t, report.Options{MaxColumns: 40, MaxHeld: held}, nil); !bytes.Equal(got, want) {
			t.Errorf("%d bytes held: the page differs", held)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%d bytes held: %v are left, error %v", held, left, err)
		}
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	s, ctx := report.NewKinds(io.Discard, 1, report.Options{MaxHeld: 1})[0], context.Background()
	err := s.Begin(ctx, m.run)
	for n := 0; n < 3 && err == nil; n++ {
		err = s.Interval(ctx, &pipeline.Interval{Offset: int64(n) * m.run.Interval, Leaves: m.leaves(n),
			Rows: m.rows()})
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no place for a file: error %v", err)
	}
}

// A page that would be too large has fewer columns, and not worse numbers.
func TestMaxBytes(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	m := newMade(64, 3, 300)
	large := m.page(t, report.Options{}, nil)
	whole, limit := read(t, large), len(large)-len(script(t, large, "packed"))*2/3
	page := m.page(t, report.Options{MaxBytes: limit}, nil)
	if len(page) > limit {
		t.Errorf("a page of %d bytes, want at most %d", len(page), limit)
	}
	if exact := m.page(t, report.Options{MaxBytes: len(page)}, nil); !bytes.Equal(exact, page) {
		t.Errorf("a page of %d bytes becomes one of %d, though it is not too large", len(page), len(exact))
	}
	c := read(t, page)
	if c.Head.Columns >= whole.Head.Columns || c.Head.Columns*c.Head.Intervals != 64 {
		t.Errorf("%d columns of %d quanta, of 64 quanta", c.Head.Columns, c.Head.Intervals)
	}
	for i := range c.Scopes {
		if fmt.Sprint(c.Scopes[i].Total) != fmt.Sprint(whole.Scopes[i].Total) {
			t.Errorf("scope %d: the whole run depends on the number of columns", i)
		}
	}
	// What is beside the data cannot shrink.
	if c := read(t, m.page(t, report.Options{MaxBytes: 50_000}, nil)); c.Head.Columns != 1 {
		t.Errorf("%d columns, want one", c.Head.Columns)
	}
	var b bytes.Buffer
	s := report.NewKinds(&b, 1, report.Options{MaxBytes: 100})[0]
	ctx := context.Background()
	s.Begin(ctx, m.run)
	s.Interval(ctx, &pipeline.Interval{Leaves: m.leaves(0), Rows: m.rows()})
	if err := s.End(ctx, &pipeline.Summary{Intervals: 1, End: 1e9}); err == nil || !strings.Contains(err.Error(),
		"--by") || b.Len() > 0 {
		t.Errorf("a page that cannot be small enough: error %v, %d bytes written", err, b.Len())
	}
}

// The page of an hour of a host has less than 130 kB beside its libraries, and as many columns as fit in.
func TestOwnBytes(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	made := newMade(3600, 1, 500).page(t, report.Options{}, nil)
	if own, c := len(made)-page.Libraries(), read(t, made); own >= 130_000 || c.Head.Columns < 400 {
		t.Errorf("%d bytes, %d columns", own, c.Head.Columns)
	}
}

// An interval without I/O is a gap, in a column of many it shows in the fewest logs,
// and rows that come late change nothing but how long a log ran.
func TestGaps(t *testing.T) {
	t.Parallel()
	m := newMade(8, 1, 100)
	var b bytes.Buffer
	s := report.NewKinds(&b, 1, report.Options{MaxColumns: 4})[0]
	ctx := context.Background()
	s.Begin(ctx, m.run)
	for n := range 8 {
		q := &pipeline.Interval{Offset: int64(n) * 1e9}
		switch n {
		case 1, 4, 5: // silent, but running
			q.Rows = []pipeline.Row{{Scope: "run", Dims: fio.Dims{Direction: fio.All}, IOPSKnown: true}}
		default:
			q.Leaves, q.Rows = m.leaves(n), m.rows()
		}
		if err := s.Interval(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.End(ctx, &pipeline.Summary{Intervals: 8, End: 8e9}); err != nil {
		t.Fatal(err)
	}
	run := read(t, b.Bytes()).Scopes[0]
	if got, want := fmt.Sprint(run.N, run.Covered, run.Logs), "[200 400 0 400] [2 2 2 2] [0 1 0 1]"; got != want {
		t.Errorf("I/Os, seconds, logs: %s, want %s", got, want)
	}
	if len(run.Partial) != 0 {
		t.Errorf("partial: %v, but silence is none", run.Partial)
	}
	if want := map[int]int{0: 1, 2: 2}; !maps.Equal(run.Idle, want) {
		t.Errorf("nothing completed in the quanta of columns %v, want %v", run.Idle, want)
	}
	if run.P[0][2] != 0 || run.P[0][1] == 0 {
		t.Errorf("p50 by column: %v, want none in the third", run.P[0])
	}
}

// A column of which a log ran a part only says how long: here the last of three, of 0.3 s.
func TestPartial(t *testing.T) {
	t.Parallel()
	m := newMade(3, 1, 100)
	var b bytes.Buffer
	s, ctx := report.NewKinds(&b, 1, report.Options{})[0], context.Background()
	s.Begin(ctx, m.run)
	for n := range 3 {
		q := &pipeline.Interval{Offset: int64(n) * 1e9, Leaves: m.leaves(n), Rows: m.rows()}
		if n == 2 {
			for i := range q.Rows {
				q.Rows[i].IOPS /= 0.3
			}
		}
		if err := s.Interval(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.End(ctx, &pipeline.Summary{Intervals: 3, End: 2.3e9}); err != nil {
		t.Fatal(err)
	}
	for i, scope := range read(t, b.Bytes()).Scopes {
		if want := map[int]float64{2: 0.3}; !maps.Equal(scope.Partial, want) {
			t.Errorf("scope %d: partial are %v, want %v", i, scope.Partial, want)
		}
	}
}

// The last bucket has no upper edge: what falls there is said to be at least that.
func TestAtLeast(t *testing.T) {
	t.Parallel()
	m := newMade(1, 1, 1)
	hist := new(fiohist.Hist)
	hist.Add(10, 50)
	hist.Add(m.run.Geometry.Last(), 50)
	var b bytes.Buffer
	s := report.NewKinds(&b, 1, report.Options{})[0]
	ctx := context.Background()
	s.Begin(ctx, m.run)
	s.Interval(ctx,
		&pipeline.Interval{Leaves: []pipeline.Leaf{{Dims: fio.Dims{Direction: "read"}, Hist: hist, Logs: 1}},
			Rows: []pipeline.Row{{Scope: "run", Dims: fio.Dims{Direction: fio.All}, IOPS: 100, IOPSKnown: true,
				Stats: fiohist.Stats{Samples: 100}}}})
	if err := s.End(ctx, &pipeline.Summary{Intervals: 1, End: 1e9}); err != nil {
		t.Fatal(err)
	}
	run := read(t, b.Bytes()).Scopes[0]
	if got := fmt.Sprint(run.P[0], run.P[3]); got != "[11] [-1.7046e+10]" {
		t.Errorf("p50 and p99: %s, want 11 ns and at least 17.046 s", got)
	}
	if !bytes.Contains(b.Bytes(), []byte("≥ 17.05 s")) {
		t.Error("the table of the whole run does not say that p99 is at least 17.05 s")
	}
}

// TestLimitsOfSome: fio's smallest and largest latency of some logs clamp no sum with others, of which they are
// unknown.
func TestLimitsOfSome(t *testing.T) {
	t.Parallel()
	m := newMade(1, 2, 100)
	var b bytes.Buffer
	s := report.NewKinds(&b, 1, report.Options{})[0]
	ctx, leaves := t.Context(), m.leaves(0)
	for i := range leaves[:2] { // of the first host
		leaves[i].Limits = fiohist.Limits{Known: true, Min: 79000, Max: 81000}
	}
	err := errors.Join(s.Begin(ctx, m.run), s.Interval(ctx, &pipeline.Interval{Leaves: leaves, Rows: m.rows()}),
		s.End(ctx, &pipeline.Summary{Intervals: 1, End: 1e9, Total: m.rows()}))
	if err != nil {
		t.Fatal(err)
	}
	c := read(t, b.Bytes())
	for i, of := range c.Head.Scopes {
		from, to := c.Scopes[i].Min[0], c.Scopes[i].Max[0]
		if clamped := from >= 79000 && to <= 81000; clamped != (of.Host == "node000") {
			t.Errorf("%+v: %v to %v ns", of, from, to)
		}
	}
}

// hostile are names that want to be markup, script, or something else.
var hostile = []string{
	`</script><script>window.pwned=1</script>`, `<img src=x onerror=window.pwned=2>`, `"><svg onload=window.pwned=3>`,
	"a\u2028b\u2029c", `{{.Head}} ${window.pwned=4}`, `datum.x']; window.pwned=5; ['`, `__proto__`, `<!--`,
	"\\u003cb\\u003e", "a\u202egol.b", "\u200b",
}

func hostilePage(t testing.TB) []byte {
	m := newMade(4, len(hostile), 50)
	m.run.ID, m.run.Name = hostile[0], hostile[1]
	m.run.Labels = map[string]string{hostile[2]: hostile[0]}
	m.run.StartHow = hostile[1]
	m.run.Metas = []*fiojson.Document{{Version: hostile[1], Global: jobfile.Options{hostile[0]: hostile[2]}}}
	copy(m.hosts, hostile)
	for i, l := range m.run.Logs {
		l.Host, l.Job, l.Source.Base, l.Hash = hostile[i], hostile[i], hostile[i], hostile[0]
	}
	return m.page(t, report.Options{Generator: hostile[0]}, nil)
}

func TestHostileNames(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	page := hostilePage(t)
	if n := bytes.Count(page, []byte("</script>")); n != 5 {
		t.Errorf("%d scripts end, want 5", n)
	}
	for _, bad := range []string{"<script>window", "<img", "<svg onload"} {
		if at := bytes.Index(page, []byte(bad)); at >= 0 {
			t.Errorf("%q stands in the page: ...%s", bad, page[max(0, at-60):at+60])
		}
	}
	seen := map[string]bool{}
	for _, s := range read(t, page).Head.Scopes {
		seen[s.Host] = true
	}
	if at := bytes.IndexFunc(page, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }); at >= 0 {
		t.Errorf("the page has %+q", page[max(0, at-60):at+9])
	}
	for _, name := range hostile {
		name = fio.Printable(name)
		if !seen[name] {
			t.Errorf("%q is not among the hosts for the script", name)
		}
		if !bytes.Contains(page, []byte(html.EscapeString(name))) {
			t.Errorf("%q is not in a table", name)
		}
	}
}

// The page but for its libraries and numbers.
func TestSkeleton(t *testing.T) {
	t.Parallel()
	m := newMade(3, 2, 100)
	m.run.Name, m.run.Labels = "two nodes", map[string]string{"ceph": "19.2"}
	m.run.Settings.SLA = testkit.Rules(t, "read p99 < 300us", "all iops >= 100")
	page := m.page(t, report.Options{Generator: "fiolat test"}, nil)
	golden(t, "testdata/skeleton.html", page)
}

// golden compares a page, but for its libraries and numbers, with a file.
func golden(t *testing.T, golden string, page []byte) {
	t.Helper()
	for _, cut := range []string{`(<style>)(?s:.*?)(</style>)`, `(<script>)(?s:.*?)(</script>)`,
		`(<pre [^>]*>)(?s:.*?)(</pre>)`, `(sha256-)(?:[A-Za-z0-9/=]|&#43;)*()`,
		`("edges":\[)[^]]*(])`, `("ladder":\[)[^]]*(])`,
		`(<script type="text/plain" id="[a-z]*">)(?s:.*?)(</script>)`} {
		page = regexp.MustCompile(cut).ReplaceAll(page, []byte("$1$2"))
	}
	if *update {
		if err := os.WriteFile(golden, page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page, want) {
		t.Errorf("the page is not that of %s any more: look at it, and run the test with -update", golden)
	}
}

func TestSamePage(t *testing.T) {
	t.Parallel()
	m := newMade(40, 3, 100)
	if !bytes.Equal(m.page(t, report.Options{MaxColumns: 16}, nil), m.page(t, report.Options{MaxColumns: 16}, nil)) {
		t.Error("the same run makes different pages")
	}
}

// TestInFlight: 10 reads of 3 s complete in the last of four columns, and 100 of 1 ms in the first.
func TestInFlight(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		latency int64
		want    string // p50 in ms by column, and I/Os
	}{
		{3e9, "[1 3003 3003 3003] [102 3 3 2]"},
		{50e6, "none"},
	} {
		m := newMade(4, 1, 100)
		var b bytes.Buffer
		s, ctx := report.NewKinds(&b, 1, report.Options{})[0], t.Context()
		s.Begin(ctx, m.run)
		for n := range 4 {
			q := &pipeline.Interval{Offset: int64(n) * 1e9, Rows: m.rows()}
			h := new(fiohist.Hist)
			switch n {
			case 0:
				h.Add(m.run.Geometry.Index(1e6), 100)
			case 3:
				h.Add(m.run.Geometry.Index(tt.latency), 10)
			}
			if !h.Empty() {
				q.Leaves = []pipeline.Leaf{{Dims: fio.Dims{Direction: "read"}, Hist: h}}
			}
			if err := s.Interval(ctx, q); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.End(ctx, &pipeline.Summary{Intervals: 4, End: 4e9}); err != nil {
			t.Fatal(err)
		}
		got := "none"
		if d := read(t, b.Bytes()).Scopes[0].InFlight; d != nil {
			var p50, n []float64
			for k := range d.P[0] {
				p50, n = append(p50, math.Round(d.P[0][k]/1e6)), append(n, math.Round(d.N[k]))
			}
			got = fmt.Sprint(p50, n)
		}
		if got != tt.want {
			t.Errorf("latencies of %d ns: in flight %s, want %s", tt.latency, got, tt.want)
		}
	}
}

// TestPart: a page of a part of a run says so first, and its account adds up.
func TestPart(t *testing.T) {
	t.Parallel()
	m := newMade(3, 2, 100)
	m.run.Name = "two nodes"
	m.run.Pick = pipeline.Pick{Hosts: []string{"node001"}, Directions: []string{"read"},
		From: &pipeline.Moment{Since: 2e9, Text: "2s"}}
	var b bytes.Buffer
	m.into(t, report.NewKinds(&b, 1, report.Options{})[0], pipeline.Account{
		Logged: 1000, Restored: 200, PickedAway: 900, Placed: 300,
		Warnings: []string{fio.NotePrefix + "1 log repaired"}}, nil)
	page := html.UnescapeString(b.String())
	for _, want := range []string{"<h1>two nodes: only host node001, read, from 2s</h1>", "<dt>Logs</dt><dd>1</dd>",
		"<dt>Host</dt><dd>node001</dd>", "left out by --only, --from or --to</th><td>900</td>",
		"(logged + restored - left out)</th><td>300</td>", "<li>1 log repaired"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "What is wrong") {
		t.Error("a proven repair is said to be wrong")
	}
}

// TestJobOptions: options of jobs of one name are there once, with how many values they differ in.
func TestJobOptions(t *testing.T) {
	t.Parallel()
	m := newMade(1, 1, 1)
	meta := &fiojson.Document{Global: jobfile.Options{"bs": "4k", "size": "1g"}}
	for n := range 16 {
		e := fiojson.Entry{JobName: "job", Options: jobfile.Options{"directory": fmt.Sprint("/mnt/", n)}}
		for d := range 2 {
			e.Dirs[d].TotalIOs, e.Dirs[d].Bytes, e.Dirs[d].RuntimeMS = 10, 40960, 1000
		}
		meta.Entries = append(meta.Entries, e)
	}
	m.run.Metas = []*fiojson.Document{meta}
	page := string(m.page(t, report.Options{}, nil))
	const options = "<td>bs=4k directory differs (16 values) size=1g</td>"
	if n := strings.Count(page, options); n != 1 {
		t.Errorf("%q is there %d times", options, n)
	}
	if !strings.Contains(page, "directory</th><td>differs (16 values)</td>") {
		t.Error("fio's options have all values of directory")
	}
}

// TestStallsOfMap: each stall is on the map of hosts with its own times, if all logs of the host that ran stood still.
func TestStallsOfMap(t *testing.T) {
	m := newMade(10, 3, 1)
	for _, l := range m.run.Logs {
		l.End, l.LogName = 10e9, "clat_hist.1.log"
	}
	second := *m.run.Logs[2] // of another job, which goes on
	second.Job = "other"
	m.run.Logs = append(m.run.Logs, &second)
	page := m.page(t, report.Options{Stalls: func() []pipeline.Stall {
		return []pipeline.Stall{
			{Dimension: "host", Values: []string{"node000"}, SinceMS: 1200, UntilMS: 4300},
			{Dimension: "job", Values: []string{"job"}, Hosts: []string{"node001", "node002"}, SinceMS: 5100,
				UntilMS: 6200},
		}
	}}, nil)
	got, want := fmt.Sprint(read(t, page).Head.Stalls), "[{host [node000] 1200 4300} {host [node001] 5100 6200}]"
	if got != want {
		t.Errorf("stalls of the map: %s, want %s", got, want)
	}
}
