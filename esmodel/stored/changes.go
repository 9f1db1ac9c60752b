package stored

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
)

// Change is a change point and the run in which it is.
type Change struct {
	Run  esmodel.ChangedRun
	Of   esmodel.ChangePoint
	Text string
}

// StoreChanges replaces the stored change points of metrics, by series, with those given. It stores new ones,
// deletes those that no longer hold, and leaves equal ones alone. It returns how many were stored and deleted.
func StoreChanges(ctx context.Context, c *client.Client, prefix string, metrics map[string][]string,
	given []Change) (made, deleted int, err error) {
	if _, err = indices.EnsureTemplates(ctx, c, prefix); err != nil {
		return 0, 0, err
	}
	there := map[string]client.Hit{}
	if err = changes(ctx, c, prefix, esmodel.ActionChangePoint, func(h client.Hit, found Change) {
		// Filtered here, because an index of an older fiolat has no mapping of these fields.
		if slices.Contains(metrics[found.Of.Series], found.Of.Metric) {
			there[h.ID] = h
		}
	}); err != nil {
		return 0, 0, err
	}
	for _, change := range given {
		index, id, doc := esmodel.ChangeEvent(prefix, esmodel.ActionChangePoint, change.Run, change.Of, change.Text)
		old, known := there[id]
		delete(there, id)
		if known {
			if doc, err = esmodel.Ingested(doc, old.Source, time.Time{}); err != nil {
				return made, 0, err
			}
			if bytes.Equal(bytes.TrimSpace(old.Source), doc) {
				continue
			}
		}
		if _, err = putEvent(ctx, c, "store a change point", index, id, doc, "true"); err != nil {
			return made, 0, err
		}
		made++
	}
	counts := map[string]int64{}
	err = indices.DeleteHits(ctx, c, "delete change points that no longer hold", slices.Collect(maps.Values(there)),
		true, indices.Free, counts)
	for _, n := range counts {
		deleted += int(n)
	}
	return made, deleted, err
}

// Reported returns the changes that StoreReported has stored; of the run they have id and start.
func Reported(ctx context.Context, c *client.Client, prefix string) (found []Change, err error) {
	err = changes(ctx, c, prefix, esmodel.ActionChangeReported, func(_ client.Hit, one Change) {
		found = append(found, one)
	})
	return found, err
}

// changes passes the stored changes of an action to each; of the run they have id and start.
func changes(ctx context.Context, c *client.Client, prefix, action string, each func(client.Hit, Change)) error {
	_, err := client.Search(ctx, c, client.SearchRequest{
		Index: esmodel.Indices(prefix, esmodel.KindEvent), Query: client.Term("event.action", action),
	}, func(h client.Hit) error {
		var doc struct {
			Timestamp time.Time `json:"@timestamp"`
			Run       esmodel.DocRun
			Change    esmodel.ChangePoint
			Message   string
		}
		if err := json.Unmarshal(h.Source, &doc); err != nil {
			return fmt.Errorf("%s/%s: %w", h.Index, h.ID, err)
		}
		each(h, Change{esmodel.ChangedRun{ID: doc.Run.ID, Start: doc.Timestamp}, doc.Change, doc.Message})
		return nil
	})
	return err
}

// StoreReported stores that changes have been reported.
func StoreReported(ctx context.Context, c *client.Client, prefix string, changes []Change) error {
	for _, change := range changes {
		index, id, doc := esmodel.ChangeEvent(prefix, esmodel.ActionChangeReported, change.Run, change.Of, change.Text)
		if _, err := putEvent(ctx, c, "store that a change was reported", index, id, doc, "true"); err != nil {
			return err
		}
	}
	return nil
}

// NoteFound is a stored note on a run.
type NoteFound struct {
	RunID string
	At    time.Time
	Text  string
}

// Notes returns the notes on the runs with these ids, the earliest first, but for those in months that cannot be read.
func Notes(ctx context.Context, c *client.Client, prefix string, ids []string) (out []NoteFound, err error) {
	in, err := indices.Readable(ctx, c, prefix)
	if err != nil {
		return nil, err
	}
	_, err = client.Search(ctx, c, client.SearchRequest{
		Index: in.Of(esmodel.KindEvent),
		Query: map[string]any{"bool": map[string]any{"filter": []any{
			client.Term("event.action", esmodel.ActionNote), map[string]any{"terms": map[string]any{"run.id": ids}}}}},
		Sort: []any{map[string]any{"@timestamp": "asc"}},
	}, func(h client.Hit) error {
		var doc struct {
			Timestamp time.Time `json:"@timestamp"`
			Run       esmodel.DocRun
			Message   string
		}
		bad := json.Unmarshal(h.Source, &doc)
		out = append(out, NoteFound{doc.Run.ID, doc.Timestamp, doc.Message})
		return bad
	})
	return out, err
}
