package shell

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/cmd/fiolat/manual"
	"fiolat/ingest/fiojson"
)

// Command is what the scripts call, followed by the words up to and including the one to complete.
const Command = "__complete"

// The sources of completions.
const (
	files = "files"
	dirs  = "dirs"
	given = "words" // the words that follow
)

// Complete returns what completes the last of args: files, dirs, or the words found. args[0] is what follows the
// program's name.
func Complete(app *cli.App, args []string) (what string, found []string) {
	if len(args) == 0 {
		args = []string{""}
	}
	before, word := args[:len(args)-1], args[len(args)-1]
	what, found = complete(app, before, word)
	return what, slices.DeleteFunc(found, func(w string) bool { return !strings.HasPrefix(w, word) })
}

func complete(app *cli.App, before []string, word string) (what string, found []string) {
	if len(before) == 0 || len(before) == 1 && before[0] == "help" {
		for _, c := range app.Commands {
			if !c.Hidden {
				found = append(found, c.Name)
			}
		}
		return given, append(found, "help", "--help", "--version")
	}
	c := app.Command(before[0])
	if c == nil || slices.Contains(before, "--") {
		return files, nil
	}
	taking := map[string]cli.DocGenerationFlag{} // flags that take a value, by each of their names
	for _, f := range c.VisibleFlags() {
		found = append(found, "--"+f.Names()[0])
		if d, ok := f.(cli.DocGenerationFlag); ok && d.TakesValue() {
			for _, name := range f.Names() {
				taking[name] = d
			}
		}
	}
	flag := func(word string) cli.DocGenerationFlag {
		if !strings.HasPrefix(word, "-") {
			return nil
		}
		return taking[strings.TrimLeft(word, "-")]
	}
	if name, value, ok := strings.Cut(word, "="); ok && flag(name) != nil {
		what, found = ofFlag(c, flag(name), value)
		for i := range found {
			found[i] = name + "=" + found[i]
		}
		return what, found
	}
	if f := flag(before[len(before)-1]); f != nil && len(before) > 1 {
		return ofFlag(c, f, word)
	}
	if strings.HasPrefix(word, "-") {
		return given, found
	}
	return ofArgument(c)
}

// ofFlag returns what completes the value of a flag.
func ofFlag(c *cli.Command, f cli.DocGenerationFlag, begun string) (what string, found []string) {
	switch word, _ := manual.Placeholder(f.GetUsage()); word {
	case "FILE":
		return files, nil
	case "DIR":
		return dirs, nil
	}
	return given, values(f, begun)
}

// values returns the words for a flag's value, after the part of a list that is already there.
func values(f cli.DocGenerationFlag, begun string) (found []string) {
	g, ok := f.(*cli.GenericFlag)
	if !ok {
		return nil
	}
	before := ""
	words, list := g.Value.(interface{ Words() ([]string, bool) }).Words()
	if list {
		before = begun[:strings.LastIndexByte(begun, ',')+1]
	}
	for _, w := range words {
		if !slices.Contains(strings.Split(before, ","), w) {
			found = append(found, before+w)
		}
	}
	return found
}

// ofArgument returns what completes an argument.
func ofArgument(c *cli.Command) (what string, found []string) {
	switch c.Name {
	case "completion":
		return given, []string{"bash", "fish", "zsh"}
	case "explain":
		for _, e := range fiojson.Engines() {
			found = append(found, e.Name)
		}
		return given, found
	case "probe":
		return dirs, nil
	}
	for _, takes := range []string{"PATH", "FILE", "DIR", "BASELINE"} {
		if strings.Contains(c.ArgsUsage, takes) {
			return files, nil
		}
	}
	return given, nil
}
