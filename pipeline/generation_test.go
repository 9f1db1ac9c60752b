package pipeline

import (
	"reflect"
	"regexp"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
	"fiolat/internal/testkit"
)

// textOf is the text that a generation is the hash of.
func textOf(s *fio.Settings, r *Run, m *fiojson.Document) string {
	var text []byte
	g := newGeneration("logs")
	g.text = &text
	g.settings(s)
	g.run(r)
	g.meta(m)
	g.named(r)
	return string(text)
}

// TestGenerationText pins the text: it is what stored generations were made of. Another one needs another
// FormatVersion.
func TestGenerationText(t *testing.T) {
	t.Parallel()
	s := fio.Settings{
		Interval: time.Second, Grid: "run", Align: "overlap", RecordTime: "end", By: []string{"host", "direction"},
		Percentiles: []float64{50, 99.9}, Coarseness: -1, LogHistMsec: 100, Repair: "auto", Restore: true,
		Kind: fio.Slat, Start: "2026-01-31T12:00:00Z", SLA: testkit.Rules(t, "read p99 < 5ms"),
		Offsets: map[string]time.Duration{"b": -time.Millisecond, "a": 1},
	}
	r := Run{Start: 17, Part: "p", Name: "a \"name\"\n", Labels: map[string]string{"k": "v", "j": ""}}
	m := fiojson.Document{Path: "not part of it", Version: "fio-3.33", TimestampMS: 5,
		Global:       jobfile.Options{"rw": "read"},
		ClientServer: true, HostGlobal: map[string]jobfile.Options{"h": {"iodepth": "2"}}}
	e := fiojson.Entry{
		JobName: "a", Host: "h", Port: 8765, GroupID: 1, StartMS: 2, RuntimeMS: 3, LongestMS: 4, Elapsed: 5, Error: 6,
		Errors: 26, Options: jobfile.Options{"bs": "4k", "thread": ""},
	}
	e.Dirs[fio.Write].TotalIOs, e.Dirs[fio.Write].RuntimeMS = 12, 3
	e.Dirs[fio.Write].Kind[fio.Clat] = fiojson.Totals{
		N: 12, Min: 1, Max: 99, Mean: 1.5, Bins: fiojson.NewBins([]fiojson.Bin{{NS: 1, Count: 11}, {NS: 99, Count: 1}}),
	}
	m.Entries = []fiojson.Entry{e}
	const want = `fiolat generation 12 logs
setting.interval 1000000000
setting.grid "run"
setting.align "overlap"
setting.record-time "end"
setting.by "host"
setting.by "direction"
setting.percentile 50
setting.percentile 99.9
setting.coarseness -1
setting.log-hist-ms 100
setting.fio-version 0
setting.repair "auto"
setting.restore true
setting.skip-bad false
setting.kind "slat"
setting.start "2026-01-31T12:00:00Z"
setting.offset "a" 1
setting.offset "b" -1000000
setting.sla "read p99 < 5ms"
run.start 17
run.part "p"
fio "fio-3.33"
fio.time-ms 5
fio.client true
fio.global "rw" "read"
fio.host-global "h" "iodepth" "2"
job "a" "h"
job.port 8765
job.group 1
job.start-ms 2
job.runtime-ms 3
job.longest-ms 4
job.elapsed-s 5
job.error 6
job.errors 26
job.option "bs" "4k"
job.option "thread" ""
job.total "write" 12 3 0
job.latency "write" "clat" 12 1 99 1.5
job.bin 1 11
job.bin 99 1
run.name "a \"name\"\n"
run.label "j" ""
run.label "k" "v"
`
	if got := textOf(&s, &r, &m); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// inNoDocument matches what no document says, and what only follows from the rest.
var inNoDocument = regexp.MustCompile(`\.(Percentiles|Prios|Sync|Placed|BeganMS|Part|Void|Running|Sample)(\.|$)`)

// TestGenerationComplete: each setting, and each thing that fio says, is part of the text. A new field fails here until
// it is.
func TestGenerationComplete(t *testing.T) {
	t.Parallel()
	var s fio.Settings
	m := fiojson.Document{Entries: make([]fiojson.Entry, 1)}
	empty := textOf(&s, &Run{}, &m)
	for _, what := range []any{&s, &m.Entries[0]} {
		eachField(t, reflect.ValueOf(what).Elem(), "", func(path string) {
			if inNoDocument.MatchString(path) {
				return
			}
			if textOf(&s, &Run{}, &m) == empty {
				t.Errorf("%T%s is not in the text", what, path)
			}
		})
	}
	if textOf(&s, &Run{}, &m) != empty {
		t.Error("a field was not set back")
	}
}

// eachField sets one field after the other, calls changed, and sets it back.
func eachField(t *testing.T, v reflect.Value, path string, changed func(path string)) {
	set := func(x reflect.Value) {
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		v.Set(x)
		changed(path)
		v.Set(old)
	}
	if bins, ok := v.Addr().Interface().(*fiojson.Bins); ok {
		set(reflect.ValueOf(fiojson.NewBins([]fiojson.Bin{{NS: 1, Count: 1}})))
		if bins.Len() > 0 {
			t.Errorf("%s was not set back", path)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			eachField(t, v.Field(i), path+"."+v.Type().Field(i).Name, changed)
		}
	case reflect.Array:
		for i := range v.Len() {
			eachField(t, v.Index(i), path+"[]", changed)
		}
	case reflect.Slice:
		set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		m := reflect.MakeMap(v.Type())
		m.SetMapIndex(reflect.Zero(v.Type().Key()), reflect.Zero(v.Type().Elem()))
		set(m)
	case reflect.String:
		set(reflect.ValueOf("x").Convert(v.Type()))
	case reflect.Bool:
		set(reflect.ValueOf(true))
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Uint8, reflect.Float64:
		set(reflect.ValueOf(1).Convert(v.Type()))
	default:
		t.Fatalf("%s: %v", path, v.Kind())
	}
}
