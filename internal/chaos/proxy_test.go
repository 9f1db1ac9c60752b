//go:build integration

package chaos

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// fault is what a proxy does to one bulk request. The zero value does nothing.
type fault struct {
	do   func()        // first of all
	cut  bool          // half of the request goes on to the server, then both connections are reset
	lose bool          // the server's reply is waited for; then the client's connection is reset
	wait time.Duration // before the reply is passed on, or lost
}

// proxy stands before an Elasticsearch and does damage. It looks at bulk requests
// only, which are numbered from 1; the first of a run is its own document, "running".
type proxy struct {
	addr, to string
	tls      *tls.Config
	ca       []byte
	up       http.Transport
	srv      *http.Server
	*strikes
}

// strikes are the damage of one proxy, or of all before one cluster.
type strikes struct {
	mu       sync.Mutex // guards what follows, and srv
	fault    func(n int) fault
	wreck    func(r *http.Request) *wreck
	last     []byte // reply
	requests int
	struck   int // faults injected
	sent     int // documents in requests that came whole, whatever became of them
	rejected int // documents and requests that the server answered with 429
}

// newProxy speaks TLS if the server does.
func newProxy(t *testing.T, es *server) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: l.Addr().String(), to: es.url, strikes: new(strikes)}
	l.Close()
	if es.ca != "" {
		p.up.TLSClientConfig = es.client.Transport.(*http.Transport).TLSClientConfig
		model := httptest.NewTLSServer(nil) // for its certificate
		p.tls = &tls.Config{Certificates: model.TLS.Certificates}
		p.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: model.Certificate().Raw})
		model.Close()
	}
	p.start(t)
	t.Cleanup(func() {
		p.stop()
		p.up.CloseIdleConnections()
	})
	return p
}

func (p *proxy) url() string {
	if p.tls != nil {
		return "https://" + p.addr
	}
	return "http://" + p.addr
}

// start listens (again); stop closes the port and all connections.
func (p *proxy) start(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		t.Error(err)
		return
	}
	if p.tls != nil {
		l = tls.NewListener(l, p.tls)
	}
	srv := &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0)}
	p.mu.Lock()
	p.srv = srv
	p.mu.Unlock()
	go srv.Serve(l)
}

func (p *proxy) stop() {
	p.mu.Lock()
	srv := p.srv
	p.mu.Unlock()
	srv.Close()
}

// inject forgets what was counted and injects the faults that fault says.
func (p *proxy) inject(fault func(n int) fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.wreck, p.requests, p.struck, p.sent, p.rejected = fault, nil, 0, 0, 0, 0
}

// ruin breaks the replies to the requests that f chooses.
func (p *proxy) ruin(f func(r *http.Request) *wreck) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wreck = f
}

func (p *proxy) ruined(r *http.Request) *wreck {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wreck == nil {
		return nil
	}
	return p.wreck(r)
}

func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.wreck = nil, nil
}

func (p *proxy) counts() (struck, sent, rejected int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.struck, p.sent, p.rejected
}

func (p *proxy) faultFor(r *http.Request) (b fault) {
	if !strings.HasSuffix(r.URL.Path, "/_bulk") {
		return b
	}
	p.mu.Lock()
	p.requests++
	n, fault := p.requests, p.fault
	p.mu.Unlock()
	if fault != nil {
		b = fault(n)
	}
	if b.do != nil || b.cut || b.lose || b.wait > 0 {
		p.mu.Lock()
		p.struck++
		p.mu.Unlock()
	}
	return b
}

var errCut = errors.New("cut")

type cutter struct{}

func (cutter) Read([]byte) (int, error) { return 0, errCut }

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if k := p.ruined(r); k != nil {
		p.wrecked(w, r, k)
		return
	}
	b := p.faultFor(r)
	if b.do != nil {
		b.do()
	}
	whole := r.ContentLength
	if b.cut {
		whole /= 2
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, whole))
	if err != nil {
		reset(w)
		return
	}
	up := p.request(r, body)
	if b.cut {
		up.Body, up.ContentLength = io.NopCloser(io.MultiReader(bytes.NewReader(body), cutter{})), r.ContentLength
	} else {
		p.mu.Lock()
		p.sent += bytes.Count(body, []byte(`{"index":{`))
		p.mu.Unlock()
	}
	res, err := p.up.RoundTrip(up)
	if err != nil {
		reset(w)
		return
	}
	defer res.Body.Close()
	reply, err := io.ReadAll(res.Body)
	if b.wait > 0 {
		select {
		case <-time.After(b.wait):
		case <-r.Context().Done():
		}
	}
	if err != nil || b.cut || b.lose {
		reset(w)
		return
	}
	p.mu.Lock()
	p.rejected += bytes.Count(reply, []byte(`"status":429`))
	p.last = reply
	p.mu.Unlock()
	for k, v := range res.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(res.StatusCode)
	w.Write(reply)
}

// request is a client's request for the server. It goes on when the client is gone, and asks for a
// reply that is not compressed.
func (p *proxy) request(r *http.Request, body []byte) *http.Request {
	up, err := http.NewRequestWithContext(
		context.WithoutCancel(r.Context()),
		r.Method,
		p.to+r.URL.RequestURI(),
		bytes.NewReader(body),
	)
	if err != nil {
		panic(err)
	}
	up.Header = r.Header.Clone()
	up.Header.Del("Accept-Encoding")
	return up
}

// reset ends a client's connection as a crashed machine does.
func reset(w http.ResponseWriter) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	c.(*net.TCPConn).SetLinger(0)
	c.Close()
}
