package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// odd are options that a random case draws from: each alone is in cases too.
var odd = []string{
	"log_hist_coarseness=1", "log_hist_coarseness=3", "log_hist_coarseness=5", "log_hist_coarseness=6",
	"log_hist_msec=120", "log_hist_msec=400", "log_hist_msec=900", "numjobs=2", "numjobs=3", "group_reporting=1",
	"per_job_logs=0", "startdelay=1", "ramp_time=1", "log_unix_epoch=1", "log_alternate_epoch=1", "log_avg_msec=100",
	"log_prio=1", "unified_rw_reporting=mixed", "unified_rw_reporting=both", "disable_lat=1", "disable_slat=1",
	"disable_clat=1", "clat_percentiles=0", "lat_percentiles=1", "slat_percentiles=1", "rw=randread", "rw=randwrite",
	"rw=randtrim", "rw=trimwrite", "rwmixread=95", "rate_iops=50", "rate_iops=9", "rate_iops=3000",
	"rate_process=poisson", "thinktime=400ms;thinktime_blocks=150", "runtime=1", "runtime=3", "runtime=300ms",
	"thread=1", "number_ios=500", "zero_buffers=1", "write_lat_log=h", "write_bw_log=h",
}

// jobSets are what the jobs of a random case are.
var jobSets = [][][]string{
	nil, nil, {{"a"}, {"b"}}, {{"a"}, {"b", "stonewall=1"}}, {{"a"}, {"b", "startdelay=1"}},
	{{"a", "rw=randread"}, {"b", "rw=randwrite"}},
	{{"a"}, {"b", "new_group=1"}}, {{"a", "runtime=1"}, {"b", "wait_for=a"}}, {{"All clients"}, {"b"}},
}

// randomCases draws n cases of two or three odd options; the same seed draws the same.
func randomCases(seed uint64, n int) []testCase {
	r := rand.New(rand.NewPCG(seed, 0))
	all := make([]testCase, n)
	for i := range all {
		c := testCase{Name: fmt.Sprintf("random%d-%d", seed, i), Kind: hist, Modes: []mode{every[r.IntN(len(every))]}}
		if r.IntN(5) == 0 {
			c.Kind = single
		}
		for range 2 + r.IntN(2) {
			for option := range strings.SplitSeq(odd[r.IntN(len(odd))], ";") {
				key, _, _ := strings.Cut(option, "=")
				c.Global = slices.DeleteFunc(c.Global, func(o string) bool { return strings.HasPrefix(o, key+"=") })
				c.Global = append(c.Global, option)
			}
		}
		c.Jobs = jobSets[r.IntN(len(jobSets))]
		all[i] = c
	}
	return all
}
