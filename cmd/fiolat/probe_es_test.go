//go:build integration && linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fiolat/internal/alert"
)

// probePrefix is one of indices that are removed afterwards.
func probePrefix(t *testing.T, es string) string {
	prefix := fmt.Sprintf("it-%s-%d", strings.ToLower(t.Name()), os.Getpid())
	t.Cleanup(func() {
		var indices map[string]any
		ask(t, "GET", es+"/"+prefix+"-*", "", &indices)
		for name := range indices {
			ask(t, "DELETE", es+"/"+name, "", nil)
		}
		ask(t, "DELETE", es+"/_index_template/"+prefix+"-*", "", nil)
	})
	return prefix
}

// loadSpool loads what a probe has spooled, as it waits 3 s for the last acknowledgements and a busy server needs
// longer, and returns the final exit code.
func loadSpool(t *testing.T, es string, code int, stderr string) int {
	t.Helper()
	_, file, spooled := strings.Cut(stderr, "to finish: fiolat load ")
	if !spooled {
		return code
	}
	file, _, _ = strings.Cut(file, "\n")
	code, _, said := fiolat(t, nil, "load", "--es", es, file)
	t.Log(said)
	return code
}

// A probe into a real Elasticsearch: each document is there, and what the dashboard
// asks for can be asked.
func TestServerProbe(t *testing.T) {
	es, dir := server(t), t.TempDir()
	prefix := probePrefix(t, es)
	code, _, stderr := fiolat(t, nil, append(quick, "--es", es, "--index-prefix", prefix, "--label",
		"rack=7", "--output", t.TempDir(), dir)...)
	if code = loadSpool(t, es, code, stderr); code != exitOK || !strings.Contains(stderr, " 0 refused, ") ||
		!strings.Contains(stderr, " spooled, 0 lost") {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	var docs []json.RawMessage
	for _, d := range documents(t, es, prefix+"-probe-*") {
		docs = append(docs, d)
	}
	checkProbeDocs(t, docs, dir)
	var found struct {
		Aggregations struct {
			Operations struct {
				Buckets []struct {
					Key             string
					Worst, Expected struct{ Value float64 }
				}
			}
		}
	}
	ask(t, "POST", es+"/"+prefix+"-probe-*/_search", `{"size":0,"query":{"exists":{"field":"probe.slowdown"}},"aggs":{
		"operations":{"terms":{"field":"probe.operation"},"aggs":{
			"worst":{"max":{"field":"probe.slowdown"}},"expected":{"max":{"field":"latency.expected"}}}}}}`, &found)
	if n := len(found.Aggregations.Operations.Buckets); n != 6 {
		t.Fatalf("%d operations", n)
	}
	for _, b := range found.Aggregations.Operations.Buckets {
		if b.Worst.Value < 1 || b.Expected.Value <= 0 {
			t.Errorf("%+v", b)
		}
	}
}

// Of two directories one hangs, as its server stands still, until three lines have said so. The hang and the recovery
// are sent, though the webhook fails at first, and lie among the events, where Kibana's annotations are from. Both
// directories may have been slow before, and may be slow again.
func TestServerProbeAlerts(t *testing.T) {
	es, dir := server(t), t.TempDir()
	prefix := probePrefix(t, es)
	server, hanging := bindfs(t)
	other, secret, command := filepath.Join(dir, "other"), filepath.Join(dir, "secret"), filepath.Join(dir, "command")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var refused int
	var sent []string
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get(alert.SignatureHeader) != alert.Sign([]byte("key"), body) {
			t.Errorf("%v %v", r.Header, err)
		}
		if refused == 0 {
			refused++
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		sent = append(sent, string(body))
	}))
	defer hook.Close()
	recovered := func(sent string) bool {
		_, later, _ := strings.Cut(sent, hanging+": this file system hangs: a ")
		return strings.Contains(later, hanging+": this file system is quiet: ")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	printed, out := io.Pipe()
	go func() {
		lines := bufio.NewScanner(printed)
		await := func(n int, state string) {
			for n > 0 && lines.Scan() {
				if strings.Contains(lines.Text(), " "+hanging+"  "+state) {
					n--
				}
			}
		}
		await(1, "quiet")
		_ = server.Signal(unix.SIGSTOP)
		await(3, "hung")
		_ = server.Signal(unix.SIGCONT)
		for delivered := false; !delivered && ctx.Err() == nil; {
			await(3, "quiet") // there is no more to be told of
			b, _ := os.ReadFile(command)
			mu.Lock()
			delivered = recovered(string(b)) && recovered(strings.Join(sent, "\n"))
			mu.Unlock()
		}
		cancel()
		_, _ = io.Copy(io.Discard, printed)
	}()
	var errs bytes.Buffer
	args := append(slices.Concat([]string{"fiolat"}, quick), "--duration", "0s", "--every", "50ms",
		"--output", filepath.Join(dir, "out"), "--es", es, "--index-prefix", prefix,
		"--alert-webhook", hook.URL, "--alert-secret-file", secret, "--alert-command", "cat >> "+command,
		hanging, other)
	code := run(ctx, args, nil, out, &errs)
	out.Close()
	stderr := errs.String()
	t.Log(stderr)
	if code = loadSpool(t, es, code, stderr); code != exitOK ||
		!strings.Contains(stderr, fmt.Sprintf("alerts     %d delivered, 0 not", 2*len(sent))) {
		t.Fatalf("exit %d", code)
	}
	if b, err := os.ReadFile(command); err != nil || string(b) != strings.Join(sent, "\n")+"\n" {
		t.Errorf("the command received %s %v", b, err)
	}
	events := documents(t, es, prefix+"-event-*")
	if len(events) != len(sent) || refused != 1 {
		t.Fatalf("sent %q, events %s, %d refused", sent, events, refused)
	}
	if !recovered(strings.Join(sent, "\n")) {
		t.Errorf("no hang and recovery in %q", sent)
	}
	told := map[string]string{} // the state by target, "" after a recovery
	for i := range sent {
		var e struct {
			ID, Text, Message string
			Event             struct{ Action string }
			Probe             struct{ Target, State string }
		}
		if err := json.Unmarshal([]byte(sent[i]), &e); err != nil {
			t.Fatal(err)
		}
		action, message := "probe-trouble", ": this file system is "+e.Probe.State
		before := told[e.Probe.Target]
		told[e.Probe.Target] = e.Probe.State
		switch {
		case e.Probe.State == "hung" && before != "hung":
			message = ": this file system hangs: a "
		case before != "":
			action, message = "probe-recovery", ": this file system is quiet: "
			told[e.Probe.Target] = ""
		}
		if e.Event.Action != action ||
			!strings.HasPrefix(e.Message, e.Probe.Target+message) {
			t.Errorf("%s", sent[i])
		}
		var alert, stored map[string]any
		if err := errors.Join(json.Unmarshal([]byte(sent[i]), &alert),
			json.Unmarshal(events[e.ID], &stored)); err != nil {
			t.Fatal(err)
		}
		delete(alert, "id")
		delete(alert, "text")
		if e.Text != e.Message || !reflect.DeepEqual(alert, stored) {
			t.Errorf("sent %s, stored %s", sent[i], events[e.ID])
		}
	}
}

// bindfs is a file system of a server of its own.
func bindfs(t *testing.T) (server *os.Process, mounted string) {
	t.Helper()
	mounted = t.TempDir()
	cmd := exec.Command("bindfs", "-f", t.TempDir(), mounted)
	if err := cmd.Start(); err != nil {
		t.Fatalf("bindfs: %v (Debian package bindfs)", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(unix.SIGCONT)
		_ = unix.Unmount(mounted, unix.MNT_DETACH)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for range 500 {
		if b, err := os.ReadFile("/proc/mounts"); err == nil && strings.Contains(string(b), " "+mounted+" fuse") {
			return cmd.Process, mounted
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("bindfs does not mount")
	return nil, ""
}
