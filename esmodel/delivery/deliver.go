package delivery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
	"fiolat/fio"
	"fiolat/internal/jsonw"
	"fiolat/pipeline"

	"github.com/klauspost/compress/gzip"
)

// probesPerRequest is how often a server that is down is probed in the time that a request may take.
const probesPerRequest = 3

// batch is documents that are sent together, in the form of a bulk request.
type batch struct {
	raw   []byte
	ids   []byte
	items []item
	todo  []int32 // scratch of all
}

// item is one document of a batch: raw[at:doc] is its action line, raw[doc:end] the document, both with their
// newlines.
type item struct {
	at, doc, end int
	id, idEnd    int
	index        int32 // in BulkWriter.counts
}

// add appends a document and returns its size in bytes. If doc fails, the batch is unchanged.
func (b *batch) add(n int32, index string, id []byte, doc Appender) (int, error) {
	it := item{at: len(b.raw), id: len(b.ids), index: n}
	raw := esmodel.AppendAction(b.raw, "index", index, string(id), 0, 0)
	it.doc = len(raw)
	raw, err := doc(raw)
	if err != nil {
		return 0, err
	}
	b.raw = append(raw, '\n')
	it.end = len(b.raw)
	b.ids = append(b.ids, id...)
	it.idEnd = len(b.ids)
	b.items = append(b.items, it)
	return it.end - it.at, nil
}

func (b *batch) put(n int32, index, id string, doc []byte) {
	_, _ = b.add(n, index, []byte(id), prebuilt(doc)) // prebuilt cannot fail
}

// drop removes the last document and returns it. The result is valid until the next one is added.
func (b *batch) drop() (doc []byte) {
	last := len(b.items) - 1
	it := b.items[last]
	doc = b.raw[it.doc : it.end-1]
	b.raw, b.ids, b.items = b.raw[:it.at], b.ids[:it.id], b.items[:last]
	return doc
}

func (b *batch) idOf(i int32) []byte { return b.ids[b.items[i].id:b.items[i].idEnd] }

func (b *batch) all() []int32 {
	b.todo = b.todo[:0]
	for i := range b.items {
		b.todo = append(b.todo, int32(i))
	}
	return b.todo
}

// size returns the number of bytes of items.
func (b *batch) size(todo []int32) (n int) {
	for _, i := range todo {
		n += b.items[i].end - b.items[i].at
	}
	return n
}

// reset empties the batch and keeps its memory, unless that has grown to more than twice most.
func (b *batch) reset(most int) {
	if cap(b.raw) > 2*most {
		b.raw = nil
	}
	b.raw, b.ids, b.items = b.raw[:0], b.ids[:0], b.items[:0]
}

// deliver sends the items of todo until each has an outcome. It modifies todo.
func (w *BulkWriter) deliver(s *sender, b *batch, todo []int32, p *client.Retrier) {
	for len(todo) > 0 {
		probing, err := w.sendAllowed()
		if err != nil {
			w.setAside(b, todo)
			return
		}
		most := min(int(w.most.Load()), w.pace.bytes())
		if half := len(todo) / 2; half > 0 && most < len(b.raw) && most < b.size(todo) {
			w.deliver(s, b, todo[:half], p)
			w.deliver(s, b, todo[half:], p)
			return
		}
		before := len(todo)
		todo, err = s.attempt(w.ctx, b, todo)
		if errors.Is(err, errTooLarge) {
			continue // in halves; what already has an outcome is in neither
		}
		if err == nil || len(todo) < before {
			w.setUp()
			p.Progress()
		}
		if err == nil {
			continue // todo is empty
		}
		var passing *client.TemporaryError
		if probing && errors.As(err, &passing) {
			w.setDown(err)
			continue
		}
		err = p.Wait(w.ctx, err)
		var refused *client.RefusedError
		switch {
		case err == nil:
			w.mu.Lock()
			w.report.Retried += int64(len(todo))
			w.mu.Unlock()
		case errors.As(err, new(*client.UnavailableError)), errors.As(err, &refused) && refused.WholeRequest():
			// A refusal of whole requests, as by a wrong path or a proxy, can be corrected: keep the documents.
			w.setDown(err)
			w.setAside(b, todo)
			return
		case w.ctx.Err() != nil:
			w.setAside(b, todo)
			return
		default: // credentials, trust, not Elasticsearch: permanent
			w.fail(err)
		}
	}
}

// sendAllowed returns why a document should be set aside without being sent. While the server is down, one sender
// at a time probes it now and then: probing.
func (w *BulkWriter) sendAllowed() (probing bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.fatal != nil:
		return false, w.fatal
	case w.ctx.Err() != nil:
		return false, errInterrupted
	case w.down == nil:
		return false, nil
	case time.Now().Before(w.probe):
		return false, w.down
	}
	w.probe = time.Now().Add(w.c.Timeout / probesPerRequest)
	return true, nil
}

// setDown records that the server is down: until it is back, documents are spooled. Without a spool that is a
// permanent error.
func (w *BulkWriter) setDown(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down == nil || errors.As(err, new(*client.UnavailableError)) {
		w.down = err
	}
	w.probe = time.Now().Add(w.c.Timeout / probesPerRequest)
	if w.cfg.SpoolDir == "" && w.fatal == nil {
		w.fatal = err
	}
}

func (w *BulkWriter) setUp() {
	w.mu.Lock()
	w.down = nil
	w.mu.Unlock()
}

func (w *BulkWriter) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fatal == nil {
		w.fatal = err
	}
}

func (w *BulkWriter) setAside(b *batch, todo []int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	docs := make([][]byte, len(todo))
	for n, i := range todo {
		docs[n] = b.raw[b.items[i].at:b.items[i].end]
	}
	stored, err := w.spool.append(docs)
	if err != nil && w.fatal == nil {
		w.fatal = unspooled(err)
	}
	for n, i := range todo {
		if c := w.counts[b.items[i].index]; n < stored {
			c.Spooled++
		} else {
			c.Lost++
		}
	}
}

// Spool stores a document in the spool, without adding it to the account.
func (w *BulkWriter) Spool(index, id string, doc []byte) error {
	var b batch
	b.put(0, index, id, doc)
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.spool.append([][]byte{b.raw})
	return err
}

// Mark marks the run and returns its document as it was, nil if there was none or it is not known. body makes of
// that the document to bear the mark.
func (w *BulkWriter) Mark(ctx context.Context, run *pipeline.Run, refuse func(found []byte) error,
	body func(found []byte) []byte,
) ([]byte, error) {
	key := esmodel.KeyOf(run)
	k := indices.NewMark(w.c, w.cfg.Prefix, key, body)
	k.Refuse = refuse
	w.mu.Lock()
	w.named, w.merged, w.ready = run.Named, len(run.Parts) > 0, false
	w.marks = append(w.marks, k)
	down := w.down
	w.mu.Unlock()
	w.markMergedStale(key)
	if down != nil {
		return nil, down
	}
	err := w.retryBegin(ctx)
	if errors.As(err, new(*client.UnavailableError)) {
		w.setDown(err)
	}
	return k.Found, err
}

// retryBegin is begin, and retries temporary errors.
func (w *BulkWriter) retryBegin(ctx context.Context) error {
	p := w.c.Retrier("mark the run", w.cfg.MaxWait)
	for {
		err := w.begin(ctx)
		if err == nil {
			return nil
		}
		if err = p.Wait(ctx, err); err != nil {
			return err
		}
	}
}

// begin sets the marks, once; the error may be temporary.
func (w *BulkWriter) begin(ctx context.Context) error {
	w.marking <- struct{}{}
	defer func() { <-w.marking }()
	w.mu.Lock()
	ready := w.ready
	w.mu.Unlock()
	if ready {
		return nil
	}
	for _, k := range w.marks {
		if err := k.Set(ctx); err != nil {
			return err
		}
	}
	for _, k := range w.marks {
		err := k.WholeOrParts(ctx, w.merged || len(esmodel.PartsOf(k.Doc)) > 0)
		if errors.As(err, new(*fio.ParseError)) || err != nil && ctx.Err() != nil { // nothing was sent
			late, cancel := client.WithGracePeriod(ctx, client.DrainTime)
			for _, k := range w.marks {
				err = errors.Join(err, k.Restore(late))
			}
			cancel()
		}
		if err != nil {
			return err
		}
	}
	for _, k := range w.wholes {
		if err := k.Unmark(ctx); err != nil {
			return err
		}
	}
	w.mu.Lock()
	w.ready = true
	w.mu.Unlock()
	return nil
}

// markOf returns the mark on a document; nil if the writer has none.
func (w *BulkWriter) markOf(id string) *indices.Mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.marks {
		if k.ID == id {
			return k
		}
	}
	return nil
}

// Release stores the last document of the run and removes the mark. If counted is set, the document has an
// outcome in the account like any other, and nil does not mean that it is stored.
func (w *BulkWriter) Release(ctx context.Context, index, id string, doc []byte, counted bool) error {
	k := w.markOf(id)
	if k == nil {
		return nil
	}
	n, _ := w.numberOf(index)
	var b batch
	b.put(n, index, id, doc)
	made := func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.counts[n].Made++
		w.counts[n].Bytes += int64(len(b.raw))
	}
	p := w.c.Retrier("store "+index+"/"+id, w.cfg.MaxWait)
	for {
		w.mu.Lock()
		down, err := w.down, w.fatal
		w.mu.Unlock()
		var no *client.ForbiddenError
		wrong := errors.As(err, &no) && no.Status == http.StatusUnauthorized
		// What keeps other documents away, such as a wrong mapping, need not keep this one.
		if !wrong {
			if err = k.Set(ctx); err == nil {
				err = k.Remove(ctx, w.cfg.Refresh, func(found []byte) []byte {
					return esmodel.Keep(doc, found, w.named) // with labels that were set meanwhile
				})
			}
		}
		if err != nil && down == nil {
			if err = p.Wait(ctx, err); err == nil {
				continue
			}
		}
		var refused *client.RefusedError
		switch {
		case err == nil:
			w.setUp()
			if counted {
				made()
				w.acknowledge(n)
			}
			return nil
		case errors.As(err, new(*indices.MarkError)), ctx.Err() != nil, !counted:
			return err
		case errors.As(err, &refused) && !refused.WholeRequest():
			made()
			w.refuse(&b, 0, refused)
			return nil
		case refused != nil,
			errors.As(err, new(*client.UnavailableError)),
			errors.As(err, new(*client.TemporaryError)):
			w.setDown(err)
			err = nil
		default: // credentials, trust
			w.fail(err)
		}
		made()
		w.setAside(&b, b.all())
		return err
	}
}

type sender struct {
	w     *BulkWriter
	gz    *gzip.Writer
	buf   bytes.Buffer
	parts [][]byte
	items []client.BulkItem
}

func (w *BulkWriter) newSender() *sender {
	s := &sender{w: w}
	if w.cfg.GzipLevel > 0 {
		s.gz, _ = gzip.NewWriterLevel(io.Discard, w.cfg.GzipLevel)
	}
	return s
}

// errTooLarge says that the request must be split.
var errTooLarge = errors.New("the request is too large")

// attempt sends the items of todo once and records the outcome of each. It returns, in the memory of todo,
// those to be sent again, and why. An empty result and a nil error mean that all have an outcome.
func (s *sender) attempt(ctx context.Context, b *batch, todo []int32) ([]int32, error) {
	w := s.w
	err := w.begin(ctx)
	if err == nil {
		err = w.prepare(ctx, b, todo)
	}
	if err != nil {
		return todo, err
	}
	body, encoding := s.encode(b, todo)
	defer body.Close()
	w.mu.Lock()
	w.report.Requests++
	w.mu.Unlock()
	wait, at := w.pace.wait()
	r := client.BulkRequest{Op: "send documents", Body: body, Encoding: encoding, Refresh: w.cfg.Refresh, Timeout: wait}
	sent := time.Now()
	items, err := w.c.Bulk(ctx, r, len(todo), func(i int) []byte { return b.idOf(todo[i]) }, s.items[:0])
	var refused *client.RefusedError
	if errors.As(err, &refused) && refused.Status == http.StatusRequestEntityTooLarge {
		if len(todo) > 1 {
			w.mu.Lock() // two answers at once: the smaller size stays
			w.most.Store(min(w.most.Load(), int64(b.size(todo)/2)))
			w.mu.Unlock()
			return todo, errTooLarge
		}
		w.refuse(b, todo[0], refused)
		return todo[:0], nil
	}
	if errors.Is(err, client.ErrNoAnswer) {
		w.pace.missed(at)
	}
	if err != nil {
		// The outcome may be unknown; because of their ids the documents can safely be sent again.
		return todo, err
	}
	w.pace.answered(at, time.Since(sent))
	if items == nil {
		for _, i := range todo {
			w.acknowledge(b.items[i].index)
		}
		return todo[:0], nil
	}
	s.items = items
	w.mu.Lock()
	events := w.events
	w.mu.Unlock()
	left := todo[:0]
	var again, fatal error
	for n, i := range todo {
		it := &b.items[i]
		err := items[n].Err("send documents to " + w.indexOf(b, i))
		switch {
		case err == nil, events[it.index] && items[n].Status == http.StatusConflict: // it is there
			w.acknowledge(it.index)
		case errors.As(err, new(*client.TemporaryError)):
			left = append(left, i)
			again = err
		case errors.As(err, &refused):
			w.refuse(b, i, refused)
		default:
			left = append(left, i)
			fatal = err
		}
	}
	if fatal != nil {
		return left, fatal
	}
	return left, again
}

// encode makes the request for todo. Without compression the documents remain in the memory of the batch.
func (s *sender) encode(b *batch, todo []int32) (body *detachable, encoding string) {
	s.parts = s.parts[:0]
	from, to := 0, 0 // of raw, not yet in parts
	s.w.mu.Lock()
	events := s.w.events
	s.w.mu.Unlock()
	for _, i := range todo {
		it := &b.items[i]
		event := events[it.index]
		if it.at != to || event {
			s.parts = append(s.parts, b.raw[from:to])
			from = it.at
		}
		to = it.end
		if event {
			s.parts = append(s.parts, s.w.event(b, i))
			from = to
		}
	}
	s.parts = append(s.parts, b.raw[from:to])
	if s.gz != nil {
		s.buf.Reset()
		s.gz.Reset(&s.buf)
		for _, p := range s.parts {
			_, _ = s.gz.Write(p) // into memory: cannot fail
		}
		_ = s.gz.Close()
		s.parts, encoding = append(s.parts[:0], s.buf.Bytes()), "gzip"
	}
	body = &detachable{parts: s.parts}
	for _, p := range s.parts {
		body.size += len(p)
	}
	body.left = body.size
	return body, encoding
}

// event returns what is sent of an event: with the time, and only if it is not there already, so that nobody is alerted
// twice.
func (w *BulkWriter) event(b *batch, i int32) []byte {
	it := b.items[i]
	doc, err := esmodel.Ingested(b.raw[it.doc:it.end-1], nil, time.Now())
	if err != nil { // it cannot fail without a stored one
		doc = b.raw[it.doc : it.end-1]
	}
	return append(append(esmodel.AppendAction(nil, "create", w.indexOf(b, i), string(b.idOf(i)), 0, 0), doc...), '\n')
}

func (w *BulkWriter) acknowledge(index int32) {
	w.mu.Lock()
	w.counts[index].Indexed++
	w.mu.Unlock()
}

// refuse keeps a document that Elasticsearch refused permanently, with the reason in its action line:
// {"index":{...},"_error":{...}}.
func (w *BulkWriter) refuse(b *batch, i int32, e *client.RefusedError) {
	it := b.items[i]
	kept := jsonw.Object(slices.Clone(b.raw[it.at : it.doc-2])) // without its closing brace
	kept = kept.Open("_error").Int("status", int64(e.Status)).Text("type", e.Type).Text("reason", e.Reason)
	kept = append(append(kept, "}}\n"...), b.raw[it.doc:it.end]...)
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.refused.append([][]byte{kept})
	w.counts[it.index].Refused++
	if err != nil && w.fatal == nil {
		w.fatal = fmt.Errorf("a document that Elasticsearch refused cannot be kept: %w", err)
	}
	w.report.refuse(
		Refusal{Index: w.names[it.index], ID: string(b.idOf(i)), Status: e.Status, Type: e.Type, Reason: e.Reason},
	)
}

func (w *BulkWriter) indexOf(b *batch, i int32) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.names[b.items[i].index]
}

// detachable is a request body that can be detached from its memory, because the transport may go on reading it
// after Bulk has returned.
type detachable struct {
	mu         sync.Mutex
	parts      [][]byte
	size, left int
	closed     bool
}

// Len is used for the Content-Length of the request.
func (d *detachable) Len() int { return d.size }

func (d *detachable) Read(p []byte) (n int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return 0, io.ErrClosedPipe
	}
	if d.left == 0 {
		return 0, io.EOF
	}
	for most := min(len(p), d.left); n < most; {
		m := copy(p[n:most], d.parts[0])
		d.parts[0] = d.parts[0][m:]
		if len(d.parts[0]) == 0 {
			d.parts = d.parts[1:]
		}
		n += m
	}
	d.left -= n
	return n, nil
}

func (d *detachable) Close() error {
	d.mu.Lock()
	d.parts, d.closed = nil, true
	d.mu.Unlock()
	return nil
}
