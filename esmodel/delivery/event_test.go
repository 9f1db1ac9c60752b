package delivery

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
	"fiolat/esmodel/indices"
)

// TestEventIngested: what sends an event puts in when, once; files have no such time, so what is loaded later alerts
// then.
func TestEventIngested(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{})
	c := testClient(t, client.Config{Addresses: []string{s.URL}, MaxWait: 30 * time.Millisecond})
	if _, err := indices.EnsureTemplates(t.Context(), c, "fio"); err != nil {
		t.Fatal(err)
	}
	const index, id = "fio-event-2026.08", "x"
	doc := []byte(`{"@timestamp":"2026-08-31T00:00:00.000Z","run":{"id":"r"},"event":{"action":"sla-breach",` +
		`"start":"2026-08-31T00:00:00.000Z"},"message":"m"}`)
	ingested := func() time.Time {
		t.Helper()
		var d struct{ Event struct{ Ingested time.Time } }
		if err := json.Unmarshal([]byte(esmodeltest.Contents(s)[index+"/"+id]), &d); err != nil {
			t.Fatalf("%v in %v", err, esmodeltest.Contents(s))
		}
		return d.Event.Ingested
	}
	send := func(spool string) Report {
		t.Helper()
		w, err := NewBulkWriter(c, BulkConfig{SpoolDir: spool, MaxWait: 30 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if err = w.Add(t.Context(), index, []byte(id), doc); err != nil {
			t.Fatal(err)
		}
		if err = w.Flush(t.Context()); err != nil && spool == "" {
			t.Fatal(err)
		}
		if err = w.Close(t.Context(), spool == ""); err != nil && spool == "" {
			t.Fatal(err)
		}
		return w.Report()
	}
	dir := t.TempDir()
	s.Inject(esmodeltest.Fault{Status: 503, Times: -1})
	if r := send(dir).Total(); r.Spooled != 1 {
		t.Fatalf("%+v", r)
	}
	s.Heal()
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 1 {
		t.Fatalf("files %v", files)
	}
	text, err := os.ReadFile(files[0])
	if want := string(esmodel.AppendAction(nil, "index", index, id, 0, 0)) + string(doc) + "\n"; err != nil ||
		!bytes.Equal(text, []byte(want)) {
		t.Errorf("spooled %s, want %s", text, want)
	}
	before := time.Now().Truncate(time.Millisecond)
	if r := send("").Total(); r.Indexed != 1 {
		t.Errorf("%+v", r)
	}
	first := ingested()
	if first.Before(before) || first.After(time.Now()) {
		t.Errorf("sent at %v, now it is %v", first, before)
	}
	time.Sleep(3 * time.Millisecond)
	if r := send("").Total(); r.Indexed != 1 || r.Refused != 0 {
		t.Errorf("sent again: %+v", r)
	}
	if again := ingested(); !again.Equal(first) {
		t.Errorf("sent again, it was sent at %v, not %v", again, first)
	}
}
