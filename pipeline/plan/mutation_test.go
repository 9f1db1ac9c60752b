package plan

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/source"
	"fiolat/pipeline"
	"fiolat/pipeline/pipelinetest"
)

// TestMutations damages folders of real runs as disks, copies and editors do. Whatever comes, there is an answer in
// reasonable time, and where fio's JSON is whole no sum differs from it without a word.
//
// FIOLAT_MUTATIONS is the number of damaged folders, FIOLAT_MUTATION_SEED the first seed; `make nightly` sets 1000.
func TestMutations(t *testing.T) {
	n, first := 40, 1
	if v, err := strconv.Atoi(os.Getenv("FIOLAT_MUTATIONS")); err == nil {
		n = v
	}
	if v, err := strconv.Atoi(os.Getenv("FIOLAT_MUTATION_SEED")); err == nil {
		first = v
	}
	var folders []map[string][]byte
	for _, dir := range []string{real + "/cluster", real + "/epoch", real + "/gaps", real + "/slow",
		real + "/startdelay",
		real + "/trim", real + "/randrw", "../../ingest/testdata/accounted/killed-host",
		"../../ingest/testdata/accounted/client-garbage", "../../ingest/testdata/accounted/one-record",
		"../../ingest/testdata/accounted/stamp"} {
		folders = append(folders, folderOf(t, dir))
	}
	refused, right, named := 0, 0, 0
	for seed := first; seed < first+n; seed++ {
		rng := rand.New(rand.NewPCG(uint64(seed), 66))
		folder := folders[rng.IntN(len(folders))]
		damaged := map[string][]byte{}
		var names []string
		for name, text := range folder {
			damaged[name] = text
			names = append(names, name)
		}
		slices.Sort(names)
		what, intact := "", true
		for range 1 + rng.IntN(2) {
			name := names[rng.IntN(len(names))]
			var how string
			damaged[name], how = mutated(rng, damaged[name])
			what += fmt.Sprintf("%s: %s; ", name, how)
			intact = intact && !strings.HasSuffix(name, ".json")
		}
		skip := rng.IntN(2) == 0
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			before := processorTime(t)
			sums, silent, err := read(t, damaged, skip)
			if took := processorTime(t) - before; took > 10*time.Second {
				t.Errorf("%s took %v of processor time", what, took)
			}
			if err != nil {
				refused++
			}
			if err != nil || !intact {
				return
			}
			off := false
			for d, counted := range totalsOf(t, folder) {
				if off = off || math.Abs(sums[d]-counted) > 0.5; off && silent {
					t.Errorf("%s(skip %v) %.1f %vs of %.0f, and no word of it", what, skip, sums[d], fio.Direction(d), counted)
				}
			}
			if off {
				named++
			} else {
				right++
			}
		})
	}
	t.Logf("%d of %d refused; with fio's JSON whole, %d read with its sums, %d with other sums and a warning", refused, n,
		right, named)
}

// folderOf returns the files below a folder, decompressed.
func folderOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		in, err := source.Open(path, nil)
		if err != nil {
			return err
		}
		defer in.Close()
		rel, _ := filepath.Rel(dir, path)
		out[strings.TrimSuffix(rel, ".zst")], err = io.ReadAll(in)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// mutated returns a damaged text, and how it was damaged.
func mutated(rng *rand.Rand, text []byte) ([]byte, string) {
	out := bytes.Clone(text)
	if len(out) == 0 {
		return []byte("\x00"), "a byte in an empty file"
	}
	at := rng.IntN(len(out))
	digit := func() int { // one near at
		for i := range len(out) {
			if k := (at + i) % len(out); out[k] >= '0' && out[k] <= '9' {
				return k
			}
		}
		return at
	}
	lines := bytes.SplitAfter(out, []byte("\n"))
	k := rng.IntN(len(lines))
	start := len(bytes.Join(lines[:k], nil))
	switch rng.IntN(12) {
	case 0:
		at = digit()
		out[at] = '0' + byte(rng.IntN(10))
		return out, fmt.Sprintf("digit at %d", at)
	case 1:
		at = digit()
		return append(append(bytes.Clone(out[:at]), '0'+byte(rng.IntN(10))), out[at:]...),
			fmt.Sprintf("a digit more at %d", at)
	case 2:
		return append(append(bytes.Clone(out[:start]), '0'+byte(1+rng.IntN(9))), out[start:]...),
			fmt.Sprintf("a digit before line %d", k+1)
	case 3:
		end := min(at+1+rng.IntN(200), len(out))
		return append(bytes.Clone(out[:at]), out[end:]...), fmt.Sprintf("bytes %d to %d cut out", at, end)
	case 4:
		return out[:at], fmt.Sprintf("cut at %d", at)
	case 5:
		return bytes.Join(append(append([][]byte{}, lines[:k]...), lines[min(k+1, len(lines)):]...), nil),
			fmt.Sprintf("without line %d", k+1)
	case 6:
		return bytes.Join(append(append(append([][]byte{}, lines[:k]...), lines[k]), lines[k:]...), nil),
			fmt.Sprintf("line %d twice", k+1)
	case 7:
		j := rng.IntN(len(lines))
		lines[j], lines[k] = lines[k], lines[j]
		return bytes.Join(lines, nil), fmt.Sprintf("lines %d and %d swapped", j+1, k+1)
	case 8:
		out[at] = byte(rng.IntN(256))
		return out, fmt.Sprintf("byte at %d", at)
	case 9:
		end := min(at+4096, len(out))
		clear(out[at:end])
		return out, fmt.Sprintf("zeros from %d", at)
	case 10:
		return append(out, out[start:]...), fmt.Sprintf("lines from %d on twice", k+1)
	}
	return nil, "empty"
}

// read reads the runs of a folder. It returns the sums by direction, and whether nothing was said against them.
func read(t *testing.T, folder map[string][]byte, skip bool) (sums [fio.Directions]float64, silent bool, err error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range folder {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inputs, err := ingest.Discover([]string{dir}, ingest.DiscoverOptions{SkipBad: skip})
	silent = true
	for _, in := range inputs {
		config := Config{Settings: fio.Defaults(), WholeRun: true, NoID: true}
		config.Settings.SkipBad = skip
		p, failed := Prepare(t.Context(), in, config)
		if failed != nil {
			return sums, false, failed
		}
		defer p.Close()
		s, failed := p.Process(t.Context(), new(pipelinetest.Collect))
		if failed != nil {
			return sums, false, failed
		}
		for i := range s.Total {
			if d, ok := fio.ParseDirection(s.Total[i].Dims.Direction); ok && s.Total[i].Scope == fio.ByDirection {
				sums[d] += s.Total[i].Stats.Samples
			}
		}
		silent = silent && said(s) == 0
	}
	return sums, silent, err
}

// said returns the number of warnings, without notes.
func said(s *pipeline.Summary) (n int) {
	for _, w := range s.Account.Warnings {
		if !strings.HasPrefix(w, fio.NotePrefix) {
			n++
		}
	}
	return n
}

// totalsOf returns what fio's JSON of a folder counted.
func totalsOf(t *testing.T, folder map[string][]byte) (counted [fio.Directions]float64) {
	t.Helper()
	for name, text := range folder {
		if filepath.Ext(name) != ".json" || len(text) == 0 {
			continue
		}
		m, err := fiojson.Parse(bytes.NewReader(text), name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range m.Entries {
			for d := range counted {
				counted[d] += float64(m.Entries[i].Dirs[d].Kind[fio.Clat].N)
			}
		}
	}
	return counted
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var of syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &of); err != nil {
		t.Fatal(err)
	}
	return time.Duration(of.Utime.Nano() + of.Stime.Nano())
}
