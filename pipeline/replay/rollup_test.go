package replay

import (
	"reflect"
	"testing"

	"fiolat/pipeline"
)

// TestCoarser: buckets that become one are added up, and no I/O goes or comes.
func TestCoarser(t *testing.T) {
	for _, tc := range []struct {
		name      string
		index     []uint16
		count     []float64
		shift     int
		wantIndex []uint16
		wantCount []float64
	}{
		{"neighbours", []uint16{4, 5, 6}, []float64{1, 2, 4}, 1, []uint16{2, 3}, []float64{3, 4}},
		{"three in one", []uint16{4, 5, 7}, []float64{1, 2, 4}, 2, []uint16{1}, []float64{7}},
		{"apart", []uint16{0, 64, 1855}, []float64{0.5, 2, 4}, 6, []uint16{0, 1, 28}, []float64{0.5, 2, 4}},
		{"none", nil, nil, 3, nil, nil},
	} {
		loss := pipeline.Loss{Direction: "read", IOs: 7, Why: "why", Index: tc.index, Count: tc.count}
		want := loss
		want.Index, want.Count = tc.wantIndex, tc.wantCount
		if got := coarser(loss, tc.shift); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", tc.name, got, want)
		}
	}
}
