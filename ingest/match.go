package ingest

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/fiolog"
	"fiolat/ingest/jobfile"
	"fiolat/ingest/source"
)

// Log is one log with what fio's JSON and the job file say about it.
type Log struct {
	Source *Source
	// Meta is the JSON document that the log belongs to, Entry the job in it; nil if that is not known.
	//
	// If an entry stands for threads whose logs exist and were not asked for, its counts are left out: they cannot be
	// compared with the logs'.
	Meta  *fiojson.Document
	Entry *fiojson.Entry
	// Members is the number of threads, and so of logs, that share the entry; 1 without one.
	Members int
	// Section is the job's in the job file, or nil.
	Section *jobfile.Section
	// Host is "" where it is not known.
	Host, Job string
	// LogName is the log's label, unique in the run: the file's name without the
	// suffix of the compression, and as many folders before it as it takes.
	LogName string
	Start   Start
	// SiblingUnit is the unit of latencies in ns that a histogram log beside it shows, if it is one of single I/Os
	// without fio's JSON; else 0.
	SiblingUnit int64
	// Bad is why the log cannot be used, if that is known before it is read.
	Bad *fio.ParseError

	startsLike *jobfile.Section // a section that starts when the log's does
	// fits is Fits for the entry.
	fits func() bool
	// ends is when the last job of each document ended, from fio's own start. All logs of a Match share it.
	ends map[*fiojson.Document]time.Duration
}

// Start is when a log's time 0 was.
type Start struct {
	// Offset is counted from fio's own start.
	Offset time.Duration
	// Absolute is job_start in ms since 1970; 0: none.
	Absolute int64
	// How says where Offset and Absolute come from.
	How string
	// Unknown means that nothing says when the job started beside the others of its fio; Offset is a guess.
	Unknown bool
	// Late says in words how much after Offset the job may have started; "": Offset is exact.
	Late string
}

// Option returns the value of a job option of the log's: from the job file, else from fio's JSON, where flags without
// a value are missing and a group's are its last section's.
func (l *Log) Option(name string) (string, bool) {
	if l.Section != nil {
		v, ok := l.Section.Options[name]
		return v, ok
	}
	return l.Meta.Option(l.Entry, name)
}

// Match finds the document and the entry of each log, in the order of in.Logs, and when it started. What it cannot
// find out it leaves open, with a warning.
func Match(in *Input) ([]*Log, []string, error) {
	m := &matcher{in: in, warnings: slices.Clone(in.Warnings),
		logged: map[*fiojson.Entry]bool{}, part: map[*fiojson.Entry]bool{},
		unsure: map[*fiojson.Document]bool{},
		ends:   map[*fiojson.Document]time.Duration{}, fit: map[*jobfile.File]bool{}}
	in.NoLog, in.JobsWithoutLog = nil, 0
	if in.JSONOnly() {
		m.jsonEntries()
		m.nameMissing()
		m.failures()
		return m.logs, m.warnings, nil
	}
	for _, j := range in.JobFiles {
		if len(in.Metas) == 0 && len(j.Variables) > 0 {
			m.warn("%s: %s: fio took that from its environment, which is not known here: pass fio's JSON, or a job "+
				"file with the values", fio.Printable(j.Path), fio.Printable(fio.Some(j.Variables)))
		}
	}
	m.split()
	m.documents()
	m.unlogged()
	for _, meta := range in.Metas {
		m.notes(meta)
	}
	used := map[*jobfile.File]bool{}
	sets := m.sets()
	for _, set := range sets {
		m.entries(set)
		used[set.jobFile] = true
		m.starts(set)
	}
	m.withoutLogs(sets)
	m.nameMissing()
	m.failures()
	for _, j := range in.JobFiles {
		if !used[j] {
			why := "this job file's threads and log names are not those of the logs"
			if m.fit[j] {
				why = "another job file fits the logs, too"
			}
			in.Ignored = append(in.Ignored, fio.Printable(j.Path)+": "+why)
		}
	}
	for _, l := range m.logs {
		m.jobName(l)
		if l.Source.Name.Job == 0 && l.Source.Name.Host != "" && l.Source.Path != stdin &&
			l.Entry == nil && l.Source.Extent == nil {
			m.warn("%s: no thread number in its name (per_job_logs=0): fio --client before 3.37 keeps only the log "+
				"of the job that ended last; what others did is missing then", fio.Printable(l.Source.Path))
		}
	}
	m.siblingUnits()
	m.logNames()
	m.fitters()
	return m.logs, m.warnings, nil
}

// siblingUnits finds the unit of latencies for logs of single I/Os without fio's JSON, in histogram logs beside them.
func (m *matcher) siblingUnits() {
	units := map[string]int64{} // by folder
	for _, l := range m.logs {
		if l.Meta != nil || l.Source.Name.Hist {
			continue
		}
		dir := filepath.Dir(l.Source.Path)
		if _, ok := units[dir]; !ok {
			units[dir] = 0
			for _, o := range m.in.siblings {
				if o.Name.Hist && filepath.Dir(o.Path) == dir && units[dir] == 0 {
					units[dir] = unitOf(o.Path)
				}
			}
		}
		l.SiblingUnit = units[dir]
	}
}

// unitOf returns the unit of latencies in ns of a histogram log; 0 if its first line does not tell.
func unitOf(path string) int64 {
	in, err := source.Open(path, nil)
	if err != nil {
		return 0
	}
	defer in.Close()
	r := fiolog.NewReader(in, path, fiolog.ReaderOptions{})
	defer r.Stop()
	if _, err := r.Next(); err != nil {
		return 0
	}
	g, _ := r.Geometry()
	return g.Unit
}

func prefixed(path string, msgs []string) (out []string) {
	for _, msg := range msgs {
		out = append(out, fio.Printable(path)+": "+msg)
	}
	return out
}

type matcher struct {
	in       *Input
	logs     []*Log
	warnings []string
	logged   map[*fiojson.Entry]bool    // those that have a log
	part     map[*fiojson.Entry]bool    // entries that also have threads whose logs were not asked for
	unsure   map[*fiojson.Document]bool // some log's entry is not known
	ends     map[*fiojson.Document]time.Duration
	fit      map[*jobfile.File]bool
	byHost   map[*fiojson.Document]map[string][]*fiojson.Entry
}

func (m *matcher) warn(format string, args ...any) {
	m.warnings = append(m.warnings, fmt.Sprintf(format, args...))
}

// notes passes on what reading a document found, unless discovery has said so.
func (m *matcher) notes(meta *fiojson.Document) {
	for _, text := range slices.Concat(prefixed(meta.Name(), meta.Warnings), meta.Notes) {
		if !slices.Contains(m.warnings, text) {
			m.warnings = append(m.warnings, text)
		}
	}
}

// documents gives each log its JSON document by the facts that are known of both: one in the log's folder, else one of
// those above. What these do not decide stays open.
func (m *matcher) documents() {
	shelf := m.shelves()
	var open []*Log
	var among []*fiojson.Document
	for _, l := range m.logs {
		if l.Meta != nil { // of another folder
			continue
		}
		var fit []*fiojson.Document
		dir, any := filepath.Dir(l.Source.Path), false
		for _, all := range []bool{false, true} {
			if s := shelf(dir, all); len(fit) == 0 && s != nil {
				fit, _ = s.find(l.Source, l.Host)
				any = true
			}
		}
		switch {
		case len(fit) == 1:
			l.Meta = fit[0]
		case any:
			open, among = append(open, l), fit
		}
	}
	if len(open) > 0 && len(among) == 0 {
		among = distinct(m.in.Metas)
	}
	if len(open) > 0 {
		var names []string
		for _, path := range slices.Compact(paths(among)) {
			names = append(names, fio.Printable(path))
		}
		m.warn("%s: cannot tell which JSON goes with this log%s: %s; pass it with --fio-json",
			fio.Printable(open[0].Source.Path), others(len(open)-1), shortened(names))
	}
}

// shelves returns a function that finds the documents of the run for the logs of a folder: its own or, with all, also
// those of all folders above or, if they were named, of any. It returns nil if there are none.
func (m *matcher) shelves() func(dir string, all bool) *shelf {
	metas := distinct(m.in.Metas)
	var hosts []string
	for _, l := range m.logs {
		hosts = appendNew(hosts, l.Host)
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	in := map[string][]*fiojson.Document{}
	for _, d := range metas {
		dir := filepath.Dir(d.Path)
		in[dir] = append(in[dir], d)
	}
	type key struct {
		dir string
		all bool
	}
	known := map[key]*shelf{}
	return func(dir string, all bool) *shelf {
		if all && m.in.metasGiven {
			dir = "" // one for the logs of all folders
		}
		k := key{dir, all}
		s, ok := known[k]
		if ok {
			return s
		}
		docs := in[dir]
		if all {
			docs = filtered(metas, func(d *fiojson.Document) bool {
				return m.in.metasGiven || under(dir, filepath.Dir(d.Path))
			})
		}
		if len(docs) > 0 {
			s = newShelf(within, dir, docs, hosts...)
		}
		known[k] = s
		return s
	}
}

// unlogged takes documents out of the run that none of its logs belongs to: each is of another run, without logs.
func (m *matcher) unlogged() {
	used := map[*fiojson.Document]bool{}
	for _, l := range m.logs {
		if l.Meta == nil {
			return // it may belong to any
		}
		used[l.Meta] = true
	}
	unlogged := filtered(distinct(m.in.Metas), func(d *fiojson.Document) bool { return !used[d] })
	if len(unlogged) > 0 {
		m.in.Unlogged = unlogged
	}
	for _, d := range m.in.overwritten {
		m.warn("%s: its logs are not here, or were overwritten: only `fiolat summary` shows it, and "+
			"`fiolat compare` if it is a repeat",
			fio.Printable(d.Name()))
	}
	m.in.Metas = filtered(m.in.Metas, func(d *fiojson.Document) bool { return used[d] })
	for _, d := range unlogged {
		var jobs []string
		for _, e := range entriesIn(d) {
			if ios := counted(e, m.logs[0].Source.Name.Kind); ios != "" {
				jobs = append(jobs, fmt.Sprintf("%s, %s", fio.Printable(e.JobName), ios))
			}
		}
		if why := (&JSONRun{Metas: []*fiojson.Document{d}}).failure(); errorOf(d) != 0 && len(jobs) == 0 {
			if slices.ContainsFunc(m.in.Metas, func(o *fiojson.Document) bool { return failedDuring(d, o, 0) }) {
				m.in.Missing = append(m.in.Missing, MissingHost{validUTF8(stem(d.Path)), d.Name(), why})
			} else {
				m.warn("%s: a run that left no log: %s", fio.Printable(d.Name()), why)
			}
		}
		m.nameWithout(d, jobs)
	}
}

func paths(metas []*fiojson.Document) (out []string) {
	for _, d := range metas {
		out = append(out, d.Path)
	}
	return out
}

func others(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (nor with %d others)", n)
}

func shortened(names []string) string {
	if few := 4; len(names) > few {
		names = append(names[:few:few], "...")
	}
	return strings.Join(names, ", ")
}

// distinct leaves out documents that repeat another, e.g. a compressed copy.
func distinct(metas []*fiojson.Document) (out []*fiojson.Document) {
	seen := likely{}
	for _, m := range metas {
		if seen.add(m) {
			out = append(out, m)
		}
	}
	return out
}

// likely has documents by what most of them differ in.
type likely map[traits][]*fiojson.Document

type traits struct {
	version         string
	at, ran, issued int64
	entries         int
	job, host       string
	means           float64
}

// add adds a document that repeats none, and reports whether it is one.
func (l likely) add(m *fiojson.Document) bool {
	if l.has(m) {
		return false
	}
	of := traitsOf(m)
	l[of] = append(l[of], m)
	return true
}

// has reports whether a document repeats one of these.
func (l likely) has(m *fiojson.Document) bool {
	return slices.ContainsFunc(l[traitsOf(m)], func(o *fiojson.Document) bool {
		return reflect.DeepEqual(m.Entries, o.Entries)
	})
}

func traitsOf(m *fiojson.Document) traits {
	of := traits{version: m.Version, at: m.TimestampMS, entries: len(m.Entries)}
	for _, e := range entriesIn(m) {
		of.job, of.host, of.ran = e.JobName, e.Host, of.ran+e.RuntimeMS
		for k := range e.Dirs {
			of.issued += int64(e.Dirs[k].TotalIOs)
			of.means += e.Dirs[k].Kind[fio.Clat].Mean
		}
	}
	return of
}

// entriesIn returns the entries of documents, each with its document.
func entriesIn(metas ...*fiojson.Document) iter.Seq2[*fiojson.Document, *fiojson.Entry] {
	return func(yield func(*fiojson.Document, *fiojson.Entry) bool) {
		for _, m := range metas {
			for i := range m.Entries {
				if !yield(m, &m.Entries[i]) {
					return
				}
			}
		}
	}
}

func filtered[T any](all []T, ok func(T) bool) (out []T) {
	for _, d := range all {
		if ok(d) {
			out = append(out, d)
		}
	}
	return out
}

// sameHost reports whether two names are of one host; one may lack the domain.
func sameHost(a, b string) bool {
	return a == b || !numeric(a) && !numeric(b) && (strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+"."))
}

// numeric reports whether host is an address and not a name.
func numeric(host string) bool {
	return strings.Trim(host, "0123456789.") == "" || strings.Contains(host, ":")
}

// hasPrefix reports whether a job of the document writes logs of that name.
func hasPrefix(m *fiojson.Document, n Name) bool {
	return len(m.Writers(n.Prefix, n.Hist)) > 0
}

// writes reports whether a job writes logs of that name.
func writes(m *fiojson.Document, e *fiojson.Entry, n Name) bool {
	return filepath.Base(m.LogPath(e, n.Hist)) == n.Prefix
}

// stem returns a file's name without the suffixes of compression and JSON.
func stem(path string) string {
	return strings.TrimSuffix(uncompressed(filepath.Base(path)), ".json")
}

// set is the logs of one fio process: those of one document and host or, without a document and with several job
// files, those in the folder of one job file.
type set struct {
	meta    *fiojson.Document
	host    string
	logs    []*Log
	entries []*fiojson.Entry // of this host
	threads int              // the largest log number known
	job     *jobfile.File    // with the options of fio's command line
	jobFile *jobfile.File    // as it was read
	entryOf []int            // thread -> entry; -1: none, or not known
	index   map[*Log]int     // index in entries
	apart   bool             // nothing tells when its fio started beside another of its host
	open    bool             // which of several servers wrote a log is not known
}

// sets groups the logs by document and host, or by their job files' folders.
func (m *matcher) sets() []*set {
	type key struct {
		meta         *fiojson.Document
		host, folder string
	}
	var out []*set
	folders := jobfile.Folders(m.in.JobFiles)
	index := map[key]*set{}
	for _, l := range m.logs {
		k := key{l.Meta, l.Host, ""}
		if dir := filepath.Dir(l.Source.Path); l.Meta == nil && len(folders) > 1 && folders[dir] {
			k.folder = dir
		}
		s := index[k]
		if s == nil {
			s = &set{meta: l.Meta, host: l.Host, index: map[*Log]int{}}
			index[k] = s
			out = append(out, s)
		}
		s.logs = append(s.logs, l)
	}
	var divided []*set
	for _, s := range out {
		if s.meta == nil {
			divided = append(divided, m.byJobFile(s)...)
			continue
		}
		m.entriesOf(s, out)
		divided = append(divided, m.servers(s)...)
	}
	return divided
}

// byJobFile divides a set without a document by job files, if each of its logs is one that a single job file names.
func (m *matcher) byJobFile(s *set) (parts []*set) {
	of := map[*jobfile.File]*set{}
	for _, l := range s.logs {
		name := l.Source.Name
		by := filtered(jobfile.Beside(m.in.JobFiles, filepath.Dir(l.Source.Path)), func(j *jobfile.File) bool {
			return slices.ContainsFunc(j.Sections, func(t *jobfile.Section) bool {
				return mayWrite(j, t, name)
			})
		})
		if len(by) != 1 {
			return []*set{s}
		}
		if of[by[0]] == nil {
			of[by[0]] = &set{host: s.host, index: map[*Log]int{}, apart: true}
			parts = append(parts, of[by[0]])
		}
		of[by[0]].logs = append(of[by[0]].logs, l)
	}
	if len(parts) == 1 {
		return []*set{s}
	}
	return parts
}

// entriesOf finds the entries of a set's host.
func (m *matcher) entriesOf(s *set, all []*set) {
	of := m.hostsOf(s.meta)
	if own := of[s.host]; len(own) > 0 {
		s.entries = append(s.entries, own...)
		return
	}
	hosts := slices.Sorted(maps.Keys(of))
	fit := filtered(hosts, func(h string) bool { return h != "" && sameHost(h, s.host) })
	var sets []string // hosts of this document's logs
	if len(hosts) == 1 {
		for _, o := range all {
			if o.meta == s.meta {
				sets = append(sets, o.host)
			}
		}
	}
	want := ""
	switch {
	case len(fit) == 1:
		want = fit[0]
	case len(hosts) == 1 && len(sets) == 1:
		want = hosts[0] // one host in both: it has two names
	case len(hosts) == 1 && hosts[0] == "":
		m.warn("%s: cannot tell which host's JSON this is: %s; pass each host's with --fio-json",
			fio.Printable(s.meta.Path), shortened(printables(sets)))
		return
	case s.host == "":
		m.warn("%s: its jobs ran on hosts %s, but the log names do not say which host each log is from",
			fio.Printable(s.meta.Path), shortened(printables(hosts)))
		return
	default:
		m.warn("%s: no job of host %q, only of %s; the host's logs are read without this JSON",
			fio.Printable(s.meta.Path), s.host, shortened(printables(hosts)))
		return
	}
	s.entries = append(s.entries, of[want]...)
}

// hostsOf returns the entries of a document by host.
func (m *matcher) hostsOf(meta *fiojson.Document) map[string][]*fiojson.Entry {
	if m.byHost == nil {
		m.byHost = map[*fiojson.Document]map[string][]*fiojson.Entry{}
	}
	of := m.byHost[meta]
	if of == nil {
		of = map[string][]*fiojson.Entry{}
		for _, e := range entriesIn(meta) {
			of[e.Host] = append(of[e.Host], e)
		}
		m.byHost[meta] = of
	}
	return of
}

func printables(names []string) (out []string) {
	for _, n := range names {
		out = append(out, strconv.Quote(n))
	}
	return out
}

// entries finds the section and the entry of each log of a set: log N is that of thread N.
func (m *matcher) entries(s *set) {
	if s.open {
		return
	}
	if s.meta != nil && len(s.entries) == 0 {
		m.unsure[s.meta] = true
	}
	m.dropStale(s)
	byThread := s.byThread()
	numbers := slices.Sorted(maps.Keys(byThread))
	s.threads = max(s.threads, numbers[len(numbers)-1])
	for _, o := range m.in.siblings {
		if s.mayHave(o) {
			s.threads = max(s.threads, o.Name.Job)
		}
	}
	m.jobFileOf(s, byThread)
	if s.job != nil {
		threads := s.job.Threads()
		for n, logs := range byThread {
			if n > 0 && len(logs) == 1 {
				logs[0].Section = threads[n-1]
			}
		}
	}
	if s.job != nil && len(s.entries) > 0 {
		s.entryOf, _ = s.job.Entries()
		s.sections()
	} else if threads := threadsOf(s.meta, s.entries, s.threads); threads != nil {
		for i, n := range threads {
			s.entryOf = append(s.entryOf, slices.Repeat([]int{i}, n)...)
		}
		for i, n := range s.several() {
			s.entries[i].Unlike = n
		}
	}
	if len(s.entries) > 0 && !m.assign(s, byThread, numbers) {
		return
	}
	for _, file := range byFile(byThread[0]) {
		if s.job != nil {
			m.appendedBy(s, file)
		}
		if len(s.entries) == 0 {
			m.tellAppended(s, file)
		}
	}
	m.incomplete(s)
}

// dropStale leaves out logs of an earlier run: they are numbered beyond the threads of fio's JSON, whose counts fit the
// others.
func (m *matcher) dropStale(s *set) {
	threads := 0
	for _, e := range s.entries {
		threads += numJobs(s.meta, e)
		if e.Unlike > 0 {
			return // the JSON does not say how many there are
		}
	}
	old := filtered(s.logs, func(l *Log) bool { return l.Source.Name.Job > threads })
	if threads == 0 || len(old) == 0 || len(old) == len(s.logs) || !s.logs[0].Source.Name.Hist || s.host != "" {
		return
	}
	few, all := &sums{}, &sums{}
	for _, l := range s.logs {
		of, err := l.sums()
		if err != nil {
			return
		}
		all.add(of)
		if l.Source.Name.Job <= threads {
			few.add(of)
		}
	}
	more := false
	for d := range fio.Directions {
		counted := 0.0
		for _, e := range s.entries {
			counted += float64(e.Dirs[d].Kind[fio.Clat].N)
		}
		if few.logged[d].Sum() > counted {
			return
		}
		more = more || all.logged[d].Sum() > counted
	}
	if !more {
		return
	}
	var names []string
	for _, l := range old {
		names = append(names, fio.Printable(l.Source.Path))
	}
	m.warn("%s: not used: by %s there are %d threads, whose I/Os the other logs hold: left by an earlier run",
		fio.Some(names), fio.Printable(s.meta.Path), threads)
	m.drop(s, old)
}

// drop leaves logs of a set out.
func (m *matcher) drop(s *set, logs []*Log) {
	for _, all := range []*[]*Log{&s.logs, &m.logs} {
		*all = slices.DeleteFunc(*all, func(l *Log) bool { return slices.Contains(logs, l) })
	}
}

// sections gives entries that stand for several sections of the job file these sections.
func (s *set) sections() {
	of := map[*fiojson.Entry][]*jobfile.Section{}
	for thread, section := range s.job.Threads() {
		if i := s.entryOf[thread]; i >= 0 && !slices.Contains(of[s.entries[i]], section) {
			of[s.entries[i]] = append(of[s.entries[i]], section)
		}
	}
	for e, sections := range of {
		last := sections[len(sections)-1] // whose values fio's JSON has
		for name, v := range last.Options {
			if own, ok := e.Options[name]; ok && jobfile.HasVariable(v) {
				last.Options[name] = own
			}
		}
		e.Unlike, e.Sections = 0, nil
		for _, section := range sections {
			if len(sections) > 1 {
				e.Sections = append(e.Sections, fiojson.Section{Name: section.JobName(),
					Options: section.Options})
			}
		}
	}
}

// byThread returns the logs by the thread numbers in their names.
func (s *set) byThread() map[int][]*Log {
	out := map[int][]*Log{}
	for _, l := range s.logs {
		out[l.Source.Name.Job] = append(out[l.Source.Name.Job], l)
	}
	for n, logs := range out {
		if s.meta == nil || len(logs) == 1 {
			continue
		}
		// logs of two runs; one may be the document's
		if its := slices.DeleteFunc(slices.Clone(logs), func(l *Log) bool {
			return !hasPrefix(s.meta, l.Source.Name) && !isNamedAfter(s.meta, l.Source.Name.Prefix, l.Host)
		}); len(its) == 1 {
			out[n] = its
		}
	}
	return out
}

// assign gives logs their entries, and warns of those for which it is not clear. It reports false if none can have one.
func (m *matcher) assign(s *set, byThread map[int][]*Log, numbers []int) bool {
	members := make([]int, len(s.entries))
	for _, i := range s.entryOf {
		if i >= 0 {
			members[i]++
		}
	}
	var left []*Log
	for _, n := range numbers {
		logs, matched := byThread[n], false
		if n == 0 && (len(s.entries) > 1 || len(logs) > 1) {
			logs, matched = m.appended(s, logs)
			byThread[0] = logs
		}
		switch {
		case matched:
		case n == 0 && len(s.entries) == 1 && len(logs) == 1: // one log of all threads
			logs[0].Entry, s.index[logs[0]] = s.entries[0], 0
		case n == 0 && len(logs) > 1 && logs[1].Source.Extent != nil:
			m.unsure[s.meta] = true
			m.refuseAppended(s, logs)
			return false
		case len(logs) > 1 || n == 0 || n > len(s.entryOf):
			left = append(left, logs...)
		case s.entryOf[n-1] >= 0:
			i := s.entryOf[n-1]
			logs[0].Entry, s.index[logs[0]] = s.entries[i], i
			logs[0].Members = members[i]
		}
	}
	if len(left) > 0 {
		m.unsure[s.meta] = true
		these := "this log belongs"
		if len(left) > 1 {
			these = fmt.Sprintf("these %d logs belong", len(left))
		}
		m.warn("%s: cannot tell which jobs of %s %s to (%d entries, %d threads); pass the job file",
			fio.Printable(left[0].Source.Path), fio.Printable(s.meta.Path), these, len(s.entries), s.threads)
	}
	return true
}

// servers divides a set whose entries are of several servers at one address. fio --client names logs after the address,
// without the port, so that one server's log overwrites another's, unless their jobs name them differently.
func (m *matcher) servers(s *set) []*set {
	of := map[int]*set{}
	var parts []*set
	for _, e := range s.entries {
		if of[e.Port] == nil {
			of[e.Port] = &set{meta: s.meta, host: s.host, index: map[*Log]int{}}
			parts = append(parts, of[e.Port])
		}
		of[e.Port].entries = append(of[e.Port].entries, e)
	}
	if len(parts) < 2 {
		return []*set{s}
	}
	wrote := map[string][]*set{} // by the logs' name
	unique := true
	for _, l := range s.logs {
		name := l.Source.Name
		wrote[name.Prefix] = filtered(parts, func(p *set) bool {
			return slices.ContainsFunc(p.entries, func(e *fiojson.Entry) bool { return writes(s.meta, e, name) })
		})
		unique = unique && len(wrote[name.Prefix]) == 1
	}
	if !unique {
		maps.Copy(wrote, m.serversByCounts(s, parts))
	}
	for _, l := range s.logs {
		its := wrote[l.Source.Name.Prefix]
		if len(its) == 1 {
			its[0].logs = append(its[0].logs, l)
			continue
		}
		var ports []string
		for _, p := range parts {
			if len(its) == 0 || slices.Contains(its, p) {
				ports = append(ports, strconv.Itoa(p.entries[0].Port))
			}
		}
		s.open = true
		l.Bad = &fio.ParseError{File: l.Source.Path,
			Msg: fmt.Sprintf("%d servers at %s (ports %s), but 1 log: fio --client wrote the log of one over that "+
				"of the other", len(ports), s.host, shortened(ports)),
			Hint: "give each server an address of its own (127.0.0.1, 127.0.0.2) and run again, or pass --skip-bad " +
				"to leave it out"}
	}
	if s.open {
		m.unsure[s.meta] = true
		return []*set{s}
	}
	return filtered(parts, func(p *set) bool { return len(p.logs) > 0 })
}

// nearly is the part of a group's I/Os that may lie in other buckets than fio's JSON of the group has them, as those of
// fio 3.28 do.
const nearly = 0.01

// serversByCounts returns the server of each log name, by the counts of its logs, if there is a name for each server:
// the JSON of several job files has the options of one.
func (m *matcher) serversByCounts(s *set, parts []*set) map[string][]*set {
	of := map[string][]*Log{}
	for _, l := range s.logs {
		of[l.Source.Name.Prefix] = append(of[l.Source.Name.Prefix], l)
	}
	for _, o := range m.in.siblings {
		if o.Host == s.host && o.Name.like(s.logs[0].Source.Name) {
			of[o.Name.Prefix] = append(of[o.Name.Prefix], &Log{Source: o, Meta: s.meta})
		}
	}
	if len(of) != len(parts) {
		return nil
	}
	names := slices.Sorted(maps.Keys(of))
	match := newMatching(pairs(names, parts, func(name string, p *set) bool { return p.holds(of[name]) }),
		slices.Repeat([]int{1}, len(parts)))
	if match == nil {
		return nil
	}
	if i, k := match.other(func(a, b int) bool { return a == b }); i >= 0 {
		m.warn("%s: which server wrote it is not certain: by its counts, that of port %d or of port %d",
			fio.Printable(of[names[i]][0].Source.Path), parts[match.of[i]].entries[0].Port, parts[k].entries[0].Port)
	}
	out := map[string][]*set{}
	for i, name := range names {
		out[name] = []*set{parts[match.of[i]]}
	}
	return out
}

// holds reports whether the entries may have counted all I/Os of logs of one name. The only entry is that of a group,
// which counts all of them together.
func (s *set) holds(logs []*Log) bool {
	all, kind := &sums{}, logs[0].Source.Name.Kind
	for _, l := range logs {
		sums, err := l.sums()
		if err != nil || len(s.entries) > 1 && !slices.ContainsFunc(s.entries, func(e *fiojson.Entry) bool {
			part, _ := sums.fits(kind, e)
			return part
		}) {
			return false
		}
		all.add(sums)
	}
	return len(s.entries) > 1 || all.foreign(s.entries[0], kind) <= nearly
}

// mayHave reports whether a log that was not asked for may be of the same run.
func (s *set) mayHave(o *Source) bool {
	if o.Host != "" && o.Host != s.host {
		return false
	}
	return slices.ContainsFunc(s.logs, func(l *Log) bool { return l.Source.Name.Prefix == o.Name.Prefix }) ||
		s.meta != nil && hasPrefix(s.meta, o.Name)
}

// incomplete warns of entries that stand for threads without a log here. If those logs exist and were not asked for,
// the entry's counts are left out: the I/Os of the others are not lost, and must not be taken for a missing tail of
// these logs.
func (m *matcher) incomplete(s *set) {
	of, elsewhere := map[*fiojson.Entry][]*Log{}, map[*fiojson.Entry]int{}
	for _, l := range s.logs {
		if l.Entry != nil {
			of[l.Entry] = append(of[l.Entry], l)
			m.logged[l.Entry] = true
		}
	}
	for _, o := range m.in.siblings {
		n := o.Name.Job
		if n > 0 && n <= len(s.entryOf) && s.entryOf[n-1] >= 0 && o.Name.like(s.logs[0].Source.Name) && s.mayHave(o) {
			elsewhere[s.entries[s.entryOf[n-1]]]++
		}
	}
	for _, l := range s.logs {
		e, here := l.Entry, len(of[l.Entry])
		if here == 0 || here >= l.Members {
			continue
		}
		missing := "the others' I/Os are missing"
		if elsewhere[e] > 0 {
			missing += ", and its totals are not used"
			m.part[e] = true
			c := *e
			c.Part = true
			for d := range c.Dirs {
				c.Dirs[d].Kind = fiojson.ByKind{}
			}
			c.Mixed.Kind = fiojson.ByKind{}
			for _, o := range filtered(of[e], func(o *Log) bool { return here < o.Members }) {
				o.Entry = &c
			}
		}
		delete(of, e)
		m.warn("%s: job %q covers %d threads, but logs of only %d are here: %s",
			fio.Printable(s.meta.Path), e.JobName, l.Members, here, missing)
	}
}

// like reports whether two logs are of one kind.
func (n Name) like(o Name) bool { return n.Hist == o.Hist && n.Kind == o.Kind }

// withoutLogs names the jobs of the logs' documents that have no log here. It sets in.NoLog to those, of hosts with
// logs, that wrote one.
func (m *matcher) withoutLogs(sets []*set) {
	hosts := map[*fiojson.Document][]string{}
	var metas []*fiojson.Document
	for _, s := range sets {
		if s.meta == nil {
			continue
		}
		if !slices.Contains(metas, s.meta) {
			metas = append(metas, s.meta)
		}
		for _, e := range s.entries {
			hosts[s.meta] = append(hosts[s.meta], e.Host)
		}
	}
	name := m.logs[0].Source.Name
	option := jobfile.LogOption(name.Hist)
	for _, meta := range metas {
		var without []string
		for _, e := range entriesIn(meta) {
			ios := counted(e, name.Kind)
			wrote, may := m.mayHaveWritten(meta, e, name.Hist, option)
			exists := slices.ContainsFunc(m.in.siblings, func(o *Source) bool {
				return o.Name.like(name) && writes(meta, e, o.Name) &&
					(o.Host == "" || e.Host == "" || sameHost(o.Host, e.Host))
			})
			e.Part = m.part[e] || exists && !m.logged[e]
			if m.unsure[meta] || m.logged[e] || exists {
				continue
			}
			e.NoLog = true
			switch {
			case e.Error != 0:
				m.in.JobsWithoutLog++
				m.warn("%s: job %q has no log: it failed with error %d (%v)", fio.Printable(meta.Path), e.JobName,
					e.Error, syscall.Errno(e.Error))
			case ios == "":
			case !wrote && !may:
				without = append(without, fmt.Sprintf("%s, %s", fio.Printable(e.JobName), ios))
			case !wrote:
				m.in.NoLog = append(m.in.NoLog, NoLog{meta, e})
				m.warn("%s: job %q has no log here, though other jobs have one: if it wrote a log, its %s are "+
					"missing; pass the job file", fio.Printable(meta.Path), e.JobName, ios)
			case slices.Contains(hosts[meta], e.Host):
				m.in.NoLog = append(m.in.NoLog, NoLog{meta, e})
				m.warn("%s: job %q has no log here: its %s are missing",
					fio.Printable(meta.Path), e.JobName, ios)
			default:
				m.warn("%s: job %q of host %q has no log here: its %s are missing",
					fio.Printable(meta.Path), e.JobName, e.Host, ios)
			}
		}
		m.nameWithout(meta, without)
	}
}

// failures names jobs with logs that failed, and I/Os that did: these are in no log, and fio goes on after them with
// continue_on_error.
func (m *matcher) failures() {
	for meta, e := range entriesIn(m.in.Metas...) {
		if e.Error != 0 && !e.NoLog && !m.in.JSONOnly() {
			m.warn("%s: job %q failed with error %d (%v): its I/Os until then are here", fio.Printable(meta.Name()),
				e.JobName, e.Error, syscall.Errno(e.Error))
		}
		if e.Errors > 0 {
			m.warn("%s: job %q: %s failed, and have no latency", fio.Printable(meta.Name()), e.JobName, failed(e))
		}
	}
}

// failed returns how many I/Os of a job failed, in words: by direction if what fio measured shows it.
func failed(e *fiojson.Entry) string {
	var by []string
	sum := int64(0)
	for d := range e.Dirs {
		of := &e.Dirs[d]
		if n := int64(of.TotalIOs) - int64(of.Kind[fio.Clat].N); n > 0 {
			by = append(by, fmt.Sprintf("%s of %s %vs", fio.Grouped(float64(n)), fio.Grouped(float64(of.TotalIOs)),
				fio.Direction(d)))
			sum += n
		}
	}
	if sum != e.Errors {
		return fio.Several(int(e.Errors), "I/O")
	}
	return strings.Join(by, " and ")
}

// nameWithout warns of jobs that are in fio's JSON only.
func (m *matcher) nameWithout(meta *fiojson.Document, jobs []string) {
	if n := len(jobs); n > 0 {
		m.in.JobsWithoutLog += n
		m.warn("%s: %s without a log: %s in fio's JSON", fio.Printable(meta.Name()), fio.Several(n, "job"),
			strings.Join(jobs[:min(n, maxNamed)], "; "))
	}
}

// maxNamed is how many jobs a warning names.
const maxNamed = 5

// counted returns how many I/Os a job did by fio's JSON, in words; "" if none.
func counted(e *fiojson.Entry, kind fio.Kind) string {
	var ios []string
	for d := range e.Dirs {
		if n := e.Dirs[d].Kind[kind].N; n > 0 {
			ios = append(ios, fmt.Sprintf("%s %vs", fio.Grouped(float64(n)), fio.Direction(d)))
		}
	}
	if n := e.Mixed.Kind[kind].N; n > 0 {
		ios = append(ios, fio.Grouped(float64(n))+" I/Os")
	}
	return strings.Join(ios, " and ")
}

// mayHaveWritten reports whether a job wrote logs: by the document, a log that is its, or a section of its name. maybe
// means that it may have: versions of fio before 3.37 leave options without a value out of JSON, and other jobs have
// logs without the option.
func (m *matcher) mayHaveWritten(meta *fiojson.Document, e *fiojson.Entry, hist bool,
	option string) (sure, maybe bool) {
	if _, ok := meta.Option(e, option); ok {
		return true, false
	}
	for _, j := range m.in.JobFiles {
		for _, s := range j.Sections {
			if s.JobName() == e.JobName {
				return s.WritesLogs(hist), false
			}
		}
	}
	for _, l := range m.logs {
		if l.Meta == meta && writes(meta, e, l.Source.Name) {
			return true, false
		}
		if l.Meta == meta && l.Entry != nil {
			_, given := meta.Option(l.Entry, option)
			maybe = maybe || !given
		}
	}
	return false, maybe && hist && meta.Milliseconds(e, "log_hist_msec") > 0
}

// jobFileOf finds the set's job file: each log has a section that writes it, each section that writes logs has them,
// and the entries are those of the JSON.
func (m *matcher) jobFileOf(s *set, byThread map[int][]*Log) {
	var fit []*jobfile.File
	var read *jobfile.File
	log := s.logs[0].Source
	beside := jobfile.Beside(m.in.JobFiles, filepath.Dir(log.Path))
	fewest := math.MaxInt // logs without a file
	for _, file := range beside {
		j := file
		if len(s.entries) > 0 {
			j = file.With(s.meta.Globals(s.entries[0]))
		}
		missing, ok := s.fits(j, byThread, m.in.siblings)
		if !ok || missing > fewest {
			continue
		}
		if missing < fewest {
			fit, fewest = nil, missing
		}
		m.fit[file] = true
		if !slices.ContainsFunc(fit, func(o *jobfile.File) bool { return reflect.DeepEqual(o.Sections, j.Sections) }) {
			fit, read = append(fit, j), file
		}
	}
	switch {
	case len(fit) == 1:
		s.job, s.jobFile = fit[0], read
	case len(fit) > 1:
		m.warn("%s: both this job file and %s fit the logs; neither is used: pass the right one",
			fio.Printable(fit[0].Path), fio.Printable(fit[1].Path))
	case len(beside) > 0 && len(s.entries) == 0: // fio's JSON does not have its jobs either
		m.warn("%s: not the job file of %s: its jobs write other logs; job names, options and starts are unknown: "+
			"pass the right one, or fio's JSON", fio.Printable(beside[0].Path), fio.Printable(log.Path))
	}
}

// fits reports whether a job file is the set's, and how many logs of its threads are missing. They may be, as those of
// killed threads, if fio's JSON has the jobs.
func (s *set) fits(j *jobfile.File, byThread map[int][]*Log, siblings []*Source) (missing int, ok bool) {
	threads := j.Threads()
	for n, logs := range byThread {
		if n == 0 {
			continue
		}
		if n > len(threads) || len(logs) > 1 {
			return 0, false
		}
		if !mayWrite(j, threads[n-1], logs[0].Source.Name) {
			return 0, false
		}
	}
	for _, l := range byThread[0] {
		if !slices.ContainsFunc(threads, func(t *jobfile.Section) bool {
			return mayWrite(j, t, l.Source.Name)
		}) {
			return 0, false
		}
	}
	hist := s.logs[0].Source.Name.Hist
	for i, section := range threads {
		if !section.WritesLogs(hist) || len(byThread[i+1]) > 0 ||
			slices.ContainsFunc(byThread[0], func(l *Log) bool { return appends(j, section, l.Source.Name) }) {
			continue
		}
		if !slices.ContainsFunc(siblings, func(o *Source) bool {
			return o.Name.Job == i+1 && o.Name.Hist == hist && s.mayHave(o)
		}) {
			missing++
		}
	}
	if len(s.entries) == 0 {
		return 0, missing == 0
	}
	if !s.isOf(j) {
		return 0, false
	}
	of, _ := j.Entries()
	for i, e := range s.entries {
		last := len(of) - 1
		for of[last] != i {
			last--
		}
		if missing > 0 && numJobs(s.meta, e) != threads[last].NumJobs {
			return 0, false
		}
	}
	return missing, true
}

// numJobs returns the numjobs of an entry, 1 if it has none.
func numJobs(m *fiojson.Document, e *fiojson.Entry) int {
	v, _ := m.Option(e, "numjobs")
	if n, err := strconv.Atoi(v); err == nil && n > 0 && n <= jobfile.MaxThreads {
		return n
	}
	return 1
}

// threadsOf returns the number of threads, and so of logs, that each entry of one host stands for, of that many in all;
// nil if nothing tells. With group_reporting an entry stands for all threads of its group, and the JSON does not say
// how many.
//
// The evidence: job_runtime is the sum over the entry's threads, while each direction's runtime is the longest, so
// their ratio is the number of threads if all ran equally long, and never more than that. numjobs is there if the
// group's last section has it.
func threadsOf(m *fiojson.Document, entries []*fiojson.Entry, threads int) []int {
	n := len(entries)
	if n == 0 {
		return nil
	}
	ones, numjobs, ratio, low := slices.Repeat([]int{1}, n), make([]int, n), make([]int, n), slices.Repeat([]int{1}, n)
	whole, several, atLeast := true, false, true
	for i, e := range entries {
		numjobs[i] = numJobs(m, e)
		if e.LongestMS <= 0 || e.RuntimeMS <= 0 {
			whole = false
			continue
		}
		r := float64(e.RuntimeMS) / float64(e.LongestMS)
		k := min(math.Round(r), jobfile.MaxThreads)
		ratio[i] = max(int(k), 1)
		near := math.Abs(r-k) <= 0.02*k
		several, whole = several || near && k >= 2, whole && near
		low[i] = max(1, int(math.Ceil(min(r, jobfile.MaxThreads)-0.1*max(k, 1))))
		atLeast = atLeast && numjobs[i] >= low[i]
	}
	for _, rule := range []struct {
		threads []int
		applies bool
	}{
		{numjobs, n == 1 && threads > 0 && numjobs[0] > threads}, // one was killed before it wrote its log
		{ones, n >= threads && !several},
		{numjobs, sum(numjobs) == threads && atLeast},
		{ratio, whole && sum(ratio) == threads},
		{[]int{max(threads, low[0])}, n == 1},
		{ratio, whole && sum(ratio) > threads}, // some have no logs, or these are not here
		{low, sum(low) == threads},
	} {
		if rule.applies {
			return rule.threads
		}
	}
	return nil
}

func sum(of []int) (n int) {
	for _, k := range of {
		n += k
	}
	return n
}

// jobName sets the log's job, and its host if only the entry has it. The job is the entry's, if no other log shares
// that; else the section's; else the log's prefix, if it has no entry or the entry's logs have several prefixes.
func (m *matcher) jobName(l *Log) {
	n := l.Source.Name
	if l.Entry != nil && l.Host == "" {
		l.Host = l.Entry.Host
	}
	switch {
	case l.Entry != nil && l.Members == 1:
		l.Job = l.Entry.JobName
	case l.Section != nil:
		l.Job = l.Section.JobName()
	case l.Entry == nil:
		l.Job = n.Prefix
	case slices.ContainsFunc(m.logs, func(o *Log) bool {
		return o.Entry == l.Entry &&
			o.Source.Name.Prefix != n.Prefix
	}):
		l.Job = n.Prefix
	default:
		l.Job = l.Entry.JobName
	}
}

// logNames sets the log names.
func (m *matcher) logNames() {
	parts := make([][]string, len(m.logs))
	depth := make([]int, len(m.logs))
	for i, l := range m.logs {
		path := filepath.ToSlash(filepath.Join(filepath.Dir(l.Source.Path), uncompressed(l.Source.Base)))
		parts[i] = strings.Split(path, "/")
		depth[i] = 1
	}
	for again := true; again; {
		again = false
		of := map[string][]int{}
		for i, l := range m.logs {
			l.LogName = strings.Join(parts[i][max(len(parts[i])-depth[i], 0):], "/")
			if e := l.Source.Extent; e != nil {
				l.LogName += "#" + strconv.Itoa(e.N)
			}
			of[l.LogName] = append(of[l.LogName], i)
		}
		for _, same := range of {
			for _, i := range same {
				if len(same) > 1 && depth[i] < len(parts[i]) {
					depth[i]++
					again = true
				}
			}
		}
	}
}
