package esmodeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// bulk carries out a bulk request line by line. As in Elasticsearch, a document that is refused does not affect
// the others.
func (s *Server) bulk(r *http.Request, body []byte, f *Fault) (int, any) {
	if !bytes.HasSuffix(body, []byte("\n")) {
		return 400, failure(400, "illegal_argument_exception", "The bulk request must be terminated by a newline [\\n]")
	}
	var items []object
	errors := false
	touched := map[string]bool{}
	lines := bytes.Split(body[:len(body)-1], []byte("\n"))
	for n := 0; n < len(lines); n++ {
		var action map[string]action
		dec := json.NewDecoder(bytes.NewReader(lines[n]))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&action); err != nil || len(action) != 1 {
			return 400, failure(400, "illegal_argument_exception", fmt.Sprintf("Malformed action/metadata line [%d]: "+
				"%v", n+1, err))
		}
		for op, a := range action { //nolint:shuffled // it has one key
			var source []byte
			if op != "delete" {
				n++
				if n >= len(lines) {
					return 400, failure(400, "illegal_argument_exception", "a document is missing")
				}
				source = lines[n]
			}
			status, typ, reason := 0, "", ""
			if f.Item != nil {
				status, typ, reason = f.Item(a.Index, a.ID)
			}
			if status == 0 {
				status, typ, reason = s.store(op, a, source)
			}
			item := object{"_index": a.Index, "_id": a.ID, "status": status}
			if typ != "" {
				errors = true
				item["error"] = object{"type": typ, "reason": reason}
			}
			touched[a.Index] = true
			items = append(items, object{op: item})
		}
	}
	if r.URL.Query().Get("refresh") == "true" {
		for name := range touched {
			if s.indices[name] != nil {
				s.refresh(name)
			}
		}
	}
	return http.StatusOK, object{"took": 1, "errors": errors, "items": items}
}

// action is what an action line says.
type action struct {
	Index string `json:"_index"`
	ID    string `json:"_id"`
	Seq   *int64 `json:"if_seq_no"`
	Term  *int64 `json:"if_primary_term"`
}

func (s *Server) store(op string, a action, source []byte) (status int, typ, reason string) {
	name, id, seq, term := s.behind(a.Index), a.ID, a.Seq, a.Term
	ix := s.indices[name]
	if s.closed[name] {
		return 400, "index_closed_exception", "closed"
	}
	if op == "delete" {
		var old *doc
		if ix != nil {
			old = ix.docs[id]
		}
		if seq != nil && (old == nil || old.seq != *seq || *term != 1) {
			return 409, "version_conflict_engine_exception", "[" + id + "]: version conflict"
		}
		if old == nil {
			return 404, "", ""
		}
		delete(ix.docs, id)
		s.seq++
		return 200, "", ""
	}
	if op != "index" && op != "create" {
		return 400, "illegal_argument_exception", "unknown action " + op
	}
	if id == "" || len(id) > 512 {
		return 400, "illegal_argument_exception", "no id, or one of more than 512 bytes"
	}
	if old := ix.get(id); seq != nil && (old == nil || old.seq != *seq || *term != 1) {
		return 409, "version_conflict_engine_exception", "[" + id + "]: version conflict"
	}
	if ix == nil {
		ix = s.make(name)
	}
	fields, err := s.check(source)
	if err != nil {
		return 400, "document_parsing_exception", err.Error()
	}
	d := &doc{writes: 1, source: json.RawMessage(bytes.Clone(source)), fields: fields}
	status = 201
	if old := ix.docs[id]; old != nil {
		if op == "create" {
			return 409, "version_conflict_engine_exception", "[" + id + "]: document already exists"
		}
		d.writes, status = old.writes+1, 200
	}
	s.seq++
	d.seq = s.seq
	ix.docs[id] = d
	return status, "", ""
}

// get returns a document, nil if it or the index does not exist.
func (ix *index) get(id string) *doc {
	if ix == nil {
		return nil
	}
	return ix.docs[id]
}

// check parses a document and enforces the rules of its fields.
func (s *Server) check(source []byte) (map[string]any, error) {
	if err := duplicates(source); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(source))
	dec.UseNumber()
	var tree map[string]any
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("failed to parse: %w", err)
	}
	if dec.More() {
		return nil, fmt.Errorf("failed to parse: more than one document in a line")
	}
	if n, ok := tree["_doc_count"]; ok {
		num, _ := n.(json.Number)
		v, err := num.Int64()
		if err != nil || v < 1 || v > 1<<31-1 {
			return nil, fmt.Errorf("field [_doc_count] must be a positive integer below 2^31, not %v", n)
		}
	}
	if latency, ok := tree["latency"].(map[string]any); ok {
		if h, ok := latency["histogram"]; ok {
			if err := checkHistogram(h); err != nil {
				return nil, fmt.Errorf("failed to parse field [latency.histogram] of type [histogram]: %w", err)
			}
		}
	}
	fields := map[string]any{}
	flatten(fields, "", tree)
	return fields, nil
}

func flatten(out map[string]any, prefix string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		out[prefix] = v
		return
	}
	for k, v := range m {
		if prefix != "" {
			k = prefix + "." + k
		}
		flatten(out, k, v)
	}
}

// duplicates refuses a document with the same name twice in one object, as Elasticsearch does; encoding/json
// keeps the last.
func duplicates(source []byte) error {
	dec := json.NewDecoder(bytes.NewReader(source))
	type level struct {
		names map[string]bool // nil in an array
		key   bool            // a name comes next
	}
	var stack []level
	for {
		tok, err := dec.Token()
		if err != nil {
			return nil // the end, or an error that the real parser reports
		}
		top := len(stack) - 1
		if d, ok := tok.(json.Delim); ok {
			switch d {
			case '{':
				stack = append(stack, level{map[string]bool{}, true})
				continue
			case '[':
				stack = append(stack, level{})
				continue
			}
			stack = stack[:top]
			top--
		} else if top >= 0 && stack[top].names != nil && stack[top].key {
			name := fmt.Sprint(tok)
			if stack[top].names[name] {
				return fmt.Errorf("duplicate field %q", name)
			}
			stack[top].names[name] = true
			stack[top].key = false
			continue
		}
		if top >= 0 {
			stack[top].key = stack[top].names != nil
		}
	}
}

// checkHistogram enforces the rules of the histogram field type on a value decoded with json.Number.
// Elasticsearch refuses values that do not ascend, lists of unequal length, negative counts, counts beyond
// 2^63-1, and strings. It accepts, but this function refuses, what fiolat must not send: fractions, which
// Elasticsearch truncates, counts of 0, equal values, and infinities.
func checkHistogram(v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("not an object")
	}
	for k := range m {
		if k != "values" && k != "counts" {
			return fmt.Errorf("unknown parameter [%s]", k)
		}
	}
	values, ok1 := m["values"].([]any)
	counts, ok2 := m["counts"].([]any)
	if !ok1 || !ok2 {
		return fmt.Errorf("[values] and [counts] must be arrays")
	}
	if len(values) != len(counts) {
		return fmt.Errorf("expected same length from [values] and [counts] but got %d != %d", len(values), len(counts))
	}
	before := 0.0
	for i := range values {
		n, ok := values[i].(json.Number)
		if !ok {
			return fmt.Errorf("value %d is not a number", i)
		}
		x, err := n.Float64()
		if err != nil {
			return fmt.Errorf("value %s is beyond all numbers", n)
		}
		if i > 0 && x <= before {
			return fmt.Errorf("values must be in increasing order, got [%v] but previous value was [%v]", x, before)
		}
		before = x
		c, ok := counts[i].(json.Number)
		if !ok {
			return fmt.Errorf("count %d is not a number", i)
		}
		if strings.ContainsAny(string(c), ".eE") {
			return fmt.Errorf("count %s is not written as a whole number", c)
		}
		k, err := c.Int64()
		if err != nil {
			return fmt.Errorf("count %s is out of the range of a long", c)
		}
		if k <= 0 {
			return fmt.Errorf("[counts] elements must be above 0 but got %d", k)
		}
	}
	return nil
}
