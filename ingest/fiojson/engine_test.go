package fiojson

import (
	"strings"
	"testing"

	"fiolat/ingest/jobfile"
)

func TestFindEngine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, engine, version string
		depth                 int
		want                  Measure
		ok                    bool
	}{
		{"synchronous", "psync", "fio-3.33", 1, Sync, true},
		{"asynchronous", "rbd", "fio-3.33", 32, Async, true},
		{"with commit", "io_uring", "", 0, CommitSlat, true},
		{"with commit, without slat", "ime_aio", "fio-3.41", 8, CommitOnly, true},
		{"null at depth 1", "null", "fio-3.33", 1, Sync, true},
		{"null at depth 1, old", "null", "fio-3.1", 1, Sync, true},
		{"null, deep", "null", "fio-3.31", 8, CommitSlat, true},
		{"null, deep, old", "null", "fio-3.30", 8, CommitOnly, true},
		{"nfs", "nfs", "fio-3.31", 8, Async, true},
		{"nfs, old", "nfs", "fio-3.27", 8, CommitOnly, true},
		{"somebody else's", "external:/opt/mine.so", "fio-3.33", 8, Sync, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e, ok := FindEngine(tc.engine, tc.version, tc.depth)
			if ok != tc.ok || e.Measure != tc.want {
				t.Errorf("%v, %v; want %v, %v", e.Measure, ok, tc.want, tc.ok)
			}
		})
	}
}

func TestMetaExplain(t *testing.T) {
	t.Parallel()
	m := &Document{Version: "fio-3.33", Global: jobfile.Options{"ioengine": "libaio", "iodepth": "8"}, Entries: []Entry{
		{}, {}, {Options: jobfile.Options{"ioengine": "null", "iodepth": "1"}},
		{Options: jobfile.Options{"ioengine": "external:x.so"}},
	}}
	got := m.Explain()
	if len(got) != 3 || !strings.HasPrefix(got[0], "libaio (asynchronous with commit") || !strings.HasPrefix(got[1],
		"null (synchronous)") || !strings.HasPrefix(got[2], "external:x.so: not one") {
		t.Errorf("%q", got)
	}
	if got = (&Document{Entries: []Entry{{}}}).Explain(); len(got) != 1 || !strings.HasPrefix(got[0],
		"psync (synchronous)") {
		t.Errorf("without ioengine: %q", got)
	}
}

// TestDefaultDepth: a job without iodepth has fio's default, 1, at which null measures as a synchronous engine does.
func TestDefaultDepth(t *testing.T) {
	t.Parallel()
	for depth, want := range map[string]Measure{"": Sync, "1": Sync, "8": CommitSlat} {
		options := jobfile.Options{"ioengine": "null"}
		if depth != "" {
			options["iodepth"] = depth
		}
		got := (&Document{Version: "fio-3.33", Entries: []Entry{{Options: options}}}).Engines()
		if len(got) != 1 || got[0].Measure != want {
			t.Errorf("%q: %+v, want %v", depth, got, want)
		}
	}
}
