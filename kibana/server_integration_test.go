//go:build integration

package kibana

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// stored is a real Elasticsearch with real runs in it, and a bundle for them.
type stored struct {
	es     string
	full   bool // it has the histogram type, and all else that users' clusters have
	prefix string
	fiolat string
	bundle *parsed
	runs   map[string][]quantum // by key: what `percentiles --format ndjson` says
	from   time.Time            // of all of them
	to     time.Time
}

// quantum is a line of percentiles --format ndjson.
type quantum struct {
	OffsetMS               float64 `json:"offset_ms"`
	Timestamp              time.Time
	Scope, Direction, Kind string
	Host, Job              *string
	Samples                float64
	Min, Max, Mean         *float64
	Percentiles            map[string]*float64
}

func (r quantum) host() string { return deref(r.Host) }

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (s *stored) command(t *testing.T, args ...string) (stdout, stderr []byte) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.fiolat, args...)
	cmd.Dir = "../testdata/fio"
	cmd.Env = append(os.Environ(), "ELASTICSEARCH_URL="+s.es) // which may hold a password
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("fiolat %s: %v\n%s", strings.Join(args, " "), err, errs.Bytes())
	}
	return out.Bytes(), errs.Bytes()
}

// ask sends a request to Elasticsearch, whose answer must be a success.
func (s *stored) ask(t *testing.T, method, path string, body any) map[string]any {
	t.Helper()
	status, answer := s.try(t, method, path, body)
	if status/100 != 2 {
		sent, _ := json.MarshalIndent(body, "", " ")
		t.Fatalf("%s %s: %d %v\n%s", method, path, status, answer, sent)
	}
	return answer
}

func (s *stored) try(t *testing.T, method, path string, body any) (int, map[string]any) {
	t.Helper()
	var sent []byte
	switch b := body.(type) {
	case nil:
	case []byte:
		sent = b
	default:
		sent, _ = json.Marshal(b)
	}
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, s.es+path, bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer map[string]any
	if len(b) > 0 {
		if err := json.Unmarshal(b, &answer); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, b)
		}
	}
	return res.StatusCode, answer
}

// real runs that differ: of two hosts, with a pause, of reads and writes, of all kinds
// of latency.
var realRuns = []string{"cluster", "gaps", "randrw", "kinds"}

// kindsOf are the kinds of latency that a run has.
func kindsOf(run string) []string {
	if run == "kinds" {
		return kinds
	}
	return []string{"clat"}
}

// key is a run's of a kind of latency: its name, and the kind if that is not the one
// that dashboards show at first.
func key(run, kind string) string {
	if kind == "clat" {
		return run
	}
	return run + " " + kind
}

// logs are the arguments that read a real run, close in time to the others.
func logs(run, kind string) []string {
	args := []string{"--kind", kind, run}
	if run == "kinds" {
		args = append([]string{"--start", "2026-11-21T02:08:30Z"}, args...)
	}
	return args
}

const split = "direction,host,job"

// store ingests real logs and adds by hand what other commands write: events and what
// a probe saw.
func store(t *testing.T) *stored {
	t.Helper()
	s := &stored{es: os.Getenv("FIOLAT_TEST_ES"), prefix: fmt.Sprintf("kb%d", time.Now().UnixNano()), runs: map[string][]quantum{}, fiolat: filepath.Join(t.TempDir(), "fiolat")}
	if url := os.Getenv("FIOLAT_TEST_ES_URL"); url != "" {
		s.es, s.full = url, true
	}
	if s.es == "" {
		t.Fatal(`FIOLAT_TEST_ES is not set: eval "$(scripts/elasticsearch up)"`)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", s.fiolat, "../cmd/fiolat").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() {
		_, indices := s.try(t, "GET", "/"+s.prefix+"-*", nil)
		for name := range indices {
			s.try(t, "DELETE", "/"+name, nil)
		}
		s.try(t, "DELETE", "/_index_template/"+s.prefix+"-*", nil)
	})
	for _, name := range realRuns {
		for _, kind := range kindsOf(name) {
			args := []string{"ingest", "--index-prefix", s.prefix, "--by", split, "--run-id", "run-" + name, "--run-name", name}
			if name == "cluster" {
				args = append(args, "--sla", "read p99 < 5ms")
			}
			s.command(t, append(args, logs(name, kind)...)...)
			out, _ := s.command(t, append([]string{"percentiles", "--format", "ndjson", "--by", split}, logs(name, kind)...)...)
			for line := range bytes.Lines(out) {
				r := parseQuantum(t, string(line))
				s.runs[key(name, kind)] = append(s.runs[key(name, kind)], r)
				if s.from.IsZero() || r.Timestamp.Before(s.from) {
					s.from = r.Timestamp
				}
				if end := r.Timestamp.Add(time.Second); end.After(s.to) {
					s.to = end
				}
			}
		}
	}
	s.byHand(t)
	s.bundle = parse(bytes.ReplaceAll(write(t, "fio"), []byte("fio-"), []byte(s.prefix+"-")))
	return s
}

// slaLimit is of reads' p99 in the run cluster, in ns.
const slaLimit = 5e6

// probed is what the probe saw: operation, target, seconds from the start, slowdown.
var probed = []struct {
	operation, target string
	at                int
	slowdown          float64
}{
	{"stat", "/gpfs/a", 0, 1}, {"stat", "/gpfs/a", 1, 1.5}, {"stat", "/gpfs/b", 2, 40},
	{"write", "/gpfs/a", 0, 0.9}, {"write", "/gpfs/a", 5, 2}, {"write", "/gpfs/b", 5, 3},
}

const expected = 200e3 // ns

func (s *stored) byHand(t *testing.T) {
	t.Helper()
	var bulk bytes.Buffer
	put := func(index, id string, doc any) {
		a, _ := json.Marshal(m{"index": m{"_index": index, "_id": id}})
		d, _ := json.Marshal(doc)
		fmt.Fprintf(&bulk, "%s\n%s\n", a, d)
	}
	start := s.runs["cluster"][0].Timestamp
	month := func(kind string, at time.Time) string {
		return s.prefix + "-" + kind + "-" + at.UTC().Format("2006.01")
	}
	event := func(run, action, text string, at time.Time, offset int) {
		put(month("event", at), text, m{"@timestamp": at.UTC().Format(time.RFC3339Nano), "run": m{"id": run}, "event": m{"action": action}, "message": text,
			"interval": m{"offset_ms": offset}, "fio": m{"direction": "read"}})
	}
	event("run-cluster", "note", "osd.12 down", start.Add(3500*time.Millisecond), 3500)
	event("run-cluster", "breach", "read p99 < 5ms is broken", start.Add(4*time.Second), 4000)
	event("run-gaps", "note", "of another run", s.runs["gaps"][0].Timestamp.Add(time.Second), 1000)
	for i, p := range probed {
		at := start.Add(time.Duration(p.at) * time.Second)
		put(month("probe", at), fmt.Sprint(i), m{"@timestamp": at.UTC().Format(time.RFC3339Nano), "run": m{"id": "run-probe"}, "host": m{"name": "client1"}, "fio": m{"kind": "probe"},
			"scope": "operation", "probe": m{"operation": p.operation, "target": p.target, "slowdown": p.slowdown}, "latency": m{"value": expected * p.slowdown, "expected": expected}})
	}
	if answer := s.ask(t, "POST", "/_bulk?refresh=true", bulk.Bytes()); answer["errors"] != false {
		t.Fatal(answer)
	}
}

// request is a search that a panel makes.
type request struct {
	index string
	body  m
}

func (s *stored) search(t *testing.T, r request) map[string]any {
	t.Helper()
	return s.ask(t, "POST", "/"+r.index+"/_search", r.body)
}

// pattern is that of the data view behind a reference.
func (s *stored) pattern(o *saved, ref string) string {
	r, _ := o.ref(ref)
	return str(s.bundle.find(typeDataView, r.ID).attrs, "title")
}

func (s *stored) timed(o *saved, ref string) bool {
	r, _ := o.ref(ref)
	return str(s.bundle.find(typeDataView, r.ID).attrs, "timeFieldName") != ""
}

// selected are the filters of what the controls above a chart have chosen at first.
func (s *stored) selected(o *saved) (filters []m) {
	s.bundle.eachDashboard(func(d *saved, _ []any) {
		if !slices.ContainsFunc(d.refs, func(r Reference) bool { return r.ID == o.id }) {
			return
		}
		for _, c := range obj(d.attrs, "controlGroupInput", "panelsJSON") {
			if values := list(c, "explicitInput", "selectedOptions"); len(values) > 0 {
				filters = append(filters, m{"terms": m{str(c, "explicitInput", "fieldName"): values}})
			}
		}
	})
	return filters
}

// inTime is the time picker's filter.
func (s *stored) inTime() m {
	return m{"range": m{timeField: m{"format": "strict_date_optional_time", "gte": s.from.UTC().Format(time.RFC3339Nano), "lte": s.to.UTC().Format(time.RFC3339Nano)}}}
}

// dsl is what Kibana makes of the little KQL that the bundle has: "and" of field:
// value, field: * and not field: *.
func dsl(t *testing.T, q string) m {
	t.Helper()
	all := []m{}
	for _, part := range strings.Split(q, " and ") {
		if part == "" {
			continue
		}
		not := strings.HasPrefix(part, "not ")
		name, value, ok := strings.Cut(strings.TrimPrefix(part, "not "), ": ")
		if !ok {
			t.Fatalf("KQL %q", q)
		}
		name, value = strings.Trim(name, `"`), strings.Trim(value, `"`)
		f := m{"match_phrase": m{name: value}}
		if value == "*" {
			f = m{"exists": m{"field": name}}
		}
		if not {
			f = m{"bool": m{"must_not": f}}
		}
		all = append(all, f)
	}
	return m{"bool": m{"filter": all}}
}

// bucketOf is the length of time buckets in these tests.
const bucketOf = 2 * time.Second

func (s *stored) dateHistogram(field string) m {
	return m{"date_histogram": m{"field": field, "fixed_interval": fmt.Sprintf("%ds", int(bucketOf.Seconds())), "time_zone": "UTC",
		"extended_bounds": m{"min": s.from.UnixMilli(), "max": s.to.UnixMilli()}}}
}

// lens is the search of a Lens layer, by the rules of Kibana's form-based data source:
// aggregations are named by the place of their column, and nested in the order of
// columns that make buckets. What the server at hand cannot do is replaced: the last
// value by top_hits.
func (s *stored) lens(t *testing.T, o *saved, chosen ...m) (request, map[string]string) {
	t.Helper()
	l := obj(o.layers(), "main")
	ref := "indexpattern-datasource-layer-main"
	names := map[string]string{} // of columns
	for i, c := range list(l, "columnOrder") {
		names[c.(string)] = fmt.Sprint(i)
	}
	top := m{"aggs": m{}}
	body := top
	metric := func(id string) (string, m) {
		col := obj(l, "columns", id)
		p, name, field := obj(col, "params"), names[id], str(col, "sourceField")
		var agg m
		switch op := str(col, "operationType"); op {
		case "last_value":
			agg = m{"top_metrics": m{"metrics": m{"field": field}, "size": 1, "sort": m{str(p, "sortField"): "desc"}}}
			if !s.full {
				agg = m{"top_hits": m{"_source": []string{field}, "size": 1, "sort": m{str(p, "sortField"): "desc"}}}
			}
		case "percentile":
			agg = m{"percentiles": m{"field": field, "percents": []any{p["percentile"]}}}
		case "max", "min", "sum":
			agg = m{op: m{"field": field}}
		default:
			t.Fatalf("%s: operation %s", o.id, op)
		}
		if q := str(col, "filter", "query"); q != "" {
			agg = m{"filter": dsl(t, q), "aggs": m{name + "-metric": agg}}
			name += "-filter"
		}
		return name, agg
	}
	for _, c := range list(l, "columnOrder") {
		id := c.(string)
		col := obj(l, "columns", id)
		var agg m
		switch str(col, "operationType") {
		case "terms":
			agg = m{"terms": m{"field": str(col, "sourceField"), "size": at(col, "params", "size"), "order": m{"_key": "asc"}, "shard_size": 5000}, "aggs": m{}}
			if by := str(col, "params", "orderBy", "columnId"); by != "" { // what is ordered by is asked for at each level
				name, order := metric(by)
				agg["terms"].(m)["order"] = m{name: str(col, "params", "orderDirection")}
				agg["aggs"] = m{name: order}
			}
		case "date_histogram":
			agg = s.dateHistogram(str(col, "sourceField"))
			if length := str(col, "params", "interval"); length != "auto" { // one of the calendar's, kept whatever the time range
				agg = m{"date_histogram": m{"field": str(col, "sourceField"), "calendar_interval": length, "time_zone": "UTC", "min_doc_count": 1}}
			}
			agg["aggs"] = m{}
		case "count":
			continue
		default:
			name, agg := metric(id)
			body["aggs"].(m)[name] = agg
			continue
		}
		body["aggs"].(m)[names[id]] = agg
		body = agg
	}
	filters := slices.Concat([]m{dsl(t, str(o.attrs, "state", "query", "query"))}, s.selected(o), chosen)
	if s.timed(o, ref) {
		filters = append(filters, s.inTime())
	}
	return request{s.pattern(o, ref), m{"size": 0, "query": m{"bool": m{"filter": filters}}, "aggs": top["aggs"]}}, names
}

// tsvb is the search of a TSVB series. Without the histogram type, the percentiles of
// a histogram are replaced by the sum of samples of the same documents, so that all
// else of the search is run.
func (s *stored) tsvb(t *testing.T, o *saved, series map[string]any, chosen ...m) request {
	t.Helper()
	p := o.params("metrics")
	ref := str(p, "index_pattern_ref_name")
	if series["override_index_pattern"] == 1.0 {
		ref = str(series, "series_index_pattern_ref_name")
	}
	metric := list(series, "metrics")[0]
	var agg m
	order := "order"
	field := str(metric, "field")
	switch typ := str(metric, "type"); {
	case typ == "percentile" && field == histogram && !s.full:
		agg = m{"sum": m{"field": "samples"}}
	case typ == "percentile":
		var percents []any
		for _, e := range list(metric, "percentiles") {
			percents = append(percents, at(e, "value"))
		}
		agg = m{"percentiles": m{"field": field, "percents": percents, "hdr": m{"number_of_significant_value_digits": at(metric, "numberOfSignificantValueDigits")}}}
		order = fmt.Sprintf("order[%.1f]", percents[0])
	case typ == "max":
		agg = m{typ: m{"field": field}}
	default:
		t.Fatalf("%s: metric %s", o.id, typ)
	}
	aggs := m{"metric": agg}
	if str(p, "type") == "timeseries" {
		h := s.dateHistogram(timeField)
		h["date_histogram"].(m)["min_doc_count"] = 0
		h["aggs"] = aggs
		aggs = m{"timeseries": h}
	}
	terms, size := str(series, "terms_field"), str(series, "terms_size")
	if str(p, "type") == "table" {
		terms, size = str(p, "pivot_id"), str(p, "pivot_rows")
	}
	if terms != "" {
		aggs["order"] = agg
		aggs = m{"by": m{"terms": m{"field": terms, "size": size, "order": m{order: "desc"}}, "aggs": aggs}}
	}
	must := slices.Concat([]m{s.inTime()}, s.selected(o), chosen)
	if q := str(series, "filter", "query"); q != "" {
		must = append(must, dsl(t, q))
	}
	return request{s.pattern(o, ref), m{"size": 0, "query": m{"bool": m{"must": must}}, "aggs": aggs}}
}

// fill is a Vega request with Kibana's placeholders filled.
func (s *stored) fill(url map[string]any, chosen ...m) request {
	b, _ := json.Marshal(url["body"])
	var body m
	if err := json.Unmarshal(b, &body); err != nil {
		panic(err)
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			if which := str(v, "%timefilter%"); which != "" {
				return map[string]int64{"min": s.from.UnixMilli(), "max": s.to.UnixMilli()}[which]
			}
			if d := obj(v, "date_histogram"); d != nil && at(d, "interval", "%autointerval%") != nil {
				delete(d, "interval")
				d["fixed_interval"] = fmt.Sprintf("%ds", int(bucketOf.Seconds()))
			}
			for k, e := range v {
				v[k] = walk(e)
			}
		case []any:
			for i, e := range v {
				v[i] = walk(e)
			}
		}
		return v
	}
	walk(body)
	filters := []m{}
	if url["%context%"] == true {
		filters = append(filters, chosen...)
	}
	if url["%timefield%"] != nil {
		filters = append(filters, s.inTime())
	}
	if len(filters) > 0 {
		body["query"] = m{"bool": m{"filter": filters}}
	}
	return request{str(url, "index"), body}
}

func parseQuantum(t *testing.T, line string) (r quantum) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return r
}
