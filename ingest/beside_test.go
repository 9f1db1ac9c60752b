package ingest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
)

// TestWroteBeside: other folders below one have logs of a document's jobs, however often that is asked.
func TestWroteBeside(t *testing.T) {
	t.Parallel()
	m := doc("r/fio.json", fiojson.Entry{JobName: "a", Options: jobfile.Options{"write_hist_log": "a"}})
	log := func(path string) found {
		name, _ := parseName(filepath.Base(path))
		return found{Source: &Source{Path: path, Base: filepath.Base(path), Name: name}, dir: filepath.Dir(path)}
	}
	for _, tt := range []struct {
		name string
		logs []string
		want bool
	}{
		{"only its own", []string{"r/1/a_clat_hist.1.log"}, false},
		{"another folder's", []string{"r/1/a_clat_hist.1.log", "r/2/a_clat_hist.1.log"}, true},
		{"of another name", []string{"r/1/a_clat_hist.1.log", "r/2/b_clat_hist.1.log"}, false},
		{"of a folder that is not below", []string{"r/1/a_clat_hist.1.log", "s/2/a_clat_hist.1.log"}, false},
	} {
		d := &discovery{}
		for _, path := range tt.logs {
			d.logs = append(d.logs, log(path))
		}
		o := &ownership{d: d, beside: map[slot]bool{}}
		for range 2 {
			if got := o.wroteBeside(m, "r", "r/1"); got != tt.want {
				t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
			}
		}
	}
}

// TestNoneNames: a folder without logs is an error that says what is there instead.
func TestNoneNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file, text, want string
	}{
		{"nothing", "", "", "write_hist_log=NAME"},
		{"an empty file", "fio.json", "", "fio.json is empty"},
		{"fio's own output", "out.txt", "a: (g=0): rw=read, bs=(R) 4096B-4096B, ioengine=psync, iodepth=1\nfio-3.33\n",
			"out.txt: this is fio's normal output"},
		{"a job file", "a.fio", "[a]\nrw=read\nwrite_hist_log=x\n", "x_clat_hist.N.log"},
	} {
		dir := t.TempDir()
		if tt.file != "" {
			if err := os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		runs, err := Discover([]string{dir}, DiscoverOptions{})
		if err == nil || !IsNoLogs(err) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %d runs, %v; want %q", tt.name, len(runs), err, tt.want)
		}
	}
}
