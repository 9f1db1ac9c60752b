// Command fiolat turns the latency histograms that fio logs into percentiles over
// time, on standard output, in Elasticsearch, or in files.
//
// Each subcommand has one file: its options, the flags that are bound to them, its help, and what it does. Only
// exit.go decides exit codes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
)

func init() { cli.HelpFlag = nil } // otherwise the library handles --help itself

func main() {
	ctx, stop := signalContext()
	defer stop()
	os.Exit(run(ctx, os.Args, os.Stdin, ui.Again(os.Stdout), ui.Again(os.Stderr)))
}

// graceful is how long a command may take to end after a signal. A read from an idle pipe does not end by itself.
const graceful = 6 * time.Second

// signalContext returns a context that the first signal cancels, so that a command can end cleanly. The second signal
// kills the process as usual, even if SIGINT was ignored at the start, as shells do for background jobs.
func signalContext() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	c := make(chan os.Signal, 1)
	ignored := signal.Ignored(os.Interrupt)
	signal.Notify(c, endingSignals()...)
	go func() {
		if _, ok := <-c; ok {
			signal.Stop(c)
			cancel(fio.ErrInterrupted)
			time.AfterFunc(graceful, func() { os.Exit(exitInterrupted) })
			if ignored { // Stop has restored that
				again := make(chan os.Signal, 1)
				signal.Notify(again, os.Interrupt)
				<-again
				_ = syscall.Kill(syscall.Getpid(), syscall.SIGTERM)
			}
		}
	}()
	return ctx, func() { signal.Stop(c); close(c) }
}

// run runs the program and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	u := ui.New(stdin, stdout, stderr)
	u.OnUnread(func() { _, _ = os.Stdout.WriteString("\n") }) // SIGPIPE, as for other programs
	if last := len(args) - 1; args[last] == completeFlag {
		switch slices.Index(args, "--") { // with which the library would run the command
		case -1:
		case last - 1: // a flag is begun
			args = slices.Concat(args[:last-1], args[last:])
		default:
			return exitOK
		}
		return exit(u, newApp(u).RunContext(ctx, args))
	}
	err := runLike(ctx, u, args)
	if errors.Is(err, errNotLike) {
		err = runCommand(ctx, u, args)
	}
	return exit(u, err)
}

// completeFlag is what the library's completion in a shell ends a command line with.
const completeFlag = "--generate-bash-completion"

// runCommand runs the command that the arguments name.
func runCommand(ctx context.Context, u *ui.UI, args []string) error {
	if len(args) > 1 && args[1] == "help" { // help ingest is ingest --help
		args = append(slices.Concat(args[:1], args[2:]), "--help")
	}
	if len(args) > 1 && pageOf(args[1]) >= 0 {
		app := newApp(u, args[1])
		return app.RunContext(ctx, permute(app, args))
	}
	app := newApp(u)
	return app.RunContext(ctx, permute(app, reportOf(app, args)))
}

// reportOf makes fiolat PATH, with or without flags, fiolat report PATH.
func reportOf(app *cli.App, args []string) []string {
	takesValue := valueFlags(app.Command("report"))
	for i := 1; i < len(args); i++ {
		a := args[i]
		if a != "-" && strings.HasPrefix(a, "-") {
			if takesValue[strings.TrimLeft(a, "-")] {
				i++
			}
			continue
		}
		if app.Command(a) == nil && runsource.IsHere(a) {
			return slices.Insert(slices.Clone(args), 1, "report")
		}
		break
	}
	return args
}

// valueFlags returns the names of a command's flags, and whether each takes a value.
func valueFlags(cmd *cli.Command) map[string]bool {
	takesValue := map[string]bool{}
	for _, f := range cmd.Flags {
		if d, ok := f.(cli.DocGenerationFlag); ok {
			for _, name := range f.Names() {
				takesValue[name] = takes(d)
			}
		}
	}
	return takesValue
}

// takes reports whether a flag takes the next argument as its value.
func takes(f cli.DocGenerationFlag) bool {
	g, ok := f.(*cli.GenericFlag)
	return f.TakesValue() && !(ok && g.Value.(*value).IsBoolFlag())
}

// newApp returns the command line, with all commands or those named. It uses no globals of the library that parsing
// writes to.
func newApp(u *ui.UI, names ...string) *cli.App {
	usage := func(c *cli.Context, err error, _ bool) error {
		return usageError(suggestFlag(newApp(u), c.Command, err))
	}
	app := &cli.App{
		Name:  "fiolat",
		Usage: "align and merge fio's latency histograms, and compute percentiles over time",
		Description: `fiolat runs/today                # a page with charts, report.html
fiolat percentiles runs/today    # a table
fiolat diagnose runs/today       # slow hosts, stalls and changes
fiolat compare runs/yesterday runs/today
fiolat ingest --es http://localhost:9200 runs/today`,
		DisableSliceFlagSeparator: true,
		EnableBashCompletion:      true,
		HideHelp:                  true, // ours is shorter
		HideVersion:               true, // its flag is a global
		Flags: append(helpFlags(), &cli.BoolFlag{Name: "version", Aliases: []string{"v"},
			Usage: "print the version"}),
		Reader:         u.Stdin,
		Writer:         u.Stdout,
		ErrWriter:      u.Stderr,
		ExitErrHandler: func(*cli.Context, error) {}, // exit.go decides
		OnUsageError:   usage,
		Action: func(c *cli.Context) error {
			switch {
			case c.Bool("version"):
				return printVersion(u)
			case c.Args().Present():
				return noCommand(c.App, c.Args().First())
			}
			help := programHelp(c.App, ui.Width(u.Stdout))
			if isPipe(u.Stdin) { // which cron and CI have, too: nothing is read unasked
				help += "\nTo read a log from standard input, pass -: fiolat - or fiolat percentiles -.\n"
			}
			_, err := fmt.Fprint(u.Stdout, help)
			return err
		},
	}
	for _, p := range pages {
		if len(names) > 0 && !slices.Contains(names, p.name) {
			continue
		}
		c := commands()[p.name](u)
		app.Commands = append(app.Commands, c)
		c.OnUsageError, c.HideHelp = usage, true
		c.Flags = append(append(c.Flags, logFormatFlag(u), quietFlag()), helpFlags()...)
		usual := describe(c)
		action := c.Action
		c.Action = func(ctx *cli.Context) error {
			switch all := ctx.Bool("help-all"); {
			case ctx.Bool("version"): // before the command's name
				return printVersion(u)
			case all || ctx.Bool("help"):
				_, err := fmt.Fprint(u.Stdout, commandHelp(c, usual, all, ui.Width(u.Stdout)))
				return err
			}
			if first := ctx.Args().First(); !runsource.IsHere(first) {
				if of := instead().exact[c.Name+" "+first]; of != "" {
					return fio.Usagef("no such file or run: %q; %s", first, of)
				}
			}
			u.Quiet = ctx.Bool("quiet")
			if err := configure(ctx, u); err != nil {
				return err
			}
			return action(ctx)
		}
	}
	return app
}

func isPipe(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// commands returns what builds each command.
func commands() map[string]func(*ui.UI) *cli.Command {
	return map[string]func(*ui.UI) *cli.Command{
		"annotate": annotateCommand, "compare": compareCommand, "completion": completionCommand,
		"curve": curveCommand, "delete": deleteCommand,
		"diagnose": diagnoseCommand, "histogram": histogramCommand, "history": historyCommand, "ingest": ingestCommand,
		"inspect": inspectCommand, "label": labelCommand, "live": liveCommand, "load": loadCommand,
		"merge": mergeCommand, "percentiles": percentilesCommand, "probe": probeCommand, "report": reportCommand,
		"rollup": rollupCommand, "runs": runsCommand, "setup": setupCommand, "summary": summaryCommand,
		"version": versionCommand,
	}
}

func printVersion(u *ui.UI) error {
	_, err := fmt.Fprintln(u.Stdout, "fiolat version", versionText())
	return err
}

// notParsed is the library's error about a number.
var notParsed = regexp.MustCompile(`^invalid value (".*") for flag -(.+): parse error$`)

// suggestFlag rewrites the library's error about an unknown flag, with the nearest flag if one is near.
func suggestFlag(app *cli.App, cmd *cli.Command, err error) error {
	if err == nil || cmd == nil {
		return err
	}
	text, empty := strings.CutPrefix(err.Error(), "flag needs an argument: -")
	name, unknown := strings.CutPrefix(text, "flag provided but not defined: -")
	dashes := strings.Repeat("-", min(2, len(name)))
	if empty {
		return fmt.Errorf("%s%s needs a value; see fiolat %s --help", dashes, name, cmd.Name)
	}
	if m := notParsed.FindStringSubmatch(err.Error()); m != nil {
		what := "a whole number"
		for _, f := range cmd.Flags {
			if _, ok := f.(*cli.DurationFlag); ok && slices.Contains(f.Names(), m[2]) {
				what = "a duration such as 10s"
			}
		}
		return fmt.Errorf("--%s: %s is not %s; see fiolat %s --help", m[2], m[1], what, cmd.Name)
	}
	if !unknown {
		return err
	}
	for _, f := range cmd.Flags {
		if g, ok := f.(*cli.GenericFlag); ok && g.Name == "format" && slices.Contains(g.Value.(*value).words, name) {
			return fmt.Errorf("no such flag: %s%s; did you mean --format %s?", dashes, name, name)
		}
	}
	if of := flagInstead(app, cmd, name); of != "" {
		return fmt.Errorf("no such flag: %s%s; %s", dashes, name, of)
	}
	meant, best := "", 3
	for _, f := range cmd.Flags {
		for _, n := range f.Names() {
			if d := fio.Distance(name, n); d < min(best, len(n)) {
				best, meant = d, n
			}
		}
	}
	if meant == "" {
		if of := flagByPart(app, cmd, name); of != "" {
			return fmt.Errorf("no such flag: %s%s; %s", dashes, name, of)
		}
		command := strings.TrimSuffix("fiolat "+cmd.Name, " fiolat")
		return fmt.Errorf("no such flag: %s%s; see %s --help", dashes, name, command)
	}
	return fmt.Errorf("no such flag: %s%s; did you mean --%s?", dashes, name, meant)
}

// noCommand returns the error for an unknown command, with the nearest command if one is near.
func noCommand(app *cli.App, name string) error {
	if of := instead().exact[name]; of != "" {
		return fio.Usagef("no such command: %q; %s", name, of)
	}
	if of := guesses(instead().commands, name); len(of) > 0 {
		return fio.Usagef("no such command: %q; %s", name, of[0])
	}
	hint := "see fiolat --help"
	best := 3 // this many edits or more are not a typo
	for _, c := range app.Commands {
		d := fio.Distance(name, c.Name)
		if len(name) > 2 && strings.HasPrefix(c.Name, name) {
			d = 1
		}
		if !c.Hidden && d < best {
			best, hint = d, fmt.Sprintf("did you mean fiolat %s?", c.Name)
		}
	}
	if of := guessedCommand(name); best > 1 && of != "" {
		return fio.Usagef("no such command: %q; %s", name, of)
	}
	if best == 3 {
		return fio.Usagef("no such command or file: %q; %s", name, hint)
	}
	return fio.Usagef("no such command: %q; %s", name, hint)
}

// permute moves a subcommand's flags between its name and its arguments, where the library takes them. Before the name
// may be flags without a value.
func permute(app *cli.App, args []string) []string {
	at := slices.IndexFunc(args[1:], func(a string) bool { return !strings.HasPrefix(a, "-") }) + 1
	if len(args) < 3 || at == 0 {
		return args
	}
	cmd := app.Command(args[at])
	if cmd == nil {
		return args
	}
	takesValue := valueFlags(cmd)
	for _, a := range args[1:at] {
		name := strings.TrimLeft(a, "-")
		own := slices.ContainsFunc(app.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
		if own || takesValue[name] {
			return args
		}
	}
	args = slices.Concat(args[:1], args[at:at+1], args[1:at], args[at+1:])
	flags, rest := append([]string(nil), args[:2]...), []string(nil)
	for i := 2; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			if cmd.Name == "live" { // keep the --: it separates a file from a command
				i--
			}
			rest = append(rest, args[i+1:]...)
			break
		}
		if a == "-" || !strings.HasPrefix(a, "-") {
			rest = append(rest, a)
			continue
		}
		flags = append(flags, a)
		if takesValue[strings.TrimLeft(a, "-")] {
			i++
			if i == len(args) {
				return flags // without a value, which the library says
			}
			flags = append(flags, args[i])
		}
	}
	if len(rest) == 0 {
		return flags
	}
	return append(append(flags, "--"), rest...)
}
