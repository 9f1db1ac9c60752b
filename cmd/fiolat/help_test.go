package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"fiolat/cmd/fiolat/manual"
)

// TestHelp: --help-all has each flag of a command, and no text of either is wider than the terminal.
func TestHelp(t *testing.T) {
	t.Parallel()
	app := wholeApp()
	for _, width := range []int{40, 80, 120} {
		texts := []string{manual.Index(app, width)}
		for _, c := range app.Commands {
			all := manual.Help(c, true, width)
			texts = append(texts, all, manual.Help(c, false, width))
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
