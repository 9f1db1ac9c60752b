package logs

import (
	"testing"

	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
)

// TestOpeningPause: the time from a job's start to the first completion is a pause, where the start is known and there
// were I/Os.
func TestOpeningPause(t *testing.T) {
	t.Parallel()
	const second = 1_000_000_000
	for _, tt := range []struct {
		name           string
		started, first int64
		total          float64
		want           int
	}{
		{"known", second, 5 * second, 1, 1},
		{"not known", farPast, 5 * second, 1, 0},
		{"no I/O", second, 5 * second, 0, 0},
		{"neither", farPast, 5 * second, 0, 0},
		{"at once", 5 * second, 5 * second, 1, 0},
	} {
		l := &State{g: fiohist.Fio3, Member: intervals.Member{Log: &pipeline.Log{Log: &ingest.Log{
			Source: &ingest.Source{}}}}}
		l.job.Option = func(string) (string, bool) { return "", false }
		d := &l.dirs[0]
		d.ios, d.win.b = tt.total, tt.first
		d.win.pauses = &pauses{started: tt.started, total: tt.total}
		got := l.pauses(0).Longest
		if len(got) != tt.want || tt.want > 0 && (!got[0].First || got[0].From != tt.started || got[0].To != tt.first ||
			got[0].Certain != 4*second) {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}
