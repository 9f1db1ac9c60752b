package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/fiolog"
	"fiolat/ingest/jobfile"
	"fiolat/ingest/source"
)

// Source is one log file.
type Source struct {
	// Path is where it is, as the user would write it; "-" is standard input.
	Path string
	// Base is the last element of Path.
	Base string
	Name Name
	Size int64
	// Host is the name's host suffix, or the folder's (clients/HOST); "": unknown.
	Host string
	// Unnamed means that the name does not tell what kind of log it is. Only its first line tells whether it holds
	// histograms, as Name.Hist has it, or single I/Os.
	Unnamed bool
	// Extent is the part of the file that is meant; nil: all of it.
	Extent *fiolog.Extent
	// JSON is set if it is no log, but this document, in which all I/Os of a run without logs are, and Hash if that was
	// on standard input: see pipeline.Log.
	JSON *fiojson.Document
	Hash string

	info   fs.FileInfo // of a log that was found in a folder
	link   bool        // that log is a symbolic link
	counts *counts     // see Log.sums

	small *atomic.Pointer[source.Small] // all of it, if it is small and there was room to keep it; nil: never
	of    digest                        // zero if it was not needed yet
}

// Small returns all of a small log, if that was read and kept; else nil.
func (s *Source) Small() *source.Small {
	if s.small == nil {
		return nil
	}
	return s.small.Load()
}

// Forget drops what Small returns. Others may read the log meanwhile.
func (s *Source) Forget() {
	if s.small != nil {
		s.small.Store(nil)
	}
}

// open opens the log, decompressed.
func (s *Source) open() (*source.Stream, error) {
	if small := s.Small(); small != nil {
		return source.Decompress(bytes.NewReader(small.All), s.Path, nil)
	}
	return source.Open(s.Path, nil)
}

// stat describes the file, behind links.
func (s *Source) stat() (fs.FileInfo, error) {
	if s.info != nil {
		return s.info, nil
	}
	return os.Stat(s.Path)
}

// isLink reports whether the log is a symbolic link.
func (s *Source) isLink() bool {
	if s.info != nil {
		return s.link
	}
	info, err := os.Lstat(s.Path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// Once reports whether the log can be read only once: it is standard input, or no regular file.
func (s *Source) Once() bool {
	if s.JSON != nil || s.Path == stdin {
		return s.JSON == nil
	}
	info, err := s.stat()
	return err == nil && !info.Mode().IsRegular()
}

// LargeWindows reports whether the decompressors of all logs together may take more than 16 MiB, judging by names:
// gzip takes 0.1 MB each, the others some 8 MiB.
func (in *Input) LargeWindows() bool {
	sum := 0
	for _, l := range in.Logs {
		sum += windows[filepath.Ext(l.Base)]
	}
	return sum > 16<<20
}

// Input is the files of one run.
type Input struct {
	// Root is the folder of the run, or the first file's.
	Root string
	// See Title and Name.
	title, name string
	// ID is the id of a run without logs.
	ID       string
	Logs     []*Source
	Metas    []*fiojson.Document
	JobFiles []*jobfile.File
	// Ignored names files that were seen and not used, and why.
	Ignored []string
	// Warnings are what the user should see in any case; Match returns them, too.
	Warnings []string

	// Missing are hosts of the run without a log.
	Missing []MissingHost

	// Unread describes what could not be read and was left out: the run may lack logs, or fio's JSON.
	Unread []string

	// NoLog are the entries of Metas that wrote logs which are not here; Match sets it.
	NoLog []NoLog

	// Unlogged are the documents that none of the logs belongs to; Match takes them out of Metas.
	Unlogged []*fiojson.Document
	// JobsWithoutLog are jobs that did I/O, or failed, and wrote no log, where others did; Match counts them.
	JobsWithoutLog int

	// overwritten are documents of runs whose logs are not here, as later runs of their file overwrote them.
	overwritten []*fiojson.Document
	// unused are documents that the logs may belong to, which cannot be told.
	unused []*fiojson.Document
	doubt  string // what to say of them
	// metasGiven means that Metas were named, and not found beside the logs.
	metasGiven bool
	// owner has the documents of logs whose JSON is in another folder: see discovery.own.
	owner map[*Source]*fiojson.Document
	// siblings are logs of the same run that exist and were not asked for: they show how many threads the run had.
	siblings []*Source
}

// WithoutLog returns the documents of other runs that left no log here; Match must have been called.
func (in *Input) WithoutLog() []*fiojson.Document {
	return append(slices.Clip(in.overwritten), in.Unlogged...)
}

// NoLog is a job, or a group of jobs, that is in fio's JSON and has no log here.
type NoLog struct {
	Meta  *fiojson.Document
	Entry *fiojson.Entry
}

// DiscoverOptions choose among the files that are found.
type DiscoverOptions struct {
	// Kind is the latency wanted. Clat comes from histogram logs, and from logs of
	// single I/Os where there are none; Slat and Lat from logs of single I/Os.
	Kind fio.Kind
	// Any leaves out files named one by one if all are of other kinds, as is always done with those in a folder. It
	// is an error only if nothing is left.
	Any bool
	// Stdin is what "-" stands for. It is not read here.
	Stdin io.Reader
	// FioJSON are files to use instead of those found beside the logs.
	FioJSON []string
	// HostsBy is HostsAuto, which "" stands for, HostsByFolder or HostsByName.
	HostsBy string
	// LogsOnly leaves out runs of which there is only fio's JSON, and LeaveFailed those of them that failed;
	// DiscoverJSONRuns finds both.
	LogsOnly, LeaveFailed bool
	// SkipBad leaves out what cannot be read, and names it in Input.Unread; else that is an error.
	SkipBad bool

	// Tree is what is known of the paths already; nil: nothing.
	Tree *Tree

	system *fileSystem // nil: the operating system; tests inject faults
}

const stdin = "-"

// Discover finds the runs that paths stand for: files, "-", folders and globs.
//
// Files given one by one are one run. A folder is searched: each folder with logs is a run, but the folders
// clients/HOST (pbench) are one run, of the folder that holds clients, and so are folders below one with fio's JSON
// whose jobs wrote their logs, and folders of several hosts (see hostFolders). Runs are in the order of their folders,
// after that of the single files. Where there are no logs at all, what has fio's JSON is a run: see withoutLogs.
func Discover(paths []string, opt DiscoverOptions) ([]*Input, error) {
	d := newDiscovery(opt)
	if err := d.paths(paths); err != nil {
		return nil, errors.Join(append(d.files.Unread, err)...)
	}
	d.withFolder()
	for _, name := range opt.FioJSON {
		metas, err := d.documents(d.file(name))
		if err != nil {
			return nil, err
		}
		d.given.Metas = append(d.given.Metas, metas...)
	}
	d.given.metasGiven = len(d.given.Metas) > 0
	named := d.given // copied before beside adds what is for its own logs only
	out, unused, err := d.ofFiles()
	if err != nil {
		return nil, err
	}
	if len(d.given.Logs)+len(d.logs) == 0 && !opt.LogsOnly {
		if beside := d.logsBeside(d.given.Metas); len(beside) > 0 {
			return beside, nil
		}
	}
	more, others := d.ofFolders(&named)
	out, unused = append(out, more...), append(unused, others...)
	d.dropEqual(out)
	out = slices.DeleteFunc(out, func(in *Input) bool {
		if len(in.Logs) == 0 {
			d.warnings = append(d.warnings, in.Warnings...)
		}
		return len(in.Logs) == 0
	})
	d.failedBeside(out)
	d.markUsed(out)
	only, err := d.withoutLogs(named, out)
	if err != nil {
		return nil, err
	}
	if len(d.files.Unread) > 0 && !opt.SkipBad {
		return nil, errors.Join(d.files.Unread...)
	}
	for _, root := range d.searched {
		if !d.hasLogs(root) && !slices.ContainsFunc(only, func(in *Input) bool { return under(in.Root, root) }) &&
			!slices.ContainsFunc(d.used, func(path string) bool { return under(path, root) }) {
			return nil, d.noLogsError(root, nil)
		}
	}
	out = append(out, only...)
	if len(out) == 0 {
		return nil, d.nothing(paths, unused)
	}
	d.say(out)
	nameRuns(out)
	return out, nil
}

// ofFiles returns the run of the logs that were named, or else their logs of other kinds.
func (d *discovery) ofFiles() (runs []*Input, unused []*Source, err error) {
	in := &d.given
	if len(in.Logs) == 0 {
		return nil, nil, nil
	}
	d.jsonBeside(in, foldersOf(in.Logs))
	other := d.finish(in)
	if len(in.Logs) == 0 && d.opt.Any {
		return nil, other, nil
	} else if len(in.Logs) == 0 {
		return nil, nil, d.noLogsError(other[0].Path, other)
	}
	d.own([]*Input{in}, jsonAround)
	in.leaveOthers()
	in.sayDoubt()
	return []*Input{in}, nil, nil
}

// ofFolders returns the runs of the logs that were found in folders, and the logs of runs of other kinds. JSON and job
// files that were named are for all of them.
func (d *discovery) ofFolders(named *Input) (out []*Input, unused []*Source) {
	runs := d.runs()
	if !named.metasGiven {
		runs = d.own(d.own(runs, jsonAbove), jsonApart)
	}
	runs = d.hostFolders(runs)
	if !named.metasGiven {
		runs = d.own(runs, jsonAround)
	}
	slices.SortStableFunc(runs, func(a, b *Input) int { return fio.Natural(a.Root, b.Root) })
	for _, in := range runs {
		if named.metasGiven {
			in.Metas, in.metasGiven = named.Metas, true
		}
		in.JobFiles = named.JobFiles
		in.sayDoubt()
		d.jsonBeside(in, append([]string{in.Root}, foldersOf(in.Logs)...))
		if other := d.finish(in); len(in.Logs) > 0 {
			out = append(out, in)
		} else if of := in.otherKind(d.opt.Kind); of != nil && d.opt.Kind != fio.Clat && !d.opt.Any && !d.opt.LogsOnly {
			out = append(out, of)
		} else {
			unused = append(unused, other...)
		}
	}
	return out, unused
}

// nothing returns the error for paths without a run.
func (d *discovery) nothing(paths []string, unused []*Source) error {
	switch {
	case len(unused) > 0:
		return d.noLogsError(append(d.searched, unused[0].Path)[0], unused)
	case len(d.strange) > 0:
		return &fio.ParseError{File: d.strange[0], Msg: notFio, Hint: "pass logs (NAME_clat_hist.N.log) or " +
			"folders with logs"}
	case len(d.given.Metas)+len(d.given.JobFiles) > 0:
		return &fio.NoLogsError{ParseError: fio.ParseError{File: paths[0],
			Msg: "fio's JSON or job file, but no log", Hint: "pass the logs (NAME_clat_hist.N.log) or their folder, " +
				"too; for a status stream use `fiolat live`"}}
	}
	return &fio.ParseError{File: "PATH", Msg: "nothing to read", Hint: "pass logs (NAME_clat_hist.N.log) " +
		"or folders with logs"}
}

// say gives runs the warnings about files that are in none of them.
func (d *discovery) say(runs []*Input) {
	for _, path := range d.strange {
		d.warnings = append(d.warnings, fio.Printable(path)+": "+notFio+"; not used")
	}
	for _, err := range d.packed {
		d.warnings = append(d.warnings, err.Error())
		for _, in := range runs {
			if in.JSONOnly() && filepath.Dir(err.File) == filepath.Dir(in.Logs[0].Path) {
				in.Ignored = append(in.Ignored, err.Error())
			}
		}
	}
	for _, in := range runs {
		for _, err := range d.files.Unread {
			in.Unread = append(in.Unread, err.Error())
		}
	}
	runs[0].Warnings = slices.Concat(d.warnings, d.files.Warnings, runs[0].Warnings)
}

// noLogsError returns the error for a path without logs of the wanted kind; other are the logs of other kinds.
func (d *discovery) noLogsError(path string, other []*Source) error {
	if len(other) == 0 {
		return d.noneBelow(path)
	}
	kind := other[0].Name.Kind
	return &fio.NoLogsError{Other: true, ParseError: fio.ParseError{File: path,
		Msg: fmt.Sprintf("no %v logs, only %v", d.opt.Kind, kind), Hint: fmt.Sprintf("pass --kind %v", kind)}}
}

// found is a log in a searched folder.
type found struct {
	*Source
	dir string
	// group is the folder that holds clients, "" if the log is in none.
	group string
}

type discovery struct {
	opt      DiscoverOptions
	given    Input // files that were named
	searched []string
	logs     []found
	holding  map[string]bool // see withLogs
	damaged  []error         // JSON that was not used
	used     []string        // the paths of JSON that runs of logs use, or may, and of copies of it
	strange  []string        // files given that are not fio's
	packed   []*source.PackedError
	links    []string        // folders behind symbolic links, to be searched last
	seen     map[string]bool // real paths of folders, and of files given
	warnings []string
	files    *fileReader
	tree     *Tree
	copies   map[*file][]*fiojson.Document // of this discovery; nil: nobody else has the Tree
	isNoted  map[*file]bool                // those of packed
}

func newDiscovery(opt DiscoverOptions) *discovery {
	if opt.system == nil {
		sys := osFileSystem()
		opt.system = &sys
	}
	d := &discovery{opt: opt, seen: map[string]bool{}, tree: opt.Tree, isNoted: map[*file]bool{},
		files: newFileReader(*opt.system, opt.Stdin,
			func(name string) bool {
				_, log := parseName(name)
				return log
			})}
	if d.tree == nil {
		d.tree = new(Tree)
	} else {
		d.copies = map[*file][]*fiojson.Document{}
	}
	if d.tree.folders == nil {
		*d.tree = *newTree()
	}
	return d
}

// Glob returns the paths that a pattern stands for, if it is a path of Discover.
func Glob(pattern string) ([]string, error) {
	return newDiscovery(DiscoverOptions{}).glob(pattern)
}

// runs groups the logs found into runs.
func (d *discovery) runs() []*Input {
	type key struct {
		group, host, base string
	}
	// Folders under one clients/HOST that have a log of the same name are runs of their own: "clients" is just a name
	// there.
	where, split := map[key]string{}, map[string]bool{}
	for _, l := range d.logs {
		k := key{l.group, l.Host, uncompressed(l.Base)}
		if dir, ok := where[k]; ok && l.group != "" && dir != l.dir {
			split[l.group] = true
		}
		where[k] = l.dir
	}
	var out []*Input
	index := map[string]*Input{}
	for _, l := range d.logs {
		dir := l.dir
		if l.group != "" && !split[l.group] {
			dir = l.group
		}
		in := index[dir]
		if in == nil {
			in = &Input{Root: dir}
			index[dir] = in
			out = append(out, in)
		}
		in.Logs = append(in.Logs, l.Source)
	}
	return out
}

// isBelow reports whether a folder is below one that was given. It has a name then: what is above .. or the current
// folder cannot be told from their paths.
func (d *discovery) isBelow(dir string) bool {
	base := filepath.Base(dir)
	return base != "." && base != ".." &&
		slices.ContainsFunc(d.searched, func(root string) bool { return dir != root && under(dir, root) })
}

// metasIn returns fio's JSON documents in a folder.
func (d *discovery) metasIn(dir string) (out []*fiojson.Document) {
	for f := range d.texts(dir) {
		metas, err := d.json(f)
		d.files.Keep(f.path, err)
		out = append(out, metas...)
	}
	return out
}

// json returns the documents of a file, none if it is something else than fio's JSON.
func (d *discovery) json(f *file) ([]*fiojson.Document, error) {
	kind, err := d.sniff(f)
	if err != nil || kind != JSONFile {
		return nil, err
	}
	return d.documents(f)
}

// job returns the job file that a file is, nil if it is something else.
func (d *discovery) job(f *file) (*jobfile.File, error) {
	kind, err := d.sniff(f)
	if err != nil || kind != JobFile {
		return nil, err
	}
	return d.jobFile(f)
}

func foldersOf(logs []*Source) (out []string) {
	for _, l := range logs {
		if l.Path == stdin {
			continue
		}
		if dir := filepath.Dir(l.Path); !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// finish sorts a run's logs, drops compressed and renamed copies, and keeps those of the wanted kind. It returns the
// others, which become siblings.
func (d *discovery) finish(in *Input) (other []*Source) {
	if in.Root == "" {
		in.Root = filepath.Dir(in.Logs[0].Path)
	}
	d.dropCopies(in)
	slices.SortStableFunc(in.Logs, bySource)
	plain := map[string]string{} // uncompressed path -> path
	var kept []*Source
	for _, l := range in.Logs {
		p := filepath.Join(filepath.Dir(l.Path), uncompressed(l.Base))
		if first, ok := plain[p]; ok && !source.SameContent(l.Path, first, d.opt.Stdin) {
			in.Warnings = append(in.Warnings, fmt.Sprintf("%s: not used: by its name it is a compressed %s, but the "+
				"contents differ; rename one of them", fio.Printable(l.Path), fio.Printable(first)))
			continue
		} else if ok {
			in.Ignored = append(in.Ignored, fmt.Sprintf("%s: the same log as %s, compressed", fio.Printable(l.Path),
				fio.Printable(first)))
			continue
		}
		plain[p] = l.Path
		kept = append(kept, l)
	}
	single := slices.ContainsFunc(kept, func(l *Source) bool { return l.Name.Kind == d.opt.Kind && !l.Name.Hist })
	hist := d.opt.Kind == fio.Clat &&
		(!single || slices.ContainsFunc(kept, func(l *Source) bool { return l.Name.Hist }))
	in.Logs = nil
	for _, l := range kept {
		if l.Name.Kind == d.opt.Kind && l.Name.Hist == hist {
			in.Logs = append(in.Logs, l)
			continue
		}
		why := fmt.Sprintf("%v of single I/Os", l.Name.Kind)
		if l.Name.Hist {
			why = "a histogram of clat"
		}
		if l.Name.Kind == d.opt.Kind {
			why += ", where there are histograms"
		}
		in.Ignored = append(in.Ignored, fio.Printable(l.Path)+": "+why)
		other = append(other, l)
	}
	in.siblings = append(in.siblings, other...)
	return other
}

// bySource is the order of logs: by host, folder, prefix, number.
func bySource(a, b *Source) int {
	return cmp.Or(
		cmp.Compare(a.Host, b.Host),
		cmp.Compare(filepath.Dir(a.Path), filepath.Dir(b.Path)),
		cmp.Compare(a.Name.Prefix, b.Name.Prefix),
		cmp.Compare(a.Name.Job, b.Name.Job),
		cmp.Compare(a.Name.Kind, b.Name.Kind),
		cmp.Compare(a.Path, b.Path),
	)
}

// jsonBeside finds fio's JSON and job files in folders by their content, unless they were given, and the logs there
// that were not.
func (d *discovery) jsonBeside(in *Input, folders []string) {
	wantMeta, wantJob := len(in.Metas) == 0, len(in.JobFiles) == 0
	used := map[string]bool{}
	for _, l := range in.Logs {
		used[filepath.Clean(l.Path)] = true
	}
	slices.Sort(folders)
	for _, dir := range slices.Compact(folders) {
		for _, f := range d.list(dir) {
			switch {
			case f.logFile != nil:
				if !used[f.path] && !d.isPacked(f) {
					in.siblings = append(in.siblings, d.source(f))
				}
			case !d.isFile(f):
			case f.averages:
				in.Ignored = append(in.Ignored, ignored(f.path))
			default:
				d.textBeside(in, f, wantMeta, wantJob)
			}
		}
	}
	in.nameHosts()
}

// textBeside is jsonBeside for a file that is no log by its name.
func (d *discovery) textBeside(in *Input, f *file, wantMeta, wantJob bool) {
	kind, err := d.sniff(f)
	if f.isEmptyJSON() {
		in.Warnings = append(in.Warnings, fio.Printable(f.path)+" is empty: fio was killed, or could not write it")
	}
	if wantMeta && kind == JSONFile && err == nil {
		var metas []*fiojson.Document
		metas, err = d.documents(f)
		in.Metas = append(in.Metas, metas...)
	}
	if wantJob && kind == JobFile && err == nil {
		var j *jobfile.File
		if j, err = d.jobFile(f); err == nil {
			in.JobFiles = append(in.JobFiles, j)
		}
	}
	in.Warnings = append(in.Warnings, f.nameless()...)
	if !d.files.Keep(f.path, err) && err != nil && !isPacked(err) {
		in.Warnings = append(in.Warnings, err.Error()+" (not used)")
	}
}
