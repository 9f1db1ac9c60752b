//go:build integration

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// page are the requests of docs/queries.md by heading.
type request struct{ method, path, body string }

func queriesOf(t *testing.T) map[string]request {
	t.Helper()
	b, err := os.ReadFile("../../docs/queries.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]request{}
	for _, section := range strings.Split(string(b), "\n## ")[1:] {
		heading, rest, _ := strings.Cut(section, "\n")
		_, block, ok := strings.Cut(rest, "```")
		block, _, closed := strings.Cut(block, "\n```")
		language, block, _ := strings.Cut(block, "\n")
		r := request{body: block}
		if language == "json" {
			var first string
			first, r.body, _ = strings.Cut(block, "\n")
			r.method, r.path, _ = strings.Cut(first, " ")
		}
		if !ok || !closed || r.method == "" && language != "esql" {
			t.Fatalf("%q has no request", heading)
		}
		out[heading] = r
	}
	return out
}

// answer is a reply to a search.
type answer struct {
	Hits struct {
		Total struct{ Value int }
		Hits  []hit
	}
	Aggregations map[string]struct {
		Buckets json.RawMessage
		Values  map[string]float64
		Value   float64
		Keys    []string
	}
}

type hit struct {
	Source queriedDoc `json:"_source"`
}

type queriedDoc struct {
	Timestamp string `json:"@timestamp"`
	Event     struct{ Action string }
	Run       struct{ ID string }
	Tail      struct {
		Read struct {
			Host  string
			Hosts []struct {
				Host     string
				Expected float64
				P99      struct{ Share float64 }
			}
		}
	}
	Summary map[string]map[string]any
	Account struct {
		LogsRepaired int `json:"logs_repaired"`
	}
	Message string
	SLA     struct {
		Outcomes []struct {
			Rule, Status string
			Broken       int
		}
	}
}

// bucket is one of an aggregation, with the single numbers in it.
type bucket struct {
	Key, AsString any
	DocCount      int
	numbers       map[string]float64
	buckets       []bucket
}

func (b *bucket) UnmarshalJSON(data []byte) error {
	var raw map[string]any
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	b.Key, b.AsString, b.numbers = raw["key"], raw["key_as_string"], map[string]float64{}
	for k, v := range raw {
		switch v := v.(type) {
		case float64:
			if k == "doc_count" {
				b.DocCount = int(v)
			}
		case map[string]any:
			if list, err := json.Marshal(v["buckets"]); err != nil || v["buckets"] != nil &&
				json.Unmarshal(list, &b.buckets) != nil {
				return fmt.Errorf("buckets %s: %w", list, err)
			}
			for _, of := range []string{"value", "doc_count"} {
				if n, ok := v[of].(float64); ok {
					b.numbers[k] = n
				}
			}
		}
	}
	return nil
}

// row is a row of percentiles --format ndjson, fiolat's own numbers.
type row struct {
	OffsetMS         float64 `json:"offset_ms"`
	Timestamp        string
	Scope, Direction string
	Host             *string
	Samples          float64
	Partial          bool
	SLA              []struct{ Status string }
	Tail             struct {
		Expected float64
		P99      struct{ Share float64 }
	}
	Percentiles map[string]*float64
}

// TestEachServerQueries runs every request of docs/queries.md as it stands there, but for the
// prefix of the indices, and compares the answers with what percentiles prints.
func TestEachServerQueries(t *testing.T) {
	es, prefix := withPrefix(t, "queries")
	full := os.Getenv("FIOLAT_TEST_ES_URL") != ""
	if full {
		es = os.Getenv("FIOLAT_TEST_ES_URL")
	}
	named := t.TempDir()
	copyFile(t, real+"/slow/slow_clat_hist.1.log", named+"/slow_clat_hist.1.log.n1")
	copyFile(t, real+"/exact/exact_clat_hist.1.log", named+"/exact_clat_hist.1.log.n2")
	const rule = "read p99 < 250us"
	runs := []struct{ id, dir, start, cluster string }{
		{"nightly-1", real + "/cluster", "2026-01-30T10:00:00Z", "b7"},
		{"nightly-2", real + "/randrw", "2026-01-31T10:00:00Z", "b7"},
		{"nightly-3", real + "/exact", "2026-01-31T23:59:55Z", "c1"},
		{"nightly-4", named, "2026-02-01T10:00:00Z", "c1"},
	}
	rowsOf := func(dir string, args ...string) (out []row) {
		t.Helper()
		code, stdout, stderr := fiolat(t, nil, slices.Concat([]string{"percentiles", "--format", "ndjson"}, args,
			[]string{dir})...)
		if code != exitOK {
			t.Fatal(stderr)
		}
		for line := range strings.Lines(stdout) {
			var one row
			if err := json.Unmarshal([]byte(line), &one); err != nil {
				t.Fatal(err)
			}
			out = append(out, one)
		}
		return out
	}
	own := map[string][]row{}
	for _, r := range runs {
		interval := "1s"
		if r.id == "nightly-3" {
			interval = "auto"
		}
		args := []string{"ingest", "--es", es, "--index-prefix", prefix, "--run-id", r.id + "-id",
			"--run-name", r.id, "--start", r.start,
			"--label", "cluster=" + r.cluster, "--interval", interval, r.dir}
		if r.id == "nightly-2" || r.id == "nightly-3" {
			args = append(args, "--sla", rule)
		}
		if code, _, stderr := fiolat(t, nil, args...); code != exitOK {
			t.Fatal(stderr)
		}
		own[r.id] = rowsOf(r.dir, "--by", "direction,host", "--start", r.start, "--interval", interval, "--sla", rule)
	}
	if code, _, stderr := fiolat(t, nil, "annotate", "--es", es, "--index-prefix", prefix, "--at", "+7s", "nightly-2",
		"a disk was pulled"); code != exitOK {
		t.Fatal(stderr)
	}
	// whole is a percentile of a whole run.
	whole := func(id, direction, p string) float64 {
		t.Helper()
		i := slices.IndexFunc(runs, func(r struct{ id, dir, start, cluster string }) bool { return r.id == id })
		for _, one := range rowsOf(runs[i].dir, "--by", "direction", "--interval", "1h", "--percentiles", p) {
			if one.Direction == direction {
				return *one.Percentiles[p]
			}
		}
		t.Fatalf("no p%s of %s of %s", p, direction, id)
		return 0
	}
	near := func(what string, got, want, within float64) {
		t.Helper()
		if !(math.Abs(got-want) <= within*math.Abs(want)) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	const exact = 1e-6 // documents hold latencies to 0.1 ns, and samples to 0.001
	page := queriesOf(t)
	ran := map[string]bool{}
	search := func(heading string) (a answer, buckets []bucket) {
		t.Helper()
		r, ok := page[heading]
		if !ok {
			t.Fatalf("docs/queries.md has no section %q", heading)
		}
		ran[heading] = true
		ask(t, r.method, es+strings.ReplaceAll(r.path, "/fio-", "/"+prefix+"-"), r.body, &a)
		for _, agg := range a.Aggregations {
			if len(agg.Buckets) > 0 && agg.Buckets[0] == '[' {
				if err := json.Unmarshal(agg.Buckets, &buckets); err != nil {
					t.Fatal(err)
				}
			}
		}
		return a, buckets
	}
	ids := func(a answer) (out []string) {
		for _, h := range a.Hits.Hits {
			out = append(out, strings.TrimSuffix(h.Source.Run.ID, "-id"))
		}
		return out
	}
	ask(t, "POST", es+"/"+prefix+"-*/_refresh", "", nil)

	p99 := func(n int) float64 { return whole(runs[n].id, "read", "99") }
	_, b := search("p99 by label")
	if len(b) != 2 || b[0].Key != "b7" || b[0].DocCount != 2 || b[1].Key != "c1" {
		t.Errorf("labels: %+v", b)
	}
	for i, label := range b {
		near("best p99", label.numbers["best"], min(p99(2*i), p99(2*i+1)), exact)
		near("worst p99", label.numbers["worst"], max(p99(2*i), p99(2*i+1)), exact)
	}

	_, b = search("p99 by weekday")
	if len(b) != 3 || b[0].AsString != "Fri 2026-01-30" || b[1].AsString != "Sat 2026-01-31" ||
		b[2].AsString != "Sun 2026-02-01" {
		t.Fatalf("days: %+v", b)
	}
	near("Friday", b[0].numbers["worst"], p99(0), exact)
	near("Saturday's best", b[1].numbers["best"], min(p99(1), p99(2)), exact)
	near("Saturday's worst", b[1].numbers["worst"], max(p99(1), p99(2)), exact)
	near("Sunday", b[2].numbers["worst"], p99(3), exact)

	worst, at := 0.0, time.Time{} // of January, of all runs
	for _, rows := range own {
		for _, r := range rows {
			if r.Scope == "direction" && r.Direction == "read" && r.Percentiles["99"] != nil &&
				strings.HasPrefix(r.Timestamp, "2026-01") && *r.Percentiles["99"] > worst {
				worst = *r.Percentiles["99"]
				at, _ = time.Parse(time.RFC3339Nano, r.Timestamp)
			}
		}
	}
	a, b := search("The worst 10 minutes")
	if ten := a.Aggregations["worst"]; len(b) != 3 || !slices.Equal(ten.Keys,
		[]string{at.Truncate(10 * time.Minute).Format("2006-01-02T15:04:05.000Z")}) {
		t.Errorf("%d times, the worst at %v, want that of %s", len(b), ten.Keys, at)
	} else {
		near("worst 10 minutes", ten.Value, worst, exact)
	}

	var want []string
	for _, r := range runs {
		if whole(r.id, "read", "99.9") > 20e6 {
			want = append(want, r.id)
		}
	}
	slices.SortFunc(want, func(a, b string) int {
		return int(math.Copysign(1, whole(b, "read", "99.9")-whole(a, "read", "99.9")))
	})
	a, _ = search("Runs with p99.9 above 20 ms")
	if got := ids(a); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("runs with a long p99.9: %v, want %v", got, want)
	}

	a, _ = search("Runs by iodepth and block size") // of the fourth no options are known
	if got := ids(a); len(got) != 3 || slices.Contains(got, "nightly-4") {
		t.Errorf("runs with iodepth 1 to 16 and bs from 4k: %v", got)
	}
	_, b = search("p99 by iodepth")
	if len(b) != 1 || b[0].DocCount != 3 {
		t.Fatalf("depths: %+v", b)
	}
	near("best p99 at iodepth 1", b[0].numbers["best"], min(p99(0), p99(1), p99(2)), exact)
	near("worst p99 at iodepth 1", b[0].numbers["worst"], max(p99(0), p99(1), p99(2)), exact)

	hosts, slow := map[string]float64{}, map[string]int{}
	for _, r := range own["nightly-4"] {
		if r.Scope == "host+direction" && r.Direction == "read" && r.Percentiles["99"] != nil {
			hosts[*r.Host] = max(hosts[*r.Host], *r.Percentiles["99"])
			if *r.Percentiles["99"] > 1e6 {
				slow[*r.Host]++
			}
		}
	}
	_, b = search("p99 by host of the last run")
	if len(b) != 1 || len(b[0].buckets) != 2 || len(hosts) != 2 {
		t.Fatalf("hosts %+v, want %v", b, hosts)
	}
	b = b[0].buckets
	for i, h := range b {
		host := h.Key.(string)
		near(host, h.numbers["worst"], hosts[host], exact)
		if int(h.numbers["slow"]) != slow[host] || i > 0 && h.numbers["worst"] > b[i-1].numbers["worst"] {
			t.Errorf("%+v, want %d slow quanta", b, slow[host])
		}
	}

	tails := map[string]row{}
	for _, one := range rowsOf(runs[0].dir, "--by", "direction,host", "--interval", "1h") {
		if one.Scope == "host+direction" && one.Direction == "read" {
			tails[*one.Host] = one
		}
	}
	a, _ = search("Tail by host")
	if len(a.Hits.Hits) != 1 || len(tails) != 2 || len(a.Hits.Hits[0].Source.Tail.Read.Hosts) != 2 {
		t.Fatalf("tail %+v, want %+v", a.Hits, tails)
	}
	tail := a.Hits.Hits[0].Source.Tail.Read
	for _, h := range tail.Hosts {
		near("share of "+h.Host, h.P99.Share, tails[h.Host].Tail.P99.Share, exact)
		near("expected of "+h.Host, h.Expected, tails[h.Host].Tail.Expected, exact)
	}
	if tail.Host != tail.Hosts[0].Host || tail.Hosts[0].P99.Share < tail.Hosts[1].P99.Share {
		t.Errorf("not the worst first: %+v", tail)
	}

	// byDirection is the worst p99 and the I/Os of a direction of nightly-2.
	byDirection := func(direction any) (worst, ios float64) {
		for _, r := range own["nightly-2"] {
			if r.Scope == "direction" && r.Direction == direction {
				ios += r.Samples
				if p := r.Percentiles["99"]; p != nil {
					worst = max(worst, *p)
				}
			}
		}
		return worst, ios
	}
	_, b = search("Reads against writes")
	if len(b) != 2 {
		t.Errorf("directions: %+v", b)
	}
	for _, d := range b {
		worst, ios := byDirection(d.Key)
		near("worst p99", d.numbers["worst"], worst, exact)
		near("I/Os", d.numbers["ios"], ios, exact)
	}

	// The heat map has every I/O between 2^15 and 2^21 ns, in its five seconds.
	_, b = search("A heat map")
	sum, perTime := 0.0, map[string]float64{}
	for _, r := range own["nightly-2"] {
		if r.Scope == "direction" && r.Direction == "read" {
			at, err := time.Parse(time.RFC3339Nano, r.Timestamp)
			if err != nil {
				t.Fatal(err)
			}
			perTime[fmt.Sprint(at.Truncate(5*time.Second).UnixMilli())] += r.Samples
			sum += r.Samples
		}
	}
	if len(b) != len(perTime) {
		t.Errorf("%d columns, want %d", len(b), len(perTime))
	}
	shown := 0.0
	for _, column := range b {
		n := 0.0
		for _, v := range column.numbers {
			n += v
		}
		shown += n
		if all := perTime[fmt.Sprintf("%.0f", column.Key)]; n > all*(1+exact) || n < 0.98*all {
			t.Errorf("column %v has %v I/Os of %v", column.Key, n, all)
		}
	}
	if shown > sum || shown < 0.99*sum {
		t.Errorf("%v I/Os shown of %v", shown, sum)
	}

	_, b = search("SLA minutes")
	brokenMS := 0.0
	for _, r := range own["nightly-2"] {
		if r.Scope == "direction" && r.Direction == "read" && len(r.SLA) > 0 && r.SLA[0].Status == "broken" {
			brokenMS += 1000
		}
	}
	if len(b) != 2 || brokenMS == 0 {
		t.Errorf("%v ms broken, want %v in nightly-2", b, brokenMS)
	} else {
		near("SLA minutes of nightly-3", b[0].numbers["broken"], 600e3, exact)
		near("SLA minutes of nightly-2", b[1].numbers["broken"], brokenMS, exact)
	}

	a, _ = search("Runs that broke their SLA")
	if got := ids(a); !slices.Equal(got, []string{"nightly-3", "nightly-2"}) ||
		len(a.Hits.Hits[0].Source.SLA.Outcomes) != 1 {
		t.Errorf("broken: %+v", a.Hits)
	} else if o := a.Hits.Hits[0].Source.SLA.Outcomes[0]; o.Rule != rule || o.Status != "broken" ||
		o.Broken != 1 {
		t.Errorf("outcome %+v, want its only interval broken", o)
	}

	a, _ = search("Runs whose logs were repaired, or lack I/Os")
	if got := ids(a); !slices.Equal(got, []string{"nightly-1"}) || a.Hits.Hits[0].Source.Account.LogsRepaired != 4 {
		t.Errorf("repaired: %+v", a.Hits)
	}
	a, _ = search("What happened in a run")
	a.Hits.Hits = slices.DeleteFunc(a.Hits.Hits, func(h hit) bool { return h.Source.Event.Action == "outlier" })
	if len(a.Hits.Hits) != 2 || !strings.HasPrefix(a.Hits.Hits[0].Source.Message, "SLA broken: "+rule) ||
		a.Hits.Hits[1].Source.Message != "a disk was pulled" ||
		a.Hits.Hits[1].Source.Timestamp != "2026-01-31T10:00:07.000Z" {
		t.Errorf("events: %+v", a.Hits)
	}

	// What needs the field type histogram, or ES|QL, needs a full cluster.
	const set, esql = "Percentiles of any set of I/Os", "Reads against writes in ES|QL"
	if full {
		a, _ = search(set)
		for p, v := range a.Aggregations["latency"].Values {
			one, other := whole("nightly-1", "read", strings.TrimSuffix(p, ".0")), whole("nightly-2", "read",
				strings.TrimSuffix(p, ".0"))
			if v < 0.99*min(one, other) || v > 1.01*max(one, other) {
				t.Errorf("p%s with HDR of two runs: %v, not between %v and %v", p, v, one, other)
			}
		}
		var table struct{ Values [][]any }
		ran[esql] = true
		body, _ := json.Marshal(map[string]string{"query": strings.ReplaceAll(page[esql].body, "fio-percentiles",
			prefix+"-percentiles")})
		ask(t, "POST", es+"/_query", string(body), &table)
		if len(table.Values) != 2 {
			t.Fatalf("ES|QL: %+v", table)
		}
		for _, line := range table.Values {
			worst, ios := byDirection(line[2])
			near("worst p99 in ES|QL", line[0].(float64), worst, exact)
			near("I/Os in ES|QL", line[1].(float64), ios, exact)
		}
	} else {
		ran[esql] = strings.Contains(page[esql].body, "FROM fio-percentiles-*")
		// The same documents, with a sum that needs no type histogram.
		r := page[set]
		i := strings.Index(r.body, `{"percentiles"`)
		r.body = r.body[:max(i, 0)] + `{"sum": {"field": "samples"}}}}`
		page[set] = r
		a, _ = search(set)
		_, one := byDirection("read")
		for _, r := range own["nightly-1"] {
			if r.Scope == "direction" && r.Direction == "read" {
				one += r.Samples
			}
		}
		near("I/Os of two runs", a.Aggregations["latency"].Value, one, exact)
	}
	for heading := range maps.Keys(page) {
		if !ran[heading] {
			t.Errorf("%q is not tested", heading)
		}
	}
}
