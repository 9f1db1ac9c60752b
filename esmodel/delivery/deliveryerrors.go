package delivery

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"fiolat/fio"
)

// errClosed is returned for documents that come after Close.
var errClosed = errors.New("the writer is closed")

var errInterrupted = errors.New("interrupted before Elasticsearch acknowledged it")

// unspooled is the error for a spool that cannot be made or written.
func unspooled(err error) error {
	return fmt.Errorf("documents that cannot be sent cannot be spooled: %w", err)
}

// OutputError says that an output file cannot be written: a full disk, a directory that takes no files.
type OutputError struct {
	Path string
	Err  error
}

// outputError returns an OutputError without the path that err may hold.
func outputError(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &OutputError{Path: path, Err: err}
}

func (e *OutputError) Error() string {
	return fmt.Sprintf("write %s: %v", fio.Printable(e.Path), e.Err)
}

func (e *OutputError) Unwrap() error { return e.Err }

// IncompleteError says that not every document arrived; the report says which, and
// where the rest is.
type IncompleteError struct {
	Report Report
	// Err is the first cause; nil where documents were refused one by one.
	Err error
	// Loading says that the documents came from files, in which they still are.
	Loading bool
	// Told leaves Err out of the message: the user has read it.
	Told bool
}

func (e *IncompleteError) Error() string {
	t := e.Report.Total()
	var parts []string
	add := func(n int64, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(t.Refused, "refused")
	if e.Loading {
		add(t.Spooled+t.Lost, "not sent")
	} else {
		add(t.Spooled, "spooled")
		add(t.Lost, "lost")
	}
	msg := fmt.Sprintf("not everything arrived: of %d documents %d are indexed", t.Made, t.Indexed)
	if len(parts) > 0 {
		msg += ", " + strings.Join(parts, ", ")
	}
	if e.Told {
		return msg
	}
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	} else if len(e.Report.Refusals) > 0 {
		msg += ": " + e.Report.Refusals[0].String()
	}
	return msg
}

func (e *IncompleteError) Unwrap() error { return e.Err }
