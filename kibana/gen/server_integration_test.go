//go:build integration

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/fio"
	"fiolat/internal/testkit"
	"fiolat/internal/testlog"
	"fiolat/kibana/kibanatest"
)

// stored is a real Elasticsearch with real runs in it, and a bundle for them.
type stored struct {
	es      string
	full    bool // it has the histogram type, and all else that users' clusters have
	prefix  string
	fiolat  string
	bundle  *parsed
	runs    map[string][]interval // by key: what `percentiles --format ndjson` says
	from    time.Time             // of all of them
	to      time.Time
	events  []manualEvent
	subject string // the run that charts of one run are compared with
	madeUp  string // folder of made-up logs
	hits    int    // how many documents a bucket can return, 100 unless the index allows more
}

// manualEvent is an event that the test stored itself.
type manualEvent struct {
	run, text string
	at        time.Time
	offset    float64 // ms
}

// interval is a line of percentiles --format ndjson.
type interval struct {
	OffsetMS               float64 `json:"offset_ms"`
	Timestamp              time.Time
	Scope, Direction, Kind string
	Host, Job              *string
	Samples                float64
	IOPS                   *float64
	Partial                bool
	Min, Max, Mean         *float64
	Percentiles            map[string]*float64
	Tail                   *struct {
		Lift *float64
		P99  struct{ Without *float64 }
	}
}

func (r interval) host() string { return deref(r.Host) }

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (s *stored) command(t *testing.T, args ...string) (stdout, stderr []byte) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.fiolat, args...)
	cmd.Dir = "../../testdata/fio"
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
	status, b := testkit.Request(t, method, s.es+path, sent)
	var answer map[string]any
	if len(b) > 0 {
		if err := json.Unmarshal(b, &answer); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, b)
		}
	}
	return status, answer
}

// real runs that differ: of two hosts, with a pause, of reads and writes, of all kinds
// of latency.
var realRuns = []string{"cluster", "gaps", "randrw", "kinds", "single", "many"}

// madeUp are runs of made-up logs, by the number of their hosts.
var madeUp = map[string]int{"single": 1, "many": 50}

// makeUp writes logs of as many hosts, each with latencies of its own: histograms of clat, and single I/Os of the
// other kinds.
func (s *stored) makeUp(t *testing.T) {
	t.Helper()
	s.madeUp = t.TempDir()
	for run, hosts := range madeUp {
		dir := filepath.Join(s.madeUp, run)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for n := range hosts {
			logs := testlog.Config{Seed: uint64(n + 1), Dirs: []fio.Direction{fio.Read, fio.Write},
				Duration: 6 * time.Second,
				Rate:     150}
			for _, kind := range kindsOf(run) {
				name, log := kind, []byte(nil)
				median := map[string]int{"slat": 8, "clat": 80, "lat": 200}[kind] + 5*n
				logs.Latency = testlog.LogNormal(time.Duration(median)*time.Microsecond, 0.6)
				if kind == "clat" {
					name, log = "clat_hist", logs.Log()
				} else {
					for io := range logs.IOs() {
						log = fmt.Appendf(log, "%d, %d, %d, 4096, 0\n", io.Done.Milliseconds(), io.Latency, io.Dir)
					}
				}
				file := filepath.Join(dir, fmt.Sprintf("%s_%s.1.log.host%02d", run, name, n))
				if err := os.WriteFile(file, log, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// kindsOf are the kinds of latency that a run has.
func kindsOf(run string) []string {
	if run == "kinds" || run == "many" {
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

// logs are the arguments that read a run, close in time to the others, in intervals of a second (made-up runs: two) or
// of this length.
func (s *stored) logs(run, kind string, interval ...string) []string {
	if madeUp[run] > 0 {
		return []string{"--interval", append(interval, "2s")[0], "--kind", kind,
			"--repair", "no", "--start", map[string]string{"single": "2026-11-21T02:09:00Z",
				"many": "2026-11-21T02:09:20Z"}[run],
			filepath.Join(s.madeUp, run)}
	}
	args := []string{"--interval", append(interval, "1s")[0], "--kind", kind, run}
	if run == "kinds" {
		args = append([]string{"--start", "2026-11-21T02:08:30Z"}, args...)
	}
	return args
}

const split = "direction,host,job"

// connect returns an empty place on the server, which is cleared at the end.
func connect(t *testing.T) *stored {
	t.Helper()
	s := &stored{es: os.Getenv("FIOLAT_TEST_ES"), prefix: fmt.Sprintf("kb%d", time.Now().UnixNano()),
		runs: map[string][]interval{}, fiolat: testkit.Program(t)}
	if url := os.Getenv("FIOLAT_TEST_ES_URL"); url != "" {
		s.es, s.full = url, true
	}
	if s.es == "" {
		t.Fatal(`FIOLAT_TEST_ES is not set: eval "$(scripts/elasticsearch up)"`)
	}
	s.bundle = parse(t, bytes.ReplaceAll(write(t, "fio"), []byte("fio-"), []byte(s.prefix+"-")))
	t.Cleanup(func() {
		s.clear(t)
		s.try(t, "DELETE", "/_index_template/"+s.prefix+"-*", nil)
	})
	return s
}

// clear deletes all indices.
func (s *stored) clear(t *testing.T) {
	_, indices := s.try(t, "GET", "/"+s.prefix+"-*", nil)
	for name := range indices {
		s.try(t, "DELETE", "/"+name, nil)
	}
}

// store ingests real logs and adds itself what other commands write: events and what
// a probe saw.
func store(t *testing.T) *stored {
	t.Helper()
	s := connect(t)
	s.makeUp(t)
	for _, name := range realRuns {
		for _, kind := range kindsOf(name) {
			args := []string{"ingest", "--index-prefix", s.prefix, "--by", split, "--run-id", "run-" + name,
				"--run-name", name, "--label", "folder=" + name}
			if name == "cluster" {
				args = append(args, "--sla", "read p99 < 5ms")
			}
			s.command(t, append(args, s.logs(name, kind)...)...)
			out, _ := s.command(t, append([]string{"percentiles", "--format", "ndjson", "--by", split}, s.logs(name,
				kind)...)...)
			for line := range bytes.Lines(out) {
				r := parseInterval(t, string(line))
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
	s.storeManually(t)
	s.hits = 5000
	s.ask(t, "PUT", "/"+s.prefix+"-histogram-*/_settings", m{"index.max_inner_result_window": s.hits})
	return s
}

// slaLimit is of reads' p99 in the run cluster, in ns.
const slaLimit = 5e6

// seen is what a probe saw: operation, target, seconds from the start, slowdown.
type seen struct {
	operation, target string
	at                int
	slowdown          float64
}

// probed is what the probes of 50 hosts saw, each of /gpfs/c, and one of the others.
var probed = func() []seen {
	all := []seen{
		{"stat", "/gpfs/a", 0, 1}, {"stat", "/gpfs/a", 1, 1.5}, {"stat", "/gpfs/b", 2, 40},
		{"write", "/gpfs/a", 0, 0.9}, {"write", "/gpfs/a", 5, 2}, {"write", "/gpfs/b", 5, 3},
	}
	for n := range 50 {
		all = append(all, seen{"read", "/gpfs/c", n % 7, 1 + float64(n)/10})
	}
	return all
}()

// host has a name for each slowdown of /gpfs/c.
func (p seen) host() string {
	if p.target == "/gpfs/c" {
		return fmt.Sprintf("host%02.0f", 10*(p.slowdown-1))
	}
	return "client1"
}

const expected = 200e3 // ns

// levelChange is a change point, as `fiolat history --store` stores it.
type levelChange struct {
	run, metric   string
	before, after float64
}

var levelChanges = []levelChange{
	{"randrw", "read p99", 300e3, 400e3}, {"randrw", "read histogram", 0, 0.2}, {"randrw", "write p50", 20e3, 10e3},
	{"gaps", "read iops", 90, 80}, {"gaps", "read mean", 70, 80},
}

func (s *stored) storeManually(t *testing.T) {
	t.Helper()
	var bulk bytes.Buffer
	put := func(index, id string, doc any) {
		a, _ := json.Marshal(m{"index": m{"_index": index, "_id": id}})
		d, _ := json.Marshal(doc)
		fmt.Fprintf(&bulk, "%s\n%s\n", a, d)
	}
	// Only the events below: ingest has stored what it found in the made-up runs, one for each slow host.
	s.ask(t, "POST", "/"+s.prefix+"-event-*/_refresh?ignore_unavailable=true", nil)
	found := s.ask(t, "POST", "/"+s.prefix+"-event-*/_search?ignore_unavailable=true", m{"size": 1000,
		"_source": false, "query": m{"term": m{"event.action": "straggler"}}})
	for _, h := range at(found, "hits", "hits").([]any) {
		a, _ := json.Marshal(m{"delete": m{"_index": str(h, "_index"), "_id": str(h, "_id")}})
		fmt.Fprintf(&bulk, "%s\n", a)
	}
	start := s.runs["cluster"][0].Timestamp
	month := func(kind string, at time.Time) string {
		return s.prefix + "-" + kind + "-" + at.UTC().Format("2006.01")
	}
	event := func(run, action, text string, at time.Time, offset int) {
		s.events = append(s.events, manualEvent{run, text, at, float64(offset)})
		var straggler m
		if action == "straggler" {
			who, _, _ := strings.Cut(text, " ")
			straggler = m{"dimension": "host", "who": []string{who}, "factor": 2}
		}
		put(month("event", at), text, m{"straggler": straggler,
			"@timestamp": at.UTC().Format(time.RFC3339Nano), "run": m{"id": run, "title": run},
			"event": m{"action": action}, "message": text,
			"interval": m{"offset_ms": offset}, "fio": m{"direction": "read", "kind": "clat"}})
	}
	event("run-cluster", "note", "osd.12 down", start.Add(3500*time.Millisecond), 3500)
	event("run-cluster", "breach", "read p99 < 5ms is broken", start.Add(4*time.Second), 4000)
	event("run-gaps", "note", "of another run", s.runs["gaps"][0].Timestamp.Add(time.Second), 1000)
	for n := range madeUp["many"] {
		offset := 100*n + 50 // beside the points, which the mouse hovers over
		event("run-many", "straggler", fmt.Sprintf("host%02d is slow", n),
			s.runs["many"][0].Timestamp.Add(time.Duration(offset)*time.Millisecond), offset)
	}
	for _, c := range levelChanges {
		run := s.runs[c.run]
		index, id, doc := esmodel.ChangeEvent(s.prefix, esmodel.ActionChangePoint,
			esmodel.ChangedRun{ID: "run-" + c.run, Name: c.run, Kind: "clat",
				Direction: strings.Fields(c.metric)[0], Start: run[0].Timestamp},
			esmodel.ChangePoint{Series: "nightly", Metric: c.metric, Before: c.before, After: c.after},
			c.run+" "+c.metric)
		put(index, id, json.RawMessage(doc))
		s.events = append(s.events, manualEvent{"run-" + c.run, c.run + " " + c.metric, run[0].Timestamp, 0})
	}
	for i, p := range probed {
		at := start.Add(time.Duration(p.at) * time.Second)
		put(month("probe", at), fmt.Sprint(i), m{"@timestamp": at.UTC().Format(time.RFC3339Nano),
			"run": m{"id": "run-probe"}, "host": m{"name": p.host()}, "fio": m{"kind": "probe"},
			"scope": "operation", "probe": m{"operation": p.operation, "target": p.target, "slowdown": p.slowdown},
			"latency": m{"value": expected * p.slowdown, "expected": expected}})
	}
	if answer := s.ask(t, "POST", "/_bulk?refresh=true", bulk.Bytes()); answer["errors"] != false {
		t.Fatal(answer)
	}
}

// bucketOf is the length of Lens's time buckets in these tests.
const bucketOf = 2 * time.Second

// open is the dashboard that has a panel, as it was saved, and the panel.
func (s *stored) open(t *testing.T, id string) (kibanatest.State, *kibanatest.Object) {
	t.Helper()
	for _, d := range s.bundle.space.Of(typeDashboard) {
		for _, p := range s.bundle.space.Panels(d) {
			if p.Object.ID == id {
				return s.bundle.space.Open(d, s.from, s.to), p.Object
			}
		}
	}
	t.Fatalf("no panel %s", id)
	return kibanatest.State{}, nil
}

// fields are the types of an index pattern's fields, as Elasticsearch says.
func (s *stored) fields(t *testing.T) kibanatest.Fields {
	return func(pattern string) map[string]string {
		out := map[string]string{}
		answer := s.ask(t, "GET", "/"+pattern+"/_field_caps?fields=*&ignore_unavailable=true&allow_no_indices=true",
			nil)
		for name, types := range obj(answer, "fields") {
			for typ := range types.(map[string]any) {
				out[name] = typ
			}
		}
		return out
	}
}

func (s *stored) search(t *testing.T, r kibanatest.Request) map[string]any {
	t.Helper()
	if aggs := r.Body["aggs"]; aggs != nil && !s.full {
		r.Body["aggs"] = s.standIn(aggs)
	}
	answer := s.ask(t, "POST", r.Path(), r.Body)
	percentilesOf(t, answer)
	return answer
}

// standIn replaces what the server at hand cannot do: percentiles of the histogram type by the stored
// histograms themselves, of which percentilesOf makes them; top_metrics by top_hits.
func (s *stored) standIn(v any) any {
	aggs, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for name := range aggs {
		agg := aggs[name].(map[string]any)
		if p := obj(agg, "percentiles"); str(p, "field") == histogram {
			aggs[name] = m{"top_hits": m{"_source": []string{histogram}, "size": max(s.hits, 100)}, "meta": p}
		}
		if top := obj(agg, "top_metrics"); top != nil {
			aggs[name] = m{"top_hits": m{"_source": []any{at(top, "metrics", "field")}, "size": 1, "sort": top["sort"]}}
		}
		if agg["aggs"] != nil {
			agg["aggs"] = s.standIn(agg["aggs"])
		}
	}
	return aggs
}

// percentilesOf puts what Elasticsearch would answer in the place of stored histograms.
func percentilesOf(t *testing.T, v any) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			percentilesOf(t, e)
		}
	case map[string]any:
		if percents := list(v, "meta", "percents"); percents != nil {
			digits := int(at(v, "meta", "hdr", "number_of_significant_value_digits").(float64))
			hits, values := obj(v, "hits"), m{}
			if n := at(hits, "total", "value"); n != float64(len(list(hits, "hits"))) {
				t.Fatalf("a bucket of %v documents returns %d", n, len(list(hits, "hits")))
			}
			h := kibanatest.NewHDR(digits)
			for _, hit := range list(hits, "hits") {
				of := obj(hit, "_source", "latency", "histogram")
				for i, value := range list(of, "values") {
					h.Add(value.(float64), int64(list(of, "counts")[i].(float64)))
				}
			}
			for _, p := range percents {
				key := fmt.Sprint(p)
				if !strings.Contains(key, ".") {
					key += ".0"
				}
				values[key] = nil
				if value, ok := h.Percentile(p.(float64)); ok {
					values[key] = value
				}
			}
			delete(v, "hits")
			v["values"] = values
		}
		for _, e := range v {
			percentilesOf(t, e)
		}
	}
}

// rowsOf are the rows of a Lens panel, by the ids of runs.
func (s *stored) rowsOf(t *testing.T, st kibanatest.State, o *kibanatest.Object) map[string]m {
	t.Helper()
	p, err := s.bundle.space.Lens(o, st, s.fields(t), bucketOf)
	if err != nil {
		t.Fatalf("%s: %v", o.ID, err)
	}
	out := map[string]m{}
	for key, row := range p.Rows(s.search(t, p.Request)) {
		out[titleOf.ReplaceAllString(key, "$1")] = row
	}
	return out
}

// titleOf matches a title, which ends in the id.
var titleOf = regexp.MustCompile(`[^|]* (run-\w+)`)

// title is that of a run's documents.
func (s *stored) title(name string) string {
	id, start := "run-"+name, s.runs[name][0].Timestamp
	if name == "syncs" { // it has no name
		name = ""
	}
	return fio.RunTitle(id, name, start)
}

// drawn is what a Vega panel draws: its specification with the answers in it.
func (s *stored) drawn(t *testing.T, st kibanatest.State, o *kibanatest.Object) m {
	t.Helper()
	p, err := kibanatest.Vega(o, st)
	if err != nil {
		t.Fatalf("%s: %v", o.ID, err)
	}
	var answers []m
	for _, r := range p.Requests {
		answers = append(answers, s.search(t, r))
	}
	if err = p.Draw(answers); err != nil {
		t.Fatalf("%s: %v", o.ID, err)
	}
	return p.Spec
}

func parseInterval(t *testing.T, line string) (r interval) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return r
}
