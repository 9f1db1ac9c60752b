package ingest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/source"
)

// A log found twice is counted once: the same file by two names (links), or the same bytes with the same thread
// number or in another folder. Equal logs of several threads of one folder, or of several hosts, are all counted,
// with a warning if no fio JSON has their totals.

// copySuffix matches endings that people, logrotate and programs that copy files give to copies.
var copySuffix = regexp.MustCompile(`^(.*?)\.?(bak\d*|old\d*|orig|backup|copy|prev|save|saved|tmp|part|partial|` +
	`filepart|crdownload|txt|\d{1,3})$`)

// rsyncSuffix is what rsync appends to the name of a file, after a dot before it, until the copy is complete.
var rsyncSuffix = regexp.MustCompile(`^(?:.*\.)?([A-Za-z0-9]{6})$`)

// copyOf returns the ending of a log's name that makes it a copy, which is then part of its Host, and the name of the
// log that it is a copy of.
func copyOf(l *Source) (original, suffix string) {
	base, hidden := strings.CutPrefix(uncompressed(l.Base), ".")
	form := copySuffix
	if hidden {
		form = rsyncSuffix
	}
	if m := form.FindStringSubmatch(l.Name.Host); m != nil {
		suffix = m[len(m)-1]
	}
	if suffix == "" && !hidden {
		return "", ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(base, suffix), "."), suffix
}

// dropCopies recognizes the names of copies, whose endings are not hosts: x.log.bak or .x.log.AbC123 is a copy of
// x.log, and left out, if that is there; else it is x.log. A host in fio's JSON stays one.
func (d *discovery) dropCopies(in *Input) {
	names := map[string]bool{}
	for _, l := range in.Logs {
		names[filepath.Join(filepath.Dir(l.Path), uncompressed(l.Base))] = true
	}
	in.Logs = slices.DeleteFunc(in.Logs, func(l *Source) bool {
		if name := downloaded(l.Base); name != l.Base {
			return in.download(l, filepath.Join(filepath.Dir(l.Path), name))
		}
		host := l.Name.Host
		original, suffix := copyOf(l)
		if original == "" || numeric(host) && strings.Count(host, ".") == 3 || in.knowsHost(host) {
			return false
		}
		path := filepath.Join(filepath.Dir(l.Path), original)
		switch {
		case names[path]:
			why := fmt.Sprintf("%s: by its name an older or incomplete copy of %s; not used", fio.Printable(l.Path),
				fio.Printable(path))
			in.Warnings, in.Ignored = append(in.Warnings, why), append(in.Ignored, why)
			return true
		case suffix != "" && host == suffix:
			in.Warnings = append(in.Warnings, fmt.Sprintf("%s: %q looks like the suffix of a copy, not like a host "+
				"name", fio.Printable(l.Path), host))
			l.Host = strings.TrimPrefix(l.Host, host)
			l.Name.Host = ""
			if strings.HasPrefix(l.Base, ".") {
				l.Name.Prefix = strings.TrimPrefix(l.Name.Prefix, ".")
			}
		}
		return false // a host's name may end so
	})
}

// download recognizes the second download of a log, and reports whether it is to be dropped.
func (in *Input) download(l *Source, first string) (drop bool) {
	there := slices.ContainsFunc(in.Logs, func(o *Source) bool { return o.Path == first })
	why := fmt.Sprintf("%s: by its name a second download of %s", fio.Printable(l.Path), fio.Printable(first))
	switch {
	case !there:
		why = fmt.Sprintf("%s: read as %s: its name looks changed by a browser", fio.Printable(l.Path),
			fio.Printable(filepath.Base(first)))
	case source.SameBytes(l.Path, first, false):
		why += "; counted once"
	default:
		why += ", but the contents differ; not used: if it is of another run, give it a folder of its own"
	}
	if in.Warnings = append(in.Warnings, why); there {
		in.Ignored = append(in.Ignored, why)
	}
	return there
}

// knowsHost reports whether fio's JSON has a host of that very name.
func (in *Input) knowsHost(host string) bool {
	return slices.ContainsFunc(in.Metas, func(m *fiojson.Document) bool {
		return slices.ContainsFunc(m.Entries, func(e fiojson.Entry) bool { return e.Host == host })
	})
}

// dropBeginnings drops logs that are the beginning of another log of that thread: copies that are not complete. The
// logs of two hosts may begin alike where devices are simulated, but not end within a line.
func (in *Input) dropBeginnings() {
	thread := func(l *Source) Name { return Name{Kind: l.Name.Kind, Hist: l.Name.Hist, Job: l.Name.Job} }
	threads := map[Name][]*Source{}
	for _, l := range in.Logs {
		if l.Size > 0 && l.Path != stdin {
			threads[thread(l)] = append(threads[thread(l)], l)
		}
	}
	in.Logs = slices.DeleteFunc(in.Logs, func(l *Source) bool {
		others := threads[thread(l)]
		if l.Size == 0 || len(others) < 2 || l.Host != "" && in.knowsHost(l.Host) {
			return false
		}
		whole := l.Host != "" && source.EndsInNewline(l.Path)
		compared := 0
		for _, o := range others {
			if o.Size <= l.Size || whole && o.Host != "" && o.Host != l.Host {
				continue
			}
			if compared++; compared > maxCompared {
				break
			}
			if source.IsBeginning(l.Path, o.Path) {
				why := fmt.Sprintf("%s: the beginning of %s, an incomplete copy; counted once", fio.Printable(l.Path),
					fio.Printable(o.Path))
				in.Warnings, in.Ignored = append(in.Warnings, why), append(in.Ignored, why)
				return true
			}
		}
		return false
	})
}

// dropEqual drops repeated logs from all runs.
func (d *discovery) dropEqual(runs []*Input) {
	type seen struct {
		l    *Source
		in   *Input
		info fs.FileInfo
	}
	bySize := map[int64][]seen{}
	for _, in := range runs {
		in.dropBeginnings()
		var kept []*Source
		var twins []string
		for _, l := range byLink(in.Logs) {
			info, err := os.Stat(l.Path)
			if err != nil || l.Path == stdin || !info.Mode().IsRegular() || info.Size() == 0 {
				kept = append(kept, l)
				continue
			}
			drop := ""
			for i, o := range bySize[info.Size()] {
				if os.SameFile(info, o.info) {
					drop = fmt.Sprintf("%s: the same file as %s; counted once", fio.Printable(l.Path),
						fio.Printable(o.l.Path))
					break
				}
				apart := o.in == in && byChance(in, l, o.l) || o.in != in && o.in.accounts(o.l.Name) &&
					in.accounts(l.Name)
				if i >= maxCompared || !source.SameBytes(l.Path, o.l.Path, apart) {
					continue
				}
				switch {
				case apart && o.in == in && in.accounts(l.Name): // fio's totals of the thread would not fit a copy
				case apart:
					twins = append(twins, fmt.Sprintf("%s as %s", fio.Printable(l.Path), fio.Printable(o.l.Path)))
				default:
					drop = fmt.Sprintf("%s: the same content as %s; counted once", fio.Printable(l.Path),
						fio.Printable(o.l.Path))
				}
				break
			}
			if drop != "" {
				in.Warnings = append(in.Warnings, drop)
				in.Ignored = append(in.Ignored, drop)
				continue
			}
			bySize[info.Size()] = append(bySize[info.Size()], seen{l, in, info})
			kept = append(kept, l)
		}
		if len(twins) > 0 {
			in.Warnings = append(in.Warnings, fmt.Sprintf("%s with the same content as another log, as far "+
				"as compared; all are counted: %s", fio.Several(len(twins), "log"), shortened(twins)))
		}
		slices.SortStableFunc(kept, bySource)
		in.Logs = kept
	}
}

// byChance reports whether two logs of one run may be equal by chance: those of two hosts, of two threads of a
// folder, or of two jobs in fio's JSON.
func byChance(in *Input, a, b *Source) bool {
	if a.Host != b.Host && a.Host != "" && b.Host != "" {
		return true
	}
	return filepath.Dir(a.Path) == filepath.Dir(b.Path) && !browserSuffix.MatchString(a.Base) &&
		!browserSuffix.MatchString(b.Base) &&
		(a.Name.Job != b.Name.Job || a.Name.Prefix != b.Name.Prefix && in.accounts(a.Name) && in.accounts(b.Name))
}

// accounts reports whether a job in fio's JSON writes logs of that name.
func (in *Input) accounts(n Name) bool {
	return slices.ContainsFunc(in.Metas, func(m *fiojson.Document) bool { return hasPrefix(m, n) })
}

// byLink reorders logs: symbolic links last, so that a log keeps its real name, and before them the logs without a
// host, so that a log of fio --client keeps its host.
func byLink(logs []*Source) []*Source {
	rank := map[*Source]int{}
	for _, l := range logs {
		if info, err := os.Lstat(l.Path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			rank[l] = 2
		} else if l.Host == "" {
			rank[l] = 1
		}
	}
	out := slices.Clone(logs)
	slices.SortStableFunc(out, func(a, b *Source) int { return rank[a] - rank[b] })
	return out
}

// maxCompared is the number of logs of its size that a log is compared with.
const maxCompared = 16
