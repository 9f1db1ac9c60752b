package logs

import (
	"fmt"
	"slices"
	"testing"

	"fiolat/fio/fiohist"
	"fiolat/ingest/fiolog"
)

// TestLengthLimits: lengths are above a limit, up to another; those that differ by more than 5 % are wide.
func TestLengthLimits(t *testing.T) {
	t.Parallel()
	both := lengths{100, 300}.and(lengths{200, 250})
	if both != (lengths{200, 250}) || both.none() || !both.has(250) || both.has(200) || !both.wide() ||
		(lengths{100, 105}).wide() || !(lengths{100, 106}).wide() {
		t.Errorf("%v", both)
	}
}

// TestStarts: with --record-time start a record reaches to the next one's stamp, the last for one window, and records
// of one stamp are one.
func TestStarts(t *testing.T) {
	t.Parallel()
	const h = 1000 * msec
	s := starts{h: h}
	var got []string
	emit := func(p portion) {
		got = append(got, fmt.Sprintf("%d-%d: %v", p.start/msec, p.end/msec, p.counts.Count))
	}
	for _, r := range []struct {
		ms int64
		n  float64
	}{{1003, 1}, {2001, 2}, {6400, 4}, {6400, 8}, {7001, 16}} {
		s.place(r.ms*msec, &fiohist.Sparse{Index: []uint16{7}, Count: []float64{r.n}}, emit)
	}
	s.finish(emit)
	s.finish(emit) // nothing is left
	want := []string{"1003-2001: [1]", "2001-6400: [2]", "6400-7001: [12]", "7001-8001: [16]"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestGarbageOfLastRecord: I/Os of 8.6 s and more, which is from bucket 28 of 29 on, are doubted in a record that ends
// sooner, and where they are more than 50 times all of the fullest record before, none of which has any.
func TestGarbageOfLastRecord(t *testing.T) {
	t.Parallel()
	g := fiohist.Geometry{Groups: fiohist.GroupsV3, Coarseness: 6, Unit: 1}
	type rec struct {
		ms   int64
		slow float64
	}
	for _, tc := range []struct {
		name     string
		records  []rec
		absolute bool
		doubted  bool
	}{
		{"none", []rec{{10_000, 0}, {20_000, 0}}, false, false},
		{"before the start", []rec{{1000, 0}, {2000, 3}}, false, true},
		{"on an absolute clock", []rec{{1000, 0}, {2000, 3}}, true, false},
		{"as many as were in flight", []rec{{10_000, 0}, {20_000, 500}}, false, false},
		{"more than that", []rec{{10_000, 0}, {20_000, 501}}, false, true},
		{"not the first", []rec{{10_000, 1}, {20_000, 501}}, false, false},
		{"emptied since", []rec{{1000, 3}, {20_000, 0}}, false, false},
	} {
		var s slowest
		fullest := 0.0
		for i, r := range tc.records {
			c := &fiohist.Sparse{Index: []uint16{20}, Count: []float64{10}}
			if r.slow > 0 {
				c.Index, c.Count = append(c.Index, 28), append(c.Count, r.slow)
			}
			s.add(&fiolog.Record{Time: r.ms, Line: int64(i + 1)}, c, g, fullest)
			fullest = max(fullest, 10)
		}
		doubted := s.line > 0 && s.why(tc.absolute) != ""
		if doubted != tc.doubted {
			t.Errorf("%s: doubted is %v: %s", tc.name, doubted, s.why(tc.absolute))
		}
	}
}
