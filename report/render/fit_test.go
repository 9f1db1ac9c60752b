package render

import (
	"strings"
	"testing"

	"fiolat/internal/ui"
)

// Shortened names fit, and stay different; where that cannot be, all stay as they are.
func TestShorten(t *testing.T) {
	for name, tt := range map[string]struct {
		names string
		most  int
		want  string
	}{
		"one":           {"storage-node-0017.example.com", 11, "stora…e.com"},
		"the ends tell": {"alpha-client-1 beta-client-2", 9, "alph…nt-1 beta…nt-2"},
		"the middle": {"storage-node-0017.example.com storage-node-0018.example.com", 11,
			"…-0017.exa… …-0018.exa…"},
		"two places": {"storage-1-client-1.example.com storage-2-client-2.example.com", 13,
			"…e-1-c…t-1.e… …e-2-c…t-2.e…"},
		"other lengths": {"storage-node-9.rack.example.com storage-node-10.rack.example.com", 16,
			"storage-node-9… storage-node-10…"},
		"too many places": {"xx1y1y1y1y1xx xx2y2y2y2y2xx", 5, ""},
	} {
		got := shorten(strings.Fields(tt.names), tt.most)
		var text []string
		for _, n := range strings.Fields(tt.names) {
			if got != nil {
				text = append(text, got[n])
			}
			if ui.TextWidth(got[n]) > tt.most {
				t.Errorf("%s: %q is wider than %d", name, got[n], tt.most)
			}
		}
		if strings.Join(text, " ") != tt.want {
			t.Errorf("%s: %q, want %q", name, text, tt.want)
		}
	}
}
