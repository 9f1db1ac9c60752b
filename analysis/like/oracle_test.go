//go:build oracle

package like

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"fiolat/ingest/source"
)

// These tests run the real programs, on random logs and command lines, and compare. They are not skipped but fail where
// the programs or what they need is missing:
//
// FIOLAT_TEST_PYTHON=$(scripts/oracle-python) FIOLAT_TEST_SIZE=500 go test -tags oracle -timeout 1h -v
// ./analysis/like
//
// FIOLAT_TEST_PYTHON is an interpreter with numpy and pandas (default python3), FIOLAT_TEST_FIO_HIST_DIR has fio's
// tools/hist (default: what Debian's package fio installs), FIOLAT_ORACLE_SEED picks other cases.

// hang is how many seconds of processor time a real program may take before it counts as hanging. The cases are made so
// that whatever ends does in a few. fio-histo-log-pctiles has no way to hang.
var hang = map[string]int{pctilesName: 600, parserName: 60}

type oracle struct {
	python   string
	old      bool // before Python 3.12, which took SafeConfigParser away
	programs map[string]string
}

func env(t *testing.T, name, otherwise string) string {
	t.Helper()
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

func envInt(t *testing.T, name string, otherwise int) int {
	t.Helper()
	n, err := strconv.Atoi(env(t, name, strconv.Itoa(otherwise)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func newOracle(t *testing.T) *oracle {
	t.Helper()
	o := &oracle{python: env(t, "FIOLAT_TEST_PYTHON", "python3"), programs: map[string]string{}}
	version, err := exec.Command(o.python, "-c", "import sys, numpy, pandas; print(sys.version_info < (3, 12), "+
		"sys.version.split()[0], numpy.__version__, pandas.__version__)").CombinedOutput()
	if err != nil {
		t.Fatalf("%s with numpy and pandas: %v\n%s\nset FIOLAT_TEST_PYTHON to what scripts/oracle-python prints",
			o.python, err, version)
	}
	t.Logf("python < 3.12, python, numpy, pandas: %s", version)
	o.old = bytes.HasPrefix(version, []byte("True"))
	dir := t.TempDir()
	for _, name := range Programs {
		text, err := program(t, name)
		if err != nil {
			t.Fatalf("%v: install Debian's package fio, or set FIOLAT_TEST_FIO_HIST_DIR to fio's tools/hist", err)
		}
		o.programs[name] = filepath.Join(dir, name+".py")
		if err := os.WriteFile(o.programs[name], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// program returns a real program's text.
func program(t *testing.T, name string) ([]byte, error) {
	t.Helper()
	if dir := env(t, "FIOLAT_TEST_FIO_HIST_DIR", ""); dir != "" {
		return os.ReadFile(filepath.Join(dir, name+".py"))
	}
	z, err := source.Open("/usr/share/doc/fio/"+name+".py.gz", nil)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return io.ReadAll(z)
}

// run runs the real program in dir. end is how it ended: "" well, "usage" with its parser's complaint, else its last
// words.
func (o *oracle) run(t *testing.T, dir, name string, args []string) (stdout, end string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", fmt.Sprintf(`ulimit -t %d && exec "$@"`,
		hang[name]), "sh", o.python, o.programs[name]}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = append(os.Environ(), "OPENBLAS_NUM_THREADS=1", "UNITTEST=", "PYTHONWARNINGS=ignore")
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return out.String(), ""
	case !errors.As(err, &exit):
		t.Fatal(err)
	case !exit.Exited(): // killed
		return out.String(), "hangs"
	case exit.ExitCode() == 2:
		return out.String(), "usage"
	}
	last := func(s string) string {
		lines := strings.Split(strings.TrimSpace(s), "\n")
		return lines[len(lines)-1]
	}
	if end = last(errs.String()); end == "" {
		end = last(out.String())
	}
	return out.String(), end
}

// maker makes random logs and command lines.
type maker struct {
	*rand.Rand
	dir string
	old bool
}

func (m *maker) chance(p float64) bool { return m.Float64() < p }

func pick[T any](m *maker, of ...T) T { return of[m.IntN(len(of))] }

// logShape is what the logs of a case have in common.
type logShape struct {
	columns  int
	interval int64
	start    int64
	records  int
	pattern  []int // directions in turn
	jitter   float64
	gaps     float64
	twins    float64 // records with equal timestamps
}

// log writes a log of one thread.
func (m *maker) log(name string, s logShape, defect string) {
	var b strings.Builder
	clock := map[int]int64{}
	center := m.Float64() * float64(s.columns)
	spread := 1 + m.Float64()*float64(s.columns)/8
	// The second thread may begin later, and end earlier.
	begin := s.start
	if m.chance(0.25) {
		begin += m.Int64N(3 * s.interval)
	}
	records := s.records
	if m.chance(0.25) {
		records = 1 + m.IntN(records)
	}
	bad := m.IntN(records)
	comma := pick(m, ", ", ", ", ", ", ",")
	for n := range records {
		dir := s.pattern[n%len(s.pattern)]
		if m.chance(0.03) {
			dir = pick(m, s.pattern...)
		}
		if clock[dir] == 0 {
			clock[dir] = begin
		}
		if !m.chance(s.twins) {
			clock[dir] += s.interval
			if m.chance(s.jitter) {
				clock[dir] += m.Int64N(s.interval/4 + 1)
			}
			if m.chance(s.gaps) {
				clock[dir] += m.Int64N(8 * s.interval)
			}
		}
		stamp := clock[dir]
		counts := make([]int64, s.columns)
		for range m.IntN(40) {
			i := int(center + m.NormFloat64()*spread)
			if 0 <= i && i < s.columns {
				counts[i] += int64(math.Exp(m.Float64() * 9))
			}
		}
		size := 4096
		fields := []string{"", "", ""}
		for _, c := range counts {
			fields = append(fields, strconv.FormatInt(c, 10))
		}
		end := "\n"
		if n == bad {
			i := 3 + m.IntN(s.columns)
			switch defect {
			case "cut":
				fields = fields[:m.IntN(len(fields))+1]
			case "long":
				fields = append(fields, "0")
			case "word":
				fields[i] = pick(m, "x", "1.5", "", "0x1", "1e")
			case "far":
				stamp += s.interval * m.Int64N(100) // not beyond the year 2200, which is refused
			case "no end":
				if n == records-1 {
					end = ""
				}
			}
		}
		switch defect {
		case "crlf":
			end = "\r\n"
		}
		for i, v := range []string{strconv.FormatInt(stamp, 10), strconv.Itoa(dir), strconv.Itoa(size)} {
			if i < len(fields) {
				fields[i] = v
			}
		}
		b.WriteString(strings.Join(fields, comma) + end)
	}
	text := b.String()
	if defect == "missing" {
		return
	}
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
		panic(err)
	}
}

// What is not made: flags that are abbreviated, and damage that the programs read in ways of their own.
var defects = []string{"cut", "long", "word", "far", "no end", "crlf", "missing"}

// makeCase writes the logs of a case and returns its command line.
func (m *maker) makeCase(program string) (args []string, about string) {
	s := logShape{
		interval: pick(m, int64(100), 250, 500, 1000, 1000, 1000, 1000, 2500),
		records:  1 + m.IntN(30),
		pattern: pick(m, []int{0}, []int{0}, []int{1}, []int{0, 1}, []int{0, 1}, []int{0, 1}, []int{1, 0, 1}, []int{0,
			0, 1, 1}, []int{0, 0, 0, 1}, []int{0, 1, 2}),
		jitter: pick(m, 0, 0.3, 1),
		gaps:   pick(m, 0, 0, 0, 0.1, 0.3),
		twins:  pick(m, 0, 0, 0, 0.1),
	}
	if program == pctilesName && slices.Contains(s.pattern, 2) && m.chance(0.8) {
		s.pattern = []int{1, 0}
	}
	epoch := m.chance(0.3)
	if epoch {
		s.start = 1_790_000_000_000 + m.Int64N(100_000_000)
	} else if m.chance(0.1) {
		s.start = m.Int64N(2_000_000)
	}
	coarse := 0
	if m.chance(0.5) {
		coarse = m.IntN(7)
	}
	bits := 6 - coarse
	groups, two := 29, m.chance(0.2)
	if two {
		groups = 19
	}
	s.columns = groups * 64 >> coarse

	flag := func(p float64, name string, value any) {
		if !m.chance(p) {
			return
		}
		if value == nil {
			args = append(args, name)
		} else if m.chance(0.3) && strings.HasPrefix(name, "--") {
			args = append(args, name+"="+fmt.Sprint(value))
		} else {
			args = append(args, name, fmt.Sprint(value))
		}
	}
	many := func() []string {
		list := []string{"50", "90", "95", "99", "99.9"}
		switch m.IntN(8) {
		case 0:
			list = []string{"0", "1", "50", "100"}
		case 1:
			m.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		case 2:
			list = []string{"5e1", ".5", "99.99999", "99.9999999999", "50"}
		case 3:
			list = nil
			for range 1 + m.IntN(4) {
				list = append(list, repr(math.Round(m.Float64()*1e4)/100))
			}
		case 4:
			list = []string{pick(m, "0", "99", "100"), "99"}
		}
		return list
	}
	if program == pctilesName {
		if two {
			flag(0.97, "--fio-version", 2)
		} else {
			flag(0.05, "--fio-version", 3)
		}
		if coarse > 0 {
			flag(0.97, "--bucket-bits", bits)
		}
		flag(0.5, "--time-quantum", pick(m, 1, 1, 1, 2, 2, 3, 3, 4, 5, 5, 7, 10, 60))
		if epoch {
			flag(0.5, "--log-hist-msec", pick(m, int(s.interval), 1000, 0, 5000, -300))
		}
		flag(0.2, "--output-unit", pick(m, "msec", "usec"))
		if m.chance(0.6) {
			args = append(args, "--percentiles")
			args = append(args, many()...)
			args = append(args, "--")
		}
	} else {
		if two {
			flag(0.95, "--group_nr", pick(m, 19, 19, 20, 26))
			flag(0.95, "--usbin", nil)
		}
		// Without weights the program walks from 1970 on: either it takes minutes, or less than a second.
		noweight := m.chance(0.4) && (!epoch || m.chance(0.3))
		steps := []int{1000, 1000, 500, 250, 3000, 5000, 700, 10, 60000}
		if noweight && epoch {
			steps = []int{1000, 600_000, 600_000, 3_600_000}
		}
		step := pick(m, steps...)
		if noweight {
			flag(1, "--noweight", nil)
		}
		if noweight && epoch || m.chance(0.7) {
			flag(1, pick(m, "-i", "--interval"), step)
		} else if m.old && m.chance(0.3) {
			job := fmt.Sprintf("; job\n[global]\nrw=randrw\ngroup_reporting\nlog_hist_msec=%d\n\n[a]\nbs = 4k\n", step)
			if m.chance(0.3) {
				job += pick(m, "  \n\n; no\n", "[b]\nbs=8k\n", "[b]\nlog_hist_msec="+strconv.Itoa(step)+"\n",
					"[b]\nlog_hist_msec\n")
			}
			if err := os.WriteFile(filepath.Join(m.dir, "job.fio"), []byte(job), 0o600); err != nil {
				panic(err)
			}
			flag(1, "--job-file", "job.fio")
		}
		flag(0.2, "--max_latency", pick(m, "20", "0.5", "0", "1e-3", "100"))
		flag(0.2, "-d", pick(m, 1000, 1000, 1000000, 1, 3))
		flag(0.2, "--decimals", pick(m, 0, 1, 2, 4, 6, 9, 12))
		flag(0.1, "--buff_size", pick(m, 1, 10))
		flag(0.1, "--warn", nil)
		flag(0.5, "--percentiles", strings.Join(many(), pick(m, ",", ":")))
		flag(0.3, "--directions", pick(m, "rwtm", "r", "W", "mr", "x", "", "wt"))
		if m.chance(0.1) {
			args = append(args, "--")
		}
	}
	about = "plain"
	names := []string{"b.log", "a.log", "c_clat_hist.1.log", "d.log"}[:1+m.IntN(4)]
	damaged := -1
	if m.chance(0.25) {
		damaged = m.IntN(len(names))
		about = pick(m, defects...)
	}
	for i, name := range names {
		defect := ""
		if i == damaged {
			defect = about
		}
		m.log(name, s, defect)
	}
	if m.chance(0.05) {
		names = append(names, names[0])
	}
	return append(args, names...), about
}

func TestOracle(t *testing.T) {
	o := newOracle(t)
	cases, seed := envInt(t, "FIOLAT_TEST_SIZE", 30), envInt(t, "FIOLAT_ORACLE_SEED", 1)
	var mu sync.Mutex
	ends := map[string]int{}
	t.Run("cases", func(t *testing.T) {
		for n := range cases {
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				t.Parallel()
				m := &maker{rand.New(rand.NewPCG(uint64(seed), uint64(n))), t.TempDir(), o.old}
				name := Programs[n%len(Programs)]
				args, about := m.makeCase(name)
				want, end := o.run(t, m.dir, name, args)
				if end == "hangs" {
					t.Logf("hangs: %s %q, logs: %s", name, args, about)
				}

				// Paths are relative to the case's directory for the real program; ours gets the whole ones.
				var out bytes.Buffer
				ours := slices.Clone(args)
				for i, a := range ours {
					if strings.HasSuffix(a, ".log") || a == "job.fio" {
						ours[i] = filepath.Join(m.dir, a)
					} else if flag, ok := strings.CutSuffix(a, "=job.fio"); ok {
						ours[i] = flag + "=" + filepath.Join(m.dir, "job.fio")
					}
				}
				err := Run(context.Background(), name, ours, &out)

				var usage *UsageError
				kind := "equal text"
				switch {
				case end == "usage":
					kind = "usage error"
					if !errors.As(err, &usage) {
						t.Errorf("error %v, want a *UsageError", err)
					}
				case end != "":
					kind = end
					wantInputError(t, &out, err)
				case err != nil:
					t.Errorf("%v\nthe program prints:\n%.2000s", err, want)
				default:
					if out.String() != want {
						kind = "equal to 1e-9"
					}
					if diff := difference(out.String(), want); diff != "" {
						t.Error(diff)
					}
				}
				if t.Failed() {
					t.Logf("%s %q, logs: %s; the program ends with %q, ours with %v", name, args, about, end, err)
					if keep := os.Getenv("FIOLAT_ORACLE_KEEP"); keep != "" {
						if err := os.CopyFS(filepath.Join(keep, strconv.Itoa(n)), os.DirFS(m.dir)); err != nil {
							t.Log(err)
						}
					}
				}
				mu.Lock()
				defer mu.Unlock()
				ends[name+": "+digitsOut(kind)]++
			})
		}
	})
	for _, k := range slices.Sorted(maps.Keys(ends)) {
		t.Logf("%4d %s", ends[k], k)
	}
}

// digitsOut makes messages that differ in numbers and names only the same.
func digitsOut(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		if strings.ContainsAny(w, "0123456789") || strings.Contains(w, ".log") {
			words[i] = "#"
		}
	}
	if len(words) > 14 {
		words = words[:14]
	}
	return strings.Join(words, " ")
}
