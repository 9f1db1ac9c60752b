package fio

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A warning is a sentence about the input: what is wrong, then what to do about it, behind a semicolon.

// NotePrefix begins a warning of something that is proven to leave the numbers right.
const NotePrefix = "note: "

// advice matches the last part of a warning: what to do.
var advice = regexp.MustCompile(`; (?:pass|run|give|raise|see|unpack|check|use|cut that off) .*$`)

// cutAdvice returns a warning without what to do about it, and that with what separates them.
func cutAdvice(warning string) (what, todo string) {
	if at := advice.FindStringIndex(warning); at != nil {
		return warning[:at[0]], warning[at[0]:]
	}
	return warning, ""
}

// particularBytes mark a word as a number or a path.
const particularBytes = "0123456789/._"

// quotedForm is a quoted name.
const quotedForm = `"(?:\\.|[^"\\])*"`

// What differs between warnings of one cause: quoted names, numbers and paths, and lists of them.
var (
	quotedName = regexp.MustCompile(quotedForm)
	particular = regexp.MustCompile(quotedForm + `|\S*[` + particularBytes + `]\S*`)
	isName     = regexp.MustCompile(`^"|[/_]|\pL.*\.|\..*\pL`) // and no number
	several    = regexp.MustCompile(`#(?:,? (?:and )?#)+`)
)

// causeOf returns a warning with # for what is particular to it.
func causeOf(warning string) string {
	words := strings.Fields(quotedName.ReplaceAllString(warning, "#"))
	for i, word := range words {
		if strings.ContainsAny(word, particularBytes) {
			words[i] = "#"
		}
	}
	return several.ReplaceAllString(strings.Join(words, " "), "#")
}

// ByCause merges warnings that differ in names and numbers only into the first of them, with how many more there are
// and the names in the first few of these that are not in the first. The order is by their first appearance.
func ByCause(warnings []string) (out []string) {
	if len(warnings) < 2 {
		return warnings
	}
	var order []string
	alike := map[string][]string{}
	for _, w := range warnings {
		cause := causeOf(w)
		if alike[cause] == nil {
			order = append(order, cause)
		}
		alike[cause] = append(alike[cause], w)
	}
	for _, cause := range order {
		first, more := alike[cause][0], alike[cause][1:]
		if len(more) == 0 {
			out = append(out, first)
			continue
		}
		var about []string
		for _, w := range more {
			for _, name := range particular.FindAllString(w, -1) {
				name = strings.TrimRight(name, ":,;")
				if isName.MatchString(name) && !strings.Contains(first, name) {
					if !slices.Contains(about, name) {
						about = append(about, name)
					}
					break
				}
			}
		}
		names := ""
		if len(about) > 0 {
			names = ": " + Some(about)
		}
		what, todo := cutAdvice(first)
		out = append(out, fmt.Sprintf("%s (and %d more like it%s)%s", what, len(more), names, todo))
	}
	return out
}
