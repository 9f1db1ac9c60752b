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
	names, hosts := map[string]bool{}, map[string]bool{}
	for _, l := range in.Logs {
		names[filepath.Join(filepath.Dir(l.Path), uncompressed(l.Base))] = true
	}
	for _, m := range in.Metas {
		for i := range m.Entries {
			hosts[m.Entries[i].Host] = true
		}
	}
	in.Logs = slices.DeleteFunc(in.Logs, func(l *Source) bool {
		base := uncompressed(l.Base)
		original := downloaded(base)
		if m := copySuffix.FindStringSubmatch(base); m != nil && !hosts[l.Name.Host] {
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

// dropEqual drops repeated logs from all runs.
func (d *discovery) dropEqual(runs []*Input) {
	e := &equals{first: map[int64]*seen{}, alike: map[likeness][]*seen{}, names: map[*Input]map[Name]bool{}}
	for _, in := range runs {
		var kept []*Source
		var twins []string
		for _, l := range byLink(in.Logs) {
			info, err := l.stat()
			if err != nil || l.Path == stdin || !info.Mode().IsRegular() || info.Size() == 0 {
				kept = append(kept, l)
				continue
			}
			drop, twin := e.add(&seen{l, in, info})
			if drop != "" {
				in.Warnings, in.Ignored = append(in.Warnings, drop), append(in.Ignored, drop)
				continue
			}
			kept = append(kept, l)
			if twin != "" {
				twins = append(twins, twin)
			}
		}
		if len(twins) > 0 {
			in.Warnings = append(in.Warnings, fmt.Sprintf("%s with the same content as another log, as far "+
				"as compared; all are counted: %s", fio.Several(len(twins), "log"), shortened(twins)))
		}
		slices.SortStableFunc(kept, bySource)
		in.Logs = kept
	}
}

// seen is a log of a run.
type seen struct {
	l    *Source
	in   *Input
	info fs.FileInfo
}

// equals finds logs of the same content among those seen, by their sizes and then their digests.
type equals struct {
	first map[int64]*seen // of its size; nil: it is in alike
	alike map[likeness][]*seen
	names map[*Input]map[Name]bool // see accounts
}

type likeness struct {
	size int64
	digest
}

// add sees a log, and returns why it is dropped or, if it is counted beside one with the same content, both in words.
func (e *equals) add(n *seen) (drop, twin string) {
	size := n.info.Size()
	first, known := e.first[size]
	if !known {
		e.first[size] = n
		return "", ""
	}
	if first != nil {
		key := likeness{size, first.l.digest(size)}
		e.alike[key] = append(e.alike[key], first)
		e.first[size] = nil
	}
	key := likeness{size, n.l.digest(size)}
	same, how, counted := e.sameAs(n, e.alike[key], key.whole)
	switch {
	case same != nil && !counted:
		return fmt.Sprintf("%s: the same %s as %s; counted once", fio.Printable(n.l.Path), how,
			fio.Printable(same.l.Path)), ""
	case same != nil && (same.in != n.in || !e.accounts(n)): // else fio's totals of the thread would not fit a copy
		twin = fmt.Sprintf("%s as %s", fio.Printable(n.l.Path), fio.Printable(same.l.Path))
	}
	e.alike[key] = append(e.alike[key], n)
	return "", twin
}

// sameAs returns the first log of the same content, or the same file; whole: those of one digest have the same content.
// counted means that both are logs, equal by chance.
func (e *equals) sameAs(n *seen, alike []*seen, whole bool) (same *seen, how string, counted bool) {
	for compared, o := range alike {
		if os.SameFile(n.info, o.info) {
			return o, "file", false
		}
		counted = o.in == n.in && e.byChance(n, o) || o.in != n.in && e.accounts(o) && e.accounts(n)
		if whole || compared < maxCompared && source.SameBytes(n.l.Path, o.l.Path, counted) {
			return o, "content", counted
		}
	}
	return nil, "", false
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
func (e *equals) byChance(n, o *seen) bool {
	a, b := n.l, o.l
	if a.Host != b.Host && a.Host != "" && b.Host != "" {
		return true
	}
	return filepath.Dir(a.Path) == filepath.Dir(b.Path) && downloaded(a.Base) == a.Base &&
		downloaded(b.Base) == b.Base &&
		(a.Name.Job != b.Name.Job || a.Name.Prefix != b.Name.Prefix && e.accounts(n) && e.accounts(o))
}

// accounts reports whether a job in fio's JSON writes logs of that name.
func (e *equals) accounts(n *seen) bool {
	names := e.names[n.in]
	if names == nil {
		names = map[Name]bool{}
		for _, m := range n.in.Metas {
			for i := range m.Entries {
				for _, hist := range []bool{false, true} {
					names[Name{Prefix: filepath.Base(m.LogPath(&m.Entries[i], hist)), Hist: hist}] = true
				}
			}
		}
		e.names[n.in] = names
	}
	return names[Name{Prefix: n.l.Name.Prefix, Hist: n.l.Name.Hist}]
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
