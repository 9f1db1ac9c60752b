package jobfile

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fiolat/fio"
)

// File is a fio job file.
type File struct {
	Path     string
	Sections []*Section
	// Variables are the options whose values fio takes from its environment, as in rw=${RW}.
	Variables []string

	global map[string]bool // options of [global]
}

// With returns the file as fio runs it: defaults are the options that its command line and [global] set together, which
// hold for all jobs, and have the values of variables.
func (j *File) With(defaults Options) *File {
	out := *j
	out.Sections = nil
	for _, s := range j.Sections {
		c := *s
		c.Options = maps.Clone(s.Options)
		for name, v := range defaults {
			if own, ok := c.Options[name]; name != "name" && (!ok && !j.global[name] || j.global[name] &&
				HasVariable(own)) {
				c.Options[name] = v
			}
		}
		out.add(&c)
	}
	return &out
}

// HasVariable reports whether a value is known to fio only.
func HasVariable(v string) bool { return strings.ContainsAny(v, "$`") }

// Folders returns the folders of files.
func Folders(files []*File) map[string]bool {
	out := map[string]bool{}
	for _, f := range files {
		out[filepath.Dir(f.Path)] = true
	}
	return out
}

// Beside returns the files in a folder, or all if none is in it: each host's job file is in the folder of its logs.
func Beside(files []*File, dir string) []*File {
	var here []*File
	for _, f := range files {
		if filepath.Dir(f.Path) == dir {
			here = append(here, f)
		}
	}
	if len(here) == 0 {
		return files
	}
	return here
}

// Section is a job of a job file.
type Section struct {
	Name string
	// Line is the line of its [name].
	Line int64
	// Options are the job's, with those of the [global] sections above it; a flag
	// without a value is "".
	Options Options
	// NumJobs is the number of threads of the section.
	NumJobs int
	// Group is fio's groupid, which rises at stonewall and new_group; Stage rises
	// at stonewall only.
	Group, Stage int

	nameless bool // Name is not that of the file
}

// Options are fio job options by their name; a flag without a value is "".
type Options map[string]string

const (
	maxInclude = 16 // depth of files
	// bytes of the file, of included files each time they are included, and of a copy of [global] for each section
	maxJobSize = 16 << 20
	maxJobLine = 1 << 20 // bytes
)

// Unnamed is the name of a job that has none, in the job file or in fio's JSON.
const Unnamed = "unnamed"

// MaxThreads is more than fio can start.
const MaxThreads = 1 << 20

// aliases maps other names of the options that matter here to their main ones, which fio's JSON has.
var aliases = map[string]string{"wait_for_previous": "stonewall", "timeout": "runtime", "readwrite": "rw",
	"blocksize": "bs", "blocksize_range": "bsrange", "io_limit": "io_size"}

// Main returns the main name of an option, which fio's JSON has.
func Main(option string) string { return cmp.Or(aliases[option], option) }

// Parse reads a job file. Included files are looked for as fio does it: in the working directory, then in the folder
// of the file that includes them.
func Parse(r io.Reader, path string) (*File, error) {
	p := &jobParser{file: &File{Path: path, global: map[string]bool{}}, global: Options{}}
	if err := p.read(r, path, 0); err != nil {
		return nil, err
	}
	p.finish()
	threads := 0
	for _, s := range p.file.Sections {
		threads += s.NumJobs
	}
	if threads > MaxThreads {
		return nil, &fio.ParseError{File: path, Msg: fmt.Sprintf("%d threads are more than fio starts", threads),
			Hint: "is this a fio job file?"}
	}
	if len(p.file.Sections) == 0 {
		return nil, &fio.ParseError{File: path, Msg: "no job section ([name]) in it",
			Hint: "pass the job file that fio was run with"}
	}
	return p.file, nil
}

type jobParser struct {
	file    *File
	global  Options // of the [global] sections so far
	current Options // those of the open section
	open    *Section
	size    int
}

func (p *jobParser) read(r io.Reader, path string, depth int) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxJobLine)
	line := int64(0)
	bad := func(msg, hint string) error {
		return &fio.ParseError{File: path, Line: line, Msg: msg, Hint: hint}
	}
	for lines.Scan() {
		line++
		text := lines.Text()
		p.size += len(text) + 1
		if p.size > maxJobSize {
			return bad(fmt.Sprintf("more than %d MiB with what it includes", maxJobSize>>20), "is this a fio job file?")
		}
		if i := strings.IndexAny(text, ";#"); i >= 0 { // fio begins a comment at them anywhere in a line
			text = text[:i]
		}
		text = strings.TrimSpace(text)
		switch {
		case text == "":
		case text[0] == '[':
			if depth > 0 {
				return bad("a section in an included file", "fio allows options only")
			}
			if len(text) < 2 {
				return bad("a [section] without a name", "write [name]")
			}
			// fio takes the last character for the bracket, whatever it is: [a;b] has the name "".
			p.section(text[1:len(text)-1], line)
		case p.current == nil:
			return bad("an option before any [section]", "is this a fio job file?")
		case strings.HasPrefix(text, "include ") || strings.HasPrefix(text, "include\t"):
			if depth == maxInclude {
				return bad("included too deep", "does a file include itself?")
			}
			if err := p.include(strings.TrimSpace(text[len("include"):]), path, depth); err != nil {
				var inner *fio.ParseError
				if errors.As(err, &inner) {
					return err
				}
				return bad(err.Error(), "put the included file beside the job file")
			}
		default:
			name, value, _ := strings.Cut(text, "=")
			p.set(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	if err := lines.Err(); err != nil {
		line++
		return bad(err.Error(), "is this a fio job file?")
	}
	return nil
}

func (p *jobParser) include(name, from string, depth int) error {
	given := name
	info, err := os.Stat(name)
	if err != nil && !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(from), name)
		info, err = os.Stat(name)
	}
	if err == nil && !info.Mode().IsRegular() { // a pipe could be waited for forever
		err = errors.New("not a file")
	}
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	if err != nil {
		return fmt.Errorf("include %s: %w", fio.Printable(given), err)
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return p.read(f, name, depth+1)
}

// section ends the open section and begins another. Every name that begins with
// "global" is global to fio.
func (p *jobParser) section(name string, line int64) {
	p.finish()
	if strings.HasPrefix(name, "global") {
		p.current = p.global
		return
	}
	p.open = &Section{Name: cmp.Or(name, Unnamed), Line: line, nameless: name == ""}
	p.current = maps.Clone(p.global)
	delete(p.current, "name") // fio names a job after its section
	p.size += 100 * (1 + len(p.global))
}

func (p *jobParser) set(name, value string) {
	name = Main(name)
	if p.open == nil {
		p.file.global[name] = true
	}
	if option := name + "=" + value; strings.Contains(value, "${") && !slices.Contains(p.file.Variables, option) {
		p.file.Variables = append(p.file.Variables, option)
	}
	if strings.HasPrefix(name, "write_") && strings.HasSuffix(name, "_log") && value == "" && p.current[name] != "" {
		return // enabled again, with the name that [global] gave
	}
	p.current[name] = value
}

// finish completes the open section.
func (p *jobParser) finish() {
	if s := p.open; s != nil {
		p.open, s.Options = nil, p.current
		p.file.add(s)
	}
}

// add adds a section, and sets its number of threads, group and stage.
func (j *File) add(s *Section) {
	s.NumJobs, s.Group, s.Stage = 1, 0, 0
	if n, err := strconv.Atoi(s.Options["numjobs"]); err == nil && n > 1 {
		s.NumJobs = min(n, MaxThreads+1)
	}
	if n := len(j.Sections); n > 0 {
		last := j.Sections[n-1]
		s.Group, s.Stage = last.Group, last.Stage
		if s.Flag("stonewall") {
			s.Stage++
		}
		if s.Flag("stonewall") || s.Flag("new_group") {
			s.Group++
		}
	}
	j.Sections = append(j.Sections, s)
}

// JobName is the name of the section's job.
func (s *Section) JobName() string { return cmp.Or(s.Options["name"], s.Name) }

// Flag reports whether the flag name is given and on.
func (s *Section) Flag(name string) bool {
	v, ok := s.Options[name]
	return ok && On(v)
}

// On reports whether fio takes a flag with this value for on; without a value it is.
func On(v string) bool {
	n, err := strconv.Atoi(v)
	return err != nil || n != 0
}

// Threads returns the section of each thread, and so of each log number: Threads()[0] is that of log 1. Sections that
// write no log count, too.
func (j *File) Threads() []*Section {
	var out []*Section
	for _, s := range j.Sections {
		for range s.NumJobs {
			out = append(out, s)
		}
	}
	return out
}

// Entries returns the index of the JSON entry of each thread, -1 for one without (stats=0), and the number of
// entries. With group_reporting a thread joins the entry of the thread before it, if that is of the same group (fio's
// stat.c).
func (j *File) Entries() (of []int, count int) {
	group := -1
	for _, s := range j.Threads() {
		if v, ok := s.Options["stats"]; ok && !On(v) {
			of = append(of, -1)
			continue
		}
		if !s.Flag("group_reporting") || s.Group != group {
			count++
		}
		group = s.Group
		of = append(of, count-1)
	}
	return of, count
}

// LogPrefix returns how the names of a section's histogram logs, or else latency logs, begin; known is false if it
// writes none, or if only fio knows when it runs. It is "" for a section without a name.
func (s *Section) LogPrefix(hist bool) (prefix string, known bool) {
	v, ok := s.Options[LogOption(hist)]
	if !ok {
		return "", false
	}
	if v == "" && s.nameless && s.Options["name"] == "" {
		return "", true
	}
	v = cmp.Or(v, s.JobName())
	if HasVariable(v) {
		return "", false
	}
	return filepath.Base(v), true
}

// WritesLogs reports whether the section writes histogram logs, or else latency logs.
func (s *Section) WritesLogs(hist bool) bool {
	_, ok := s.Options[LogOption(hist)]
	return ok
}

// LogOption returns the option that makes fio write histogram logs, or else those of single I/Os.
func LogOption(hist bool) string {
	if hist {
		return "write_hist_log"
	}
	return "write_lat_log"
}

// Is reports whether a text looks like a job file: it has a section, and in one an option that is typical of fio.
func Is(text []byte) bool {
	section, fio := false, false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == ';' || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			section = true
			continue
		}
		if !section {
			return false
		}
		name, _, _ := strings.Cut(line, "=")
		switch strings.TrimSpace(name) {
		case "ioengine", "rw", "readwrite", "log_hist_msec", "write_hist_log", "write_lat_log":
			fio = true
		}
	}
	return fio
}

// Size parses a number with fio's suffix for powers of 1024, such as 4k or 1m.
func Size(v string) (float64, bool) {
	v = strings.ToLower(strings.TrimSpace(v))
	if !strings.HasPrefix(v, "0x") { // in which b is a digit
		v = strings.TrimSuffix(strings.TrimSuffix(v, "b"), "i")
	}
	unit := 1.0
	if n := len(v) - 1; n > 0 {
		if i := strings.IndexByte("kmgt", v[n]); i >= 0 {
			unit, v = float64(int64(1)<<(10*(i+1))), v[:n]
		}
	}
	if hex, ok := strings.CutPrefix(v, "0x"); ok {
		n, err := strconv.ParseUint(hex, 16, 63)
		return float64(n) * unit, err == nil
	}
	f, err := strconv.ParseFloat(v, 64)
	return f * unit, err == nil && f >= 0
}

// ParseDuration reads a time option as fio does (parse.c), since that is how the job ran: the whole number at the
// start counts, in seconds unless a letter follows; 1.5 is 1 s. The suffixes are us, ms, s, m, h and d; any other
// word, such as sec or min, means microseconds to fio (seen in fio 3.33: startdelay=2min starts at once).
func ParseDuration(s string) (time.Duration, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	if strings.ContainsAny(strings.TrimPrefix(text, "-"), ",:-") {
		return 0, fmt.Errorf("%q is a range: fio picks a random time in it and does not say which", s)
	}
	digits, unit := strings.TrimPrefix(text, "+"), ""
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits, unit = digits[:end], digits[end:]
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time; fio wants a whole number with us, ms, s, m, h or d", s)
	}
	one := time.Microsecond
	switch {
	case unit == "" || unit[0] < 'a' || unit[0] > 'z', unit == "s":
		one = time.Second
	case strings.HasPrefix(unit, "us"):
	case strings.HasPrefix(unit, "ms"):
		one = time.Millisecond
	case unit == "m":
		one = time.Minute
	case unit == "h":
		one = time.Hour
	case unit == "d":
		one = 24 * time.Hour
	}
	if n > math.MaxInt64/int64(one) {
		return 0, fmt.Errorf("%q is longer than 292 years", s)
	}
	return time.Duration(n) * one, nil
}
