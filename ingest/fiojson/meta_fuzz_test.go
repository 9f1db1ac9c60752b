package fiojson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiolog"
	"fiolat/ingest/jobfile"
)

// FuzzMeta: whatever a file holds, what is read from it is sound, does not depend
// on the text around it, and is read the same when written again.
func FuzzMeta(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "meta", "*", "fio.json"))
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(trimmed(f, text))
	}
	f.Add([]byte(minimal))
	f.Add([]byte("fio: {\"x\n" + minimal[:len(minimal)/2] + minimal + "{}"))
	f.Add([]byte(`{"fio version": "fio-2.10", "jobs": [{"jobname": "\u00e9\"\\", "read": {"clat": {"max": 700, ` +
		`"bins": {"5": 3, "279": 1, "FIO_IO_U_PLAT_NR": 1216}}}}]}`))
	f.Add([]byte(`{"fio version": "x", "global options": [{"hostname": "h", "port": 1, "bs": "4k"}, ` +
		`"a=b"], "client_stats": [{"jobname": "a", "hostname": "h", "trim": {"runtime": nan, "lat_ns": {"N": -1, ` +
		`"min": 18446744073709551615}}}, {"jobname": "All clients"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Parse(bytes.NewReader(text), "x")
		if err != nil {
			var pe *fio.ParseError
			if m != nil || !errors.As(err, &pe) {
				t.Fatalf("%v, %v", m, err)
			}
			return
		}
		sound(t, m)
		again, err := Parse(strings.NewReader("fio: hello\n"+string(text)), "x")
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Fatalf("with text before it: %v\n%+v\n%+v", err, again, m)
		}
		written := rendered(t, m)
		again, err = Parse(strings.NewReader(written), "x")
		if err != nil {
			t.Fatalf("%v in\n%s", err, written)
		}
		want := *m
		want.Documents, want.Cut, want.Warnings = 1, false, nil
		want.ClientServer, want.Global, want.HostGlobal = false, nil, nil
		if !reflect.DeepEqual(again, &want) {
			t.Fatalf("written again: %s\ngot  %+v\nwant %+v", written, again, &want)
		}
	})
}

// trimmed is fio's output without what is not read, since the fuzzer is slow with
// long seeds.
func trimmed(f *testing.F, text []byte) []byte {
	at := bytes.Index(text, []byte("{\n"))
	out := bytes.NewBuffer(bytes.Clone(text[:at]))
	docs := json.NewDecoder(bytes.NewReader(text[at:]))
	docs.UseNumber()
	for docs.More() {
		var doc map[string]any
		if err := docs.Decode(&doc); err != nil {
			f.Fatal(err)
		}
		for _, key := range []string{"jobs", "client_stats"} {
			jobs, _ := doc[key].([]any)
			for _, job := range jobs {
				thin(job.(map[string]any), "latency_", "iodepth_", "sync", "trim", "slat_ns", "lat_ns", "percentile",
					"bw", "iops", "io_", "short_", "drop_", "usr", "sys", "ctx", "m")
			}
		}
		b, err := json.Marshal(doc)
		if err != nil {
			f.Fatal(err)
		}
		out.Write(append(b, '\n'))
	}
	return out.Bytes()
}

func thin(o map[string]any, prefixes ...string) {
	for k, v := range o {
		if inner, ok := v.(map[string]any); ok {
			thin(inner, prefixes...)
		}
		for _, p := range prefixes {
			if strings.HasPrefix(k, p) && k != "min" && k != "max" && k != "mean" {
				delete(o, k)
			}
		}
	}
}

func sound(t *testing.T, m *Document) {
	if len(m.Entries) == 0 || m.Documents == 0 || m.TimestampMS < 0 || m.TimestampMS > fiolog.MaxTime {
		t.Fatalf("%+v", m)
	}
	for _, e := range m.Entries {
		if e.StartMS < 0 || e.RuntimeMS < 0 || e.Elapsed < 0 || e.LongestMS < 0 {
			t.Fatalf("%+v", e)
		}
		for _, d := range e.Dirs {
			if d.RuntimeMS < 0 || d.RuntimeMS > e.LongestMS {
				t.Fatalf("%+v", e)
			}
			for _, k := range d.Kind {
				if k.N > fiolog.MaxCount || k.Min < 0 || k.Max < k.Min || !(k.Mean >= 0) || math.IsInf(k.Mean, 0) {
					t.Fatalf("%+v", k)
				}
				var sum uint64
				last := int64(-1)
				for _, b := range list(t, k.Bins) {
					if b.NS <= last || b.Count == 0 || b.Count > fiolog.MaxCount {
						t.Fatalf("%+v", list(t, k.Bins))
					}
					last = b.NS
					sum += b.Count
				}
				for _, g := range []fiohist.Geometry{fio3, fio3.Coarsen(6), {Groups: fiohist.GroupsV2, Unit: 1000}} {
					counts, err := k.Counts(g)
					if err != nil {
						continue // an overflow, which takes 65,536 bins of MaxCount
					}
					var other uint64
					for _, n := range counts {
						other += n
					}
					if other != sum {
						t.Fatalf("%v: %d of %d", g, other, sum)
					}
				}
			}
		}
	}
}

// rendered is m as stand-alone fio 3 would write it, without the global options.
func rendered(t *testing.T, m *Document) string {
	quote := func(s string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
	}
	var b strings.Builder
	options := func(o jobfile.Options) {
		sep := "{"
		for k, v := range o {
			fmt.Fprintf(&b, "%s%s: %s", sep, quote(k), quote(v))
			sep = ", "
		}
		if len(o) == 0 {
			b.WriteString("{")
		}
		b.WriteString("}")
	}
	fmt.Fprintf(&b, "{\"fio version\": %s, \"timestamp_ms\": %d", quote(m.Version), m.TimestampMS)
	b.WriteString(`, "jobs": [`)
	for i, e := range m.Entries {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"jobname": %s, "hostname": %s, "port": %d, "groupid": %d, "error": %d, "job_start": %d, `+
			`"job_runtime": %d, "elapsed": %d`,
			quote(e.JobName), quote(e.Host), e.Port, e.GroupID, e.Error, e.StartMS, e.RuntimeMS, e.Elapsed)
		if e.Options != nil {
			b.WriteString(`, "job options": `)
			options(e.Options)
		}
		for d, dir := range append(e.Dirs[:], e.Mixed) {
			name := "mixed"
			if d < fio.Directions {
				name = fio.Direction(d).String()
			} else if dir.RuntimeMS == 0 {
				dir.RuntimeMS = e.LongestMS
			}
			fmt.Fprintf(&b, `, %q: {"total_ios": %d, "runtime": %d`, name, dir.TotalIOs, dir.RuntimeMS)
			for k, total := range dir.Kind {
				fmt.Fprintf(&b, `, "%v_ns": {"min": %d, "max": %d, "mean": %v, "N": %d`, fio.Kind(k), total.Min,
					total.Max, total.Mean, total.N)
				sep := `, "bins": {`
				for _, bin := range list(t, total.Bins) {
					fmt.Fprintf(&b, `%s"%d": %d`, sep, bin.NS, bin.Count)
					sep = `, `
				}
				if total.Bins.Len() > 0 {
					b.WriteString("}")
				}
				b.WriteString("}")
			}
			b.WriteString("}")
		}
		b.WriteString("}")
	}
	b.WriteString("]}")
	return b.String()
}
