// Package errs has the errors that all layers share.
package errs

import (
	"errors"
	"fmt"
	"strings"
)

// UsageError is a fault of the command line.
type UsageError struct{ Msg string }

func (e *UsageError) Error() string { return e.Msg }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

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
