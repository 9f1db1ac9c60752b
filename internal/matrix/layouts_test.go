package matrix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fiolat/internal/testkit"
)

// layout is a way to keep the files of several runs in one folder.
type layout struct {
	name string
	// logs and others are where a run's logs, and its JSON and job file are: N stands for the run's name, L for that of
	// a log as fio wrote it, P for what follows its prefix, E for the ending of another file.
	logs, others string
	writes       string // write_hist_log, if not h
	given        []string
}

var layouts = []layout{
	{name: "a folder each", logs: "N/L", others: "N/fio.E"},
	{name: "deeper", logs: "2026/N/out/L", others: "2026/N/out/fio.E"},
	{name: "JSON named after the folder", logs: "N/L", others: "N/N.E"},
	{name: "logs below", logs: "N/logs/L", others: "N/fio.E"},
	{name: "JSON above, named after the folder", logs: "N/L", others: "N.E"},
	{name: "JSON above, names the path", logs: "N/L", others: "N.E", writes: "N/h"},
	{name: "one folder, names by fio", logs: "NP", others: "N.E", writes: "N"},
	{name: "one folder, renamed", logs: "NP", others: "N.E"},
	{name: "logs and results, names by fio", logs: "logs/NP", others: "results/N.E", writes: "logs/N"},
	{name: "folders of logs, and results", logs: "logs/N/L", others: "results/N.E", writes: "logs/N/h"},
	{name: "folders of logs, results named after them", logs: "logs/N/L", others: "results/N.E"},
	{name: "logs and results given", logs: "logs/N/L", others: "results/N.E", given: []string{"results", "logs"}},
}

// put writes the files of a run.
func (l layout) put(t *testing.T, to, run, name string) {
	files, err := filepath.Glob(filepath.Join(run, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		base := filepath.Base(file)
		if base == "truth.json" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		path := l.others
		if _, after, ok := strings.Cut(base, "_"); ok {
			path = strings.NewReplacer("L", base, "P", "_"+after).Replace(l.logs)
		} else if l.writes != "" {
			writes := strings.ReplaceAll(l.writes, "N", name)
			text = bytes.ReplaceAll(text, []byte(`"write_hist_log" : "h"`), []byte(`"write_hist_log" : "`+writes+`"`))
			text = bytes.ReplaceAll(text, []byte("write_hist_log=h\n"), []byte("write_hist_log="+writes+"\n"))
		}
		path = strings.NewReplacer("N", name, "E", strings.TrimPrefix(filepath.Ext(base), ".")).Replace(path)
		testkit.Write(t, to, path, text)
	}
}

// TestLayouts: runs are the same, and have the I/Os that fio counted, however their files lie.
func TestLayouts(t *testing.T) {
	testkit.NotRaced(t)
	fiolat := testkit.Program(t)
	runs := map[string][]string{} // by the version of fio: runs of one went on beside each other
	for _, version := range []string{"3.33", "3.42"} {
		dir := testkit.Unpack(t, "testdata/fio-"+version+".tar.zst")
		found, err := filepath.Glob(filepath.Join(dir, "*-alone-hist-*"))
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		random.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
		for _, run := range found {
			alone := t.TempDir()
			layouts[0].put(t, alone, run, "a")
			ios, hasJSON := counted(t, run)
			if hasJSON && slices.Equal(totals(t, fiolat, alone), []string{ios}) {
				runs[version] = append(runs[version], run)
			}
			if len(runs[version]) == testkit.Size(t, 8) {
				break
			}
		}
	}
	n := min(len(runs["3.33"]), len(runs["3.42"]))
	if n < 8 {
		t.Fatal("too few runs that are right alone:", n)
	}
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for i := range n {
				dir := t.TempDir()
				var want, names []string
				for k, run := range []string{runs["3.33"][i], runs["3.42"][i]} {
					l.put(t, dir, run, fmt.Sprintf("test_%d", k+1))
					ios, _ := counted(t, run)
					want, names = append(want, ios), append(names, filepath.Base(run))
				}
				slices.Sort(want)
				if got := totals(t, fiolat, dir, l.given...); !slices.Equal(got, want) {
					t.Errorf("%q: %q, want %q", names, got, want)
				}
			}
		})
	}
}

// totals returns the I/Os of each run in a folder, or in those given of it, by direction.
func totals(t *testing.T, fiolat, dir string, given ...string) (out []string) {
	args := []string{"summary", "--format", "ndjson"}
	for _, name := range given {
		args = append(args, filepath.Join(dir, name))
	}
	if len(given) == 0 {
		args = append(args, dir)
	}
	rows, stderr, code, err := command(t.Context(), fiolat, args...)
	if err != nil || code != 0 && code != 3 {
		t.Errorf("exit %d, %v: %s", code, err, stderr)
	}
	runs := map[string]map[string]int64{}
	for line := range bytes.Lines(rows) {
		var row struct {
			Run, Direction string
			Samples        float64
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		if runs[row.Run] == nil {
			runs[row.Run] = map[string]int64{}
		}
		if row.Direction != "all" && row.Samples > 0 {
			runs[row.Run][row.Direction] = int64(math.Round(row.Samples))
		}
	}
	for _, run := range runs {
		out = append(out, fmt.Sprint(run))
	}
	slices.Sort(out)
	return out
}

// counted returns the I/Os of a run by direction, as fio counted them, and whether there is its JSON.
func counted(t *testing.T, run string) (ios string, hasJSON bool) {
	text, err := os.ReadFile(filepath.Join(run, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var truth groundTruth
	if err := json.Unmarshal(text, &truth); err != nil {
		t.Fatal(err)
	}
	sum := map[string]int64{}
	for _, e := range truth.Entries {
		for direction, n := range e.N {
			if n > 0 {
				sum[direction] += n
			}
		}
	}
	return fmt.Sprint(sum), !truth.NoJSON
}
