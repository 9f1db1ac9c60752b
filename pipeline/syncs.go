package pipeline

import (
	"slices"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
)

// Syncs returns the syncs of the whole run, from fio's JSON, as a row; nil if there were none. Without
// json+ there are no percentiles.
func (r *Run) Syncs() (*Row, error) {
	row, err := r.syncsOf(func(*fiojson.Entry) bool { return true })
	if err != nil || row.Stats.Samples == 0 {
		return nil, err
	}
	return &row, nil
}

// SyncsByJob returns the same by host and job, in the order of the JSON. Jobs without syncs are left out.
func (r *Run) SyncsByJob() (rows []Row, err error) {
	for _, m := range r.Metas {
		for i := range m.Entries {
			dims := fio.Dims{Host: m.Entries[i].Host, Job: m.Entries[i].Syncs(), Direction: fio.Sync.String()}
			if m.Entries[i].Sync.N == 0 || slices.ContainsFunc(rows, func(r Row) bool { return r.Dims == dims }) {
				continue
			}
			row, err := r.syncsOf(func(e *fiojson.Entry) bool { return e.Host == dims.Host && e.Syncs() == dims.Job })
			if err != nil {
				return nil, err
			}
			row.Scope, row.Dims = fio.HostJobScope, dims
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (r *Run) syncsOf(holds func(*fiojson.Entry) bool) (row Row, err error) {
	var sum fiojson.Sum
	for _, m := range r.Metas {
		for i := range m.Entries {
			if e := &m.Entries[i]; holds(e) {
				if err = sum.Add(m, &e.Sync); err != nil {
					return row, err
				}
			}
		}
	}
	return Row{Scope: fio.RunScope, Dims: fio.Dims{Direction: fio.Sync.String()}, Stats: sum.Stats(r.Percentiles)}, nil
}
