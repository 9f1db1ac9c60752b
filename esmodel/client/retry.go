package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"fiolat/internal/again"
)

// blocked reports whether an index temporarily accepts no writes: read-only, or out of disk space. The status
// is 403, but it is not about privileges.
func blocked(status int, typ string) bool {
	return status == http.StatusForbidden && typ == "cluster_block_exception"
}

// cause is Elasticsearch's description of an error.
type cause struct {
	Type     string `json:"type"`
	Reason   string `json:"reason"`
	CausedBy *cause `json:"caused_by"`
	Roots    []struct {
		Type string `json:"type"`
	} `json:"root_cause"` // one for each kind of shard failure
}

// is reports whether the error, or an error of a shard in a search, has a type.
func (c *cause) is(typ string) bool {
	for _, r := range c.Roots {
		if r.Type == typ {
			return true
		}
	}
	return c.Type == typ
}

// text returns the reason and those of its causes, which often name the real problem.
func (c *cause) text() string {
	var parts []string
	for ; c != nil && len(parts) < 4; c = c.CausedBy {
		if c.Reason != "" && (len(parts) == 0 || !strings.Contains(parts[len(parts)-1], c.Reason)) {
			parts = append(parts, c.Reason)
		}
	}
	return strings.Join(parts, ": ")
}

// readCause reads both forms of "error": an object and a plain string.
func readCause(raw json.RawMessage) cause {
	var c cause
	if len(raw) == 0 {
		return c
	}
	if json.Unmarshal(raw, &c) != nil {
		c = cause{Type: "error"}
		if json.Unmarshal(raw, &c.Reason) != nil {
			c.Reason = string(raw)
		}
	}
	return c
}

// statusError classifies a reply that is not a success.
func (c *Client) statusError(r Request, node *url.URL, status int, header http.Header, body []byte) error {
	var reply struct {
		Error json.RawMessage `json:"error"`
		Found *bool           `json:"found"`
	}
	var why cause
	if json.Unmarshal(body, &reply) == nil && len(reply.Error) > 0 {
		why = readCause(reply.Error)
	} else {
		text := c.secrets.Hide(
			string(body[:min(len(body), 64<<10)]),
		) // before cutting, so that no half of a secret shows
		why = cause{Type: http.StatusText(status), Reason: strings.TrimSpace(text[:min(len(text), 200)])}
	}
	c.clean(&why)
	switch {
	case again.Status(status) || blocked(status, why.Type) ||
		why.is("illegal_index_shard_state_exception"): // a 404 while a shard is created or recovers
		return &TemporaryError{
			Err:   fmt.Errorf("%d %s: %s", status, why.Type, c.shown(why.text())),
			After: retryAfter(header.Get("Retry-After"), time.Now()),
		}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e := forbidden(r.Op, r.Needs, status, why.text())
		e.Node, e.Reason = node.Host, c.shown(e.Reason)
		return e
	case status < 400:
		return &TrustError{Node: node.Host, Msg: fmt.Sprintf("the server answers with a redirect (%d)", status),
			Hint: "redirects are not followed, they would carry credentials elsewhere; give the server's own address"}
	case why.is("search_context_missing_exception"):
		why.Reason = "the server lost an open search, perhaps because it restarted; run again"
		return &RefusedError{Op: r.Op, Status: status, Type: why.Type, Reason: why.Reason, request: true, lost: true}
	}
	absent := status == http.StatusNotFound &&
		(reply.Found != nil && !*reply.Found || why.Type == "index_not_found_exception")
	return &RefusedError{Op: r.Op, Status: status, Type: why.Type, Reason: c.shown(why.text()), request: true,
		Absent: absent}
}

// forbidden parses Elasticsearch's reason: "action [...] is unauthorized for user [x] ..., this action is
// granted by the index privileges [create_index,manage,all]". The first privilege is the narrowest, but what the caller
// needs, or else those that fiolat's roles are made of, come before it: see docs/security.md.
func forbidden(op, needs string, status int, reason string) *ForbiddenError {
	e := &ForbiddenError{Op: op, Status: status, Reason: reason}
	if m := regexp.MustCompile(
		`(?:user|API key id|service account) \[([^\]]*)\]`,
	).FindStringSubmatch(reason); m != nil {
		e.User = m[1]
	}
	if m := regexp.MustCompile(
		`granted by the (cluster|index) privileges \[([^\]]*)\]`,
	).FindStringSubmatch(reason); m != nil {
		e.Level = m[1]
		names := strings.Split(m[2], ",")
		e.Privilege = names[0]
		for _, ours := range []string{needs, "read", "index", "create_index"} {
			if slices.Contains(names, ours) {
				e.Privilege = ours
				break
			}
		}
	}
	return e
}

// retryAfter reads both forms of the header, seconds and a date; 0 for anything else.
func retryAfter(h string, now time.Time) time.Duration {
	h = strings.TrimSpace(h)
	if h == "" {
		return 0
	}
	if s, err := strconv.ParseUint(h, 10, 31); err == nil {
		return time.Duration(s) * time.Second
	}
	if t, err := http.ParseTime(h); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

// Retrier spaces out the attempts at an operation with exponential backoff and jitter, for at most max since its
// last progress.
type Retrier struct {
	c     *Client
	op    string
	max   time.Duration
	back  backoff.ExponentialBackOff
	since time.Time // the first failure after the last progress
}

// Retrier begins the attempts at op, which end when there is no progress for most.
func (c *Client) Retrier(op string, most time.Duration) *Retrier {
	p := &Retrier{c: c, op: op, max: most, back: backoff.ExponentialBackOff{
		InitialInterval: c.first, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: 15 * time.Second,
	}}
	p.back.Reset()
	return p
}

// Progress says that part of the operation succeeded: backoff and time limit start anew.
func (p *Retrier) Progress() {
	p.since = time.Time{}
	p.back.Reset()
}

// Wait returns nil when it is time to retry after err. Otherwise it says why not: err itself if it is not
// temporary, an *UnavailableError when the time is over, or the context's cause.
func (p *Retrier) Wait(ctx context.Context, err error) error {
	var t *TemporaryError
	if !errors.As(err, &t) {
		return err
	}
	now := time.Now()
	if p.since.IsZero() {
		p.since = now
	}
	left, waited := p.max-now.Sub(p.since), now.Sub(p.since)
	begun, never := p.c.begun.Load(), ""
	if begun != nil && !p.c.answered.Load() {
		never = p.c.where
		if p.c.unreached > 0 {
			waited = now.Sub(*begun)
			left = min(left, p.c.unreached-waited)
		}
	}
	if left <= 0 {
		return &UnavailableError{Op: p.op, Waited: waited, Err: t.Err, Never: never}
	}
	// The last attempt is made when the time ends, however long the pause would be.
	next := min(max(p.back.NextBackOff(), t.After), left)
	if p.c.onWait != nil && (never == "" || p.c.unreached == 0) { // else the error comes soon
		p.c.onWait(Wait{Op: p.op, Err: t.Err, Next: next, Left: left})
	}
	timer := time.NewTimer(next)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// WithGracePeriod returns a context that ends d after ctx does, for work that an interruption must not cut off at
// once.
func WithGracePeriod(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(d):
			cancel()
		case <-later.Done():
		}
	})
	return later, func() { stop(); cancel() }
}
