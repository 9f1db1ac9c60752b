package pipeline

import (
	"strings"
	"testing"
)

func TestSettingsCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*Settings)
		want   string
	}{
		{"defaults", func(*Settings) {}, ""},
		{"zero value", func(s *Settings) { *s = Settings{} }, `Grid is "": want one of ["run" "epoch"]`},
		{"align", func(s *Settings) { s.Align = "middle" }, `Align is "middle"`},
		{"record time", func(s *Settings) { s.RecordTime = "" }, `RecordTime is ""`},
		{"repair", func(s *Settings) { s.Repair = "maybe" }, `Repair is "maybe"`},
	} {
		s := Defaults()
		tt.change(&s)
		err := s.Check()
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
