package client

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Pauses double, each within a half of what it should be, and no two clients are
// in step.
func TestPausesDoubleWithJitter(t *testing.T) {
	var waits []time.Duration
	_, c := standIn(t)
	c.onWait = func(w Wait) { waits = append(waits, w.Next) }
	a, b := c.Retrier("a", time.Hour), c.Retrier("b", time.Hour)
	apart := false
	for n, want := 0, 10*time.Millisecond; n < 5; n, want = n+1, 2*want {
		waits = nil
		for _, p := range []*Retrier{a, b} {
			if err := p.Wait(t.Context(), &TemporaryError{Err: errors.New("x")}); err != nil {
				t.Fatal(err)
			}
			if got := waits[len(waits)-1]; got < want/2 || got > want*3/2 {
				t.Errorf("pause %d is %v, want about %v", n+1, got, want)
			}
		}
		apart = apart || waits[0] != waits[1]
	}
	if !apart {
		t.Error("two clients wait in step")
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	for h, want := range map[string]time.Duration{"": 0, "17": 17 * time.Second, "-3": 0, "x": 0,
		"Sat, 01 Aug 2026 00:00:05 GMT": 5 * time.Second, "Fri, 31 Jul 2026 00:00:05 GMT": 0, "99999999999999": 0} {
		if got := retryAfter(h, now); got != want {
			t.Errorf("%q: %v, want %v", h, got, want)
		}
	}
}

// A cluster of which no node has ever answered is given up after MaxUnreached, in silence until then, by all that
// asks it; one that has answered once is waited for as long as any.
func TestNeverReached(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	said := 0
	cfg := Config{Addresses: []string{gone.URL}, MaxWait: time.Hour, MaxUnreached: 100 * time.Millisecond,
		OnWait: func(Wait) { said++ }}
	c := testClient(t, cfg)
	for _, op := range []string{"first", "second"} {
		err := c.Call(t.Context(), Request{Op: op, Method: "GET", Path: "/"}, nil)
		var away *UnavailableError
		if !errors.As(err, &away) || away.Never != c.String() || away.Waited < cfg.MaxUnreached ||
			away.Waited > time.Minute || !strings.Contains(err.Error(), gone.URL+" was never reached: dial tcp") {
			t.Errorf("%s: %v", op, err)
		}
	}
	if said > 0 {
		t.Errorf("%d waits were told of", said)
	}

	s, _ := standIn(t)
	cfg.Addresses, cfg.OnWait, cfg.MaxWait = []string{s.URL}, nil, 300*time.Millisecond
	c = testClient(t, cfg)
	err := c.Call(t.Context(), Request{Op: "first", Method: "GET", Path: "/_no_such_endpoint"}, nil)
	var refused *RefusedError // which is an answer
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	s.Close()
	err = c.Call(t.Context(), Request{Op: "second", Method: "GET", Path: "/_no_such_endpoint"}, nil)
	var away *UnavailableError
	if !errors.As(err, &away) || away.Never != "" || away.Waited < cfg.MaxWait {
		t.Errorf("after it went: %v", err)
	}
}
