package fiolat_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestConsumer runs a program of another module, which can import only what is public: it gets the documents of a run
// with a sink of its own, and the place and remedy of a fault in a log.
func TestConsumer(t *testing.T) {
	dir := t.TempDir()
	for from, to := range map[string]string{"testdata/consumer/go.mod": "go.mod", "go.sum": "go.sum"} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "consumer")
	build := exec.Command("go", "build", "-buildvcs=false", "-mod=mod",
		"-modfile="+filepath.Join(dir, "go.mod"), "-o", program, ".")
	build.Dir, build.Env = filepath.Join("testdata", "consumer"), append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(path string) string {
		out, err := exec.Command(program, path).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	sum := map[string]float64{}
	for line := range strings.Lines(run("testdata/fio/epoch")) {
		var doc struct {
			Scope   string
			Samples float64
		}
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		sum[doc.Scope] += doc.Samples
	}
	if sum["run"] == 0 || sum["leaf"] != sum["run"] || sum["direction"] != sum["run"] {
		t.Errorf("I/Os in the documents by scope: %v", sum)
	}
	const fault = "line 1: "
	if got := run("ingest/fiolog/testdata/logs/fio-3.33-log_compression"); !strings.HasPrefix(got, fault) {
		t.Errorf("of a log that cannot be read: %q, want %q...", got, fault)
	}
}

// TestLibraryPage builds and runs the program of docs/library.md.
func TestLibraryPage(t *testing.T) {
	page, err := os.ReadFile("docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	module := strings.Replace(between(string(page), "```\n"), "../fiolat", root, 1)
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": module, "go.sum": string(sums),
		"main.go": between(string(page), "```go\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", "-mod=mod", ".", filepath.Join(root, "testdata/fio/cluster"))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if lines := strings.Count(string(out), "\n"); err != nil || lines != 11 {
		t.Errorf("%v, %d lines\n%s", err, lines, out)
	}
}

// between returns the first block of a page that begins with fence.
func between(page, fence string) string {
	_, block, _ := strings.Cut(page, fence)
	block, _, _ = strings.Cut(block, "\n```")
	return block + "\n"
}
