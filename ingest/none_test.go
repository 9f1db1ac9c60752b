package ingest

import (
	"path/filepath"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/ingest/source"
)

// TestNoneButPacked: of files that fio packed, the first is named, and how many more there are below the folder.
func TestNoneButPacked(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for n, want := range []string{1: "but " + root + "/0: packed", 2: root + "/0 (and 1 more): packed",
		3: root + "/0 (and 2 more): packed"} {
		d := newDiscovery(DiscoverOptions{})
		d.packed = []*source.PackedError{{ParseError: fio.ParseError{File: "/elsewhere/log", Msg: "other"}}}
		for i := range n {
			d.packed = append(d.packed, &source.PackedError{ParseError: fio.ParseError{
				File: filepath.Join(root, string(rune('0'+i))), Msg: "packed"}})
		}
		if err := d.noneBelow(root); n > 0 && !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v, want %q", n, err, want)
		}
	}
}
