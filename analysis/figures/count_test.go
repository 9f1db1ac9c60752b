package figures

import (
	"testing"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
)

// TestCountWithoutBins: I/Os that fio measured without a histogram have none, and no others lack one: none were done,
// or fio measured no latency of them.
func TestCountWithoutBins(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		total, n    uint64
		warnings    []string
		bins        bool
		ios         uint64
		bytes, secs float64
	}{
		{"no I/O", 0, 0, nil, true, 0, 0, 0},
		{"not measured", 5, 0, nil, true, 5, 4096, 2},
		{"a document with faults", 5, 0, []string{"cut short"}, true, 0, 0, 0},
		{"measured, plain JSON", 5, 5, nil, false, 5, 4096, 2},
	} {
		d := &fiojson.DirTotals{TotalIOs: tt.total, Bytes: 4096, RuntimeMS: 2000}
		d.Kind[fio.Clat] = fiojson.Totals{N: tt.n, Max: 9}
		var s sums
		bins := s.count(&fiojson.Document{Warnings: tt.warnings}, &fiojson.Entry{}, d, fio.Clat)
		if bins != tt.bins || s.N != tt.ios || s.bytes != tt.bytes || s.seconds() != tt.secs {
			t.Errorf("%s: bins %t, %d I/Os, %v bytes in %v s; want %t, %d, %v in %v", tt.name, bins, s.N, s.bytes,
				s.seconds(), tt.bins, tt.ios, tt.bytes, tt.secs)
		}
	}
}
