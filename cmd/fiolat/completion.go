package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"fiolat/cmd/fiolat/shell"
	"fiolat/fio"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

type completionOptions struct{ script string }

func completionCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name: "completion", ArgsUsage: "bash|zsh|fish",
		Usage:       "a script that completes commands, flags and their values in the shell",
		Description: "source <(fiolat completion bash)", Action: action(u, &completionOptions{}),
	}
}

func (o *completionOptions) check(c *cli.Context, bad *errs.Faults) {
	var ok bool
	if o.script, ok = shell.Completions[c.Args().First()]; !ok || c.NArg() != 1 {
		bad.Add(fio.Usagef("fiolat completion: want bash, zsh or fish"))
	}
}

func (o *completionOptions) run(_ context.Context, u *ui.UI) error {
	_, err := fmt.Fprint(u.Stdout, o.script)
	return err
}
