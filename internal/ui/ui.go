// Package ui is how a command talks to its user: data to standard output, all else to standard error.
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
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"fiolat/internal/errs"
)

// IsTerminal says that somebody sits at the other end.
func IsTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Confirm asks a question; only yes is yes.
func Confirm(in io.Reader, out io.Writer, question string) bool {
	fmt.Fprint(out, question)
	answer, _ := bufio.NewReader(in).ReadString('\n') // the end of input is no
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}

// UI is where a command's words go: data to stdout, everything else to stderr.
type UI struct {
	Stdin  io.Reader
	Stdout io.Writer // keeps its first error: see Failed
	Stderr io.Writer
	JSON   bool // messages are JSON, one a line
	Quiet  bool // what is no warning and no error is not said
	// Verbose has the account say where its numbers come from.
	Verbose bool

	stdout *output
	mu     sync.Mutex // guards bar and stderr: workers report progress
	bar    *progressbar.ProgressBar
	// painted is how many lines stand on the terminal only until the next ones.
	painted int
	held    []alike
	holding int // Hold is in force so many times
}

// New makes the UI of a program with these streams.
func New(stdin io.Reader, stdout, stderr io.Writer) *UI {
	out := &output{w: stdout}
	return &UI{Stdin: stdin, Stdout: out, Stderr: stderr, stdout: out}
}

// Failed is the first error of standard output.
func (u *UI) Failed() error {
	if failed := u.stdout.failed.Load(); failed != nil {
		return failed
	}
	return nil
}

// output is standard output. It keeps its first error, also where nobody looks at it: what
// was to be printed did not all arrive then.
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

// outputError says why standard output took no more. What it wraps is nobody's business:
// it is not an error of the input.
type outputError struct{ err error }

func (e *outputError) Error() string { return "standard output: " + e.err.Error() }

// Say writes one line to standard error. Names from files must come through
// ingest.Printable first, or a newline in one makes a line of its own; all else that
// moves a terminal's cursor is escaped here, errors of the system quote paths as
// they are.
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

// say is Say for whoever holds the lock.
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
		lines[i] = errs.Printable(lines[i])
	}
	msg = c.paint(u.Stderr, strings.Join(lines, "\n"))
	if level != "info" {
		of := map[string]Colour{"error": Bad, "warning": Notable}[level]
		msg = of.paint(u.Stderr, "fiolat: "+level+":") + " " + msg
	}
	fmt.Fprintln(u.Stderr, msg)
}

// terminal is how many letters a line of a terminal has; 80 where there is none.
func terminal(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 80
}

// Width is how many letters a line of text has: as many as COLUMNS says, or as a terminal has room for; 40 to 120.
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

// Paint shows lines until the next ones, or until something is said.
func (u *UI) Paint(lines []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.erase()
	width := terminal(u.Stderr)
	for _, l := range lines { // one that is wrapped would not be erased
		if r := []rune(l); len(r) >= width {
			l = string(r[:width-1])
		}
		fmt.Fprintln(u.Stderr, l)
	}
	u.painted = len(lines)
}

// Unpaint removes them.
func (u *UI) Unpaint() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.erase()
}

// erase is unpaint for whoever holds the lock.
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

// line is Line for whoever holds the lock.
func (u *UI) line(v map[string]any) {
	v["time"] = time.Now().UTC().Format(time.RFC3339Nano)
	b, err := json.Marshal(v)
	if err != nil {
		b = []byte(strconv.Quote(err.Error()))
	}
	u.Stderr.Write(append(PrintableJSON(b), '\n')) //nolint:errcheck // there is nowhere left to report it
}

// PrintJSON writes v as JSON and a newline, by indent if that is not "", so that a terminal shows what is there.
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

// PrintableJSON escapes in JSON what encoding/json leaves as it is and a terminal
// does not: DEL, the control characters above it, those that turn text around.
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

// Progress shows a bar of total bytes on a terminal; it returns what to report the
// bytes read to, or nil.
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
