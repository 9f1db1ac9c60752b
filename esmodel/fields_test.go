package esmodel_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/esmodeltest"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/fio/sla"
	"fiolat/internal/testkit"
	"fiolat/pipeline"
)

//go:generate go test -run TestFieldTable . -update

var update = flag.Bool("update", false, "write docs/documents.md")

// TestMeanings: each field is explained in a cell of the table.
func TestMeanings(t *testing.T) {
	for _, f := range esmodel.Fields {
		if f.Meaning == "" || strings.ContainsAny(f.Meaning, "|\n") {
			t.Errorf("%s: meaning %q", f.Name, f.Meaning)
		}
	}
}

// Every field of real documents is in the table, and every one that the table gives
// to runs, histograms and percentiles occurs.
func TestDocumentsHaveTheFieldsOfTheTable(t *testing.T) {
	run := esmodeltest.Run()
	run.Part, run.Parts = "p", []pipeline.Part{{Name: "a", Generation: "g"}}
	for _, l := range run.Logs {
		of := pipeline.Load{IODepth: new(int64(8)), NumJobs: new(int64(1)), BS: new(int64(4096)),
			RWMixRead: new(int64(70))}
		l.Load, l.Job, l.LogName = &[fio.Directions]*pipeline.Load{&of, &of, nil}, "j", "l"
	}
	intervals := esmodeltest.Intervals(run, 5)
	for _, q := range intervals {
		for i := range q.Leaves {
			q.Leaves[i].Dims.Job, q.Leaves[i].Dims.Log = "j", "l"
		}
		for i := range q.Rows {
			q.Rows[i].Dims.Job, q.Rows[i].Dims.Log = "j", "l"
			q.Rows[i].Stats.AtLeast = []int{2}
			if q.Rows[i].Stats.Empty() {
				q.Rows[i].Stats.Percentiles = make([]float64, 3)
			}
		}
	}
	rules, err := fio.ParseSLARules([]string{"read p99 < 5ms", "all iops >= 10", "read p50 < 1ms for 2 intervals"})
	if err != nil {
		t.Fatal(err)
	}
	broken := sla.Verdict{
		Rule:    &rules[0],
		Status:  sla.Broken,
		Value:   7e6,
		Known:   true,
		Stalled: true,
		Window:  1e9,
		Share:   0.5,
	}
	for i := range intervals[0].Rows {
		intervals[0].Rows[i].SLA = []sla.Verdict{
			broken,
			{Rule: &rules[1], Status: sla.OK, Share: -1},
			{Rule: &rules[2], Status: sla.Unknown, Share: 0.9},
		}
	}
	intervals[0].Changes = []pipeline.Change{
		{
			Scope:  "direction",
			Dims:   fio.Dims{Direction: "read", Host: "h"},
			Change: sla.Change{Rule: &rules[0], Breach: true, End: 1e9, First: broken, Last: broken},
		},
	}
	watch := sla.NewWatch(&rules[0], 1, 1e9, 1e9)
	watch.Observe(broken, 0, 1e9)
	run.Logs[0].LogName, run.Logs[0].Dirs[0] = "l", pipeline.LogDirection{
		HasIO:  true,
		Limits: fiohist.Limits{Max: 1, Known: true},
	}
	run.Logs[0].Empty, run.Logs[0].Repaired[0] = true, true
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	c := testClient(t, client.Config{Addresses: []string{s.URL}})
	w, err := delivery.NewBulkWriter(c, delivery.BulkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	sink := delivery.NewSink(w, delivery.SinkOptions{})
	err = sink.Begin(t.Context(), run)
	docs := s.Docs("*") // the run's own, marked
	for _, q := range intervals {
		if err == nil {
			err = sink.Interval(t.Context(), q)
		}
	}
	if err == nil {
		sum := esmodeltest.Summary(run, intervals)
		sum.Account.JobsWithoutLog, sum.Account.JobsFailed, sum.Account.IOsFailed = 1, 1, 1
		sum.Account.JobsRunning = 1
		sum.Account.HostsMissing = []string{"h9"}
		sum.Account.Warnings, sum.Account.Exact = []string{
			"w",
		}, map[string]pipeline.Latencies{
			"read": {IOs: 1, NS: 1},
		}
		sum.Account.Jobs = []pipeline.JobAccount{
			{Job: "j", Host: "h", Direction: "read", Logs: 1, Counted: 3, Missing: 3, NotPlaced: 3},
		}
		sum.Account.Lost = []pipeline.Loss{
			{
				Logs:      []string{"l"},
				Job:       "j",
				Host:      "h",
				Direction: "read",
				IOs:       3,
				Until:     1,
				Index:     []uint16{7},
				Count:     []float64{3},
				Why:       "w",
			},
		}
		sum.SLA = []pipeline.Outcome{
			{
				Scope: "host",
				Dims:  fio.Dims{Host: "h", Direction: "read"},
				Rule:  &rules[0],
				Watch: watch,
				Whole: sla.Verdict{Share: 0.5},
			},
			{
				Scope: "run",
				Dims:  fio.Dims{Direction: fio.All},
				Rule:  &rules[1],
				Watch: sla.NewWatch(&rules[1], 1, 1e9, 1e9),
				Whole: sla.Verdict{Share: -1},
			},
		}
		sum.Account.Interval = &pipeline.Choice{MS: 1000, Percentile: 99, Accuracy: 0.1, Met: true, Reason: "r"}
		err = sink.End(t.Context(), sum)
	}
	if err := sink.Close(t.Context(), err); err != nil {
		t.Fatal(err)
	}
	seen := map[esmodel.Kind]map[string]bool{}
	enc := esmodel.NewEncoder("fio", run) // the sink gives a part no diagnosis
	enc.Diagnosis, enc.Outliers = found{[]string{"nothing"}}, &pipeline.Outliers{Found: 1, IOs: 1}
	run.Fine.Interval = 1e9
	doc, err := enc.AppendRun(nil, esmodel.StatusComplete, esmodeltest.Summary(run, intervals), nil)
	if err != nil {
		t.Fatal(err)
	}
	doc = esmodel.WithRollUp(doc, esmodel.RollUpCounted, esmodel.StatusRunning)
	docs = append(docs, esmodeltest.Doc{Index: "fio-run", Source: doc})
	for _, d := range append(docs, s.Docs("*")...) {
		kind, ok := esmodel.KindOf("fio", d.Index)
		if !ok {
			t.Fatal(d.Index)
		}
		if seen[kind] == nil {
			seen[kind] = map[string]bool{}
		}
		for _, name := range esmodeltest.FieldNames(d.Source) {
			f, ok := esmodel.FieldOf(kind, name)
			if !ok {
				t.Errorf("%s has %s, which is not in the table", kind, name)
			}
			seen[kind][f.Name] = true
		}
	}
	for _, f := range esmodel.Fields {
		for _, k := range []esmodel.Kind{esmodel.KindRun, esmodel.KindHistogram, esmodel.KindPercentiles,
			esmodel.KindEvent} {
			if k == esmodel.KindEvent && !strings.HasPrefix(f.Name, "sla.") && !strings.HasPrefix(f.Name, "event.") &&
				f.Name != "message" {
				continue // as in other documents
			}
			if slices.Contains(f.Kinds, k) && !seen[k][f.Name] &&
				!(k == esmodel.KindRun && f.Name == "fio.log") && f.Name != "event.ingested" { // of what is sent
				t.Errorf("no document of %s has %s", k, f.Name)
			}
		}
	}
}

// fieldTable returns the fields as Markdown: those of several kinds of documents, then those of each kind alone.
func fieldTable() string {
	var b strings.Builder
	b.WriteString(`# Documents

<!-- Made from esmodel/fields.go by "make docs"; do not edit. -->

[queries.md](queries.md) has requests. A field's name has no dot in a percentile: p99.9 is ` + "`latency.p99_9`" + `.

Indices are named PREFIX-run, PREFIX-histogram-YYYY.MM and so on: PREFIX is ` + "`fio`" + ` or --index-prefix, the
month that of @timestamp in UTC. Documents are nested objects: latency.p99 is {"latency":{"p99":...}}. Latencies are
in nanoseconds. Fields of type "-" are stored but not indexed.
`)
	b.WriteString("\n## In several kinds of documents\n\n|field|in|type|unit|meaning|\n|---|---|---|---|---|\n")
	for _, f := range esmodel.Fields {
		in := strings.Trim(strings.ReplaceAll(fmt.Sprint(f.Kinds), " ", ", "), "[]")
		if len(f.Kinds) == len(esmodel.Kinds) {
			in = "all"
		}
		if len(f.Kinds) > 1 {
			fmt.Fprintf(&b, "|`%s`|%s|%s|%s|%s|\n", f.Name, in, f.MappedAs(), f.Unit, f.Meaning)
		}
	}
	for _, k := range esmodel.Kinds {
		if k == esmodel.KindHistogram {
			continue // it has no field of its own
		}
		fmt.Fprintf(&b, "\n## %s\n\n|field|type|unit|meaning|\n|---|---|---|---|\n",
			esmodel.Pattern(esmodel.DefaultPrefix, k))
		for _, f := range esmodel.Fields {
			if slices.Equal(f.Kinds, []esmodel.Kind{k}) {
				fmt.Fprintf(&b, "|`%s`|%s|%s|%s|\n", f.Name, f.MappedAs(), f.Unit, f.Meaning)
			}
		}
	}
	return b.String()
}

// TestFieldTable compares docs/documents.md with the table of fields; -update writes it.
func TestFieldTable(t *testing.T) {
	testkit.SameFile(t, "../docs/documents.md", fieldTable(), *update)
}

// found is a diagnosis.
type found struct {
	Findings []string `json:"findings"`
}

func (found) IsDiagnosis() {}

// TestSummaryFields: the page of fields names each figure that is stored.
func TestSummaryFields(t *testing.T) {
	i := slices.IndexFunc(esmodel.Fields, func(f esmodel.Field) bool { return f.Name == "summary.*" })
	for _, f := range fio.Figures(fio.OfAnywhere) {
		if f.Field != "" && !strings.Contains(esmodel.Fields[i].Meaning, "."+f.Field+"`") {
			t.Errorf("the page does not name summary.*.%s", f.Field)
		}
	}
}

// TestUnknownStatistics: a statistic that this fiolat does not know is mapped as it comes, where statistics are.
func TestUnknownStatistics(t *testing.T) {
	for kind, want := range map[esmodel.Kind]any{esmodel.KindHistogram: true, esmodel.KindPercentiles: true,
		esmodel.KindProbe: true, esmodel.KindRun: nil} {
		tpl, err := esmodel.Template("fio", kind, true, false)
		if err != nil {
			t.Fatal(err)
		}
		m := tpl["template"].(map[string]any)["mappings"].(map[string]any)
		latency := m["properties"].(map[string]any)["latency"].(map[string]any)
		if latency["dynamic"] != want || m["dynamic"] != false {
			t.Errorf("%s: latency is %v, other objects %v", kind, latency["dynamic"], m["dynamic"])
		}
	}
}
