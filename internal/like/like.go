// Package like answers as fio's two Python programs for histogram logs do: fio-histo-log-pctiles and fiologparser_hist,
// as fio 3.33 ships them. It reads their command lines and prints what they print, number for number, faults included
// (stamps read as the start of an interval, counts that land in the last rows, samples counted once per interval that
// they touch), so that results of years can be compared before anybody changes over.
//
// It refuses, with an [InputError] and without a line of output, wherever the program that it stands for crashes,
// aborts or runs for longer than anybody waits: half a table would look like an answer. It corrects nothing, reads
// plain files only, and shares no code with the pipeline, whose answers are meant to differ. cmd/fiolat calls it for
// `fiolat percentiles --like`.
package like

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
)

// The programs that this package stands for, as --like names them.
const (
	pctilesName = "fio-histo-log-pctiles"
	parserName  = "fiologparser_hist"
)

// Programs lists the names that [Run] knows.
var Programs = []string{pctilesName, parserName}

// UsageError is a command line that the program's own argument parser refuses.
type UsageError struct {
	Message string // what is wrong, with the flag as it was typed
	Hint    string // what to do
}

func (e *UsageError) Error() string { return e.Message }

// InputError is a command line and logs with which the program crashes, aborts or hangs.
type InputError struct {
	Message string // where it stops and why: `FILE:LINE: fio-histo-log-pctiles stops here: ...`
	Hint    string // the command that gives an answer
}

func (e *InputError) Error() string { return e.Message }

// Run reads args as program reads its own command line, and writes to stdout what it prints. Nothing is written when it
// returns an error other than one of writing. What the programs warn of on standard error is not repeated.
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

// stop says why program ends without an answer. where is `FILE`, `FILE:LINE` or a flag.
func stop(program, where, hint, format string, args ...any) *InputError {
	return &InputError{
		Message: fmt.Sprintf("%s: %s stops here: %s", where, program, fmt.Sprintf(format, args...)),
		Hint:    hint,
	}
}

// stopBad is stop for a line that cannot be read, which fiolat skips on request.
func stopBad(program string, l *hlog, hint string) *InputError {
	return stop(program, at(l, l.bad.line), strings.Replace(hint, "FILE...", "--skip-bad FILE...", 1), "%s", l.bad.what)
}

// at names a line of a log.
func at(l *hlog, line int) string { return fmt.Sprintf("%s:%d", l.path, line) }
