// Package errs has the errors that all layers share.
package errs

import (
	"errors"
	"fmt"
	"strings"
)

// UsageError is a wish or a setting that cannot be: other flags are needed. Nothing was done.
type UsageError struct {
	Msg  string
	Hint string // what to do about it; the message is then one line
}

func (e *UsageError) Error() string {
	if e.Hint == "" {
		return e.Msg
	}
	return Printable(e.Msg) + "; " + e.Hint
}

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return &UsageError{Msg: fmt.Sprintf(format, args...)} }

// Faults collects all faults of a command line, to report them together.
type Faults []string

// Add adds an error, if it is one.
func (f *Faults) Add(err error) {
	if err != nil {
		*f = append(*f, err.Error())
	}
}

// Err is nil or a UsageError, with a line for each fault.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return Usagef("%s", strings.Join(f, "\n"))
}

// ErrInterrupted is the cause of a context that a signal ended.
var ErrInterrupted = errors.New("interrupted")
