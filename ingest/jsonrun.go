package ingest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
)

// JSONRun is a run with fio's JSON and without logs.
type JSONRun struct {
	// Root is the folder of the run, or its file if the folder holds other runs, too.
	Root string
	// ID is a hash of the files' sizes and first 64 KiB.
	ID string
	// Metas are documents of fio processes that ran at the same time.
	Metas []*fiojson.Document
}

// Start returns when the first job began, as far as fio's JSON tells; else the zero time.
func (t *JSONRun) Start() (start time.Time) {
	for _, m := range t.Metas {
		if from, _, ok := span(m); ok && (start.IsZero() || time.UnixMilli(from).Before(start)) {
			start = time.UnixMilli(from).UTC()
		}
	}
	return start
}

// idBytes is how much of the start of each file makes the id of a run without logs.
const idBytes = 64 << 10

// DiscoverJSONRuns finds runs with fio's JSON and without logs, in the files named and below the folders named.
// Documents of one folder whose times overlap by more than half of the shorter one are one run, and so are folders of
// several hosts (see hostFolders). Files that a run of logs uses are left out. Warnings name the JSON that is damaged,
// and with SkipBad what could not be read. With the Tree of the Discover that found the logs nothing is read twice.
func DiscoverJSONRuns(paths []string, logs []*Input,
	opt DiscoverOptions) (runs []*JSONRun, warnings []string, err error) {
	d := newDiscovery(opt)
	d.markUsed(logs)
	var all []string
	for _, path := range paths {
		matches, _ := d.glob(path) // Discover says what is wrong with a pattern
		if _, err := d.files.Stat(path); err == nil || len(matches) == 0 {
			matches = []string{path}
		}
		all = append(all, matches...)
	}
	for _, path := range all {
		if m, err := d.part(path); err != nil {
			return nil, nil, err
		} else if m != nil && !slices.ContainsFunc(logs, func(in *Input) bool {
			return slices.ContainsFunc(in.Metas, m.Same)
		}) {
			runs = append(runs, &JSONRun{Root: m.Name(), Metas: []*fiojson.Document{m}})
			continue
		}
		info, bad := d.files.Stat(path)
		if bad != nil && !errors.Is(bad, fs.ErrNotExist) {
			d.files.CannotRead(path, bad)
		}
		if bad == nil && info.IsDir() {
			d.searched = append(d.searched, filepath.Clean(path))
			runs = append(runs, d.totalsBelow(filepath.Clean(path), &warnings)...)
		}
		if _, json := opt.Stdin.(*jsonInput); json && path == stdin || bad == nil && info.Mode().IsRegular() {
			for _, m := range d.totals(d.file(path), &warnings) {
				runs = append(runs, &JSONRun{Root: m.Name(), Metas: []*fiojson.Document{m}})
			}
		}
	}
	runs, _ = d.withHosts(runs)
	if len(logs) == 0 { // else Discover says so
		for _, err := range d.packed {
			warnings = append(warnings, err.Error())
		}
	}
	if !opt.SkipBad {
		return runs, warnings, errors.Join(d.files.Unread...)
	}
	for _, err := range d.files.Unread {
		warnings = append(warnings, err.Error())
	}
	return runs, append(warnings, d.files.Warnings...), nil
}

// totals returns the documents of a file that is fio's JSON and was not seen before, else none.
func (d *discovery) totals(f *file, warnings *[]string) (metas []*fiojson.Document) {
	if f.logFile != nil || f.averages || d.seen[d.realPath(f.path)] || f.path != stdin && !d.isFile(f) {
		return nil
	}
	var err error
	if f.path != stdin {
		var kind FileKind
		kind, err = d.sniff(f)
		if err == nil && kind != JSONFile || isPacked(err) {
			*warnings = append(*warnings, f.nameless()...)
			return nil
		}
	}
	d.seen[d.realPath(f.path)] = true
	if err == nil {
		metas, err = d.documents(f)
	}
	if d.files.Keep(f.path, err) {
		return nil
	} else if err != nil {
		d.damaged = append(d.damaged, err)
		*warnings = append(*warnings, err.Error()+" (not used)")
		return nil
	}
	d.sections(filepath.Dir(f.path), metas)
	for _, m := range metas {
		m.Notes = append(m.Notes, inTurn(m)...)
		*warnings = append(*warnings, slices.Concat(prefixed(m.Name(), m.Warnings), m.Notes)...)
		if m.Documents > 1 {
			*warnings = append(*warnings, fmt.Sprintf("%s: has %d status documents, of which the last counts here: `fiolat "+
				"live - < %[1]s` shows them all", fio.Printable(m.Name()), m.Documents))
		}
	}
	return metas
}

// sections gives entries that stand for several jobs the sections of the job file beside fio's JSON, if there is one
// whose jobs are those of the document.
func (d *discovery) sections(dir string, metas []*fiojson.Document) {
	for _, m := range metas {
		unlike := func(e fiojson.Entry) bool { return e.Unlike > 0 }
		if m.ClientServer || !slices.ContainsFunc(m.Entries, unlike) {
			continue
		}
		s := &set{meta: m}
		for _, e := range entriesIn(m) {
			s.entries = append(s.entries, e)
		}
		var fit []*jobfile.File
		for f := range d.texts(dir) {
			j, err := d.job(f)
			if err != nil || j == nil { // what cannot be read is no such job file
				continue
			}
			j = j.With(m.Globals(s.entries[0]))
			if s.isOf(j) {
				fit = append(fit, j)
			}
		}
		if len(fit) == 1 {
			s.job = fit[0]
			s.entryOf, _ = s.job.Entries()
			s.sections()
			s.phases()
		}
	}
}

// inTurn names entries whose jobs cannot all have run at once, where no job file tells when they did.
func inTurn(m *fiojson.Document) (notes []string) {
	for _, e := range entriesIn(m) {
		delay, ramp, _ := (&matcher{in: new(Input)}).startDelay(m.Path, func(name string) (string, bool) {
			return m.Option(nil, name)
		})
		took := time.Duration(e.Elapsed) * time.Second
		if e.Unlike > 0 && len(m.Entries) == 1 && took-longest(e)-delay-ramp > longestStart {
			notes = append(notes, fmt.Sprintf("%s: job %q combines jobs that did not all run at once (fio took %v, and none "+
				"of them more than %v): its IOPS are fio's, as if they had; put the job file beside it",
				fio.Printable(m.Name()), e.JobName, took, longest(e)))
		}
	}
	return notes
}

// phases makes the time in which a direction of an entry did I/O that of the sections that the entry stands for, if
// their delays part them: to fio it is that of the longest section, as if all had begun at once. How long sections ran
// must explain job_runtime, which is the sum.
func (s *set) phases() {
	jobs := (&matcher{in: new(Input)}).sectionJobs(s)
	at, _ := schedule(jobs)
	sum := map[*fiojson.Entry]time.Duration{}
	threads := s.job.Threads()
	for i, section := range threads {
		if s.entryOf[i] < 0 {
			continue
		}
		sum[s.entries[s.entryOf[i]]] += jobs[slices.Index(s.job.Sections, section)].run
	}
	for k, e := range s.entries {
		all := time.Duration(e.RuntimeMS) * time.Millisecond
		if len(e.Sections) == 0 || (sum[e]-all).Abs() > max(all/20, longestStart) {
			continue
		}
		for d := range e.Dirs {
			var spans []period
			for i, section := range threads {
				if s.entryOf[i] == k && workloadOf(section).Does(fio.Direction(d)) {
					of := slices.Index(s.job.Sections, section)
					from := at[of].Milliseconds()
					spans = append(spans, period{from: from, to: from + jobs[of].run.Milliseconds()})
				}
			}
			slices.SortFunc(spans, func(a, b period) int { return cmp.Compare(a.from, b.from) })
			ran, end := int64(0), int64(0)
			for _, p := range spans {
				ran += max(0, p.to-max(end, p.from))
				end = max(end, p.to)
			}
			e.Dirs[d].RuntimeMS = max(e.Dirs[d].RuntimeMS, ran)
		}
	}
}

// isOf reports whether the entries are those of a job file: as many, each with the name of its first section.
func (s *set) isOf(j *jobfile.File) bool {
	of, n := j.Entries()
	if n != len(s.entries) {
		return false
	}
	threads := j.Threads()
	for i, e := range s.entries {
		first := threads[slices.Index(of, i)]
		if e.JobName != first.Name && e.JobName != first.Options["name"] && !strings.Contains(first.Name, "$") {
			return false
		}
	}
	return true
}

// totalsBelow returns the runs of a folder, and of those below it, that have only JSON.
func (d *discovery) totalsBelow(dir string, warnings *[]string) []*JSONRun {
	runs := d.totalsIn(dir, warnings)
	for _, f := range d.list(dir) {
		if f.mode.IsDir() {
			runs = append(runs, d.totalsBelow(f.path, warnings)...)
		}
	}
	return runs
}

// totalsIn returns the runs of a folder that have only JSON, without their ids: see withHosts.
func (d *discovery) totalsIn(dir string, warnings *[]string) (runs []*JSONRun) {
	var metas []*fiojson.Document
	var files []*file
	seen := func(f *file) bool { return d.seen[d.realPath(f.path)] }
	for f := range d.texts(dir) { // most are of others
		kind, err := d.sniff(f)
		if (kind == JSONFile || err != nil || f.unnamed) && !seen(f) {
			files = append(files, f)
		}
	}
	others := len(files) > 0 &&
		slices.ContainsFunc(d.list(dir), func(f *file) bool { return d.isFile(f) && seen(f) })
	for _, f := range files {
		others = others || seen(f) // a link to one of them
		metas = append(metas, d.totals(f, warnings)...)
	}
	together := atTheSameTime(distinct(metas))
	for _, metas := range together {
		root := dir
		if len(together) > 1 || others {
			root = nameOf(dir, metas)
		}
		runs = append(runs, &JSONRun{Root: root, Metas: metas})
	}
	return runs
}

// nameOf names a run of several files of a folder that holds others.
func nameOf(dir string, metas []*fiojson.Document) string {
	if len(metas) == 1 {
		return metas[0].Name()
	}
	name := filepath.Base(metas[0].Name()) + " + "
	if len(metas) > 2 {
		return filepath.Join(dir, fmt.Sprintf("%s%d more", name, len(metas)-1))
	}
	return filepath.Join(dir, name+filepath.Base(metas[1].Name()))
}

// Failure returns what went wrong with the run as a whole: fio ended with an error, or did no I/O; else nil.
func (t *JSONRun) Failure() error {
	if msg := t.failure(); msg != "" {
		return &fio.ParseError{File: t.Root, Msg: msg, Hint: "see what fio printed; --skip-bad leaves the run out"}
	}
	return nil
}

// failure says that fio failed, or did no I/O; "" otherwise.
func (t *JSONRun) failure() string {
	code := errorOf(t.Metas...)
	switch {
	case code != 0:
		return fmt.Sprintf("fio ended with error %d (%v)", code, syscall.Errno(code))
	case t.did():
		return ""
	}
	return "fio did no I/O"
}

// errorOf returns the first error of the jobs of documents; 0 if there is none.
func errorOf(metas ...*fiojson.Document) (code int) {
	for _, e := range entriesIn(metas...) {
		code = cmp.Or(code, e.Error)
	}
	return code
}

// Measured reports whether fio's JSON has latencies of that kind.
func (t *JSONRun) Measured(kind fio.Kind) bool {
	for _, e := range entriesIn(t.Metas...) {
		if counted(e, kind) != "" {
			return true
		}
	}
	return false
}

// JSONID is the id that the run would have without its logs.
func (in *Input) JSONID() string {
	return newDiscovery(DiscoverOptions{}).newJSONRun(in.Root, in.Metas).ID
}

// Unmeasured returns why fio measured no latency of a kind of any I/O of the run; "" if it did, or did no I/O.
func (t *JSONRun) Unmeasured(kind fio.Kind) string {
	if t.Measured(kind) {
		return ""
	}
	for m, e := range entriesIn(t.Metas...) {
		if e.Did() {
			why, _ := m.Unmeasured(e)
			return why
		}
	}
	return ""
}

// did reports whether the run did any I/O.
func (t *JSONRun) did() bool { return slices.ContainsFunc(t.Metas, did) }

func did(m *fiojson.Document) bool {
	return slices.ContainsFunc(m.Entries, func(e fiojson.Entry) bool { return e.Did() })
}

// NewJSONRun returns the run of one document.
func NewJSONRun(m *fiojson.Document) *JSONRun {
	return newDiscovery(DiscoverOptions{}).newJSONRun(m.Name(), []*fiojson.Document{m})
}

// JSONRuns returns the runs of fio's JSON beside the logs, as if there were no logs. Threads whose logs were not asked
// for are left out.
func (in *Input) JSONRuns() (runs []*JSONRun) {
	d := newDiscovery(DiscoverOptions{})
	for _, metas := range atTheSameTime(distinct(in.Metas)) {
		for i, m := range metas {
			here := *m
			here.Entries = filtered(m.Entries, func(e fiojson.Entry) bool { return !e.Part })
			metas[i] = &here
		}
		runs = append(runs, d.newJSONRun(nameOf(in.Root, metas), metas))
	}
	return runs
}

func (d *discovery) newJSONRun(root string, metas []*fiojson.Document) *JSONRun {
	sum := sha256.New()
	for _, m := range metas {
		placeJobs(m)
		start, size := d.start(m.Path)
		fmt.Fprintln(sum, size)
		if m.Part > 0 {
			fmt.Fprintln(sum, m.Part)
		}
		sum.Write(start)
	}
	return &JSONRun{Root: root, ID: hex.EncodeToString(sum.Sum(nil)[:16]), Metas: metas}
}

// span returns when the jobs of a document ran, in ms since 1970; ok is false if that is not known.
func span(m *fiojson.Document) (from, to int64, ok bool) {
	for _, e := range entriesIn(m) {
		ran, elapsed := e.LongestMS, max(0, 1000*(e.Elapsed-1))
		if ran == 0 && e.Did() { // it was killed
			ran = elapsed
		}
		at := e.StartMS
		if at <= absoluteMS {
			at = m.TimestampMS
			if at == 0 {
				return 0, 0, false
			} else if !m.ClientServer {
				at -= max(ran, elapsed)
			}
		}
		if from == 0 || at < from {
			from = at
		}
		to = max(to, at+ran)
	}
	return from, to, from > 0
}

// period is when something ran, in ms since 1970.
type period struct {
	from, to int64
	known    bool
}

// atTheSameTime groups documents of processes that ran at the same time, the earliest first. A document whose time is
// not known is a group of its own.
func atTheSameTime(metas []*fiojson.Document) (groups [][]*fiojson.Document) {
	periods := make([]period, len(metas))
	for i, m := range metas {
		periods[i].from, periods[i].to, periods[i].known = span(m)
	}
	return groupsOf(metas, periods)
}

// group is what ran at the same time.
type group[T any] struct {
	of   []T
	last int // the index of the last of it
	period
}

// groupsOf groups what ran at the same time, the earliest first: periods overlap by more than half of the shorter one.
func groupsOf[T any](of []T, periods []period) (groups [][]T) {
	order := make([]int, len(of))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(periods[a].from, periods[b].from) })
	var all []*group[T]
	for len(order) > 0 { // compare only periods that others join
		n, end := 1, periods[order[0]].to
		for ; n < len(order) && periods[order[n]].from < end; n++ {
			end = max(end, periods[order[n]].to)
		}
		slices.Sort(order[:n])
		all = append(all, joined(of, periods, order[:n])...)
		order = order[n:]
	}
	slices.SortFunc(all, func(a, b *group[T]) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.last, b.last))
	})
	for _, g := range all {
		groups = append(groups, g.of)
	}
	return groups
}

// joined is groupsOf for those of some indexes.
func joined[T any](of []T, periods []period, indexes []int) (all []*group[T]) {
	for _, i := range indexes {
		g := &group[T]{[]T{of[i]}, i, periods[i]}
		all = slices.DeleteFunc(all, func(o *group[T]) bool {
			overlap := min(g.to, o.to) - max(g.from, o.from)
			if !g.known || !o.known || 2*overlap <= min(g.to-g.from, o.to-o.from) {
				return false
			}
			g.of = append(o.of, g.of...)
			g.from, g.to = min(g.from, o.from), max(g.to, o.to)
			return true
		})
		all = append(all, g)
	}
	return all
}

// Split divides the logs of a folder in which runs follow each other, each with its own JSON and log names, into
// these runs. Otherwise it returns in alone. Of runs that were appended to one file of JSON, the last one that wrote a
// log has it, and those whose logs are not here are left out.
func (in *Input) Split() []*Input {
	metas := distinct(in.Metas)
	idle := filtered(metas, func(m *fiojson.Document) bool { return !did(m) })
	together := atTheSameTime(filtered(metas, did))
	if len(together) < 2 || in.metasGiven {
		return []*Input{in}
	}
	out := make([]*Input, len(together))
	run := map[*fiojson.Document]*Input{}
	for i, metas := range together {
		out[i] = &Input{Root: metas[0].Name(), Metas: metas, JobFiles: in.JobFiles, owner: in.owner}
		for _, m := range metas {
			run[m] = out[i]
		}
	}
	shelf := newShelf(within, in.Root, slices.Concat(together...))
	for _, l := range in.Logs {
		by, why := shelf.find(l, "")
		if why < namedAfter || slices.ContainsFunc(by, func(m *fiojson.Document) bool { return run[m] != run[by[0]] }) {
			return []*Input{in}
		}
		of := run[by[0]]
		of.Logs = append(of.Logs, l)
	}
	var overwritten []*fiojson.Document
	out = slices.DeleteFunc(out, func(i *Input) bool {
		switch {
		case len(i.Logs) > 0:
			return false
		case i.Metas[0].Part > 0:
			overwritten = append(overwritten, i.Metas...)
		default:
			idle = append(idle, i.Metas...)
		}
		return true
	})
	if len(out) == 1 && len(overwritten) == 0 {
		return []*Input{in}
	}
	out[0].Ignored, out[0].Warnings, out[0].Missing = in.Ignored, in.Warnings, in.Missing
	out[0].overwritten, out[0].Metas = overwritten, append(out[0].Metas, idle...)
	return out
}

// leaveOthers leaves out fio's JSON of other runs in the folder of logs that were named, where their logs were not.
func (in *Input) leaveOthers() {
	whole := *in
	whole.Logs = slices.Concat(in.Logs, in.likeFirst())
	if parts := whole.Split(); len(parts) > 1 {
		own := filtered(parts, func(part *Input) bool {
			return slices.ContainsFunc(in.Logs, func(l *Source) bool { return slices.Contains(part.Logs, l) })
		})
		if len(own) > 0 && len(own) < len(parts) {
			in.Metas = nil
			for _, part := range own {
				in.Metas = append(in.Metas, part.Metas...)
			}
		}
	}
}

// IsNoLogs reports whether an error says that there are no logs of any kind, where there may be JSON.
func IsNoLogs(err error) bool {
	var none *fio.NoLogsError
	return errors.As(err, &none) && !none.Other
}
