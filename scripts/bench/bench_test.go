package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCut(t *testing.T) {
	data := []byte("a\nb\nccc\ndddd\ne\nf\n")
	for _, tt := range []struct{ size, want int }{{1, 4}, {4, 4}, {12, 4}, {13, 13}, {16, 13}, {17, 17}, {1000, 17}} {
		if got := cut(data, tt.size); got != tt.want {
			t.Errorf("size %d: %d bytes, want %d", tt.size, got, tt.want)
		}
	}
}

// The table takes the place of the one before, and the text around it stays.
func TestWrite(t *testing.T) {
	name := filepath.Join(t.TempDir(), "benchmarks.md")
	if err := os.WriteFile(name, []byte("# A\n"+begin+"old\n"+end+"z\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &document{machine: "2 cores"}
	first := result{contender: &contender{name: "fiolat", bytes: 3e9}, samples: []sample{{wall: time.Second},
		{wall: 2 * time.Second}}, wall: 1500 * time.Millisecond, ratio: 1, memory: 12.3, highest: 13.6}
	second := result{contender: &contender{name: "slow"}, samples: []sample{{wall: time.Minute}}, wall: time.Minute,
		ratio: 40}
	second.wanted, second.met = timesAs(300)(second, nil)
	d.add(part{name: "read", title: "reading"}, []result{first, second})
	for range 2 {
		if err := d.write(name); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := os.ReadFile(name)
	text := string(got)
	for _, want := range []string{
		"# A\n" + begin, end + "z\n", "Measured on 2 cores.", "|**reading** (read)|",
		"|fiolat|1.5|2.00 GB/s|12 (up to 14)|1|||",
		"|slow|60||0|40|at least 300 times|**no**|",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\nold") || strings.Count(text, "|slow|") != 1 {
		t.Errorf("not replaced:\n%s", text)
	}
	if err := os.WriteFile(name, []byte("nothing"), 0o600); err != nil || d.write(name) == nil {
		t.Error("a page without a place for the table is taken")
	}
}
