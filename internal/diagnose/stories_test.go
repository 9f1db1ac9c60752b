package diagnose

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestStories compares all findings of runs in which hosts stood still or were slow for a time.
func TestStories(t *testing.T) {
	for _, tc := range []struct {
		name string
		path func(t *testing.T) string
		want []string
	}{
		{"3 of 5 hosts stopped by a signal", folder("testdata/three-stopped"), []string{
			"hosts osd2, osd3 and osd10 completed nothing from 0:08.9 to 0:12.9; longest I/O 4.04 s; reads and " +
				"writes from 0:09 to 0:13 (within 1 s), most of all writes: fewer I/Os: 302 IOPS (steady: 700); " +
				"slower: p99 96.1 ms (steady: 42.2 ms); worst p99 4.04 s; 18 I/Os beyond the steady p99.9; recovered " +
				"at once; confidence over 99.9 %.",
			"Reads are steady since 0:13: p50 8.29 ms, p99 31.8 ms, 679 IOPS.",
			"Writes are steady since 0:13: p50 16.3 ms, p99 43.1 ms, 660 IOPS.",
			"19.5 I/Os are in flight on average.",
		}},
		{"one host stood still, and another is slow", folder("testdata/stalled-host"), []string{
			"host osd3 completed nothing from 0:15.5 to 0:18.5; longest I/O 3 s.",
			"2 hosts (osd3, osd4) have 2.55 times the median read latency of the other 3 (2.27 to 2.86); the " +
				"whole run; likewise in writes; confidence 99.3501 %.",
			"4.02 I/Os are in flight on average.",
		}},
		{"one job hangs", folder("testdata/hang"), []string{
			"job j3 completed nothing from 0:09.8 to 1:09.7; longest I/O 60 s.",
			"4.21 of 5.44 I/Os are in flight on average.",
		}},
		{"two levels; three logs end a window before the others", folder("testdata/two-levels"), []string{
			"2 hosts (h1, h3) have 2.01 times the median read latency of the other 3 (1.99 to 2.02); the whole " +
				"run; confidence 99.9821 %.",
			"9.6 I/Os are in flight on average.",
		}},
		{"one of 8 hosts is slow for 84 s", slowHosts(8, []int{3}, 20, span{}), []string{
			"host host3 has 100 % of the reads above p99.9 and 0.701 % of all: 143 times its share (136 to 150); " +
				"p99.9 is 310 ms, without it 34.4 ms; its median is 20.6 times its peers' (20 to 21.3); from 1:00 to " +
				"2:24, in 84 quanta, but not afterwards; likewise in read p50, read p99, write p99 and write p99.9; " +
				"writes from 1:33 to 1:34 (within 1 s): slower: p99 114 ms (steady: 52.5 ms); worst p99 114 ms; " +
				"4 I/Os beyond the steady p99.9; recovered at once; confidence over 99.9 %.",
			"Writes are steady since 1:34: p50 20 ms, p99 52.7 ms, 1417 IOPS.",
			"64 I/Os are in flight on average.",
		}},
		{"one of 4 hosts is slow for 84 s", slowHosts(4, []int{3}, 6, span{}), []string{
			"host host3 has 100 % of the reads above p99.9 and 5.25 % of all: 19.1 times its share (13.9 to " +
				"26.1); p99.9 is 137 ms, without it 34.7 ms; its median is 6.06 times its peers' (5.88 to 6.25); " +
				"from 1:00 to 2:24, in 84 quanta, but not afterwards; likewise in read p50, read p99, write p50 and " +
				"write p99; reads and writes from 1:00 to 2:24 (within 1 s), most of all writes: slower: p99 173 ms " +
				"(steady: 50.5 ms); worst p99 216 ms; 7184 I/Os beyond the steady p99.9; recovered at once; " +
				"confidence over 99.9 %.",
			"Reads are steady since 2:24: p50 9.99 ms, p99 25.3 ms, 1479 IOPS.",
			"Writes are steady since 2:24: p50 20 ms, p99 50.8 ms, 738 IOPS.",
			"32 I/Os are in flight on average.",
		}},
		{"one of 4 hosts is slow from 2:40 to the end", slowHosts(4, []int{3}, 6, span{}, 160, 240), []string{
			"host host3 has 100 % of the reads above p99.9 and 5.29 % of all: 18.9 times its share (15.4 to " +
				"23.2); p99.9 is 136 ms, without it 34.6 ms; its median is 5.96 times its peers' (5.78 to 6.14); " +
				"from 2:40 to 3:59, in 77 quanta, but not afterwards; likewise in read p50, read p99, write p50 and " +
				"write p99; reads have 3.38 times the p99 (85.2 ms, before 25.2 ms), 0.792 times the IOPS (1171, " +
				"before 1478) from 2:40 to the end; writes have 3.42 times the p99 (172 ms, before 50.3 ms), 0.79 " +
				"times the IOPS (584, before 740) from 2:40 to the end; confidence over 99.9 %.",
			"32 I/Os are in flight on average.",
		}},
		{"3 of 12 hosts are slow for 84 s", slowHosts(12, []int{1, 3, 10}, 6, span{}), []string{
			"hosts host1, host3 and host10 stand out together; host host10 has 33.7 % of the writes above p99 " +
				"and 1.74 % of all: 19.3 times its share (18.5 to 20.1); p99 is 169 ms, without it 150 ms; its " +
				"median is 6.05 times its peers' (5.87 to 6.24); from 1:00 to 2:24, in 84 quanta, but not " +
				"afterwards; likewise in read p50, read p99, read p99.9, write p50 and write p99.9; reads and writes " +
				"from 1:00 to 2:24 (within 1 s), most of all writes: slower: p99 169 ms (steady: 50.6 ms); worst p99 " +
				"188 ms; 21487 I/Os beyond the steady p99.9; recovered at once; confidence over 99.9 %.",
			"Reads are steady since 2:24: p50 10 ms, p99 25.4 ms, 4429 IOPS.",
			"Writes are steady since 2:24: p50 20 ms, p99 50.7 ms, 2217 IOPS.",
			"96 I/Os are in flight on average.",
		}},
		{"all hosts are slow for 84 s", slowHosts(4, []int{0, 1, 2, 3}, 6, span{}), []string{
			"Reads and writes from 1:00 to 2:25 (within 1 s), most of all reads: fewer I/Os: 262 IOPS (steady: " +
				"1479); slower: p50 57.8 ms (steady: 9.99 ms); slower: p99 149 ms (steady: 25.2 ms); worst p99 383 " +
				"ms; 28465 I/Os beyond the steady p99.9; recovered at once; confidence over 99.9 %.",
			"Reads are steady since 2:25: p50 9.99 ms, p99 25.2 ms, 1479 IOPS.",
			"Writes are steady since 2:25: p50 19.9 ms, p99 50.7 ms, 740 IOPS.",
			"32 I/Os are in flight on average.",
		}},
		{"one is slow for 84 s, and later all stand still", slowHosts(8, []int{3}, 20,
			span{200 * second, 204 * second}), []string{
			"all 8 hosts completed nothing from 3:20.0 to 3:24.0; longest I/O 4.04 s; reads and writes from 3:20 " +
				"to 3:24 (within 1 s), most of all reads: stalled: down to 0 IOPS (steady: 2830); slower: p50 4 s " +
				"(steady: 10 ms); slower: p99 4.03 s (steady: 26.2 ms); worst p99 4.06 s; 64 I/Os beyond the steady " +
				"p99.9; recovered at once; confidence over 99.9 %.",
			"host host3 has 100 % of the reads above p99.9 and 0.704 % of all: 142 times its share (136 to 149); " +
				"p99.9 is 309 ms, without it 34.4 ms; its median is 20.4 times its peers' (19.8 to 21.1); from 1:00 " +
				"to 2:24, in 84 quanta, but not afterwards; likewise in read p50, read p99, write p99 and write " +
				"p99.9; writes from 1:05 to 1:06 (within 1 s): slower: p99 145 ms (steady: 52.5 ms); worst p99 145 " +
				"ms; 2 I/Os beyond the steady p99.9; recovered after 1 s; confidence over 99.9 %.",
			"Reads are steady since 3:24: p50 9.99 ms, p99 25.2 ms, 2960 IOPS.",
			"Writes are steady since 3:24: p50 20 ms, p99 50.6 ms, 1477 IOPS.",
			"64 I/Os are in flight on average.",
		}},
		{"all hosts stand still", slowHosts(4, nil, 1, span{100 * second, 104 * second}), []string{
			"all 4 hosts completed nothing from 1:40.0 to 1:44.0; longest I/O 4.04 s; reads and writes from 1:40 " +
				"to 1:44 (within 1 s), most of all reads: stalled: down to 0 IOPS (steady: 1479); slower: p50 4 s " +
				"(steady: 10 ms); slower: p99 4.03 s (steady: 25.2 ms); worst p99 4.06 s; 32 I/Os beyond the steady " +
				"p99.9; recovered at once; confidence over 99.9 %.",
			"Reads are steady since 1:44: p50 9.99 ms, p99 25.2 ms, 1480 IOPS.",
			"Writes are steady since 1:44: p50 20 ms, p99 50.8 ms, 738 IOPS.",
			"32 I/Os are in flight on average.",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := diagnosePath(t, tc.path(t)).Diagnosis.Sentences()
			if !slices.Equal(got, tc.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

// TestRealRamp: by its log alone the reads of a job had a median of 4.3 to 5.1 ms for 10 s, which then rose until, from
// 35 s on, it was 13.2 to 15.3 ms. That is a ramp, over more than half of that time, and nothing else.
func TestRealRamp(t *testing.T) {
	d := diagnosePath(t, "testdata/ramp").Diagnosis
	ramp, f := d.Segments[0], d.Findings[0]
	if f.About != Ramp || f.Factor < 2.6 || f.Factor > 3.5 || len(d.Findings) != 2 ||
		d.Findings[1].About != "concurrency" {
		t.Errorf("findings %+v", d.Findings)
	}
	if ramp.Kind != Ramp || min(ramp.ToMS, 35000)-max(ramp.FromMS, 10000) < 12500 {
		t.Errorf("ramp %+v", ramp)
	}
}

func folder(path string) func(*testing.T) string { return func(*testing.T) string { return path } }

// slowHosts makes logs of reads and writes of hosts for 240 s. Some are slow, by a factor, from 60 to 144 s or
// during other seconds; all stand still for a time.
func slowHosts(hosts int, slow []int, factor int64, still span, during ...int64) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		from, to := 60*second, 144*second
		if during != nil {
			from, to = during[0]*second, during[1]*second
		}
		dir, rng := t.TempDir(), rand.New(rand.NewPCG(1, 84))
		log := func(host int, median float64) []byte {
			plain := logNormal(rng, median, 0.4)
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
