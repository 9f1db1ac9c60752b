package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// A test is a test function that can be run by itself, or a script of TestScripts.
type test struct {
	pkg, name string
	cpu       float64 // seconds
	reaches   map[int]bool
}

// A bench has the test binaries of a tree with planted mutants.
type bench struct {
	root, dir string
	workers   int
	pkgs      []string        // with tests
	drawn     map[string]bool // the packages whose tests count; nil for all
}

// What becomes of a mutant.
const (
	own        = "killed by its own package"
	dependants = "killed by other packages"
	lives      = "lives"
	cutOff     = "cut off" // the tests that reach it cost more than a mutant may
	unreached  = "reached by no test"
)

// A mutant may cost so many CPU seconds of tests of its own package, and of others.
const ownBudget, otherBudget = 30, 9

// build compiles the tests of all packages.
func (b *bench) build(ctx context.Context) error {
	const tested = "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"
	list := exec.CommandContext(ctx, "go", "list", "-f", tested, "./...")
	list.Dir, list.Stderr = b.root, os.Stderr
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	for _, p := range strings.Fields(string(out)) {
		if b.drawn == nil || b.drawn[p] {
			b.pkgs = append(b.pkgs, p)
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.workers)
	for _, p := range b.pkgs {
		g.Go(func() error {
			c := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-o", b.binary(p), p)
			c.Dir = b.root
			if out, err := c.CombinedOutput(); err != nil {
				return fmt.Errorf("%w\n%s", err, out)
			}
			return nil
		})
	}
	return g.Wait()
}

func (b *bench) binary(pkg string) string {
	return filepath.Join(b.dir, strings.ReplaceAll(pkg, "/", "_")+".test")
}

// run runs tests of a package with one mutant on, 0 for none, for at most limit seconds of CPU.
func (b *bench) run(ctx context.Context, pkg, pattern string, limit int, env ...string) (
	cpu float64, out string, err error,
) {
	tmp, err := os.MkdirTemp(b.dir, "tmp")
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	const limited = `ulimit -t "$1"; shift; exec "$@"`
	c := exec.CommandContext(ctx, "bash", "-c", limited, "bash", strconv.Itoa(limit), b.binary(pkg), "-test.short",
		"-test.timeout", "10m", "-test.run", pattern)
	c.Dir = filepath.Join(b.root, strings.TrimPrefix(strings.TrimPrefix(pkg, "fiolat"), "/"))
	c.Env = append(append(os.Environ(), "TMPDIR="+tmp), env...)
	said, err := c.CombinedOutput()
	if c.ProcessState == nil {
		return 0, "", err
	}
	return (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(), string(said), err
}

// tests runs each test once and notes its cost and which mutants it reaches. Tests that fail are left out and named.
func (b *bench) tests(ctx context.Context) (tests []*test, failed []string, err error) {
	for _, p := range b.pkgs {
		c := exec.CommandContext(ctx, b.binary(p), "-test.list", ".")
		c.Dir = filepath.Join(b.root, strings.TrimPrefix(strings.TrimPrefix(p, "fiolat"), "/"))
		out, err := c.Output()
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p, err)
		}
		for _, name := range strings.Fields(string(out)) {
			scripts, err := filepath.Glob(filepath.Join(c.Dir, "testdata", "script", "*.txtar"))
			switch {
			case err != nil:
				return nil, nil, err
			case name == "TestScripts":
				for _, s := range scripts {
					tests = append(tests, &test{pkg: p, name: name + "/" + strings.TrimSuffix(filepath.Base(s), ".txtar")})
				}
			case regexp.MustCompile("^(Test|Example|Fuzz)").MatchString(name):
				tests = append(tests, &test{pkg: p, name: name})
			}
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.workers)
	var mu sync.Mutex
	for i, t := range tests {
		g.Go(func() error {
			trace := filepath.Join(b.dir, fmt.Sprintf("trace%d", i))
			cpu, _, err := b.run(ctx, t.pkg, pattern([]*test{t}), 600, "FIOLAT_MUTANT_TRACE="+trace)
			t.cpu, t.reaches = cpu, map[int]bool{}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, t.pkg+" "+t.name)
				return ctx.Err()
			}
			ids, err := os.ReadFile(trace)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			for id := range bytes.FieldsSeq(ids) {
				n, err := strconv.Atoi(string(id))
				if err != nil {
					return err
				}
				t.reaches[n] = true
			}
			return nil
		})
	}
	err = g.Wait()
	slices.Sort(failed)
	return slices.DeleteFunc(tests, func(t *test) bool { return len(t.reaches) == 0 }), failed, err
}

// pattern is what -test.run wants for some tests, or for some scripts.
func pattern(tests []*test) string {
	var names []string
	scripts := ""
	for _, t := range tests {
		name, script, _ := strings.Cut(t.name, "/")
		if script != "" {
			scripts, name = "^TestScripts$/", script
		}
		names = append(names, regexp.QuoteMeta(name))
	}
	return scripts + "^(" + strings.Join(names, "|") + ")$"
}

// judge runs the tests that reach a mutant, cheap ones first, until one fails.
func (b *bench) judge(ctx context.Context, s *site, tests []*test) (state string, err error) {
	state = unreached
	for _, way := range []struct {
		own    bool
		killed string
		budget float64
	}{{true, own, ownBudget}, {false, dependants, otherBudget}} {
		var reach []*test
		for _, t := range tests {
			if t.reaches[s.id] && (t.pkg == "fiolat/"+s.pkg) == way.own {
				reach = append(reach, t)
			}
		}
		spent := 0.0
		for _, batch := range batches(reach) {
			if spent > way.budget {
				state = cutOff
				break
			}
			if state == unreached {
				state = lives
			}
			cost := 0.0
			for _, t := range batch {
				cost += t.cpu
			}
			cpu, out, err := b.run(ctx, batch[0].pkg, pattern(batch), int(4*cost)+15,
				fmt.Sprintf("FIOLAT_MUTANT=%d", s.id))
			spent += cpu
			switch {
			case ctx.Err() != nil:
				return "", ctx.Err()
			case err == nil:
			case strings.Contains(out, "panic: test timed out") && cpu < 15: // it may only have waited
				state = cutOff
			default:
				return way.killed, nil
			}
		}
	}
	return state, nil
}

// batches puts tests together that one process runs, of about a second of CPU, cheap ones first.
func batches(tests []*test) [][]*test {
	slices.SortStableFunc(tests, func(a, b *test) int {
		if a.cpu < b.cpu {
			return -1
		}
		return 1
	})
	var all [][]*test
	at := map[string]int{} // the batch that is not full of a package's tests, or of its scripts
	sum := map[string]float64{}
	for _, t := range tests {
		k := t.pkg
		if strings.Contains(t.name, "/") {
			k += "/"
		}
		i, ok := at[k]
		if !ok || sum[k]+t.cpu > 1.5 {
			at[k], sum[k], i = len(all), 0, len(all)
			all = append(all, nil)
		}
		all[i] = append(all[i], t)
		sum[k] += t.cpu
	}
	return all
}
