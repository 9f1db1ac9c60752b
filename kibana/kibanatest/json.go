package kibanatest

import "encoding/json"

// M is a JSON object.
type M = map[string]any

// At is what lies at a path, also within strings that hold JSON; nil where it is missing.
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

// Obj is the object at a path, nil where there is none.
func Obj(v any, path ...string) M {
	v = At(v, path...)
	if s, ok := v.(string); ok {
		v = Unpack(s)
	}
	m, _ := v.(map[string]any)
	return m
}

// List is the list at a path, nil where there is none.
func List(v any, path ...string) []any {
	v = At(v, path...)
	if s, ok := v.(string); ok {
		v = Unpack(s)
	}
	l, _ := v.([]any)
	return l
}

// Str is the string at a path, as it stands.
func Str(v any, path ...string) string {
	s, _ := At(v, path...).(string)
	return s
}

// Unpack is the JSON within a string, nil if it is none.
func Unpack(s string) any {
	var out any
	if json.Unmarshal([]byte(s), &out) != nil {
		return nil
	}
	return out
}

// clone is a copy of what JSON can hold.
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
