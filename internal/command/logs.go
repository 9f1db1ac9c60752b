package command

import (
	"os"
	"runtime/debug"
	"strings"

	"fiolat/ingest"
	"fiolat/ingest/fiolog"
	"fiolat/internal/errs"
	"fiolat/internal/ui"
	"fiolat/pipeline/plan"
)

// Roots are the folders of the runs.
func Roots(runs []*ingest.Input) string {
	var names []string
	for _, r := range runs {
		names = append(names, errs.Printable(r.Root))
	}
	return strings.Join(names, ", ")
}

// Logs are what all commands that read logs are asked for.
type Logs struct {
	Command   string   // that reads them
	Paths     []string // files, directories, globs; - is standard input
	FioJSON   []string // files with fio's JSON, instead of what is found beside the logs
	Config    plan.Config
	Kinds     Kinds // of which Config has the first
	FailOnSLA bool
	DryRun    bool // does everything but write
}

// Pipeline is the Config for what reads standard input and warns on standard error.
func (o *Logs) Pipeline(u *ui.UI) plan.Config {
	cfg := o.Config
	cfg.Stdin, cfg.Warn = u.Stdin, u.Warn
	return cfg
}

// How much garbage the collector lets gather, in percent of what is in use. With many
// logs less than Go's 100 %, with which the peak over a thousand logs depends on when a
// collection happens to run: 162 MB for 2,160 s and 213 MB for 21,600 s; with 30 % it is
// 145 and 147 MB, for 4 % more processor time. Of few logs that hold little (see
// plan.Config.Hold) more saves 7 % of the processor time of `percentiles` over 32 logs
// of 600 s, for 7 MB; an ingest would take twice the memory.
const (
	manyLogs    = 200
	garbageMany = 30
	garbageFew  = 400
)

// Discover finds the runs below the paths; any leaves out what is of other kinds only.
func (o *Logs) Discover(u *ui.UI, kind fiolog.Kind, any bool) ([]*ingest.Input, error) {
	runs, err := ingest.Discover(o.Paths, ingest.DiscoverOptions{Kind: kind, Any: any, FioJSON: o.FioJSON,
		Stdin: u.Stdin})
	logs, little := 0, o.Command == "percentiles"
	for _, in := range runs {
		logs += len(in.Logs)
		little = little && len(in.Metas) == 0 && !in.LargeWindows()
	}
	switch {
	case os.Getenv("GOGC") != "":
	case logs >= manyLogs:
		debug.SetGCPercent(garbageMany)
	case little:
		debug.SetGCPercent(garbageFew)
	}
	return runs, err
}

// ReadOnce is the path of the first log that cannot be read again, such as a pipe; "" if all can.
func ReadOnce(logs []*ingest.Source) string {
	for _, l := range logs {
		if info, err := os.Stat(l.Path); l.Path == "-" || err == nil && !info.Mode().IsRegular() {
			return l.Path
		}
	}
	return ""
}

// Size is the number of bytes of the logs as stored, for the progress bar.
func Size(in []*ingest.Input) (n int64) {
	for _, i := range in {
		for _, s := range i.Logs {
			n += s.Size
		}
	}
	return n
}
