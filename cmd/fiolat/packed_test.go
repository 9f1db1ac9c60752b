package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fiolat/internal/testkit"
)

// TestPacked: what is packed in a way that is not read is recognized by its content, whatever its name, and answered
// with the command that unpacks it; beside logs it is a warning.
func TestPacked(t *testing.T) {
	t.Parallel()
	good := goodLog(t)
	var tarred, zipped bytes.Buffer
	tw, zw := tar.NewWriter(&tarred), zip.NewWriter(&zipped)
	err := tw.WriteHeader(&tar.Header{Name: "h1/x_clat_hist.1.log", Mode: 0o600, Size: int64(len(good))})
	_, bad := tw.Write(good)
	w, worse := zw.Create("h1/x_clat_hist.1.log")
	if err = errors.Join(err, bad, worse); err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(good)
	fz, bad := os.ReadFile("../../pipeline/plan/testdata/cases/fz-only/x_clat.1.log.fz")
	if err = errors.Join(err, bad, tw.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, command string
		data          []byte
	}{
		{"night.tar", "tar xf FILE", tarred.Bytes()},
		{"night.tgz", "tar xf FILE", testkit.Gzipped(tarred.Bytes())},
		{"night.zip", "unzip FILE", zipped.Bytes()},
		{"night", "unzip FILE", zipped.Bytes()},
		{"empty.zip", "unzip FILE", []byte("PK\x05\x06" + strings.Repeat("\x00", 18))},
		{"b_clat_hist.1.log.xz", "xz -d FILE", []byte("\xFD7zXZ\x00\x00\x04")},
		{"a_clat_hist.2.log", "xz -d FILE", []byte("\xFD7zXZ\x00\x00\x04")},
		{"b_clat.1.log.fz", "fio --inflate-log=FILE", fz},
		{"b_clat_hist.1.log.gz", "fio --inflate-log=FILE", []byte("\x78\x01")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, tt.name)
			if err := os.WriteFile(path, tt.data, 0o600); err != nil {
				t.Fatal(err)
			}
			want := func(how string, code int, stdin []byte, file string, args ...string) {
				t.Helper()
				got, stdout, stderr := fiolat(t, stdin, append([]string{"percentiles", "--format", "csv"}, args...)...)
				command := "unpack it with `" + strings.ReplaceAll(tt.command, "FILE", file) + "`"
				if got != code || strings.Count(stderr, command) != 1 || (code == exitOK) != (stdout != "") {
					t.Errorf("%s: exit %d, want %d and %q once:\n%s", how, got, code, command, stderr)
				}
			}
			want("path", exitInput, nil, path, path)
			want("folder", exitInput, nil, path, dir)
			want("standard input", exitInput, tt.data, "FILE", "-")
			if err := os.Mkdir(filepath.Join(dir, "h1"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "h1", "a_clat_hist.1.log"), good, 0o600); err != nil {
				t.Fatal(err)
			}
			want("above logs", exitOK, nil, path, dir)
			log := filepath.Join(dir, "a_clat_hist.1.log")
			if err := os.Rename(filepath.Join(dir, "h1", "a_clat_hist.1.log"), log); err != nil {
				t.Fatal(err)
			}
			want("beside logs", exitOK, nil, path, dir)
			want("beside a log that is named", exitOK, nil, path, log)
		})
	}
}
