package fiojson

import (
	"maps"
	"slices"
	"testing"

	"fiolat/ingest/jobfile"
)

// TestSameness: which options make jobs measure the same, by fio's documentation of their defaults and aliases.
func TestSameness(t *testing.T) {
	t.Parallel()
	type options = jobfile.Options
	for name, c := range map[string]struct {
		a, b options
		same bool
	}{
		"units":                    {options{"bs": "4k", "size": "1G"}, options{"bs": "4096", "size": "1024m"}, true},
		"an alias":                 {options{"blocksize": "64k"}, options{"bs": "65536"}, true},
		"rw=rw is readwrite":       {options{"rw": "rw"}, options{"readwrite": "readwrite"}, true},
		"a default written out":    {options{"iodepth": "1", "bs": "4k"}, options{}, true},
		"one value for directions": {options{"bs": "4k,4k,4k"}, options{"bs": "4k"}, true},
		"a flag without a value":   {options{"direct": ""}, options{"direct": "1"}, true},
		"rwmixwrite":               {options{"rwmixwrite": "30"}, options{"rwmixread": "70"}, true},
		"places and names": {options{"filename": "/dev/sda", "name": "a", "description": "x", "client_name": "c"},
			options{"directory": "/mnt"}, true},
		"logging": {
			options{"write_hist_log": "a", "log_hist_msec": "100", "per_job_logs": "0", "lat_percentiles": "1"},
			options{}, true},
		"length":                {options{"runtime": "60", "loops": "2"}, options{"runtime": "5"}, true},
		"rwmixread":             {options{"rwmixread": "90"}, options{"rwmixread": "50"}, false},
		"iodepth":               {options{"iodepth": "64"}, options{}, false},
		"size":                  {options{"size": "1g"}, options{"size": "2g"}, false},
		"an unknown option":     {options{"new_option": "3"}, options{}, false},
		"a direction left out":  {options{"bs": ",8k"}, options{"bs": "4k,8k,8192"}, true},
		"without a limit":       {options{"rate_iops": "100,"}, options{"rate_iops": "100,0"}, true},
		"a range in bytes":      {options{"bsrange": "4096-8192"}, options{"blocksize_range": "4k-8k"}, true},
		"no direction's values": {options{"cpus_allowed": "0,0"}, options{"cpus_allowed": "0"}, false},
		"another direction":     {options{"bs": "4k,8k"}, options{"bs": "8k,4k"}, false},
	} {
		if got := maps.Equal(Measuring(c.a), Measuring(c.b)); got != c.same {
			t.Errorf("%s: %v and %v: same is %v", name, Measuring(c.a), Measuring(c.b), got)
		}
	}
}

// TestCanonical: values as they are shown, and the order of values.
func TestCanonical(t *testing.T) {
	t.Parallel()
	for v, want := range map[string]string{"4096": "4k", "4K": "4k", "4KiB": "4k", "1048576": "1m", "512": "512",
		"4096-65536": "4k-64k", "4k,8k,8k": "4k,8k", ",8k": "4k,8k", "4096/50:8k/50": "4k/50:8k/50"} {
		if got := canonical("bs", v); got != want {
			t.Errorf("bs=%s is %s, want %s", v, got, want)
		}
	}
	values := []string{"16", "abc", "4k", "2", "1m", "1"}
	slices.SortFunc(values, CompareValues)
	if want := []string{"1", "2", "16", "4k", "1m", "abc"}; !slices.Equal(values, want) {
		t.Errorf("%v, want %v", values, want)
	}
}

// TestReadsAfterWrites: reads that only verify come when all is written, but in turn with several loops.
func TestReadsAfterWrites(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		options map[string]string
		after   bool
	}{
		{"writes", map[string]string{"rw": "write", "verify": "crc32c"}, true},
		{"random writes", map[string]string{"rw": "randwrite", "verify": "crc32c"}, true},
		{"mixed", map[string]string{"rw": "randrw", "verify": "crc32c"}, false},
		{"reads", map[string]string{"rw": "randread", "verify": "crc32c"}, false},
		{"without verification", map[string]string{"rw": "write", "verify": "0"}, false},
		{"backlog", map[string]string{"rw": "write", "verify": "crc32c", "verify_backlog": "8"}, false},
		{"loops", map[string]string{"rw": "write", "verify": "crc32c", "loops": "2"}, false},
	} {
		w := Workload{Sure: true, Option: func(name string) (string, bool) { v, ok := tt.options[name]; return v, ok }}
		if got := w.ReadsAfterWrites(); got != tt.after {
			t.Errorf("%s: %v", tt.name, got)
		}
		if w.Sure = false; w.ReadsAfterWrites() {
			t.Errorf("%s, perhaps: true", tt.name)
		}
	}
}

// TestDistinct: workloads are told apart by the options that differ, in all that are known.
func TestDistinct(t *testing.T) {
	t.Parallel()
	all := []Sameness{"", "rw=randrw\nrwmixread=65", "rw=randrw", "iodepth=4\nrw=randrw"}
	want := []string{"", "iodepth 1, rwmixread 65", "iodepth 1, rwmixread 50", "iodepth 4, rwmixread 50"}
	if got := Distinct(all); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Distinct(all[2:3]); got[0] != "" {
		t.Errorf("alone: %q", got[0])
	}
}
