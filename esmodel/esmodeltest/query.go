package esmodeltest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// found is a document as a search sees it.
type found struct {
	index, id string
	d         *doc
}

// query answers _count, _search and _pit.
func (s *Server) query(r *http.Request, p []string, body []byte) (int, any) {
	last, indices := p[len(p)-1], "*"
	if len(p) == 2 {
		indices = p[0]
	}
	var q struct {
		Query  any    `json:"query"`
		Size   *int   `json:"size"`
		ID     string `json:"id"`
		Source any    `json:"_source"`
		Seq    bool   `json:"seq_no_primary_term"`
		Sort   []any  `json:"sort"`
		After  []any  `json:"search_after"`
		PIT    *struct {
			ID string `json:"id"`
		} `json:"pit"`
		Slice *struct{ ID, Max int } `json:"slice"`
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &q); err != nil {
			return 400, failure(400, "parse_exception", err.Error())
		}
	}
	for _, name := range s.match(indices) {
		if !s.red[name] || q.PIT != nil || r.Method == http.MethodDelete {
			continue
		}
		if last == "_count" {
			return 200, object{"count": 0, "_shards": object{"total": 2, "successful": 1, "failed": 1,
				"failures": []any{object{"index": name,
					"reason": object{"type": "no_shard_available_action_exception"}}}}}
		}
		return 503, noShard(name)
	}
	if last == "_pit" {
		if r.Method == http.MethodDelete {
			delete(s.pits, q.ID)
			return 200, object{"succeeded": true}
		}
		s.opened++
		id := fmt.Sprintf("pit-%d", s.opened)
		s.pits[id] = s.visible(indices)
		return 200, object{"id": id}
	}
	if last != "_count" && !strings.Contains(indices, "*") && !strings.Contains(r.URL.RawQuery,
		"ignore_unavailable=true") && q.PIT == nil && s.indices[indices] == nil {
		return 404, failure(404, "index_not_found_exception", "no such index ["+indices+"]")
	}
	docs := s.visible(indices)
	if q.PIT != nil {
		var ok bool
		docs, ok = s.pits[q.PIT.ID]
		if !ok {
			return 404, failure(404, "search_context_missing_exception", "No search context found")
		}
	}
	type match struct {
		found
		sort []any
	}
	if x := q.Slice; x != nil && (x.Max < 2 || x.ID < 0 || x.ID >= x.Max) {
		return 400, failure(400, "illegal_argument_exception", "max must be greater than 1, and id less than max")
	}
	var matched []match
	for n, f := range docs {
		if x := q.Slice; x != nil && n*x.Max/len(docs) != x.ID {
			continue
		}
		ok, err := matches(q.Query, f)
		if err != nil {
			return 400, failure(400, "parsing_exception", err.Error())
		}
		if ok {
			matched = append(matched, match{f, sortValues(q.Sort, f, n)})
		}
	}
	slices.SortFunc(matched, func(a, b match) int { return compareSort(q.Sort, a.sort, b.sort) })
	var hits []object
	total, size := len(matched), 10
	if q.Size != nil {
		size = *q.Size
	}
	for _, f := range matched {
		if len(hits) >= size {
			break
		}
		if len(q.After) > 0 && compareSort(q.Sort, f.sort, q.After) <= 0 {
			continue
		}
		h := object{"_index": f.index, "_id": f.id, "sort": f.sort}
		if q.Source != false {
			h["_source"] = filtered(f.d.source, q.Source)
		}
		if q.Seq {
			h["_seq_no"], h["_primary_term"] = f.d.seq, 1
		}
		hits = append(hits, h)
	}
	if last == "_count" {
		return 200, object{"count": total, "_shards": allShards}
	}
	out := object{"_shards": allShards, "hits": object{"hits": hits, "total": object{"value": total, "relation": "eq"}}}
	if q.PIT != nil {
		out["pit_id"] = q.PIT.ID
	}
	return 200, out
}

// filtered returns a document, or of it the fields whose paths a search lists in _source.
func filtered(source json.RawMessage, wanted any) any {
	paths, some := wanted.([]any)
	var all map[string]any
	if err := json.Unmarshal(source, &all); !some || err != nil {
		return source
	}
	out := map[string]any{}
	for _, path := range paths {
		from, to := all, out
		for names := strings.Split(strings.TrimSuffix(fmt.Sprint(path), ".*"), "."); from != nil; names = names[1:] {
			v, there := from[names[0]]
			below, _ := v.(map[string]any)
			if !there {
				break
			}
			if len(names) == 1 {
				to[names[0]] = v
				break
			}
			next, begun := to[names[0]].(map[string]any)
			if !begun {
				next = map[string]any{}
				to[names[0]] = next
			}
			from, to = below, next
		}
	}
	return out
}

var allShards = object{"total": 1, "successful": 1, "failed": 0}

// sortBy returns the field of an element of sort, and whether it descends.
func sortBy(s any) (field string, down bool) {
	m, _ := s.(map[string]any)
	for name, order := range m {
		if o, ok := order.(map[string]any); ok {
			order = o["order"]
		}
		return name, order == "desc"
	}
	return fmt.Sprint(s), false
}

// sortValues returns the sort values of document n; without sort that is n itself.
func sortValues(by []any, f found, n int) []any {
	out := []any{}
	for _, s := range by {
		name, _ := sortBy(s)
		switch v := f.d.fields[name].(type) {
		case json.Number:
			x, _ := v.Float64()
			out = append(out, x)
		case nil:
			if name == "_shard_doc" {
				out = append(out, float64(n))
			} else {
				out = append(out, nil)
			}
		default:
			out = append(out, fmt.Sprint(v))
		}
	}
	if len(by) == 0 {
		out = append(out, float64(n))
	}
	return out
}

// compareSort compares sort values; a missing value comes last.
func compareSort(by, a, b []any) int {
	for i := range min(len(a), len(b)) {
		down := false
		if i < len(by) {
			_, down = sortBy(by[i])
		}
		var c int
		switch x := a[i].(type) {
		case float64:
			y, _ := b[i].(float64)
			c = cmp.Compare(x, y)
		case string:
			y, _ := b[i].(string)
			c = strings.Compare(x, y)
		}
		if a[i] == nil || b[i] == nil {
			c, down = cmp.Compare(btoi(a[i] == nil), btoi(b[i] == nil)), false
		}
		if down {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// visible returns the refreshed documents of indices, in a fixed order.
func (s *Server) visible(indices string) []found {
	var out []found
	for _, name := range s.match(indices) {
		if s.closed[name] {
			continue
		}
		for id, d := range s.indices[name].seen {
			out = append(out, found{name, id, d})
		}
	}
	slices.SortFunc(out, func(a, b found) int {
		return cmp.Or(strings.Compare(a.index, b.index), strings.Compare(a.id, b.id))
	})
	return out
}

// matches evaluates a query; one that it does not support is an error.
func matches(query any, f found) (bool, error) {
	if query == nil {
		return true, nil
	}
	q, _ := query.(map[string]any)
	for typ, v := range q {
		m, _ := v.(map[string]any)
		switch typ {
		case "match_all":
			return true, nil
		case "bool":
			return matchBool(m, f)
		case "exists":
			name := fmt.Sprint(m["field"])
			for have := range f.d.fields {
				if have == name || strings.HasPrefix(have, name+".") {
					return true, nil
				}
			}
			return false, nil
		case "term", "terms", "range", "prefix", "regexp":
			for name, want := range m {
				return matchField(typ, f, name, want)
			}
		}
		return false, fmt.Errorf("unknown query [%s]", typ)
	}
	return false, fmt.Errorf("empty query")
}

func matchBool(m map[string]any, f found) (bool, error) {
	for clause, v := range m {
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		some := false
		for _, q := range list {
			ok, err := matches(q, f)
			if err != nil {
				return false, err
			}
			switch clause {
			case "filter", "must":
				if !ok {
					return false, nil
				}
			case "must_not":
				if ok {
					return false, nil
				}
			case "should":
				some = some || ok
			default:
				return false, fmt.Errorf("unknown clause [%s]", clause)
			}
		}
		if clause == "should" && !some && len(list) > 0 {
			return false, nil
		}
	}
	return true, nil
}

func matchField(typ string, f found, name string, want any) (bool, error) {
	var have []string
	switch v := f.d.fields[name].(type) {
	case nil:
	case []any:
		for _, e := range v {
			have = append(have, fmt.Sprint(e))
		}
	default:
		have = []string{fmt.Sprint(v)}
	}
	if name == "_id" {
		have = []string{f.id}
	}
	if name == "_index" {
		have = []string{f.index}
	}
	switch typ {
	case "term":
		if m, ok := want.(map[string]any); ok {
			want = m["value"]
		}
		return slices.Contains(have, fmt.Sprint(want)), nil
	case "prefix":
		return slices.ContainsFunc(have, func(v string) bool { return strings.HasPrefix(v, fmt.Sprint(want)) }), nil
	case "regexp":
		of, err := regexp.Compile("^(?:" + fmt.Sprint(want) + ")$")
		return err == nil && slices.ContainsFunc(have, of.MatchString), err
	case "terms":
		list, _ := want.([]any)
		for _, w := range list {
			if slices.Contains(have, fmt.Sprint(w)) {
				return true, nil
			}
		}
		return false, nil
	}
	// Ranges compare strings: in the format of fiolat's times that is the order of time.
	m, _ := want.(map[string]any)
	for _, h := range have {
		ok := true
		for op, limit := range m {
			c := strings.Compare(h, fmt.Sprint(limit))
			ok = ok && (op == "gte" && c >= 0 || op == "gt" && c > 0 || op == "lte" && c <= 0 || op == "lt" && c < 0)
		}
		if ok {
			return true, nil
		}
	}
	return false, nil
}
