package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"fiolat/internal/again"
)

// bulkReply are the fields of the reply that are read, a fraction of what Elasticsearch would send.
var bulkReply = []string{"error", "status", "items.*._id", "items.*.status", "items.*.error.type",
	"items.*.error.reason", "items.*.error.caused_by.type", "items.*.error.caused_by.reason"}

// replyLimit is the longest reply that is read about n documents, in bytes. It has room for error reasons,
// which quote parts of their documents.
func replyLimit(n int) int64 { return min(1<<20+int64(n)*8<<10, 256<<20) }

// BulkRequest is a call of the _bulk API.
type BulkRequest struct {
	Op       string
	Body     io.Reader
	Encoding string // of the body; "" is none
	Refresh  bool   // make documents visible to searches before the reply
	Needs    string // see Request
	Timeout  time.Duration
}

// Bulk makes a bulk request about n documents, without retries, and appends the item of each to dst. It returns
// nil if all were stored. A reply about documents with other ids than those of id is a temporary error.
func (c *Client) Bulk(
	ctx context.Context,
	r BulkRequest,
	n int,
	id func(i int) []byte,
	dst []BulkItem,
) ([]BulkItem, error) {
	api := esapi.BulkRequest{FilterPath: bulkReply}
	if r.Refresh {
		api.Refresh = "true"
	}
	call := Request{Op: r.Op, API: api, Needs: r.Needs, Timeout: r.Timeout}
	reply, err := c.perform(ctx, call, r.Body, "application/x-ndjson", r.Encoding, replyLimit(n))
	if err != nil {
		return nil, err
	}
	if allStored(reply, n, id) {
		return nil, nil
	}
	items, err := c.parseReply(reply, dst)
	if err == nil && len(items) != n {
		err = fmt.Errorf("the reply is about %d documents, %d were sent", len(items), n)
	}
	for i := 0; err == nil && i < n; i++ {
		if !bytes.Equal(items[i].id, id(i)) {
			err = fmt.Errorf(
				"the reply is about document %q where %q was sent",
				c.secrets.Hide(string(items[i].id)),
				id(i),
			)
		}
		items[i].needs = r.Needs
	}
	if err != nil {
		return nil, &TemporaryError{Err: err}
	}
	return items, nil
}

// allStored reports whether a reply says, byte for byte, that all n documents were stored. Nearly all replies
// do, and this is much faster than decoding (BenchmarkReply).
func allStored(reply []byte, n int, id func(i int) []byte) bool {
	rest, ok := bytes.CutPrefix(reply, []byte(`{"items":[`))
	for i := 0; ok && i < n; i++ {
		if i > 0 {
			rest, ok = bytes.CutPrefix(rest, []byte(","))
		}
		if ok {
			rest, ok = bytes.CutPrefix(rest, []byte(`{"index":{"_id":"`))
		}
		if ok {
			rest, ok = bytes.CutPrefix(rest, id(i))
		}
		if ok {
			rest, ok = bytes.CutPrefix(rest, []byte(`","status":20`))
		}
		ok = ok && (bytes.HasPrefix(rest, []byte("0}}")) || bytes.HasPrefix(rest, []byte("1}}")))
		if ok {
			rest = rest[3:]
		}
	}
	return ok && string(rest) == "]}"
}

// BulkItem is the result for one document.
type BulkItem struct {
	id     []byte
	Status int
	cause  cause
	needs  string
	shown  func(string) string
}

// Err returns nil for a document that was stored or deleted, else a *TemporaryError, a *ForbiddenError or a
// *RefusedError.
func (r *BulkItem) Err(op string) error {
	switch {
	case r.Status >= 200 && r.Status < 300:
		return nil
	case again.Status(r.Status) || blocked(r.Status, r.cause.Type):
		return &TemporaryError{Err: fmt.Errorf("%d %s: %s", r.Status, r.cause.Type, r.shown(r.cause.text()))}
	case r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden:
		e := forbidden(op, r.needs, r.Status, r.cause.text())
		e.Reason = r.shown(e.Reason)
		return e
	}
	return &RefusedError{Op: op, Status: r.Status, Type: r.cause.Type, Reason: r.shown(r.cause.text())}
}

// parseReply is the function parseReply, with secrets removed from its results.
func (c *Client) parseReply(data []byte, dst []BulkItem) ([]BulkItem, error) {
	items, err := parseReply(data, dst)
	for i := len(dst); i < len(items); i++ {
		c.clean(&items[i].cause)
		items[i].shown = c.shown
	}
	return items, c.Hide(err)
}

// parseReply reads the reply to a bulk request and appends an item for each document to dst. A reply that it
// does not understand completely is an error.
func parseReply(data []byte, dst []BulkItem) ([]BulkItem, error) {
	var reply struct {
		Items []struct {
			Index  *replyAction `json:"index"`
			Create *replyAction `json:"create"`
			Delete *replyAction `json:"delete"`
		} `json:"items"`
	}
	if err := json.Unmarshal(data, &reply); err != nil {
		return dst, fmt.Errorf("the reply cannot be read: %w", err)
	}
	for i, it := range reply.Items {
		var a *replyAction
		n := 0
		for _, b := range []*replyAction{it.Index, it.Create, it.Delete} {
			if b != nil {
				a = b
				n++
			}
		}
		if n != 1 || a.Status < 100 || a.Status > 599 {
			return dst, fmt.Errorf("item %d of the reply cannot be read", i+1)
		}
		dst = append(dst, BulkItem{id: []byte(a.ID), Status: a.Status, cause: readCause(a.Error)})
	}
	return dst, nil
}

type replyAction struct {
	ID     string          `json:"_id"`
	Status int             `json:"status"`
	Error  json.RawMessage `json:"error"`
}
