//go:build integration

package kibana

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fiolat/kibana/kibanatest"
)

// TestFirstDay opens every panel before there is a run: charts draw "no data" in words, without an error, and
// tables find their fields as soon as there is an empty index of each kind.
func TestFirstDay(t *testing.T) {
	s := &stored{es: os.Getenv("FIOLAT_TEST_ES"), prefix: "first" + strings.ToLower(time.Now().UTC().Format("150405.000000")), fiolat: filepath.Join(t.TempDir(), "fiolat")}
	if url := os.Getenv("FIOLAT_TEST_ES_URL"); url != "" {
		s.es, s.full = url, true
	}
	if s.es == "" {
		t.Fatal(`FIOLAT_TEST_ES is not set: eval "$(scripts/elasticsearch up)"`)
	}
	s.prefix = strings.ReplaceAll(s.prefix, ".", "")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", s.fiolat, "../cmd/fiolat").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	remove := func() {
		_, indices := s.try(t, "GET", "/"+s.prefix+"-*", nil)
		for name := range indices {
			s.try(t, "DELETE", "/"+name, nil)
		}
	}
	t.Cleanup(func() {
		remove()
		s.try(t, "DELETE", "/_index_template/"+s.prefix+"-*", nil)
	})
	s.command(t, "setup", "--index-prefix", s.prefix)
	s.bundle = parse(bytes.ReplaceAll(write(t, "fio"), []byte("fio-"), []byte(s.prefix+"-")))
	s.to = time.Now()
	s.from = s.to.Add(-time.Hour)
	p := browse(t, s)
	space := s.bundle.space

	each := func(t *testing.T, found func(o *kibanatest.Object) bool) {
		fields := s.fields(t)
		for _, d := range space.Of(typeDashboard) {
			for _, panel := range space.Panels(d) {
				st, o := space.Open(d, s.from, s.to), panel.Object
				if kibanatest.Spec(o) != nil {
					if empty := p.empty(t, "5.33", st, o); !empty {
						t.Errorf("%s does not say so", o.Title())
					}
					continue
				}
				lens, err := space.Lens(o, st, fields, time.Minute)
				if (err == nil) != found(o) {
					t.Errorf("%s: %v", o.Title(), err)
				}
				if err != nil {
					continue
				}
				for key, row := range lens.Rows(s.search(t, lens.Request)) {
					for column, v := range row {
						if v != nil && v != 0.0 && !strings.HasPrefix(o.ID, s.prefix+"-events") {
							t.Errorf("%s: %s of %s is %v", o.Title(), column, key, v)
						}
					}
				}
			}
		}
	}
	t.Run("after setup", func(t *testing.T) { each(t, func(*kibanatest.Object) bool { return true }) })
	t.Run("events only", func(t *testing.T) {
		s.ask(t, "POST", "/"+s.prefix+"-event-"+s.to.UTC().Format("2006.01")+"/_doc?refresh=true",
			m{"@timestamp": s.to.Add(-time.Minute).UTC().Format(time.RFC3339), "run": m{"id": "r"}, "event": m{"action": "note"}, "message": "osd.12 down", "interval": m{"offset_ms": 0}})
		each(t, func(*kibanatest.Object) bool { return true })
	})
	t.Run("templates only", func(t *testing.T) {
		remove()
		each(t, func(*kibanatest.Object) bool { return false })
	})
}
