// Package esmodeltest is a stand-in for Elasticsearch in tests: an HTTP server with the part of its REST API
// that fiolat uses, and with the rules of the histogram field type, which the server of the integration tests,
// built from free sources, does not have.
//
// It is stricter than Elasticsearch where that accepts mistakes silently: fractions in a histogram's counts,
// which Elasticsearch truncates, duplicates among its values, and infinities are refused. Searches see only
// what has been refreshed, so a forgotten refresh shows. It has neither shards nor users, and of queries it
// supports bool, term, terms, exists, range, prefix and match_all.
//
// Inject simulates faults of networks and servers.
package esmodeltest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
)

// Options are the features of the cluster.
type Options struct {
	// Histogram is the histogram field type, Lifecycle is ILM.
	Histogram, Lifecycle bool
	// Versions are those of its nodes; nil is one of 9.5.3.
	Versions []string
	// Serverless refuses settings that Elastic Cloud Serverless decides on itself, and what it does not offer (of
	// Elasticsearch's source, PublicSettingsValidationActionFilter).
	Serverless bool
}

// Server is the stand-in. Its URL stands for a node's.
type Server struct {
	*httptest.Server
	o Options

	mu        sync.Mutex
	indices   map[string]*index
	templates map[string]map[string]any
	closed    map[string]bool
	red       map[string]bool
	aliases   map[string]map[string]object // by name, by index
	policies  map[string]map[string]any
	pits      map[string][]found
	opened    int // number of pits ever opened
	seq       int64
	faults    []*Fault
	requests  []string
}

// index holds documents as stored, and as searches see them.
type index struct {
	mappings map[string]any
	docs     map[string]*doc
	seen     map[string]*doc
}

type doc struct {
	seq    int64
	writes int64
	source json.RawMessage
	fields map[string]any
}

// New starts a server that is closed when the test ends.
func New(tb testing.TB, o Options) *Server {
	s := &Server{o: o, indices: map[string]*index{}, templates: map[string]map[string]any{},
		policies: map[string]map[string]any{}, pits: map[string][]found{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	tb.Cleanup(s.Close)
	return s
}

// Fault is a simulated fault of a request.
type Fault struct {
	// Match selects requests; nil selects bulk requests.
	Match func(r *http.Request) bool
	// Times is how often the fault strikes; 0 is once, negative always.
	Times int
	// Delay is before anything else.
	Delay time.Duration
	// Reset breaks the connection before the request is handled, LoseReply after that.
	Reset, LoseReply bool
	// Status, with Type, Reason and RetryAfter, is replied instead of handling the request.
	Status       int
	Type, Reason string
	RetryAfter   string
	// Reply changes the reply to a request that was handled.
	Reply func(body []byte) []byte
	// Item replies for single documents, which are then not stored; those with status 0 are.
	Item func(index, id string) (status int, typ, reason string)
}

// Inject adds faults. The first one that matches a request strikes.
func (s *Server) Inject(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		f.Times = cmp.Or(f.Times, 1)
		s.faults = append(s.faults, &f)
	}
}

// Heal removes all faults.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

func (s *Server) fault(r *http.Request) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	for _, f := range s.faults {
		match := f.Match
		if match == nil {
			match = func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/_bulk") }
		}
		if f.Times != 0 && match(r) {
			f.Times--
			return f
		}
	}
	return nil
}

// Requests returns those requests so far that contain a string, as METHOD PATH.
func (s *Server) Requests(containing string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, r := range s.requests {
		if strings.Contains(r, containing) {
			out = append(out, r)
		}
	}
	return out
}

// Doc is a stored document. Writes counts how often it was written.
type Doc struct {
	Index, ID string
	Writes    int64
	Source    json.RawMessage
	// Fields are the leaves of the document by their full names; values are strings,
	// booleans, json.Number, or lists of such.
	Fields map[string]any
}

// Docs returns the documents of all indices that match a pattern such as "fio-histogram-*", sorted by index and
// id, refreshed or not.
func (s *Server) Docs(pattern string) []Doc {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Doc
	for _, name := range s.match(pattern) {
		for id, d := range s.indices[name].docs {
			out = append(out, Doc{name, id, d.writes, d.source, d.fields})
		}
	}
	slices.SortFunc(out, func(a, b Doc) int { return strings.Compare(a.Index+"\x00"+a.ID, b.Index+"\x00"+b.ID) })
	return out
}

// Template returns an index template as it was stored, nil if there is none.
func (s *Server) Template(name string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.templates[name]
}

// Installed returns the index templates, lifecycle policies and mappings of indices, as JSON by "index template NAME",
// "lifecycle policy NAME" and "index NAME".
func (s *Server) Installed() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]string{}
	keep := func(key string, v map[string]any) {
		text, _ := json.Marshal(v)
		all[key] = string(text)
	}
	for name, t := range s.templates {
		keep("index template "+name, t)
	}
	for name, p := range s.policies {
		keep("lifecycle policy "+name, p)
	}
	for name, ix := range s.indices {
		keep("index "+name, ix.mappings)
	}
	return all
}

// CloseIndex closes an index: searches leave it out, and it takes no documents.
func (s *Server) CloseIndex(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed == nil {
		s.closed = map[string]bool{}
	}
	s.closed[name] = true
}

// SetRed takes the only shard of an index away, or brings it back: what is stored there cannot be read.
func (s *Server) SetRed(name string, red bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.indices[name] == nil {
		s.make(name)
	}
	if s.red == nil {
		s.red = map[string]bool{}
	}
	s.red[name] = red
}

// Alias gives an index, which it makes, one more name. write is its is_write_index, nil if that is not set.
func (s *Server) Alias(name, index string, write *bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	settings := object{}
	if write != nil {
		settings["is_write_index"] = *write
	}
	if s.aliases == nil {
		s.aliases = map[string]map[string]object{}
	}
	if s.aliases[name] == nil {
		s.aliases[name] = map[string]object{}
	}
	s.aliases[name][index] = object{"aliases": object{name: settings}}
	s.make(index)
	s.indices[index].mappings = s.make(name).mappings // as a copy of that index has
	delete(s.indices, name)
}

// behind returns the index that is written to by a name.
func (s *Server) behind(name string) string {
	for index, a := range s.aliases[name] {
		if write, set := a["aliases"].(object)[name].(object)["is_write_index"]; write == true ||
			!set && len(s.aliases[name]) == 1 {
			return index
		}
	}
	return name
}

// DropIndex deletes an index; a new one numbers its writes from 1 again.
func (s *Server) DropIndex(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.indices, name)
	s.seq = 0
}

// match returns the names of indices that match patterns separated by commas, sorted. A pattern after "-" excludes.
func (s *Server) match(patterns string) []string {
	var out []string
	for name := range s.indices {
		matched := false
		for _, p := range strings.Split(patterns, ",") {
			pattern, exclude := strings.CutPrefix(p, "-")
			if ok, _ := path.Match(pattern, name); ok {
				matched = !exclude
			}
			for alias, indices := range s.aliases {
				if ok, _ := path.Match(pattern, alias); ok && indices[name] != nil {
					matched = !exclude
				}
			}
		}
		if matched {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	f := s.fault(r)
	if f == nil {
		f = new(Fault)
	}
	if f.Delay > 0 {
		// The server notices that the client is gone only once the body is read.
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		select {
		case <-time.After(f.Delay):
		case <-r.Context().Done():
		}
	}
	if f.Reset {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("X-Elastic-Product", "Elasticsearch")
	if f.Status != 0 {
		if f.RetryAfter != "" {
			w.Header().Set("Retry-After", f.RetryAfter)
		}
		send(w, f.Status, failure(f.Status, f.Type, f.Reason))
		return
	}
	body, err := readBody(r)
	if err != nil {
		send(w, 400, failure(400, "parse_exception", err.Error()))
		return
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // a source comes back as it is
	s.mu.Lock()
	status, reply := s.handle(r, body, f)
	err = enc.Encode(reply) // under the lock, because reply shares stored data
	s.mu.Unlock()
	if err != nil {
		panic(err)
	}
	if f.LoseReply {
		panic(http.ErrAbortHandler)
	}
	data := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if f.Reply != nil {
		data = f.Reply(data)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client may be gone
}

func send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func readBody(r *http.Request) ([]byte, error) {
	var in io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		in = z
	}
	return io.ReadAll(in)
}

type object = map[string]any

func failure(status int, typ, reason string) object {
	return object{"status": status, "error": object{"type": typ, "reason": reason, "root_cause": []object{{"type": typ,
		"reason": reason}}}}
}

// handle answers a request; the caller holds the lock.
func (s *Server) handle(r *http.Request, body []byte, f *Fault) (int, any) {
	p := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	status, reply := 0, any(nil)
	switch last := p[len(p)-1]; {
	case last == "_bulk" && len(p) <= 2:
		return s.bulk(r, body, f)
	case s.o.Serverless && (p[0] == "_nodes" || p[0] == "_ilm" || p[0] == "_cluster" || slices.Contains(p, "_stats")):
		return 410, failure(410, "api_not_available_exception", "Request for uri ["+r.URL.Path+"] with method ["+
			r.Method+"] exists but is not available when running in serverless mode")
	case last == "_count" || last == "_search" || last == "_pit":
		return s.query(r, p, body)
	case p[0] == "_nodes" && r.Method == http.MethodGet:
		nodes := object{}
		for i, v := range append(s.o.Versions, "9.5.3")[:max(len(s.o.Versions), 1)] {
			nodes[strconv.Itoa(i)] = object{"version": v}
		}
		return 200, object{"nodes": nodes}
	case p[0] == "_ilm":
		return s.lifecycle(r, last, body)
	case p[0] == "_index_template":
		status, reply = s.indexTemplate(r.Method, p[1:], body)
	case p[0] == "_alias" && len(p) == 2:
		if s.aliases[last] == nil {
			return 404, object{"status": 404, "error": "alias [" + last + "] missing"}
		}
		return 200, s.aliases[last]
	case len(p) == 1 && r.Method == http.MethodPut:
		return s.create(last)
	case len(p) == 2:
		status, reply = s.ofIndex(r, p[0], last, body)
	case len(p) == 3 && p[1] == "_doc":
		status, reply = s.document(r, p[0], last, body)
	}
	if status == 0 {
		return 400, object{"status": 400, "error": fmt.Sprintf("no handler found for uri [%s] and method [%s]",
			r.URL.Path, r.Method)}
	}
	return status, reply
}

// indexTemplate answers a request below /_index_template.
func (s *Server) indexTemplate(method string, p []string, body []byte) (int, any) {
	var t object
	if method != http.MethodGet && len(body) > 0 {
		if err := json.Unmarshal(body, &t); err != nil {
			return 400, failure(400, "parse_exception", err.Error())
		}
	}
	part, _ := t["template"].(object)
	switch call := method + " " + strings.Join(p, "/"); {
	case call == "POST _simulate":
		if status, reply := s.checkMapping(part); status != 200 {
			return status, reply
		}
		return 200, object{"template": part, "overlapping": []any{}}
	case strings.HasPrefix(call, "POST _simulate/"):
		return 200, object{"template": s.templates[p[1]]["template"]}
	case strings.HasPrefix(call, "POST _simulate_index/"):
		return 200, object{"template": s.templateFor(p[1])}
	case method == http.MethodGet:
		return s.findTemplates(append(p, "*")[0])
	case method == http.MethodPut && len(p) == 1:
		if status, reply := s.checkMapping(part); status != 200 {
			return status, reply
		}
		settings, _ := part["settings"].(object)
		index, _ := settings["index"].(object)
		var no []string
		for _, name := range []string{"number_of_shards", "auto_expand_replicas", "lifecycle"} {
			if index[name] != nil && s.o.Serverless {
				no = append(no, "index."+name)
			}
		}
		if no != nil {
			return 400, failure(400, "illegal_argument_exception", "Settings ["+strings.Join(no, ",")+"] are not "+
				"available when running in serverless mode")
		}
		s.templates[p[0]] = t
		return 200, object{"acknowledged": true}
	}
	return 0, nil
}

func (s *Server) findTemplates(pattern string) (int, any) {
	var found []object
	for _, name := range slices.Sorted(maps.Keys(s.templates)) {
		if ok, _ := path.Match(pattern, name); ok {
			found = append(found, object{"name": name, "index_template": s.templates[name]})
		}
	}
	if found == nil && !strings.Contains(pattern, "*") {
		return 404, failure(404, "resource_not_found_exception", "index template matching ["+pattern+"] not found")
	}
	return 200, object{"index_templates": found}
}

// create makes an index.
func (s *Server) create(name string) (int, any) {
	switch {
	case s.aliases[name] != nil:
		return 400, failure(400, "invalid_index_name_exception", "Invalid index name ["+name+
			"], already exists as alias")
	case s.indices[name] != nil:
		return 400, failure(400, "resource_already_exists_exception", "index ["+name+"] already exists")
	}
	s.make(name)
	return 200, object{"acknowledged": true, "index": name}
}

// ofIndex answers a request about indices.
func (s *Server) ofIndex(r *http.Request, indices, what string, body []byte) (int, any) {
	switch r.Method + " " + what {
	case "POST _refresh":
		for _, name := range s.match(indices) {
			if s.red[name] { // Elasticsearch waits a minute
				return 504, failure(504, "timeout_exception", "no shard of "+name)
			}
			s.refresh(name)
		}
		return 200, object{"_shards": allShards}
	case "GET _field_caps", "POST _field_caps":
		return s.fieldCaps(indices, r.URL.Query())
	case "GET _mapping":
		out := object{}
		for _, name := range s.match(indices) {
			out[name] = object{"mappings": s.indices[name].mappings}
		}
		return 200, out
	case "PUT _mapping":
		ix := s.indices[indices]
		if ix == nil {
			return 0, nil
		}
		var more object
		if err := json.Unmarshal(body, &more); err != nil {
			return 400, failure(400, "parse_exception", err.Error())
		}
		if field := changed("", ix.mappings, more); field != "" {
			return 400, failure(400, "illegal_argument_exception", "mapper ["+field+"] cannot be changed to "+
				"another type")
		}
		return 200, object{"acknowledged": json.Unmarshal(body, &ix.mappings) == nil}
	}
	return 0, nil
}

// document stores or returns a document.
func (s *Server) document(r *http.Request, index, id string, body []byte) (int, any) {
	switch r.Method {
	case http.MethodPut:
		status, typ, reason := s.store("index", action{Index: index, ID: id}, body)
		if status >= 300 {
			return status, failure(status, typ, reason)
		}
		if strings.Contains(r.URL.RawQuery, "refresh=") {
			s.refresh(index)
		}
		return status, object{"_index": index, "_id": id, "result": map[int]string{200: "updated",
			201: "created"}[status]}
	case http.MethodGet:
		if ix := s.indices[index]; ix != nil && ix.docs[id] != nil {
			d := ix.docs[id]
			return 200, object{"_index": index, "_id": id, "found": true, "_seq_no": d.seq,
				"_primary_term": 1, "_source": d.source}
		}
		return 404, object{"_index": index, "_id": id, "found": false}
	}
	return 0, nil
}

// changed returns the first field whose type or index differs between two mappings, "" if there is none.
func changed(prefix string, old, more object) string {
	have, _ := old["properties"].(object)
	want, _ := more["properties"].(object)
	for name, v := range want {
		a, ok := have[name].(object)
		b, _ := v.(object)
		if !ok {
			continue
		}
		if x, y := a["type"], b["type"]; x != nil && y != nil && (x != y || a["index"] != b["index"]) {
			return prefix + name
		}
		if field := changed(prefix+name+".", a, b); field != "" {
			return field
		}
	}
	return ""
}

// Drop deletes an index.
func (s *Server) Drop(index string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.indices, index)
}

// make creates an index with the mapping of the template that matches.
func (s *Server) make(name string) *index {
	mappings, _ := s.templateFor(name)["mappings"].(object)
	ix := &index{docs: map[string]*doc{}, seen: map[string]*doc{}, mappings: object{}}
	maps.Copy(ix.mappings, mappings) // a copy, because fields may be added
	s.indices[name] = ix
	return ix
}

// templateFor returns what the template of the highest priority that matches an index holds.
func (s *Server) templateFor(index string) (part object) {
	best := -1.0
	for _, t := range s.templates {
		patterns, _ := t["index_patterns"].([]any)
		prio, _ := t["priority"].(float64)
		for _, p := range patterns {
			if ok, _ := path.Match(fmt.Sprint(p), index); ok && prio > best {
				best = prio
				part, _ = t["template"].(object)
			}
		}
	}
	return part
}

func (s *Server) refresh(name string) {
	ix := s.indices[name]
	ix.seen = make(map[string]*doc, len(ix.docs))
	maps.Copy(ix.seen, ix.docs)
}

// checkMapping refuses types that this cluster does not have.
func (s *Server) checkMapping(template object) (int, any) {
	if text, _ := json.Marshal(template["mappings"]); !s.o.Histogram && strings.Contains(string(text),
		`"type":"histogram"`) {
		return 400, failure(400, "illegal_argument_exception", "invalid composite mappings: The mapper type "+
			"[histogram] declared on field [h] does not exist.")
	}
	return 200, object{"acknowledged": true}
}

func (s *Server) lifecycle(r *http.Request, name string, body []byte) (int, any) {
	if !s.o.Lifecycle {
		return 405, object{"status": 405, "error": "Incorrect HTTP method for uri [" + r.URL.Path + "] and method [" +
			r.Method + "], allowed: [POST]"}
	}
	if r.Method == http.MethodPut {
		var p object
		if err := json.Unmarshal(body, &p); err != nil {
			return 400, failure(400, "parse_exception", err.Error())
		}
		s.policies[name] = p
		return 200, object{"acknowledged": true}
	}
	if s.policies[name] == nil {
		return 404, failure(404, "resource_not_found_exception", "Lifecycle policy not found: "+name)
	}
	return 200, object{name: s.policies[name]}
}

// fieldCaps returns the types of fields, and the indices that have them.
func (s *Server) fieldCaps(patterns string, q url.Values) (int, any) {
	names := s.match(patterns)
	if len(names) == 0 && !strings.Contains(patterns, "*") && q.Get("ignore_unavailable") != "true" {
		return 404, failure(404, "index_not_found_exception", "no such index ["+patterns+"]")
	}
	if i := slices.IndexFunc(names, func(n string) bool { return s.closed[n] }); i >= 0 {
		if q.Get("ignore_unavailable") != "true" && strings.Contains(q.Get("expand_wildcards"), "closed") {
			return 400, failure(400, "index_closed_exception", "closed")
		}
		names = slices.DeleteFunc(names, func(n string) bool { return s.closed[n] })
	}
	var broken []string
	for _, n := range names {
		if s.red[n] {
			broken = append(broken, n)
		}
	}
	if len(broken) > 0 && len(broken) == len(names) {
		return 503, noShard(broken[0])
	}
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return s.red[n] })
	fields := object{}
	for _, field := range strings.Split(q.Get("fields"), ",") {
		types := map[string]object{}
		for _, name := range names {
			at := s.indices[name].mappings
			for _, part := range strings.Split(field, ".") {
				props, _ := at["properties"].(object)
				at, _ = props[part].(object)
			}
			typ := "unmapped"
			if at != nil {
				typ = fmt.Sprint(at["type"])
			} else if q.Get("include_unmapped") != "true" {
				continue
			}
			if types[typ] == nil {
				types[typ] = object{"type": typ, "indices": []string{}}
			}
			types[typ]["indices"] = append(types[typ]["indices"].([]string), name)
			if meta, ok := at["meta"].(object); ok {
				lists := object{}
				for k, v := range meta {
					lists[k] = []any{v}
				}
				types[typ]["meta"] = lists
			}
		}
		if len(types) == 1 { // the same in all indices, which are then not listed
			for typ := range types {
				if delete(types[typ], "indices"); typ == "unmapped" {
					delete(types, typ)
				}
			}
		}
		if len(types) > 0 {
			fields[field] = types
		}
	}
	reply := object{"indices": append([]string{}, names...), "fields": fields}
	if len(broken) > 0 {
		reply["failed_indices"] = len(broken)
		reply["failures"] = []any{object{"indices": broken, "failure": noShard(broken[0])}}
	}
	return 200, reply
}

// noShard is what Elasticsearch says of an index of which no shard is there.
func noShard(index string) any {
	return failure(503, "no_shard_available_action_exception", "index ["+index+"] has no active shard copy")
}

// Copy starts a server that holds the same indices, documents, templates and policies.
func (s *Server) Copy(tb testing.TB) *Server {
	to := New(tb, s.o)
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, ix := range s.indices {
		to.indices[name] = &index{ix.mappings, maps.Clone(ix.docs), maps.Clone(ix.seen)}
	}
	maps.Copy(to.templates, s.templates)
	maps.Copy(to.policies, s.policies)
	to.seq = s.seq
	return to
}
