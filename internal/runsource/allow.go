package runsource

import (
	"errors"
	"fmt"

	"fiolat/fio"
	"fiolat/internal/ui"
)

// ConfirmIntervals returns plan.Config.Allow: it asks the user whether a run may have so many intervals, and
// is a usage error if standard input is not a terminal. With yes it is nil: no question is asked.
func ConfirmIntervals(u *ui.UI, yes bool) func(intervals, usual int64) error {
	if yes {
		return nil
	}
	return func(intervals, usual int64) error {
		what := fmt.Sprintf("this run would have %d intervals, but is only long enough for %d: "+
			"is a host's clock or an --offset wrong?", intervals, usual)
		if !ui.IsTerminal(u.Stdin) {
			return fio.Usagef("%s pass --yes to go on with all of them", what)
		}
		u.ProgressDone()
		if !ui.Confirm(u.Stdin, u.Stderr, what+" go on with all of them? [y/N] ") {
			return errors.New("stopped: these intervals were not written")
		}
		return nil
	}
}
