package esmodel

import (
	_ "embed" // the template
	"encoding/json"
	"fmt"
	"strconv"
)

// TemplateVersion is stored in the _meta of templates and indices; raise it with each change of mappings.
const TemplateVersion = 12

// priority is above that of the templates that Elastic ships, and below what people tend to choose to override
// others.
const priority = 400

//go:embed template.json
var templateJSON []byte

// Template returns the index template of a kind. histogram and lifecycle say whether the cluster has the
// histogram field type and lifecycle management.
func Template(prefix string, kind Kind, histogram, lifecycle bool) (map[string]any, error) {
	t := map[string]any{}
	if err := json.Unmarshal(templateJSON, &t); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	meta := map[string]any{"fiolat": map[string]any{"version": float64(TemplateVersion)}}
	m := t["mappings"].(map[string]any)
	m["_meta"], m["properties"] = meta, properties(kind)
	// The meta of a field is visible even to a user who may read an index and nothing else.
	within(m, "run", "id")["meta"] = map[string]any{"fiolat": strconv.Itoa(TemplateVersion)}
	if (kind == KindHistogram || kind == KindProbe) && !histogram {
		within(m, "latency")["properties"].(map[string]any)["histogram"] = map[string]any{"type": "object",
			"enabled": false}
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
