package client

import (
	"errors"
	"testing"
	"time"
)

// Pauses double, each within a half of what it should be, and no two clients are
// in step.
func TestPausesDoubleWithJitter(t *testing.T) {
	var waits []time.Duration
	_, c := standIn(t)
	c.onWait = func(w Wait) { waits = append(waits, w.Next) }
	a, b := c.Pace("a", time.Hour), c.Pace("b", time.Hour)
	apart := false
	for n, want := 0, 10*time.Millisecond; n < 5; n, want = n+1, 2*want {
		waits = nil
		for _, p := range []*Pace{a, b} {
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
