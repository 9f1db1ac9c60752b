// Package command has what the commands of fiolat share: where runs are and documents go, the account at the end.
// Each command is a package below it: its Options, and Run, which does the work. None knows the command line.
package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fiolat/internal/alert"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

// infoWriter prints what is written to it as a line of information.
type infoWriter struct{ u *ui.UI }

func (s infoWriter) Write(p []byte) (int, error) {
	s.u.Say("info", "%s", strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// StartAlerts starts sending alerts to what the configuration names; nil if it names nothing.
func StartAlerts(cfg alert.Config, u *ui.UI) (*alert.Dispatcher, error) {
	if cfg.Webhook == "" && cfg.Command == "" {
		return nil, nil
	}
	cfg.Output, cfg.Warn = infoWriter{u}, u.Warn
	d, err := alert.New(cfg)
	if err != nil {
		return nil, errs.Usagef("--alert-webhook: %v", err)
	}
	return d, nil
}

// AlertWait is how long is waited at the end for alerts that are on their way.
const AlertWait = 30 * time.Second

// ReportLost waits for the alerts, and names those that were not delivered. d may be nil
// if there are none.
func ReportLost(u *ui.UI, d *alert.Dispatcher, wait time.Duration) error {
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
		return fmt.Errorf("%d alerts were not delivered", len(lost))
	}
	return nil
}

// AlertOf is the alert of an event with that document.
func AlertOf(id, text string, doc []byte) alert.Event {
	return alert.Event{ID: id, Text: text, Body: append(fmt.Appendf(nil, `{"id":%q,`, id), doc[1:]...)}
}
