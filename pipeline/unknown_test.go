package pipeline

import (
	"strings"
	"testing"
)

// TestUnknownNames: who asks for a name that a run does not have is told those that it has.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	r := &Run{ID: "r"}
	for _, tt := range []struct {
		name  string
		names []string
		want  string
	}{
		{"none", nil, "does not know its hosts"},
		{"only an unknown one", []string{""}, "does not know its hosts"},
		{"one", []string{"osd1"}, "has the host osd1 only"},
		{"one and an unknown one", []string{"", "osd1"}, "has the host osd1 only"},
		{"three", []string{"a", "b", "c"}, "has the hosts a, b, c"},
		{"many", []string{"a", "b", "c", "d"}, "has 4 hosts, but none like this; the nearest are"},
	} {
		if got := r.unknown("host", "x", tt.names).Error(); !strings.HasPrefix(got, "--only host=x: ") ||
			!strings.Contains(got, tt.want) {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}
