//go:build matrix

package matrix

import (
	"flag"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"fiolat/internal/testkit"
)

var (
	fios    = flag.String("fio", "fio", "`BINARIES` to run every case with, separated by commas; none: only check")
	out     = flag.String("out", "", "`FOLDER` for the runs (default: a temporary one)")
	only    = flag.String("only", "", "run or check only the cases whose folder's name contains `TEXT`")
	random  = flag.Int("random", 0, "run `N` combinations drawn at random instead of the fixed ones")
	seed    = flag.Uint64("seed", 0, "draw them by this `SEED` (default: the time)")
	devices = flag.Bool("devices", false, "only run fio, on slow, stalling and failing devices")
	anew    = flag.Bool("truth", false, "work truth.json out again from what the folders hold")
)

const parallel = 4 // runs of fio, or of fiolat, at a time

// TestFio runs fio, and checks what fiolat makes of the runs.
func TestFio(t *testing.T) {
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM) // fio is a process group of its own
	defer stop()
	if *out == "" {
		*out = t.TempDir()
	}
	all := strings.FieldsFunc(*fios, func(r rune) bool { return r == ',' })
	if *devices {
		if err := generateDevices(ctx, all, *only, *out, parallel); err != nil {
			t.Fatal(err)
		}
		return
	}
	list := cases()
	if *random > 0 {
		if *seed == 0 {
			*seed = uint64(time.Now().UnixNano())
		}
		t.Logf("-random %d -seed %d", *random, *seed)
		list = randomCases(*seed, *random)
	}
	var some []testCase
	for _, c := range list {
		if strings.Contains(c.Name, *only) {
			some = append(some, c)
		}
	}
	made, err := generate(ctx, all, some, *out, parallel)
	if t.Logf("%d runs in %s", made, *out); err != nil {
		t.Fatal(err)
	}
	if *anew {
		if err := truthsAgain(*out); err != nil {
			t.Fatal(err)
		}
	}
	answers, err := check(ctx, testkit.Program(t), *out, *only, parallel)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[verdict]int{}
	for _, a := range answers {
		counts[a.Verdict]++
		if a.Verdict != right {
			t.Logf("%s\t%s\t%s\t%s\t%s", a.Verdict, a.Folder, a.given(), a.Reason, strings.Join(a.Said, " | "))
		}
	}
	t.Logf("%d answers: %v", len(answers), counts)
	if bad := counts[wrong] + counts[overcareful]; bad > 0 || len(answers) == 0 {
		t.Errorf("%d of %d answers are wrong without a word, or refused without need", bad, len(answers))
	}
}
