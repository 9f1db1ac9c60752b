package logs_test

import (
	"fmt"
	"strings"
	"testing"
)

// made returns n records of ten reads of 1 ms, h ms apart from h on.
func made(n, h int) (records string) {
	for i := range n {
		records += fmt.Sprintf("%d r 10*1ms; ", (i+1)*h)
	}
	return records
}

// TestWhole: in which second the I/Os of made logs are, and what is said of logs that are damaged, empty or of another
// run.
func TestWhole(t *testing.T) {
	t.Parallel()
	// Of 10, 10, 12, 14 and 16 I/Os a record, fio --client logs 10, 20 - 10, 32 - 10, 46 - 22, and 62 - 24.
	const damaged = "1@h: 1000 r 10*1ms; 2000 r 10*1ms; 3000 r 22*1ms; 4000 r 24*1ms; 5000 r 38*1ms"
	steady := "1: " + made(3, 1000)
	of := func(counts string, ms int64, options string) []job {
		return []job{{counts: counts, ms: ms, options: options}}
	}
	for _, tt := range []struct {
		name  string
		logs  string
		jobs  []job
		flags string
		want  string
		says  string
	}{
		// A record's I/Os completed in the window before it, the last of them at its stamp.
		{"windows of half a second", "1: " + made(4, 500), nil, "log-hist-msec=500", "1r 20 20", ""},
		{"windows of two seconds", "1: " + made(2, 2000), nil, "log-hist-msec=2000", "1r 4.5 5.5 4.5 5.5", ""},
		{"a late one", "1: " + made(2, 1000) + "4500 r 10*1ms", nil, "log-hist-msec=1000", "1r 10 10 9 0 1", ""},
		{"and those that catch up", "1: " + made(2, 1000) + "5500 r 1*3s; 5500 r 1*3s; 5501 r 1*3s; 6000 r 5*1ms", nil,
			"log-hist-msec=1000", "1r 10 10 0 0 0 8", ""},
		{"a direction that begins later", "1: " + made(3, 1000) + "3500 w 10*1ms; 4000 r 10*1ms; " +
			"4500 w 10*1ms", nil, "log-hist-msec=1000", "1r 10 10 10 10; 1w 0 0 4.5 10 5.5", ""},
		{"stamps since 1970", "1: 1795225578000 r 10*1ms; 1795225579000 r 10*1ms", nil,
			"log-hist-msec=1000", "1r 10 10", ""},
		{"stamps at the start", steady, nil, "log-hist-msec=1000 record-time=start", "1r 0 10 10 10", ""},
		{"where they were in flight", "1: " + made(2, 1000) + "3000 r 1*2s", nil, "log-hist-msec=1000 align=inflight",
			"1r 10 10.5 0.5", ""},
		{"single I/Os", "s1: 500 r 1*1ms; 1500 r 1*2ms; 1999 w 1*1ms; 2000 r 1*1ms", nil, "", "1r 1 1 1; 1w 0 1", ""},

		// What fio counted and no log holds completed in the windows that were open at the end.
		{"the tail", steady, of("r 35*1ms", 3500, ""), "", "1r 10 10 10 5", ""},
		{"not restored", steady, of("r 35*1ms", 3500, ""), "no-restore", "1r 10 10 10", ""},
		{"no record", "1:", of("r 5*1ms", 800, ""), "", "1r 5", ""},
		{"ended by its runtime", "1: 2000 r 10*1ms", of("r 15*1ms", 3500, "log_hist_msec=2000 runtime=2500ms"), "",
			"1r 4.5 5.5 5", ""},
		{"reads to verify after the writes", "1: 1000 w 10*1ms; 2000 w 10*1ms", of("r 10*1ms; w 20*1ms", 2000,
			"rw=write verify=crc32c"), "", "1r 0 0 10; 1w 10 10", ""},
		{"bursts of ten, a second apart", "1: 2021 r 21*1ms; 4041 r 20*1ms", of("r 50*1ms", 4050, "log_hist_msec=2000 "+
			"thinktime=1s thinktime_blocks=10"), "interval=500ms", "1r 10 0 10 0 10 0 10 0 10", ""},
		{"by the rates of the logs", "1: " + made(3, 1000) + "| 2: 1000 r 30*1ms; 2000 r 30*1ms; 3000 r 30*1ms",
			of("r 128*1ms", 3500, "numjobs=2 group_reporting=1"), "", "1r 10 10 10 2; 2r 30 30 30 6", ""},
		{"by what each job does", "1: " + made(3, 1000) + "| 2: 1000 r 10*1ms; 2000 r 10*1ms; 3000 r 8*1ms",
			of("r 64*1ms", 3500, "numjobs=2 group_reporting=1 number_ios=32"), "", "1r 10 10 10 2; 2r 10 10 8 4", ""},

		// Unless that is impossible: then its end, or its head, is lost.
		{"an I/O longer than its window", steady, of("r 30*1ms 2*3s", 3500, ""), "", "1r 10 10 10",
			`2 of the 32 reads of job "j1" are lost, and in no interval: an I/O of 2986 ms does not fit into the ` +
				"510 ms that its last window was open"},
		{"one longer, which began before", steady, of("r 30*1ms 1*3s", 3500, ""), "", "1r 10 10 10 1", ""},
		{"more than fit one after the other", steady, of("r 30*1ms 540*1ms", 3500, ""), "", "1r 10 10 10",
			"which has room for 510 ms"},
		{"as many as fit at a depth of two", steady, of("r 30*1ms 540*1ms", 3500, "iodepth=2 ioengine=libaio"), "",
			"1r 10 10 10 540", "540 are restored after the last record, more than twice what the fullest record holds"},
		{"as many as its rate lets through", steady, of("r 38*1ms", 3500, "rate_iops=10"), "", "1r 10 10 10 8", ""},
		{"one more", steady, of("r 39*1ms", 3500, "rate_iops=10"), "", "1r 10 10 10",
			"rate_iops lets 38 I/Os through until its last window ends, fio counted 39"},
		{"the next window was over", "1: " + made(2, 1000) + "4500 r 10*1ms", of("r 35*1ms", 4800, ""), "",
			"1r 10 10 9 0 1", "its next window was over at the last stamp"},
		{"a thread without a log", steady, of("r 35*1ms", 3500, "numjobs=2 group_reporting=1"), "", "1r 10 10 10",
			"the job has 2 threads, of which 1 have a log here"},
		{"a first record of one I/O", "1: 1000 r 1*1ms; 2000 r 10*1ms", of("r 16*1ms", 2500, ""), "", "1r 1 10",
			"line 1, the first record of its reads, has one I/O"},
		{"too many for a window that had passed", "1: " + made(2, 1000) + "6000 r 1*3s; 6100 r 5*1ms",
			of("r 29*1ms 1*3s", 6800, ""), "", "1r 10 10 0 0 0 1 5", "line 4 has more I/Os than its window can hold"},
		{"and nothing counts them", "1: " + made(2, 1000) + "6000 r 1*3s; 6100 r 5*1ms", nil,
			"log-hist-msec=1000", "1r 10 10 0 0 0 1 5", "line 4 has more reads than its window can hold: records " +
				"before it are lost; how many I/Os they held is unknown"},
		{"skipped lines", "1: " + made(3, 1000) + "bad line;", of("r 41*1ms", 3500, ""), "skip-bad", "1r 10 10 10",
			"1 of its lines were skipped"},
		{"skipped lines held no more than a record", "1: " + made(3, 1000) + "bad line;",
			of("r 40*1ms", 3500, ""), "skip-bad", "1r 10 10 10 10", "skipped: x_clat_hist.1.log:4"},

		// What is possible and unlikely is noted.
		{"twice what the fullest record holds", steady, of("r 52*1ms", 3500, ""), "", "1r 10 10 10 22", ""},
		{"more than that", steady, of("r 53*1ms", 3500, ""), "", "1r 10 10 10 23",
			"23 are restored after the last record"},
		{"silent afterwards", steady, of("r 42*1ms", 10_000, ""), "", "1r 10 10 10 12",
			"12 are restored after the last record, and fio went on for 6000 ms after that window"},
		{"silent, for fewer", steady, of("r 41*1ms", 10_000, ""), "", "1r 10 10 10 11", ""},
		{"silent before", "1: 6000 r 10*1ms; 7000 r 10*1ms; 8000 r 10*1ms", of("r 42*1ms", 8500, ""), "",
			"1r 0 0 0 0 0 10 10 10 12", "the first window begins only 5000 ms after the job"},

		{"damaged", damaged, []job{{counts: "r 66*1ms", ms: 5400, host: "h"}}, "", "1.hr 10 10 12 14 16 4",
			"1 of 1 log repaired (fio --client counts I/Os twice); totals agree with fio's"},
		{"damaged, to be left alone", damaged, nil, "repair=no log-hist-msec=1000", "1.hr 10 10 22 24 38", ""},
		{"damaged, to be repaired", damaged, nil, "repair=yes log-hist-msec=1000", "1.hr 10 10 12 14 16",
			"1 of 1 log repaired"},
		{"healthy", "1@h: " + made(2, 1000) + "3000 r 9*1ms", []job{{counts: "r 33*1ms", ms: 3400, host: "h"}}, "",
			"1.hr 10 10 9 4", ""},
		{"garbage in the last record", "1@h: 1000 r 10*1ms; 2000 r 10*1ms; 3000 r 22*1ms 99*16s",
			[]job{{counts: "r 36*1ms", ms: 3400, host: "h"}}, "", "1.hr 10 10 12 4", "garbage that fio --client left"},

		{"all buckets 0", "1: 1000 r; 2000 r; 3000 r", nil, "", "", "the job ran with clat_percentiles=0"},
		{"all logs empty", "1: | 2:", nil, "", "", "empty log"},
		{"one log empty", "1: " + made(2, 1000) + "| 2:", nil, "log-hist-msec=1000", "1r 10 10",
			"1 empty log, and no JSON says how many I/Os were done"},
		{"empty, without log_hist_msec", "1:", []job{{counts: "r 9*1ms", ms: 900, options: "log_hist_msec="}}, "", "",
			"the job did not set log_hist_msec"},
		{"did nothing", "1: " + made(2, 1000) + "| 2:", []job{{counts: "r 24*1ms", ms: 2500}, {ms: 2500}}, "",
			"1r 10 10 4", `nothing of job "j2" is in the result: by fio's JSON it did no I/O`},
		{"failed", "1: " + made(2, 1000) + "| 2:", []job{{counts: "r 24*1ms", ms: 2500}, {ms: 2500, errno: 5}}, "",
			"1r 10 10 4", "fio ended it with error 5 (input/output error)"},
		{"no line can be read", "1: bad line; no line", nil, "skip-bad", "", "none of its 2 lines can be read"},
		{"backwards", "1: 2000 r 10*1ms; 1000 r 10*1ms", nil, "", "", "log:2: time runs backwards, from 2000 to 1000"},
		{"four columns", "s1: 500, 1000, 0, 4096", nil, "", "", "pass --fio-version 2 or 3"},

		{"single I/Os missing", "s1: 500 r 1*1ms; 1500 r 1*2ms", []job{{counts: "r 2*1ms 1*2ms", ms: 2000,
			options: "write_lat_log=x write_hist_log="}}, "", "1r 1 1", "1 I/Os are missing"},
		{"single I/Os too many", "s1: 500 r 1*2ms; 1500 r 1*2ms", []job{{counts: "r 1*2ms", ms: 2000,
			options: "write_lat_log=x write_hist_log="}}, "", "1r 1 1", "1 I/Os too many"},
		{"another run's JSON", "1: " + made(3, 1000), []job{{counts: "r 20*1ms", ms: 3500}}, "", "1r 10 10 10",
			"the logs hold 30, fio counted 20; nothing was restored"},
		{"latencies out of its range", "1: " + made(3, 1000), []job{{counts: "r 40*5ms", ms: 3500}}, "", "1r 10 10 10",
			"log:1: latencies outside the range in fio's JSON"},
		{"an older JSON", "1: " + made(6, 1000), []job{{counts: "r 20*5ms", ms: 2500}}, "", "1r 10 10 10 10 10 10",
			`fio's JSON is older: it counts 2500 ms of job "j1"`},
		{"ends below the middle bucket", "1: 1000 r 900*700us; 2000 r 900*780us", nil,
			"log-hist-msec=1000", "1r 900 900",
			"fio 3.6 to 3.16 log no I/O that takes longer"},

		// Of 21 records, 19 gaps lie between the first and the last but one, in which fewer than 20 windows ended:
		// h > 19 * 250 / 20. With one record more, h > 20 * 250 / 21, which is within 5 % of 250.
		{"the length is open", "1: " + made(21, 250), nil, "", "1r 40 40 40 40 40 10",
			"allow 238ms to 250ms; assuming 250ms"},
		{"the length is told", "1: " + made(22, 250), nil, "", "1r 40 40 40 40 40 20", ""},
		{"one length for all", "1: " + made(23, 300) + "| 2: " + made(4, 300), nil, "interval=6s", "1r 200 30; 2r 40",
			"2.log: when the job of this log started is unknown; assuming that it started together"},
		{"each its own length", "1: " + made(23, 250) + "| 2: " + made(24, 1000), nil, "interval=12s",
			"1r 230; 2r 120 120",
			"2.log: when the job of this log started is unknown; assuming that it started together"},
		{"one record", "1: 1795225578000 r 10*1ms", nil, "", "1r 10",
			"assuming 1s, and that the log starts that long before"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := read(t, tt.logs, tt.jobs, tt.flags)
			if tt.says == "" && w.said != "" || !strings.Contains(w.said, tt.says) {
				t.Errorf("said %q, want %q", w.said, tt.says)
			}
			if got := w.ios(); got != tt.want {
				t.Errorf("%s; want %s", got, tt.want)
			}
		})
	}
}
