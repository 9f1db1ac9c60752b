package logs

import (
	"testing"
	"unsafe"

	"fiolat/ingest/fiojson"
)

// TestSizes: what each of many thousand logs takes besides its records stays in its size class of the allocator.
func TestSizes(t *testing.T) {
	t.Parallel()
	for of, tt := range map[string]struct{ size, most uintptr }{
		"a log":                  {unsafe.Sizeof(State{}), 3072},
		"an entry of fio's JSON": {unsafe.Sizeof(fiojson.Entry{}), 1280},
	} {
		if tt.size > tt.most {
			t.Errorf("%s takes %d bytes, want at most %d", of, tt.size, tt.most)
		}
	}
}
