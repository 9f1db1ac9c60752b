package stored

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
	"fiolat/pipeline"
)

// Labels are changes to the labels of a run: those of Set are added or replaced, those of Remove are removed.
type Labels struct {
	Set    map[string]string
	Remove []string
}

// Label changes the labels of a run in its documents in fio-run, of all parts and kinds of latency, and in its
// events. It returns how many documents of each kind it has changed; repeated, it changes nothing. Documents of
// intervals keep the labels of the ingest; an ingest that is under way keeps those set meanwhile.
func Label(ctx context.Context, c *client.Client, prefix, runID string, l Labels) (KindCounts, error) {
	if err := esmodel.CheckLabels(l.Set); err != nil {
		return nil, err
	}
	in, err := indices.Readable(ctx, c, prefix)
	if err == nil {
		err = indices.Refresh(ctx, c, in, nil)
	}
	if err != nil {
		return nil, err
	}
	there, err := headersOf(ctx, c, prefix, runID)
	if err == nil && len(there) == 0 {
		err = esmodel.Fault(runID, "", "see fiolat runs", "it was deleted meanwhile")
	}
	out := KindCounts{}
	for _, kind := range []esmodel.Kind{esmodel.KindEvent, esmodel.KindRun} {
		if err == nil {
			err = rewrite(ctx, c, prefix, client.ScanRequest{Op: "label the run",
				Indices: in.Of(kind), Query: client.Term("run.id", runID),
			}, func(doc []byte) ([]byte, error) { return esmodel.Relabel(doc, l.Set, l.Remove) }, out)
		}
	}
	return out, err
}

// Rename gives the notes on a run, and the changes that began with it, its name and title. They outlast an ingest,
// which may give the run others. Those in months that cannot be read stay as they are.
func Rename(ctx context.Context, c *client.Client, prefix string, run *pipeline.Run) error {
	in, err := indices.Readable(ctx, c, prefix)
	if err != nil {
		return err
	}
	return rewrite(ctx, c, prefix, client.ScanRequest{Op: "rename notes on the run",
		Indices: in.Of(esmodel.KindEvent),
		Query: map[string]any{"bool": map[string]any{"filter": []any{client.Term("run.id", run.ID),
			map[string]any{"terms": map[string]any{"event.action": esmodel.Lasting}}}}},
	}, func(doc []byte) ([]byte, error) { return esmodel.Rename(doc, run.Name, run.Title()) }, KindCounts{})
}

// rewrite changes the documents that a search finds, each in the version that was read, and counts them by kind. change
// returns the new document, or the same. Documents that were changed meanwhile are read again.
func rewrite(ctx context.Context, c *client.Client, prefix string, r client.ScanRequest,
	change func(doc []byte) ([]byte, error), changed KindCounts,
) error {
	r.Fields = maps.Clone(r.Fields)
	if r.Fields == nil {
		r.Fields = map[string]any{}
	}
	r.Fields["seq_no_primary_term"], r.MayRepeat = true, true // change leaves those that are changed
	p := c.Retrier(r.Op, c.MaxWait)
	for {
		again := false
		err := c.Scan(ctx, r, func(page []client.Hit) error {
			var body []byte
			var todo []client.Hit
			for _, h := range page {
				text, bad := change(h.Source)
				if bad != nil {
					return fmt.Errorf("%s/%s: %w", h.Index, h.ID, bad)
				}
				if bytes.Equal(text, h.Source) {
					continue
				}
				todo = append(todo, h)
				body = esmodel.AppendAction(body, "index", h.Index, h.ID, h.SeqNo, h.Term)
				body = append(append(body, text...), '\n')
			}
			if len(todo) == 0 {
				return nil
			}
			items, err := c.Bulk(ctx, client.BulkRequest{Op: r.Op, Body: bytes.NewReader(body), Refresh: true},
				len(todo), func(i int) []byte { return []byte(todo[i].ID) }, nil)
			if err != nil {
				return err
			}
			for i, h := range todo {
				var bad error
				if items != nil {
					bad = items[i].Err(r.Op + " in " + h.Index)
				}
				switch {
				case bad == nil:
					kind, _ := esmodel.KindOf(prefix, h.Index)
					changed[kind]++
				case items[i].Status == http.StatusConflict || errors.As(bad, new(*client.TemporaryError)):
					again = true
				case items[i].Status != http.StatusNotFound:
					return bad
				}
			}
			return nil
		})
		if err == nil && !again {
			return nil
		}
		if err == nil {
			err = &client.TemporaryError{Err: errors.New("documents were changed meanwhile")}
		}
		if err = p.Wait(ctx, err); err != nil {
			return err
		}
	}
}
