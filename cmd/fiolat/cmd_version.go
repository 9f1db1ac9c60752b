package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"fiolat/internal/command"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

func versionCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "version, commit and date that this fiolat was built from",
		Description: "fiolat version",
		Action: actionOf(u, readVersionOptions, func(_ context.Context, text string, u *ui.UI) error {
			_, err := fmt.Fprint(u.Stdout, text)
			return err
		}),
	}
}

// readVersionOptions returns the text.
func readVersionOptions(c *cli.Context) (string, error) {
	if c.NArg() > 0 {
		return "", errs.Usagef("fiolat version takes no arguments: %q", c.Args().First())
	}
	return command.Build(), nil
}
