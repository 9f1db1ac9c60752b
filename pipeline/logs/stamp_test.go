package logs

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"fiolat/ingest"
	"fiolat/ingest/fiolog"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
)

// TestPauses: without fio's JSON a log that is hardly more than one long pause is suspected, one with absolute stamps
// is not for its first line, and a stamp more than a million seconds after the one before it is refused.
func TestPauses(t *testing.T) {
	t.Parallel()
	const hour, day = 3_600_000, 24 * 3_600_000
	for _, tc := range []struct {
		name    string
		stamps  []int64
		suspect int64 // line, 0 for none
		refused int64
	}{
		{"steady", []int64{1000, 2000, 3000}, 0, 0},
		{"absolute", []int64{1795225577000, 1795225578000}, 0, 0},
		{"began late", []int64{2 * hour, 2*hour + 1000}, 0, 0},
		{"an hour is no doubt", []int64{1000, 1000 + hour}, 0, 0},
		{"more than an hour is", []int64{1000, 1001 + hour}, 2, 0},
		{"absolute, with a pause", []int64{1795225577000, 1795225577000 + 2*hour}, 2, 0},
		{"a tenth of the log", []int64{1000, 1000 + hour, 1000 + 10*hour}, 0, 0},
		{"nine times what was before", []int64{1000, 1000 + hour, 1001 + 11*hour}, 3, 0},
		{"eleven days", []int64{1000, 1000 + 11*day}, 2, 0},
		{"twelve days", []int64{1000, 1000 + 12*day}, 0, 2},
	} {
		var text strings.Builder
		for _, ms := range tc.stamps {
			fmt.Fprintf(&text, "%d, 0, 4096, %s1\n", ms, strings.Repeat("1, ", 28))
		}
		source := &ingest.Source{Path: "a_clat_hist.1.log"}
		l := &State{Member: intervals.Member{Log: &pipeline.Log{Log: &ingest.Log{Source: source}}}}
		in := &opened{reader: fiolog.NewBytesReader([]byte(text.String()), "log", fiolog.ReaderOptions{})}
		refused := int64(0)
		for line := int64(1); ; line++ {
			_, err := l.record(in)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				want := fmt.Sprintf("a_clat_hist.1.log:%d: stamp %d ms", line, tc.stamps[line-1])
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v", tc.name, err)
				}
				refused = line
			}
		}
		suspect := int64(0)
		WarnPauses([]*State{l}, func(format string, args ...any) {
			said := fmt.Sprintf(format, args...)
			if _, err := fmt.Sscanf(said, "a_clat_hist.1.log:%d:", &suspect); err != nil {
				t.Errorf("%s: %s", tc.name, said)
			}
		})
		if suspect != tc.suspect || refused != tc.refused {
			t.Errorf("%s: line %d is suspected, %d refused; want %d and %d", tc.name, suspect, refused, tc.suspect,
				tc.refused)
		}
	}
}
