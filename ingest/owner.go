package ingest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
)

// fio's JSON is often in another folder than its logs: above them, or beside them in a folder of its own. Which log is
// whose is decided at once for all logs of the input whose own folders have no JSON, by what is known of each log and
// document. A stronger fact beats all weaker ones; what facts of equal strength leave open stays without JSON.

// claim is a log that may have a slot, and why.
type claim struct {
	log *Source
	why facts
	place
}

// slot is what a document has room for: one log of each name and host.
type slot struct {
	doc        *fiojson.Document
	name, host string
}

// ownership finds the documents of logs in other folders.
type ownership struct {
	d       *discovery
	shelves map[*Input]*shelf
	claims  map[slot][]claim
	beside  map[slot]bool // wroteBeside, by document and folder
	of      map[*Source]*fiojson.Document
}

// elsewhere finds the documents of logs that have none in their folders; nil if there are none.
type elsewhere func(d *discovery, in *Input, known map[string]*shelf) *shelf

// own finds the documents of runs without JSON in the folders of their logs, elsewhere, and returns the runs with those
// joined that share a document.
func (d *discovery) own(runs []*Input, find elsewhere) []*Input {
	o := &ownership{d: d, shelves: map[*Input]*shelf{},
		claims: map[slot][]claim{}, beside: map[slot]bool{}, of: map[*Source]*fiojson.Document{}}
	known := map[string]*shelf{}
	var open []*Input
	for _, in := range runs {
		if len(in.Metas) > 0 || slices.ContainsFunc(append(foldersOf(in.Logs), in.Root),
			func(dir string) bool { return len(d.metasIn(dir)) > 0 }) {
			continue
		}
		if s := find(d, in, known); s != nil {
			o.shelves[in], open = s, append(open, in)
		}
	}
	o.groups(open)
	for _, in := range open {
		o.claim(in)
	}
	o.settle()
	without := filtered(open, func(in *Input) bool { return !o.give(in) })
	owned := map[*fiojson.Document]bool{}
	for _, in := range runs {
		for _, m := range in.Metas {
			owned[m] = true
		}
	}
	for _, in := range without {
		in.notUsed(o.shelves[in], owned)
	}
	o.keepEarlier(open, owned)
	return o.join(runs)
}

// jsonAbove returns the documents of the lowest folder above a run that has any, as far as it was searched.
func jsonAbove(d *discovery, in *Input, known map[string]*shelf) *shelf {
	for dir := in.Root; d.isBelow(dir); { //nolint:endless // it ends where the search began
		dir = filepath.Dir(dir)
		s := known[dir]
		if s == nil {
			at := above
			if d.withLogs()[dir] {
				at = aboveLogs
			}
			s = newShelf(at, dir, distinct(d.metasIn(dir)))
			known[dir] = s
		}
		if len(s.docs) > 0 {
			return s
		}
	}
	return nil
}

// jsonAround returns the documents of folders beside that of a run's logs (logs/ and json/), if these have no logs. Of
// a folder that was given it returns those of the folder above.
func jsonAround(d *discovery, in *Input, known map[string]*shelf) *shelf {
	folders := foldersOf(in.Logs)
	if len(folders) != 1 {
		return nil
	}
	up := filepath.Join(folders[0], "..")
	s := known[up]
	switch given := !d.isBelow(folders[0]) || slices.Contains(d.searched, folders[0]); {
	case s != nil:
	case given:
		var docs []*fiojson.Document
		d.files.Beyond = maxAbove + 1
		if len(d.list(up)) <= maxAbove {
			docs = d.metasIn(up)
		}
		d.files.Beyond = 0
		s = newShelf(beyond, up, distinct(docs))
	default:
		var docs []*fiojson.Document
		for _, f := range d.list(up) {
			if f.mode.IsDir() && !d.hasLogs(f.path) {
				docs = append(docs, d.metasIn(f.path)...)
			}
		}
		s = newShelf(beside, up, distinct(docs))
	}
	known[up] = s
	if len(s.docs) == 0 {
		return nil
	}
	return s
}

// jsonApart returns the documents in folders without logs below the lowest folder above a run's logs that has any, as
// far as it was searched: results/NAME.json of logs/NAME/, or json/HOST.json of clients/HOST/. Those right beside the
// logs' folder are jsonAround's. If there are none it returns those of the folders without logs that were given.
func jsonApart(d *discovery, in *Input, known map[string]*shelf) *shelf {
	folders := foldersOf(in.Logs)
	shelfOf := func(dir string, find func() []*fiojson.Document) *shelf {
		if known[dir] == nil {
			known[dir] = newShelf(farther, dir, distinct(find()))
		}
		return known[dir]
	}
	dir := in.Root
	below := len(folders) > 1 || d.isBelow(folders[0])
	if len(folders) == 1 {
		dir = filepath.Dir(folders[0])
	}
	for ; below; dir = filepath.Dir(dir) { //nolint:endless // it ends where the search began
		below = d.isBelow(dir)
		s := shelfOf(dir, func() []*fiojson.Document { return d.metasBeside(dir) })
		if len(s.docs) == 0 {
			continue
		}
		if len(folders) == 1 && dir == filepath.Dir(folders[0]) {
			return nil
		}
		return s
	}
	s := shelfOf("", func() (docs []*fiojson.Document) {
		for _, root := range d.searched {
			if !d.hasLogs(root) {
				docs = append(append(docs, d.metasIn(root)...), d.metasBeside(root)...)
			}
		}
		return docs
	})
	if len(s.docs) == 0 {
		return nil
	}
	return s
}

// Together returns those of some folders that are to be searched at once: one has fio's JSON of another's logs.
func Together(folders []string, opt DiscoverOptions) []string {
	d := newDiscovery(opt)
	with := len(filtered(folders, d.holdsLog))
	if with == 0 || with == len(folders) || d.paths(folders) != nil {
		return nil
	}
	of := map[string]bool{}
	for _, in := range d.own(d.own(d.runs(), jsonAbove), jsonApart) {
		for _, m := range slices.Concat(in.Metas, in.unused) {
			for _, root := range folders {
				of[root] = of[root] || under(m.Path, root) != under(in.Root, root)
			}
		}
	}
	return filtered(folders, func(root string) bool { return of[root] })
}

// holdsLog reports whether there is a log in or below a folder, by its name. The search says what cannot be listed.
func (d *discovery) holdsLog(dir string) bool {
	return slices.ContainsFunc(d.folder(dir, 0).files, func(f *file) bool {
		return f.logFile != nil || f.mode.IsDir() && d.holdsLog(f.path)
	})
}

// metasBeside returns the documents of the folders below dir that have no logs.
func (d *discovery) metasBeside(dir string) (out []*fiojson.Document) {
	for _, f := range d.list(dir) {
		if f.mode.IsDir() && !d.hasLogs(f.path) {
			out = append(append(out, d.metasIn(f.path)...), d.metasBeside(f.path)...)
		}
	}
	return out
}

// maxAbove is the largest number of entries of a folder above the path given that are read.
const maxAbove = 256

// wanted returns the logs of a run of the kind that is asked for.
func (d *discovery) wanted(in *Input) []*Source {
	of := filtered(in.Logs, func(l *Source) bool { return l.Name.Kind == d.opt.Kind })
	if hist := filtered(of, func(l *Source) bool { return l.Name.Hist }); d.opt.Kind == fio.Clat && len(hist) > 0 {
		return hist
	}
	return of
}

// groups finds the documents of groups whose threads are the logs that may be theirs.
func (o *ownership) groups(open []*Input) {
	logs := map[*shelf][]*Source{}
	for _, in := range open {
		s := o.shelves[in]
		logs[s] = append(logs[s], slices.Concat(o.d.wanted(in), in.likeFirst())...)
	}
	for s, of := range logs {
		if rules[s.place].needs&ofGroup > 0 {
			s.groups = filtered(s.docs, func(m *fiojson.Document) bool { return hasGroups(m) && threadsAre(m, of) })
		}
	}
}

// likeFirst returns the siblings of a run that are of the kind of its logs.
func (in *Input) likeFirst() []*Source {
	return filtered(in.siblings, func(l *Source) bool { return l.Name.like(in.Logs[0].Name) })
}

func hasGroups(m *fiojson.Document) bool {
	return slices.ContainsFunc(m.Entries, func(e fiojson.Entry) bool { return 2*e.RuntimeMS > 3*e.LongestMS })
}

// claim finds the document of each log of a run, if facts leave only one.
func (o *ownership) claim(in *Input) {
	s := o.shelves[in]
	sure := rules[s.place].sure
	for _, l := range o.d.wanted(in) {
		docs, why := s.find(l, l.Host)
		if len(docs) != 1 || sure != nil && !sure(&candidate{o, in, l, docs[0], why}) {
			continue
		}
		o.of[l] = docs[0]
		key := slot{docs[0], uncompressed(l.Base), l.Host}
		o.claims[key] = append(o.claims[key], claim{l, why, s.place})
	}
}

// candidate is the only document that facts leave for a log.
type candidate struct {
	*ownership
	in  *Input
	log *Source
	doc *fiojson.Document
	why facts
}

// isOnly reports whether the document is of the log by more than the name of its jobs' logs, or no other folder has
// logs of that name.
func (c *candidate) isOnly() bool {
	return c.why >= ofFolder || !c.wroteBeside(c.doc, c.shelves[c.in].dir, filepath.Dir(c.log.Path))
}

// isCounted reports whether the document counts what the log holds, but for its last windows. If nothing but the name
// of its jobs' logs says that it is of the log, that must not be by chance.
func (c *candidate) isCounted() bool {
	if c.why < ofFolder {
		return c.isDistinct()
	}
	return countsFit(c.log, c.doc) && !isShort(c.log, c.doc)
}

// isDistinct reports whether the document counts all of a log, which has so many I/Os of so many latencies that this is
// not by chance.
func (c *candidate) isDistinct() bool {
	const ios, latencies = 16, 2
	sums, err := (&Log{Source: c.log, Meta: c.doc}).sums()
	return err == nil && slices.ContainsFunc(sums.logged[:], func(of fiohist.Sparse) bool {
		return len(of.Index) >= latencies && of.Sum() >= ios
	}) && isWhole(c.log, c.doc)
}

// isAlone reports whether a document above the path given is of a run's logs, with those beside them that were not
// asked for: they are no fewer and no more than its threads and, unless a strong fact says that they are its own, there
// are no other logs that its jobs may have written.
func (c *candidate) isAlone() bool {
	threads := map[[2]string]bool{}
	for _, l := range slices.Concat(c.d.wanted(c.in), c.in.likeFirst()) {
		threads[[2]string{l.Host, fmt.Sprint(l.Name.Job)}] = true
	}
	first, n := c.in.Logs[0], len(c.doc.Entries)
	if first.Name.Job > 0 && len(threads) != n && !(hasGroups(c.doc) && len(threads) > n) {
		return false
	}
	return c.why >= ofFolder || !c.d.wroteElsewhere(c.doc, c.shelves[c.in].dir, filepath.Dir(first.Path))
}

// wroteElsewhere reports whether a folder in up, other than dir, or up itself has logs that the document's jobs may
// have written.
func (d *discovery) wroteElsewhere(m *fiojson.Document, up, dir string) bool {
	wrote := func(f *file) bool { return f.logFile != nil && hasPrefix(m, f.name) }
	d.files.Beyond = maxAbove + 1
	defer func() { d.files.Beyond = 0 }()
	for _, f := range d.list(up) {
		if wrote(f) {
			return true
		}
		if f.mode.IsDir() && d.realPath(f.path) != d.realPath(dir) {
			if below := d.folder(f.path, 0); below.err != nil || slices.ContainsFunc(below.files, wrote) {
				return true
			}
		}
	}
	return false
}

// wroteBeside reports whether a folder below up, other than dir, has logs that the document's jobs may have written.
func (o *ownership) wroteBeside(m *fiojson.Document, up, dir string) bool {
	key := slot{m, dir, ""}
	wrote, known := o.beside[key]
	if !known {
		wrote = slices.ContainsFunc(o.d.logs, func(l found) bool {
			return l.dir != dir && under(l.dir, up) && hasPrefix(m, l.Name)
		})
		o.beside[key] = wrote
	}
	return wrote
}

// settle takes a document away from all logs that claim the same place in it but the one with the strongest fact or, if
// several have that, the only one whose counts fit; and from those farther away that claim it by their name alone where
// logs of another folder claim it.
func (o *ownership) settle() {
	folders := map[slot][]string{} // by document and host
	for key, claims := range o.claims {
		key.name = ""
		for _, c := range claims {
			folders[key] = append(folders[key], filepath.Dir(c.log.Path))
		}
	}
	for key, claims := range o.claims {
		of := folders[slot{key.doc, "", key.host}]
		several := slices.ContainsFunc(of, func(dir string) bool { return dir != of[0] })
		for _, c := range claims {
			if several && c.place == farther && c.why == writesName {
				delete(o.of, c.log)
			}
		}
		if len(claims) < 2 {
			continue
		}
		best := slices.MaxFunc(claims, func(a, b claim) int { return cmp.Compare(a.why, b.why) }).why
		strongest := filtered(claims, func(c claim) bool { return c.why == best })
		if len(strongest) > 1 {
			strongest = filtered(strongest, func(c claim) bool { return countsFit(c.log, key.doc) })
		}
		for _, c := range claims {
			if len(strongest) != 1 || c.log != strongest[0].log {
				delete(o.of, c.log)
			}
		}
	}
}

// give sets the documents of a run, and reports whether each of its logs has one.
func (o *ownership) give(in *Input) bool {
	s := o.shelves[in]
	owner, owns := map[*Source]*fiojson.Document{}, map[*fiojson.Document]bool{}
	for _, l := range o.d.wanted(in) {
		if m := o.of[l]; m != nil {
			owner[l], owns[m] = m, true
		}
	}
	if len(owner) < len(o.d.wanted(in)) || len(owner) == 0 {
		return false
	}
	in.owner, in.doubt, in.unused = owner, "", nil
	for _, m := range s.docs {
		if owns[m] {
			in.Metas = append(in.Metas, m)
			if s.place == beyond {
				in.Warnings = append(in.Warnings,
					fio.Printable(m.Path)+": used, although it is above the path given: its jobs wrote these logs")
			}
		}
	}
	return true
}

// keepEarlier keeps the documents of earlier runs that are in one file with those of logs.
func (o *ownership) keepEarlier(open []*Input, owned map[*fiojson.Document]bool) {
	first := map[string]*Input{} // the run that uses a file
	for _, in := range open {
		for _, m := range in.Metas {
			first[m.Path] = cmp.Or(first[m.Path], in)
		}
	}
	seen := map[*shelf]bool{}
	for _, in := range open {
		s := o.shelves[in]
		if seen[s] {
			continue
		}
		seen[s] = true
		for _, m := range s.docs {
			if of := first[m.Path]; of != nil && !owned[m] {
				of.overwritten = append(of.overwritten, m)
			}
		}
	}
}

// join makes one run of those that share a document, or whose document is in the folder of another one's logs. It is
// named after the document's folder if all runs below that are parts of it.
func (o *ownership) join(runs []*Input) []*Input {
	into := map[*Input]*Input{}
	root := func(in *Input) *Input {
		for into[in] != nil {
			in = into[in]
		}
		return in
	}
	of := map[string]*Input{} // by the path of the document
	home := map[string]*Input{}
	for _, in := range runs {
		home[in.Root] = in
	}
	for _, in := range runs {
		for _, m := range in.Metas {
			first := cmp.Or(of[m.Path], home[filepath.Dir(m.Path)])
			of[m.Path] = cmp.Or(of[m.Path], root(in))
			if first != nil && o.shelves[in] != nil && root(first) != root(in) {
				into[root(in)] = root(first)
			}
		}
	}
	parts := map[*Input][]*Input{}
	for _, in := range runs {
		parts[root(in)] = append(parts[root(in)], in)
	}
	for whole, of := range parts {
		o.merge(whole, of, runs)
	}
	return slices.DeleteFunc(runs, func(in *Input) bool { return into[in] != nil })
}

// markUsed notes the documents that runs of logs use, or may: they are no runs without logs.
func (d *discovery) markUsed(runs []*Input) {
	for _, in := range runs {
		for _, m := range slices.Concat(in.Metas, in.unused) {
			d.seen[d.realPath(m.Path)] = true
			d.used = append(d.used, m.Path)
		}
	}
}

// merge adds the parts of a run to the first of them.
func (o *ownership) merge(whole *Input, parts, runs []*Input) {
	above := ""
	for _, in := range parts {
		for _, m := range in.Metas {
			if dir := filepath.Dir(m.Path); o.shelves[in] != nil && o.d.isBelow(in.Root) && under(in.Root, dir) {
				above = cmp.Or(above, dir)
			}
		}
	}
	if above != "" && !slices.ContainsFunc(runs, func(in *Input) bool {
		return under(in.Root, above) && !slices.Contains(parts, in)
	}) {
		whole.Root = above
	} else if len(parts) > 1 {
		whole.Root = lowest(parts)
	}
	own := false // the JSON in the folder of a part's logs is found with them
	for _, in := range parts {
		own = own || len(in.Metas) == 0
	}
	for _, in := range parts {
		if in != whole {
			whole.add(in)
		}
	}
	whole.Metas = distinct(whole.Metas)
	if own {
		whole.Metas = nil
	}
}

// add makes what was found of another run part of this one.
func (in *Input) add(o *Input) {
	in.Logs, in.Warnings = append(in.Logs, o.Logs...), append(in.Warnings, o.Warnings...)
	in.Metas, in.overwritten = append(in.Metas, o.Metas...), append(in.overwritten, o.overwritten...)
	if in.owner == nil {
		in.owner = map[*Source]*fiojson.Document{}
	}
	maps.Copy(in.owner, o.owner)
	in.doubt, in.unused = cmp.Or(in.doubt, o.doubt), append(in.unused, o.unused...)
}

// notUsed notes fio's JSON above a run's logs, or beside them, that no run owns, if its jobs may have written some of
// them. No other run uses it then.
func (in *Input) notUsed(s *shelf, owned map[*fiojson.Document]bool) {
	rule := rules[s.place]
	var names []string
	for _, m := range s.docs {
		if rule.may != nil && !owned[m] &&
			slices.ContainsFunc(in.Logs, func(l *Source) bool { return rule.may(l, m) }) {
			names, in.unused = append(names, fio.Printable(m.Path)), append(in.unused, m)
		}
	}
	names = slices.Compact(names)
	if len(names) > 0 {
		in.doubt = fio.Some(names) + ": not used: it is in a folder " + rule.where + " logs that its " +
			"jobs may have written, but it may not cover all of them, or may cover others too; each log's last window is " +
			"missing; if it is theirs, pass it with --fio-json"
	}
}

// sayDoubt warns of JSON that is not used, once no other document was found.
func (in *Input) sayDoubt() {
	if in.doubt != "" {
		in.Warnings = append(in.Warnings, in.doubt)
	}
}

// threadsAre reports whether logs of several names are those of a document's groups, one for each thread: fio's JSON
// of a group has the options of its last job only, but job_runtime, the sum over its threads, shows how many threads
// there are.
func threadsAre(m *fiojson.Document, logs []*Source) bool {
	threads := map[string][]int{}
	named := false
	for _, l := range logs {
		named = named || hasPrefix(m, l.Name)
		threads[l.Host] = append(threads[l.Host], l.Name.Job)
	}
	for host, numbers := range threads {
		n := 0
		for _, e := range m.Entries {
			if e.LongestMS > 0 && (host == "" || e.Host == "" || sameHost(e.Host, host)) {
				n += int(math.Round(float64(e.RuntimeMS) / float64(e.LongestMS)))
			}
		}
		slices.Sort(numbers)
		named = named && len(numbers) == n && numbers[0] == 1 && numbers[n-1] == n && len(slices.Compact(numbers)) == n
	}
	return named
}
