package ingest

import (
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
)

// TestPhases reads fio 3.33's JSON of a group of three jobs of 3 s at 200 IOPS, one after the other by startdelay: fio
// says that it took 3001 ms.
func TestPhases(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join("testdata/phases", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	job := read("job.fio")
	for name, c := range map[string]struct {
		job  string
		want int64 // ms
	}{
		"one after the other": {job, 9000},
		"a second at once":    {strings.Replace(job, "startdelay=3\n", "startdelay=2\n", 1), 8000},
		"a pause":             {strings.Replace(job, "startdelay=6\n", "startdelay=8\n", 1), 9000},
		"a job that writes":   {strings.Replace(job, "[b]\nrw=randread", "[b]\nrw=randwrite", 1), 6000},
		"not job_runtime":     {strings.Replace(job, "runtime=3", "runtime=1", 1), 3001},
		"no job file":         {"", 3001},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{"fio.json": read("fio.json"), "job.fio": c.job} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			runs, said, err := DiscoverJSONRuns([]string{dir}, nil, DiscoverOptions{})
			if err != nil || len(runs) != 1 || len(runs[0].Metas) != 1 || len(runs[0].Metas[0].Entries) != 1 {
				t.Fatal(runs, err)
			}
			if got := runs[0].Metas[0].Entries[0].Dirs[fio.Read].RuntimeMS; got != c.want {
				t.Errorf("the reads took %d ms, want %d", got, c.want)
			}
			text := strings.Join(said, "\n")
			if inTurn := strings.Contains(text, "did not all run at once (fio took 10s"); inTurn != (c.job == "") {
				t.Errorf("%q", said)
			}
		})
	}
}

// TestKilledTogether: fio that is killed may have counted no time of its jobs, but how long it ran.
func TestKilledTogether(t *testing.T) {
	killed := func(path string, at, elapsed int64) *fiojson.Document {
		d := doc(path, fiojson.Entry{JobName: path, Elapsed: elapsed})
		d.TimestampMS, d.Entries[0].LongestMS, d.Entries[0].Dirs[fio.Read].TotalIOs = at, 0, 7
		return d
	}
	const at = 1795879502569
	for after, want := range map[int64]int{200: 1, 9_000: 1, 30_000: 2} {
		metas := []*fiojson.Document{killed("a", at, 21), killed("b", at+after, 21)}
		if got := atTheSameTime(metas); len(got) != want {
			t.Errorf("%d ms later: %d runs, want %d", after, len(got), want)
		}
	}
}

// TestGroupsOf groups random periods as comparing each with all groups before does.
func TestGroupsOf(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n := 1 + random.IntN(12)
		names, periods, all := make([]int, n), make([]period, n), make([]int, n)
		for i := range n {
			from := random.Int64N(60)
			names[i], all[i] = i, i
			periods[i] = period{from, from + random.Int64N(12), random.IntN(8) > 0}
		}
		var want [][]int
		groups := joined(names, periods, all)
		slices.SortStableFunc(groups, func(a, b *group[int]) int { return cmp.Compare(a.from, b.from) })
		for _, g := range groups {
			want = append(want, g.of)
		}
		if got := groupsOf(names, periods); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: got %v, want %v", periods, got, want)
		}
	}
}
