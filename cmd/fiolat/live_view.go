package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"fiolat/fio"
	"fiolat/fio/sla"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

// liveView shows a run while it goes on: on a terminal a display that is redrawn, else
// a line per interval.
type liveView struct {
	u       *ui.UI
	screen  bool
	run     *pipeline.Run
	spark   int                  // index of the percentile that is drawn
	past    map[string][]float64 // by direction, the latest last; NaN without I/O
	changes []string             // the latest breaches and recoveries
	syncs   []string             // the latest lines about syncs; none until a job syncs
}

const (
	sparkWidth  = 60
	changesKept = 3
)

func newLiveView(u *ui.UI) *liveView {
	f, ok := u.Stderr.(*os.File)
	return &liveView{u: u, screen: ok && !u.Quiet && !u.JSON && term.IsTerminal(int(f.Fd())),
		past: map[string][]float64{}}
}

func (v *liveView) Begin(_ context.Context, run *pipeline.Run) error {
	v.run = run
	for i, p := range run.Percentiles { // the highest one up to 99: above it there are few I/Os
		if best := run.Percentiles[v.spark]; p <= 99 && (p > best || best > 99) {
			v.spark = i
		}
	}
	v.u.Say("info", "run %s, %v intervals", fio.RunName(run.ID, run.Name), time.Duration(run.Interval))
	return nil
}

// Early shows changes that are known before their interval.
func (v *liveView) Early(_ context.Context, q *pipeline.Interval) error {
	for i := range q.Changes {
		if q.Changes[i].Alerted {
			continue
		}
		text := q.Changes[i].String()
		v.u.Say("warning", "%s", text)
		v.changes = append(v.changes, v.at(q.Changes[i].Start)+" "+text)
		v.changes = v.changes[max(len(v.changes)-changesKept, 0):]
	}
	return nil
}

// Late draws directions whose first I/O came late as empty so far. Lines already printed stay as they are.
func (v *liveView) Late(_ context.Context, q *pipeline.Interval) error {
	for i := range q.Rows {
		if row := &q.Rows[i]; v.shown(row) && row.Covered > 0 {
			v.draw(row)
		}
	}
	return nil
}

// shown reports whether a row is shown: each direction, or all together if there is no split.
func (v *liveView) shown(row *pipeline.Row) bool {
	return row.Scope == fio.DirectionScope ||
		row.Scope == fio.RunScope && !slices.Contains(v.run.Settings.By, fio.ByDirection)
}

// draw adds a row to its sparkline.
func (v *liveView) draw(row *pipeline.Row) {
	value := math.NaN()
	if !row.Stats.Empty() {
		value = row.Stats.Percentiles[v.spark]
	}
	d := row.Dims.Direction
	v.past[d] = append(v.past[d], value)
	v.past[d] = v.past[d][max(len(v.past[d])-sparkWidth, 0):]
}

func (v *liveView) Interval(ctx context.Context, q *pipeline.Interval) error {
	if err := v.Early(ctx, q); err != nil {
		return err
	}
	for i := range q.Stragglers {
		s := &q.Stragglers[i]
		text := fio.Printable(s.Text)
		v.u.Say("warning", "%s", text)
		v.changes = append(v.changes, v.at(s.Start)+" "+text)
		v.changes = v.changes[max(len(v.changes)-changesKept, 0):]
	}
	if q.Idle() {
		return nil
	}
	var parts, lines []string
	for i := range q.Rows {
		row := &q.Rows[i]
		if !v.shown(row) {
			continue
		}
		v.draw(row)
		d := row.Dims.Direction
		parts = append(parts, d+" "+v.numbers(row))
		lines = append(lines, fmt.Sprintf("%-5s %s", d, v.numbers(row)), "      "+sparkline(v.past[d]))
	}
	state := v.state(q)
	if !v.screen {
		v.u.Say("info", "%s  %s%s", v.at(q.Offset), strings.Join(parts, " | "), state)
		return nil
	}
	name := "p" + fio.Percentile(v.run.Percentiles[v.spark])
	head := fmt.Sprintf("%s  run %s  %s of %d intervals of %v", v.at(q.Offset), fio.RunName(v.run.ID, v.run.Name), name,
		sparkWidth, time.Duration(v.run.Interval))
	lines = slices.Concat([]string{head}, lines, v.syncs, v.changes)
	if state != "" {
		lines = append(lines, strings.TrimSpace(state))
	}
	v.u.Paint(lines)
	return nil
}

func (v *liveView) End(context.Context, *pipeline.Summary) error {
	v.u.Unpaint()
	return nil
}

// syncView shows the syncs of a run with its I/Os.
type syncView struct {
	pipeline.Discard
	view *liveView
	own  liveView
}

func (s *syncView) Begin(_ context.Context, run *pipeline.Run) error {
	s.own = liveView{u: s.view.u, run: run, spark: s.view.spark, past: map[string][]float64{}}
	return nil
}

func (s *syncView) Early(ctx context.Context, q *pipeline.Interval) error {
	return s.view.Early(ctx, q)
}

func (s *syncView) Interval(ctx context.Context, q *pipeline.Interval) error {
	if err := s.Early(ctx, q); err != nil {
		return err
	}
	for i := range q.Rows {
		row := &q.Rows[i]
		if row.Scope != fio.RunScope {
			continue
		}
		s.own.draw(row)
		name := row.Dims.Direction
		s.view.syncs = []string{fmt.Sprintf("%-5s %s", name, s.own.numbers(row)),
			"      " + sparkline(s.own.past[name])}
		if !s.view.screen && !row.Stats.Empty() {
			s.own.u.Say("info", "%s  %s %s%s", s.own.at(q.Offset), name, s.own.numbers(row), s.own.state(q))
		}
	}
	return nil
}

// at formats an offset as a time of day, UTC.
func (v *liveView) at(offset int64) string {
	return time.Unix(0, v.run.Start+offset).UTC().Format("15:04:05Z")
}

// numbers formats a row's statistics in one line.
func (v *liveView) numbers(row *pipeline.Row) string {
	s := &row.Stats
	if s.Empty() {
		return "nothing"
	}
	text := strconv.FormatFloat(row.IOPS, 'f', 0, 64) + "/s"
	for i, p := range s.Percentiles {
		sign := " "
		if slices.Contains(s.AtLeast, i) {
			sign = " >="
		}
		text += " p" + fio.Percentile(v.run.Percentiles[i]) + sign + strings.Replace(fio.Latency(p, 3), " ", "", 1)
	}
	return text
}

// state returns the rules that are not met, with their verdicts.
func (v *liveView) state(q *pipeline.Interval) string {
	if len(v.run.Settings.SLA) == 0 {
		return ""
	}
	var bad []string
	for i := range q.Rows {
		for _, verdict := range q.Rows[i].SLA {
			if verdict.Status == sla.OK {
				continue
			}
			text := fmt.Sprintf("%s %s", verdict.Rule.Text, verdict.Status)
			if verdict.Stalled {
				text += ", stalled"
			}
			if !slices.Contains(bad, text) {
				bad = append(bad, text)
			}
		}
	}
	return "  SLA " + cmp.Or(strings.Join(bad, "; "), "ok")
}

// sparkline draws values in eight heights on a logarithmic scale from the lowest to the
// highest, which spans a factor of two at least. A dot stands for NaN.
func sparkline(values []float64) string {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) {
			v = math.Log2(max(v, 1))
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	span := max(hi-lo, 1)
	var b strings.Builder
	for _, v := range values {
		if math.IsNaN(v) {
			b.WriteRune('·')
			continue
		}
		b.WriteRune([]rune("▁▂▃▄▅▆▇█")[int((math.Log2(max(v, 1))-lo)/span*7.999)])
	}
	return b.String()
}
