package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// printedUse is what inspect says of a log.
type printedUse struct {
	Path    string   `json:"path"`
	Use     string   `json:"use"`
	Why     []string `json:"why"`
	Options []string `json:"fio_options"`
}

// TestLogUses: inspect says of each log whether it was used, and what option of fio's
// led to that.
func TestLogUses(t *testing.T) {
	t.Parallel()
	record := "300, 0, 4096, 5" + strings.Repeat(", 0", 1855) + "\n"
	for _, tc := range []struct {
		name, file, log string
		use, why        string
		options         string
	}{
		{"used", "x_clat_hist.1.log", record, "used", "", ""},
		{"empty for want of an option", "x_clat_hist.1.log", "", "not used", "add the line", "log_hist_msec"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range map[string]string{
				tc.file:             tc.log,
				"x_clat_hist.2.log": strings.Replace(record, "300", "400", 1),
				"x.fio":             "[x]\nwrite_hist_log=x\nnumjobs=2\nrw=read\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, stdout, stderr := fiolat(t, nil, "inspect", "--log-hist-msec", "300", "--format", "json", dir)
			var got struct {
				Use []printedUse `json:"use"`
			}
			if err := json.Unmarshal([]byte(stdout), &got); err != nil {
				t.Fatal(err, stdout, stderr)
			}
			if len(got.Use) != 2 {
				t.Fatalf("%+v", got.Use)
			}
			v := got.Use[0]
			if v.Use != tc.use || !strings.Contains(strings.Join(v.Why, "\n"), tc.why) || strings.Join(v.Options,
				" ") != tc.options {
				t.Errorf("%+v", v)
			}
			if other := got.Use[1]; other.Use != "used" {
				t.Errorf("%+v", other)
			}
		})
	}
}

// TestFindNamed: a text names a file where the name ends, and not where a longer one begins.
func TestFindNamed(t *testing.T) {
	t.Parallel()
	texts := []string{
		"skipped: d/a.log: 17: cut short", "d/a.log.h1, d/b.log; d/b.log: twice", "all is well", "see d/b.log",
		"xd/a.log",
	}
	naming := map[string][]int{"d/a.log": nil, "d/b.log": nil, "d/a.log.h1": nil, "b.log": nil, "": nil}
	findNamed(texts, naming)
	want := map[string][]int{"d/a.log": {0, 4}, "d/b.log": {1, 3}, "d/a.log.h1": {1}, "b.log": {1, 3}, "": nil}
	if !reflect.DeepEqual(naming, want) {
		t.Errorf("%v, want %v", naming, want)
	}
}
