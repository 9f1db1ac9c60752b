package replay

import (
	"reflect"
	"testing"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/pipeline"
)

// TestUnion: all times of the logs of parts count from the earliest start of a part.
func TestUnion(t *testing.T) {
	t.Parallel()
	const shift = int64(5e9)
	part := func(host string, start int64) *Stored {
		l := &pipeline.Log{Log: &ingest.Log{Source: &ingest.Source{Base: "x"}, Host: host}, Hash: host, Start: 1e9,
			End: 9e9}
		l.Stalls = []pipeline.LogStall{{Span: pipeline.Span{From: 2e9, To: 3e9}, Began: pipeline.Span{From: 2e9,
			To: 2e9}}}
		d := &l.Dirs[fio.Read]
		d.From, d.To, d.Until, d.Holes = 1e9, 8e9, 9e9, []pipeline.Span{{From: 4e9, To: 5e9}}
		return &Stored{Run: &pipeline.Run{ID: "r", Part: host, Start: start, FirstInterval: 1, Logs: []*pipeline.Log{l},
			Settings: fio.Settings{Grid: fio.GridEpoch}}}
	}
	late, early := part("a", 100e9+shift), part("b", 100e9)
	r, err := New([]*Stored{late, early}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Run.Start != early.Run.Start || r.Run.FirstInterval != 1 || len(r.Run.Logs) != 2 {
		t.Errorf("%+v", r.Run)
	}
	spans := func(l *pipeline.Log, by int64) (out []int64) {
		d, s := &l.Dirs[fio.Read], &l.Stalls[0]
		for _, at := range []int64{l.Start, l.End, s.From, s.To, s.Began.From, s.Began.To, d.From, d.To, d.Until,
			d.Holes[0].From, d.Holes[0].To} {
			out = append(out, at+by)
		}
		return out
	}
	for i, by := range []int64{shift, 0} {
		if got, want := spans(r.Run.Logs[i], 0), spans(early.Run.Logs[0], by); !reflect.DeepEqual(got, want) {
			t.Errorf("host %s: %v, want %v", r.Run.Logs[i].Host, got, want)
		}
	}
}
