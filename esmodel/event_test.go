package esmodel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fiolat/esmodel"
	"fiolat/esmodel/esmodeltest"
	"fiolat/fio"
	"fiolat/pipeline"
)

// TestOutlier: the document of an outlier is of the run's generation, also in a live run, and one of another time or
// direction is another document.
func TestOutlier(t *testing.T) {
	t.Parallel()
	o := pipeline.Outlier{Dims: fio.Dims{Direction: "read", Job: "j"}, Hosts: []string{"h7"}, Start: 31e9, End: 32e9,
		IOs: 2, Longest: 6.3e6, Above: 1e6, Text: "2 reads took up to 6.3 ms"}
	for _, live := range []bool{false, true} {
		run := &pipeline.Run{ID: "r", Generation: "g", Start: 1767225600e9, Interval: 1e9, Live: live}
		enc := esmodel.NewEncoder("fio", run)
		id, doc := enc.Outlier(&o)
		for _, name := range esmodeltest.FieldNames(doc) {
			if _, ok := esmodel.FieldOf(esmodel.KindEvent, name); !ok {
				t.Errorf("%s is not in the table of fields", name)
			}
		}
		const want = `{"@timestamp":"2026-01-01T00:00:31.000Z","run":{"id":"r","title":"r",` +
			`"generation":"g"},"host":{"name":["h7"]},"fio":{"kind":"clat","direction":"read","job":"j"},` +
			`"interval":{"ms":1000,"offset_ms":31000},"event":{"action":"outlier","start":"2026-01-01T00:00:31.000Z",` +
			`"end":"2026-01-01T00:00:32.000Z"},"outlier":{"ios":2,"latency":6300000,"above":1000000},` +
			`"message":"2 reads took up to 6.3 ms"}`
		if string(doc) != want {
			t.Errorf("live %v:\n%s, want\n%s", live, doc, want)
		}
		later, write := o, o
		later.Start, write.Dims.Direction = 32e9, "write"
		for _, other := range []*pipeline.Outlier{&later, &write} {
			if same, _ := enc.Outlier(other); same == id {
				t.Errorf("%+v has the id of %+v", other, o)
			}
		}
	}
}

// TestStraggler: the begin and the end of a straggler are two documents, of a live run ones of no generation.
func TestStraggler(t *testing.T) {
	t.Parallel()
	s := pipeline.Straggler{Dimension: "host", Who: "h7", Scope: "host+direction",
		Dims: fio.Dims{Host: "h7", Direction: "read"}, Start: 31e9, End: 34e9, Measure: "p99", Factor: 1.5, Own: 3e6,
		Others: 2e6, Text: "host h7"}
	for _, live := range []bool{false, true} {
		run := &pipeline.Run{ID: "r", Generation: "g", Start: 1767225600e9, Interval: 1e9, Live: live}
		enc := esmodel.NewEncoder("fio", run)
		ids := map[string]bool{}
		for _, ended := range []bool{false, true} {
			s.Ended = ended
			id, doc := enc.Straggler(&s)
			ids[id] = true
			for _, name := range esmodeltest.FieldNames(doc) {
				if _, ok := esmodel.FieldOf(esmodel.KindEvent, name); !ok {
					t.Errorf("%s is not in the table of fields", name)
				}
			}
			var got struct {
				Timestamp string `json:"@timestamp"`
				Run       struct{ Generation string }
				Host      struct{ Name []string }
				Event     struct{ Action, Start, End string }
				Straggler struct {
					Dimension, Status, Measure string
					Who                        []string
					Factor, Own, Others        float64
				}
			}
			if err := json.Unmarshal(doc, &got); err != nil {
				t.Fatal(err)
			}
			status := map[bool]string{false: "began", true: "ended"}[ended]
			generation := map[bool]string{false: "g"}[live]
			if got.Timestamp != "2026-01-01T00:00:31.000Z" || got.Event.Start != got.Timestamp ||
				got.Event.End != "2026-01-01T00:00:34.000Z" || got.Event.Action != "straggler" ||
				got.Run.Generation != generation || strings.Join(got.Host.Name, " ") != "h7" ||
				got.Straggler.Status != status || got.Straggler.Measure != "p99" || got.Straggler.Own != 3e6 ||
				got.Straggler.Factor != 1.5 || got.Straggler.Others != 2e6 ||
				got.Straggler.Dimension+strings.Join(got.Straggler.Who, " ") != "hosth7" {
				t.Errorf("%s", doc)
			}
		}
		if len(ids) != 2 {
			t.Error("begin and end have the same id")
		}
	}
	s.End = 0
	if _, doc := esmodel.NewEncoder("fio", &pipeline.Run{ID: "r"}).Straggler(&s); strings.Contains(string(doc),
		`"end"`) {
		t.Errorf("%s", doc)
	}
}

// Names have at most 512 bytes, to be found by.
func TestCheckNames(t *testing.T) {
	t.Parallel()
	for n, bad := range map[int]bool{0: false, 512: false, 513: true} {
		name := strings.Repeat("n", n)
		for what, run := range map[string]*pipeline.Run{"id": {ID: name}, "part": {Part: name}, "name": {Name: name}} {
			if err := esmodel.CheckNames(run); (err != nil) != bad {
				t.Errorf("%s of %d bytes: %v", what, n, err)
			}
		}
	}
}
