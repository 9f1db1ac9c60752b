package ingest

import (
	"path/filepath"
	"slices"
	"strings"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
)

// facts are what is known of a log and a document of fio's JSON. A stronger fact is a larger number than all weaker
// ones together, so that a log is that of the document with the largest.
type facts uint

const (
	ofGroup    facts = 1 << iota // a group of the document has as many threads as there are logs
	namedAfter                   // the document's file is named after the log
	writesName                   // a job of the document writes logs of that name
	ofFolder                     // and the log's folder is named after a job, or after the document's file
	ofHost                       // the document has jobs of the log's host, or its file is named after it
	writesPath                   // write_hist_log names the log with its folder
)

// place is where documents are, as seen from the folder of a log.
type place int

const (
	within    place = iota // in a folder of the run, or named
	above                  // above it
	aboveLogs              // above it, beside logs of another run
	beside                 // in a folder beside it
	farther                // in a folder beside one above it, or given beside it
	beyond                 // above it, and above the path that was given
)

// rules say by which facts a log belongs to a document.
var rules = [...]struct {
	needs facts                 // at least one of these
	alone bool                  // but not to the only document
	host  bool                  // a log with a host belongs to a document of that host only
	sure  func(*candidate) bool // besides, of the only document that these leave
	// A document that may be of a log, but is not certain to be, is named with where it is in words, and not used.
	may   func(*Source, *fiojson.Document) bool
	where string
}{
	within:    {needs: writesName | namedAfter, alone: true},
	above:     {needs: writesName | ofGroup, may: writesLog, where: "above"},
	aboveLogs: {needs: writesPath},
	beside:    {needs: writesName, host: true, sure: (*candidate).isOnly, may: writesLog, where: "beside"},
	farther:   {needs: writesName, host: true, sure: (*candidate).isCounted, may: isWhole, where: "beside"},
	beyond:    {needs: writesName | ofGroup, host: true, sure: (*candidate).isAlone, may: writesLog, where: "above"},
}

// shelf holds the documents of a place by what they can be found by: no log is compared with all of them.
type shelf struct {
	place
	dir    string
	docs   []*fiojson.Document
	groups []*fiojson.Document         // those with the fact ofGroup
	free   []*fiojson.Document         // those that may be of the logs of any host
	hosted map[*fiojson.Document]bool  // the others
	by     map[key][]*fiojson.Document // by what makes a fact likely
	hosts  map[string][]hostOfDocument // by the first part of their names
}

type key struct {
	fact facts
	name string
}

type hostOfDocument struct {
	host string
	*fiojson.Document
}

// newShelf returns the documents of a place, which are distinct. Those of the run itself that are of hosts are not of
// the logs of others; elsewhere that holds for all that name any host.
func newShelf(at place, dir string, docs []*fiojson.Document, hosts ...string) *shelf {
	s := &shelf{place: at, dir: dir, docs: docs, hosted: map[*fiojson.Document]bool{},
		by: map[key][]*fiojson.Document{}, hosts: map[string][]hostOfDocument{}}
	for _, m := range docs {
		add := func(fact facts, name string) {
			k := key{fact, name}
			s.by[k] = appendNew(s.by[k], m)
		}
		for _, name := range suffixes(stem(m.Path)) {
			add(ofFolder, name)
			add(namedAfter, name)
		}
		s.hosted[m] = rules[at].host
		for i := range m.Entries {
			e := &m.Entries[i]
			add(ofFolder, e.JobName)
			for _, hist := range []bool{false, true} {
				path := m.LogPath(e, hist)
				add(writesName, filepath.Base(path))
				if dir := filepath.Dir(path); dir != "." {
					dir = filepath.Base(filepath.Join(filepath.Dir(m.Path), dir))
					add(writesPath, filepath.Join(dir, filepath.Base(path)))
				}
			}
			if e.Host != "" {
				s.hosted[m] = s.hosted[m] || at != within
				name := firstLabel(e.Host)
				s.hosts[name] = appendNew(s.hosts[name], hostOfDocument{e.Host, m})
			}
		}
	}
	for _, host := range hosts {
		for _, m := range s.ofHost(host) {
			s.hosted[m] = true
		}
	}
	s.free = filtered(docs, func(m *fiojson.Document) bool { return !s.hosted[m] })
	return s
}

// appendNew appends what is not the last element.
func appendNew[T comparable](to []T, v T) []T {
	if n := len(to); n > 0 && to[n-1] == v {
		return to
	}
	return append(to, v)
}

// suffixes returns a name, and what follows each separator in it.
func suffixes(name string) []string {
	out := []string{name}
	for i, r := range name {
		if strings.ContainsRune("-_.", r) && i+1 < len(name) {
			out = append(out, name[i+1:])
		}
	}
	return out
}

// firstLabel returns a host's name without its domain; an address stays as it is.
func firstLabel(host string) string {
	if numeric(host) {
		return host
	}
	name, _, _ := strings.Cut(host, ".")
	return name
}

// ofHost returns the documents with jobs of a host, or whose files are named after it.
func (s *shelf) ofHost(host string) (of []*fiojson.Document) {
	if host == "" {
		return nil
	}
	for _, m := range s.hosts[firstLabel(host)] {
		if sameHost(m.host, host) {
			of = appendNew(of, m.Document)
		}
	}
	for _, m := range s.by[key{namedAfter, host}] {
		if !slices.Contains(of, m) {
			of = append(of, m)
		}
	}
	return of
}

// query is a log for which a document is sought.
type query struct {
	*Source
	host, folder string
	of           []*fiojson.Document // of the host
}

// evidence says of each fact, strongest first, which documents are found that may have it with a log, and whether one
// has. All that have it are found.
var evidence = [...]struct {
	facts
	find func(*shelf, *query) []*fiojson.Document
	has  func(*shelf, *query, *fiojson.Document) bool
}{
	{writesPath, func(s *shelf, q *query) []*fiojson.Document {
		return s.by[key{writesPath, filepath.Join(q.folder, q.Name.Prefix)}]
	}, func(_ *shelf, q *query, m *fiojson.Document) bool { return namesPath(m, q.Source) }},
	{ofHost, func(_ *shelf, q *query) []*fiojson.Document { return q.of },
		func(_ *shelf, q *query, m *fiojson.Document) bool { return slices.Contains(q.of, m) }},
	{ofFolder, func(s *shelf, q *query) []*fiojson.Document { return s.by[key{ofFolder, q.folder}] },
		func(_ *shelf, q *query, m *fiojson.Document) bool { return isOfFolder(m, q.folder) }},
	{writesName, func(s *shelf, q *query) []*fiojson.Document { return s.by[key{writesName, q.Name.Prefix}] },
		func(_ *shelf, q *query, m *fiojson.Document) bool { return hasPrefix(m, q.Name) }},
	{namedAfter, func(s *shelf, q *query) []*fiojson.Document {
		return slices.Concat(s.by[key{namedAfter, q.Name.Prefix}], s.by[key{namedAfter, q.Name.Prefix + "." + q.host}])
	}, func(_ *shelf, q *query, m *fiojson.Document) bool { return isNamedAfter(m, q.Name.Prefix, q.host) }},
	{ofGroup, func(s *shelf, _ *query) []*fiojson.Document { return s.groups },
		func(s *shelf, _ *query, m *fiojson.Document) bool { return slices.Contains(s.groups, m) }},
}

// has reports whether a document has one of some facts with a log.
func (s *shelf) has(q *query, m *fiojson.Document, some facts) bool {
	for i := range evidence {
		if some&evidence[i].facts > 0 && evidence[i].has(s, q, m) {
			return true
		}
	}
	return false
}

// find returns the documents that a log may belong to, and the strongest fact that they have: those that have all facts
// that any of them has, from the strongest on, as long as there are several; then those that its counts fit. Counts
// that fit others beat the names of files and of folders.
func (s *shelf) find(l *Source, host string) (fit []*fiojson.Document, why facts) {
	q, rule := &query{l, host, filepath.Base(filepath.Dir(l.Path)), s.ofHost(host)}, rules[s.place]
	may := func(m *fiojson.Document, f facts) bool {
		return (host == "" || !s.hosted[m] || slices.Contains(q.of, m)) && s.has(q, m, f) &&
			(s.has(q, m, rule.needs) || rule.alone && f != ofFolder)
	}
	for i := range evidence {
		f, from := evidence[i].facts, fit
		if why == 0 {
			from = evidence[i].find(s, q)
		} else if len(fit) < 2 || f == ofGroup {
			break
		}
		with := filtered(from, func(m *fiojson.Document) bool { return may(m, f) })
		if len(with) == 0 {
			continue
		}
		if f == namedAfter || f == ofFolder {
			all := fit
			if why == 0 && !slices.ContainsFunc(with, func(m *fiojson.Document) bool { return countsFit(l, m) }) {
				all = filtered(s.by[key{writesName, l.Name.Prefix}],
					func(m *fiojson.Document) bool { return may(m, writesName) })
			}
			if later := overwriters(l, with, all); len(later) > 0 {
				with, f = later, writesName
			}
		}
		fit, why = with, max(why, f)
	}
	switch {
	case why == 0 && rule.alone && host == "":
		return s.docs, 0
	case why == 0 && rule.alone:
		return s.free, 0
	case len(fit) > 1 && s.place == farther && why == writesName:
		fit = filtered(fit, func(m *fiojson.Document) bool { return isWhole(l, m) })
	case len(fit) > 1 && s.has(q, fit[0], rule.needs):
		fit = byCounts(l, fit)
	}
	return fit, why
}

// overwriters returns those of all documents that a log's counts fit, if these fit none of some of them: a later run
// overwrote the log.
func overwriters(l *Source, some, all []*fiojson.Document) []*fiojson.Document {
	fits := func(m *fiojson.Document) bool { return countsFit(l, m) }
	if len(all) <= len(some) || slices.ContainsFunc(some, fits) {
		return nil
	}
	return filtered(all, fits)
}

// isOfFolder reports whether a folder is named after a document's file, or after one of its jobs.
func isOfFolder(m *fiojson.Document, folder string) bool {
	return isEndOf(stem(m.Path), folder, "-_.") ||
		slices.ContainsFunc(m.Entries, func(e fiojson.Entry) bool { return e.JobName == folder })
}

// isNamedAfter reports whether the document's file is named after the logs: CBT writes output.0_clat_hist.1.log.HOST
// and output.0.HOST or json_output.0.HOST.
func isNamedAfter(m *fiojson.Document, prefix, host string) bool {
	name := stem(m.Path)
	if host != "" {
		name = strings.TrimSuffix(name, "."+host)
	}
	return isEndOf(name, prefix, "_-")
}

// isEndOf reports whether a name ends in that, after one of the separators if something is before it.
func isEndOf(name, end, separators string) bool {
	rest, ok := strings.CutSuffix(name, end)
	return ok && end != "" && (rest == "" || strings.IndexByte(separators, rest[len(rest)-1]) >= 0)
}

// namesPath reports whether a job of the document writes the log by its path: relative to the document's folder or, as
// fio may have been started elsewhere, with the end of its path.
func namesPath(m *fiojson.Document, l *Source) bool {
	dir := filepath.Dir(l.Path)
	return slices.ContainsFunc(m.Writers(l.Name.Prefix, l.Name.Hist), func(e *fiojson.Entry) bool {
		at := filepath.Dir(filepath.Clean(m.LogPath(e, l.Name.Hist)))
		return at != "." && (at == dir || filepath.Join(filepath.Dir(m.Path), at) == dir ||
			strings.HasSuffix(dir, string(filepath.Separator)+at))
	})
}

// byCounts returns the documents that a log can belong to by its counts and its last stamp: of runs that were appended
// to one file, or ran one after the other, the last one, which overwrote the logs of the others. If none fits, it
// returns the last of one file, or all.
func byCounts(l *Source, metas []*fiojson.Document) []*fiojson.Document {
	fit := filtered(metas, func(m *fiojson.Document) bool { return countsFit(l, m) })
	some := len(fit) > 0
	if !some {
		fit = metas
	}
	if !slices.ContainsFunc(fit, func(m *fiojson.Document) bool { return m.Path != fit[0].Path }) {
		return fit[len(fit)-1:]
	}
	groups := atTheSameTime(fit)
	if last := groups[len(groups)-1]; some && len(last) == 1 && last[0].TimestampMS > 0 {
		return last
	}
	return fit
}

// countsFit reports whether a document has a job that may have written a log by its name, counts and last stamp, or all
// its jobs of that name one without a thread number.
func countsFit(l *Source, m *fiojson.Document) bool {
	sums, err := (&Log{Source: l, Meta: m}).sums()
	writers := m.Writers(l.Name.Prefix, l.Name.Hist)
	if err != nil || len(writers) == 0 {
		return false
	}
	if slices.ContainsFunc(writers, func(e *fiojson.Entry) bool {
		part, _ := sums.fits(l.Name.Kind, e)
		took := sums.last
		if hasOtherClock(m, e) {
			took -= sums.first
		}
		const late = 2 // times as long as any direction ran
		return part && (took >= absoluteMS || took <= late*e.LongestMS+lateMS)
	}) {
		return true
	}
	together, _ := sums.fits(l.Name.Kind, writers...)
	return together && l.Name.Job == 0 && len(writers) > 1
}

// hasOtherClock reports whether a job's stamps count neither from its start nor from 1970.
func hasOtherClock(m *fiojson.Document, e *fiojson.Entry) bool {
	epoch, _ := m.Option(e, "log_alternate_epoch")
	clock, _ := m.Option(e, "log_alternate_epoch_clock_id")
	return epoch != "" && epoch != "0" && clock != "" && clock != "0"
}

// isShort reports whether a log lacks more than its last windows of what the document's jobs of its name did, each by
// itself: they ran for longer, or did what it has none of.
func isShort(l *Source, m *fiojson.Document) bool {
	sums, err := (&Log{Source: l, Meta: m}).sums()
	return err == nil && !slices.ContainsFunc(m.Writers(l.Name.Prefix, l.Name.Hist), func(e *fiojson.Entry) bool {
		if 2*e.RuntimeMS > 3*e.LongestMS || e.LongestMS <= 2*m.Milliseconds(e, "log_hist_msec") {
			return true // a group, or nothing but last windows
		}
		_, verify := m.Option(e, "verify") // its reads are in no log
		sums, totals := sums.against(e)
		for d := range totals {
			n := float64(totals[d].Kind[l.Name.Kind].N)
			if 2*sums.logged[d].Sum() < n && !(verify && fio.Direction(d) == fio.Read) {
				return false
			}
		}
		return true
	})
}

func writesLog(l *Source, m *fiojson.Document) bool { return hasPrefix(m, l.Name) }

// isWhole reports whether one job counts all of a log by itself, but for what the last windows may hold, and ended with
// it. That is not known of a group, of a job on a host, of one that verified, without bins and without directions.
func isWhole(l *Source, m *fiojson.Document) bool {
	sums, err := (&Log{Source: l, Meta: m}).sums()
	return err == nil && slices.ContainsFunc(m.Writers(l.Name.Prefix, l.Name.Hist), func(e *fiojson.Entry) bool {
		_, verify := m.Option(e, "verify")
		if verify || e.Host != "" || e.Mixed.TotalIOs > 0 || 2*e.RuntimeMS > 3*e.LongestMS {
			return false
		}
		if l.Name.Hist && !sums.ends(m, e, l.Name.Kind) {
			return false
		}
		part, all := sums.fits(l.Name.Kind, e)
		return all || part && l.Name.Hist
	})
}

// ends reports whether a histogram log lacks no more than the last two windows of a job.
func (s *sums) ends(m *fiojson.Document, e *fiojson.Entry, kind fio.Kind) bool {
	h, began := m.Milliseconds(e, "log_hist_msec"), int64(0)
	if s.last >= absoluteMS || hasOtherClock(m, e) {
		began = s.first - h
	}
	open := max(h, e.LongestMS-(s.last-began))
	for d := range e.Dirs {
		t := &e.Dirs[d].Kind[kind]
		n, bursts := float64(t.N), 2.0
		lacks := n - s.logged[d].Sum()
		if t.N > 0 && t.Bins.Len() == 0 || 2*lacks > n || lacks > bursts*n*float64(open)/float64(max(1, e.LongestMS)) {
			return false
		}
	}
	return open <= 2*h
}
