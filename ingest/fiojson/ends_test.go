package fiojson

import (
	"testing"

	"fiolat/fio"
)

// TestEnds: a job's I/Os are known beforehand only where nothing but its size or number_ios ends it.
func TestEnds(t *testing.T) {
	t.Parallel()
	type options map[string]string
	for _, tt := range []struct {
		name   string
		given  options
		dir    fio.Direction
		unsure bool
		want   float64
		mix    bool
	}{
		{"its size", options{"size": "1m", "bs": "4k"}, fio.Read, false, 256, false},
		{"no direction is read", options{"size": "1m"}, fio.Write, false, 0, false},
		{"part of a block", options{"size": "10k", "bs": "4k"}, fio.Read, false, 2, false},
		{"random writes", options{"rw": "randwrite", "size": "1m", "bs": "64k"}, fio.Write, false, 16, false},
		{"the other direction", options{"rw": "randwrite", "size": "1m"}, fio.Read, false, 0, false},
		{"both together", options{"rw": "randrw", "size": "1m"}, fio.Read, false, 256, true},
		{"both together, written", options{"rw": "readwrite", "size": "1m"}, fio.Write, false, 256, true},
		{"a mix trims nothing", options{"rw": "rw", "size": "1m"}, fio.Trim, false, 0, false},
		{"io_size before size", options{"size": "1m", "io_size": "2m"}, fio.Read, false, 512, false},
		{"number_ios below it", options{"size": "1m", "number_ios": "100"}, fio.Read, false, 100, false},
		{"number_ios above it", options{"size": "1m", "number_ios": "1000"}, fio.Read, false, 256, false},
		{"number_ios alone", options{"number_ios": "7"}, fio.Read, false, 7, false},
		{"loops", options{"size": "1m", "loops": "3"}, fio.Read, false, 768, false},
		{"another's options", options{"size": "1m"}, fio.Read, true, 0, false},
		{"by time", options{"size": "1m", "time_based": "1"}, fio.Read, false, 0, false},
		{"several files", options{"size": "1m", "nrfiles": "2"}, fio.Read, false, 0, false},
		{"verified", options{"rw": "write", "size": "1m", "verify": "crc32c"}, fio.Write, false, 256, false},
		{"read to verify", options{"rw": "read", "size": "1m", "verify": "crc32c"}, fio.Read, false, 0, false},
		{"a verified mix", options{"rw": "randrw", "size": "1m", "verify": "md5"}, fio.Write, false, 0, false},
		{"blocks of several sizes", options{"size": "1m", "bsrange": "4k-8k"}, fio.Read, false, 0, false},
		{"nothing ends it", options{"runtime": "10"}, fio.Read, false, 0, false},
	} {
		w := Workload{Sure: !tt.unsure, Option: func(name string) (string, bool) {
			v, ok := tt.given[name]
			return v, ok
		}}
		if got, mix := w.Ends(tt.dir); got != tt.want || got > 0 && mix != tt.mix {
			t.Errorf("%s: %v, %t; want %v, %t", tt.name, got, mix, tt.want, tt.mix)
		}
	}
}
