package indices

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
)

// neededKeywords are the fields by which documents are counted and deleted. Where one of them is not a keyword,
// a query matches other documents, or none.
var neededKeywords = []string{"run.id", "run.generation", "run.part", "fio.kind"}

// MappingError says that an index is not mapped as fiolat needs it, so nothing is written to it or deleted from
// it.
type MappingError struct{ Index, Msg string }

func (e *MappingError) Error() string {
	return fmt.Sprintf(
		"index %s: %s; it was created by another index template, or by none; reindex it into an index created "+
			"after \"fiolat setup\", or use another --index-prefix",
		e.Index,
		e.Msg,
	)
}

// ErrClosedIndex says that an index is closed, so its documents can be neither counted nor deleted.
var ErrClosedIndex = errors.New("an index is closed: open it first (POST /INDEX/_open)")

// checkMappings compares the mappings of the prefix's indices that match patterns with what fiolat needs, and
// returns the indices that it has checked. A closed index is an error if closed is set, else it is skipped.
func checkMappings(
	ctx context.Context,
	c *client.Client,
	prefix, patterns string,
	closed bool,
) (map[string]bool, error) {
	var reply fieldCaps
	query := "/_field_caps?include_unmapped=true&allow_no_indices=true&fields=" + strings.Join(neededKeywords, ",")
	if closed {
		query += "&expand_wildcards=open,closed"
	} else {
		query += "&ignore_unavailable=true"
	}
	err := c.Call(
		ctx,
		client.Request{Op: "read the mappings of " + patterns, Method: http.MethodGet, Path: "/" + patterns + query},
		&reply,
	)
	var refused *client.RefusedError
	if errors.As(err, &refused) {
		switch {
		case refused.Absent:
			return nil, nil
		case refused.Type == "index_closed_exception":
			return nil, fmt.Errorf("%w: %w", ErrClosedIndex, err)
		}
	}
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, index := range reply.Indices {
		if _, ours := esmodel.KindOf(prefix, index); ours {
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

// CheckMappings is checkMappings for all indices of a prefix.
func CheckMappings(ctx context.Context, c *client.Client, prefix string, closed bool) (map[string]bool, error) {
	seen, err := checkMappings(ctx, c, prefix, esmodel.AllPatterns(prefix), closed)
	if err != nil {
		return nil, err
	}
	own, err := checkMappings(ctx, c, prefix, esmodel.Index(prefix, esmodel.KindRun, 0), closed)
	for index := range own {
		seen[index] = true
	}
	return seen, err
}

// Prepare creates an index, if it does not exist, and checks its mapping, so that a wrong mapping by another
// template shows before the first document is stored.
func Prepare(ctx context.Context, c *client.Client, prefix, index string) error {
	for range 2 {
		seen, err := checkMappings(ctx, c, prefix, index, false)
		if err != nil || seen[index] {
			return err
		}
		err = c.Call(
			ctx,
			client.Request{Op: "create index " + index, Method: http.MethodPut, Path: client.Path(index)},
			nil,
		)
		var refused *client.RefusedError
		if err != nil && !(errors.As(err, &refused) && refused.Type == "resource_already_exists_exception") {
			return err
		}
	}
	return nil // it is closed, or an alias: sending reports that
}
