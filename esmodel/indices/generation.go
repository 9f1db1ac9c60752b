package indices

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/pipeline"
)

// Counted returns the generation of a run's document, and the number of its documents that should exist.
func Counted(m esmodel.DocHeader) (Generation, map[esmodel.Kind]int64) {
	return Generation{m.Key(), m.Run.Generation}, map[esmodel.Kind]int64{
		esmodel.KindHistogram:   m.Account.Documents.Histogram,
		esmodel.KindPercentiles: m.Account.Documents.Percentiles,
	}
}

// MismatchError says that Elasticsearch holds a different number of documents of a run's generation than were
// made and acknowledged: another program has changed them, or other logs were ingested under the
// same --run-id.
type MismatchError struct {
	Run         string
	Kind        esmodel.Kind
	Made, Found int64
}

func (e *MismatchError) Error() string {
	hint := "another program deleted or replaced them; run again"
	if e.Found > e.Made {
		hint = "other logs were ingested under the same --run-id; delete the run with fiolat delete, then run again"
	}
	return fmt.Sprintf("run %q has %d %s documents where %d were made; %s", e.Run, e.Found, e.Kind, e.Made, hint)
}

// Generation identifies the documents of one generation of a run, or of a part of it, of one kind of latency.
type Generation struct {
	esmodel.RunKey
	Generation string
}

// GenerationOf returns the generation that a run makes.
func GenerationOf(run *pipeline.Run) Generation {
	return Generation{esmodel.KeyOf(run), run.Generation}
}

// generationKinds are the kinds whose documents belong to a generation.
var generationKinds = []esmodel.Kind{esmodel.KindHistogram, esmodel.KindPercentiles, esmodel.KindProbe,
	esmodel.KindEvent}

// Commit makes a generation the only one of its run: it refreshes, counts and deletes until there is nothing to
// delete. It returns the number of deleted documents by index. touched are the indices that hold documents of
// the generation. counted, if not nil, is called once, when all of its documents were found; hold says whether
// deleting is allowed.
func Commit(
	ctx context.Context, c *client.Client,
	in Scope,
	g Generation,
	made map[esmodel.Kind]int64,
	touched []string,
	counted func(context.Context) error,
	hold Holder,
) (map[string]int64, error) {
	deleted := map[string]int64{}
	if err := Refresh(ctx, c, in, touched); err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ { //nolint:endless // four times at most
		only, err := Verify(ctx, c, in, g, made)
		if err == nil && counted != nil {
			err, counted = counted(ctx), nil
		}
		if err == nil && !only && tries == 3 {
			err = esmodel.Fault(
				g.Run,
				g.Part,
				"run it again",
				"documents with other settings reappeared after deletion: another process is writing them",
			)
		}
		if err != nil || only {
			return deleted, err
		}
		if err = Retire(ctx, c, in, g, hold, deleted); err == nil {
			err = Refresh(ctx, c, in, slices.Sorted(maps.Keys(deleted)))
		}
		if err != nil {
			return deleted, err
		}
	}
}

// Verify reports whether a generation is the only one of its run. If the numbers of its documents are not those
// made, the error is a *MismatchError.
func Verify(
	ctx context.Context,
	c *client.Client,
	in Scope,
	g Generation,
	made map[esmodel.Kind]int64,
) (only bool, err error) {
	// The counts run concurrently, because the server is idle by now. Mostly there is no other generation, and
	// counting is cheaper than a search for documents to delete.
	var counting sync.WaitGroup
	found, errs := make([]int64, len(generationKinds)), make([]error, len(generationKinds))
	for i, kind := range generationKinds {
		if _, ok := made[kind]; ok {
			counting.Go(func() { found[i], errs[i] = Count(ctx, c, in.Of(kind), g.Query(true)) })
		}
	}
	others, err := Count(ctx, c, in.Names(), g.Query(false))
	counting.Wait()
	for i, kind := range generationKinds {
		if want := made[kind]; errs[i] == nil && found[i] != want {
			errs[i] = &MismatchError{Run: g.Run, Kind: kind, Made: want, Found: found[i]}
		}
		if errs[i] != nil {
			return false, errs[i]
		}
	}
	return others == 0, err
}

// Count returns how many documents a query finds in indices.
func Count(ctx context.Context, c *client.Client, indices string, query any) (int64, error) {
	var reply countReply
	err := c.Call(
		ctx,
		client.Request{
			Op:   "count documents",
			API:  esapi.CountRequest{Index: []string{indices}, IgnoreUnavailable: new(true), AllowNoIndices: new(true)},
			Body: esmodel.MustJSON(map[string]any{"query": query}),
		},
		&reply,
	)
	if err != nil {
		return 0, err
	}
	return *reply.Count, nil
}

type countReply struct {
	client.ShardsReply
	Count *int64 `json:"count"`
}

func (r *countReply) Check() error {
	if err := r.ShardsReply.Check(); err != nil {
		return err
	}
	if r.Count == nil {
		return errors.New("the reply has no count")
	}
	return nil
}

// Query matches the documents of the generation or, unless own is set, those of all others of the same run,
// part and kind. Notes have no generation and never match.
func (g Generation) Query(own bool) map[string]any {
	term := func(field, value string) map[string]any {
		return map[string]any{"term": map[string]any{field: map[string]any{"value": value}}}
	}
	exists := func(field string) map[string]any {
		return map[string]any{"exists": map[string]any{"field": field}}
	}
	filter := []any{term("run.id", g.Run), term("fio.kind", g.Kind)}
	not := []any{}
	if g.Part == "" {
		not = append(not, exists("run.part"))
	} else {
		filter = append(filter, term("run.part", g.Part))
	}
	if own {
		filter = append(filter, term("run.generation", g.Generation))
	} else {
		filter = append(filter, exists("run.generation"))
		not = append(not, term("run.generation", g.Generation))
	}
	return map[string]any{"bool": map[string]any{"filter": filter, "must_not": not}}
}

// Refresh makes acknowledged documents visible to searches. That requires the index privilege "maintenance",
// which an ingest does not need otherwise. Without it, Refresh sends to each index touched a bulk request that
// deletes a nonexistent document and has a refresh as parameter.
func Refresh(ctx context.Context, c *client.Client, in Scope, touched []string) error {
	err := c.Call(
		ctx,
		client.Request{
			Op: "refresh indices",
			API: esapi.IndicesRefreshRequest{Index: []string{in.Names(), in.Of(esmodel.KindRun)},
				IgnoreUnavailable: new(true), AllowNoIndices: new(true)},
		},
		new(refreshed),
	)
	var no *client.ForbiddenError
	if !errors.As(err, &no) || no.Status != http.StatusForbidden {
		return err
	}
	var nothing []client.Hit
	for _, index := range touched {
		nothing = append(nothing, client.Hit{Index: index, ID: "fiolat-refresh"})
	}
	return DeleteHits(
		ctx,
		c,
		"refresh indices",
		nothing,
		true,
		Free,
		map[string]int64{},
	)
}

// refreshed is the reply to a refresh. Its total includes replicas without a node, which are no failure.
type refreshed struct{ client.ShardsReply }

func (r *refreshed) Check() error {
	if r.Shards != nil {
		r.Shards.Successful = r.Shards.Total - r.Shards.Failed
	}
	return r.ShardsReply.Check()
}

// Withdraw deletes the documents of a generation that lost the run.
func Withdraw(ctx context.Context, c *client.Client, in Scope, g Generation, touched []string, hold Holder) error {
	if err := Refresh(ctx, c, in, touched); err != nil {
		return err
	}
	own := func(m esmodel.DocHeader) bool {
		return m.Key() == g.RunKey && m.Run.Generation == g.Generation
	}
	return DeleteFound(ctx, c, "withdraw what was sent", in.Names(), g.Query(true), own, hold, map[string]int64{})
}

// Retire deletes the documents of the run's other generations, and counts them by index.
func Retire(
	ctx context.Context,
	c *client.Client,
	in Scope,
	g Generation,
	hold Holder,
	deleted map[string]int64,
) error {
	return DeleteFound(
		ctx, c,
		"delete documents of other generations",
		in.Names(),
		g.Query(false),
		g.Other,
		hold,
		deleted,
	)
}

// Other reports whether a document is of another generation of the same run, part and kind.
func (g Generation) Other(m esmodel.DocHeader) bool {
	return m.Key() == g.RunKey && m.Run.Generation != "" && m.Run.Generation != g.Generation
}

// Holder returns nil if documents of runs may still be deleted. It is called, for each attempt, when their versions are
// known: whoever begins to write them later makes others.
type Holder func(ctx context.Context, of ...esmodel.RunKey) error

// Free is the Holder of what needs no mark.
func Free(context.Context, ...esmodel.RunKey) error { return nil }

// DeleteFound deletes the documents that a query finds and for which meant returns true, and counts them by
// index.
func DeleteFound(
	ctx context.Context, c *client.Client,
	op, indices string,
	query any,
	meant func(esmodel.DocHeader) bool,
	hold Holder,
	deleted map[string]int64,
) error {
	return c.Scan(ctx, client.ScanRequest{
		Op: op, Indices: indices, Query: query,
		Fields: map[string]any{"_source": []string{"run.id", "run.part", "run.generation", "fio.kind"},
			"seq_no_primary_term": true},
		MayRepeat: true,
	}, func(page []client.Hit) (err error) {
		var keys []esmodel.RunKey
		page = slices.DeleteFunc(page, func(h client.Hit) bool {
			m, e := esmodel.ReadDocHeader(h.Source)
			if e != nil && err == nil {
				err = fmt.Errorf("%s/%s: %w", h.Index, h.ID, e)
			}
			if e != nil || !meant(m) {
				return true
			}
			if !slices.Contains(keys, m.Key()) {
				keys = append(keys, m.Key())
			}
			return false
		})
		if err != nil {
			return err
		}
		holdPage := func(ctx context.Context, _ ...esmodel.RunKey) error { return hold(ctx, keys...) }
		return DeleteHits(ctx, c, op, page, false, holdPage, deleted)
	})
}

// DeleteHits deletes documents in the versions that were found, and counts them by index: a point in time may
// show a document that was overwritten since, by this generation or by a concurrent ingest. A conflict means
// that another process has overwritten or deleted it, and is ignored.
//
// A hit without a term is deleted in any version. With refresh, earlier writes are visible to searches when
// DeleteHits returns.
func DeleteHits(
	ctx context.Context,
	c *client.Client,
	op string,
	todo []client.Hit,
	refresh bool,
	hold Holder,
	deleted map[string]int64,
) error {
	p := c.Retrier(op, c.MaxWait)
	for len(todo) > 0 {
		var body []byte
		for _, h := range todo {
			body = esmodel.AppendAction(body, "delete", h.Index, h.ID, h.SeqNo, h.Term)
		}
		var items []client.BulkItem
		err := hold(ctx)
		if err == nil {
			r := client.BulkRequest{Op: op, Body: bytes.NewReader(body), Refresh: refresh, Needs: "delete"}
			items, err = c.Bulk(ctx, r, len(todo), func(i int) []byte { return []byte(todo[i].ID) }, nil)
		}
		var left []client.Hit
		for i := range items {
			h := &todo[i]
			e := items[i].Err(op + " in " + h.Index)
			switch {
			case e == nil:
				deleted[h.Index]++
			case items[i].Status == http.StatusNotFound || items[i].Status == http.StatusConflict:
			case errors.As(e, new(*client.TemporaryError)):
				left, err = append(left, *h), e
			default:
				return e
			}
		}
		if items != nil {
			if len(left) < len(todo) {
				p.Progress()
			}
			todo = left
		}
		if err != nil {
			if err = p.Wait(ctx, err); err != nil {
				return err
			}
		}
	}
	return nil
}
