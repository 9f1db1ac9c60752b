package matrix

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// effects are what options do to histograms and logs of single I/Os; the keys are those of testCase.About.
var effects = map[string]string{
	"numjobs":                              "a log for each thread, numbered over all jobs",
	"log_hist_coarseness":                  "2^N neighbouring buckets are one column",
	"log_hist_msec":                        "length of a window; the last one is in no log",
	"write_hist_log without log_hist_msec": "every log is empty",
	"rate_iops":                            "few I/Os a window",
	"per_job_logs=0":                       "threads, from 3.37 on stages too, are appended to one log",
	"group_reporting":                      "one entry of the JSON stands for all threads of a group",
	"new_group":                            "opens another group, at the same time",
	"runtime":                              "a job shorter than a window has an empty log",
	"stonewall":                            "starts a job when those before have ended",
	"stonewall behind a stage that ends by size": "no option tells when the next stage starts",
	"startdelay behind stonewall":                "counted from fio's own start",
	"startdelay":                                 "logs count from the end of the delay",
	"ramp_time":                                  "logs count from the end of the ramp, in 3.42 up to a second late",
	"wait_for":                                   "the start is known to job_start and absolute stamps only",
	"number_ios":                                 "a job ends before its runtime",
	"exitall":                                    "a job ends with the first that does",
	"log_unix_epoch":                             "stamps since 1970",
	"log_alternate_epoch":                        "stamps of another clock",
	"log_alternate_epoch with a monotonic clock": "stamps since boot",
	"log_avg_msec":               "single I/Os become averages; histograms stay as they are",
	"log_window_value":           "from 3.37: averages, maxima, or both in two columns",
	"log_max_value":              "single I/Os become maxima; histograms stay as they are",
	"log_issue_time":             "from 3.38: one more column in logs of single I/Os; --client cuts them",
	"log_offset":                 "one more column; --client cuts these logs, and may crash",
	"log_prio":                   "one more column in logs of single I/Os",
	"unified_rw_reporting=mixed": "the JSON has one sum of all directions, the logs have each",
	"unified_rw_reporting=both":  "the JSON has that sum as well",
	"disable_clat":               "nothing is counted",
	"disable_lat":                "histograms stay as they are",
	"gtod_reduce":                "nothing is counted",
	"clat_percentiles=0":         "histograms are logged with all counts zero",
	"lat_percentiles":            "the JSON has bins of lat as well",
	"slat_percentiles":           "the JSON has bins of slat as well",
	"verify":                     "reads of the verify phase are counted, and logged in part",
	"verify_backlog":             "reads of the verify phase lie between the writes",
	"rw=randtrim":                "a third direction",
	"rw=trimwrite":               "a third direction",
	"fdatasync":                  "syncs are in the JSON only",
	"io_submit_mode=offload":     "from 3.42: no clat is counted",
	"iodepth":                    "nothing",
	"thinktime":                  "stamps run late after each pause",
	"rate_process":               "uneven windows",
	"rw":                         "directions without I/O have no records",
	"rwmixread":                  "windows of one direction hold few I/Os",
	"latency_target":             "time can run backwards in a log, as fio tries one depth after the other",
	"log_compression":            "histograms become pointers",
	"a job named All clients":    "is not to be taken for --client's sum, which has that name",
	"write_hist_log":             "logs named by job, or only of some jobs",
	"thread":                     "nothing",
	"zero_buffers":               "nothing",
	"percentile_list":            "nothing",
	"steadystate":                "a job may end before its runtime",
	"write_lat_log":              "every I/O is logged",
	"exit_what":                  "nothing",
	"include":                    "the job file's options are in another file, too",
	"kill -9 of fio":             "its jobs go on, and write their logs; there is no JSON",
	"kill -9 of a job":           "it has no log; the JSON has its totals",
}

const pageHead = `# What fio's options do to latency logs, and what fiolat says

<!-- Made by "go test ./internal/matrix -update"; do not edit. -->

Real fio ran each row, alone and with --client. fiolat read the logs with and without fio's JSON and the job file; its
totals and times were compared with fio's own.

- **right**: the same I/Os per direction and job, at the right time. (Without JSON, the last window is unknown.)
- **named**: something is missing or unknown, and a warning says so.
- **refused**: an error says why, and ` + "`fiolat inspect`" + ` names the options in the last column.

Several verdicts: they differ by version of fio, or by other options of the job.

`

// page is docs/fio-options.md.
func page(answers []*answer) string {
	var b strings.Builder
	b.WriteString(pageHead)
	var versions []string
	rows := map[string][]*answer{}
	losses := map[string][]*answer{}
	for _, a := range answers {
		if !slices.Contains(versions, a.truth.Version) {
			versions = append(versions, a.truth.Version)
		}
		switch {
		case a.Shape != "":
			losses[a.Shape] = append(losses[a.Shape], a)
		case a.truth.Mode == ports || a.truth.Mode == hosts:
			key := "two servers at one address"
			if a.truth.Mode == hosts {
				key = "two servers at two addresses"
			}
			losses[key] = append(losses[key], a)
		case a.truth.About != "":
			rows[a.truth.About] = append(rows[a.truth.About], a)
		}
	}
	sort.Strings(versions)
	fmt.Fprintf(&b, "## Options, in fio %s\n\n", strings.Join(versions, " and "))
	b.WriteString("|option|what it does|with JSON|without|--client, with JSON|without|inspect names|\n" +
		"|---|---|---|---|---|---|---|\n")
	for _, about := range sorted(rows) {
		list := rows[about]
		fmt.Fprintf(&b, "|`%s`|%s|", about, effects[about])
		for _, m := range both {
			for _, json := range []bool{true, false} {
				fmt.Fprintf(&b, "%s|", verdicts(list, func(a *answer) bool {
					return a.truth.Mode == m && strings.Contains(a.Given, "json") == json
				}))
			}
		}
		bad := slices.DeleteFunc(slices.Clone(list), func(a *answer) bool { return a.Verdict == right })
		fmt.Fprintf(&b, "%s|\n", options(bad))
	}
	b.WriteString("\n## What happens to folders\n\n|folder|with JSON|message, if not right|\n")
	b.WriteString("|---|---|---|\n")
	for _, name := range sorted(losses) {
		list := losses[name]
		fmt.Fprintf(&b, "|%s|%s|%s|\n", name,
			verdicts(list, func(a *answer) bool { return strings.Contains(a.Given, "json") }), gist(list))
	}
	return b.String()
}

// options are those that inspect names.
func options(list []*answer) string {
	var names []string
	for _, a := range list {
		for _, o := range a.options {
			if o = "`" + o + "`"; !slices.Contains(names, o) {
				names = append(names, o)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

func sorted(m map[string][]*answer) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// verdicts are those that answers of one sort have.
func verdicts(list []*answer, of func(*answer) bool) string {
	var cell []string
	for _, v := range []verdict{right, named, refused, overcareful, wrong} {
		if slices.ContainsFunc(list, func(a *answer) bool { return of(a) && a.Verdict == v }) {
			text := string(v)
			if v == wrong || v == overcareful {
				text = "**" + text + "**"
			}
			cell = append(cell, text)
		}
	}
	if cell == nil {
		return "-"
	}
	return strings.Join(cell, "/")
}

var (
	logNames = regexp.MustCompile(`[^\s,:"]*_(clat_hist|clat|slat|lat)(\.\d+)?\.log[^\s,:;)]*(, LOG)*`)
	others   = regexp.MustCompile(`LOG(, LOG)+`)
	numerals = regexp.MustCompile(`\d+(\.\d+)*`)
)

// gist is the message that most of the answers that aren't right have, without the names and numbers of one folder.
func gist(list []*answer) string {
	counts := map[string]int{}
	best := ""
	for _, a := range list {
		if a.Verdict != named && a.Verdict != refused {
			continue
		}
		seen := map[string]bool{}
		for _, said := range a.Said {
			text := strings.TrimPrefix(strings.TrimPrefix(said, "fiolat: "), "warning: ")
			text = strings.TrimPrefix(text, "error: ")
			text = others.ReplaceAllString(logNames.ReplaceAllString(text, "LOG"), "LOG, ...")
			text = strings.TrimPrefix(numerals.ReplaceAllString(text, "N"), "LOG: ")
			text = strings.NewReplacer("|", "or", "`", "'", "\n", " ").Replace(text)
			if strings.Contains(text, "repaired (fio --client") || seen[text] {
				continue
			}
			seen[text] = true
			counts[text]++
			if n := counts[text]; n > counts[best] || n == counts[best] && text < best {
				best = text
			}
		}
	}
	if r := []rune(best); len(r) > 200 {
		best = string(r[:200]) + " ..."
	}
	return best
}
