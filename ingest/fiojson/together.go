package fiojson

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"

	"fiolat/fio"
	"fiolat/ingest/jobfile"
)

// fios takes apart a document into which the entries of several runs were put (jq -s 'map(.jobs) | add'): entries that
// cannot be of one fio are of several. Where nothing proves that, a note says what points to it.
func (m *Document) fios() []*Document {
	var proof, sign string
	for o, i := new(oneFio), 0; i < len(m.Entries); i++ {
		why, sure := o.add(m, &m.Entries[i], false)
		if sure {
			proof = cmp.Or(proof, why)
		}
		sign = cmp.Or(sign, why)
	}
	if proof == "" {
		if sign != "" {
			m.Notes = append(m.Notes, fmt.Sprintf("%s%s: read as one run, but several may have been put together: %s",
				fio.NotePrefix, fio.Printable(m.Path), sign))
		}
		return []*Document{m}
	}
	var out []*Document
	for o, i := new(oneFio), 0; i < len(m.Entries); i++ {
		if why, _ := o.add(m, &m.Entries[i], true); why != "" || i == 0 {
			run := *m
			run.Entries, run.Warnings = nil, nil
			run.TimestampMS = 0 // it is of one of them
			out = append(out, &run)
		}
		run := out[len(out)-1]
		run.Entries = append(run.Entries, m.Entries[i])
	}
	out[0].Warnings = m.Warnings
	out[0].Notes = []string{fmt.Sprintf("%s: %d runs were put together in one document, as %s: they are %[1]s#1 to #%[2]d",
		fio.Printable(m.Path), len(out), proof)}
	return out
}

// oneFio is what the entries of one fio have in common.
type oneFio struct {
	last     *Entry
	from, to int64 // by job_start, in ms since 1970; 0: unknown
	like     map[section]*likes
}

// section is what threads of one section of a job file share.
type section struct {
	server
	name  string
	group int
}

// likes are the entries of a section, or of several of one name.
type likes struct {
	n    int
	last *Entry
}

// add adds an entry, unless it cannot be of the same fio as those before it: then, and if doubt is enough when there
// is one, it becomes the first of another. It returns what says so; sure is false where sections of one name, or
// several [global], would look the same.
func (o *oneFio) add(m *Document, e *Entry, doubt bool) (why string, sure bool) {
	key := section{server{e.Host, e.Port}, e.JobName, e.GroupID}
	like := o.like[key]
	if like == nil {
		like = new(likes)
	}
	if o.last != nil {
		why, sure = o.against(m, e, like)
		if sure || why != "" && doubt {
			*o, like = oneFio{}, new(likes)
		}
	}
	if o.like == nil {
		o.like = map[section]*likes{}
	}
	like.n++
	like.last, o.last, o.like[key] = e, e, like
	if e.StartMS > 0 {
		if end := e.StartMS + e.LongestMS; o.from == 0 {
			o.from, o.to = e.StartMS, end
		} else {
			o.from, o.to = min(o.from, e.StartMS), max(o.to, end)
		}
	}
	return why, sure
}

// clocks is how many ms a clock may be set by during a run, and threads of one section may take to start.
const clocks = 2000

// against returns what speaks against an entry's being of the same fio.
func (o *oneFio) against(m *Document, e *Entry, like *likes) (why string, sure bool) {
	known := e.StartMS > 0 && o.from > 0
	if before := like.last; before != nil && known && maps.Equal(e.Options, before.Options) {
		_, delayed := m.Option(e, "startdelay")
		apart := max(e.StartMS-before.StartMS-before.LongestMS, before.StartMS-e.StartMS-e.LongestMS)
		if apart > clocks && !delayed {
			return fmt.Sprintf("job %q began again %d ms after it had ended", e.JobName, apart), true
		}
	}
	if m.ClientServer { // each server has groups and a clock of its own
		return "", false
	}
	last := o.last
	switch took := max(o.to, e.StartMS+e.LongestMS) - min(o.from, e.StartMS); {
	case e.GroupID < last.GroupID:
		return fmt.Sprintf("groupid %d comes after %d", e.GroupID, last.GroupID), true
	case min(e.Elapsed, last.Elapsed) > 0 && (e.Elapsed < last.Elapsed || e.Elapsed > last.Elapsed+1): // read for each
		return fmt.Sprintf("elapsed is %d and %d", last.Elapsed, e.Elapsed), true
	case known && e.Elapsed > 0 && took > 1000*e.Elapsed+clocks:
		return fmt.Sprintf("they took %d ms by job_start, and elapsed is %d", took, e.Elapsed), true
	}
	if on, own := m.joins(e); on && e.GroupID == last.GroupID {
		return fmt.Sprintf("group_reporting would have made one of jobs %q and %q", last.JobName, e.JobName),
			own || like.n > 0
	}
	v, ok := m.Option(e, "numjobs")
	n, err := strconv.Atoi(cmp.Or(v, "1"))
	if err != nil || len(e.Options) == 0 && !ok || like.n == 0 || like.n%max(n, 1) > 0 || known {
		return "", false
	}
	return fmt.Sprintf("job %q is there again, after the %d of its numjobs", e.JobName, like.n), false
}

// joins reports whether group_reporting would have joined an entry to the one before it, if they were of one group, and
// whether its own options say so.
func (m *Document) joins(e *Entry) (on, own bool) {
	if v, ok := e.Options["group_reporting"]; ok {
		return jobfile.On(v) && e.Unlike == 0, true
	}
	v, ok := m.Globals(e)["group_reporting"]
	return ok && jobfile.On(v), false
}
