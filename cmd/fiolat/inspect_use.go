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
	metas := map[string]string{} // path of the JSON, by path of the log
	here := map[string]bool{}
	naming := map[string][]int{} // warnings, by the files that they name
	for _, l := range used {
		here[l.Source.Path] = true
		if l.Meta != nil {
			path := fio.Printable(l.Meta.Path)
			metas[l.Source.Path], naming[path] = path, nil
		}
	}
	for _, l := range in.Logs {
		naming[fio.Printable(l.Path)] = nil
	}
	findNamed(warnings, naming)
	for _, l := range in.Logs {
		v := logUse{Path: l.Path, Use: "used"}
		path := fio.Printable(l.Path)
		about := slices.Concat(naming[path], naming[metas[l.Path]])
		slices.Sort(about)
		for _, i := range slices.Compact(about) {
			w := warnings[i]
			if why, ok := strings.CutPrefix(w, "skipped: "+path+":"); ok && !here[l.Path] {
				why = strings.TrimSpace(why)
				if why[0] >= '0' && why[0] <= '9' {
					why = "line " + why
				}
				v.Why = []string{why}
				break
			}
			why, note := strings.CutPrefix(w, fio.NotePrefix)
			v.Why = append(v.Why, strings.TrimPrefix(why, path+": "))
			if !note {
				v.Use = "used with a warning"
			}
		}
		if !here[l.Path] {
			v.Use = "not used"
			if len(v.Why) == 0 {
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

// findNamed appends to each file of naming the indices of the texts that name it, and not one with a longer name.
// It looks up what ends where a name can end, once for each length of a name, and so is linear in the texts.
func findNamed(texts []string, naming map[string][]int) {
	var lengths []int
	for path := range naming {
		lengths = append(lengths, len(path))
	}
	slices.Sort(lengths)
	lengths = slices.Compact(lengths)
	for i, text := range texts {
		for end := 1; end <= len(text); end++ {
			if end < len(text) && strings.IndexByte(":, ;", text[end]) < 0 {
				continue
			}
			for _, n := range lengths {
				if n == 0 || n > end {
					continue
				}
				name := text[end-n : end]
				if found, ok := naming[name]; ok && (len(found) == 0 || found[len(found)-1] != i) {
					naming[name] = append(found, i)
				}
			}
		}
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
