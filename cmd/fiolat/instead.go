package main

import (
	"cmp"
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
)

//go:embed instead.txt
var insteadText string

// instead returns instead.txt: what the names that fiolat does not have stand for.
var instead = sync.OnceValue(func() answers { return readInstead(insteadText) })

// answers are the sections of instead.txt.
type answers struct {
	exact           map[string]string
	commands, flags []guess
}

// A guess has names, without dashes between words, and the answer to them.
type guess struct {
	names  []string
	answer string
}

// readInstead reads instead.txt, whose first paragraph describes it.
func readInstead(text string) answers {
	sections := map[string][]guess{}
	section, after := "", true // after an answer
	for line := range strings.Lines(text) {
		list := sections[section]
		line = strings.TrimSuffix(line, "\n")
		name, _, titled := strings.Cut(line, "] ")
		switch answer := strings.TrimPrefix(line, "    "); {
		case titled && name[0] == '[':
			section, after = name[1:], true
			continue
		case section == "" || line == "":
			continue
		case answer != line:
			g := &list[len(list)-1]
			g.answer, after = strings.TrimPrefix(g.answer+" "+answer, " "), true
		case after:
			list, after = append(list, guess{}), false
			fallthrough
		default:
			g := &list[len(list)-1]
			if section == "exact" {
				g.names = append(g.names, line)
			} else {
				g.names = append(g.names, strings.Fields(undashed.Replace(line))...)
			}
		}
		sections[section] = list
	}
	exact := map[string]string{}
	for _, g := range sections["exact"] {
		for _, name := range g.names {
			exact[name] = g.answer
		}
	}
	return answers{exact, sections["commands"], sections["flags"]}
}

// guessedCommand returns what does the work of a command that is none: by its name, a part of it, or a name nearly the
// same.
func guessedCommand(name string) string {
	if m, err := fio.ParseMetric(name); err == nil && m.Percentile > 0 {
		name = "p99"
	}
	for _, n := range append([]string{name}, strings.FieldsFunc(name, isDash)...) {
		if of := guesses(instead().commands, strings.ToLower(n)); len(of) > 0 {
			return of[0]
		}
	}
	for _, g := range instead().commands {
		for _, known := range g.names {
			if len(known) > 4 && fio.Distance(name, known) == 1 {
				return g.answer
			}
		}
	}
	return ""
}

var undashed = strings.NewReplacer("-", "", "_", "")

func isDash(r rune) bool { return r == '-' || r == '_' }

// guesses returns what does the work of a name; none if nobody was expected to use it.
func guesses(of []guess, name string) (out []string) {
	for _, g := range of {
		if slices.Contains(g.names, undashed.Replace(name)) {
			out = append(out, g.answer)
		}
	}
	return out
}

// flagByPart returns the same for an unknown flag of which a part is known, as the first one of --per-disk.
func flagByPart(app *cli.App, cmd *cli.Command, name string) string {
	for _, part := range strings.FieldsFunc(name, isDash) {
		if part != "max" && part != "min" && len(guesses(instead().flags, part)) > 0 {
			return flagInstead(app, cmd, part)
		}
	}
	return ""
}

// flagInstead returns what to use in place of an unknown flag of a command, "" if that is not known.
func flagInstead(app *cli.App, cmd *cli.Command, name string) string {
	flag := "--" + name
	if of := cmp.Or(instead().exact[cmd.Name+" "+flag], instead().exact[flag]); of != "" {
		return of
	}
	if m, err := fio.ParseMetric(name); err == nil && m.Percentile > 0 && has(cmd, "percentiles", "") {
		return "pass --percentiles (-p), such as -p " + fio.Percentile(m.Percentile)
	}
	if of := formatInstead(cmd, strings.ToLower(name)); of != "" {
		return of
	}
	all := guesses(instead().flags, name)
	if len(name) == 1 && len(all) == 0 {
		all = guesses(instead().flags, strings.ToLower(name))
	}
	for _, of := range all {
		if pass := passFlag.FindStringSubmatch(of); pass == nil || cmd.Name == "fiolat" || has(cmd, pass[1], pass[2]) {
			if format := generic(cmd, "format"); format != nil && !slices.Contains(format.words, "csv") {
				of = strings.ReplaceAll(of, "--format csv", "--format "+format.words[len(format.words)-1])
			}
			return of
		}
	}
	for _, of := range all {
		pass := passFlag.FindStringSubmatch(of)
		if have := haveFlag(app, pass[1], pass[2]); have != "" {
			return have + ": " + of
		}
	}
	if len(name) > 1 || name == "v" {
		return haveFlag(app, name, "")
	}
	return ""
}

// formatInstead returns how a command that prints to a file writes a format, or what it writes; "" if the name is none.
func formatInstead(cmd *cli.Command, name string) string {
	of, file, format := endings["."+name], generic(cmd, "output"), generic(cmd, "format")
	switch {
	case of == "" || file == nil:
		return ""
	case format != nil && slices.Contains(format.words, of):
		return "pass --format " + of + ", or -o x." + name
	case slices.Contains(file.words, of):
		return "pass -o x." + name
	case format != nil:
		return writes(cmd.Name, "x."+name, slices.Concat(file.words, format.words))
	}
	return writes(cmd.Name, "x."+name, file.words)
}

// has reports whether a command has a flag, and takes the word with it if it is a format.
func has(cmd *cli.Command, flag, word string) bool {
	_, ok := valueFlags(cmd)[flag]
	if of := generic(cmd, flag); ok && flag == "format" && of != nil && slices.Contains(formats, word) {
		return slices.Contains(of.words, word)
	}
	return ok
}

// formats are the words of --format that only some commands take.
var formats = []string{"markdown", formatJUnit}

// haveFlag names the commands that have a flag, "" for none and for nearly all.
func haveFlag(app *cli.App, flag, word string) string {
	var names []string
	for _, p := range pages {
		if c := app.Command(p.name); c != nil && has(c, flag, word) {
			names = append(names, p.name)
		}
	}
	if len(names) == 0 || len(names) > 10 {
		return ""
	}
	verb := " have --"
	if len(names) == 1 {
		verb = " has --"
	}
	return "fiolat " + fio.List(names, "and") + verb + flag
}

// passFlag matches the flag that a guess leads to, and the word after it.
var passFlag = regexp.MustCompile(`^pass --([a-z-]+)(?: ([a-z]+))?`)
