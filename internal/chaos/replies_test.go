//go:build integration

package chaos

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// answer is a reply of the server to a request that it has carried out.
type answer struct {
	status int
	header http.Header
	body   []byte
	last   []byte // body of the reply before, to another request
}

// wreck is one way in which a proxy breaks replies.
type wreck struct {
	name string
	// instead is answered in place of the server, which gets nothing; raw is what goes
	// over the wire in place of its reply; else reply is changed. False does not apply.
	instead *answer
	lie     func(body []byte) []byte        // instead, made of a bulk request
	raw     func(a *answer, conn io.Writer) // the connection is closed after that
	reply   func(a *answer) bool
	// harmless says that fiolat need not notice: what it asks for is there.
	harmless bool
}

// wrecked carries out a request and breaks the reply.
func (p *proxy) wrecked(w http.ResponseWriter, r *http.Request, k *wreck) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		reset(w)
		return
	}
	a := new(answer)
	strikes := true
	if k.lie != nil && isBulk(r) {
		*a = *says(200, string(k.lie(body)))
	} else if k.instead != nil {
		*a = *k.instead
		a.header = a.header.Clone()
	} else {
		strikes = k.lie == nil
		res, err := p.up.RoundTrip(p.request(r, body))
		if err != nil {
			reset(w)
			return
		}
		defer res.Body.Close()
		a.status, a.header = res.StatusCode, res.Header.Clone()
		if a.body, err = io.ReadAll(res.Body); err != nil {
			reset(w)
			return
		}
	}
	p.mu.Lock()
	a.last, p.last = p.last, a.body
	if k.instead == nil && k.lie == nil && isBulk(r) {
		p.sent += bytes.Count(body, []byte(`{"index":{`))
	}
	p.mu.Unlock()
	if k.reply != nil {
		strikes = k.reply(a)
	}
	if strikes {
		p.mu.Lock()
		p.struck++
		p.mu.Unlock()
	}
	if k.raw != nil {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		k.raw(a, conn)
		conn.Close()
		return
	}
	for name, v := range a.header {
		if name != "Content-Length" {
			w.Header()[name] = v
		}
	}
	w.WriteHeader(a.status)
	w.Write(a.body)
}

func isBulk(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/_bulk") }

// head writes the head of a reply; length may lie.
func (a *answer) head(w io.Writer, length int, more string) {
	fmt.Fprintf(
		w,
		"HTTP/1.1 %d %s\r\nX-Elastic-Product: Elasticsearch\r\nContent-Type: application/json\r\n%s",
		a.status,
		http.StatusText(a.status),
		more,
	)
	if length >= 0 {
		fmt.Fprintf(w, "Content-Length: %d\r\n", length)
	}
	io.WriteString(w, "\r\n")
}

// says is the answer of something that stands before the server.
func says(status int, body string, header ...string) *answer {
	h := http.Header{"Content-Type": {"application/json"}, "X-Elastic-Product": {"Elasticsearch"}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &answer{status: status, header: h, body: []byte(body)}
}

const page = "<html><head><title>Bad Gateway</title></head><body><h1>502</h1>nginx</body></html>"

// becomes is a reply with another body.
func becomes(f func(body []byte) []byte) func(*answer) bool {
	return func(a *answer) bool {
		b := f(bytes.Clone(a.body))
		if b == nil {
			return false
		}
		a.body = b
		return true
	}
}

// tree changes a reply that is a JSON object; f says whether it did.
func tree(f func(m map[string]any) bool) func(*answer) bool {
	return becomes(func(body []byte) []byte {
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		var m map[string]any
		if d.Decode(&m) != nil || !f(m) {
			return nil
		}
		b, err := json.Marshal(m)
		if err != nil {
			return nil
		}
		return b
	})
}

// items changes the items of the reply to a bulk request.
func items(f func(items []any) []any) func(*answer) bool {
	return tree(func(m map[string]any) bool {
		all, ok := m["items"].([]any)
		if !ok || len(all) == 0 {
			return false
		}
		all = f(all)
		m["items"] = all
		return all != nil
	})
}

// item changes what is said of one document, in the middle.
func item(f func(m map[string]any)) func(*answer) bool {
	return items(func(items []any) []any {
		for _, action := range items[len(items)/2].(map[string]any) {
			f(action.(map[string]any))
		}
		return items
	})
}

// wrecks are the ways. Names are as the page has them.
var wrecks = []wreck{
	{name: "reset before the header", raw: func(*answer, io.Writer) {}},
	{
		name: "closed in the middle of the header",
		raw:  func(_ *answer, w io.Writer) { io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Ty") },
	},
	{name: "closed in the middle of the body", raw: func(a *answer, w io.Writer) {
		a.head(w, len(a.body), "")
		w.Write(a.body[:len(a.body)/2])
	}},
	{name: "`Content-Length` too large", raw: func(a *answer, w io.Writer) {
		a.head(w, len(a.body)+100, "")
		w.Write(a.body)
	}},
	{name: "`Content-Length` too small", raw: func(a *answer, w io.Writer) {
		a.head(w, len(a.body)*2/3, "")
		w.Write(a.body)
	}},
	{name: "two different `Content-Length`", raw: func(a *answer, w io.Writer) {
		a.head(w, len(a.body), "Content-Length: 1\r\n")
		w.Write(a.body)
	}},
	{name: "chunked, and closed before the last chunk", raw: func(a *answer, w io.Writer) {
		a.head(w, -1, "Transfer-Encoding: chunked\r\n")
		fmt.Fprintf(w, "%x\r\n%s\r\n", len(a.body), a.body)
	}},
	{name: "chunked without end", raw: func(a *answer, w io.Writer) {
		a.head(w, -1, "Transfer-Encoding: chunked\r\n")
		blanks := bytes.Repeat([]byte(" "), 0x10000)
		for err := error(nil); err == nil; {
			_, err = fmt.Fprintf(w, "10000\r\n%s\r\n", blanks)
		}
	}},
	{name: "a byte now and then, longer than a request may take", raw: func(a *answer, w io.Writer) {
		a.head(w, len(a.body), "")
		for i := 0; i < len(a.body)-1; i++ {
			if _, err := w.Write(a.body[i : i+1]); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}},
	{name: "not HTTP", raw: func(_ *answer, w io.Writer) { io.WriteString(w, "SSH-2.0-OpenSSH_9.6\r\n\x00\x01\x02") }},
	{name: "103 in front of the reply", harmless: true, raw: func(a *answer, w io.Writer) {
		io.WriteString(w, "HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n")
		a.head(w, len(a.body), "Connection: close\r\n")
		w.Write(a.body)
	}},
	{name: "a header of 2 MB", raw: func(a *answer, w io.Writer) {
		a.head(w, len(a.body), "X-Long: "+strings.Repeat("x", 2<<20)+"\r\n")
		w.Write(a.body)
	}},
	{name: "gzip, cut off", reply: func(a *answer) bool {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(a.body)
		z.Close()
		a.body = b.Bytes()[:b.Len()-6]
		a.header.Set("Content-Encoding", "gzip")
		return true
	}},
	{name: "called gzip, and is not", reply: func(a *answer) bool {
		a.header.Set("Content-Encoding", "gzip")
		return true
	}},
	{name: "200 with HTML", instead: says(200, page, "Content-Type", "text/html")},
	{name: "200 without a body", instead: says(200, "")},
	{name: "204", instead: says(204, "")},
	{name: "200 and `{}`", instead: says(200, "{}")},
	{name: "200 and `null`", instead: says(200, "null")},
	{name: "200 and `[]`", instead: says(200, "[]")},
	{name: "`{}` after the server did it", reply: becomes(func([]byte) []byte { return []byte("{}") })},
	{name: "302 to elsewhere", instead: says(302, "", "Location", "http://127.0.0.1:1/")},
	{name: "400", instead: says(400, `{"error":{"type":"illegal_argument_exception","reason":"no"},"status":400}`)},
	{name: "401", instead: says(401, `{"error":{"type":"security_exception","reason":"who"},"status":401}`)},
	{name: "403", instead: says(403, `{"error":{"type":"security_exception","reason":"no"},"status":403}`)},
	{name: "404", instead: says(404, `{"error":"no handler"}`)},
	{name: "408", instead: says(408, "")},
	{
		name:    "409",
		instead: says(409, `{"error":{"type":"version_conflict_engine_exception","reason":"no"},"status":409}`),
	},
	{name: "413", instead: says(413, page, "Content-Type", "text/html")},
	{
		name:    "429",
		instead: says(429, `{"error":{"type":"es_rejected_execution_exception","reason":"busy"},"status":429}`),
	},
	{name: "429, `Retry-After: 1`", instead: says(429, "", "Retry-After", "1")},
	{name: "429, a `Retry-After` that cannot be", instead: says(429, "", "Retry-After", "-99999999999999999999")},
	{name: "500 with HTML", instead: says(500, page, "Content-Type", "text/html")},
	{name: "501", instead: says(501, "")},
	{name: "502 with HTML", instead: says(502, page, "Content-Type", "text/html")},
	{name: "503, `Retry-After: 1`", instead: says(503, "", "Retry-After", "1")},
	{name: "504 after the server did it", reply: func(a *answer) bool {
		a.status, a.body = 504, []byte(page)
		return true
	}},
	{name: "without `X-Elastic-Product`", reply: func(a *answer) bool {
		a.header.Del("X-Elastic-Product")
		return true
	}},
	{name: "cut off, with a length that fits", reply: becomes(func(b []byte) []byte { return b[:len(b)/2] })},
	{name: "twice in one", reply: becomes(func(b []byte) []byte { return append(b, b...) })},
	{name: "the reply to the request before", reply: func(a *answer) bool {
		if a.last == nil {
			return false
		}
		a.body = a.last
		return true
	}},
	{name: "a byte that is not UTF-8, in a string", reply: becomes(func(b []byte) []byte {
		if i := bytes.IndexByte(b, '"'); i >= 0 {
			b[i+1] = 0xff
			return b
		}
		return nil
	})},
	{name: "100,000 brackets deep", reply: becomes(func(b []byte) []byte {
		return append(append(bytes.Repeat([]byte("["), 100_000), b...), bytes.Repeat([]byte("]"), 100_000)...)
	})},
	{
		name:  "100 MB of blanks behind it",
		reply: becomes(func(b []byte) []byte { return append(b, bytes.Repeat([]byte(" "), 100<<20)...) }),
	},
	{name: "items in another order", reply: items(func(items []any) []any {
		if len(items) < 2 {
			return nil
		}
		return append(items[1:], items[0])
	})},
	{name: "an item missing", reply: items(func(items []any) []any { return items[: len(items)-1 : len(items)-1] })},
	{name: "an item too many", reply: items(func(items []any) []any { return append(items, items[0]) })},
	{name: "an item twice, another not at all", reply: items(func(items []any) []any {
		if len(items) < 2 {
			return nil
		}
		items[0] = items[1]
		return items
	})},
	{name: "an item without a status", reply: item(func(m map[string]any) { delete(m, "status") })},
	{name: "an item with status 0", reply: item(func(m map[string]any) { m["status"] = 0 })},
	{name: "an item with status 100", reply: item(func(m map[string]any) { m["status"] = 100 })},
	{name: "an item with status 1e400", reply: item(func(m map[string]any) { m["status"] = json.Number("1e400") })},
	{name: "an item with a status in quotes", reply: item(func(m map[string]any) { m["status"] = "201" })},
	{name: "an item with another `_id`", reply: item(func(m map[string]any) { m["_id"] = "another" })},
	{
		name:     "an item with another `_index`",
		harmless: true,
		reply:    item(func(m map[string]any) { m["_index"] = "another" }),
	},
	{name: "`errors: false` with an item of 429", reply: tree(func(m map[string]any) bool {
		all, ok := m["items"].([]any)
		if !ok || len(all) == 0 {
			return false
		}
		for _, action := range all[0].(map[string]any) {
			action.(map[string]any)["status"] = 429
		}
		m["errors"] = false
		return true
	})},
	{name: "`errors: true` without one, `took` in quotes", harmless: true, reply: tree(func(m map[string]any) bool {
		if m["items"] == nil {
			return false
		}
		m["errors"], m["took"] = true, "7"
		return true
	})},
	{name: "an item with 409 for a document that was stored", reply: item(func(m map[string]any) {
		m["status"], m["error"] = 409, map[string]any{"type": "version_conflict_engine_exception", "reason": "no"}
	})},
	{name: "an item with 400 for a document that was stored", reply: item(func(m map[string]any) {
		m["status"], m["error"] = 400, map[string]any{"type": "document_parsing_exception", "reason": "no"}
	})},
	{name: "documents acknowledged that the server never got", lie: acknowledging},
	{name: "`_shards` with one that failed", reply: tree(func(m map[string]any) bool {
		s, ok := m["_shards"].(map[string]any)
		if ok {
			s["failed"] = 1
		}
		return ok
	})},
	{name: "`_shards` with one that did not answer", reply: tree(func(m map[string]any) bool {
		s, ok := m["_shards"].(map[string]any)
		if ok && m["count"] != nil {
			s["successful"], m["count"] = 0, 0
			return true
		}
		return false
	})},
	{name: "a count that is one too high", reply: tree(func(m map[string]any) bool {
		n, ok := m["count"].(json.Number)
		if ok {
			v, _ := strconv.Atoi(n.String())
			m["count"] = v + 1
		}
		return ok
	})},
	{name: "a search without its hits", reply: tree(func(m map[string]any) bool {
		if m["hits"] == nil {
			return false
		}
		delete(m, "hits")
		return true
	})},
	{name: "a search that finds nothing, in the server's place", reply: tree(func(m map[string]any) bool {
		h, ok := m["hits"].(map[string]any)
		if ok {
			h["hits"] = []any{}
		}
		return ok
	})},
}

// acknowledging lies: each document of a bulk request is stored, it says, and the
// server never gets it.
func acknowledging(body []byte) []byte {
	var b bytes.Buffer
	b.WriteString(`{"items":[`)
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 64<<20)
	n := 0
	for lines.Scan() {
		var action map[string]struct {
			ID string `json:"_id"`
		}
		if json.Unmarshal(lines.Bytes(), &action) != nil {
			continue
		}
		for kind, a := range action {
			if a.ID == "" {
				continue
			}
			if n++; n > 1 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{%q:{"_id":%q,"status":201,"_seq_no":1,"_primary_term":1}}`, kind, a.ID)
		}
	}
	b.WriteString("]}")
	return b.Bytes()
}

// modes are where and how often a way strikes.
var modes = []struct {
	name  string
	wreck func(k *wreck) func(r *http.Request) *wreck
}{
	{"now and then", func(k *wreck) func(*http.Request) *wreck {
		n := 0
		return func(*http.Request) *wreck {
			if n++; n%3 == 0 && n <= 18 {
				return k
			}
			return nil
		}
	}},
	{"all bulk requests", func(k *wreck) func(*http.Request) *wreck {
		return func(r *http.Request) *wreck {
			if isBulk(r) {
				return k
			}
			return nil
		}
	}},
	{"all other requests", func(k *wreck) func(*http.Request) *wreck {
		return func(r *http.Request) *wreck {
			if !isBulk(r) {
				return k
			}
			return nil
		}
	}},
}

// brokenReplies is one way. It strikes an ingest of other settings than those of which
// the index is full, now and then, at all bulk requests, and at all others. Whatever the
// ingest says in the end, it and what it says to do next must leave exactly the documents
// of an undisturbed one.
func brokenReplies(n int, k wreck) func(t *testing.T, c *trial) {
	return func(t *testing.T, c *trial) {
		for i, m := range modes {
			if !c.full && i != n%len(modes) {
				continue
			}
			t.Run(m.name, func(t *testing.T) {
				// Two thirds of the documents of the one have ids that the other has not: they are deleted.
				settings := [][]string{{"--interval", "750ms"}, {"--interval", "1s"}}[(n+i)%2]
				want := c.undisturbed(t, func(c *trial) [][]string { return [][]string{c.ingestArgs(settings...)} })
				c.px.inject(nil)
				if c.before == nil { // something to replace; after that, what the way before has left
					c.es.wipe(t, c.prefix)
					c.setup(t)
					c.ingest(t).wait(t, 0)
					c.before = c.want
				}
				if i > 0 {
					settings = append(settings, "--max-wait", "3s")
				}
				c.px.ruin(m.wreck(&k))
				p := c.ingest(t, settings...)
				<-p.ended
				struck, _, _ := c.px.counts()
				c.times += struck
				c.px.heal()
				c.honestly(t, want, c.before)
				c.tries++
				if p.code == 0 {
					c.good++
				} else {
					c.finish(t, p, c.ingestArgs(settings...))
				}
				if k.harmless && p.code != 0 {
					t.Errorf("exit %d\n%s", p.code, p.said())
				}
				c.checkOf(t, want)
				if c.before = want; t.Failed() {
					c.before = nil
				}
			})
		}
	}
}

// finish does what a program that failed says to do next.
func (c *trial) finish(t *testing.T, p *program, again []string) {
	t.Helper()
	if strings.Contains(p.said(), "to finish: ") {
		next := c.printed(t, p)
		if <-next.ended; next.code != 0 {
			t.Errorf("the printed command: exit %d\n%s\nafter\n%s", next.code, next.said(), p.said())
		}
		return
	}
	c.then = "the same command again"
	next := c.start(t, c.bin, again...)
	if <-next.ended; next.code != 0 {
		t.Errorf("again: exit %d\n%s\nafter\n%s", next.code, next.said(), p.said())
	}
}
