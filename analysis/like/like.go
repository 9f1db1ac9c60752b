// Package like emulates fio's two Python programs for histogram logs, fio-histo-log-pctiles and fiologparser_hist, as
// fio 3.33 ships them. It accepts their command lines and prints the same numbers, including their bugs (timestamps
// taken for the start of an interval, counts that land in the last rows, samples counted once per interval that they
// touch), so that users can compare with old results before they switch. `fiolat percentiles --like` uses it.
//
// Where the emulated program crashes, aborts or runs practically forever, it returns an [InputError] and prints
// nothing, because half a table would look like a result. It corrects nothing, reads plain files only, and shares no
// code with the pipeline, whose results are meant to differ.
package like

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
)

// The emulated programs, as --like names them.
const (
	pctilesName = "fio-histo-log-pctiles"
	parserName  = "fiologparser_hist"
)

// Programs lists the programs that [Run] accepts.
var Programs = []string{pctilesName, parserName}

// UsageError reports a command line that the program's argument parser refuses.
type UsageError struct {
	Message string // what is wrong, with the flag as it was typed
	Hint    string // what to do
}

func (e *UsageError) Error() string { return e.Message }

// InputError reports a command line and logs with which the program crashes, aborts or hangs.
type InputError struct {
	Message string // where it stops and why: `FILE:LINE: fio-histo-log-pctiles stops here: ...`
	Hint    string // a fiolat command that works
}

func (e *InputError) Error() string { return e.Message }

// Run parses args as the program does and writes its output to stdout. If it returns an error other than one of
// writing, it has written nothing. It does not print the warnings that the programs write to standard error.
func Run(ctx context.Context, program string, args []string, stdout, _ io.Writer) error {
	var run func(context.Context, []string, *bytes.Buffer) error
	switch program {
	case pctilesName:
		run = runPctiles
	case parserName:
		run = runParser
	default:
		return &UsageError{
			Message: fmt.Sprintf("--like %q: no such program", program),
			Hint:    "use --like " + strings.Join(Programs, " or --like "),
		}
	}
	var out bytes.Buffer
	if err := run(ctx, args, &out); err != nil {
		return err
	}
	_, err := out.WriteTo(stdout)
	return err
}

// stop returns the error that says where and why program stops. where is `FILE`, `FILE:LINE` or a flag.
func stop(program, where, hint, format string, args ...any) *InputError {
	return &InputError{
		Message: fmt.Sprintf("%s: %s stops here: %s", where, program, fmt.Sprintf(format, args...)),
		Hint:    hint,
	}
}

// stopBad is stop for a malformed line. Its hint adds --skip-bad, with which fiolat skips such lines.
func stopBad(program string, l *hlog, hint string) *InputError {
	return stop(program, at(l, l.bad.line), strings.Replace(hint, "FILE...", "--skip-bad FILE...", 1), "%s", l.bad.what)
}

// at formats the position of a line in a log.
func at(l *hlog, line int) string { return fmt.Sprintf("%s:%d", l.path, line) }
