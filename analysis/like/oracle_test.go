//go:build oracle

package like

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
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
// FIOLAT_TEST_PYTHON=$(scripts/oracle-python) FIOLAT_ORACLE_CASES=500 go test -tags oracle -timeout 1h -v
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
	modest   bool    // no stamp for which fio-histo-log-pctiles would fill all memory with rows
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
			case "cut to one bucket":
				fields = fields[:4]
			case "long":
				fields = append(fields, "0")
			case "blank":
				end = pick(m, "\n\n", "\n  \n")
			case "word":
				fields[i] = pick(m, "x", "1.5", "", "0x1", "1e")
			case "odd number":
				fields[i] = pick(m, "+3", "1_0", " 7 ", "\t7", "007", "1 2", "-0")
			case "negative":
				fields[i] = "-" + strconv.Itoa(1+m.IntN(5))
			case "wrapped":
				fields[i] = pick(m, "18446744073709551610", "9223372036854775807", "9223372036854775808",
					"36893488147419103232")
			case "direction":
				dir = pick(m, 2, 3, -1, -2, -3, -4)
			case "block size":
				size = pick(m, 1<<24, 1<<24+1, -1)
			case "backwards":
				stamp -= m.Int64N(3 * s.interval)
			case "zero stamp":
				stamp = 0
			case "negative stamp":
				stamp = -m.Int64N(2000)
			case "far":
				stamp += s.interval * m.Int64N(100)
				if m.chance(0.5) && !s.modest {
					stamp = 8_000_000_000_000_000
				}
			case "no end":
				if n == records-1 {
					end = ""
				}
			}
		}
		switch defect {
		case "crlf":
			end = "\r\n"
		case "cr":
			end = "\r"
		case "zeros":
			for i := range fields[3:] {
				fields[3+i] = "0"
			}
		}
		for i, v := range []string{strconv.FormatInt(stamp, 10), strconv.Itoa(dir), strconv.Itoa(size)} {
			if i < len(fields) {
				fields[i] = v
			}
		}
		b.WriteString(strings.Join(fields, comma) + end)
	}
	text := b.String()
	if defect == "empty" {
		text = pick(m, "", "\n", "\n"+text)
	}
	if defect == "missing" {
		return
	}
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
		panic(err)
	}
}

var defects = []string{"cut", "cut to one bucket", "long", "blank", "word", "odd number", "negative", "wrapped",
	"direction", "block size", "backwards",
	"zero stamp", "negative stamp", "far", "no end", "crlf", "cr", "zeros", "empty", "missing"}

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
		modest: program == pctilesName,
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
	v2 := m.chance(0.2)
	groups := 29
	if v2 {
		groups = 19
	} else if m.chance(0.2) {
		groups = 18 + m.IntN(15)
	}
	coarse := 0
	if m.chance(0.5) {
		coarse = m.IntN(7)
	}
	bits := 6 - coarse
	s.columns = groups << bits

	flag := func(p float64, name string, value any) {
		if !m.chance(p) {
			return
		}
		cut := name
		if strings.HasPrefix(name, "--") && m.chance(0.15) {
			cut = name[:len(name)-m.IntN(3)]
		}
		if value == nil {
			args = append(args, cut)
		} else if m.chance(0.3) && strings.HasPrefix(name, "--") {
			args = append(args, cut+"="+fmt.Sprint(value))
		} else {
			args = append(args, cut, fmt.Sprint(value))
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
			list = []string{pick(m, "101", "nan", "-5", "inf", "0", "-0.0", "99"), "99"}
		}
		return list
	}
	if program == pctilesName {
		if v2 {
			flag(0.95, "--fio-version", 2)
		} else {
			flag(0.05, "--fio-version", pick(m, 2, 3, 4))
			if groups != 29 {
				flag(0.97, "--bucket-groups", groups)
			}
		}
		if coarse > 0 {
			flag(0.97, "--bucket-bits", bits)
		}
		flag(0.5, "--time-quantum", pick(m, 1, 1, 1, 2, 2, 3, 3, 4, 5, 5, 7, 10, 60, 0, -1, -2))
		if epoch {
			flag(0.5, "--log-hist-msec", pick(m, int(s.interval), 1000, 0, 5000, -300))
		}
		flag(0.2, "--output-unit", pick(m, "msec", "msec", "usec", "usec", "nsec"))
		if m.chance(0.6) {
			args = append(args, "--percentiles")
			args = append(args, many()...)
			args = append(args, "--")
		}
	} else {
		if v2 {
			flag(0.9, "--usbin", nil)
			flag(0.9, "--group_nr", pick(m, 19, 19, 20))
		} else if groups != 29 {
			flag(0.97, "--group_nr", groups)
		}
		// Without weights the program walks from 1970 on: either it takes minutes, or less than a second.
		noweight := m.chance(0.4) && (!epoch || m.chance(0.3))
		steps := []int{1000, 1000, 500, 250, 3000, 5000, 700, 10, 60000}
		if noweight && epoch {
			steps = []int{1000, 600_000, 600_000, 3_600_000}
		}
		if m.chance(0.01) {
			steps = []int{0, -100}
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
				job += pick(m, "[b]\nlog_hist_msec: 2000\n", "[b]\nlog_hist_msec\n", "[a]\n", "  size=1g\n",
					"[DEFAULT]\nLog_Hist_MSec=1500\n",
					"bs=8k\n", "log_hist_msec=1s\n", "  \n\n   more\n", "=1\n", "[b]\nthread\n  more\n",
					"log_hist_msec=\n", "log_hist_msec = 300\n\n\n  # no\n")
			}
			if err := os.WriteFile(filepath.Join(m.dir, "job.fio"), []byte(job), 0o600); err != nil {
				panic(err)
			}
			flag(1, "--job-file", "job.fio")
		}
		flag(0.2, "--max_latency", pick(m, "20", "0.5", "0", "-1", "1e-3", "100"))
		flag(0.2, "-d", pick(m, 1000, 1000, 1000000, 1, 3, -2, 0))
		flag(0.2, "--decimals", pick(m, 0, 1, 2, 4, 6, 9, 12, -1))
		flag(0.1, "--buff_size", pick(m, 1, 10, 0))
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
	cases, seed := envInt(t, "FIOLAT_ORACLE_CASES", 30), envInt(t, "FIOLAT_ORACLE_SEED", 1)
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
				err := Run(context.Background(), name, ours, &out, io.Discard)

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

// argsDriver runs a program up to where it has read its command line, for each of many, and prints what it read.
const argsDriver = `
import argparse, json, runpy, sys

program, lines = sys.argv[1], json.load(open(sys.argv[2]))
real, out, answers = argparse.ArgumentParser.parse_args, sys.stdout, []

class Done(Exception):
    pass

def parse_args(self):
    global read
    read = vars(real(self))
    raise Done

def text(name, value):
    # These two are tested for truth only.
    return repr(value or None) if name in ('job_file', 'directions') else repr(value)

argparse.ArgumentParser.parse_args = parse_args
sys.stdout = sys.stderr = open('/dev/null', 'w')
for line in lines:
    sys.argv = ['x'] + line
    try:
        runpy.run_path(program, run_name='__main__')
    except Done:
        answers.append({k: text(k, v) for k, v in read.items()})
    except SystemExit as e:
        answers.append({'exit': str(e.code)})
    except ValueError: # "--flag=--" leaves the parser without a value
        answers.append({'exit': '2'})
json.dump(answers, out)
`

// TestOracleArgs compares the reading of command lines alone, many of them nonsense, 20 for each case of TestOracle.
func TestOracleArgs(t *testing.T) {
	o := newOracle(t)
	if !o.old {
		t.Log("Python 3.12 and later read some command lines with -- differently: these are left out")
	}
	words := map[string][]string{
		pctilesName: {"--fio-version", "--bucket-groups", "--bucket-bits", "--percentiles", "--percentiles",
			"--time-quantum", "--log-hist-msec", "--output-unit"},
		parserName: {"--buff_size", "--max_latency", "-i", "--interval", "--noweight", "-d", "--divisor", "--decimals",
			"--warn", "--group_nr", "--job-file",
			"--percentiles", "--usbin", "--directions"},
	}
	values := []string{"5", "2", "3", "-5", "-1.5", "-.5", "-1e3", "50", "99.9", "1_000", " 7 ", "nan", "inf", "1e400",
		"x", "", "-", "a b", "-a b", "usec", "90:95", "f.log", "g.log", "-x", "--nope", "--nope=3",
		"0x10", "1.", ".5", "+3", "-i5", "-i=5", "-d100", "-hi"}
	for _, name := range Programs {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(envInt(t, "FIOLAT_ORACLE_SEED", 1)), 7))
			m := &maker{Rand: r}
			lines := make([][]string, min(20*envInt(t, "FIOLAT_ORACLE_CASES", 30), 3000))
			for i := range lines {
				line := []string{}
				for range 1 + r.IntN(5) {
					switch r.IntN(10) {
					case 0, 1, 2, 3:
						w := pick(m, words[name]...)
						if m.chance(0.2) {
							w = w[:1+r.IntN(len(w))]
						}
						if m.chance(0.3) {
							w += "=" + pick(m, values...)
						}
						if w == "-h" {
							continue
						}
						line = append(line, w)
						if m.chance(0.7) {
							line = append(line, pick(m, "5", "2", "50", pick(m, values...)))
						}
					case 4, 5, 6:
						line = append(line, pick(m, values...))
					case 7:
						if o.old {
							line = append(line, "--")
						}
					default:
						line = append(line, "f.log")
					}
				}
				lines[i] = line
			}
			read := 0
			for i, want := range o.readArgs(t, name, lines) {
				got, err := ourArgs(name, lines[i])
				var usage *UsageError
				switch {
				case want["exit"] == "0":
					if got["exit"] != "0" {
						t.Errorf("%q: %v, want the help", lines[i], got)
					}
				case want["exit"] != "":
					if !errors.As(err, &usage) || usage.Hint == "" {
						t.Errorf("%q: %v, %v, want a *UsageError", lines[i], got, err)
					}
				case err != nil:
					t.Errorf("%q: %v, want %v", lines[i], err, want)
				case !reflect.DeepEqual(got, want):
					t.Errorf("%q:\n got %v\nwant %v", lines[i], got, want)
				default:
					read++
				}
			}
			t.Logf("%d of %d command lines are right, and read the same", read, len(lines))
		})
	}
}

// readArgs returns what the real program reads from each command line, as Python prints it.
func (o *oracle) readArgs(t *testing.T, name string, lines [][]string) []map[string]string {
	t.Helper()
	dir := t.TempDir()
	driver, input := filepath.Join(dir, "driver.py"), filepath.Join(dir, "lines.json")
	text, err := json.Marshal(lines)
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{driver: []byte(argsDriver), input: text} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(o.python, driver, o.programs[name], input)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	var answers []map[string]string
	if err := json.Unmarshal(out.Bytes(), &answers); err != nil {
		t.Fatal(err)
	}
	return answers
}

// ourArgs is the same of ours, by the names that the programs use.
func ourArgs(name string, line []string) (map[string]string, error) {
	quoted := func(s string) string { return "'" + s + "'" }
	number := func(v *int64) string {
		if v == nil {
			return "None"
		}
		return strconv.FormatInt(*v, 10)
	}
	boolean := map[bool]string{true: "True", false: "False"}
	list := func(items []string) string { return "[" + strings.Join(items, ", ") + "]" }
	files := func(p *parser) string {
		var out []string
		for _, f := range p.files {
			out = append(out, quoted(f))
		}
		return list(out)
	}
	if name == pctilesName {
		var c pctiles
		p := c.flags()
		if help, err := p.parse(line); help || err != nil {
			return map[string]string{"exit": "0"}, err
		}
		var wanted []string
		for _, v := range c.wanted {
			wanted = append(wanted, repr(v))
		}
		return map[string]string{"fio_version": number(&c.version), "bucket_groups": number(&c.groups),
			"bucket_bits":    number(&c.bits),
			"pctiles_wanted": list(wanted), "time_quantum": number(&c.quantum), "log_hist_msec": number(c.histMsec),
			"output_unit": quoted(c.unit), "file_list": files(p)}, nil
	}
	var h histParser
	p := h.flags()
	if help, err := p.parse(line); help || err != nil {
		return map[string]string{"exit": "0"}, err
	}
	latency := "20"
	if h.maxLatency != nil {
		latency = repr(*h.maxLatency)
	}
	text := func(set bool, s string) string {
		if !set {
			return "None"
		}
		return quoted(s)
	}
	return map[string]string{"FILE": files(p), "buff_size": number(&h.buffer), "max_latency": latency,
		"interval": number(h.interval),
		"noweight": boolean[h.noweight], "divisor": number(&h.divisor), "decimals": number(&h.decimals),
		"warn":     boolean[h.warn],
		"group_nr": number(&h.groups), "job_file": text(h.jobFile != "", h.jobFile), "percentiles": quoted(h.texts),
		"usbin": boolean[h.micro], "directions": text(h.directions != "", h.directions)}, nil
}
