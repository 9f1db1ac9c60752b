package ingest

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"fiolat/fio"
	"fiolat/ingest/jobfile"
)

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

// otherLog are logs of fio's that hold no latency.
var otherLog = regexp.MustCompile(`_(bw|iops)(\.\d+)?\.log`)

func ignored(path string) string {
	return fio.Printable(path) + ": a log without latencies"
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
