package fiojson

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"fiolat/ingest/jobfile"
)

// Options that say where, under which name, how long or with what output a job runs, and not what it measures.
var (
	incidental = []string{"filename", "filename_format", "directory", "opendir", "uri", "pool", "rbdname", "hostname",
		"port", "name", "description", "per_job_logs", "eta", "percentile_list", "significant_figures",
		"group_reporting",
		"disk_util", "thread", "randseed", "startdelay", "stonewall", "wait_for", "new_group", "continue_on_error",
		"runtime", "ramp_time", "time_based", "loops"}
	incidentalPrefixes = []string{"client", "log_", "status", "output", "create_", "unlink", "fallocate", "exec_",
		"exitall", "steadystate", "ss"}
	incidentalSuffixes = []string{"_log", "_percentiles"}
)

// aliases are other names of options, and of their values.
var (
	aliases = map[string]string{"readwrite": "rw", "blocksize": "bs", "blocksize_range": "bsrange",
		"io_limit": "io_size", "rwmixwrite": "rwmixread"}
	otherValues = map[string]string{"rw=rw": "readwrite", "rw=mixed": "readwrite"}
)

// defaults are fio's values of options that are not given.
var defaults = map[string]string{"bs": "4096", "iodepth": "1", "numjobs": "1", "rw": "read", "direct": "0",
	"buffered": "1", "rwmixread": "50", "rate_process": "linear", "norandommap": "0", "invalidate": "1"}

// counts reports whether an option says what a job measures.
func counts(name string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	ends := func(suffix string) bool { return strings.HasSuffix(name, suffix) }
	return !slices.Contains(incidental, name) && !slices.ContainsFunc(incidentalPrefixes, begins) &&
		!slices.ContainsFunc(incidentalSuffixes, ends)
}

// canonical returns a value in the one form that stands for all that mean the same.
func canonical(name, value string) string {
	if value = strings.ToLower(strings.TrimSpace(value)); value == "" {
		value = "1"
	}
	parts := strings.Split(value, ",")
	for i, part := range parts {
		if n, ok := jobfile.Size(part); ok {
			parts[i] = strconv.FormatFloat(n, 'f', -1, 64)
		}
	}
	if len(slices.Compact(slices.Clone(parts))) == 1 {
		parts = parts[:1]
	}
	value = strings.Join(parts, ",")
	if other, ok := otherValues[name+"="+value]; ok {
		return other
	}
	return value
}

// sameness returns the options of a job that say what it measures, in canonical form and order. Jobs of one workload
// have the same text.
func sameness(options jobfile.Options) string {
	of := map[string]string{}
	for name, value := range options {
		if !counts(name) {
			continue
		}
		v := canonical(name, value)
		if reads, err := strconv.ParseFloat(v, 64); name == "rwmixwrite" && err == nil {
			v = strconv.FormatFloat(100-reads, 'f', -1, 64)
		}
		if other, ok := aliases[name]; ok {
			name = other
			v = canonical(name, v)
		}
		if v != defaults[name] {
			of[name] = v
		}
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(of)) {
		text.WriteString(name + "=" + of[name] + " ")
	}
	return strings.TrimSuffix(text.String(), " ")
}

// Sameness returns the workload of a run: of each job what it measures, in order. Runs of one workload have the same
// text. It is "" if no job's options are known.
func Sameness(metas []*Document) string {
	var jobs []string
	known := false
	for _, m := range metas {
		for i := range m.Entries {
			e := &m.Entries[i]
			sections := []jobfile.Options{e.Options}
			if len(e.Sections) > 0 {
				sections = nil
				for _, s := range e.Sections {
					sections = append(sections, s.Options)
				}
			}
			for _, own := range sections {
				all := maps.Clone(m.Globals(e))
				if all == nil {
					all = jobfile.Options{}
				}
				maps.Copy(all, own)
				known = known || len(all) > 0
				jobs = append(jobs, sameness(all))
			}
		}
	}
	if !known {
		return ""
	}
	slices.Sort(jobs)
	return strings.Join(jobs, "; ")
}
