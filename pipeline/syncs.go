package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"fiolat/ingest/fiojson"
	"fiolat/ingest/fiolog"
	"fiolat/internal/errs"
	"fiolat/internal/units"
)

// Syncs are the syncs of the whole run by fio's JSON, as a row; nil if there were none. Without json+ there are no
// percentiles.
func (r *Run) Syncs() (*Row, error) {
	row, err := r.syncsOf(func(*fiojson.Entry) bool { return true })
	if err != nil || row.Stats.Samples == 0 {
		return nil, err
	}
	return &row, nil
}

// SyncsByJob are the same by host and job, of those that have any, in the order of the JSON.
func (r *Run) SyncsByJob() (rows []Row, err error) {
	for _, m := range r.Metas {
		for i := range m.Entries {
			dims := Dims{Host: m.Entries[i].Host, Job: m.Entries[i].JobName, Direction: fiolog.Sync.String()}
			if m.Entries[i].Sync.N == 0 || slices.ContainsFunc(rows, func(r Row) bool { return r.Dims == dims }) {
				continue
			}
			row, err := r.syncsOf(func(e *fiojson.Entry) bool { return e.Host == dims.Host && e.JobName == dims.Job })
			if err != nil {
				return nil, err
			}
			row.Scope, row.Dims = "host+job", dims
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// syncsOf adds up the syncs of some jobs.
func (r *Run) syncsOf(holds func(*fiojson.Entry) bool) (row Row, err error) {
	var sum fiojson.Sum
	for _, m := range r.Metas {
		for i := range m.Entries {
			if e := &m.Entries[i]; holds(e) {
				if err = sum.Add(&e.Sync); err != nil {
					return row, err
				}
			}
		}
	}
	return Row{Scope: "run", Dims: Dims{Direction: fiolog.Sync.String()}, Stats: sum.Stats(r.Percentiles)}, nil
}

// AboutSyncs says what is missing where the run is shown without its syncs; none where no job syncs. A run of which
// there is no JSON of fio says nothing.
func (r *Run) AboutSyncs() (sentences []string, err error) {
	if r.Kind == fiolog.Sync {
		return nil, nil
	}
	var counted, without, atEnd []string
	for _, m := range r.Metas {
		for i := range m.Entries {
			e := &m.Entries[i]
			options, uncounted := m.SyncOptions(e)
			name := func(options []string) string {
				if len(options) == 0 {
					return e.JobName
				}
				return fmt.Sprintf("%s (%s)", e.JobName, strings.Join(options, ", "))
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
		of := "the longest " + units.Latency(row.Stats.Max, 3)
		if p := r.sync99(); p >= 0 && row.Stats.Percentiles != nil {
			of = fmt.Sprintf("p%s %s, %s", units.Percentile(r.Percentiles[p]),
				units.Latency(row.Stats.Percentiles[p], 3), of)
		}
		sentences = append(sentences, fmt.Sprintf("%s syncs of %s are in no log, and in no row here: %s; fiolat "+
			"summary and fiolat inspect show them", units.Count(row.Stats.Samples), errs.Some(counted), of))
	}
	if len(without) > 0 {
		sentences = append(sentences, fmt.Sprintf("syncs of %s are in no log, and fio's JSON has none: it takes "+
			"--output-format=json+ to know how long they took", errs.Some(without)))
	}
	if len(atEnd) > 0 {
		sentences = append(sentences, fmt.Sprintf("fio counts the syncs at the end of a job nowhere: those of %s",
			errs.Some(atEnd)))
	}
	return sentences, nil
}

// sync99 is which of the percentiles is nearest to 99 from below; -1 if none is.
func (r *Run) sync99() int {
	best := -1
	for i, p := range r.Percentiles {
		if p <= 99 && (best < 0 || p > r.Percentiles[best]) {
			best = i
		}
	}
	return best
}
