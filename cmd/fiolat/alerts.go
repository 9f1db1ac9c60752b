package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/internal/alert"
	"fiolat/internal/ui"
)

// infoWriter prints what is written to it as an info message.
type infoWriter struct{ u *ui.UI }

func (s infoWriter) Write(p []byte) (int, error) {
	s.u.Say("info", "%s", strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// startAlerts starts sending alerts to the webhook and the command of cfg; nil if it has neither.
func startAlerts(cfg alert.Config, u *ui.UI) (*alert.Dispatcher, error) {
	if cfg.Webhook == "" && cfg.Command == "" {
		return nil, nil
	}
	cfg.Output, cfg.Warn = infoWriter{u}, u.Warn
	d, err := alert.New(cfg)
	if err != nil {
		return nil, fio.Usagef("--alert-webhook: %v", err)
	}
	return d, nil
}

// alertWait is how long a command waits at its end for alerts in flight.
const alertWait = 30 * time.Second

// reportLost waits for alerts in flight, and reports those that were not delivered. d
// may be nil.
func reportLost(u *ui.UI, d *alert.Dispatcher, wait time.Duration) error {
	if d == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	delivered, lost := d.Close(ctx)
	u.Say("info", "alerts     %d delivered, %d not", delivered, len(lost))
	for _, l := range lost {
		u.Say("error", "%s", l.String())
	}
	if len(lost) > 0 {
		return fmt.Errorf("not delivered: %s", fio.Several(len(lost), "alert"))
	}
	return nil
}

// send delivers alerts and waits for that.
func (o *alertOptions) send(u *ui.UI, alerts []alert.Event) error {
	if len(alerts) == 0 {
		return nil
	}
	d, err := startAlerts(o.Config, u)
	if err != nil || d == nil {
		return err
	}
	for _, a := range alerts {
		d.Raise(a)
	}
	return reportLost(u, d, alertWait)
}

// alertOf returns the alert of an event. doc is its document, a JSON object with at least one field.
func alertOf(id, text string, doc []byte) alert.Event {
	return alert.Event{ID: id, Text: text, Body: append(fmt.Appendf(nil, `{"id":%q,`, id), doc[1:]...)}
}
