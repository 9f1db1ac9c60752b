// Package ui prints what a command has for its user: data to standard output, all else to standard error.
package ui

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"fiolat/fio"
)

// IsTerminal reports whether r is a terminal.
func IsTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Again returns standard output or standard error by another descriptor: a write to a closed pipe is then an error,
// where Go ends the process by SIGPIPE if the descriptor is 1 or 2.
func Again(f *os.File) *os.File {
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return f // it is closed
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), f.Name())
}

// Confirm asks a question, and reports whether the answer is y or yes.
func Confirm(in io.Reader, out io.Writer, question string) bool {
	fmt.Fprint(out, question)
	answer, _ := bufio.NewReader(in).ReadString('\n') // the end of input is no
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}

// UI prints the data of a command to Stdout, and everything else to Stderr.
type UI struct {
	Stdin  io.Reader
	Stdout io.Writer // keeps its first error: see Failed
	Stderr io.Writer
	JSON   bool // messages are JSON, one a line
	Quiet  bool // prints only warnings and errors
	// Verbose adds the numbers behind the account.
	Verbose bool
	// Width is how many columns a table may take; 0: as many as a terminal has, and no limit elsewhere.
	Width int

	Reword func(msg string) string // changes messages before they are printed; nil: none

	stdout *output
	mu     sync.Mutex // guards what follows and Stderr: workers report progress
	bar    *progressbar.ProgressBar
	// painted is how many lines of Paint are on the terminal.
	painted int
	warned  map[string]bool // by WarnOnce
	held    []string        // warnings, while Hold is in force; some may be twice
	holding int             // how many times Hold is in force
}

// New returns the UI of a program with these streams.
func New(stdin io.Reader, stdout, stderr io.Writer) *UI {
	out := &output{w: stdout}
	return &UI{Stdin: stdin, Stdout: out, Stderr: stderr, stdout: out}
}

// WarnOnce prints a warning unless the command has printed it before.
func (u *UI) WarnOnce(text string) {
	u.mu.Lock()
	again := u.warned[text]
	if u.warned == nil {
		u.warned = map[string]bool{}
	}
	u.warned[text] = true
	u.mu.Unlock()
	if !again {
		u.Warn(text)
	}
}

// Failed returns the first error of standard output.
func (u *UI) Failed() error {
	if len(u.stdout.line) > 0 {
		u.stdout.write(u.stdout.line) //nolint:errcheck // it keeps it
		u.stdout.line = nil
	}
	if failed := u.stdout.failed.Load(); failed != nil {
		return failed
	}
	return nil
}

// output is standard output. It keeps its first error, even if the writer ignores it: the
// output is then incomplete.
type output struct {
	w      io.Writer
	width  int    // at which lines are wrapped; 0: not
	line   []byte // the beginning of one that is to be wrapped
	failed atomic.Pointer[outputError]
	unread func()
	before func() // called before the first byte, and once; nil: nothing
}

// OnUnread sets what is done when standard output turns out to be a pipe that nobody reads any more.
func (u *UI) OnUnread(f func()) { u.stdout.unread = f }

// WrapLines wraps the lines of standard output at Width or the width of the terminal, if it is one.
func (u *UI) WrapLines() { u.stdout.width = u.TableWidth() }

// TableWidth returns how many columns a table on Stdout may take; 0 is no limit.
func (u *UI) TableWidth() int { return cmp.Or(u.Width, Columns(u.Stdout)) }

func (o *output) Write(p []byte) (int, error) {
	if before := o.before; before != nil {
		o.before = nil
		before()
	}
	if o.width == 0 {
		return o.write(p)
	}
	o.line = append(o.line, p...)
	for {
		line, rest, whole := bytes.Cut(o.line, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		if _, err := o.write([]byte(Wrap(string(line), o.width) + "\n")); err != nil {
			return 0, err
		}
		o.line = rest
	}
}

func (o *output) write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err == nil {
		return n, nil
	}
	if errors.Is(err, syscall.EPIPE) && o.unread != nil {
		o.unread()
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	o.failed.CompareAndSwap(nil, &outputError{err})
	return n, o.failed.Load()
}

// outputError is an error of standard output. It has no Unwrap, so that it is not taken
// for an error of the input.
type outputError struct{ err error }

func (e *outputError) Error() string { return "standard output: " + e.err.Error() }

// Say prints a message to standard error. Names from files must pass through
// fio.Printable first, or a newline in one starts a line. All else that could move a
// terminal's cursor is escaped here, since errors of the system have paths unescaped.
func (u *UI) Say(level, format string, args ...any) { u.tell(level, "", fmt.Sprintf(format, args...)) }

// tell is Say in a colour.
func (u *UI) tell(level string, c Colour, msg string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.holding == 0 || level == "error" {
		u.release()
	}
	u.say(level, c, msg)
}

// say is Say for a caller that holds u.mu.
func (u *UI) say(level string, c Colour, msg string) {
	if u.Quiet && (level == "info" || level == "note") {
		return
	}
	if u.Reword != nil {
		msg = u.Reword(msg)
	}
	if u.bar != nil {
		u.bar.Clear() //nolint:errcheck // only a progress bar
	}
	u.erase()
	if u.JSON {
		u.line(map[string]any{"level": level, "msg": msg})
		return
	}
	lines := strings.Split(msg, "\n")
	for i := range lines {
		lines[i] = c.paint(u.Stderr, fio.Printable(lines[i]))
	}
	if level != "info" && level != "finding" {
		of := map[string]Colour{"error": Bad, "warning": Notable}[level]
		lines[0] = of.paint(u.Stderr, "fiolat: "+level+":") + " " + lines[0]
	}
	width := Columns(u.Stderr)
	for _, line := range lines {
		fmt.Fprintln(u.Stderr, Wrap(line, width))
	}
}

// columns returns COLUMNS, 0 if it is not set.
func columns() int {
	width, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil || width < 1 {
		return 0
	}
	return width
}

// Columns returns the width of the terminal that out is, or COLUMNS if that is set; 0 if out is no terminal.
func Columns(out io.Writer) int {
	if kept, ok := out.(*output); ok {
		out = kept.w
	}
	f, ok := out.(*os.File)
	if !ok || !IsTerminal(f) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 1 {
		width = 80
	}
	return cmp.Or(columns(), width)
}

// Width returns the width for help in columns: that of COLUMNS or of the terminal, else 80, within 40 to 120.
func Width(out io.Writer) int {
	return min(max(cmp.Or(columns(), Columns(out), 80), 40), 120)
}

var escape = regexp.MustCompile("\x1b\\[[0-9]*m")

// TextWidth returns how many columns of a terminal a text takes, which may have colours.
func TextWidth(text string) int {
	if strings.Contains(text, "\x1b") {
		text = escape.ReplaceAllString(text, "")
	}
	return utf8.RuneCountInString(text)
}

// Wrap breaks a line that is wider than width at spaces, and indents what follows by two; 0 is no limit.
func Wrap(line string, width int) string {
	var out strings.Builder
	for width > 0 && TextWidth(line) > width {
		at := -1 // the last space in width, or else the first one behind a word
		for i, r := range line {
			if r == ' ' && strings.TrimSpace(line[:i]) != "" && (at < 0 || TextWidth(line[:i]) <= width) {
				at = i
			}
		}
		if at < 0 {
			break
		}
		out.WriteString(strings.TrimRight(line[:at], " ") + "\n")
		line = "  " + strings.TrimLeft(line[at:], " ")
	}
	return out.String() + line
}

// Paint shows lines until the next call of Paint, Unpaint or Say.
func (u *UI) Paint(lines []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.erase()
	width := cmp.Or(Columns(u.Stderr), 80)
	for _, l := range lines { // a wrapped line would not be erased
		if r := []rune(l); len(r) >= width {
			l = string(r[:width-1])
		}
		fmt.Fprintln(u.Stderr, l)
	}
	u.painted = len(lines)
}

// Unpaint removes the lines of Paint.
func (u *UI) Unpaint() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.erase()
}

// erase is Unpaint for a caller that holds u.mu.
func (u *UI) erase() {
	if u.painted > 0 {
		fmt.Fprintf(u.Stderr, "\x1b[%dA\x1b[J", u.painted)
		u.painted = 0
	}
}

// Line writes v as a line of JSON to standard error.
func (u *UI) Line(v map[string]any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.line(v)
}

// line is Line for a caller that holds u.mu.
func (u *UI) line(v map[string]any) {
	v["time"] = time.Now().UTC().Format(time.RFC3339Nano)
	b, err := json.Marshal(v)
	if err != nil {
		b = []byte(strconv.Quote(err.Error()))
	}
	u.Stderr.Write(append(EscapedJSON(b), '\n')) //nolint:errcheck // there is nowhere left to report it
}

// PrintJSON writes v as EscapedJSON and a newline, indented by indent if that is not "".
func PrintJSON(out io.Writer, v any, indent string) error {
	b, err := json.Marshal(v)
	if indent != "" {
		b, err = json.MarshalIndent(v, "", indent)
	}
	if err != nil {
		return err
	}
	_, err = out.Write(append(EscapedJSON(b), '\n'))
	return err
}

// EscapedJSON escapes in JSON what encoding/json does not escape but a terminal may interpret: DEL, C1 control
// characters, marks of text direction. Values stay the same, which fio.PrintableJSON changes.
func EscapedJSON(b []byte) []byte {
	if !bytes.ContainsFunc(b, hidden) {
		return b
	}
	var out []byte
	for _, r := range string(b) {
		if !hidden(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}

func hidden(r rune) bool { return r >= 0x7f && !strconv.IsPrint(r) }

// Progress shows a bar of total bytes on a terminal. It returns a function to report
// the bytes read to, nil without a terminal.
func (u *UI) Progress(total int64, what string) func(int64) {
	f, ok := u.Stderr.(*os.File)
	if !ok || u.JSON || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	u.bar = progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(f), progressbar.OptionSetDescription(what), progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(true))
	return func(n int64) {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.bar != nil {
			u.bar.Add64(n) //nolint:errcheck // only a progress bar
		}
	}
}

// ProgressDone removes the bar.
func (u *UI) ProgressDone() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.bar != nil {
		u.bar.Finish() //nolint:errcheck // only a progress bar
		u.bar = nil
	}
}
