package matrix

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// odd are the options that random cases draw from, at most one of each group. An entry is a list, separated by ";", of
// "key=value", which adds to [global], "key", which removes a common option, and "FILE" for files in place of a device.
var odd = map[string][]string{
	"coarseness": {"log_hist_coarseness=0", "log_hist_coarseness=1", "log_hist_coarseness=2", "log_hist_coarseness=3",
		"log_hist_coarseness=4", "log_hist_coarseness=5", "log_hist_coarseness=6"},
	"window": {"log_hist_msec=90", "log_hist_msec=130", "log_hist_msec=333", "log_hist_msec=400", "log_hist_msec=900",
		"log_hist_msec=1100", "log_hist_msec=3000", "log_hist_msec"},
	"clock": {"log_unix_epoch=1", "log_alternate_epoch=1", "log_alternate_epoch=1;log_alternate_epoch_clock_id=1",
		"log_alternate_epoch=1;log_alternate_epoch_clock_id=7", "clocksource=gettimeofday",
		"clocksource=clock_gettime"},
	"logs": {"per_job_logs=0", "log_entries=2048", "log_avg_msec=100", "log_avg_msec=250;log_window_value=both",
		"log_max_value=1;log_avg_msec=100", "log_prio=1", "log_offset=1", "log_issue_time=1;log_offset=1",
		"log_compression=64k", "write_lat_log=h", "write_lat_log=l", "write_bw_log=h;write_iops_log=h"},
	"threads": {"numjobs=2", "numjobs=3", "numjobs=5", "numjobs=2;thread=1", "thread=1", "group_reporting=1;numjobs=2",
		"group_reporting=1", "group_reporting=1;numjobs=3", "group_reporting=1;numjobs=2;per_job_logs=0"},
	"start": {"startdelay=1", "startdelay=500ms", "startdelay=0-1", "ramp_time=1", "ramp_time=500ms",
		"startdelay=1;ramp_time=1"},
	"length": {"runtime=1", "runtime=3", "runtime=300ms", "runtime=1300ms", "runtime=40ms", "time_based;number_ios=500",
		"time_based;number_ios=900;loops=2", "time_based;io_size=2m", "time_based;size=3m",
		"time_based;size=1m;loops=3",
		"time_based;io_limit=3m", "exitall=1", "exitall_on_error=1", "ss=iops:90%;ss_dur=2",
		"ss=bw_slope:50%;ss_dur=2"},
	"pace": {"rate_iops=50", "rate_iops=9", "rate_iops=3000", "rate_iops=1", "rate_process=poisson",
		"rate_iops=200,400",
		"thinktime=400ms;thinktime_blocks=150", "thinktime=900ms;thinktime_blocks=200;rate_iops",
		"thinktime=5ms;thinktime_spin=1ms;rate_iops", "rate_iops;rate=2m", "rate_iops=2000;rate_process=poisson",
		"thinktime=1s;thinktime_blocks=400;rate_iops=2000", "flow=8;rate_iops=500",
		"latency_target=50ms;latency_window=200ms;latency_percentile=99;rate_iops=5000"},
	"mix": {"rw=randread", "rw=randwrite", "rw=read", "rw=write", "rw=rw", "rw=randtrim", "rw=trim", "rw=trimwrite",
		"rw=randtrimwrite", "rwmixread=95", "rwmixread=2", "rwmixread=99;rate_iops=900", "bs=4k,64k",
		"bssplit=4k/70:16k/30",
		"rw=randrw:16", "rw_sequencer=sequential;rw=rw:8"},
	"counted": {"unified_rw_reporting=mixed", "unified_rw_reporting=both", "disable_lat=1", "disable_slat=1",
		"disable_clat=1", "gtod_reduce=1", "clat_percentiles=0", "lat_percentiles=1", "slat_percentiles=1",
		"slat_percentiles=1;lat_percentiles=1;clat_percentiles=0", "percentile_list=50:99.99", "significant_figures=1",
		"disable_bw_measurement=1"},
	"engine": {"ioengine=psync;FILE", "ioengine=sync;FILE;fsync=32", "ioengine=psync;FILE;fdatasync=8",
		"ioengine=libaio;iodepth=8;FILE", "ioengine=libaio;iodepth=16;iodepth_batch=8;FILE", "iodepth=16",
		"iodepth=32;iodepth_batch_submit=8;iodepth_batch_complete_min=4", "ioengine=mmap;FILE", "ioengine=pvsync2;FILE",
		"ioengine=libaio;iodepth=4;io_submit_mode=offload;FILE", "io_submit_mode=offload;iodepth=4",
		"ioengine=psync;FILE;verify=crc32c;rw=randwrite;time_based;runtime;rate_iops=900",
		"ioengine=psync;FILE;verify=md5;verify_backlog=64;rw=write;rate_iops=900",
		"ioengine=psync;FILE;verify=crc32c;rw=randrw;do_verify=0",
		"ioengine=psync;FILE;verify=crc32c;rw=randwrite;loops=2;" +
			"time_based;runtime;rate_iops=1200",
		"ioengine=psync;FILE;zonemode=strided;zonesize=256k;zonerange=1m;zoneskip=0",
		"ioengine=psync;FILE;max_latency=1us",
		"ioengine=psync;FILE;continue_on_error=all", "ioengine=libaio;iodepth=4;FILE;cmdprio_percentage=50"},
	"names": {"write_hist_log=a.1", "write_hist_log=x y", "write_hist_log=h_clat_hist.1", "write_hist_log=./h",
		"write_hist_log=run.2026-01-02", "write_hist_log=", "write_hist_log=h-$jobname"},
	"other": {"zero_buffers=1", "norandommap=1", "random_distribution=zipf:1.1", "invalidate=0", "nice=1",
		"randrepeat=0",
		"description=a b, \"c\"", "allow_mounted_write=0", "loops=1", "bwavgtime=100",
		"log_hist_coarseness=2;numjobs=2"},
}

var jobSets = [][][]string{
	nil, nil, nil,
	{{"a"}, {"b"}}, {{"a"}, {"b", "stonewall=1"}}, {{"a"}, {"b", "startdelay=1"}}, {{"a"}, {"b", "stonewall"}},
	{{"a", "rw=randread"}, {"b", "rw=randwrite"}}, {{"a", "runtime=1"}, {"b", "runtime=3"}},
	{{"a"}, {"b", "new_group=1"}}, {{"a", "runtime=1"}, {"b", "wait_for=a"}}, {{"All clients"}, {"b"}},
	{{"a", "runtime=1"}, {"b", "stonewall=1", "runtime=2"}, {"c", "stonewall=1", "runtime=1"}},
	{{"a", "numjobs=2"}, {"b", "numjobs=1", "rate_iops=77"}}, {{"a"}, {"b", "ramp_time=1"}},
	{{"a", "log_hist_msec=200"}, {"b", "log_hist_msec=450"}}, {{"a"}, {"a"}},
	{{"a", "stonewall=1"}, {"b", "stonewall=1", "ramp_time=1"}}, {{"a b"}, {"c;d"}}, {{"4k-read=1"}, {"job.1"}},
	{{"a", "number_ios=300", "time_based=0"}, {"b", "stonewall=1"}}, {{"a"}, {"b", "group_reporting=0"}},
	{{"a", "group_reporting=1"}, {"b", "group_reporting=1"}, {"c", "new_group=1"}},
	{{"a"}, {"b", "ioengine=psync", "filename=/dev/full", "rw=write", "filesize=1m"}},
	{{"a"}, {"b", "log_hist_coarseness=4"}}, {{"a", "write_hist_log=p"}, {"b", "write_hist_log=q"}},
	{{"a"}, {"b", "stonewall=1", "startdelay=1"}}, {{"a", "startdelay=1"}, {"b", "startdelay=2"}},
	{{"a", "exitall=1", "runtime=1"}, {"b", "runtime=3"}}, {{"a", "thread=1"}, {"b"}},
	{{"a", "runtime=1"}, {"b", "runtime=3"}, {"c", "wait_for=a", "runtime=1"}},
}

// outputs are the arguments for fio's output that random cases draw from.
var outputs = [][]string{
	{"--output-format=normal,json+"}, {"--output-format=json+,normal"}, {"--output-format=json"},
	{"--output-format=json,json+"}, {"--output-format=terse,json+"},
	{"--output-format=json+", "--status-interval=1"}, {"--output-format=json+", "--eta=always"},
	{"--output-format=json+", "--eta=always", "--eta-newline=1"}, {"--output-format=json+", "--group_reporting"},
	{"--output-format=normal"},
}

// randomCases draws n cases with one to three odd options. It is deterministic for a seed.
func randomCases(seed uint64, n int) []testCase {
	r := rand.New(rand.NewPCG(seed, 0))
	groups := slices.Sorted(maps.Keys(odd))
	all := make([]testCase, n)
	for i := range all {
		c := testCase{Name: fmt.Sprintf("random%d-%d", seed, i), Kind: hist, Random: true}
		c.Modes = []mode{[]mode{alone, alone, alone, client, client, client, ports, hosts}[r.IntN(8)]}
		if r.IntN(6) == 0 {
			c.Kind = single
		}
		r.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		for _, group := range groups[:1+r.IntN(3)] {
			if c.Kind == single && group == "names" {
				continue
			}
			for option := range strings.SplitSeq(odd[group][r.IntN(len(odd[group]))], ";") {
				if option == "FILE" {
					c.set("filename=/dev/shm/fiolat-matrix.$jobname.$jobnum")
					option = "size=4m"
				}
				c.set(option)
			}
		}
		c.Jobs = jobSets[r.IntN(len(jobSets))]
		if r.IntN(4) == 0 {
			c.Output = outputs[r.IntN(len(outputs))]
		}
		onlyAlone := c.Modes[0] == alone
		switch r.IntN(12) {
		case 0:
			c.Interrupt = 700 + r.IntN(900)
		case 1:
			c.Piped = true
		case 2:
			c.Include = onlyAlone
		case 3:
			if onlyAlone && c.Kind == hist {
				c.Kill = 200 + r.IntN(900)
			}
		case 4:
			if onlyAlone && c.Kind == hist {
				c.KillJob = 500 + r.IntN(900)
			}
		}
		all[i] = c
	}
	return all
}

// set adds an option, or a key that removes a common one, to Global, in place of one with the same key.
func (c *testCase) set(option string) {
	key, _, _ := strings.Cut(option, "=")
	c.Global = slices.DeleteFunc(c.Global, func(o string) bool {
		k, _, _ := strings.Cut(o, "=")
		return k == key
	})
	c.Global = append(c.Global, option)
}
