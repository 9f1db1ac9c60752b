package ui

import (
	"io"
	"os"
)

// Colour is the colour of a word on a terminal, as a parameter of SGR; "" is none.
type Colour string

// What the colours mean: what broke or got worse, what holds or got better, what to look at.
const (
	Bad     Colour = "31"
	Good    Colour = "32"
	Notable Colour = "33"
)

// paint colours text if out is a terminal with colours, and NO_COLOR (no-color.org) is not set.
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

// Print colours text for standard output, if that is a terminal. Compute widths before: it adds escape sequences.
func (u *UI) Print(c Colour, text string) string { return c.paint(u.Stdout, text) }

// Verdict prints a verdict on standard error, as an info message.
func (u *UI) Verdict(c Colour, msg string) { u.tell("info", c, msg) }

// Finding prints what a command looked for and found on standard error, even if Quiet.
func (u *UI) Finding(msg string) { u.tell("finding", Bad, msg) }
