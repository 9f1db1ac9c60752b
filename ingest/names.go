package ingest

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
)

// Title names the run in messages: it is the folder, unless other runs have that, too.
func (in *Input) Title() string { return cmp.Or(in.title, in.Root) }

// Name names the run where it is kept: it is the name of its folder, with as many of those above it as runs that were
// found together need to differ. It is "" for standard input and what a shell opens.
func (in *Input) Name() string {
	path := filepath.Clean(absolute(in.Root))
	if in.Logs[0].Path == stdin || path == "/" || path == "/dev" || path == "/dev/fd" ||
		strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/") {
		return ""
	}
	return validUTF8(cmp.Or(in.name, filepath.Base(path)))
}

// nameRuns gives runs that were found together names and titles that differ.
func nameRuns(runs []*Input) {
	of := map[string][]*Input{} // by root
	var roots []string
	for _, in := range runs {
		root := filepath.Clean(absolute(in.Root))
		if len(of[root]) == 0 {
			roots = append(roots, root)
		}
		of[root] = append(of[root], in)
	}
	names := differing(roots)
	for i, root := range roots {
		for k, what := range apart(of[root]) {
			in := of[root][k]
			in.name = names[i]
			if what != "" {
				in.name += "/" + what
				in.title = strings.TrimSuffix(in.Root, "/") + "/" + what
			}
		}
	}
}

// differing returns the shortest names that tell paths apart, all different: as many as it takes of the last elements
// that are not those of all paths.
func differing(paths []string) []string {
	split := make([][]string, len(paths))
	longest := 0
	for i, path := range paths {
		split[i] = strings.Split(path, string(filepath.Separator))
		longest = max(longest, len(split[i]))
	}
	at := func(i, level int) string {
		if level < len(split[i]) {
			return split[i][level]
		}
		return ""
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = filepath.Base(path)
	}
	distinct := func() bool {
		sorted := slices.Sorted(slices.Values(names))
		return sorted[0] != "" && len(slices.Compact(sorted)) == len(names)
	}
	if distinct() {
		return names
	}
	clear(names)
	common := longest // number of first elements that all have
	for level := longest - 1; level >= 0 && !distinct(); level-- {
		same := true
		for i := range paths {
			same = same && at(i, level) == at(0, level)
		}
		if !same {
			common = level
		}
		for i := range paths {
			if element := at(i, level); !same && element != "" {
				names[i] = strings.TrimSuffix(element+"/"+names[i], "/")
			}
		}
	}
	if !distinct() { // one path is another's beginning
		for i := range paths {
			names[i] = strings.Join(split[i][max(common-1, 0):], "/")
		}
	}
	return names
}

// apart returns what tells the runs of one folder apart, "" for a single one: the first folder of each, as of batches
// of hosts, else what their jobs do, with options that differ, else their numbers.
func apart(runs []*Input) []string {
	names := make([]string, len(runs))
	if len(runs) == 1 {
		return names
	}
	alike := map[string][]int{} // by what their jobs do
	for i, in := range runs {
		folders := foldersOf(in.Logs)
		slices.SortFunc(folders, fio.Natural)
		first, err := relative(in.Root, folders[0])
		switch {
		case len(folders) > 1 && err == nil:
			names[i] = fmt.Sprintf("%s and %d more", first, len(folders)-1)
		case first != "." && err == nil:
			names[i] = first
		default:
			if what := does(in.Metas); what != "" {
				names[i], alike[what] = "("+what+")", append(alike[what], i)
			}
		}
	}
	for what, of := range alike {
		var loads []fiojson.Sameness
		for _, i := range of {
			loads = append(loads, fiojson.SamenessOf(runs[i].Metas))
		}
		for k, differs := range fiojson.Distinct(loads) {
			if differs != "" {
				names[of[k]] = "(" + what + ", " + differs + ")"
			}
		}
	}
	seen := map[string]int{}
	for _, name := range names {
		seen[name]++
	}
	for i := range names {
		if names[i] == "" || seen[names[i]] > 1 {
			names[i] = strings.TrimSpace(fmt.Sprintf("%s #%d", names[i], i+1))
		}
	}
	return names
}

// does is what the jobs of documents do, such as "randread 4k 16": rw, bs and iodepth, with the values of all jobs.
func does(metas []*fiojson.Document) string {
	var parts []string
	for _, option := range []string{"rw", "bs", "iodepth"} {
		var values []string
		for _, m := range metas {
			for i := range m.Entries {
				if v, ok := m.Option(&m.Entries[i], option); ok && !slices.Contains(values, v) {
					values = append(values, v)
				}
			}
		}
		if len(values) > 0 {
			parts = append(parts, strings.Join(values, "+"))
		}
	}
	return strings.Join(parts, " ")
}
