package logs

import (
	"math"
	"testing"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
)

// tailMember is a log of a tail whose job has these options.
func tailMember(e *fiojson.Entry, options jobfile.Options) *member {
	l := jobLog(&fiojson.Document{}, e)
	l.job = fiojson.Workload{Sure: true, Option: func(name string) (string, bool) {
		v, ok := options[name]
		return v, ok
	}}
	return &member{State: l, d: new(direction)}
}

// TestMemberTimes: a direction ran as long as fio says, from the start of its log. To verify, fio reads after the
// writes, until its job ends; the runtime of a group is a sum, and says nothing of that.
func TestMemberTimes(t *testing.T) {
	t.Parallel()
	const sec = int64(1e9)
	verify := jobfile.Options{"rw": "write", "verify": "crc32c"}
	for _, tt := range []struct {
		name       string
		options    jobfile.Options
		dir        fio.Direction
		members    int
		start, end int64 // s
	}{
		{"reads", jobfile.Options{"rw": "randrw"}, fio.Read, 1, 100, 109},
		{"writes", jobfile.Options{"rw": "randrw"}, fio.Write, 1, 100, 104},
		{"reads of a group", jobfile.Options{"rw": "randrw"}, fio.Read, 2, 100, 109},
		{"reads that verify", verify, fio.Read, 1, 104, 116},
		{"reads that verify, of a group", verify, fio.Read, 2, 104, 112},
		{"writes that are verified when all are written", verify, fio.Write, 1, 100, 104},
	} {
		e := &fiojson.Entry{LongestMS: 12_000, RuntimeMS: 16_000}
		e.Dirs[fio.Read].RuntimeMS, e.Dirs[fio.Write].RuntimeMS = 9000, 4000
		tail := &tail{entry: e, dir: tt.dir}
		for range tt.members {
			m := tailMember(e, tt.options)
			m.Start = 100 * sec
			tail.members = append(tail.members, m)
		}
		for _, m := range tail.members {
			m.times(tail)
			if m.start != tt.start*sec || m.end != tt.end*sec || m.until != m.end {
				t.Errorf("%s: from %v to %v s, until %v; want %d to %d", tt.name, float64(m.start)/1e9,
					float64(m.end)/1e9, float64(m.until)/1e9, tt.start, tt.end)
			}
		}
	}
}

// TestByBytes: of what is missing, jobs of two block sizes have what fio's bytes leave for each.
func TestByBytes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		bytes uint64
		third jobfile.Options // of another job without I/Os; nil: there is none
		want  []float64
	}{
		// 10 I/Os, of which 3 of 4 KiB and 4 of 64 KiB are in the logs: 2 of the missing are of 4 KiB.
		{"two sizes", 5*4096 + 5*65536, nil, []float64{2. / 3, 1. / 3}},
		{"all of the second", 3*4096 + 7*65536, nil, []float64{0, 1}},
		{"beside reads", 5*4096 + 5*65536, jobfile.Options{"rw": "read", "bs": "8k"}, []float64{2. / 3, 1. / 3, 1}},
		{"two jobs of a size", 5*4096 + 5*65536, jobfile.Options{"rw": "write", "bs": "4k"},
			[]float64{1. / 3, 1. / 3, 1. / 3}},
		{"a third size", 5*4096 + 5*65536, jobfile.Options{"rw": "write", "bs": "8k"}, []float64{1, 1, 1}},
		{"cut short", 5*4096 + 5*65536 - 512, nil, []float64{1, 1}},
		{"fewer than are logged", 2*4096 + 8*65536, nil, []float64{1, 1}},
	} {
		e := &fiojson.Entry{}
		e.Dirs[fio.Write].Kind[fio.Clat].N, e.Dirs[fio.Write].Bytes = 10, tt.bytes
		small := tailMember(e, jobfile.Options{"rw": "write", "bs": "4k"})
		large := tailMember(e, jobfile.Options{"rw": "write", "bs": "64k"})
		small.d.ios, large.d.ios = 3, 4
		tail := &tail{entry: e, dir: fio.Write, members: []*member{small, large}}
		if tt.third != nil {
			tail.members = append(tail.members, tailMember(e, tt.third))
		}
		tail.counts.Add(100, 3)
		for _, m := range tail.members {
			m.weight = 1
		}
		tail.byBytes()
		for i, m := range tail.members {
			if math.Abs(m.weight-tt.want[i]) > 1e-12 {
				t.Errorf("%s: weight %d is %v, want %v", tt.name, i, m.weight, tt.want[i])
			}
		}
	}
}
