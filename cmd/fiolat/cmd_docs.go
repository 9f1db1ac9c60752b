package main

import (
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"fiolat/cmd/fiolat/manual"
	"fiolat/esmodel"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

//go:generate go run . docs ../../docs

// docsCommand writes the generated pages of docs/, which CI compares.
func docsCommand(*ui.UI) *cli.Command {
	return &cli.Command{
		Name: "docs", Hidden: true, ArgsUsage: "DIR", Usage: "write the generated pages of the documentation",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "man", Usage: "write man pages instead"}},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return errs.Usagef("fiolat docs: name the folder")
			}
			if c.Bool("man") {
				return manual.Write(c.App, exitMeanings, c.Args().First())
			}
			for name, page := range map[string]string{"cli.md": manual.Page(c.App, exitMeanings),
				"documents.md": esmodel.FieldTable(), "engines.md": enginesPage()} {
				if err := os.WriteFile(filepath.Join(c.Args().First(), name), []byte(page), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
