package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fiolat/internal/alert"
)

// sayer says what is written to it.
type sayer struct{ u *ui }

func (s sayer) Write(p []byte) (int, error) {
	s.u.say("info", "%s", strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// startAlerts starts telling whom the configuration names; nil if nobody.
func startAlerts(cfg alert.Config, u *ui) (*alert.Dispatcher, error) {
	if cfg.Webhook == "" && cfg.Command == "" {
		return nil, nil
	}
	cfg.Output, cfg.Warn = sayer{u}, u.warn
	d, err := alert.New(cfg)
	if err != nil {
		return nil, usagef("--alert-webhook: %v", err)
	}
	return d, nil
}

// alertWait is how long is waited at the end for alerts that are on their way.
const alertWait = 30 * time.Second

// tellLost waits for the alerts, and names those that nobody was told. There may be
// none to wait for.
func (u *ui) tellLost(d *alert.Dispatcher, wait time.Duration) error {
	if d == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	told, lost := d.Close(ctx)
	u.say("info", "alerts     %d delivered, %d not", told, len(lost))
	for _, l := range lost {
		u.say("error", "%s", l.String())
	}
	if len(lost) > 0 {
		return fmt.Errorf("%d alerts were not delivered", len(lost))
	}
	return nil
}

// alertOf is what is told of an event with that document.
func alertOf(id, text string, doc []byte) alert.Event {
	return alert.Event{ID: id, Text: text, Body: append(fmt.Appendf(nil, `{"id":%q,`, id), doc[1:]...)}
}
