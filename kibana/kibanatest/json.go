package kibanatest

import "encoding/json"

// M is a JSON object.
type M = map[string]any

// At returns the value at a path, nil where it is missing. It decodes strings of JSON on the way.
func At(v any, path ...string) any {
	for _, p := range path {
		if s, ok := v.(string); ok {
			v = Unpack(s)
		}
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// Obj returns the object at a path, nil where there is none.
func Obj(v any, path ...string) M {
	v = At(v, path...)
	if s, ok := v.(string); ok {
		v = Unpack(s)
	}
	m, _ := v.(map[string]any)
	return m
}

// List returns the list at a path, nil where there is none.
func List(v any, path ...string) []any {
	v = At(v, path...)
	if s, ok := v.(string); ok {
		v = Unpack(s)
	}
	l, _ := v.([]any)
	return l
}

// Str returns the string at a path, not decoded, "" where there is none.
func Str(v any, path ...string) string {
	s, _ := At(v, path...).(string)
	return s
}

// Unpack decodes a string of JSON. It returns nil for any other string.
func Unpack(s string) any {
	var out any
	if json.Unmarshal([]byte(s), &out) != nil {
		return nil
	}
	return out
}

// clone returns a deep copy by way of JSON.
func clone[T any](v T) (out T) {
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}
