//go:build integration

package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/kibana/kibanatest"
)

// near says that a number of Elasticsearch is ours, to the digits that documents hold.
func near(got any, want float64) bool {
	g, ok := got.(float64)
	return ok && math.Abs(g-want) <= 0.051+1e-6*math.Abs(want)
}

// bucketStart is the start in ms of the time bucket that a time falls in.
func bucketStart(at time.Time) int64 { return at.Truncate(bucketOf).UnixMilli() }

// worst is the largest of a percentile among rows; NaN without one.
func worst(rows []interval, p string) float64 {
	w := math.NaN()
	for _, r := range rows {
		if v := r.Percentiles[p]; v != nil && !(w >= *v) {
			w = *v
		}
	}
	return w
}

func (s *stored) rows(run string, keep func(r interval) bool) []interval {
	return slices.DeleteFunc(slices.Clone(s.runs[run]), func(r interval) bool { return !keep(r) })
}

// whole are the directions of a whole run, or what else a scope has: one interval that holds all of it.
func (s *stored) whole(t *testing.T, run, kind string, scope ...string) (rows []interval) {
	t.Helper()
	return s.inOne(t, "1h", run, kind, scope...)
}

// exact are the directions of a whole run, with the mean and the extremes of fio's totals.
func (s *stored) exact(t *testing.T, run, kind string) (rows []interval) {
	t.Helper()
	return s.inOne(t, "run", run, kind)
}

func (s *stored) inOne(t *testing.T, interval, run, kind string, scope ...string) (rows []interval) {
	t.Helper()
	if run == "syncs" {
		return nil
	}
	out, _ := s.command(t, append([]string{"percentiles", "--format", "ndjson", "--by", "direction"},
		s.logs(run, kind, interval)...)...)
	for line := range strings.Lines(string(out)) {
		if r := parseInterval(t, line); r.Scope == append(scope, "direction")[0] && r.Mean != nil {
			rows = append(rows, r)
		}
	}
	return rows
}

// TestServerPanels takes every panel's searches out of the bundle and runs them over real
// runs on a real Elasticsearch.
func TestServerPanels(t *testing.T) {
	s := store(t)
	t.Run("lens", func(t *testing.T) { testLens(t, s) })
	t.Run("vega in a browser", func(t *testing.T) { testBrowser(t, s) })
	t.Run("drags and clicks", func(t *testing.T) { testDragAndClick(t, s) })
	t.Run("load curve", func(t *testing.T) { testCurve(t, s) })
	t.Run("syncs", func(t *testing.T) { testSyncs(t, s) })
}

// The search of each Lens chart returns our own numbers.
func testLens(t *testing.T, s *stored) {
	sum := func(rows []interval) (n float64) {
		for _, r := range rows {
			n += r.Samples
		}
		return n
	}
	byKind := func(t *testing.T, st kibanatest.State, o *kibanatest.Object) {
		direction := strings.Split(o.ID, "-")[1]
		for _, name := range realRuns {
			got := s.rowsOf(t, st.Choose("run.id", "run-"+name), o)
			for _, kind := range kindsOf(name) {
				for _, r := range s.exact(t, name, kind) {
					key := "run-" + name + "|" + kind
					row := got[key]
					if r.Direction != direction {
						continue
					}
					if !near(row["ios"], r.Samples) || !near(row["mean"], *r.Mean) || !near(row["p50"],
						*r.Percentiles["50"]) || !near(row["p99"], *r.Percentiles["99"]) || !near(row["longest"],
						*r.Max) {
						t.Errorf("%s: %v, want %+v", key, row, r)
					}
					delete(got, key)
				}
			}
			for key, row := range got {
				if row["ios"] != nil {
					t.Errorf("and %s: %v", key, row)
				}
			}
		}
	}
	// of each host and kind the worst interval
	hostsByKind := func(t *testing.T, st kibanatest.State, o *kibanatest.Object) {
		direction := strings.Split(o.ID, "-")[1]
		for name, hosts := range map[string]int{"kinds": 2, "many": 20, "single": 1, "randrw": 0} { // the 20 worst
			got := s.rowsOf(t, st.Choose("run.id", "run-"+name), o)
			if len(got) != len(kindsOf(name))*hosts {
				t.Errorf("%s: %d rows, want those of %d hosts: %v", name, len(got), hosts, got)
			}
			of := map[string]float64{} // the worst of each host
			for _, kind := range kindsOf(name) {
				for _, r := range s.rows(key(name, kind), func(r interval) bool {
					return r.Scope == "host+direction" && r.Direction == direction && r.Percentiles["99"] != nil
				}) {
					of[r.host()] = max(of[r.host()], *r.Percentiles["99"])
				}
			}
			order := slices.Sorted(maps.Values(of))
			for id, row := range got {
				f := strings.Split(id, "|")
				rows := s.rows(key(name, f[2]), func(r interval) bool {
					return r.Scope == "host+direction" && r.host() == f[1] && r.Direction == direction
				})
				if !near(row["ios"], sum(rows)) || !near(row["p99"], worst(rows, "99")) ||
					!near(row["p50"], worst(rows, "50")) || of[f[1]] < order[len(order)-hosts] {
					t.Errorf("%s: %v, want p99 %v", id, row, worst(rows, "99"))
				}
			}
		}
	}
	// What the job files say, with fio's defaults.
	options := map[string]m{
		"cluster": {"iodepth": 1., "numjobs": 2., "bs": 4096., "rwmixread": 50.},
		"gaps":    {"iodepth": 1., "numjobs": 1., "bs": 4096., "rwmixread": nil},
		"randrw":  {"iodepth": 1., "numjobs": 3., "bs": 4096., "rwmixread": 50.},
		"kinds":   {"iodepth": 4., "numjobs": 1., "bs": 4096., "rwmixread": 50.},
		"single":  {"iodepth": nil, "bs": nil}, "many": {"iodepth": nil, "bs": nil},
	}
	sameOptions := func(t *testing.T, name string, row m, rates ...string) {
		t.Helper()
		for column, want := range options[name] {
			if got, shown := row[column]; shown && got != want {
				t.Errorf("%s: %s %v, want %v", name, column, got, want)
			}
		}
		for _, prefix := range rates {
			iops, known := row[prefix+"iops"].(float64)
			if bytes, has := row[prefix+"bytes"].(float64); has != (known && madeUp[name] == 0) || has &&
				math.Abs(bytes/(iops*4096)-1) > 1e-3 {
				t.Errorf("%s: %v bytes per second at %v IOPS of 4k", name, row[prefix+"bytes"], row[prefix+"iops"])
			}
		}
	}
	byJob := func(t *testing.T, st kibanatest.State, o *kibanatest.Object) {
		for name, hosts := range map[string]int{"cluster": 2, "randrw": 0, "single": 1, "many": 50} {
			got := s.rowsOf(t, st.Choose("run.id", "run-"+name), o)
			if len(got) != hosts*2 {
				t.Fatalf("%s: %d rows, want %d hosts x 1 job x 2 directions", name, len(got), hosts)
			}
			byKey := map[string][]interval{}
			for _, r := range s.rows(name, func(r interval) bool {
				return r.Scope == "host+job+direction" &&
					r.Max != nil
			}) {
				key := "run-" + name + "|" + r.host() + "|" + deref(r.Job) + "|" + r.Direction
				byKey[key] = append(byKey[key], r)
			}
			for key, row := range got {
				rows, longest := byKey[key], 0.0
				for _, r := range rows {
					longest = max(longest, *r.Max)
				}
				if !near(row["ios"], sum(rows)) || !near(row["p50"], worst(rows, "50")) || !near(row["p99"],
					worst(rows, "99")) ||
					!near(row["p999"], worst(rows, "99.9")) || !near(row["longest"], longest) {
					t.Errorf("%s: %v", key, row)
				}
			}
		}
	}
	checks := map[string]func(t *testing.T, st kibanatest.State, o *kibanatest.Object){
		"kinds-read-figures":  byKind,
		"kinds-write-figures": byKind,
		"kinds-read-hosts":    hostsByKind,
		"kinds-write-hosts":   hostsByKind,
		"live-iops": func(t *testing.T, st kibanatest.State, o *kibanatest.Object) {
			for _, name := range realRuns {
				want := map[string]float64{}
				for _, r := range s.rows(name, func(r interval) bool {
					return r.Scope == "direction" &&
						r.Samples > 0
				}) {
					want[fmt.Sprintf("%s|%d", r.Direction, bucketStart(r.Timestamp))] += r.Samples
				}
				if len(want) == 0 {
					t.Fatal("no rows")
				}
				got := s.rowsOf(t, st.Choose("run.id", "run-"+name), o)
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
		"host-jobs": byJob,
		"run-account": func(t *testing.T, st kibanatest.State, o *kibanatest.Object) {
			got := map[string]m{}
			for _, name := range realRuns {
				for id, row := range s.rowsOf(t, st.Choose("run.id", "run-"+name), o) {
					got[id] = row
				}
				row := got["run-"+name]
				placed := sum(s.rows(name, func(r interval) bool { return r.Scope == "run" }))
				if madeUp[name] == 0 && row["totals"] != math.Round(placed) ||
					row["logged"].(float64)+row["restored"].(float64) != math.Round(placed) ||
					row["status"] != "complete" {
					t.Errorf("%s: %v, and %v I/Os in quanta", name, row, placed)
				}
			}
			// By fio's own totals, and with all of its records damaged but the first two of each log and direction.
			if r := got["run-cluster"]; r["totals"] != 96000.0 || r["repaired"] != 57.0 || r["logs"] != 4.0 {
				t.Errorf("cluster: %v", r)
			}
		},
		"run-summary": func(t *testing.T, st kibanatest.State, o *kibanatest.Object) {
			for _, name := range realRuns {
				row := s.rowsOf(t, st.Choose("run.id", "run-"+name), o)["run-"+name]
				for _, r := range s.whole(t, name, "clat") {
					for column, p := range map[string]string{"p50": "50", "p99": "99", "p999": "99.9"} {
						if v := r.Percentiles[p]; (r.Direction == "read" || r.Direction == "write") && v != nil &&
							!near(row[r.Direction+column], *v) {
							t.Errorf("%s %s %s: %v, want %v", name, r.Direction, p, row[r.Direction+column], v)
						}
					}
				}
			}
		},
		"overview-runs": func(t *testing.T, st kibanatest.State, o *kibanatest.Object) {
			got := s.rowsOf(t, st, o)
			for _, name := range realRuns {
				sameOptions(t, name, got["run-"+name], "")
				for _, r := range s.whole(t, name, "clat", "run") {
					for column, p := range map[string]string{"p50": "50", "p99": "99", "p999": "99.9"} {
						if v := got["run-"+name][column]; r.Percentiles[p] != nil && !near(v, *r.Percentiles[p]) {
							t.Errorf("%s %s: %v, want %v", name, p, v, *r.Percentiles[p])
						}
					}
				}
			}
			if r := got["run-cluster"]; len(got) != len(realRuns) || r["sla"] != "ok" || r["status"] != "complete" {
				t.Errorf("%v", got)
			}
		},
		"overview-hosts": func(t *testing.T, st kibanatest.State, o *kibanatest.Object) {
			got := s.rowsOf(t, st, o)
			for host, r := range got {
				if !strings.HasPrefix(host, "host") || r["times"] != 1.0 || r["factor"] != 2.0 {
					t.Errorf("%s: %v", host, r)
				}
			}
			if len(got) != 10 {
				t.Errorf("%d of %d hosts", len(got), madeUp["many"])
			}
		},
		"overview-sla": func(t *testing.T, st kibanatest.State, o *kibanatest.Object) {
			n := 0.0
			for key, row := range s.rowsOf(t, st, o) {
				if runs, _ := row["runs"].(float64); runs > 0 {
					if n += runs; !strings.HasPrefix(key, "ok|") {
						t.Errorf("%s: %v", key, row)
					}
				}
			}
			if n != 1 {
				t.Errorf("%v runs with an SLA, want 1", n)
			}
		},
		"events-over-time": func(t *testing.T, st kibanatest.State, o *kibanatest.Object) {
			n := 0.0
			for _, row := range s.rowsOf(t, st, o) {
				n += row["events"].(float64)
			}
			if n != float64(len(s.events)) {
				t.Errorf("%v events, want %d", n, len(s.events))
			}
		},
		"events-table": func(t *testing.T, st kibanatest.State, o *kibanatest.Object) {
			got := s.rowsOf(t, st, o)
			at := float64(s.runs["cluster"][0].Timestamp.UnixMilli() + 3500)
			if r := got["osd.12 down|run-cluster"]; len(got) != len(s.events) ||
				r["action"] != "note" || r["events"] != 1.0 || r["at"] != at {
				t.Errorf("%v, want one at %v", got, at)
			}
		},
		"events-outliers": func(t *testing.T, st kibanatest.State, o *kibanatest.Object) {
			longest := map[string]float64{}
			for id, row := range s.rowsOf(t, st, o) {
				f := strings.Split(id, "|") // time, run, direction
				longest[f[1]+"|"+f[2]] = max(longest[f[1]+"|"+f[2]], row["longest"].(float64))
				if row["ios"].(float64) < 1 {
					t.Errorf("%s: %v", id, row)
				}
			}
			some := 0
			for _, name := range realRuns {
				for _, r := range s.exact(t, name, "clat") {
					got := longest["run-"+name+"|"+r.Direction]
					if r.Samples < 1000 || *r.Max < max(100e3, 10**r.Percentiles["99.9"]) {
						if got != 0 {
							t.Errorf("%s %s has an outlier of %v ns, and its max is %v", name, r.Direction, got, *r.Max)
						}
						continue
					}
					some++
					if math.Abs(got / *r.Max - 1) > 1.0/64 { // the middle of its bucket
						t.Errorf("%s %s: the longest outlier is of %v ns, want %v", name, r.Direction, got, *r.Max)
					}
				}
			}
			if some == 0 {
				t.Error("no run has an outlier")
			}
		},
		"compare-runs": func(t *testing.T, st kibanatest.State, o *kibanatest.Object) {
			if one := s.rowsOf(t, st.Choose("run.labels", "folder=gaps"), o); len(one) != 1 ||
				one["run-gaps"] == nil {
				t.Errorf("of a label: %v", one)
			}
			got := s.rowsOf(t, st, o)
			if len(got) != len(realRuns) {
				t.Fatalf("%d runs: %v", len(got), got)
			}
			for _, name := range realRuns {
				row := got["run-"+name]
				if start := s.runs[name][0]; row["started"] != float64(start.Timestamp.UnixMilli()) {
					t.Errorf("%s started %v, want %v", name, row["started"], start.Timestamp)
				}
				sameOptions(t, name, row, "read", "write")
				if madeUp[name] > 0 { // nothing tells with what
					continue
				}
				if fmt.Sprint(row["fio"]) != "[fio-3.33]" && row["fio"] != "fio-3.33" ||
					!strings.Contains(fmt.Sprint(row["workload"]), "bs=4k") || row["started"] == nil ||
					(row["sla"] == "ok") != (name == "cluster") {
					t.Errorf("%s: %v", name, row)
				}
				for _, r := range s.whole(t, name, "clat") {
					for column, p := range map[string]string{"p50": "50", "p99": "99", "p999": "99.9"} {
						if v := r.Percentiles[p]; v == nil && row[r.Direction+column] != nil || v != nil &&
							!near(row[r.Direction+column], *v) {
							t.Errorf("%s %s %s: %v, want %v", name, r.Direction, p, row[r.Direction+column], v)
						}
					}
				}
			}
		},
		"history-runs": func(t *testing.T, st kibanatest.State, o *kibanatest.Object) {
			got := s.rowsOf(t, st, o)
			for _, name := range realRuns {
				row := got["run-"+name]
				sameOptions(t, name, row, "")
				for _, r := range s.whole(t, name, "clat", "run") {
					if v := r.Percentiles["99"]; v != nil && !near(row["p99"], *v) {
						t.Errorf("%s: p99 %v, want %v", name, row["p99"], *v)
					}
				}
			}
			if len(got) != len(realRuns) {
				t.Errorf("%d runs, want %d", len(got), len(realRuns))
			}
		},
		"slowdown-operations": func(t *testing.T, st kibanatest.State, o *kibanatest.Object) {
			want := map[string]float64{}
			start := s.runs["cluster"][0].Timestamp
			for _, p := range probed {
				key := fmt.Sprintf("%s|%d", p.operation, bucketStart(start.Add(time.Duration(p.at)*time.Second)))
				want[key] = max(want[key], p.slowdown)
			}
			seen := 0
			for key, row := range s.rowsOf(t, st, o) {
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
		"slowdown-observed": func(t *testing.T, st kibanatest.State, o *kibanatest.Object) {
			longest, usual := 0.0, 0.0
			for _, row := range s.rowsOf(t, st, o) {
				if v, ok := row["value"].(float64); ok {
					longest, usual = max(longest, v), row["expected"].(float64)
				}
			}
			if longest != 40*expected || usual != expected {
				t.Errorf("%v and %v", longest, usual)
			}
		},
		"slowdown-targets": func(t *testing.T, st kibanatest.State, o *kibanatest.Object) {
			got := s.rowsOf(t, st, o)
			if r := got["/gpfs/a|stat"]; len(got) != 5 || r["operations"] != 2.0 ||
				!near(r["slowdown"], 1.5) || !near(r["longest"], 1.5*expected) ||
				!(r["usual"].(float64) >= 1 && r["usual"].(float64) <= 1.5) {
				t.Errorf("%v", got)
			}
		},
		"slowdown-hours": func(t *testing.T, st kibanatest.State, o *kibanatest.Object) {
			got := s.rowsOf(t, st, o)
			hour := s.runs["cluster"][0].Timestamp.Truncate(time.Hour).UnixMilli()
			for target, want := range map[string]struct{ operations, worst, low, high float64 }{
				"/gpfs/a": {4, 2, 1, 1.5}, "/gpfs/b": {2, 40, 3, 40}, "/gpfs/c": {50, 5.9, 3.2, 3.7},
			} {
				r := got[fmt.Sprintf("%d|%s", hour, target)]
				usual, _ := r["usual"].(float64)
				p95, _ := r["p95"].(float64)
				if r["operations"] != want.operations || !near(r["slowdown"], want.worst) || usual < want.low ||
					usual > want.high || p95 < usual || p95 > want.worst {
					t.Errorf("%s: %v, want %v of %v", target, r, want, got)
				}
			}
			if len(got) != 3 {
				t.Errorf("%d rows", len(got))
			}
		},
	}
	for _, o := range s.bundle.space.Charts(typeLens) {
		name := o.ID
		t.Run(name, func(t *testing.T) {
			check := checks[name]
			if check == nil {
				t.Fatal("nothing compares this panel's numbers with ours")
			}
			st, o := s.open(t, name)
			check(t, st, o)
		})
	}
}
