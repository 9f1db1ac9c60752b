package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"fiolat/esmodel/esmodeltest"
	"fiolat/internal/testkit"
)

// sweepFault is what may happen to a request.
type sweepFault struct {
	name    string
	onwards bool   // and to all that follow
	path    string // end of the path of requests that it may happen to
	fault   esmodeltest.Fault
}

var sweepFaults = []sweepFault{
	{"connection cut", false, "", esmodeltest.Fault{Reset: true}},
	{"reply lost", false, "", esmodeltest.Fault{LoseReply: true}},
	{"server gone", true, "", esmodeltest.Fault{Reset: true}},
	{"500", false, "", esmodeltest.Fault{Status: 500, Type: "x", Reason: "y"}},
	{"429", false, "", esmodeltest.Fault{Status: 429, Type: "es_rejected_execution_exception", Reason: "full"}},
	{"403", false, "", esmodeltest.Fault{Status: 403, Type: "security_exception", Reason: "no"}},
	{"JSON cut short", false, "", esmodeltest.Fault{Reply: func(b []byte) []byte { return b[:len(b)/2] }}},
	{"timed out", false, "_search", esmodeltest.Fault{Reply: func(b []byte) []byte {
		return bytes.Replace(b, []byte("{"), []byte(`{"timed_out":true,`), 1)
	}}},
	{"a shard failed to search", false, "_search", esmodeltest.Fault{Reply: shardFailed}},
	{"a shard failed to count", false, "_count", esmodeltest.Fault{Reply: shardFailed}},
	{"documents refused", false, "_bulk", esmodeltest.Fault{Item: func(string, string) (int, string, string) {
		return 400, "x", "y"
	}}},
	{"documents put off", false, "_bulk", esmodeltest.Fault{Item: func(string, string) (int, string, string) {
		return 429, "x", "y"
	}}},
}

// strike makes the fault strike the nth request from now on, counted from 0; struck is that request then.
func (f *sweepFault) strike(s *esmodeltest.Server, nth int) (struck *string) {
	asked := -1
	struck = new(string)
	fault := f.fault
	fault.Times = -1
	fault.Match = func(r *http.Request) bool {
		asked++
		hit := (asked == nth || f.onwards && asked > nth) && strings.HasSuffix(r.URL.Path, f.path)
		if hit && *struck == "" {
			*struck = fmt.Sprint("request ", nth, ", ", r.Method, " ", r.URL.Path)
		}
		return hit
	}
	s.Inject(fault)
	return struck
}

func shardFailed(b []byte) []byte {
	return bytes.Replace(b, []byte(`"failed":0`), []byte(`"failed":1`), 1)
}

// timeless is a field of documents that says when something was done.
var timeless = regexp.MustCompile(`"ingested":"[^"]*"`)

// storedApart returns the documents of one run, and those of all others, by index and id.
func storedApart(s *esmodeltest.Server, run string) (own, others map[string]string) {
	own, others = map[string]string{}, map[string]string{}
	for _, d := range s.Docs("*") {
		to := others
		if d.Fields["run.id"] == run {
			to = own
		}
		to[d.Index+"/"+d.ID] = timeless.ReplaceAllString(string(d.Source), "")
	}
	return own, others
}

// TestRequestsThatFail fails each request of the commands that change what is stored, in each way. A command that ends
// with 0 has stored what it stores without a fault, and so has one that says so. Other runs stay as they are, and the
// same command again ends as without the fault.
func TestRequestsThatFail(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	before := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	for _, run := range []string{"mine", "other"} {
		must(t, "ingest", "--es", before.URL, "--run-id", run, "--start", "2026-02-10T00:00:00Z", "--interval", "5s",
			real+"/exact")
	}
	files := t.TempDir()
	must(t, "ingest", "--run-id", "mine", "--start", "2026-02-10T00:00:00Z", "--interval", "4s", "--output", files,
		real+"/exact")
	parts := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	for _, part := range []string{"exact", "gaps"} {
		must(t, "ingest", "--es", parts.URL, "--run-id", "mine", "--part", part, "--start", "2026-02-10T00:00:00Z",
			"--interval", "5s", real+"/"+part)
	}
	must(t, "ingest", "--es", parts.URL, "--run-id", "other", "--interval", "5s", real+"/exact")
	nothing := esmodeltest.New(t, esmodeltest.Options{Histogram: true, Lifecycle: true})
	installed := nothing.Copy(t)
	must(t, "setup", "--es", installed.URL)
	must(t, "ingest", "--es", installed.URL, "--run-id", "other", "--interval", "5s", real+"/exact")
	ingest := []string{"ingest", "--run-id", "mine", "--start", "2026-02-10T00:00:00Z", "--interval", "4s",
		real + "/exact", "--output", "COPY OF " + t.TempDir()}
	for name, tt := range map[string]struct {
		before  *esmodeltest.Server
		args    []string
		success []string
		one     int // of so many faults is tried, unless all are
	}{
		"rollup":       {before, []string{"rollup", "--interval", "10s", "mine"}, []string{"1 run rolled up"}, 24},
		"load":         {before, []string{"load", "COPY OF " + files}, []string{"complete "}, 20},
		"delete":       {before, []string{"delete", "--yes", "mine"}, nil, 24},
		"annotate":     {before, []string{"annotate", "--at", "+1s", "mine", "text"}, []string{"noted"}, 5},
		"label":        {before, []string{"label", "mine", "a=b"}, []string{"labelled", "has these labels"}, 8},
		"ingest":       {nothing, ingest, nil, 24},
		"ingest again": {before, ingest, nil, 24},
		"merge":        {parts, []string{"merge", "mine", "--output", "COPY OF " + t.TempDir()}, nil, 24},
		"setup":        {nothing, []string{"setup"}, nil, 24},
		"setup again":  {installed, []string{"setup", "--delete-after", "90d", "--shards", "3"}, nil, 24},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sweepRequests(t, tt.before, tt.args, tt.success, tt.one)
		})
	}
}

// indexed is how many documents ingest and merge say they have stored.
var indexed = regexp.MustCompile(`(?m)^documents .*\b(\d+) indexed`)

// installs is what setup says of a template, a policy or an index.
var installs = regexp.MustCompile(
	`(?m)^(?:created|updated|unchanged) +((?:index template|lifecycle policy|index) [^\s:]+)`)

// sweepRequests fails the requests of a command that changes the run "mine".
func sweepRequests(t *testing.T, before *esmodeltest.Server, args, success []string, one int) {
	undisturbed := before.Copy(t)
	code, said := attempted(t, undisturbed, ownFiles(t, args))
	if code != exitOK || !contains(said, success) && success != nil {
		t.Fatalf("without a fault: exit %d\n%s", code, said)
	}
	stored := func(s *esmodeltest.Server) (own, others map[string]string) {
		own, others = storedApart(s, "mine")
		for what, text := range s.Installed() {
			if args[0] == "setup" || !strings.HasPrefix(what, "index fio") { // empty ones are only setup's
				own[what] = text
			}
		}
		return own, others
	}
	want, others := stored(undisturbed)
	var trials atomic.Int32
	var all sync.WaitGroup
	few := make(chan bool, 8) // some wait for a server that is gone
	for nth := range undisturbed.Requests("") {
		for i, f := range sweepFaults {
			if !testkit.All() && (nth+i)%one != 0 {
				continue
			}
			few <- true
			all.Go(func() {
				defer func() { <-few }()
				s := before.Copy(t)
				defer s.Close()
				args := ownFiles(t, args)
				struck := f.strike(s, nth)
				code, said := attempted(t, s, args)
				s.Heal()
				if *struck == "" {
					return
				}
				trials.Add(1)
				own, there := stored(s)
				done := maps.Equal(own, want)
				mayNot := f.fault.Status == 403 && strings.Contains(said, "fiolat: warning: ") // set up all
				for _, m := range installs.FindAllStringSubmatch(said, -1) {
					if own[m[1]] == "" || own[m[1]] != want[m[1]] && !mayNot {
						t.Errorf("%s, %.60s: %s is not there\n%s", f.name, *struck, m[1], said)
					}
				}
				if m := indexed.FindStringSubmatch(said); m != nil {
					if n, err := strconv.Atoi(m[1]); err != nil || n > len(own) {
						t.Errorf("%s, %.60s: %d documents are there\n%s", f.name, *struck, len(own), said)
					}
				}
				if !maps.Equal(there, others) || code == exitOK && !done && !mayNot ||
					code != exitOK && code != exitIncomplete && code != exitInput || contains(said, success) && !done {
					t.Errorf("%s, %.60s: exit %d, all is done: %v\n%s", f.name, *struck, code, done, said)
				}
				again, saidAgain := attempted(t, s, args)
				own, there = stored(s)
				gone := args[0] == "delete" && again == exitInput // it is deleted, known or not
				if again != exitOK && !gone || !maps.Equal(own, want) && !mayNot || !maps.Equal(there, others) {
					t.Errorf("%s, %.60s: exit %d, again: exit %d\n%s\n%s", f.name, *struck, code, again, said, saidAgain)
				}
			})
		}
	}
	all.Wait()
	if trials.Load() == 0 {
		t.Error("no fault struck")
	}
}

// ownFiles copies a folder that is an argument: one load at a time has a file.
func ownFiles(t *testing.T, args []string) []string {
	t.Helper()
	dir, ok := strings.CutPrefix(args[len(args)-1], "COPY OF ")
	if !ok {
		return args
	}
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Error(err)
	}
	return append(slices.Clone(args[:len(args)-1]), to)
}

// attempted runs a command with a server, which tries nothing again, and returns what it says.
func attempted(t *testing.T, s *esmodeltest.Server, args []string) (code int, said string) {
	t.Helper()
	code, stdout, stderr := fiolat(t, nil, append(slices.Clone(args), "--max-wait", "0", "--es", s.URL)...)
	return code, stdout + stderr
}

// contains reports whether a text has one of some parts.
func contains(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// partial reports whether a run that was stored is called partial, and not complete.
func partial(documents map[string]string) bool {
	all := strings.Join(slices.Collect(maps.Values(documents)), "\n")
	return strings.Contains(all, `"status":"partial"`) && !strings.Contains(all, `"status":"complete"`)
}

// TestDocumentFilesThatFail: of a folder of documents each file is missing, cut short or no file. A command that ends
// with 0 has printed and stored what it does with all of them, or says that intervals are gone; a run without its own
// document is stored as partial.
func TestDocumentFilesThatFail(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	whole := t.TempDir()
	must(t, "ingest", "--run-id", "mine", "--start", "2026-02-10T00:00:00Z", "--interval", "5s", "--output", whole,
		real+"/exact")
	files, err := filepath.Glob(whole + "/*.ndjson")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	cut := func(share, less int) func(string) error {
		return func(path string) error {
			b, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, b[:len(b)*share/4-less], 0o600))
		}
	}
	faults := map[string]func(path string) error{
		"missing": os.Remove, "empty": cut(0, 0), "cut at a quarter": cut(1, 0), "cut at the middle": cut(2, 0),
		"last bytes missing": cut(4, 9),
		"last line missing": func(path string) error {
			b, err := os.ReadFile(path)
			lines := bytes.SplitAfter(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
			return errors.Join(err, os.WriteFile(path, bytes.Join(lines[:len(lines)-2], nil), 0o600))
		},
		"a folder": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"a link to nothing": func(path string) error {
			return errors.Join(os.Remove(path), os.Symlink("nothing", path))
		},
	}
	for _, args := range [][]string{{"load"}, {"summary", "--format", "csv"}, {"percentiles", "--format", "csv"},
		{"diagnose"}, {"compare", real + "/exact"}} {
		attempt := func(dir string) (code int, said string, made map[string]string) {
			line := append(slices.Clone(args), dir)
			s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
			defer s.Close()
			if args[0] == "load" {
				line = append(line, "--es", s.URL)
			}
			code, stdout, stderr := fiolat(t, nil, line...)
			made, _ = storedApart(s, "mine")
			made["stdout"] = strings.ReplaceAll(stdout, dir, "")
			return code, stdout + stderr, made
		}
		code, said, want := attempt(whole)
		if code != exitOK {
			t.Fatalf("%q: exit %d\n%s", args, code, said)
		}
		for _, file := range files {
			for name, spoil := range faults {
				dir := t.TempDir()
				err := os.CopyFS(dir, os.DirFS(whole))
				if err = errors.Join(err, spoil(filepath.Join(dir, filepath.Base(file)))); err != nil {
					t.Fatal(err)
				}
				code, said, made := attempt(dir)
				same := maps.Equal(made, want) || contains(said, []string{"intervals were deleted"}) ||
					args[0] == "load" && partial(made) && contains(said, []string{"is stored as partial: its own document"})
				if code == exitOK && !same || code != exitOK && code != exitInput &&
					code != exitIncomplete || code != exitOK && strings.Contains(said, "complete   ") {
					t.Errorf("%q, %s %s: exit %d\n%s", args, filepath.Base(file), name, code, said)
				}
			}
		}
	}
}
