package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestDocExamples runs the commands of pages whose examples run as they stand.
func TestDocExamples(t *testing.T) {
	for _, page := range []string{"sla", "live"} {
		text, err := os.ReadFile("../../docs/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		ran := 0
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(block[1]) {
				command, comment, _ := strings.Cut(strings.TrimSpace(line), " # exit ")
				want, _ := strconv.Atoi(comment)
				ran++
				t.Run(page+"/"+command, func(t *testing.T) {
					t.Parallel()
					var args []string
					for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(command, -1) {
						arg := m[1] + m[2]
						arg = strings.Replace(arg, "testdata/fio", real, 1)
						arg = strings.Replace(arg, "/tmp/fiolat-docs", t.TempDir(), 1)
						args = append(args, arg)
					}
					if args[0] != "fiolat" {
						t.Fatalf("not a command: %s", command)
					}
					code, stdout, stderr := fiolat(t, nil, args[1:]...)
					if code != want || code == exitOK && !strings.Contains(stdout+stderr, "sla") && !strings.Contains(stderr, "SLA") {
						t.Errorf("exit %d, want %d:\n%s%s", code, want, stdout, stderr)
					}
				})
			}
		}
		if ran == 0 {
			t.Errorf("no examples in %s.md", page)
		}
	}
}
