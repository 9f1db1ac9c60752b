//go:build otava

package history

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
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
