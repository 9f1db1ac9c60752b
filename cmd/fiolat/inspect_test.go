package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/source"
)

// TestApartTotals: what fio counts apart in real jobs, syncs and the I/Os of each priority, has fio's own number, and
// percentiles within a bucket of fio's; the I/Os of all priorities are those of the direction.
func TestApartTotals(t *testing.T) {
	type figures struct {
		N           uint64
		Percentiles map[string]float64 `json:"percentile"`
	}
	type direction struct {
		Clat  figures `json:"clat_ns"`
		Lat   figures `json:"lat_ns"`
		Prios []struct {
			Class int `json:"prioclass"`
			Prio  int
			Clat  figures `json:"clat_ns"`
		}
	}
	files, err := filepath.Glob("../../ingest/fiojson/testdata/prio/*.json.gz")
	if err != nil || len(files) != 4 {
		t.Fatal(files, err)
	}
	for _, path := range append(files, "../../testdata/sync/fio.json") {
		var raw struct{ Jobs []map[string]json.RawMessage }
		f, err := source.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err = json.NewDecoder(f).Decode(&raw); err != nil {
			t.Fatal(err)
		}
		f.Close()
		want := map[string]figures{} // by job, direction and priority, read without any code of ours
		for _, job := range raw.Jobs {
			for _, d := range []string{"read", "write", "sync"} {
				var of direction
				if err = json.Unmarshal(job[d], &of); err != nil {
					t.Fatal(err)
				}
				name := strings.Trim(string(job["jobname"]), `"`) + " " + d + " "
				sum := uint64(0)
				for _, p := range of.Prios {
					want[fmt.Sprintf("%s%d/%d", name, p.Class, p.Prio)] = p.Clat
					sum += p.Clat.N
				}
				if len(of.Prios) > 0 && sum != of.Clat.N {
					t.Errorf("%s: %s: %d I/Os of all priorities, %d in all", path, name, sum, of.Clat.N)
				}
				if d == "sync" && of.Lat.N > 0 {
					want[name] = of.Lat
				}
			}
		}
		if f, err = source.Open(path, nil); err != nil {
			t.Fatal(err)
		}
		doc, err := fiojson.Parse(f, path)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		totals := slices.DeleteFunc(kindsOf(doc), func(x kindTotals) bool {
			return x.Priority == "" && x.Kind != "sync"
		})
		if len(totals) != len(want) || len(want) == 0 {
			t.Errorf("%s: %d lines, want %d", path, len(totals), len(want))
		}
		for _, x := range totals {
			fio := want[x.Job+" "+x.Direction+" "+x.Priority]
			if x.IOs != fio.N {
				t.Errorf("%s: %+v, fio counts %d", path, x, fio.N)
			}
			for key, name := range map[string]string{"50": "50.000000", "99": "99.000000", "99.9": "99.900000"} {
				ours, fios := int64(x.Percentiles[key]), int64(fio.Percentiles[name])
				if d := fiohist.Fio3.Index(ours) - fiohist.Fio3.Index(fios); fios == 0 || d < -1 || d > 1 {
					t.Errorf("%s: %s %s %s: p%s is %d, fio's %d", path, x.Job, x.Direction, x.Priority, key, ours, fios)
				}
			}
		}
	}
}

// TestInspectWithoutTotals: where no JSON tells fio's totals, nothing is said to be missing or restored.
func TestInspectWithoutTotals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, err := os.ReadFile(real + "/exact/exact_clat_hist.1.log")
	if err == nil {
		err = os.WriteFile(dir+"/exact_clat_hist.1.log", log, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, stdout, _ := fiolat(t, nil, "inspect", dir)
	rows := 0
	for line := range strings.Lines(stdout) {
		f := strings.Fields(line)
		at := slices.IndexFunc(f, func(s string) bool { return s == "read" || s == "write" })
		if at < 0 || f[0] != "exact_clat_hist.1.log" {
			continue
		}
		rows++
		if rest := f[at+3:]; strings.Trim(strings.Join(rest, ""), "-") != "" { // after records and I/Os
			t.Errorf("%q follow the I/Os", rest)
		}
	}
	if rows != 2 {
		t.Error(stdout)
	}
}
