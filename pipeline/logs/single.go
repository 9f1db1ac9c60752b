package logs

import (
	"fmt"
	"slices"

	"fiolat/fio"
)

// missingSingles warns of logs of single I/Os that do not hold as many as fio counted, by job and direction, and, where
// there is no count, of those that fio --client must have cut.
//
// fio --client makes room for fewer columns than log_offset and log_issue_time write, and so cuts off the end of the
// log: fio 3.33 a fifth, fio 3.42 up to two sevenths.
func missingSingles(logs []*State, warn func(format string, args ...any)) {
	logs = slices.DeleteFunc(slices.Clone(logs), func(l *State) bool { return l.single() == nil })
	if len(logs) == 0 {
		return
	}
	kind := logs[0].cfg.Settings.Kind
	groups := countedOf(logs, kind)
	known := map[*State]bool{}
	for _, g := range groups {
		for _, l := range g.logs {
			known[l] = true
		}
	}
	for _, l := range logs {
		if !known[l] && l.cutByClient() {
			warn("%s: %s", fio.Printable(l.Source.Path), cutByClient)
		}
	}
	for _, g := range groups {
		logged, counted := 0.0, float64(g.entry.Dirs[g.dir].Kind[kind].N)
		for _, l := range g.logs {
			logged += l.dirs[g.dir].ios
		}
		if logged == counted {
			continue
		}
		l := g.logs[0]
		what := fio.Printable(l.Source.Path)
		if l.Members > 1 {
			what += fmt.Sprintf(" and the other logs of job %q", g.entry.JobName)
		}
		how := fmt.Sprintf("%.0f I/Os are missing", counted-logged)
		if counted < logged {
			how = fmt.Sprintf("%.0f I/Os too many: is it the JSON of this run?", logged-counted)
		} else if l.cutByClient() {
			how += "; " + cutByClient
		}
		warn("%s: %.0f %vs, of %.0f that fio counted: %s", what, logged, fio.Direction(g.dir), counted, how)
	}
}

const cutByClient = "fio --client cuts off the end of logs with log_offset or log_issue_time; run fio without these " +
	"options, or without --client"

// cutByClient reports whether the log came over fio --client, by its name or its JSON, with columns
// for which fio does not make room.
func (l *State) cutByClient() bool {
	return l.extra > 0 && (l.Source.Name.Host != "" || l.Meta != nil && l.Meta.ClientServer)
}
