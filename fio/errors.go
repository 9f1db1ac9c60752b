package fio

import (
	"errors"
	"fmt"
	"strings"
)

// ParseError reports input that is malformed, or that lacks what was asked for.
type ParseError struct {
	File string
	Line int64 // from 1; 0 where there are no lines
	Msg  string
	Hint string // what to do about it
	// Useless is set if nothing of a log can be used, whatever is done with the file: it holds averages, or no I/O.
	Useless bool
}

func (e *ParseError) Error() string {
	var b strings.Builder
	b.WriteString(Printable(e.File))
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	b.WriteString(e.Msg)
	if e.Hint != "" {
		b.WriteString("; ")
		b.WriteString(e.Hint)
	}
	return b.String()
}

// NoLogsError reports that there are no logs of the kind wanted, or none that can be read.
type NoLogsError struct {
	ParseError
	Other bool // there are logs of other kinds
}

func (e *NoLogsError) Unwrap() error { return &e.ParseError }

// UsageError reports flags or settings that cannot work. Nothing was done.
type UsageError struct {
	Msg  string
	Hint string // what to do about it; with one, Msg is printed as one line
}

func (e *UsageError) Error() string {
	if e.Hint == "" {
		return e.Msg
	}
	return Printable(e.Msg) + "; " + e.Hint
}

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return &UsageError{Msg: fmt.Sprintf(format, args...)} }

// Faults collects the errors of a command line, to report them together.
type Faults []string

// Add adds err, unless it is nil.
func (f *Faults) Add(err error) {
	if err != nil {
		*f = append(*f, err.Error())
	}
}

// Err returns a UsageError with a line for each error, nil if there are none.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return Usagef("%s", strings.Join(f, "\n"))
}

// ErrInterrupted is the cause of a context that a signal ended.
var ErrInterrupted = errors.New("interrupted")
