package esmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// Decode is json.Unmarshal for a document from Elasticsearch. An index with synthetic _source, as logsdb has it,
// returns an array of one element as that element.
func Decode(source []byte, to any) error {
	err := json.Unmarshal(source, to)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok {
		return err
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(source))
	d.UseNumber()
	if d.Decode(&tree) != nil {
		return err
	}
	again := reflect.New(reflect.TypeOf(to).Elem())
	if err := json.Unmarshal(MustJSON(withArrays(tree, again.Type())), again.Interface()); err != nil {
		return err
	}
	reflect.ValueOf(to).Elem().Set(again.Elem())
	return nil
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// withArrays returns v with an array of one element for each value of which t wants an array.
func withArrays(v any, t reflect.Type) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(unmarshaler) || v == nil {
		return v
	}
	switch t.Kind() {
	case reflect.Slice:
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for i := range list {
			list[i] = withArrays(list[i], t.Elem())
		}
		return list
	case reflect.Map:
		if m, ok := v.(map[string]any); ok {
			for key := range m {
				m[key] = withArrays(m[key], t.Elem())
			}
		}
	case reflect.Struct:
		if m, ok := v.(map[string]any); ok {
			for i := range t.NumField() {
				f := t.Field(i)
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if f.Anonymous && name == "" {
					withArrays(m, f.Type)
					continue
				}
				for key := range m {
					if key == name || name == "" && strings.EqualFold(key, f.Name) {
						m[key] = withArrays(m[key], f.Type)
					}
				}
			}
		}
	}
	return v
}
