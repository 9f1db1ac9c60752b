package esmodel

import (
	"encoding/json"
	"reflect"
	"testing"

	"fiolat/esmodel/esmodeltest"
)

// synthetic returns a document as an index with synthetic _source gives it back: arrays of one element, but for those
// of arrays, as that element.
func synthetic(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = synthetic(v[key])
		}
	case []any:
		for i := range v {
			v[i] = synthetic(v[i])
		}
		if len(v) == 1 {
			if _, nested := v[0].([]any); !nested {
				return v[0]
			}
		}
	}
	return v
}

// TestSyntheticSource: the document of a run reads the same from an index with synthetic _source.
func TestSyntheticSource(t *testing.T) {
	t.Parallel()
	run := esmodeltest.Run()
	run.Logs = run.Logs[:1]
	doc, err := NewEncoder("fio", run).AppendRun(nil, StatusComplete,
		esmodeltest.Summary(run, esmodeltest.Intervals(run, 3)), &Documents{Made: 3, Indexed: 3})
	if err != nil {
		t.Fatal(err)
	}
	scalars := MustJSON(synthetic(esmodeltest.Decode(t, doc)))
	if err := json.Unmarshal(scalars, new(runDoc)); err == nil {
		t.Fatal("the document has no array of one element")
	}
	want, err := ReadRun(doc)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadRun(scalars)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if _, _, err = ReadRunHistograms(scalars); err != nil {
		t.Error(err)
	}
}

// TestDecodeRefuses: what has another type for another reason stays an error.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	var doc struct{ Name []string }
	for _, text := range []string{`{"name":5}`, `{"name":{"a":"b"}}`, `{"name":["a",5]}`, `{"name":"a"`, `5`} {
		if err := Decode([]byte(text), &doc); err == nil {
			t.Errorf("%s: %v", text, doc)
		}
	}
	if err := Decode([]byte(`{"name":"a"}`), &doc); err != nil || len(doc.Name) != 1 || doc.Name[0] != "a" {
		t.Errorf("%v, %v", doc, err)
	}
}

// TestLeafIsChecked: a document whose buckets and samples disagree is not read as either.
func TestLeafIsChecked(t *testing.T) {
	t.Parallel()
	run := esmodeltest.Run()
	q := esmodeltest.Intervals(run, 2)[0]
	text, err := NewEncoder("fio", run).Histogram(nil, q, &q.Leaves[0])
	if err != nil {
		t.Fatal(err)
	}
	stored := &StoredRun{}
	stored.Run = run
	for _, tt := range []struct {
		name   string
		change func(*LeafDoc)
		bad    bool
	}{
		{"as written", func(*LeafDoc) {}, false},
		{"an I/O more in samples", func(d *LeafDoc) { d.Samples++ }, true},
		{"a thousandth less in samples", func(d *LeafDoc) { d.Samples -= 0.001 }, true},
		{"a bucket without its count", func(d *LeafDoc) {
			d.Latency.Histogram.Counts = d.Latency.Histogram.Counts[1:]
		}, true},
		{"a bucket lost", func(d *LeafDoc) {
			d.Latency.Histogram.Counts, d.Latency.Histogram.Values = d.Latency.Histogram.Counts[1:],
				d.Latency.Histogram.Values[1:]
		}, true},
		{"another grid", func(d *LeafDoc) { d.Latency.Buckets.Coarseness++ }, true},
		{"another generation", func(d *LeafDoc) { d.Run.Generation += "x" }, true},
	} {
		doc := &LeafDoc{}
		if err := Decode(text, doc); err != nil {
			t.Fatal(err)
		}
		tt.change(doc)
		leaf, err := NewLeafDecoder([]*StoredRun{stored}).Leaf(doc)
		if (err != nil) != tt.bad {
			t.Errorf("%s: %+v, %v", tt.name, leaf, err)
		}
	}
}
