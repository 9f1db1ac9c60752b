package sla

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"fiolat/fio"
)

// ParseFile reads rules from YAML: a list of strings, or a map with such a list
// under the key "sla".
//
//	sla:
//	  - read p99 < 5ms
//	  - all p95 < 1s over 5m
//
// Errors name the file and the line.
func ParseFile(r io.Reader, name string) ([]fio.SLARule, error) {
	text, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	bad := func(n *yaml.Node, format string, args ...any) error {
		return fmt.Errorf("%s:%d: %s", name, n.Line, fmt.Sprintf(format, args...))
	}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("%s: no rules found: want a list like `- read p99 < 5ms`", name)
	}
	list := doc.Content[0]
	if list.Kind == yaml.MappingNode {
		if len(list.Content) != 2 || list.Content[0].Value != "sla" {
			return nil, bad(list, "want a single key, sla, with a list of rules")
		}
		list = list.Content[1]
	}
	if list.Kind != yaml.SequenceNode {
		return nil, bad(list, "want a list of rules like `- read p99 < 5ms`")
	}
	var rules []fio.SLARule
	for _, n := range list.Content {
		if n.Kind != yaml.ScalarNode {
			return nil, bad(n, "want a string, like `- read p99 < 5ms`")
		}
		rule, err := fio.ParseSLARule(n.Value)
		if err != nil {
			return nil, bad(n, "%v", err)
		}
		rules = append(rules, rule)
	}
	if len(rules) == 0 {
		return nil, bad(list, "no rules found")
	}
	return rules, nil
}
