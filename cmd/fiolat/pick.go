package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/cmd/fiolat/times"
	"fiolat/fio"
	"fiolat/internal/errs"
	"fiolat/pipeline"
)

const catPick = "WHAT TO LOOK AT"

// pickFlags choose a part of a run, for commands that store nothing.
func pickFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "only", Category: catPick, Usage: "only I/Os of `DIMENSION=VALUE,...`: " +
			"direction=read, host=h3,h4 or job=db; can be repeated, and all must hold"},
		&cli.StringFlag{
			Name:     "from",
			Category: catPick,
			Usage: "only I/Os from `TIME` on: since the start of the run " +
				"(3:00, 3m, 180), or a time such as 2026-01-31T12:00:00Z",
		},
		&cli.StringFlag{Name: "to", Category: catPick, Usage: "only I/Os before `TIME`, given as for --from"},
	}
}

// readPick reads pickFlags; the command may lack them.
func readPick(c *cli.Context) (p pipeline.Pick, err error) {
	var bad errs.Faults
	for _, text := range c.StringSlice("only") {
		bad.Add(
			readOnly(
				&p,
				text,
				c.String("kind") == "sync" || slices.Contains([]string{"summary", "curve"}, c.Command.Name),
			),
		)
	}
	for _, f := range []struct {
		name string
		to   **pipeline.Moment
	}{{"from", &p.From}, {"to", &p.To}} {
		if c.IsSet(f.name) {
			*f.to, err = readMoment("--"+f.name, c.String(f.name))
			bad.Add(err)
		}
	}
	return p, bad.Err()
}

// readOnly parses one --only. syncs reports whether direction=sync is allowed.
func readOnly(p *pipeline.Pick, text string, syncs bool) error {
	dim, list, ok := strings.Cut(text, "=")
	to := map[string]*[]string{"direction": &p.Directions, "host": &p.Hosts, "job": &p.Jobs}[dim]
	values := strings.Split(list, ",")
	switch {
	case !ok || to == nil || slices.Contains(values, ""):
		return errs.Usagef("--only %q: want direction=, host= or job= and values, such as host=h3,h4", text)
	case *to != nil:
		return errs.Usagef("--only %s=: given twice, but no I/O can match both: list the values, such as %s=%s,%s",
			dim, dim, (*to)[0], values[0])
	case dim == "direction":
		for _, v := range values {
			if v == "sync" && !syncs {
				return errs.Usagef("--only %q: fio logs no syncs; fiolat summary has those of fio's JSON", text)
			}
			if v == pipeline.All || !slices.Contains(fio.MetricDirections(), v) {
				return errs.Usagef("--only %q: %q: want %s", text, v, fio.List(fio.MetricDirections()[1:], "or"))
			}
		}
	}
	*to = values
	return nil
}

// readMoment parses a time since the start of the run (3:00, 1:02:03, 3m, 180) or a wall-clock time.
func readMoment(flag, text string) (*pipeline.Moment, error) {
	m := &pipeline.Moment{Text: text}
	wrong := errs.Usagef(
		"%s %q: want a time since the start of the run, such as 3:00, 3m or 180, or one of the clock, "+
			"such as 2026-01-31T12:00:00Z",
		flag,
		text,
	)
	if d, ok := times.Clock(text); ok {
		m.Since = d
		return m, nil
	}
	if n, err := strconv.ParseFloat(text, 64); err != nil || n < 1e8 { // otherwise seconds or ms since 1970
		if d, err := times.Duration(flag, text); err == nil {
			if d < 0 {
				return nil, wrong
			}
			m.Since = d
			return m, nil
		}
	}
	at, err := times.Start(text)
	if err != nil || at == "" || at == "mtime" {
		return nil, wrong
	}
	m.At, err = time.Parse(time.RFC3339Nano, at)
	return m, err
}
