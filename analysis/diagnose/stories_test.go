package diagnose

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fiolat/pipeline"
)

// TestStories compares all sentences of runs in which hosts stood still or were slow for a time.
func TestStories(t *testing.T) {
	for _, tc := range []struct {
		name string
		path func(t *testing.T) string
		want []string
	}{
		{"3 of 5 hosts stopped by a signal", folder("testdata/three-stopped"), []string{
			"Hosts osd2, osd3 and osd10 stalled from 0:08.9 to 0:12.9: no I/O completed; the slowest took 4.04 " +
				"s.",
			"On average 19.5 I/Os were in flight.",
		}},
		{"one host stood still, and another is slow", folder("testdata/stalled-host"), []string{
			"Host osd3 stalled from 0:15.5 to 0:18.5: no I/O completed; the slowest took 3 s.",
			"Hosts osd3 and osd4 are 2.4 times as slow as their peers, all run: read p50 431 us, theirs 176 us; " +
				"p99 of all 9.84 ms, without them 3.44 ms; writes too.",
			"All reads are 1.4 times as slow from 0:05 to the end: p50 241 us, before 174 us.",
			"Host osd4 is 2.9 times as slow as its peers until 0:03: write p50 2.22 ms, theirs 763 us; p99 of all then " +
				"14.6 ms, as without it.",
			"On average 4.02 I/Os were in flight.",
		}},
		{"one job hangs", folder("testdata/hang"), []string{
			"Job j3 stalled from 0:09.8 to 1:09.7: no I/O completed; the slowest took 60 s.",
			"On average 4.21 of at most 12 I/Os were in flight.",
		}},
		{"two levels; three logs end a window before the others", folder("testdata/two-levels"), []string{
			"Hosts h1 and h3 are 2.0 times as slow as their peers, all run: p50 8.05 ms, theirs 4.03 ms; p99 of " +
				"all 13.3 ms, without them 7.92 ms.",
			"On average 9.6 I/Os were in flight.",
		}},
		{"one of 8 hosts is slow for 84 s", slowHosts(8, []int{3}, 20, pipeline.Span{}), []string{
			"Host host3 is 20 times as slow as its peers from 1:00 to 2:24: read p50 203 ms, theirs 10 ms; p99 of " +
				"all then 29.9 ms, without it 25.2 ms; writes too.",
			"On average 64 I/Os were in flight.",
		}},
		{"one of 4 hosts is slow for 84 s", slowHosts(4, []int{3}, 6, pipeline.Span{}), []string{
			"Host host3 is 6.1 times as slow as its peers from 1:00 to 2:24: write p50 122 ms, theirs 19.9 ms; p99 " +
				"of all then 173 ms, without it 50.3 ms; reads too.",
			"On average 32 I/Os were in flight.",
		}},
		{"one of 4 hosts is slow from 2:40 to the end", slowHosts(4, []int{3}, 6, pipeline.Span{}, 160, 240), []string{
			"Host host3 is 6.1 times as slow as its peers from 2:40 to the end: write p50 122 ms, theirs 20 ms; p99 " +
				"of all then 172 ms, without it 51 ms; reads too.",
			"On average 32 I/Os were in flight.",
		}},
		{"3 of 12 hosts are slow for 84 s", slowHosts(12, []int{1, 3, 10}, 6, pipeline.Span{}), []string{
			"Hosts host1, host3 and host10 are 6.0 times as slow as their peers from 1:00 to 2:24: read p50 60.4 ms, " +
				"theirs 10 ms; p99 of all then 85.5 ms, without them 25.4 ms; writes too.",
			"On average 96 I/Os were in flight.",
		}},
		{"all hosts are slow for 84 s", slowHosts(4, []int{0, 1, 2, 3}, 6, pipeline.Span{}), []string{
			"All reads are 6.0 times as slow from 1:00 to 2:24: p50 59.7 ms, otherwise 10 ms; 248 IOPS, " +
				"otherwise 1479; writes too.",
			"On average 32 I/Os were in flight.",
		}},
		{"one is slow for 84 s, and later all stand still", slowHosts(8, []int{3}, 20,
			pipeline.Span{From: 200 * second, To: 204 * second}), []string{
			"All 8 hosts stalled from 3:20.0 to 3:24.0: no I/O completed; the slowest took 4.04 s.",
			"Host host3 is 20 times as slow as its peers from 1:00 to 2:24: read p50 201 ms, theirs 10 ms; p99 of " +
				"all then 30 ms, without it 25.3 ms; writes too.",
			"On average 64 I/Os were in flight.",
		}},
		{"all hosts stand still", slowHosts(4, nil, 1, pipeline.Span{From: 100 * second, To: 104 * second}), []string{
			"All 4 hosts stalled from 1:40.0 to 1:44.0: no I/O completed; the slowest took 4.04 s.",
			"On average 32 I/Os were in flight.",
		}},
		{"hosts are restarted in turn", readingHosts(5, func(host int, j *job) {
			from := int64(10+12*host) * second
			j.stall = pipeline.Span{From: from, To: from + 4*second}
		}), []string{
			"All 5 hosts stalled for 4.0 s in turn between 0:10.0 and 1:02.0: no I/O completed; the slowest took 4.01 s.",
			"On average 20 I/Os were in flight.",
		}},
		{"all hosts pause, some between two records", readingHosts(5, func(host int, j *job) {
			j.stall = pipeline.Span{From: 30 * second, To: 30*second + 800*millisecond}
			if plain := j.latency; host%2 == 1 { // their windows begin 0.9 s later
				j.latency = func(at int64) int64 { return plain(at) + max(900*millisecond-at, 0) }
			}
		}), []string{
			"All 5 hosts stalled from 0:30.0 to 0:30.8: no I/O completed; the slowest took 810 ms.",
			"All reads reach only 1167 IOPS until 0:01, afterwards 1827; p50 10.3 ms, afterwards 10 ms.",
			"On average 19.9 I/Os were in flight.",
		}},
		{"two of 8 hosts are slow, one far more", readingHosts(8, func(host int, j *job) {
			factor, plain := []float64{1, 3, 1, 1, 1, 1.4, 1, 1}[host], j.latency
			j.latency = func(at int64) int64 { return int64(factor * float64(plain(at))) }
		}), []string{
			"Host host1 is 2.9 times as slow as its peers, all run: p50 29.9 ms, theirs 10.3 ms; p99 of all 41.7 ms, " +
				"without it 27.4 ms.",
			"Host host5 is 1.4 times as slow as its peers, all run: p50 14 ms, theirs 10.3 ms; p99 of all 41.7 ms, as " +
				"without it.",
			"On average 32 I/Os were in flight.",
		}},
		{"all settle in two steps", readingHosts(5, steps(6, 10, 2, 17, 1)), []string{
			"All reads are 2.6 times as slow until 0:17: p50 26 ms (51.7 ms until 0:11, then 20.1 ms), afterwards 10 ms; " +
				"557 IOPS, afterwards 1847.",
			"On average 20 I/Os were in flight.",
		}},
		{"all become slow in two steps", readingHosts(5, steps(1, 45, 2, 60, 6)), []string{
			"All reads are 2.5 times as slow from 0:45 to the end: p50 24.8 ms (20.1 ms until 1:00, then 59.8 ms), before " +
				"10 ms; 580 IOPS, before 1846.",
			"On average 20 I/Os were in flight.",
		}},
		{"6 hosts flush, each at its own time", readingHosts(6, func(host int, j *job) {
			var at []float64
			for from := 1.5 + 2.5*float64(host); from < 80; from += 15 {
				at = append(at, from, 3, from+2, 1)
			}
			steps(1, at...)(host, j)
		}), []string{
			"All reads are 3.0 times as slow every 15 s, on each of 6 hosts at its own time: p50 29.7 ms, otherwise 10 ms.",
			"On average 24 I/Os were in flight.",
		}},
		{"12 hosts run out of credits in turn", readingHosts(12, func(host int, j *job) {
			steps(1, float64(14+4*host), 2.5)(host, j)
		}), []string{
			"All reads slow down, 12 of 12 hosts one after the other between 0:14 and 0:58: p50 rises from 10.2 ms to " +
				"30.6 ms.",
			"On average 48 I/Os were in flight.",
		}},
		{"one is slow for most of the run", readingHosts(5, func(host int, j *job) {
			if host == 2 {
				steps(1, 14, 2)(host, j)
			}
		}), []string{
			"Host host2 is 2.0 times as slow as its peers from 0:14 to the end: p50 19.9 ms, theirs 10 ms; p99 of all " +
				"then 35 ms, without it 25.4 ms.",
			"On average 20 I/Os were in flight.",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := diagnosePath(t, tc.path(t)).Diagnosis.Sentences(math.MaxInt)
			if !slices.Equal(got, tc.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

func folder(path string) func(*testing.T) string { return func(*testing.T) string { return path } }

// slowHosts makes logs of reads and writes of hosts for 240 s. Some are slow, by a factor, from 60 to 144 s or
// during other seconds; all stand still for a time.
func slowHosts(hosts int, slow []int, factor int64, still pipeline.Span, during ...int64) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		from, to := 60*second, 144*second
		if during != nil {
			from, to = during[0]*second, during[1]*second
		}
		dir, rng := t.TempDir(), rand.New(rand.NewPCG(1, 84))
		log := func(host int, median float64) []byte {
			plain := logNormals(rng, median, 0.4)
			j := job{depth: 4, until: 240 * second, stall: still, latency: func(at int64) int64 {
				ns := plain(at)
				if slices.Contains(slow, host) && at >= from && at < to {
					ns *= factor
				}
				return ns
			}}
			return j.run()
		}
		for host := range hosts {
			name := filepath.Join(dir, fmt.Sprintf("s_clat_hist.1.log.host%d", host))
			if err := os.WriteFile(name, twoWay(log(host, 10e6), log(host, 20e6)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
}

// readingHosts makes logs of hosts that read for 80 s, each with what change does to its job.
func readingHosts(hosts int, change func(host int, j *job)) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		dir, rng := t.TempDir(), rand.New(rand.NewPCG(1, 85))
		for host := range hosts {
			j := job{depth: 4, until: 80 * second, latency: logNormals(rng, 10e6, 0.4)}
			change(host, &j)
			name := filepath.Join(dir, fmt.Sprintf("s_clat_hist.1.log.host%d", host))
			if err := os.WriteFile(name, j.run(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
}

// steps changes a job's latency by the first factor until a time in seconds, then by the next one, and so on.
func steps(factor float64, more ...float64) func(int, *job) {
	return func(_ int, j *job) {
		plain := j.latency
		j.latency = func(at int64) int64 {
			now := factor
			for i := 0; i < len(more); i += 2 {
				if at >= int64(more[i])*second {
					now = more[i+1]
				}
			}
			return int64(now * float64(plain(at)))
		}
	}
}

// twoWay returns a log of what two jobs do, of which one reads and one writes.
func twoWay(reads, writes []byte) []byte {
	writes = bytes.ReplaceAll(writes, []byte(", 0, 4096"), []byte(", 1, 4096"))
	lines := slices.Concat(bytes.SplitAfter(reads, []byte("\n")), bytes.SplitAfter(writes, []byte("\n")))
	lines = slices.DeleteFunc(lines, func(l []byte) bool { return len(l) == 0 })
	stamp := func(line []byte) int {
		n, _ := strconv.Atoi(string(line[:bytes.IndexByte(line, ',')]))
		return n
	}
	slices.SortStableFunc(lines, func(a, b []byte) int { return stamp(a) - stamp(b) })
	return bytes.Join(lines, nil)
}
