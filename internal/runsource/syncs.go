package runsource

import (
	"fmt"
	"slices"
	"strings"

	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

// WarnSyncs warns about what the rows of a run lack if its jobs sync.
func WarnSyncs(u *ui.UI, run *pipeline.Run) error {
	sentences, err := syncWarnings(run)
	for _, s := range sentences {
		u.Warn(s)
	}
	return err
}

// syncWarnings returns what is missing where a run is shown without its syncs; nothing if no job syncs, or without
// fio's JSON.
func syncWarnings(r *pipeline.Run) (sentences []string, err error) {
	if r.Kind == fio.Sync {
		return nil, nil
	}
	var counted, without, atEnd []string
	for _, m := range r.Metas {
		for i := range m.Entries {
			e := &m.Entries[i]
			options, uncounted := m.SyncOptions(e)
			name := func(options []string) string {
				if len(options) == 0 {
					return e.Syncs()
				}
				return fmt.Sprintf("%s (%s)", e.Syncs(), strings.Join(options, ", "))
			}
			add := func(to *[]string, name string) {
				if !slices.Contains(*to, name) {
					*to = append(*to, name)
				}
			}
			switch {
			case e.Sync.N > 0:
				add(&counted, name(options))
			case len(options) > 0:
				add(&without, name(options))
			}
			if len(uncounted) > 0 {
				add(&atEnd, name(uncounted))
			}
		}
	}
	if len(counted) > 0 {
		row, err := r.Syncs()
		if err != nil {
			return nil, err
		}
		tail := ""
		if p := tailOf(r.Percentiles); p >= 0 && row.Stats.Percentiles != nil {
			tail = fmt.Sprintf("p%s %s, ", fio.Percentile(r.Percentiles[p]),
				fio.Latency(row.Stats.Percentiles[p], 3))
		}
		sentences = append(sentences, unshown(row.Stats.Samples, fio.Some(counted), tail, row.Stats.Max))
	}
	if len(without) > 0 {
		sentences = append(sentences, fmt.Sprintf("syncs of %s are in no log, and fio's JSON has none: it takes "+
			"--output-format=json+ to know how long they took", fio.Some(without)))
	}
	if len(atEnd) > 0 {
		sentences = append(sentences, fmt.Sprintf("fio does not count the syncs at the end of a job: those of %s",
			fio.Some(atEnd)))
	}
	return sentences, nil
}

// unshown is the warning that syncs are in no row. tail is one of their percentiles with a comma, or "".
func unshown(n float64, of, tail string, longest float64) string {
	return fmt.Sprintf("%s syncs of %s are in no log, and in no row here: %sthe longest %s; fiolat summary and fiolat "+
		"inspect show them", fio.Count(n), of, tail, fio.Latency(longest, 3))
}

// WarnStoredSyncs is WarnSyncs for a run of which only the figures are read.
func WarnStoredSyncs(u *ui.UI, f *stored.Figures) {
	figure := func(name string) float64 {
		v, _ := f.Summary[fio.Sync.String()][name].(float64) // 0 where there is none
		return v
	}
	if f.Fio.Kind == fio.Sync.String() || figure("samples") == 0 {
		return
	}
	tail := ""
	if p99 := figure("p99"); p99 > 0 {
		tail = fmt.Sprintf("p99 %s, ", fio.Latency(p99, 3))
	}
	u.Warn(unshown(figure("samples"), fio.Some(f.Fio.Job), tail, figure("max")))
}

// tailOf returns the index of the highest percentile up to 99; -1 if there is none.
func tailOf(percentiles []float64) int {
	best := -1
	for i, p := range percentiles {
		if p <= 99 && (best < 0 || p > percentiles[best]) {
			best = i
		}
	}
	return best
}
