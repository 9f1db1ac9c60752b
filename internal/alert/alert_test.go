package alert

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// hook is a webhook that refuses the first requests, and remembers what it took.
type hook struct {
	sync.Mutex
	refuse   []int  // statuses to answer first
	answer   string // body of these
	attempts int
	bodies   []string
	headers  []http.Header
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Lock()
	defer h.Unlock()
	h.attempts++
	if len(h.refuse) > 0 {
		w.WriteHeader(h.refuse[0])
		_, _ = io.WriteString(w, h.answer)
		h.refuse = h.refuse[1:]
		return
	}
	b, _ := io.ReadAll(r.Body)
	h.bodies, h.headers = append(h.bodies, string(b)), append(h.headers, r.Header)
}

func event(n int) Event {
	return Event{ID: fmt.Sprint("id", n), Text: fmt.Sprint("event ", n), Body: fmt.Appendf(nil, `{"n":%d}`, n)}
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		refuse    []int
		attempts  int
		delivered int
		lost      string
	}{
		{"at once", nil, 2, 2, ""},
		{"fails twice first", []int{500, 503}, 4, 2, ""},
		{"too many requests", []int{429}, 3, 2, ""},
		{"refused for good", []int{403}, 2, 1, "event 1: 403"},
		{"sent elsewhere", []int{302}, 2, 1, "event 1: 302"},
		{"never", []int{500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500,
			500}, 0, 0, "event 1: 500"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := &hook{refuse: tc.refuse}
			s := httptest.NewServer(h)
			defer s.Close()
			wait := time.Minute
			if tc.delivered == 0 { // it gives up
				wait = 200 * time.Millisecond
			}
			d, err := New(Config{Webhook: s.URL + "/secret-path", Secret: []byte("key"), MaxWait: wait,
				first: 10 * time.Millisecond,
				Warn: func(msg string) {
					if strings.Contains(msg, "secret") {
						t.Errorf("the URL is in the message: %s", msg)
					}
				}})
			if err != nil {
				t.Fatal(err)
			}
			d.Raise(event(1))
			d.Raise(event(2))
			delivered, lost := d.Close(t.Context())
			if tc.attempts > 0 && (h.attempts != tc.attempts || delivered != tc.delivered) ||
				len(h.bodies) != delivered {
				t.Errorf("%d attempts, %d delivered, %q", h.attempts, delivered, h.bodies)
			}
			if (len(lost) > 0) != (tc.lost != "") || len(lost) > 0 && (!strings.Contains(lost[0].String(), tc.lost) ||
				strings.Contains(lost[0].String(), "secret")) {
				t.Errorf("lost %v, want %q", lost, tc.lost)
			}
			for i, b := range h.bodies {
				if got := h.headers[i].Get(SignatureHeader); got != Sign([]byte("key"), []byte(b)) ||
					h.headers[i].Get(IDHeader) == "" {
					t.Errorf("headers %v", h.headers[i])
				}
			}
			if tc.delivered == 2 && strings.Join(h.bodies, " ") != `{"n":1} {"n":2}` {
				t.Errorf("order: %q", h.bodies)
			}
		})
	}
}

// TestAnswer: the message has what the webhook answers, without what may be secret.
func TestAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, answer, want string }{
		{"none", "", "404 Not Found"},
		{"words", "no_service\n", "404 Not Found: no_service"},
		{"the path", "no hook /services/T0KEN", "404 Not Found: no hook ..."},
		{"a part of the path", "token T0KEN is unknown", "404 Not Found: token ... is unknown"},
		{"the query", "bad key=s3cret", "404 Not Found: bad ..."},
		{"a value of the query", "bad s3cret", "404 Not Found: bad ..."},
		{"the key of the signature", "not signed with hmac-key", "404 Not Found: not signed with ..."},
		{"escapes", "a\x1b[31mb\r\n\u202ec\xff", "404 Not Found: a [31mb c?"},
		{"a page", strings.Repeat("word ", 1000), "404 Not Found: " + strings.Repeat("word ", 40) + "..."},
	} {
		s := httptest.NewServer(&hook{refuse: []int{404}, answer: tt.answer})
		d, err := New(Config{Webhook: s.URL + "/services/T0KEN?key=s3cret", Secret: []byte("hmac-key")})
		if err != nil {
			t.Fatal(err)
		}
		d.Raise(event(1))
		_, lost := d.Close(t.Context())
		s.Close()
		if len(lost) != 1 || lost[0].Err.Error() != tt.want {
			t.Errorf("%s: %v, want %q", tt.name, lost, tt.want)
		}
	}
}

// TestBothTargets: each target gets each event, and both count.
func TestBothTargets(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(new(hook))
	defer s.Close()
	d, err := New(Config{Webhook: s.URL, Command: "cat >/dev/null"})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		d.Raise(event(n))
	}
	if delivered, lost := d.Close(t.Context()); delivered != 6 || len(lost) > 0 {
		t.Errorf("%d delivered, want 6; lost %v", delivered, lost)
	}
}

// TestSign: by hand, printf '{"n":1}' | openssl dgst -sha256 -hmac key.
func TestSign(t *testing.T) {
	t.Parallel()
	if got, want := Sign([]byte("key"), []byte(`{"n":1}`)),
		"sha256=105f53bf3b432ed2e10c1a2f4f0cdc165d1ecdcf1412664224a905f19651c2b2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestNeverBlocks: whoever raises events does not wait for a target that hangs, and
// gets the undelivered ones at the end.
func TestNeverBlocks(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer s.Close()
	defer close(hang)
	d, err := New(Config{Webhook: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	for n := range queued + 10 {
		d.Raise(event(n))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if delivered, lost := d.Close(ctx); delivered != 0 || len(lost) != queued+10 {
		t.Errorf("%d delivered, %d lost of %d", delivered, len(lost), queued+10)
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "out")
	var said bytes.Buffer
	d, err := New(Config{Command: "cat >>'" + file + "'; echo $FIOLAT_EVENT_ID; test $FIOLAT_EVENT_ID = id1",
		Output: &said})
	if err != nil {
		t.Fatal(err)
	}
	d.Raise(event(1))
	d.Raise(event(2))
	delivered, lost := d.Close(t.Context())
	if delivered != 1 || len(lost) != 1 || lost[0].String() != "not delivered to the command: event 2: exit status 1" {
		t.Errorf("%d delivered, lost %v", delivered, lost)
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != "{\"n\":1}\n{\"n\":2}\n" || said.String() != "id1\nid2\n" {
		t.Errorf("%q %q %v", got, said.String(), err)
	}
}

// TestCommandEnvironment: the command gets what it needs of the environment and nothing else.
func TestCommandEnvironment(t *testing.T) {
	t.Setenv("ELASTICSEARCH_PASSWORD", "secret")
	t.Setenv("LANG", "C.UTF-8")
	t.Setenv("HOME", "/home/of the user")
	var said bytes.Buffer
	d, err := New(Config{Command: "env", Output: &said})
	if err != nil {
		t.Fatal(err)
	}
	d.Raise(event(1))
	if delivered, lost := d.Close(t.Context()); delivered != 1 {
		t.Fatal(lost)
	}
	got := map[string]string{}
	for line := range strings.Lines(said.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		got[name] = value
	}
	for _, own := range []string{"PWD", "OLDPWD", "SHLVL", "_"} { // sh's own
		delete(got, own)
	}
	want := map[string]string{"PATH": os.Getenv("PATH"), "HOME": "/home/of the user", "LANG": "C.UTF-8",
		"FIOLAT_EVENT_ID": "id1"}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestCommandChildren: what the command started ends with it when it is stopped.
func TestCommandChildren(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	d, err := New(Config{Command: "sleep 600 & echo started; wait", Output: w})
	if err != nil {
		t.Fatal(err)
	}
	d.Raise(event(1))
	if err := r.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, len("started\n"))); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.Close(ctx)
	w.Close()
	if _, err := io.ReadAll(r); err != nil { // ends when nobody has the other end open any more
		t.Errorf("its child goes on: %v", err)
	}
}

// TestReasonPhrase: the text of a server's status, which may repeat the URL, is not printed.
func TestReasonPhrase(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprintf(conn, "HTTP/1.1 403 no %s\r\nContent-Length: 0\r\n\r\n", r.URL)
		conn.Close()
	}))
	defer s.Close()
	d, err := New(Config{Webhook: s.URL + "/T0KEN"})
	if err != nil {
		t.Fatal(err)
	}
	d.Raise(event(1))
	_, lost := d.Close(t.Context())
	if len(lost) != 1 || !strings.HasSuffix(lost[0].String(), "event 1: 403 Forbidden") {
		t.Errorf("%v", lost)
	}
}

func TestBadURL(t *testing.T) {
	t.Parallel()
	for _, u := range []string{"example.org", "ftp://example.org", "http://", "http://%zz"} {
		if _, err := New(Config{Webhook: u}); err == nil || strings.Contains(err.Error(), u) {
			t.Errorf("%q: %v", u, err)
		}
	}
}

// TestDefaults: a webhook that is away is waited for ten minutes, unless told otherwise.
func TestDefaults(t *testing.T) {
	for _, tc := range []struct{ given, want time.Duration }{{0, 10 * time.Minute}, {time.Second, time.Second}} {
		d, err := New(Config{Command: "true", MaxWait: tc.given})
		if err != nil {
			t.Fatal(err)
		}
		if d.cfg.MaxWait != tc.want {
			t.Errorf("%v: %v, want %v", tc.given, d.cfg.MaxWait, tc.want)
		}
		d.Close(t.Context())
	}
}
