package esmodel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fiolat/pipeline"
)

// MismatchError says that Elasticsearch holds another number of documents of a
// run's generation than were made and acknowledged: something that heeds no claim has
// changed them, or other logs were ingested under the same --run-id.
type MismatchError struct {
	Run         string
	Kind        Kind
	Made, Found int64
}

func (e *MismatchError) Error() string {
	hint := "something else deleted or replaced them: run again"
	if e.Found > e.Made {
		hint = "other logs were ingested under the same --run-id: fiolat delete it, then run again"
	}
	return fmt.Sprintf("run %q has %d %s documents where %d were made; %s", e.Run, e.Found, e.Kind, e.Made, hint)
}

// generation names the documents of one generation of a run, or of a part of it, of
// one kind of latency.
type generation struct{ run, part, kind, generation string }

func generationOf(run *pipeline.Run) generation {
	return generation{run.ID, run.Part, run.Kind.String(), run.Generation}
}

// concluded are the kinds whose documents belong to a generation.
var concluded = []Kind{KindHistogram, KindPercentiles, KindProbe, KindEvent}

// Conclude checks that all is there and removes the run's other generations.
func (w *BulkWriter) Conclude(ctx context.Context, run *pipeline.Run) error {
	r := w.Report()
	if r.Total().Incomplete() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.probe = time.Now() // the document of the run is worth another try: it says that it is partial
		return &IncompleteError{Report: r, Err: w.down}
	}
	made := map[Kind]int64{KindHistogram: 0, KindPercentiles: 0}
	for index, c := range r.Indices {
		kind, ok := KindOf(w.cfg.Prefix, index)
		if kind == KindEvent && run.Live {
			continue // they belong to no generation
		}
		if ok && kind != KindRun {
			made[kind] += c.Made
		}
	}
	deleted, err := w.c.conclude(ctx, w.cfg.Prefix, generationOf(run), made, r.Names(), w.hold)
	w.noteDeleted(deleted)
	// What is still to come is the document of the run. Whoever asks Elasticsearch next
	// sees it; else that takes a second.
	w.cfg.Refresh = true
	return err
}

func (w *BulkWriter) noteDeleted(deleted map[string]int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for index, n := range deleted {
		c := w.report.Indices[index]
		c.Deleted += n
		w.report.Indices[index] = c
	}
}

// conclude makes a generation the only one of its run: refresh, count, delete, until there
// is nothing to delete. touched are indices that have documents of it; hold says whether we
// may delete.
func (c *Client) conclude(
	ctx context.Context,
	prefix string,
	g generation,
	made map[Kind]int64,
	touched []string,
	hold holder,
) (map[string]int64, error) {
	deleted := map[string]int64{}
	if err := c.refresh(ctx, prefix, touched); err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		only, err := c.whole(ctx, prefix, g, made)
		if err == nil && !only && tries == 3 {
			err = fault(
				g.run,
				g.part,
				"run it again",
				"documents of other settings are still there after they were deleted: something else writes them",
			)
		}
		if err != nil || only {
			return deleted, err
		}
		if err = c.retire(ctx, prefix, g, hold, deleted); err == nil {
			err = c.refresh(ctx, prefix, slices.Sorted(maps.Keys(deleted)))
		}
		if err != nil {
			return deleted, err
		}
	}
}

// whole says whether a generation is the only one of its run; if it has not the documents
// that were made, the error is a *MismatchError.
func (c *Client) whole(ctx context.Context, prefix string, g generation, made map[Kind]int64) (only bool, err error) {
	// All at once, for the server is idle by now. Mostly there is no other generation,
	// and counting it takes less than a search for what is to be deleted.
	var counting sync.WaitGroup
	found, errs := make([]int64, len(concluded)), make([]error, len(concluded))
	for i, kind := range concluded {
		if _, ok := made[kind]; ok {
			counting.Go(func() { found[i], errs[i] = c.count(ctx, Pattern(prefix, kind), g.query(true)) })
		}
	}
	others, err := c.count(ctx, patterns(prefix), g.query(false))
	counting.Wait()
	for i, kind := range concluded {
		if want := made[kind]; errs[i] == nil && found[i] != want {
			errs[i] = &MismatchError{Run: g.run, Kind: kind, Made: want, Found: found[i]}
		}
		if errs[i] != nil {
			return false, errs[i]
		}
	}
	return others == 0, err
}

// count is how many documents a query finds in indices.
func (c *Client) count(ctx context.Context, indices string, query any) (int64, error) {
	var reply countReply
	err := c.Call(
		ctx,
		Request{Op: "count documents", Method: http.MethodPost, Path: "/" + indices + "/_count?" + lenient,
			Body: encode(map[string]any{"query": query})},
		&reply,
	)
	if err != nil {
		return 0, err
	}
	return *reply.Count, nil
}

type countReply struct {
	shards
	Count *int64 `json:"count"`
}

func (r *countReply) Check() error {
	if err := r.shards.Check(); err != nil {
		return err
	}
	if r.Count == nil {
		return errors.New("the reply has no count")
	}
	return nil
}

const lenient = "ignore_unavailable=true&allow_no_indices=true"

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only maps of strings and numbers come here
	}
	return b
}

// query finds the documents of the generation, or those of all others of the same
// run, part and kind. What people note on a run has no generation and is never found.
func (g generation) query(own bool) map[string]any {
	term := func(field, value string) map[string]any {
		return map[string]any{"term": map[string]any{field: map[string]any{"value": value}}}
	}
	exists := func(field string) map[string]any {
		return map[string]any{"exists": map[string]any{"field": field}}
	}
	filter := []any{term("run.id", g.run), term("fio.kind", g.kind)}
	not := []any{}
	if g.part == "" {
		not = append(not, exists("run.part"))
	} else {
		filter = append(filter, term("run.part", g.part))
	}
	if own {
		filter = append(filter, term("run.generation", g.generation))
	} else {
		filter = append(filter, exists("run.generation"))
		not = append(not, term("run.generation", g.generation))
	}
	return map[string]any{"bool": map[string]any{"filter": filter, "must_not": not}}
}

// patterns are those of all indices that hold documents of a generation.
func patterns(prefix string) string {
	var p []string
	for _, k := range concluded {
		p = append(p, Pattern(prefix, k))
	}
	return strings.Join(p, ",")
}

// refresh makes acknowledged documents visible to searches. That takes the index
// privilege "maintenance", which an ingest does not otherwise need; without it the
// refresh comes as a parameter of a bulk request to each index touched, which
// deletes a document that does not exist.
func (c *Client) refresh(ctx context.Context, prefix string, touched []string) error {
	err := c.Call(
		ctx,
		Request{
			Op:     "refresh indices",
			Method: http.MethodPost,
			Path:   "/" + patterns(prefix) + "," + Pattern(prefix, KindRun) + "/_refresh?" + lenient,
		},
		new(refreshed),
	)
	var no *ForbiddenError
	if !errors.As(err, &no) || no.Status != http.StatusForbidden {
		return err
	}
	var nothing []Hit
	for _, index := range touched {
		nothing = append(nothing, Hit{Index: index, ID: "fiolat-refresh"})
	}
	return c.deleteHits(ctx, "refresh indices", nothing, true, func(context.Context) error { return nil }, map[string]int64{})
}

// refreshed is the reply to a refresh. It counts replicas that have no node as well.
type refreshed struct{ shards }

func (r *refreshed) Check() error {
	if r.Shards != nil {
		r.Shards.Successful = r.Shards.Total - r.Shards.Failed
	}
	return r.shards.Check()
}

// retire deletes the documents of the run's other generations, and counts them by index.
func (c *Client) retire(ctx context.Context, prefix string, g generation, hold holder, deleted map[string]int64) error {
	return c.deleteFound(
		ctx,
		"delete documents of other generations",
		patterns(prefix),
		g.query(false),
		g.other,
		hold,
		deleted,
	)
}

// other says that a document is of the same run, part and kind, and of another generation.
func (g generation) other(m meaning) bool {
	return m.key() == runKey{g.run, g.part, g.kind} && m.Run.Generation != "" && m.Run.Generation != g.generation
}

// holder says whether the claims on what is sent or deleted are ours; what may pass is a
// *temporaryError.
type holder func(context.Context) error

// deleteFound deletes the documents that a query finds and that say themselves that they
// are meant, and counts them by index.
func (c *Client) deleteFound(
	ctx context.Context,
	op, indices string,
	query any,
	meant func(meaning) bool,
	hold holder,
	deleted map[string]int64,
) error {
	return c.scan(ctx, scanRequest{
		op: op, indices: indices, query: query,
		fields: map[string]any{"_source": []string{"run", "fio.kind"}, "seq_no_primary_term": true},
	}, func(page []Hit) (err error) {
		page = slices.DeleteFunc(page, func(h Hit) bool {
			m, e := meaningOf(h.Source)
			if e != nil && err == nil {
				err = fmt.Errorf("%s/%s: %w", h.Index, h.ID, e)
			}
			return e != nil || !meant(m)
		})
		if err != nil {
			return err
		}
		return c.deleteHits(ctx, op, page, false, hold, deleted)
	})
}

// deleteHits deletes documents as they were found, and no others: the point in time
// may show one that has been overwritten since, by this generation or by another
// ingest at work. Sequence number and term say which version is meant; a conflict
// means that somebody has overwritten or deleted it, and nothing is to be done.
//
// A hit without a term is deleted in any version. With refresh, what was written before is
// visible to searches when deleteHits returns.
func (c *Client) deleteHits(ctx context.Context, op string, todo []Hit, refresh bool, hold holder, deleted map[string]int64) error {
	p := c.pace(op, c.maxWait)
	for len(todo) > 0 {
		var body []byte
		for _, h := range todo {
			body = append(body, `{"delete":{"_index":`...)
			body = appendString(body, h.Index)
			body = append(body, `,"_id":`...)
			body = appendString(body, h.ID)
			if h.Term > 0 {
				body = append(body, `,"if_seq_no":`...)
				body = strconv.AppendInt(body, h.SeqNo, 10)
				body = append(body, `,"if_primary_term":`...)
				body = strconv.AppendInt(body, h.Term, 10)
			}
			body = append(body, "}}\n"...)
		}
		var items []replyItem
		err := hold(ctx)
		if err == nil {
			r := bulkRequest{op: op, body: bytes.NewReader(body), refresh: refresh}
			items, err = c.bulk(ctx, r, len(todo), func(i int) []byte { return []byte(todo[i].ID) }, nil)
		}
		var left []Hit
		for i := range items {
			h := &todo[i]
			e := items[i].err(op + " in " + h.Index)
			switch {
			case e == nil:
				deleted[h.Index]++
			case items[i].status == http.StatusNotFound || items[i].status == http.StatusConflict:
			case errors.As(e, new(*temporaryError)):
				left, err = append(left, *h), e
			default:
				return e
			}
		}
		if items != nil {
			if len(left) < len(todo) {
				p.progress()
			}
			todo = left
		}
		if err != nil {
			if err = p.wait(ctx, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// path escapes a name for a request's path.
func path(name string) string { return "/" + url.PathEscape(name) }
