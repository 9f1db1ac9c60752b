package ingest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fiolat/ingest/fiojson"
	"fiolat/ingest/source"
	"fiolat/internal/errs"
	"fiolat/internal/lazyregexp"
)

// A log found twice is counted once: the same file by two names (links), or the same bytes with the same thread
// number or in another folder. Equal logs of several threads of one folder, or of several hosts, are all counted,
// with a warning if no fio JSON has their totals.

// copySuffix matches endings that people and logrotate give to copies.
var copySuffix = lazyregexp.New(`^(.*?)\.?(bak\d*|old\d*|orig|backup|copy|prev|save|saved|tmp|\d{1,3})$`)

// dropCopies recognizes the endings of copies, which are not hosts: x.log.bak is an older x.log, and left out, if that
// is there; else it is x.log. A host in fio's JSON stays one.
func (d *discovery) dropCopies(in *Input) {
	names := map[string]bool{}
	for _, l := range in.Logs {
		names[filepath.Join(filepath.Dir(l.Path), uncompressed(l.Base))] = true
	}
	var kept []*Source
	for _, l := range in.Logs {
		path := filepath.Join(filepath.Dir(l.Path), uncompressed(l.Base))
		host := l.Name.Host
		m := copySuffix().FindStringSubmatch(host)
		if m == nil || numeric(host) && strings.Count(host, ".") == 3 ||
			slices.ContainsFunc(in.Metas, func(m *fiojson.Document) bool {
				return slices.ContainsFunc(m.Entries, func(e fiojson.Entry) bool { return e.Host == host })
			}) {
			kept = append(kept, l)
			continue
		}
		original := strings.TrimSuffix(strings.TrimSuffix(path, m[2]), ".")
		switch {
		case names[original]:
			in.Warnings = append(in.Warnings, fmt.Sprintf("%s: by its name an older copy of %s; not used",
				errs.Printable(l.Path), errs.Printable(original)))
			in.Ignored = append(in.Ignored, errs.Printable(l.Path)+": by its name an older copy of "+
				""+errs.Printable(original))
		case m[1] == "":
			in.Warnings = append(in.Warnings, fmt.Sprintf("%s: %q looks like the suffix of a copy, not like a host "+
				"name", errs.Printable(l.Path), host))
			l.Host = strings.TrimPrefix(l.Host, host)
			l.Name.Host = ""
			kept = append(kept, l)
		default: // a host's name may end so
			kept = append(kept, l)
		}
	}
	in.Logs = kept
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
					drop = fmt.Sprintf("%s: the same file as %s; counted once", errs.Printable(l.Path),
						errs.Printable(o.l.Path))
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
					twins = append(twins, fmt.Sprintf("%s as %s", errs.Printable(l.Path), errs.Printable(o.l.Path)))
				default:
					drop = fmt.Sprintf("%s: the same content as %s; counted once", errs.Printable(l.Path),
						errs.Printable(o.l.Path))
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
			in.Warnings = append(in.Warnings, fmt.Sprintf("%d logs have the same content as another log, as far "+
				"as compared; all are counted: %s", len(twins), shortened(twins)))
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
	return filepath.Dir(a.Path) == filepath.Dir(b.Path) &&
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
