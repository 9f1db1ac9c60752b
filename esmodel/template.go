package esmodel

import (
	"embed"
	"encoding/json"
	"fmt"
	"strconv"

	"fiolat/fio"
)

// TemplateVersion is stored in the _meta of templates and indices; raise it with each change of mappings.
const TemplateVersion = 10

// priority is above that of the templates that Elastic ships, and below what people tend to choose to override
// others.
const priority = 400

//go:embed mappings/*.json
var mappings embed.FS

// Template returns the index template of a kind. histogram and lifecycle say whether the cluster has the
// histogram field type and lifecycle management.
func Template(prefix string, kind Kind, histogram, lifecycle bool) (map[string]any, error) {
	t := map[string]any{}
	for _, file := range []string{"common", string(kind)} {
		data, err := mappings.ReadFile("mappings/" + file + ".json")
		if err != nil {
			return nil, fmt.Errorf("no mapping of %s: %w", kind, err)
		}
		var part map[string]any
		if err := json.Unmarshal(data, &part); err != nil {
			return nil, fmt.Errorf("mapping of %s: %w", file, err)
		}
		merge(t, part)
	}
	meta := map[string]any{"fiolat": map[string]any{"version": float64(TemplateVersion)}}
	m := t["mappings"].(map[string]any)
	m["_meta"] = meta
	if kind == KindRun {
		for _, object := range []string{"summary", "tail"} {
			of := within(m, object)["properties"].(map[string]any)
			for _, d := range fio.MetricDirections() {
				of[d] = of[fio.All]
			}
		}
	}
	// The meta of a field is visible even to a user who may read an index and nothing else.
	within(m, "run", "id")["meta"] = map[string]any{"fiolat": strconv.Itoa(TemplateVersion)}
	if kind == KindHistogram || kind == KindProbe {
		octave := within(m, "latency", "octave")["properties"].(map[string]any)
		for n := range octaves { // by name: updates of dynamic mappings time out under load
			octave[fmt.Sprintf("e%02d", n)] = map[string]any{"type": "double", "index": false}
		}
		if !histogram {
			latency := within(m, "latency")["properties"].(map[string]any)
			latency["histogram"] = map[string]any{"type": "object", "enabled": false}
		}
	}
	if lifecycle && kind != KindRun { // the index of runs is for all months and never deleted
		t["settings"].(map[string]any)["index"].(map[string]any)["lifecycle"] = map[string]any{"name": prefix}
	}
	return map[string]any{
		"index_patterns": []any{Pattern(prefix, kind)},
		"priority":       float64(priority),
		"version":        float64(TemplateVersion),
		"_meta":          meta,
		"template":       t,
	}, nil
}

// within returns the mapping of a field.
func within(m map[string]any, path ...string) map[string]any {
	for _, p := range path {
		m = m["properties"].(map[string]any)[p].(map[string]any)
	}
	return m
}

// merge adds src to dst, recursively.
func merge(dst, src map[string]any) {
	for k, v := range src {
		a, ok1 := dst[k].(map[string]any)
		b, ok2 := v.(map[string]any)
		if ok1 && ok2 {
			merge(a, b)
		} else {
			dst[k] = v
		}
	}
}
