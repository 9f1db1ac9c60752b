package replay

import (
	"fmt"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
)

// RollUp changes a run without parts, or one part, to what its logs give with that interval, in ns,
// and that coarseness. The interval must be a multiple of the run's, and neither may be finer: the
// error is then an *fio.ParseError.
func (r *Replay) RollUp(to pipeline.Grain) error {
	run, old := *r.Run, r.Run.Geometry
	if to.Interval < run.Interval || to.Interval%run.Interval != 0 || to.Coarseness < old.Coarseness ||
		to.Coarseness > fiohist.MaxCoarseness {
		return &fio.ParseError{File: fmt.Sprintf("run %q", run.ID), Msg: fmt.Sprintf("intervals of %v at "+
			"coarseness %d do not add up to %v at coarseness %d", time.Duration(run.Interval), old.Coarseness,
			time.Duration(to.Interval), to.Coarseness), Hint: "the interval must be a multiple of the run's"}
	}
	r.shift = to.Coarseness - old.Coarseness
	if r.shift > 0 {
		run.Geometry.Coarseness, run.Settings.Coarseness = to.Coarseness, to.Coarseness
	}
	if run.Fine == (pipeline.Grain{}) {
		run.Fine = pipeline.Grain{Interval: run.Interval, Coarseness: old.Coarseness}
	}
	run.Interval, run.Settings.Interval = to.Interval, time.Duration(to.Interval)
	g := intervals.NewGrid(&run)
	run.FirstInterval = g.Start(g.Index(run.FirstInterval))
	run.Generation = pipeline.RolledUpGeneration(run.Generation, to)
	r.Run = &run
	if r.shift > 0 {
		for i, loss := range r.parts[0].Account.Lost {
			r.parts[0].Account.Lost[i] = coarser(loss, r.shift)
		}
	}
	return nil
}

func coarser(loss pipeline.Loss, shift int) pipeline.Loss {
	index, count := loss.Index, loss.Count
	loss.Index, loss.Count = nil, nil
	for i, b := range index {
		b >>= shift
		if last := len(loss.Index) - 1; last >= 0 && loss.Index[last] == b {
			loss.Count[last] += count[i]
			continue
		}
		loss.Index, loss.Count = append(loss.Index, b), append(loss.Count, count[i])
	}
	return loss
}
