package render

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// printed returns what a format makes of a run of two intervals: one in which a read took 1 us and another 5,000 ns,
// the last bucket's p99.9 being a lower bound, and one without I/O.
func printed(t *testing.T, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	out := bufio.NewWriter(&b)
	r := New(o, out)
	run := &pipeline.Run{ID: "r1", Name: "night", Start: 1795225577 * second, StartKnown: true, Interval: second,
		Percentiles: []float64{50, 99.9}, Geometry: fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}}
	dims := fio.Dims{Direction: "read"}
	full := pipeline.Row{Scope: "direction", Dims: dims, Logs: 1, IOPS: 2, IOPSKnown: true, Covered: second,
		Stats: fiohist.Stats{Samples: 2, Min: 1000, Max: 5000, Mean: 3000, StdDev: 2000,
			Percentiles: []float64{1000, 5000}, Lower: []float64{1000, 1000}, Upper: []float64{5000, 5000},
			AtLeast: []int{1}}}
	none := pipeline.Row{Scope: "direction", Dims: dims, Logs: 1, IOPSKnown: true, Covered: second,
		Stats: new(fiohist.Hist).Stats(run.Geometry, run.Percentiles, fiohist.Limits{})}
	err := r.Begin(t.Context(), run)
	for i, row := range []pipeline.Row{full, none} {
		if err == nil {
			err = r.Interval(t.Context(), &pipeline.Interval{Offset: int64(i) * second, Rows: []pipeline.Row{row}})
		}
	}
	if err == nil {
		err = r.End(t.Context(), &pipeline.Summary{})
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const second = 1_000_000_000

// inMicroseconds are the figures that the rows were made with, as a program that reads the file wants them; "" is null.
var inMicroseconds = []map[string]string{
	{"offset_ms": "0", "scope": "direction", "direction": "read", "host": "", "run": "r1", "run_name": "night",
		"samples": "2", "logs": "1", "iops": "2",
		"min_us": "1", "max_us": "5", "mean_us": "3", "stddev_us": "2", "p50_us": "1", "p99.9_us": "5"},
	{"offset_ms": "1000", "scope": "direction", "direction": "read", "host": "", "run": "r1", "run_name": "night",
		"samples": "0", "logs": "1", "iops": "0",
		"min_us": "", "max_us": "", "mean_us": "", "stddev_us": "", "p50_us": "", "p99.9_us": ""},
}

func TestParquetRows(t *testing.T) {
	t.Parallel()
	data := printed(t, Options{Format: "parquet", Unit: "us"})
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	r := parquet.NewReader(file)
	defer r.Close()
	names := file.Schema().Columns()
	rows := make([]parquet.Row, 3)
	n, err := r.ReadRows(rows)
	if n != len(inMicroseconds) || err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("%d rows, %v", n, err)
	}
	for i, want := range inMicroseconds {
		got := map[string]string{}
		for _, v := range rows[i] {
			if name := names[v.Column()][0]; v.IsNull() {
				got[name] = ""
			} else if v.Kind() == parquet.Double {
				got[name] = strconv.FormatFloat(v.Double(), 'g', -1, 64)
			} else {
				got[name] = v.String()
			}
		}
		for name, value := range want {
			if v, ok := got[name]; v != value || !ok {
				t.Errorf("row %d: %s is %q (there: %v), want %q", i, name, v, ok, value)
			}
		}
		wantBound := ""
		if i == 0 {
			wantBound = "p99.9"
		}
		if got["at_least"] != wantBound || got["partial"] != "false" {
			t.Errorf("row %d: at_least %q, partial %q", i, got["at_least"], got["partial"])
		}
		if wantTime := fmt.Sprint(1795225577000 + 1000*i); !strings.HasPrefix(got["timestamp"], wantTime) {
			t.Errorf("row %d: timestamp %q, want %s...", i, got["timestamp"], wantTime)
		}
	}
}

func TestCSVRows(t *testing.T) {
	t.Parallel()
	rows, err := csv.NewReader(bytes.NewReader(printed(t, Options{Format: "csv", Unit: "us"}))).ReadAll()
	if err != nil || len(rows) != 1+len(inMicroseconds) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, want := range inMicroseconds {
		got := map[string]string{}
		for k, name := range rows[0] {
			got[name] = strings.TrimPrefix(rows[i+1][k], ">=")
			if bound := strings.HasPrefix(rows[i+1][k], ">"); bound != (name == "p99.9_us" && i == 0) {
				t.Errorf("row %d: %s is %q", i, name, rows[i+1][k])
			}
		}
		for name, value := range want {
			if v, ok := got[name]; v != value || !ok {
				t.Errorf("row %d: %s is %q (there: %v), want %q", i, name, v, ok, value)
			}
		}
	}
}

// TestJSONRows: latencies are in nanoseconds whatever the unit, and null without I/O.
func TestJSONRows(t *testing.T) {
	t.Parallel()
	type row struct {
		Offset      float64             `json:"offset_ms"`
		Samples     float64             `json:"samples"`
		Max         *float64            `json:"max"`
		Host        *string             `json:"host"`
		Timestamp   string              `json:"timestamp"`
		Percentiles map[string]*float64 `json:"percentiles"`
	}
	var got []row
	for line := range bytes.Lines(printed(t, Options{Format: "ndjson", Unit: "ms"})) {
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	if len(got) != 2 {
		t.Fatalf("%d rows", len(got))
	}
	full, none := got[0], got[1]
	if full.Offset != 0 || full.Samples != 2 || *full.Max != 5000 || *full.Percentiles["50"] != 1000 ||
		*full.Percentiles["99.9"] != 5000 || full.Host != nil || !strings.HasPrefix(full.Timestamp, "2026-11-21T") {
		t.Errorf("%+v", full)
	}
	if none.Offset != 1000 || none.Samples != 0 || none.Max != nil || none.Percentiles["50"] != nil {
		t.Errorf("%+v", none)
	}
}

// TestTableWithoutIO: of a long pause a block of intervals is printed, then how many more there were, then what
// follows.
func TestTableWithoutIO(t *testing.T) {
	t.Parallel()
	for _, more := range []int{0, 1, 3} {
		var b bytes.Buffer
		out := bufio.NewWriter(&b)
		r := New(Options{Format: "table", Unit: "us"}, out)
		run := &pipeline.Run{ID: "r1", Interval: second, Percentiles: []float64{50},
			Geometry: fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}}
		h := new(fiohist.Hist)
		h.Add(300, 1)
		err := r.Begin(t.Context(), run)
		last := block + more + 1
		for i := 0; i <= last && err == nil; i++ {
			q := &pipeline.Interval{Offset: int64(i) * second}
			of := new(fiohist.Hist)
			if i == 0 || i == last {
				of = h
				q.Leaves = []pipeline.Leaf{{Dims: fio.Dims{Direction: "read"}, Hist: h}}
			}
			q.Rows = []pipeline.Row{{Scope: "direction", Dims: fio.Dims{Direction: "read"}, Logs: 1, Covered: second,
				IOPS: of.Sum(), IOPSKnown: true, Stats: of.Stats(run.Geometry, run.Percentiles, fiohist.Limits{})}}
			err = r.Interval(t.Context(), q)
		}
		if err == nil {
			err = errors.Join(r.End(t.Context(), &pipeline.Summary{}), out.Flush())
		}
		if err != nil {
			t.Fatal(err)
		}
		before, after, found := strings.Cut(b.String(), "... ")
		rows := func(text string) (n int) {
			for line := range strings.Lines(text) {
				if offset, _, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
					if _, err := time.ParseDuration(offset); err == nil {
						n++
					}
				}
			}
			return n
		}
		wantBefore, wantAfter := block+1, 1
		if more == 0 {
			wantBefore, wantAfter = block+2, 0
		}
		if found != (more > 0) || rows(before) != wantBefore || rows(after) != wantAfter ||
			found && !strings.HasPrefix(after, fio.Several(more, "more interval")+" without I/O\n") {
			t.Errorf("%d more: %d rows, then %d: %.200s", more, rows(before), rows(after), after)
		}
	}
}

// TestTableOfDirections: a table names the direction where somebody asked for it, or where there are two.
func TestTableOfDirections(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		apart      bool
		directions []string
		want       bool
	}{
		{"asked for, one", false, []string{"read"}, true},
		{"asked for, two", false, []string{"read", "write"}, true},
		{"not asked for, one", true, []string{"read", "read"}, false},
		{"not asked for, two", true, []string{"read", "write"}, true},
		{"not asked for, the second later", true, []string{"read", "read", "write"}, true},
	} {
		var b bytes.Buffer
		out := bufio.NewWriter(&b)
		r := New(Options{Format: "table", Unit: "us", Apart: tt.apart}, out)
		run := &pipeline.Run{ID: "r1", Interval: second, Geometry: fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}}
		run.Settings.By = []string{fio.ByDirection}
		err := r.Begin(t.Context(), run)
		for i, direction := range tt.directions {
			row := pipeline.Row{Scope: fio.ByDirection, Dims: fio.Dims{Direction: direction}, Covered: second}
			err = errors.Join(err, r.Interval(t.Context(), &pipeline.Interval{Offset: int64(i) * second,
				Rows: []pipeline.Row{row}}))
		}
		if err = errors.Join(err, r.End(t.Context(), &pipeline.Summary{}), out.Flush()); err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(b.String(), "\n")
		if got := strings.Contains(head, fio.ByDirection); got != tt.want || strings.Contains(b.String(), "write") !=
			(tt.want && len(tt.directions) > 1) {
			t.Errorf("%s:\n%s", tt.name, &b)
		}
	}
}
