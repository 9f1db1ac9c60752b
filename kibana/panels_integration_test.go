//go:build integration

package kibana

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// cells are the numbers of a Lens search by the values of its buckets, joined: time
// buckets as ms, words as they are.
func cells(t *testing.T, o *saved, names map[string]string, answer map[string]any) map[string]map[string]any {
	t.Helper()
	l := obj(o.layers(), "main")
	var buckets, metrics []string
	for _, c := range list(l, "columnOrder") {
		if at(l, "columns", c.(string), "isBucketed") == true {
			buckets = append(buckets, c.(string))
		} else {
			metrics = append(metrics, c.(string))
		}
	}
	out := map[string]map[string]any{}
	var walk func(path []string, in map[string]any)
	walk = func(path []string, in map[string]any) {
		if len(path) < len(buckets) {
			for _, b := range list(in, names[buckets[len(path)]], "buckets") {
				key := str(b, "key")
				if n, ok := at(b, "key").(float64); ok {
					key = fmt.Sprint(int64(n))
				}
				walk(append(slices.Clone(path), key), b.(map[string]any))
			}
			return
		}
		row := map[string]any{}
		for _, c := range metrics {
			a := obj(in, names[c])
			if f := obj(in, names[c]+"-filter"); f != nil {
				a = obj(f, names[c]+"-metric")
			}
			switch {
			case str(l, "columns", c, "operationType") == "count":
				row[c] = in["doc_count"]
			case a["values"] != nil:
				for _, v := range obj(a, "values") {
					row[c] = v
				}
			case a["hits"] != nil:
				row[c] = nil
				if hits := list(a, "hits", "hits"); len(hits) > 0 {
					row[c] = at(hits[0], append([]string{"_source"}, strings.Split(str(l, "columns", c, "sourceField"), ".")...)...)
				}
			case a["top"] != nil:
				row[c] = nil
				if top := list(a, "top"); len(top) > 0 {
					row[c] = obj(top[0], "metrics")[str(l, "columns", c, "sourceField")]
				}
			default:
				row[c] = a["value"]
			}
		}
		out[strings.Join(path, "|")] = row
	}
	walk(nil, obj(answer, "aggregations"))
	return out
}

// near says that a number of Elasticsearch is ours; sums come out in another order.
func near(got any, want float64) bool {
	g, ok := got.(float64)
	return ok && math.Abs(g-want) <= 1e-9*math.Abs(want)
}

// bucketStart is the start in ms of the time bucket that a time falls in.
func bucketStart(at time.Time) int64 { return at.Truncate(bucketOf).UnixMilli() }

// worst is the largest of a percentile among rows; NaN without one.
func worst(rows []quantum, p string) float64 {
	w := math.NaN()
	for _, r := range rows {
		if v := r.Percentiles[p]; v != nil && !(w >= *v) {
			w = *v
		}
	}
	return w
}

func (s *stored) rows(run string, keep func(r quantum) bool) []quantum {
	return slices.DeleteFunc(slices.Clone(s.runs[run]), func(r quantum) bool { return !keep(r) })
}

// whole are the directions of a whole run: one quantum that holds all of it.
func (s *stored) whole(t *testing.T, run, kind string) (rows []quantum) {
	t.Helper()
	out, _ := s.command(t, append([]string{"percentiles", "--format", "ndjson", "--by", "direction", "--interval", "1h"}, logs(run, kind)...)...)
	for line := range strings.Lines(string(out)) {
		if r := parseQuantum(t, line); r.Scope == "direction" && r.Mean != nil {
			rows = append(rows, r)
		}
	}
	return rows
}

// TestPanels takes every panel's searches out of the bundle and runs them over real
// runs on a real Elasticsearch.
func TestPanels(t *testing.T) {
	s := store(t)
	t.Run("lens", func(t *testing.T) { testLens(t, s) })
	t.Run("tsvb", func(t *testing.T) { testTSVB(t, s) })
	t.Run("vega requests", func(t *testing.T) { testVegaRequests(t, s) })
	t.Run("vega in a browser", func(t *testing.T) { testBrowser(t, s) })
	t.Run("live", func(t *testing.T) { testLive(t, s) })
}

// The search of each Lens chart returns our own numbers.
func testLens(t *testing.T, s *stored) {
	run := func(name string) m { return m{"term": m{"run.id": "run-" + name}} }
	sum := func(rows []quantum) (n float64) {
		for _, r := range rows {
			n += r.Samples
		}
		return n
	}
	byKind := func(t *testing.T, o *saved) {
		direction := strings.Split(o.id, "-")[2]
		req, names := s.lens(t, o)
		got := cells(t, o, names, s.search(t, req))
		for _, name := range realRuns {
			for _, kind := range kindsOf(name) {
				for _, r := range s.whole(t, name, kind) {
					key := "run-" + name + "|" + kind
					row := got[key]
					if r.Direction != direction {
						continue
					}
					if !near(row["ios"], r.Samples) || !near(row["mean"], *r.Mean) || !near(row["p50"], *r.Percentiles["50"]) || !near(row["p99"], *r.Percentiles["99"]) || !near(row["longest"], *r.Max) {
						t.Errorf("%s: %v, want %+v", key, row, r)
					}
					delete(got, key)
				}
			}
		}
		if len(got) != 0 {
			t.Errorf("and %v", got)
		}
	}
	checks := map[string]func(t *testing.T, o *saved){
		"kinds-read-figures":  byKind,
		"kinds-write-figures": byKind,
		"live-iops": func(t *testing.T, o *saved) {
			for _, name := range realRuns {
				req, names := s.lens(t, o, run(name))
				want := map[string]float64{}
				for _, r := range s.rows(name, func(r quantum) bool { return r.Scope == "direction" && r.Samples > 0 }) {
					want[fmt.Sprintf("%s|%d", r.Direction, bucketStart(r.Timestamp))] += r.Samples
				}
				if len(want) == 0 {
					t.Fatal("no rows")
				}
				got := cells(t, o, names, s.search(t, req))
				for key, row := range got {
					if !near(row["iops"], want[key]) {
						t.Errorf("%s %s: %v I/Os, want %v", name, key, row["iops"], want[key])
					}
				}
				for key := range want {
					if got[key] == nil {
						t.Errorf("%s: no bucket %s", name, key)
					}
				}
			}
		},
		"run-hosts": func(t *testing.T, o *saved) {
			req, names := s.lens(t, o, run("cluster"))
			got := cells(t, o, names, s.search(t, req))
			if len(got) != 4 {
				t.Fatalf("%v, want 2 hosts x 2 directions", got)
			}
			for key, row := range got {
				want := worst(s.rows("cluster", func(r quantum) bool { return r.Scope == "host+direction" && r.host()+"|"+r.Direction == key }), "99")
				if !near(row["p99"], want) {
					t.Errorf("%s: %v, want %v", key, row["p99"], want)
				}
			}
		},
		"run-jobs": func(t *testing.T, o *saved) {
			req, names := s.lens(t, o, run("cluster"))
			got := cells(t, o, names, s.search(t, req))
			if len(got) != 4 {
				t.Fatalf("%v, want 2 hosts x 1 job x 2 directions", got)
			}
			for key, row := range got {
				rows := s.rows("cluster", func(r quantum) bool {
					return r.Scope == "host+job+direction" && r.host()+"|"+deref(r.Job)+"|"+r.Direction == key
				})
				longest := 0.0
				for _, r := range rows {
					longest = max(longest, *r.Max)
				}
				if !near(row["ios"], sum(rows)) || !near(row["p50"], worst(rows, "50")) || !near(row["p99"], worst(rows, "99")) || !near(row["p999"], worst(rows, "99.9")) || !near(row["longest"], longest) {
					t.Errorf("%s: %v", key, row)
				}
			}
		},
		"run-account": func(t *testing.T, o *saved) {
			req, names := s.lens(t, o)
			got := cells(t, o, names, s.search(t, req))
			if len(got) != len(realRuns) {
				t.Fatalf("%d runs: %v", len(got), got)
			}
			for _, name := range realRuns {
				row := got["run-"+name]
				placed := sum(s.rows(name, func(r quantum) bool { return r.Scope == "run" }))
				if row["totals"] != math.Round(placed) || row["logged"].(float64)+row["restored"].(float64) != math.Round(placed) || row["status"] != "complete" {
					t.Errorf("%s: %v, and %v I/Os in quanta", name, row, placed)
				}
			}
			// By fio's own totals, and with all of its records damaged but the first two of each log and direction.
			if r := got["run-cluster"]; r["totals"] != 96000.0 || r["repaired"] != 57.0 || r["logs"] != 4.0 {
				t.Errorf("cluster: %v", r)
			}
		},
		"compare-runs": func(t *testing.T, o *saved) {
			req, names := s.lens(t, o)
			got := cells(t, o, names, s.search(t, req))
			if len(got) != len(realRuns) {
				t.Fatalf("%d runs: %v", len(got), got)
			}
			for _, name := range realRuns {
				row := got["run-"+name]
				if row["name"] != name || fmt.Sprint(row["fio"]) != "[fio-3.33]" && row["fio"] != "fio-3.33" || !strings.Contains(fmt.Sprint(row["workload"]), "bs=4k") || row["started"] == nil || (row["sla"] == "ok") != (name == "cluster") {
					t.Errorf("%s: %v", name, row)
				}
				for _, r := range s.whole(t, name, "clat") {
					for column, p := range map[string]string{"p50": "50", "p99": "99", "p999": "99.9"} {
						if v := r.Percentiles[p]; v == nil && row[r.Direction+column] != nil || v != nil && !near(row[r.Direction+column], *v) {
							t.Errorf("%s %s %s: %v, want %v", name, r.Direction, p, row[r.Direction+column], v)
						}
					}
				}
			}
		},
		"slowdown-operations": func(t *testing.T, o *saved) {
			want := map[string]float64{}
			start := s.runs["cluster"][0].Timestamp
			for _, p := range probed {
				key := fmt.Sprintf("%s|%d", p.operation, bucketStart(start.Add(time.Duration(p.at)*time.Second)))
				want[key] = max(want[key], p.slowdown)
			}
			req, names := s.lens(t, o)
			seen := 0
			for key, row := range cells(t, o, names, s.search(t, req)) {
				if row["slowdown"] == nil && want[key] == 0 {
					continue
				}
				seen++
				if !near(row["slowdown"], want[key]) {
					t.Errorf("%s: %v, want %v", key, row, want[key])
				}
			}
			if seen != len(want) {
				t.Errorf("%d of %d", seen, len(want))
			}
		},
		"slowdown-observed": func(t *testing.T, o *saved) {
			req, names := s.lens(t, o)
			longest, usual := 0.0, 0.0
			for _, row := range cells(t, o, names, s.search(t, req)) {
				if v, ok := row["value"].(float64); ok {
					longest, usual = max(longest, v), row["expected"].(float64)
				}
			}
			if longest != 40*expected || usual != expected {
				t.Errorf("%v and %v", longest, usual)
			}
		},
		"slowdown-targets": func(t *testing.T, o *saved) {
			req, names := s.lens(t, o)
			got := cells(t, o, names, s.search(t, req))
			if r := got["/gpfs/a|stat"]; len(got) != 4 || r["operations"] != 2.0 || !near(r["slowdown"], 1.5) || !near(r["longest"], 1.5*expected) || !(r["usual"].(float64) >= 1 && r["usual"].(float64) <= 1.5) {
				t.Errorf("%v", got)
			}
		},
		"slowdown-hours": func(t *testing.T, o *saved) {
			req, names := s.lens(t, o)
			got := cells(t, o, names, s.search(t, req))
			hour := s.runs["cluster"][0].Timestamp.Truncate(time.Hour).UnixMilli()
			for target, want := range map[string]struct{ operations, worst, low, high float64 }{"/gpfs/a": {4, 2, 1, 1.5}, "/gpfs/b": {2, 40, 3, 40}} {
				r := got[fmt.Sprintf("%d|%s", hour, target)]
				usual, _ := r["usual"].(float64)
				p95, _ := r["p95"].(float64)
				if r["operations"] != want.operations || !near(r["slowdown"], want.worst) || usual < want.low || usual > want.high || p95 < usual || p95 > want.worst {
					t.Errorf("%s: %v, want %v of %v", target, r, want, got)
				}
			}
			if len(got) != 2 {
				t.Errorf("%d rows", len(got))
			}
		},
	}
	for _, o := range s.bundle.objects {
		if o.typ != typeLens {
			continue
		}
		name := strings.TrimPrefix(o.id, s.prefix+"-")
		t.Run(name, func(t *testing.T) {
			check := checks[name]
			if check == nil {
				t.Fatal("nothing compares this panel's numbers with ours")
			}
			check(t, o)
		})
	}
}

// The search of each series of each TSVB panel returns our own numbers, percentiles
// of the histogram within what HDR promises.
func testTSVB(t *testing.T, s *stored) {
	compared := map[string]int{}
	for _, o := range s.bundle.objects {
		p := o.params("metrics")
		if p == nil {
			continue
		}
		name := strings.TrimPrefix(o.id, s.prefix+"-")
		run := "cluster"
		if strings.HasPrefix(name, "kinds-") {
			run = "kinds"
		}
		t.Run(name, func(t *testing.T) {
			for _, e := range list(p, "series") {
				series := e.(map[string]any)
				var chosen []m
				if !strings.HasPrefix(name, "slowdown") {
					chosen = append(chosen, chosenRun(run))
				}
				req := s.tsvb(t, o, series, chosen...)
				req.body["aggs"].(m)["kind"] = m{"terms": m{"field": "fio.kind"}} // for kinds may have as many I/Os each
				answer := s.search(t, req)
				direction := ""
				if _, v, ok := strings.Cut(str(series, "filter", "query"), "fio.direction: "); ok {
					direction = v
				}
				switch {
				case strings.HasPrefix(name, "slowdown"):
					worst := 0.0
					for _, b := range list(answer, "aggregations", "timeseries", "buckets") {
						if v, ok := at(b, "metric", "value").(float64); ok {
							worst = max(worst, v)
						}
						if v, ok := at(b, "metric", "values", "99.0").(float64); ok {
							worst = max(worst, v)
						}
					}
					if math.Abs(worst-40) > 0.4 {
						t.Errorf("%s: %v, want 40", str(series, "id"), worst)
					}
					compared[name]++
				case str(series, "id") == "sla":
					// the limit, of reads alone, in each interval of that run and in no other
					for _, b := range list(answer, "aggregations", "timeseries", "buckets") {
						want := any(nil)
						if n := at(b, "doc_count").(float64); n > 0 && strings.HasSuffix(name, "read") {
							want = slaLimit
						}
						if got := at(b, "metric", "value"); got != want {
							t.Errorf("%v: the limit is %v, want %v", at(b, "key_as_string"), got, want)
						}
						compared[name]++
					}
				case str(p, "type") == "timeseries":
					for _, b := range list(answer, "aggregations", "timeseries", "buckets") {
						rows := s.rows("cluster", func(r quantum) bool {
							return r.Scope == "direction" && r.Direction == direction && bucketStart(r.Timestamp) == int64(at(b, "key").(float64))
						})
						compared[name] += s.sameAsRows(t, at(b, "metric").(map[string]any), rows)
					}
				default: // by host
					kind := "clat"
					if run == "kinds" {
						kind, _, _ = strings.Cut(str(series, "label"), " ")
						if direction != strings.Split(name, "-")[1] {
							t.Errorf("%s is of %ss", str(series, "label"), direction)
						}
					}
					if found := list(answer, "aggregations", "kind", "buckets"); len(found) != 1 || str(found[0], "key") != kind {
						t.Errorf("%s is of %v", str(series, "label"), found)
					}
					buckets := list(answer, "aggregations", "by", "buckets")
					if len(buckets) != 2 {
						t.Fatalf("%d hosts", len(buckets))
					}
					for _, b := range buckets {
						rows := s.rows(key(run, kind), func(r quantum) bool {
							return r.Scope == "host+direction" && r.host() == str(b, "key") && (direction == "" || r.Direction == direction)
						})
						compared[name] += s.sameAsRows(t, at(b, "metric").(map[string]any), rows)
					}
				}
			}
			if compared[name] == 0 {
				t.Error("no number was compared")
			}
			for _, e := range list(p, "annotations") {
				answer := s.search(t, request{s.pattern(o, str(e, "index_pattern_ref_name")), m{"query": s.inTime(), "fields": strings.Split(str(e, "fields"), ",")}})
				var texts []string
				for _, h := range list(answer, "hits", "hits") {
					texts = append(texts, fmt.Sprint(list(h, "fields", "message")...))
				}
				slices.Sort(texts)
				if !slices.Equal(texts, []string{"of another run", "osd.12 down", "read p99 < 5ms is broken"}) {
					t.Errorf("flags %q", texts)
				}
			}
		})
	}
}

// sameAsRows compares what TSVB gets of a histogram with the rows that it covers:
// their I/Os, or, on a cluster with the histogram type, percentiles, which lie between
// the smallest and the largest of the rows that were merged, within HDR's precision.
func (s *stored) sameAsRows(t *testing.T, metric map[string]any, rows []quantum) (compared int) {
	t.Helper()
	if !s.full {
		n := 0.0
		for _, r := range rows {
			n += r.Samples
		}
		if n > 0 && !near(metric["value"], n) {
			t.Errorf("%v I/Os, want %v", metric["value"], n)
		}
		return len(rows)
	}
	for _, key := range slices.Sorted(maps.Keys(obj(metric, "values"))) {
		got, ok := obj(metric, "values")[key].(float64)
		p := strings.TrimSuffix(key, ".0")
		low, high := math.Inf(1), 0.0
		for _, r := range rows {
			if v := r.Percentiles[p]; v != nil {
				low, high = min(low, *v), max(high, *v)
			}
		}
		if high > 0 {
			compared++
			// Two digits, and half a bucket of fio's, of which there are 64 to a doubling.
			if !ok || got < low*0.975 || got > high*1.025 {
				t.Errorf("p%s is %v, want %v to %v", p, got, low, high)
			}
		}
	}
	return compared
}

// Every request of every Vega panel runs as it stands; what it draws is compared with
// our numbers in a browser.
func testVegaRequests(t *testing.T, s *stored) {
	n := 0
	for _, o := range s.bundle.objects {
		for _, u := range vegaURLs(o.spec()) {
			n++
			answer := s.search(t, s.fill(u))
			if str(u, "index") != s.prefix+"-event-*" && len(obj(answer, "aggregations")) == 0 {
				t.Errorf("%s: %v", o.id, answer)
			}
		}
	}
	if n < 8 {
		t.Errorf("%d requests", n)
	}
}
