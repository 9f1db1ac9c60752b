package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"fiolat/fio"
	"fiolat/ingest/source"
)

// minimal is a document of fio's with one job.
const minimal = "{\n\"fio version\" : \"fio-3.36\",\n\"timestamp_ms\" : 1700000000123,\n" +
	"\"global options\" : {\"bs\" : \"4k\"},\n" +
	"\"jobs\" : [{\"jobname\": \"a\", \"groupid\": 0, \"job options\": {\"rw\": \"read\"}, " +
	"\"read\": {\"runtime\": 2000, \"total_ios\": 4, \"clat_ns\": {\"min\": 100, \"max\": 900, " +
	"\"mean\": 377.7, \"stddev\": 1, \"N\": 3, \"bins\": {\"129\": 1, \"502\": 2}}}, " +
	"\"job_runtime\": 6000}]\n}\n"

// Hosts whose names are not UTF-8 stay apart.
func TestHostsNotUTF8(t *testing.T) {
	for base, want := range map[string]string{
		"a_clat_hist.1.log.h\xff":        `h\xff`,
		"a_clat_hist.1.log.h\xfe":        `h\xfe`,
		"a_clat_hist.1.log.h\xff\xfe.gz": `h\xff\xfe`,
		"a_clat_hist.1.log.hé":           "hé",
		"a_clat_hist.1.log.h\uFFFD":      "h\uFFFD",
	} {
		if n, ok := parseName(base); !ok || n.Host != want {
			t.Errorf("%q is of host %q, want %q", base, n.Host, want)
		}
	}
}

func TestParseName(t *testing.T) {
	for base, want := range map[string]Name{
		"a_clat_hist.1.log":                   {Prefix: "a", Hist: true, Job: 1},
		"a_clat_hist.12.log.gz":               {Prefix: "a", Hist: true, Job: 12},
		"a_clat_hist.1.log.host":              {Prefix: "a", Hist: true, Job: 1, Host: "host"},
		"a_clat_hist.1.log.127.0.0.1":         {Prefix: "a", Hist: true, Job: 1, Host: "127.0.0.1"},
		"a_clat_hist.1.log.h.example.com.zst": {Prefix: "a", Hist: true, Job: 1, Host: "h.example.com"},
		"output.0_clat_hist.3.log.osd1.bz2":   {Prefix: "output.0", Hist: true, Job: 3, Host: "osd1"},
		"a_clat_hist.log":                     {Prefix: "a", Hist: true},
		"a_clat_hist.log.host":                {Prefix: "a", Hist: true, Host: "host"},
		"a_clat_hist.1.log.bz2":               {Prefix: "a", Hist: true, Job: 1},
		"a_slat.1.log":                        {Prefix: "a", Kind: fio.Slat, Job: 1},
		"a_lat.1.log":                         {Prefix: "a", Kind: fio.Lat, Job: 1},
		"a_clat.1.log":                        {Prefix: "a", Job: 1},
		"my_lat_clat.log":                     {Prefix: "my_lat"},
		"a b\n_clat_hist.1.log":               {Prefix: "a b\n", Hist: true, Job: 1},
		"_clat_hist.1.log":                    {Hist: true, Job: 1},
		"a_clat_hist_clat_hist.1.log":         {Prefix: "a_clat_hist", Hist: true, Job: 1},
		"a_clat_hist.1.log.b_clat_hist.2.log": {Prefix: "a_clat_hist.1.log.b", Hist: true, Job: 2},
	} {
		if got, ok := parseName(base); !ok || got != want {
			t.Errorf("%q: %+v, %v", base, got, ok)
		}
	}
	for _, base := range []string{"", "a.log", "a_bw.1.log", "a_iops.1.log", "a_clat_hist.0.log", "a_clat_hist.x.log",
		"a_clat_hist.1.txt", "clat_hist.1.log", "a_clat_hist.99999999999999999999.log",
		"fio.json"} {
		if got, ok := parseName(base); ok {
			t.Errorf("%q: %+v", base, got)
		}
	}
}

// described is the inputs in words, a line for each run: its root, then its logs
// with hosts, JSON and job files, below the root.
func described(ins []*Input, dir string) string {
	var b strings.Builder
	short := func(root, path string) string {
		if rel, err := filepath.Rel(root, path); err == nil && filepath.IsAbs(path) {
			return filepath.ToSlash(rel)
		}
		return filepath.ToSlash(path)
	}
	for _, in := range ins {
		fmt.Fprintf(&b, "%s:", short(dir, in.Root))
		for _, l := range in.Logs {
			fmt.Fprintf(&b, " %s", short(in.Root, l.Path))
			if l.Host != "" {
				fmt.Fprintf(&b, "@%s", l.Host)
			}
		}
		for _, m := range in.Metas {
			fmt.Fprintf(&b, " json=%s", short(in.Root, m.Path))
		}
		for _, j := range in.JobFiles {
			fmt.Fprintf(&b, " job=%s", short(in.Root, j.Path))
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// TestDiscover: which files make which runs.
func TestDiscover(t *testing.T) {
	const hist, single = "1000, 0, 4096, 0, 1, 0\n", "1, 5000, 0, 4096\n"
	files := map[string]string{
		"one/a_clat_hist.1.log": hist, "one/a_clat_hist.2.log": hist, "one/a_clat_hist.10.log": "",
		"one/fio.json": "banner\n" + minimal,
		"one/job.fio":  "[a]\nioengine=null\nwrite_hist_log=a\n", "one/readme.txt": "[a] is a run", "one/notes": "",
		"one/data.0.0":   "\x00\x01{\"fio version\": 1",
		"one/other.json": `{"a": 1}`, "one/a_bw.1.log": single,
		"two/sub/b_clat_hist.1.log.gz": hist, "two/sub/b_clat_hist.1.log": hist, "two/sub/b_clat.1.log": single,
		"two/sub/b_slat.1.log":        single,
		"two/sub/._b_clat_hist.2.log": hist,
		"single/c_clat.1.log":         single, "single/c_lat.1.log": single,
		"pb/s1/clients/h1/x_clat_hist.1.log": hist, "pb/s1/clients/h2/deep/x_clat_hist.1.log": hist,
		"pb/s1/result.txt": minimal, "pb/s1/clients/h1/own.json": minimal,
		"clients/acme/run1/x_clat_hist.1.log": hist, "clients/acme/run2/x_clat_hist.1.log": hist,
		"brackets/[1]/x_clat_hist.1.log": hist,
		"renamed/hist.txt":               hist, "renamed/cluster_clat_hist.1.log.h1": hist,
		"empty/readme": "", "holder/readme": "",
	}
	dir := t.TempDir()
	for i, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		if (text == hist || text == single) && !strings.Contains(name, "sub/b_clat_hist.1") {
			// equal logs are taken for copies
			text = fmt.Sprintf("1%s", strings.Replace(text, ",", fmt.Sprintf("%02d,", i), 1))
		}
		write(t, dir, name, text)
	}
	if err := os.Symlink("..", filepath.Join(dir, "two", "loop")); err != nil {
		t.Skip(err)
	}
	for link, to := range map[string]string{"two/aaa": "sub", "pb/s1/dangling": "nowhere", "linked": "one",
		"holder/there": "../one"} {
		if err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	const one = "one: a_clat_hist.1.log a_clat_hist.2.log a_clat_hist.10.log json=fio.json job=job.fio"
	const pb = "pb/s1: clients/h1/x_clat_hist.1.log@h1 clients/h2/deep/x_clat_hist.1.log@h2 json=result.txt " +
		"json=clients/h1/own.json"
	for name, c := range map[string]struct {
		paths string // below dir
		opt   DiscoverOptions
		want  string
		err   string
		warn  string
	}{
		"a folder":                  {paths: "one", want: one},
		"a folder through a link":   {paths: "linked", want: strings.Replace(one, "one:", "linked:", 1)},
		"a link to a folder, found": {paths: "holder", want: strings.Replace(one, "one:", "holder/there:", 1)},
		"a folder twice":            {paths: "one one/", want: one},
		"a file": {paths: "one/a_clat_hist.2.log", want: "one: a_clat_hist.2.log json=fio.json " +
			"job=job.fio"},
		"a file twice": {paths: "one/a_clat_hist.2.log one/../one/a_clat_hist.2.log",
			want: "one: a_clat_hist.2.log json=fio.json job=job.fio"},
		"a file and its folder":  {paths: "one/a_clat_hist.2.log one", want: one},
		"a folder and its file":  {paths: "one one/../one/a_clat_hist.2.log", want: one},
		"a file, also by a link": {paths: "one linked/a_clat_hist.2.log", want: one},
		"files of two folders": {paths: "one/a_clat_hist.2.log two/sub/b_clat_hist.1.log",
			want: "one: a_clat_hist.2.log ../two/sub/b_clat_hist.1.log json=fio.json job=job.fio"},
		"a glob": {paths: "one/*hist.1*.log", want: "one: a_clat_hist.1.log a_clat_hist.10.log " +
			"json=fio.json job=job.fio"},
		"a glob of folders":   {paths: "o*", want: one},
		"a bracket in a name": {paths: "brackets/[1]", want: "brackets/[1]: x_clat_hist.1.log"},
		"and a glob":          {paths: "brackets/[1]/*.log", want: "brackets/[1]: x_clat_hist.1.log"},
		"everything in a folder": {paths: "one/*", want: "one: a_clat_hist.1.log a_clat_hist.2.log " +
			"a_clat_hist.10.log json=fio.json job=job.fio", warn: "not a fio log"},
		"plain and packed, a loop": {paths: "two", want: "two/sub: b_clat_hist.1.log"},
		"singles, no histograms":   {paths: "single", want: "single: c_clat.1.log"},
		"slat": {paths: "two", opt: DiscoverOptions{Kind: fio.Slat},
			want: "two/sub: b_slat.1.log"},
		"lat": {paths: "single two", opt: DiscoverOptions{Kind: fio.Lat},
			want: "single: c_lat.1.log"},
		"pbench":               {paths: "pb", want: pb},
		"pbench, from clients": {paths: "pb/s1/clients", want: pb},
		"pbench, one host": {paths: "pb/s1/clients/h2", want: "pb/s1: clients/h2/deep/x_clat_hist.1.log@h2 " +
			"json=result.txt"},
		"pbench, a file": {paths: "pb/s1/clients/h1/x_clat_hist.1.log",
			want: "pb/s1/clients/h1: x_clat_hist.1.log@h1 json=own.json"},
		"clients, but not pbench's": {paths: "clients", want: "clients/acme/run1: " +
			"x_clat_hist.1.log@acme\nclients/acme/run2: x_clat_hist.1.log@acme"},
		"below such clients": {paths: "clients/acme/run1", want: "clients/acme/run1: x_clat_hist.1.log"},
		"several runs":       {paths: "single pb one", want: one + "\n" + pb + "\nsingle: c_clat.1.log"},
		"a file and a folder": {paths: "single two/sub/b_clat_hist.1.log",
			want: "two/sub: b_clat_hist.1.log\nsingle: c_clat.1.log"},
		"each with its own JSON": {paths: "pb one/a_clat_hist.2.log", want: "one: a_clat_hist.2.log json=fio.json " +
			"job=job.fio\n" + pb},
		"any: a folder has it": {paths: "one/a_clat_hist.2.log two", opt: DiscoverOptions{Kind: fio.Slat,
			Any: true}, want: "two/sub: b_slat.1.log"},
		"any: nothing has it": {paths: "one/a_clat_hist.2.log", opt: DiscoverOptions{Kind: fio.Slat,
			Any: true}, err: "one/a_clat_hist.2.log: no slat logs, only clat; pass --kind clat"},
		"JSON given with a folder": {paths: "single one/fio.json", want: "single: c_clat.1.log json=../one/fio.json"},
		"JSON given with a file": {paths: "pb/s1/clients/h1/x_clat_hist.1.log one/fio.json one/job.fio",
			want: "pb/s1/clients/h1: x_clat_hist.1.log@h1 json=../../../../one/fio.json job=../../../../one/job.fio"},
		"--fio-json": {paths: "pb", opt: DiscoverOptions{FioJSON: []string{"one/fio.json"}},
			want: strings.Replace(pb, "json=result.txt json=clients/h1/own.json", "json=../../one/fio.json", 1)},
		"standard input": {paths: "-", want: ".: -"},
		"and a file": {paths: "- one/a_clat_hist.1.log", want: ".: - one/a_clat_hist.1.log " +
			"json=one/fio.json job=one/job.fio"},
		"a log by another name": {paths: "renamed/hist.txt", want: "renamed: hist.txt"},
		"two hosts":             {paths: "renamed", want: "renamed: cluster_clat_hist.1.log.h1@h1"},
		"no such path":          {paths: "one no/such", err: "no/such: no such file or directory; check the path"},
		"a glob without matches": {paths: "no*such", err: "no*such: no file matches; check the pattern; ** is not " +
			"known, folders are searched anyway"},
		"a bad glob": {paths: "no[",
			err: `no[: not a pattern: syntax error in pattern; write \[ for a bracket that is part of a name`},
		"no logs": {paths: "one empty", err: "empty: no fio histogram logs (NAME_clat_hist.N.log) " +
			"below it; add write_hist_log=NAME and log_hist_msec=1000 to the job, run fio again, and pass the folder " +
			"with its logs"},
		"logs of another kind": {paths: "one", opt: DiscoverOptions{Kind: fio.Slat},
			err: "one: no slat logs, only clat; pass --kind clat"},
		"a file of another kind": {paths: "two/sub/b_slat.1.log", err: "two/sub/b_slat.1.log: no clat logs, only " +
			"slat; pass --kind slat"},
		"only JSON": {paths: "one/fio.json", want: "one/fio.json: . json=.", warn: "there is only fio's JSON"},
		"only a job file": {paths: "one/job.fio", err: "one/job.fio: fio's JSON or job file, but no log; " +
			"pass the logs (NAME_clat_hist.N.log) or their folder, too; for a status stream use `fiolat live`"},
		"nothing of fio's": {paths: "one/readme.txt", err: "one/readme.txt: not a fio log, fio JSON or job " +
			"file; pass logs (NAME_clat_hist.N.log) or folders with logs"},
		"standard input twice": {paths: "- -", err: "-: standard input can be read only once; give `-` once"},
		"--fio-json that is none": {paths: "one", opt: DiscoverOptions{FioJSON: []string{"one/other.json"}},
			err: "one/other.json:1: JSON, but no jobs of fio in it; pass the whole output of fio " +
				"--output-format=json+"},
		"--fio-json that is not": {paths: "one", opt: DiscoverOptions{FioJSON: []string{"nope"}},
			err: "nope: no such file or directory; check the path"},
		"no path": {err: "PATH: nothing to read; pass logs (NAME_clat_hist.N.log) or folders with " +
			"logs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(dir)
			ins, err := Discover(strings.Fields(c.paths), c.opt)
			if c.err != "" {
				var pe *fio.ParseError
				if !errors.As(err, &pe) || err.Error() != c.err {
					t.Errorf("got %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := describedRelative(ins); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			warned := strings.Join(ins[0].Warnings, "\n")
			if c.warn == "" && warned != "" || !strings.Contains(warned, c.warn) {
				t.Errorf("warned: %q", warned)
			}
		})
	}
}

// TestHostFolders: when folders with logs of the same names are the hosts of one run.
func TestHostFolders(t *testing.T) {
	json := func(endMS string) string { return strings.Replace(minimal, "0000123", endMS, 1) }
	for name, c := range map[string]struct {
		folders map[string]string // fio's JSON of each, or ""
		named   bool              // after the folder
		by      string
		path    string
		want    string
	}{
		"at the same time": {folders: map[string]string{"run/b": json("0000123"), "run/a": json("0001122")},
			want: "run: a/x_clat_hist.1.log@a b/x_clat_hist.1.log@b json=a/fio.json json=b/fio.json"},
		"one after the other": {folders: map[string]string{"run/a": json("0000123"), "run/b": json("0009123")},
			want: "run/a: x_clat_hist.1.log json=fio.json\nrun/b: x_clat_hist.1.log json=fio.json"},
		"half of it at the same time": {folders: map[string]string{"run/a": json("0000123"), "run/b": json("0001123")},
			want: "run/a: x_clat_hist.1.log json=fio.json\nrun/b: x_clat_hist.1.log json=fio.json"},
		"two and one later": {folders: map[string]string{"run/a": json("0000123"), "run/b": json("0000124"),
			"run/c": json("0009123")}, want: "run: a/x_clat_hist.1.log@a b/x_clat_hist.1.log@b json=a/fio.json " +
			"json=b/fio.json\nrun/c: x_clat_hist.1.log json=fio.json"},
		"copies": {folders: map[string]string{"run/a": json("0000123"), "run/b": json("0000123")},
			want: "run/a: x_clat_hist.1.log json=fio.json\nrun/b: x_clat_hist.1.log json=fio.json"},
		"when is not known": {folders: map[string]string{"run/a": "", "run/b": ""},
			want: "run/a: x_clat_hist.1.log\nrun/b: x_clat_hist.1.log"},
		"told so": {folders: map[string]string{"run/a": "", "run/b": ""}, by: HostsByFolder,
			want: "run: a/x_clat_hist.1.log@a b/x_clat_hist.1.log@b"},
		"told so, of two runs": {folders: map[string]string{"r1/a": "", "r1/b": "", "r2/a": "", "r2/b": ""},
			by: HostsByFolder, want: "r1: a/x_clat_hist.1.log@a b/x_clat_hist.1.log@b\n" +
				"r2: a/x_clat_hist.1.log@a b/x_clat_hist.1.log@b"},
		"told otherwise": {folders: map[string]string{"run/a": json("0000123"), "run/b": json("0000124")},
			by: HostsByName, want: "run/a: x_clat_hist.1.log json=fio.json\nrun/b: x_clat_hist.1.log json=fio.json"},
		"as Crucible leaves them": {folders: map[string]string{"run/client/1": "", "run/client/2": ""},
			by: HostsByFolder, want: "run: client/1/x_clat_hist.1.log@1 client/2/x_clat_hist.1.log@2"},
		"one deeper": {folders: map[string]string{"run/a/deep": json("0000123"), "run/b": json("0000124")},
			want: "run: a/deep/x_clat_hist.1.log@a b/x_clat_hist.1.log@b json=a/deep/fio.json json=b/fio.json"},
		"logs are named after the hosts": {folders: map[string]string{"run/a": "", "run/b": ""}, named: true,
			want: "run/a: a_clat_hist.1.log\nrun/b: b_clat_hist.1.log"},
		"logs are named after the hosts, told so": {folders: map[string]string{"run/a": "", "run/b": ""}, named: true,
			by: HostsByFolder, want: "run: a/a_clat_hist.1.log@a b/b_clat_hist.1.log@b"},
		"only one is searched": {folders: map[string]string{"run/a": "", "run/b": ""}, by: HostsByFolder, path: "run/a",
			want: "run/a: x_clat_hist.1.log"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for dir, json := range c.folders {
				prefix := "x"
				if c.named {
					prefix = filepath.Base(dir)
				}
				files[dir+"/"+prefix+"_clat_hist.1.log"] = fmt.Sprintf("1000, 0, 4096, 0, %d, 0\n", 1+len(files))
				if json != "" {
					files[dir+"/fio.json"] = json
				}
			}
			t.Chdir(folder(t, files))
			ins, err := Discover([]string{cmp.Or(c.path, ".")}, DiscoverOptions{HostsBy: c.by})
			if err != nil {
				t.Fatal(err)
			}
			if got := describedRelative(ins); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// describedRelative is described for relative paths.
func describedRelative(ins []*Input) string {
	for _, in := range ins {
		abs := func(p string) string {
			if p == stdin {
				return p
			}
			p, _ = filepath.Abs(p)
			return p
		}
		in.Root = abs(in.Root)
		for _, l := range in.Logs {
			l.Path = abs(l.Path)
		}
		for _, m := range in.Metas {
			m.Path = abs(m.Path)
		}
		for _, j := range in.JobFiles {
			j.Path = abs(j.Path)
		}
	}
	wd, _ := os.Getwd()
	return described(ins, wd)
}

// TestUnderOneJSON: logs in folders below fio's JSON are one run if its jobs wrote them.
func TestUnderOneJSON(t *testing.T) {
	const jobs = `{"fio version": "fio-3.33", "jobs": [
		{"jobname": "a", "job options": {"write_hist_log": "logs/h"}}, ` +
		`{"jobname": "b", "job options": {"write_hist_log": "h"}}]}`
	for _, c := range []struct {
		name, want string
		files      []string
	}{
		{"one folder", ".: logs/h_clat_hist.1.log logs/h_clat_hist.2.log json=fio.json",
			[]string{"logs/h_clat_hist.1.log", "logs/h_clat_hist.2.log"}},
		{"a folder each", ".: x/h_clat_hist.1.log y/z/h_clat_hist.2.log json=fio.json",
			[]string{"x/h_clat_hist.1.log", "y/z/h_clat_hist.2.log"}},
		{"a folder for each host", ".: x/h_clat_hist.1.log.h1@h1 y/h_clat_hist.1.log.h2@h2 json=fio.json",
			[]string{"x/h_clat_hist.1.log.h1", "y/h_clat_hist.1.log.h2"}},
		{"one name twice", "x: h_clat_hist.1.log\ny: h_clat_hist.1.log",
			[]string{"x/h_clat_hist.1.log", "y/h_clat_hist.1.log"}},
		{"another job's", "logs: other_clat_hist.1.log", []string{"logs/other_clat_hist.1.log"}},
		{"own JSON", "x: h_clat_hist.1.log json=own.json\ny: h_clat_hist.2.log json=own.json",
			[]string{"x/h_clat_hist.1.log", "y/h_clat_hist.2.log", "x/own.json", "y/own.json"}},
		{"one named by its path, beside a log", ".: h_clat_hist.2.log logs/h_clat_hist.1.log json=fio.json",
			[]string{"h_clat_hist.2.log", "logs/h_clat_hist.1.log"}},
		{"one name twice, one named by its path", "logs: h_clat_hist.1.log json=../fio.json\nx: h_clat_hist.1.log",
			[]string{"x/h_clat_hist.1.log", "logs/h_clat_hist.1.log"}},
		{"a path beats a folder", "a: h_clat_hist.1.log\nlogs: h_clat_hist.1.log json=../fio.json",
			[]string{"a/h_clat_hist.1.log", "logs/h_clat_hist.1.log"}},
		{"logs beside it", ".: h_clat_hist.1.log json=fio.json\nx: h_clat_hist.2.log",
			[]string{"h_clat_hist.1.log", "x/h_clat_hist.2.log"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "fio.json", jobs)
			for i, name := range c.files {
				text := fmt.Sprintf("1%02d, 0, 4096, 0, 1, 0\n", i) // equal logs are taken for copies
				if strings.HasSuffix(name, ".json") {
					text = jobs
				}
				write(t, dir, name, text)
			}
			ins, err := Discover([]string{dir}, DiscoverOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := described(ins, dir); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestJSONAbove: fio's JSON above the path given is used if its jobs wrote these very logs.
func TestJSONAbove(t *testing.T) {
	t.Parallel()
	const jobs = `{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "job options": {"write_hist_log": "h"}},
		{"jobname": "b", "job options": {"write_hist_log": "h"}}]}`
	both := []string{"logs/h_clat_hist.1.log", "logs/h_clat_hist.2.log"}
	for _, c := range []struct {
		name  string
		paths []string // given
		files []string
		used  bool
	}{
		{"the folder of the logs", []string{"logs"}, both, true},
		{"one of the logs", []string{"logs/h_clat_hist.1.log"}, both, true},
		{"all of them", both, both, true},
		{"fewer logs than jobs", []string{"logs"}, both[:1], false},
		{"more logs than jobs", []string{"logs"}, append(both, "logs/h_clat_hist.3.log"), false},
		{"another job's", []string{"logs"}, []string{"logs/x_clat_hist.1.log", "logs/x_clat_hist.2.log"}, false},
		{"another run beside them", []string{"logs"}, append(both, "run2/h_clat_hist.1.log"), false},
		{"a run above them", []string{"logs"}, append(both, "h_clat_hist.1.log"), false},
		{"two documents", []string{"logs"}, append(both, "other.json"), false},
		{"two levels up", []string{"x/logs"}, []string{"x/logs/h_clat_hist.1.log", "x/logs/h_clat_hist.2.log"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "fio.json", jobs)
			for i, name := range c.files {
				text := fmt.Sprintf("1%02d, 0, 4096, 0, 1, 0\n", i)
				if strings.HasSuffix(name, ".json") {
					text = strings.Replace(jobs, "3.33", "3.34", 1)
				}
				write(t, dir, name, text)
			}
			var paths []string
			for _, p := range c.paths {
				paths = append(paths, filepath.Join(dir, p))
			}
			ins, err := Discover(paths, DiscoverOptions{})
			if err != nil || len(ins) != 1 {
				t.Fatalf("%d runs, %v", len(ins), err)
			}
			warned := strings.Contains(strings.Join(ins[0].Warnings, "\n"), "used, although it is above the path given")
			if used := len(ins[0].Metas) == 1; used != c.used || warned != c.used {
				t.Errorf("used: %v, warned %q", used, ins[0].Warnings)
			}
			passed := strings.Contains(strings.Join(ins[0].Warnings, "\n"), "not used: it is in a folder above")
			if want := !c.used && c.name != "another job's" && c.name != "two levels up"; passed != want {
				t.Errorf("warned of JSON that is not used: %v, want %v: %q", passed, want, ins[0].Warnings)
			}
		})
	}
}

// TestJSONAboveGroups: fio's JSON of a group has the log name of its last job alone, and how long its threads ran.
func TestJSONAboveGroups(t *testing.T) {
	t.Parallel()
	six := []string{"p_clat_hist.1.log", "p_clat_hist.2.log", "p_clat_hist.3.log", "q_clat_hist.4.log",
		"q_clat_hist.5.log", "q_clat_hist.6.log"}
	for _, c := range []struct {
		name    string
		runtime int // of six threads: 12 s
		host    string
		files   []string
		used    bool
	}{
		{"its threads", 12002, "", six, true},
		{"its threads over --client", 12002, "127.0.0.1", six, true},
		{"fewer logs than threads", 16002, "", six, false},
		{"more logs than threads", 10002, "", six, false},
		{"a number twice", 12002, "", append(slices.Clone(six[1:]), "p_clat_hist.4.log"), false},
		{"a number beyond", 12002, "", append(slices.Clone(six[1:]), "p_clat_hist.7.log"), false},
		{"none of its names", 6001, "", six[:3], false},
		{"another host's", 12002, "127.0.0.2", six, false},
	} {
		for _, path := range []string{"", "logs"} {
			t.Run(c.name+" in "+cmp.Or(path, "the folder"), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				key, suffix := "jobs", ""
				if c.host != "" {
					key, suffix = "client_stats", "."+c.host
				}
				write(t, dir, "fio.json", fmt.Sprintf(`{"fio version": "fio-3.33", %q: [{"jobname": "a", "hostname": %q,
					"job options": {"write_hist_log": "q"}, "read": {"runtime": 2003, "total_ios": 9},
					"job_runtime": %d}]}`, key, strings.Replace(c.host, "127.0.0.2", "127.0.0.1", 1), c.runtime))
				for i, name := range c.files {
					write(t, dir, filepath.Join("logs", name+suffix), fmt.Sprintf("1%02d, 0, 4096, 0, 1, 0\n", i))
				}
				ins, err := Discover([]string{filepath.Join(dir, path)}, DiscoverOptions{})
				if err != nil || len(ins) != 1 {
					t.Fatalf("%d runs, %v", len(ins), err)
				}
				if used := len(ins[0].Metas) == 1; used != c.used {
					t.Errorf("used: %v, warned %q", used, ins[0].Warnings)
				}
				passed := strings.Contains(strings.Join(ins[0].Warnings, "\n"), "not used: it is in a folder above")
				if want := !c.used && c.name != "none of its names"; passed != want {
					t.Errorf("warned of JSON that is not used: %v, want %v: %q", passed, want, ins[0].Warnings)
				}
			})
		}
	}
}

func TestDiscoverTrees(t *testing.T) {
	ins, err := Discover([]string{"testdata/trees"}, DiscoverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := `testdata/trees/cbt/00000000/osd_ra-00004096/op_size-00004096: output.0_clat_hist.1.log.node1@node1 ` +
		`output.1_clat_hist.1.log.node1@node1 output.0_clat_hist.1.log.node2@node2 ` +
		`output.1_clat_hist.1.log.node2@node2 json=json_output.0.node1 json=json_output.0.node2 ` +
		`json=json_output.1.node1 json=json_output.1.node2
testdata/trees/pbench/1-4KiB/sample1: clients/127.0.1.1/c_clat_hist.1.log@127.0.1.1 ` +
		`clients/127.0.1.1/c_clat_hist.2.log@127.0.1.1 clients/127.0.1.2/c_clat_hist.1.log@127.0.1.2 ` +
		`clients/127.0.1.2/c_clat_hist.2.log@127.0.1.2 json=fio-result.txt job=fio.job
testdata/trees/pbench/2-64KiB/sample1: clients/127.0.1.1/c_clat_hist.1.log@127.0.1.1 ` +
		`clients/127.0.1.1/c_clat_hist.2.log@127.0.1.1 clients/127.0.1.2/c_clat_hist.1.log@127.0.1.2 ` +
		`clients/127.0.1.2/c_clat_hist.2.log@127.0.1.2 json=fio-result.txt job=fio.job`
	if got := describedRelative(ins); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestDiscoverNames: names that move a terminal's cursor come out quoted.
func TestDiscoverNames(t *testing.T) {
	dir := t.TempDir()
	evil := "\x1b[2Jx\n"
	write(t, dir, evil+"_clat_hist.1.log", "")
	write(t, dir, evil+"_clat_hist.1.log.gz", "")
	write(t, dir, evil+"_lat.1.log", "")
	write(t, dir, evil+".json", "{\"fio version\" : \"x\", cut")
	write(t, dir, evil+".fio", "[a]\nrw=read\n[\n")
	write(t, dir, evil+"_bw.2.log", "x")
	ins, err := Discover([]string{dir}, DiscoverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	said := slices.Concat(ins[0].Ignored, ins[0].Warnings)
	if len(ins[0].Ignored) != 3 || len(ins[0].Warnings) != 2 {
		t.Errorf("%q", said)
	}
	_, err = Discover([]string{filepath.Join(dir, evil)}, DiscoverOptions{})
	for _, text := range append(said, err.Error()) {
		if strings.ContainsAny(text, "\x1b\n") {
			t.Errorf("printed raw: %q", text)
		}
	}
}

// hooked is the system with what an operation on a path does before; an error is its result.
func hooked(before func(op, path string) error) *fileSystem {
	sys := osFileSystem()
	return &fileSystem{
		ReadDir: func(dir string, most int) ([]os.DirEntry, error) {
			if err := before("readdir", dir); err != nil {
				return nil, err
			}
			return sys.ReadDir(dir, most)
		},
		Stat: func(path string) (fs.FileInfo, error) {
			if err := before("stat", path); err != nil {
				return nil, err
			}
			return sys.Stat(path)
		},
		Open: func(path string, stdin io.Reader) (io.ReadCloser, error) {
			if err := before("open", path); err != nil {
				return nil, err
			}
			if err := before("read", path); err != nil {
				return io.NopCloser(iotest.ErrReader(err)), nil
			}
			return sys.Open(path, stdin)
		},
		Head: func(path string, buf []byte, more func([]byte) bool) (int, bool, error) {
			if err := before("open", path); err != nil {
				return 0, false, err
			}
			if err := before("head", path); err != nil {
				return 0, false, err
			}
			return sys.Head(path, buf, more)
		},
	}
}

// faulty is a system on which an operation on a path that contains match fails from its call after on.
func faulty(op, match string, after int, err error) *fileSystem {
	return hooked(func(of, path string) error {
		if of != op && (of != "head" || op != "read") || !strings.Contains(path, match) {
			return nil
		}
		if after--; after >= 0 {
			return nil
		}
		return &fs.PathError{Op: of, Path: path, Err: err}
	})
}

// TestDiscoverUnreadable: what exists and cannot be read is an error that names it, or, with SkipBad, left out and
// named, whatever asks for it.
func TestDiscoverUnreadable(t *testing.T) {
	t.Parallel()
	json := `{"fio version" : "fio-3.33", "jobs" : [{"jobname" : "a"}]}` + strings.Repeat(" ", source.SmallSize)
	for _, tc := range []struct {
		name, op, match string
		after           int
		path            string // below the folder
		left            int    // logs left with SkipBad
	}{
		{"the folder", "readdir", "", 0, "", 0},
		{"a folder below", "readdir", "h2", 0, "", 2},
		{"a log", "stat", "2.log", 0, "", 2},
		{"a link to fio's JSON", "stat", "linked", 0, "", 3},
		{"fio's JSON, opened", "open", ".json", 0, "", 3},
		{"fio's JSON, opened again", "open", ".json", 1, "", 3},
		{"fio's JSON, read", "read", ".json", 0, "", 3},
		{"fio's JSON, read again", "read", ".json", 1, "", 3},
		{"a job file", "read", ".fio", 0, "", 3},
		{"the folder of a file", "readdir", "", 0, "a_clat_hist.1.log", 1},
		{"a folder of a pattern", "readdir", "h2", 0, "h*/*.log", 1},
		{"a log of a pattern", "stat", "2.log", 0, "h*/*.log", 1},
		{"a log that was named", "stat", "2.log", 0, "h2/b_clat_hist.2.log", 0},
	} {
		for _, err := range []error{syscall.EIO, syscall.ESTALE, syscall.EACCES} {
			t.Run(fmt.Sprint(tc.name, ", ", err), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				for i, name := range []string{"a_clat_hist.1.log", "h1/b_clat_hist.1.log", "h2/b_clat_hist.2.log"} {
					write(t, dir, name, fmt.Sprintf("%d, 0, 4096, 1\n", i))
				}
				write(t, dir, "fio.json", json)
				write(t, dir, "x.fio", "[a]\nrw=read\n")
				if err := os.Symlink("fio.json", filepath.Join(dir, "linked")); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(dir, tc.path)
				_, failed := Discover([]string{path}, DiscoverOptions{system: faulty(tc.op, tc.match, tc.after, err)})
				var bad *fio.ParseError
				if !errors.As(failed, &bad) || !strings.Contains(failed.Error(), err.Error()) {
					t.Errorf("%v", failed)
				}
				runs, failed := Discover([]string{path}, DiscoverOptions{SkipBad: true,
					system: faulty(tc.op, tc.match, tc.after, err)})
				logs := 0
				for _, in := range runs {
					logs += len(in.Logs)
					text := strings.Join(in.Unread, "\n")
					if !strings.Contains(text, err.Error()) || len(in.Unread) > 4 {
						t.Errorf("%q", in.Unread)
					}
				}
				if logs != tc.left || tc.left == 0 && !errors.As(failed, &bad) || tc.left > 0 && failed != nil {
					t.Errorf("%d logs, %v", logs, failed)
				}
			})
		}
	}
}

// TestDiscoverCrowd: of files of others, whatever their names, only the start is read, once, and only in the
// folders that were asked for.
func TestDiscoverCrowd(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := filepath.Join(parent, "logs")
	write(t, dir, "a_clat_hist.1.log", "1000, 0, 4096, 1\n")
	for _, name := range []string{"1.json", "2.txt", "3.log", "4.csv", "5.sh"} {
		write(t, dir, name, `{"n": 1}`)
	}
	for i := range maxAbove {
		write(t, parent, fmt.Sprintf("%d.json", i), `{"n": 1}`)
	}
	discover := func() (calls []string) {
		ins, err := Discover([]string{dir}, DiscoverOptions{system: hooked(func(op, path string) error {
			if path, _ = filepath.Rel(parent, path); op != "open" {
				calls = append(calls, op+" "+path)
			}
			return nil
		})})
		if err != nil || len(ins) != 1 {
			t.Fatalf("%+v, %v", ins, err)
		}
		return calls
	}
	want := []string{"stat logs", "readdir logs", "head logs/1.json", "head logs/2.txt", "head logs/3.log",
		"head logs/4.csv", "head logs/5.sh", "stat logs/a_clat_hist.1.log", "head logs/a_clat_hist.1.log",
		"stat logs/a_clat_hist.1.log", "readdir ."}
	if got := discover(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	write(t, dir, "fio.out", `{"fio version" : "fio-3.33", "jobs" : [{"jobname" : "a"}]}`)
	want = append(want[:len(want)-1], "head logs/fio.out")
	if got := discover(); !slices.Equal(got, want) {
		t.Errorf("with fio's JSON: %q, want %q", got, want)
	}
}

// TestSmallLogs: small logs are kept as they are read, unless they are compressed or change meanwhile, up to a bound.
func TestSmallLogs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	line := "1000, 0, 4096, 1\n"
	write(t, dir, "a_clat_hist.1.log", line)
	write(t, dir, "a_clat_hist.2.log", "")
	write(t, dir, "a_clat_hist.3.log.gz", "\x1f\x8b\x08 and more")
	write(t, dir, "a_clat_hist.4.log", line)
	write(t, dir, "a_clat_hist.5.log", strings.Repeat("1", source.SmallSize))
	write(t, dir, "a_clat_hist.6.log", strings.Repeat("1", source.SmallSize+1))
	grown := 0
	system := hooked(func(op, path string) error {
		if op == "head" && strings.HasSuffix(path, ".4.log") {
			grown++
			return os.WriteFile(path, []byte(line+line), 0o600)
		}
		return nil
	})
	ins, err := Discover([]string{dir}, DiscoverOptions{system: system})
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]int{}
	for _, l := range ins[0].Logs {
		if small := l.Small(); small != nil {
			kept[l.Base] = len(small.All)
		}
		l.Forget()
		if l.Small() != nil {
			t.Error("not forgotten")
		}
	}
	want := map[string]int{"a_clat_hist.1.log": len(line), "a_clat_hist.2.log": 0,
		"a_clat_hist.5.log": source.SmallSize}
	if !maps.Equal(kept, want) || grown != 1 {
		t.Errorf("kept %v, want %v; %d heads", kept, want, grown)
	}
	bound := t.TempDir()
	for n := range allSmall/source.SmallSize + 2 {
		write(t, bound, fmt.Sprintf("a_clat_hist.%d.log", n+1), line+strings.Repeat(" ", source.SmallSize-len(line)-8)+
			fmt.Sprintf("%8d", n))
	}
	if ins, err = Discover([]string{bound}, DiscoverOptions{}); err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, l := range ins[0].Logs {
		if small := l.Small(); small != nil {
			sum += len(small.All)
		}
	}
	if sum != allSmall {
		t.Errorf("%d bytes are kept, want %d", sum, allSmall)
	}
}

// TestDiscoverDeep: the time for a deep tree does not grow with the cube of its depth, which would be minutes here.
func TestDiscoverDeep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	deep := filepath.Join(dir, strings.Repeat("d/", 1600))
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, deep, "a_clat_hist.1.log", "1000, 0, 4096, 1\n")
	t.Cleanup(func() { // os.RemoveAll holds each of the folders open
		for path := filepath.Join(deep, "a_clat_hist.1.log"); path != dir; path = filepath.Dir(path) {
			if err := os.Remove(path); err != nil {
				t.Error(err)
				return
			}
		}
	})
	if ins, err := Discover([]string{dir}, DiscoverOptions{}); err != nil || len(ins) != 1 || ins[0].Root != deep {
		t.Errorf("%d runs, %.100v", len(ins), err)
	}
}

// TestDiscoverDangling: a link of a log's name that leads nowhere is a log that cannot be read; one of another name
// means nothing.
func TestDiscoverDangling(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a_clat_hist.1.log", "1000, 0, 4096, 1\n")
	for _, name := range []string{"host2", ".#lock"} {
		if err := os.Symlink("/not/mounted", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := Discover([]string{dir}, DiscoverOptions{})
	if err != nil || len(runs[0].Warnings)+len(runs[0].Unread) != 0 {
		t.Fatal(runs[0].Warnings, err)
	}
	if err = os.Symlink("/not/mounted", filepath.Join(dir, "a_clat_hist.2.log")); err != nil {
		t.Fatal(err)
	}
	_, err = Discover([]string{dir}, DiscoverOptions{})
	if err == nil || !strings.Contains(err.Error(), "a_clat_hist.2.log: it leads nowhere") {
		t.Error(err)
	}
	runs, err = Discover([]string{dir}, DiscoverOptions{SkipBad: true})
	if err != nil || len(runs[0].Unread) != 1 || len(runs[0].Logs) != 1 {
		t.Error(runs, err)
	}
}

// TestFileWithItsFolder: a log that is given beside its folder is one of the folder's.
func TestFileWithItsFolder(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	a, b := filepath.Join(dir, "a_clat_hist.1.log"), filepath.Join(dir, "a_clat_hist.2.log")
	c := filepath.Join(other, "c_clat_hist.1.log")
	for i, name := range []string{a, b, c} {
		if err := os.WriteFile(name, fmt.Appendf(nil, "%d, 0, 4096, 1\n", i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct{ paths, want []string }{
		"folder first":     {[]string{dir, a}, []string{a + " " + b}},
		"file first":       {[]string{a, dir}, []string{a + " " + b}},
		"all of it":        {[]string{a, b, dir}, []string{a + " " + b}},
		"another spelling": {[]string{dir + "/./a_clat_hist.1.log", dir}, []string{a + " " + b}},
		"of another":       {[]string{c, dir}, []string{c, a + " " + b}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs, err := Discover(tt.paths, DiscoverOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, in := range runs {
				var logs []string
				for _, l := range in.Logs {
					logs = append(logs, l.Path)
				}
				slices.Sort(logs)
				got = append(got, strings.Join(logs, " "))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestDiscoverFromWithin: the current folder's place above or below the folders, and whether their names are absolute,
// do not matter.
func TestDiscoverFromWithin(t *testing.T) {
	const beside = `{"fio version": "fio-3.36", "timestamp_ms": 1795225577655, "jobs": [{"jobname": "a",
		"job_start": 1795225576000, "job_runtime": 1200,
		"read": {"runtime": 1200, "total_ios": 29, "clat_ns": {"N": 29}}}]}`
	dir := t.TempDir()
	for _, host := range []string{"h1", "cwd/h2"} {
		if err := os.MkdirAll(filepath.Join(dir, host), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, host), "a_clat_hist.1.log", "1000, 0, 4096, "+strings.Repeat("1, ", 28)+"1\n")
		write(t, filepath.Join(dir, host), "fio.json", beside)
	}
	t.Chdir(filepath.Join(dir, "cwd"))
	h1, h2 := filepath.Join(dir, "h1"), filepath.Join(dir, "cwd", "h2")
	for _, tc := range []struct {
		paths []string
		runs  int
	}{
		{[]string{"../h1", "h2"}, 2},
		{[]string{"h2", "../h1"}, 2},
		{[]string{h1, "h2"}, 2},
		{[]string{"h2", h1}, 2},
		{[]string{h2, "h2"}, 1},
		{[]string{"../h1", h1}, 1},
	} {
		runs, err := Discover(tc.paths, DiscoverOptions{})
		if err != nil || len(runs) != tc.runs {
			t.Errorf("%q: %d runs, %v; want %d", tc.paths, len(runs), err, tc.runs)
		}
	}
}

// TestLowest: the lowest folder above runs, also where it is above the current one, or the root.
func TestLowest(t *testing.T) {
	t.Chdir("/usr")
	for _, tc := range []struct {
		want  string
		roots []string
	}{
		{"a", []string{"a/h1", "a/h2"}},
		{"a", []string{"a/x/h1", "a/h2"}},
		{".", []string{"h1", "h2"}},
		{"..", []string{"h2", "../h1"}},
		{"..", []string{"../h1", "h2"}},
		{"../x", []string{"../x/h1", "../x/h2"}},
		{"..", []string{"h2", "/h1"}},
		{"/", []string{"/h1", "h2"}},
		{"/usr", []string{"/usr/h1", "h2"}},
		{"..", []string{"h2", "/"}},
		{"/", []string{"/", "/h1"}},
	} {
		var runs []*Input
		for _, root := range tc.roots {
			runs = append(runs, &Input{Root: root})
		}
		if got := lowest(runs); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.roots, got, tc.want)
		}
	}
}
