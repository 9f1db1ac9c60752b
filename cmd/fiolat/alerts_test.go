package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fiolat/internal/testkit"
)

// TestGateAlerts: what makes compare and history exit with 5 is sent to the webhook, once, and corrections are.
func TestGateAlerts(t *testing.T) {
	t.Parallel()
	received := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received <- string(body)
	}))
	defer hook.Close()
	dirs, err := writeNights(t.TempDir(), 16, 3)
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(t.TempDir(), "state")
	history := []string{"history", "--metric", "read p50", "--state", state}
	compare := []string{"compare", "--run-noise", "0%", "--fail-if", "read p50 +10%"}
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string // in the body; "" for no request
	}{
		{"runs that differ", append(compare, dirs[0], dirs[18]), exitCompare,
			`"message":".*: fail if read p50 \+10%; read p50 \+2.*","rule":"read p50 \+10%"`},
		{"jobs that differ", append(compare, "--by", "job", dirs[0], dirs[18]), exitCompare,
			`"message":".*, job .*: fail if read p50 \+10%; read p50 \+2`},
		{"two rules, which are one alert", append(compare, "--fail-if", "p50 +5%", dirs[0], dirs[18]), exitCompare,
			`"text":".*: fail if read p50 \+10%; read p50 \+2[^"]*\\n[^"]*: fail if p50 \+5%; .*","also":\[{"message":`},
		{"runs that do not", append(compare, dirs[0], dirs[1]), exitOK, ""},
		{"a change", append(append(history, "--fail-if-changed", "3"), dirs...), exitCompare,
			`"action":"change-reported".*"message":".*read p50 \+`},
		{"changes of several metrics, which are one alert", append([]string{"history", "--fail-if-changed", "3"}, dirs...),
			exitCompare, `"text":"[^"]*p50 \+[^"]*\\n[^"]*histogram \+[^"]*","also":\[{"@timestamp"`},
		{"the same change again", append(append(history, "--fail-if-changed", "3"), dirs...), exitOK, ""},
		{"corrected", append(append(history, "--fail-if-changed", "3"), dirs...), exitOK,
			`"action":"change-reported".*"message":"corrected: .*read p50 \+`},
		{"without a gate", append([]string{"history"}, dirs...), exitUsage, ""},
		{"no URL", []string{"compare", "--fail-if", "p99 +1%", "--alert-webhook", "example.org", dirs[0], dirs[1]},
			exitUsage, ""},
	} {
		if tt.name == "corrected" { // as if the night before had been reported
			tell, err := os.ReadFile(state)
			if err != nil {
				t.Fatal(err)
			}
			_, table, _ := fiolat(t, nil, append([]string{"history", "--metric", "read p50", "--format", "json"},
				dirs...)...)
			var told struct{ Runs []struct{ ID string } }
			if err := json.Unmarshal([]byte(table), &told); err != nil {
				t.Fatal(err)
			}
			testkit.Write(t, filepath.Dir(state), "state",
				strings.ReplaceAll(string(tell), told.Runs[16].ID, told.Runs[15].ID))
		}
		args := append([]string{tt.args[0], "--alert-webhook", hook.URL}, tt.args[1:]...)
		code, _, stderr := fiolat(t, nil, args...)
		got := ""
		if len(received) > 0 {
			got = <-received
		}
		if code != tt.code || (got == "") != (tt.want == "") || !regexp.MustCompile(tt.want).MatchString(got) ||
			len(received) > 0 {
			t.Errorf("%s: exit %d, received %q\n%s", tt.name, code, got, stderr)
		}
	}
}
