package ingest

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
)

// A fio that is killed writes no log, and leaves its JSON empty: all that is left of its host is a folder beside those
// of the others.

// MissingHost is a host that took part in a run and has no log.
type MissingHost struct {
	Host string
	// Path is the folder or file that names the host, Why what is there instead of logs.
	Path, Why string
}

// missing adds to a run the hosts that have a folder beside those of its hosts, and no log in it.
func (d *discovery) missing(in *Input, root string, hosts []*Input) {
	shapes := map[string]int{}
	taken := map[string]bool{}
	for _, host := range hosts {
		name := firstElement(root, host.Root)
		taken[name] = true
		shapes[shape(name)]++
	}
	for _, f := range d.list(root) {
		if !f.mode.IsDir() || taken[f.base()] || d.hasLogs(f.path) || d.hasPackedLogs(f.path) {
			continue
		}
		if why := d.left(f.path, hosts, shapes[shape(f.base())] > 1); why != "" {
			in.Missing = append(in.Missing, MissingHost{validUTF8(f.base()), f.path, why})
		}
	}
}

// digits are what the names of a run's hosts differ in.
var digits = regexp.MustCompile(`\d+`)

func shape(name string) string { return digits.ReplaceAllString(name, "#") }

// firstElement returns the name of the folder in root that path is in.
func firstElement(root, path string) string {
	rel, _ := relative(root, path)
	name, _, _ := strings.Cut(rel, string(filepath.Separator))
	return name
}

// left says what a folder without logs holds of a host of the run that hosts are of; "" if nothing. alike means that it
// is named as several of them are.
func (d *discovery) left(dir string, hosts []*Input, alike bool) string {
	names := map[string]bool{} // of the hosts' JSON
	var metas []*fiojson.Document
	for _, host := range hosts {
		for _, m := range d.metasIn(host.Root) {
			names[filepath.Base(m.Path)] = true
			metas = append(metas, m)
		}
	}
	job, json, files := false, "", 0
	var own []*fiojson.Document
	d.below(dir, maxBelow, func(f *file) {
		files++
		base := f.base()
		isJSON := names[base] || filepath.Ext(base) == ".json"
		switch kind, err := d.sniff(f); {
		case err != nil:
		case f.empty && isJSON:
			json = "its " + base + " is empty"
		case kind == JobFile:
			j, err := d.jobFile(f)
			job = job || err == nil && writesAny(j, hosts)
		case kind == JSONFile:
			found, err := d.documents(f)
			own = append(own, found...)
			if err != nil {
				json = "its " + base + " is damaged"
			}
		case isJSON:
			json = "its " + base + " has no JSON of fio"
		}
	})
	switch {
	case len(own) > 0 && slices.ContainsFunc(metas, func(m *fiojson.Document) bool {
		return len(atTheSameTime([]*fiojson.Document{m, own[0]})) == 1
	}):
		var ios []string
		for i := range own[0].Entries {
			if of := counted(&own[0].Entries[i], d.opt.Kind); of != "" {
				ios = append(ios, of)
			}
		}
		return "it has no log, and by its JSON did " + cmp.Or(strings.Join(ios, ", "), "no I/O")
	case len(own) > 0 && slices.ContainsFunc(metas, func(m *fiojson.Document) bool {
		return failedDuring(own[0], m, minute)
	}):
		return "it has no log: " + (&JSONRun{Metas: own[:1]}).failure()
	case len(own) > 0: // of another run
		return ""
	case job:
		return "it has a job file with write_hist_log and no log, and " + cmp.Or(json, "no JSON of fio")
	case json != "":
		return "it has no log, and " + json
	case alike && files == 0:
		return "its folder is empty"
	}
	return ""
}

const minute = 60_000 // ms

// failedDuring reports whether a fio ended without I/O while another one ran, or so many ms apart from it.
func failedDuring(failed, other *fiojson.Document, apart int64) bool {
	from, to, known := span(other)
	at := failed.TimestampMS
	return known && !did(failed) && from-apart <= at && at <= to+apart
}

// below calls do for the files below a folder.
func (d *discovery) below(dir string, most int, do func(f *file)) {
	for _, f := range d.list(dir) {
		most--
		if most < 0 {
			return
		}
		if f.mode.IsDir() {
			d.below(f.path, most, do)
		} else if f.mode.IsRegular() {
			do(f)
		}
	}
}

// writesAny reports whether a job file writes logs of names that the hosts have, or any if they have only fio's JSON.
func writesAny(j *jobfile.File, hosts []*Input) bool {
	return slices.ContainsFunc(j.Sections, func(s *jobfile.Section) bool {
		return slices.ContainsFunc(hosts, func(in *Input) bool {
			return slices.ContainsFunc(in.Logs, func(l *Source) bool {
				return l.JSON != nil && s.WritesLogs(l.Name.Hist) || l.JSON == nil && mayWrite(j, s, l.Name)
			})
		})
	})
}

// nameMissing warns of hosts of the run without a log. In fio's JSON they may be among the hosts that [global] is
// listed for (fio 3.39 and newer), and then have no entry.
func (m *matcher) nameMissing() {
	for _, meta := range m.in.Metas {
		of := m.hostsOf(meta)
		for _, server := range slices.Sorted(maps.Keys(meta.HostGlobal)) {
			host := server[:strings.LastIndexByte(server, ':')] // before its port
			h := MissingHost{host, meta.Path, "fio's JSON has its options and no job of it"}
			if of[host] == nil && !slices.Contains(m.in.Missing, h) {
				m.in.Missing = append(m.in.Missing, h)
			}
		}
	}
	for _, h := range m.in.Missing {
		m.warn("%s: host %q is missing: %s: its fio was killed or failed, or its files were not copied",
			fio.Printable(h.Path), h.Host, fio.Printable(h.Why))
	}
}

// failedBeside names folders beside those of runs that hold what is left of a fio that was killed: of the one run
// there, it may have been a host.
func (d *discovery) failedBeside(runs []*Input) {
	beside := map[string][]*Input{}
	var parents []string
	for _, in := range runs {
		up := filepath.Dir(in.Root)
		if in.JSONOnly() || !d.isBelow(in.Root) {
			continue
		}
		if beside[up] == nil {
			parents = append(parents, up)
		}
		beside[up] = append(beside[up], in)
	}
	for _, up := range parents {
		runs, found := beside[up], Input{}
		if d.missing(&found, up, runs); len(runs) == 1 {
			runs[0].Missing = append(runs[0].Missing, found.Missing...)
			continue
		}
		for _, h := range found.Missing {
			d.warnings = append(d.warnings, fmt.Sprintf("%s: a run that left no log: %s", fio.Printable(h.Path), h.Why))
		}
	}
}
