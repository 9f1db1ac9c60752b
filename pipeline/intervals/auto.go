package intervals

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// Ladder are the intervals among which --interval auto chooses.
var Ladder = []time.Duration{
	1 * time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second,
	30 * time.Second, 60 * time.Second, 120 * time.Second, 300 * time.Second, 600 * time.Second,
}

// enough is the share of the intervals in which the percentile must be known well
// enough.
const enough = 0.9

// Chooser is a Sink that finds the shortest interval of the Ladder at which, in nine of ten intervals, the 95 %
// confidence limits of a percentile are within the accuracy of it. It takes intervals of one second and adds them to
// the open interval of each step. So one pass tries all steps, in the memory of a few histograms a step.
//
// What counts is the sum over all directions and, if ByDirection is set, each direction: the worst decides. Hosts and
// jobs are not considered, as one with few I/Os would make every interval long. Intervals without I/O do not count, nor
// does one that the run fills only in part, unless there is no other.
type Chooser struct {
	Percentile, Accuracy float64
	// Shortest is the logs' own spacing: shorter intervals would repeat the same
	// records. Steps that are shorter by more than a tenth are left out.
	Shortest    time.Duration
	ByDirection bool

	pipeline.Discard
	run    *pipeline.Run
	origin int64 // added to offsets: what the grid counts from
	from   int64 // where the run begins
	end    int64 // end of the last interval
	steps  []step
}

// NewChooser returns a Chooser for the highest of the percentiles that has confidence limits.
func NewChooser(s *fio.Settings, accuracy float64) (*Chooser, error) {
	c := &Chooser{Accuracy: accuracy, ByDirection: slices.Contains(s.By, fio.ByDirection)}
	for _, p := range s.Percentiles {
		if p > c.Percentile && p < 100 {
			c.Percentile = p
		}
	}
	if c.Percentile == 0 {
		return nil, fio.Usagef("--interval auto: p0 and p100 have no confidence limits; ask for a percentile " +
			"between them")
	}
	return c, nil
}

// step is one interval of the ladder.
type step struct {
	interval int64
	index    int64 // of the open interval
	open     map[string]*fiohist.Hist
	complete map[string]tallied
	partial  map[string]tallied
}

// tallied counts intervals with I/O, and those in which the percentile is known.
type tallied struct{ all, known int }

func (t tallied) share() float64 { return float64(t.known) / float64(t.all) }

func (t tallied) String() string { return fmt.Sprintf("%d of %d", t.known, t.all) }

// Begin takes the run, whose intervals must be of one second.
func (c *Chooser) Begin(_ context.Context, run *pipeline.Run) error {
	c.run, c.from, c.steps = run, run.FirstInterval, nil
	if run.Settings.Grid == fio.GridEpoch {
		c.origin = run.Start
	}
	ladder := slices.DeleteFunc(slices.Clone(Ladder),
		func(d time.Duration) bool { return float64(d) < 0.9*float64(c.Shortest) })
	if len(ladder) == 0 {
		ladder = append(ladder, (c.Shortest + time.Second - 1).Truncate(time.Second))
	}
	for _, d := range ladder {
		c.steps = append(c.steps, step{interval: int64(d), open: map[string]*fiohist.Hist{},
			complete: map[string]tallied{}, partial: map[string]tallied{}})
	}
	return nil
}

// Interval adds an interval to the open one of each step.
func (c *Chooser) Interval(_ context.Context, q *pipeline.Interval) error {
	if len(q.Leaves) == 0 {
		return nil
	}
	for i := range c.steps {
		s := &c.steps[i]
		if index := floorDiv(c.origin+q.Offset, s.interval); index != s.index {
			c.close(s, true)
			s.index = index
		}
		for _, l := range q.Leaves {
			s.add(fio.All, l.Hist)
			if c.ByDirection {
				s.add(l.Dims.Direction, l.Hist)
			}
		}
	}
	c.end = q.Offset + c.run.Interval
	return nil
}

func (s *step) add(scope string, h *fiohist.Hist) {
	if s.open[scope] == nil {
		s.open[scope] = new(fiohist.Hist)
	}
	s.open[scope].AddHist(h)
}

// close judges the open interval of a step; filled is set if the run reaches its end.
func (c *Chooser) close(s *step, filled bool) {
	counts := s.complete
	if !filled || s.index*s.interval-c.origin < c.from {
		counts = s.partial
	}
	for scope, h := range s.open {
		st := h.Stats(c.run.Geometry, []float64{c.Percentile}, fiohist.Limits{})
		if st.Samples >= 0.5 { // less is what overlaps from a neighbour
			t := counts[scope]
			t.all++
			v, off := st.Percentiles[0], c.Accuracy*st.Percentiles[0]
			if st.Lower[0] != fiohist.NoLimit && st.Upper[0] != fiohist.NoLimit && st.Lower[0] >= v-off &&
				st.Upper[0] <= v+off {
				t.known++
			}
			counts[scope] = t
		}
	}
	clear(s.open)
}

// End judges the open intervals.
func (c *Chooser) End(context.Context, *pipeline.Summary) error {
	for i := range c.steps {
		s := &c.steps[i]
		c.close(s, (s.index+1)*s.interval-c.origin <= c.end)
	}
	return nil
}

// worst returns the scope in which the percentile is known in the smallest share of the step's intervals.
func (s *step) worst() (scope string, t tallied) {
	counts := s.complete
	if len(counts) == 0 {
		counts = s.partial
	}
	for _, name := range fio.RowDirections() {
		if o, ok := counts[name]; ok && (scope == "" || o.share() < t.share()) {
			scope, t = name, o
		}
	}
	return scope, t
}

// Choose returns the chosen interval; call it after End.
func (c *Chooser) Choose() *pipeline.Choice {
	p := "p" + strconv.FormatFloat(c.Percentile, 'f', -1, 64)
	within := fmt.Sprintf("within %s %% of itself", strconv.FormatFloat(c.Accuracy*100, 'g', 4, 64))
	last := c.steps[len(c.steps)-1]
	choice := &pipeline.Choice{Percentile: c.Percentile, Accuracy: c.Accuracy}
	take := func(s *step) *pipeline.Choice {
		choice.Interval, choice.MS = time.Duration(s.interval), float64(s.interval)/1e6
		return choice
	}
	say := func(s *step) string {
		scope, t := s.worst()
		return fmt.Sprintf("in %s intervals of %s (%s)", t, brief(s.interval), scope)
	}
	if _, t := last.worst(); t.all == 0 {
		choice.Reason = "no I/O to choose by"
		return take(&c.steps[0])
	}
	for i := range c.steps {
		s := &c.steps[i]
		if _, t := s.worst(); t.all == 0 || t.share() < enough {
			continue
		}
		choice.Met = true
		choice.Reason = fmt.Sprintf("%s is known to %s %s", p, within, say(s))
		if i > 0 {
			choice.Reason += ", and only " + say(&c.steps[i-1])
		} else if c.Shortest > Ladder[0] {
			choice.Reason += "; intervals shorter than the logs' own are useless"
		}
		return take(s)
	}
	choice.Reason = fmt.Sprintf("not met: %s is known to %s only %s, and no longer interval is available", p, within,
		say(&last))
	return take(&last)
}

// brief formats an interval of whole seconds.
func brief(ns int64) string { return strconv.FormatInt(ns/int64(time.Second), 10) + " s" }
