package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"fiolat/fio"
)

// TestHelp: --help has at most 15 flags, --help-all has each flag of a command, and no text of
// either is wider than the terminal.
func TestHelp(t *testing.T) {
	t.Parallel()
	app := wholeApp()
	for _, width := range []int{40, 80, 120} {
		texts := []string{programHelp(app, width)}
		for _, c := range app.Commands {
			usual := strings.Fields(pages[pageOf(c.Name)].usual)
			for i, name := range usual {
				if i == 15 || c.VisibleFlags()[i].Names()[0] != name {
					t.Errorf("%s --help: flag %d is --%s", c.Name, i+1, c.VisibleFlags()[i].Names()[0])
				}
			}
			all := commandHelp(c, len(usual), true, width)
			texts = append(texts, all, commandHelp(c, len(usual), false, width))
			for _, f := range c.VisibleFlags() {
				if !strings.Contains(all, "\n  --"+f.Names()[0]) {
					t.Errorf("%s --help-all does not name --%s", c.Name, f.Names()[0])
				}
			}
		}
		for _, text := range texts {
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(line) - 1; n > width && strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%d letters, want %d: %s", n, width, line)
				}
			}
		}
	}
}

// TestSettingsHaveFlags: each setting can be given on the command line.
func TestSettingsHaveFlags(t *testing.T) {
	t.Parallel()
	var names []string
	for _, f := range new(logOptions).flags(logFlags{}) {
		names = append(names, f.Names()[0])
	}
	s := fio.Defaults()
	for _, f := range s.Fields() {
		if len(f.Flags) == 0 {
			t.Errorf("%s: no flag", f.Name)
		}
		for _, flag := range f.Flags {
			if !slices.Contains(names, flag.Name) {
				t.Errorf("--%s of %s is not a flag", flag.Name, f.Name)
			}
		}
	}
}
