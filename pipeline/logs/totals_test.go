package logs

import (
	"fmt"
	"slices"
	"testing"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
)

// jobLog is the state of a log of a job by fio's JSON.
func jobLog(meta *fiojson.Document, e *fiojson.Entry) *State {
	return &State{cfg: &Config{}, Member: intervals.Member{Log: &pipeline.Log{Log: &ingest.Log{Meta: meta, Entry: e,
		Source: &ingest.Source{Path: "a_clat_hist.1.log"}}}}}
}

// TestLastStamp: no record is later than the job's runtime, its longest I/O and a window. To verify, fio reads in the
// times of all directions, one after the other.
func TestLastStamp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		options    jobfile.Options
		meta       fiojson.Document
		first      int64
		limit, end int64 // ms; limit 0: none is known
	}{
		{"from the start", nil, fiojson.Document{}, 1000, 10_000 + 5 + 1000, 10_000},
		{"wider windows", jobfile.Options{"log_hist_msec": "3000"}, fiojson.Document{}, 1000, 10_000 + 5 + 3000,
			10_000},
		{"verified", jobfile.Options{"verify": "crc32c"}, fiojson.Document{}, 1000, 13_000 + 5 + 1000, 13_000},
		{"verify=0", jobfile.Options{"verify": "0"}, fiojson.Document{}, 1000, 10_000 + 5 + 1000, 10_000},
		{"on another clock", nil, fiojson.Document{}, 1795225577000, 1795225577000 + 10_000 + 5 + 1000,
			1795225577000 + 10_000},
		{"JSON cut short", nil, fiojson.Document{Cut: true}, 1000, 0, 0},
	} {
		e := &fiojson.Entry{LongestMS: 10_000, RuntimeMS: 12_000, Options: tt.options}
		e.Dirs[fio.Read].RuntimeMS, e.Dirs[fio.Write].RuntimeMS = 9000, 4000
		e.Dirs[fio.Read].Kind[fio.Clat] = fiojson.Totals{N: 3, Max: 5e6}
		limit, end := jobLog(&tt.meta, e).lastStamp(tt.first)
		if tt.limit == 0 {
			tt.limit = unlimited
		}
		if limit != tt.limit || end != tt.end {
			t.Errorf("%s: %d, %d; want %d, %d", tt.name, limit, end, tt.limit, tt.end)
		}
	}
}

// TestReject: of a document or an entry that is of another run nothing is restored and no limit applies; others stay.
func TestReject(t *testing.T) {
	t.Parallel()
	foreign, own := &fiojson.Document{Path: "foreign.json"}, &fiojson.Document{Path: "own.json"}
	a, b, c := &fiojson.Entry{JobName: "a"}, &fiojson.Entry{JobName: "b"}, &fiojson.Entry{JobName: "c"}
	for _, tt := range []struct {
		name  string
		entry *fiojson.Entry
		want  [3]bool // of a, b, and c of the other document
	}{{"a document", nil, [3]bool{true, true, false}}, {"an entry", b, [3]bool{false, true, false}}} {
		tails := Tails{{meta: foreign, entry: a}, {meta: foreign, entry: b}, {meta: own, entry: c}}
		states := []*State{jobLog(foreign, a), jobLog(foreign, b), jobLog(own, c)}
		for _, l := range states {
			l.DirInfo[fio.Read].Limits.Known = true
		}
		tails.Reject(foreign, tt.entry, states)
		for i, want := range tt.want {
			l := states[i]
			known := l.DirInfo[fio.Read].Limits.Known
			if tails[i].done != (want && tt.entry == nil) || tails[i].disowned != (want && tt.entry != nil) ||
				l.Rejected() != want || known == want {
				t.Errorf("%s: log %d: done %v, disowned %v, rejected %v, limits known %v", tt.name, i, tails[i].done,
					tails[i].disowned, l.Rejected(), known)
			}
		}
	}
}

// TestSuspect: a log of a job by fio's JSON can be damaged if its counts fall, once it came over fio --client.
func TestSuspect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		client bool
		host   string
		fell   bool
		want   bool
	}{
		{"over --client", true, "h1", true, true},
		{"over --client, steady", true, "h1", false, false},
		{"by the client itself", true, "", true, false},
		{"of one host", false, "h1", true, false},
	} {
		l := jobLog(&fiojson.Document{ClientServer: tt.client}, &fiojson.Entry{})
		l.Source.Name.Host, l.dirs[fio.Write].lag.Fell = tt.host, tt.fell
		if got := l.Suspect(); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
		if l.Entry = nil; l.Suspect() {
			t.Errorf("%s: suspected without fio's JSON", tt.name)
		}
	}
}

// TestWithoutLogs: the I/Os of a job that has no log are lost, be it one, and directions without I/O are no rows.
func TestWithoutLogs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                 string
		reads, writes, mixed uint64
		want                 []string
	}{
		{"none", 0, 0, 0, nil},
		{"one", 1, 0, 0, []string{"read 1"}},
		{"both", 1, 2, 0, []string{"read 1", "write 2"}},
		{"mixed", 0, 0, 3, []string{"all 3"}},
	} {
		e := &fiojson.Entry{JobName: "a"}
		e.Dirs[fio.Read].Kind[fio.Clat].N, e.Dirs[fio.Write].Kind[fio.Clat].N = tt.reads, tt.writes
		e.Mixed.Kind[fio.Clat].N = tt.mixed
		var a pipeline.Account
		if err := withoutLogs(&a, &pipeline.Run{Kind: fio.Clat}, nil,
			[]ingest.NoLog{{Meta: &fiojson.Document{}, Entry: e}}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, j := range a.Jobs {
			got = append(got, fmt.Sprint(j.Direction, " ", j.Missing))
		}
		if sum := tt.reads + tt.writes + tt.mixed; !slices.Equal(got, tt.want) || a.Counted != sum ||
			a.Missing != float64(sum) {
			t.Errorf("%s: %q of %d, %g missing, want %q", tt.name, got, a.Counted, a.Missing, tt.want)
		}
	}
}
