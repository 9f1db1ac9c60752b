package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fiolat/esmodel"
	"fiolat/internal/testkit"
)

// TestPages runs the commands of README.md and docs/*.md, page by page and in their order, in a directory with the
// runs that the pages speak of. A command must end with exit code 0, or with the one that its comment gives
// (`# exit 4`); what a page shows as its output must be its output. Commands with the URL of an Elasticsearch run in
// TestServerPages.
//
// A page is a shell block (sh or console), after an HTML comment if it, or some lines of it, cannot run:
//
//	<!-- not run: needs fio and two hosts -->
//	<!-- not run, lines with kibana: needs Kibana -->
//
// A block without a language after `<!-- output -->` is the end of what the command before it prints. `host1$` runs its
// command in the directory host1, if there is one.
func TestPages(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	commands := 0
	for _, page := range readPages(t) {
		commands += len(page.commands)
		t.Run(page.name, func(t *testing.T) {
			t.Parallel()
			w := newPageWorld(t)
			for _, c := range page.commands {
				if !c.server {
					w.run(t, c)
				}
			}
		})
	}
	if commands < 20 {
		t.Errorf("only %d commands found", commands)
	}
}

// TestLinks: each link of a page to a file of the project, and to a heading in it, leads somewhere.
func TestLinks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading := regexp.MustCompile(`(?m)^#+ (.+)$`)
	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md", "../../CHANGELOG.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			name, anchor, _ := strings.Cut(m[1], "#")
			target := page
			if name != "" {
				target = filepath.Join(filepath.Dir(page), name)
			}
			text, err := os.ReadFile(target)
			if err != nil {
				t.Errorf("%s: %s: %v", page, m[1], err)
				continue
			}
			found := anchor == ""
			for _, h := range heading.FindAllStringSubmatch(string(text), -1) {
				slug := strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")
				found = found || slug == anchor
			}
			if !found {
				t.Errorf("%s: %s: no such heading", page, m[1])
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links found", links)
	}
}

// pageCommand is a command line of a page.
type pageCommand struct {
	at     string // page and line
	text   string
	host   string // the name before the prompt
	server bool
	exits  int
	output []string // what the page shows; nil if nothing
	ends   bool     // output is only the end of it
}

type page struct {
	name     string
	commands []pageCommand
}

var (
	fence       = regexp.MustCompile("^```(\\w*)$")
	notRun      = regexp.MustCompile(`^<!-- not run(?:, lines with (.+?))?: .+ -->$`)
	prompt      = regexp.MustCompile(`^(\w*)\$ `)
	exitComment = regexp.MustCompile(`# exit (\d+)$`)
	serverURL   = regexp.MustCompile(`http://(localhost|es):9200`)
)

// readPages reads the commands of all pages. The generated reference of the commands, docs/cli.md, shows forms of
// commands and not examples.
func readPages(t *testing.T) (pages []page) {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "../../README.md") {
		if filepath.Base(file) == "cli.md" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p := page{name: filepath.Base(file)}
		var language, before string // of the open block; the last line before it
		var skip *regexp.Regexp
		inside := false
		for i, line := range strings.Split(string(text), "\n") {
			at := fmt.Sprintf("%s:%d", filepath.Base(file), i+1)
			block := fence.FindStringSubmatch(line)
			switch {
			case block != nil && inside:
				inside, before = false, ""
			case block != nil:
				inside, language, skip = true, block[1], nil
				if m := notRun.FindStringSubmatch(before); m != nil {
					if skip, err = regexp.Compile(m[1]); err != nil {
						t.Fatalf("%s: %v", at, err)
					}
				}
				if last := len(p.commands) - 1; language == "" && before == "<!-- output -->" && last >= 0 {
					language, p.commands[last].ends = "output", true
				}
			case inside && (language == "sh" || language == "console" || language == "bash"):
				prompted := prompt.FindStringSubmatch(line)
				command := language != "console" || prompted != nil
				line = prompt.ReplaceAllString(line, "")
				switch {
				case skip != nil && (skip.String() == "" || skip.MatchString(line)):
				case !command && len(p.commands) > 0:
					p.commands[len(p.commands)-1].output = append(p.commands[len(p.commands)-1].output, line)
				case strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#"):
					c := pageCommand{at: at, text: line, server: serverURL.MatchString(line)}
					if prompted != nil {
						c.host = prompted[1]
					}
					if m := exitComment.FindStringSubmatch(line); m != nil {
						c.exits, _ = strconv.Atoi(m[1])
					}
					p.commands = append(p.commands, c)
				}
			case inside && language == "output":
				p.commands[len(p.commands)-1].output = append(p.commands[len(p.commands)-1].output, line)
			case !inside && strings.TrimSpace(line) != "":
				before = line
			}
		}
		pages = append(pages, p)
	}
	return pages
}

// pageWorld is where the commands of a page run.
type pageWorld struct {
	dir        string
	env        []string
	es, prefix string // of the server's documents
}

func newPageWorld(t *testing.T) *pageWorld {
	t.Helper()
	self, logs := programAndLogs(t)
	w := &pageWorld{dir: t.TempDir()}
	for name, target := range map[string]string{
		"testdata/fio": logs, "logs": "randrw", "baseline": "randrw",
		"runs/yesterday": "gaps", "runs/before": "gaps", "runs/today": "slow", "runs/after": "slow",
		"runs/b1": "gaps", "runs/b2": "slow", "runs/b3": "randrw",
		"runs/a1": "exact", "runs/a2": "trim", "runs/a3": "epoch",
		"host1/logs": "gaps", "host2/logs": "slow",
		"sweep/iodepth-1": "gaps", "sweep/iodepth-8": "randrw", "sweep/iodepth-64": "slow",
		"depths":         "../sweep",
		"testdata/sweep": "../sweep", "analysis/diagnose/testdata/disks": "../../analysis/diagnose/testdata/disks",
		"bin/fiolat": self,
	} {
		if !filepath.IsAbs(target) {
			target = filepath.Join(logs, target)
		}
		name = filepath.Join(w.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.Symlink(target, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(w.dir, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	// `go install ./cmd/fiolat` has been done, and `go run ./cmd/fiolat` runs it.
	script := "#!/bin/sh\n[ \"$1\" = run ] || exit 0\nshift 2\nexec fiolat \"$@\"\n"
	if err := os.WriteFile(filepath.Join(w.dir, "bin/go"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	w.env = []string{"PATH=" + filepath.Join(w.dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + w.dir, asProgram + "=1"}
	ingest := "fiolat ingest --start mtime --output baseline.docs runs/yesterday"
	w.run(t, pageCommand{at: "baseline.docs", text: ingest})
	return w
}

// command is a command of a page where it runs.
func (w *pageWorld) command(t *testing.T, c pageCommand) *exec.Cmd {
	bare := regexp.MustCompile(`(^|[\s=])/tmp/`)
	text := bare.ReplaceAllString(c.text, "${1}"+strings.ReplaceAll(w.dir, " ", `\ `)+"/tmp/")
	if c.server {
		text = serverURL.ReplaceAllString(text, w.es)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", text)
	cmd.Dir, cmd.Env = w.dir, slices.Clip(w.env)
	if _, err := os.Stat(filepath.Join(w.dir, c.host)); err == nil {
		cmd.Dir = filepath.Join(w.dir, c.host)
	}
	return cmd
}

func (w *pageWorld) run(t *testing.T, c pageCommand) {
	t.Helper()
	cmd := w.command(t, c)
	out, err := cmd.CombinedOutput()
	code := cmd.ProcessState.ExitCode()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %s: %v", c.at, c.text, err)
	}
	// Whether a gate closes on the runs of this test is not what the page is about, unless it says so.
	gate := c.exits == 0 && strings.Contains(c.text, "--fail-") && (code == exitSLA || code == exitCompare)
	if code != c.exits && !gate {
		t.Errorf("%s: %s: exit %d, want %d\n%s\nIf it cannot run here, put <!-- not run: REASON --> before its block.",
			c.at, c.text, code, c.exits, out)
		return
	}
	if strings.Contains(c.text, "--sla") && code == exitOK && !bytes.Contains(bytes.ToLower(out), []byte("sla")) {
		t.Errorf("%s: %s: no verdict in\n%s", c.at, c.text, out)
	}
	text := strings.TrimRight(string(out), "\n")
	if w.prefix != "" {
		text = strings.ReplaceAll(text, w.prefix, esmodel.DefaultPrefix)
	}
	got := strings.Split(text, "\n")
	if c.ends {
		got = got[max(len(got)-len(c.output), 0):]
	}
	if c.output != nil && !slices.Equal(got, c.output) {
		t.Errorf("%s: %s prints\n%s\nand not\n%s", c.at, c.text, strings.Join(got, "\n"), strings.Join(c.output, "\n"))
	}
}
