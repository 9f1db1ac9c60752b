package command

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"fiolat/internal/errs"
	"fiolat/internal/sla"
	"fiolat/internal/ui"
	"fiolat/internal/units"
	"fiolat/pipeline"
)

// KindAccount prints the account of one kind; of several it says which.
func KindAccount(u *ui.UI, run *pipeline.Run, s *pipeline.Summary, of int) {
	if of > 1 {
		u.Say("info", "%v:", run.Kind)
	}
	Account(u, s, nil, "")
}

// Account prints the end-of-run account: in = out + named losses.
func Account(u *ui.UI, s *pipeline.Summary, documents any, text string) {
	a := &s.Account
	if u.Quiet {
		return
	}
	if u.JSON {
		v := map[string]any{"level": "info", "msg": "account", "account": a, "quanta": s.Quanta}
		if documents != nil {
			v["documents"] = documents
		}
		u.Line(v)
		return
	}
	fio := "unknown (no fio JSON)"
	missing := "unknown"
	if a.Counted > 0 {
		fio = strconv.FormatUint(a.Counted, 10)
		missing = units.Count(a.Missing)
		if !a.CountedKnown {
			fio += " (of some of the logs)"
		}
	}
	u.Say("info", "logs       %d read, %d empty, %d skipped, %d repaired", a.Logs, a.LogsEmpty, a.LogsSkipped,
		a.LogsRepaired)
	u.Say("info", "records    %d read, %d lines skipped, %d repaired, %d with equal timestamps", a.Records,
		a.LinesSkipped, a.RecordsRepaired, a.RecordsEqual)
	where := fmt.Sprintf("%s in %d quanta", units.Count(a.Placed), s.Quanta)
	if a.PickedAway > 0 {
		where += fmt.Sprintf(" + %s left out by --only, --from or --to", units.Count(a.PickedAway))
	}
	u.Say("info", "I/Os       %s logged + %s restored from fio's JSON = %s; in fio's totals %s, missing "+
		"from the logs %s, not placed %s; in the last bucket %s",
		units.Count(a.Logged), units.Count(a.Restored), where, fio, missing, units.Count(a.NotPlaced),
		units.Count(a.LastBucket))
	for _, d := range pipeline.ByDirection(a.Jobs) {
		label := d.Direction + "s"
		if d.Direction == pipeline.All {
			label = "directions"
		}
		u.Say("info", "%-10s %s logged, in fio's totals %d: %s missing, %s too many; %s restored, %s not placed",
			label, units.Count(d.Logged), d.Counted, units.Count(d.Missing), units.Count(d.Excess),
			units.Count(d.Restored), units.Count(d.NotPlaced))
	}
	if i := a.Interval; i != nil {
		u.Say("info", "interval   %v chosen: %s", i.Interval, i.Reason)
	}
	for _, o := range s.SLA {
		u.Say("info", "SLA        %s", outcome(&o))
	}
	if text != "" {
		u.Say("info", "%s", text)
	}
}

// outcome is what a run says of a rule, in words.
func outcome(o *pipeline.Outcome) string {
	s := fmt.Sprintf("%s: %s; of %d quanta %d ok, %d broken, %d unknown; %d breaches", o.Rule.Text, o.Status(),
		o.OK+o.Broken+o.Unknown, o.OK, o.Broken, o.Unknown, o.Breaches)
	if o.Dims.Host != "" {
		s = errs.Printable(o.Dims.Host) + ": " + s
	}
	if o.Worst.Known {
		worst := fmt.Sprintf("%.4g", o.Worst.Value)
		if o.Rule.Metric != "iops" {
			worst = sla.Duration(math.Round(o.Worst.Value/1e3) * 1e3)
		}
		s += fmt.Sprintf("; worst %s at %s", worst, time.Duration(o.WorstAt))
	}
	if o.Share >= 0 {
		s += fmt.Sprintf("; %.4f %% of all I/Os within", 100*o.Share)
	}
	return s
}
