package matrix

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A kind is the kind of logs in a case's folder.
type kind string

const (
	hist   kind = "hist"   // histogram logs
	single kind = "single" // logs of single I/Os, clat, lat and slat
)

// A mode is how fio was run.
type mode string

const (
	alone  mode = "alone"  // fio JOB
	client mode = "client" // fio --client to one server
	ports  mode = "ports"  // fio --client to two servers at one address
	hosts  mode = "hosts"  // fio --client to two servers at two addresses
)

// A testCase is one job of fio: common options with a few changed.
type testCase struct {
	Name string
	Kind kind
	// About is the row of docs/fio-options.md, in fio's words; "" if the case is not about an option.
	About string
	// Global are options of [global], "key=value"; "key" alone removes a common option.
	Global []string
	// Jobs are the jobs, each a name and its options. Empty is one job "a".
	Jobs  [][]string
	Modes []mode
	// Output are fio's arguments for its JSON. Empty is --output-format=json+.
	Output []string
	// Piped says that fio writes its JSON to standard output.
	Piped bool
	// Interrupt is the time in ms after which fio gets SIGINT; 0 is never.
	Interrupt int
	// Kill is the time in ms, from the start of the first job, after which fio's main process gets SIGKILL, KillJob the
	// same for the last job's process. 0 is never. Only in mode alone.
	Kill, KillJob int
	// Include says that the job file includes the options of Global from another file. Only in mode alone.
	Include bool
	// Random says that the case was drawn at random. It is not in the table of the docs.
	Random bool
}

// common are the options of every job unless a case changes them. The null engine completes at once, so logs are small.
var common = []string{
	"ioengine=null", "size=1g", "rw=randrw", "bs=4k", "rate_iops=400", "time_based=1", "runtime=2",
	"log_hist_msec=250",
}

const included = "more.fio"

// jobFile returns the text of the job file and of the included file.
func (c testCase) jobFile() (text, more string) {
	global := slices.Clone(common)
	if c.Kind == single {
		global = append(global, "write_lat_log=h")
		global = slices.DeleteFunc(global, func(o string) bool { return strings.HasPrefix(o, "log_hist_msec=") })
	} else {
		global = append(global, "write_hist_log=h")
	}
	for _, option := range c.Global {
		key, _, set := strings.Cut(option, "=")
		global = slices.DeleteFunc(global, func(o string) bool { k, _, _ := strings.Cut(o, "="); return k == key })
		switch {
		case set && c.Include:
			more += option + "\n"
		case set:
			global = append(global, option)
		}
	}
	if c.Include {
		global = append(global, "include "+included)
	}
	jobs := c.Jobs
	if len(jobs) == 0 {
		jobs = [][]string{{"a"}}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[global]\n%s\n", strings.Join(global, "\n"))
	for _, job := range jobs {
		fmt.Fprintf(&b, "[%s]\n", job[0])
		for _, option := range job[1:] {
			fmt.Fprintln(&b, option)
		}
	}
	return b.String(), more
}

// has reports whether an option is set in Global.
func (c testCase) has(option string) bool {
	return slices.ContainsFunc(c.Global, func(o string) bool { return strings.HasPrefix(o, option+"=") })
}

// logs reports whether a job writes logs of the case's kind.
func (c testCase) logs(job string) bool {
	if c.Kind == single || !slices.Contains(c.Global, "write_hist_log") {
		return true
	}
	sets := func(option string) bool { return strings.HasPrefix(option, "write_hist_log=") }
	return slices.ContainsFunc(c.Jobs, func(j []string) bool { return j[0] == job && slices.ContainsFunc(j, sets) })
}

// A thread is a thread of a run. Its index is the number of its log, less one.
type thread struct {
	job  string
	ramp int64 // ms
}

func (c testCase) threads() []thread {
	jobs := c.Jobs
	if len(jobs) == 0 {
		jobs = [][]string{{"a"}}
	}
	var all []thread
	for _, job := range jobs {
		t, n := thread{job: job[0]}, 1
		for _, option := range slices.Concat(c.Global, job[1:]) {
			key, value, _ := strings.Cut(option, "=")
			number, _ := strconv.Atoi(value)
			switch key {
			case "numjobs":
				n = number
			case "ramp_time":
				t.ramp = int64(number) * 1000
				if text, ok := strings.CutSuffix(value, "ms"); ok {
					number, _ = strconv.Atoi(text)
					t.ramp = int64(number)
				}
			}
		}
		all = append(all, slices.Repeat([]thread{t}, n)...)
	}
	return all
}

var (
	onlyAlone = []mode{alone}
	both      = []mode{alone, client}
	every     = []mode{alone, client, ports, hosts}
)

func two(first, second string) [][]string {
	fields := func(name, options string) []string { return append([]string{name}, strings.Fields(options)...) }
	return [][]string{fields("a", first), fields("b", second)}
}

func cases() []testCase {
	var all []testCase
	add := func(k kind, modes []mode, name, about string, global string, jobs ...[]string) {
		c := testCase{Name: name, Kind: k, About: about, Modes: modes, Jobs: jobs}
		for option := range strings.SplitSeq(global, ";") {
			if option != "" {
				c.Global = append(c.Global, option)
			}
		}
		all = append(all, c)
	}
	file := "ioengine=psync;filename=/dev/shm/fiolat-matrix.$jobname;size=4m"
	add(hist, every, "plain", "", "")
	add(hist, every, "numjobs", "numjobs", "numjobs=3")
	add(hist, every, "coarse3", "log_hist_coarseness", "log_hist_coarseness=3")
	for _, c := range []string{"1", "2", "4", "5", "6"} {
		add(hist, both, "coarse"+c, "log_hist_coarseness", "log_hist_coarseness="+c)
	}
	add(hist, both, "coarse-mixed", "log_hist_coarseness", "", two("log_hist_coarseness=2", "log_hist_coarseness=4")...)
	add(hist, both, "coarse-mixed-group", "log_hist_coarseness",
		"group_reporting=1", two("log_hist_coarseness=2", "log_hist_coarseness=4")...)
	add(hist, both, "msec100", "log_hist_msec", "log_hist_msec=100")
	add(hist, every, "msec500", "log_hist_msec", "log_hist_msec=500")
	add(hist, both, "msec700", "log_hist_msec", "log_hist_msec=700")
	add(hist, both, "msec1500", "log_hist_msec", "log_hist_msec=1500")
	add(hist, both, "msec5000", "log_hist_msec", "log_hist_msec=5000")
	add(hist, both, "msec-mixed", "log_hist_msec", "", two("log_hist_msec=200", "log_hist_msec=500")...)
	add(hist, both, "no-msec", "write_hist_log without log_hist_msec", "log_hist_msec")
	add(hist, both, "few", "rate_iops", "rate_iops=9")
	add(hist, both, "per-job-logs", "per_job_logs=0", "per_job_logs=0;numjobs=2")
	add(hist, both, "per-job-logs-one", "per_job_logs=0", "per_job_logs=0")
	add(hist, both, "per-job-logs-stages", "per_job_logs=0", "per_job_logs=0;runtime=1", two("", "stonewall=1")...)
	add(hist, both, "per-job-logs-jobs", "per_job_logs=0", "per_job_logs=0", two("rw=randread", "rw=randwrite")...)
	add(hist, every, "group", "group_reporting", "group_reporting=1;numjobs=2")
	add(hist, both, "group-jobs", "group_reporting", "group_reporting=1", two("rw=randread", "rw=randrw")...)
	add(hist, both, "new-group", "new_group", "group_reporting=1", two("", "new_group=1")...)
	add(hist, both, "group-stages", "group_reporting",
		"group_reporting=1;runtime=1;numjobs=2", two("", "stonewall=1")...)
	add(hist, both, "jobs", "", "", two("rw=randread", "rw=randwrite rate_iops=200")...)
	add(hist, both, "jobs-lengths", "runtime", "", two("runtime=1", "runtime=3")...)
	add(hist, both, "stonewall", "stonewall", "runtime=1", two("", "stonewall=1")...)
	add(hist, both, "stonewall-size", "stonewall behind a stage that ends by size", "time_based;runtime=10",
		two("number_ios=500", "stonewall=1 number_ios=600")...)
	add(hist, both, "stonewall-delay", "startdelay behind stonewall",
		"runtime=1", two("", "stonewall=1 startdelay=2")...)
	add(hist, both, "stonewall-ramp", "ramp_time", "runtime=1;ramp_time=1", two("", "stonewall=1")...)
	add(hist, both, "startdelay", "startdelay", "", two("", "startdelay=1")...)
	add(hist, both, "startdelay-all", "startdelay", "startdelay=1")
	add(hist, both, "ramp", "ramp_time", "ramp_time=1")
	add(hist, both, "ramp-one", "ramp_time", "", two("", "ramp_time=1")...)
	add(hist, both, "wait-for", "wait_for", "runtime=1", two("", "wait_for=a")...)
	add(hist, both, "wait-for-size", "wait_for",
		"time_based;runtime=10", two("number_ios=500", "wait_for=a number_ios=500")...)
	add(hist, both, "size", "number_ios", "time_based;number_ios=700")
	add(hist, both, "exitall", "exitall", "exitall=1", two("runtime=1", "runtime=3")...)
	add(hist, both, "unix-epoch", "log_unix_epoch", "log_unix_epoch=1")
	add(hist, both, "unix-epoch-stages", "log_unix_epoch", "log_unix_epoch=1;runtime=1", two("", "stonewall=1")...)
	add(hist, both, "alternate-epoch", "log_alternate_epoch", "log_alternate_epoch=1;log_alternate_epoch_clock_id=0")
	add(hist, both, "alternate-epoch-monotonic", "log_alternate_epoch with a monotonic clock",
		"log_alternate_epoch=1;log_alternate_epoch_clock_id=1")
	add(hist, both, "hist-avg", "log_avg_msec", "log_avg_msec=100")
	add(hist, both, "hist-window-both", "log_window_value", "log_avg_msec=100;log_window_value=both")
	add(hist, both, "hist-window-max", "log_window_value", "log_avg_msec=100;log_window_value=max")
	add(hist, both, "hist-max-value", "log_max_value", "log_avg_msec=100;log_max_value=1")
	add(hist, both, "hist-issue", "log_issue_time", "log_issue_time=1;log_offset=1;write_lat_log=l")
	add(hist, both, "hist-offset", "log_offset", "log_offset=1")
	add(hist, both, "hist-prio", "log_prio", "log_prio=1")
	add(hist, both, "mixed", "unified_rw_reporting=mixed", "unified_rw_reporting=mixed")
	add(hist, both, "mixed-both", "unified_rw_reporting=both", "unified_rw_reporting=both")
	add(hist, both, "disable-clat", "disable_clat", "disable_clat=1")
	add(hist, both, "disable-lat", "disable_lat", "disable_lat=1")
	add(hist, both, "gtod-reduce", "gtod_reduce", "gtod_reduce=1")
	add(hist, both, "no-clat-percentiles", "clat_percentiles=0", "clat_percentiles=0")
	add(hist, both, "lat-percentiles", "lat_percentiles", "lat_percentiles=1")
	add(hist, both, "lat-percentiles-only", "lat_percentiles", "lat_percentiles=1;clat_percentiles=0")
	add(hist, both, "slat-percentiles", "slat_percentiles", "slat_percentiles=1")
	add(hist, onlyAlone, "verify", "verify", file+";time_based;runtime;rw=randwrite;rate_iops=800;verify=crc32c")
	add(hist, onlyAlone, "verify-rw", "verify", file+";time_based;runtime;rw=randrw;verify=crc32c")
	add(hist, onlyAlone, "verify-backlog", "verify_backlog",
		file+";time_based;runtime;rw=randwrite;rate_iops=800;verify=crc32c;verify_backlog=100")
	add(hist, both, "trim", "rw=randtrim", "rw=randtrim")
	add(hist, both, "trimwrite", "rw=trimwrite", "rw=trimwrite")
	add(hist, onlyAlone, "fdatasync", "fdatasync", file+";rw=randwrite;fdatasync=16")
	add(hist, onlyAlone, "offload", "io_submit_mode=offload", file+";ioengine=libaio;iodepth=4;io_submit_mode=offload")
	add(hist, onlyAlone, "libaio", "iodepth", file+";ioengine=libaio;iodepth=8")
	add(hist, both, "thinktime", "thinktime", "thinktime=700ms;thinktime_blocks=300;rate_iops")
	add(hist, both, "burst-end", "thinktime", "thinktime=1500ms;thinktime_blocks=500;rate_iops;runtime=2")
	add(hist, both, "poisson", "rate_process", "rate_process=poisson")
	add(hist, both, "read", "rw", "rw=randread")
	add(hist, both, "write", "rw", "rw=write")
	add(hist, both, "mix90", "rwmixread", "rwmixread=90;rate_iops=800")
	add(hist, both, "latency-target", "latency_target",
		"latency_target=50ms;latency_window=200ms;latency_percentile=99;rate_iops")
	add(hist, both, "compression", "log_compression", "log_compression=64k")
	add(hist, both, "short", "runtime", "runtime=150ms")
	add(hist, both, "shorter-than-window", "runtime", "runtime=600ms;log_hist_msec=500")
	add(hist, both, "records3", "runtime", "runtime=1700ms;log_hist_msec=500")
	add(hist, both, "records4-coarse", "runtime", "runtime=2;log_hist_msec=450;log_hist_coarseness=6")
	add(hist, both, "records5-few", "rate_iops", "runtime=2700ms;log_hist_msec=500;rate_iops=20")
	add(hist, both, "long-few", "rate_iops", "runtime=3;log_hist_msec=100;rate_iops=30")
	add(hist, every, "all-clients", "a job named All clients", "", []string{"All clients"})
	add(hist, both, "all-clients-two", "a job named All clients", "", []string{"All clients"}, []string{"b"})
	add(hist, both, "odd-name", "", "", []string{"a b_clat_hist.1"})
	add(hist, both, "own-log-names", "write_hist_log", "write_hist_log", two("write_hist_log=x", "write_hist_log=y")...)
	add(hist, both, "one-logs", "write_hist_log", "write_hist_log", two("write_hist_log=x", "")...)
	add(hist, both, "thread", "thread", "thread=1;numjobs=2")
	add(hist, both, "zero-buffers", "zero_buffers", "zero_buffers=1")
	add(hist, both, "figures", "percentile_list", "percentile_list=1:50:99;significant_figures=4")
	add(hist, both, "steadystate", "steadystate", "ss=iops:90%;ss_dur=1")
	add(hist, both, "other-logs", "write_lat_log", "write_lat_log=h;write_bw_log=h;write_iops_log=h")
	add(hist, both, "runtime-stop", "exit_what", "exitall_on_error=1;loops=2;time_based;number_ios=300")
	add(hist, both, "stages-three", "stonewall",
		"runtime=1", []string{"a"}, []string{"b", "stonewall=1", "startdelay=1"}, []string{"c", "stonewall=1"})
	add(hist, both, "stages-overlap", "wait_for",
		"", []string{"a", "runtime=1"}, []string{"b", "runtime=3"}, []string{"c", "wait_for=a", "runtime=1"})

	add(hist, onlyAlone, "include", "include",
		"numjobs=2;log_hist_coarseness=2;startdelay=1", two("", "ramp_time=1")...)
	all[len(all)-1].Include = true
	add(hist, onlyAlone, "killed", "kill -9 of fio", "", two("", "runtime=3")...)
	all[len(all)-1].Kill = 500
	add(hist, onlyAlone, "killed-job", "kill -9 of a job", "", two("", "rw=randread")...)
	all[len(all)-1].KillJob = 900
	add(single, both, "lat", "write_lat_log", "")
	add(single, both, "lat-numjobs", "write_lat_log", "numjobs=2")
	add(single, both, "lat-group", "write_lat_log", "numjobs=2;group_reporting=1")
	add(single, both, "lat-avg", "log_avg_msec", "log_avg_msec=100")
	add(single, both, "lat-window-both", "log_window_value", "log_avg_msec=100;log_window_value=both")
	add(single, both, "lat-window-max", "log_window_value", "log_avg_msec=100;log_window_value=max")
	add(single, both, "lat-max-value", "log_max_value", "log_avg_msec=100;log_max_value=1")
	add(single, both, "lat-offset", "log_offset", "log_offset=1")
	add(single, both, "lat-prio", "log_prio", "log_prio=1")
	add(single, both, "lat-offset-prio", "log_offset", "log_offset=1;log_prio=1")
	add(single, both, "lat-offset-issue", "log_issue_time", "log_offset=1;log_issue_time=1")
	add(single, both, "lat-all-columns", "log_issue_time", "log_offset=1;log_prio=1;log_issue_time=1")
	add(single, both, "lat-unix-epoch", "log_unix_epoch", "log_unix_epoch=1")
	add(single, both, "lat-monotonic", "log_alternate_epoch with a monotonic clock",
		"log_alternate_epoch=1;log_alternate_epoch_clock_id=1")
	add(single, both, "lat-stages", "stonewall", "runtime=1", two("", "stonewall=1")...)
	add(single, both, "lat-disable-clat", "disable_clat", "disable_clat=1")
	add(single, both, "lat-gtod", "gtod_reduce", "gtod_reduce=1")
	add(single, both, "lat-compression", "log_compression", "log_compression=64k")
	add(single, both, "lat-mixed", "unified_rw_reporting=mixed", "unified_rw_reporting=mixed")
	add(single, both, "lat-per-job-logs", "per_job_logs=0", "per_job_logs=0;numjobs=2")
	add(single, onlyAlone, "lat-libaio", "iodepth", file+";ioengine=libaio;iodepth=8")
	add(single, both, "lat-ports", "write_lat_log", "", nil...)
	all[len(all)-1].Modes = []mode{ports, hosts}
	add(single, both, "lat-trim", "rw=randtrim", "rw=randtrim")
	add(single, both, "lat-ramp", "ramp_time", "ramp_time=1")
	return all
}
