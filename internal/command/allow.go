package command

import (
	"errors"
	"fmt"

	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

// Allow is for plan.Config: it asks whether a run may be spread over so many intervals. Where
// standard input is not a terminal that is an error of usage. With yes it is nil: nobody is asked.
func Allow(u *ui.UI, yes bool) func(quanta, usual int64) error {
	if yes {
		return nil
	}
	return func(quanta, usual int64) error {
		what := fmt.Sprintf("this run would have %d intervals, and its own length gives %d: "+
			"is a host's clock or an --offset wrong?", quanta, usual)
		if !ui.IsTerminal(u.Stdin) {
			return errs.Usagef("%s pass --yes to go on with all of them", what)
		}
		u.ProgressDone()
		if !ui.Confirm(u.Stdin, u.Stderr, what+" go on with all of them? [y/N] ") {
			return errors.New("stopped: nothing was made of these intervals")
		}
		return nil
	}
}
