package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/pipeline"
)

// logUse says whether a log was used, and why not.
type logUse struct {
	Path string `json:"path"`
	// Use is "used", "used with a warning" or "not used".
	Use string `json:"use"`
	// Why has the warnings about the log and its JSON, or the reason why it was not used.
	Why []string `json:"why,omitempty"`
	// Options are the options of fio that Why names.
	Options []string `json:"fio_options,omitempty"`
}

// fioOptions are the options of fio that decide what a log holds.
var fioOptions = regexp.MustCompile(
	`\b(log_[a-z]+(_[a-z]+)*|write_[a-z]+_log|per_job_logs|(clat|slat|lat)_percentiles|` +
		`disable_(clat|slat|lat)|gtod_reduce|io_submit_mode|` +
		`unified_rw_reporting|latency_target|wait_for|stonewall|new_group|startdelay|` +
		`ramp_time|group_reporting|verify)\b|--client\b`)

// logUses returns the use of each log that was found, in order; used are the logs of the run.
func logUses(in *ingest.Input, used []*pipeline.Log, warnings []string) (out []logUse) {
	metas := map[string]string{} // path of the JSON, by that of the log
	here := map[string]bool{}
	for _, l := range used {
		here[l.Source.Path] = true
		if l.Meta != nil {
			metas[l.Source.Path] = fio.Printable(l.Meta.Path)
		}
	}
	for _, l := range in.Logs {
		v := logUse{Path: l.Path, Use: "used"}
		path := fio.Printable(l.Path)
		for _, w := range warnings {
			if why, ok := strings.CutPrefix(w, "skipped: "+path+":"); ok && !here[l.Path] {
				if why = strings.TrimSpace(why); why[0] >= '0' && why[0] <= '9' {
					why = "line " + why
				}
				v.Why = []string{why}
				break
			}
			if namesFile(w, path) || metas[l.Path] != "" && namesFile(w, metas[l.Path]) {
				why, note := strings.CutPrefix(w, fio.NotePrefix)
				if v.Why = append(v.Why, strings.TrimPrefix(why, path+": ")); !note {
					v.Use = "used with a warning"
				}
			}
		}
		if !here[l.Path] {
			if v.Use = "not used"; len(v.Why) == 0 {
				v.Why = []string{"for the same reason as other logs of the run"}
			}
		}
		for _, why := range v.Why {
			for _, o := range fioOptions.FindAllString(why, -1) {
				if !slices.Contains(v.Options, o) {
					v.Options = append(v.Options, o)
				}
			}
		}
		out = append(out, v)
	}
	return out
}

// namesFile reports whether text names the file path, and not one with a longer name.
func namesFile(text, path string) bool {
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, path)
		if !ok {
			return false
		}
		if after == "" || strings.IndexByte(":, ;", after[0]) >= 0 {
			return true
		}
		rest = after
	}
}

func printUses(w io.Writer, all []logUse) {
	for _, v := range all {
		text := v.Use
		if len(v.Why) > 0 {
			text += ": " + strings.Join(v.Why, " | ")
		}
		if len(v.Options) > 0 {
			text += " [fio: " + strings.Join(v.Options, ", ") + "]"
		}
		fmt.Fprintf(w, "%s: %s\n", fio.Printable(v.Path), fio.Printable(text))
	}
}
