package figures

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/source"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
)

const real = "../../testdata/fio"

// counted are the I/Os and syncs that a JSON of fio counts, by direction, read without any code of ours.
func counted(t *testing.T, path string) map[string]float64 {
	t.Helper()
	type totals struct {
		Clat struct{ N float64 } `json:"clat_ns"`
		Lat  struct{ N float64 } `json:"lat_ns"`
	}
	var doc struct {
		Jobs []struct {
			Read, Write, Trim, Sync totals
		}
	}
	f, err := source.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err = json.NewDecoder(f).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	n := map[string]float64{}
	for _, j := range doc.Jobs {
		n["read"] += j.Read.Clat.N
		n["write"] += j.Write.Clat.N
		n["trim"] += j.Trim.Clat.N
		n["sync"] += j.Sync.Lat.N
	}
	return n
}

// TestRows compares the rows of real runs, from logs and from JSON alone, with fio's own totals, and with each other.
func TestRows(t *testing.T) {
	folders := []string{"randrw", "trim", "gaps", "startdelay", "exact", "../sync"}
	sweep, err := filepath.Glob(filepath.Join(real, "../sweep/*/*"))
	if err != nil || len(sweep) != 21 {
		t.Fatal(sweep, err)
	}
	for _, dir := range sweep {
		folders = append(folders, filepath.Join("../sweep", filepath.Base(filepath.Dir(dir)), filepath.Base(dir)))
	}
	for _, name := range folders {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(real, name)
			percentiles := []float64{50, 99}
			fromLogs := collected(t, dir, percentiles)
			totals, _, err := ingest.DiscoverJSONRuns([]string{dir}, nil, ingest.DiscoverOptions{})
			if err != nil || len(totals) != 1 {
				t.Fatalf("%d runs, %v, want 1", len(totals), err)
			}
			fromJSON, bins, err := FromJSON(totals[0], fio.Clat, []string{"direction"}, percentiles,
				new(pipeline.Pick))
			if err != nil {
				t.Fatal(err)
			}
			if !bins || len(fromJSON) != len(fromLogs) {
				t.Fatalf("bins %v, %d rows from JSON, %d from logs", bins, len(fromJSON), len(fromLogs))
			}
			path := totals[0].Metas[0].Path
			alike(t, fromJSON, collected(t, path, percentiles))
			want := counted(t, path)
			want["all"] = want["read"] + want["write"] + want["trim"]
			for i, r := range fromJSON {
				l := fromLogs[i]
				if n := want[r.Direction]; n == 0 || r.Samples != n || l.Direction != r.Direction ||
					l.Samples < n-1e-6 || l.Samples > n+1e-6 {
					t.Errorf("%s: %v from JSON, %s: %v from logs, want %v", r.Direction, r.Samples, l.Direction,
						l.Samples, n)
				}
				// The logs are as fine as the JSON or coarser by 2^3 buckets, an eighth of an octave.
				for key, v := range r.Percentiles {
					if w := l.Percentiles[key]; w < v*0.87 || w > v*1.15 {
						t.Errorf("%s p%s: %v from JSON, %v from logs", r.Direction, key, v, w)
					}
				}
				if r.Options["rw"] == "" || r.Options["bs"] != "4k" {
					t.Errorf("%s: options %v", r.Direction, r.Options)
				}
			}
		})
	}
}

// TestBytesPerIO: the mean size of a row's I/Os is known if it is of each log with I/Os.
func TestBytesPerIO(t *testing.T) {
	t.Parallel()
	run := &pipeline.Run{}
	for _, l := range []struct {
		host       string
		ios, bytes float64
	}{{"a", 3, 3 * 4096}, {"a", 1, 8192}, {"b", 2, 0}, {"c", 0, 0}, {"c", 1, 512}} {
		log := &pipeline.Log{Log: &ingest.Log{Host: l.host}}
		log.Dirs[fio.Read].IOs, log.Dirs[fio.Read].Bytes = l.ios, l.bytes
		run.Logs = append(run.Logs, log)
	}
	for host, want := range map[string]float64{"a": 5120, "b": 0, "c": 512, "": 0} {
		row := Row{Direction: fio.All, Host: host}
		if size, known := bytesPerIO(&row, run); known != (want > 0) || size != want {
			t.Errorf("host %q: %v, known %v; want %v", host, size, known, want)
		}
	}
}

// fio 2 has other buckets than fio 3.
func TestFio2(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fio.json")
	if err := os.WriteFile(path, []byte(`{"fio version":"fio-2.21","timestamp_ms":1767225602000,"jobs":[{"jobname":"a",
		"groupid":0,"read":{"total_ios":65,"runtime":1000,"clat":{"min":100,"max":290,"mean":176.6,
		"bins":{"100":10,"150":20,"201":30,"290":5}}}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	percentiles := []float64{50, 90}
	totals, _, err := ingest.DiscoverJSONRuns([]string{path}, nil, ingest.DiscoverOptions{})
	if err != nil || len(totals) != 1 {
		t.Fatalf("%d runs, %v, want 1", len(totals), err)
	}
	rows, _, err := FromJSON(totals[0], fio.Clat, []string{"direction"}, percentiles, new(pipeline.Pick))
	if err != nil {
		t.Fatal(err)
	}
	alike(t, rows, collected(t, path, percentiles))
}

// alike compares the rows that FromJSON makes of fio's JSON with those of a run that has no more.
func alike(t *testing.T, fromJSON, run []Row) {
	t.Helper()
	if len(run) != len(fromJSON) {
		t.Fatalf("%d rows of a run without logs, want %d", len(run), len(fromJSON))
	}
	for i, r := range fromJSON {
		o := run[i]
		if o.Run != r.Run || o.Direction != r.Direction || o.Samples != r.Samples || *o.Min != *r.Min ||
			*o.Max != *r.Max || !maps.Equal(o.Percentiles, r.Percentiles) {
			t.Errorf("a run without logs: %+v, want %+v", o, r)
		}
	}
}

// TestGuessed reads two threads of fio 3.33, each with rw=randrw and number_ios=100: of 34 and 33 reads by
// write_lat_log no log of histograms holds some, and nothing tells how many each did, only that both did 100 I/Os.
func TestGuessed(t *testing.T) {
	rows := collected(t, "testdata/mixed-group", nil, fio.ByLog)
	if len(rows) != 6 {
		t.Fatalf("%d rows, want two logs, in two directions and both: %+v", len(rows), rows)
	}
	for _, r := range rows {
		switch both := r.Direction == fio.All; {
		case both && (r.Guessed != 0 || math.Round(r.Samples) != 100):
			t.Errorf("%s: %v I/Os, of them %v guessed, want 100, none", r.Log, r.Samples, r.Guessed)
		case !both && (r.Guessed < 10 || r.Guessed > r.Samples):
			t.Errorf("%s: of %v %ss %v are guessed", r.Log, r.Samples, r.Direction, r.Guessed)
		}
	}
}

// collected returns the rows of the one run in a folder, or of a file of fio's JSON.
func collected(t *testing.T, path string, percentiles []float64, by ...string) (rows []Row) {
	t.Helper()
	runs, err := ingest.Discover([]string{path}, ingest.DiscoverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := plan.Prepare(context.Background(), runs[0], plan.Config{Settings: fio.Settings{
		Percentiles: percentiles, By: append(by, fio.ByDirection), Align: "overlap", Grid: "run", RecordTime: "end",
		Repair: "auto", Restore: true, Coarseness: -1}})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	_, err = plan.Process(context.Background(), &Collector{Name: path, By: append(by, fio.ByDirection),
		To: func(of []Row) { rows = of }})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestSeconds(t *testing.T) {
	for name, c := range map[string]struct {
		options string // of the second job
		fields  string
		want    float64
	}{
		"together":            {``, `"groupid":0`, 3},
		"startdelay":          {`"startdelay":"10"`, `"groupid":0`, 4},
		"startdelay and ramp": {`"startdelay":"1500ms","ramp_time":"1"`, `"groupid":0`, 3.5},
		"stages":              {``, `"groupid":1`, 4},
		"new_group":           {`"startdelay":"2500ms"`, `"groupid":1,"elapsed":3`, 3.5},
		"job_start":           {`"startdelay":"10"`, `"groupid":0,"job_start":1767225602900`, 3.9},
	} {
		t.Run(name, func(t *testing.T) {
			start := ""
			if strings.Contains(c.fields, "job_start") {
				start = `"job_start":1767225600000,`
			}
			m, err := fiojson.Parse(strings.NewReader(`{"fio version":"fio-3.36","jobs":[{"jobname":"a",`+start+`
				"groupid":0,"read":{"total_ios":10,"runtime":3000,"clat_ns":{"N":10,"mean":5}}},
				{"jobname":"b","job options":{`+c.options+`},`+c.fields+`,
				"read":{"total_ios":10,"runtime":1000,"clat_ns":{"N":10,"mean":5}}}]}`), "fio.json")
			if err != nil {
				t.Fatal(err)
			}
			rows, _, err := FromJSON(ingest.NewJSONRun(m), fio.Clat, nil, nil, new(pipeline.Pick))
			if err != nil || len(rows) != 1 || *rows[0].Seconds != c.want {
				t.Errorf("%+v, %v, want %v s", rows, err, c.want)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	row := func(run, direction string, options map[string]string) Row {
		return Row{Run: run, Direction: direction, Options: options}
	}
	rows := []Row{
		row("a", "read", map[string]string{"iodepth": "1", "rw": "randrw", "size": "1g"}),
		row("a", "write", map[string]string{"iodepth": "1", "rw": "write", "size": "1g"}),
		row("b", "read", map[string]string{"iodepth": "2", "rw": "randrw", "size": "1g"}),
		row("b", "write", map[string]string{"iodepth": "2", "rw": "write", "size": "1g", "direct": "1"}),
	}
	if got, want := Differing(rows), []string{"iodepth", "direct"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v: what the jobs of a run differ in is no difference between runs", got, want)
	}
	rows = append(rows[:1], row("killed", "read", map[string]string{"hosts": "3"}))
	if got, want := Differing(rows), []string{"hosts"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v: options that are not known do not differ", got, want)
	}
	all := Row{Direction: "all"}
	all.finish(nil, []*pipeline.Log{{Log: &ingest.Log{Host: "a", Job: "j"}}, {Log: &ingest.Log{Host: "b", Job: "j"}}})
	if all.Options["hosts"] != "2" || all.Options["jobs"] != "1" {
		t.Errorf("%v, want 2 hosts, 1 job", all.Options)
	}
	read := fiojson.Entry{JobName: "a", Options: map[string]string{"rw": "read"}}
	read.Dirs[fio.Read].TotalIOs = 1
	merged := fiojson.Entry{JobName: "b", Unlike: 2, Options: map[string]string{"rw": "write"}}
	merged.Dirs[fio.Write].TotalIOs = 1
	metas := []*fiojson.Document{{Entries: []fiojson.Entry{read, merged}}}
	for direction, want := range map[string]string{"read": "read", "write": "", "all": ""} {
		r := Row{Direction: direction}
		if r.finish(metas, nil); r.Options["rw"] != want || r.Options["jobs"] != "" {
			t.Errorf("%s: %v, want rw=%s, and no jobs: those of a group are unknown", direction, r.Options, want)
		}
	}
	two := &fiojson.Document{Entries: []fiojson.Entry{{JobName: "j", Options: map[string]string{"bs": "4k",
		"bssplit": "4k/50:8k/50", "readwrite": "read", "rw": "write"}}}}
	for range 20 {
		if o := Options([]*fiojson.Document{two}, nil, "all", "", ""); o["bs"] != "4k/50:8k/50" || o["rw"] != "write" {
			t.Fatalf("%v: of names of one option the last one counts", o)
		}
	}
}
