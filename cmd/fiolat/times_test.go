package main

import "testing"

func TestParseStart(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                     "",
		"mtime":                "mtime",
		"1790000000":           "2026-09-21T14:13:20Z",
		"1790000000500":        "2026-09-21T14:13:20.5Z",
		"2026-01-31T12:00:00Z": "2026-01-31T12:00:00Z",
		"1700-01-01":           "1700-01-01T00:00:00Z",
		"1600-01-01":           "error",
		"2262-05-01T00:00:00Z": "error",
		"9999999999999":        "error",
		"yesterday":            "error",
	} {
		got, err := parseStart(in)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
}
