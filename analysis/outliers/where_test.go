package outliers

import (
	"slices"
	"testing"

	"fiolat/fio/fiohist"
)

// TestWhere: an outlier names the hosts and logs that it is of, and no host where none is known.
func TestWhere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		hosts map[string]slowAt
		want  []string
	}{
		{"one of two hosts", map[string]slowAt{"a": {}, "b": {7: 1}}, []string{"b"}},
		{"both at once", map[string]slowAt{"a": {7: 1}, "b": {7: 1}}, []string{"a", "b"}},
		{"no host is known", map[string]slowAt{"": {7: 1}}, nil},
	} {
		found := collect(t, 60, tt.hosts).Found()
		if len(found) != 1 || len(found[0].Outliers) != 1 {
			t.Fatalf("%s: %+v", tt.name, found)
		}
		o := found[0].Outliers[0]
		if !slices.Equal(o.Hosts, tt.want) || !slices.Equal(o.Logs, []string{"x.log"}) {
			t.Errorf("%s: hosts %q, logs %q", tt.name, o.Hosts, o.Logs)
		}
	}
}

// TestFrom: an I/O that takes as long as the limit is one of the long ones.
func TestFrom(t *testing.T) {
	t.Parallel()
	h := new(fiohist.Hist)
	// Values below 128 have a bucket each, whose middle is half a ns above.
	for ns, ios := range map[int]float64{50: 3, 60: 2, 70: 1} {
		h.Add(grid.Index(int64(ns)), ios)
	}
	for _, tt := range []struct{ limit, ios, shortest, next float64 }{
		{0, 6, 50.5, 0}, {50.5, 6, 50.5, 0}, {51, 3, 60.5, 50.5}, {60.5, 3, 60.5, 50.5}, {70.5, 1, 70.5, 60.5},
		{71, 0, 0, 70.5},
	} {
		if ios, shortest, next := From(h, grid, tt.limit); ios != tt.ios || shortest != tt.shortest || next != tt.next {
			t.Errorf("from %v ns: %v, the shortest %v, the next %v", tt.limit, ios, shortest, next)
		}
	}
}
