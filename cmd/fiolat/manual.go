package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// programHelp returns the help of the program, wrapped at width.
func programHelp(app *cli.App, width int) string {
	p := printer{width: width}
	p.text("Usage: fiolat COMMAND [flags] [arguments]")
	p.text(strings.ToUpper(app.Usage[:1]) + app.Usage[1:] + ".")
	p.examples(app.Description)
	for _, group := range commandGroups {
		rows := [][2]string{}
		for name := range strings.FieldsSeq(group[1]) {
			rows = append(rows, [2]string{name, app.Command(name).Usage})
		}
		p.table(group[0], rows)
	}
	p.text(argumentsAre)
	p.text("--es URL, or ELASTICSEARCH_URL, says where runs are stored; fiolat setup --help-all has the flags for its " +
		"users and certificates, which all commands with --es take.")
	p.text("fiolat COMMAND --help, or fiolat help COMMAND, says more of a command.")
	return strings.TrimPrefix(p.String(), "\n")
}

// commandHelp returns the help of a command, wrapped at width: with its usual flags, which come first, or with all of
// them, the others by category.
func commandHelp(c *cli.Command, usualFlags int, all bool, width int) string {
	p := printer{width: width}
	p.text(strings.TrimSpace(fmt.Sprintf("Usage: fiolat %s [flags] %s", c.Name, c.ArgsUsage)))
	p.text(strings.ToUpper(c.Usage[:1]) + c.Usage[1:] + ".")
	examples, text, _ := strings.Cut(c.Description, "\n\n")
	if examples != "" {
		p.examples(examples)
	}
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if paragraph != "" {
			p.text(paragraph)
		}
	}
	const usual = "FLAGS:"
	groups := []string{usual}
	rows := map[string][][2]string{}
	for i, f := range c.VisibleFlags() {
		group := usual
		if i >= usualFlags {
			group = "MORE FLAGS:"
			if in, ok := f.(cli.CategorizableFlag); ok && in.GetCategory() != "" {
				group = in.GetCategory() + ":"
			}
		}
		if !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
		rows[group] = append(rows[group], flagHelp(f))
	}
	more := 0
	for i, group := range groups {
		if len(rows[group]) > 0 && (i == 0 || all) {
			p.table(group, rows[group])
		} else {
			more += len(rows[group])
		}
	}
	if more > 0 {
		p.text(fmt.Sprintf("fiolat %s --help-all shows %d more flags.", c.Name, more))
	}
	return strings.TrimPrefix(p.String(), "\n")
}

// flagHelp returns a flag and its meaning. It never shows a value from the environment, which may be a secret.
func flagHelp(f cli.Flag) [2]string {
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return [2]string{"--" + f.Names()[0]}
	}
	word, usage := placeholder(d.GetUsage())
	if g, ok := f.(*cli.GenericFlag); ok && slices.Contains(g.Value.(*value).words, word) {
		word = strings.Join(g.Value.(*value).words, "|")
	}
	var names []string
	for _, name := range f.Names() {
		names = append(names, strings.Repeat("-", min(2, len(name)))+name)
	}
	name := strings.Join(names, ", ")
	if takes(d) {
		name += " " + word
		if word == "" {
			name += "N"
		}
		if value := strings.Trim(d.GetDefaultText(), `"`); value != "" && value != "0" && value != "0s" &&
			!strings.Contains(usage, "(default: ") {
			usage += " (default: " + value + ")"
		}
	}
	if env := d.GetEnvVars(); len(env) > 0 {
		usage += " [$" + strings.Join(env, ", $") + "]"
	}
	return [2]string{name, usage}
}

// printer wraps text at width. An empty line separates blocks.
type printer struct {
	strings.Builder
	width int
}

func (p *printer) text(text string) { p.WriteString("\n" + filled(text, p.width) + "\n") }

// examples prints shell commands. One that is too long continues after a backslash, with its remark below.
func (p *printer) examples(text string) {
	p.WriteString("\n")
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if utf8.RuneCountInString(line)+2 <= p.width {
			p.WriteString("  " + line + "\n")
			continue
		}
		command, remark, _ := strings.Cut(line, "   ")
		p.WriteString("  " + strings.ReplaceAll(wrapped(arguments(command), p.width-8), "\n", " \\\n      ") + "\n")
		remark = strings.TrimSpace(remark)
		if remark != "" {
			p.WriteString("      " + strings.ReplaceAll(filled(remark, p.width-6), "\n", "\n      ") + "\n")
		}
	}
}

// arguments splits a shell command into words and keeps their quotes.
func arguments(command string) (words []string) {
	open := false // inside quotes
	for word := range strings.FieldsSeq(command) {
		if open {
			words[len(words)-1] += " " + word
		} else {
			words = append(words, word)
		}
		open = open != (strings.Count(word, "'")%2 == 1)
	}
	return words
}

// table prints names and their meanings below a heading.
func (p *printer) table(head string, rows [][2]string) {
	const most = 26 // longest name with its meaning on the same line
	column := 0
	for _, row := range rows {
		if n := len(row[0]); n <= most {
			column = max(column, n)
		}
	}
	column += 4
	if p.width < 60 {
		column = 8
	}
	p.WriteString("\n" + head + "\n")
	for _, row := range rows {
		meaning := strings.ReplaceAll(filled(row[1], p.width-column), "\n", "\n"+strings.Repeat(" ", column))
		between := strings.Repeat(" ", max(column-2-len(row[0]), 0))
		if len(between) < 2 {
			between = "\n" + strings.Repeat(" ", column)
		}
		p.WriteString("  " + row[0] + between + meaning + "\n")
	}
}

// filled wraps text at width.
func filled(text string, width int) string { return wrapped(strings.Fields(text), width) }

// wrapped joins words into lines of at most width runes; a longer word has a line of its own.
func wrapped(words []string, width int) string {
	var lines []string
	line := ""
	for _, word := range words {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width && line != "" {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return strings.Join(append(lines, line), "\n")
}

// placeholder returns the backquoted word of a flag's usage, and the usage without backquotes. There a word before a
// list of its values is left out, and one that begins a sentence is in lower case.
func placeholder(usage string) (word, text string) {
	before, rest, ok := strings.Cut(usage, "`")
	word, after, ok2 := strings.Cut(rest, "`")
	if !ok || !ok2 {
		return "", usage
	}
	if list, isList := strings.CutPrefix(after, ": "); isList && before == "" {
		return word, list
	}
	text = word
	if before == "" && word != "URL" && word != "ID" && !strings.Contains(word, "=") {
		text = cmp.Or(map[string]string{"DIR": "directory", "MS": "milliseconds", "P%": word}[word],
			strings.ToLower(word))
	}
	return word, before + text + after
}
