package ui

import (
	"io"
	"os"
)

// Colour is one that a word has on a terminal, as the parameter of SGR; "" is none.
type Colour string

// What the colours mean: what broke or got worse, what holds or got better, what to look at.
const (
	Bad     Colour = "31"
	Good    Colour = "32"
	Notable Colour = "33"
)

// paint gives text a colour where out is a terminal that shows any, and NO_COLOR (no-color.org) is not set.
func (c Colour) paint(out io.Writer, text string) string {
	if kept, ok := out.(*output); ok {
		out = kept.w
	}
	f, ok := out.(*os.File)
	if c == "" || !ok || !IsTerminal(f) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// Print gives text for standard output a colour, where that shows any. It comes after all that counts its letters.
func (u *UI) Print(c Colour, text string) string { return c.paint(u.Stdout, text) }

// Verdict says a verdict on standard error, as information.
func (u *UI) Verdict(c Colour, msg string) { u.tell("info", c, msg) }
