package diagnose

import (
	"context"
	"slices"

	"fiolat/fio/fiohist"
	"fiolat/pipeline"
)

// Extracts is a pipeline.Sink that makes an Extract of each quantum.
type Extracts struct {
	pipeline.Discard
	// Each receives each Extract. It must not keep it.
	Each func(ctx context.Context, e *pipeline.Extract) error

	peers  *peers
	buffer []leaf
	pools  pools
}

// Begin implements pipeline.Sink.
func (s *Extracts) Begin(_ context.Context, run *pipeline.Run) error {
	s.peers = newPeers(run.Geometry, run.FirstQuantum, run.Interval)
	return nil
}

// Quantum implements pipeline.Sink.
func (s *Extracts) Quantum(ctx context.Context, q *pipeline.Quantum) error {
	s.buffer = leavesOf(s.buffer[:0], q)
	pooled := s.pools.collect(s.buffer)
	e := pipeline.Extract{Offset: q.Offset, Peers: s.peers.extract(s.buffer, pooled, q.Rows)}
	for i := range q.Rows {
		r := &q.Rows[i]
		switch {
		case r.Dims.Host == "":
			row := pipeline.ExtractRow{Scope: r.Scope, Dims: r.Dims, Logs: r.Logs, Hist: sparse(r.Hist)}
			e.Rows = append(e.Rows, row)
		case r.MayCauseTail():
			e.Tails = append(e.Tails, pipeline.ExtractTail{Scope: r.Scope, Dims: r.Dims, Tail: *r.TailPart})
		}
	}
	for i := range q.Leaves {
		l := &q.Leaves[i]
		at := slices.IndexFunc(e.Leaves, func(o pipeline.ExtractLeaf) bool { return o.Direction == l.Dims.Direction })
		if at < 0 {
			p := slices.IndexFunc(pooled, func(o pool) bool { return o.direction == l.Dims.Direction })
			e.Leaves = append(e.Leaves, pipeline.ExtractLeaf{Direction: l.Dims.Direction, Hist: sparse(pooled[p].hist),
				Limits: l.Limits})
			continue
		}
		all := &e.Leaves[at].Limits
		known := all.Known && l.Limits.Known
		*all = all.Widen(l.Limits)
		all.Known = known
	}
	return s.Each(ctx, &e)
}

func sparse(h *fiohist.Hist) (s fiohist.Sparse) {
	if h != nil {
		s.Set(h)
	}
	return s
}
