package live

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fiolat/ingest/fiojson"
	"fiolat/pipeline/pipelinetest"
)

// TestLiveWaits: an interval waits for a job that documents leave out, as those of fio --client do, until ten steps
// have passed; what the job did meanwhile is then in the seconds in which it did it.
func TestLiveWaits(t *testing.T) {
	t.Parallel()
	const zero = 1790000000000
	job := func(name string, sec int64) string { // 100 I/Os of a second for a, 40 for b
		n := sec * map[string]int64{"a": 100, "b": 40}[name]
		return fmt.Sprintf(`{"jobname":%q,"job_runtime":%d,"read":{"total_ios":%d,"runtime":%d,"clat_ns":{"N":%d,`+
			`"min":1000,"max":1000,"bins":{"1000":%d}}}}`, name, sec*1000, n, sec*1000, n, n)
	}
	for _, tt := range []struct {
		name    string
		away    int64 // seconds in which b is in no document
		waiting int   // intervals passed on before b is back
		want    string
	}{
		{"never", 0, 2, "140 140 140"},
		{"two seconds", 2, 2, "140 140 140 140 140"},
		{"for good", 14, 6, ""},
	} {
		s := liveSettings()
		s.By = nil
		c := new(pipelinetest.Collect)
		l, err := New(Config{Settings: s}, c)
		if err != nil {
			t.Fatal(err)
		}
		last := 3 + tt.away
		passed := 0
		for sec := int64(1); sec <= last; sec++ {
			jobs := []string{job("a", sec)}
			if sec <= 2 || sec == last {
				jobs = append(jobs, job("b", sec))
			}
			if sec == last {
				passed = len(c.Rows)
			}
			text := fmt.Sprintf(`{"fio version":"fio-3.33","timestamp_ms":%d,"jobs":[%s]}`, zero+1000*sec,
				strings.Join(jobs, ","))
			m, err := fiojson.Parse(strings.NewReader(text), "x")
			if err == nil {
				err = l.Snapshot(t.Context(), m)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.End(t.Context()); err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, r := range c.Rows {
			rows = append(rows, fmt.Sprint(r.Stats.Samples))
		}
		if got := strings.Join(rows, " "); tt.want != "" && got != tt.want || (tt.want == "") != (passed > tt.waiting) {
			t.Errorf("%s: %d intervals before b is back, I/Os by second %s; want %d, %s", tt.name, passed, got, tt.waiting,
				tt.want)
		}
	}
}

// TestLiveRate: the rate from which a stall is judged is that between the last two documents without a gap, per ns.
func TestLiveRate(t *testing.T) {
	t.Parallel()
	const zero = 1790000000000
	s := liveSettings()
	s.By = nil
	l, err := New(Config{Settings: s}, new(pipelinetest.Collect))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		sec, ios  int64
		perSecond float64
	}{{1, 50, 50}, {2, 150, 100}, {3, 280, 130}, {4, 380, 100}, {9, 9000, 100}, {10, 9070, 70}} {
		m, err := fiojson.Parse(strings.NewReader(fmt.Sprintf(`{"fio version":"fio-3.33","timestamp_ms":%d,"jobs":[{`+
			`"jobname":"a","job_runtime":%d,"read":{"total_ios":%d,"runtime":%[2]d,"clat_ns":{"N":%[3]d,"min":1000,`+
			`"max":1000,"bins":{"1000":%[3]d}}}}]}`, zero+1000*tt.sec, 1000*tt.sec, tt.ios)), "x")
		if err == nil {
			err = l.Snapshot(t.Context(), m)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := l.entries[key{job: "a"}].rate * 1e9; math.Abs(got-tt.perSecond) > 1e-6 {
			t.Errorf("at %d s: %v I/Os a second, want %v", tt.sec, got, tt.perSecond)
		}
	}
}
