package ingest

import (
	"path/filepath"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
)

// TestWrites: a job's logs of single I/Os have another name than its histogram logs.
func TestWrites(t *testing.T) {
	t.Parallel()
	m := doc("fio.json", fiojson.Entry{JobName: "a",
		Options: jobfile.Options{"write_hist_log": "of/h", "write_lat_log": "l"}}, fiojson.Entry{JobName: "b"})
	for _, tt := range []struct {
		name  Name
		entry int
		want  bool
	}{
		{Name{Prefix: "h", Hist: true}, 0, true},
		{Name{Prefix: "l"}, 0, true},
		{Name{Prefix: "l", Hist: true}, 0, false},
		{Name{Prefix: "h"}, 0, false},
		{Name{Prefix: "b"}, 1, true},
		{Name{Prefix: "b", Hist: true}, 1, true},
	} {
		if got := writes(m, &m.Entries[tt.entry], tt.name); got != tt.want {
			t.Errorf("%+v of %d: %t", tt.name, tt.entry, got)
		}
	}
}

// TestRepaired: only a histogram's records may hold those before them, so that the last two of a direction have all.
func TestRepaired(t *testing.T) {
	t.Parallel()
	record := func(stamp, first string) string {
		return stamp + ", 0, 4096, " + first + strings.Repeat(", 0", 28) + "\n"
	}
	for _, tt := range []struct {
		name, log                string
		hist                     bool
		logged, repaired         float64
		writes, repairedOfWrites float64
	}{
		{"three histograms", record("1", "1") + record("2", "2") + record("3", "4"), true, 7, 6, 0, 0},
		{"two histograms", record("1", "1") + record("2", "2"), true, 3, 3, 0, 0},
		{"three single I/Os", "1, 70, 0, 4096\n2, 70, 0, 4096\n3, 90, 0, 4096\n", false, 3, 3, 0, 0},
		{"of two directions", "1, 70, 0, 4096\n2, 70, 1, 4096\n3, 90, 1, 4096\n4, 90, 1, 4096\n", false, 1, 1, 3, 3},
	} {
		dir := t.TempDir()
		write(t, dir, "x.log", tt.log)
		s, err := (&Source{Path: filepath.Join(dir, "x.log"), Name: Name{Kind: fio.Clat, Hist: tt.hist}}).sums(false)
		if err != nil {
			t.Fatal(err)
		}
		r, w := fio.Read, fio.Write
		if s.logged[r].Sum() != tt.logged || s.repaired[r].Sum() != tt.repaired || s.logged[w].Sum() != tt.writes ||
			s.repaired[w].Sum() != tt.repairedOfWrites {
			t.Errorf("%s: %+v", tt.name, s)
		}
	}
}

// TestByCounts: of runs one after the other that a log's counts fit, the last has overwritten the logs of the others;
// which of those at the same time wrote it stays open.
func TestByCounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "x_clat.1.log", "1, 70, 0, 4096\n2, 70, 0, 4096\n")
	l := &Source{Path: filepath.Join(dir, "x_clat.1.log"), Name: Name{Prefix: "x", Kind: fio.Clat, Job: 1}}
	run := func(path string, endMS int64, n uint64) *fiojson.Document {
		m := doc(path, fiojson.Entry{JobName: "x"})
		m.TimestampMS, m.Entries[0].Dirs[fio.Read].Kind[fio.Clat].N = endMS, n
		return m
	}
	const end = 1700000000000
	for _, tt := range []struct {
		name  string
		metas []*fiojson.Document
		want  string
	}{
		{"one after the other", []*fiojson.Document{run("a", end, 2), run("b", end+60000, 2)}, "b"},
		{"in another order", []*fiojson.Document{run("b", end+60000, 2), run("a", end, 2)}, "b"},
		{"at the same time", []*fiojson.Document{run("a", end, 2), run("b", end+100, 2)}, "a b"},
		{"the last two at the same time", []*fiojson.Document{run("a", end, 2), run("b", end+60000, 2),
			run("c", end+60100, 2)}, "a b c"},
		{"the last has too few", []*fiojson.Document{run("a", end, 2), run("b", end+60000, 1)}, "a"},
		{"none has enough", []*fiojson.Document{run("a", end, 1), run("b", end+60000, 1)}, "a b"},
		{"of one file", []*fiojson.Document{run("a", end, 2), run("a", end, 2)}, "a"},
	} {
		got := strings.Join(paths(byCounts(l, tt.metas)), " ")
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestLogElsewhere: a job's log that was not asked for exists only if it may be of the job's host.
func TestLogElsewhere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, log, host string // the hosts of the log and of the job
		missing         bool
	}{
		{"no hosts", "", "", false},
		{"the same host", "h1", "h1", false},
		{"with its domain", "h1.example", "h1", false},
		{"another host", "h1", "h2", true},
		{"the job's is unknown", "h1", "", false},
		{"the log's is unknown", "", "h2", false},
	} {
		m := doc("fio.json", fiojson.Entry{JobName: "x", Host: tt.host},
			fiojson.Entry{JobName: "a", Host: tt.host, Options: jobfile.Options{"write_lat_log": "a"}})
		asked := &Log{Source: &Source{Path: "x_clat.1.log", Name: Name{Prefix: "x", Kind: fio.Clat}}, Meta: m}
		other := &Source{Path: "a_clat.1.log", Host: tt.log, Name: Name{Prefix: "a", Kind: fio.Clat}}
		in := &Input{siblings: []*Source{other}}
		of := &matcher{in: in, logs: []*Log{asked}, logged: map[*fiojson.Entry]bool{&m.Entries[0]: true},
			part: map[*fiojson.Entry]bool{}, unsure: map[*fiojson.Document]bool{}}
		of.withoutLogs([]*set{{meta: m, entries: []*fiojson.Entry{&m.Entries[0], &m.Entries[1]}}})
		if got := m.Entries[1].NoLog; got != tt.missing || m.Entries[1].Part == tt.missing {
			t.Errorf("%s: without a log: %t; %q", tt.name, got, of.warnings)
		}
	}
}

// TestHashOfStandardInput: of two texts of fio's JSON that begin alike the longer one is another.
func TestHashOfStandardInput(t *testing.T) {
	t.Parallel()
	text := minimal + strings.Repeat("\n", idBytes)
	hashes := map[string]bool{}
	for _, more := range []string{"", "\n", "\n" + minimal} {
		in, err := StandardInput(strings.NewReader(text + more))
		if err != nil {
			t.Fatal(err)
		}
		json, ok := in.(*jsonInput)
		if !ok || int(json.size) != len(text+more) || len(json.start) != idBytes {
			t.Fatalf("%T, want %d bytes", in, len(text+more))
		}
		hashes[json.hash()] = true
	}
	if len(hashes) != 3 {
		t.Errorf("%d hashes of 3 texts", len(hashes))
	}
}
