package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"fiolat/ingest"
	"fiolat/internal/sla"
	"fiolat/pipeline"
)

var logFormatFlag = &cli.StringFlag{
	Name: "log-format", Value: "text", EnvVars: []string{"FIOLAT_LOG_FORMAT"},
	Usage: "`FORMAT` of progress, warnings and the account on standard error: text or json",
}

// ui is where a command's words go: data to stdout, everything else to stderr.
type ui struct {
	stdin   io.Reader
	stdout  *output
	stderr  io.Writer
	json    bool
	unknown string // a command that does not exist
	work    func() error

	mu  sync.Mutex // guards bar and stderr: workers report progress
	bar *progressbar.ProgressBar
	// painted is how many lines stand on the terminal only until the next ones.
	painted int
}

func newUI(stdin io.Reader, stdout, stderr io.Writer) *ui {
	return &ui{stdin: stdin, stdout: &output{w: stdout}, stderr: stderr}
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

func (u *ui) configure(c *cli.Context) error {
	if c.IsSet("run-id") && c.String("run-id") == "" {
		return usagef("--run-id \"\": it is empty; name the run, or leave the flag out")
	}
	switch f := c.String("log-format"); f {
	case "text":
	case "json":
		u.json = true
	default:
		return usagef("--log-format %q: want text or json", f)
	}
	return nil
}

// say writes one line to standard error. Names from files must come through
// ingest.Printable first, or a newline in one makes a line of its own; all else that
// moves a terminal's cursor is escaped here, errors of the system quote paths as
// they are.
func (u *ui) say(level, format string, args ...any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.bar != nil {
		u.bar.Clear() //nolint:errcheck // only a progress bar
	}
	u.erase()
	msg := fmt.Sprintf(format, args...)
	if u.json {
		u.line(map[string]any{"level": level, "msg": msg})
		return
	}
	lines := strings.Split(msg, "\n")
	for i := range lines {
		lines[i] = ingest.Printable(lines[i])
	}
	msg = strings.Join(lines, "\n")
	if level != "info" {
		msg = "fiolat: " + level + ": " + msg
	}
	fmt.Fprintln(u.stderr, msg)
}

// paint shows lines until the next ones, or until something is said.
func (u *ui) paint(lines []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.erase()
	width := 80
	if f, ok := u.stderr.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			width = w
		}
	}
	for _, l := range lines { // one that is wrapped would not be erased
		if r := []rune(l); len(r) >= width {
			l = string(r[:width-1])
		}
		fmt.Fprintln(u.stderr, l)
	}
	u.painted = len(lines)
}

// unpaint removes them.
func (u *ui) unpaint() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.erase()
}

// erase is unpaint for whoever holds the lock.
func (u *ui) erase() {
	if u.painted > 0 {
		fmt.Fprintf(u.stderr, "\x1b[%dA\x1b[J", u.painted)
		u.painted = 0
	}
}

// line writes v as a line of JSON to standard error.
func (u *ui) line(v map[string]any) {
	v["time"] = time.Now().UTC().Format(time.RFC3339Nano)
	b, err := json.Marshal(v)
	if err != nil {
		b = []byte(strconv.Quote(err.Error()))
	}
	u.stderr.Write(append(printableJSON(b), '\n')) //nolint:errcheck // nobody is left to be told
}

// printableJSON escapes in JSON what encoding/json leaves as it is and a terminal
// does not: DEL, the control characters above it, those that turn text around.
func printableJSON(b []byte) []byte {
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

func (u *ui) warn(msg string) { u.say("warning", "%s", msg) }

// exit says what went wrong, once, and turns it into an exit code.
func (u *ui) exit(err error) int {
	u.progressDone()
	if err == nil && u.unknown != "" {
		err = usagef("no such command: %q; see fiolat --help", u.unknown)
	}
	if failed := u.stdout.failed.Load(); err == nil && failed != nil {
		err = failed
	}
	code := exitCode(err)
	if err == nil {
		return code
	}
	if code == exitInterrupted {
		u.say("error", "interrupted: what was done stands; run the same command again to finish")
		return code
	}
	msg := err.Error() + hint(err)
	if u.json {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.line(map[string]any{"level": "error", "msg": msg, "exit": code})
		return code
	}
	u.say("error", "%s", msg)
	return code
}

// progress shows a bar of total bytes on a terminal; it returns what to report the
// bytes read to, or nil.
func (u *ui) progress(total int64, what string) func(int64) {
	f, ok := u.stderr.(*os.File)
	if !ok || u.json || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	u.bar = progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(f), progressbar.OptionSetDescription(what), progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))
	return func(n int64) {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.bar != nil {
			u.bar.Add64(n) //nolint:errcheck // only a progress bar
		}
	}
}

func (u *ui) progressDone() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.bar != nil {
		u.bar.Finish() //nolint:errcheck // only a progress bar
		u.bar = nil
	}
}

// account prints the end-of-run account: in = out + named losses.
func (u *ui) account(s *pipeline.Summary, documents any, text string) {
	a := &s.Account
	if u.json {
		u.mu.Lock()
		defer u.mu.Unlock()
		v := map[string]any{"level": "info", "msg": "account", "account": a, "quanta": s.Quanta}
		if documents != nil {
			v["documents"] = documents
		}
		u.line(v)
		return
	}
	fio := "unknown (no fio JSON)"
	missing := "unknown"
	if a.Counted > 0 {
		fio = strconv.FormatUint(a.Counted, 10)
		missing = whole(a.Missing)
		if !a.CountedKnown {
			fio += " (of some of the logs)"
		}
	}
	u.say("info", "logs       %d read, %d empty, %d skipped, %d repaired", a.Logs, a.LogsEmpty, a.LogsSkipped, a.LogsRepaired)
	u.say("info", "records    %d read, %d lines skipped, %d repaired, %d with the stamp of the one before", a.Records, a.LinesSkipped, a.RecordsRepaired, a.RecordsEqual)
	u.say("info", "I/Os       %s logged + %s restored from fio's JSON = %s in %d quanta; in fio's totals %s, missing from the logs %s, not placed %s; in the last bucket %s",
		whole(a.Logged), whole(a.Restored), whole(a.Placed), s.Quanta, fio, missing, whole(a.NotPlaced), whole(a.LastBucket))
	for _, d := range pipeline.ByDirection(a.Jobs) {
		u.say("info", "%-10s %s logged, in fio's totals %d: %s missing, %s too many; %s restored, %s not placed",
			d.Direction+"s", whole(d.Logged), d.Counted, whole(d.Missing), whole(d.Excess), whole(d.Restored), whole(d.NotPlaced))
	}
	if i := a.Interval; i != nil {
		u.say("info", "interval   %v chosen: %s", i.Interval, i.Reason)
	}
	for _, o := range s.SLA {
		u.say("info", "SLA        %s", outcome(&o))
	}
	if text != "" {
		u.say("info", "%s", text)
	}
}

// outcome is what a run says of a rule, in words.
func outcome(o *pipeline.Outcome) string {
	s := fmt.Sprintf("%s: %s; of %d quanta %d ok, %d broken, %d unknown; %d breaches", o.Rule.Text, o.Status(), o.OK+o.Broken+o.Unknown, o.OK, o.Broken, o.Unknown, o.Breaches)
	if o.Dims.Host != "" {
		s = ingest.Printable(o.Dims.Host) + ": " + s
	}
	if o.Worst.Known {
		worst := fmt.Sprintf("%.4g", o.Worst.Value)
		if o.Rule.Metric != "iops" {
			worst = sla.Duration(math.Round(o.Worst.Value/1e3) * 1e3)
		}
		s += fmt.Sprintf("; worst %s at %s", worst, time.Duration(o.WorstAt))
	}
	if o.Share >= 0 {
		s += fmt.Sprintf("; %.4f %% of all I/Os within", 100*o.Share)
	}
	return s
}

// whole prints a count that is a whole number but for rounding.
func whole(f float64) string { return strconv.FormatFloat(math.Round(f*1e6)/1e6, 'f', -1, 64) }

// size is the number of bytes of the logs as stored, for the progress bar.
func size(in []*ingest.Input) (n int64) {
	for _, i := range in {
		for _, s := range i.Logs {
			n += s.Size
		}
	}
	return n
}
