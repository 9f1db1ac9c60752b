package pipeline

import "fiolat/internal/fiohist"

// Extract is what a quantum says of the whole run, without its leaves: that of the quanta that several processes have
// added up, each some of them, is enough for who makes the run of them.
type Extract struct {
	Offset int64 `json:"offset_ns"` // Quantum.Offset
	// Rows are those of scopes without a host.
	Rows []ExtractRow `json:"rows"`
	// Leaves are one for each direction, in the order in which they first come: the sum of its leaves.
	Leaves []ExtractLeaf `json:"leaves"`
	// Tails are those of hosts that may be named as who makes the tail.
	Tails []ExtractTail `json:"tails,omitempty"`
	Peers []Peers       `json:"peers"`
}

// ExtractRow is the sum of a scope.
type ExtractRow struct {
	Scope string         `json:"scope"`
	Dims  Dims           `json:"dims"`
	Logs  int            `json:"logs"`
	Hist  fiohist.Sparse `json:"hist"`
}

// ExtractLeaf is the sum of leaves of a direction.
type ExtractLeaf struct {
	Direction string         `json:"direction"`
	Hist      fiohist.Sparse `json:"hist"`
	Limits    fiohist.Limits `json:"limits"` // known if those of all are
}

// ExtractTail is the Tail of a row.
type ExtractTail struct {
	Scope string       `json:"scope"`
	Dims  Dims         `json:"dims"`
	Tail  fiohist.Part `json:"tail"`
}

// Peers are the hosts, jobs and logs of a direction in a quantum, as internal/diagnose compares them.
type Peers struct {
	Direction string `json:"direction"`
	All       Peer   `json:"all"`
	// Of are the hosts, the jobs, and the logs.
	Of [3][]Peer `json:"of"`
}

// Peer is what is kept of one of them: its name, in its place among those of the host and job of its first leaf; its
// I/Os; those above each of three percentiles of all; and the logarithm of its median latency.
type Peer struct {
	By    [3]string  `json:"by"`
	N     float32    `json:"n"`
	Above [3]float32 `json:"above"`
	Mid   float32    `json:"mid"`
}
