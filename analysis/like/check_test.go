package like

import (
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/ingest/fiolog"
)

// TestPctilesRefuses: logs on which fio-histo-log-pctiles.py stops are refused, with the line: its arrays have room for
// reads and writes only.
func TestPctilesRefuses(t *testing.T) {
	t.Parallel()
	rec := func(line, ms int64, dir fio.Direction) *fiolog.Record {
		r := new(fiolog.Record)
		r.Line, r.Time, r.Dir = line, ms, dir
		return r
	}
	for _, tt := range []struct {
		name    string
		columns int
		records []*fiolog.Record
		want    string
	}{
		{"trims", 1856, []*fiolog.Record{rec(1, 1000, 0), rec(2, 1000, 2)}, "a.log:2"},
		{"time goes back", 1856, []*fiolog.Record{rec(1, 2000, 1), rec(2, 1000, 1)}, "a.log:2"},
		{"another direction's time", 1856, []*fiolog.Record{rec(1, 2000, 1), rec(2, 1000, 0)}, ""},
		{"coarse", 928, []*fiolog.Record{rec(1, 1000, 0)}, "a.log"},
	} {
		c := &pctiles{buckets: 1856}
		_, _, err := c.check(&hlog{path: "a.log", columns: tt.columns, records: tt.records})
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
