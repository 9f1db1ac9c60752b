package indices

import (
	"cmp"
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

// Checked is what is known of the indices of a prefix.
type Checked struct {
	Seen   map[string]bool // mapped as fiolat needs it
	Others []string        // only named like indices of fiolat
	Unread []string        // of which no shard answers, and Why
	Why    string
}

// Warnings are about the indices that are left alone.
func (c *Checked) Warnings() (out []string) {
	if len(c.Others) > 0 {
		out = append(out, fio.Some(c.Others)+": not an index of fiolat's by its name (PREFIX-KIND-YYYY.MM); nothing in "+
			"it is read, counted or deleted")
	}
	if len(c.Unread) > 0 {
		out = append(out, fmt.Sprintf("%s: cannot be read, and is left alone: %s", fio.Some(c.Unread), c.Why))
	}
	return out
}

// checkMappings compares the mappings of the prefix's indices that match patterns with what fiolat needs. A closed
// index is an error if closed is set, else it is skipped; one of which no shard answers is a temporary error if it is
// needed.
func checkMappings(
	ctx context.Context,
	c *client.Client,
	prefix, patterns string,
	needed func(index string) bool,
	closed bool,
) (is Checked, err error) {
	reply := fieldCaps{needed: needed}
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
			return is, nil
		case refused.Type == "index_closed_exception":
			return is, fmt.Errorf("%w: %w", ErrClosedIndex, err)
		}
	}
	if err != nil {
		return is, err
	}
	seen := map[string]bool{}
	is = Checked{Seen: seen, Unread: reply.unread, Why: reply.why}
	for _, index := range reply.Indices {
		// Without a pattern, all others are behind an alias.
		if _, ours := esmodel.KindOf(prefix, index); ours || !strings.Contains(patterns, "*") {
			seen[index] = true
		} else if strings.HasPrefix(index, prefix+"-") {
			is.Others = append(is.Others, index)
		}
	}
	slices.Sort(is.Others)
	for _, field := range neededKeywords {
		types := reply.Fields[field]
		if len(types) == 0 && len(seen) > 0 {
			return is, &MappingError{
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
					return is, &MappingError{
						Index: index,
						Msg:   fmt.Sprintf("%s is %s where fiolat needs keyword", field, typ),
					}
				}
			}
		}
	}
	return is, nil
}

type fieldCaps struct {
	needed func(index string) bool
	unread []string
	why    string

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
	all, why := "", ""
	var unread []string
	for _, f := range said.Why {
		why = cmp.Or(why, fmt.Sprintf("%s: %s", f.Failure.Cause.Type, f.Failure.Cause.Reason))
		all += fmt.Sprintf("; %s: %s: %s", fio.Some(f.Indices), f.Failure.Cause.Type, f.Failure.Cause.Reason)
		unread = append(unread, f.Indices...)
	}
	if said.Indices == nil || said.Failed != len(unread) || slices.ContainsFunc(unread, said.needed) {
		*r = fieldCaps{needed: said.needed}
		return fmt.Errorf("the reply does not name all indices; %d failed%s", said.Failed, all)
	}
	r.unread, r.why = slices.Sorted(slices.Values(unread)), why
	return nil
}

// CheckMappings is checkMappings for all indices of a prefix. It also names those that are only named like them, and
// those that cannot be read and are not needed, which are left alone.
func CheckMappings(
	ctx context.Context,
	c *client.Client,
	prefix string,
	needed func(index string) bool,
	closed bool,
) (Checked, error) {
	var patterns []string
	for _, k := range esmodel.Kinds {
		patterns = append(patterns, esmodel.Pattern(prefix, k))
	}
	return checkMappings(ctx, c, prefix, strings.Join(patterns, ","), needed, closed)
}

// None and Every are answers to which indices are needed.
func None(string) bool { return false }

// Every is None's opposite.
func Every(string) bool { return true }

// Scope is what a command reads and deletes of the indices of a prefix: all but those that cannot be read and hold
// nothing of its run.
type Scope struct {
	Prefix  string
	Without []string
}

// Of returns the names of the indices of a kind, separated by commas.
func (s Scope) Of(kind esmodel.Kind) string {
	names := esmodel.Indices(s.Prefix, kind)
	if kind != esmodel.KindRun { // whose name is no pattern, from which one could be left out
		for _, w := range s.Without {
			if k, _ := esmodel.KindOf(s.Prefix, w); k == kind {
				names += ",-" + w
			}
		}
	}
	return names
}

// Names returns the names of all indices that hold documents of generations, separated by commas.
func (s Scope) Names() string {
	var p []string
	for _, k := range generationKinds {
		p = append(p, s.Of(k))
	}
	return strings.Join(p, ",")
}

// ScopeOf checks the mappings of a prefix, and returns what must be read to find all documents of a generation's run:
// an index that cannot be read is a temporary error if documents of its other generations may lie there. found is the
// document of the run from before this generation was written, nil if there was none.
func ScopeOf(ctx context.Context, c *client.Client, prefix string, g Generation, found []byte) (Scope, error) {
	is, err := CheckMappings(ctx, c, prefix, g.others(prefix, found), false)
	return Scope{prefix, is.Unread}, err
}

// others returns whether an index may hold documents of other generations of the run.
func (g Generation) others(prefix string, found []byte) func(index string) bool {
	var m esmodel.DocHeader
	err := error(nil)
	if found != nil {
		m, err = esmodel.ReadDocHeader(found)
	}
	if found == nil || err == nil && m.State() == (esmodel.State{Generation: g.Generation,
		Status: esmodel.StatusComplete}) { // which has no documents of others
		return func(index string) bool { return index == esmodel.Index(prefix, esmodel.KindRun, 0) }
	}
	return MonthsOf(prefix, m)
}

// MonthsOf returns whether an index may hold documents of a run, by the run's document: those of a complete one are in
// the months from its start to its end.
func MonthsOf(prefix string, m esmodel.DocHeader) func(index string) bool {
	start, end, known := m.Run.Span()
	known = known && m.Run.Status == esmodel.StatusComplete && m.Rolling == ""
	return func(index string) bool {
		kind, ours := esmodel.KindOf(prefix, index)
		if !ours || kind == esmodel.KindProbe && m.Fio.Kind != esmodel.ProbeKind {
			return false
		}
		return kind == esmodel.KindRun || !known || Between(prefix, index, start, end)
	}
}

// Between reports whether an index is of a month from start to end, which are in ns since 1970.
func Between(prefix, index string, start, end int64) bool {
	kind, ours := esmodel.KindOf(prefix, index)
	return ours && index >= esmodel.Index(prefix, kind, start) && index <= esmodel.Index(prefix, kind, end)
}

// Readable returns all indices of a prefix but those that cannot be read.
func Readable(ctx context.Context, c *client.Client, prefix string) (Scope, error) {
	is, err := CheckMappings(ctx, c, prefix, None, false)
	if errors.As(err, new(*MappingError)) { // which is for those to say that write or delete
		err = nil
	}
	return Scope{prefix, is.Unread}, err
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
		is, wrong := checkMappings(ctx, c, prefix, index, Every, false)
		if wrong != nil || len(is.Seen) > 0 {
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
