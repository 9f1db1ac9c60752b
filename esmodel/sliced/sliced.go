// Package sliced stores, in Elasticsearch, the intermediate results of processes that merge a run in slices:
// for each slice a document with its progress, and for each quantum its pipeline.Extract. These documents lie
// in the histogram indices, with scopes of their own and without a generation, until the run is complete.
package sliced

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
	"fiolat/pipeline"
	"fiolat/pipeline/replay"
)

// Merge identifies one generation of a run that is merged in slices.
type Merge struct {
	Prefix string
	Run    *pipeline.Run
}

// State is the progress of a slice.
type State struct {
	Slice    string `json:"name"`
	Complete bool   `json:"complete"`
	// Made counts the documents of the run that it has sent, by index. If the slice is complete, all are
	// stored.
	Made map[string]int64 `json:"made,omitempty"`
	// Indices are all indices that it has sent documents to.
	Indices []string `json:"indices,omitempty"`
	// Leaves counts the leaves that it has read, by part.
	Leaves []int64 `json:"leaves,omitempty"`
}

// document is the document of a slice or of a quantum.
type document struct {
	Timestamp string `json:"@timestamp"`
	Run       struct {
		ID string `json:"id"`
	} `json:"run"`
	Fio struct {
		Kind string `json:"kind"`
	} `json:"fio"`
	Scope string            `json:"scope"`
	Slice *State            `json:"slice,omitempty"`
	Sums  *pipeline.Extract `json:"extract,omitempty"`
}

const (
	stateScope   = "slice"
	extractScope = "extract"
	// extractPage is the number of extracts read at a time; those of a run with many hosts are large.
	extractPage = 20
)

func (m *Merge) scope(name string) string { return name + " " + m.Run.Generation }

func (m *Merge) id(name string) string {
	return pipeline.Digest([]string{"fiolat slice 1", m.Run.ID, m.Run.Kind.String(), m.Run.Generation, name})
}

func (m *Merge) document(scope string, offset int64) *document {
	d := &document{Scope: m.scope(scope)}
	d.Timestamp = time.Unix(0, m.Run.Start+offset).UTC().Format("2006-01-02T15:04:05.000Z")
	d.Run.ID, d.Fio.Kind = m.Run.ID, m.Run.Kind.String()
	return d
}

func (m *Merge) index(offset int64) string {
	return esmodel.Index(m.Prefix, esmodel.KindHistogram, m.Run.Start+offset)
}

// StateAt returns the index and the id of the document of a slice.
func (m *Merge) StateAt(slice replay.Slice) (index, id string) {
	return m.index(m.Run.FirstQuantum), m.id(slice.String())
}

// StateDoc returns the document of a slice.
func (m *Merge) StateDoc(s State) []byte {
	d := m.document(stateScope, m.Run.FirstQuantum)
	d.Slice = &s
	return esmodel.MustJSON(d)
}

// ExtractAt returns the index and the id of the document of a quantum.
func (m *Merge) ExtractAt(e *pipeline.Extract) (index, id string) {
	return m.index(e.Offset), m.id(fmt.Sprint(e.Offset))
}

// ExtractDoc returns the document of a quantum.
func (m *Merge) ExtractDoc(e *pipeline.Extract) ([]byte, error) {
	d := m.document(extractScope, e.Offset)
	d.Sums = e
	return json.Marshal(d)
}

// States returns the current states of all slices; nil for a slice that has not begun.
func (m *Merge) States(ctx context.Context, c *client.Client, of int) ([]*State, error) {
	out := make([]*State, of)
	for i := range out {
		index, id := m.StateAt(replay.Slice{N: i + 1, Of: of})
		source, _, err := Source(ctx, c, index, id)
		if err != nil {
			return nil, err
		}
		var d document
		if source == nil {
			continue
		}
		if err = json.Unmarshal(source, &d); err != nil || d.Slice == nil {
			return nil, fmt.Errorf("%s/%s is not the document of a slice: %w", index, id, err)
		}
		out[i] = d.Slice
	}
	return out, nil
}

// Source returns the current source of a document, even before a refresh, and its sequence number; nil if it
// does not exist.
func Source(ctx context.Context, c *client.Client, index, id string) ([]byte, int64, error) {
	var reply struct {
		Seq    int64           `json:"_seq_no"`
		Source json.RawMessage `json:"_source"`
	}
	err := c.Call(ctx, client.Request{Op: "read " + index + "/" + id, Method: http.MethodGet,
		Path: client.Path(index) + "/_doc" + client.Path(id)}, &reply)
	var refused *client.RefusedError
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound && refused.Absent {
		return nil, 0, nil
	}
	return reply.Source, reply.Seq, err
}

// query matches the documents with one of the scopes.
func (m *Merge) query(scopes ...string) any {
	for i := range scopes {
		scopes[i] = m.scope(scopes[i])
	}
	return map[string]any{"bool": map[string]any{"filter": []any{
		client.Term("run.id", m.Run.ID),
		client.Term("fio.kind", m.Run.Kind.String()),
		map[string]any{"terms": map[string]any{"scope": scopes}},
	}}}
}

// Extracts returns the extracts of all quanta. touched are the indices that hold some.
func (m *Merge) Extracts(c *client.Client, touched []string) replay.Extracts {
	return func(ctx context.Context, each func(*pipeline.Extract) error) error {
		if err := indices.Refresh(ctx, c, m.Prefix, touched); err != nil {
			return err
		}
		return c.Scan(ctx, client.ScanRequest{
			Op: "read extracts of quanta", Indices: esmodel.Indices(m.Prefix, esmodel.KindHistogram),
			Query: m.query(extractScope),
			Sort:  []any{map[string]any{"@timestamp": "asc"}}, Size: extractPage,
		}, func(page []client.Hit) error {
			for _, h := range page {
				var d document
				err := json.Unmarshal(h.Source, &d)
				if err == nil && d.Sums == nil {
					err = errors.New("it has no extract")
				}
				if err == nil {
					err = each(d.Sums)
				}
				if err != nil {
					return fmt.Errorf("%s/%s: %w", h.Index, h.ID, err)
				}
			}
			return nil
		})
	}
}

// Drop deletes the documents of all slices and quanta, once the run is complete.
func (m *Merge) Drop(ctx context.Context, c *client.Client) error {
	if err := indices.Refresh(ctx, c, m.Prefix, nil); err != nil {
		return err
	}
	return indices.DeleteFound(ctx, c, "delete what slices kept", esmodel.Indices(m.Prefix, esmodel.KindHistogram),
		m.query(stateScope, extractScope),
		func(d esmodel.DocHeader) bool {
			return d.Key() == esmodel.RunKey{Run: m.Run.ID, Kind: m.Run.Kind.String()} && d.Run.Generation == ""
		},
		indices.Free, map[string]int64{})
}
