package pipeline

import "fiolat/fio/fiohist"
import "fiolat/fio"

// Extract is what a quantum contributes to the results of the whole run, without its leaves. If several processes add
// up some of the quanta each, the Extracts of all quanta are enough to finish the run.
type Extract struct {
	Offset int64 `json:"offset_ns"` // Quantum.Offset
	// Rows are the sums of the scopes without a host.
	Rows []ExtractRow `json:"rows"`
	// Leaves are the sums of the leaves by direction, in the order in which the directions first appear.
	Leaves []ExtractLeaf `json:"leaves"`
	// Tails are those of the hosts' rows for which Row.MayCauseTail is true.
	Tails []ExtractTail `json:"tails,omitempty"`
	Peers []Peers       `json:"peers"`
}

// ExtractRow is the sum of a scope.
type ExtractRow struct {
	Scope string         `json:"scope"`
	Dims  fio.Dims       `json:"dims"`
	Logs  int            `json:"logs"`
	Hist  fiohist.Sparse `json:"hist"`
}

// ExtractLeaf is the sum of the leaves of one direction.
type ExtractLeaf struct {
	Direction string         `json:"direction"`
	Hist      fiohist.Sparse `json:"hist"`
	Limits    fiohist.Limits `json:"limits"` // known only if those of all leaves are
}

// ExtractTail is the TailPart of a row.
type ExtractTail struct {
	Scope string       `json:"scope"`
	Dims  fio.Dims     `json:"dims"`
	Tail  fiohist.Part `json:"tail"`
}

// Peers are the hosts, jobs and logs of a direction in a quantum, as internal/diagnose compares them.
type Peers struct {
	Direction string `json:"direction"`
	All       Peer   `json:"all"`
	// Of holds the hosts, the jobs and the logs, in this order.
	Of [3][]Peer `json:"of"`
}

// Peer is one host, job or log. By is the host, job and log of its first leaf, with its own name among them; N are its
// I/Os, Above those above each of three percentiles of all, Mid is the logarithm of its median latency, and
// Tails are those of its p99 and p99.9.
type Peer struct {
	By    [3]string  `json:"by"`
	N     float32    `json:"n"`
	Above [3]float32 `json:"above"`
	Mid   float32    `json:"mid"`
	Tails [2]float32 `json:"tails"`
}
