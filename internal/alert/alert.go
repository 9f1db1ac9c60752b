// Package alert tells others of events while a run goes on: a webhook by POST, a
// command by its standard input. It never holds up whoever raises an event, and never
// forgets one: what could not be delivered is returned by Close. It does not decide
// what is worth an alert, and does not remember across processes what was told.
//
// It is called by fiolat live and fiolat probe.
package alert

import (
	"bytes"
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
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Headers of a request.
const (
	// IDHeader names the event; it is the same however often it is sent.
	IDHeader = "Fiolat-Event-Id"
	// SignatureHeader is "sha256=" and the HMAC-SHA256 of the body in hex, where there
	// is a secret.
	SignatureHeader = "Fiolat-Signature"
)

const (
	// queued is how many events may wait for a target.
	queued = 1000
	// attemptTime is how long a request, or the command, may take.
	attemptTime = 10 * time.Second
)

// Config says whom to tell. The zero value of a field is its default.
type Config struct {
	// Webhook is an http or https URL; "" for none. It may hold a secret, so only its
	// host is ever named.
	Webhook string
	// Secret signs the requests; none without one.
	Secret []byte
	// Command is a line for sh, which gets the event on its standard input. Of the
	// environment it gets PATH, HOME, LANG, FIOLAT_EVENT_ID, and the variables named in
	// Env: it must not hold the secrets of whoever runs us.
	Command string
	Env     []string
	// MaxWait is how long a request is tried again; default 10 min.
	MaxWait time.Duration
	// Output is where the command's own output goes; default nowhere.
	Output io.Writer
	// Warn is told of attempts that failed, from several goroutines.
	Warn func(msg string)

	first time.Duration // pause after the first failure
}

// Event is what is told.
type Event struct {
	ID string
	// Text names it for people, Body is the JSON that is sent.
	Text string
	Body []byte
}

// Undelivered is an event that a target was not told.
type Undelivered struct {
	Event  Event
	Target string
	Err    error
}

func (u Undelivered) String() string {
	return fmt.Sprintf("%s was not told: %s: %v", u.Target, u.Event.Text, u.Err)
}

// Dispatcher tells all targets, each in the order of the events.
type Dispatcher struct {
	cfg     Config
	targets []*target
	ctx     context.Context // of the deliveries
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	mu      sync.Mutex // guards lost and told
	lost    []Undelivered
	told    int
}

type target struct {
	name  string
	tell  func(context.Context, Event) error
	again bool // what failed is tried again
	queue chan Event
}

// New starts a Dispatcher, which must be closed.
func New(cfg Config) (*Dispatcher, error) {
	if cfg.MaxWait == 0 {
		cfg.MaxWait = 10 * time.Minute
	}
	if cfg.first == 0 {
		cfg.first = 500 * time.Millisecond
	}
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
			// A POST that is sent elsewhere becomes a GET without its body.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		d.targets = append(d.targets, &target{name: "the webhook at " + u.Host, again: true, tell: func(ctx context.Context, e Event) error {
			return d.post(ctx, client, e)
		}})
	}
	if cfg.Command != "" {
		d.targets = append(d.targets, &target{name: "the command", tell: d.run})
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	for _, t := range d.targets {
		t.queue = make(chan Event, queued)
		d.wg.Add(1)
		go func() {
			defer d.wg.Done()
			for e := range t.queue {
				d.deliver(t, e)
			}
		}()
	}
	return d, nil
}

// Raise has all targets told of an event, and does not wait for it.
func (d *Dispatcher) Raise(e Event) {
	for _, t := range d.targets {
		select {
		case t.queue <- e:
		default:
			d.lose(t, e, fmt.Errorf("%d events wait already", queued))
		}
	}
}

// Close waits until all events are delivered or ctx ends, and returns how many
// deliveries there were, and those that were not. Raise must not be called any more.
func (d *Dispatcher) Close(ctx context.Context) (told int, lost []Undelivered) {
	for _, t := range d.targets {
		close(t.queue)
	}
	stop := context.AfterFunc(ctx, d.cancel)
	d.wg.Wait()
	stop()
	d.cancel()
	return d.told, d.lost
}

func (d *Dispatcher) lose(t *target, e Event, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lost = append(d.lost, Undelivered{e, t.name, err})
}

// final is an error that trying again does not mend.
type final struct{ error }

// deliver tries until the target has taken the event, or never will.
func (d *Dispatcher) deliver(t *target, e Event) {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = d.cfg.first, 30*time.Second
	until := time.Now().Add(d.cfg.MaxWait)
	for {
		err := t.tell(d.ctx, e)
		if err == nil {
			d.mu.Lock()
			d.told++
			d.mu.Unlock()
			return
		}
		next := pause.NextBackOff()
		var never final
		if !t.again || errors.As(err, &never) || d.ctx.Err() != nil || time.Now().Add(next).After(until) {
			d.lose(t, e, err)
			return
		}
		d.cfg.Warn(fmt.Sprintf("%s: %v; trying again in %v", t.name, err, next.Round(time.Millisecond)))
		select {
		case <-time.After(next):
		case <-d.ctx.Done():
			d.lose(t, e, err)
			return
		}
	}
}

// post sends the event to the webhook; any 2xx says that it was taken.
func (d *Dispatcher) post(ctx context.Context, client *http.Client, e Event) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.cfg.Webhook, bytes.NewReader(e.Body))
	if err != nil {
		return final{errors.New("not a URL to send to")}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "fiolat")
	req.Header.Set(IDHeader, e.ID)
	if len(d.cfg.Secret) > 0 {
		req.Header.Set(SignatureHeader, Sign(d.cfg.Secret, e.Body))
	}
	res, err := client.Do(req)
	if err != nil {
		var whole *url.Error // it names the URL
		if errors.As(err, &whole) {
			err = whole.Err
		}
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
	switch c := res.StatusCode; {
	case c/100 == 2:
		return nil
	case c/100 == 5, c == http.StatusRequestTimeout, c == http.StatusTooManyRequests, c == http.StatusTooEarly:
		return errors.New(res.Status)
	}
	return final{errors.New(res.Status)}
}

// Sign is the value of SignatureHeader for a body.
func Sign(secret, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// run runs the command once: what it has done before it failed, nobody knows.
func (d *Dispatcher) run(ctx context.Context, e Event) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", d.cfg.Command)
	cmd.Stdin = bytes.NewReader(append(bytes.Clone(e.Body), '\n'))
	cmd.Env = []string{"FIOLAT_EVENT_ID=" + e.ID}
	for _, name := range slices.Concat([]string{"PATH", "HOME", "LANG"}, d.cfg.Env) {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.Stdout, cmd.Stderr = d.cfg.Output, d.cfg.Output
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("it took longer than %v, or fiolat ended", attemptTime)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && strings.Contains(err.Error(), "broken pipe") {
		return nil // it did not want to read all of it
	}
	return err
}
