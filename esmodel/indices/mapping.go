package indices

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/fio"
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
) (seen map[string]bool, others []string, err error) {
	var reply fieldCaps
	api := esapi.FieldCapsRequest{Index: []string{patterns}, Fields: neededKeywords, IncludeUnmapped: new(true),
		AllowNoIndices: new(true)}
	if closed {
		api.ExpandWildcards = "open,closed"
	} else {
		api.IgnoreUnavailable = new(true)
	}
	err = c.Call(ctx, client.Request{Op: "read the mappings of " + patterns, API: api}, &reply)
	var refused *client.RefusedError
	if errors.As(err, &refused) {
		switch {
		case refused.Absent && closed && !strings.Contains(patterns, "*"): // only then Elasticsearch says that
			return nil, nil, nil
		case refused.Type == "index_closed_exception":
			return nil, nil, fmt.Errorf("%w: %w", ErrClosedIndex, err)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	seen = map[string]bool{}
	for _, index := range reply.Indices {
		// Without a pattern, all others are behind an alias.
		if _, ours := esmodel.KindOf(prefix, index); ours || !strings.Contains(patterns, "*") {
			seen[index] = true
		} else if strings.HasPrefix(index, prefix+"-") {
			others = append(others, index)
		}
	}
	slices.Sort(others)
	for _, field := range neededKeywords {
		types := reply.Fields[field]
		if len(types) == 0 && len(seen) > 0 {
			return nil, nil, &MappingError{
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
					return nil, nil, &MappingError{
						Index: index,
						Msg:   fmt.Sprintf("%s is %s where fiolat needs keyword", field, typ),
					}
				}
			}
		}
	}
	return seen, others, nil
}

type fieldCaps struct {
	Indices []string `json:"indices"`
	Fields  map[string]map[string]struct {
		Indices []string `json:"indices"`
	} `json:"fields"`
	Failed int `json:"failed_indices"`
	Why    []struct {
		Indices []string `json:"indices"`
		Failure struct {
			Cause struct {
				Type   string `json:"type"`
				Reason string `json:"reason"`
			} `json:"error"`
		} `json:"failure"`
	} `json:"failures"`
}

func (r *fieldCaps) Check() error {
	said := *r
	if said.Indices == nil || said.Failed > 0 {
		*r = fieldCaps{}
		why := ""
		for _, f := range said.Why {
			why += fmt.Sprintf("; %s: %s: %s", fio.Some(f.Indices), f.Failure.Cause.Type, f.Failure.Cause.Reason)
		}
		return fmt.Errorf("the reply does not name all indices; %d failed%s", said.Failed, why)
	}
	return nil
}

// CheckMappings is checkMappings for all indices of a prefix. It also names those that are only named like them,
// which are left alone.
func CheckMappings(
	ctx context.Context,
	c *client.Client,
	prefix string,
	closed bool,
) (seen map[string]bool, others []string, err error) {
	var patterns []string
	for _, k := range esmodel.Kinds {
		patterns = append(patterns, esmodel.Pattern(prefix, k))
	}
	return checkMappings(ctx, c, prefix, strings.Join(patterns, ","), closed)
}

// WarnOthers returns the warning about indices that CheckMappings has named.
func WarnOthers(names []string) string {
	return fio.Some(names) + ": not an index of fiolat's by its name (PREFIX-KIND-YYYY.MM); nothing in it is read, " +
		"counted or deleted"
}

// Prepare creates an index, if it does not exist, and checks its mapping, so that a wrong mapping by another
// template shows before the first document is stored. An alias in its place needs a write index. It is for indices
// that CheckMappings has not seen, so it creates first and looks then.
func Prepare(ctx context.Context, c *client.Client, prefix, index string) error {
	for range 2 {
		err := c.Call(
			ctx,
			client.Request{Op: "create index " + index, API: esapi.IndicesCreateRequest{Index: index}},
			nil,
		)
		var refused *client.RefusedError
		switch {
		case errors.As(err, &refused) && refused.Type == "resource_already_exists_exception":
			err = nil
		case refused != nil && refused.Type == "invalid_index_name_exception":
			if err = checkAlias(ctx, c, prefix, index, err); err != nil {
				return err
			}
		case refused == nil && err != nil && !errors.As(err, new(*client.ForbiddenError)):
			return err
		}
		seen, _, wrong := checkMappings(ctx, c, prefix, index, false)
		if wrong != nil || len(seen) > 0 {
			return wrong
		}
		if err != nil {
			return err
		}
	}
	return nil // it is closed: sending reports that
}

// checkAlias checks that what is written to an alias in place of an index is stored, and found by searches. because
// is returned if it is none.
func checkAlias(ctx context.Context, c *client.Client, prefix, alias string, because error) error {
	var behind map[string]struct {
		Aliases map[string]struct {
			Write *bool `json:"is_write_index"`
		} `json:"aliases"`
	}
	err := c.Call(ctx, client.Request{Op: "read alias " + alias,
		API: esapi.IndicesGetAliasRequest{Name: []string{alias}}}, &behind)
	var refused *client.RefusedError
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound || err == nil && len(behind) == 0 {
		return because
	}
	if err != nil {
		return err
	}
	writable := false
	kind, _ := esmodel.KindOf(prefix, alias)
	for _, index := range slices.Sorted(maps.Keys(behind)) {
		if copied, _ := path.Match(esmodel.Pattern(prefix, kind)+"-*", index); copied &&
			kind != esmodel.KindRun {
			return fmt.Errorf("%s is an alias for %s, which fiolat leaves out as a copy by its name; rename that (POST "+
				"/%s/_clone/NAME) to one that does not start with %s-, or remove the alias", alias, index, index, prefix)
		}
		write := behind[index].Aliases[alias].Write
		writable = writable || write != nil && *write || write == nil && len(behind) == 1
	}
	if !writable {
		return fmt.Errorf("%s is an alias without a write index, for %s: set is_write_index for one of them (POST "+
			"/_aliases), or remove the alias", alias, fio.Some(slices.Sorted(maps.Keys(behind))))
	}
	return nil
}
