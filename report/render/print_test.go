package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/fio/sla"
	"fiolat/pipeline"
)

// A disk is a row of the tables of these tests.
type disk struct {
	name string
	p99  Cell
	ios  float64
	note string
}

var unknown = Cell{Number: math.NaN()}

// TestPrint: how a table of columns looks for people, in Markdown and as CSV. Numbers stand on the right, latencies
// with four digits in the unit in which their median is 1 or more, and what is not known is a dash, or nothing in CSV.
func TestPrint(t *testing.T) {
	t.Parallel()
	rows := []disk{{"a", Cell{Number: 1_500_000}, 7, "x | y"}, {"=b", Cell{Number: 2_000_000}, 12.5, ""},
		{"long-name", Cell{Number: 3_500_000, AtLeast: true}, math.NaN(), "\x1b[2J"}, {"d", unknown, 1234567, "<b>"}}
	for _, tt := range []struct {
		name  string
		style Style
		want  string
	}{
		{"table", Style{Format: "table", Unit: "auto"}, `
disk        p99_ms      ios  note
a            1.500        7  x | y
=b           2.000    12.50  -
long-name  >=3.500        -  \x1b[2J
d                -  1234567  <b>
`},
		{"microseconds", Style{Format: "table", Unit: "us"}, `
disk       p99_us      ios  note
a            1500        7  x | y
=b           2000    12.50  -
long-name  >=3500        -  \x1b[2J
d               -  1234567  <b>
`},
		{"markdown", Style{Format: "markdown", Unit: "ms"}, `
| disk | p99_ms | ios | note |
| --- | ---: | ---: | --- |
| a | 1.500 | 7 | x \| y |
| =b | 2.000 | 12.50 | - |
| long-name | >=3.500 | - | \\x1b[2J |
| d | - | 1234567 | \<b> |
`},
		{"csv, in microseconds unless told", Style{Format: "csv", Unit: "auto"}, `
disk,p99_us,ios,note
a,1500,7,x | y
'=b,2000,12.5,
long-name,>=3500,,\x1b[2J
d,,1234567,<b>
`},
		{"csv, in nanoseconds", Style{Format: "csv", Unit: "ns"}, `
disk,p99_ns,ios,note
a,1500000,7,x | y
'=b,2000000,12.5,
long-name,>=3500000,,\x1b[2J
d,,1234567,<b>
`},
	} {
		table := &Table[disk]{Rows: rows}
		table.Text("disk", func(d *disk) string { return d.name })
		table.Latency("p99", func(d *disk) Cell { return d.p99 })
		table.Number("ios", func(d *disk) Cell { return Cell{Number: d.ios} })
		table.Text("note", func(d *disk) string { return d.note })
		table.Text("nothing", func(*disk) string { return "" }).Optional = true
		table.Add(Column{Name: "unknown", Optional: true}, func(*disk) Cell { return unknown })
		var b bytes.Buffer
		if err := table.Print(&b, tt.style); err != nil || b.String() != strings.TrimPrefix(tt.want, "\n") {
			t.Errorf("%s: %v\n%s", tt.name, err, &b)
		}
	}
}

// TestFits: a narrow terminal gets fewer columns, and then shorter names; a line says which columns are missing.
func TestFits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		width      int
		keep, less []string
		want       string
	}{
		{0, nil, nil, "run               stddev_us  min_us  p50_us"},
		{43, nil, nil, "run               stddev_us  min_us  p50_us"},
		{42, nil, nil, "run               min_us  p50_us\nnot shown in 42 columns: stddev_us"},
		{31, nil, nil, "run               p50_us\nnot shown in 31 columns: stddev_us, min_us"},
		{31, []string{"stddev"}, nil, "run             stddev_us  p50_us\nnot shown in 31 columns: min_us"},
		{23, nil, []string{"p50"}, "run\nnot shown in 23 columns: stddev_us, min_us, p50_us"},
	} {
		names := []string{"nightly-a-disk-1", "nightly-b-disk-1"}
		table := &Table[string]{Rows: names}
		table.Text("run", func(s *string) string { return *s })
		for _, name := range []string{"stddev", "min", "p50"} {
			table.Latency(name, func(*string) Cell { return Cell{Number: 1000} })
		}
		var b bytes.Buffer
		style := Style{Format: "table", Unit: "us", Width: tt.width, Keep: tt.keep, Less: tt.less}
		if err := table.Print(&b, style); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		head, note, _ := strings.Cut(tt.want, "\n")
		shown := strings.Fields(lines[0])
		if len(lines) < 3 || strings.Join(shown, " ") != strings.Join(strings.Fields(head), " ") ||
			note != "" && lines[len(lines)-1] != note || note == "" && len(lines) != 3 {
			t.Errorf("%d columns:\n%s", tt.width, &b)
		}
		for _, line := range lines[:3] {
			if tt.width > 0 && len([]rune(line)) > max(tt.width, len(names[0])) {
				t.Errorf("%d columns: %q is wider", tt.width, line)
			}
		}
		if lines[1] == lines[2] {
			t.Errorf("%d columns: names are the same:\n%s", tt.width, &b)
		}
	}
}

// TestUnitOf: the unit of a column is that of its median.
func TestUnitOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ns   []float64
		want string
	}{{nil, "ns"}, {[]float64{0, math.NaN()}, "ns"}, {[]float64{999}, "ns"}, {[]float64{1000}, "us"},
		{[]float64{5e9, 2000, 3e6}, "ms"}, {[]float64{1e9, 2e9}, "s"}} {
		c := &Column{}
		for _, v := range tt.ns {
			c.Cells = append(c.Cells, Cell{Number: v})
		}
		if got := c.Unit("auto"); got != tt.want || c.Unit("us") != "us" {
			t.Errorf("%v: %s, want %s", tt.ns, got, tt.want)
		}
	}
}

// shown prints a run of two hosts and a sum over two seconds, of which the second is partial: 10 and 30 reads of 1 and
// 3 ms, then 2 of h10 alone.
func shown(t *testing.T, o Options, kinds int, change func(*pipeline.Run)) string {
	t.Helper()
	var b bytes.Buffer
	out := bufio.NewWriter(&b)
	r := New(o, out)
	if o.Wide == "buckets" {
		o.Wide = ""
		r = NewHistogram(o, out)
	}
	r.Kinds = kinds
	run := &pipeline.Run{ID: "r1", Name: "night", Start: 1795225577 * second, StartKnown: true, Interval: second,
		Percentiles: []float64{50}, Geometry: fiohist.Fio3}
	run.Settings.By = []string{fio.ByHost}
	if change != nil {
		change(run)
	}
	row := func(host string, covered int64, ios ...float64) pipeline.Row {
		h := new(fiohist.Hist)
		for i, n := range ios {
			if n > 0 {
				h.Add(fiohist.Fio3.Index(int64(1+2*i)*1e6), n)
			}
		}
		row := pipeline.Row{Scope: "host", Dims: fio.Dims{Host: host, Direction: fio.All}, Hist: h, Covered: covered,
			IOPS: h.Sum() * second / float64(covered), IOPSKnown: true,
			Stats: h.Stats(run.Geometry, run.Percentiles, fiohist.Limits{})}
		if s := &row.Stats; h.Sum() > 0 { // exactly
			least, most := 1e6, float64(1+2*(len(ios)-1))*1e6
			if ios[0] == 0 {
				least = most
			}
			s.Min, s.Max, s.Mean, s.StdDev, s.Percentiles = least, most, (least+most)/2, 0, []float64{most}
		}
		if host == "" {
			row.Scope = "run"
		}
		if len(run.Settings.SLA) > 0 && host == "" {
			for _, s := range []sla.Status{sla.OK, sla.Unknown, sla.Broken, sla.OK}[:len(run.Settings.SLA)] {
				row.SLA = append(row.SLA, sla.Verdict{Rule: &run.Settings.SLA[0], Status: s})
			}
		}
		return row
	}
	err := error(nil)
	for range kinds {
		for _, f := range []func() error{
			func() error { return r.Begin(t.Context(), run) },
			func() error {
				return r.Interval(t.Context(), &pipeline.Interval{Leaves: make([]pipeline.Leaf, 1),
					Rows: []pipeline.Row{row("", second, 10, 30), row("h2", second, 10), row("h10", second, 0, 30)}})
			},
			func() error {
				return r.Interval(t.Context(), &pipeline.Interval{Offset: second, Leaves: make([]pipeline.Leaf, 1),
					Rows: []pipeline.Row{row("", second/2, 0, 2), row("h2", second/2), row("h10", second/2, 0, 2)}})
			},
			func() error { return r.End(t.Context(), &pipeline.Summary{}) }, out.Flush} {
			if err == nil {
				err = f()
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// cellsOf are the words of the lines of a text.
func cellsOf(text string) (out []string) {
	for line := range strings.Lines(text) {
		out = append(out, strings.Join(strings.Fields(line), " "))
	}
	return out
}

// TestRows: rows of a run as tables and CSV, sums behind what they add up; times since the start or by a clock; what a
// column for each host has.
func TestRows(t *testing.T) {
	t.Parallel()
	rules := func(n int) func(*pipeline.Run) {
		return func(r *pipeline.Run) { r.Settings.SLA = make([]fio.SLARule, n) }
	}
	for _, tt := range []struct {
		name   string
		o      Options
		change func(*pipeline.Run)
		want   string // begins of lines
	}{
		{"table", Options{Format: "table", Unit: "ms"}, nil, `
			time host samples iops min_ms max_ms mean_ms stddev_ms p50_ms
			0s h2 10 10 1.000 1.000 1.000 0 1.000
			0s h10 30 30 3.000 3.000 3.000 0 3.000
			0s all 40 40 1.000 3.000 2.000 0 3.000
			1s h2 0 0 - - - - - partial
			1s h10 2 4 3.000 3.000 3.000 0 3.000 partial
			1s all 2 4 3.000 3.000 3.000 0 3.000 partial`},
		{"without sums", Options{Format: "table", Unit: "ms", NoTotal: true}, nil, `
			time
			0s h2 10
			0s h10 30
			1s h2 0
			1s h10 2`},
		{"by a clock", Options{Format: "table", Unit: "us", Clock: time.FixedZone("MEZ", 3600), NoTotal: true}, nil, `
			mez host samples iops min_us
			2026-11-21 02:46:17 h2 10
			2026-11-21 02:46:17 h10
			2026-11-21 02:46:18 h2
			2026-11-21 02:46:18 h10`},
		{"from 1970", Options{Format: "table", Unit: "us", NoTotal: true}, func(r *pipeline.Run) {
			r.Settings.Grid, r.Interval = fio.GridEpoch, second/2
		}, `
			utc host
			2026-11-21 01:46:17.000 h2 10
			2026-11-21 01:46:17.000 h10
			2026-11-21 01:46:18.000 h2
			2026-11-21 01:46:18.000 h10`},
		{"with rules", Options{Format: "csv", Unit: "us"}, rules(3), `
			offset_ms,timestamp,scope,direction,host,job,log,kind,samples,logs,iops,concurrency,min_us,max_us,mean_us,
			0,2026-11-21T01:46:17.000Z,run,all,,,,clat,40,0,40,0.08,1000,3000,2000,0,3000,broken,,r1,night,1000
			0,2026-11-21T01:46:17.000Z,host,all,h2,,,clat,10,0,10,0.01,1000,1000,1000,0,1000,,,r1,night,1000
			0,2026-11-21T01:46:17.000Z,host,all,h10,,,clat,30,0,30,0.09,
			1000,2026-11-21T01:46:18.000Z,run,all,,,,clat,2,0,4,0.012,3000,3000,3000,0,3000,broken,true,r1,night,1000
			1000,2026-11-21T01:46:18.000Z,host,all,h2,,,clat,0,0,0,,,,,,,,true,
			1000`},
		{"a column for each host", Options{Format: "table", Unit: "ms", Wide: "p50"}, nil, `
			p50 in ms
			time h2 h10 all
			0s 1.000 3.000 3.000
			1s - 3.000 3.000 partial`},
		{"a column of I/Os", Options{Format: "table", Wide: "samples"}, nil, `
			samples
			time h2 h10 all
			0s 10 30 40
			1s 0 2 2 partial`},
		{"CSV of columns", Options{Format: "csv", Unit: "ms", Wide: "max"}, nil, `
			offset_ms,timestamp,all max_ms,h2 max_ms,h10 max_ms,partial
			0,2026-11-21T01:46:17.000Z,3,1,3,
			1000,2026-11-21T01:46:18.000Z,3,,3,true`},
		{"buckets", Options{Format: "csv", Unit: "ns", Wide: "buckets", NoTotal: true}, nil, `
			offset_ms,timestamp,scope,direction,host,job,log,kind,lower_ns,upper_ns,count,run,run_name,interval_ms
			0,2026-11-21T01:46:17.000Z,host,all,h2,,,clat,999424,1007616,10,r1,night,1000
			0,2026-11-21T01:46:17.000Z,host,all,h10,,,clat,2981888,3014656,30,r1,night,1000
			1000,2026-11-21T01:46:18.000Z,host,all,h10,,,clat,2981888,3014656,2,r1,night,1000`},
	} {
		got := cellsOf(shown(t, tt.o, 1, tt.change))
		wants := cellsOf(strings.TrimPrefix(tt.want, "\n"))
		if len(got) != len(wants) {
			t.Errorf("%s: %d lines, want %d:\n%s", tt.name, len(got), len(wants), strings.Join(got, "\n"))
			continue
		}
		for i, want := range wants {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("%s: %q, want %q", tt.name, got[i], want)
			}
		}
	}
	for n, want := range map[int]string{1: "ok", 2: "unknown", 3: "broken", 4: "broken"} {
		if text := shown(t, Options{Format: "table", Unit: "us"}, 1, rules(n)); !strings.Contains(text, " "+want) {
			t.Errorf("the worst of %d rules is not %s:\n%s", n, want, text)
		}
	}
}

// TestJSONOfKinds: a document is an object with the run, its rows and the account, and an array of these for several
// kinds of latency; other formats say the kind, or print their head once.
func TestJSONOfKinds(t *testing.T) {
	t.Parallel()
	type document struct {
		Run struct {
			ID    string
			Start string
		}
		Rows []struct {
			Host    *string
			Samples float64
			Partial bool
			IOPS    *float64
		}
		Account map[string]any
	}
	var one document
	var two []document
	err := json.Unmarshal([]byte(shown(t, Options{Format: "json"}, 1, nil)), &one)
	if err == nil {
		err = json.Unmarshal([]byte(shown(t, Options{Format: "json"}, 2, nil)), &two)
	}
	if err != nil || len(two) != 2 {
		t.Fatal(len(two), err)
	}
	for _, d := range append(two, one) {
		if d.Run.ID != "r1" || d.Run.Start != "2026-11-21T01:46:17.000Z" || len(d.Rows) != 6 || len(d.Account) == 0 ||
			d.Rows[0].Host != nil || d.Rows[0].Samples != 40 || *d.Rows[2].Host != "h10" || *d.Rows[5].IOPS != 4 ||
			d.Rows[2].Partial || !d.Rows[5].Partial {
			t.Errorf("%+v", d)
		}
	}
	if text := shown(t, Options{Format: "csv", Unit: "us"}, 2, nil); strings.Count(text, "offset_ms,") != 1 {
		t.Errorf("two kinds:\n%s", text)
	}
	if text := shown(t, Options{Format: "table", Unit: "us"}, 2, nil); strings.Count(text, "clat\n") != 2 {
		t.Errorf("two kinds:\n%s", text)
	}
	text := shown(t, Options{Format: "markdown", Unit: "us"}, 2, nil)
	if strings.Count(text, "\nclat\n\n| time") != 1 || !strings.HasPrefix(text, "clat\n\n| time") {
		t.Errorf("two kinds:\n%s", text)
	}
	if text := shown(t, Options{Format: "ndjson", Wide: "buckets", NoTotal: true}, 1, nil); !strings.Contains(text,
		`"buckets":[{"lower":2981888,"upper":3014656,"count":30}]`) || strings.Count(text, "\n") != 4 {
		t.Errorf("buckets:\n%s", text)
	}
}
