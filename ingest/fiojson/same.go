package fiojson

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fiolat/ingest/jobfile"
)

// Options that say where, under which name, how long or with what output a job runs, and not what it measures.
var (
	incidental = []string{"filename", "filename_format", "directory", "opendir", "uri", "pool", "rbdname", "hostname",
		"port", "name", "description", "per_job_logs", "eta", "percentile_list", "significant_figures",
		"group_reporting", "disk_util", "thread", "randseed", "startdelay", "stonewall", "wait_for", "new_group",
		"continue_on_error", "runtime", "ramp_time", "time_based", "loops"}
	incidentalPrefixes = []string{"client", "log_", "status", "output", "create_", "unlink", "fallocate", "exec_",
		"exitall", "steadystate", "ss"}
	incidentalSuffixes = []string{"_log", "_percentiles"}
)

// placing are options that say where a job does its work, or how much of it, and not which: peers have their own.
var placing = []string{"offset", "offset_increment", "offset_align", "size", "io_size", "filesize", "nrfiles",
	"number_ios", "numjobs", "cpumask", "cpus_allowed", "cpus_allowed_policy", "numa_cpu_nodes", "numa_mem_policy"}

// aliases are other names of options, and of their values.
var (
	aliases = map[string]string{"readwrite": "rw", "blocksize": "bs", "blocksize_range": "bs", "bsrange": "bs",
		"bssplit": "bs", "io_limit": "io_size", "rwmixwrite": "rwmixread"}
	otherValues = map[string]string{"rw=rw": "readwrite", "rw=mixed": "readwrite"}
)

// defaults are fio's values of options that are not given.
var defaults = map[string]string{"bs": "4k", "iodepth": "1", "numjobs": "1", "rw": "read", "direct": "0",
	"buffered": "1", "rwmixread": "50", "rate_process": "linear", "norandommap": "0", "invalidate": "1"}

// directed are the options with a value for each direction, after commas; sizes those in bytes.
var (
	directed = []string{"bs", "blockalign", "ba", "rate", "rate_min", "rate_iops", "rate_iops_min",
		"percentage_random"}
	sizes = []string{"bs", "size", "io_size", "filesize", "offset", "offset_increment", "offset_align", "blockalign",
		"ba", "rate", "rate_min", "zonesize", "zonerange", "zoneskip"}
)

// counts reports whether an option says what a job measures.
func counts(name string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	ends := func(suffix string) bool { return strings.HasSuffix(name, suffix) }
	return !slices.Contains(incidental, name) && !slices.ContainsFunc(incidentalPrefixes, begins) &&
		!slices.ContainsFunc(incidentalSuffixes, ends)
}

// sizeWord is a size within a value such as 4k-64k.
var sizeWord = regexp.MustCompile(`\b[0-9]+[kmgt]?i?b?\b`)

// canonical returns a value in the one form that stands for all that mean the same: a size as 4k, and where there is
// one for each direction, without those at the end that repeat the one before.
func canonical(name, value string) string {
	value = strings.ToLower(strings.TrimSpace(value))
	if value == "" {
		value = "1"
	}
	if other, ok := otherValues[name+"="+value]; ok {
		return other
	}
	parts := strings.Split(value, ",")
	for i, part := range parts {
		if part == "" && slices.Contains(directed, name) {
			part = cmp.Or(defaults[name], "0")
		}
		size := slices.Contains(sizes, name)
		normal := func(word string) string {
			if n, ok := jobfile.Size(word); ok {
				return number(n, size)
			}
			return word
		}
		parts[i] = normal(part)
		if size { // ranges and splits, too
			parts[i] = sizeWord.ReplaceAllStringFunc(parts[i], normal)
		}
	}
	if slices.Contains(directed, name) {
		for n := len(parts); n > 1 && parts[n-1] == parts[n-2]; n-- {
			parts = parts[:n-1]
		}
	}
	return strings.Join(parts, ",")
}

// number returns a number as text, a size with the largest suffix that leaves it whole.
func number(n float64, size bool) string {
	if size && n >= 1024 && n == float64(int64(n)) {
		whole, unit := int64(n), 0
		for ; whole%1024 == 0 && unit < len("kmgt"); unit++ {
			whole /= 1024
		}
		if unit > 0 {
			return strconv.FormatInt(whole, 10) + "kmgt"[unit-1:unit]
		}
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// Measuring returns the options that say what a job measures, in canonical form and without those that have fio's
// default. Each level of options, such as those of [global] and of the job, replaces values of the one before.
func Measuring(levels ...jobfile.Options) map[string]string {
	of := map[string]string{}
	for _, level := range levels {
		// Of aliases the last one counts, as bssplit does in fio.
		for _, given := range slices.Sorted(maps.Keys(level)) {
			if !counts(given) {
				continue
			}
			name := cmp.Or(aliases[given], given)
			value := canonical(name, level[given])
			if writes, err := strconv.ParseFloat(value, 64); given == "rwmixwrite" && err == nil {
				value = number(100-writes, false)
			}
			of[name] = value
		}
	}
	maps.DeleteFunc(of, func(name, value string) bool { return value == defaults[name] })
	return of
}

// Work returns what jobs with these options have in common that are peers: all that count but those that place a job.
// Values are in canonical form. It is "" without any.
func Work(options map[string]string) string {
	var lines []string
	for name, value := range options {
		if counts(name) && !slices.Contains(placing, name) {
			lines = append(lines, name+"="+value)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

// Default returns fio's value of an option that is not given, "" where it has none or it is not known.
func Default(option string) string { return defaults[option] }

// Sameness is the workload of a run: what each of its jobs measures. Runs of one workload have equal ones. It is "" if
// no job's options are known.
type Sameness string

// SamenessOf returns the workload of the jobs of a run.
func SamenessOf(metas []*Document) Sameness {
	var jobs []string
	known := false
	for _, m := range metas {
		for i := range m.Entries {
			e := &m.Entries[i]
			for _, levels := range m.optionsOf(e) {
				known = known || slices.ContainsFunc(levels, func(o jobfile.Options) bool { return len(o) > 0 })
				var lines []string
				for name, value := range Measuring(levels...) {
					lines = append(lines, name+"="+value)
				}
				slices.Sort(lines)
				jobs = append(jobs, strings.Join(lines, "\n"))
			}
		}
	}
	if !known {
		return ""
	}
	slices.Sort(jobs)
	return Sameness(strings.Join(jobs, "\n\n"))
}

// optionsOf returns the levels of options of each job that an entry stands for.
func (m *Document) optionsOf(e *Entry) (out [][]jobfile.Options) {
	if len(e.Sections) == 0 {
		return [][]jobfile.Options{{m.Globals(e), e.Options}}
	}
	for _, s := range e.Sections {
		out = append(out, []jobfile.Options{m.Globals(e), s.Options})
	}
	return out
}

// Difference is an option whose values differ between two workloads.
type Difference struct {
	Option string `json:"option"`
	From   string `json:"from"`
	To     string `json:"to"`
}

// DifferenceText lists differences as "rwmixread 90 -> 50, size unset -> 1g".
func DifferenceText(all []Difference) string {
	var words []string
	for _, d := range all {
		words = append(words, fmt.Sprintf("%s %s -> %s", d.Option, cmp.Or(d.From, "unset"), cmp.Or(d.To, "unset")))
	}
	return strings.Join(words, ", ")
}

// Between returns the options that differ between two sets of them, by name. One that is not given has fio's default.
func Between(from, to map[string]string) (out []Difference) {
	all := maps.Clone(from)
	maps.Copy(all, to)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, b := cmp.Or(from[name], defaults[name]), cmp.Or(to[name], defaults[name])
		if a != b {
			out = append(out, Difference{name, a, b})
		}
	}
	return out
}

// Differences returns the options that differ from another workload, by name, with the values of several jobs joined.
// If no option does, it is the number of jobs. Of an unknown workload there are none.
func (s Sameness) Differences(from Sameness) (out []Difference) {
	if s == "" || from == "" {
		return nil
	}
	out = Between(from.values(), s.values())
	if len(out) == 0 && s != from {
		out = []Difference{{"jobs", strconv.Itoa(len(from.jobs())), strconv.Itoa(len(s.jobs()))}}
	}
	return out
}

// Distinct returns for each of several workloads what tells it from the others: the values of the options that differ,
// such as "rwmixread 65". Of workloads that are alike, or unknown, it is "".
func Distinct(all []Sameness) []string {
	var options []string
	var first Sameness
	for _, s := range all {
		first = cmp.Or(first, s)
		for _, d := range s.Differences(first) {
			if !slices.Contains(options, d.Option) {
				options = append(options, d.Option)
			}
		}
	}
	slices.Sort(options)
	out := make([]string, len(all))
	for i, s := range all {
		var words []string
		values := s.values()
		for _, name := range options {
			if v := cmp.Or(values[name], defaults[name]); v != "" && s != "" {
				words = append(words, name+" "+v)
			}
		}
		out[i] = strings.Join(words, ", ")
	}
	return out
}

func (s Sameness) jobs() []string { return strings.Split(string(s), "\n\n") }

// values returns the values of each option, of several jobs joined.
func (s Sameness) values() map[string]string {
	var jobs []map[string]string
	for _, job := range s.jobs() {
		of := map[string]string{}
		for line := range strings.Lines(job) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			of[name] = value
		}
		jobs = append(jobs, of)
	}
	return Joined(jobs)
}

// Joined returns the values of each option that one of the jobs has, those of several jobs joined by commas. A job
// without it has fio's default.
func Joined(jobs []map[string]string) map[string]string {
	values := map[string][]string{}
	for _, job := range jobs {
		for name := range job {
			values[name] = nil
		}
	}
	out := map[string]string{}
	for name := range values {
		var seen []string
		for _, job := range jobs {
			if v := cmp.Or(job[name], defaults[name]); v != "" && !slices.Contains(seen, v) {
				seen = append(seen, v)
			}
		}
		slices.SortFunc(seen, CompareValues)
		out[name] = strings.Join(seen, ",")
	}
	return out
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
