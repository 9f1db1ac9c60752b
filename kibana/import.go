package kibana

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/internal/secret"
)

// Config holds the address of Kibana and the credentials. Print only String: the rest has secrets.
type Config struct {
	// URL is Kibana's address, with its base path if it has one. It may contain user and password.
	URL string
	// Space is the id of an existing space; "" is the default space.
	Space string
	// Credentials: user and password, an API key (base64 of id:key) or a service token; none for a Kibana without
	// security.
	Username, Password string
	APIKey             string
	ServiceToken       string
	// HTTP sets TLS trust and timeouts; nil stands for the system's trust and a minute. Redirects are not followed.
	HTTP *http.Client
}

// String returns the address without credentials and query.
func (c Config) String() string {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" {
		return "(not a URL)"
	}
	return u.Scheme + "://" + u.Host + u.EscapedPath()
}

// GoString keeps secrets out of %#v.
func (c Config) GoString() string { return "kibana.Config{" + c.String() + "}" }

// ImportError reports that Kibana failed, refused or only partly did what was requested.
type ImportError struct {
	// Msg says what happened, Hint what to do about it.
	Msg, Hint string
	// Objects are the refused objects, each with Kibana's reason.
	Objects []string
	// Err is the underlying error, if any.
	Err error

	status int // of the reply, if any
}

func (e *ImportError) Error() string {
	var b strings.Builder
	b.WriteString(e.Msg)
	for _, o := range e.Objects {
		b.WriteString("\n  " + o)
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

func (e *ImportError) Unwrap() error { return e.Err }

// Result is Kibana's reply to an import that succeeded completely.
type Result struct {
	Objects  int // imported
	Replaced int // of the imported, those that existed before
	Removed  int // others, which only earlier versions of the bundle had
	Warnings []string
}

const maxReply = 16 << 20 // bytes; a longer reply is cut

var (
	spaceID = regexp.MustCompile(`^[a-z0-9_-]+$`)
	version = regexp.MustCompile(`^([0-9]+)\.([0-9]+)\.`)
)

// conn is a checked connection to one space of a Kibana.
type conn struct {
	Config
	root     *url.URL
	warnings []string
}

// connect checks Kibana's version and that the space exists: Kibana silently accepts objects for a missing space.
func (c Config) connect(ctx context.Context) (*conn, error) {
	u, err := url.Parse(strings.TrimSpace(c.URL))
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https" {
		// The parse error is dropped because it quotes the URL with the password.
		return nil, &fio.UsageError{Msg: "the address of Kibana is not the URL of a server; pass one such as " +
			"https://host:5601"}
	}
	if c.Space != "" && !spaceID.MatchString(c.Space) {
		return nil, &fio.UsageError{Msg: fmt.Sprintf("%q is not a valid space id: use lower-case letters, digits, "+
			"- and _; see Stack Management, Spaces", c.Space)}
	}
	if u.User != nil && c.Username == "" {
		c.Username = u.User.Username()
		c.Password, _ = u.User.Password()
	}
	u.User, u.Path, u.RawPath = nil, strings.TrimRight(u.Path, "/"), ""
	own := http.Client{Timeout: time.Minute}
	if c.HTTP != nil {
		own = *c.HTTP
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.HTTP = &own
	k := &conn{Config: c, root: u}
	if err = k.status(ctx); err != nil {
		return nil, err
	}
	if c.Space == "" || c.Space == "default" {
		return k, nil
	}
	var space struct{ ID string }
	err = k.call(ctx, apiCall{method: http.MethodGet, path: "/api/spaces/space/" + c.Space, noSpace: true}, &space)
	var refused *ImportError
	switch {
	case errors.As(err, &refused) && refused.status == http.StatusNotFound:
		return nil, &ImportError{Msg: fmt.Sprintf("Kibana at %s has no space %q", c, c.Space),
			Hint: "make it in Stack Management, Spaces, or pass the id of another one", status: refused.status}
	case errors.As(err, &refused) && refused.status == http.StatusForbidden:
		return nil, &ImportError{Msg: fmt.Sprintf("Kibana at %s does not let this user see the space %q (403)", c,
			c.Space), Hint: "pass a user who has rights in it", status: refused.status}
	case err != nil:
		return nil, err
	case space.ID != c.Space:
		return nil, &ImportError{Msg: fmt.Sprintf("the reply of %s for the space %q is not Kibana's", c, c.Space),
			Hint: "is that the address of Kibana?"}
	}
	return k, nil
}

// status checks that Kibana is ready and that its version can read the objects.
func (k *conn) status(ctx context.Context) error {
	var status struct {
		Version struct{ Number string }
		Status  struct {
			Overall struct{ Level string }
		}
	}
	if err := k.call(ctx, apiCall{method: http.MethodGet, path: "/api/status", noSpace: true}, &status); err != nil {
		return err
	}
	n := version.FindString(status.Version.Number)
	if n == "" { // Kibana hides the version without a login
		if status.Status.Overall.Level == "" {
			return &ImportError{Msg: fmt.Sprintf("the reply of %s is not Kibana's", k),
				Hint: "is that the address of Kibana, and not of a proxy or of Elasticsearch?"}
		}
		return nil
	}
	switch old, newer := fio.SupportedElastic(n); {
	case old:
		return &ImportError{Msg: fmt.Sprintf("Kibana at %s is version %s; %s or newer is required", k,
			k.safe(status.Version.Number), fio.OldestElastic), Hint: "update Kibana"}
	case newer:
		k.warnings = append(k.warnings, fmt.Sprintf("version %s is newer than the supported %s: check that all panels "+
			"work", k.safe(status.Version.Number), fio.ElasticVersions))
	}
	return nil
}

// apiCall is a request to Kibana.
type apiCall struct {
	method, path string
	query        url.Values
	noSpace      bool   // the path is not below the space
	body         []byte // JSON unless form is set
	form         string // content type of body
}

// call makes a request and decodes its reply into out, unless that is nil; a *[]byte gets the reply as is. Any status
// but 200 and 204 is an error.
func (k *conn) call(ctx context.Context, r apiCall, out any) error {
	u := *k.root
	if !r.noSpace && k.Space != "" && k.Space != "default" {
		u.Path += "/s/" + k.Space
	}
	u.Path += r.path
	u.RawQuery = r.query.Encode()
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), bytes.NewReader(r.body))
	if err != nil {
		return &fio.UsageError{Msg: "the address of Kibana is not the URL of a server; pass one such as " +
			"https://host:5601"}
	}
	if r.body != nil {
		req.Header.Set("Content-Type", cmp.Or(r.form, "application/json"))
	}
	req.Header.Set("kbn-xsrf", "true")
	req.Header.Set("User-Agent", "fiolat")
	switch {
	case k.APIKey != "":
		req.Header.Set("Authorization", "ApiKey "+k.APIKey)
	case k.ServiceToken != "":
		req.Header.Set("Authorization", "Bearer "+k.ServiceToken)
	case k.Username != "":
		req.SetBasicAuth(k.Username, k.Password)
	}
	res, err := k.HTTP.Do(req)
	if err != nil {
		return k.unreachable(ctx, err)
	}
	defer res.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	if err != nil {
		return k.unreachable(ctx, err)
	}
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNoContent {
		return k.refused(res, reply)
	}
	if raw, ok := out.(*[]byte); ok {
		*raw = reply
		return nil
	}
	if out == nil || res.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.Unmarshal(reply, out); err != nil {
		return &ImportError{Msg: fmt.Sprintf("the reply of %s (status 200) is not Kibana's", k), Err: err,
			Hint: "is that the address of Kibana?"}
	}
	return nil
}

// Import imports the bundle for the indices of a prefix, replacing existing objects, and removes those that only
// earlier versions of the bundle had. Kibana answers 200 even if an import fails, so the counts in its reply decide.
// Any error is a *fio.UsageError or an *ImportError, unless the context ended.
func Import(ctx context.Context, c Config, prefix string) (*Result, error) {
	k, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	ndjson, err := bundle(prefix)
	if err != nil {
		return nil, err
	}
	sent, err := objects(ndjson)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer // writes to it cannot fail
	form := multipart.NewWriter(&body)
	file, _ := form.CreateFormFile("file", prefix+".ndjson") // Kibana refuses any other extension
	_, _ = file.Write(ndjson)
	_ = form.Close()
	var reply []byte
	if err = k.call(ctx, apiCall{method: http.MethodPost, path: "/api/saved_objects/_import",
		query: url.Values{"overwrite": {"true"}},
		body:  body.Bytes(), form: form.FormDataContentType()}, &reply); err != nil {
		return nil, err
	}
	out, err := k.read(reply, len(sent))
	if err != nil {
		return nil, err
	}
	retired := shippedObjects(prefix)
	for _, o := range sent {
		delete(retired, o)
	}
	if out.Removed, err = k.remove(ctx, retired); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return out, cause
		}
		out.Warnings = append(out.Warnings, fmt.Sprintf("objects of an older fiolat may still be there: %v", err))
	}
	out.Warnings = append(k.warnings, out.Warnings...)
	return out, nil
}

func (c Config) unreachable(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var wrapped *url.Error // would repeat the method and the whole address
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return &ImportError{Msg: fmt.Sprintf("cannot reach Kibana at %s: %s", c, c.safe(err.Error())), Err: err,
		Hint: "is it running, and is the port right (5601)? If only its reply was lost, importing again is safe"}
}

// refused returns the error for a status other than 200 and 204.
func (c Config) refused(res *http.Response, reply []byte) error {
	var r struct {
		Message string `json:"message"`
	}
	isKibana := json.Unmarshal(reply, &r) == nil
	e := &ImportError{status: res.StatusCode}
	switch status := res.StatusCode; {
	case status >= 300 && status < 400:
		to, err := url.Parse(res.Header.Get("Location"))
		where := "elsewhere"
		if err == nil {
			where = Config{URL: res.Request.URL.ResolveReference(to).String()}.String()
		}
		e.Msg = fmt.Sprintf("%s redirects to %s", c, c.safe(where))
		e.Hint = "credentials are not sent there; pass Kibana's own address, with its base path"
	case status == http.StatusUnauthorized && c.Username == "" && c.APIKey == "" && c.ServiceToken == "":
		e.Msg, e.Hint = fmt.Sprintf("Kibana at %s requires authentication (401)", c),
			"set KIBANA_API_KEY, or KIBANA_USERNAME and KIBANA_PASSWORD"
	case status == http.StatusUnauthorized:
		e.Msg = fmt.Sprintf("Kibana at %s does not accept the credentials (401)", c)
	case status == http.StatusForbidden:
		e.Msg = fmt.Sprintf("Kibana at %s does not let this user do that (403): %s", c, c.safe(r.Message))
		e.Hint = "the user needs privileges to manage saved objects, dashboards, visualizations and data views in " +
			"the space, and for alert rules all privileges of Stack Rules"
	case status == http.StatusNotFound:
		e.Msg, e.Hint = fmt.Sprintf("there is no Kibana at %s (404)", c), "is its base path (server.basePath) in the "+
			"address?"
	case status == http.StatusServiceUnavailable:
		e.Msg, e.Hint = fmt.Sprintf("Kibana at %s is not ready (503)", c), "try again when it is"
	case !isKibana:
		e.Msg, e.Hint = fmt.Sprintf("the reply of %s (status %d) is not Kibana's", c, status),
			"is that the address of Kibana, and not of a proxy or of Elasticsearch?"
	default:
		e.Msg = fmt.Sprintf("Kibana at %s refuses with %d: %s", c, status, c.safe(r.Message))
	}
	return e
}

// read evaluates a reply with status 200 to an import of sent objects.
func (c Config) read(reply []byte, sent int) (*Result, error) {
	var r struct {
		Success      *bool `json:"success"`
		SuccessCount int   `json:"successCount"`
		Warnings     []struct {
			Message string `json:"message"`
		} `json:"warnings"`
		SuccessResults []struct {
			Overwrite bool `json:"overwrite"`
		} `json:"successResults"`
		Errors []struct {
			Type string `json:"type"`
			ID   string `json:"id"`
			Meta struct {
				Title string `json:"title"`
			} `json:"meta"`
			Error struct {
				Type       string `json:"type"`
				Message    string `json:"message"`
				References []struct {
					Type string `json:"type"`
					ID   string `json:"id"`
				} `json:"references"`
			} `json:"error"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(reply, &r); err != nil || r.Success == nil {
		return nil, &ImportError{Msg: fmt.Sprintf("the reply of %s to the import is not Kibana's", c), Err: err,
			Hint: "is that the address of Kibana? It is unknown which objects were imported"}
	}
	if *r.Success && r.SuccessCount == sent && len(r.Errors) == 0 {
		out := &Result{Objects: r.SuccessCount}
		for _, s := range r.SuccessResults {
			if s.Overwrite {
				out.Replaced++
			}
		}
		for _, w := range r.Warnings {
			out.Warnings = append(out.Warnings, c.safe(w.Message))
		}
		return out, nil
	}
	e := &ImportError{Msg: fmt.Sprintf("Kibana at %s imported %d of %d objects", c, r.SuccessCount, sent)}
	for _, f := range r.Errors {
		what := fmt.Sprintf("%s %s (%s): %s", f.Type, f.ID, f.Meta.Title, f.Error.Type)
		switch f.Error.Type {
		case "missing_references", "conflict", "ambiguous_conflict":
			e.Msg = fmt.Sprintf("Kibana at %s imported none of %d objects", c, sent)
		}
		if f.Error.Message != "" {
			what += ": " + f.Error.Message
		}
		for _, m := range f.Error.References {
			what += fmt.Sprintf(", %s %s", m.Type, m.ID)
		}
		e.Objects = append(e.Objects, c.safe(what))
	}
	return nil, e
}

// safe returns text of a server without control characters and secrets.
func (c Config) safe(s string) string {
	return fio.Printable(secret.Credentials(c.Username, c.Password, c.APIKey, c.ServiceToken).Hide(s))
}
