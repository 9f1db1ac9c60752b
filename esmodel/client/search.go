package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"fiolat/esmodel"
	"fiolat/fio"
)

const (
	// PageSize is the default number of documents in a page, maxPage the most that Elasticsearch allows
	// (index.max_result_window).
	PageSize, maxPage = 1000, 10_000
	// keepAlive is how long Elasticsearch keeps a search open between two pages; each page renews it. It
	// exceeds DefaultMaxWait, for which the consumer of a page may wait.
	keepAlive = "10m"
)

// SearchRequest says which documents to read.
type SearchRequest struct {
	// Index is one or more names or patterns of indices, separated by commas. Missing indices count as empty.
	Index string
	// Query is Elasticsearch's query object; nil matches all documents.
	Query any
	// Sort are Elasticsearch's sort objects; ties are broken by the document's place in the index, which is the
	// whole order if Sort is nil.
	Sort []any
	// Source lists the fields, or patterns of fields, to read; nil is all.
	Source []string
	// PageSize is how many documents are requested at a time, 1 to 10000; 0 is 1000. A page longer than 64 MiB
	// is requested again in smaller ones.
	PageSize int
}

// Found is a document found by a search, decoded as D. SeqNo and Term identify this state of it, if requested.
type Found[D any] struct {
	Index  string          `json:"_index"`
	ID     string          `json:"_id"`
	SeqNo  int64           `json:"_seq_no"`
	Term   int64           `json:"_primary_term"`
	Sort   json.RawMessage `json:"sort"`
	Source D               `json:"_source,omitempty"`
}

// Hit is a document found by a search, as it was stored.
type Hit = Found[json.RawMessage]

// Search calls each for every document that the request finds, in order, as of the beginning of the search. It
// uses a point in time and search_after, so that concurrent writes neither repeat nor hide documents, and holds
// at most two pages. It returns the number of documents. What a shard could not answer, or not in time, is
// retried for Config.MaxWait and then an error, never a gap. An error of each ends the search and is returned
// as it is.
//
// Documents of bulk requests are found only after a refresh, by default within a second.
func Search(ctx context.Context, c *Client, r SearchRequest, each func(Hit) error) (int64, error) {
	var source any = true
	if r.Source != nil {
		source = r.Source
	}
	var n int64
	err := c.Scan(ctx, ScanRequest{
		Op: "search " + r.Index, Indices: r.Index, Query: r.Query, Sort: r.Sort, Size: r.PageSize,
		Fields: map[string]any{"_source": source},
	}, func(page []Hit) error {
		for _, h := range page {
			n++
			if err := each(h); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// ScanRequest describes a scan; Fields are added to the body of the search. If the server loses the search, as
// by a restart, it starts again, provided that nothing was found so far or MayRepeat is set.
type ScanRequest struct {
	Op, Indices string
	Query       any
	Sort        []any
	Size        int
	Fields      map[string]any
	MayRepeat   bool
}

// PIT is a point in time of indices: a search that stays open.
type PIT struct {
	ID string `json:"id"`
}

// Check checks that the reply names a point in time.
func (p *PIT) Check() error {
	if p.ID == "" {
		return errors.New("the reply names no point in time")
	}
	return nil
}

// OpenScan opens a search; its result must be passed to CloseScan.
func (c *Client) OpenScan(ctx context.Context, r ScanRequest) (p PIT, err error) {
	return p, c.Call(
		ctx,
		Request{
			Op: r.Op,
			API: esapi.OpenPointInTimeRequest{Index: []string{r.Indices}, KeepAlive: keepAlive,
				IgnoreUnavailable: new(true)},
		},
		&p,
	)
}

// CloseScan closes a search. It would expire without this, but keep deleted documents on disk until then.
func (c *Client) CloseScan(ctx context.Context, r ScanRequest, p PIT) {
	_, _ = c.Once(
		context.WithoutCancel(ctx),
		Request{Op: r.Op, API: esapi.ClosePointInTimeRequest{}, Body: esmodel.MustJSON(p)},
	)
}

// Scan calls f with the documents that a query finds in indices, a page at a time.
func (c *Client) Scan(ctx context.Context, r ScanRequest, f func([]Hit) error) error {
	patience := c.Retrier(r.Op, c.MaxWait)
	for {
		found := false
		p, err := c.OpenScan(ctx, r)
		if err == nil {
			err = Pages(ctx, c, r, &p, func(page []Hit) error {
				found = true
				return f(page)
			})
			c.CloseScan(ctx, r, p)
		}
		var refused *RefusedError
		if !errors.As(err, &refused) || !refused.lost || found && !r.MayRepeat {
			return err
		}
		if found {
			patience.Progress()
		}
		if err = patience.Wait(ctx, &TemporaryError{Err: err}); err != nil {
			return err
		}
	}
}

// Pages scans an open search. A document that does not decode as D is an error that names it. A last page with fewer
// documents than the search has found is a temporary error.
func Pages[D any](ctx context.Context, c *Client, r ScanRequest, pit *PIT, f func([]Found[D]) error) error {
	size := min(cmp.Or(r.Size, PageSize), maxPage)
	search := map[string]any{
		"sort": append(r.Sort[:len(r.Sort):len(r.Sort)], map[string]string{"_shard_doc": "asc"}),
	}
	seen, total := 0, 0
	if r.Query != nil {
		search["query"] = r.Query
	}
	maps.Copy(search, r.Fields)
	type reply struct {
		hits []Found[D]
		last bool
		err  error
	}
	p := c.Retrier(r.Op, c.MaxWait)
	next := func(ctx context.Context) (out reply) {
		for {
			search["size"], search["pit"] = size, map[string]string{"id": pit.ID, "keep_alive": keepAlive}
			search["track_total_hits"] = seen == 0
			data, err := c.Once(
				ctx,
				Request{
					Op:   r.Op,
					API:  esapi.SearchRequest{AllowPartialSearchResults: new(false)},
					Body: esmodel.MustJSON(search),
				},
			)
			var page searchPage[D]
			if err == nil {
				err = page.read(data)
			}
			if errors.Is(err, errLongReply) && size > 1 {
				size /= 2
				continue
			}
			if err == nil && seen == 0 {
				total = page.Hits.Total.Value
			}
			if err == nil && len(page.Hits.Hits) < size && seen+len(page.Hits.Hits) != total {
				err = &TemporaryError{Err: fmt.Errorf("the search found %d documents, and returned %d", total,
					seen+len(page.Hits.Hits))}
			}
			if err != nil {
				if err = p.Wait(ctx, err); err != nil {
					return reply{err: err}
				}
				continue
			}
			p.Progress()
			pit.ID = cmp.Or(page.PIT, pit.ID)
			hits := page.Hits.Hits
			seen += len(hits)
			if len(hits) > 0 {
				search["search_after"] = hits[len(hits)-1].Sort
			}
			return reply{hits: hits, last: len(hits) < size}
		}
	}
	// The next page is fetched while f handles one. One goroutine runs at a time, and none is left when Pages
	// returns.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pages := make(chan reply, 1)
	fetch := func() { pages <- next(ctx) }
	go fetch()
	for {
		page := <-pages
		if page.err != nil {
			return page.err
		}
		if !page.last {
			go fetch()
		}
		var err error
		if len(page.hits) > 0 {
			err = f(page.hits)
		}
		if err != nil || page.last {
			if cancel(); !page.last {
				<-pages
			}
			return err
		}
	}
}

type searchPage[D any] struct {
	PIT      string `json:"pit_id"`
	TimedOut bool   `json:"timed_out"`
	ShardsReply
	Hits *struct {
		Total struct {
			Value int `json:"value"`
		} `json:"total"` // of the first page
		Hits []Found[D] `json:"hits"`
	} `json:"hits"`
}

// ShardsReply says, in the reply to a search or a count, whether all shards answered.
type ShardsReply struct {
	Shards *struct {
		Total      int `json:"total"`
		Successful int `json:"successful"`
		Failed     int `json:"failed"`
		Failures   []struct {
			Reason json.RawMessage `json:"reason"`
		} `json:"failures"`
	} `json:"_shards"`
}

// Check returns an error unless all shards answered. It resets s, because the next reply may be decoded into
// the same memory. A shard without a node neither succeeds nor fails.
func (s *ShardsReply) Check() error {
	said := s.Shards
	*s = ShardsReply{}
	switch {
	case said == nil:
		return errors.New("the reply does not say whether all shards could answer")
	case said.Failed == 0 && said.Successful == said.Total:
		return nil
	}
	why := cause{Reason: "no reason given"}
	if len(said.Failures) > 0 {
		why = readCause(said.Failures[0].Reason)
	}
	return fmt.Errorf(
		"%d of %d shards could not answer: %s %s",
		max(said.Failed, said.Total-said.Successful),
		said.Total,
		why.Type,
		why.text(),
	)
}

// read decodes a reply. An incomplete reply is a temporary error, a document that does not decode as D is not.
func (s *searchPage[D]) read(data []byte) error {
	// encoding/json would scan the documents twice.
	err := jsonv2.Unmarshal(data, s, jsontext.AllowDuplicateNames(true))
	if _, stored := any(s).(*searchPage[json.RawMessage]); err != nil && !stored {
		var page searchPage[json.RawMessage]
		if e := page.read(data); e != nil {
			return e
		}
		for _, h := range page.Hits.Hits {
			var doc D
			if e := jsonv2.Unmarshal(h.Source, &doc); e != nil {
				return fmt.Errorf("%s/%s: the document cannot be read: %w", h.Index, h.ID, e)
			}
		}
	}
	err = checkReply(err, s)
	switch {
	case err != nil:
	case s.TimedOut:
		err = errors.New("the search timed out")
	case s.Hits == nil:
		err = fmt.Errorf("the reply has no hits: %.200s", bytes.TrimSpace(data))
	default:
		return nil
	}
	return &TemporaryError{Err: errors.New(fio.Printable(err.Error()))}
}

// Term returns the query for documents whose field has a value.
func Term(field, value string) map[string]any {
	return map[string]any{"term": map[string]any{field: map[string]any{"value": value}}}
}

// Source returns the current source of a document, even before a refresh; nil if it does not exist.
func (c *Client) Source(ctx context.Context, index, id string) ([]byte, error) {
	var reply struct {
		Source json.RawMessage `json:"_source"`
	}
	err := c.Call(ctx, Request{Op: "read " + index + "/" + id, API: esapi.GetRequest{Index: index, DocumentID: id}},
		&reply)
	var refused *RefusedError
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound && refused.Absent {
		return nil, nil
	}
	return reply.Source, err
}
