package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
	"fiolat/internal/ui"
)

type versionOptions struct{}

func versionCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name: "version", Action: action(u, versionOptions{}),
	}
}

func (versionOptions) check(c *cli.Context, bad *fio.Faults) {
	if c.NArg() > 0 {
		bad.Add(fio.Usagef("fiolat version takes no arguments: %q", c.Args().First()))
	}
}

func (versionOptions) run(_ context.Context, u *ui.UI) error {
	_, err := fmt.Fprint(u.Stdout, buildText())
	return err
}
