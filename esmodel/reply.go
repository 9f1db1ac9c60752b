package esmodel

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// bulkPath asks for no more of a reply than what is looked at: of an accepted
// document a tenth of what Elasticsearch would say.
const bulkPath = "/_bulk?filter_path=error,status,items.*._id,items.*.status," +
	"items.*.error.type,items.*.error.reason,items.*.error.caused_by.type,items.*.error.caused_by.reason"

// replyLimit is the longest reply that is read about n documents. A reason quotes
// parts of its document; it does not get longer than this.
func replyLimit(n int) int64 { return min(1<<20+int64(n)*8<<10, 256<<20) }

// bulkRequest is a call of the _bulk API.
type bulkRequest struct {
	op       string
	body     io.Reader
	encoding string // of the body; "" is none
	refresh  bool   // make documents visible to searches before the reply
	versions bool   // ask for the versions stored
}

// bulk makes a bulk request about n documents, once, and appends to dst what Elasticsearch
// says of each. It returns nil if all were stored. A reply about documents with other ids
// than those of id is an error that may pass.
func (c *Client) bulk(ctx context.Context, r bulkRequest, n int, id func(i int) []byte, dst []replyItem) ([]replyItem, error) {
	path := bulkPath
	if r.versions {
		path += ",items.*._seq_no,items.*._primary_term"
	}
	if r.refresh {
		path += "&refresh=true"
	}
	req := Request{Op: r.op, Method: http.MethodPost, Path: path}
	reply, err := c.perform(ctx, req, r.body, "application/x-ndjson", r.encoding, replyLimit(n))
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
			err = fmt.Errorf("the reply is about document %q where %q was sent", c.secrets.Hide(string(items[i].id)), id(i))
		}
	}
	if err != nil {
		return nil, &temporaryError{err: err}
	}
	return items, nil
}

// allStored says whether a reply is, byte for byte, that all n documents were stored.
// Nearly all replies are, and this takes a twentieth of the time of decoding (BenchmarkReply).
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
		if ok = ok && (bytes.HasPrefix(rest, []byte("0}}")) || bytes.HasPrefix(rest, []byte("1}}"))); ok {
			rest = rest[3:]
		}
	}
	return ok && string(rest) == "]}"
}

// replyItem is what Elasticsearch says of one document. id is part of the reply.
type replyItem struct {
	id        []byte
	status    int
	seq, term int64 // of the version stored, if they were asked for; else -1
	cause     cause
}

// err is nil for a document that was stored or deleted, else a *temporaryError,
// a *ForbiddenError or a *RefusedError.
func (r *replyItem) err(op string) error {
	switch {
	case r.status >= 200 && r.status < 300:
		return nil
	case transient(r.status) || blocked(r.status, r.cause.Type):
		return &temporaryError{err: fmt.Errorf("%d %s: %s", r.status, r.cause.Type, r.cause.text())}
	case r.status == http.StatusUnauthorized || r.status == http.StatusForbidden:
		return forbidden(op, r.status, r.cause.text())
	}
	return &RefusedError{Op: op, Status: r.status, Type: r.cause.Type, Reason: r.cause.text()}
}

// parseReply is the function of that name, without secrets in what it returns.
func (c *Client) parseReply(data []byte, dst []replyItem) ([]replyItem, error) {
	items, err := parseReply(data, dst)
	for i := len(dst); i < len(items); i++ {
		c.clean(&items[i].cause)
	}
	return items, c.hide(err)
}

// parseReply reads the reply to a bulk request, appending to dst an item for each
// document. It believes only what it understands completely.
func parseReply(data []byte, dst []replyItem) ([]replyItem, error) {
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
		r := replyItem{id: []byte(a.ID), status: a.Status, seq: -1, term: -1, cause: readCause(a.Error)}
		if a.Seq != nil && a.Term != nil {
			r.seq, r.term = *a.Seq, *a.Term
		}
		dst = append(dst, r)
	}
	return dst, nil
}

type replyAction struct {
	ID     string          `json:"_id"`
	Status int             `json:"status"`
	Seq    *int64          `json:"_seq_no"`
	Term   *int64          `json:"_primary_term"`
	Error  json.RawMessage `json:"error"`
}
