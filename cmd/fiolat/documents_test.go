package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"fiolat/fio"
	"fiolat/internal/runsource"
)

// The words of a printed command are what a shell makes of them, and can be printed.
func TestLine(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	words := []string{"a b", "it's", `"$HOME" \ $(x) %d`, "esc\x1b[31m", "new\nline'\t%s\\n",
		"ü\xff", "\u202e", "-e\a"}
	o := runsource.Elasticsearch{Flags: func() []string { return []string{"--es", "http://es:9200"} }}
	line := shellLine(&o, "load", words...)
	if fio.Printable(line) != line {
		t.Errorf("not all of it can be printed: %q", line)
	}
	out, err := exec.Command(sh, "-c", `fiolat() { for w in "$@"; do printf '%s\0' "$w"; done; }; `+line).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join(append([]string{"load", "--es", "http://es:9200"}, words...), "\x00") + "\x00"
	if string(out) != want {
		t.Errorf("%s\ngives %q, want %q", line, out, want)
	}
}

// ingest --format parquet has every field of every document that --format bulk writes, with its value, and nothing
// else.
func TestDocumentTables(t *testing.T) {
	for name, args := range map[string][]string{
		"cluster": {"--label", "a.b=c", "--sla", "read p99 < 0.15ms", "--percentiles", "50,99.9,99.99", "--by",
			"host,job,direction"},
		"latkinds": {"--kind", "all"},
		"slow":     {"--by", "log", "--interval", "2s"},
	} {
		t.Run(name, func(t *testing.T) {
			bulk, tables := t.TempDir(), t.TempDir()
			for dir, format := range map[string]string{bulk: "bulk", tables: "parquet"} {
				code, _, stderr := fiolat(t, nil, slices.Concat([]string{"ingest", "--run-id", "R", "--format", format,
					"--output", dir}, args, []string{"../../testdata/fio/" + name})...)
				if code != 0 {
					t.Fatalf("exit %d: %s", code, stderr)
				}
			}
			files, _ := filepath.Glob(bulk + "/*.ndjson")
			if len(files) < 3 {
				t.Fatal(files)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				index, tail, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".ndjson"), ".R")
				kind := strings.Split(index, "-")[1]
				rows := tableRows(t, filepath.Join(tables, kind+".R"+tail+".parquet"))
				lines := strings.Split(strings.TrimSpace(string(text)), "\n")
				if len(lines) != 2*len(rows) {
					t.Errorf("%s: %d rows, want %d", index, len(rows), len(lines)/2)
					continue
				}
				for i, row := range rows {
					var doc map[string]any
					if err := json.Unmarshal([]byte(lines[2*i+1]), &doc); err != nil {
						t.Fatal(err)
					}
					sameRow(t, "", doc, row)
					for name, v := range row {
						t.Errorf("%s: row %d has %s %v", index, i, name, v)
					}
					if t.Failed() {
						break
					}
				}
			}
		})
	}
}

// tableRows returns the rows of a Parquet file, without what is null.
func tableRows(t *testing.T, path string) (out []map[string][]parquet.Value) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := parquet.NewReader(f)
	columns := r.Schema().Columns()
	buf := make([]parquet.Row, 1)
	for {
		n, err := r.ReadRows(buf)
		if n == 0 {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			return out
		}
		row := map[string][]parquet.Value{}
		for _, v := range buf[0] {
			name := columns[v.Column()][0]
			if !v.IsNull() {
				row[name] = append(row[name], v.Clone())
			} else if v.DefinitionLevel() > 0 { // an empty list
				row[name] = nil
			}
		}
		out = append(out, row)
	}
}

// sameRow compares the fields of a document with a row, and removes from that what is the same.
func sameRow(t *testing.T, prefix string, fields map[string]any, row map[string][]parquet.Value) {
	t.Helper()
	for name, want := range fields {
		name := prefix + name
		got, ok := row[name]
		object, isObject := want.(map[string]any)
		switch {
		case want == nil:
			if ok {
				t.Errorf("%s: %v, want null", name, got)
			}
			continue
		case isObject && !ok:
			sameRow(t, name+".", object, row)
			continue
		}
		if list, isList := want.([]any); !isList || len(got) == 1 && isJSON(got[0]) {
			if len(got) != 1 || !sameValue(want, got[0]) {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		} else if !slices.EqualFunc(list, got, sameValue) {
			t.Errorf("%s: %v, want %v", name, got, list)
		}
		delete(row, name)
	}
}

func isJSON(v parquet.Value) bool {
	return v.Kind() == parquet.ByteArray && strings.HasPrefix(v.String(), "[{")
}

func sameValue(want any, got parquet.Value) bool {
	switch want := want.(type) {
	case float64:
		if got.Kind() == parquet.Int64 {
			return got.Int64() == int64(want)
		}
		return got.Kind() == parquet.Double && got.Double() == want
	case bool:
		return got.Kind() == parquet.Boolean && got.Boolean() == want
	case string:
		at, err := time.Parse(time.RFC3339Nano, want)
		return got.Kind() == parquet.ByteArray && got.String() == want ||
			err == nil && got.Kind() == parquet.Int64 && got.Int64() == at.UnixMilli()
	}
	var v any
	return json.Unmarshal(got.Bytes(), &v) == nil && reflect.DeepEqual(v, want)
}
