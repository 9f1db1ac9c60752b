package fio

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestSupported(t *testing.T) {
	for _, tt := range []struct {
		version    string
		old, newer bool
	}{
		{"7.17.9", true, false}, {"8.11.4", true, false}, {"8.12.0", false, false}, {"8.19.0", false, false},
		{"9.5.3", false, false}, {"10.0.0", false, true}, {"", false, false}, {"word", false, false},
		{"10.0.0-SNAPSHOT", false, true},
	} {
		if old, newer := SupportedElastic(tt.version); old != tt.old || newer != tt.newer {
			t.Errorf("%q: old %v, newer %v", tt.version, old, newer)
		}
	}
}

// TestVersionsOfTests: the versions that tests run on are supported, and the pages name the same ones.
func TestVersionsOfTests(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	servers := regexp.MustCompile(`[0-9]+\.[0-9]+\.[0-9]+`).FindAllString(string(makefile), -1)
	if len(servers) < 2 {
		t.Fatalf("servers %q", servers)
	}
	for _, v := range servers {
		if old, newer := SupportedElastic(v); old || newer {
			t.Errorf("the Makefile tests with %s", v)
		}
	}
	for _, page := range []string{"../README.md", "../docs/kibana.md", "../CONTRIBUTING.md"} {
		text, err := os.ReadFile(page)
		if err != nil || !strings.Contains(string(text), ElasticVersions) {
			t.Errorf("%s does not say %q: %v", page, ElasticVersions, err)
		}
	}
}
