package main

import (
	"github.com/urfave/cli/v2"

	"fiolat/fio"
	"fiolat/internal/ui"
)

func logFormatFlag(u *ui.UI) cli.Flag {
	format := oneOf(new(string), "log-format", "text", "json")
	parse := format.parse
	format.parse = func(text string) error {
		u.JSON = text == "json"
		return parse(text)
	}
	return &cli.GenericFlag{Name: "log-format", Category: catMore, Value: format, EnvVars: []string{"FIOLAT_LOG_FORMAT"},
		Usage: "`FORMAT` of messages on standard error: text or json"}
}

func quietFlag() cli.Flag {
	return &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, EnvVars: []string{"FIOLAT_QUIET"},
		Usage: "no account, only warnings and errors"}
}

func helpFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "show help, with the usual flags"},
		&cli.BoolFlag{Name: "help-all", Usage: "show help, with all flags"},
	}
}

// verboseFlag is for commands that read logs.
func verboseFlag() cli.Flag {
	return &cli.BoolFlag{Name: "verbose", Aliases: []string{"v"},
		Usage: "print each warning, all numbers of the account, and the names of repaired logs"}
}

// narrowest is the least --width.
const narrowest = 40

// widthFlag is for commands that print a table.
func widthFlag() cli.Flag {
	return &cli.IntFlag{Name: "width", Category: catMore,
		Usage: "fit tables into `N` columns, such as 72 for a mail; columns that are left out are named"}
}

// checkWidth returns an error if a command is to fit what is no table.
func checkWidth(c *cli.Context) error {
	switch format := generic(c.Command, "format"); {
	case !c.IsSet("width"):
	case c.Int("width") < narrowest:
		return fio.Usagef("--width %d: want %d or more", c.Int("width"), narrowest)
	case format != nil && format.String() != "table":
		return fio.Usagef("--width is for tables, and %s has all columns: leave it out", format)
	}
	return nil
}

// configure reads the flags of all commands.
func configure(c *cli.Context, u *ui.UI) error {
	if c.IsSet("run-id") && c.String("run-id") == "" {
		return fio.Usagef("--run-id \"\": it is empty; name the run, or leave the flag out")
	}
	u.Verbose = c.Bool("verbose")
	u.Width = c.Int("width")
	if c.String("format") == "table" {
		u.WrapLines()
	}
	return nil
}

// exit reports err and returns the exit code.
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
	if verdict := code == exitSLA || code == exitCompare; verdict { // about the runs, not an error of the command
		u.Finding(msg)
		return code
	}
	u.Say("error", "%s", msg)
	return code
}
