//go:build faults

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel/esmodeltest"
	"fiolat/internal/testkit"
)

// systemCalls are those that read, write and name files. strace fails one of them.
var systemCalls = []string{"openat", "read", "pread64", "write", "lseek", "close", "fstat", "newfstatat", "statx",
	"getdents64", "fsync", "fdatasync", "renameat", "renameat2", "linkat", "unlinkat", "mkdirat", "fchmod", "flock"}

// TestSystemCalls fails each call of the system that concerns the input or the output of a command, one in each trial,
// with EIO. A command that ends with 0 has printed, written and stored what it does without a fault; one that does not
// has left what was there before, or documents that its account does not call written.
func TestSystemCalls(t *testing.T) {
	const longest = time.Minute
	program := testkit.Program(t)
	loaded := t.TempDir()
	if code, _, stderr := fiolat(t, nil, "ingest", "--output", loaded, real+"/randrw"); code != 0 {
		t.Fatal(stderr)
	}
	for name, args := range map[string][]string{
		"percentiles -o": {"percentiles", "-o", "OUT/kept.csv", "IN"},
		"percentiles":    {"percentiles", "--format", "csv", "IN"},
		"summary":        {"summary", "--format", "csv", "IN"},
		"diagnose -o":    {"diagnose", "-o", "OUT/kept.json", "IN"},
		"compare -o":     {"compare", "-o", "OUT/kept.json", "IN/h1", "IN/h2"},
		"report -o":      {"report", "-o", "OUT/kept.html", "IN"},
		"ingest":         {"ingest", "--output", "OUT", "IN"},
		"load":           {"load", "--es", "SERVER", "IN"},
	} {
		t.Run(name, func(t *testing.T) {
			in := t.TempDir()
			switch {
			case name == "load":
				in = loaded
			case name == "compare -o":
				for _, host := range []string{"h1", "h2"} {
					copyInto(t, filepath.Join(in, host), real+"/randrw")
				}
			default:
				copyInto(t, in, real+"/randrw")
			}
			// attempt runs the command, under strace if the nth of these calls is to fail. It returns the files that it
			// wrote and the documents that it sent, by name.
			attempt := func(call string, nth int) (code int, stdout, stderr string, made map[string]string,
				struck string) {
				out, trace := t.TempDir(), filepath.Join(t.TempDir(), "trace")
				server := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
				defer server.Close()
				for _, kept := range []string{"kept.csv", "kept.json", "kept.html"} {
					testkit.Write(t, out, kept, "old")
				}
				line := []string{program}
				if call != "" {
					line = []string{"strace", "-f", "-qq", "-o", trace, "-e", "trace=" + call, "-e",
						fmt.Sprintf("inject=%s:error=EIO:when=%d", call, nth), program}
				}
				for _, a := range args {
					line = append(line, strings.NewReplacer("IN", in, "OUT", out, "SERVER", server.URL).Replace(a))
				}
				ctx, cancel := context.WithTimeout(t.Context(), longest)
				defer cancel()
				cmd := exec.CommandContext(ctx, line[0], line[1:]...)
				cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
				var o, e bytes.Buffer
				cmd.Stdout, cmd.Stderr = &o, &e
				err := cmd.Run()
				if ended := new(exec.ExitError); err != nil && !errors.As(err, &ended) || ctx.Err() != nil {
					t.Fatalf("%s %d: %v, %v\n%s", call, nth, err, ctx.Err(), &e)
				}
				for text := range strings.Lines(string(readIf(trace))) {
					if strings.Contains(text, "INJECTED") {
						struck = strings.TrimSpace(text)
					}
				}
				made = contents(t, out)
				for _, d := range server.Docs("*") {
					made[d.Index+" "+d.ID] = ""
				}
				return cmd.ProcessState.ExitCode(), o.String(), e.String(), made, struck
			}
			code, wantOut, stderr, want, _ := attempt("", 0)
			if code != 0 {
				t.Fatalf("without a fault: exit %d\n%s", code, stderr)
			}
			trials := 0
			for _, call := range systemCalls {
				for nth := 1; ; nth++ {
					code, stdout, stderr, made, struck := attempt(call, nth)
					if struck == "" {
						break
					}
					trials++
					switch {
					case code == 0 && (stdout != wantOut || !maps.Equal(made, want)):
						t.Errorf("exit 0 with other results, after\n%s\n%s", struck, stderr)
					case code == exitUsage && !strings.Contains(stderr, "--output ") ||
						strings.Contains(stderr, "goroutine "):
						t.Errorf("exit %d, after\n%s\n%s", code, struck, stderr)
					case code != 0:
						for _, kept := range []string{"kept.csv", "kept.json", "kept.html"} {
							if made[kept] != "old" {
								t.Errorf("exit %d, but %s is new, after\n%s\n%s", code, kept, struck, stderr)
							}
						}
					}
				}
			}
			if trials < 10 {
				t.Errorf("%d trials", trials)
			}
			t.Logf("%d trials", trials)
		})
	}
}

// readIf returns the bytes of a file, none if it cannot be read.
func readIf(path string) []byte {
	b, _ := os.ReadFile(path)
	return b
}

// copyInto copies the files of a folder.
func copyInto(t *testing.T, to, from string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// contents returns the files below a folder, but for temporary ones.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !strings.HasSuffix(path, ".tmp") {
			name, _ := filepath.Rel(dir, path)
			out[name] = string(readIf(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
