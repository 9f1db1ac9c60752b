//go:build integration

package chaos

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
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
	url      string
	args     []string // of scripts/elasticsearch
	more     []string // only of up
	status   string   // that up waits for; "" is yellow
	ca       string   // file; "" without TLS
	password string   // file, of all users
	client   *http.Client
}

// newServer starts a server: VERSION, or VERSION+security for one with TLS, and with the
// roles of docs/security.md, each with a user of its name.
//
// more is for scripts/elasticsearch up.
func newServer(t *testing.T, which string, port int, more ...string) *server {
	t.Helper()
	version, secured := strings.CutSuffix(which, "+security")
	s := planned(t, version, port, more...)
	if secured {
		roles, err := exec.Command(root + "/scripts/roles").Output()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(os.TempDir(), fmt.Sprintf("fiolat-chaos-%d-roles.yml", port)) // the same for each "up"
		roles = bytes.ReplaceAll(roles, []byte(`"fio-*"`), []byte(`"calm*", "chaos*"`))
		if err := os.WriteFile(file, roles, 0o644); err != nil {
			t.Fatal(err)
		}
		s.url = strings.Replace(s.url, "http:", "https:", 1)
		s.more = append(s.more, "--security", "--roles", file)
	}
	out := s.up(t)
	if t.Failed() {
		t.FailNow()
	}
	if secured {
		s.ca = regexp.MustCompile(`FIOLAT_TEST_ES_CA=(.*)`).FindStringSubmatch(out)[1]
		s.password = regexp.MustCompile(`FIOLAT_TEST_ES_PASSWORD_FILE=(.*)`).FindStringSubmatch(out)[1]
		pem, err := os.ReadFile(s.ca)
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		s.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
		t.Cleanup(s.client.CloseIdleConnections)
	}
	return s
}

// planned is a server that is not up yet.
func planned(t *testing.T, version string, port int, more ...string) *server {
	s := &server{
		url:    fmt.Sprintf("http://127.0.0.1:%d", port),
		client: http.DefaultClient,
		args:   []string{"--version", version, "--port", strconv.Itoa(port)},
		more:   more,
	}
	t.Cleanup(func() { s.script("down") })
	return s
}

func (s *server) script(command string, more ...string) (string, error) {
	cmd := exec.Command(root+"/scripts/elasticsearch", append(append([]string{command}, s.args...), more...)...)
	// It takes its time on a busy machine.
	cmd.Env = append([]string{"FIOLAT_ES_TIMEOUT=3600"}, append(os.Environ(), "FIOLAT_ES_STATUS="+s.status)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *server) up(t *testing.T) string {
	t.Helper()
	out, err := s.script("up", s.more...)
	if err != nil {
		t.Errorf("no Elasticsearch: %v\n%s", err, out)
	}
	return out
}

// signal sends a signal to the server, and returns its pid.
func (s *server) signal(t *testing.T, sig syscall.Signal) (pid int, err error) {
	out, err := s.script("status")
	m := regexp.MustCompile(`pid (\d+)`).FindStringSubmatch(out)
	if m == nil {
		err = fmt.Errorf("no pid of the server: %w\n%s", err, out)
	} else if pid, err = strconv.Atoi(m[1]); err == nil {
		err = syscall.Kill(pid, sig)
	}
	if err != nil {
		t.Error(err)
	}
	return pid, err
}

// kill kills the server without a warning.
func (s *server) kill(t *testing.T) {
	pid, err := s.signal(t, syscall.SIGKILL)
	for err == nil { // until its port is free
		time.Sleep(10 * time.Millisecond)
		err = syscall.Kill(pid, 0)
	}
}

// ask sends a request to the server itself and decodes the answer. Like up and kill
// it may be called from any goroutine.
func (s *server) ask(t *testing.T, method, path, body string, answer any) {
	t.Helper()
	if err := s.try(method, path, body, answer); err != nil {
		t.Error(err)
	}
}

// try is ask of a server that may not be well.
func (s *server) try(method, path, body string, answer any) error {
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if s.password != "" {
		password, err := os.ReadFile(s.password)
		if err != nil {
			return err
		}
		req.SetBasicAuth("elastic", strings.TrimSpace(string(password)))
	}
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if method == http.MethodDelete && res.StatusCode == http.StatusNotFound {
		return nil
	}
	if err == nil && res.StatusCode/100 != 2 {
		err = errors.New(res.Status)
	}
	if err == nil && answer != nil {
		err = json.Unmarshal(b, answer)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w %s", method, path, err, b)
	}
	return nil
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
			all[strings.TrimPrefix(h.Index, prefix)+"/"+h.ID] = inOrder(t, h.Source)
		}
		next := fmt.Sprintf(`{"scroll":"1m","scroll_id":%q}`, page.Scroll)
		page.Hits.Hits = nil
		s.ask(t, "POST", "/_search/scroll", next, &page)
	}
	s.ask(t, "DELETE", "/_search/scroll", fmt.Sprintf(`{"scroll_id":%q}`, page.Scroll), nil)
	return all
}

// inOrder is a document with its members in order, as who changes one of the run's may put them in another, and without
// when it was stored.
func inOrder(t *testing.T, doc []byte) string {
	t.Helper()
	var members any
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	err := d.Decode(&members)
	if of, ok := members.(map[string]any); ok {
		if event, ok := of["event"].(map[string]any); ok {
			delete(event, "ingested")
		}
	}
	out, bad := json.Marshal(members)
	if err = errors.Join(err, bad); err != nil {
		t.Error(err)
	}
	return string(out)
}

// wipe removes everything of a prefix.
func (s *server) wipe(t *testing.T, prefix string) {
	t.Helper()
	var indices, templates map[string]json.RawMessage
	s.ask(t, "GET", "/"+prefix+"-*/_alias", "", &indices)
	for name := range indices {
		s.ask(t, "DELETE", "/"+name, "", nil)
	}
	if s.ca == "" { // else who ingests may not make them again
		s.ask(t, "DELETE", "/_index_template/"+prefix+"-*", "", &templates)
	}
}

// rig is what all tests stand on.
type rig struct {
	which  string // server
	es     *server
	px     *proxy
	more   []*proxy // before other nodes of the same cluster
	full   bool     // all of it, with full waits
	rand   *rand.Rand
	bin    string
	pace   string // FIOLAT_ES_PACE
	ca     string // file: the server's and the proxy's
	logs   string
	args   []string // of the ingest: what to make of the logs
	want   map[string]string
	took   time.Duration                // of the undisturbed run
	calm   map[string]map[string]string // undisturbed documents, by what made them
	before map[string]string            // documents that the last broken reply has left
}

// trial is one fault's run: indices, output and account of its own.
type trial struct {
	*rig
	prefix, out string
	times       int    // faults injected
	then        string // what finished the job; "" is the run itself

	differs     string
	tries, good int // commands, and those that ended well by themselves

	// Sums over all checks.
	made, sent, found, foreign, lost int
}

// program is fiolat at work.
type program struct {
	cmd    *exec.Cmd
	mu     sync.Mutex
	stderr bytes.Buffer
	ended  chan struct{}
	at     time.Time
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
	return r.startWith(t, nil, name, args...)
}

func (r *rig) startWith(t *testing.T, in io.ReadCloser, name string, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(name, args...), ended: make(chan struct{})}
	if in != nil {
		p.cmd.Stdin = in
	}
	p.cmd.Stderr, p.cmd.Env = p, append(os.Environ(), "PATH="+filepath.Dir(r.bin)+":"+os.Getenv("PATH"),
		"FIOLAT_ES_PACE="+r.pace)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(30*time.Minute, func() { p.cmd.Process.Kill() })
	go func() {
		p.cmd.Wait()
		p.at = time.Now()
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

// until waits until a program has said a word, not counting its first bytes, or has ended.
func (p *program) until(first int, word string) {
	for !strings.Contains(p.said()[first:], word) {
		select {
		case <-p.ended:
			return
		case <-time.After(100 * time.Millisecond):
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

// command is a command of fiolat with what names the server, through the proxy, and the user.
func (c *trial) command(name string, more ...string) []string {
	args := []string{name, "--es", c.px.url(), "--index-prefix", c.prefix}
	for _, px := range c.more {
		args = append(args, "--es", px.url())
	}
	return append(append(args, c.user(c.role(name))...), more...)
}

func (c *trial) role(name string) string {
	switch name {
	case "setup", "delete":
		return "fiolat_" + name
	}
	return "fiolat_ingest"
}

// user is what names a user of the secured server; its roles are those of docs/security.md.
func (r *rig) user(name string) []string {
	if r.es.ca == "" {
		return nil
	}
	return []string{"--es-ca-cert", r.ca, "--es-user", name, "--es-password-file", r.es.password}
}

func (c *trial) ingest(t *testing.T, more ...string) *program {
	t.Helper()
	return c.start(t, c.bin, c.ingestArgs(more...)...)
}

func (c *trial) ingestArgs(more ...string) []string {
	return c.ingestOf(append(append([]string(nil), more...), c.logs)...)
}

// ingestOf is the ingest of other logs than the rig's.
func (c *trial) ingestOf(more ...string) []string {
	args := append([]string{"--output", c.out}, c.args...)
	return c.command("ingest", append(args, more...)...)
}

// undisturbed are the documents that fiolat's commands leave where nothing goes wrong.
func (r *rig) undisturbed(t *testing.T, commands func(c *trial) [][]string) map[string]string {
	t.Helper()
	calm := &trial{rig: r, prefix: "calm", out: filepath.Join(t.TempDir(), "out")}
	calm.px.inject(nil)
	calm.setup(t)
	all := commands(calm)
	key := fmt.Sprint(all)
	key = strings.ReplaceAll(key, calm.out, "")
	if r.calm[key] == nil {
		for _, args := range all {
			began := time.Now()
			calm.start(t, r.bin, args...).wait(t, 0)
			r.took = min(time.Since(began), 3*time.Second)
		}
		r.calm[key] = r.es.documents(t, calm.prefix)
		r.es.wipe(t, calm.prefix)
	}
	return r.calm[key]
}

// setup makes the templates where who ingests may not.
func (c *trial) setup(t *testing.T) {
	if c.es.ca != "" {
		c.start(t, c.bin, c.command("setup")...).wait(t, 0)
	}
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

// runDoc is what the document of a run says.
type runDoc struct {
	Run   struct{ ID, Part, Status string }
	Owner json.RawMessage
}

// runs are the documents of runs and parts.
func (c *trial) runs(t *testing.T) (all []runDoc) {
	t.Helper()
	c.es.ask(t, "POST", "/"+c.prefix+"-run*/_refresh?allow_no_indices=true", "", nil)
	var found struct {
		Hits struct {
			Hits []struct {
				Source runDoc `json:"_source"`
			}
		}
	}
	c.es.ask(t, "POST", "/"+c.prefix+"-run*/_search", "", &found)
	for _, h := range found.Hits.Hits {
		all = append(all, h.Source)
	}
	return all
}

// status is what the run's document says; "" if there is none.
func (c *trial) status(t *testing.T) string {
	t.Helper()
	status := ""
	for _, r := range c.runs(t) {
		if status == "" || r.Run.Part == "" {
			status = r.Run.Status
		}
	}
	return status
}

// unmarked fails if a run still has the mark of a process.
func (c *trial) unmarked(t *testing.T) {
	t.Helper()
	for _, r := range c.runs(t) {
		if len(r.Owner) > 0 {
			t.Errorf("run %q, part %q is %s, and marked: %s", r.Run.ID, r.Run.Part, r.Run.Status, r.Owner)
		}
	}
}

// honest fails if the run says that it is complete and is not.
func (c *trial) honest(t *testing.T) {
	t.Helper()
	c.honestly(t, c.want)
}

// honestly is honest of a run that should have some documents, or some others.
func (c *trial) honestly(t *testing.T, wants ...map[string]string) {
	t.Helper()
	if c.status(t) != "complete" {
		return
	}
	for _, want := range wants {
		if _, foreign, lost := c.compare(t, want); foreign+lost == 0 {
			return
		}
	}
	if c.status(t) == "complete" { // a request that was under way may have changed it after the first look
		t.Error("the run says complete, and its documents are of no undisturbed one:", c.differs)
	}
}

// check compares everything with the undisturbed run, counts, and starts afresh.
func (c *trial) check(t *testing.T) {
	t.Helper()
	c.checkOf(t, c.want)
	c.es.wipe(t, c.prefix)
	c.setup(t)
}

// checkOf is check of other documents than the rig's, which stay.
func (c *trial) checkOf(t *testing.T, want map[string]string) {
	t.Helper()
	if got := c.status(t); got != "complete" {
		t.Errorf("in the end the run says %q", got)
	}
	c.unmarked(t)
	found, foreign, lost := c.compare(t, want)
	if foreign+lost > 0 {
		t.Errorf(
			"%d documents, want %d; %d should not be there, %d are lost\n%s",
			found,
			len(want),
			foreign,
			lost,
			c.differs,
		)
	}
	_, sent, _ := c.px.counts()
	c.made += len(want)
	c.sent += sent
	c.found += found
	c.foreign += foreign
	c.lost += lost
	c.px.inject(nil)
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
			lost++
			c.differs = fmt.Sprintf("%s is\n%.2000s\nwant\n%.2000s", k, docs[k], v)
		}
	}
	return len(docs), foreign, lost
}
