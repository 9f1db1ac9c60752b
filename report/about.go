package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/pipeline"
	"fiolat/report/page"
)

// about adds the lead sentence and the tables of jobs and syncs, of each run.
func (s *Sink) about(d *pageData) error {
	of := []*Sink{s}
	if s.runs != nil {
		of = s.kinds
	}
	for _, k := range of {
		prefix := ""
		if s.runs != nil {
			prefix = k.part() + ": "
		}
		syncs, err := k.run.Syncs()
		if err != nil {
			return err
		}
		for _, text := range k.headline(syncs) {
			if s.compared == nil {
				d.Lead = append(d.Lead, text)
			} else if len(s.runs) == 2 {
				d.Runs = append(d.Runs, prefix+text)
			}
		}
		if work := k.jobTable(); work != nil {
			work.Title = prefix + work.Title
			d.Work = append(d.Work, *work)
		}
		table, err := k.syncTable(syncs)
		if err != nil {
			return err
		}
		if table != nil {
			table.Title = prefix + table.Title
			d.Syncs = append(d.Syncs, *table)
		}
	}
	return nil
}

// split separates warnings from other notes.
func split(notes []note) (warnings, others []note) {
	for _, n := range notes {
		if n.Warning {
			warnings = append(warnings, n)
		} else {
			others = append(others, n)
		}
	}
	return warnings, others
}

// headline has a sentence for each direction: I/Os, duration, rate and latencies. Another one has the syncs, if any.
func (s *Sink) headline(syncs *pipeline.Row) (out []string) {
	at := slices.Clone(s.run.Percentiles)
	slices.Sort(at)
	for d := range fio.Direction(fio.Directions) {
		sc := s.scopeAt[dims{Direction: d.String()}]
		if sc == nil {
			continue
		}
		st, perSecond := s.runTotals(sc)
		if st.Empty() {
			continue
		}
		text := fmt.Sprintf("%s %ss in %s", fio.Grouped(st.Samples), d,
			fio.Duration(float64(s.sum.End-s.run.FirstInterval)))
		if perSecond > 0 {
			text += ", " + page.Number(fio.Round(perSecond, 4)) + " per second"
		}
		text += ":"
		for i, v := range negateLowerBounds(&st) {
			if p := s.run.Percentiles[i]; p == at[0] || p == 99 || p == at[len(at)-1] {
				text += fmt.Sprintf(" p%s %s,", fio.Percentile(p), page.Latency(v))
			}
		}
		out = append(out, text+" the longest "+page.Latency(st.Max)+".")
	}
	if out == nil {
		out = []string{"No I/O completed."}
	}
	if syncs != nil {
		out = append(out, fmt.Sprintf("%s syncs beside them, the longest %s.", fio.Grouped(syncs.Stats.Samples),
			page.Latency(syncs.Stats.Max)))
	}
	return out
}

// jobTable returns the table of the jobs, with a row for each name, set of options and direction.
func (s *Sink) jobTable() *block {
	type did struct {
		name, options  string                    // those that make the load
		others         map[string]map[string]int // the values of the others, and how many entries have them
		entries        int
		hosts          map[string]bool
		ios, bytes     [fio.Directions]uint64
		bytesPerSecond [fio.Directions]float64
	}
	var all []*did
	for _, m := range s.run.Metas {
		for i := range m.Entries {
			e := &m.Entries[i]
			options, others := optionsOf(m, e)
			at := slices.IndexFunc(all, func(d *did) bool { return d.name == e.JobName && d.options == options })
			if at < 0 {
				at = len(all)
				all = append(all, &did{name: e.JobName, options: options, hosts: map[string]bool{},
					others: map[string]map[string]int{}})
			}
			d := all[at]
			d.entries++
			for k, v := range others {
				if d.others[k] == nil {
					d.others[k] = map[string]int{}
				}
				d.others[k][v]++
			}
			d.hosts[e.Host] = true
			for k := range e.Dirs {
				d.ios[k] += e.Dirs[k].TotalIOs
				d.bytes[k] += e.Dirs[k].Bytes
				if ms := e.Dirs[k].RuntimeMS; ms > 0 {
					d.bytesPerSecond[k] += float64(e.Dirs[k].Bytes) / (float64(ms) / 1e3)
				}
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	b := &block{Title: "What the jobs did", Head: []string{"job", "hosts", "direction", "block size",
		"bandwidth", "options"}}
	for _, d := range all {
		delete(d.hosts, "")
		for _, k := range slices.Sorted(maps.Keys(d.others)) {
			text := fmt.Sprintf("%s differs (%d values)", k, len(d.others[k]))
			for v, n := range d.others[k] {
				if n == d.entries {
					text = option(k, v)
				} else if len(d.others[k]) == 1 {
					text = k + " differs"
				}
			}
			d.options = strings.TrimSpace(d.options + " " + text)
		}
		hosts := "–"
		for h := range d.hosts {
			hosts = h
		}
		if len(d.hosts) > 1 {
			hosts = strconv.Itoa(len(d.hosts))
		}
		any := false
		for k, n := range d.bytes {
			if n == 0 || d.ios[k] == 0 || !s.run.Pick.HoldsDirection(fio.Direction(k).String()) {
				continue
			}
			b.Rows = append(b.Rows, []string{d.name, hosts, fio.Direction(k).String(),
				kibibytes(float64(n) / float64(d.ios[k])), mebibytes(d.bytesPerSecond[k]), d.options})
			d.options, any = "", true // once
		}
		if !any {
			b.Rows = append(b.Rows, []string{d.name, hosts, "–", "–", "–", d.options})
		}
	}
	return b
}

func kibibytes(v float64) string {
	return fio.Digits(v/1024, 4) + " KiB"
}

func mebibytes(perSecond float64) string {
	return fio.Digits(perSecond/(1<<20), 4) + " MiB/s"
}

// optionsOf formats the options of a job that say most about its load, and returns the others.
func optionsOf(m *fiojson.Document, e *fiojson.Entry) (load string, others map[string]string) {
	others = map[string]string{}
	maps.Copy(others, m.Globals(e))
	maps.Copy(others, e.Options)
	maps.DeleteFunc(others, func(k, _ string) bool {
		return strings.HasPrefix(k, "write_") || strings.HasPrefix(k, "log_") || k == "group_reporting"
	})
	var first []string
	for _, k := range []string{"rw", "readwrite", "bs", "iodepth", "numjobs", "ioengine", "direct"} {
		if v, ok := others[k]; ok {
			first = append(first, option(k, v))
			delete(others, k)
		}
	}
	return strings.Join(first, " "), others
}

func option(name, value string) string {
	if value == "" {
		return name
	}
	return name + "=" + value
}

// syncTable returns the table of the run's syncs, by job if several have any, nil without syncs.
func (s *Sink) syncTable(whole *pipeline.Row) (*table, error) {
	if whole == nil {
		return nil, nil
	}
	rows, err := s.run.SyncsByJob()
	if err != nil {
		return nil, err
	}
	if len(rows) > 1 {
		rows = append([]pipeline.Row{*whole}, rows...)
	}
	t := &table{Title: "Syncs of the whole run"}
	for _, name := range []string{fio.ByHost, fio.ByJob} {
		t.Head = append(t.Head, cell{Text: name, Header: true})
	}
	t.Head = append(t.Head, cell{Text: "syncs"}, cell{Text: "mean"})
	for _, p := range s.run.Percentiles {
		t.Head = append(t.Head, cell{Text: "p" + fio.Percentile(p)})
	}
	t.Head = append(t.Head, cell{Text: "max"})
	for i := range rows {
		r := &rows[i]
		st := &r.Stats
		host := "–"
		if r.Scope == fio.RunScope {
			host, r.Dims.Job = fio.All, fio.All
		}
		row := []cell{{Text: cmp.Or(r.Dims.Host, host), Header: true}, {Text: r.Dims.Job, Header: true},
			number(st.Samples, fio.Count(st.Samples)), number(st.Mean, page.Latency(st.Mean))}
		values := negateLowerBounds(st)
		for i := range s.run.Percentiles {
			if i < len(values) {
				row = append(row, number(math.Abs(values[i]), page.Latency(values[i])))
			} else {
				row = append(row, cell{Text: "–"})
			}
		}
		t.Rows = append(t.Rows, append(row, number(st.Max, page.Latency(st.Max))))
	}
	sameUnits(t.Rows, 3)
	return t, nil
}

// sameUnits rewrites the latencies of each column from first on in one unit: that of the median.
func sameUnits(rows [][]cell, first int) {
	if len(rows) == 0 {
		return
	}
	for c := first; c < len(rows[0]); c++ {
		var values []float64
		for _, row := range rows {
			if v, err := strconv.ParseFloat(row[c].Value, 64); err == nil && v > 0 {
				values = append(values, v)
			}
		}
		if len(values) == 0 {
			continue
		}
		slices.Sort(values)
		unit := fio.Unit(values[(len(values)-1)/2])
		for _, row := range rows {
			v, err := strconv.ParseFloat(row[c].Value, 64)
			if err != nil {
				continue
			}
			prefix := ""
			for _, sign := range []string{"≥ ", "≈ "} {
				if strings.HasPrefix(row[c].Text, sign) {
					prefix = sign
				}
			}
			row[c].Text = prefix + fio.Digits(v/fio.Divisors[unit], 4) + " " +
				fio.Micro(unit)
		}
	}
}

// order is the sort key of a scope value in a table: directions alone first, then hosts, then jobs.
func (d dims) order() int {
	n := 0
	for i, v := range []string{d.Host, d.Job, d.Log} {
		if v != "" {
			n |= 1 << i
		}
	}
	return n
}
