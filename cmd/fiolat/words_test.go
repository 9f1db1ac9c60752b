package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"fiolat/internal/testkit"
)

// TestWarnedOnce: what is wrong with many logs for one cause is one warning, with their number.
func TestWarnedOnce(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	const logs = 42
	dir := t.TempDir()
	for n := range logs {
		lines := strings.SplitAfter(string(goodLog(t)), "\n")
		lines[0] = strings.Replace(lines[0], "5000", fmt.Sprint(4900+n), 1) // equal logs are taken for copies
		lines[2+n%3] = "damaged\n"
		text := strings.Join(lines, "")
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("a_clat_hist.%d.log", n+1)), []byte(text[:len(text)-9]),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"percentiles", "--format", "csv"},
		{"ingest", "--start", "1700000000", "--output", filepath.Join(t.TempDir(), "out")},
	} {
		code, _, stderr := fiolat(t, nil, append(args, "--skip-bad", "--yes", dir)...)
		warnings := strings.Count(stderr, "warning: ")
		if code != exitOK || warnings == 0 || warnings > 6 ||
			!strings.Contains(stderr, fmt.Sprintf("and %d more like it", logs-1)) {
			t.Errorf("%s: exit %d, %d warnings\n%s", args[0], code, warnings, stderr)
		}
	}
}

// TestAlikeInRuns: warnings that are alike in several runs are counted once, not run by run.
func TestAlikeInRuns(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(string(goodLog(t)), "\n")
	args := []string{"summary", "--skip-bad"}
	for r := range 3 {
		dir := t.TempDir()
		for n := range 2 + r {
			lines[0] = strings.Replace(lines[0], "5000", fmt.Sprint(4900+10*r+n), 1) // equal logs are taken for copies
			testkit.Write(t, dir, fmt.Sprintf("a_clat_hist.%d.log", n+1),
				lines[0]+"damaged\n"+strings.Join(lines[1:], ""))
		}
		args = append(args, dir)
	}
	code, _, stderr := fiolat(t, nil, args...)
	if code != exitOK || strings.Count(stderr, "skipped: ") != 1 || !strings.Contains(stderr, "(and 8 more like it: ") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}

// TestUTF16JSON: fio's JSON that an editor saved in UTF-16 is said to be that, wherever it is met.
func TestUTF16JSON(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(real + "/gaps/fio.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, order := range map[string]binary.AppendByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		saved := []byte{}
		for _, unit := range utf16.Encode([]rune("\uFEFF" + string(text))) {
			saved = order.AppendUint16(saved, unit)
		}
		dir := t.TempDir()
		file := filepath.Join(dir, "fio.json")
		if err := os.WriteFile(file, saved, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a_clat_hist.1.log"), goodLog(t), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			args []string
			code int
		}{
			{[]string{"percentiles", dir}, exitOK}, // a warning: not used
			{[]string{"percentiles", "--fio-json", file, dir}, exitInput},
			{[]string{"percentiles", file, dir}, exitInput},
			{[]string{"summary", file}, exitInput},
			{[]string{"live", "--output", t.TempDir(), file}, exitInput},
		} {
			if code, _, stderr := fiolat(t, nil, tt.args...); code != tt.code ||
				!strings.Contains(stderr, "iconv -f UTF-16 -t UTF-8") {
				t.Errorf("%s endian, %s: exit %d, want %d\n%s", name, tt.args[:len(tt.args)-1], code, tt.code, stderr)
			}
		}
	}
}
