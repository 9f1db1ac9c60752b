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
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/source"
)

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
			matches, bad := d.glob(path)
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

func (d *discovery) path(path string, info fs.FileInfo) error {
	if info.IsDir() {
		d.searchGiven(filepath.Clean(path))
		return nil
	}
	real := d.realPath(path)
	if d.seen[real] {
		return nil
	}
	d.seen[real] = true
	f := d.file(path)
	if f.averages && f.logFile == nil {
		d.given.Ignored = append(d.given.Ignored, ignored(path))
		return nil
	}
	if info.Mode().IsRegular() {
		if used, err := d.notLog(f, info); used || err != nil {
			return err
		}
	}
	s := d.source(f)
	s.Size, s.Unnamed = info.Size(), f.logFile == nil
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

// notLog takes a regular file that was named and is no log, and reports whether it is none.
func (d *discovery) notLog(f *file, info fs.FileInfo) (used bool, _ error) {
	if f.logFile != nil {
		d.lookAtLog(f, info)
	}
	kind, err := d.sniff(f)
	switch {
	case f.logFile != nil && !isPacked(err):
		return false, nil
	case err != nil:
		return true, err
	case kind == JSONFile:
		metas, err := d.documents(f)
		d.given.Metas = append(d.given.Metas, metas...)
		return true, err
	case kind == JobFile:
		j, err := d.jobFile(f)
		if err == nil {
			d.given.JobFiles = append(d.given.JobFiles, j)
		}
		return true, err
	case kind == OtherFile:
		d.strange = append(d.strange, f.path)
		return true, d.output(f.path)
	}
	return false, nil
}

// source returns a log, of which no more is known than its file.
func (d *discovery) source(f *file) *Source {
	s := &Source{Path: f.path, Base: f.base()}
	if f.logFile != nil {
		s.Name, s.Host, s.small, s.of = f.name, f.name.Host, f.small, f.of
	}
	return s
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
	metas, err := d.documents(d.file(file))
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

// searchGiven searches a folder that was given.
func (d *discovery) searchGiven(root string) {
	if !d.seen[d.realPath(root)] {
		d.searched = append(d.searched, root)
		d.search(root, root)
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
	for _, f := range d.list(dir) {
		switch {
		case f.mode.IsDir():
			d.search(root, f.path)
		case strings.HasPrefix(f.base(), "._"): // attributes on macOS
		case f.logFile == nil && (d.isPacked(f) || !f.isLink()):
		default:
			d.searchFile(root, dir, f)
		}
	}
}

// searchFile is search for what is by its name a log, or a link.
func (d *discovery) searchFile(root, dir string, f *file) {
	info, err := d.stat(f)
	if err != nil {
		return
	}
	log, regular, warn := f.logFile != nil, info.Mode().IsRegular(), ""
	if log && regular {
		d.lookAtLog(f, info)
		if d.isPacked(f) {
			return
		}
	}
	switch {
	case info.IsDir():
		d.links = append(d.links, f.path)
	case !log:
	case strings.HasPrefix(f.base(), "."):
		warn = "a hidden file, such as a copy that rsync has not finished; not used"
	case !regular:
		warn = "not a regular file; pipes and devices are read only if named explicitly"
	case info.Size() > 0 && isRenamed(f.name.Prefix) && !d.isLog(f):
		warn = "not a log of fio, despite its name; not used"
	default:
		l := found{Source: d.source(f), dir: dir}
		l.info, l.link, l.Size = info, f.isLink(), info.Size()
		// Above the path given, a folder that happens to be named clients means nothing.
		if group, host := clients(dir); group != "" && (under(group, root) || filepath.Join(group,
			"clients") == root || filepath.Join(group, "clients", host) == root) {
			l.group = group
			l.Host = cmp.Or(l.Host, validUTF8(host))
		}
		d.logs = append(d.logs, l)
	}
	if warn != "" {
		d.warnings = append(d.warnings, fio.Printable(f.path)+": "+warn)
	}
}

// isLog reports whether a file is a log by its content, or cannot be read.
func (d *discovery) isLog(f *file) bool {
	kind, err := d.sniff(f)
	return kind == LogFile || err != nil
}

// under reports whether path is root or below it.
func under(path, root string) bool {
	rel, err := relative(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
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

const notFio = "not a fio log, fio JSON or job file"

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
	onStdin := newDiscovery(DiscoverOptions{Stdin: counted})
	if out.metas, err = onStdin.documents(onStdin.file(stdin)); err == nil {
		_, err = io.Copy(io.Discard, counted)
	}
	return out, err
}
