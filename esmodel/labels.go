package esmodel

import (
	"encoding/json"
	"fmt"
	"maps"
)

// labelled is the part of a document with the name and the labels of its run.
type labelled struct {
	Run struct {
		Name string `json:"name"`
	} `json:"run"`
	Labels map[string]string `json:"labels"`
}

// NameAndLabels returns the name and the labels in the document of a run, "" and nil if it has none.
func NameAndLabels(doc []byte) (name string, labels map[string]string, err error) {
	var d labelled
	if err = json.Unmarshal(doc, &d); err != nil {
		err = fmt.Errorf("a document cannot be read: %w", err)
	}
	return d.Run.Name, d.Labels, err
}

// Relabel changes the labels of the document of a run or an event: it adds or replaces those of set and removes
// those of remove. If that changes nothing, it returns doc itself.
func Relabel(doc []byte, set map[string]string, remove []string) ([]byte, error) {
	_, labels, err := NameAndLabels(doc)
	if err != nil {
		return nil, err
	}
	next := map[string]string{}
	maps.Copy(next, labels)
	for _, k := range remove {
		delete(next, k)
	}
	maps.Copy(next, set)
	if maps.Equal(next, labels) {
		return doc, nil
	}
	return edit(doc, func(m, run map[string]json.RawMessage) {
		delete(m, "labels")
		delete(run, "labels")
		if len(next) > 0 {
			m["labels"], run["labels"] = MustJSON(next), MustJSON(labelPairs(next))
		}
	})
}

// Keep adds the labels of found, the stored document of the run, to doc, unless doc has a value for them. It
// also keeps the name of found, unless named is set and doc has a name. If either cannot be decoded, it returns
// doc.
func Keep(doc, found []byte, named bool) []byte {
	name, labels, err := NameAndLabels(found)
	own, given, bad := NameAndLabels(doc)
	if err != nil || bad != nil {
		return doc
	}
	maps.DeleteFunc(labels, func(k, _ string) bool { _, ok := given[k]; return ok })
	if out, err := Relabel(doc, labels, nil); err == nil {
		doc = out
	}
	if name != "" && name != own && (own == "" || !named) {
		out, err := edit(doc, func(_, run map[string]json.RawMessage) { run["name"] = MustJSON(name) })
		if err == nil {
			doc = out
		}
	}
	return doc
}

// edit applies change to the members of a document and of its run object.
func edit(doc []byte, change func(m, run map[string]json.RawMessage)) ([]byte, error) {
	var m, run map[string]json.RawMessage
	if err := json.Unmarshal(doc, &m); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(m["run"], &run); err != nil {
		return nil, err
	}
	change(m, run)
	m["run"] = MustJSON(run)
	return MustJSON(m), nil
}
