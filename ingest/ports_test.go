package ingest

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
)

// TestServersByCounts: logs of other hosts and of other kinds are none of those that are divided among the servers of
// a host; one of theirs that was not asked for is.
func TestServersByCounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := func(prefix string, ios int, kind fio.Kind, host string) *Source {
		path := filepath.Join(dir, prefix+"_"+kind.String()+".1.log."+host)
		write(t, dir, filepath.Base(path), strings.Repeat("1, 70, 0, 4096\n", ios))
		return &Source{Path: path, Host: host, Name: Name{Prefix: prefix, Kind: kind, Job: 1, Host: host}}
	}
	two, five := log("a", 2, fio.Clat, "h"), log("b", 5, fio.Clat, "h")
	for _, tt := range []struct {
		name            string
		asked, siblings []*Source
		want            map[string]int // ports
	}{
		{"two logs", []*Source{two, five}, nil, map[string]int{"a": 1, "b": 2}},
		{"one was not asked for", []*Source{two}, []*Source{five}, map[string]int{"a": 1, "b": 2}},
		{"one of another host", []*Source{two, five}, []*Source{log("c", 2, fio.Clat, "other")},
			map[string]int{"a": 1, "b": 2}},
		{"one of another kind", []*Source{two, five}, []*Source{log("d", 2, fio.Slat, "h")},
			map[string]int{"a": 1, "b": 2}},
		{"one is missing", []*Source{two}, nil, map[string]int{}},
	} {
		var entries []fiojson.Entry
		for _, port := range []int{1, 1, 2, 2} {
			entries = append(entries, fiojson.Entry{JobName: "x", Host: "h", Port: port})
		}
		m := doc("fio.json", entries...)
		var parts []*set
		for i, n := range []uint64{2, 5} {
			p := &set{meta: m, host: "h"}
			for k := range 2 {
				e := &m.Entries[2*i+k]
				e.Dirs[fio.Read].Kind[fio.Clat].N = n
				p.entries = append(p.entries, e)
			}
			parts = append(parts, p)
		}
		s := &set{meta: m, host: "h"}
		for _, l := range tt.asked {
			s.logs = append(s.logs, &Log{Source: l, Meta: m})
		}
		got := map[string]int{}
		of := &matcher{in: &Input{siblings: tt.siblings}, logs: s.logs}
		for name, servers := range of.serversByCounts(s, parts) {
			got[name] = servers[0].entries[0].Port
		}
		if !maps.Equal(got, tt.want) || len(of.warnings) > 0 {
			t.Errorf("%s: %v, want %v; %q", tt.name, got, tt.want, of.warnings)
		}
	}
}
