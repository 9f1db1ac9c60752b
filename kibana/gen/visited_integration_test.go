//go:build integration

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/kibana/kibanatest"
)

// TestServerVisited counts the documents that each panel's searches read, by Elasticsearch's profile: of one run, and
// of 13 nights of which the last is in the time range or chosen, the same. Those are the documents of the scope and the
// kind that the panel shows.
func TestServerVisited(t *testing.T) {
	s := connect(t)
	last := time.Date(2026, 6, 20, 2, 0, 0, 0, time.UTC)
	ingest := func(night int) {
		s.command(t, "ingest", "--index-prefix", s.prefix, "--by", split, "--run-id", fmt.Sprintf("night%02d", night),
			"--run-name", "nightly", "--start", last.AddDate(0, 0, -night).Format(time.RFC3339), "cluster")
	}
	s.to = last.Add(6 * time.Hour)
	// read returns the documents that each search reads.
	read := func(from time.Time, run string) map[string]float64 {
		s.ask(t, "POST", "/"+s.prefix+"-*/_refresh", nil)
		fields, out := s.fields(t), map[string]float64{}
		s.bundle.eachPanel(func(d *kibanatest.Object, p kibanatest.Panel) {
			st := s.bundle.space.Open(d, from, s.to)
			if run != "" {
				st = st.Choose("run.id", run)
			}
			var requests []kibanatest.Request
			if kibanatest.Spec(p.Object) != nil {
				v, err := kibanatest.Vega(p.Object, st)
				if err != nil {
					t.Fatal(err)
				}
				requests = v.Requests
			} else {
				l, err := s.bundle.space.Lens(p.Object, st, fields, s.to.Sub(from)/50)
				if err != nil {
					t.Fatal(err)
				}
				requests = []kibanatest.Request{l.Request}
			}
			for _, r := range requests {
				may := s.ofScope(t, r, from, run)
				r.Body["profile"] = true
				if r.Body["aggs"] != nil && !s.full {
					r.Body["aggs"] = s.standIn(r.Body["aggs"])
				}
				answer := s.ask(t, "POST", r.Path(), r.Body)
				n := 0.0
				for _, shard := range list(answer, "profile", "shards") {
					most := 0.0
					for _, a := range list(shard, "aggregations") {
						most = max(most, at(a, "breakdown", "collect_count").(float64))
					}
					n += most
				}
				n = max(n, at(answer, "hits", "total", "value").(float64))
				name := strings.TrimPrefix(d.ID, s.prefix+"-") + ": " + p.Object.ID + ", " + r.Name
				if out[name] = n; n > may {
					t.Errorf("%s reads %v documents, its run, scope, direction and time have %v", name, n, may)
				}
			}
		})
		return out
	}
	ingest(0)
	one := read(last.AddDate(-1, 0, 0), "")
	for night := 1; night < 13; night++ {
		ingest(night)
	}
	year := last.AddDate(-1, 0, 0)
	latest, chosen, all := read(last.Add(-6*time.Hour), ""), read(year, "night00"), read(year, "")
	total := 0.0
	for _, name := range slices.Sorted(maps.Keys(one)) {
		t.Logf("%-45s of one run %4.0f; of 13: range of a night %4.0f, chosen %4.0f, range of a year %5.0f", name,
			one[name], latest[name], chosen[name], all[name])
		if latest[name] > one[name] || chosen[name] > one[name] {
			t.Errorf("%s reads %v documents of one run, and %v and %v of it among 13", name, one[name], latest[name],
				chosen[name])
		}
		shown := strings.HasSuffix(name, ", answer") && !strings.Contains(name, "slowdown")
		if total += chosen[name]; shown && one[name] == 0 {
			t.Errorf("%s reads nothing", name)
		}
	}
	t.Logf("%v documents for all panels with a run chosen", total)
}

var (
	scopesOf     = regexp.MustCompile(`"scope":(\[[^]]*\]|"[^"]*")`)
	directionsOf = regexp.MustCompile(`"fio.direction":(\[[^]]*\]|"[^"]*")`)
)

// ofScope counts the documents of the scopes and directions that a search names anywhere, of a run and a time.
func (s *stored) ofScope(t *testing.T, r kibanatest.Request, from time.Time, run string) float64 {
	whole, _ := json.Marshal(r.Body)
	others, _ := json.Marshal(noSyncs)
	whole = bytes.ReplaceAll(whole, others, nil)
	filters := []m{{"range": m{"@timestamp": m{"gte": from, "lte": s.to}}}}
	if _, kind, _ := strings.Cut(r.Index, s.prefix+"-"); run != "" && !strings.HasPrefix(kind, "event") {
		filters = append(filters, m{"term": m{"run.id": run}})
	}
	for field, named := range map[string]*regexp.Regexp{"scope": scopesOf, "fio.direction": directionsOf} {
		var values []string
		for _, hit := range named.FindAllSubmatch(whole, -1) {
			values = append(values, strings.Split(strings.Trim(string(hit[1]), `[]"`), `","`)...)
		}
		if values != nil {
			filters = append(filters, oneOf(field, values...))
		}
	}
	query := m{"query": m{"bool": m{"filter": filters}}}
	counted := s.ask(t, "POST", "/"+r.Index+"/_count?ignore_unavailable=true", query)
	return counted["count"].(float64)
}
