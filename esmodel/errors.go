package esmodel

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"fiolat/internal/errs"
)

var (
	// ErrNotElasticsearch says that whatever answers at the address does not name
	// itself Elasticsearch.
	ErrNotElasticsearch = errors.New("the server does not say that it is Elasticsearch")

	errLongReply = errors.New("the reply is longer")
)

// UsageError is a setting that cannot be; nothing was sent.
type UsageError struct {
	Msg  string
	Hint string // what to do about it
}

func (e *UsageError) Error() string { return withHint(errs.Printable(e.Msg), e.Hint) }

// UnavailableError says that Elasticsearch could not be reached, or did not take a
// request, for as long as we were to wait.
type UnavailableError struct {
	Op     string
	Waited time.Duration
	Err    error
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%s: gave up after %v: %v", e.Op, e.Waited.Round(100*time.Millisecond), e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// ForbiddenError is Elasticsearch's 401 or 403: who we are, or what we may do.
type ForbiddenError struct {
	Op     string
	Status int
	// Node is who said so, HOST:PORT; "" where it was said of a single document.
	Node string
	// User is whom Elasticsearch took us for; "" where it does not say.
	User string
	// Privilege is the narrowest privilege that would do, Level is cluster or index;
	// both "" where Elasticsearch does not say.
	Privilege, Level string
	Reason           string
}

func (e *ForbiddenError) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	b.WriteString(": ")
	switch {
	case e.Status == 401:
		b.WriteString("Elasticsearch ")
		if e.Node != "" {
			b.WriteString("at " + e.Node + " ")
		}
		b.WriteString("does not accept the credentials")
	case e.Privilege != "":
		fmt.Fprintf(&b, "user %q lacks the %s privilege %q", e.User, e.Level, e.Privilege)
	default:
		b.WriteString("not allowed")
	}
	if e.Reason != "" {
		fmt.Fprintf(&b, " (%d: %s)", e.Status, errs.Printable(e.Reason))
	}
	if e.Status == 401 {
		b.WriteString("; check the user and the password, the API key or the service token")
	}
	return b.String()
}

// RefusedError is a request or a document that Elasticsearch refused for good:
// sending it again changes nothing.
type RefusedError struct {
	Op           string
	Status       int
	Type, Reason string

	request bool // the request as a whole, not a document in it
	absent  bool // Elasticsearch says that the document, or its index, is not there
}

// whole says that the request was refused, whatever documents it was about: 413 is about
// their size.
func (e *RefusedError) whole() bool { return e.request && e.Status != http.StatusRequestEntityTooLarge }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s: refused with %d %s: %s", e.Op, e.Status, errs.Printable(e.Type), errs.Printable(e.Reason))
}

// TrustError is a connection that must not be used: the certificate is not what was
// asked for, only one side speaks TLS, or the server sends us elsewhere. Waiting
// does not help, so nothing is tried again.
type TrustError struct {
	Node string // HOST:PORT, "" where it is said elsewhere
	Msg  string
	Hint string
	Err  error
}

func (e *TrustError) Error() string {
	msg := e.Msg
	if e.Node != "" {
		msg = e.Node + ": " + msg
	}
	return withHint(errs.Printable(msg), e.Hint)
}

func (e *TrustError) Unwrap() error { return e.Err }

// OutputError is a file of ours that cannot be written: a full disk, a directory
// that takes no files.
type OutputError struct {
	Path string
	Err  error
}

// outputError leaves out of err which file it is about.
func outputError(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &OutputError{Path: path, Err: err}
}

func (e *OutputError) Error() string {
	return fmt.Sprintf("write %s: %v", errs.Printable(e.Path), e.Err)
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
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	} else if len(e.Report.Refusals) > 0 {
		msg += ": " + e.Report.Refusals[0].String()
	}
	return msg
}

func (e *IncompleteError) Unwrap() error { return e.Err }

func withHint(msg, hint string) string {
	if hint == "" {
		return msg
	}
	return msg + "; " + hint
}

// temporaryError is what may go away by itself: 429, 5xx, a broken connection, a
// time-out, a reply that cannot be read.
type temporaryError struct {
	err   error
	after time.Duration // Retry-After, 0 without
}

func (e *temporaryError) Error() string { return e.err.Error() }
func (e *temporaryError) Unwrap() error { return e.err }
