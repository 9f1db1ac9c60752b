//go:build integration

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel/client"
)

// The tests named TestSecured... want a server with TLS and the roles of
// docs/security.md:
//
//	scripts/roles >roles.yml
//	eval "$(scripts/elasticsearch up --security --roles roles.yml)"
//
// Others cannot do with it; `go test -skip '^TestSecured'` goes with a server for them.
type secured struct{ url, ca, password string }

func securedServer(t *testing.T) secured {
	t.Helper()
	s := secured{os.Getenv("FIOLAT_TEST_ES"), os.Getenv("FIOLAT_TEST_ES_CA"), os.Getenv("FIOLAT_TEST_ES_PASSWORD_FILE")}
	if s.url == "" || s.ca == "" || s.password == "" {
		t.Fatal(`no Elasticsearch with TLS: scripts/roles >roles.yml; eval "$(scripts/elasticsearch up --security ` +
			`--roles roles.yml)"`)
	}
	return s
}

// as runs a command as a user, whose password is the same for all.
func (s secured) as(t *testing.T, user, command string, args ...string) (code int, stderr string) {
	t.Helper()
	code, _, stderr = fiolat(t, nil, append([]string{command, "--es", s.url, "--es-ca-cert", s.ca, "--es-user", user,
		"--es-password-file", s.password}, args...)...)
	return code, stderr
}

func (s secured) client(t *testing.T, user string) *client.Client {
	t.Helper()
	read := func(name string) []byte {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	c, err := client.New(client.Config{Addresses: []string{s.url}, CACert: read(s.ca), Username: user,
		Password: string(bytes.TrimSpace(read(s.password))), MaxWait: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func call(t *testing.T, c *client.Client, method, path, body string, reply any) error {
	t.Helper()
	r := client.Request{Op: "test", Method: method, Path: path}
	if body != "" {
		r.Body = []byte(body)
	}
	return c.Call(context.WithoutCancel(t.Context()), r, reply)
}

// wipe removes what the tests make: the prefix is that of the roles.
func (s secured) wipe(t *testing.T) {
	t.Helper()
	c := s.client(t, os.Getenv("FIOLAT_TEST_ES_USER"))
	var indices map[string]any
	if err := call(t, c, "GET", "/fio-*/_alias", "", &indices); err != nil {
		t.Fatal(err)
	}
	for name := range indices {
		if err := call(t, c, "DELETE", "/"+name, "", nil); err != nil {
			t.Error(err)
		}
	}
	call(t, c, "DELETE", "/_index_template/fio-*", "", nil) // there may be none
}

// docRoles are the roles of docs/security.md.
func docRoles(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	roles := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)```json\nPUT "+
		"/_security/role/([a-z_]+)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		roles[m[1]] = m[2]
	}
	return roles
}

// TestSecuredRoles: with the roles of docs/security.md each command does its work,
// and is refused what is none of its business, with the name of what it lacks.
func TestSecuredRoles(t *testing.T) {
	s := securedServer(t)
	s.wipe(t)
	t.Cleanup(func() { s.wipe(t) })
	roles := docRoles(t)
	if len(roles) != 4 {
		t.Fatalf("roles of docs/security.md: %v", roles)
	}
	for name, role := range roles {
		role = strings.Replace(role, `"indices"`, `"index"`, 1) // what the question calls it
		var reply struct {
			All bool `json:"has_all_requested"`
		}
		if err := call(t, s.client(t, name), "POST", "/_security/user/_has_privileges", role, &reply); err != nil ||
			!reply.All {
			t.Fatalf("%s: the server does not have the role of docs/security.md: %v", name, err)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	files := filepath.Join(t.TempDir(), "files")
	randrw := real + "/randrw"
	if code, _, stderr := fiolat(t, nil, "ingest", "--output", files, real+"/gaps"); code != exitOK {
		t.Fatal(stderr)
	}
	for _, step := range []struct {
		user, command string
		args          []string
		code          int
		want          string // in what is said
	}{
		{"fiolat_ingest", "ingest", []string{"--output", out, randrw}, exitIncomplete,
			`run "fiolat setup" as a user with the required privileges: read index templates: user "fiolat_ingest" ` +
				`lacks the cluster privilege "manage_index_templates"`},
		{"fiolat_ingest", "setup", nil, exitIncomplete, `user "fiolat_ingest" lacks the cluster privilege ` +
			`"manage_index_templates"`},
		{"fiolat_reader", "setup", nil, exitIncomplete, `user "fiolat_reader" lacks the cluster privilege ` +
			`"manage_index_templates"`},
		{"fiolat_setup", "setup", nil, exitOK, "created    index fio-run"},
		{"fiolat_setup", "setup", nil, exitOK, "unchanged  index fio-run"},
		{"fiolat_ingest", "ingest", []string{"--output", out, randrw}, exitOK,
			"110 made, 110 indexed (run "},
		{"fiolat_ingest", "ingest", []string{"--output", out, randrw}, exitOK,
			"110 made, 110 indexed (run "},
		{"fiolat_ingest", "ingest", []string{"--output", out, "--interval", "3s", randrw}, exitOK,
			"37 indexed; 109 of other generations deleted (run "},
		{"fiolat_ingest", "ingest", []string{"--run-id", "P", "--part", "a", "--grid", "epoch", "--output", out,
			randrw}, exitOK, " P)"},
		{"fiolat_ingest", "merge", []string{"P"}, exitOK, " P)"},
		{"fiolat_ingest", "rollup", []string{"--interval", "10s", "P"}, exitOK, "1 run rolled up"},
		{"fiolat_reader", "runs", []string{"--size"}, exitIncomplete, `user "fiolat_reader" lacks the index ` +
			`privilege "monitor"`},
		{"fiolat_reader", "runs", nil, exitOK, ""},
		{"fiolat_reader", "percentiles", []string{"P"}, exitOK, ""},
		{"fiolat_reader", "summary", []string{"P"}, exitOK, ""},
		{"fiolat_reader", "report", []string{"-o", filepath.Join(t.TempDir(), "page.html"), "P"}, exitOK, ""},
		{"fiolat_reader", "compare", []string{"P", "P"}, exitOK, ""},
		{"fiolat_reader", "diagnose", []string{"P"}, exitOK, ""},
		{"fiolat_reader", "curve", []string{"P"}, exitUsage, "a curve needs two settings"}, // it was read
		{"fiolat_reader", "inspect", []string{"P"}, exitOK, ""},
		{"fiolat_reader", "history", []string{"P"}, exitOK, ""},
		{"fiolat_ingest", "label", []string{"P", "series=nightly"}, exitOK, ""},
		{"fiolat_ingest", "history", []string{"--label", "series=nightly", "--store"}, exitOK, ""},
		{"fiolat_ingest", "annotate", []string{"--at", "+1s", "P", "osd.12 down"}, exitOK, ""},
		{"fiolat_ingest", "load", []string{files}, exitOK, "complete"},
		{"fiolat_ingest", "live", []string{"--run-id", "L", "--output", out, real + "/live/fio-status.json"}, exitOK,
			" L)"},
		{"fiolat_ingest", "probe", []string{"--run-id", "probe", "--output", out, "--duration", "2s", "--interval",
			"1s", "--size", "1m", t.TempDir()}, exitOK, "(run probe)"},
		{"fiolat_setup", "setup", nil, exitOK, "unchanged  index fio-run"},
		{"fiolat_ingest", "ingest", []string{"--index-prefix", "other", "--output", out, randrw}, exitIncomplete,
			`read the fields of other-run: user "fiolat_ingest" lacks the index privilege "read"`},
		{"fiolat_ingest", "load", []string{"--index-prefix", "fio", files}, exitOK, "complete"},
		{"fiolat_setup", "ingest", []string{"--output", out, randrw}, exitIncomplete,
			`user "fiolat_setup" lacks the index privilege "index"`},
		{"fiolat_reader", "ingest", []string{"--output", out, randrw}, exitIncomplete,
			`user "fiolat_reader" lacks the index privilege "index"`},
		{"fiolat_delete", "ingest", []string{"--output", out, randrw}, exitIncomplete,
			`user "fiolat_delete" lacks the index privilege "index"`},
		{"fiolat_ingest", "delete", []string{"--yes", "L"}, exitOK, ""},
		{"fiolat_delete", "delete", []string{"--yes", "P"}, exitOK, ""},
		{"fiolat_reader", "delete", []string{"--yes", "probe"}, exitIncomplete,
			`user "fiolat_reader" lacks the index privilege "delete"`},
		{"fiolat_reader", "percentiles", []string{"P"}, exitInput, "there is no such run"},
	} {
		code, stderr := s.as(t, step.user, step.command, step.args...)
		if code != step.code || !strings.Contains(stderr, step.want) {
			t.Errorf("%s %s %q: exit %d, want %d and %q:\n%s", step.user, step.command, step.args, code, step.code,
				step.want, stderr)
		}
	}
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("documents were spooled by who may not do anything with them: %v", err)
	}

	var found struct {
		Hits struct {
			Hits []struct {
				Index string `json:"_index"`
				ID    string `json:"_id"`
			}
		}
	}
	if err := call(t, s.client(t, "fiolat_reader"), "POST", "/fio-percentiles-*/_search?size=1", "",
		&found); err != nil || len(found.Hits.Hits) != 1 {
		t.Fatalf("%v, %+v", err, found)
	}
	one := found.Hits.Hits[0]
	// What no command does is asked of the server as it is.
	for _, ask := range []struct{ user, method, path, body, lacks string }{
		{"fiolat_reader", "GET", "/fio-*/_mapping", "", ""},
		{"fiolat_reader", "GET", "/fio-*/_field_caps?fields=*", "", ""},
		{"fiolat_reader", "DELETE", "/" + one.Index + "/_doc/" + one.ID, "", "delete"},
		{"fiolat_reader", "GET", "/fiolat-other/_search", "", "read"},
		{"fiolat_delete", "POST", "/fio-*/_search", "", ""},
		{"fiolat_delete", "DELETE", "/" + one.Index + "/_doc/" + one.ID, "", ""},
		{"fiolat_delete", "PUT", "/" + one.Index + "/_doc/" + one.ID, "{}", "index"},
		{"fiolat_delete", "DELETE", "/" + one.Index, "", "delete_index"},
		{"fiolat_ingest", "DELETE", "/" + one.Index, "", "delete_index"},
		{"fiolat_ingest", "DELETE", "/fio-run", "", "delete_index"},
		{"fiolat_ingest", "PUT", "/other-run", "", "create_index"},
		{"fiolat_ingest", "GET", "/_cluster/health", "", "monitor"},
		{"fiolat_setup", "DELETE", "/fio-run", "", "delete_index"},
		{"fiolat_setup", "POST", "/fio-*/_search", "", ""},
		{"fiolat_setup", "PUT", "/" + one.Index + "/_doc/" + one.ID, "{}", "index"},
	} {
		err := call(t, s.client(t, ask.user), ask.method, ask.path, ask.body, nil)
		var no *client.ForbiddenError
		if ask.lacks == "" && err != nil || ask.lacks != "" && (!errors.As(err, &no) || no.User != ask.user ||
			no.Privilege != ask.lacks) {
			t.Errorf("%s %s %s: %v, want lack of %q", ask.user, ask.method, ask.path, err, ask.lacks)
		}
	}
}

// TestSecuredTLS: what is trusted works, and everything else is refused at once,
// in one line that names the node and what to do.
func TestSecuredTLS(t *testing.T) {
	s := securedServer(t)
	t.Cleanup(func() { s.wipe(t) })
	at := strings.TrimPrefix(s.url, "https://")
	// As a user gets it: from the certificate on the server's disk. This one shows its own only, not its authority's.
	conn, err := tls.Dial("tcp", at, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	fingerprint := fmt.Sprintf("%x", sha256.Sum256(conn.ConnectionState().PeerCertificates[0].Raw))
	conn.Close()
	other := filepath.Join(t.TempDir(), "other.crt")
	if err := os.WriteFile(other, newCertificates(t, time.Now(), "127.0.0.1").ca, 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "wrong")
	if err := os.WriteFile(wrong, []byte("not the password\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	login := []string{"--es-user", os.Getenv("FIOLAT_TEST_ES_USER"), "--es-password-file", s.password}
	for _, tt := range []struct {
		name string
		args []string
		want string // "": works
		warn int    // warnings
	}{
		{"right CA", []string{"--es", s.url, "--es-ca-cert", s.ca}, "", 0},
		{"fingerprint", []string{"--es", s.url, "--es-fingerprint", fingerprint}, "", 0},
		{"insecure", []string{"--es", s.url, "--es-insecure"}, "", 1},
		{"one of two nodes dead", []string{"--es", "https://" + dead.Addr().String(), "--es", s.url, "--es-ca-cert",
			s.ca}, "", -1},
		{"system roots", []string{"--es", s.url}, at + ": the server's certificate is signed by an authority that is " +
			"not trusted", 0},
		{"wrong CA", []string{"--es", s.url, "--es-ca-cert", other},
			at + ": the server's certificate is signed by an authority that is not trusted", 0},
		{"wrong fingerprint", []string{"--es", s.url, "--es-fingerprint", strings.Repeat("ab", 32)},
			at + ": no certificate of the server has the fingerprint given", 0},
		{"http", []string{"--es", "http://" + at}, at + ": the server speaks TLS; use https:// in the address", 0},
		{"wrong password", []string{"--es", s.url, "--es-ca-cert", s.ca, "--es-user", "elastic",
			"--es-password-file", wrong}, "Elasticsearch at " + at + " does not accept the credentials (401: unable " +
			"to authenticate user [elastic]", 0},
		{"no password", []string{"--es", s.url, "--es-ca-cert", s.ca, "--es-user", ""},
			"Elasticsearch at " + at + " does not accept the credentials (401: missing authentication credentials", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			// Of two runs: the second must not be tried after the first.
			code, _, stderr := fiolat(t, nil, append(append([]string{"ingest", "--output", out, "--log-format",
				"json", real + "/gaps", real + "/slow"}, login...), tt.args...)...)
			errs, warnings := levels(t, stderr)
			if tt.want == "" {
				// That the cluster lacks the histogram type is said once, of two runs.
				if code != exitOK || len(errs) > 0 || tt.warn >= 0 && len(warnings) != tt.warn+1 {
					t.Errorf("exit %d\n%s", code, stderr)
				}
				return
			}
			if code != exitIncomplete || len(errs) != 1 || !strings.Contains(errs[0], tt.want) ||
				len(warnings) != tt.warn {
				t.Errorf("exit %d, want one error with %q:\n%s", code, tt.want, stderr)
			}
			if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("something was spooled: %v", err)
			}
		})
	}
}
