package stored

import "testing"

func TestLive(t *testing.T) {
	for _, tt := range []struct {
		name                        string
		bytes, count, deleted, want int64
	}{
		{"nothing deleted", 1000, 10, 0, 1000},
		{"half of the documents", 1000, 5, 5, 500},
		{"all of them", 1000, 0, 10, 0},
		{"an empty index", 0, 0, 0, 0},
	} {
		if got := live(tt.bytes, tt.count, tt.deleted); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
