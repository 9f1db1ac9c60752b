package esmodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"fiolat/internal/parquetfile"
	"fiolat/pipeline"
)

// Table writes the documents of one kind as rows of Parquet. Each field is a column under its full name, of the type
// that it is mapped with; what has no fixed fields, or is a list of objects, is JSON.
type Table struct {
	file    parquetfile.File
	columns map[string]column
	row     []any
}

type column struct {
	at   int
	t    parquetfile.Type
	list bool
}

var columnTypes = map[string]parquetfile.Type{"keyword": parquetfile.String, "text": parquetfile.String,
	"double": parquetfile.Double, "long": parquetfile.Long, "boolean": parquetfile.Bool, "date": parquetfile.Time,
	"flattened": parquetfile.JSON, "object": parquetfile.JSON}

var (
	lists = regexp.MustCompile(`^(run\.labels|at_least|sla\.(rules|broken|unknown)|account\.warnings)$`)
	// A run's document has all that the run had.
	runLists   = regexp.MustCompile(`^(host\.name|fio\.(job|version|measure|workload))$`)
	runObjects = regexp.MustCompile(`^(files|jobs|parts|summary)$`)
	// expanded are objects that get a column for each of their fields.
	expanded = regexp.MustCompile(`^(labels|latency\.(octave|buckets|ci))$`)
)

// NewTable returns a Table for documents of a kind of the run.
func NewTable(out io.Writer, kind Kind, run *pipeline.Run) (*Table, error) {
	template, err := Template(DefaultPrefix, kind, true, false)
	if err != nil {
		return nil, err
	}
	t := &Table{columns: map[string]column{}}
	t.mapped("", template["template"].(map[string]any)["mappings"].(map[string]any), kind)
	for key := range run.Labels {
		t.columns["labels."+key] = column{}
	}
	double := column{t: parquetfile.Double}
	if kind == KindPercentiles {
		for _, p := range run.Percentiles {
			name := PercentileName(p)
			for _, field := range []string{"latency." + name, "latency.ci." + name + ".lower",
				"latency.ci." + name + ".upper", "sla.limit." + name} {
				t.columns[field] = double
			}
		}
	}
	if kind == KindHistogram {
		t.columns["_doc_count"] = column{t: parquetfile.Long}
		t.columns["latency.buckets.index"] = column{t: parquetfile.Long, list: true}
		t.columns["latency.buckets.count"] = column{t: parquetfile.Double, list: true}
		t.columns["latency.buckets.logs"] = column{t: parquetfile.Long, list: true}
		for n := range octaves {
			t.columns[fmt.Sprintf("latency.octave.e%02d", n)] = double
		}
	}
	if kind == KindHistogram || kind == KindRun {
		for _, field := range []string{"groups", "coarseness", "unit_ns"} {
			t.columns["latency.buckets."+field] = column{t: parquetfile.Long}
		}
	}
	for i, name := range slices.Sorted(maps.Keys(t.columns)) {
		c := t.columns[name]
		c.at = i
		t.columns[name] = c
		if c.list {
			t.file.List(name, c.t)
		} else {
			t.file.Column(name, c.t)
		}
	}
	t.row = make([]any, len(t.columns))
	t.file.Begin(out)
	return t, nil
}

// mapped adds columns for the fields of a mapping.
func (t *Table) mapped(prefix string, mapping map[string]any, kind Kind) {
	properties, _ := mapping["properties"].(map[string]any)
	for name, of := range properties {
		name, field := prefix+name, of.(map[string]any)
		mapped, _ := field["type"].(string)
		switch _, within := field["properties"]; {
		case kind == KindRun && runObjects.MatchString(name):
			t.columns[name] = column{t: parquetfile.JSON}
		case mapped == "histogram":
			t.columns[name+".values"] = column{t: parquetfile.Double, list: true}
			t.columns[name+".counts"] = column{t: parquetfile.Long, list: true}
		case within:
			t.mapped(name+".", field, kind)
		case !expanded.MatchString(name):
			t.columns[name] = column{t: columnTypes[mapped],
				list: lists.MatchString(name) || kind == KindRun && runLists.MatchString(name)}
		}
	}
}

// Add writes a document.
func (t *Table) Add(doc []byte) error {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var fields map[string]any
	if err := d.Decode(&fields); err != nil {
		return err
	}
	clear(t.row)
	if err := t.fill("", fields); err != nil {
		return err
	}
	t.file.Add(t.row...)
	return t.file.End()
}

func (t *Table) fill(prefix string, fields map[string]any) error {
	for name, v := range fields {
		name := prefix + name
		c, ok := t.columns[name]
		object, isObject := v.(map[string]any)
		if !ok && isObject {
			if err := t.fill(name+".", object); err != nil {
				return err
			}
			continue
		}
		if !ok {
			return fmt.Errorf("no column for the field %s", name) // a bug: a field is new, and has no mapping
		}
		value, err := c.value(v)
		if err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
		t.row[c.at] = value
	}
	return nil
}

// value returns a value of a document for the column.
func (c column) value(v any) (_ any, err error) {
	if v == nil {
		return nil, nil
	}
	if c.list {
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		c.list = false
		for i := range list {
			if list[i], err = c.value(list[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	if c.t == parquetfile.JSON {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		err = e.Encode(v)
		return strings.TrimSuffix(b.String(), "\n"), err
	}
	switch v := v.(type) {
	case json.Number:
		if c.t == parquetfile.Long {
			return v.Int64()
		}
		if c.t == parquetfile.Double {
			return v.Float64()
		}
	case string:
		if c.t == parquetfile.Time {
			at, err := time.Parse(time.RFC3339Nano, v)
			return at.UnixMilli(), err
		}
		if c.t == parquetfile.String {
			return v, nil
		}
	case bool:
		if c.t == parquetfile.Bool {
			return v, nil
		}
	}
	return nil, fmt.Errorf("unexpected value %v", v)
}

// Close ends the table.
func (t *Table) Close() error { return t.file.Close() }
