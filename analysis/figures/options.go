package figures

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fiolat/ingest/jobfile"
)

// defaultOptions are the job options in each row, as far as fio's JSON or a job file has the job.
var defaultOptions = []string{"ioengine", "rw", "bs", "iodepth", "numjobs"}

// defaults are fio's defaults for options that a job does not set.
var defaults = map[string]string{"rw": "read", "bs": "4k", "iodepth": "1", "numjobs": "1"}

// aliases maps other names of options.
var aliases = map[string]string{"readwrite": "rw", "blocksize": "bs", "bssplit": "bs", "bsrange": "bs"}

// ignored and ignoredPrefixes are options that do not change how a request is served: where data and logs are, how
// long a run is, how it is reported.
var (
	ignored = []string{"name", "description", "filename", "filename_format", "directory", "opendir", "rbdname", "pool",
		"clientname", "hostname", "port", "uri", "nrfiles", "randseed", "runtime", "time_based", "ramp_time",
		"startdelay", "group_reporting", "new_group", "stonewall", "wait_for", "unlink", "fallocate", "per_job_logs",
		"thread", "exitall", "continue_on_error", "percentile_list", "significant_figures", "clat_percentiles",
		"slat_percentiles", "lat_percentiles", "disk_util", "job_max_open_files", "ioscheduler", "loops", "exec_prerun",
		"exec_postrun", "cpus_allowed_policy", "replay_redirect", "aux-path", "output", "output-format", "eta"}
	ignoredPrefixes = []string{"write_", "log_", "create_", "status", "steadystate"}
)

// options collects the values of job options over several jobs.
type options struct {
	with, without []map[string]string // jobs with I/O of the direction, and others
}

// add adds a job, whose later options replace earlier ones.
func (o *options) add(some bool, of ...jobfile.Options) {
	all := map[string]string{}
	for _, from := range of {
		for _, k := range slices.Sorted(maps.Keys(from)) { // of aliases the last one counts, as bssplit does in fio
			if name := cmp.Or(aliases[k], k); isRelevant(name) {
				all[name] = normal(name, from[k])
			}
		}
	}
	if some {
		o.with = append(o.with, all)
	} else {
		o.without = append(o.without, all)
	}
}

// isRelevant reports whether an option changes how a request is served.
func isRelevant(option string) bool {
	return !slices.Contains(ignored, option) &&
		!slices.ContainsFunc(ignoredPrefixes, func(p string) bool { return strings.HasPrefix(option, p) })
}

// values returns the values of each option, joined by commas.
func (o *options) values() map[string]string {
	seen := map[string]map[string]bool{}
	add := func(k, v string) {
		if seen[k] == nil {
			seen[k] = map[string]bool{}
		}
		seen[k][v] = true
	}
	jobs := o.with
	if len(jobs) == 0 {
		jobs = o.without
	}
	for _, job := range jobs {
		for k, v := range job {
			add(k, v)
		}
	}
	for k, v := range defaults {
		if slices.ContainsFunc(jobs, func(job map[string]string) bool { return job[k] == "" }) {
			add(k, v)
		}
	}
	out := map[string]string{}
	for k, values := range seen {
		out[k] = strings.Join(slices.SortedFunc(maps.Keys(values), CompareValues), ",")
	}
	return out
}

// normal returns a value in the usual spelling, so that 4096 and 4K are the same block size.
func normal(option, v string) string {
	v = strings.TrimSpace(v)
	if option != "bs" || strings.ContainsAny(v, ",-/:") {
		return v
	}
	if n, ok := jobfile.Size(v); ok {
		for _, unit := range []struct {
			suffix string
			size   float64
		}{{"m", 1 << 20}, {"k", 1 << 10}} {
			if m := n / unit.size; m == float64(int64(m)) && m > 0 {
				return strconv.FormatInt(int64(m), 10) + unit.suffix
			}
		}
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return v
}

// CompareValues orders values of options: first numbers with their suffixes, by size.
func CompareValues(a, b string) int {
	x, xok := jobfile.Size(a)
	y, yok := jobfile.Size(b)
	switch {
	case xok && yok && x != y:
		return cmp.Compare(x, y)
	case xok != yok && xok:
		return -1
	case xok != yok:
		return 1
	}
	return strings.Compare(a, b)
}

// Differing returns the options in which runs, or with --by their hosts or jobs, differ: first those of
// defaultOptions, then the others by name.
func Differing(rows []Row) (names []string) {
	groups := map[Group]map[string][]string{} // values by option, one for each direction
	all := map[string]bool{}
	for i := range rows {
		g := rows[i].Group()
		if groups[g] == nil {
			groups[g] = map[string][]string{}
		}
		for k, v := range rows[i].Options {
			all[k] = true
			if !slices.Contains(groups[g][k], v) {
				groups[g][k] = append(groups[g][k], v)
			}
		}
	}
	differ := map[string]bool{}
	for k := range all {
		first, seen := "", false
		for _, options := range groups {
			values := strings.Join(options[k], ",")
			if seen && values != first {
				differ[k] = true
			}
			first, seen = values, true
		}
	}
	for _, k := range defaultOptions {
		if differ[k] {
			names = append(names, k)
			delete(differ, k)
		}
	}
	return append(names, slices.Sorted(maps.Keys(differ))...)
}

// Shorten removes all options from the rows except defaultOptions and those named.
func Shorten(rows []Row, names []string) {
	for i := range rows {
		maps.DeleteFunc(rows[i].Options, func(k, _ string) bool {
			return !slices.Contains(defaultOptions, k) && !slices.Contains(names, k)
		})
	}
}
