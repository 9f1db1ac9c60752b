package pipeline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
)

// takes returns those of the names that a list of --only takes, and the values that match none of them. A value that is
// a name is that name; else it is a pattern, and behind "!" what is left out, of all if the list has nothing else. No
// pattern matches "", whose I/Os are of nobody known.
func takes(wanted, names []string) (taken, missed []string) {
	if len(wanted) == 0 {
		return nil, nil
	}
	var printed []string // stored names are, and what is pasted from a terminal
	for _, name := range names {
		printed = append(printed, fio.Printable(name))
	}
	left := map[string]bool{}
	some := false
	for _, value := range wanted {
		pattern, out := fio.Printable(value), false
		if !slices.Contains(printed, pattern) {
			pattern, out = strings.CutPrefix(pattern, "!")
		}
		matches, found := matcher(pattern), false
		if slices.Contains(printed, pattern) {
			matches = func(name string) bool { return name == pattern }
		}
		some = some || !out
		for i, name := range names {
			switch {
			case name == "" || !matches(printed[i]):
				continue
			case out:
				left[name] = true
			default:
				taken = append(taken, name)
			}
			found = true
		}
		if !found {
			missed = append(missed, value)
		}
	}
	if !some {
		taken = slices.Clone(names)
	}
	return slices.DeleteFunc(taken, func(name string) bool { return left[name] }), missed
}

// Pieces of patterns. Numbers are a range only if both have the same length, of two digits or more.
var (
	numbers = regexp.MustCompile(`^\[([0-9]{2,})-([0-9]{2,})\]`)
	class   = regexp.MustCompile(`^\[([!^]?)(\]?[^]]+)\]`)
	inClass = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`)
)

// matcher returns what tells whether a name matches a pattern: *, ? and classes as in a shell, and ranges such as
// node[008-012].
func matcher(pattern string) func(name string) bool {
	var b strings.Builder
	for rest := pattern; rest != ""; {
		n := 1
		if m := numbers.FindStringSubmatch(rest); m != nil && len(m[1]) == len(m[2]) {
			b.WriteString(between(m[1], m[2]))
			n = len(m[0])
		} else if m := class.FindStringSubmatch(rest); m != nil {
			b.WriteString("[" + strings.Repeat("^", len(m[1])) + inClass.Replace(m[2]) + "]")
			n = len(m[0])
		} else if rest[0] == '*' {
			b.WriteString(".*")
		} else if rest[0] == '?' {
			b.WriteString(".")
		} else {
			n = strings.IndexAny(rest[1:], "*?[") + 1
			if n == 0 {
				n = len(rest)
			}
			b.WriteString(regexp.QuoteMeta(rest[:n]))
		}
		rest = rest[n:]
	}
	re, err := regexp.Compile("^(?s:" + b.String() + ")$")
	return func(name string) bool {
		if err != nil { // a class such as [z-a], or no UTF-8
			return false
		}
		return re.MatchString(name)
	}
}

// between returns a regular expression for the numbers from one to another, both of as many digits.
func between(from, to string) string {
	switch {
	case from > to:
		return "[^\\x00-\\x{10FFFF}]" // none
	case from == "":
		return ""
	case strings.Trim(from, "0") == "" && strings.Trim(to, "9") == "":
		return fmt.Sprintf("[0-9]{%d}", len(from))
	case from[0] == to[0]:
		return from[:1] + between(from[1:], to[1:])
	}
	rest := len(from) - 1
	zeros, nines := strings.Repeat("0", rest), strings.Repeat("9", rest)
	ways := []string{from[:1] + between(from[1:], nines), to[:1] + between(zeros, to[1:])}
	if from[0]+1 < to[0] {
		ways = append(ways, fmt.Sprintf("[%c-%c][0-9]{%d}", from[0]+1, to[0]-1, rest))
	}
	return "(?:" + strings.Join(ways, "|") + ")"
}

// named are the dimensions whose values the user names.
var named = []string{fio.ByHost, fio.ByJob, fio.ByLog}

func (p *Pick) list(dimension string) *[]string {
	switch dimension {
	case fio.ByHost:
		return &p.Hosts
	case fio.ByJob:
		return &p.Jobs
	}
	return &p.Logs
}

// namesOf returns the values of a dimension that logs and entries of fio's JSON have, sorted; "" if one is unknown.
func namesOf(dimension string, logs []*Log, metas []*fiojson.Document) (names []string) {
	for _, l := range logs {
		names = append(names, l.Dims().Of(dimension))
	}
	for _, m := range metas {
		for i := range m.Entries {
			e := &m.Entries[i]
			switch dimension {
			case fio.ByHost:
				names = append(names, e.Host)
			case fio.ByJob:
				names = append(names, e.JobName)
				for _, s := range e.Sections {
					names = append(names, s.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// unknown returns the error for a value of --only that matches none of the names.
func (r *Run) unknown(dimension, value string, names []string) error {
	const shown = 3
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	has := "does not know its " + dimension + "s"
	switch n := len(names); {
	case n == 1:
		has = fmt.Sprintf("has the %s %s only", dimension, names[0])
	case n > shown:
		has = fmt.Sprintf("has %d %ss, but none like this; the nearest are %s", n, dimension,
			fio.List(fio.Nearest(strings.TrimPrefix(value, "!"), names, shown), "and"))
	case n > 1:
		has = fmt.Sprintf("has the %ss %s", dimension, strings.Join(names, ", "))
	}
	return fio.Usagef("--only %s=%s: %s %s", dimension, fio.Printable(value), r.title(), fio.Printable(has))
}
