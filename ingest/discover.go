package ingest

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"

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

// Name holds the parts of a log's file name.
type Name struct {
	// Prefix is write_hist_log's or write_lat_log's value, else the job's name.
	Prefix string
	Kind   fio.Kind
	// Hist: a histogram log; else a log of single I/Os.
	Hist bool
	// Job is fio's thread number, from 1; 0 where the name has none (per_job_logs=0).
	Job int
	// Host is the suffix that fio --client adds; "": none.
	Host string
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

	system *fileSystem // nil: the operating system; tests inject faults
}

const stdin = "-"

// bare returns the prefix of a log that was renamed without the ending that tells its kind, and others as they are.
func bare(prefix string) string {
	if isRenamed(prefix) {
		return prefix[:len(prefix)-len("_hist.log")]
	}
	return prefix
}

// mayWrite reports whether a section of a job file writes logs of that name, or of one that is not known. A log that
// was renamed may be named as the job file.
func mayWrite(j *jobfile.File, s *jobfile.Section, n Name) bool {
	want, known := s.LogPrefix(n.Hist)
	file := filepath.Base(j.Path)
	return s.WritesLogs(n.Hist) && (!known || bare(want) == bare(n.Prefix) ||
		isRenamed(n.Prefix) && strings.TrimSuffix(file, filepath.Ext(file)) == bare(n.Prefix))
}

// parseName reads the name of a log: PREFIX_clat_hist.N.log or, of single I/Os, PREFIX_{slat,clat,lat}.N.log; also
// with a host's name after it (fio --client), without N (per_job_logs=0), and compressed. PREFIX.hist.log is a
// histogram log, too, with all of its name as the prefix.
func parseName(base string) (Name, bool) {
	if !strings.Contains(base, ".log") { // quicker for the many names of other files
		return Name{}, false
	}
	base = uncompressed(downloaded(base))
	prefix, kind, number, host, ok := splitName(base)
	if !ok {
		return Name{Prefix: base, Hist: true}, isRenamed(base)
	}
	n := Name{Prefix: prefix, Hist: kind == "clat_hist", Host: validUTF8(host)}
	if !n.Hist {
		n.Kind, _ = fio.ParseKind(kind)
	}
	if number != "" {
		job, err := strconv.Atoi(number)
		if err != nil || job > jobfile.MaxThreads {
			return Name{}, false
		}
		n.Job = job
	}
	return n, true
}

// splitName splits PREFIX_KIND[.NUMBER].log[.HOST] at its last KIND. Names are many, and matching a regexp takes 20
// times as long.
func splitName(base string) (prefix, kind, number, host string, ok bool) {
	for at := strings.LastIndexByte(base, '_'); at >= 0; at = strings.LastIndexByte(base[:at], '_') {
		for _, kind := range []string{"clat_hist", "clat", "slat", "lat"} {
			rest, is := strings.CutPrefix(base[at+1:], kind)
			if !is {
				continue
			}
			if number, host, ok := splitEnding(rest); ok {
				return base[:at], kind, number, host, true
			}
		}
	}
	return "", "", "", "", false
}

// splitEnding splits [.NUMBER].log[.HOST].
func splitEnding(rest string) (number, host string, ok bool) {
	if len(rest) > 1 && rest[0] == '.' && '1' <= rest[1] && rest[1] <= '9' {
		end := 2
		for end < len(rest) && '0' <= rest[end] && rest[end] <= '9' {
			end++
		}
		number, rest = rest[1:end], rest[end:]
	}
	rest, ok = strings.CutPrefix(rest, ".log")
	if rest == "" || !ok {
		return number, "", ok
	}
	host, ok = strings.CutPrefix(rest, ".")
	return number, host, ok && host != ""
}

// isRenamed reports whether a name is one that people give to histogram logs without a thread number.
func isRenamed(name string) bool {
	before, ok := strings.CutSuffix(name, "hist.log")
	return ok && before != "" && strings.IndexByte("._-", before[len(before)-1]) >= 0
}

// windows are, by the suffixes of compression, the bytes that decompressing takes.
var windows = map[string]int{".gz": 128 << 10, ".zst": 8 << 20, ".bz2": 8 << 20}

// browserSuffix is what browsers add to the name of a file that is there already.
var browserSuffix = regexp.MustCompile(` ?\(\d{1,3}\)(\.log|` +
	strings.Join(slices.Sorted(maps.Keys(windows)), "|") + `|$)`)

// downloaded returns a name as it was before a browser changed it.
func downloaded(base string) string {
	if !strings.Contains(base, "(") { // most names have none
		return base
	}
	return browserSuffix.ReplaceAllString(base, "$1")
}

// uncompressed returns a name without the suffix of compression.
func uncompressed(base string) string {
	if suffix := filepath.Ext(base); windows[suffix] > 0 && suffix != base {
		return strings.TrimSuffix(base, suffix)
	}
	return base
}

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
		metas, err := d.documents(name)
		if err != nil {
			return nil, err
		}
		d.given.Metas = append(d.given.Metas, metas...)
	}
	d.given.metasGiven = len(d.given.Metas) > 0
	named := d.given // copied before beside adds what is for its own logs only
	var out []*Input
	var unused []*Source
	if len(d.given.Logs) > 0 {
		d.jsonBeside(&d.given, foldersOf(d.given.Logs))
		if other := d.finish(&d.given); len(d.given.Logs) > 0 {
			d.own([]*Input{&d.given}, jsonAround)
			d.given.leaveOthers()
			d.given.sayDoubt()
			out = append(out, &d.given)
		} else if unused = other; !opt.Any {
			return nil, d.noLogsError(other[0].Path, other)
		}
	}
	if len(d.given.Logs)+len(d.logs) == 0 && !opt.LogsOnly {
		if beside := d.logsBeside(d.given.Metas); len(beside) > 0 {
			return beside, nil
		}
	}
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
		} else if of := in.otherKind(opt.Kind); of != nil && opt.Kind != fio.Clat && !opt.Any && !opt.LogsOnly {
			out = append(out, of)
		} else {
			unused = append(unused, other...)
		}
	}
	d.dropEqual(out)
	out = slices.DeleteFunc(out, func(in *Input) bool {
		if len(in.Logs) == 0 {
			d.warnings = append(d.warnings, in.Warnings...)
		}
		return len(in.Logs) == 0
	})
	d.failedBeside(out)
	only, err := d.withoutLogs(named)
	if err != nil {
		return nil, err
	}
	out = append(out, only...)
	if len(d.files.Unread) > 0 && !opt.SkipBad {
		return nil, errors.Join(d.files.Unread...)
	}
	for _, in := range out {
		for _, err := range d.files.Unread {
			in.Unread = append(in.Unread, err.Error())
		}
	}
	for _, root := range d.searched {
		if !d.hasLogs(root) && !slices.ContainsFunc(only, func(in *Input) bool { return under(in.Root, root) }) {
			return nil, d.noLogsError(root, nil)
		}
	}
	switch {
	case len(out) == 0 && len(unused) > 0:
		return nil, d.noLogsError(append(d.searched, unused[0].Path)[0], unused)
	case len(out) == 0 && len(d.strange) > 0:
		return nil, &fio.ParseError{File: d.strange[0], Msg: notFio, Hint: "pass logs (NAME_clat_hist.N.log) or " +
			"folders with logs"}
	case len(out) == 0 && len(d.given.Metas)+len(d.given.JobFiles) > 0:
		return nil, &fio.NoLogsError{ParseError: fio.ParseError{File: paths[0],
			Msg: "fio's JSON or job file, but no log", Hint: "pass the logs (NAME_clat_hist.N.log) or their folder, " +
				"too; for a status stream use `fiolat live`"}}
	case len(out) == 0:
		return nil, &fio.ParseError{File: "PATH", Msg: "nothing to read", Hint: "pass logs (NAME_clat_hist.N.log) " +
			"or folders with logs"}
	}
	for _, path := range d.strange {
		d.warnings = append(d.warnings, fio.Printable(path)+": "+notFio+"; not used")
	}
	for _, err := range d.packed {
		d.warnings = append(d.warnings, err.Error())
		for _, in := range out {
			if in.JSONOnly() && filepath.Dir(err.File) == filepath.Dir(in.Logs[0].Path) {
				in.Ignored = append(in.Ignored, err.Error())
			}
		}
	}
	nameRuns(out)
	out[0].Warnings = slices.Concat(d.warnings, d.files.Warnings, out[0].Warnings)
	return out, nil
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

const notFio = "not a fio log, fio JSON or job file"

type discovery struct {
	opt      DiscoverOptions
	given    Input // files that were named
	searched []string
	logs     []found
	holding  map[string]bool // see withLogs
	damaged  []error         // JSON that was not used
	strange  []string        // files given that are not fio's
	packed   []*source.PackedError
	links    []string          // folders behind symbolic links, to be searched last
	seen     map[string]bool   // real paths of folders, and of files given
	folders  map[string]string // real paths of folders
	warnings []string
	files    *fileReader
	kinds    once[FileKind]
	metas    once[[]*fiojson.Document]
	jobs     once[[]*jobfile.File] // by folder
	room     int                   // bytes of small logs that may still be kept
}

// allSmall are the bytes of small logs that are kept at most.
const allSmall = 16 << 20

// once keeps what was read from files, by path: several folders and runs ask for the same ones.
type once[T any] map[string]struct {
	value T
	err   error
}

func (o once[T]) get(path string, read func() (T, error)) (T, error) {
	if r, ok := o[path]; ok {
		return r.value, r.err
	}
	value, err := read()
	o[path] = struct {
		value T
		err   error
	}{value, err}
	return value, err
}

func newDiscovery(opt DiscoverOptions) *discovery {
	if opt.system == nil {
		sys := osFileSystem()
		opt.system = &sys
	}
	return &discovery{opt: opt, room: allSmall, seen: map[string]bool{}, folders: map[string]string{},
		kinds: once[FileKind]{}, metas: once[[]*fiojson.Document]{}, jobs: once[[]*jobfile.File]{},
		files: newFileReader(*opt.system, opt.Stdin,
			func(name string) bool {
				_, log := parseName(name)
				return log
			})}
}

// Glob returns the paths that a pattern stands for, if it is a path of Discover.
func Glob(pattern string) ([]string, error) {
	return newDiscovery(DiscoverOptions{}).files.Glob(pattern)
}

func (d *discovery) paths(paths []string) error {
	for _, path := range paths {
		if path == stdin {
			if d.seen[stdin] {
				return &fio.ParseError{File: stdin, Msg: "standard input can be read only once", Hint: "give `-` once"}
			}
			d.seen[stdin] = true
			if in, ok := d.opt.Stdin.(*jsonInput); ok {
				d.given.Metas = append(d.given.Metas, in.metas...)
				continue
			}
			d.given.Logs = append(d.given.Logs, &Source{Path: stdin, Base: stdin, Unnamed: true,
				Name: Name{Kind: d.opt.Kind, Hist: d.opt.Kind == fio.Clat}})
			continue
		}
		info, err := d.files.Stat(path)
		if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(path, "*?[") {
			matches, bad := d.files.Glob(path)
			if bad != nil {
				return &fio.ParseError{File: path, Msg: "not a pattern: " + bad.Error(),
					Hint: `write \[ for a bracket that is part of a name`}
			}
			if len(matches) == 0 {
				return &fio.ParseError{File: path, Msg: "no file matches",
					Hint: "check the pattern; ** is not known, folders are searched anyway"}
			}
			for _, m := range matches {
				if found, failed := d.files.Stat(m); failed != nil {
					d.files.CannotRead(m, failed)
				} else if failed = d.path(m, found); failed != nil {
					return failed
				}
			}
			continue
		}
		if m, bad := d.part(path); bad != nil {
			return bad
		} else if m != nil && err != nil {
			d.given.Metas = append(d.given.Metas, m)
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			return unreadable(path, err)
		} else if err != nil {
			d.files.CannotRead(path, err)
			continue
		}
		if err := d.path(path, info); err != nil {
			return err
		}
	}
	for len(d.links) > 0 { // real folders first, so that a run has its real name
		link := d.links[0]
		d.links = d.links[1:]
		if !under(d.realPath(filepath.Dir(link)), d.realPath(link)) { // a link to a folder that it is in would loop
			d.search(link, link)
		}
	}
	return nil
}

// output returns the error for what fio prints instead of JSON; nil for other files.
func (d *discovery) output(path string) (bad error) {
	_ = d.files.Read(path, func(r io.Reader) error { // what cannot be read is no such output
		start, _ := bufio.NewReaderSize(r, headBytes).Peek(headBytes) // less than that is no fault
		if what := outputOf(start); what != "" {
			bad = &fio.ParseError{File: path, Msg: "this is fio's " + what + " output", Hint: "run fio with " +
				"--output-format=json+ --output=FILE, and pass that file"}
		}
		return nil
	})
	return bad
}

// part returns the run of a file of JSON that several were appended to, named FILE#N; nil if path is no such name.
func (d *discovery) part(path string) (*fiojson.Document, error) {
	file, n, ok := PartOf(path)
	if !ok {
		return nil, nil
	}
	if _, log := parseName(filepath.Base(file)); log {
		return nil, &fio.ParseError{File: path, Msg: "#N names a run in a file of fio's JSON, and this is a log",
			Hint: "pass " + fio.Printable(file)}
	}
	metas, err := d.documents(file)
	if err == nil && n > len(metas) {
		err = &fio.ParseError{File: path, Msg: fmt.Sprintf("%s holds %s", fio.Printable(file),
			fio.Several(len(metas), "run")), Hint: "they are numbered from 1"}
	}
	if err != nil {
		return nil, err
	}
	return metas[n-1], nil
}

// PartOf takes the name of a run in a file of several, FILE#N, apart. ok is false for the name of a file.
func PartOf(path string) (file string, n int, ok bool) {
	at := strings.LastIndexByte(path, '#')
	if at < 1 {
		return "", 0, false
	}
	n, err := strconv.Atoi(path[at+1:])
	if _, own := os.Stat(path); err != nil || n < 1 || own == nil {
		return "", 0, false
	}
	info, err := os.Stat(path[:at])
	return path[:at], n, err == nil && info.Mode().IsRegular()
}

// withFolder drops files that are also in a folder that was given.
func (d *discovery) withFolder() {
	if len(d.given.Logs) == 0 || len(d.logs) == 0 {
		return
	}
	found := map[string]bool{}
	for _, l := range d.logs {
		found[d.realPath(l.Path)] = true
	}
	d.given.Logs = slices.DeleteFunc(d.given.Logs, func(l *Source) bool { return found[d.realPath(l.Path)] })
}

// folder searches a folder that was given.
func (d *discovery) folder(root string) {
	if !d.seen[d.realPath(root)] {
		d.searched = append(d.searched, root)
		d.search(root, root)
	}
}

func (d *discovery) path(path string, info fs.FileInfo) error {
	if info.IsDir() {
		d.folder(filepath.Clean(path))
		return nil
	}
	real := d.realPath(path)
	if d.seen[real] {
		return nil
	}
	d.seen[real] = true
	s := &Source{Path: path, Base: filepath.Base(path), Size: info.Size()}
	named := false
	s.Name, named = parseName(s.Base)
	if !named && otherLog.MatchString(s.Base) {
		d.given.Ignored = append(d.given.Ignored, ignored(path))
		return nil
	} else if info.Mode().IsRegular() {
		look := d.sniff
		if named {
			look = func(string) (FileKind, error) { return d.look(s, info) }
		}
		switch kind, err := look(path); {
		case named && !isPacked(err):
		case err != nil:
			return err
		case kind == JSONFile:
			metas, err := d.documents(path)
			if err != nil {
				return err
			}
			d.given.Metas = append(d.given.Metas, metas...)
			return nil
		case kind == JobFile:
			j, err := d.jobFile(path)
			if err != nil {
				return err
			}
			d.given.JobFiles = append(d.given.JobFiles, j)
			return nil
		case kind == OtherFile:
			if err := d.output(path); err != nil {
				return err
			}
			d.strange = append(d.strange, path)
			return nil
		}
	}
	s.Unnamed = !named
	if s.Unnamed { // a pipe, or a log by another name
		s.Name = Name{Prefix: uncompressed(s.Base), Kind: d.opt.Kind, Hist: d.opt.Kind == fio.Clat}
	}
	s.Host = s.Name.Host
	if _, host := clients(filepath.Dir(path)); s.Host == "" {
		s.Host = validUTF8(host)
	}
	d.given.Logs = append(d.given.Logs, s)
	return nil
}

// jsonInput is standard input that held fio's JSON, which was read to its end.
type jsonInput struct {
	*bufio.Reader
	start []byte
	size  byteCount
	metas []*fiojson.Document
}

type byteCount int64

func (n *byteCount) Write(p []byte) (int, error) {
	*n += byteCount(len(p))
	return len(p), nil
}

// hash is what pipeline.Log.Hash is for a file.
func (in *jsonInput) hash() string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%d\n%s", in.size, in.start)))
}

// StandardInput looks at standard input, and returns what is to be read, or passed to Discover, in its place.
func StandardInput(in io.Reader) (io.Reader, error) {
	if _, done := in.(*jsonInput); done {
		return in, nil
	}
	text := bufio.NewReaderSize(in, idBytes)
	start, _ := text.Peek(text.Size()) // an error comes again
	stream, err := source.Decompress(bytes.NewReader(start), stdin, nil)
	if err != nil {
		return text, err
	}
	defer stream.Close()
	kind, err := kindOf(stream, stdin)
	if err != nil || kind != JSONFile {
		return text, err
	}
	out := &jsonInput{Reader: text, start: bytes.Clone(start)}
	counted := io.TeeReader(text, &out.size)
	if out.metas, err = newDiscovery(DiscoverOptions{Stdin: counted}).documents(stdin); err == nil {
		_, err = io.Copy(io.Discard, counted)
	}
	return out, err
}

// validUTF8 returns s with each byte that is not UTF-8 as \xNN: documents could not distinguish hosts that differ in
// such bytes only.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[0])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// realPath returns where a path leads, behind links. Unlike filepath.EvalSymlinks it looks at each folder once: the
// folders of a deep tree would take a time that grows with the cube of its depth.
func (d *discovery) realPath(path string) string {
	dir, base := filepath.Dir(path), filepath.Base(path)
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink == 0 && path == filepath.Clean(path) &&
		path != dir && base != ".." {
		real, ok := d.folders[dir]
		if !ok {
			real = d.realPath(dir)
			d.folders[dir] = real
		}
		return filepath.Join(real, base)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return path
}

// clients splits .../clients/HOST/... into the folder that holds clients and HOST; "" if dir is not such a folder.
func clients(dir string) (root, host string) {
	for rest := filepath.Clean(dir); ; {
		up, last := filepath.Dir(rest), filepath.Base(rest)
		if filepath.Base(up) == "clients" {
			return filepath.Dir(up), last
		}
		if up == rest || up == "." {
			return "", ""
		}
		rest = up
	}
}

// search finds the logs in dir, which is below root. Links to folders are left for
// later, and a folder is searched once, so that loops end.
func (d *discovery) search(root, dir string) {
	if real := d.realPath(dir); d.seen[real] {
		return
	} else {
		d.seen[real] = true
	}
	for _, e := range d.files.List(dir) {
		path := filepath.Join(dir, e.Name())
		name, ok := parseName(e.Name())
		if e.IsDir() {
			d.search(root, path)
			continue
		}
		link := e.Type()&fs.ModeSymlink != 0
		if strings.HasPrefix(e.Name(), "._") || !ok && (d.isPacked(path, e) || !link) { // ._FILE: attributes on macOS
			continue
		}
		info, err := d.files.Stat(path)
		l := found{Source: &Source{Path: path, Base: e.Name(), Name: name, Host: name.Host, info: info, link: link},
			dir: dir}
		if err == nil && ok && info.Mode().IsRegular() {
			if _, bad := d.look(l.Source, info); isPacked(bad) {
				continue
			}
		}
		switch {
		case err != nil:
			d.files.CannotRead(path, err)
		case info.IsDir():
			d.links = append(d.links, path)
		case ok && strings.HasPrefix(e.Name(), "."):
			d.warnings = append(d.warnings, fio.Printable(path)+": a hidden file, such as a copy that rsync has not "+
				"finished; not used")
		case ok && !info.Mode().IsRegular():
			d.warnings = append(d.warnings, fio.Printable(path)+": not a regular file; pipes and devices are read "+
				"only if named explicitly")
		case ok && info.Size() > 0 && isRenamed(name.Prefix) && !d.isLog(path):
			d.warnings = append(d.warnings, fio.Printable(path)+": not a log of fio, despite its name; not used")
		case ok:
			l.Size = info.Size()
			// Above the path given, a folder that happens to be named clients means nothing.
			if group, host := clients(dir); group != "" && (under(group, root) || filepath.Join(group,
				"clients") == root || filepath.Join(group, "clients", host) == root) {
				l.group = group
				l.Host = cmp.Or(l.Host, validUTF8(host))
			}
			d.logs = append(d.logs, l)
		}
	}
}

// under reports whether path is root or below it.
func under(path, root string) bool {
	rel, err := relative(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
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

// isBelow reports whether a folder is below one that was given.
func (d *discovery) isBelow(dir string) bool {
	return slices.ContainsFunc(d.searched, func(root string) bool { return dir != root && under(dir, root) })
}

// metasIn returns fio's JSON documents in a folder.
func (d *discovery) metasIn(dir string) (out []*fiojson.Document) {
	for _, e := range d.files.List(dir) {
		path := filepath.Join(dir, e.Name())
		if _, log := parseName(e.Name()); log || otherLog.MatchString(e.Name()) || !d.files.IsFile(path, e) {
			continue
		}
		var metas []*fiojson.Document
		kind, err := d.sniff(path)
		if err == nil && kind == JSONFile {
			metas, err = d.documents(path)
		}
		d.files.Keep(path, err)
		out = append(out, metas...)
	}
	return out
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
		for _, e := range d.files.List(dir) {
			path := filepath.Join(dir, e.Name())
			if name, ok := parseName(e.Name()); ok {
				if !used[path] && !d.isPacked(path, e) {
					in.siblings = append(in.siblings, &Source{Path: path, Base: e.Name(), Name: name, Host: name.Host})
				}
				continue
			}
			if d.isEmpty(e) {
				in.Warnings = append(in.Warnings, fio.Printable(path)+" is empty: fio was killed, or could not write it")
			}
			if !d.files.IsFile(path, e) {
				continue
			}
			if otherLog.MatchString(e.Name()) {
				in.Ignored = append(in.Ignored, ignored(path))
				continue
			}
			kind, err := d.sniff(path)
			if err == nil && kind == JSONFile && wantMeta {
				var metas []*fiojson.Document
				metas, err = d.documents(path)
				in.Metas = append(in.Metas, metas...)
			} else if err == nil && kind == JobFile && wantJob {
				var j *jobfile.File
				if j, err = d.jobFile(path); err == nil {
					in.JobFiles = append(in.JobFiles, j)
				}
			}
			if err == nil && kind == LogFile {
				in.Warnings = append(in.Warnings, d.nameless(path)...)
			}
			if !d.files.Keep(path, err) && err != nil && !isPacked(err) {
				in.Warnings = append(in.Warnings, err.Error()+" (not used)")
			}
		}
	}
	in.nameHosts()
}

// isEmpty reports whether an entry of a folder is JSON by its name, of 0 bytes.
func (d *discovery) isEmpty(e os.DirEntry) bool {
	if filepath.Ext(e.Name()) != ".json" || !e.Type().IsRegular() {
		return false
	}
	info, err := e.Info()
	return err == nil && info.Size() == 0
}

// otherLog are logs of fio's that hold no latency.
var otherLog = regexp.MustCompile(`_(bw|iops)(\.\d+)?\.log`)

func ignored(path string) string {
	return fio.Printable(path) + ": a log without latencies"
}

// documents returns those of the runs in a file of fio's JSON.
func (d *discovery) documents(path string) ([]*fiojson.Document, error) {
	if in, ok := d.opt.Stdin.(*jsonInput); ok && path == stdin {
		return in.metas, nil
	}
	return d.metas.get(path, func() (metas []*fiojson.Document, err error) {
		err = d.files.Read(path, func(r io.Reader) (err error) {
			text := bufio.NewReader(r)
			start, _ := text.Peek(headBytes)
			if isUTF16(start) {
				return errUTF16(path)
			} else if err = source.Tar(start, path); err != nil {
				return err
			}
			inString := inString(start)
			metas, err = fiojson.ParseAll(text, path)
			if err != nil && inString {
				err = errInString(path)
			}
			return err
		})
		for _, m := range metas {
			placeJobs(m)
		}
		return metas, err
	})
}

func (d *discovery) jobFile(path string) (j *jobfile.File, err error) {
	err = d.files.Read(path, func(r io.Reader) (err error) {
		j, err = jobfile.Parse(r, path)
		return err
	})
	return j, err
}

// sniff finds out by its content what a file is. What is packed in a way that is not read is a *source.PackedError, and
// remembered unless nobody asked for its folder.
func (d *discovery) sniff(path string) (FileKind, error) {
	return d.kinds.get(path, func() (FileKind, error) {
		block := source.NewBlock()
		defer block.Free()
		head, err := d.files.Head(path, block[:headBytes])
		return d.kind(path, head, err)
	})
}

// look is sniff of a log that info describes. A small one is read as a whole for that, and kept while there is room.
func (d *discovery) look(s *Source, info fs.FileInfo) (FileKind, error) {
	return d.kinds.get(s.Path, func() (FileKind, error) {
		block := source.NewBlock()
		defer block.Free()
		part := block[:]
		if info.Size() > source.SmallSize {
			part = block[:headBytes]
		}
		head, whole, err := d.files.Whole(s.Path, info, part)
		if whole {
			s.of = digestOf(head)
		}
		if whole && len(head) <= d.room && !source.Packed(head) {
			d.room -= len(head)
			s.small = new(atomic.Pointer[source.Small])
			s.small.Store(&source.Small{Info: info, All: bytes.Clone(head)})
		}
		return d.kind(s.Path, head[:min(len(head), headBytes)], err)
	})
}

// kind returns what a file is that begins with head, or could not be read for err.
func (d *discovery) kind(path string, head []byte, err error) (kind FileKind, _ error) {
	if err != nil {
		return OtherFile, err
	}
	sure := false
	if !source.Packed(head) {
		kind, sure, err = kindOfHead(head, path)
	}
	if !sure {
		err = d.files.Read(path, func(r io.Reader) (err error) {
			kind, err = kindOf(r, path)
			return err
		})
	}
	if packed, is := errors.AsType[*source.PackedError](err); is && d.files.Beyond == 0 {
		d.packed = append(d.packed, packed)
	}
	return kind, err
}

// isLog reports whether a file is a log by its content, or cannot be read.
func (d *discovery) isLog(path string) bool {
	kind, err := d.sniff(path)
	return kind == LogFile || err != nil
}

// isPacked reports whether an entry of a folder is packed in a way that is not read.
func (d *discovery) isPacked(path string, e os.DirEntry) bool {
	if otherLog.MatchString(e.Name()) || !d.files.IsFile(path, e) {
		return false
	}
	_, err := d.sniff(path)
	return isPacked(err)
}

func isPacked(err error) bool {
	_, is := errors.AsType[*source.PackedError](err)
	return is
}
