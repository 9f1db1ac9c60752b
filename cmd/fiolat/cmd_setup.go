package main

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
)

func setupCommand(u *ui) *cli.Command {
	return &cli.Command{
		Name:  "setup",
		Usage: "index templates and, where the cluster has it, a lifecycle policy; again changes nothing",
		Description: "fiolat setup --es http://localhost:9200\n" +
			"fiolat setup --es https://es:9200 --es-user admin --es-password-file ~/.es --delete-after 8760h",
		Flags: append(esFlags(),
			&cli.DurationFlag{Name: "delete-after", Category: catES, Usage: "let the lifecycle policy delete indices of that age: `DURATION` (default: never)"}),
		Action: func(c *cli.Context) error { return setup(c.Context, u, c) },
	}
}

func setup(ctx context.Context, u *ui, c *cli.Context) error {
	if c.NArg() > 0 {
		return usagef("fiolat setup takes no arguments: %q", c.Args().First())
	}
	if d := c.Duration("delete-after"); d < 0 || d > 0 && d < time.Hour {
		return usagef("--delete-after %v: want an hour or more", d)
	}
	client, err := u.client(c)
	if err != nil {
		return err
	}
	defer client.Close()
	report, err := esmodel.Setup(ctx, client, esmodel.SetupOptions{Prefix: c.String("index-prefix"), DeleteAfter: c.Duration("delete-after")})
	if report != nil {
		for _, w := range report.Warnings {
			u.warn(w)
		}
		for _, i := range report.Items {
			u.say("info", "%-9s  %s %s", i.Action, i.Type, i.Name)
		}
	}
	return err
}
