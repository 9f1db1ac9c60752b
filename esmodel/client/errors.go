package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"fiolat/esmodel"
	"fiolat/fio"
)

// filesInstead is what to do without Elasticsearch.
const filesInstead = "leave out --es and ELASTICSEARCH_URL: fiolat ingest --output DIR writes files for _bulk, which " +
	"fiolat load sends later"

var (
	// errNotElasticsearch says that the server does not identify itself as Elasticsearch.
	errNotElasticsearch = errors.New("the server does not say that it is Elasticsearch: it is OpenSearch or " +
		"another program, which fiolat does not support, or a proxy removes the header X-Elastic-Product from its " +
		"replies; let the proxy pass it, or " + filesInstead)

	errLongReply = errors.New("the reply is longer")
)

// ErrNoAnswer is why a request was given up that took too long.
var ErrNoAnswer = errors.New("no answer")

// UnavailableError says that Elasticsearch could not be reached, or did not accept a request, until the retries
// ended.
type UnavailableError struct {
	Op     string
	Waited time.Duration
	Err    error
	Never  string // the cluster, if none of its nodes has ever answered
}

func (e *UnavailableError) Error() string {
	never := ""
	if e.Never != "" {
		never = e.Never + " was never reached: "
	}
	return fmt.Sprintf("%s: gave up after %v: %s%v", e.Op, e.Waited.Round(100*time.Millisecond), never, e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// ForbiddenError is a 401 or 403 of Elasticsearch: wrong credentials, or a missing privilege.
type ForbiddenError struct {
	Op     string
	Status int
	// Node is the HOST:PORT that answered; "" if it is about a single document.
	Node string
	// User is the user that Elasticsearch saw; "" if unknown.
	User string
	// Privilege is the narrowest sufficient privilege, Level is cluster or index; both are "" if unknown.
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
		fmt.Fprintf(&b, " (%d: %s)", e.Status, fio.Printable(e.Reason))
	}
	if e.Status == 401 {
		b.WriteString("; check the user and the password, the API key or the service token")
	}
	return b.String()
}

// RefusedError is a request or a document that Elasticsearch refused permanently: a retry changes nothing.
type RefusedError struct {
	Op           string
	Status       int
	Type, Reason string

	request bool // the request as a whole, not a document in it
	lost    bool // the server no longer has the open search
	Absent  bool // Elasticsearch says that the document, or its index, is not there
}

// WholeRequest reports whether the request was refused regardless of its documents. A 413 depends on their
// size.
func (e *RefusedError) WholeRequest() bool {
	return e.request && e.Status != http.StatusRequestEntityTooLarge
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s: refused with %d %s: %s", e.Op, e.Status, fio.Printable(e.Type), fio.Printable(e.Reason))
}

// TrustError is a connection that must not be used: the certificate is not the expected one, only one side
// speaks TLS, or the server redirects. It is never retried.
type TrustError struct {
	Node string // HOST:PORT; may be ""
	Msg  string
	Hint string
	Err  error
}

func (e *TrustError) Error() string {
	msg := e.Msg
	if e.Node != "" {
		msg = e.Node + ": " + msg
	}
	return esmodel.WithHint(fio.Printable(msg), e.Hint)
}

func (e *TrustError) Unwrap() error { return e.Err }

// TemporaryError is an error that may pass: 429, 5xx, a broken connection, a timeout, a reply that cannot be
// read.
type TemporaryError struct {
	Err   error
	After time.Duration // Retry-After, 0 without
}

func (e *TemporaryError) Error() string { return e.Err.Error() }
func (e *TemporaryError) Unwrap() error { return e.Err }
