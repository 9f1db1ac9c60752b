package fio

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestSettingsCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*Settings)
		want   string
	}{
		{"defaults", func(*Settings) {}, ""},
		{"zero value", func(s *Settings) { *s = Settings{} }, `grid is "": want one of ["run" "epoch"]`},
		{"align", func(s *Settings) { s.Align = "middle" }, `align is "middle"`},
		{"record time", func(s *Settings) { s.RecordTime = "" }, `record_time is ""`},
		{"repair", func(s *Settings) { s.Repair = "maybe" }, `repair is "maybe"`},
	} {
		s := Defaults()
		tt.change(&s)
		err := s.Check()
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestSettingsRead: what a document says of settings is read back as they were, and no field is left out.
func TestSettingsRead(t *testing.T) {
	t.Parallel()
	rules, err := ParseSLARules([]string{"read p99 < 5ms"})
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{Interval: time.Second, Grid: "epoch", Align: "inflight", RecordTime: "start", By: []string{"host"},
		Percentiles: []float64{50, 99.9}, Coarseness: 3, LogHistMsec: 100, FioVersion: 2, Repair: "no", Restore: true,
		SkipBad: true, Kind: Lat, Start: "mtime", Offsets: map[string]time.Duration{"h": -time.Millisecond},
		SLA: rules}
	of := reflect.ValueOf(want)
	for i := range of.NumField() {
		if of.Field(i).IsZero() {
			t.Errorf("%s is not tried", of.Type().Field(i).Name)
		}
	}
	text, err := json.Marshal(want.Document())
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var got Settings
	if err := got.Read(doc); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	doc["by"] = "host" // as Elasticsearch gives a list of one
	if err := got.Read(doc); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	delete(doc, "kind")
	if err := got.Read(doc); err == nil {
		t.Error("no error without a kind")
	}
}
