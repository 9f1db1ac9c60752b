// Package errs holds the errors that all layers share.
package errs

import (
	"errors"
	"fmt"
	"strings"
)

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
