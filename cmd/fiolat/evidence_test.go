package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEvidence checks that each test which docs/evidence.md names is in the package it names.
func TestEvidence(t *testing.T) {
	page, err := os.ReadFile("../../docs/evidence.md")
	if err != nil {
		t.Fatal(err)
	}
	cell := regexp.MustCompile("\\| ((?:`Test[A-Za-z]+`(?:, )?)+) in ([a-z/]+) \\|")
	named := 0
	for _, cell := range cell.FindAllStringSubmatch(string(page), -1) {
		files, err := filepath.Glob(filepath.Join("../..", cell[2], "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: no tests, %v", cell[2], err)
		}
		var source strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(text)
		}
		for name := range strings.SplitSeq(cell[1], ", ") {
			named++
			if name = strings.Trim(name, "`"); !strings.Contains(source.String(), "\nfunc "+name+"(") {
				t.Errorf("%s has no %s", cell[2], name)
			}
		}
	}
	if all := strings.Count(string(page), "`Test"); named == 0 || named != all {
		t.Errorf("%d tests are named, %d of them in rows of the table", all, named)
	}
}
