//go:build otava

package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// otavaScript reads histories by family and prints the changes that Apache Otava finds in each.
const otavaScript = `
import json, sys
from otava.analysis import compute_change_points
families = json.load(sys.stdin)
out = {}
for name, histories in families.items():
    out[name] = {}
    for p in ("0.0001", "0.0003", "0.001", "0.003"):
        out[name][p] = [[int(c.index) for c in compute_change_points(h, max_pvalue=float(p))[0]] for h in histories]
json.dump(out, sys.stdout, separators=(",", ":"))
`

// TestOtava asks Apache Otava, with the Python of FIOLAT_TEST_PYTHON (scripts/otava-python), and writes
// what it says for TestSteps.
func TestOtava(t *testing.T) {
	python := os.Getenv("FIOLAT_TEST_PYTHON")
	if python == "" {
		t.Fatal("FIOLAT_TEST_PYTHON is not set: run make otava")
	}
	asked := map[string][][]float64{}
	for _, f := range families {
		for n := range histories {
			values, _ := f.history(n)
			asked[f.Name] = append(asked[f.Name], values)
		}
	}
	in, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", otavaScript)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var theirs otava
	if err = json.Unmarshal(out, &theirs); err != nil {
		t.Fatal(err)
	}
	if err = os.WriteFile(otavaFile, append(out, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%-20s %-24s %8s %8s %8s %8s", "family", "", "changes", "found", "more", "false")
	for _, f := range families {
		line := func(who string, s score) {
			t.Logf("%-20s %-24s %8d %8d %8d %8d", f.Name, who, s.Changes, s.Found, s.More, s.False)
		}
		line("fiolat history", f.score(ours(t)))
		for _, p := range []string{"0.0001", "0.0003", "0.001", "0.003"} {
			line("otava, max_pvalue "+p, f.score(theirs.find(f, p)))
		}
	}
}

// otavaGateScript reads histories, and prints after which runs a gate fires that asks Apache Otava after each one, and
// knows what it reported: changes at most nearby runs from one reported before are no news.
const otavaGateScript = `
import json, sys
from otava.analysis import compute_change_points
asked = json.load(sys.stdin)
out = []
for job in asked["jobs"]:
    known, red = [], []
    for n in range(job["first"], len(job["values"]) + 1):
        found = [int(c.index) for c in compute_change_points(job["values"][:n], max_pvalue=0.001)[0]]
        news = [i for i in found if all(abs(i - k) > asked["nearby"] for k in known)]
        known += news
        if news:
            red.append(n)
    out.append(red)
json.dump(out, sys.stdout)
`

// TestOtavaGate prints the rows of Apache Otava in the table of TestGate, the false episodes of fewer years.
func TestOtavaGate(t *testing.T) {
	python := os.Getenv("FIOLAT_TEST_PYTHON")
	if python == "" {
		t.Fatal("FIOLAT_TEST_PYTHON is not set: run make otava")
	}
	const quiet, changed = 8, 40 // years: the former take a minute each
	type history struct {
		Values []float64 `json:"values"`
		First  int       `json:"first"`
	}
	ask := func(years uint64, first, last int, of func(seed uint64) job) (red [][]int) {
		var jobs []history
		for seed := range years {
			j := history{First: first}
			for _, r := range of(seed).series(last)[0].Runs {
				j.Values = append(j.Values, r.Directions["read"].IOPS)
			}
			jobs = append(jobs, j)
		}
		in, err := json.Marshal(map[string]any{"jobs": jobs, "nearby": nearby})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), python, "-c", otavaGateScript)
		cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, &red)
		}
		if err != nil {
			t.Fatal(err)
		}
		return red
	}
	for _, kind := range kindsOfNights {
		n := 0
		for _, red := range ask(quiet, 5, 370, func(seed uint64) job {
			return job{kind, seed, 1, math.MaxInt, 0}
		}) {
			n += episodes(red)
		}
		line := fmt.Sprintf("Otava,%s,%.2f,", kind.name, float64(n)/quiet)
		for _, change := range []float64{0.1, 0.2} {
			reds := ask(changed, 88, 111, func(seed uint64) job { return job{kind, seed, 1, 90, change} })
			for _, nights := range []int{3, 7, 21} {
				within := 0
				for _, red := range reds {
					if slices.ContainsFunc(red, func(n int) bool { return n > 90 && n <= 90+nights }) {
						within++
					}
				}
				line += fmt.Sprintf(",%d", within)
			}
		}
		t.Log(line)
	}
}
