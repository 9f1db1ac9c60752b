package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fiolat/fio"
	"fiolat/fio/sla"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

// kindAccount prints the account of a run in one kind of latency, with its name if there are several kinds.
func kindAccount(u *ui.UI, run *pipeline.Run, s *pipeline.Summary, of int) {
	kind := ""
	if of > 1 {
		kind = run.Kind.String() + ": "
	}
	account(u, kind, s, nil, "")
}

// printAccount prints the end-of-run account, in = out + named losses, and text.
func printAccount(u *ui.UI, s *pipeline.Summary, documents any, text string) {
	account(u, "", s, documents, text)
}

// account prints the account in a line, as a warning if I/Os are lost; with --verbose also the numbers behind it.
func account(u *ui.UI, kind string, s *pipeline.Summary, documents any, text string) {
	a := &s.Account
	line, lossless := accountLine(a)
	level := "info"
	if !lossless {
		level = "warning"
	}
	if u.JSON {
		v := map[string]any{"level": level, "msg": "account", "account": a, "quanta": s.Intervals}
		if documents != nil {
			v["documents"] = documents
		}
		if !lossless || !u.Quiet {
			u.Line(v)
		}
		return
	}
	u.Say(level, "%s%s", kind, line)
	if u.Verbose {
		details(u, s)
	}
	if i := a.Interval; i != nil {
		u.Say("info", "interval   %v chosen: %s", i.Interval, i.Reason)
	}
	for _, o := range s.SLA {
		u.Verdict(colours[o.Status()], "SLA        "+o.String())
	}
	if text != "" {
		u.Say("info", "%s", text)
	}
}

func severalLogs(n int) string {
	if n == 0 {
		return "no logs"
	}
	return fio.Several(n, "log")
}

// accountLine returns the account in a line; whole reports whether nothing is known to be lost.
func accountLine(a *pipeline.Account) (line string, whole bool) {
	parts := []string{severalLogs(a.Logs), fio.Several(math.Round(a.Logged+a.Restored), "I/O")}
	add := func(of float64, format string, args ...any) {
		if of > 0 {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(float64(a.LogsEmpty), "%d of the logs empty", a.LogsEmpty)
	away := fio.Grouped(a.PickedAway)
	if away == fio.Grouped(a.Logged+a.Restored) {
		away = "all"
	}
	add(a.PickedAway, "%s of them left out by --only, --from or --to", away)
	add(a.Restored, "%s %% restored from fio's JSON",
		fio.Digits(100*a.Restored/(a.Logged+a.Restored), 2))
	add(a.LastBucket, "%s in fio's last bucket, which has no upper limit", fio.Grouped(a.LastBucket))
	excess := describeIOs("more than fio counted", a.Excess, a.Jobs, func(j *pipeline.JobAccount) float64 {
		return -j.Missing
	})
	add(float64(len(excess)), "%s", excess)
	add(float64(a.JobsFailed), "%s failed", fio.Several(a.JobsFailed, "job"))
	add(float64(a.IOsFailed), "%s failed", fio.Several(int(a.IOsFailed), "I/O"))
	losses := []string{
		describeIOs("missing", a.Missing-a.Restored-a.NotPlaced, a.Jobs, func(j *pipeline.JobAccount) float64 {
			return j.Missing - j.Restored - j.NotPlaced
		}),
		describeIOs("in the totals only, their time unknown", a.NotPlaced, a.Jobs,
			func(j *pipeline.JobAccount) float64 { return j.NotPlaced }),
	}
	if a.LogsSkipped > 0 {
		losses = append(losses, fio.Several(a.LogsSkipped, "log")+" skipped")
	}
	if a.LinesSkipped > 0 {
		losses = append(losses, fio.Several(int(a.LinesSkipped), "line")+" skipped")
	}
	if n := len(a.HostsMissing); n > 0 {
		losses = append(losses, fio.Several(n, "host")+" missing ("+fio.Some(a.HostsMissing)+")")
	}
	if a.JobsRunning > 0 {
		losses = append(losses, fio.Several(a.JobsRunning, "job")+" still running by fio's JSON")
	}
	losses = slices.DeleteFunc(losses, func(s string) bool { return s == "" })
	parts = append(parts, losses...)
	switch {
	case a.Unmeasured != "":
		parts = append(parts, "no latencies: fio measured none, "+a.Unmeasured)
	case a.Counted == 0:
		parts = append(parts, "fio's totals unknown (no fio JSON)")
	case !a.CountedKnown:
		parts = append(parts, "fio's totals known of some of the logs only")
	case a.JobsWithoutLog > 0:
		parts = append(parts, fio.Several(a.JobsWithoutLog, "job")+" without a log")
	case len(losses)+len(excess)+a.JobsFailed+int(a.IOsFailed) == 0:
		parts = append(parts, "all accounted for")
	}
	return strings.Join(parts, ", "), len(losses) == 0
}

// describeIOs describes the I/Os that of counts, by direction and job; "" if there are none. total replaces their sum
// if it is larger.
func describeIOs(what string, total float64, jobs []pipeline.JobAccount, of func(*pipeline.JobAccount) float64) string {
	var parts []string
	sum := 0.0
	for _, d := range pipeline.ByDirection(jobs) {
		ios := 0.0
		var names []string
		by := map[string]float64{}
		for i := range jobs {
			j := &jobs[i]
			n := of(j)
			if j.Direction != d.Direction || n <= 0.5 {
				continue
			}
			ios += n
			name := fio.Printable(j.Job)
			if j.Host != "" {
				name += " on " + fio.Printable(j.Host)
			}
			if by[name] == 0 {
				names = append(names, name)
			}
			by[name] += n
		}
		for i, name := range names {
			if len(names) > 1 {
				names[i] = name + ": " + fio.Grouped(by[name])
			}
		}
		if ios > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s %s (%s)", fio.Grouped(ios), fio.Grouped(float64(d.Counted)),
				pipeline.IOs(d.Direction), fio.Some(names)))
		}
		sum += ios
	}
	sum = max(sum, total)
	if sum <= 0.5 {
		return ""
	}
	text := fio.Grouped(sum) + " " + what
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text
}

func details(u *ui.UI, s *pipeline.Summary) {
	a := &s.Account
	counted := "unknown (no fio JSON)"
	missing := "unknown"
	switch {
	case a.Unmeasured != "":
		counted = "0 (fio measured none, " + a.Unmeasured + ")"
	case a.Counted > 0:
		counted = strconv.FormatUint(a.Counted, 10)
		missing = fio.Count(a.Missing)
		if !a.CountedKnown {
			counted += " (of some of the logs)"
		}
	}
	u.Say("info", "logs       %d read, %d empty, %d skipped, %d repaired", a.Logs, a.LogsEmpty, a.LogsSkipped,
		a.LogsRepaired)
	for _, path := range a.Repaired {
		u.Say("info", "repaired   %s", fio.Printable(path))
	}
	u.Say("info", "records    %d read, %s skipped, %d repaired, %d with equal timestamps", a.Records,
		fio.Several(int(a.LinesSkipped), "line"), a.RecordsRepaired, a.RecordsEqual)
	where := fmt.Sprintf("%s in %s", fio.Count(a.Placed), fio.Several(int(s.Intervals), "interval"))
	if a.PickedAway > 0 {
		where += fmt.Sprintf(" + %s left out by --only, --from or --to", fio.Count(a.PickedAway))
	}
	u.Say("info", "I/Os       %s logged + %s restored from fio's JSON = %s; in fio's totals %s, missing "+
		"from the logs %s, not placed %s; in the last bucket %s",
		fio.Count(a.Logged), fio.Count(a.Restored), where, counted, missing, fio.Count(a.NotPlaced),
		fio.Count(a.LastBucket))
	for _, d := range pipeline.ByDirection(a.Jobs) {
		label := pipeline.IOs(d.Direction)
		if d.Direction == fio.All {
			label = "directions"
		}
		u.Say("info", "%-10s %s logged, in fio's totals %d: %s missing, %s too many; %s restored, %s not placed",
			label, fio.Count(d.Logged), d.Counted, fio.Count(d.Missing), fio.Count(d.Excess),
			fio.Count(d.Restored), fio.Count(d.NotPlaced))
	}
}

// colours are the colours of verdicts on a rule; other lines have none.
var colours = map[sla.Status]ui.Colour{sla.Broken: ui.Bad, sla.OK: ui.Good}
