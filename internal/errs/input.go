package errs

import (
	"fmt"
	"strings"

	"fiolat/fio"
)

// The errors that users of the packages meet are in package fio.
type (
	ParseError  = fio.ParseError
	NoLogsError = fio.NoLogsError
	UsageError  = fio.UsageError
)

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return fio.Usagef(format, args...) }

// Printable is fio.Printable.
func Printable(s string) string { return fio.Printable(s) }

// Some joins the first few names, and counts the others.
func Some(names []string) string {
	const few = 4
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:few], ", ") + fmt.Sprintf(" and %d more", len(names)-few)
}
