package client

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fiolat/fio"
)

const password = "hunter2 & co"

func TestConfigIsChecked(t *testing.T) {
	tests := []struct {
		name string
		cfg  Config
		want string
	}{
		{"no address", Config{}, "no address"},
		{"not a URL", Config{Addresses: []string{"http://u:" + password + "%zz@h"}}, "address 1"},
		{"no scheme", Config{Addresses: []string{"localhost:9200"}}, "address 1"},
		{"ftp", Config{Addresses: []string{"http://a", "ftp://b"}}, "address 2"},
		{"query", Config{Addresses: []string{"http://a?x=" + password}}, "address 1"},
		{"http and https", Config{Addresses: []string{"http://a", "https://b"}}, "mix"},
		{"two users", Config{Addresses: []string{"http://u:hunter2@a", "http://v:hunter2@b"}}, "different users"},
		{"one user", Config{Addresses: []string{"http://u:hunter2@a", "http://b"}}, "only some"},
		{"two ways", Config{Addresses: []string{"http://u:hunter2@a"}, APIKey: password}, "more than one"},
		{"bad fingerprint", Config{Addresses: []string{"https://a"}, Fingerprint: "abc"}, "fingerprint"},
		{"bad CA", Config{Addresses: []string{"https://a"}, CACert: []byte("x")}, "not PEM"},
		{
			"CA and insecure",
			Config{Addresses: []string{"https://a"}, Insecure: true, Fingerprint: strings.Repeat("ab", 32)},
			"mutually exclusive",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var usage *fio.UsageError
			_, err := New(tt.cfg)
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
			noSecret(t, fmt.Sprint(err))
		})
	}
}

func noSecret(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(text, "hunter2") {
		t.Errorf("a secret is in %q", text)
	}
}

func TestSecretsStayIn(t *testing.T) {
	cfg := Config{Addresses: []string{"http://u:hunter2@127.0.0.1:1"}, Password: "hunter2", APIKey: "hunter2"}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "cfg", cfg)
	for _, text := range []string{fmt.Sprint(cfg), fmt.Sprintf("%v %+v %#v %s", cfg, cfg, cfg, cfg), log.String()} {
		noSecret(t, text)
		if !strings.Contains(text, "127.0.0.1:1") {
			t.Error(text)
		}
	}
	// Nor in errors of the network, or of a server that says it back, on lines of its own.
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Elastic-Product", "Elasticsearch")
		_, p, _ := r.BasicAuth()
		w.WriteHeader(400)
		fmt.Fprintf(w, `{"error":{"type":"x\nfiolat: all is well","reason":"you said\n%s"},"status":400}`, p)
	}))
	defer srv.Close()
	for _, a := range []string{srv.URL, "http://127.0.0.1:1"} {
		c := testClient(t, Config{Addresses: []string{a}, Username: "u", Password: "hunter2", MaxWait: -1})
		err := c.Call(t.Context(), Request{Op: "test", Method: "GET", Path: "/x"}, nil)
		if err == nil {
			t.Fatal("no error")
		}
		noSecret(t, err.Error())
		noSecret(t, fmt.Sprint(c, c.Warnings))
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("it forges a line: %q", err)
		}
	}
}

// A redirect is an error: it would carry credentials to another server.
func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }),
	)
	defer elsewhere.Close()
	srv := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer srv.Close()
	c := testClient(t, Config{Addresses: []string{srv.URL}, Username: "u", Password: "p"})
	var trust *TrustError
	if err := c.Call(t.Context(), Request{Op: "test", Method: "GET", Path: "/x"}, nil); !errors.As(err, &trust) ||
		!strings.Contains(err.Error(), "redirect (307)") {
		t.Errorf("%v", err)
	}
}

func TestCredentialsAreSent(t *testing.T) {
	var got string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Elastic-Product", "Elasticsearch")
		got = r.Header.Get("Authorization")
		fmt.Fprint(w, `{}`)
	}))
	defer srv.Close()
	at := strings.Replace(srv.URL, "http://", "http://us%40er:p%2Fw@", 1)
	for want, cfg := range map[string]Config{
		"":                       {Addresses: []string{srv.URL}},
		"Basic dTpw":             {Addresses: []string{srv.URL}, Username: "u", Password: "p"},
		"Basic dXNAZXI6cC93":     {Addresses: []string{at}},
		"APIKey abc":             {Addresses: []string{srv.URL}, APIKey: "abc"},
		"Bearer AAEAAWVsYXN0aWM": {Addresses: []string{srv.URL}, ServiceToken: "AAEAAWVsYXN0aWM"},
	} {
		c := testClient(t, cfg)
		if err := c.Call(t.Context(), Request{Op: "test", Method: "GET", Path: "/x"}, nil); err != nil ||
			got != want {
			t.Errorf("%q, want %q: %v", got, want, err)
		}
	}
}

// TestPlainHTTP: credentials of each kind that go to another machine without TLS are warned of, and nothing else is.
func TestPlainHTTP(t *testing.T) {
	for _, tt := range []struct {
		name    string
		cfg     Config
		warning bool
	}{
		{"user", Config{Username: "u", Password: "p"}, true},
		{"user in the address", Config{Addresses: []string{"http://u:p@10.0.0.1"}}, true},
		{"key", Config{APIKey: "abc"}, true},
		{"token", Config{ServiceToken: "abc"}, true},
		{"nothing secret", Config{}, false},
		{"this machine", Config{Addresses: []string{"http://localhost"}, Username: "u", Password: "p"}, false},
		{"https", Config{Addresses: []string{"https://10.0.0.1"}, Username: "u", Password: "p"}, false},
	} {
		if tt.cfg.Addresses == nil {
			tt.cfg.Addresses = []string{"http://10.0.0.1"}
		}
		c, err := New(tt.cfg)
		if err != nil {
			t.Fatal(tt.name, err)
		}
		if got := strings.Contains(strings.Join(c.Warnings, "\n"), "plain http"); got != tt.warning {
			t.Errorf("%s: %q", tt.name, c.Warnings)
		}
	}
}

// TestForbidden: the reasons are those of Elasticsearch's AuthorizationDenialMessages.
func TestForbidden(t *testing.T) {
	const action = "action [indices:data/write/bulk] is unauthorized for "
	const granted = ", this action is granted by the index privileges "
	for _, tt := range []struct {
		reason, needs          string
		user, level, privilege string
	}{
		{action + "user [amy] with effective roles [r] on indices [fio-run]" + granted + "[create_doc,index,write,all]",
			"", "amy", "index", "index"},
		{action + "API key id [k1] of user [amy]" + granted + "[create_index,manage,all]", "", "k1", "index",
			"create_index"},
		{action + "service account [elastic/x]" + granted + "[view_index_metadata,read]", "view_index_metadata",
			"elastic/x", "index", "view_index_metadata"},
		{action + "user [amy]" + granted + "[maintenance,manage,all]", "read", "amy", "index", "maintenance"},
		{"action [cluster:monitor/main] is unauthorized for user [amy], this action is granted by the cluster " +
			"privileges [monitor,manage,all]", "", "amy", "cluster", "monitor"},
		{"no", "read", "", "", ""},
	} {
		e := forbidden("test", tt.needs, 403, tt.reason)
		if e.User != tt.user || e.Level != tt.level || e.Privilege != tt.privilege || e.Reason != tt.reason ||
			e.Op != "test" || e.Status != 403 {
			t.Errorf("%s: %+v", tt.reason, e)
		}
	}
}

func TestCallGivesUp(t *testing.T) {
	s, _ := standIn(t)
	c := testClient(t, Config{Addresses: []string{s.URL}, MaxWait: 100 * time.Millisecond})
	c.Call(t.Context(), Request{Op: "test", Method: "PUT", Path: "/x"}, nil)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }))
	defer srv.Close()
	c = testClient(t, Config{Addresses: []string{srv.URL}, MaxWait: 100 * time.Millisecond})
	var away *UnavailableError
	if err := c.Call(t.Context(), Request{Op: "test", Method: "GET", Path: "/x"}, nil); !errors.As(err, &away) ||
		away.Waited < 100*time.Millisecond {
		t.Errorf("%v", err)
	}
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := c.Call(ctx, Request{Op: "test", Method: "GET", Path: "/x"}, nil); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

// What shards meet after their server was killed comes as 404, from a search within an error of another type.
func TestShardFailures(t *testing.T) {
	search := func(root string) string {
		return `{"error":{"type":"search_phase_execution_exception","reason":"all shards failed",` +
			`"root_cause":[{"type":"` + root + `","reason":"why"}]}}`
	}
	for _, tt := range []struct {
		name, body string
		calls      int32
		lost       bool
	}{
		{"get", `{"error":{"type":"illegal_index_shard_state_exception","reason":"RECOVERING"}}`, 2, false},
		{"search of a shard that recovers", search("illegal_index_shard_state_exception"), 2, false},
		{"search that was open before", search("search_context_missing_exception"), 1, true},
		{"another failure", search("query_shard_exception"), 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var calls atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Elastic-Product", "Elasticsearch")
				if calls.Add(1) == 1 {
					w.WriteHeader(http.StatusNotFound)
					fmt.Fprint(w, tt.body)
					return
				}
				fmt.Fprint(w, `{}`)
			}))
			defer srv.Close()
			c := testClient(t, Config{Addresses: []string{srv.URL}, MaxWait: time.Minute})
			err := c.Call(t.Context(), Request{Op: "test", Method: "GET", Path: "/x"}, nil)
			var no *RefusedError
			if refused := errors.As(err, &no); calls.Load() != tt.calls || refused != (tt.calls == 1) ||
				refused && no.lost != tt.lost {
				t.Errorf("asked %d times, want %d: %v", calls.Load(), tt.calls, err)
			}
		})
	}
}

// authority makes certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func (a *authority) issue(
	t *testing.T,
	ca bool,
	host string,
	from, to time.Time,
) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	tpl := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: host},
		NotBefore:             from,
		NotAfter:              to,
		IsCA:                  ca,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if ip := net.ParseIP(host); ip != nil {
		tpl.IPAddresses = []net.IP{ip}
	} else {
		tpl.DNSNames = []string{host}
	}
	parent, signer := tpl, key
	if a != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, tpl, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func TestTrust(t *testing.T) {
	now := time.Now()
	ca, caKey := (*authority)(nil).issue(t, true, "ca", now.Add(-time.Hour), now.Add(time.Hour))
	other, otherKey := (*authority)(nil).issue(t, true, "other", now.Add(-time.Hour), now.Add(time.Hour))
	a, b := &authority{ca, caKey}, &authority{other, otherKey}
	var conf tls.Config // of servers to come
	start := func(key *ecdsa.PrivateKey, certs ...*x509.Certificate) string {
		var chain [][]byte
		for _, c := range certs {
			chain = append(chain, c.Raw)
		}
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Elastic-Product", "Elasticsearch")
			fmt.Fprint(w, `{}`)
		}))
		srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
		srv.TLS = conf.Clone()
		srv.TLS.Certificates = []tls.Certificate{{Certificate: chain, PrivateKey: key}}
		srv.StartTLS()
		t.Cleanup(srv.Close)
		return srv.URL
	}
	serve := func(issuer *authority, host string, from, to time.Time, extra ...*x509.Certificate) string {
		cert, key := issuer.issue(t, false, host, from, to)
		return start(key, append([]*x509.Certificate{cert, issuer.cert}, extra...)...)
	}
	self, selfKey := (*authority)(nil).issue(t, false, "127.0.0.1", now.Add(-time.Hour), now.Add(time.Hour))
	alone := start(selfKey, self)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	good := serve(a, "127.0.0.1", now.Add(-time.Hour), now.Add(time.Hour))
	old := serve(a, "127.0.0.1", now.Add(-2*time.Hour), now.Add(-time.Hour))
	wrong := serve(a, "example.org", now.Add(-time.Hour), now.Add(time.Hour))
	forged := serve(b, "127.0.0.1", now.Add(-time.Hour), now.Add(time.Hour), ca) // shows our public certificate
	conf.MinVersion, conf.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	outdated := serve(a, "127.0.0.1", now.Add(-time.Hour), now.Add(time.Hour))
	conf = tls.Config{ClientAuth: tls.RequireAnyClientCert}
	asking := serve(a, "127.0.0.1", now.Add(-time.Hour), now.Add(time.Hour))
	pemOf := func(c *x509.Certificate) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
	}
	print := func(c *x509.Certificate) string {
		sum := sha256.Sum256(c.Raw)
		return strings.ToUpper(hex.EncodeToString(sum[:]))
	}
	tests := []struct {
		name string
		cfg  Config
		want string
	}{
		{"right CA", Config{Addresses: []string{good}, CACert: pemOf(ca)}, ""},
		{
			"wrong CA",
			Config{Addresses: []string{good}, CACert: pemOf(other)},
			"authority that is not trusted; someone may be intercepting the connection; if not, pass --es-ca-cert",
		},
		{"system roots", Config{Addresses: []string{good}}, "authority that is not trusted"},
		{"expired", Config{Addresses: []string{old}, CACert: pemOf(ca)}, "not valid at this time"},
		{"wrong host", Config{Addresses: []string{wrong}, CACert: pemOf(ca)}, "not for this host"},
		{"fingerprint of the CA", Config{Addresses: []string{good}, Fingerprint: print(ca)}, ""},
		{"fingerprint of the CA, other host", Config{Addresses: []string{wrong}, Fingerprint: print(ca)}, ""},
		{"fingerprint, expired", Config{Addresses: []string{old}, Fingerprint: print(ca)}, "not valid at this time"},
		{"fingerprint mismatch", Config{Addresses: []string{good}, Fingerprint: print(other)}, "has the fingerprint"},
		{
			"fingerprint of a certificate merely shown",
			Config{Addresses: []string{forged}, Fingerprint: print(ca)},
			"authority that is not trusted",
		},
		{"insecure", Config{Addresses: []string{wrong}, Insecure: true}, ""},
		{
			"TLS 1.1",
			Config{Addresses: []string{outdated}, CACert: pemOf(ca)},
			"no TLS connection: remote error: tls: protocol version not supported; fiolat speaks TLS 1.2 and 1.3",
		},
		{
			"client certificate wanted",
			Config{Addresses: []string{asking}, CACert: pemOf(ca)},
			"no TLS connection: remote error: tls: certificate required",
		},
		{"self-signed", Config{Addresses: []string{alone}}, "authority that is not trusted"},
		{"self-signed, its fingerprint", Config{Addresses: []string{alone}, Fingerprint: print(self)}, ""},
		{
			"no TLS",
			Config{Addresses: []string{strings.Replace(plain.URL, "http:", "https:", 1)}},
			"does not speak TLS; use http:// in the address",
		},
		{
			"TLS",
			Config{Addresses: []string{strings.Replace(good, "https:", "http:", 1)}, Username: "u", Password: "p"},
			"the server speaks TLS; use https:// in the address",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.OnWait = func(w Wait) { t.Errorf("it was tried again: %v", w.Err) }
			c := testClient(t, tt.cfg)
			err := c.Call(t.Context(), Request{Op: "test", Method: "GET", Path: "/x"}, nil)
			var trust *TrustError
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
			} else if !errors.As(err, &trust) || !strings.Contains(err.Error(), tt.want) ||
				!strings.Contains(err.Error(), strings.SplitN(tt.cfg.Addresses[0], "/", 3)[2]+": ") {
				t.Errorf("%v, want %s", err, tt.want)
			}
			if tt.cfg.Insecure != (len(c.Warnings) == 1) {
				t.Errorf("warnings %q", c.Warnings)
			}
		})
	}
}

// counting counts what is written to a connection.
type counting struct {
	net.Conn
	writes atomic.Int32
}

func (c *counting) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// TestLargeWrites: a body arrives as it is, and is not written in many small blocks.
func TestLargeWrites(t *testing.T) {
	t.Parallel()
	body := bytes.Repeat([]byte("0123456789abcdef\n"), 4<<20/17)
	same := make(chan bool, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		same <- err == nil && bytes.Equal(got, body)
	}))
	defer s.Close()
	tr, err := newTransport(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.CloseIdleConnections()
	var made *counting
	tr.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer{timeout: ConnectWait}.dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		made = &counting{Conn: conn.(largeWrites).Conn}
		return largeWrites{made}, nil
	}
	req, err := http.NewRequestWithContext(
		t.Context(),
		http.MethodPost,
		s.URL,
		struct{ io.Reader }{bytes.NewReader(body)},
	)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = int64(len(body))
	res, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if n := made.writes.Load(); !<-same || n > 20 {
		t.Errorf("%d bytes in %d writes, or not as they were", len(body), n)
	}
}

// Only on this host a request is not compressed.
func TestLoopback(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"http://localhost:9200": true, "http://127.0.0.1": true,
		"http://127.0.0.9:9200 http://[::1]:9200": true, "http://es.example": false, "http://10.0.0.1:9200": false,
		"http://localhost http://10.0.0.1": false, "http://10.0.0.1 http://localhost": false} {
		var nodes []*url.URL
		for _, one := range strings.Fields(text) {
			node, err := url.Parse(one)
			if err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, node)
		}
		if got := loopback(nodes); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
