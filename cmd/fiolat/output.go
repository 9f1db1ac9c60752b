package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
	"fiolat/internal/tempfile"
	"fiolat/internal/ui"
	"fiolat/report/render"
)

// What an ending stands for beside a word of --format.
const (
	isPage    = "page"
	isPicture = "picture"
)

// endings are the endings of a file that --output names, and what it then holds. The others leave it to --format.
var endings = map[string]string{".csv": "csv", ".json": "json", ".ndjson": "ndjson", ".jsonl": "ndjson",
	".parquet": "parquet", ".md": "markdown", ".xml": formatJUnit, ".html": isPage, ".htm": isPage,
	".png": isPicture, ".svg": isPicture}

// otherFormats are words that -o takes in other programs.
var otherFormats = []string{"text", "wide", "yaml"}

// ending returns the ending of a file's name, in lower case.
func ending(path string) string {
	return strings.ToLower(filepath.Ext(strings.TrimLeft(filepath.Base(path), ".")))
}

// fileFlag is --output of a command that writes one file: what it prints or, where the name ends so, what it draws.
// example is an ending of what it prints.
func fileFlag(example string, draws ...string) *cli.GenericFlag {
	usage := "write to `FILE` instead of standard output; its ending, such as " + example + ", is the format"
	if slices.Contains(draws, isPage) {
		usage += ", or a page (.html)"
	}
	if slices.Contains(draws, isPicture) {
		usage += " or picture (.png, .svg)"
	}
	return &cli.GenericFlag{Name: "output", Aliases: []string{"o"}, Usage: usage,
		Value: &value{words: draws, parse: func(string) error { return nil }}}
}

// generic returns the value of a command's flag, nil if it has no such flag of this type.
func generic(cmd *cli.Command, name string) *value {
	for _, f := range cmd.Flags {
		if g, ok := f.(*cli.GenericFlag); ok && g.Name == name {
			return g.Value.(*value)
		}
	}
	return nil
}

// printTo returns the file that a command prints to, "" for standard output and for what the command writes itself: a
// directory, a page or a picture. It sets --format to what the name of the file says, and refuses one that the command
// cannot write.
func printTo(c *cli.Context) (string, error) {
	cmd := c.Command
	file, format := generic(cmd, "output"), generic(cmd, "format")
	if file == nil { // a directory, if any
		if path := c.String("output"); endings[ending(path)] != "" {
			return "", fio.Usagef("--output %s: fiolat %s writes a directory of documents; fiolat percentiles -o FILE "+
				"writes rows, fiolat report -o FILE a page", fio.Printable(path), cmd.Name)
		}
		return "", nil
	}
	path, words := file.String(), file.words
	if format != nil {
		words = slices.Concat(words, format.words)
	}
	end := ending(path)
	of := endings[end]
	switch {
	case format != nil && (slices.Contains(format.words, path) || slices.Contains(format.words, endings["."+path])):
		return "", fio.Usagef("--output %[1]s: it takes the name of a file: pass --format %[2]s, or -o ./%[1]s", path,
			cmp.Or(endings["."+path], path))
	case end == "" && (endings["."+path] != "" || slices.Contains(otherFormats, path)):
		return "", fio.Usagef("--output %[1]s: it takes the name of a file, such as ./%[1]s; %[2]s", path,
			writes(cmd.Name, "x."+path, words))
	case end == "", end == ".txt" && format != nil && format.String() != "parquet": // the format is what --format says
	case !slices.Contains(words, of):
		return "", cannotWrite(cmd.Name, path, words)
	case format != nil && format.given && format.String() != of && slices.Contains(format.words, of):
		return "", fio.Usagef("--output %s: its ending says another format than --format %s: leave one out",
			fio.Printable(path), format)
	}
	if path == "-" || format == nil || slices.Contains(file.words, of) { // or the command writes it
		return "", nil
	}
	if of != "" {
		format.texts = []string{of}
	}
	return path, nil
}

// drawnFile returns the file that a command draws, "" if --output is for what it prints.
func drawnFile(c *cli.Context) string {
	file := generic(c.Command, "output")
	if path := file.String(); slices.Contains(file.words, endings[ending(path)]) {
		return path
	}
	return ""
}

// cannotWrite returns the error for a name of a file that ends as nothing does that a command writes.
func cannotWrite(command, path string, words []string) error {
	return fio.Usagef("--output %s: %s", fio.Printable(path), writes(command, path, words))
}

// writes says what a command writes, where a file's name ends as nothing of it does.
func writes(command, path string, words []string) string {
	var can []string
	for _, end := range slices.Sorted(maps.Keys(endings)) {
		if slices.Contains(words, endings[end]) && end != ".htm" && end != ".jsonl" {
			can = append(can, end)
		}
	}
	other := ""
	switch of := endings[ending(path)]; {
	case of == isPage || of == isPicture:
		other = fmt.Sprintf("; fiolat report -o %s makes a %s, of two runs too", fio.Printable(path), of)
	case of != "" && command == "report":
		other = fmt.Sprintf("; fiolat percentiles -o %s writes rows", fio.Printable(path))
	}
	return fmt.Sprintf("fiolat %s writes %s, not %s%s", command, strings.Join(can, ", "), ending(path), other)
}

// printInto runs a command with the file in place of standard output, unless it is "".
func printInto(ctx context.Context, u *ui.UI, path string, run func(context.Context, *ui.UI) error) error {
	if path == "" {
		return run(ctx, u)
	}
	f, err := createFile(path)
	if err != nil {
		return err
	}
	stdout := u.Stdout
	defer func() { u.Stdout = stdout }()
	u.Stdout = f
	err = run(ctx, u)
	if err != nil && !errors.As(err, new(*printedError)) {
		return errors.Join(err, f.Discard())
	}
	if failed := f.Publish(); failed != nil {
		return errors.Join(failed, f.Discard())
	}
	return err
}

// printedError is an error of a command that has printed all of its answer: what it says of the runs, such as a rule
// that is broken, or an alert that was not sent.
type printedError struct{ error }

func (e *printedError) Unwrap() error { return e.error }

// afterPrint marks the error, if any, of a command that has printed its answer.
func afterPrint(err error) error {
	if err == nil {
		return nil
	}
	return &printedError{err}
}

// writeFile makes a file that is there only when write has written all of it.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := createFile(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	if err = write(out); err == nil {
		err = out.Flush()
	}
	if err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Publish()
}

// createFile makes a temporary file that will replace the one that --output names, with its permission bits.
func createFile(path string) (*tempfile.File, error) {
	f, err := createPrivate(path)
	if err == nil {
		f.KeepMode()
	}
	return f, err
}

// createPrivate makes one that only its owner may read.
func createPrivate(path string) (*tempfile.File, error) {
	if path == "-" { // commands that print know it
		return nil, fio.Usagef("--output -: pages and pictures are not printed; name a file, such as page.html")
	}
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
		return nil, fio.Usagef("--output %s: exists, but is not a regular file; name another", fio.Printable(path))
	}
	f, err := tempfile.CreateAt(path)
	if err != nil {
		return nil, fio.Usagef("--output %s: %v", fio.Printable(path), err)
	}
	return f, nil
}

// style is how a command prints a table with latencies in a unit.
func style(u *ui.UI, format, unit string) render.Style {
	return render.Style{Format: format, Unit: unit, Width: u.TableWidth(), Keep: fio.Dimensions()}
}
