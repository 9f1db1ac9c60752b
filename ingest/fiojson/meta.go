package fiojson

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiolog"
	"fiolat/ingest/jobfile"
)

// Document is what one fio process (or one fio --client) reports of a run: a JSON document of --output-format=json or
// json+.
type Document struct {
	// Path is the file it was read from.
	Path string
	// Version is fio's own, e.g. "fio-3.33".
	Version string
	// TimestampMS is when the report was made, in ms since 1970 (timestamp_ms, or
	// timestamp in seconds); over --client it is the time of the start. 0: unknown.
	TimestampMS int64
	// ClientServer says that the entries are client_stats of fio --client.
	ClientServer bool
	// Global are the options of [global] and of fio's command line; with several servers those of all of them, and
	// HostGlobal each server's own, by host:port (fio 3.39 and newer list them so).
	Global     jobfile.Options
	HostGlobal map[string]jobfile.Options
	// Entries are the jobs, without "All clients", which repeats them.
	Entries []Entry
	// Documents is the number of complete documents of the run in the file, of which this is the last; Cut means that
	// another one begins after it and breaks off.
	Documents int
	Cut       bool
	// Part numbers the runs of a file that several were appended to, from 1; 0: it holds one.
	Part int
	// Mixed is set by OfMixed.
	Mixed bool
	// Warnings name impossible numbers, which are not used.
	Warnings []string
	// Notes are whole texts for the user that name the file.
	Notes []string

	writers struct { // see Writers
		of *Entry // the first of Entries that they are of
		by map[logName][]*Entry
	}
}

// Entry is one element of jobs or client_stats: a job, or with group_reporting
// all the jobs of a group.
type Entry struct {
	JobName string
	// Host is the server's name and Port its port, over --client; "" and 0 for stand-alone fio.
	Host    string
	Port    int
	GroupID int
	// StartMS is job_start, in ms since 1970 (fio 3.36 and newer); 0: unknown.
	StartMS int64
	// RuntimeMS is job_runtime: the sum over the jobs of a group.
	RuntimeMS int64
	// LongestMS is the longest of its directions' runtimes, as run; with unified_rw_reporting that of "mixed"; and the
	// sum of both if the job writes, and then reads to verify.
	LongestMS int64
	// Elapsed is the seconds from fio's start until the report, rounded up; the
	// same in all entries, 0 where fio does not say (--client).
	Elapsed int64
	// Error is fio's errno of the job; Errors is total_err, its I/Os that failed, which continue_on_error counts.
	Error  int
	Errors int64
	// Options are the job's own; those of [global] are in Document.
	Options jobfile.Options
	// Sections are the sections of the job file that the entry stands for, if there are several (group_reporting):
	// Options are those of the last one. Unlike is the number of their threads where there is no job file.
	Sections []Section
	Unlike   int
	// Placed says that BeganMS is known: when the job's I/O began, in ms from fio's own start.
	Placed  bool
	BeganMS int64
	// NoLog is set if other jobs have logs, and this one has none.
	NoLog bool
	// Part is set if it has threads whose logs are not here, or were not asked for: its counts are left out.
	Part bool
	// Void is why its clat is wrong, and has been dropped; Running is set if the report was made before its end.
	Void    string
	Running bool
	Dirs    [fio.Directions]DirTotals
	// Mixed are the totals of all directions together, if fio reports no others (unified_rw_reporting=mixed).
	Mixed DirTotals
	// Sync are the latencies of fsync, fdatasync and sync_file_range, which fio never logs and counts in no direction.
	Sync Totals
}

// Section is a job of a group.
type Section struct {
	Name    string          `json:"name"`
	Options jobfile.Options `json:"options,omitempty"`
}

// Option returns the value of an option.
func (s Section) Option(name string) (string, bool) {
	v, ok := s.Options[name]
	return v, ok
}

// Jobs returns the name of the entry's job or, if it stands for several, the names of those that of holds for; of all,
// if it holds for none.
func (e *Entry) Jobs(of func(Section) bool) string {
	var all, some []string
	for _, s := range e.Sections {
		all = append(all, s.Name)
		if of(s) {
			some = append(some, s.Name)
		}
	}
	return cmp.Or(strings.Join(some, ","), strings.Join(all, ","), e.JobName)
}

// Syncs are the jobs of the entry that sync, as far as options tell.
func (e *Entry) Syncs() string {
	return e.Jobs(func(s Section) bool {
		_, ok := Workload{Option: s.Option}.Set("fsync", "fdatasync", "sync_file_range")
		return ok
	})
}

// setUnlike sets Unlike if the jobs of an entry ran for longer together than those of its one section can have.
func (m *Document) setUnlike(e *Entry) {
	v, _ := m.Option(e, "numjobs")
	n, _ := strconv.ParseInt(v, 10, 64)
	const slack = 100 // ms that a thread may take to end
	n = max(n, 1)
	if e.LongestMS > 0 && e.RuntimeMS > n*(e.LongestMS+slack)+e.LongestMS/10 {
		e.Unlike = int((10*e.RuntimeMS + 9*e.LongestMS) / (10 * e.LongestMS)) // or more, if some ran for less
	}
}

// ByKind are totals by kind of latency. Only Document.OfSyncs sets that of fio.Sync.
type ByKind [fio.Kinds + 1]Totals

// DirTotals is what fio counted in one direction over the whole job.
type DirTotals struct {
	// TotalIOs are the I/Os issued; it can differ from the completions counted.
	TotalIOs uint64 `json:"ios"`
	// Bytes is io_bytes: the amount of data of the I/Os.
	Bytes     uint64 `json:"bytes"`
	RuntimeMS int64  `json:"runtime_ms"`
	// Sample is set if fio measured only some of the I/Os.
	Sample bool   `json:"-"`
	Kind   ByKind `json:"-"`
	// Prios split the I/Os by priority, where there are two or more.
	Prios []Prio `json:"-"`
}

// Completed returns how many I/Os moved Bytes. TotalIOs are not these: they include those that failed, and lack those
// that were in flight when a ramp ended.
func (d *DirTotals) Completed() uint64 {
	if d.Sample {
		return d.TotalIOs
	}
	return cmp.Or(d.Kind[fio.Clat].N, d.Kind[fio.Lat].N, d.TotalIOs)
}

// Prio are the latencies of the I/Os of one priority.
type Prio struct {
	// Class and Level are prioclass and prio, Hint is priohint (fio 3.36 and newer).
	Class, Level, Hint int
	// Kind is Clat or, with lat_percentiles, Lat.
	Kind   fio.Kind
	Totals Totals
}

// Totals are the statistics of one kind of latency in one direction. Limits that fio does not report, or that are
// impossible, are 0 and math.MaxInt64, so that nothing is cut off at them; without I/O both are 0.
type Totals struct {
	// N is the number of I/Os measured (clat_ns.N), else the sum of the bins (fio 2), else total_ios where some were
	// measured (plain JSON before fio 3.17); 0 where none were.
	N        uint64
	Min, Max int64   // ns
	Mean     float64 // ns
	// Percentiles are fio's own, in ns, by their names: "99.900000".
	Percentiles map[string]float64
	// Bins is the histogram of json+, empty with plain json.
	Bins Bins
}

// Option returns the value of an option of entry e: its own, or that of Globals.
func (m *Document) Option(e *Entry, name string) (string, bool) {
	if e != nil {
		if v, ok := e.Options[name]; ok {
			return v, true
		}
	}
	v, ok := m.Globals(e)[name]
	return v, ok
}

// LogPath returns how the paths of a job's histogram logs, or else logs of single I/Os, begin: without a value of the
// option they are named after the job.
func (m *Document) LogPath(e *Entry, hist bool) string {
	v, _ := m.Option(e, jobfile.LogOption(hist))
	return cmp.Or(v, e.JobName)
}

// Writers returns the jobs whose logs are named so, whatever their folder. Names are looked up once: neither jobs nor
// options may change afterwards.
func (m *Document) Writers(name string, hist bool) []*Entry {
	if len(m.Entries) > 0 && (m.writers.of == nil || m.writers.of != &m.Entries[0]) {
		m.writers.of, m.writers.by = &m.Entries[0], map[logName][]*Entry{}
		for i := range m.Entries {
			e := &m.Entries[i]
			for _, hist := range []bool{false, true} {
				key := logName{filepath.Base(m.LogPath(e, hist)), hist}
				m.writers.by[key] = append(m.writers.by[key], e)
			}
		}
	}
	return m.writers.by[logName{name, hist}]
}

// logName is the name of histogram logs, or of logs of single I/Os, without their kind.
type logName struct {
	name string
	hist bool
}

// Globals returns the options of [global] and of fio's command line that hold for an entry: those of its server, if
// fio lists them.
func (m *Document) Globals(e *Entry) jobfile.Options {
	switch {
	case m == nil:
		return nil
	case e != nil && len(m.HostGlobal) > 0:
		if own, ok := m.HostGlobal[address(e.Host, strconv.Itoa(e.Port))]; ok {
			return own
		}
		var of jobfile.Options
		servers := 0
		for server, own := range m.HostGlobal {
			if strings.HasPrefix(server, address(e.Host, "")) {
				of = own
				servers++
			}
		}
		if servers == 1 {
			return of
		}
	}
	return m.Global
}

func address(host, port string) string { return host + ":" + port }

// Milliseconds is an integer option in ms, e.g. log_hist_msec; 0 if it is not
// there or not a number.
func (m *Document) Milliseconds(e *Entry, name string) int64 {
	v, ok := m.Option(e, name)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// CountedMS returns the time of an entry's counts, in ms since 1970. The timestamp of a document of fio --client is
// that of fio's start.
func (m *Document) CountedMS(e *Entry) int64 {
	if m.ClientServer {
		return m.TimestampMS + e.LongestMS
	}
	return m.TimestampMS
}

// Unmeasured returns why fio measured no completion latencies of a job's I/Os, in words, with the kinds that it has
// histograms of, and whether an option says so.
func (m *Document) Unmeasured(e *Entry) (why string, sure bool) {
	if e.Void != "" {
		return "as " + e.Void, true
	}
	defer func() {
		for kind := range fio.Kind(fio.Kinds) {
			if slices.ContainsFunc(e.Dirs[:], func(d DirTotals) bool { return d.Kind[kind].Bins.Len() > 0 }) {
				why += fmt.Sprintf(" (--kind %v has some)", kind)
			}
		}
	}()
	for _, name := range []string{"gtod_reduce", "disable_clat", "disable_lat", "io_submit_mode"} {
		if v, ok := m.Option(e, name); ok && v != "0" && v != "inline" {
			return "as the job set " + name, true
		}
	}
	if v, ok := m.Option(e, "ramp_time"); ok && v != "0" {
		return "as if the job ended within its ramp_time", false
	}
	return "as with disable_clat, gtod_reduce or io_submit_mode=offload", false
}

// Geometry is the geometry of the document's bins.
func (m *Document) Geometry() fiohist.Geometry {
	if Major(m.Version) == 2 {
		return fiohist.Fio2
	}
	return fiohist.Fio3
}

// Name is the path, with the number of the run if the file holds several.
func (m *Document) Name() string {
	if m.Part == 0 {
		return m.Path
	}
	return fmt.Sprintf("%s#%d", m.Path, m.Part)
}

// Same reports whether o was read from the same place.
func (m *Document) Same(o *Document) bool { return m.Path == o.Path && m.Part == o.Part }

// Copy returns a copy of the document whose entries may be changed.
func (m *Document) Copy() *Document {
	out := *m
	out.Entries, out.Notes = slices.Clone(m.Entries), slices.Clip(m.Notes)
	return &out
}

// Parse returns the last run of ParseAll.
func Parse(r io.Reader, path string) (*Document, error) {
	all, err := ParseAll(r, path)
	if err != nil {
		return nil, err
	}
	return all[len(all)-1], nil
}

// ParseAll reads what fio printed with --output-format=json or json+, whatever text comes before, between and after
// documents. It returns the last complete document of each run that was appended to the file. Nothing else is held in
// memory.
func ParseAll(r io.Reader, path string) (runs []*Document, err error) {
	cut, err := Each(r, path, func(m *Document) error {
		m.Documents = 1
		if last := len(runs) - 1; last >= 0 && m.continues(runs[last]) {
			m.Documents += runs[last].Documents
			runs = runs[:last]
		}
		runs = append(runs, m)
		if len(runs) > maxParts {
			return &fio.ParseError{File: path, Msg: fmt.Sprintf("more than %d runs in one file", maxParts),
				Hint: "divide it"}
		}
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	runs[len(runs)-1].Cut = cut
	for at := 0; at < len(runs); {
		of := runs[at].fios()
		runs = slices.Replace(runs, at, at+1, of...)
		at += len(of)
	}
	for i, m := range runs {
		if len(runs) > 1 {
			m.Part = i + 1
		}
		m.checkTotals()
		m.runtimes()
	}
	return runs, nil
}

// runtimes sets the runtimes that fio leaves 0: those of engines that move no bytes.
func (m *Document) runtimes() {
	for i := range m.Entries {
		e := &m.Entries[i]
		for d := range e.Dirs {
			if of := &e.Dirs[d]; of.TotalIOs > 0 && of.RuntimeMS == 0 && of.Bytes == 0 {
				of.RuntimeMS = e.RuntimeMS
				e.LongestMS = max(e.LongestMS, e.RuntimeMS)
			}
		}
	}
}

// maxParts is how many runs may be appended to one file.
const maxParts = 10_000

// continues reports whether m is a later report of before's fio (--status-interval), and not that of another run: it
// has the same jobs, whose counts have not fallen, and as much more time has elapsed for fio as between the reports.
func (m *Document) continues(before *Document) bool {
	if m.Version != before.Version || m.ClientServer != before.ClientServer || len(m.Entries) != len(before.Entries) ||
		m.ClientServer && m.TimestampMS != before.TimestampMS { // when fio started
		return false
	}
	for i := range m.Entries {
		e, b := &m.Entries[i], &before.Entries[i]
		const seconds = 2 // Elapsed is rounded up
		if e.JobName != b.JobName || e.Host != b.Host || !maps.Equal(e.Options, b.Options) && !m.later(before, e, b) ||
			e.StartMS != b.StartMS && min(e.StartMS, b.StartMS) > 0 || min(e.Elapsed, b.Elapsed) > 0 &&
			(e.Elapsed < b.Elapsed || 1000*(e.Elapsed-b.Elapsed+seconds) < m.TimestampMS-before.TimestampMS) {
			return false
		}
		for d := range e.Dirs {
			if e.Dirs[d].TotalIOs < b.Dirs[d].TotalIOs {
				return false
			}
		}
	}
	return true
}

// later reports whether an entry was reported by the same fio as b before, although their options differ: fio's start
// is the same by both, and its statuses are a second apart, which reports of fios that ran beside each other need not
// be.
func (m *Document) later(before *Document, e, b *Entry) bool {
	const second = 1000
	apart := m.TimestampMS - before.TimestampMS
	return apart >= second*3/4 && b.Elapsed > 0 && maps.Equal(m.Global, before.Global) &&
		e.RuntimeMS-b.RuntimeMS <= (apart+second)*max(1, (e.RuntimeMS+e.LongestMS/2)/max(e.LongestMS, 1)) &&
		max(apart, second*(e.Elapsed-b.Elapsed))-min(apart, second*(e.Elapsed-b.Elapsed)) <= second
}

// Each reads a stream of documents as fio prints them with --status-interval, and passes every one to each as soon as
// its closing brace is read. The one document that fio --client makes of all reports of its servers is passed as
// several. A document that is cut or damaged is skipped; lost, if not nil, is called with the reason. cut means that
// the last one was. An error of each ends the reading and is returned as it is; if there is no document, the error
// says why.
func Each(r io.Reader, path string, each func(*Document) error, lost func(error)) (cut bool, err error) {
	const hint = "pass the whole output of fio --output-format=json+"
	s := newJSONScan(r)
	any := false
	var failed error // why the latest candidate failed
	explain := func() error {
		var syntax *syntaxError
		switch {
		case errors.As(failed, &syntax):
			return &fio.ParseError{File: path, Line: syntax.line, Msg: syntax.msg, Hint: hint}
		case errors.Is(failed, errNested):
			return &fio.ParseError{File: path, Line: s.line, Msg: "fio's JSON breaks off: the next document begins " +
				"inside of it", Hint: hint}
		case failed != nil:
			return &fio.ParseError{File: path, Line: s.line, Msg: "fio's JSON breaks off at the end of the file",
				Hint: hint}
		}
		return &fio.ParseError{File: path, Msg: "no JSON of fio in it", Hint: hint}
	}
	for {
		err = s.find()
		for err == nil {
			m := &Document{Path: path}
			err = s.document(m)
			if err == nil {
				if len(m.Entries) > 0 {
					any, failed = true, nil
					for _, round := range m.rounds() {
						if err = each(round); err != nil {
							return false, err
						}
					}
				} else if !any && failed == nil {
					failed = &syntaxError{s.line, "JSON, but no jobs of fio in it"}
				}
				break
			}
			// Only a lost document of fio's matters; other text may look like JSON.
			if m.Version != "" || failed == nil && !any {
				failed = err
				if m.Version != "" && lost != nil {
					lost(explain())
				}
			}
			if errors.Is(err, errNested) {
				err = nil // the outer document was cut short; read the inner one
				continue
			}
			var syntax *syntaxError
			if errors.As(err, &syntax) {
				break // search from here
			}
		}
		if s.err != nil {
			return false, fmt.Errorf("%s: %w", fio.Printable(path), s.err)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
	}
	if !any {
		return false, explain()
	}
	return failed != nil, nil
}

const versionKey = "fio version"

// jobsOnly begins what is left of fio's JSON where jobs of several runs were put together; keys may be sorted.
var jobsOnly = regexp.MustCompile(`"(?:jobs|client_stats)"\s*:\s*\[\s*\{\s*"(?:jobname"\s*:\s*"|ctx"\s*:\s*\d)`)

// Is reports by its first bytes whether a file is fio's JSON.
func Is(prefix []byte) bool {
	const key = `"` + versionKey + `"`
	at := bytes.Index(prefix, []byte(key))
	return at > 0 && bytes.IndexByte(prefix[:at], '{') >= 0 &&
		bytes.HasPrefix(bytes.TrimLeft(prefix[at+len(key):], " \t\r\n"), []byte(":")) ||
		bytes.Contains(prefix, []byte(`"jobname"`)) && jobsOnly.Match(prefix)
}

// document reads a fio document from its brace, where find stops, or, after errNested, from its first key on.
func (s *jsonScan) document(m *Document) error {
	var seconds, millis int64
	seen := map[string]bool{}
	s.held, s.store = 0, binStore{}
	err := s.object(func(key string) (err error) {
		switch key {
		case versionKey:
			m.Version, err = s.text()
		case "timestamp":
			seconds, err = s.integer()
		case "timestamp_ms":
			millis, err = s.integer()
		case "global options":
			err = s.globals(m)
		case "jobs", "client_stats":
			if seen[key] {
				return &syntaxError{s.line, fmt.Sprintf("a second %q in one document", key)}
			}
			seen[key] = true
			client := key == "client_stats"
			m.ClientServer = m.ClientServer || client
			err = s.array(func() error { return s.entry(m, client) })
		default:
			err = s.skip()
		}
		return err
	})
	if millis > 0 {
		m.TimestampMS = millis
	} else if seconds <= fiolog.MaxTime/1000 {
		m.TimestampMS = seconds * 1000
	}
	if m.TimestampMS > fiolog.MaxTime {
		m.TimestampMS = 0
	}
	return err
}

// globals reads "global options": an object; from fio 3.39 on over --client a list
// with one for each host, which begins with its name and port. A list of
// {name, value} or of "name=value" is read as well.
func (s *jsonScan) globals(m *Document) error {
	return s.options(func(of string, o jobfile.Options) {
		m.Global = merged(m.Global, o)
		if of != "" {
			if m.HostGlobal == nil {
				m.HostGlobal = map[string]jobfile.Options{}
			}
			m.HostGlobal[of] = merged(m.HostGlobal[of], o)
		}
	})
}

// merged adds the options of b to a: the later value counts, as in fio.
func merged(a, b jobfile.Options) jobfile.Options {
	if a == nil {
		a = jobfile.Options{}
	}
	maps.Copy(a, b)
	return a
}

// options reads options, and passes them on with the server that they are of, if fio lists them by server.
func (s *jsonScan) options(take func(of string, o jobfile.Options)) error {
	c, err := s.peek()
	if err != nil {
		return err
	}
	one := func(listed bool) error {
		o, host, port := jobfile.Options{}, "", ""
		err := s.object(func(key string) error {
			v, err := s.text()
			switch {
			case listed && key == "hostname" && host == "":
				host = v // a second one is the net engine's option
			case listed && key == "port" && host != "" && port == "":
				port = v
			default:
				o[jobfile.Main(key)] = v
			}
			return errors.Join(err, s.hold(100+len(key)+len(v)))
		})
		if name, ok := o["name"]; ok && listed && len(o) == 2 {
			if v, ok := o["value"]; ok {
				o = jobfile.Options{jobfile.Main(name): v}
			}
		}
		of := ""
		if host != "" {
			of = address(host, port)
		}
		take(of, o)
		return err
	}
	switch c {
	case '{':
		return one(false)
	case '[':
		return s.array(func() error {
			switch c, err := s.peek(); {
			case err != nil:
				return err
			case c == '{':
				return one(true)
			case c == '"':
				v, err := s.text()
				name, value, _ := strings.Cut(v, "=")
				take("", jobfile.Options{jobfile.Main(strings.TrimSpace(name)): strings.TrimSpace(value)})
				return errors.Join(err, s.hold(100+len(v)))
			}
			return s.skip()
		})
	}
	return s.skip()
}

// allClients is the name of the entry of client_stats that is the sum of the
// others.
const allClients = "All clients"

// isSum distinguishes the sum of all entries from a job of that name. The sum has no options of its own, comes after
// two entries or more, and adds up, except over repeated reports (--status-interval), whose counts are cumulative.
func (m *Document) isSum(e *Entry) bool {
	if e.JobName != allClients || len(e.Options) > 0 || len(m.Entries) < 2 {
		return false
	}
	ios := e.ios()
	for i := range m.Entries {
		o := &m.Entries[i]
		if slices.ContainsFunc(m.Entries[:i], func(b Entry) bool {
			return b.JobName == o.JobName && b.Host == o.Host &&
				b.Port == o.Port
		}) {
			return true // reports, or threads of one job
		}
		ios -= o.ios()
	}
	return ios == 0
}

// Did reports whether the job did any I/O, or any sync.
func (e *Entry) Did() bool { return e.ios() > 0 || e.Sync.N > 0 }

// ios returns the number of I/Os issued. With unified_rw_reporting=both a job has them twice, the sum of all entries
// only once.
func (e *Entry) ios() (n uint64) {
	for _, d := range e.Dirs {
		n += d.TotalIOs
	}
	return cmp.Or(n, e.Mixed.TotalIOs)
}

// unmix keeps the totals of all directions together only if fio reports no others (with unified_rw_reporting=both it
// reports both), and moves them to the direction of a job that has only one.
func (m *Document) unmix(e *Entry) {
	if e.Mixed.TotalIOs == 0 || slices.ContainsFunc(e.Dirs[:], func(d DirTotals) bool { return d.TotalIOs > 0 }) {
		e.Mixed = DirTotals{}
		return
	}
	if d, ok := m.direction(e); ok {
		if d == fio.Write && m.verifies(e) {
			return // verifying reads, too
		}
		e.Dirs[d], e.Mixed = e.Mixed, DirTotals{}
	}
}

// direction returns the direction of a job that has only one by its rw.
func (m *Document) direction(e *Entry) (fio.Direction, bool) {
	rw, ok := m.Option(e, "rw")
	if !ok {
		rw, _ = m.Option(e, "readwrite")
	}
	rw, _, _ = strings.Cut(rw, ":")
	return fio.ParseDirection(strings.TrimPrefix(rw, "rand"))
}

// verified adds the time of the reads of verify, which follow the writes, to LongestMS.
func (m *Document) verified(e *Entry) {
	if d, ok := m.direction(e); ok && d == fio.Write && m.verifies(e) {
		both := e.Dirs[fio.Write].RuntimeMS + e.Dirs[fio.Read].RuntimeMS
		// Less where they overlap, as with verify_backlog; fio 2 has no job_runtime.
		e.LongestMS = max(e.LongestMS, min(both, cmp.Or(e.RuntimeMS, both)))
	}
}

func (m *Document) verifies(e *Entry) bool {
	v, _ := m.Option(e, "verify")
	return v != "" && v != "0"
}

func (s *jsonScan) entry(m *Document, client bool) error {
	var e Entry
	var errs []string
	named := false
	s.kbytes, s.micro = false, false
	err := s.object(func(key string) (err error) {
		switch key {
		case "jobname":
			named = true
			e.JobName, err = s.text()
		case "hostname":
			e.Host, err = s.text()
		case "port":
			e.Port, err = s.small()
		case "groupid":
			e.GroupID, err = s.small()
		case "job_start":
			e.StartMS, err = s.integer()
		case "job_runtime":
			e.RuntimeMS, err = s.integer()
		case "elapsed":
			e.Elapsed, err = s.integer()
		case "error":
			e.Error, err = s.small()
		case "total_err":
			e.Errors, err = s.integer()
		case "job options":
			err = s.options(func(_ string, o jobfile.Options) { e.Options = merged(e.Options, o) })
		case "mixed":
			err = s.direction(&e.Mixed, func(msg string) { errs = append(errs, key+" "+msg) })
			err = errors.Join(err, s.hold(200))
		case "sync":
			issued := uint64(0)
			err = s.object(func(key string) (err error) {
				switch key {
				case "total_ios":
					issued, _, err = s.count()
					return err
				case "lat_ns":
				default:
					return s.skip()
				}
				e.Sync, err = s.totals(true, func(msg string) { errs = append(errs, "sync "+key+": "+msg) })
				return errors.Join(err, s.hold(200))
			})
			if e.Sync.N == notCounted {
				e.Sync.N = issued
			}
		default:
			d, ok := fio.ParseDirection(key)
			if !ok {
				return s.skip()
			}
			err = s.direction(&e.Dirs[d], func(msg string) { errs = append(errs, key+" "+msg) })
			err = errors.Join(err, s.hold(200)) // for the message
		}
		return err
	})
	if err != nil {
		return err
	}
	if client && m.isSum(&e) || !named && e.Options == nil && !e.Did() { // a job with stats=0
		return nil
	}
	e.JobName = cmp.Or(e.JobName, jobfile.Unnamed)
	if s.micro {
		m.Version = cmp.Or(m.Version, "fio-2") // left out where jobs of several runs were put together
	}
	m.complete(&e, s.kbytes)
	e.LongestMS = e.Mixed.RuntimeMS
	m.unmix(&e)
	for _, d := range e.Dirs {
		e.LongestMS = max(e.LongestMS, d.RuntimeMS)
	}
	m.verified(&e)
	m.setUnlike(&e)
	for _, msg := range errs {
		m.Warnings = append(m.Warnings, fmt.Sprintf("job %q: %s", e.JobName, msg))
	}
	m.Entries = append(m.Entries, e)
	return s.hold(4000 + len(e.JobName) + len(e.Host)) // the list is copied when it grows
}

func (s *jsonScan) direction(d *DirTotals, warn func(string)) error {
	return s.object(func(key string) (err error) {
		name, fio3 := strings.CutSuffix(key, "_ns")
		switch kind, latency := fio.ParseKind(name); {
		case key == "total_ios":
			d.TotalIOs, _, err = s.count()
		case key == "runtime":
			d.RuntimeMS, err = s.integer()
		case key == "io_bytes":
			var n int64
			n, err = s.integer()
			d.Bytes = uint64(n)
		case key == "io_kbytes":
			s.kbytes = true
			err = s.skip()
		case key == "prios":
			err = s.array(func() error { return s.prio(d, warn) })
		case latency:
			var t Totals
			s.micro = s.micro || !fio3
			if t, err = s.totals(fio3, func(msg string) { warn(key + ": " + msg) }); err == nil {
				d.Kind[kind] = t
			}
		default:
			err = s.skip()
		}
		return err
	})
}

// notCounted is Totals.N until complete, where fio measured latencies and does not say how many.
const notCounted = math.MaxUint64

// complete fills in what a version of fio leaves out of an entry's totals. kbytes says that they have io_kbytes.
func (m *Document) complete(e *Entry, kbytes bool) {
	for _, d := range []*DirTotals{&e.Dirs[fio.Read], &e.Dirs[fio.Write], &e.Dirs[fio.Trim], &e.Mixed} {
		if Major(m.Version) == 2 && !kbytes { // in KiB up to fio 2.20
			d.Bytes *= 1 << 10
		}
		for k := range d.Kind {
			t := &d.Kind[k]
			if t.N == notCounted {
				t.N = d.TotalIOs
			}
			if t.N == 0 {
				*t = Totals{}
			}
		}
	}
	if e.Sync.N == 0 {
		e.Sync = Totals{}
	}
}

// prio reads an element of prios.
func (s *jsonScan) prio(d *DirTotals, warn func(string)) error {
	var p Prio
	err := s.object(func(key string) (err error) {
		switch key {
		case "prioclass":
			p.Class, err = s.small()
		case "prio":
			p.Level, err = s.small()
		case "priohint":
			p.Hint, err = s.small()
		case "clat_ns", "lat_ns":
			p.Kind, _ = fio.ParseKind(strings.TrimSuffix(key, "_ns"))
			p.Totals, err = s.totals(true, func(msg string) { warn("prios: " + key + ": " + msg) })
		default:
			err = s.skip()
		}
		return err
	})
	if p.Totals.N == 0 || p.Totals.N == notCounted {
		p.Totals = Totals{}
	}
	d.Prios = append(d.Prios, p)
	return errors.Join(err, s.hold(300))
}

// totals reads clat_ns and its like, or fio 2's clat, which is in microseconds.
func (s *jsonScan) totals(fio3 bool, warn func(string)) (Totals, error) {
	t := Totals{Max: math.MaxInt64}
	unit := int64(1)
	if !fio3 {
		unit = 1000
	}
	var bad string // the first impossible count
	believe := func() (uint64, error) {
		n, text, err := s.count()
		if n > fiolog.MaxCount {
			n, bad = 0, cmp.Or(bad, text)
		}
		return n, err
	}
	limit := func(none int64) (int64, error) {
		n, text, err := s.count()
		if v, neg := float64(n)*float64(unit), strings.HasPrefix(text, "-"); text == "" || neg || v >= 1<<63 {
			return none, err
		}
		return int64(n) * unit, err
	}
	bins := s.bins[:0]
	defer func() { s.bins = bins }()
	known, indexed := false, false
	err := s.object(func(key string) (err error) {
		switch key {
		case "N":
			known = true
			t.N, err = believe()
		case "min":
			t.Min, err = limit(0)
		case "max":
			t.Max, err = limit(math.MaxInt64)
		case "mean":
			t.Mean, _, err = s.float()
			t.Mean *= float64(unit)
		case "percentile":
			t.Percentiles, err = s.percentiles(unit)
		case "bins":
			err = s.object(func(key string) error {
				n, failed := believe()
				if ns, bad := strconv.ParseInt(key, 10, 64); bad == nil && ns >= 0 {
					if n > 0 {
						bins = append(bins, Bin{ns, n})
						if len(bins) == cap(bins) {
							bins = ascending(bins)
							if len(bins) > mostBins {
								return s.tooManyBins()
							}
							bins = slices.Grow(bins, mostBins)
						}
					}
				} else if strings.HasPrefix(key, "FIO_IO_U_PLAT_") {
					indexed = true
				}
				return failed
			})
		default:
			err = s.skip()
		}
		return err
	})
	if err != nil {
		return t, err
	}
	if bad != "" {
		warn(fmt.Sprintf("impossible count of %s I/Os; its totals are not used", fio.Printable(bad)))
		return Totals{}, nil
	}
	bins = ascending(bins)
	if len(bins) > mostBins {
		return t, s.tooManyBins()
	}
	if !fio3 {
		bins = microseconds(bins, t.Max, indexed)
	}
	size := 0
	t.Bins, size = s.store.keep(bins)
	if len(bins) > 0 {
		t.Percentiles = nil // the bins have all
		t.contradict(bins, unit)
	}
	if err = s.hold(size); err != nil {
		return t, err
	}
	if !known && len(bins) > 0 && t.Bins.sum <= fiolog.MaxCount {
		t.N = t.Bins.sum
	}
	if !known && len(bins) == 0 && t.Mean > 0 {
		t.N = notCounted
	}
	switch {
	case t.N == 0:
		t.Min, t.Max, t.Mean, t.Percentiles = 0, 0, 0, nil
	case t.Min > t.Max, t.Mean > float64(t.Max)*1.01+1:
		t.Min, t.Max = 0, math.MaxInt64
	}
	return t, nil
}

// contradict sets how the bins contradict the mean by more than 1 %, or the maximum. Of I/Os in fio's last bucket,
// which has no upper edge, nothing is known. A mean that fio does not report becomes that of the bins.
func (t *Totals) contradict(bins []Bin, unit int64) {
	g := fiohist.Fio3
	if unit > 1 {
		g = fiohist.Fio2
	}
	mean, n, top := 0.0, 0.0, g.Index(bins[len(bins)-1].NS)
	for _, b := range bins {
		mean, n = mean+float64(b.NS)*float64(b.Count), n+float64(b.Count)
	}
	mean /= n
	switch t.Mean = cmp.Or(t.Mean, mean); {
	case top == g.Last():
	case math.Abs(mean-t.Mean) > t.Mean/100+float64(unit):
		t.Bins.odd = fmt.Sprintf("by its bins the mean is %.0f ns, by itself %.0f", mean, t.Mean)
	case g.Lower(top) > t.Max:
		t.Bins.odd = fmt.Sprintf("its bins reach %d ns, but its max is %d", g.Lower(top), t.Max)
	}
}

// percentiles reads fio's own percentiles.
func (s *jsonScan) percentiles(unit int64) (map[string]float64, error) {
	out := map[string]float64{}
	err := s.object(func(key string) error {
		v, ok, err := s.float()
		if p, bad := strconv.ParseFloat(key, 64); ok && bad == nil && p > 0 && p <= 100 {
			out[fio.Percentile(p)] = v * float64(unit)
		}
		return errors.Join(err, s.hold(100))
	})
	return out, err
}

// mostBins is the number of buckets of the largest geometry.
const mostBins = fiolog.MaxColumns

func (s *jsonScan) tooManyBins() error {
	return &syntaxError{s.line, fmt.Sprintf("more than %d bins of one latency: fio has no more", mostBins)}
}

// ascending sorts bins and adds up those with the same key.
func ascending(bins []Bin) []Bin {
	slices.SortStableFunc(bins, func(a, b Bin) int { return cmp.Compare(a.NS, b.NS) })
	out := bins[:0]
	for _, b := range bins {
		if n := len(out) - 1; n >= 0 && out[n].NS == b.NS {
			out[n].Count = min(out[n].Count+b.Count, fiolog.MaxCount)
			continue
		}
		out = append(out, b)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// microseconds converts the keys of fio 2's bins to ns. Up to fio 2.10 the key is the bucket's index, and constants
// named FIO_IO_U_PLAT_ follow; later 2.x write the bucket's middle in microseconds, as fio 3 does in ns. Without the
// constants keys are indices if they are below 1216 and the highest one fits the maximum as an index, or does not fit
// it as a middle. Below 128 both are the same.
func microseconds(bins []Bin, longest int64, indexed bool) []Bin {
	if len(bins) == 0 {
		return nil
	}
	g := fiohist.Geometry{Groups: fiohist.GroupsV2, Unit: 1000}
	top := bins[len(bins)-1].NS
	if !indexed {
		asMiddle := top <= math.MaxInt64/1000 && g.Index(top*1000) == g.Index(longest)
		indexed = top <= int64(g.Last()) && (!asMiddle || int(top) == g.Index(longest))
	}
	out := bins[:0]
	for _, b := range bins {
		i := int64(g.Last()) // the last bucket takes all that is longer
		if indexed {
			i = min(i, b.NS)
		} else if b.NS <= math.MaxInt64/1000 {
			i = int64(g.Index(b.NS * 1000))
		}
		out = append(out, Bin{int64(g.Middle(int(i))), b.Count})
	}
	return ascending(out)
}

// Counts returns the bins on the grid g. A bin's key is the middle of its bucket (for width 1 its only value, for
// [128, 130) it is 129), which is in the right bucket of any coarser grid, too; the last bucket takes all that is
// longer.
func (t Totals) Counts(g fiohist.Geometry) ([]uint64, error) {
	if g.Groups <= 0 || g.Unit <= 0 || g.Columns() <= 0 {
		return nil, fmt.Errorf("no histogram has %d groups of buckets", g.Groups)
	}
	out := make([]uint64, g.Columns())
	for b, err := range t.Bins.All() {
		if err != nil {
			return nil, err
		}
		i := g.Index(b.NS)
		if out[i]+b.Count < out[i] {
			return nil, fmt.Errorf("the counts of bucket %d overflow", i)
		}
		out[i] += b.Count
	}
	return out, nil
}

// ParseVersion reads the numbers of "fio-3.33" or "fio-3.36-45-gabcdef".
func ParseVersion(v string) (major, minor int, ok bool) {
	v = strings.TrimPrefix(strings.TrimSpace(v), "fio-")
	other := func(r rune) bool { return r < '0' || r > '9' }
	end := strings.IndexFunc(v, other)
	if end < 1 {
		return 0, 0, false
	}
	second := strings.TrimLeftFunc(v[end:], other)
	if after := strings.IndexFunc(second, other); after >= 0 {
		second = second[:after]
	}
	if second == "" {
		return 0, 0, false
	}
	major, err1 := strconv.Atoi(v[:end])
	minor, err2 := strconv.Atoi(second)
	return major, minor, err1 == nil && err2 == nil
}

// Major is the first number of a fio version, 0 if it is none.
func Major(v string) int {
	major, _, _ := ParseVersion(v)
	return major
}
