package ingest

import (
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/source"
)

// A log found twice is counted once: the same file by two names (links), or the same bytes with the same thread
// number or in another folder. Equal logs of several threads of one folder, or of several hosts, are all counted,
// with a warning if no fio JSON has their totals.

// copySuffix matches endings that logrotate, editors and programs that copy files give to a file of the name before.
var copySuffix = regexp.MustCompile(`^(.+)\.(bak|old|orig|save|tmp|part|filepart|txt|\d{1,3})$`)

// dropCopies leaves out the older and incomplete copies of logs that are there, by their names: x.log.bak beside x.log,
// or "x (1).log" of a browser. A host in fio's JSON is one, whatever its name.
func (d *discovery) dropCopies(in *Input) {
	names := map[string]bool{}
	for _, l := range in.Logs {
		names[filepath.Join(filepath.Dir(l.Path), uncompressed(l.Base))] = true
	}
	in.Logs = slices.DeleteFunc(in.Logs, func(l *Source) bool {
		base := uncompressed(l.Base)
		original := downloaded(base)
		if m := copySuffix.FindStringSubmatch(base); m != nil && !in.knowsHost(l.Name.Host) {
			original = m[1]
		}
		path := filepath.Join(filepath.Dir(l.Path), original)
		if original == base || !names[path] {
			return false
		}
		why := fmt.Sprintf("%s: by its name an older or incomplete copy of %s; not used: if it is another log, rename it",
			fio.Printable(l.Path), fio.Printable(path))
		in.Warnings, in.Ignored = append(in.Warnings, why), append(in.Ignored, why)
		return true
	})
}

// knowsHost reports whether fio's JSON has a host of that very name.
func (in *Input) knowsHost(host string) bool {
	return slices.ContainsFunc(in.Metas, func(m *fiojson.Document) bool {
		return slices.ContainsFunc(m.Entries, func(e fiojson.Entry) bool { return e.Host == host })
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
		var kept []*Source
		var twins []string
		for _, l := range byLink(in.Logs) {
			info, err := l.stat()
			if err != nil || l.Path == stdin || !info.Mode().IsRegular() || info.Size() == 0 {
				kept = append(kept, l)
				continue
			}
			drop, compared := "", 0
			for _, o := range bySize[info.Size()] {
				if os.SameFile(info, o.info) {
					drop = fmt.Sprintf("%s: the same file as %s; counted once", fio.Printable(l.Path),
						fio.Printable(o.l.Path))
					break
				}
				of := l.digest(info.Size())
				if o.l.digest(info.Size()) != of {
					continue
				}
				compared++
				apart := o.in == in && byChance(in, l, o.l) || o.in != in && o.in.accounts(o.l.Name) &&
					in.accounts(l.Name)
				if !of.whole && (compared > maxCompared || !source.SameBytes(l.Path, o.l.Path, apart)) {
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

// digest is a hash of a file of up to 64 KiB, or of the first and last 2 KiB of a longer one: two logs of one job may
// begin with the same record.
type digest struct {
	a, b  uint64
	whole bool // nothing else than the same bytes has the same hashes
}

// digestOf returns the digest of a small file.
func digestOf(all []byte) digest {
	return digest{maphash.Bytes(seeds[0], all), maphash.Bytes(seeds[1], all), true}
}

// digest returns the digest of the log, which has that size. Those of logs that cannot be read are equal, but not
// whole.
func (s *Source) digest(size int64) digest {
	if s.of != (digest{}) && s.Size == size {
		return s.of
	}
	s.of = digest{a: 1}
	f, err := source.OpenRegular(s.Path)
	if err != nil {
		return s.of
	}
	defer f.Close()
	block := source.NewBlock()
	defer block.Free()
	b := block[:]
	if size <= source.SmallSize {
		if n, err := f.ReadAt(b[:size], 0); err == nil {
			s.of = digestOf(b[:n])
		}
		return s.of
	}
	const end = 2 << 10
	n, _ := f.ReadAt(b[:end], 0)
	m, _ := f.ReadAt(b[n:n+end], max(int64(n), size-end))
	s.of = digest{a: maphash.Bytes(seeds[0], b[:n+m]), b: 1}
	return s.of
}

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

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
		if l.isLink() {
			rank[l] = 2
		} else if l.Host == "" {
			rank[l] = 1
		}
	}
	out := slices.Clone(logs)
	slices.SortStableFunc(out, func(a, b *Source) int { return rank[a] - rank[b] })
	return out
}

// maxCompared is the number of logs of its size and ends that a log is compared with.
const maxCompared = 16
