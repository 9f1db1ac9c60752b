// Package errs holds the errors that all layers share.
package errs

import (
	"errors"
	"strings"

	"fiolat/fio"
)

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
	return fio.Usagef("%s", strings.Join(f, "\n"))
}

// ErrInterrupted is the cause of a context that a signal ended.
var ErrInterrupted = errors.New("interrupted")
