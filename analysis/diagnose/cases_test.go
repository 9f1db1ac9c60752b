package diagnose

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fiolat/internal/testkit"
)

// TestCases compares the sentences on runs of real and made-up devices whose faults are known.
func TestCases(t *testing.T) {
	dir := testkit.Unpack(t, "testdata/cases.tar.zst")
	for _, tc := range []struct {
		name, fault string
		want        []string
	}{
		{"end-of-log-is-no-stall", "none: its writes end before its reads", []string{
			"Nothing stands out.",
			"On average 0.474 I/Os were in flight.",
		}},
		{"but-not-afterwards", "h04 is twice as slow, all run", []string{
			"Host h04 is 2.0 times as slow as its peers, all run: p50 8.93 ms, theirs 4.5 ms; p99 of all 9.89 " +
				"ms, without it 6.61 ms.",
			"On average 63.6 I/Os were in flight.",
		}},
		{"but-not-afterwards-real", "n4's server answers after 6 ms, the others' after 3, all run", []string{
			"Job n4 is 1.9 times as slow as its peers, all run: p50 6.27 ms, theirs 3.22 ms; p99 of all 40.6 " +
				"ms, without it 37 ms.",
			"The queue was full (12 of 12) all run.",
		}},
		{"throttled-job-unseen", "j3 is throttled from 0:10 to 0:20", []string{
			"Job j3 has 4.4 times its peers' p99 from 0:10 to 0:21: 105 ms, theirs 23.8 ms; p99 of all then 87.9 ms.",
			"All reads have 1.5 times the p99 from 0:02 to 0:07: 40.4 ms, otherwise 27.3 ms.",
			"On average 4.19 of at most 6 I/Os were in flight.",
		}},
		{"job-x2-all-run-unseen-real", "n4's server answers after 6 ms, the others' after 3, all run", []string{
			"Job n4 is 1.9 times as slow as its peers, all run: p50 6.88 ms, theirs 3.54 ms; p99 of all 48.4 " +
				"ms, without it 47.2 ms.",
			"The queue was full (12 of 12) all run.",
		}},
		{"two-of-six-slow-unseen", "h01 and h03 are 1.6 times as slow, all run", []string{
			"Hosts h01 and h03 are 1.6 times as slow as their peers, all run: p50 6.38 ms, theirs 3.91 ms; p99 " +
				"of all 10.4 ms, without them 7.38 ms.",
			"On average 23.9 I/Os were in flight.",
		}},
		{"load-is-not-the-limit", "all are throttled from 0:16 on", []string{
			"All reads have 27 times the p99 from 0:16 to the end: 107 ms, before 3.97 ms.",
			"The queue was full (6 of 6) from 0:17 on.",
		}},
		{"wrong-job-blamed", "all writes are throttled from 0:10 to 0:20", []string{
			"All writes have 7.6 times the p99 from 0:10 to 0:21: 104 ms, otherwise 13.7 ms.",
			"All writes are 15 times as slow until 0:04: p50 1.82 ms, afterwards 123 us.",
			"On average 3.15 of at most 6 I/Os were in flight.",
		}},
		{"diagnose-stages", "none: stages of a job file", []string{
			"Too short for a diagnosis: 7 intervals of 1 s, and at least 8 are needed; see --interval.",
			"On average less than 0.1 of at most 1 I/O was in flight.",
		}},
		{"two-stages", "none: blocks of 4k, then of 1m", []string{
			"Nothing stands out.",
			"On average 0.604 of at most 1 I/O was in flight.",
		}},
		{"slow-host-named-by-its-logs", "127.0.0.7 is twice as slow, all run", []string{
			"Host 127.0.0.7 is 2.0 times as slow as its peers, all run: read p50 of job3 22.7 ms, theirs 11.1 " +
				"ms; p99 of all 36.6 ms, without it 33.5 ms; writes too.",
			"All reads have 1.5 times the p99 until 0:04: 50.2 ms, afterwards 34 ms; writes too.",
			"On average 19.9 of at most 48 I/Os were in flight.",
		}},
		{"slow-host-of-three", "127.0.0.7 is twice as slow, all run", []string{
			"Host 127.0.0.7 is 2.0 times as slow as its peers, all run: p50 22.7 ms, theirs 11.5 ms; p99 of all " +
				"43 ms, without it 37.7 ms.",
			"All writes are 1.5 times as slow until 0:05: p50 23 ms, afterwards 14.8 ms.",
			"On average 1.06 of at most 3 I/Os were in flight.",
		}},
		{"stall-hatch", "a stall from 0:26 to 0:29", []string{
			"Job laptop stalled from 0:25.9 to 0:29.0: no I/O completed; the slowest took 3.16 s.",
			"The queue was full (4 of 4) from 0:24 on.",
		}},
		{"five-hung", "their server held every I/O for 3.0 s; the hosts' clocks differ", []string{
			"All 5 hosts stalled for 3.0 s between 0:13.3 and 0:18.0: no I/O completed; the slowest took 3 s.",
			"The queue was full (10 of 10) from 0:15 on.",
		}},
		{"slow-first-second", "all are twice as slow from 0:18 on, by a clock that began before the hosts'", []string{
			"All reads are 1.9 times as slow from 0:15 to the end: p50 12.8 ms, before 6.67 ms; 502 IOPS, before 835.",
			"All reads are 2.1 times as slow from 0:17 to 0:22: p50 19 ms, otherwise 8.98 ms; 366 IOPS, otherwise " +
				"685.",
			"The queue was full (10 of 10) all run.",
		}},
		{"perhaps-throttled", "n4 is throttled from 0:16 on; all share a busy machine", []string{
			"Nothing stands out for certain. Perhaps (by chance 1 in 33 times): Host n4 is 2.5 times as slow as its " +
				"peers from 0:13 to the end: p50 23.3 ms, theirs 9.45 ms.",
			"The queue was full (10 of 10) all run.",
		}},
		{"perhaps-tail", "a twentieth of n2's I/Os take 200 ms more from 0:08 to 0:20; all share a busy machine", []string{
			"Nothing stands out for certain. Perhaps (by chance 1 in 100 times): Host n2 has 4.5 times its peers' p99 " +
				"from 0:09 to 0:21: 222 ms, theirs 49.3 ms.",
			"The queue was full (10 of 10) all run.",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := diagnosePath(t, filepath.Join(dir, tc.name)).Diagnosis.Sentences(math.MaxInt)
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s: got\n%s\nwant\n%s", tc.fault, strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}
