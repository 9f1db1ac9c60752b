// Command mutants measures what the tests would miss. It draws places in the code of the binary (conditions,
// boundaries, literals, errors, statements, arguments), changes each in a small way, a mutant, and runs the -short
// tests that reach it: a mutant that passes them all lives. All mutants are planted at once as switches, so that tests
// are built once. See Petrović and Ivanković, "State of Mutation Testing at Google" (ICSE-SEIP 2018).
//
// The fixed draw is that of a seed in this file. What lives of it is known, mutant by mutant, from survivors.csv, which
// may only shrink: it is an error if a mutant lives that is not in the list, or one that is in the list dies. Another
// seed only reports.
package main

import (
	"context"
	_ "embed"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

//go:embed switch.go.txt
var switches string

// fixed is the seed of the draw that survivors.csv is about.
const fixed = "fixed"

func main() {
	n := flag.Int("n", 100, "draw about `N` mutants")
	seed := flag.String("seed", fixed, "the draw: any `TEXT`; one other than "+fixed+" only reports")
	list := flag.String("survivors", "scripts/mutants/survivors.csv", "the `FILE` of known survivors of the fixed draw")
	only := flag.String("packages", "", "draw only in packages that match this `REGEXP`; only reports")
	own := flag.Bool("own", false, "run only the tests of a mutant's own package; only reports")
	show := flag.Bool("list", false, "print the draw and run nothing")
	workers := flag.Int("workers", runtime.GOMAXPROCS(0), "`N` test processes at a time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := measure(ctx, *n, *seed, *list, *only, *own, *show, *workers)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		stop()
		os.Exit(1)
	}
}

func measure(ctx context.Context, n int, seed, list, only string, ownTests, show bool, workers int) (err error) {
	rooted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root := filepath.Join(dir, "tree")
	sites, err := planted(ctx, root, n, seed, rooted)
	if err != nil {
		return err
	}
	if show {
		for _, s := range sites {
			fmt.Printf("%s: %s: %s: %s: %d\n", s.pkg, s.fn, s.kind, oneLine(s.was), s.nth)
		}
		return nil
	}
	b := &bench{root: root, dir: dir, workers: workers}
	if ownTests {
		b.drawn = map[string]bool{}
		for _, s := range sites {
			b.drawn["fiolat/"+s.pkg] = true
		}
	}
	if err := b.build(ctx); err != nil {
		return err
	}
	tests, failed, err := b.tests(ctx)
	if err != nil {
		return err
	}
	for _, t := range failed {
		fmt.Println("left out, as it fails without a mutant:", t)
	}
	states := make([]string, len(sites))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i, s := range sites {
		g.Go(func() (err error) {
			states[i], err = b.judge(ctx, s, tests)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	report(os.Stdout, root, sites, states)
	if seed != fixed || only != "" || ownTests {
		return nil
	}
	return compare(list, sites, states)
}

// planted copies the working tree to root and plants mutants there. Sites whose change does not compile are replaced by
// others.
func planted(ctx context.Context, root string, n int, seed string, only *regexp.Regexp) ([]*site, error) {
	unfit := map[string]bool{}
	for range 8 {
		if err := os.RemoveAll(root); err != nil {
			return nil, err
		}
		if err := copyTree(ctx, root); err != nil {
			return nil, err
		}
		all, err := rooms(ctx, root)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(r *room) bool { return !only.MatchString(r.path) })
		if len(all) == 0 {
			return nil, errors.New("no such packages")
		}
		sites := draw(all, n, seed, unfit)
		if err := plant(root, sites, switches); err != nil {
			return nil, err
		}
		c := exec.CommandContext(ctx, "go", "build", "-gcflags=-e", "./...")
		c.Dir = root
		out, err := c.CombinedOutput()
		if err == nil {
			return sites, nil
		}
		before := len(unfit)
		for _, m := range regexp.MustCompile(`(?m)^(\S+\.go):(\d+):`).FindAllStringSubmatch(string(out), -1) {
			line, err := strconv.Atoi(m[2])
			if err != nil {
				return nil, err
			}
			for _, s := range sites {
				if s.path == filepath.Join(root, m[1]) && s.line <= line && line <= s.line+strings.Count(s.was, "\n") {
					unfit[s.key()] = true
				}
			}
		}
		if len(unfit) == before {
			return nil, fmt.Errorf("the tree with mutants does not build: %w\n%s", err, out)
		}
	}
	return nil, errors.New("too many sites that cannot be changed")
}

// copyTree copies what git knows, or would, of the working tree, and its repository's data.
func copyTree(ctx context.Context, root string) error {
	const script = `git clone -q --no-checkout . "$1"
		git ls-files -z --cached --others --exclude-standard --deduplicate |
		xargs -0 sh -c 'for f; do [ -e "$f" ] && printf "%s\0" "$f"; done; :' sh | xargs -0 cp --parents -P -t "$1"`
	c := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script, "bash", root)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("copying the tree: %w\n%s", err, out)
	}
	return nil
}

// report prints each mutant that is not killed, and how many are by kind and by package.
func report(w io.Writer, root string, sites []*site, states []string) {
	byState, byKind, byRoom := map[string]int{}, map[string][2]int{}, map[string][2]int{}
	for i, s := range sites {
		byState[states[i]]++
		dead := 0
		if states[i] == own || states[i] == dependants {
			dead = 1
		} else {
			path, err := filepath.Rel(root, s.path)
			if err != nil {
				path = s.path
			}
			fmt.Fprintf(w, "%s:%d: %s: %s: %s: %s\n", path, s.line, s.fn, s.kind, oneLine(s.was), states[i])
		}
		if states[i] != cutOff {
			k, r := byKind[s.kind], byRoom[s.pkg]
			byKind[s.kind] = [2]int{k[0] + dead, k[1] + 1}
			if states[i] != own {
				dead = 0
			}
			byRoom[s.pkg] = [2]int{r[0] + dead, r[1] + 1}
		}
	}
	for _, part := range []struct {
		title string
		of    map[string][2]int
	}{{"killed, by kind:", byKind}, {"killed by their own package:", byRoom}} {
		fmt.Fprintln(w, part.title)
		for _, k := range slices.Sorted(maps.Keys(part.of)) {
			fmt.Fprintf(w, "  %s: %d of %d\n", k, part.of[k][0], part.of[k][1])
		}
	}
	for _, k := range slices.Sorted(maps.Keys(byState)) {
		fmt.Fprintf(w, "%d %s\n", byState[k], k)
	}
	killed, decided := byState[own]+byState[dependants], len(sites)-byState[cutOff]
	fmt.Fprintf(w, "%d of %d decided mutants are killed (%.0f %%), %d by their own package (%.0f %%)\n", killed, decided,
		100*float64(killed)/float64(max(decided, 1)), byState[own], 100*float64(byState[own])/float64(max(decided, 1)))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// compare returns an error for each survivor that is not in the list, and for each in the list that was drawn and dies.
// Mutants that were cut off are neither.
func compare(list string, sites []*site, states []string) error {
	f, err := os.Open(list)
	if err != nil {
		return err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = 6
	rows, err := r.ReadAll()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, row := range rows[min(1, len(rows)):] {
		if row[5] == "" {
			err = errors.Join(err, fmt.Errorf("%s: no word about %q", list, row))
		}
		known[strings.Join(row[:5], "\x00")] = true
	}
	var missing [][]string
	for i, s := range sites {
		row := []string{s.pkg, s.fn, s.kind, oneLine(s.was), strconv.Itoa(s.nth)}
		k := strings.Join(row, "\x00")
		switch dead := states[i] == own || states[i] == dependants; {
		case dead && known[k]:
			err = errors.Join(err, fmt.Errorf("%s: %q is killed now: remove its row", list, row))
		case !dead && !known[k] && states[i] != cutOff:
			missing = append(missing, append(row, ""))
		}
	}
	if len(missing) > 0 {
		slices.SortFunc(missing, slices.Compare)
		var b strings.Builder
		w := csv.NewWriter(&b)
		err = errors.Join(err, w.WriteAll(missing))
		err = errors.Join(err, fmt.Errorf("%d mutants live and are not in %s: test them, or add why they may live (%s):\n%s",
			len(missing), list, "equal, harmless, or what is lost", b.String()))
	}
	return err
}
