package pipeline

import (
	"slices"
	"testing"

	"fiolat/ingest"
	"fiolat/ingest/fiojson"
)

// TestPickCut: of an entry that stands for several sections, the job that is picked keeps its own section only, and so
// the options of no other.
func TestPickCut(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		jobs  []string
		entry fiojson.Entry
		kept  bool
		left  []string
	}{
		{"no pick", nil, entryOf("group", "a", "b"), true, []string{"a", "b"}},
		{"one of two", []string{"b"}, entryOf("group", "a", "b"), true, []string{"b"}},
		{"both", []string{"a", "b"}, entryOf("group", "a", "b"), true, []string{"a", "b"}},
		{"none of them", []string{"c"}, entryOf("group", "a", "b"), false, nil},
		{"by its own name", []string{"a"}, entryOf("a"), true, nil},
		{"another's name", []string{"b"}, entryOf("a"), false, nil},
	} {
		before := slices.Clone(tc.entry.Sections)
		p := Pick{Jobs: tc.jobs}
		e := tc.entry
		if got := p.cut(&e); got != tc.kept {
			t.Errorf("%s: kept is %v", tc.name, got)
		}
		var left []string
		for _, s := range e.Sections {
			left = append(left, s.Name)
		}
		if !slices.Equal(left, tc.left) {
			t.Errorf("%s: sections %q are left, want %q", tc.name, left, tc.left)
		}
		for i, s := range tc.entry.Sections {
			if s.Name != before[i].Name {
				t.Errorf("%s: the entry that was read is changed: %q", tc.name, s.Name)
			}
		}
	}
}

func entryOf(job string, sections ...string) fiojson.Entry {
	e := fiojson.Entry{JobName: job}
	for _, name := range sections {
		e.Sections = append(e.Sections, fiojson.Section{Name: name})
	}
	return e
}

// TestWindow: what lies in a window of time, at and beyond its ends.
func TestWindow(t *testing.T) {
	t.Parallel()
	w := Window{From: 10, To: 20}
	for _, tc := range []struct {
		start, end int64
		share      float64
	}{
		{10, 20, 1}, {12, 14, 1}, {0, 40, 0.25}, {5, 15, 0.5}, {18, 22, 0.5}, {0, 10, 0}, {20, 30, 0}, {30, 40, 0},
	} {
		if got := w.Share(tc.start, tc.end); got != tc.share {
			t.Errorf("[%d, %d): %g, want %g", tc.start, tc.end, got, tc.share)
		}
	}
}

// TestChooseLog: with a log, the totals that are kept are those of its host and job.
func TestChooseLog(t *testing.T) {
	t.Parallel()
	entry := func(host, job string) fiojson.Entry { return fiojson.Entry{Host: host, JobName: job} }
	log := func(name, host, job string) *Log {
		return &Log{Log: &ingest.Log{LogName: name, Host: host, Job: job}}
	}
	for _, tt := range []struct {
		name string
		pick Pick
		want []string
	}{
		{"one log", Pick{Logs: []string{"x"}}, []string{"h1 a"}},
		{"two logs", Pick{Logs: []string{"x", "z"}}, []string{"h1 a", "h2 c"}},
		{"the log and the host of another", Pick{Logs: []string{"x", "y"}, Hosts: []string{"h2"}}, []string{"h2 b"}},
	} {
		r := &Run{Logs: []*Log{log("x", "h1", "a"), log("y", "h2", "b"), log("z", "h2", "c")},
			Metas: []*fiojson.Document{{Entries: []fiojson.Entry{entry("h1", "a"), entry("h2", "b"),
				entry("h2", "c")}}}}
		if err := r.Choose(&tt.pick); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range r.Metas {
			for _, e := range m.Entries {
				got = append(got, e.Host+" "+e.JobName)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: totals of %q, want %q", tt.name, got, tt.want)
		}
	}
}
