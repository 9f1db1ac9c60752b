package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"fiolat/cmd/fiolat/shell"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

func completionCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name: "completion", ArgsUsage: "bash|zsh|fish",
		Usage:       "a script that completes commands, flags and their values in the shell",
		Description: "source <(fiolat completion bash)",
		Action: actionOf(u, readCompletionOptions, func(_ context.Context, script string, u *ui.UI) error {
			_, err := fmt.Fprint(u.Stdout, script)
			return err
		}),
	}
}

// readCompletionOptions returns the script.
func readCompletionOptions(c *cli.Context) (string, error) {
	script, ok := shell.Completions[c.Args().First()]
	if !ok || c.NArg() != 1 {
		return "", errs.Usagef("fiolat completion: want bash, zsh or fish")
	}
	return script, nil
}
