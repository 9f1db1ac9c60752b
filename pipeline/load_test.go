package pipeline

import (
	"encoding/json"
	"testing"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
)

// TestLoadOf: what documents are found by is what all jobs of their scope share, in numbers, with fio's defaults.
func TestLoadOf(t *testing.T) {
	type o = jobfile.Options
	for _, tt := range []struct {
		name      string
		jobs      []o
		dims      fio.Dims
		want      string
		unknowing bool // a job of which nothing is known
	}{
		{"as given", []o{{"rw": "randread", "iodepth": "8", "bs": "64k"}}, fio.Dims{Direction: "read"},
			`{"iodepth":8,"numjobs":1,"bs":65536}`, false},
		{"defaults", []o{{"rw": "write"}}, fio.Dims{Direction: "all"}, `{"iodepth":1,"numjobs":1,"bs":4096}`, false},
		{"mixed", []o{{"rw": "randrw", "rwmixwrite": "30"}}, fio.Dims{Direction: "all"},
			`{"iodepth":1,"numjobs":1,"bs":4096,"rwmixread":70}`, false},
		{"a size for each direction", []o{{"rw": "rw", "bs": "4k,64k"}}, fio.Dims{Direction: "all"},
			`{"iodepth":1,"numjobs":1,"rwmixread":50}`, false},
		{"one of them", []o{{"rw": "rw", "bs": "4k,64k"}}, fio.Dims{Direction: "write"},
			`{"iodepth":1,"numjobs":1,"bs":65536,"rwmixread":50}`, false},
		{"bssplit", []o{{"rw": "read", "bssplit": "4k/50:8k/50"}}, fio.Dims{Direction: "read"},
			`{"iodepth":1,"numjobs":1}`, false},
		{"bsrange", []o{{"rw": "read", "bsrange": "4k-64k"}}, fio.Dims{Direction: "read"},
			`{"iodepth":1,"numjobs":1}`, false},
		{"jobs that differ", []o{{"rw": "read", "iodepth": "4", "bs": "0x1000"}, {"rw": "read", "iodepth": "8"}},
			fio.Dims{Direction: "all"}, `{"numjobs":1,"bs":4096}`, false},
		{"one of these jobs", []o{{"rw": "read", "iodepth": "4"}, {"rw": "read", "iodepth": "8"}},
			fio.Dims{Direction: "read", Job: "job1"}, `{"iodepth":8,"numjobs":1,"bs":4096}`, false},
		{"only one job reads", []o{{"rw": "read", "bs": "8k"}, {"rw": "randwrite", "bs": "1m"}},
			fio.Dims{Direction: "read"}, `{"iodepth":1,"numjobs":1,"bs":8192}`, false},
		{"mixed beside reads", []o{{"rw": "rw"}, {"rw": "read"}}, fio.Dims{Direction: "read"},
			`{"iodepth":1,"numjobs":1,"bs":4096}`, false},
		{"no number", []o{{"rw": "read", "iodepth": "$depth"}}, fio.Dims{Direction: "read"},
			`{"numjobs":1,"bs":4096}`, false},
		{"nothing known", nil, fio.Dims{Direction: "read"}, `{}`, true},
		{"a job of which nothing is known", []o{{"rw": "read"}}, fio.Dims{Direction: "read"}, `{}`, true},
	} {
		run := &Run{}
		for i, options := range tt.jobs {
			e := &fiojson.Entry{JobName: "job" + string(rune('0'+i)), Options: options}
			run.Logs = append(run.Logs, &Log{Log: &ingest.Log{Job: e.JobName, Entry: e,
				Meta: &fiojson.Document{Global: o{"direct": "1"}}}})
		}
		if tt.unknowing {
			run.Logs = append(run.Logs, &Log{Log: &ingest.Log{Job: "other"}})
		}
		if got, err := json.Marshal(run.LoadOf(tt.dims)); err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
}
