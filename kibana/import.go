package kibana

import (
	"bytes"
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

	"fiolat/ingest"
	"fiolat/internal/secret"
)

// Config says where Kibana is and who we are. It holds secrets: print String.
type Config struct {
	// URL is Kibana's address with its base path, if it has one. User and password
	// may be part of it.
	URL string
	// Space is the id of a space that exists; "" is the default one.
	Space string
	// One of user and password, API key (base64 of id:key) and service token; none
	// for a Kibana without security.
	Username, Password string
	APIKey             string
	ServiceToken       string
	// HTTP decides whom to trust and how long to wait. It must follow no redirect.
	HTTP *http.Client
}

// String names the address without what may be secret in it.
func (c Config) String() string {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" {
		return "(not a URL)"
	}
	return u.Scheme + "://" + u.Host + u.EscapedPath()
}

// GoString keeps secrets out of %#v.
func (c Config) GoString() string { return "kibana.Config{" + c.String() + "}" }

// UsageError is a setting that cannot be; nothing was sent.
type UsageError struct{ Msg string }

func (e *UsageError) Error() string { return e.Msg }

// ImportError says that Kibana did not import everything.
type ImportError struct {
	// Msg is what happened, Hint what to do about it.
	Msg, Hint string
	// Objects are those that were refused, with Kibana's reason.
	Objects []string
	// Err is the cause below, if there is one.
	Err error
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

// Result is what Kibana said of an import that succeeded as a whole.
type Result struct {
	Objects  int // imported
	Replaced int // of them, those that were there before
	Warnings []string
}

const maxReply = 16 << 20 // bytes of a reply that are read at most

var spaceID = regexp.MustCompile(`^[a-z0-9_-]+$`)

// Import sends the bundle for the indices of a prefix to Kibana, in place of what it
// has of it. Kibana answers 200 also to an import that failed in part or as a whole:
// nothing is believed imported but what its reply counts. Any error is a *UsageError
// or an *ImportError, unless the context ended.
func Import(ctx context.Context, c Config, prefix string) (*Result, error) {
	u, err := url.Parse(strings.TrimSpace(c.URL))
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https" {
		// A parse error quotes its URL, password and all: it is not passed on.
		return nil, &UsageError{"the address of Kibana is not the URL of a server; it looks like https://host:5601"}
	}
	if c.Space != "" && !spaceID.MatchString(c.Space) {
		return nil, &UsageError{fmt.Sprintf("%q is no id of a space: lower-case letters, digits, - and _; see Stack Management, Spaces", c.Space)}
	}
	if u.User != nil && c.Username == "" {
		c.Username = u.User.Username()
		c.Password, _ = u.User.Password()
	}
	u.User = nil
	path := strings.TrimRight(u.Path, "/")
	if c.Space != "" && c.Space != "default" {
		path += "/s/" + c.Space
	}
	u.Path, u.RawPath, u.RawQuery = path+"/api/saved_objects/_import", "", "overwrite=true"

	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	file, err := form.CreateFormFile("file", prefix+".ndjson") // another ending is refused
	if err == nil {
		err = Write(file, prefix)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("make the bundle: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), &body)
	if err != nil {
		return nil, &UsageError{"the address of Kibana is not the URL of a server; it looks like https://host:5601"}
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("kbn-xsrf", "true")
	req.Header.Set("User-Agent", "fiolat")
	switch {
	case c.APIKey != "":
		req.Header.Set("Authorization", "ApiKey "+c.APIKey)
	case c.ServiceToken != "":
		req.Header.Set("Authorization", "Bearer "+c.ServiceToken)
	case c.Username != "":
		req.SetBasicAuth(c.Username, c.Password)
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	defer res.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, c.refused(res, reply)
	}
	return c.read(reply, len(Bundle(prefix)))
}

func (c Config) unreachable(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var wrapped *url.Error // says POST and the whole address again
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return &ImportError{Msg: fmt.Sprintf("cannot reach Kibana at %s: %s", c, c.safe(err.Error())), Err: err,
		Hint: "does it run, and is that its port (5601)? If only its reply was lost: importing again does no harm"}
}

// refused explains a status that is not 200.
func (c Config) refused(res *http.Response, reply []byte) error {
	var r struct {
		Message string `json:"message"`
	}
	isKibana := json.Unmarshal(reply, &r) == nil
	e := &ImportError{}
	switch status := res.StatusCode; {
	case status >= 300 && status < 400:
		to, err := url.Parse(res.Header.Get("Location"))
		where := "elsewhere"
		if err == nil {
			where = Config{URL: res.Request.URL.ResolveReference(to).String()}.String()
		}
		e.Msg = fmt.Sprintf("%s redirects to %s", c, c.safe(where))
		e.Hint = "credentials are not sent there; pass the address that Kibana itself is at, with its base path"
	case status == http.StatusUnauthorized && c.Username == "" && c.APIKey == "" && c.ServiceToken == "":
		e.Msg, e.Hint = fmt.Sprintf("Kibana at %s asks who we are (401)", c), "set KIBANA_API_KEY, or KIBANA_USERNAME and KIBANA_PASSWORD"
	case status == http.StatusUnauthorized:
		e.Msg = fmt.Sprintf("Kibana at %s does not accept the credentials (401)", c)
	case status == http.StatusForbidden:
		e.Msg = fmt.Sprintf("Kibana at %s does not let this user import (403): %s", c, c.safe(r.Message))
		e.Hint = "it takes the right to manage saved objects, dashboards, visualizations and data views in the space"
	case status == http.StatusNotFound && c.Space != "" && isKibana:
		e.Msg = fmt.Sprintf("Kibana at %s has no space %q", c, c.Space)
		e.Hint = "make it in Stack Management, Spaces, or pass the id of another one"
	case status == http.StatusNotFound:
		e.Msg, e.Hint = fmt.Sprintf("there is no Kibana at %s (404)", c), "is its base path (server.basePath) in the address?"
	case status == http.StatusServiceUnavailable:
		e.Msg, e.Hint = fmt.Sprintf("Kibana at %s is not ready (503)", c), "try again when it is"
	case !isKibana:
		e.Msg, e.Hint = fmt.Sprintf("%s answers %d, and not as Kibana does", c, status), "is that the address of Kibana, and not of a proxy or of Elasticsearch?"
	default:
		e.Msg = fmt.Sprintf("Kibana at %s refuses the import with %d: %s", c, status, c.safe(r.Message))
		if status == http.StatusUnprocessableEntity {
			e.Hint = "is it older than 8.12?"
		}
	}
	return e
}

// read is what Kibana's reply of 200 says.
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
		return nil, &ImportError{Msg: fmt.Sprintf("%s answers 200, but not as Kibana's import does", c), Err: err,
			Hint: "is that the address of Kibana? What it imported is not known"}
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
			e.Msg = fmt.Sprintf("Kibana at %s imported nothing of %d objects", c, sent)
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

// safe is text of a server without control characters and without our secrets.
func (c Config) safe(s string) string {
	return ingest.Printable(secret.Credentials(c.Username, c.Password, c.APIKey, c.ServiceToken).Hide(s))
}
