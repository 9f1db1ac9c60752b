package esmodel

import (
	"encoding/json"
	"maps"

	"fiolat/fio"
	"fiolat/pipeline"
)

// title returns what run.title is.
func (m *DocHeader) title() string {
	run := pipeline.Run{ID: m.Run.ID, Name: m.Run.Name, Part: m.Run.Part, Parts: m.Parts}
	if m.Run.Start != nil {
		run.Start, run.StartKnown = int64(*m.Run.Start), true
	}
	return run.Title()
}

// Title returns what run.title is in the document of a run that has none.
func Title(doc []byte) (string, error) {
	d, err := ReadDocHeader(doc)
	return d.title(), err
}

// Rename gives a document of a run, or a note on it, another name and title. It returns doc if it has both.
func Rename(doc []byte, name, title string) ([]byte, error) {
	d, err := ReadDocHeader(doc)
	if err != nil || d.Run.Name == name && d.Run.Title == title {
		return doc, err
	}
	return edit(doc, func(_, run map[string]json.RawMessage) {
		run["name"], run["title"] = MustJSON(name), MustJSON(title)
	})
}

// NameAndLabels returns the name and the labels in the document of a run, "" and nil if it has none. Those of an older
// fiolat become printable.
func NameAndLabels(doc []byte) (name string, labels map[string]string, err error) {
	d, err := ReadDocHeader(doc)
	return d.Run.Name, pipeline.PrintableLabels(d.Labels), err
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
		delete(next, fio.Printable(k))
	}
	maps.Copy(next, set)
	if maps.Equal(next, labels) {
		return doc, nil
	}
	err = CheckLabels(next)
	if err != nil && len(next) > len(labels) {
		return nil, err
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
	own, bad := ReadDocHeader(doc)
	if err != nil || bad != nil {
		return doc
	}
	maps.DeleteFunc(labels, func(k, _ string) bool { _, ok := own.Labels[k]; return ok })
	if out, err := Relabel(doc, labels, nil); err == nil {
		doc = out
	}
	if name != "" && name != own.Run.Name && (own.Run.Name == "" || !named) {
		own.Run.Name = name
		if out, err := Rename(doc, name, own.title()); err == nil {
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
	return printable(m), nil
}
