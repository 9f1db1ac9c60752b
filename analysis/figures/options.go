package figures

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
)

// defaultOptions are the job options in each row, as far as fio's JSON or a job file has the job.
var defaultOptions = []string{"ioengine", "rw", "bs", "iodepth", "numjobs"}

// options collects the values of job options over several jobs.
type options struct {
	with, without []map[string]string // jobs with I/O of the direction, and others
}

// add adds a job, whose later options replace earlier ones.
func (o *options) add(some bool, levels ...jobfile.Options) {
	if of := fiojson.Measuring(levels...); some {
		o.with = append(o.with, of)
	} else {
		o.without = append(o.without, of)
	}
}

// values returns the values of each option, joined by commas.
func (o *options) values() map[string]string {
	jobs := o.with
	if len(jobs) == 0 {
		jobs = o.without
	}
	out := fiojson.Joined(jobs)
	for _, name := range defaultOptions {
		if v := cmp.Or(out[name], fiojson.Default(name)); v != "" && len(jobs) > 0 {
			out[name] = v
		}
	}
	return out
}

// Differing returns the options in which runs, or with --by their hosts or jobs, differ: first those of
// defaultOptions, then the others by name. Where no job option is known, as of a run that left no JSON, none differs.
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
			if !counts(k) && !anyOption(options) {
				continue
			}
			values := cmp.Or(strings.Join(options[k], ","), fiojson.Default(k))
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

// counts reports whether a name is of a number that takes no job option to know.
func counts(name string) bool { return name == "hosts" || name == "jobs" }

// anyOption reports whether any job option is known.
func anyOption(options map[string][]string) bool {
	for name := range options {
		if !counts(name) {
			return true
		}
	}
	return false
}

// Shorten removes all options from the rows except defaultOptions and those named.
func Shorten(rows []Row, names []string) {
	for i := range rows {
		maps.DeleteFunc(rows[i].Options, func(k, _ string) bool {
			return !slices.Contains(defaultOptions, k) && !slices.Contains(names, k)
		})
	}
}
