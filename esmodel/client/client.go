// Package client talks to Elasticsearch: connections, credentials and trust, retries, bulk requests, searches,
// and errors that say what to do.
//
// It supports the versions of Elasticsearch that fio.ElasticVersions names. It does not follow redirects, and
// rejects servers that do not identify themselves as Elasticsearch. A document counts as stored only when
// Elasticsearch has acknowledged that very document.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/elastic/elastic-transport-go/v8/elastictransport"
	"github.com/elastic/go-elasticsearch/v8/esapi"

	"fiolat/fio"
	"fiolat/internal/secret"
)

const (
	// DefaultMaxWait is how long an operation is retried before giving up.
	DefaultMaxWait = 5 * time.Minute
	// ConnectWait is the MaxUnreached that commands use.
	ConnectWait = 10 * time.Second

	// defaultTimeout is how long one request may take. Elasticsearch itself waits a minute for a shard before it
	// answers 503.
	defaultTimeout    = 90 * time.Second
	defaultFlushBytes = 4 << 20

	maxReply = 64 << 20 // longest reply that is read, in bytes
)

// DrainTime is how long work may go on after an interruption: a Sink sends what it holds before it spools the
// rest.
const DrainTime = 5 * time.Second

// Config says where Elasticsearch is and how to authenticate. It holds secrets, so printing, logging and
// formatting show only its addresses.
type Config struct {
	// Addresses are base URLs of nodes of one cluster, http or https. Requests rotate among them, and a node
	// that does not answer is skipped for a while. User and password may be part of a URL, the same in all.
	Addresses []string
	// Set at most one of user and password, API key (base64 of id:key) and service token; none for a cluster
	// without security.
	Username, Password string
	APIKey             string
	ServiceToken       string
	// CACert are PEM certificates of authorities to trust instead of the system's.
	CACert []byte
	// Fingerprint is the hex SHA-256 of the server's certificate or of the
	// authority that signed it, as Elasticsearch prints it at its first start.
	Fingerprint string
	// Insecure accepts any certificate. Callers should warn about it.
	Insecure bool
	// Timeout is the limit for one request; 0 is defaultTimeout.
	Timeout time.Duration
	// FlushBytes is the size of a bulk request before compression; 0 is 4 MiB.
	FlushBytes int
	// MaxWait is how long an operation is retried after temporary errors; 0 is DefaultMaxWait, negative
	// disables retries.
	MaxWait time.Duration
	// MaxUnreached is the same limit while no node has ever answered, counted from the first request; 0 is
	// MaxWait.
	MaxUnreached time.Duration
	// Pause is the wait before the first retry; later waits get longer. 0 is 200 ms.
	Pause time.Duration
	// Transport replaces the connections to Addresses, in tests; nil is fine.
	Transport http.RoundTripper
	// WholeReasons is set to show texts of the server's whole, up to 64 KiB, not their first 500 characters.
	WholeReasons bool
	// OnWait is called before each wait, from any goroutine, but not while MaxUnreached applies; nil is fine.
	OnWait func(Wait)
}

// Wait is a pause before a retry.
type Wait struct {
	Op   string
	Err  error         // that is retried
	Next time.Duration // length of the pause
	Left time.Duration // until giving up
}

// String names the addresses without the secrets that they may contain.
func (c Config) String() string {
	var shown []string
	for _, a := range c.Addresses {
		u, err := url.Parse(a)
		if err != nil || u.Host == "" {
			shown = append(shown, "(not a URL)")
			continue
		}
		shown = append(shown, u.Scheme+"://"+u.Host)
	}
	return "elasticsearch at " + strings.Join(shown, ", ")
}

// GoString keeps secrets out of %#v.
func (c Config) GoString() string { return "client.Config{" + c.String() + "}" }

// LogValue keeps secrets out of log/slog.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Client talks to one cluster. It is safe for concurrent use.
type Client struct {
	es      *elastictransport.Client
	tr      *http.Transport
	where   string
	Timeout time.Duration // limit for one request
	MaxWait time.Duration
	onWait  func(Wait)
	// FlushBytes is as in Config.
	FlushBytes int
	first      time.Duration // pause before the first retry
	Local      bool          // all nodes are on this machine
	secrets    *secret.Mask
	whole      bool        // show reasons whole
	spoken     atomic.Bool // a node has answered with success

	unreached time.Duration // MaxUnreached if that is below MaxWait, else 0
	begun     atomic.Pointer[time.Time]
	answered  atomic.Bool // a node has answered, with any status

	version sync.Once // asked for
	tooOld  error
	// Warnings are about the connection itself, e.g. a password over plain http.
	Warnings []string
}

// New checks the configuration and returns a client. It sends nothing.
func New(cfg Config) (*Client, error) {
	nodes, err := cfg.nodes()
	if err != nil {
		return nil, err
	}
	c := &Client{
		where:   cfg.String(),
		Timeout: cfg.Timeout,
		MaxWait: cfg.MaxWait,
		onWait:  cfg.OnWait,
		first:   cfg.Pause,
		whole:   cfg.WholeReasons,
	}
	if cfg.FlushBytes < 0 {
		return nil, fio.Usagef("elasticsearch: requests of %d bytes: want a number above 0", cfg.FlushBytes)
	}
	c.FlushBytes = cmp.Or(cfg.FlushBytes, defaultFlushBytes)
	if c.first <= 0 {
		c.first = 200 * time.Millisecond
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	c.MaxWait = cmp.Or(c.MaxWait, DefaultMaxWait)
	if cfg.MaxUnreached < c.MaxWait {
		c.unreached = cfg.MaxUnreached
	}
	c.secrets = secret.Credentials(cfg.Username, cfg.Password, cfg.APIKey, cfg.ServiceToken)
	secure := nodes[0].Scheme == "https"
	c.Local = loopback(nodes)
	if !secure && (cfg.Username != "" || cfg.APIKey != "" || cfg.ServiceToken != "") && !c.Local {
		c.Warnings = append(c.Warnings, "credentials go over plain http: anybody on the way can read them; use https")
	}
	if cfg.Insecure {
		c.Warnings = append(
			c.Warnings,
			"--es-insecure: THE SERVER'S CERTIFICATE IS NOT CHECKED: whoever answers or is in between gets the "+
				"credentials and reads and changes the data; --es-fingerprint is as easy, and safe",
		)
	}
	if c.tr, err = newTransport(cfg); err != nil {
		return nil, err
	}
	transport := cfg.Transport
	if transport == nil {
		transport = c.tr
	}
	c.es, err = elastictransport.NewClient(
		elastictransport.WithURLs(nodes...),
		elastictransport.WithBasicAuth(cfg.Username, cfg.Password),
		elastictransport.WithAPIKey(cfg.APIKey),
		elastictransport.WithServiceToken(cfg.ServiceToken),
		elastictransport.WithTransport(transport),
		elastictransport.WithDisableRetry(), // retry.go alone decides about retries
		elastictransport.WithUserAgent("fiolat"),
	)
	if err != nil {
		return nil, c.Hide(err)
	}
	return c, nil
}

// nodes returns the addresses as URLs. It moves user and password from them into c, so that no URL in a message
// or in the client shows them.
func (c *Config) nodes() ([]*url.URL, error) {
	if len(c.Addresses) == 0 {
		return nil, &fio.UsageError{Msg: "no address of Elasticsearch", Hint: "pass --es URL"}
	}
	explicit := c.Username != "" || c.Password != ""
	var out []*url.URL
	for i, a := range c.Addresses {
		// A parse error quotes the URL with its password: never return it.
		u, err := url.Parse(strings.TrimSpace(a))
		if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" ||
			(u.Scheme != "http" && u.Scheme != "https") {
			return nil, &fio.UsageError{
				Msg:  fmt.Sprintf("address %d of Elasticsearch is not the URL of a server", i+1),
				Hint: "pass one such as https://host:9200",
			}
		}
		if u.User != nil {
			user, password := u.User.Username(), ""
			password, _ = u.User.Password()
			if !explicit {
				if i > 0 && (user != c.Username || password != c.Password) {
					return nil, &fio.UsageError{
						Msg:  "the addresses of Elasticsearch name different users",
						Hint: "all nodes must be of one cluster",
					}
				}
				c.Username, c.Password = user, password
			}
			u.User = nil
		} else if !explicit && c.Username != "" {
			return nil, &fio.UsageError{
				Msg:  "only some addresses of Elasticsearch name a user",
				Hint: "all nodes must be of one cluster",
			}
		}
		if i > 0 && u.Scheme != out[0].Scheme {
			return nil, &fio.UsageError{
				Msg:  "the addresses of Elasticsearch mix http and https",
				Hint: "http would expose the password that https protects",
			}
		}
		u.Path = strings.TrimRight(u.Path, "/")
		out = append(out, u)
	}
	ways := 0
	for _, set := range []bool{c.Username != "" || c.Password != "", c.APIKey != "", c.ServiceToken != ""} {
		if set {
			ways++
		}
	}
	if ways > 1 {
		return nil, &fio.UsageError{
			Msg:  "more than one of user and password, API key, and service token",
			Hint: "pass one of them",
		}
	}
	return out, nil
}

func loopback(nodes []*url.URL) bool {
	for _, n := range nodes {
		ip := net.ParseIP(n.Hostname())
		if n.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}

// String names the cluster for messages, without secrets.
func (c *Client) String() string { return c.where }

// Close releases the connections. Requests under way may fail.
func (c *Client) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := c.es.Close(ctx)
	c.tr.CloseIdleConnections()
	return c.Hide(err)
}

// Request is one call of Elasticsearch's REST API.
type Request struct {
	// Op describes the call in messages: "search runs".
	Op string
	// API is the call without its body: esapi.IndicesCreateRequest{Index: "fio-run"}.
	API esapi.Request
	// Method and Path are the call if esapi has no type or parameter for it. Path includes the query:
	// "/fio-run/_stats?ignore_unavailable=true".
	Method, Path string
	// Body is JSON, or NDJSON for _bulk.
	Body []byte
	// Needs is the privilege to name if it is missing, of those that Elasticsearch offers; "" is one of fiolat's roles.
	Needs string
	// Timeout is the limit for the call; 0 is the client's.
	Timeout time.Duration
}

// send makes the call with a transport that adds the body.
func (r Request) send(ctx context.Context, t transport) (*esapi.Response, error) {
	if r.API != nil {
		return r.API.Do(ctx, t)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.Path, nil)
	if err != nil {
		return nil, err
	}
	res, err := t(req) //nolint:bodyclose // the caller closes esapi.Response
	if err != nil {
		return nil, err
	}
	return &esapi.Response{StatusCode: res.StatusCode, Header: res.Header, Body: res.Body}, nil
}

// transport is the esapi.Transport of one call.
type transport func(*http.Request) (*http.Response, error)

// Perform sends a request.
func (t transport) Perform(req *http.Request) (*http.Response, error) { return t(req) }

// Call makes a request, retries temporary errors for MaxWait, and decodes the reply into out unless that is
// nil. A 404 is a *RefusedError like any other 4xx. A reply that cannot be decoded, or that its method Check,
// if any, rejects, is a temporary error.
func (c *Client) Call(ctx context.Context, r Request, out any) error {
	p := c.Retrier(r.Op, c.MaxWait)
	for {
		data, err := c.Once(ctx, r)
		if err == nil {
			if out == nil {
				return nil
			}
			if err = decodeReply(data, out); err == nil {
				return nil
			}
			err = &TemporaryError{Err: c.Hide(err)}
		}
		if err = p.Wait(ctx, err); err != nil {
			return err
		}
	}
}

// decodeReply decodes a reply. An error of its method Check, if it has one, is an error.
func decodeReply(data []byte, out any) error {
	return checkReply(json.Unmarshal(data, out), out)
}

// checkReply is the second half of decodeReply, for replies that another decoder has read with error err.
func checkReply(err error, out any) error {
	if err != nil {
		return fmt.Errorf("the reply cannot be read: %w", err)
	}
	if r, ok := out.(interface{ Check() error }); ok {
		return r.Check()
	}
	return nil
}

// Once makes a request without retries.
func (c *Client) Once(ctx context.Context, r Request) ([]byte, error) {
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	return c.perform(ctx, r, body, "application/json", "", maxReply)
}

// perform sends a request and reads the whole reply, at most limit bytes of it. Temporary errors are a
// *TemporaryError.
func (c *Client) perform(
	ctx context.Context,
	r Request,
	body io.Reader,
	contentType, encoding string,
	limit int64,
) ([]byte, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if now := time.Now(); c.begun.Load() == nil {
		c.begun.CompareAndSwap(nil, &now)
	}
	timeout := cmp.Or(r.Timeout, c.Timeout)
	one, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%w within %v", ErrNoAnswer, timeout))
	defer cancel()
	var node *url.URL // that the request went to
	res, err := r.send(one, func(req *http.Request) (*http.Response, error) {
		req, err := http.NewRequestWithContext(one, req.Method, req.URL.String(), body)
		if err != nil {
			return nil, err
		}
		if body != nil {
			req.Header.Set("Content-Type", contentType)
			if sized, ok := body.(interface{ Len() int }); ok {
				req.ContentLength = int64(sized.Len())
			}
		}
		if c.Local { // compressed replies would only cost processor time
			req.Header.Set("Accept-Encoding", "identity")
		}
		if encoding != "" {
			req.Header.Set("Content-Encoding", encoding)
		}
		node = req.URL
		return c.es.Perform(req)
	})
	if node == nil {
		return nil, fmt.Errorf("%s: %w", r.Op, c.Hide(err))
	}
	if err != nil {
		return nil, c.transportError(ctx, one, node, err)
	}
	defer res.Body.Close()
	c.answered.Store(true)
	if res.StatusCode < 300 && !c.spoken.Load() && res.Header.Get("X-Elastic-Product") != "Elasticsearch" {
		return nil, fmt.Errorf("%s: %w", r.Op, c.foreign(one))
	}
	data, err := readAtMost(res.Body, limit)
	if errors.Is(err, errLongReply) {
		return nil, err
	}
	if err != nil {
		return nil, c.transportError(ctx, one, node, err)
	}
	if res.StatusCode < 300 {
		c.spoken.Store(true)
		return data, nil
	}
	if err := c.speaksTLS(ctx, node); err != nil {
		return nil, err
	}
	return nil, c.statusError(r, node, res.StatusCode, res.Header, data)
}

// replyBlocks are the parts of long replies, each used again: replies without end are tried again, and what is
// collected late would add up.
var replyBlocks = sync.Pool{New: func() any { return new([1 << 20]byte) }}

// readAtMost reads to the end, at most limit bytes; a longer reply is errLongReply. It takes no more memory for one.
func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	parts, left := [][]byte{make([]byte, 0, min(4<<10, limit+1))}, limit+1
	var used []any
	defer func() {
		for _, b := range used {
			replyBlocks.Put(b)
		}
	}()
	for {
		part := &parts[len(parts)-1]
		n, err := r.Read((*part)[len(*part):cap(*part)])
		*part = (*part)[:len(*part)+n]
		switch left -= int64(n); {
		case left == 0:
			return nil, &TemporaryError{Err: fmt.Errorf("%w than %d bytes", errLongReply, limit)}
		case err == io.EOF && len(parts) == 1:
			return *part, nil
		case err == io.EOF:
			return slices.Concat(parts...), nil
		case err != nil:
			return nil, fmt.Errorf("the reply ends early: %w", err)
		case len(*part) == cap(*part):
			if size := 2 * int64(cap(*part)); size < 1<<20 {
				parts = append(parts, make([]byte, 0, min(size, left)))
				continue
			}
			b := replyBlocks.Get().(*[1 << 20]byte)
			used, parts = append(used, b), append(parts, b[:0:min(1<<20, left)])
		}
	}
}

// transportError classifies an error that occurred before the reply was complete.
func (c *Client) transportError(outer, one context.Context, node *url.URL, err error) error {
	if cause := context.Cause(outer); cause != nil {
		return cause
	}
	if cause := context.Cause(one); cause != nil {
		err = cause // clearer than the transport's error
	}
	if t := trustError(node.Host, err); t != nil {
		return t
	}
	if t := c.speaksTLS(outer, node); t != nil {
		return t
	}
	return &TemporaryError{Err: c.Hide(err)}
}

// Hide replaces an error whose text contains a secret, as proxies may echo what they receive, or what could forge a
// line of a log. It and clean are called wherever text from the network or the server enters.
func (c *Client) Hide(err error) error {
	if err == nil {
		return nil
	}
	if text := c.hidden(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

func (c *Client) clean(why *cause) {
	for ; why != nil; why = why.CausedBy {
		why.Type, why.Reason = c.hidden(why.Type), c.hidden(why.Reason)
	}
}

// hidden returns a text of the server's without secrets, as one line.
func (c *Client) hidden(text string) string {
	text = c.secrets.Hide(text[:min(len(text), 2*maxReason)]) // before cutting, so that no half of a secret shows
	return fio.Printable(text[:min(len(text), maxReason)])
}

// Of a text of the server's, such as the reason of a refusal, so many bytes are kept, and so many characters shown
// without WholeReasons.
const (
	maxReason   = 64 << 10
	reasonShown = 500
)

// shown returns what is shown of a text of so many bytes that is kept.
func (c *Client) shown(text string) string {
	if n := utf8.RuneCountInString(text); n > reasonShown && !c.whole {
		return string([]rune(text)[:reasonShown]) + "... and " + fio.Several(n-reasonShown, "character") + " more"
	}
	return text
}

// Path escapes a name for a request's path, and adds a leading slash.
func Path(name string) string { return "/" + url.PathEscape(name) }
