package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
	"fiolat/ingest/source"
)

// FileKind is what a file is.
type FileKind uint8

// The kinds of files.
const (
	OtherFile FileKind = iota
	JSONFile
	JobFile
	LogFile
)

// headBytes is the number of bytes that tell what most files are.
const headBytes = 4 << 10

const sniffed = 1 << 20 // bytes of text that may come before the JSON: banners of a thousand hosts

// histLine matches the start of a histogram log, or of one of single I/Os.
var histLine = regexp.MustCompile(`^\d+, *[\dx]+, *\d+, *\d+`)

// histogram matches the start of a histogram log, whatever its coarseness.
var histogram = regexp.MustCompile(`^\d+, *[012], *\d+(?:, *\d+){19}`)

// nameless warns of a log that is a histogram log and not named as one. What is compressed is not read.
func (f *file) nameless() []string {
	if !f.unnamed {
		return nil
	}
	return []string{fio.Printable(f.path) + ": a histogram log by its content, and not by its name: not used; name it " +
		"NAME_clat_hist.N.log, or pass the file itself"}
}

// kindOf returns what a text is. Damaged compressed data is OtherFile, and an archive a *source.PackedError; path is
// for errors.
func kindOf(r io.Reader, path string) (FileKind, error) {
	text, err := io.ReadAll(io.LimitReader(r, headBytes))
	if err != nil {
		return OtherFile, nil
	}
	if kind, sure, err := kindOfHead(text, path); sure {
		return kind, err
	}
	more, err := io.ReadAll(io.LimitReader(r, sniffed-headBytes))
	if err != nil {
		return OtherFile, nil
	}
	return whole(append(text, more...), path)
}

// kindOfHead returns what the first headBytes bytes of a text are, or all of a shorter one; sure means that more bytes
// would not change that.
func kindOfHead(text []byte, path string) (kind FileKind, sure bool, err error) {
	log := histLine.Match(text)
	switch {
	case isUTF16(text) && fiojson.Is(bytes.ReplaceAll(text[2:], []byte{0}, nil)):
		return OtherFile, true, errUTF16(path)
	case bytes.IndexByte(text, 0) >= 0:
		return OtherFile, true, source.Tar(text, path) // binary: an archive, or a file that fio wrote to
	case !log && isCode(text):
		return OtherFile, true, nil
	case fiojson.Is(text):
		if err := prefixedLines(text, path); err != nil {
			return OtherFile, true, err
		}
		return JSONFile, true, nil
	case log:
		return LogFile, true, nil
	case len(text) < headBytes || bareJobs.Match(text):
		kind, err = whole(text, path)
		return kind, true, err
	}
	return OtherFile, !mayGoOn(text) && !strings.Contains(path, ".json"), nil
}

// whole returns what a text is that is no log.
func whole(text []byte, path string) (FileKind, error) {
	switch {
	case fiojson.Is(text):
		return JSONFile, nil
	case jobfile.Is(text):
		return JobFile, nil
	case inString(text):
		return OtherFile, errInString(path)
	case bareJobs.Match(text):
		return OtherFile, &fio.ParseError{File: path, Msg: "jobs of fio's JSON without the document that they are in",
			Hint: "pass fio's whole output"}
	}
	return OtherFile, nil
}

// inCode matches fio's JSON as programs and scripts have it: assigned, returned or passed to a function. What a shell
// or a program printed so, such as "output = {", is what fio wrote: program matches what only code has.
var inCode = regexp.MustCompile("(?:\\s=|[(`]|\\breturn)[ \t]*\\[?\\s*\\{\\s*\"(?:fio version|jobs|client_stats)\"")

var program = regexp.MustCompile(
	`(?m)^\s*(?:#!|import \S|from \S+ import |def \w|func \w|package \w|const \w|let \w|var \w|function \w|json\.dump)`)

// hereDocument matches fio's JSON that a shell script has as its input to a command.
var hereDocument = regexp.MustCompile(`<<-?[ \t]*['"\\]?\w+\b.*\n\s*\{\s*"(?:fio version|jobs|client_stats)"`)

// isCode reports whether a program or script has fio's JSON in it. The expressions are slow, and most texts lack what
// they begin with.
func isCode(text []byte) bool {
	if bytes.Contains(text, []byte("<<")) && hereDocument.Match(text) {
		return true
	}
	assigned := bytes.ContainsAny(text, "=(`") || bytes.Contains(text, []byte("return"))
	return assigned && inCode.Match(text) && program.Match(text)
}

// bareJobs begins a job of fio's JSON, or a list of them, as `jq .jobs` takes them out.
var bareJobs = regexp.MustCompile(`^\s*\[?\s*\{\s*"jobname"\s*:\s*"[^"]*"\s*,\s*"(?:groupid|hostname)"\s*:`)

// inString reports whether a text has fio's JSON inside a string of other JSON.
func inString(text []byte) bool { return bytes.Contains(text, []byte(`{\n  \"fio version\"`)) }

// errInString returns the error for such a text.
func errInString(path string) error {
	return &fio.ParseError{File: path, Msg: "fio's JSON inside a string of other JSON, as in the results of Ansible",
		Hint: "take it out, e.g. with `jq -r .stdout`"}
}

// firstLines matches the first two lines of fio's JSON with what each of them begins with.
var firstLines = regexp.MustCompile(`(?m)^(.*\S.*?)[ \t]*\{[ \t]*\r?\n(.*?)[ \t]*"fio version"`)

// maybePrefixed reports whether firstLines may match: before the line of a version is one with more than a brace.
func maybePrefixed(text []byte) bool {
	for {
		at := bytes.Index(text, []byte(`"fio version"`))
		if at < 0 {
			return false
		}
		before := text[:max(0, bytes.LastIndexByte(text[:at], '\n'))]
		line := before[bytes.LastIndexByte(before, '\n')+1:]
		prefix, brace := bytes.CutSuffix(bytes.TrimRight(line, " \t\r"), []byte("{"))
		if brace && len(bytes.Trim(prefix, " \t\r\f")) > 0 {
			return true
		}
		text = text[at+1:]
	}
}

// prefixedLines returns an error if each line of fio's JSON begins with the same text, or with a time.
func prefixedLines(text []byte, path string) error {
	if !maybePrefixed(text) {
		return nil
	}
	of := firstLines.FindSubmatch(text)
	if of == nil || len(of[2]) < len(of[1]) || shape(string(of[1])) != shape(string(of[2][:len(of[1])])) {
		return nil
	}
	return &fio.ParseError{File: path, Msg: fmt.Sprintf("fio's JSON, but each of its lines begins with %s",
		strconv.Quote(string(of[1]))), Hint: fmt.Sprintf("cut that off with `cut -b %d- %s >fio.json`",
		len(of[1])+1, fio.Printable(path))}
}

// banner matches the lines that fio prints before its JSON: one for each host, and notes.
var banner = regexp.MustCompile(`(?m)^(<|hostname=|fio[:-]|note: |clock|smalloc|Starting )`)

// foreign matches the first line of HTML, XML and scripts.
var foreign = regexp.MustCompile(`(?i)^(<[!?]|<html|<svg|#!)`)

// mayGoOn reports whether the start of a text may be that of a job file, or of what fio prints before its JSON.
// Folders of others hold large texts that need not be read.
func mayGoOn(text []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimLeft(text, " \t\r\n"), []byte("\n"))
	if json.Valid(line) || foreign.Match(line) && !bytes.Contains(line, []byte("fio")) { // documents, a page, a script
		return false
	}
	return len(line) == 0 || bytes.IndexByte([]byte("[;#{"), line[0]) >= 0 || bytes.IndexByte(text, '{') >= 0 ||
		banner.Match(text)
}

// isUTF16 reports whether a text starts with a byte-order mark of UTF-16.
func isUTF16(start []byte) bool {
	return bytes.HasPrefix(start, []byte("\xFF\xFE")) || bytes.HasPrefix(start, []byte("\xFE\xFF"))
}

// errUTF16 returns the error for fio's JSON in UTF-16.
func errUTF16(path string) error {
	return &fio.ParseError{File: path, Msg: "fio's JSON in UTF-16, which fio does not write: an editor or a shell " +
		"saved it", Hint: "convert it back, e.g. with `iconv -f UTF-16 -t UTF-8`"}
}

// FileKindOf returns what a regular file is, OtherFile if it cannot be read.
func FileKindOf(path string) (FileKind, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return OtherFile, nil
	}
	r, err := source.Open(path, nil)
	if _, packed := errors.AsType[*source.PackedError](err); packed {
		return OtherFile, err
	} else if err != nil {
		return OtherFile, nil
	}
	defer r.Close()
	return kindOf(r, path)
}

// readable matches what fio prints for people to read, and terse what it prints for scripts.
var (
	readable = regexp.MustCompile(`(?m)^\S.*: \(g=\d+\): (rw=|err=)`)
	terse    = regexp.MustCompile(`(?m)^[2-5];fio-\d`)
)

// outputOf returns the name of the output of fio that a text is, but for JSON: normal, terse, or "".
func outputOf(text []byte) string {
	switch {
	case readable.Match(text):
		return "normal"
	case terse.Match(text):
		return "terse"
	}
	return ""
}
