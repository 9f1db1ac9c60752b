package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fiolat/fio"
)

// warn adds a warning. reportWarnings reports it with the others of its cause.
func (p *Plan) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// reportWarnings reports the warnings that were not reported yet, in one line for each cause.
func (p *Plan) reportWarnings() {
	for _, w := range byCause(p.Warnings[p.warned:]) {
		p.Account.Warnings = append(p.Account.Warnings, w)
		if p.cfg.Warn != nil {
			p.cfg.Warn(w)
		}
	}
	p.warned = len(p.Warnings)
}

// particularBytes mark a word as a number or a path.
const particularBytes = "0123456789/._"

// quotedForm is a quoted name.
const quotedForm = `"(?:\\.|[^"\\])*"`

// What differs between warnings of one cause: quoted names, numbers and paths, and lists of them.
var (
	quoted     = regexp.MustCompile(quotedForm)
	particular = regexp.MustCompile(quotedForm + `|\S*[` + particularBytes + `]\S*`)
	isName     = regexp.MustCompile(`^"|[/_]|\pL.*\.|\..*\pL`) // and no number
	several    = regexp.MustCompile(`#(?:,? (?:and )?#)+`)
)

// causeOf returns a warning with # for what is particular to it.
func causeOf(warning string) string {
	words := strings.Fields(quoted.ReplaceAllString(warning, "#"))
	for i, word := range words {
		if strings.ContainsAny(word, particularBytes) {
			words[i] = "#"
		}
	}
	return several.ReplaceAllString(strings.Join(words, " "), "#")
}

// byCause merges warnings that differ in names and numbers only into the first of them, with how many more there are
// and the names in the first few of these that are not in the first. The order is by their first appearance.
func byCause(warnings []string) (out []string) {
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
			names = ": " + fio.Some(about)
		}
		out = append(out, fmt.Sprintf("%s; and %d more like it%s", first, len(more), names))
	}
	return out
}
