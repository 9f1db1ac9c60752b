package ingest

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCopies: a log that lies there twice is counted once, and what looks like a copy
// and may be none is named.
func TestCopies(t *testing.T) {
	t.Parallel()
	const a, b = "1000, 0, 4096, 1\n", "2000, 0, 4096, 1\n"
	packed := func(text string) string {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		_, _ = z.Write([]byte(text))
		_ = z.Close()
		return out.String()
	}
	json := func(prefixes ...string) string {
		var jobs []string
		for _, p := range prefixes {
			jobs = append(jobs, `{"jobname": "`+p+`", "hostname": "h1", "job options": {"write_hist_log": "`+p+`"}}`)
		}
		return `{"fio version": "fio-3.42", "client_stats": [` + strings.Join(jobs, ",") + `]}`
	}
	for name, c := range map[string]struct {
		files map[string]string // "-> NAME" is a symbolic link, "=> NAME" a hard one
		want  string            // logs with hosts, a run each line
		warn  []string
	}{
		"a link": {map[string]string{"x_clat_hist.1.log": a, "a_clat_hist.2.log": "-> x_clat_hist.1.log"},
			"x_clat_hist.1.log", []string{"a_clat_hist.2.log: the same file as"}},
		"a hard link": {map[string]string{"x_clat_hist.1.log": a, "x_clat_hist.2.log": "=> x_clat_hist.1.log"},
			"x_clat_hist.1.log", []string{"x_clat_hist.2.log: the same file as"}},
		"a link to a folder": {map[string]string{"r/x_clat_hist.1.log": a,
			"s/x_clat_hist.1.log": "-> ../r/x_clat_hist.1.log"}, "r/x_clat_hist.1.log", []string{"the same file as"}},
		"a copy": {map[string]string{"x_clat_hist.1.log": a, "y_clat_hist.1.log": a}, "x_clat_hist.1.log",
			[]string{"y_clat_hist.1.log: the same content as"}},
		"two jobs, says JSON": {map[string]string{"x_clat_hist.1.log": a, "y_clat_hist.1.log": a, "fio.json": json("x",
			"y")}, "x_clat_hist.1.log y_clat_hist.1.log", nil},
		"two threads": {map[string]string{"x_clat_hist.1.log": a, "x_clat_hist.2.log": a},
			"x_clat_hist.1.log x_clat_hist.2.log", []string{"1 log with the same content as another log",
				"x_clat_hist.2.log as ", "all are counted"}},
		"two hosts": {map[string]string{"x_clat_hist.1.log.h1": a, "x_clat_hist.1.log.h2": a},
			"x_clat_hist.1.log.h1@h1 x_clat_hist.1.log.h2@h2", []string{"all are counted"}},
		"one with its host": {map[string]string{"x_clat_hist.1.log": a, "x_clat_hist.1.log.h2": a},
			"x_clat_hist.1.log.h2@h2", []string{"x_clat_hist.1.log: the same content", "counted once"}},
		"a hard link without its host": {map[string]string{"x_clat_hist.1.log.h2": a,
			"a_clat_hist.1.log": "=> x_clat_hist.1.log.h2"}, "x_clat_hist.1.log.h2@h2",
			[]string{"a_clat_hist.1.log: the same file as"}},
		"two folders": {map[string]string{"r/x_clat_hist.1.log": a, "s/x_clat_hist.1.log": a},
			"r/x_clat_hist.1.log", []string{"counted once"}},
		"two folders with JSON": {map[string]string{"r/x_clat_hist.1.log": a, "s/x_clat_hist.1.log": a,
			"r/fio.json": json("x"), "s/fio.json": json("x")},
			"r/x_clat_hist.1.log\ns/x_clat_hist.1.log", []string{"all are counted"}},
		"other content": {map[string]string{"r/x_clat_hist.1.log": a, "s/x_clat_hist.1.log": b},
			"r/x_clat_hist.1.log\ns/x_clat_hist.1.log", nil},
		"empty logs": {map[string]string{"x_clat_hist.1.log": "", "y_clat_hist.1.log": ""},
			"x_clat_hist.1.log y_clat_hist.1.log", nil},
		"a browser's": {map[string]string{"x_clat_hist.1.log": a, "x_clat_hist.1 (1).log": b}, "x_clat_hist.1.log",
			[]string{"x_clat_hist.1 (1).log: by its name an older"}},
		"a browser's alone": {map[string]string{"x_clat_hist.1 (1).log": b}, "x_clat_hist.1 (1).log", nil},
		".bak": {map[string]string{"x_clat_hist.1.log": a, "x_clat_hist.1.log.bak": b},
			"x_clat_hist.1.log", []string{"x_clat_hist.1.log.bak: by its name an older"}},
		"other programs, not complete": {map[string]string{"x_clat_hist.1.log": a + b, "x_clat_hist.1.log.part": a,
			"x_clat_hist.1.log.filepart": a, "x_clat_hist.1.log.txt": a + b}, "x_clat_hist.1.log",
			[]string{".part: by its name", ".filepart: by its name", ".txt: by its name"}},
		"hosts that begin alike": {map[string]string{"x_clat_hist.1.log.h1": a, "x_clat_hist.1.log.h2": a + b},
			"x_clat_hist.1.log.h1@h1 x_clat_hist.1.log.h2@h2", nil},
		"an empty log beside another": {map[string]string{"x_clat_hist.1.log": "", "y_clat_hist.1.log": a},
			"x_clat_hist.1.log y_clat_hist.1.log", nil},
		"threads that begin alike": {map[string]string{"x_clat_hist.1.log": a, "x_clat_hist.2.log": a + b},
			"x_clat_hist.1.log x_clat_hist.2.log", nil},
		"logrotate": {map[string]string{"x_clat_hist.1.log": a, "x_clat_hist.1.log.1": b,
			"x_clat_hist.1.log.2.gz": packed(b)}, "x_clat_hist.1.log", []string{".log.1: by its name",
			".log.2.gz: by its name"}},
		".bak of a host's": {map[string]string{"x_clat_hist.1.log.h1": a, "x_clat_hist.1.log.h1.bak": b},
			"x_clat_hist.1.log.h1@h1", []string{"by its name an older"}},
		"addresses are hosts": {map[string]string{"x_clat_hist.1.log.127.0.0.1": a,
			"x_clat_hist.1.log.127.0.0.2": b}, "x_clat_hist.1.log.127.0.0.1@127.0.0.1 " +
			"x_clat_hist.1.log.127.0.0.2@127.0.0.2", nil},
		"names that end so": {map[string]string{"x_clat_hist.1.log.osd.1": a, "x_clat_hist.1.log.osd.2": b},
			"x_clat_hist.1.log.osd.1@osd.1 x_clat_hist.1.log.osd.2@osd.2", nil},
		"a host named old": {map[string]string{"x_clat_hist.1.log.old": a,
			"fio.json": strings.Replace(json("x"), `"h1"`, `"old"`, 1)}, "x_clat_hist.1.log.old@old", nil},
		"packed": {map[string]string{"x_clat_hist.1.log": a, "x_clat_hist.1.log.gz": packed(a)},
			"x_clat_hist.1.log", nil},
		"packed, of other content": {map[string]string{"x_clat_hist.1.log": a, "x_clat_hist.1.log.gz": packed(b)},
			"x_clat_hist.1.log", []string{"x_clat_hist.1.log.gz: not used", "a compressed ",
				"but the contents differ"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			links := map[string]string{}
			files := map[string]string{}
			for name, text := range c.files {
				if len(text) > 3 && text[1:3] == "> " {
					links[name] = text
				} else {
					files[name] = text
				}
			}
			dir := folder(t, files)
			for name, to := range links {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
					t.Fatal(err)
				}
				link := os.Symlink
				if to[0] == '=' {
					link, to = os.Link, "=> "+filepath.Join(dir, to[3:])
				}
				if err := link(to[3:], path); err != nil {
					t.Skip(err)
				}
			}
			ins, err := Discover([]string{dir}, DiscoverOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got, warned []string
			for _, in := range ins {
				var logs []string
				for _, l := range in.Logs {
					rel, _ := filepath.Rel(dir, l.Path)
					if l.Host != "" {
						rel += "@" + l.Host
					}
					logs = append(logs, rel)
				}
				got = append(got, strings.Join(logs, " "))
				warned = append(warned, in.Warnings...)
			}
			if all := strings.Join(got, "\n"); all != c.want {
				t.Errorf("got\n%s\nwant\n%s", all, c.want)
			}
			all := strings.Join(warned, "\n")
			for _, w := range c.warn {
				if !strings.Contains(all, w) {
					t.Errorf("no warning %q in %q", w, all)
				}
			}
			if len(c.warn) == 0 && all != "" {
				t.Errorf("warned %q", all)
			}
		})
	}
}
