package esmodel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// neededKeywords are the fields by which documents are counted and deleted: in an index
// where one of them is anything but a keyword, a query finds others, or none.
var neededKeywords = []string{"run.id", "run.generation", "run.part", "fio.kind"}

// MappingError says that an index is not mapped as fiolat needs it: nothing is written to
// it or deleted from it.
type MappingError struct{ Index, Msg string }

func (e *MappingError) Error() string {
	return fmt.Sprintf(
		"index %s: %s; another index template has made it, or nobody's: reindex it into one made after "+
			"\"fiolat setup\", or use another --index-prefix",
		e.Index,
		e.Msg,
	)
}

// errClosed says that an index is closed: what is in it can be neither counted nor deleted.
var errClosed = errors.New("an index is closed: open it first (POST /INDEX/_open)")

// checkMappings compares the mappings of the prefix's indices that match patterns with what
// fiolat needs. With closed, a closed index is an error, else it is left out. It returns the
// indices that it has looked at.
func (c *Client) checkMappings(ctx context.Context, prefix, patterns string, closed bool) (map[string]bool, error) {
	var reply fieldCaps
	query := "/_field_caps?include_unmapped=true&allow_no_indices=true&fields=" + strings.Join(neededKeywords, ",")
	if closed {
		query += "&expand_wildcards=open,closed"
	} else {
		query += "&ignore_unavailable=true"
	}
	err := c.Call(
		ctx,
		Request{Op: "read the mappings of " + patterns, Method: http.MethodGet, Path: "/" + patterns + query},
		&reply,
	)
	var refused *RefusedError
	if errors.As(err, &refused) {
		switch {
		case refused.absent:
			return nil, nil
		case refused.Type == "index_closed_exception":
			return nil, fmt.Errorf("%w: %w", errClosed, err)
		}
	}
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, index := range reply.Indices {
		if _, ours := KindOf(prefix, index); ours {
			seen[index] = true
		}
	}
	for _, field := range neededKeywords {
		types := reply.Fields[field]
		if len(types) == 0 && len(seen) > 0 {
			return nil, &MappingError{
				Index: slices.Sorted(maps.Keys(seen))[0],
				Msg:   field + " is not mapped where fiolat needs keyword",
			}
		}
		for _, typ := range slices.Sorted(maps.Keys(types)) {
			in := types[typ].Indices
			if in == nil {
				in = reply.Indices
			}
			for _, index := range in {
				if typ != "keyword" && seen[index] {
					return nil, &MappingError{
						Index: index,
						Msg:   fmt.Sprintf("%s is %s where fiolat needs keyword", field, typ),
					}
				}
			}
		}
	}
	return seen, nil
}

// fieldCaps is the reply to _field_caps.
type fieldCaps struct {
	Indices []string `json:"indices"`
	Fields  map[string]map[string]struct {
		Indices []string `json:"indices"`
	} `json:"fields"`
	Failed []string `json:"failed_indices"`
}

func (r *fieldCaps) Check() error {
	said := *r
	if said.Indices == nil || len(said.Failed) > 0 {
		*r = fieldCaps{}
		return fmt.Errorf("the reply does not name all indices; %d failed", len(said.Failed))
	}
	return nil
}

// allPatterns are those of all indices of a prefix but the one of runs.
func allPatterns(prefix string) string {
	var p []string
	for _, k := range Kinds[1:] {
		p = append(p, Pattern(prefix, k))
	}
	return strings.Join(p, ",")
}

// checkAll is checkMappings for all indices of a prefix.
func (c *Client) checkAll(ctx context.Context, prefix string, closed bool) (map[string]bool, error) {
	seen, err := c.checkMappings(ctx, prefix, allPatterns(prefix), closed)
	if err != nil {
		return nil, err
	}
	own, err := c.checkMappings(ctx, prefix, Index(prefix, KindRun, 0), closed)
	for index := range own {
		seen[index] = true
	}
	return seen, err
}

// prepare makes an index, if it is not there, and checks its mapping: what another
// template makes of it must show before the first document is in it.
func (c *Client) prepare(ctx context.Context, prefix, index string) error {
	for range 2 {
		seen, err := c.checkMappings(ctx, prefix, index, false)
		if err != nil || seen[index] {
			return err
		}
		err = c.Call(ctx, Request{Op: "create index " + index, Method: http.MethodPut, Path: path(index)}, nil)
		var refused *RefusedError
		if err != nil && !(errors.As(err, &refused) && refused.Type == "resource_already_exists_exception") {
			return err
		}
	}
	return nil // it is there, but closed, or an alias: sending says so
}

// meaning is what of a document says whose it is.
type meaning struct {
	Run storedID
	Fio struct{ Kind string }
}

// key is the run, part and kind of latency of the document.
func (m *meaning) key() runKey { return runKey{m.Run.ID, m.Run.Part, m.Fio.Kind} }

// runKey names a run's document.
type runKey struct{ run, part, kind string }

func (k runKey) id() string { return RunDocID(k.run, k.part, k.kind) }

// meaningOf reads it from a document's source.
func meaningOf(source []byte) (m meaning, err error) {
	if err = json.Unmarshal(source, &m); err != nil {
		err = fmt.Errorf("a document cannot be read: %w", err)
	}
	return m, err
}
