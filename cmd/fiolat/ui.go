package main

import (
	"github.com/urfave/cli/v2"

	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

func logFormatFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "log-format", Value: "text", EnvVars: []string{"FIOLAT_LOG_FORMAT"},
		Usage: "`FORMAT` of progress, warnings and the account on standard error: text or json",
	}
}

// configure reads what all commands have.
func configure(c *cli.Context, u *ui.UI) error {
	if c.IsSet("run-id") && c.String("run-id") == "" {
		return errs.Usagef("--run-id \"\": it is empty; name the run, or leave the flag out")
	}
	switch f := c.String("log-format"); f {
	case "text":
	case "json":
		u.JSON = true
	default:
		return errs.Usagef("--log-format %q: want text or json", f)
	}
	return nil
}

// exit says what went wrong, once, and turns it into an exit code.
func exit(u *ui.UI, err error) int {
	u.ProgressDone()
	if err == nil {
		err = u.Failed()
	}
	code := exitCode(err)
	if err == nil {
		return code
	}
	if code == exitInterrupted {
		u.Say("error", "interrupted: what was done stands; run the same command again to finish")
		return code
	}
	msg := err.Error() + hint(err)
	if u.JSON {
		u.Line(map[string]any{"level": "error", "msg": msg, "exit": code})
		return code
	}
	u.Say("error", "%s", msg)
	return code
}
