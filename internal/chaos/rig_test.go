//go:build integration

package chaos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const root = "../.."

// server is a real Elasticsearch of ours, to be killed at will.
type server struct {
	url  string
	args []string // of scripts/elasticsearch
	more []string // only of up
}

func newServer(t *testing.T, port int, settings ...string) *server {
	t.Helper()
	version := os.Getenv("FIOLAT_CHAOS_ES_VERSION")
	if version == "" {
		version = "8.19.0"
	}
	s := &server{url: fmt.Sprintf("http://127.0.0.1:%d", port), args: []string{"--version", version, "--port", strconv.Itoa(port)}}
	for _, v := range settings {
		s.more = append(s.more, "--set", v)
	}
	t.Cleanup(func() { s.script("down") })
	if s.up(t); t.Failed() {
		t.FailNow()
	}
	return s
}

func (s *server) script(command string, more ...string) (string, error) {
	out, err := exec.Command(root+"/scripts/elasticsearch", append(append([]string{command}, s.args...), more...)...).CombinedOutput()
	return string(out), err
}

func (s *server) up(t *testing.T) {
	t.Helper()
	if out, err := s.script("up", s.more...); err != nil {
		t.Errorf("no Elasticsearch: %v\n%s", err, out)
	}
}

// kill kills the server without a warning.
func (s *server) kill(t *testing.T) {
	out, err := s.script("status")
	m := regexp.MustCompile(`pid (\d+)`).FindStringSubmatch(out)
	if m == nil {
		t.Errorf("no pid of the server: %v\n%s", err, out)
		return
	}
	pid, err := strconv.Atoi(m[1])
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Error(err)
	}
	for err == nil { // until its port is free
		time.Sleep(10 * time.Millisecond)
		err = syscall.Kill(pid, 0)
	}
}

// ask sends a request to the server itself and decodes the answer. Like up and kill
// it may be called from any goroutine.
func (s *server) ask(t *testing.T, method, path, body string, answer any) {
	t.Helper()
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = errors.New(res.Status)
	}
	if err == nil && answer != nil {
		err = json.Unmarshal(b, answer)
	}
	if err != nil {
		t.Errorf("%s %s: %v %s", method, path, err, b)
	}
}

// documents are all documents of a prefix with their contents, by index (without
// the prefix) and id. Reading them takes other means than fiolat's own.
func (s *server) documents(t *testing.T, prefix string) map[string]string {
	t.Helper()
	s.ask(t, "POST", "/"+prefix+"-*/_refresh", "", nil)
	all := map[string]string{}
	var page struct {
		Scroll string `json:"_scroll_id"`
		Hits   struct {
			Hits []struct {
				Index  string          `json:"_index"`
				ID     string          `json:"_id"`
				Source json.RawMessage `json:"_source"`
			}
		}
	}
	s.ask(t, "POST", "/"+prefix+"-*/_search?scroll=1m", `{"size":5000,"sort":["_doc"]}`, &page)
	for len(page.Hits.Hits) > 0 {
		for _, h := range page.Hits.Hits {
			all[strings.TrimPrefix(h.Index, prefix)+"/"+h.ID] = string(h.Source)
		}
		next := fmt.Sprintf(`{"scroll":"1m","scroll_id":%q}`, page.Scroll)
		page.Hits.Hits = nil
		s.ask(t, "POST", "/_search/scroll", next, &page)
	}
	s.ask(t, "DELETE", "/_search/scroll", fmt.Sprintf(`{"scroll_id":%q}`, page.Scroll), nil)
	return all
}

// wipe removes everything of a prefix.
func (s *server) wipe(t *testing.T, prefix string) {
	t.Helper()
	var indices, templates map[string]json.RawMessage
	s.ask(t, "GET", "/"+prefix+"-*/_alias", "", &indices)
	for name := range indices {
		s.ask(t, "DELETE", "/"+name, "", nil)
	}
	s.ask(t, "DELETE", "/_index_template/"+prefix+"-*", "", &templates)
}

// rig is what all tests stand on.
type rig struct {
	es   *server
	px   *proxy
	full bool // full waits
	bin  string
	logs string
	args []string // of the ingest: what to make of the logs
	want map[string]string
	took time.Duration // of the undisturbed run
}

// trial is one fault's run: indices, output and account of its own.
type trial struct {
	*rig
	prefix, out string
	times       int    // faults injected
	then        string // what finished the job; "" is the run itself

	// Sums over all checks.
	made, sent, found, foreign, lost int
}

// program is fiolat at work.
type program struct {
	cmd    *exec.Cmd
	mu     sync.Mutex
	stderr bytes.Buffer
	ended  chan struct{}
	code   int // -1: ended by a signal
}

func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.Write(b)
}

func (p *program) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// start starts a program that is killed when it takes longer than half an hour.
func (r *rig) start(t *testing.T, name string, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(name, args...), ended: make(chan struct{})}
	p.cmd.Stderr, p.cmd.Env = p, append(os.Environ(), "PATH="+filepath.Dir(r.bin)+":"+os.Getenv("PATH"))
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(30*time.Minute, func() { p.cmd.Process.Kill() })
	go func() {
		p.cmd.Wait()
		limit.Stop()
		p.code = p.cmd.ProcessState.ExitCode()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}

// wait waits for the end of a program, which must be with this exit code.
func (p *program) wait(t *testing.T, code int, words ...string) {
	t.Helper()
	<-p.ended
	said := p.said()
	if p.code != code {
		t.Fatalf("exit %d, want %d:\n%s", p.code, code, said)
	}
	for _, w := range words {
		if !strings.Contains(said, w) {
			t.Errorf("it does not say %q:\n%s", w, said)
		}
	}
}

// signal sends a signal, and fails if the program takes longer than most to end.
func (p *program) signal(t *testing.T, s os.Signal, most time.Duration) {
	t.Helper()
	p.cmd.Process.Signal(s)
	select {
	case <-p.ended:
	case <-time.After(most):
		t.Errorf("still there %v after %v", most, s)
	}
}

func (c *trial) ingest(t *testing.T, more ...string) *program {
	t.Helper()
	return c.start(t, c.bin, c.ingestArgs(more...)...)
}

func (c *trial) ingestArgs(more ...string) []string {
	args := append([]string{"ingest", "--es", "http://" + c.px.addr, "--index-prefix", c.prefix, "--output", c.out}, c.args...)
	return append(append(args, more...), c.logs)
}

var finishing = regexp.MustCompile(`(?m)^fiolat: error: to finish: (.*)$`)

// printed runs the command that a program printed, by the shell, as it stands.
func (c *trial) printed(t *testing.T, p *program) *program {
	t.Helper()
	m := finishing.FindAllStringSubmatch(p.said(), -1)
	if len(m) != 1 {
		t.Fatalf("%d commands to finish with, want one:\n%s", len(m), p.said())
	}
	c.then = "the printed `fiolat load ...`"
	return c.start(t, "sh", "-c", m[0][1])
}

// again runs the ingest again.
func (c *trial) again(t *testing.T) {
	t.Helper()
	c.then = "the same command again"
	c.ingest(t).wait(t, 0)
}

// status is what the run's document says; "" if there is none.
func (c *trial) status(t *testing.T) string {
	t.Helper()
	c.es.ask(t, "POST", "/"+c.prefix+"-run*/_refresh?allow_no_indices=true", "", nil)
	var found struct {
		Hits struct {
			Hits []struct {
				Source struct{ Run struct{ Status string } } `json:"_source"`
			}
		}
	}
	c.es.ask(t, "POST", "/"+c.prefix+"-run*/_search", "", &found)
	if len(found.Hits.Hits) == 0 {
		return ""
	}
	return found.Hits.Hits[0].Source.Run.Status
}

// honest fails if the run says that it is complete and is not.
func (c *trial) honest(t *testing.T) {
	t.Helper()
	if c.status(t) != "complete" {
		return
	}
	if _, foreign, lost := c.compare(t, c.want); foreign+lost > 0 {
		t.Errorf("the run says complete with %d documents too many and %d lost", foreign, lost)
	}
}

// check compares everything with the undisturbed run, counts, and starts afresh.
func (c *trial) check(t *testing.T) {
	t.Helper()
	if got := c.status(t); got != "complete" {
		t.Errorf("in the end the run says %q", got)
	}
	found, foreign, lost := c.compare(t, c.want)
	if foreign+lost > 0 {
		t.Errorf("%d documents, want %d; %d should not be there, %d are lost", found, len(c.want), foreign, lost)
	}
	_, sent, _ := c.px.counts()
	c.made += len(c.want)
	c.sent += sent
	c.found += found
	c.foreign += foreign
	c.lost += lost
	c.px.inject(nil)
	c.es.wipe(t, c.prefix)
	if left, _ := filepath.Glob(filepath.Join(c.out, "*")); len(left) > 0 {
		t.Errorf("the run is complete, and these are left behind: %q", left)
	}
}

// compare counts the documents there, those that should not be, and those that are
// missing or have another content.
func (c *trial) compare(t *testing.T, want map[string]string) (found, foreign, lost int) {
	t.Helper()
	docs := c.es.documents(t, c.prefix)
	for k := range docs {
		if _, ok := want[k]; !ok {
			foreign++
		}
	}
	for k, v := range want {
		if docs[k] != v {
			if lost++; lost == 1 {
				t.Logf("%s is\n%.400s\nwant\n%.400s", k, docs[k], v)
			}
		}
	}
	return len(docs), foreign, lost
}
