package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/internal/command"
)

// severalKinds changes the help of --kind for commands that take a list.
func severalKinds(flags []cli.Flag) []cli.Flag {
	for _, f := range flags {
		if f, ok := f.(*cli.StringFlag); ok && f.Name == "kind" {
			f.Usage = "kinds of latency: a `LIST` of clat (from histogram logs, else from write_lat_log), slat, lat, " +
				"or all for those that exist; one run.id for all; SLA rules use the first"
		}
	}
	return flags
}

func kindList(v string) (k command.Kinds, err error) {
	if v == "all" {
		return command.EveryKind, nil
	}
	for _, name := range strings.Split(v, ",") {
		kind, err := latency(strings.TrimSpace(name))
		if err != nil {
			return k, err
		}
		if !slices.Contains(k.List, kind) {
			k.List = append(k.List, kind)
		}
	}
	return k, nil
}
