package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fiolat/esmodel"
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
func (o *alertOptions) send(u *ui.UI, all alerts) error {
	if len(all) == 0 {
		return nil
	}
	d, err := startAlerts(o.Config, u)
	if err != nil || d == nil {
		return err
	}
	all.raise(d)
	return reportLost(u, d, alertWait)
}

// finding is an event to tell of. Its document is a JSON object with at least one field.
type finding struct {
	id, text string
	doc      []byte
}

// alerts are events by their cause, in the order in which these came. Those of one cause are one alert.
type alerts []cause

type cause struct {
	name   string
	events []finding
}

func (a *alerts) add(name string, event finding) {
	i := slices.IndexFunc(*a, func(c cause) bool { return c.name == name })
	if i < 0 {
		i = len(*a)
		*a = append(*a, cause{name: name})
	}
	(*a)[i].events = append((*a)[i].events, event)
}

func (a alerts) raise(d *alert.Dispatcher) {
	for _, c := range a {
		d.Raise(alertOf(c.events...))
	}
}

// alertOf returns the alert of events with one cause: the document of the first, its id, the others as "also", and in
// "text", which chats show, all of them in words.
func alertOf(events ...finding) alert.Event {
	var texts []string
	var also []json.RawMessage
	for _, e := range events {
		texts, also = append(texts, e.text), append(also, e.doc)
	}
	first := events[0]
	text := strings.Join(texts, "\n")
	body := fmt.Appendf(nil, `{"id":%s,"text":%s,`, esmodel.MustJSON(first.id), esmodel.MustJSON(text))
	if len(also) > 1 {
		body = fmt.Appendf(body, `"also":%s,`, esmodel.MustJSON(also[1:]))
	}
	return alert.Event{ID: first.id, Text: strings.Join(texts, "; "), Body: append(body, first.doc[1:]...)}
}
