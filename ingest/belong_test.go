package ingest

import (
	"fmt"
	"testing"

	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
)

// TestFacts: a stronger fact beats all weaker ones, and facts that two documents share leave both.
func TestFacts(t *testing.T) {
	job := func(name, log, host string) fiojson.Entry {
		return fiojson.Entry{JobName: name, Host: host, Options: jobfile.Options{"write_hist_log": log}}
	}
	for name, c := range map[string]struct {
		place
		log  string
		docs []*fiojson.Document
		want []string
		why  facts
	}{
		"path before host": {above, "run/deep/h_clat_hist.1.log.n1", []*fiojson.Document{
			doc("run/n1.json", job("a", "h", "n1")), doc("run/x.json", job("a", "deep/h", "n1"))},
			[]string{"run/x.json"}, writesPath},
		"host before folder": {above, "run/a/h_clat_hist.1.log.n1", []*fiojson.Document{
			doc("run/a.json", job("a", "h", "")), doc("run/x.json", job("b", "h", "n1.example.com"))},
			[]string{"run/x.json"}, ofHost},
		"folder before name": {above, "run/a/h_clat_hist.1.log", []*fiojson.Document{
			doc("run/x.json", job("b", "h", "")), doc("run/y.json", job("a", "h", ""))},
			[]string{"run/y.json"}, ofFolder},
		"a folder without the name is none": {above, "run/a/h_clat_hist.1.log", []*fiojson.Document{
			doc("run/x.json", job("b", "h", "")), doc("run/y.json", job("a", "k", ""))},
			[]string{"run/x.json"}, writesName},
		"name before the file's": {within, "h_clat_hist.1.log", []*fiojson.Document{
			doc("json_h.json", job("a", "k", "")), doc("x.json", job("b", "h", ""))}, []string{"x.json"}, writesName},
		"the file's name decides between equals": {within, "output.0_clat_hist.1.log.n1", []*fiojson.Document{
			doc("output.0.n1", job("a", "output.0", "")), doc("output.1.n1", job("a", "output.0", ""))},
			[]string{"output.0.n1"}, ofHost},
		"equal": {within, "h_clat_hist.1.log", []*fiojson.Document{doc("x.json", job("a", "h", "")),
			doc("y.json", job("b", "h", ""))}, []string{"x.json", "y.json"}, writesName},
		"the only one": {within, "h_clat_hist.1.log", []*fiojson.Document{doc("x.json", job("a", "k", ""))},
			[]string{"x.json"}, 0},
		"the only one above": {above, "a/h_clat_hist.1.log", []*fiojson.Document{doc("x.json", job("a", "k", ""))},
			nil, 0},
		"above, of another host": {above, "a/h_clat_hist.1.log.n1", []*fiojson.Document{
			doc("x.json", job("a", "h", "n2"))}, nil, 0},
		"beside other logs only by its path": {aboveLogs, "a/h_clat_hist.1.log", []*fiojson.Document{
			doc("x.json", job("a", "h", "")), doc("y.json", job("a", "a/h", ""))}, []string{"y.json"}, writesPath},
		"beyond the path, a host without its own": {beyond, "a/h_clat_hist.1.log.n1", []*fiojson.Document{
			doc("x.json", job("a", "h", ""))}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := input(c.log).Logs[0]
			fit, why := newShelf(c.place, "", c.docs).find(l, l.Host)
			if got := paths(fit); fmt.Sprint(got) != fmt.Sprint(c.want) || why != c.why {
				t.Errorf("%v by %b, want %v by %b", got, why, c.want, c.why)
			}
		})
	}
}

// TestReadOnce: what was counted of a log is kept, but not for a part of it.
func TestReadOnce(t *testing.T) {
	l := &Log{Source: &Source{Path: "testdata/accounted/none"}}
	if _, err := l.sums(); err == nil {
		t.Fatal("read")
	}
	kept := l.Source.counts
	if _, err := l.sums(); err == nil || l.Source.counts != kept {
		t.Error("read twice")
	}
}
