// Package alert delivers events while a run is in progress: to a webhook by POST, to a
// command on its standard input. Raising an event never blocks. Close returns the events
// that could not be delivered. The package neither decides what is worth an alert nor
// keeps state across processes.
package alert

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/cenkalti/backoff/v5"

	"fiolat/internal/again"
)

// Headers of a request.
const (
	// IDHeader identifies the event; it is the same for every attempt.
	IDHeader = "Fiolat-Event-Id"
	// SignatureHeader is "sha256=" and the HMAC-SHA256 of the body in hex, if there is a
	// secret.
	SignatureHeader = "Fiolat-Signature"
)

const (
	// queued is the number of events that may wait for a target.
	queued = 1000
	// attemptTime is the time limit of a request or of the command.
	attemptTime = 10 * time.Second
)

// Config lists the targets. The zero value of a field is its default.
type Config struct {
	// Webhook is an http or https URL; "" for none. It may contain a secret, so messages
	// contain only its host.
	Webhook string
	// Secret is the key of the requests' signatures; without it there are none.
	Secret []byte
	// Command is run by sh with the event on its standard input. Its environment has PATH, HOME, LANG and
	// FIOLAT_EVENT_ID, and nothing else: the parent's environment may contain secrets.
	Command string
	// MaxWait is how long a failed request is retried; default 10 min.
	MaxWait time.Duration
	// Output receives the command's output; by default it is discarded.
	Output io.Writer
	// Warn is called for failed attempts, from several goroutines.
	Warn func(msg string)

	first time.Duration // pause after the first failure
}

// Event is one event to deliver.
type Event struct {
	ID string
	// Text describes the event in messages, Body is the JSON to send.
	Text string
	Body []byte
}

// Undelivered is an event that did not reach a target.
type Undelivered struct {
	Event  Event
	Target string
	Err    error
}

func (u Undelivered) String() string {
	return fmt.Sprintf("not delivered to %s: %s: %v", u.Target, u.Event.Text, u.Err)
}

// Dispatcher delivers events to all targets, in order for each target.
type Dispatcher struct {
	cfg     Config
	targets []*target
	ctx     context.Context // of the deliveries
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	mu      sync.Mutex // guards lost and sent
	lost    []Undelivered
	sent    int
}

type target struct {
	name  string
	send  func(context.Context, Event) error
	retry bool
	queue chan Event
}

// New starts a Dispatcher. The caller must close it.
func New(cfg Config) (*Dispatcher, error) {
	cfg.MaxWait = cmp.Or(cfg.MaxWait, 10*time.Minute)
	cfg.first = cmp.Or(cfg.first, 500*time.Millisecond)
	if cfg.Warn == nil {
		cfg.Warn = func(string) {}
	}
	d := &Dispatcher{cfg: cfg}
	if cfg.Webhook != "" {
		u, err := url.Parse(cfg.Webhook)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, errors.New("want an http or https URL")
		}
		client := &http.Client{
			Timeout: attemptTime,
			// A redirected POST would become a GET without its body.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		post := func(ctx context.Context, e Event) error { return d.post(ctx, client, e) }
		d.targets = append(d.targets, &target{name: "the webhook at " + u.Host, retry: true, send: post})
	}
	if cfg.Command != "" {
		d.targets = append(d.targets, &target{name: "the command", send: d.run})
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	for _, t := range d.targets {
		t.queue = make(chan Event, queued)
		d.wg.Go(func() {
			for e := range t.queue {
				d.deliver(t, e)
			}
		})
	}
	return d, nil
}

// Raise queues an event for all targets and returns at once.
func (d *Dispatcher) Raise(e Event) {
	for _, t := range d.targets {
		select {
		case t.queue <- e:
		default:
			d.lose(t, e, fmt.Errorf("%d events are already waiting", queued))
		}
	}
}

// Close waits until all events are delivered or ctx ends. It returns the number of
// deliveries and the events that were not delivered. Raise must not be called after it.
func (d *Dispatcher) Close(ctx context.Context) (sent int, lost []Undelivered) {
	for _, t := range d.targets {
		close(t.queue)
	}
	stop := context.AfterFunc(ctx, d.cancel)
	d.wg.Wait()
	stop()
	d.cancel()
	return d.sent, d.lost
}

func (d *Dispatcher) lose(t *target, e Event, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lost = append(d.lost, Undelivered{e, t.name, err})
}

// permanentError is an error that a retry cannot resolve.
type permanentError struct{ error }

// deliver sends an event, with retries, until it succeeds or fails for good.
func (d *Dispatcher) deliver(t *target, e Event) {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = d.cfg.first, 30*time.Second
	until := time.Now().Add(d.cfg.MaxWait)
	for { //nolint:endless // until then
		err := t.send(d.ctx, e)
		if err == nil {
			d.mu.Lock()
			d.sent++
			d.mu.Unlock()
			return
		}
		next := pause.NextBackOff()
		var never permanentError
		if !t.retry || errors.As(err, &never) || d.ctx.Err() != nil || time.Now().Add(next).After(until) {
			d.lose(t, e, err)
			return
		}
		d.cfg.Warn(fmt.Sprintf("%s: %v; retrying in %v", t.name, err, next.Round(time.Millisecond)))
		select {
		case <-time.After(next):
		case <-d.ctx.Done():
			d.lose(t, e, err)
			return
		}
	}
}

// post sends the event to the webhook; any 2xx is success.
func (d *Dispatcher) post(ctx context.Context, client *http.Client, e Event) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.cfg.Webhook, bytes.NewReader(e.Body))
	if err != nil {
		return permanentError{errors.New("not a valid URL")}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "fiolat")
	req.Header.Set(IDHeader, e.ID)
	if len(d.cfg.Secret) > 0 {
		req.Header.Set(SignatureHeader, Sign(d.cfg.Secret, e.Body))
	}
	res, err := client.Do(req)
	if err != nil {
		var whole *url.Error // its text contains the URL
		if errors.As(err, &whole) {
			err = whole.Err
		}
		return err
	}
	defer res.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // all of it allows the connection to be reused
	status := fmt.Errorf("%d %s%s", res.StatusCode, http.StatusText(res.StatusCode), d.shown(answer))
	switch c := res.StatusCode; {
	case c/100 == 2:
		return nil
	case again.Status(c):
		return status
	}
	return permanentError{status}
}

// mostAnswer is how much of an answer's body is shown, in bytes.
const mostAnswer = 200

// shown returns the beginning of the body of an answer for a message, on one line and without what may be secret: an
// answer may repeat the URL.
func (d *Dispatcher) shown(body []byte) string {
	text := strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(string(body), "?"))), " ")
	secrets := []string{string(d.cfg.Secret)}
	if u, err := url.Parse(d.cfg.Webhook); err == nil {
		password, _ := u.User.Password()
		secrets = append(secrets, d.cfg.Webhook, u.RequestURI(), u.Path, u.RawQuery, password)
		secrets = append(secrets, strings.FieldsFunc(u.RequestURI()+"/"+u.Path, func(r rune) bool {
			return strings.ContainsRune("/?&=", r)
		})...)
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, secret := range secrets {
		if len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, "...")
		}
	}
	if len(text) > mostAnswer {
		text = strings.ToValidUTF8(text[:mostAnswer], "") + "..."
	}
	if text != "" {
		text = ": " + text
	}
	return text
}

// Sign returns the value of SignatureHeader for a body.
func Sign(secret, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// run runs the command once: it may have had effects before it failed, so there is no retry.
func (d *Dispatcher) run(ctx context.Context, e Event) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", d.cfg.Command)
	cmd.Stdin = bytes.NewReader(append(bytes.Clone(e.Body), '\n'))
	cmd.Env = []string{"FIOLAT_EVENT_ID=" + e.ID}
	for _, name := range []string{"PATH", "HOME", "LANG"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.Stdout, cmd.Stderr = d.cfg.Output, d.cfg.Output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that what it started ends with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("not finished within %v, or fiolat was stopped", attemptTime)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && strings.Contains(err.Error(), "broken pipe") {
		return nil // the command did not read all of its input
	}
	return err
}
