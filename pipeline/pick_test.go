package pipeline

import (
	"slices"
	"testing"

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
