package runsource

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/internal/ui"
	"fiolat/pipeline/plan"
)

// Logs are the options of the commands that read logs.
type Logs struct {
	Command   string   // its name
	Paths     []string // files, directories, globs; - is standard input
	FioJSON   []string // files with fio's JSON, instead of what is found beside the logs
	HostsBy   string   // ingest.DiscoverOptions.HostsBy
	Config    plan.Config
	Kinds     Kinds  // Config has the first
	FailOnSLA string // broken or unless-ok; "": rules decide no exit code
	DryRun    bool   // do everything but write
	// Failed takes the errors of runs that left only fio's JSON, with an error or without I/O. If nil, they are not
	// looked for.
	Failed *[]error

	logsOnly bool             // ingest.DiscoverOptions.LogsOnly
	places   map[string]Place // what Locate returned
	listed   ingest.Tree      // the folders that it listed
	tree     *ingest.Tree     // what was found out about Paths, while runs are looked for; nil: nothing
}

// FindFailed adds runs that left only fio's JSON, with an error or without I/O, to Failed, or warns of them if what is
// bad is skipped. runs are those with logs. It reports whether there were any.
func (o *Logs) FindFailed(u *ui.UI, runs []*ingest.Input) bool {
	if o.Failed == nil {
		return false
	}
	// What cannot be read is reported elsewhere.
	totals, _, _ := ingest.DiscoverJSONRuns(o.Paths, runs, ingest.DiscoverOptions{SkipBad: true,
		HostsBy: o.HostsBy, Stdin: u.Stdin, Tree: o.tree})
	o.tree = nil
	found := false
	logs := slices.ContainsFunc(runs, func(in *ingest.Input) bool { return !in.JSONOnly() })
	for _, t := range totals {
		failed := o.failed(u, t, runs)
		found = found || failed
		if logs && !failed && t.Failure() == nil && !besideLogs(t, runs) {
			u.Warn(fio.Printable(t.Root) + ": not used: a run of which there is only fio's JSON, where others have " +
				"logs; name it to take it, too")
		}
	}
	return found
}

// besideLogs reports whether a run is in a folder with logs, not with sources that are fio's JSON only: it is then
// another step of their run, such as a layout.
func besideLogs(t *ingest.JSONRun, runs []*ingest.Input) bool {
	dir := filepath.Dir(t.Metas[0].Path)
	return slices.ContainsFunc(runs, func(in *ingest.Input) bool {
		return slices.ContainsFunc(in.Logs, func(l *ingest.Source) bool {
			return l.JSON == nil && filepath.Dir(l.Path) == dir
		})
	})
}

// failed is FindFailed for one run.
func (o *Logs) failed(u *ui.UI, t *ingest.JSONRun, runs []*ingest.Input) bool {
	err := t.Failure()
	if err == nil || o.Failed == nil || besideLogs(t, runs) {
		return false
	}
	o.leaveOut(u, err)
	return true
}

// leaveOut notes a run that cannot be read, where others can.
func (o *Logs) leaveOut(u *ui.UI, err error) {
	if o.Config.Settings.SkipBad {
		u.Warn("left out: " + err.Error())
	} else {
		*o.Failed = append(*o.Failed, err)
	}
}

// Pipeline returns the Config with the standard input and the warnings of u. Call it after Discover, which looks at the
// beginning of standard input.
func (o *Logs) Pipeline(u *ui.UI) plan.Config {
	cfg := o.Config
	cfg.Stdin, cfg.Warn, cfg.Together = u.Stdin, u.Warn, u.Hold
	return cfg
}

// Values of GOGC. With many logs, Go's default of 100 would let peak memory depend on when
// a collection happens to run; a lower value bounds it for little processor time. With few
// logs that hold little (see plan.Config.Hold), a higher value saves processor time in
// percentiles for little memory; an ingest would take much more.
const (
	manyLogs   = 200
	gcManyLogs = 30
	gcFewLogs  = 400
)

// Discover finds the runs below the paths, and tunes the garbage collector to them unless GOGC is set. any is
// ingest.DiscoverOptions.Any.
func (o *Logs) Discover(u *ui.UI, kind fio.Kind, any bool) ([]*ingest.Input, error) {
	if slices.Contains(o.Paths, "-") {
		in, err := ingest.StandardInput(u.Stdin)
		u.Stdin = in
		if err != nil {
			return nil, err
		}
	}
	runs, err := ingest.Discover(o.Paths, ingest.DiscoverOptions{Kind: kind, Any: any, FioJSON: o.FioJSON,
		HostsBy: o.HostsBy, Stdin: u.Stdin, SkipBad: o.Config.Settings.SkipBad, LogsOnly: o.logsOnly,
		LeaveFailed: o.Failed != nil, Tree: o.tree})
	logs, little := 0, o.Command == "percentiles"
	for _, in := range runs {
		logs += len(in.Logs)
		little = little && len(in.Metas) == 0 && !in.LargeWindows()
	}
	switch {
	case os.Getenv("GOGC") != "":
	case logs >= manyLogs:
		debug.SetGCPercent(gcManyLogs)
	case little:
		debug.SetGCPercent(gcFewLogs)
	}
	return runs, err
}

// ReadOnce returns the path of the first log that cannot be read again, such as a pipe; "" if all can.
func ReadOnce(logs []*ingest.Source) string {
	for _, l := range logs {
		if l.Once() {
			return l.Path
		}
	}
	return ""
}

// Size returns the size of the logs on disk in bytes, for the progress bar.
func Size(in []*ingest.Input) (n int64) {
	for _, i := range in {
		for _, s := range i.Logs {
			n += s.Size
		}
	}
	return n
}
