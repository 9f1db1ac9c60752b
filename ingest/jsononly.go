package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/source"
)

// A run of which there is only fio's JSON is made of sources that are no logs: each has all I/Os of a job, or of a
// group of jobs, as one record of each direction that spans the job.

// JSONOnly reports whether there is only fio's JSON.
func (in *Input) JSONOnly() bool { return len(in.Logs) > 0 && in.Logs[0].JSON != nil }

// hasLogs reports whether there is a log in or below a folder that was searched. Call it when all logs are found.
func (d *discovery) hasLogs(root string) bool {
	_, has := d.withLogs()[filepath.Clean(root)]
	return has
}

// withLogs returns the folders in which there are logs, and with false those that only have such folders below them.
func (d *discovery) withLogs() map[string]bool {
	if d.holding != nil {
		return d.holding
	}
	d.holding = map[string]bool{}
	for _, l := range d.logs {
		dir := l.dir
		// What is above .. is not below the current folder.
		for filepath.Base(dir) != ".." { //nolint:endless // the root is above itself, and known then
			dir = filepath.Dir(dir)
			if _, known := d.holding[dir]; known {
				break
			}
			d.holding[dir] = false
		}
		d.holding[l.dir] = true
	}
	return d.holding
}

// hasPackedLogs reports whether a log below a folder is packed in a way that is not read, and not by fio itself.
func (d *discovery) hasPackedLogs(root string) bool {
	return slices.ContainsFunc(d.packed, func(e *source.PackedError) bool {
		_, log := parseName(filepath.Base(e.File))
		return log && !e.Fio && under(e.File, root)
	})
}

// withoutLogs finds the runs with only fio's JSON, as DiscoverJSONRuns does, below folders without any log and, if
// there are no logs at all, in the files given. Folders that would be hosts if they had logs are.
func (d *discovery) withoutLogs(given Input, withLogs []*Input) (runs []*Input, err error) {
	if d.opt.LogsOnly || len(d.opt.FioJSON) > 0 {
		return nil, nil
	}
	var totals []*JSONRun
	var warnings []string
	for _, root := range d.searched {
		if !d.hasLogs(root) && !d.hasPackedLogs(root) {
			totals = append(totals, d.totalsBelow(root, &warnings)...)
		}
	}
	if len(given.Logs)+len(d.logs) == 0 {
		for _, m := range given.Metas {
			totals = append(totals, &JSONRun{Root: m.Name(), Metas: []*fiojson.Document{m}})
		}
	}
	if len(d.damaged) > 0 && !d.opt.SkipBad { // it may be that of a host
		return nil, d.damaged[0]
	}
	d.warnings = append(d.warnings, warnings...)
	totals, inputs := d.withHosts(d.withoutCopies(totals, withLogs))
	seen := map[string]string{} // root by id
	for i, t := range totals {
		in := inputs[i]
		in.ID = t.ID
		failed, lacks := t.Failure(), t.lacks(d.opt.Kind)
		usable := lacks == nil && (failed == nil || t.did() && !d.opt.LeaveFailed && !d.opt.SkipBad)
		switch {
		case seen[t.ID] != "":
			d.warnings = append(d.warnings, fmt.Sprintf("%s: the same content as %s; counted once",
				fio.Printable(in.Root), fio.Printable(seen[t.ID])))
		case usable:
			if failed != nil {
				in.Warnings = append(in.Warnings, failed.Error())
			}
			beside := func(e *source.PackedError) bool {
				return filepath.Dir(e.File) == filepath.Dir(t.Metas[0].Path)
			}
			in.Warnings = append(in.Warnings, t.timeless(slices.ContainsFunc(d.packed, beside)))
			if t.mixed(d.opt.Kind) {
				in.mix()
			}
			runs = append(runs, in)
		case failed != nil && d.opt.LeaveFailed:
		case d.opt.SkipBad:
			d.warnings = append(d.warnings, "left out: "+cmp.Or(failed, lacks).Error())
		case err == nil:
			err = cmp.Or(failed, lacks)
		}
		seen[t.ID] = in.Root
	}
	if d.opt.Any && len(runs) > 0 {
		err = nil
	}
	return runs, err
}

// withoutCopies leaves out runs of which all documents repeat those of runs with logs.
func (d *discovery) withoutCopies(totals []*JSONRun, withLogs []*Input) []*JSONRun {
	used := likely{}
	for _, in := range withLogs {
		for _, m := range in.Metas {
			used.add(m)
		}
	}
	return filtered(totals, func(t *JSONRun) bool {
		repeats := !slices.ContainsFunc(t.Metas, func(m *fiojson.Document) bool { return !used.has(m) })
		if repeats {
			d.used = append(d.used, t.Metas[0].Path)
			d.warnings = append(d.warnings, fmt.Sprintf("%s: the same content as fio's JSON of a run with logs; counted once",
				fio.Printable(t.Root)))
		}
		return !repeats
	})
}

// logsBeside returns the runs of fio's JSON that was named, without histograms, if their logs are beside it. It returns
// none if any of the JSON is something else.
func (d *discovery) logsBeside(given []*fiojson.Document) (runs []*Input) {
	var folders []string
	for _, m := range given {
		one := &JSONRun{Root: m.Name(), Metas: []*fiojson.Document{m}}
		if m.Path == stdin || len(d.opt.FioJSON) > 0 || !errors.As(one.lacks(d.opt.Kind), new(*fio.NoLogsError)) {
			return nil
		}
		if dir := filepath.Dir(m.Path); !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
	}
	if len(folders) == 0 || len(d.searched) > 0 {
		return nil
	}
	opt := d.opt
	opt.LogsOnly = true
	found, _ := Discover(folders, opt) // if nothing can be read there, the error is about what was named
	left := given
	for _, in := range found {
		for _, in := range in.Split() {
			own := filtered(in.Metas, func(m *fiojson.Document) bool { return slices.Contains(paths(given), m.Path) })
			if len(own) == 0 {
				continue
			}
			left = filtered(left, func(m *fiojson.Document) bool { return !slices.Contains(paths(own), m.Path) })
			in.Warnings = append(in.Warnings, fmt.Sprintf("%s%s: fio's JSON has no histograms: read with the logs of its "+
				"run beside it", fio.NotePrefix, fio.Printable(own[0].Path)))
			runs = append(runs, in)
		}
	}
	if len(left) > 0 {
		return nil
	}
	return runs
}

// withHosts makes one run of those that hostFolders takes for its hosts, and returns all, with ids, and as inputs, too.
func (d *discovery) withHosts(runs []*JSONRun) (out []*JSONRun, inputs []*Input) {
	for _, t := range runs {
		in := &Input{Root: t.Root}
		for _, m := range t.Metas {
			s := jsonSource(m, d.opt.Kind)
			if json, ok := d.opt.Stdin.(*jsonInput); ok && m.Path == stdin {
				s.Size, s.Hash = int64(json.size), json.hash()
			}
			in.Logs = append(in.Logs, s)
		}
		inputs = append(inputs, in)
	}
	inputs = d.hostFolders(inputs)
	for _, in := range inputs {
		for _, s := range in.Logs {
			in.Metas = append(in.Metas, s.JSON)
		}
		in.nameHosts()
		if d.opt.HostsBy != HostsByName {
			in.hostsOfFiles()
		}
		out = append(out, d.newJSONRun(in.Root, in.Metas))
	}
	return out, inputs
}

// hostsOfFiles names the hosts of a run of several files of fio's JSON in one folder after these, if nothing else does:
// they ran at the same time, as virtual machines do whose JSON is collected side by side.
func (in *Input) hostsOfFiles() {
	names := map[string]bool{}
	for _, l := range in.Logs {
		names[stem(l.Path)] = true
		if l.Host != "" || filepath.Dir(l.Path) != filepath.Dir(in.Logs[0].Path) ||
			slices.ContainsFunc(l.JSON.Entries, func(e fiojson.Entry) bool { return e.Host != "" }) {
			return
		}
	}
	if len(names) < 2 || len(names) < len(in.Logs) {
		return
	}
	for _, l := range in.Logs {
		l.Host = validUTF8(stem(l.Path))
		for i := range l.JSON.Entries {
			l.JSON.Entries[i].Host = l.Host
		}
	}
}

// WithoutLogs returns the run as one of which there is only fio's JSON, with why its logs are not used as a warning;
// nil if that has no histograms of that kind.
func (in *Input) WithoutLogs(kind fio.Kind, why string) *Input {
	out := in.ofJSON(kind)
	if out != nil {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%s: %s not used, as the first of them: %s",
			fio.Printable(in.Root), fio.Several(len(in.Logs), "log"), why))
	}
	return out
}

// otherKind is ofJSON for a run whose logs are of other kinds.
func (in *Input) otherKind(kind fio.Kind) *Input {
	out := in.ofJSON(kind)
	if out != nil {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%s%s: there is no %v log, only fio's JSON, which has no times "+
			"of I/Os: the whole run is one interval", fio.NotePrefix, fio.Printable(in.Root), kind))
	}
	return out
}

func (in *Input) ofJSON(kind fio.Kind) *Input {
	t := newDiscovery(DiscoverOptions{}).newJSONRun(in.Root, in.Metas)
	if len(in.Metas) == 0 || t.lacks(kind) != nil || !t.Measured(kind) {
		return nil
	}
	out := *in
	out.ID, out.Logs = t.ID, nil
	for _, m := range in.Metas {
		out.Logs = append(out.Logs, jsonSource(m, kind))
	}
	out.Warnings = slices.Clone(in.Warnings)
	if t.mixed(kind) {
		out.mix()
	}
	return &out
}

// jsonSource returns a document in place of a log.
func jsonSource(m *fiojson.Document, kind fio.Kind) *Source {
	s := &Source{Path: m.Path, Base: filepath.Base(m.Path), Name: Name{Kind: kind, Hist: true}, JSON: m}
	if info, err := os.Stat(m.Path); err == nil {
		s.Size = info.Size()
	}
	return s
}

// mix makes the run, of which there is only fio's JSON, one of all directions together: see OfMixed.
func (in *Input) mix() {
	in.Metas = nil
	for _, s := range in.Logs {
		s.JSON = s.JSON.OfMixed()
		in.Metas = append(in.Metas, s.JSON)
	}
}

// timeless says what a run without logs lacks, and where its logs are if it wrote any that are not here.
func (t *JSONRun) timeless(here bool) string {
	text := fio.Printable(t.Root) + ": there is only fio's JSON, which has no times of I/Os: the whole run is one " +
		"interval"
	if wrote := wroteLogs(t.Metas); wrote != "" && !here {
		return text + "; " + wrote + ": pass the folder with them, where fio, or fio --client, was started"
	}
	return fio.NotePrefix + text
}

// mixed reports whether fio's JSON has only the histograms of all directions together.
func (t *JSONRun) mixed(kind fio.Kind) bool {
	some := false
	for _, e := range entriesIn(t.Metas...) {
		bins := e.Mixed.Kind[kind].Bins.Len() > 0
		some = some || bins
		if !bins && e.Did() {
			return false
		}
	}
	return some
}

// lacks returns why no histogram of a kind of latency can be made of the run; nil if it can.
func (t *JSONRun) lacks(kind fio.Kind) error {
	measured, mixed := false, false
	for m, e := range entriesIn(t.Metas...) {
		mixed = mixed || e.Mixed.Kind[kind].N > 0
		for d := range e.Dirs {
			of := &e.Dirs[d].Kind[kind]
			if of.N == 0 && e.Dirs[d].TotalIOs > 0 && len(m.Warnings) > 0 { // dropped, and nothing else has them
				return &fio.ParseError{File: m.Name(), Msg: m.Warnings[0],
					Hint: "copy the file again; --skip-bad leaves the run out"}
			}
			measured = measured || of.N > 0
			if of.N > 0 && of.Bins.Len() == 0 {
				hint := "run fio with --output-format=json+"
				if kind != fio.Clat {
					hint += fmt.Sprintf(" and %v_percentiles=1", kind)
				} else if e.Dirs[d].Kind[fio.Lat].Bins.Len() > 0 {
					hint = "pass --kind lat, or run fio without clat_percentiles=0"
				}
				return noLogs(m.Name(), fmt.Sprintf("no logs, and fio's JSON has no histogram of %v", kind), hint)
			}
		}
	}
	switch {
	case measured, t.mixed(kind):
		return nil
	case mixed:
		return noLogs(t.Root, "no logs, and fio's JSON adds up all directions (unified_rw_reporting=mixed), "+
			"without histograms", "run fio without that option, or with --output-format=json+; fiolat summary shows the sum")
	}
	if kind == fio.Clat && t.did() {
		return nil // its I/Os have no latencies
	}
	return noLogs(t.Root, fmt.Sprintf("no logs, and by fio's JSON %v was not measured", kind),
		"run fio without gtod_reduce and disable_*, or choose another --kind")
}

func noLogs(file, msg, hint string) error {
	return &fio.NoLogsError{ParseError: fio.ParseError{File: file, Msg: msg,
		Hint: hint + "; --skip-bad leaves the run out"}}
}

// jsonEntries makes a Log of each entry of fio's JSON that a run without logs has.
func (m *matcher) jsonEntries() {
	for _, src := range m.in.Logs {
		meta := src.JSON
		m.notes(meta)
		if meta.Cut {
			m.warn("%s: breaks off: all counts are of its last whole document, and not of the end of the run",
				fio.Printable(meta.Name()))
		}
		of := m.hostsOf(meta)
		for i := range meta.Entries {
			host := meta.Entries[i].Host
			s := &set{meta: meta, host: host, entries: of[host], index: map[*Log]int{}}
			delete(of, host)
			for k, e := range s.entries {
				l := &Log{Source: src, Meta: meta, Entry: e, Members: 1, Host: cmp.Or(host, src.Host),
					Job: e.JobName, ends: m.ends}
				s.logs, s.index[l] = append(s.logs, l), k
			}
			if warnings := m.warnings; len(s.logs) > 0 {
				m.starts(s)
				m.warnings = warnings // they are about times, of which there are none
			}
			m.logs = append(m.logs, s.logs...)
		}
	}
}
