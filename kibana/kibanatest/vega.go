package kibanatest

import (
	"fmt"
	"time"
)

// Spec returns the specification of a Vega panel, nil for any other object.
func Spec(o *Object) M {
	if o.spec == nil && o.Type == "visualization" && Str(o.Attributes, "type") == "vega" {
		o.spec = Obj(o.Attributes, "params", "spec")
	}
	return o.spec
}

// VegaPanel is a Vega panel with its searches.
type VegaPanel struct {
	Spec     M
	Requests []Request
	data     []M // the "data" object of each request
}

// Vega reads the specification of a panel. Every "data" whose url is an object is a search, wherever it stands
// (src/plugins/vis_types/vega/public/data_model/vega_parser.ts: _findObjectDataUrls). Its placeholders are filled in
// (es_query_parser.ts in the same folder).
func Vega(o *Object, st State) (*VegaPanel, error) {
	p := &VegaPanel{Spec: clone(Spec(o))}
	if Str(p.Spec, "$schema") == "" {
		return nil, fmt.Errorf("no $schema")
	}
	return p, p.search("", p.Spec, st)
}

func (p *VegaPanel) search(key string, v any, st State) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := p.search(key, e, st); err != nil {
				return err
			}
		}
	case map[string]any:
		if url := Obj(v, "url"); key == "data" && url != nil {
			if v["values"] != nil || v["source"] != nil {
				return fmt.Errorf("data must not have more than one of url, values and source")
			}
			return p.url(v, url, st)
		}
		for _, k := range sortedKeys(v) {
			if err := p.search(k, v[k], st); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *VegaPanel) url(data, url M, st State) error {
	body := Obj(url, "body")
	if url["%context%"] != nil || url["%timefield%"] != nil {
		return fmt.Errorf("%%context%% and %%timefield%% do not go with a query")
	}
	for _, part := range []string{"query", "aggs"} {
		if body[part] == nil {
			continue
		}
		filled, err := inject("", body[part], st, part == "query")
		if err != nil {
			return err
		}
		body[part] = filled
	}
	// getRequestName: unnamed data is named by its index, a name that matches any unnamed data.
	p.Requests = append(p.Requests, Request{Name: Str(data, "name"), Index: Str(url, "index"), Body: body})
	p.data = append(p.data, data)
	return nil
}

// inject fills in the placeholders of a query or of aggregations (es_query_parser.ts: _injectContextVars). In lists of
// a query, a string stands for a part of what buildEsQuery makes of the dashboard's query, filters and controls
// (vega_request_handler.ts): filters in "filter"; nothing in "must", where Lucene queries would be, and in "must_not",
// where negated filters would be. There is no time range in them.
func inject(key string, v any, st State, query bool) (any, error) {
	switch v := v.(type) {
	case []any:
		out := []any{}
		for _, e := range v {
			switch {
			case query && e == "%dashboard_context-filter_clause%":
				for _, f := range st.Filters() {
					out = append(out, f)
				}
			case query && (e == "%dashboard_context-must_clause%" || e == "%dashboard_context-must_not_clause%"):
			default:
				filled, err := inject("", e, st, query)
				if err != nil {
					return nil, err
				}
				out = append(out, filled)
			}
		}
		return out, nil
	case map[string]any:
		for _, k := range sortedKeys(v) {
			sub := v[k]
			if k == "interval" && key == "date_histogram" {
				interval, ok := sub.(string)
				if n := At(sub, "%autointerval%"); !ok && n != nil {
					size, isNumber := n.(float64)
					if n == true {
						size = 50
					} else if !isNumber {
						return nil, fmt.Errorf("%%autointerval%% must be either true or a number")
					}
					interval = RoundInterval(time.Duration(float64(st.To.Sub(st.From)) / size))
				}
				delete(v, "interval")
				kind := "fixed_interval"
				if calendar[interval] {
					kind = "calendar_interval"
				}
				v[kind] = interval
				continue
			}
			switch At(sub, "%timefilter%") {
			case "min":
				v[k] = st.From.UnixMilli()
			case "max":
				v[k] = st.To.UnixMilli()
			case true: // _createRangeFilter
				v[k] = M{"gte": iso(st.From), "lte": iso(st.To), "format": "strict_date_optional_time"}
			case nil:
				filled, err := inject(k, sub, st, query)
				if err != nil {
					return nil, err
				}
				v[k] = filled
			default:
				return nil, fmt.Errorf("%%timefilter%% must be true, min or max")
			}
		}
	}
	return v, nil
}

// calendar holds the calendar intervals, those of a single unit
// (src/plugins/data/common/search/aggs/utils/date_interval_utils/parse_es_interval.ts).
var calendar = map[string]bool{"1m": true, "1h": true, "1d": true, "1w": true, "1M": true, "1y": true}

// RoundInterval returns the length of time buckets (es_query_parser.ts: _roundInterval). It may be as little as a
// fifth of the requested length.
func RoundInterval(d time.Duration) string {
	for _, r := range []struct {
		upTo time.Duration
		is   string
	}{
		{500 * time.Millisecond, "100ms"}, {5 * time.Second, "1s"}, {7500 * time.Millisecond, "5s"}, {15 * time.Second,
			"10s"}, {45 * time.Second, "30s"},
		{3 * time.Minute, "1m"}, {450 * time.Second, "5m"}, {20 * time.Minute, "10m"}, {45 * time.Minute, "30m"},
		{2 * time.Hour, "1h"}, {6 * time.Hour, "3h"},
		{24 * time.Hour, "12h"}, {7 * 24 * time.Hour, "24h"}, {21 * 24 * time.Hour, "1w"}, {42*24*time.Hour - 1, "30d"},
	} {
		if d <= r.upTo {
			return r.is
		}
	}
	return "1y"
}

// Length returns the length of an interval.
func Length(interval string) time.Duration {
	var n int
	var unit string
	if _, err := fmt.Sscanf(interval, "%d%s", &n, &unit); err != nil {
		panic(interval)
	}
	return time.Duration(n) * map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute,
		"h": time.Hour,
		"d": 24 * time.Hour, "w": 7 * 24 * time.Hour, "y": 365 * 24 * time.Hour}[unit]
}

// Draw assigns the replies, in the order of the requests, each to the first data of its name; unnamed data takes any
// (es_query_parser.ts: populateData). Data without a reply is an error, as it fails when Vega reads it.
func (p *VegaPanel) Draw(answers []M) error {
	names := func(i, at int) string { // getRequestName(request i, at)
		if p.Requests[i].Name == "" {
			return fmt.Sprintf("Unnamed request #%d", at)
		}
		return p.Requests[i].Name
	}
	for at, a := range answers {
		for i := range p.Requests {
			if names(i, at) == names(at, at) {
				p.data[i]["values"] = a
				break
			}
		}
	}
	for i, d := range p.data {
		if d["values"] == nil {
			return fmt.Errorf("request %d (%q) has no answer: cannot set properties of undefined (setting 'format')", i,
				p.Requests[i].Name)
		}
	}
	return nil
}

func iso(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
