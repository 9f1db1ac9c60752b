// Command bench measures fiolat's speed and memory relative to other programs that do the same work in the same run on
// the same machine, and writes a table into docs/benchmarks.md. `make bench` runs it.
// It is a separate module, as it is no part of the program.
//
// The output of each program is checked: one that fails or leaves work undone fails the benchmark. A part is a function
// in the list below that names its contenders and their targets. Missed targets are only recorded; the exit code is 0.
//
// Helpers of contenders, such as making logs and posting documents, run as hidden subcommands in separate processes: on
// Linux a child's peak memory is at least that of the process that started it, so this process must stay small.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// part is one section of the table.
type part struct {
	name, title string
	run         func(context.Context, *bench) ([]result, error)
}

// parts are measured in this order.
var parts = []part{
	{"percentiles", "percentiles --interval 10s of 32 logs x 600 s x 2 directions", percentiles},
	{"compressed", "the same, compressed, and decompressing alone", compressed},
	{"parser", "parsing on one core, in memory", parser},
	{"memory", "peak memory of logs that are made while they are read", memory},
	{"growth", "processor time of many short logs, and of many hosts", growth},
	{"index", "documents into Elasticsearch", index},
	{"merge", "merge, and the ingest of what it merges", merge},
	{"diagnosis", "ingest with and without a diagnosis", diagnosis},
	{"history", "change points of stored runs", history},
	{"page", "the report page, from documents, and Chromium", page},
}

// bench is what all parts share.
type bench struct {
	self, fiolat string // programs
	dir          string // temporary, for all files
	rounds       int
	rows         *regexp.Regexp // races without a contender whose name matches do not run
	set          func() (logSet, error)
}

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if len(args) > 0 && tools[args[0]] != nil {
		return tools[args[0]](ctx, args[1:])
	}
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("parts", "", "measure only these parts, a list of "+strings.Join(names,
		",")+", and print the table without writing it")
	rows := flags.String("rows", "", "of these parts, measure only races with a row that matches this `REGEXP`")
	out := flags.String("o", "docs/benchmarks.md", "the file whose table is to be replaced")
	b := &bench{}
	flags.IntVar(&b.rounds, "rounds", 5, "how often each program runs")
	flags.StringVar(&b.fiolat, "fiolat", "./fiolat", "the program to measure")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted := parts
	if *only != "" {
		wanted = nil
		for _, name := range strings.Split(*only, ",") {
			i := slices.Index(names, name)
			if i < 0 {
				return fmt.Errorf("there is no part %q: parts are %s", name, strings.Join(names, ", "))
			}
			wanted = append(wanted, parts[i])
		}
	}
	var err error
	if b.rows, err = regexp.Compile(*rows); err != nil {
		return err
	}
	if *rows != "" && *only == "" {
		return errors.New("-rows requires -parts")
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.fiolat, err = filepath.Abs(b.fiolat); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "fiolat-bench-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(b.dir) }() // a failure only costs disk space
	b.set = sync.OnceValues(func() (logSet, error) { return makeSet(ctx, b) })
	doc := newDocument(ctx)
	for _, p := range wanted {
		fmt.Fprintln(os.Stderr, "==", p.title)
		results, err := p.run(ctx, b)
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		doc.add(p, results)
	}
	fmt.Print(doc.table())
	if *only != "" {
		return nil
	}
	return doc.write(*out)
}

// tools are the subcommands that parts start as separate processes.
var tools = map[string]func(context.Context, []string) error{
	"make-set":     makeSetTool,
	"make-logs":    makeLogsTool,
	"make-jobs":    makeJobsTool,
	"make-parts":   makePartsTool,
	"floor":        floorTool,
	"decompress":   decompressTool,
	"ingest-parts": ingestPartsTool,
	"post":         postTool,
}
