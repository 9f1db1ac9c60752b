package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/fiolog"
	"fiolat/ingest/jobfile"
)

// split makes a Log of each source, or of each thread's part of it if it has no thread number.
func (m *matcher) split() {
	for _, s := range m.in.Logs {
		parts := []*Source{s}
		if _, named := parseName(s.Base); named && s.Name.Job == 0 && s.Path != stdin {
			if info, err := os.Stat(s.Path); err == nil && info.Mode().IsRegular() {
				parts = m.parts(s)
			}
		}
		for _, part := range parts {
			m.logs = append(m.logs, &Log{Source: part, Host: part.Host, Members: 1, ends: m.ends, Meta: m.in.owner[s]})
		}
	}
}

func (m *matcher) parts(s *Source) (parts []*Source) {
	r, err := s.open()
	if err != nil {
		return []*Source{s}
	}
	defer r.Close()
	found := fiolog.Extents(r, s.Name.Hist, m.window(s), m.stageStarts(s.Host)...)
	if len(found) == 1 {
		return []*Source{s}
	}
	for i := range found {
		part := *s
		part.Extent, part.counts = &found[i], nil
		parts = append(parts, &part)
	}
	return parts
}

// window returns the length of the windows of a histogram log in ms, if its jobs have one; else 0. Over --client
// records can be missing, and with latency_target fio resets its windows.
func (m *matcher) window(s *Source) (h int64) {
	if !s.Name.Hist || s.Name.Host != "" {
		return 0
	}
	add := func(option func(string) (string, bool)) bool {
		_, target := option("latency_target")
		v, _ := option("log_hist_msec")
		n, err := strconv.ParseInt(v, 10, 64)
		ok := !target && err == nil && n > 0 && (h == 0 || h == n)
		h = n
		return ok
	}
	for meta, e := range entriesIn(m.in.Metas...) {
		if writes(meta, e, s.Name) && !add(func(name string) (string, bool) { return meta.Option(e, name) }) {
			return 0
		}
	}
	for _, j := range m.in.JobFiles {
		for _, section := range j.Sections {
			option := fiojson.Section{Options: section.Options}.Option
			if len(m.in.Metas) == 0 && appends(j, section, s.Name) && !add(option) {
				return 0
			}
		}
	}
	return h
}

// stageStarts returns when fio's stages on a host began, in ms since 1970, but for the first: an entry's job_start, if
// all that started before it had ended. Absolute stamps of their appended logs never run backwards.
func (m *matcher) stageStarts(host string) (begins []int64) {
	var of []*fiojson.Entry
	for _, e := range entriesIn(m.in.Metas...) {
		if e.StartMS >= absoluteMS && (e.Host == "" || host == "" || sameHost(e.Host, host)) {
			of = append(of, e)
		}
	}
	slices.SortStableFunc(of, func(a, b *fiojson.Entry) int { return cmp.Compare(a.StartMS, b.StartMS) })
	end := int64(0)
	for i, e := range of {
		if i > 0 && e.StartMS >= end {
			begins = append(begins, e.StartMS)
		}
		end = max(end, e.StartMS+e.LongestMS)
	}
	return begins
}

// sums are the I/Os of a log by direction and bucket: as logged, and with the damage of fio --client repaired. The
// true total of a damaged log is the sum of its last two records.
type sums struct {
	g                fiohist.Geometry
	logged, repaired [fio.Directions]fiohist.Sparse
	ns               [fio.Directions]float64 // sum of the latencies of single I/Os
	first, last      int64                   // stamps in ms
}

// counts keeps what was read of a log.
type counts struct {
	fio2 bool // the unit of single I/Os is fio 2's
	sums *sums
	err  error
}

// sums returns what the log holds. It must be a file, which is read once: standard input and pipes cannot be read
// again.
func (l *Log) sums() (*sums, error) {
	fio2 := !l.Source.Name.Hist && l.Meta != nil && fiojson.Major(l.Meta.Version) == 2
	if c := l.Source.counts; c == nil || c.fio2 != fio2 {
		sums, err := l.Source.sums(fio2)
		l.Source.counts = &counts{fio2, sums, err}
	}
	return l.Source.counts.sums, l.Source.counts.err
}

func (s *Source) sums(fio2 bool) (*sums, error) {
	if info, err := os.Stat(s.Path); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, errors.ErrUnsupported)
	}
	f, err := s.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var src io.Reader = f
	if s.Extent != nil {
		src = s.Extent.Read(f)
	}
	opt := fiolog.ReaderOptions{}
	out := &sums{g: fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}}
	if !s.Name.Hist {
		if fio2 {
			out.g = fiohist.Geometry{Groups: fiohist.GroupsV2, Unit: 1000}
		}
		opt.Single = &out.g
	}
	r := fiolog.NewReader(src, s.Path, opt)
	defer r.Stop()
	var all [fio.Directions][]float64
	var before [fio.Directions][2]fiolog.Record
	var records [fio.Directions]int
	end := func() { // of what one thread wrote
		for d := range all {
			logged := sparse(all[d])
			repaired := logged
			if records[d] > 2 && s.Name.Hist {
				clear(all[d])
				add(all[d], &before[d][0])
				add(all[d], &before[d][1])
				repaired = sparse(all[d])
			}
			out.logged[d], out.repaired[d] = out.logged[d].Plus(&logged, 1), out.repaired[d].Plus(&repaired, 1)
			clear(all[d])
			records[d] = 0
		}
	}
	began := false
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if !began {
			began, out.first = true, rec.Time
		} else if rec.Time < out.last && s.Name.Job == 0 {
			end()
		}
		out.last = rec.Time
		out.g, _ = r.Geometry()
		if all[rec.Dir] == nil {
			all[rec.Dir] = make([]float64, out.g.Columns())
		}
		add(all[rec.Dir], rec)
		out.ns[rec.Dir] += float64(rec.NS)
		last := &before[rec.Dir]
		last[0], last[1] = last[1], last[0]
		last[1].Index = append(last[1].Index[:0], rec.Index...)
		last[1].Count = append(last[1].Count[:0], rec.Count...)
		records[rec.Dir]++
	}
	end()
	return out, nil
}

func (s *sums) ios() (n float64) {
	for d := range s.logged {
		n += s.logged[d].Sum()
	}
	return n
}

// against returns the I/Os of a log and what an entry counted, by direction or, with unified_rw_reporting=mixed, all in
// the first.
func (s *sums) against(e *fiojson.Entry) (*sums, *[fio.Directions]fiojson.DirTotals) {
	if e.Mixed.TotalIOs == 0 {
		return s, &e.Dirs
	}
	all := &sums{g: s.g, first: s.first, last: s.last}
	for d := range s.logged {
		all.logged[0] = all.logged[0].Plus(&s.logged[d], 1)
		all.repaired[0] = all.repaired[0].Plus(&s.repaired[d], 1)
		all.ns[0] += s.ns[d]
	}
	return all, &[fio.Directions]fiojson.DirTotals{e.Mixed}
}

// foreign returns the part of the I/Os that an entry does not count in their buckets: 1 if it counts fewer in all, or
// has no bins.
func (s *sums) foreign(e *fiojson.Entry, kind fio.Kind) float64 {
	s, totals := s.against(e)
	share := func(of *[fio.Directions]fiohist.Sparse) float64 {
		beyond, all := 0.0, 0.0
		for d := range totals {
			t := &totals[d].Kind[kind]
			bins, err := t.Counts(s.g)
			sum := of[d].Sum()
			if sum > float64(t.N) || err != nil || sum > 0 && t.Bins.Len() == 0 {
				return 1
			}
			all += sum
			for k, b := range of[d].Index {
				beyond += max(0, of[d].Count[k]-float64(bins[b]))
			}
		}
		return beyond / max(all, 1)
	}
	return min(share(&s.logged), share(&s.repaired))
}

// add adds the I/Os of another log with the same buckets.
func (s *sums) add(o *sums) {
	s.g, s.first, s.last = o.g, o.first, max(s.last, o.last)
	for d := range o.logged {
		s.logged[d], s.repaired[d] = s.logged[d].Plus(&o.logged[d], 1), s.repaired[d].Plus(&o.repaired[d], 1)
		s.ns[d] += o.ns[d]
	}
}

// sparse returns the buckets that hold I/Os.
func sparse(counts []float64) fiohist.Sparse {
	var out fiohist.Sparse
	for b, n := range counts {
		if n != 0 {
			out.Add(uint16(b), n)
		}
	}
	return out.Clone()
}

func add(to []float64, rec *fiolog.Record) {
	for i, b := range rec.Index {
		to[b] += rec.Count[i]
	}
}

const lateMS = 1000 // that fio may take to end a job

// total is what entries counted together of a direction.
type total struct {
	n, ns float64
	bins  []uint64 // nil: not known
}

// fits reports whether these I/Os can be all, or part, of what fio counted in entries together. all means that the
// numbers are equal, and for single I/Os the means. Over --client a histogram log is damaged, and one to which several
// threads append may have I/Os twice.
func (s *sums) fits(kind fio.Kind, entries ...*fiojson.Entry) (part, all bool) {
	const rounding = 1e-6 // of fio's mean
	if s.first >= absoluteMS && !slices.ContainsFunc(entries, func(e *fiojson.Entry) bool {
		return e.StartMS < absoluteMS || e.StartMS <= s.first && s.first <= e.StartMS+e.LongestMS+lateMS
	}) {
		return false, false
	}
	remote, times := entries[0].Host != "", 1.0
	if remote && len(entries) > 1 {
		times = 2
	}
	s, _ = s.against(entries[0])
	all = true
	for d := range s.logged {
		t := s.total(d, kind, entries)
		of := &s.logged[d]
		if !t.holds(of, times) {
			of = &s.repaired[d]
			if !remote || !t.holds(of, 1) {
				return false, false
			}
		}
		all = all && of.Sum() == t.n && (s.ns[d] == 0 || t.ns == 0 || math.Abs(s.ns[d]-t.ns) <= rounding*(t.ns+t.n))
	}
	return true, all
}

// total returns what entries counted of a direction, on the grid of these I/Os.
func (s *sums) total(d int, kind fio.Kind, entries []*fiojson.Entry) (t total) {
	known := true
	for _, e := range entries {
		_, dirs := s.against(e)
		of := &dirs[d].Kind[kind]
		bins, err := of.Counts(s.g)
		known = known && err == nil && (of.N == 0 || of.Bins.Len() > 0)
		t.n, t.ns = t.n+float64(of.N), t.ns+float64(of.N)*of.Mean
		for b := range t.bins[:min(len(t.bins), len(bins))] {
			bins[b] += t.bins[b]
		}
		t.bins = bins
	}
	if !known {
		t.bins = nil
	}
	return t
}

// holds reports whether a log's I/Os are no more than those that were counted, so many times, in any bucket.
func (t *total) holds(logged *fiohist.Sparse, times float64) bool {
	for k, b := range logged.Index {
		if t.bins != nil && logged.Count[k] > times*float64(t.bins[b]) {
			return false
		}
	}
	return logged.Sum() <= times*t.n
}

// fitters gives each log the fits of its entry.
func (m *matcher) fitters() {
	of := map[*fiojson.Entry][]*Log{}
	for _, l := range m.logs {
		of[l.Entry] = append(of[l.Entry], l)
	}
	for e, logs := range of {
		if e == nil {
			continue
		}
		fits := sync.OnceValue(func() bool { return fitTogether(e, logs) })
		for _, l := range logs {
			l.fits = fits
		}
	}
}

// Fits reports whether the logs of the log's entry hold no more than fio counted. It reads them to their ends; what
// can be read only once does not fit.
func (l *Log) Fits() bool { return l.fits != nil && l.fits() }

func fitTogether(e *fiojson.Entry, logs []*Log) bool {
	all, kind := &sums{}, logs[0].Source.Name.Kind
	for _, l := range logs {
		s, err := l.sums()
		if err != nil {
			return false
		}
		if part, _ := s.fits(kind, e); !part {
			return false
		}
		all.add(s)
	}
	all.g = fiohist.Geometry{} // that of each log may be another
	part, _ := all.fits(kind, e)
	return part
}

// appended finds the entries of logs without a thread number, so that the counts of each fit its entry. It returns the
// logs, with empty ones for entries whose threads wrote nothing, and whether there is such a matching.
func (m *matcher) appended(s *set, logs []*Log) ([]*Log, bool) {
	threads := threadsOf(s.meta, s.entries, len(logs)) // the most that each entry has
	if threads == nil {
		most := math.MaxInt
		if len(logs) <= len(s.entries) {
			most = 1
		}
		threads = slices.Repeat([]int{most}, len(s.entries))
	}
	kind := logs[0].Source.Name.Kind
	by, all := map[string][]int{}, make([]int, len(s.entries)) // the entries, by the names of their logs
	for k, e := range s.entries {
		name := filepath.Base(s.meta.LogPath(e, logs[0].Source.Name.Hist))
		by[name], all[k] = append(by[name], k), k
	}
	fit, exact := make([][]int, len(logs)), make([][]int, len(logs))
	for i, l := range logs {
		sums, err := l.sums()
		if err != nil {
			return logs, false
		}
		writers := by[l.Source.Name.Prefix]
		if writers == nil {
			writers = all
		}
		for _, k := range writers {
			part, equal := sums.fits(kind, s.entries[k])
			if part {
				fit[i] = append(fit[i], k)
			}
			if equal {
				exact[i] = append(exact[i], k)
			}
		}
		if exact[i] == nil {
			exact[i] = fit[i]
		}
	}
	match := newMatching(exact, threads)
	if match == nil {
		match = newMatching(fit, threads)
	}
	if match == nil {
		return logs, false
	}
	if i, k := match.other(func(a, b int) bool { return interchangeable(s.meta, s.entries[a], s.entries[b]) }); i >= 0 {
		m.warn("%s: which job wrote which part is not certain: by its counts, part %d may be of job %q or of job %q",
			fio.Printable(logs[i].Source.Path), i+1, s.entries[match.of[i]].JobName, s.entries[k].JobName)
	}
	for i, l := range logs {
		k := match.of[i]
		l.Entry, s.index[l] = s.entries[k], k
		l.Members = threads[k]
		if l.Members == math.MaxInt {
			l.Members = match.used(k)
		}
	}
	return m.unwritten(s, logs, match), true
}

// unwritten adds an empty log for each entry whose job was too short for a record: fio appended nothing.
func (m *matcher) unwritten(s *set, logs []*Log, match *matching) []*Log {
	first := logs[0]
	end := fiolog.Extent{}
	if e := logs[len(logs)-1].Source.Extent; e != nil {
		end = fiolog.Extent{N: e.N, Offset: e.Offset + e.Size}
	} else if sums, err := first.sums(); err != nil || sums.ios() > 0 {
		return logs // one thread's, or no file that threads appended to
	}
	for k, e := range s.entries {
		totals, longest := uint64(0), int64(0)
		for d := range e.Dirs {
			t := &e.Dirs[d].Kind[first.Source.Name.Kind]
			totals, longest = totals+t.N, max(longest, t.Max)
		}
		if match.used(k) > 0 && end.N == 0 {
			end.N = 1
			extent := end
			first.Source.Extent = &extent
			continue
		}
		// Its first I/O, which opened the only window, came after a pause and took a while.
		const slack = 20 // ms
		h, pause := s.meta.Milliseconds(e, "log_hist_msec"), int64(0)
		for d := range fio.Direction(fio.Directions) {
			pause = max(pause, s.meta.Workload(e).Pause(d))
		}
		if match.used(k) > 0 || totals == 0 || h == 0 || e.LongestMS > h+(longest+pause)/1e6+slack {
			continue
		}
		end.N++
		extent, source := end, *first.Source
		source.Extent, source.counts = &extent, nil
		l := &Log{Source: &source, Host: first.Host, Members: 1, Meta: first.Meta, Entry: e, ends: m.ends}
		s.index[l] = k
		s.logs, m.logs, logs = append(s.logs, l), append(m.logs, l), append(logs, l)
	}
	return logs
}

// matching assigns logs to entries, each of which has room for some.
type matching struct {
	fit  [][]int // the entries that each log may be of
	room []int
	of   []int   // log -> entry
	logs [][]int // entry -> logs
}

// pairs returns of which of some entries each log may be.
func pairs[L, E any](logs []L, entries []E, may func(L, E) bool) [][]int {
	out := make([][]int, len(logs))
	for i, l := range logs {
		for k, e := range entries {
			if may(l, e) {
				out[i] = append(out[i], k)
			}
		}
	}
	return out
}

// newMatching gives each log the first entry that fits it and has room, beginning with the logs that fit fewest. It
// returns nil if one log gets none.
func newMatching(fit [][]int, room []int) *matching {
	m := &matching{fit, slices.Clone(room), make([]int, len(fit)), make([][]int, len(room))}
	order := make([]int, len(fit))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(fit[a]) - len(fit[b]) })
	for _, i := range order {
		at := slices.IndexFunc(fit[i], func(k int) bool { return m.room[k] > 0 })
		if at < 0 {
			return nil
		}
		k := fit[i][at]
		m.room[k]--
		m.of[i], m.logs[k] = k, append(m.logs[k], i)
	}
	return m
}

// other returns a log, and an entry unlike its own that it fits, too: one with room, or one whose log can take its
// place. It returns -1 if there is none.
func (m *matching) other(alike func(a, b int) bool) (log, entry int) {
	for i := range m.of {
		if k := m.otherOf(i, alike); k >= 0 {
			return i, k
		}
	}
	return -1, -1
}

// otherOf returns the other entry of log i.
func (m *matching) otherOf(i int, alike func(a, b int) bool) (entry int) {
	own := m.of[i]
	for _, k := range m.fit[i] {
		if !alike(own, k) && (m.room[k] > 0 ||
			slices.ContainsFunc(m.logs[k], func(j int) bool { return slices.Contains(m.fit[j], own) })) {
			return k
		}
	}
	return -1
}

func (m *matching) used(k int) int { return len(m.logs[k]) }

// interchangeable reports whether it makes no difference to which of two entries a log belongs: they are threads of one
// job, which started together.
func interchangeable(m *fiojson.Document, a, b *fiojson.Entry) bool {
	n, _ := m.Option(a, "numjobs")
	return a == b || a.JobName == b.JobName && a.GroupID == b.GroupID && a.Port == b.Port && n != "" && n != "1"
}

// appendedBy finds the sections of a job file for the logs of a file without a thread number. Threads append their logs
// when they end, and so stage by stage.
func (m *matcher) appendedBy(s *set, logs []*Log) {
	var threads []*jobfile.Section
	for _, t := range s.job.Threads() {
		if appends(s.job, t, logs[0].Source.Name) {
			threads = append(threads, t)
		}
	}
	slices.SortStableFunc(threads, func(a, b *jobfile.Section) int { return cmp.Compare(a.Stage, b.Stage) })
	sections := m.sectionsOf(s, logs)
	for i, l := range logs {
		var mine []*jobfile.Section // those that it can belong to
		if section := sections[l]; section != nil {
			mine = append(mine, section)
		} else if k, ok := s.index[l]; ok {
			for n, t := range s.job.Threads() {
				if s.entryOf[n] == k {
					mine = append(mine, t)
				}
			}
		} else if len(threads) == len(logs) {
			mine = filtered(threads, func(t *jobfile.Section) bool { return t.Stage == threads[i].Stage })
		}
		if len(mine) == 0 {
			continue
		}
		if !slices.ContainsFunc(mine, func(t *jobfile.Section) bool { return t != mine[0] }) {
			l.Section = mine[0]
		}
		if !slices.ContainsFunc(mine, func(t *jobfile.Section) bool {
			return slices.ContainsFunc([]string{"startdelay", "ramp_time", "wait_for"}, func(name string) bool {
				return t.Options[name] != mine[0].Options[name]
			})
		}) {
			l.startsLike = mine[0]
		}
	}
}

// sectionsOf finds the sections of the parts of a file whose entry has several, by the directions and block sizes of
// each part and, where these leave it open, by its rate. Parts that it cannot tell apart it leaves out.
func (m *matcher) sectionsOf(s *set, logs []*Log) map[*Log]*jobfile.Section {
	out := map[*Log]*jobfile.Section{}
	for k := range s.entries {
		parts := filtered(logs, func(l *Log) bool {
			of, ok := s.index[l]
			return ok && of == k && l.Source.Extent != nil
		})
		var sections []*jobfile.Section
		var room []int
		for n, t := range s.job.Threads() {
			if s.entryOf[n] != k || !appends(s.job, t, logs[0].Source.Name) {
				continue
			}
			if len(sections) == 0 || sections[len(sections)-1] != t {
				sections, room = append(sections, t), append(room, 0)
			}
			room[len(room)-1]++
		}
		if len(parts) == 0 || len(sections) < 2 {
			continue
		}
		match := newMatching(pairs(parts, sections, mayBePart), room)
		if match == nil {
			continue
		}
		same := func(a, b int) bool { return a == b }
		if i, _ := match.other(same); i >= 0 {
			match = newMatching(pairs(parts, sections, func(l *Log, section *jobfile.Section) bool {
				return mayBePart(l, section) && hasRate(l, section)
			}), room)
		}
		for i, l := range parts {
			if match != nil && match.otherOf(i, same) < 0 {
				out[l] = sections[match.of[i]]
			}
		}
	}
	return out
}

// mayBePart reports whether threads of a section can have written a part of a log, by its directions and block sizes.
func mayBePart(l *Log, section *jobfile.Section) bool {
	w := workloadOf(section)
	for d, blocks := range l.Source.Extent.Blocks {
		size, fixed := w.BlockSize(fio.Direction(d))
		if len(blocks) > 0 && !w.Does(fio.Direction(d)) ||
			fixed && slices.ContainsFunc(blocks, func(b uint64) bool { return float64(b) != size }) {
			return false
		}
	}
	return true
}

// hasRate reports whether a part of a log is as fast as its section's rate_iops allows.
func hasRate(l *Log, section *jobfile.Section) bool {
	want := 0.0
	for d, blocks := range l.Source.Extent.Blocks {
		if len(blocks) > 0 {
			want += workloadOf(section).RateIOPS(fio.Direction(d))
		}
	}
	return want == 0 || math.Abs(l.rate()-want) <= want/10
}

func workloadOf(section *jobfile.Section) fiojson.Workload {
	return fiojson.Workload{Sure: true, Option: fiojson.Section{Options: section.Options}.Option}
}

// rate returns the I/Os of a log per second, until its last stamp; 0 if that is not known.
func (l *Log) rate() float64 {
	s, err := l.sums()
	if err != nil || s.last <= 0 || s.first >= absoluteMS {
		return 0
	}
	return s.ios() / float64(s.last) * 1000
}

// appends reports whether the section's threads append their logs to one file of that name.
func appends(j *jobfile.File, s *jobfile.Section, n Name) bool {
	v, ok := s.Options["per_job_logs"]
	return ok && v == "0" && mayWrite(j, s, n)
}

// refuseAppended refuses a log to which several threads appended theirs, if nothing says which part is whose.
func (m *matcher) refuseAppended(s *set, logs []*Log) {
	logs[0].Bad = &fio.ParseError{File: logs[0].Source.Path,
		Msg: fmt.Sprintf("%d threads appended their logs to this file (per_job_logs=0; time runs backwards at "+
			"line %d), and their counts do not show which jobs of %s they belong to",
			len(logs), logs[1].Source.Extent.After+1, fio.Printable(s.meta.Path)),
		Hint: "give the JSON of this very run with --fio-json, " +
			"run fio again without per_job_logs=0, or pass --skip-bad"}
	m.drop(s, logs[1:]) // one error is enough
}

// byFile groups logs, of which those of a file follow each other, by their files.
func byFile(logs []*Log) (files [][]*Log) {
	for i, l := range logs {
		if i == 0 || l.Source.Path != logs[i-1].Source.Path {
			files = append(files, nil)
		}
		files[len(files)-1] = append(files[len(files)-1], l)
	}
	return files
}

// tellAppended warns of a log to which several threads appended theirs, if nothing says which part is whose.
func (m *matcher) tellAppended(s *set, logs []*Log) {
	if len(logs) < 2 || !slices.ContainsFunc(logs, func(l *Log) bool {
		return l.Entry == nil && l.Section == nil && l.startsLike == nil
	}) {
		return
	}
	m.warn("%s: %d threads appended their logs to this file (per_job_logs=0), and which job wrote which part is "+
		"unknown: assuming they started together; pass fio's JSON, or run without per_job_logs=0",
		fio.Printable(logs[0].Source.Path), len(logs))
}
