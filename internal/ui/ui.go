// Package ui prints what a command has for its user: data to standard output, all else to standard error.
package ui

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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

// Stderr returns standard error by another descriptor: a write to a closed pipe is then an error, which nobody needs,
// where Go ends the process by SIGPIPE if the descriptor is 1 or 2.
func Stderr() *os.File {
	fd, err := syscall.Dup(syscall.Stderr)
	if err != nil {
		return os.Stderr // it is closed
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), os.Stderr.Name())
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

	stdout *output
	mu     sync.Mutex // guards what follows and Stderr: workers report progress
	bar    *progressbar.ProgressBar
	// painted is how many lines of Paint are on the terminal.
	painted int
	held    []similarWarnings
	holding int // how many times Hold is in force
}

// New returns the UI of a program with these streams.
func New(stdin io.Reader, stdout, stderr io.Writer) *UI {
	out := &output{w: stdout}
	return &UI{Stdin: stdin, Stdout: out, Stderr: stderr, stdout: out}
}

// Failed returns the first error of standard output.
func (u *UI) Failed() error {
	if failed := u.stdout.failed.Load(); failed != nil {
		return failed
	}
	return nil
}

// output is standard output. It keeps its first error, even if the writer ignores it: the
// output is then incomplete.
type output struct {
	w      io.Writer
	failed atomic.Pointer[outputError]
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err == nil {
		return n, nil
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
	if u.Quiet && level == "info" {
		return
	}
	if u.holding == 0 || level == "error" {
		u.release()
	}
	u.say(level, c, msg)
}

// say is Say for a caller that holds u.mu.
func (u *UI) say(level string, c Colour, msg string) {
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
		lines[i] = fio.Printable(lines[i])
	}
	msg = c.paint(u.Stderr, strings.Join(lines, "\n"))
	if level != "info" {
		of := map[string]Colour{"error": Bad, "warning": Notable}[level]
		msg = of.paint(u.Stderr, "fiolat: "+level+":") + " " + msg
	}
	fmt.Fprintln(u.Stderr, msg)
}

// terminal returns the width of a terminal in columns; 80 if out is none.
func terminal(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 80
}

// Width returns the width for text in columns: that of COLUMNS or of the terminal, within 40 to 120.
func Width(out io.Writer) int {
	if kept, ok := out.(*output); ok {
		out = kept.w
	}
	width, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil || width < 1 {
		width = terminal(out)
	}
	return min(max(width, 40), 120)
}

// Paint shows lines until the next call of Paint, Unpaint or Say.
func (u *UI) Paint(lines []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.erase()
	width := terminal(u.Stderr)
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
	u.Stderr.Write(append(PrintableJSON(b), '\n')) //nolint:errcheck // there is nowhere left to report it
}

// PrintJSON writes v as PrintableJSON and a newline, indented by indent if that is not "".
func PrintJSON(out io.Writer, v any, indent string) error {
	b, err := json.Marshal(v)
	if indent != "" {
		b, err = json.MarshalIndent(v, "", indent)
	}
	if err != nil {
		return err
	}
	_, err = out.Write(append(PrintableJSON(b), '\n'))
	return err
}

// PrintableJSON escapes in JSON what encoding/json does not escape but a terminal may
// interpret: DEL, C1 control characters, marks of text direction.
func PrintableJSON(b []byte) []byte {
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
