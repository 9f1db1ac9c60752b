package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fiolat/esmodel/esmodeltest"
	"fiolat/internal/testkit"
)

// certificates are those of a server for a host, and of its authority in PEM.
type certificates struct {
	server tls.Certificate
	ca     []byte
}

// newCertificates makes certificates that expire an hour after now.
func newCertificates(t testing.TB, now time.Time, host string) certificates {
	t.Helper()
	issue := func(template, parent *x509.Certificate, signer *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if signer == nil {
			signer = key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		return der, key
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature}
	if ip := net.ParseIP(host); ip != nil {
		leaf.IPAddresses = []net.IP{ip}
	} else {
		leaf.DNSNames = []string{host}
	}
	caDER, caKey := issue(ca, ca, nil)
	der, key := issue(leaf, ca, caKey)
	return certificates{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})}
}

// levels are the errors and warnings of a log in JSON.
func levels(t testing.TB, stderr string) (errs, warnings []string) {
	t.Helper()
	for line := range strings.Lines(stderr) {
		var l struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("not JSON: %q", line)
		}
		switch l.Level {
		case "error":
			errs = append(errs, l.Msg)
		case "warning":
			warnings = append(warnings, l.Msg)
		}
	}
	return errs, warnings
}

// asProgram in the environment makes the test's binary be fiolat: what is about a
// process (its environment, signals, the system's certificates) needs one.
//
// peakFile names a file in which it leaves what it says of its memory: what the
// parent sees of that is at least what it had itself when it made the child.
const (
	asProgram = "FIOLAT_TEST_AS_PROGRAM"
	peakFile  = "FIOLAT_TEST_PEAK_FILE"
)

func init() {
	if os.Getenv(asProgram) == "" {
		return
	}
	go func() { // as main is, and init is not, free to run on any thread
		if name := os.Getenv(peakFile); name != "" {
			code := run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr)
			status, _ := os.ReadFile("/proc/self/status")
			os.WriteFile(name, status, 0o600)
			os.Exit(code)
		}
		main()
	}()
	select {}
}

// program is fiolat as a process, with no more of an environment than given.
func program(t testing.TB, env []string, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append([]string{asProgram + "=1", "HOME=" + t.TempDir()}, env...)
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// credentials are one way to name a secret. core stands in each and survives every
// way of writing it down.
type credentials struct {
	name, core string
	env, args  []string
}

func allCredentials(t *testing.T) []credentials {
	t.Helper()
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(name, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	key := func(core string) string { return base64.StdEncoding.EncodeToString([]byte("id:" + core)) }
	const hard = `<&"\/ %` // what HTML, JSON and URLs write otherwise
	return []credentials{
		{"password file", "canaryPasswordFile", nil, []string{"--es-user", "ursula", "--es-password-file",
			file("canaryPasswordFile" + hard)}},
		{"password", "canaryPasswordEnv", []string{"ELASTICSEARCH_USERNAME=ursula",
			"ELASTICSEARCH_PASSWORD=canaryPasswordEnv" + hard}, nil},
		{"API key file", "canaryKeyFile", nil, []string{"--es-api-key-file", file(key("canaryKeyFile"))}},
		{"API key", "canaryKeyEnv", []string{"ELASTICSEARCH_API_KEY=" + key("canaryKeyEnv")}, nil},
		{"token", "canaryTokenEnv", []string{"ELASTICSEARCH_SERVICE_TOKEN=canaryTokenEnv" + hard}, nil},
		{"Elastic's password", "canaryElasticEnv", []string{"ES_USERNAME=ursula",
			"ES_PASSWORD=canaryElasticEnv" + hard}, nil},
		{"Elastic's API key", "canaryElasticKey", []string{"ES_API_KEY=" + key("canaryElasticKey")}, nil},
		{"URL", "canaryURL", []string{"ELASTICSEARCH_URL=" + userAt}, nil},
	}
}

// userAt stands for the server's URL with a user and a password in it.
const userAt = "USER@"

// leaks finds the secret of c in what came out, plain, percent-encoded or in base64, wherever in it.
func (c credentials) leaks(text string) bool {
	for range 3 {
		if strings.Contains(text, c.core) {
			return true
		}
		text = percentCode.ReplaceAllStringFunc(text, func(code string) string {
			b, _ := hex.DecodeString(code[1:])
			return string(b)
		})
	}
	for shift := range 3 {
		coded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + c.core))
		if strings.Contains(text, coded[4:len(coded)-4]) { // without what depends on its neighbours
			return true
		}
	}
	return false
}

var (
	lowerPercent = regexp.MustCompile("%..")
	percentCode  = regexp.MustCompile("%[0-9A-Fa-f]{2}")
)

// echo says back whatever came in the request's header, as it is and in the forms
// that it takes in JSON, HTML and URLs.
func echo(r *http.Request) string {
	h := r.Header.Get("Authorization")
	_, coded, _ := strings.Cut(h, " ")
	plain, _ := base64.StdEncoding.DecodeString(coded)
	_, password, _ := strings.Cut(string(plain), ":")
	text := "you sent Authorization: " + h + "; " + string(plain)
	for _, s := range []string{coded, password} {
		quoted, _ := json.Marshal(s)
		text += " " + s + " " + string(quoted) + " " + url.QueryEscape(s) + " " + url.PathEscape(s) + " " +
			html.EscapeString(s) +
			" " + lowerPercent.ReplaceAllStringFunc(url.PathEscape(s), strings.ToLower) +
			" " + url.QueryEscape(url.PathEscape(s)) + " " + strings.ReplaceAll(url.PathEscape(s), "a", "%61")
		for i := range len(s) {
			text += fmt.Sprintf("%%%02x", s[i])
		}
	}
	return text
}

// TestSecretsNowhere looks for each secret, named in each way, in everything that
// comes out of runs that fail in each way, and out of one that does not. With -short each
// answer meets two of the credentials, in turn.
func TestSecretsNowhere(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	certs := newCertificates(t, time.Now(), "127.0.0.1")
	elastic := func(w http.ResponseWriter) { w.Header().Set("X-Elastic-Product", "Elasticsearch") }
	fault := func(w http.ResponseWriter, status int, reason string) {
		elastic(w)
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(map[string]any{"status": status, "error": map[string]any{"type": "x " + reason,
			"reason": reason, "caused_by": map[string]any{"type": "y", "reason": "because " + reason}}})
	}
	status := func(code int) func(*esmodeltest.Server) http.HandlerFunc {
		return func(*esmodeltest.Server) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { fault(w, code, echo(r)) }
		}
	}
	// through has the stand-in answer, and changes what it says to bulk requests.
	through := func(change func(r *http.Request, reply []byte) []byte) func(*esmodeltest.Server) http.HandlerFunc {
		return func(s *esmodeltest.Server) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				rec := httptest.NewRecorder()
				s.Config.Handler.ServeHTTP(rec, r)
				reply := rec.Body.Bytes()
				if strings.HasSuffix(r.URL.Path, "/_bulk") {
					reply = change(r, reply)
				}
				elastic(w)
				w.WriteHeader(rec.Code)
				w.Write(reply)
			}
		}
	}
	for answer, tt := range []struct {
		name string
		// serve answers; nil: nobody does, at url.
		serve func(*esmodeltest.Server) http.HandlerFunc
		url   string
		tls   bool
		env   string
		code  int
		want  string // in what is said
	}{
		{name: "all is well", serve: through(func(_ *http.Request, b []byte) []byte { return b }), code: exitOK},
		{name: "host that is none", url: "http://fiolat.invalid:9200", code: exitIncomplete},
		{name: "nobody listens", url: "http://127.0.0.1:1", code: exitIncomplete},
		{name: "address that is none", url: "http://127.0.0.1:port", code: exitUsage},
		{name: "proxy that is away", url: "http://fiolat.invalid:9200",
			env: "HTTP_PROXY=http://u:canaryProxy@127.0.0.1:1", code: exitIncomplete, want: "127.0.0.1:1"},
		{name: "400", serve: status(400), code: exitIncomplete, want: "***"},
		{name: "401", serve: status(401), code: exitIncomplete, want: "does not accept"},
		{name: "403", serve: status(403), code: exitIncomplete, want: "***"},
		{name: "500", serve: status(500), code: exitIncomplete, want: "***"},
		{name: "a page of HTML", serve: func(*esmodeltest.Server) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(502)
				fmt.Fprintf(w, "<h1>Bad gateway</h1>%s%s", strings.Repeat(" ", 120), echo(r))
			}
		}, code: exitIncomplete, want: "Bad gateway"},
		{name: "redirect", serve: func(*esmodeltest.Server) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://127.0.0.1:1/?"+url.QueryEscape(echo(r)), http.StatusPermanentRedirect)
			}
		}, code: exitIncomplete, want: "redirects are not followed"},
		{name: "documents refused", serve: through(func(r *http.Request, b []byte) []byte {
			reason, _ := json.Marshal(echo(r))
			return bytes.ReplaceAll(b, []byte(`"status":201`),
				[]byte(`"status":400,"error":{"type":"x","reason":`+string(reason)+`,`+
					`"caused_by":{"reason":`+string(reason)+`}}`))
		}), code: exitIncomplete, want: "***"},
		{name: "reply of others", serve: through(func(r *http.Request, b []byte) []byte {
			id, _ := json.Marshal(echo(r))
			return []byte(`{"items":[{"index":{"status":200,"_id":` + string(id) + `}}]}`)
		}), code: exitIncomplete, want: "***"},
		{name: "certificate of others", serve: status(401), tls: true, code: exitIncomplete, want: "not trusted"},
	} {
		for i, cred := range allCredentials(t) {
			if testing.Short() && (answer+i)%4 != 0 {
				continue
			}
			t.Run(tt.name+"/"+cred.name, func(t *testing.T) {
				t.Parallel()
				at := tt.url
				stored := func() string { return "" }
				if tt.serve != nil {
					s := esmodeltest.New(t, esmodeltest.Options{})
					front := httptest.NewUnstartedServer(tt.serve(s))
					front.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
					if tt.tls {
						front.TLS = &tls.Config{Certificates: []tls.Certificate{certs.server}}
						front.StartTLS()
					} else {
						front.Start()
					}
					t.Cleanup(front.Close)
					at = front.URL
					stored = func() string { return fmt.Sprint(s.Docs("*")) }
				}
				out := filepath.Join(t.TempDir(), "out")
				args := append([]string{"ingest", "--output", out, "--max-wait", "0s", real + "/gaps"}, cred.args...)
				env := []string{tt.env}
				for _, e := range cred.env {
					env = append(env, strings.Replace(e, userAt, strings.Replace(at, "://",
						"://ursula:"+cred.core+"%2F%26@", 1), 1))
				}
				if !strings.Contains(strings.Join(cred.env, " "), userAt) {
					args = append(args, "--es", at)
				}
				if i%2 == 1 {
					args = append(args, "--log-format", "json")
				}
				cmd, stdout, stderr := program(t, env, args...)
				cmd.Run() // the code is looked at
				if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(stderr.String(),
					tt.want) && cred.name != "token" && cred.name != "token file" {
					t.Errorf("exit %d, want %d and %q:\n%s", code, tt.code, tt.want, stderr)
				}
				written := ""
				filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
					if err == nil && !d.IsDir() {
						b, _ := os.ReadFile(path)
						written += path + "\n" + string(b)
					}
					return nil
				})
				for where, text := range map[string]string{"standard output": stdout.String(),
					"standard error": stderr.String(), "files": written, "documents": stored()} {
					if cred.leaks(text) || strings.Contains(text, "canary") {
						t.Errorf("the secret is in %s:\n%s", where, text)
					}
				}
			})
		}
	}
}

// TestSecretsInCrash: neither the command line nor the dump of a process that is
// killed while it talks to a server has a secret; nor has help, or a dry run.
func TestSecretsInCrash(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	for _, cred := range allCredentials(t) {
		t.Run(cred.name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan string, 1)
			srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				select {
				case asked <- r.Header.Get("Authorization"):
				default:
				}
				<-r.Context().Done()
			}))
			t.Cleanup(srv.Close)
			env := []string{"GOTRACEBACK=all", "ELASTICSEARCH_URL=" + srv.URL}
			for _, e := range cred.env {
				env = append(env, strings.Replace(e, userAt, strings.Replace(srv.URL, "://", "://ursula:"+cred.core+"@",
					1), 1))
			}
			for _, args := range [][]string{{"--help"}, {"ingest", "--help"}, append([]string{"ingest", "--dry-run",
				real + "/gaps"}, cred.args...)} {
				cmd, stdout, stderr := program(t, env, args...)
				if err := cmd.Run(); err != nil || cred.leaks(stdout.String()+stderr.String()) {
					t.Errorf("%v: %v\n%s%s", args, err, stdout, stderr)
				}
			}
			cmd, stdout, stderr := program(t, env, append([]string{"ingest", "--output", t.TempDir(), real + "/gaps"},
				cred.args...)...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if header := <-asked; header == "" {
				t.Error("no credentials were sent")
			}
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid))
			if err != nil && !errors.Is(err, os.ErrNotExist) || cred.leaks(string(line)) {
				t.Errorf("command line %q, %v", line, err)
			}
			awaitSleep(t, cmd.Process.Pid)
			cmd.Process.Signal(syscall.SIGQUIT)
			cmd.Wait()
			dump := stdout.String() + stderr.String()
			if !strings.Contains(dump, "goroutine ") || !strings.Contains(dump, "client.(*Client).perform") {
				t.Fatalf("no dump of goroutines:\n%s", dump)
			}
			if cred.leaks(dump) {
				t.Errorf("the secret is in\n%s", dump)
			}
		})
	}
}

// awaitSleep returns when no thread of a process runs. A stack that is inside the
// race detector's code, which is not Go's, is missing in a dump.
func awaitSleep(t *testing.T, pid int) {
	t.Helper()
	for {
		stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil || len(stats) == 0 {
			t.Fatalf("no threads of %d (%v)", pid, err)
		}
		if !slices.ContainsFunc(stats, func(name string) bool {
			stat, err := os.ReadFile(name)
			_, state, _ := strings.Cut(string(stat), ") ")
			return err == nil && (strings.HasPrefix(state, "R") || strings.HasPrefix(state, "D"))
		}) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// TestPasswordInArgument is refused, and not repeated.
func TestPasswordInArgument(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"http://u:canary@127.0.0.1:1", "http://u:can%61ry@[::1", "https://u:canary@h:9200?x"} {
		code, stdout, stderr := fiolat(t, nil, "setup", "--max-wait", "0s", "--es", at)
		if code != exitUsage || strings.Contains(stdout+stderr, "can") && !strings.Contains(stderr,
			"can be read by everybody") || strings.Contains(stderr, "canary") {
			t.Errorf("%s: exit %d\n%s", at, code, stderr)
		}
	}
}

// TestOneRequest: what cannot become better is asked once, said once, and leaves
// nothing behind; credentials go to nobody else.
func TestOneRequest(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := filepath.Join(t.TempDir(), "files")
	if code, _, stderr := fiolat(t, nil, "ingest", "--output", files, real+"/gaps"); code != exitOK {
		t.Fatal(stderr)
	}
	for _, tt := range []struct {
		status int
		want   string
	}{
		{401, "does not accept the credentials (401: no); check"},
		{301, "redirects are not followed"},
		{302, "redirects are not followed"},
		{307, "redirects are not followed"},
		{308, "redirects are not followed"},
	} {
		for _, args := range [][]string{{"ingest", real + "/gaps", real + "/slow"}, {"setup"}, {"load", files}} {
			t.Run(fmt.Sprint(tt.status, " ", args[0]), func(t *testing.T) {
				t.Parallel()
				var requests atomic.Int32
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					requests.Add(1)
					w.Header().Set("Location", other.URL+r.URL.Path)
					w.WriteHeader(tt.status)
					fmt.Fprint(w, `{"error":{"reason":"no"}}`)
				}))
				t.Cleanup(srv.Close)
				args := append(append([]string(nil), args...), "--log-format", "json", "--es", srv.URL, "--es-user",
					"u", "--es-password-file", password)
				out := filepath.Join(t.TempDir(), "out")
				if args[0] == "ingest" {
					args = append(args, "--output", out)
				}
				code, _, stderr := fiolat(t, nil, args...)
				errs, _ := levels(t, stderr)
				if code != exitIncomplete || len(errs) != 1 || strings.Count(errs[0], tt.want) != 1 {
					t.Errorf("exit %d, want one error with %q:\n%s", code, tt.want, stderr)
				}
				if n := requests.Load(); n != 1 {
					t.Errorf("%d requests", n)
				}
				if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("something was written: %v", err)
				}
			})
		}
	}
	t.Cleanup(func() { // after the parallel ones
		if n := elsewhere.Load(); n != 0 {
			t.Errorf("%d redirects were followed", n)
		}
	})
}

// TestSystemRoots: a server whose authority the system trusts needs no flag; its
// name and dates count all the same.
func TestSystemRoots(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, tt := range []struct {
		name  string
		certs certificates
		want  string
	}{
		{"good", newCertificates(t, now, "127.0.0.1"), ""},
		{"expired", newCertificates(t, now.Add(-3*time.Hour), "127.0.0.1"),
			"the server's certificate is not valid at this time"},
		{"not yet valid", newCertificates(t, now.Add(3*time.Hour), "127.0.0.1"),
			"the server's certificate is not valid at this time"},
		{"wrong host", newCertificates(t, now, "example.org"), "the server's certificate is not for this host"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := esmodeltest.New(t, esmodeltest.Options{})
			front := httptest.NewUnstartedServer(s.Config.Handler)
			front.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
			front.TLS = &tls.Config{Certificates: []tls.Certificate{tt.certs.server}}
			front.StartTLS()
			t.Cleanup(front.Close)
			roots := filepath.Join(t.TempDir(), "roots.pem")
			if err := os.WriteFile(roots, tt.certs.ca, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd, _, stderr := program(t, []string{"SSL_CERT_FILE=" + roots}, "setup", "--es", front.URL, "--log-format",
				"json")
			err := cmd.Run()
			errs, _ := levels(t, stderr.String())
			if tt.want == "" {
				if err != nil {
					t.Error(stderr)
				}
			} else if cmd.ProcessState.ExitCode() != exitIncomplete || len(errs) != 1 || !strings.Contains(errs[0],
				strings.TrimPrefix(front.URL, "https://")+": "+tt.want) {
				t.Errorf("want %q: %v\n%s", tt.want, err, stderr)
			}
		})
	}
}

// TestNodeThatRefuses: of two nodes one is away and the other stops accepting the
// credentials midway. The run is not called complete, and the same command again
// makes it so.
func TestNodeThatRefuses(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{})
	bulks := 0
	s.Inject(esmodeltest.Fault{Times: -1, Status: 401, Type: "security_exception", Reason: "no",
		Match: func(r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/_bulk") {
				bulks++
			}
			return bulks > 1
		}})
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"ingest", "--output", out, "--es", s.URL, "--es", "http://127.0.0.1:1", real + "/randrw"}
	if code, _, stderr := fiolat(t, nil, args...); code != exitIncomplete || strings.Count(stderr,
		"does not accept the credentials") != 1 {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	if runs := s.Docs("fio-run"); len(runs) != 1 || strings.Contains(string(runs[0].Source), `"complete"`) {
		t.Errorf("%+v", runs)
	}
	s.Heal()
	if code, _, stderr := fiolat(t, nil, args...); code != exitOK {
		t.Errorf("again: exit %d\n%s", code, stderr)
	}
	if runs := s.Docs("fio-run"); len(runs) != 1 || !strings.Contains(string(runs[0].Source), `"complete"`) ||
		len(s.Docs("*")) != 110 {
		t.Errorf("%d documents, %+v", len(s.Docs("*")), runs)
	}
	if left, _ := os.ReadDir(out); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
