// Command matrix runs fio with combinations of its options and checks fiolat's results against fio's own counts.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

func run() error {
	var fios list
	flag.Var(&fios, "fio", "a fio `BINARY` to run every case with; may be repeated")
	out := flag.String("out", "", "`FOLDER` for the runs")
	only := flag.String("only", "", "run or check only the cases whose folder's name contains `TEXT`")
	parallel := flag.Int("parallel", 4, "runs of fio, or of fiolat, at a time")
	fiolat := flag.String("fiolat", "", "the fiolat `BINARY` to check; none: only generate")
	again := flag.Bool("truth", false, "work truth.json out again from what the folders hold")
	random := flag.Int("random", 0, "run `N` combinations drawn at random instead of the fixed ones")
	devices := flag.Bool("devices", false, "run fio on slow, stalling and failing devices instead")
	seed := flag.Uint64("seed", 0, "draw them by this `SEED` (default: the time)")
	flag.Parse()
	if *out == "" {
		return fmt.Errorf("-out is missing")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *devices {
		return generateDevices(ctx, fios, *only, *out, *parallel)
	}
	if len(fios) > 0 {
		all := cases()
		if *random > 0 {
			if *seed == 0 {
				*seed = uint64(time.Now().UnixNano())
			}
			fmt.Fprintf(os.Stderr, "matrix: -random %d -seed %d\n", *random, *seed)
			all = randomCases(*seed, *random)
		}
		var some []testCase
		for _, c := range all {
			if strings.Contains(c.Name, *only) {
				some = append(some, c)
			}
		}
		made, err := generate(ctx, fios, some, *out, *parallel)
		fmt.Fprintf(os.Stderr, "matrix: %d runs in %s\n", made, *out)
		if err != nil {
			return err
		}
	}
	if *again {
		if err := truthsAgain(*out); err != nil {
			return err
		}
	}
	if *fiolat == "" {
		return nil
	}
	answers, err := check(ctx, *fiolat, *out, *only, *parallel)
	if err != nil {
		return err
	}
	return report(os.Stdout, answers)
}
