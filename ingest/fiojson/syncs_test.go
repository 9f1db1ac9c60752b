package fiojson

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"fiolat/ingest/source"
)

// TestApart: syncs and priorities of real jobs come back from their documents as they were, and add up to fio's own
// counts.
func TestApart(t *testing.T) {
	files, err := filepath.Glob("testdata/prio/*.json.gz")
	if err != nil || len(files) != 4 {
		t.Fatal(files, err)
	}
	for _, path := range append(files, "../../testdata/sync/fio.json") {
		f, err := source.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		var raw struct {
			Jobs []struct {
				Read, Write struct {
					Clat  struct{ N uint64 } `json:"clat_ns"`
					Prios []struct{}
				}
				Sync struct {
					Lat struct{ N uint64 } `json:"lat_ns"`
				}
			}
		}
		if err = json.Unmarshal(text, &raw); err != nil {
			t.Fatal(err)
		}
		doc := parseMeta(t, string(text))
		for i, e := range doc.Entries {
			was, err := e.Apart()
			if err != nil {
				t.Fatal(err)
			}
			stored, err := json.Marshal(was)
			if err != nil {
				t.Fatal(err)
			}
			var read Apart
			if err = json.Unmarshal(stored, &read); err != nil {
				t.Fatal(err)
			}
			var back Entry
			if err = back.Restore(&read); err != nil {
				t.Fatal(err)
			}
			again, err := back.Apart()
			if err != nil || !reflect.DeepEqual(was, again) {
				t.Errorf("%s: %s came back as %+v, %v", path, stored, again, err)
			}
			n := map[string]uint64{}
			for _, p := range read.Priorities {
				sum := uint64(0)
				for _, c := range p.Counts {
					sum += c
				}
				if n[p.Direction] += sum; sum != p.Samples {
					t.Errorf("%s: %d of %d I/Os in the histogram of %+v", path, sum, p.Samples, p)
				}
			}
			j := raw.Jobs[i]
			if syncs := j.Sync.Lat.N; syncs != back.Sync.N || len(j.Read.Prios) > 0 && (n["read"] != j.Read.Clat.N ||
				n["write"] != j.Write.Clat.N) || len(files) == 4 && len(j.Read.Prios) == 0 && syncs == 0 {
				t.Errorf("%s: %d syncs and I/Os of priorities %v; fio counts %+v", path, back.Sync.N, n, j)
			}
		}
	}
	for name, bad := range map[string]Figures{
		"a count is missing": {Values: []int64{1}},
		"not in order":       {Values: []int64{2, 1}, Counts: []uint64{1, 1}},
	} {
		var e Entry
		if err := e.Restore(&Apart{Syncs: &Syncs{Figures: bad}}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestSyncOptions: what syncs, and what fio counts of it.
func TestSyncOptions(t *testing.T) {
	text, err := os.ReadFile("../../testdata/sync/fio.json")
	if err != nil {
		t.Fatal(err)
	}
	doc := parseMeta(t, string(text))
	doc.Entries[1].Options["end_fsync"] = "1"
	doc.Entries[1].Options["fsync"] = "0"
	for i, want := range [][2][]string{{{"fdatasync=1"}}, {{"sync_file_range=write:8"}, {"end_fsync=1"}}} {
		counted, uncounted := doc.SyncOptions(&doc.Entries[i])
		if !reflect.DeepEqual([2][]string{counted, uncounted}, want) {
			t.Errorf("job %d: %v, %v; want %v", i, counted, uncounted, want)
		}
	}
}

// TestSumAfterUncounted: a job without latencies may come first.
func TestSumAfterUncounted(t *testing.T) {
	m := &Document{Version: "fio-3.33"}
	s := Sum{N: 3}
	bins := NewBins([]Bin{{NS: 100, Count: 1}, {NS: 300, Count: 1}})
	if err := s.Add(m, &Totals{N: 2, Min: 100, Max: 300, Mean: 200, Bins: bins}); err != nil {
		t.Fatal(err)
	}
	if s.N != 5 || s.Geometry != m.Geometry() || s.Limits.Min != 100 || s.Limits.Max != 300 {
		t.Errorf("%+v", s)
	}
}
