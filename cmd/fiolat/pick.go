package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
	"fiolat/pipeline"
)

// pickFlags choose a part of a run, for commands that store nothing. syncs reports whether syncs can be chosen.
func pickFlags(p *pipeline.Pick, syncs bool) []cli.Flag {
	var words []string
	for _, d := range fio.DirectionNames() {
		words = append(words, "direction="+d)
	}
	only := &value{many: true, words: append(words, "host=", "job=", "log="),
		parse: func(text string) error { return readOnly(p, text, syncs) }}
	return []cli.Flag{
		&cli.GenericFlag{Name: "only", Value: only,
			Usage: "only I/Os of `WHAT`: read, host=h3,h4, host='node[01-12]', job='db*', job='!warm' or log=NAME; can be " +
				"repeated, and all must hold"},
		&cli.GenericFlag{Name: "from", Value: once(parsed(&p.From, "--from ", readMoment), "from"),
			Usage: "only I/Os from `TIME` on: 3:00, 3m or 180 since the start, or a date and time"},
		&cli.GenericFlag{Name: "to", Value: once(parsed(&p.To, "--to ", readMoment), "to"),
			Usage: "only I/Os before `TIME`"},
	}
}

// once makes a flag an error that is given twice, as if for each of two runs: the last would count for both.
func once(v *value, name string) *value {
	v.many = true
	parse := v.parse
	v.parse = func(text string) error {
		if len(v.texts) > 1 && text == v.texts[0] {
			return fio.Usagef("--%s: given twice; it is for all runs of a command", name)
		}
		return parse(text)
	}
	return v
}

// readOnly parses one --only. syncs reports whether direction=sync is allowed.
func readOnly(p *pipeline.Pick, text string, syncs bool) error {
	if slices.Contains(fio.MetricDirections()[1:], text) {
		text = fio.ByDirection + "=" + text
	}
	dim, list, ok := strings.Cut(text, "=")
	to := map[string]*[]string{fio.ByDirection: &p.Directions, fio.ByHost: &p.Hosts, fio.ByJob: &p.Jobs,
		fio.ByLog: &p.Logs}[dim]
	values := strings.Split(list, ",")
	switch {
	case !ok || to == nil || slices.Contains(values, ""):
		return fio.Usagef("--only %q: want read, write or trim, or host=, job= or log= with names, such as host=h3,h4", text)
	case *to != nil:
		return fio.Usagef("--only %s=: given twice, but no I/O can match both: list the values, such as %s=%s,%s",
			dim, dim, (*to)[0], values[0])
	case dim == fio.ByDirection:
		for _, v := range values {
			if v == "sync" && !syncs {
				return fio.Usagef("--only %q: fio logs no syncs; fiolat summary has those of fio's JSON", text)
			}
			if v == fio.All || !slices.Contains(fio.MetricDirections(), v) {
				return fio.Usagef("--only %q: %q: want %s", text, v, fio.List(fio.MetricDirections()[1:], "or"))
			}
		}
	}
	*to = values
	return nil
}

// readMoment parses a time since the start of the run (3:00, 1:02:03, 3m, 180) or a wall-clock time.
func readMoment(text string) (*pipeline.Moment, error) {
	m := &pipeline.Moment{Text: text}
	wrong := fio.Usagef("%q: want a time since the start of the run, such as 3:00, 3m or 180, or one of the clock, "+
		"such as 2026-01-31T12:00:00Z", text)
	if d, ok := parseClock(text); ok {
		m.Since = d
		return m, nil
	}
	at, ok := parseTime(text)
	if ok {
		m.At = at
		return m, nil
	}
	d, err := parseDuration("", text)
	if err != nil || d < 0 {
		return nil, wrong
	}
	m.Since = d
	return m, nil
}
