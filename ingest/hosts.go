package ingest

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
)

// People run the same job on several hosts and collect what each left in a folder of its own: h1/, h2/, or Crucible's
// client/1/, client/2/.

// Values of DiscoverOptions.HostsBy: when folders with logs of the same names are the hosts of one run.
const (
	HostsAuto     = "auto"   // if their jobs ran at the same time by fio's JSON
	HostsByFolder = "folder" // if they are beside each other
	HostsByName   = "name"   // never: hosts are in the names of logs, or in clients/HOST
)

// hostFolders makes one run, with a host for each folder, of those whose folders hold logs of the same names, none of
// which has a host.
func (d *discovery) hostFolders(runs []*Input) []*Input {
	byFolder := d.opt.HostsBy == HostsByFolder
	if d.opt.HostsBy == HostsByName || !byFolder && len(d.opt.FioJSON) > 0 {
		return runs
	}
	alike := map[string][]*Input{}
	for _, in := range runs {
		if names := hostlessNames(in, byFolder); names != "" {
			if byFolder {
				names += filepath.Dir(in.Root)
			}
			alike[names] = append(alike[names], in)
		}
	}
	for _, names := range slices.Sorted(maps.Keys(alike)) {
		groups := [][]*Input{alike[names]}
		if !byFolder {
			groups = d.overlapping(alike[names])
		}
		for _, hosts := range groups {
			if merged := d.merged(hosts); merged != nil {
				runs[slices.IndexFunc(runs, func(in *Input) bool { return slices.Contains(hosts, in) })] = merged
				runs = slices.DeleteFunc(runs, func(in *Input) bool { return slices.Contains(hosts, in) })
			}
		}
	}
	return runs
}

// MayBeHosts reports whether runs may be the hosts of one: with HostsByFolder they would be one.
func MayBeHosts(runs []*Input) bool {
	names := map[string][]string{} // of logs, by folder
	for _, in := range runs {
		for _, l := range in.Logs {
			if l.Name.Host != "" || l.JSON != nil {
				return false
			}
			dir := filepath.Dir(l.Path)
			names[dir] = append(names[dir], nameIn(l))
		}
	}
	first := ""
	for _, dir := range slices.Sorted(maps.Keys(names)) {
		slices.Sort(names[dir])
		first = cmp.Or(first, dir)
		if filepath.Dir(dir) != filepath.Dir(first) || !slices.Equal(names[dir], names[first]) {
			return false
		}
	}
	return len(runs) > 1 && len(names) > 1
}

// nameIn returns the name of a log without the suffix of compression and the name of its folder in front.
func nameIn(l *Source) string {
	name := uncompressed(l.Base)
	rest, ok := strings.CutPrefix(name, filepath.Base(filepath.Dir(l.Path)))
	if ok && strings.ContainsAny(rest[:min(1, len(rest))], "_-.") {
		return rest
	}
	return name
}

// hostlessNames returns the names of a run's logs, without the suffix of compression, and if wanted without the name of
// their folder in front; "" if one has a host, or they are not in one folder.
func hostlessNames(in *Input, withoutFolder bool) string {
	var names []string
	for _, l := range in.Logs {
		if l.Host != "" || filepath.Dir(l.Path) != in.Root {
			return ""
		}
		name := uncompressed(l.Base)
		if withoutFolder {
			name = nameIn(l)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), "\x00") + "\x00"
}

// overlapping divides runs into those that ran at the same time, as atTheSameTime has it. A run without JSON belongs
// to the only hosts beside it; others are left out, and so are copies.
func (d *discovery) overlapping(runs []*Input) (groups [][]*Input) {
	if len(runs) < 2 {
		return nil
	}
	var with, without []*Input
	var periods []period
	var all []*fiojson.Document
	for _, in := range runs {
		metas := in.Metas
		if len(metas) == 0 {
			metas = d.metasIn(in.Root)
		}
		all = append(all, metas...)
		switch together := atTheSameTime(metas); len(together) { // two processes, each with a volume of its own
		case 0:
			without = append(without, in)
		case 1:
			p := period{known: true}
			for i, m := range metas {
				from, to, known := span(m)
				if i == 0 || from < p.from {
					p.from = from
				}
				p.to, p.known = max(p.to, to), p.known && known
			}
			with, periods = append(with, in), append(periods, p)
		}
	}
	if len(distinct(all)) < len(all) {
		return nil
	}
	groups = groupsOf(with, periods)
	for _, in := range without {
		var its []int
		for i, group := range groups {
			if len(group) > 1 && filepath.Dir(in.Root) == filepath.Dir(group[0].Root) &&
				lowest(group) == filepath.Dir(in.Root) {
				its = append(its, i)
			}
		}
		if len(its) == 1 {
			groups[its[0]] = append(groups[its[0]], in)
			in.Warnings = append(in.Warnings, fmt.Sprintf("%s: fio's JSON of this host is missing: taken for a host of the "+
				"run of the folders beside it; its last window is missing", fio.Printable(in.Root)))
		}
	}
	return groups
}

// merged returns one run of hosts: each is named after its folder in the lowest one that holds all of them. It returns
// nil for a single host, and if that folder was not searched.
func (d *discovery) merged(hosts []*Input) *Input {
	if len(hosts) < 2 {
		return nil
	}
	root := lowest(hosts)
	if !slices.ContainsFunc(d.searched, func(path string) bool { return under(root, path) }) {
		return nil
	}
	out := &Input{Root: root}
	if base := filepath.Base(root); base == "client" || base == "clients" {
		out.Root = cmp.Or(filepath.Dir(root), root)
	}
	slices.SortFunc(hosts, func(a, b *Input) int { return cmp.Compare(a.Root, b.Root) })
	elsewhere := slices.ContainsFunc(hosts, func(in *Input) bool { return len(in.Metas) > 0 })
	for _, in := range hosts {
		if elsewhere && len(in.Metas) == 0 {
			in.Metas = d.metasIn(in.Root)
		}
		host := firstElement(root, in.Root)
		for _, l := range in.Logs {
			l.Host = validUTF8(host)
		}
		out.add(in)
	}
	d.missing(out, root, hosts)
	return out
}

// lowest returns the lowest folder that holds all the runs, by a relative name if that of the first is.
func lowest(runs []*Input) string {
	root := filepath.Dir(absolute(runs[0].Root))
	for _, in := range runs {
		path := absolute(in.Root)
		for root != filepath.Dir(root) && (path == root || !under(path, root)) {
			root = filepath.Dir(root)
		}
	}
	if rel, err := filepath.Rel(absolute("."), root); err == nil && !filepath.IsAbs(runs[0].Root) {
		return rel
	}
	return root
}

// absolute returns the absolute name of a path, or where that is not known the path.
func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return abs
}

// relative returns the way from a folder to a path. Where one of them is absolute or above the current folder, their
// absolute names tell.
func relative(root, path string) (string, error) {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return filepath.Rel(absolute(root), absolute(path))
	}
	return rel, nil
}

// nameHosts gives the entries of fio's JSON that name no host that of the logs beside it, if their folder names it.
func (in *Input) nameHosts() {
	of := map[string]string{} // by folder
	for _, l := range in.Logs {
		if l.Name.Host == "" && l.Host != "" {
			of[filepath.Dir(l.Path)] = l.Host
		}
	}
	for m, e := range entriesIn(in.Metas...) {
		e.Host = cmp.Or(e.Host, of[filepath.Dir(m.Path)])
	}
}
