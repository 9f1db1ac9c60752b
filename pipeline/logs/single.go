package logs

import (
	"fmt"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
)

// missingSingles warns of logs of single I/Os that do not hold as many as fio counted, by job and direction, and, where
// there is no count, of those that fio --client must have cut.
//
// fio --client makes room for fewer columns than log_offset and log_issue_time write, and so cuts off the end of the
// log: fio 3.33 a fifth, fio 3.42 up to two sevenths.
func missingSingles(logs []*State, warn func(format string, args ...any)) {
	type key struct {
		entry *fiojson.Entry
		dir   int
	}
	logged := map[key]float64{}
	first := map[key]*State{}
	var order []key
	for _, l := range logs {
		if l.single() == nil {
			continue
		}
		known := false
		for d := range l.dirs {
			if l.Entry == nil || l.rejected || l.Entry.Dirs[d].Kind[l.cfg.Settings.Kind].N == 0 {
				continue
			}
			known = true
			k := key{l.Entry, d}
			if first[k] == nil {
				first[k] = l
				order = append(order, k)
			}
			logged[k] += l.dirs[d].ios
		}
		if !known && l.cutByClient() {
			warn("%s: %s", fio.Printable(l.Source.Path), cutByClient)
		}
	}
	for _, k := range order {
		l, counted := first[k], float64(k.entry.Dirs[k.dir].Kind[first[k].cfg.Settings.Kind].N)
		if logged[k] == counted {
			continue
		}
		what := fio.Printable(l.Source.Path)
		if l.Members > 1 {
			what += fmt.Sprintf(" and the other logs of job %q", k.entry.JobName)
		}
		how := fmt.Sprintf("%.0f I/Os are missing", counted-logged[k])
		if counted < logged[k] {
			how = fmt.Sprintf("%.0f I/Os too many: is it the JSON of this run?", logged[k]-counted)
		} else if l.cutByClient() {
			how += "; " + cutByClient
		}
		warn("%s: %.0f %vs, of %.0f that fio counted: %s", what, logged[k], fio.Direction(k.dir), counted, how)
	}
}

const cutByClient = "fio --client cuts off the end of logs with log_offset or log_issue_time; run fio without these " +
	"options, or without --client"

// cutByClient reports whether the log came over fio --client, by its name or its JSON, with columns
// for which fio does not make room.
func (l *State) cutByClient() bool {
	return l.extra > 0 && (l.Source.Name.Host != "" || l.Meta != nil && l.Meta.ClientServer)
}
