package main

import (
	"errors"
	"flag"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"fiolat/esmodel/esmodeltest"
	"fiolat/internal/testkit"
)

var update = flag.Bool("update", false, "write what the commands print into testdata/script")

// programAndLogs returns the absolute paths of the program, which is this test, and of fio's logs.
func programAndLogs(t *testing.T) (self, logs string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if logs, err = filepath.Abs(real); err != nil {
		t.Fatal(err)
	}
	return self, logs
}

var number = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

// TestScripts runs whole commands as a shell does and compares what they print, their exit
// codes and their files. Each script finds fio's logs of testdata/fio in fio, testdata/sync, sweep and depths,
// and a few more in logs and runs. `exits 3 fiolat ...` runs a command that must end with that code, `nights DIR`
// writes ten made-up runs, and `elasticsearch` starts a server for the commands behind it.
func TestScripts(t *testing.T) {
	testkit.NotRaced(t)
	self, logs := programAndLogs(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			in := func(name string) string { return filepath.Join(env.WorkDir, name) }
			log, err := os.ReadFile(filepath.Join(logs, "slow", "slow_clat_hist.1.log"))
			second := strings.IndexByte(string(log), '\n') + 1
			err = errors.Join(err,
				os.MkdirAll(in("bin"), 0o700), os.Mkdir(in("logs"), 0o700), os.Mkdir(in("runs"), 0o700),
				os.Mkdir(in("empty"), 0o700),
				os.Symlink(self, in("bin/fiolat")), os.Symlink(logs, in("fio")),
				os.Symlink(filepath.Join(logs, "../../analysis/diagnose/testdata/disks"), in("disks")),
				os.Symlink(filepath.Join(logs, "../../analysis/diagnose/testdata/three-stopped"), in("stopped")),
				os.Symlink(filepath.Join(logs, "../../analysis/history/testdata/one-slow-night"), in("one-slow-night")),
				os.Symlink(filepath.Join(filepath.Dir(logs), "sync"), in("sync")),
				os.Symlink(filepath.Join(logs, "../../ingest/testdata/kept"), in("kept")),
				os.Symlink(filepath.Join(logs, "../../cmd/fiolat/testdata/totals"), in("exact")),
				os.Symlink(filepath.Join(logs, "../../ingest/testdata/accounted"), in("accounted")),
				os.Symlink(filepath.Join(logs, "../../pipeline/live/testdata/sync"), in("streams")),
				os.Symlink(filepath.Join(filepath.Dir(logs), "sweep"), in("sweep")),
				os.Symlink(filepath.Join(filepath.Dir(logs), "depths"), in("depths")),
				os.Symlink(filepath.Join(filepath.Dir(logs), "stages"), in("stages")),
				os.Symlink(filepath.Join(logs, "gaps"), in("runs/yesterday")), os.Symlink(filepath.Join(logs, "slow"),
					in("runs/today")),
				os.WriteFile(in("logs/slow_clat_hist.1.log"), log, 0o600),
				os.WriteFile(in("logs/cut_clat_hist.1.log"), log[second:2*second+2000], 0o600))
			env.Setenv("PATH", in("bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
			env.Setenv(asProgram, "1")
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"nights": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(os.Mkdir(ts.MkAbs(args[0]), 0o700))
				usual, slow := 8, 2
				if len(args) == 3 {
					usual, _ = strconv.Atoi(args[1])
					slow, _ = strconv.Atoi(args[2])
				}
				_, err := writeNights(ts.MkAbs(args[0]), usual, slow)
				ts.Check(err)
			},
			// rounded A B: as cmp, but numbers may differ as counts that are read from documents do.
			"rounded": func(ts *testscript.TestScript, _ bool, args []string) {
				a, b := ts.ReadFile(args[0]), ts.ReadFile(args[1])
				x, y := number.FindAllString(a, -1), number.FindAllString(b, -1)
				for i := range min(len(x), len(y)) {
					v, _ := strconv.ParseFloat(x[i], 64)
					w, _ := strconv.ParseFloat(y[i], 64)
					if x[i] != y[i] && math.Abs(v-w) > 0.005*max(w, 1) {
						ts.Fatalf("%s has %s, %s has %s", args[0], x[i], args[1], y[i])
					}
				}
				if number.ReplaceAllString(a, "") != number.ReplaceAllString(b, "") {
					ts.Fatalf("%s and %s differ", args[0], args[1])
				}
			},
			"elasticsearch": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Setenv("ELASTICSEARCH_URL", esmodeltest.New(t, esmodeltest.Options{}).URL)
			},
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: exits CODE PROGRAM ARGUMENT...")
				}
				want, err := strconv.Atoi(args[0])
				ts.Check(err)
				var exit *exec.ExitError
				if err := ts.Exec(args[1], args[2:]...); !errors.As(err, &exit) || exit.ExitCode() != want {
					ts.Fatalf("%v, want exit code %d", err, want)
				}
			},
		},
	})
}
