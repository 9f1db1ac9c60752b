package kibanatest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

func sortedKeys(m M) []string { return slices.Sorted(maps.Keys(m)) }

// LensPanel is the search of a Lens chart with one layer.
type LensPanel struct {
	Request Request
	Names   map[string]string // name of each column's aggregation
	Buckets []string          // bucket columns, in the order of their nesting
	Metrics []string          // the other columns
	columns M
}

// Lens builds the search of a Lens chart with one layer. auto is the length of "auto" time buckets. Aggregations are
// named by the index of their column and nested in the order of the bucket columns
// (x-pack/plugins/lens/public/datasources/form_based/to_expression.ts, operations/definitions/). If the current mapping
// lacks a field, Lens returns the error that the panel would show.
func (s *Space) Lens(o *Object, st State, fields Fields, auto time.Duration) (*LensPanel, error) {
	layers := Obj(o.Attributes, "state", "datasourceStates", "formBased", "layers")
	if len(layers) != 1 {
		return nil, fmt.Errorf("%d layers", len(layers))
	}
	id := sortedKeys(layers)[0]
	view := s.find(o.Ref("indexpattern-datasource-layer-" + id))
	if view == nil {
		return nil, fmt.Errorf("layer %s has no data view: it is dropped", id)
	}
	p := &LensPanel{Names: map[string]string{}, columns: Obj(layers, id, "columns")}
	l := &lensLayer{p: p, fields: FieldsOf(view, fields), st: st, auto: auto}
	for i, c := range List(layers, id, "columnOrder") {
		p.Names[c.(string)] = fmt.Sprint(i)
		if At(p.columns, c.(string), "isBucketed") == true {
			p.Buckets = append(p.Buckets, c.(string))
		} else {
			p.Metrics = append(p.Metrics, c.(string))
		}
	}
	top := M{"aggs": M{}}
	body := top
	for _, c := range p.Buckets {
		agg, err := l.bucket(c)
		if err != nil {
			return nil, err
		}
		body["aggs"].(M)[p.Names[c]] = agg
		body = agg
	}
	for _, c := range p.Metrics {
		name, agg, err := l.metric(c)
		if err != nil {
			return nil, err
		}
		if agg != nil {
			body["aggs"].(M)[name] = agg
		}
	}
	filters := []any{}
	for _, f := range st.Filters() {
		filters = append(filters, f)
	}
	q, err := KQL(Str(o.Attributes, "state", "query", "query"))
	if err != nil {
		return nil, err
	}
	filters = append(filters, q)
	// The time picker applies only to data views with a time field
	// (src/plugins/data/common/query/timefilter/get_time.ts).
	if t := Str(view.Attributes, "timeFieldName"); t != "" {
		filters = append(filters, M{"range": M{t: M{"format": "strict_date_optional_time", "gte": iso(st.From),
			"lte": iso(st.To)}}})
	}
	p.Request = Request{Name: id, Index: Pattern(view), Body: M{"size": 0, "query": M{"bool": M{"must": []any{},
		"filter": filters, "should": []any{}, "must_not": []any{}}}, "aggs": top["aggs"]}}
	return p, nil
}

type lensLayer struct {
	p      *LensPanel
	fields map[string]string
	st     State
	auto   time.Duration
}

func (l *lensLayer) field(c string) (string, error) {
	name := Str(l.p.columns, c, "sourceField")
	if l.fields[name] == "" {
		return "", fmt.Errorf("field %q was not found", name)
	}
	return name, nil
}

// bucket returns the aggregation of a bucket column (definitions/{terms/index,date_histogram}.tsx).
func (l *lensLayer) bucket(c string) (M, error) {
	params := Obj(l.p.columns, c, "params")
	name, err := l.field(c)
	if err != nil {
		return nil, err
	}
	switch op := Str(l.p.columns, c, "operationType"); op {
	case "terms":
		t := M{"field": name, "size": params["size"], "order": M{"_key": cmp.Or(Str(params, "orderDirection"), "asc")}}
		if size, _ := params["size"].(float64); size <= 10 {
			t["shard_size"] = 25 // src/plugins/data/common/search/aggs/buckets/terms.ts
		}
		if params["otherBucket"] == true && params["missingBucket"] == true {
			t["missing"] = "__missing__"
		}
		agg := M{"terms": t, "aggs": M{}}
		// Lens sorts only by metrics, and not by fractional percentiles (isSortableByColumn, isPercentileSortable).
		by := Str(params, "orderBy", "columnId")
		col := Obj(l.p.columns, by)
		p, isPercentile := At(col, "params", "percentile").(float64)
		if by != "" && col != nil && col["isBucketed"] == false && Str(col, "operationType") != "last_value" &&
			(!isPercentile || p == math.Trunc(p)) {
			path, order, err := l.metric(by)
			if err != nil {
				return nil, err
			}
			if order != nil {
				t["order"] = M{path: Str(params, "orderDirection")}
				agg["aggs"] = M{path: order}
			} else {
				t["order"] = M{"_count": Str(params, "orderDirection")}
			}
		}
		return agg, nil
	case "date_histogram":
		h := M{"field": name, "time_zone": "UTC"}
		interval := Str(params, "interval")
		if interval == "auto" {
			interval = fmt.Sprintf("%dms", l.auto.Milliseconds())
		}
		h["fixed_interval"] = interval
		if calendar[interval] {
			delete(h, "fixed_interval")
			h["calendar_interval"] = interval
		}
		if params["includeEmptyRows"] == true {
			h["extended_bounds"] = M{"min": l.st.From.UnixMilli(), "max": l.st.To.UnixMilli()}
		} else {
			h["min_doc_count"] = 1
		}
		return M{"date_histogram": h, "aggs": M{}}, nil
	default:
		return nil, fmt.Errorf("operation %q makes no buckets", op)
	}
}

// metric returns the name and the aggregation of a metric column. The aggregation is nil for a count of documents
// (definitions/{metrics,percentile,last_value,count}.tsx).
func (l *lensLayer) metric(c string) (string, M, error) {
	col := Obj(l.p.columns, c)
	name := l.p.Names[c]
	op := Str(col, "operationType")
	if op == "count" {
		return name, nil, nil
	}
	field, err := l.field(c)
	if err != nil {
		return "", nil, err
	}
	typ := l.fields[field]
	number := typ == "double" || typ == "long"
	var agg M
	switch op {
	case "last_value":
		if typ == "histogram" {
			return "", nil, fmt.Errorf("field %q is of the wrong type", field)
		}
		sort := Str(col, "params", "sortField")
		if l.fields[sort] != "date" {
			return "", nil, fmt.Errorf("field %q was not found", sort)
		}
		agg = M{"top_metrics": M{"metrics": M{"field": field}, "size": 1, "sort": M{sort: "desc"}}}
		if At(col, "params", "showArrayValues") == true {
			agg = M{"top_hits": M{"_source": []string{field}, "size": 1, "sort": M{sort: M{"order": "desc"}}}}
		}
	case "percentile":
		if !number && typ != "histogram" {
			return "", nil, fmt.Errorf("field %q is of the wrong type", field)
		}
		agg = M{"percentiles": M{"field": field, "percents": []any{At(col, "params", "percentile")}}}
	case "max", "min":
		if !number && typ != "date" && typ != "histogram" {
			return "", nil, fmt.Errorf("field %q is of the wrong type", field)
		}
		agg = M{op: M{"field": field}}
	case "sum", "average":
		if !number && typ != "histogram" {
			return "", nil, fmt.Errorf("field %q is of the wrong type", field)
		}
		agg = M{op: M{"field": field}}
	default:
		return "", nil, fmt.Errorf("operation %q", op)
	}
	if q := Str(col, "filter", "query"); q != "" {
		f, err := KQL(q)
		if err != nil {
			return "", nil, err
		}
		agg = M{"filter": f, "aggs": M{name + "-metric": agg}}
		name += "-filter"
	}
	return name, agg, nil
}

// Rows returns the rows of the reply, each by column. The key of a row is its bucket keys joined with "|", times in ms.
func (p *LensPanel) Rows(answer M) map[string]M {
	out := map[string]M{}
	p.rows(out, nil, Obj(answer, "aggregations"))
	return out
}

func (p *LensPanel) rows(out map[string]M, path []string, in M) {
	if len(path) < len(p.Buckets) {
		all := At(in, p.Names[p.Buckets[len(path)]], "buckets")
		each := func(key string, b any) { p.rows(out, append(slices.Clone(path), key), b.(M)) }
		if named, ok := all.(map[string]any); ok {
			for _, k := range sortedKeys(named) {
				each(k, named[k])
			}
		}
		for _, b := range List(all) {
			key := Str(b, "key")
			if n, ok := At(b, "key").(float64); ok {
				key = fmt.Sprint(int64(n))
			}
			each(key, b)
		}
		return
	}
	row := M{}
	for _, c := range p.Metrics {
		a := Obj(in, p.Names[c])
		if f := Obj(in, p.Names[c]+"-filter"); f != nil {
			a = Obj(f, p.Names[c]+"-metric")
		}
		field := Str(p.columns, c, "sourceField")
		switch {
		case Str(p.columns, c, "operationType") == "count":
			row[c] = in["doc_count"]
		case a["values"] != nil:
			for _, v := range Obj(a, "values") {
				row[c] = v
			}
		case a["hits"] != nil:
			row[c] = nil
			if hits := List(a, "hits", "hits"); len(hits) > 0 {
				row[c] = At(hits[0], append([]string{"_source"}, strings.Split(field, ".")...)...)
			}
		case a["top"] != nil:
			row[c] = nil
			if top := List(a, "top"); len(top) > 0 {
				row[c] = Obj(top[0], "metrics")[field]
			}
		default:
			row[c] = a["value"]
		}
	}
	out[strings.Join(path, "|")] = row
}

// KQL translates a query in the supported subset of KQL: field: value, field: * and not field: ..., joined by "and"
// (packages/kbn-es-query/src/kuery).
func KQL(q string) (M, error) {
	all := []any{}
	for _, part := range strings.Split(q, " and ") {
		if part == "" {
			continue
		}
		not := strings.HasPrefix(part, "not ")
		name, value, ok := strings.Cut(strings.TrimPrefix(part, "not "), ": ")
		if !ok {
			return nil, fmt.Errorf("KQL %q", q)
		}
		name, value = strings.Trim(name, `"`), strings.Trim(value, `"`)
		f := M{"match_phrase": M{name: value}}
		if value == "*" {
			f = M{"exists": M{"field": name}}
		}
		if not {
			f = M{"bool": M{"must_not": f}}
		}
		all = append(all, f)
	}
	return M{"bool": M{"filter": all}}, nil
}
