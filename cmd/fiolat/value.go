package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
	"fiolat/internal/ui"
)

// subcommand holds the options of a command, to which its flags are bound.
type subcommand interface {
	// check reads the arguments, and adds what is wrong with them and with flags that depend on each other.
	check(c *cli.Context, bad *fio.Faults)
	run(ctx context.Context, u *ui.UI) error
}

// action returns the action of a command. All faults of a command line are one error.
func action(u *ui.UI, o subcommand) cli.ActionFunc {
	return func(c *cli.Context) error {
		if !slices.ContainsFunc(c.Command.Flags,
			func(f cli.Flag) bool { return slices.Contains(f.Names(), "fio-json") }) {
			u.Reword = elsewhere.Replace
		}
		var bad fio.Faults
		file, err := printTo(c)
		bad.Add(err)
		bad.Add(checkWidth(c))
		for _, f := range c.Command.Flags {
			if g, ok := f.(*cli.GenericFlag); ok {
				g.Value.(*value).read(c.Command.Name+" --"+g.Name, &bad)
			}
		}
		if o.check(c, &bad); len(bad) > 0 {
			return bad.Err()
		}
		return printInto(c.Context, u, file, o.run)
	}
}

// answerTo is action for a command that answers a question about runs: what is wrong with them is one line above its
// answer.
func answerTo(u *ui.UI, o subcommand) cli.ActionFunc {
	return func(c *cli.Context) error {
		defer u.HoldUntilOutput()()
		return action(u, o)(c)
	}
}

// elsewhere rewords advice to pass --fio-json, for commands without it.
var elsewhere = strings.NewReplacer("with --fio-json", "to `fiolat percentiles --fio-json`", "--fio-json", "`fiolat "+
	"percentiles --fio-json`")

// value is the value of a flag that is more than text or a number. It is parsed when the whole command line was read,
// so that all faults are reported.
type value struct {
	texts []string // as given, else the default
	given bool
	many  bool // the flag can be repeated
	parse func(text string) error
	words []string // of oneOf
	alone string   // what the flag without a value stands for; "" if it takes one
}

// IsBoolFlag makes package flag take the flag without a value as true.
func (v *value) IsBoolFlag() bool { return v.alone != "" }

// Set keeps what the flag was given.
func (v *value) Set(text string) error {
	if v.alone != "" && text == "true" {
		text = v.alone
	}
	if text == "md" && slices.Contains(v.words, "markdown") {
		text = "markdown"
	}
	if !v.many || !v.given {
		v.texts = nil
	}
	v.texts, v.given = append(v.texts, text), true
	return nil
}

func (v *value) String() string { return strings.Join(v.texts, ",") }

// read parses what the flag of a command, such as "ingest --format", was given.
func (v *value) read(flag string, bad *fio.Faults) {
	for _, text := range v.texts {
		if of, ok := instead().exact[flag+" "+text]; ok {
			_, name, _ := strings.Cut(flag, " ")
			bad.Add(fio.Usagef("%s %s: no longer written; %s", name, text, of))
			continue
		}
		bad.Add(v.parse(text))
	}
}

// oneOf returns the value of the flag name, which takes one of some words; the first is the default.
func oneOf[T ~string](to *T, name string, words ...string) *value {
	return &value{texts: words[:1], words: words, parse: func(text string) error {
		if !slices.Contains(words, text) {
			return fio.Usagef("--%s %q: want one of %s", name, text, strings.Join(words, ", "))
		}
		*to = T(text)
		return nil
	}}
}

// oneFormat is oneOf for --format. It says which command makes the page or picture that somebody wants.
func oneFormat[T ~string](to *T, words ...string) *value {
	v := oneOf(to, "format", words...)
	parse := v.parse
	v.parse = func(text string) error {
		err := parse(text)
		if of := endings["."+text]; err != nil && (of == isPage || of == isPicture) {
			err = fio.Usagef("%v; fiolat report -o x.%s PATH makes a %s", err, text, of)
		}
		return err
	}
	return v
}

// parsed returns a value for what parse returns of a text, which is not called for "". err is put before its errors.
func parsed[T any](to *T, err string, parse func(text string) (T, error)) *value {
	return &value{parse: func(text string) (e error) {
		if text == "" {
			return nil
		}
		*to, e = parse(text)
		if e != nil {
			e = fmt.Errorf("%s%w", err, e)
		}
		return e
	}}
}

// withDefault sets the default of a value.
func withDefault(text string, v *value) *value {
	v.texts = []string{text}
	return v
}

// asIs is what parse of a flag is that takes any text.
func asIs(text string) (string, error) { return text, nil }

// each is parsed for a flag that can be repeated.
func each[T any](to *[]T, err string, parse func(text string) (T, error)) *value {
	var one T
	v := parsed(&one, err, parse)
	all := v.parse
	v.many, v.parse = true, func(text string) error {
		e := all(text)
		*to = append(*to, one)
		return e
	}
	return v
}
