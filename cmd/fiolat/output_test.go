package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOutputEndings: the name of the file is its format in every command, and what a command cannot write is refused
// before anything is.
func TestOutputEndings(t *testing.T) {
	run, err := filepath.Abs(real + "/randrw")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		command, file string
		begins        string // of the file; "" if it is refused
		says          string // on standard error if it is
	}{
		{"percentiles", "x.csv", "offset_ms,", ""},
		{"percentiles", "X.CSV", "offset_ms,", ""},
		{"percentiles", "x.json", "{", ""},
		{"percentiles", "x.ndjson", `{"offset_ms":0`, ""},
		{"percentiles", "x.jsonl", `{"offset_ms":0`, ""},
		{"percentiles", "x.parquet", "PAR1", ""},
		{"percentiles", "x.md", "| time |", ""},
		{"percentiles", "x.txt", "time ", ""},
		{"percentiles", "x", "time ", ""},
		{"percentiles", ".x", "time ", ""},
		{"percentiles --format md", "x", "| time |", ""},
		{"percentiles --format csv", "x.txt", "offset_ms,", ""},
		{"percentiles --format csv", "x.csv", "offset_ms,", ""},
		{"percentiles --format md", "x.md", "| time |", ""},
		{"percentiles --wide p99 --by direction", "x.csv", "offset_ms,", ""},
		{"percentiles --format csv", "x.json", "", "--output x.json: its ending says another format than --format csv"},
		{"percentiles --format ndjson", "x.json", "", "another format"},
		{"percentiles --format parquet", "x.txt", "", "not .txt"},
		{"percentiles", "x.xlsx", "", "--output x.xlsx: fiolat percentiles writes .csv, .json, .md, .ndjson, .parquet, .xml, not .xlsx"},
		{"percentiles", "x.html", "", "fiolat report -o x.html makes a page"},
		{"percentiles", "x.png", "", "fiolat report -o x.png makes a picture"},
		{"percentiles", "x.xml", "", "--format junit: a test case for each rule: pass --sla"},
		{"percentiles --sla p99<5ms", "x.xml", "<?xml", ""},
		{"percentiles --clock utc", "x.csv", "", "--clock is for tables"},
		{"histogram", "x.csv", "offset_ms,", ""},
		{"histogram", "x.ndjson", `{"offset_ms":0`, ""},
		{"histogram", "x.json", "", "fiolat histogram writes .csv, .ndjson, .parquet, not .json"},
		{"summary", "x.csv", "run,", ""},
		{"summary", "x.ndjson", "{", ""},
		{"summary", "x.parquet", "PAR1", ""},
		{"inspect", "x.json", "{", ""},
		{"inspect", "x.csv", "", "fiolat inspect writes .json, not .csv"},
		{"diagnose", "x.json", "{", ""},
		{"compare " + run, "x.md", "one run per side", ""},
		{"compare " + run, "x.json", "{", ""},
		{"compare " + run, "x.csv", "", "fiolat compare writes .html, .json, .md, .xml, not .csv"},
		{"history --metric p99", "x.csv", "series,metric,run,start,value_ns,lower_ns,upper_ns,change,p\n", ""},
		{"history --metric p99 --metric iops", "x.csv", "series,metric,run,start,value_ns,lower_ns,upper_ns,value_per_second,", ""},
		{"history", "x.html", "<!doctype html>", ""},
		{"history", "x.svg", "<?xml", ""},
		{"history", "x.pdf", "", "not .pdf"},
		{"history --format json", "x.html", "<!doctype html>", ""},
		{"report", "x.htm", "<!doctype html>", ""},
		{"report", "x", "<!doctype html>", ""},
		{"report", "x.svg", "<?xml", ""},
		{"report", "x.PNG", "\x89PNG", ""},
		{"report", "x.csv", "", "fiolat report writes .html, .png, .svg, not .csv; fiolat percentiles -o x.csv writes rows"},
		{"report", "x.txt", "", "not .txt"},
		{"ingest", "x.json", "", "fiolat ingest writes a directory of documents"},
		{"runs --es http://localhost:1", "x.ndjson", "", "fiolat runs writes .csv, .json, .md, .parquet, not .ndjson"},
	} {
		t.Run(tt.command+" "+tt.file, func(t *testing.T) {
			args := strings.Fields(tt.command)
			args = append(slices.Insert(args, 1, "-o", tt.file), run)
			code, stdout, stderr := fiolat(t, nil, args...)
			got, err := os.ReadFile(tt.file)
			if err == nil {
				defer os.Remove(tt.file)
			}
			if tt.begins == "" {
				if left, _ := os.ReadDir("."); code != exitUsage || !strings.Contains(stderr, tt.says) ||
					len(left) > 0 {
					t.Errorf("exit %d, want %d and %q; files: %v\n%s", code, exitUsage, tt.says, left, stderr)
				}
				return
			}
			if code != exitOK || err != nil || !bytes.HasPrefix(got, []byte(tt.begins)) {
				t.Errorf("exit %d, %v: %.40q, want %q\n%s", code, err, got, tt.begins, stderr)
			}
			if drawn := strings.HasPrefix(tt.begins, "<"); !drawn && stdout != "" {
				t.Errorf("also on standard output:\n%s", stdout)
			}
			if strings.HasSuffix(tt.file, ".json") && !json.Valid(got) {
				t.Errorf("no JSON: %.60q", got)
			}
		})
	}
}
